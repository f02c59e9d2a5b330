//! The MCP doors: `/mcp` for everything, `/mcp/i/<slug>` for one instance, in both eras on the same address.
//!
//! Which era a message is of is told by the message alone, never by the connection it came over.

pub mod answer;
mod answering;
mod asks;
#[cfg(test)]
mod bed;
pub mod conversation;
pub(crate) mod headers;
#[cfg(test)]
mod leaks;
pub mod legacy;
pub mod lines;
pub mod modern;
mod notices;
pub mod park;
mod replay;
pub mod session;
pub mod sse;
mod stream;
mod task;
pub mod zipped;

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use http::request::Parts;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde::Deserialize;
use toolgrove_core::call::{Caller, View};
use toolgrove_core::event::ListKind;
use toolgrove_core::task::{UnderWay, turn};
use toolgrove_wire::envelope::{INVALID_REQUEST, NotAMessage};
use toolgrove_wire::legacy::Version;
use toolgrove_wire::modern::{RequestMeta, VERSION};
use toolgrove_wire::{Gathered, Message, Raw};

use self::answer::{ClientEra, Failure};
pub use self::stream::event_stream;
use self::stream::{Running, Streams, Takes, refuse};
use crate::App;
use crate::api::text::profile;
use crate::auth::{Pass, let_in};
use crate::problem::Refusal;
use crate::ui;

/// The levels of `notifications/message`, most verbose first.
pub const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A level, if it is one.
fn log_level(word: &str) -> Option<&'static str> {
    LOG_LEVELS.into_iter().find(|it| *it == word)
}

/// `/mcp`: every tool under its public name, in the form that `?names=double|single` chooses.
pub async fn all(
    State(app): State<Arc<App>>,
    Query(Names { names }): Query<Names>,
    request: Request<Body>,
) -> Response {
    let_in(&app.clone(), request, |Pass { caller, .. }, request| async move {
        match profile(&caller, names.as_deref()) {
            Ok(profile) => {
                let caller = Arc::new(Caller { profile, ..Caller::clone(&caller) });
                serve(app, caller, View::All, request).await
            }
            Err(error) => Refusal(error).into_response(),
        }
    })
    .await
}

#[derive(Deserialize)]
pub struct Names {
    names: Option<String>,
}

/// `/mcp/i/<slug>`: one instance under its own names.
pub async fn one(State(app): State<Arc<App>>, Path(slug): Path<String>, request: Request<Body>) -> Response {
    enter(app, View::One { slug }, request).await
}

/// A request to a door, before it is known from whom it is.
pub(crate) fn enter(app: Arc<App>, view: View, request: Request<Body>) -> BoxFuture<'static, Response> {
    // On the path of most calls, nothing but the call itself becomes a future.
    if let Some(caller) = app.owner(request.headers()) {
        return serve(app, caller, view, request);
    }
    let known = async move {
        let_in(&app.clone(), request, |Pass { caller, .. }, request| serve(app, caller, view, request)).await
    };
    known.boxed()
}

/// What is off or not there is said before anything is read.
fn check_instance(app: &App, caller: &Caller, view: &View) -> Result<(), Failure> {
    let View::One { slug } = view else { return Ok(()) };
    let catalog = app.hub.catalog(caller);
    let offer = catalog.require(slug).map_err(|it| Failure::of(&it, view))?;
    toolgrove_core::catalog::usable(&offer.instance).map_err(|it| Failure::of(&it, view))
}

fn serve(
    app: Arc<App>,
    caller: Arc<Caller>,
    view: View,
    request: Request<Body>,
) -> BoxFuture<'static, Response> {
    let (Parts { method, headers, .. }, body) = request.into_parts();
    let response = match (check_instance(&app, &caller, &view), method) {
        (Err(failure), _) => refuse(None, ClientEra::Legacy(Version::LATEST), &failure),
        (Ok(()), Method::POST) => return post(app, caller, view, headers, body).boxed(),
        (Ok(()), Method::GET) => legacy::hear(&app, &caller, &view, &headers),
        (Ok(()), Method::DELETE) => legacy::end(&app, &caller, &view, &headers),
        (Ok(()), _) => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    };
    ready(response).boxed()
}

