//! The 2026-07-28 door: every request stands alone, names its revision twice, and is refused when the two differ.

use std::borrow::Cow;
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures::{FutureExt, stream};
use http::{HeaderMap, HeaderName, StatusCode};
use toolgrove_core::call::{Caller, Door, View};
use toolgrove_core::event::{Events, Heard, Progress};
use toolgrove_core::header;
use toolgrove_wire::envelope::{self, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, NotAMessage};
use toolgrove_wire::modern::{HEADER_MISMATCH, RequestMeta, UNSUPPORTED_VERSION, VERSION, with_meta};
use toolgrove_wire::{Abilities, Edit, Id, Message, Raw, RpcError, sse};

use super::Reply;
use super::answer::{Client, ClientEra, Failure, answer, client_name};
use super::answering::Answering;
use super::headers;
use super::notices::{Notices, Wanted};
use super::park::{self, Binding, Go, Parking, Returned};
use super::stream::{Asker, Running, event_stream, json, refuse};
use crate::App;

/// Every method of this era that the hub answers.
const METHODS: [&str; 13] = [
    "server/discover",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "completion/complete",
    "subscriptions/listen",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];

pub fn client(caller: Arc<Caller>, view: View, door: Door, meta: &RequestMeta) -> Client {
    let chat = caller.chat();
    let abilities = meta.capabilities.as_ref().map(Abilities::read).unwrap_or_default();
    let name = meta.client.as_ref().and_then(client_name);
    Client { caller, view, era: ClientEra::Modern, door, chat, log_level: None, abilities, name }
}

/// What becomes of a POST that is modern.
pub(super) fn reply<'a>(
    app: &'a Arc<App>,
    caller: Arc<Caller>,
    view: View,
    headers: &HeaderMap,
    (body, message, mut meta): (Raw, Result<Message, NotAMessage>, RequestMeta),
) -> Reply<'a> {
    let refused = |id: Option<&Id>, failure: &Failure| Reply::Now(refuse(id, ClientEra::Modern, failure));
    let (id, method, mut params) = match message {
        Ok(Message::Request { id, method, params }) => (id, method, params),
        Ok(Message::Notification { .. }) => return Reply::Now(StatusCode::ACCEPTED.into_response()),
        Ok(Message::Response { .. }) => {
            let text = "nothing was asked of the client, so nothing can be answered";
            return refused(None, &Failure::new(400, INVALID_REQUEST, text));
        }
        Err(problem) => {
            let failure = Failure { rpc: problem.rpc(), status: 400 };
            return refused(envelope::id_of(&body).as_ref(), &failure);
        }
    };
    if headers.contains_key(headers::TRACE_PARENT) || headers.contains_key(headers::TRACE_STATE) {
        params = with_trace(headers, params);
        meta.has_other_keys = true;
    }
    let client = client(caller, view, Door::Mcp, &meta);
    app.live.meet(client.caller.person, client.name.as_ref());
    let checked = check_headers(headers, &method, params.as_ref(), &meta)
        .and_then(|()| check_method(&method))
        .and_then(|()| check_params(app, &client, headers, &method, params.as_ref()));
    if let Err(failure) = checked {
        return refused(Some(&id), &failure);
    }
    if method == "subscriptions/listen" {
        let listening = async move {
            match listen(app, &client, &id, params.as_ref()).await {
                Ok((acknowledged, notices)) => listen_stream(acknowledged, notices),
                Err(failure) => refuse(Some(&id), ClientEra::Modern, &failure),
            }
        };
        return Reply::Later(listening.boxed());
    }
    match start(app, client, id.clone(), method, params, meta) {
        Started::Running(running) => Reply::Running(running),
        Started::Answered(result) => Reply::Now(json(200, envelope::response(&id, &result).into())),
        Started::Refused(failure) => refused(Some(&id), &failure),
    }
}

/// A trace context may also come as HTTP headers; what stands in `_meta` counts more.
fn with_trace(headers: &HeaderMap, params: Option<Raw>) -> Option<Raw> {
    let params = params?;
    let Some(meta) = params.get("_meta") else { return Some(params) };
    let missing: Vec<_> = ["traceparent", "tracestate"]
        .into_iter()
        .filter(|it| meta.get(it).is_none())
        .filter_map(|it| Some((it, Raw::string(headers.get(it)?.to_str().ok()?))))
        .collect();
    Some(with_meta(&params, &missing))
}

/// What became of a request that was let in.
pub(super) enum Started {
    Running(Box<Running>),
    Answered(Raw),
    Refused(Failure),
}

