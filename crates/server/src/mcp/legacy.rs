//! The doors of 2024-11-05 … 2025-11-25 over Streamable HTTP: sessions opened by `initialize`.
//!
//! A legacy client's disconnect is no cancel: its requests run on without it for a while, until they end or are
//! cancelled by `notifications/cancelled`.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use futures::stream::StreamExt;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;
use toolgrove_core::call::{Caller, Door, View};
use toolgrove_wire::envelope::{self, INVALID_PARAMS, INVALID_REQUEST, NotAMessage, UnknownId};
use toolgrove_wire::legacy::Version;
use toolgrove_wire::modern::RequestMeta;
use toolgrove_wire::{Abilities, Edit, Id, Message, Raw};

use super::Reply;
use super::answer::{Client, ClientEra, Failure, capabilities, client_name, instructions};
use super::headers;
use super::notices::{Notices, Wanted};
use super::session::{self, Session, unlisted};
use super::stream::{Running, event_stream, json as json_response, notice_stream, refuse};
use crate::App;

/// The version a client asked for, if we know it, else our newest.
pub fn negotiate(params: Option<&Raw>) -> Result<Version, Failure> {
    let asked = params.and_then(|it| it.get_text("protocolVersion"));
    let asked = asked.ok_or_else(|| Failure::new(200, INVALID_PARAMS, "missing: protocolVersion"))?;
    Ok(Version::parse(&asked).unwrap_or(Version::LATEST))
}

/// What the client of an `initialize` can be asked.
pub(super) fn abilities(params: Option<&Raw>, version: Version) -> Abilities {
    let declared = params.and_then(|it| it.get("capabilities"));
    declared.map(|it| Abilities::read_legacy(&it, version)).unwrap_or_default()
}

/// The result of `initialize`.
pub fn initialized(app: &App, client: &Client, version: Version) -> Result<Raw, Failure> {
    let result = Raw::of(&json!({ "protocolVersion": version.as_str() }));
    let edit = Edit::of(&result)
        .set("capabilities", capabilities(app, client)?)
        .set("serverInfo", app.server_info.clone());
    Ok(match instructions(app, client) {
        Some(text) => edit.set_text("instructions", &text).done(),
        None => edit.done(),
    })
}

/// What becomes of a POST that is not modern.
pub(super) fn reply<'a>(
    app: &'a Arc<App>,
    caller: Arc<Caller>,
    view: View,
    headers: &HeaderMap,
    (body, message, meta): (Raw, Result<Message, NotAMessage>, RequestMeta),
) -> Reply<'a> {
    let refused = |id: Option<&Id>, failure: &Failure| {
        Reply::Now(refuse(id, ClientEra::Legacy(Version::LATEST), failure))
    };
    if let Some(header) = headers.get(headers::VERSION)
        && header.to_str().ok().and_then(Version::parse).is_none()
    {
        let text = "header MCP-Protocol-Version names no version known here";
        return refused(None, &Failure::new(400, INVALID_REQUEST, text));
    }
    let session = match headers.get(headers::SESSION).map(|it| it.to_str().unwrap_or_default()) {
        None => None,
        Some(id) => {
            let text = "this session does not exist; initialize again";
            let found = app.sessions.find(id, &caller, &view);
            let Some(found) = found else {
                return refused(None, &Failure::new(404, INVALID_REQUEST, text));
            };
            Some(found)
        }
    };
    if body.is_array() {
        return match session {
            Some(session) if session.version.has_batches() => {
                Reply::Later(async move { batch(app, &caller, &session, &body).await }.boxed())
            }
            _ => refused(None, &Failure { rpc: NotAMessage::Batch.rpc(), status: 400 }),
        };
    }
    match message {
        Err(problem) => {
            let failure = Failure { rpc: problem.rpc(), status: 400 };
            refused(envelope::id_of(&body).as_ref(), &failure)
        }
        Ok(Message::Request { id, method, params }) if method == "initialize" => {
            if session.is_some() {
                let text = "this session is already initialized";
                return refused(Some(&id), &Failure::new(400, INVALID_REQUEST, text));
            }
            Reply::Later(async move { initialize(app, caller, view, &id, params.as_ref()).await }.boxed())
        }
        Ok(Message::Request { id, method, params }) => {
            let session = session.unwrap_or_else(|| stateless(&caller, view, headers));
            let client = session.client(caller, Door::Legacy);
            Reply::Running(session.start(app, client, id, method, params, meta))
        }
        Ok(Message::Notification { method, params }) => {
            if let Some(session) = session {
                session.notified(app, &method, params.as_ref());
            }
            Reply::Now(StatusCode::ACCEPTED.into_response())
        }
        Ok(Message::Response { id, result }) => {
            if let Some(session) = session {
                session.answered(id.as_ref(), result);
            }
            Reply::Now(StatusCode::ACCEPTED.into_response())
        }
    }
}

