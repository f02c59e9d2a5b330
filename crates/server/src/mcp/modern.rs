//! The 2026-07-28 door: every request stands alone, names its revision twice, and is refused when the two differ.

use std::sync::Arc;

use axum::response::Response;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures::stream;
use http::HeaderMap;
use toolgrove_core::call::{Caller, Door, View};
use toolgrove_core::event::Events;
use toolgrove_wire::envelope::{INVALID_PARAMS, METHOD_NOT_FOUND};
use toolgrove_wire::modern::{HEADER_MISMATCH, RequestMeta, UNSUPPORTED_VERSION, VERSION};
use toolgrove_wire::{Id, Raw, RpcError, sse};

use super::answer::{Client, ClientEra, Failure, answer};
use super::notices::{Notices, Wanted};
use super::stream::{Running, Streams, event_stream, refuse};
use crate::App;

/// Every method of this era that the hub answers.
const METHODS: [&str; 10] = [
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
];

pub fn client(caller: Arc<Caller>, view: View, door: Door) -> Client {
    let chat = format!("caller:{}", caller.person).into();
    Client { caller, view, era: ClientEra::Modern, door, chat, log_level: None }
}

/// Answers one request over HTTP.
pub async fn respond(
    app: &Arc<App>,
    client: Client,
    headers: &HeaderMap,
    streams: Streams,
    id: Id,
    method: String,
    params: Option<Raw>,
) -> Response {
    let meta = RequestMeta::read(params.as_ref());
    let checked =
        check_headers(headers, &method, params.as_ref(), &meta).and_then(|()| check_method(&method));
    if let Err(failure) = checked {
        return refuse(Some(&id), ClientEra::Modern, &failure);
    }
    if method == "subscriptions/listen" {
        return match listen(app, &client, &id, params.as_ref()) {
            Ok(notices) => listen_stream(notices.0, notices.1),
            Err(failure) => refuse(Some(&id), ClientEra::Modern, &failure),
        };
    }
    let (events, heard) = Events::channel();
    let events =
        if meta.progress_token.is_some() || meta.log_level.is_some() { events } else { Events::none() };
    let (app, progress_token) = (app.clone(), meta.progress_token.clone());
    let answer = Box::pin(async move { answer(&app, &client, &method, params, &meta, events).await });
    Running { id, era: ClientEra::Modern, progress_token, events: heard, answer }.respond(streams).await
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
    let version = single(headers, "mcp-protocol-version")?;
    let version = version.ok_or_else(|| mismatch("header MCP-Protocol-Version is missing"))?;
    check_meta(method, meta)?;
    if meta.version.as_deref() != Some(&version) {
        return Err(mismatch("header MCP-Protocol-Version and _meta differ"));
    }
    check_version(&version)?;
    match single(headers, "mcp-method")? {
        None => return Err(mismatch("header Mcp-Method is missing")),
        Some(named) if named != method => return Err(mismatch("header Mcp-Method and the body differ")),
        Some(_) => {}
    }
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return Ok(()),
    };
    let Some(wanted) = params.and_then(|it| it.get_text(member)) else {
        return Err(Failure::new(400, INVALID_PARAMS, format!("missing: {member}")));
    };
    match single(headers, "mcp-name")? {
        None => Err(mismatch("header Mcp-Name is missing")),
        Some(named) if named != wanted => Err(mismatch("header Mcp-Name and the body differ")),
        Some(_) => Ok(()),
    }
}

fn mismatch(message: &str) -> Failure {
    Failure::new(400, HEADER_MISMATCH, message)
}

/// The one value of a header, decoded from its base64 form if it has it.
fn single(headers: &HeaderMap, name: &str) -> Result<Option<String>, Failure> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(mismatch(&format!("header {name} is there twice")));
    }
    let unreadable = || mismatch(&format!("header {name} is not readable"));
    let text = value.to_str().map_err(|_| unreadable())?.trim();
    match text.strip_prefix("=?base64?").and_then(|it| it.strip_suffix("?=")) {
        None => Ok(Some(text.to_owned())),
        Some(encoded) => {
            let bytes = BASE64_STANDARD.decode(encoded).map_err(|_| unreadable())?;
            String::from_utf8(bytes).map(Some).map_err(|_| unreadable())
        }
    }
}

/// Opens an ear for `subscriptions/listen` and makes the acknowledgement that comes first.
pub fn listen(
    app: &App,
    client: &Client,
    id: &Id,
    params: Option<&Raw>,
) -> Result<(bytes::Bytes, Notices), Failure> {
    let filter = params.and_then(|it| it.get("notifications")).filter(Raw::is_object);
    let filter = filter.ok_or_else(|| Failure::new(400, INVALID_PARAMS, "missing: notifications"))?;
    let wanted = Wanted::read(&filter);
    let accepted = wanted.accepted();
    let bus = app.hub.bus().subscribe();
    let notices = Notices::new(bus, client.caller.person, client.view.clone(), wanted, Some(id.clone()));
    Ok((notices.tagged("notifications/subscriptions/acknowledged", accepted), notices))
}

fn listen_stream(acknowledged: bytes::Bytes, notices: Notices) -> Response {
    let first = stream::once(async move { sse::write(None, None, &acknowledged) });
    event_stream(stream::StreamExt::chain(first, super::stream::notice_stream(notices)))
}