/// Starts a request, or goes on with the parked call whose state it brings.
pub(super) fn start(
    app: &Arc<App>,
    client: Client,
    id: Id,
    method: String,
    params: Option<Raw>,
    meta: RequestMeta,
) -> Started {
    let mut params = params.unwrap_or_else(Raw::empty_object);
    let may_ask = matches!(method.as_str(), "tools/call" | "prompts/get" | "resources/read");
    let responses = meta.responses.clone().filter(|_| may_ask);
    if let Some(state) = meta.state.clone().filter(|_| may_ask) {
        let binding = Binding::of(&client, &method, &params);
        match park::returned(app, &binding, &state, responses.as_ref()) {
            Ok(Returned::Parked(resumed)) => {
                return match resumed.answer(id, meta.progress_token, responses.as_ref()) {
                    Go::On(running) => Started::Running(running),
                    Go::AskAgain(result) => Started::Answered(result),
                };
            }
            Ok(Returned::Relay(state)) => {
                params = match state {
                    Some(state) => Edit::of(&params).set_text("requestState", &state).done(),
                    None => Edit::of(&params).remove("requestState").done(),
                };
            }
            // What changes nothing begins anew, with the answers that are there already.
            Err(failure) if is_lost(&failure) && method != "tools/call" => {
                params = Edit::of(&params).remove("requestState").done();
            }
            Err(failure) => return lost_or_refused(app, failure),
        }
    }
    // A later round may want to be told what the first did not.
    let has_rounds = client.abilities.can_be_asked() && may_ask;
    let progress =
        if meta.progress_token.is_some() || has_rounds { Progress::Wanted } else { Progress::Unwanted };
    let quiet =
        progress == Progress::Unwanted && meta.log_level.is_none() && !client.abilities.can_be_asked();
    let (events, heard) = if quiet { (Events::none(), Heard::nothing()) } else { Events::channel(progress) };
    let asker = if has_rounds {
        let parking = Parking::new(app, &client, &method, &params, responses.as_ref(), events.clone());
        Asker::Park(Box::new(parking))
    } else {
        Asker::Nobody
    };
    let (app, progress_token) = (app.clone(), meta.progress_token.clone());
    let answer =
        Answering::new(async move { answer(&app, &client, &method, Some(params), &meta, events).await });
    Started::Running(Box::new(Running {
        id,
        era: ClientEra::Modern,
        progress_token,
        events: heard,
        answer,
        asker,
        visits: Vec::new(),
    }))
}

/// A tool call that was lost with its hub may have had effects: a model is told so in words.
fn lost_or_refused(app: &App, failure: Failure) -> Started {
    if is_lost(&failure) {
        let content = serde_json::json!([{ "type": "text", "text": failure.rpc.message }]);
        let result = Raw::of(&serde_json::json!({ "content": content, "isError": true }));
        return Started::Answered(toolgrove_wire::modern::complete(&result, &app.server_info, None));
    }
    Started::Refused(failure)
}

fn is_lost(failure: &Failure) -> bool {
    failure.rpc.data.as_ref().and_then(|it| it.get_text("reason")).as_deref() == Some("lost")
}

/// `Mcp-Param-*` headers must say what the arguments say.
fn check_params(
    app: &App,
    client: &Client,
    headers: &HeaderMap,
    method: &str,
    params: Option<&Raw>,
) -> Result<(), Failure> {
    if method != "tools/call" {
        return Ok(());
    }
    let name = params.and_then(|it| it.get_text("name")).unwrap_or_default();
    let Ok(route) = app.hub.catalog(&client.caller).tool(&client.view, &name) else { return Ok(()) };
    let annotations = route.tool.annotations();
    if annotations.is_empty() {
        return Ok(());
    }
    let arguments = params.and_then(|it| it.get("arguments")).unwrap_or_else(Raw::empty_object);
    for annotation in annotations {
        let header_name = format!("mcp-param-{}", annotation.name.to_ascii_lowercase());
        let header_name = HeaderName::try_from(header_name).ok();
        let given = header_name.map(|it| single(headers, &it)).transpose()?.flatten();
        if !header::matches(annotation, &arguments, given.as_deref()) {
            return Err(mismatch(&format!("header Mcp-Param-{} and the arguments differ", annotation.name)));
        }
    }
    Ok(())
}

