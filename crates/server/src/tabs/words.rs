//! What is said over the extension's socket, in both vocabularies: JSON-RPC, and messages with a `type`. A peer is
//! answered in the words it uses.

use axum::extract::ws::Utf8Bytes;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use toolgrove_core::tabs::wire::{FromHub, Ping, TabNews, TabPlace, ToHub, ToolList};
use toolgrove_core::tabs::{Refusal, Registration, TabEvent, TabRequest};
use toolgrove_upstream::{Connection, ToBrowser};
use toolgrove_wire::envelope::METHOD_NOT_FOUND;
use toolgrove_wire::{Id, Message, Raw, RpcError};
use uuid::Uuid;

/// Which vocabulary a peer uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    Rpc,
    Typed,
}

/// What came of a message.
#[derive(Debug)]
pub(super) enum Heard {
    /// It was passed on, or was a sign of life.
    Taken,
    /// It is an answer that was waited for.
    Answer,
    /// A page asks; the answer is to be sent when it is there.
    Question(Question),
    /// It is answered at once.
    Reply(Utf8Bytes),
    /// It is no message of ours, and why.
    Ignored(String),
}

/// A question under way, and how its answer is addressed.
#[derive(Debug)]
pub(super) struct Question {
    to: Address,
    answer: oneshot::Receiver<Result<Raw, RpcError>>,
}

#[derive(Debug)]
enum Address {
    Rpc(Id),
    Typed(Value),
}

impl Question {
    /// The answer, as a message.
    pub(super) async fn answered(self) -> Utf8Bytes {
        let answer = self.answer.await.unwrap_or_else(|_| Ok(Raw::of(&json!({ "action": "cancel" }))));
        match (self.to, answer) {
            (Address::Rpc(id), Ok(answer)) => rpc(json!({ "id": id.raw(), "result": answer })),
            (Address::Rpc(id), Err(error)) => {
                rpc(json!({ "id": id.raw(), "error": { "code": error.code, "message": error.message } }))
            }
            (Address::Typed(id), Ok(answer)) => {
                text(&json!({ "type": "confirm-result", "confirmId": id, "data": answer }))
            }
            (Address::Typed(id), Err(error)) => {
                let error = json!({ "code": error.code, "message": error.message });
                text(&json!({ "type": "confirm-result", "confirmId": id, "data": { "error": error } }))
            }
        }
    }
}

/// The word that says what a message is, for the log.
pub(super) fn kind(raw: &Raw) -> String {
    raw.get_text("method").or_else(|| raw.get_text("type")).unwrap_or_else(|| "answer".to_owned())
}

/// The tab that a message is about, and its address.
pub(super) fn about(raw: &Raw) -> (Option<i64>, Option<String>) {
    let params = raw.get("params").unwrap_or_else(|| raw.clone());
    let number = |it: &Raw| it.get("tabId").and_then(|it| it.as_str().parse().ok());
    let tab = params.get("extensions").and_then(|it| number(&it)).or_else(|| number(&params));
    (tab, params.get_text("tabUrl"))
}

/// The tab whose tools a message is about.
pub(super) fn updated(kind: &str, raw: &Raw) -> Option<i64> {
    let params = match kind {
        "browser/registerTools" | "browser/updateTools" => raw.get("params")?,
        "register-tools" | "tools-updated" => raw.clone(),
        _ => return None,
    };
    let tab = params.get("extensions").and_then(|it| it.get("tabId"));
    Some(tab.and_then(|it| it.as_str().parse().ok()).unwrap_or(0))
}

/// Takes one message of a browser.
pub(super) fn hear(raw: &Raw, words: &mut Words, connection: &Connection) -> Heard {
    if raw.get("jsonrpc").is_none() && raw.get_text("type").is_some() {
        *words = Words::Typed;
        return hear_typed(raw, connection);
    }
    match Message::read(raw) {
        Ok(Message::Notification { method, params }) => {
            let params = params.unwrap_or_else(Raw::empty_object);
            hear_method(None, &method, &params, connection)
        }
        Ok(Message::Request { id, method, params }) => {
            let params = params.unwrap_or_else(Raw::empty_object);
            hear_method(Some(id), &method, &params, connection)
        }
        Ok(Message::Response { id, result }) => {
            let id = id.and_then(|it| it.raw().text().and_then(|it| Uuid::parse_str(&it).ok()));
            match id.map(|id| connection.answer(id, result.map_err(|it| refusal(&it)))) {
                Some(true) => Heard::Answer,
                _ => Heard::Ignored("nobody waits for this answer".into()),
            }
        }
        Err(problem) => Heard::Ignored(problem.to_string()),
    }
}