/// What becomes of a request: an answer at once, one that is waited for as calls are, or in another way.
enum Reply<'a> {
    Now(Response),
    Running(Box<Running>),
    Later(BoxFuture<'a, Response>),
}

async fn post(app: Arc<App>, caller: Arc<Caller>, view: View, headers: HeaderMap, body: Body) -> Response {
    let _under_way = UnderWay::begin();
    let version = headers.get(headers::VERSION).and_then(|it| it.to_str().ok());
    // Dates compare as text.
    let modern_header = version.is_some_and(|it| it >= VERSION);
    let era = if modern_header { ClientEra::Modern } else { ClientEra::Legacy(Version::LATEST) };
    let bytes = match read_body(&headers, body, app.body_limit()).await {
        Ok(bytes) => bytes,
        Err(failure) => return refuse(None, era, &failure),
    };
    let body = match Raw::parse(bytes) {
        Ok(body) => body,
        Err(problem) => {
            let rpc = NotAMessage::from(problem).rpc();
            return refuse(None, era, &Failure { rpc, status: 400 });
        }
    };
    let message = Message::read(&body);
    let takes = takes(&app, &headers, message.as_ref().ok());
    let meta = match &message {
        Ok(Message::Request { params, .. } | Message::Notification { params, .. }) => {
            RequestMeta::read(params.as_ref())
        }
        Ok(Message::Response { .. }) => RequestMeta::default(),
        Err(_) => RequestMeta::read(body.get("params").as_ref()),
    };
    let is_modern = modern_header || meta.version.is_some();
    let reply = if is_modern {
        modern::reply(&app, caller, view, &headers, (body, message, meta))
    } else {
        legacy::reply(&app, caller, view, &headers, (body, message, meta))
    };
    match reply {
        Reply::Now(response) => response,
        Reply::Running(running) => {
            let response = running.respond(takes).await;
            turn().await;
            response
        }
        Reply::Later(response) => response.await,
    }
}

/// Reads a body that says it is JSON and keeps within the limit.
async fn read_body(headers: &HeaderMap, mut body: Body, limit: usize) -> Result<Bytes, Failure> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    if !kind.trim_start().to_ascii_lowercase().starts_with("application/json") {
        return Err(Failure::new(415, INVALID_REQUEST, "Content-Type must be application/json"));
    }
    let expected = hyper::body::Body::size_hint(&body)
        .exact()
        .map(|it| usize::try_from(it).unwrap_or(usize::MAX).min(limit));
    let mut gathered = Gathered::default();
    while let Some(frame) = body.frame().await {
        let early = |_| Failure::new(400, INVALID_REQUEST, "the body ended early");
        let Ok(data) = frame.map_err(early)?.into_data() else { continue };
        if gathered.len() + data.len() > limit {
            let message = format!("a message may have at most {} MiB", limit / (1024 * 1024));
            return Err(Failure::new(413, INVALID_REQUEST, message));
        }
        gathered.push(data, expected);
    }
    Ok(gathered.into_bytes())
}

/// What a client can read in answer to a message.
fn takes(app: &App, headers: &HeaderMap, message: Option<&Message>) -> Takes {
    let is_list = |method: &str| ListKind::ALL.iter().any(|it| it.method() == method);
    let zips = match message {
        Some(Message::Request { method, .. }) if is_list(method) && ui::takes(headers, "gzip") => {
            Some(app.zips.clone())
        }
        _ => None,
    };
    Takes { streams: streams(headers), zips }
}

/// A client that does not say so can read an event stream; one that names only other types cannot.
fn streams(headers: &HeaderMap) -> Streams {
    let mut accepts = headers.get_all(header::ACCEPT).iter().filter_map(|it| it.to_str().ok()).peekable();
    if accepts.peek().is_none() {
        return Streams::Accepted;
    }
    if accepts.any(|it| it.contains("text/event-stream") || it.contains("*/*")) {
        Streams::Accepted
    } else {
        Streams::Refused
    }
}