/// A client without a session: each of its requests is a session of its own that nobody can find.
fn stateless(caller: &Caller, view: View, headers: &HeaderMap) -> Arc<Session> {
    let version = headers.get(headers::VERSION).and_then(|it| it.to_str().ok()).and_then(Version::parse);
    unlisted(caller, view, version.unwrap_or(Version::V2025_03_26))
}

async fn initialize(
    app: &Arc<App>,
    caller: Arc<Caller>,
    view: View,
    id: &Id,
    params: Option<&Raw>,
) -> Response {
    let era = ClientEra::Legacy(Version::LATEST);
    let version = match negotiate(params) {
        Ok(version) => version,
        Err(failure) => return refuse(Some(id), era, &failure),
    };
    if let View::One { slug } = &view {
        app.first_listing(&caller, slug).await;
    }
    let name = params.and_then(|it| it.get("clientInfo")).as_ref().and_then(client_name);
    app.live.meet(caller.person, name.as_ref());
    let session = app.sessions.open(&caller, view, version, abilities(params, version), name);
    match initialized(app, &session.client(caller, Door::Legacy), version) {
        Ok(result) => {
            let mut response = json_response(200, envelope::response(id, &result).into());
            if let Ok(value) = HeaderValue::from_str(&session.id) {
                response.headers_mut().insert(headers::SESSION, value);
            }
            response
        }
        Err(failure) => {
            app.sessions.close(&session);
            refuse(Some(id), era, &failure)
        }
    }
}

/// A batch of 2025-03-26: each element is a request of its own, one array comes back.
async fn batch(app: &Arc<App>, caller: &Arc<Caller>, session: &Arc<Session>, body: &Raw) -> Response {
    let mut running = Vec::new();
    let mut answers = Vec::new();
    for element in body.items() {
        match Message::read(&element) {
            Err(problem) => {
                let id = envelope::id_of(&element);
                answers.push(envelope::error(id.as_ref(), &problem.rpc(), UnknownId::Null));
            }
            Ok(Message::Request { id, method, params }) => {
                let client = session.client(caller.clone(), Door::Legacy);
                let meta = RequestMeta::read(params.as_ref());
                running.push(session.start(app, client, id, method, params, meta));
            }
            Ok(Message::Notification { method, params }) => session.notified(app, &method, params.as_ref()),
            Ok(Message::Response { id, result }) => session.answered(id.as_ref(), result),
        }
    }
    if body.items().next().is_none() {
        let failure = Failure::new(400, INVALID_REQUEST, "an empty batch asks nothing");
        return refuse(None, ClientEra::Legacy(session.version), &failure);
    }
    answers.extend(futures::future::join_all(running.into_iter().map(Running::message)).await);
    if answers.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    let answers: Vec<Raw> = answers.into_iter().filter_map(|it| Raw::parse(it).ok()).collect();
    json_response(200, Raw::array(&answers).bytes().clone().into())
}

/// `GET`: the stream on which a session hears of changes.
pub fn hear(app: &Arc<App>, caller: &Arc<Caller>, view: &View, headers: &HeaderMap) -> Response {
    let Some(id) = headers.get(headers::SESSION) else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    let Some(session) = app.sessions.find(id.to_str().unwrap_or_default(), caller, view) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if let Some(last) = headers.get("last-event-id").and_then(|it| it.to_str().ok()) {
        return match session.replays.after(last) {
            Some(missed) => event_stream(missed),
            None => StatusCode::NOT_FOUND.into_response(),
        };
    }
    let bus = app.hub.bus().subscribe();
    let wanted = Wanted::session(session.clone());
    let notices = Notices::new(bus, caller.clone(), session.view.clone(), wanted, None);
    let first = bytes::Bytes::from_static(toolgrove_wire::sse::KEEP_ALIVE);
    let closed = session.closed.clone().notified_owned();
    event_stream(futures::stream::once(async { first }).chain(notice_stream(notices)).take_until(closed))
}

/// `DELETE`: the end of a session.
pub fn end(app: &Arc<App>, caller: &Caller, view: &View, headers: &HeaderMap) -> Response {
    let Some(id) = headers.get(headers::SESSION) else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    match app.sessions.find(id.to_str().unwrap_or_default(), caller, view) {
        Some(session) => {
            session::close(app, &session);
            StatusCode::NO_CONTENT.into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
