//! Streamable HTTP, over TCP, TLS or a unix socket. Modern servers are stateless; legacy ones have a session.
//!
//! An answer comes on its own POST, as JSON or as a stream of events. A call that reached the server is never sent
//! again from here; [`Failure`] tells the pool which ones did not.

mod call;
mod stream;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures::FutureExt;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::sync::watch;
use tokio::time::timeout;
use toolgrove_core::Error;
use toolgrove_core::instance::{Era, Verdict};
use toolgrove_wire::legacy::Version;
use toolgrove_wire::{Abilities, Pieces, Raw, envelope, modern};

use super::{HUB_CHAT, Kind, Link, Task, sse};
use crate::context::Context;
use crate::desk::{Desk, Watcher};
use crate::era::{self, Finding, Plan, Session, Trust};
use crate::failure::Failure;
use crate::feed::{Ack, Announced, Topic};
use crate::speech::{Ask, Speech};
use crate::web::{self, Endpoint, Head, Opening, Own};

/// The evidence of a verdict that was reached over the deprecated transport.
pub(crate) const HTTP_SSE: &str = "HTTP+SSE (deprecated)";

const OPEN_TIMEOUT: Duration = Duration::from_secs(60);
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the stream is waited for on which a server may ask or tell; some show it only with its first event.
const STREAM_TIMEOUT: Duration = Duration::from_millis(500);
const DELETE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Http {
    wire: Arc<Wire>,
    /// The GET stream of a legacy session.
    stream: Mutex<Option<Task>>,
}

/// What all requests of a link share, also those that outlive it.
#[derive(Debug)]
pub(crate) struct Wire {
    context: Arc<Context>,
    pub(crate) desk: Arc<Desk>,
    endpoint: Endpoint,
    speech: Speech,
    era: Era,
    announced: Announced,
    /// Everything but what changes from request to request.
    headers: HeaderMap,
    /// The same, as they are written.
    opening: Opening,
    has_session: bool,
    /// Calls in flight on a legacy session, which its GET stream may speak of.
    watchers: Mutex<HashMap<u64, Arc<Watcher>>>,
    /// Whether the GET stream has been answered, whatever the answer.
    streaming: watch::Sender<bool>,
    over: watch::Sender<bool>,
}

/// Whose session is to be opened, and what its server may ask.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guest<'a> {
    pub(crate) chat: &'a str,
    pub(crate) abilities: Abilities,
}

pub(crate) async fn open(
    context: &Arc<Context>,
    endpoint: Endpoint,
    plan: &Plan,
    known: Option<&Verdict>,
    guest: Guest<'_>,
) -> Result<Link, Error> {
    if *plan != Plan::Probe
        && known.is_some_and(|it| it.evidence == HTTP_SSE)
        && let Ok(link) = sse::open(context, endpoint.clone(), plan, guest.abilities).await
    {
        return Ok(link);
    }
    let opened = match plan {
        Plan::Modern { version, trust } => {
            let evidence = match (trust, known) {
                (Trust::Found, Some(verdict)) => verdict.evidence.clone(),
                _ => "set by hand".into(),
            };
            Ok(open_modern(context, endpoint, Session::modern(context, version, evidence), plan))
        }
        Plan::Legacy { version, trust } => {
            match open_session(context, &endpoint, version, plan, guest).await {
                Err(
                    failure @ (Failure::Refused { status: 400 | 404 | 405, .. }
                    | Failure::Final(Error::Server { .. })),
                ) if *trust == Trust::Found => match probe(context, &endpoint).await {
                    Finding::Modern(session) => Ok(open_modern(context, endpoint, session, plan)),
                    _ => fall_back(context, endpoint, plan, guest, failure).await,
                },
                Err(failure) => fall_back(context, endpoint, plan, guest, failure).await,
                opened => opened,
            }
        }
        Plan::Probe => match probe(context, &endpoint).await {
            Finding::Modern(session) => Ok(open_modern(context, endpoint, session, plan)),
            Finding::Legacy => {
                match open_session(context, &endpoint, Version::LATEST.as_str(), plan, guest).await {
                    Err(failure) => fall_back(context, endpoint, plan, guest, failure).await,
                    opened => opened,
                }
            }
            Finding::Nothing(failure) => Err(failure),
        },
    };
    opened.map_err(Failure::into_error)
}

fn open_modern(context: &Arc<Context>, endpoint: Endpoint, session: Session, plan: &Plan) -> Link {
    let wire = Wire::new(context, endpoint, &session, Desk::new(Abilities::NONE), None);
    Link::new(context, session, plan, Kind::Http(Http::new(wire)))
}

/// A server that does not take `initialize` by POST may be one of the first revision.
async fn fall_back(
    context: &Arc<Context>,
    endpoint: Endpoint,
    plan: &Plan,
    guest: Guest<'_>,
    failure: Failure,
) -> Result<Link, Failure> {
    let Failure::Refused { status: 400 | 404 | 405, .. } = &failure else { return Err(failure) };
    sse::open(context, endpoint, plan, guest.abilities).await.map_err(|fallback| {
        tracing::debug!(server = context.slug(), error = %fallback.error(), "no HTTP+SSE either");
        failure
    })
}