fn hear_method(id: Option<Id>, method: &str, params: &Raw, connection: &Connection) -> Heard {
    let message = match ToHub::read(method, params) {
        Some(Ok(message)) => message,
        Some(Err(problem)) => return Heard::Ignored(format!("`{method}`: {problem}")),
        None => {
            let problem = format!("`{method}` is not known here");
            return match id {
                Some(id) => {
                    let error = json!({ "code": METHOD_NOT_FOUND, "message": problem });
                    Heard::Reply(rpc(json!({ "id": id.raw(), "error": error })))
                }
                None => Heard::Ignored(problem),
            };
        }
    };
    let browser = connection.browser().clone();
    let tab = |news: &TabNews| connection.tab(news.extensions.tab_id);
    let event = match message {
        ToHub::Hello(_) => return Heard::Ignored("a second `browser/hello`".into()),
        ToHub::Pong(_) => return Heard::Taken,
        ToHub::Tabs(all) => TabEvent::Tabs { browser, tabs: all.tabs },
        ToHub::Register(list) | ToHub::Update(list) => registered(list, connection),
        ToHub::Disconnected(news) => {
            TabEvent::Left { tab: tab(&news), document: news.extensions.document_id }
        }
        ToHub::Activated(news) => TabEvent::Activated { tab: tab(&news), window: news.extensions.window_id },
        ToHub::Focus(news) => TabEvent::Focused { browser, window: news.extensions.window_id.unwrap_or(-1) },
        ToHub::Replaced(news) => {
            let Some(old) = news.extensions.old_tab_id else {
                return Heard::Ignored("`oldTabId` is missing".into());
            };
            TabEvent::Replaced { tab: tab(&news), old }
        }
        ToHub::Removed(news) => TabEvent::Removed { tab: tab(&news) },
        ToHub::Started(started) => match Uuid::parse_str(&started.request_id) {
            Ok(request) => TabEvent::Started { browser, request },
            Err(_) => return Heard::Ignored("`requestId` is none of ours".into()),
        },
        ToHub::Progress(progress) => match Uuid::parse_str(&progress.progress_token) {
            Ok(request) => TabEvent::Progress { browser, request, params: params.clone() },
            Err(_) => return Heard::Ignored("`progressToken` is none of ours".into()),
        },
        ToHub::Elicit(elicit) => {
            let Some(id) = id else { return Heard::Ignored("a question needs an id".into()) };
            return ask(connection, &elicit.extensions, params, Address::Rpc(id));
        }
    };
    connection.report(event);
    Heard::Taken
}

fn hear_typed(raw: &Raw, connection: &Connection) -> Heard {
    let request = raw.get_text("requestId").and_then(|it| Uuid::parse_str(&it).ok());
    let browser = connection.browser().clone();
    let event = match raw.get_text("type").unwrap_or_default().as_str() {
        "register-tools" | "tools-updated" => match raw.read::<ToolList>() {
            Ok(list) => registered(list, connection),
            Err(problem) => return Heard::Ignored(problem.to_string()),
        },
        "tool-started" => match request {
            Some(request) => TabEvent::Started { browser, request },
            None => return Heard::Ignored("`requestId` is none of ours".into()),
        },
        "progress" => match request {
            Some(request) => TabEvent::Progress { browser, request, params: raw.clone() },
            None => return Heard::Ignored("`requestId` is none of ours".into()),
        },
        "tool-result" => {
            let answer = raw.get("data").unwrap_or_else(Raw::empty_object);
            return match request.map(|it| connection.answer(it, Ok(answer))) {
                Some(true) => Heard::Answer,
                _ => Heard::Ignored("nobody waits for this answer".into()),
            };
        }
        "confirm-action" => {
            let mut place: TabPlace = raw.get("extensions").and_then(|it| it.read().ok()).unwrap_or_default();
            place.request_id = place.request_id.or_else(|| raw.get_text("requestId"));
            let params = json!({
                "message": raw.get_text("message").unwrap_or_default(),
                "requestedSchema": raw.get("requestedSchema"),
            });
            let params = without_null(params);
            let id = raw.get("confirmId").map_or(Value::Null, |it| it.to_value());
            return ask(connection, &place, &Raw::of(&params), Address::Typed(id));
        }
        "pong" => return Heard::Taken,
        other => return Heard::Ignored(format!("`{other}` is no type we know")),
    };
    connection.report(event);
    Heard::Taken
}

