//! The doors of 2024-11-05 … 2025-11-25 over Streamable HTTP: sessions opened by `initialize`.
//!
//! A legacy client's disconnect is no cancel: its requests run in tasks of their own until they end or are
//! cancelled by `notifications/cancelled`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use futures::stream::StreamExt;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use toolgrove_core::call::{Caller, Door, Links, View};
use toolgrove_core::event::{Ask, Events, Progress};
use toolgrove_core::hub::Watch;
use toolgrove_core::task;
use toolgrove_wire::envelope::{self, INVALID_PARAMS, INVALID_REQUEST, NotAMessage, UnknownId};
use toolgrove_wire::legacy::Version;
use toolgrove_wire::modern::RequestMeta;
use toolgrove_upstream::Pool;
use toolgrove_wire::{Abilities, Edit, Id, Message, Raw, RpcError};
use uuid::Uuid;

use super::answer::{Client, ClientEra, Failure, answer, broken, capabilities, instructions};
use super::notices::{Notices, Wanted};
use super::asks;
use super::replay::Replays;
use super::stream::{
    Answering, Asker, Running, Streams, event_stream, json as json_response, notice_stream, refuse,
};
use crate::App;
use crate::Memory;

const SESSION: &str = "mcp-session-id";
/// A session nobody has used for this long is forgotten; its client is told to open a new one.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// One legacy client between `initialize` and `DELETE`.
pub struct Session {
    pub id: String,
    person: Uuid,
    view: View,
    pub version: Version,
    abilities: Abilities,
    log_level: Mutex<Option<String>>,
    running: Mutex<HashMap<String, AbortHandle>>,
    asks: asks::Asks,
    pub(super) replays: Arc<Replays>,
    /// Resources this session has subscribed to, by the address it gave.
    watched: Mutex<HashMap<String, Watch<Pool, Memory>>>,
    used: Mutex<Instant>,
    closed: Arc<Notify>,
}

/// All open legacy sessions.
#[derive(Default)]
pub struct Sessions(Mutex<HashMap<String, Arc<Session>>>);

impl Sessions {
    pub fn open(&self, person: Uuid, view: View, version: Version, abilities: Abilities) -> Arc<Session> {
        let session = Arc::new(Session {
            id: Uuid::new_v4().simple().to_string(),
            person,
            view,
            version,
            abilities,
            log_level: Mutex::default(),
            running: Mutex::default(),
            asks: asks::Asks::default(),
            replays: Arc::default(),
            watched: Mutex::default(),
            used: Mutex::new(Instant::now()),
            closed: Arc::default(),
        });
        let mut sessions = lock(&self.0);
        sessions.insert(session.id.clone(), session.clone());
        if sessions.len().is_multiple_of(256) {
            sessions.retain(|_, it| lock(&it.used).elapsed() < FORGOTTEN_AFTER);
        }
        session
    }

    /// A session of this person on this endpoint. Anybody else's does not exist.
    pub fn find(&self, id: &str, person: Uuid, view: &View) -> Option<Arc<Session>> {
        let session = lock(&self.0).get(id).filter(|it| it.person == person && it.view == *view).cloned()?;
        *lock(&session.used) = Instant::now();
        Some(session)
    }

    pub fn close(&self, session: &Session) {
        lock(&self.0).remove(&session.id);
        session.cancel_all();
        session.closed.notify_waiters();
    }