/// The envelope of a modern request, on any transport.
pub fn check_meta(method: &str, meta: &RequestMeta) -> Result<(), Failure> {
    let missing = match (&meta.version, &meta.capabilities) {
        (None, _) => Some("_meta.io.modelcontextprotocol/protocolVersion"),
        (_, None) => Some("_meta.io.modelcontextprotocol/clientCapabilities"),
        _ => None,
    };
    if let Some(key) = missing {
        // Somebody who opens a session does not know this era; the header was the mistake.
        let code = if method == "initialize" { HEADER_MISMATCH } else { INVALID_PARAMS };
        return Err(Failure::new(400, code, format!("missing: {key}")));
    }
    if meta.capabilities.as_ref().is_some_and(|it| !it.is_object()) {
        return Err(Failure::new(400, INVALID_PARAMS, "clientCapabilities must be an object"));
    }
    if let Some(level) = &meta.log_level
        && !level.text().is_some_and(|it| super::LOG_LEVELS.contains(&&*it))
    {
        return Err(Failure::new(400, INVALID_PARAMS, format!("{} is not a log level", level.as_str())));
    }
    Ok(())
}

pub fn check_version(version: &str) -> Result<(), Failure> {
    if version == VERSION {
        return Ok(());
    }
    let data = serde_json::json!({ "supported": [VERSION], "requested": version });
    let rpc = RpcError::new(UNSUPPORTED_VERSION, format!("protocol version {version} is not supported here"));
    Err(Failure { rpc: rpc.with_data(&data), status: 400 })
}

pub fn check_method(method: &str) -> Result<(), Failure> {
    if METHODS.contains(&method) {
        Ok(())
    } else {
        Err(Failure::new(404, METHOD_NOT_FOUND, format!("method not found: {method}")))
    }
}

/// Headers and body must say the same: what stands between client and hub may route by either.
fn check_headers(
    headers: &HeaderMap,
    method: &str,
    params: Option<&Raw>,
    meta: &RequestMeta,
) -> Result<(), Failure> {
    let version = single(headers, &headers::VERSION)?;
    let version = version.ok_or_else(|| mismatch("header MCP-Protocol-Version is missing"))?;
    check_meta(method, meta)?;
    if meta.version.as_deref() != Some(&version) {
        return Err(mismatch("header MCP-Protocol-Version and _meta differ"));
    }
    check_version(&version)?;
    match single(headers, &headers::METHOD)? {
        None => return Err(mismatch("header Mcp-Method is missing")),
        Some(named) if named != method => return Err(mismatch("header Mcp-Method and the body differ")),
        Some(_) => {}
    }
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return Ok(()),
    };
    let Some(wanted) = params.and_then(|it| it.get_text(member)) else {
        return Err(Failure::new(400, INVALID_PARAMS, format!("missing: {member}")));
    };
    match single(headers, &headers::NAME)? {
        None => Err(mismatch("header Mcp-Name is missing")),
        Some(named) if named != wanted => Err(mismatch("header Mcp-Name and the body differ")),
        Some(_) => Ok(()),
    }
}

fn mismatch(message: &str) -> Failure {
    Failure::new(400, HEADER_MISMATCH, message)
}

/// The one value of a header, decoded from its base64 form if it has it.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<Cow<'a, str>>, Failure> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(mismatch(&format!("header {name} is there twice")));
    }
    let unreadable = || mismatch(&format!("header {name} is not readable"));
    let text = value.to_str().map_err(|_| unreadable())?.trim();
    match text.strip_prefix("=?base64?").and_then(|it| it.strip_suffix("?=")) {
        None => Ok(Some(Cow::Borrowed(text))),
        Some(encoded) => {
            let bytes = BASE64_STANDARD.decode(encoded).map_err(|_| unreadable())?;
            String::from_utf8(bytes).map(|it| Some(Cow::Owned(it))).map_err(|_| unreadable())
        }
    }
}

/// Opens an ear for `subscriptions/listen` and makes the acknowledgement that comes first.
pub(super) async fn listen(
    app: &Arc<App>,
    client: &Client,
    id: &Id,
    params: Option<&Raw>,
) -> Result<(bytes::Bytes, Notices), Failure> {
    let filter = params.and_then(|it| it.get("notifications")).filter(Raw::is_object);
    let filter = filter.ok_or_else(|| Failure::new(400, INVALID_PARAMS, "missing: notifications"))?;
    let bus = app.hub.bus().subscribe();
    let wanted = Wanted::read(app, client, &filter).await;
    let accepted = wanted.accepted();
    let notices = Notices::new(bus, client.caller.clone(), client.view.clone(), wanted, Some(id.clone()));
    Ok((notices.tagged("notifications/subscriptions/acknowledged", accepted), notices))
}

fn listen_stream(acknowledged: bytes::Bytes, notices: Notices) -> Response {
    let first = stream::once(async move { sse::write(None, None, &acknowledged) });
    event_stream(stream::StreamExt::chain(first, super::stream::notice_stream(notices)))
}