async fn probe(context: &Arc<Context>, endpoint: &Endpoint) -> Finding {
    let session = Session::modern(context, modern::VERSION, "");
    let wire = Wire::new(context, endpoint.clone(), &session, Desk::new(Abilities::NONE), None);
    let params = Raw::empty_object().into();
    let answer = wire.exchange(&era::handshake(era::DISCOVER, &params, OPEN_TIMEOUT)).await;
    era::find(context, answer.map(|it| it.result), modern::VERSION)
}

async fn open_session(
    context: &Arc<Context>,
    endpoint: &Endpoint,
    version: &str,
    plan: &Plan,
    guest: Guest<'_>,
) -> Result<Link, Failure> {
    let desk = Desk::new(guest.abilities);
    let wire = Wire::handshake(context, endpoint.clone(), desk.clone());
    let params = era::initialize_params(context, version, guest.abilities);
    let answer = wire.exchange(&era::handshake(era::INITIALIZE, &params, OPEN_TIMEOUT)).await?;
    let session = Session::initialized(context, &answer.result, "answered initialize")?;
    let wire = Wire::new(context, endpoint.clone(), &session, desk, answer.session);
    // Whatever it answers: a server that is unhappy will say so to the first request.
    wire.post_quietly(envelope::notification(era::INITIALIZED, None)).await;
    let http = Http::new(wire);
    let can_be_asked = guest.abilities.can_be_asked() && !context.passing;
    if guest.chat == HUB_CHAT || can_be_asked {
        http.open_stream();
    }
    // Some servers ask on that stream, and into the void before it is open.
    if can_be_asked {
        http.stream_answered().await;
    }
    Ok(Link::new(context, session, plan, Kind::Http(http)))
}

impl Http {
    fn new(wire: Arc<Wire>) -> Self {
        Self { wire, stream: Mutex::new(None) }
    }

    pub(crate) fn desk(&self) -> &Arc<Desk> {
        &self.wire.desk
    }

    /// Whether its session is gone.
    pub(crate) fn is_over(&self) -> bool {
        *self.wire.over.borrow()
    }

    pub(crate) async fn over(&self) {
        let _ = self.wire.over.subscribe().wait_for(|it| *it).await;
    }

    pub(crate) fn end(&self) {
        self.wire.over.send_replace(true);
    }

    pub(crate) fn pending(&self) -> usize {
        self.wire.watchers().len()
    }

    pub(crate) fn ask(&self, ask: &Ask<'_>) -> impl Future<Output = Result<Raw, Failure>> {
        self.wire.exchange(ask).map(|it| it.map(|it| it.result))
    }

    /// Sends a request to a legacy server whose answer nobody waits for.
    pub(crate) fn send_beside(&self, ask: &Ask<'_>) {
        self.wire.post_soon(vec![self.wire.speech.request(self.wire.next_id(), ask).into_bytes()]);
    }

    /// Sends a message that has no answer, from where nothing may wait.
    pub(crate) fn notify(&self, method: &str) {
        self.wire.post_soon(vec![envelope::notification(method, None)]);
    }

    /// Opens the GET stream of a legacy session unless it is open.
    pub(crate) fn open_stream(&self) {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if stream.is_none() {
            *stream = Some(Task::spawn("http-stream", stream::follow(self.wire.clone())));
        }
    }

    /// Waits until the GET stream is open or refused, but not for ever.
    pub(crate) async fn stream_answered(&self) {
        let _ = timeout(STREAM_TIMEOUT, self.wire.streaming.subscribe().wait_for(|it| *it)).await;
    }

    /// Keeps one subscription of a modern server open.
    pub(crate) fn listen(&self, topic: Topic, ack: Ack) -> impl Future<Output = ()> + Send + use<> {
        stream::listen(self.wire.clone(), topic, ack)
    }

    pub(crate) async fn close(&self) {
        self.end();
        self.stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        if self.wire.has_session {
            let head = Head::plain(&self.wire.opening);
            let deleted = self.wire.endpoint.send(Method::DELETE, &head, Pieces::default());
            let _ = timeout(DELETE_TIMEOUT, deleted).await;
        }
    }
}

impl Wire {
    fn new(
        context: &Arc<Context>,
        endpoint: Endpoint,
        agreed: &Session,
        desk: Arc<Desk>,
        session: Option<HeaderValue>,
    ) -> Arc<Self> {
        let mut wire = Self::bare(context, endpoint, desk);
        wire.speech = agreed.speech.clone();
        wire.era = agreed.era;
        wire.announced = Announced::read(&agreed.capabilities);
        let names_version = Version::parse(&agreed.version).is_none_or(Version::sends_version_header);
        if let (true, Ok(version)) = (names_version, HeaderValue::try_from(&agreed.version)) {
            wire.headers.insert(web::VERSION, version);
        }
        wire.has_session = session.is_some();
        if let Some(session) = session {
            wire.headers.insert(web::SESSION, session);
        }
        wire.opening = Opening::of(&wire.headers);
        Arc::new(wire)
    }