fn registered(list: ToolList, connection: &Connection) -> TabEvent {
    let ToolList { tools, tab_url, extensions: page } = list;
    TabEvent::Registered {
        tab: connection.tab(page.tab_id),
        registration: Registration {
            tools,
            url: tab_url,
            vouched: None,
            document: page.document_id,
            window: page.window_id,
            active: page.active,
            incognito: page.incognito,
            title: page.title,
            sources: page.sources,
            source: None,
            relay_tab: page.relay_tab_id,
        },
    }
}

fn ask(connection: &Connection, place: &TabPlace, params: &Raw, to: Address) -> Heard {
    let (reply, answer) = oneshot::channel();
    let request = place.request_id.as_ref().map(|it| Uuid::parse_str(it).unwrap_or_default());
    let tab = connection.tab(place.tab_id);
    connection.report(TabEvent::Asked { tab, request, params: params.clone(), reply });
    Heard::Question(Question { to, answer })
}

/// An order of the hub, as a message. Nothing if there are no words for it.
pub(super) fn say(order: &ToBrowser, words: Words) -> Option<Utf8Bytes> {
    match (order, words) {
        (ToBrowser::Request { id, tab, request: TabRequest::Execute { tool, args, document } }, words) => {
            let mut place = json!({ "tabId": tab });
            if let Some(document) = document {
                place["documentId"] = json!(document);
            }
            Some(match words {
                Words::Rpc => {
                    let params = json!({ "toolName": tool, "args": args, "extensions": place });
                    rpc(json!({ "id": id, "method": "browser/executeTool", "params": params }))
                }
                Words::Typed => text(&json!({
                    "type": "execute-tool", "requestId": id, "toolName": tool, "args": args, "extensions": place,
                })),
            })
        }
        (ToBrowser::Request { id, tab, request }, _) => {
            let (method, params) = match request {
                TabRequest::Open { url } => ("browser/openTab", json!({ "url": url, "active": false })),
                TabRequest::Reload => ("browser/reloadTab", json!({ "tabId": tab })),
                TabRequest::Activate => ("browser/activateTab", json!({ "tabId": tab })),
                TabRequest::Close => ("browser/closeTab", json!({ "tabId": tab })),
                TabRequest::Execute { .. } => return None,
            };
            Some(rpc(json!({ "id": id, "method": method, "params": params })))
        }
        (ToBrowser::Cancel { id, reason }, Words::Rpc) => Some(rpc(
            json!({ "method": "notifications/cancelled", "params": { "requestId": id, "reason": reason } }),
        )),
        (ToBrowser::Cancel { id, reason }, Words::Typed) => {
            Some(text(&json!({ "type": "cancel", "requestId": id, "reason": reason })))
        }
        (ToBrowser::Close { .. }, _) => None,
    }
}

/// A notification of the hub.
pub(super) fn notice(message: &FromHub) -> Utf8Bytes {
    rpc(serde_json::to_value(message).unwrap_or_default())
}

pub(super) fn ping(now: i64) -> Utf8Bytes {
    notice(&FromHub::Ping(Ping { t: now }))
}

/// What an error of the extension means.
fn refusal(error: &RpcError) -> Refusal {
    const TAB_NOT_FOUND: i64 = -32001;
    if error.code != TAB_NOT_FOUND {
        return Refusal::Refused(error.message.clone());
    }
    let delivered = error.data.as_ref().and_then(|it| it.get("delivered")).and_then(|it| it.bool());
    let reason = error.data.as_ref().and_then(|it| it.get_text("reason"));
    let may_have_begun = delivered.unwrap_or(reason.as_deref() == Some("TabClosed"));
    if may_have_begun { Refusal::Closed } else { Refusal::Absent }
}

fn rpc(mut message: Value) -> Utf8Bytes {
    message["jsonrpc"] = json!("2.0");
    text(&message)
}

fn text(message: &Value) -> Utf8Bytes {
    message.to_string().into()
}

fn without_null(mut value: Value) -> Value {
    if let Value::Object(members) = &mut value {
        members.retain(|_, it| !it.is_null());
    }
    value
}