    pub fn count(&self) -> usize {
        lock(&self.0).len()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    pub fn client(&self, caller: Arc<Caller>, door: Door) -> Client {
        Client {
            caller,
            view: self.view.clone(),
            era: ClientEra::Legacy(self.version),
            door,
            chat: self.id.as_str().into(),
            log_level: Some(lock(&self.log_level).clone().unwrap_or_else(|| "info".into())),
            abilities: self.abilities,
        }
    }

    fn cancel_all(&self) {
        for (_, running) in lock(&self.running).drain() {
            running.abort();
        }
    }

    /// Takes a notification of the client.
    pub fn notified(&self, method: &str, params: Option<&Raw>) {
        if method == "notifications/cancelled"
            && let Some(id) = params.and_then(|it| it.get("requestId")).and_then(Id::new)
            && let Some(running) = lock(&self.running).remove(&id.key())
        {
            running.abort();
        }
        if method == "notifications/roots/list_changed" {
            self.asks.forget_roots();
        }
    }

    pub fn set_log_level(&self, params: Option<&Raw>) -> Result<Raw, Failure> {
        let level = params.and_then(|it| it.get_text("level")).unwrap_or_default();
        if !super::LOG_LEVELS.contains(&level.as_str()) {
            return Err(Failure::new(200, INVALID_PARAMS, format!("`{level}` is not a log level")));
        }
        *lock(&self.log_level) = Some(level);
        Ok(Raw::empty_object())
    }

    /// Starts a request in a task of its own, so that it outlives the connection it came over.
    pub fn start(
        self: &Arc<Self>,
        app: &Arc<App>,
        client: Client,
        id: Id,
        method: String,
        params: Option<Raw>,
    ) -> Running {
        let meta = RequestMeta::read(params.as_ref());
        let progress_token = meta.progress_token.clone();
        let progress = if progress_token.is_some() { Progress::Wanted } else { Progress::Unwanted };
        let (events, heard) = Events::channel(progress);
        let (app, session, key) = (app.clone(), self.clone(), id.key());
        let era = client.era;
        let mut running = lock(&self.running);
        if running.contains_key(&key) {
            let failure = Failure::new(400, INVALID_REQUEST, "a request with this id is already running");
            let answer = Box::pin(async { Err(failure) });
            return Running { id, era, progress_token, events: heard, answer, asker: Asker::Nobody };
        }
        let ended = key.clone();
        let handle = task::spawn("legacy request", async move {
            let result = match method.as_str() {
                "logging/setLevel" => session.set_log_level(params.as_ref()),
                "resources/subscribe" => session.subscribe(&app, params.as_ref()).await,
                "resources/unsubscribe" => session.unsubscribe(params.as_ref()),
                _ => answer(&app, &client, &method, params, &meta, events).await,
            };
            lock(&session.running).remove(&ended);
            result
        });
        running.insert(key, handle.abort_handle());
        drop(running);
        let answer: Answering = Box::pin(async move {
            match handle.await {
                Ok(result) => result,
                Err(problem) if problem.is_cancelled() => Err(broken("the call was cancelled")),
                Err(problem) => Err(broken(problem)),
            }
        });
        let asker = Asker::Session(self.clone());
        Running { id, era, progress_token, events: heard, answer, asker }
    }

    /// A question as the request this client gets; none when it cannot be put to it.
    pub(super) fn ask(&self, ask: Ask) -> Option<bytes::Bytes> {
        if !ask.question.fits(&ask.params, self.abilities) {
            return None;
        }
        self.asks.put(ask, self.version)
    }

    /// Takes the client's answer to a question.
    pub(super) fn answered(&self, id: Option<&Id>, result: Result<Raw, RpcError>) {
        if let Some(id) = id {
            self.asks.answered(id, result);
        }
    }

    async fn subscribe(&self, app: &Arc<App>, params: Option<&Raw>) -> Result<Raw, Failure> {
        let uri = address(params)?;
        let watch = app.hub.watch(self.person, &self.view, &uri).await.map_err(|it| Failure::of(&it, &self.view))?;
        lock(&self.watched).insert(uri, watch);
        Ok(Raw::empty_object())
    }

    fn unsubscribe(&self, params: Option<&Raw>) -> Result<Raw, Failure> {
        let uri = address(params)?;
        lock(&self.watched).remove(&uri);
        Ok(Raw::empty_object())
    }

    /// Whether this session has subscribed to an address, in the form it gave.
    pub(super) fn watches(&self, uri: &str) -> bool {
        lock(&self.watched).contains_key(uri)
    }
}

fn address(params: Option<&Raw>) -> Result<String, Failure> {
    params.and_then(|it| it.get_text("uri")).ok_or_else(|| Failure::new(200, INVALID_PARAMS, "missing: uri"))
}

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

/// Answers a POST that is not modern.
pub async fn respond(
    app: &Arc<App>,
    caller: Arc<Caller>,
    view: View,
    headers: &HeaderMap,
    streams: Streams,
    body: Raw,
) -> Response {
    let era = ClientEra::Legacy(Version::LATEST);
    if let Some(header) = headers.get("mcp-protocol-version")
        && header.to_str().ok().and_then(Version::parse).is_none()
    {
        let failure =
            Failure::new(400, INVALID_REQUEST, "header MCP-Protocol-Version names no version known here");
        return refuse(None, era, &failure);
    }
    let session = match headers.get(SESSION).map(|it| it.to_str().unwrap_or_default()) {
        None => None,
        Some(id) => match app.sessions.find(id, caller.person, &view) {
            Some(session) => Some(session),
            None => {
                return refuse(
                    None,
                    era,
                    &Failure::new(404, INVALID_REQUEST, "this session does not exist; initialize again"),
                );
            }
        },
    };
    if body.is_array() {
        return match &session {
            Some(session) if session.version.has_batches() => batch(app, &caller, session, &body).await,
            _ => refuse(None, era, &Failure { rpc: NotAMessage::Batch.rpc(), status: 400 }),
        };
    }
    match Message::read(&body) {
        Err(problem) => refuse(None, era, &Failure { rpc: problem.rpc(), status: 400 }),
        Ok(Message::Request { id, method, params }) if method == "initialize" => {
            if session.is_some() {
                return refuse(
                    Some(&id),
                    era,
                    &Failure::new(400, INVALID_REQUEST, "this session is already initialized"),
                );
            }
            initialize(app, caller, view, &id, params.as_ref()).await
        }
        Ok(Message::Request { id, method, params }) => {
            let session = session.unwrap_or_else(|| stateless(&caller, view, headers));
            let client = session.client(caller, Door::Legacy);
            session.start(app, client, id, method, params).respond(streams).await
        }
        Ok(Message::Notification { method, params }) => {
            if let Some(session) = session {
                session.notified(&method, params.as_ref());
            }
            StatusCode::ACCEPTED.into_response()
        }
        Ok(Message::Response { id, result }) => {
            if let Some(session) = session {
                session.answered(id.as_ref(), result);
            }
            StatusCode::ACCEPTED.into_response()
        }
    }
}

/// A client without a session: each of its requests is a session of its own that nobody can find.
fn stateless(caller: &Caller, view: View, headers: &HeaderMap) -> Arc<Session> {
    let version =
        headers.get("mcp-protocol-version").and_then(|it| it.to_str().ok()).and_then(Version::parse);
    unlisted(caller, view, version.unwrap_or(Version::V2025_03_26))
}

/// A session that is in no table.
pub fn unlisted(caller: &Caller, view: View, version: Version) -> Arc<Session> {
    Arc::new(Session {
        id: format!("caller:{}", caller.person),
        person: caller.person,
        view,
        version,
        abilities: Abilities::NONE,
        log_level: Mutex::default(),
        running: Mutex::default(),
        asks: asks::Asks::default(),
            replays: Arc::default(),
        watched: Mutex::default(),
        used: Mutex::new(Instant::now()),
        closed: Arc::default(),
    })
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
        app.first_listing(caller.person, slug).await;
    }
    let session = app.sessions.open(caller.person, view, version, abilities(params, version));
    match initialized(app, &session.client(caller, Door::Legacy), version) {
        Ok(result) => {
            let mut response = json_response(200, envelope::response(id, &result));
            if let Ok(value) = HeaderValue::from_str(&session.id) {
                response.headers_mut().insert(SESSION, value);
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
            Err(problem) => answers.push(envelope::error(None, &problem.rpc(), UnknownId::Null)),
            Ok(Message::Request { id, method, params }) => {
                let client = session.client(caller.clone(), Door::Legacy);
                running.push(session.start(app, client, id, method, params));
            }
            Ok(Message::Notification { method, params }) => session.notified(&method, params.as_ref()),
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
    json_response(200, Raw::array(&answers).bytes().clone())
}

/// `GET`: the stream on which a session hears of changes.
pub fn hear(app: &Arc<App>, caller: &Caller, view: &View, headers: &HeaderMap) -> Response {
    let Some(id) = headers.get(SESSION) else { return StatusCode::METHOD_NOT_ALLOWED.into_response() };
    let Some(session) = app.sessions.find(id.to_str().unwrap_or_default(), caller.person, view) else {
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
    let notices = Notices::new(bus, session.person, session.view.clone(), wanted, None);
    let first = bytes::Bytes::from_static(toolgrove_wire::sse::KEEP_ALIVE);
    let closed = session.closed.clone().notified_owned();
    event_stream(futures::stream::once(async { first }).chain(notice_stream(notices)).take_until(closed))
}

/// Ends a session and the links that were opened for it.
pub(super) fn close(app: &Arc<App>, session: &Session) {
    app.sessions.close(session);
    let (app, chat) = (app.clone(), session.id.clone());
    task::spawn("end of a session", async move { app.hub.links().end_chat(&chat).await });
}

/// `DELETE`: the end of a session.
pub fn end(app: &Arc<App>, caller: &Caller, view: &View, headers: &HeaderMap) -> Response {
    let Some(id) = headers.get(SESSION) else { return StatusCode::METHOD_NOT_ALLOWED.into_response() };
    match app.sessions.find(id.to_str().unwrap_or_default(), caller.person, view) {
        Some(session) => {
            close(app, &session);
            StatusCode::NO_CONTENT.into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