    /// For `initialize`, before anything is agreed on.
    fn handshake(context: &Arc<Context>, endpoint: Endpoint, desk: Arc<Desk>) -> Arc<Self> {
        Arc::new(Self::bare(context, endpoint, desk))
    }

    fn bare(context: &Arc<Context>, endpoint: Endpoint, desk: Arc<Desk>) -> Self {
        let mut headers = endpoint.headers(web::JSON_OR_EVENTS);
        headers.insert(CONTENT_TYPE, web::JSON);
        Self {
            context: context.clone(),
            desk,
            endpoint,
            speech: Speech::Legacy,
            era: Era::Legacy,
            announced: Announced::read(&Raw::empty_object()),
            opening: Opening::of(&headers),
            headers,
            has_session: false,
            watchers: Mutex::default(),
            streaming: watch::channel(false).0,
            over: watch::channel(false).0,
        }
    }

    fn next_id(&self) -> u64 {
        self.context.pipeline.next_id()
    }

    /// What a modern request repeats in its headers.
    fn own_headers(&self, ask: &Ask<'_>) -> Own {
        if self.era == Era::Legacy {
            return Own::default();
        }
        let member = match ask.method {
            "tools/call" | "prompts/get" => Some("name"),
            "resources/read" => Some("uri"),
            "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
            _ => None,
        };
        let name =
            member.and_then(|it| ask.params.get(it)).and_then(|it| it.text().map(|it| name_header(&it)));
        let params = ask.headers.iter().filter_map(|(name, value)| {
            let name = HeaderName::try_from(format!("mcp-param-{}", name.to_ascii_lowercase())).ok()?;
            Some((name, name_header(value)))
        });
        Own {
            more: [Some((web::METHOD, HeaderValue::from_static(ask.method))), name.map(|it| (web::NAME, it))],
            params: params.collect(),
        }
    }

    /// Posts an answer to a question of the server. One that is not taken ends its call, whatever the server says.
    pub(crate) async fn post_reply(&self, body: Bytes) -> Result<(), Error> {
        let posted = async {
            let response = self.endpoint.send(Method::POST, &Head::plain(&self.opening), body.into()).await?;
            if response.status().is_success() {
                web::collect_text(response).await;
                return Ok(());
            }
            match web::refused(&self.context, response).await {
                Failure::Refused { status: 404, .. } if self.has_session => {
                    self.over.send_replace(true);
                    Err(self.context.unreachable("the server has forgotten the session of this call").into())
                }
                failure => Err(failure),
            }
        };
        match timeout(NOTIFY_TIMEOUT, posted).await {
            Ok(posted) => posted.map_err(|failure| match failure.into_error() {
                error @ (Error::Unreachable { .. } | Error::NeedsReauth { .. }) => error,
                error => self.context.unreachable(format!("an answer was not taken: {error}")),
            }),
            Err(_) => Err(self.context.timeout(NOTIFY_TIMEOUT)),
        }
    }

    /// Posts messages one after the other beside whatever is going on.
    pub(crate) fn post_soon(self: &Arc<Self>, messages: Vec<Bytes>) {
        if tokio::runtime::Handle::try_current().is_ok() {
            let wire = self.clone();
            toolgrove_core::task::spawn("http-post", async move {
                for message in messages {
                    wire.post_quietly(message).await;
                }
            });
        }
    }

    /// Posts something that has no answer; what comes back does not matter.
    async fn post_quietly(&self, body: Bytes) {
        let posted = async {
            let response = self.endpoint.send(Method::POST, &Head::plain(&self.opening), body.into()).await?;
            Ok::<_, Failure>(web::collect_text(response).await)
        };
        if let Ok(Err(failure)) = timeout(NOTIFY_TIMEOUT, posted).await {
            tracing::debug!(server = self.context.slug(), error = %failure.error(), "a notification was not taken");
        }
    }

    fn watchers(&self) -> MutexGuard<'_, HashMap<u64, Arc<Watcher>>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A value that a header cannot hold as it is travels as base64.
fn name_header(name: &str) -> HeaderValue {
    let plain = name.bytes().all(|it| matches!(it, b' '..=b'~' | b'\t'))
        && name.trim() == name
        && !(name.starts_with("=?base64?") && name.ends_with("?="));
    let value = if plain { HeaderValue::from_str(name).ok() } else { None };
    value.unwrap_or_else(|| {
        let coded = format!("=?base64?{}?=", BASE64_STANDARD.encode(name));
        HeaderValue::try_from(coded).expect("base64 is visible ASCII")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_header_can_hold_travels_as_base64() {
        assert_eq!(name_header("get weather"), "get weather");
        assert_eq!(name_header("größe"), "=?base64?Z3LDtsOfZQ==?=");
        assert_eq!(name_header(" x"), "=?base64?IHg=?=");
        assert_eq!(name_header("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
        assert_eq!(name_header("a\nb"), "=?base64?YQpi?=");
    }
}
