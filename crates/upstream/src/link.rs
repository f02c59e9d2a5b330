//! One live connection to an instance, of one kind. A new kind is one file and one arm.

mod builtin;
mod core_task;
pub(crate) mod http;
mod lines;
pub(crate) mod sse;
mod stdio;
mod unix;
mod watching;

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolgrove_core::Error;
use toolgrove_core::call::{LegacyTask, Outgoing};
use toolgrove_core::event::Events;
use toolgrove_core::instance::{Era, Transport, UnixFraming, Verdict};
use toolgrove_wire::legacy::Version;
use toolgrove_wire::{Abilities, Raw};

use self::http::Guest;
use self::watching::Listens;
pub(crate) use self::watching::Subscribed;
use crate::context::Context;
use crate::desk::{Desk, Watcher};
use crate::era::{self, Plan, Session, Trust};
use crate::failure::Failure;
use crate::feed::{self, Ack, Announced, Topic};
use crate::mux::Mux;
use crate::speech::{Ask, Leaving, level_rank};

/// The chat of the hub's own requests.
pub(crate) const HUB_CHAT: &str = "toolgrove";

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) context: Arc<Context>,
    pub(crate) session: Session,
    kind: Kind,
    trust: Trust,
    opened: Instant,
    /// When it was last handed out, in milliseconds after it was opened.
    used: AtomicU64,
    /// The most verbose log level a legacy server was asked for; [`NO_LEVEL`] if none.
    level: AtomicU8,
    feed: Mutex<Option<Task>>,
    /// The resources watched over this link.
    listens: tokio::sync::Mutex<Listens>,
}

#[derive(Debug)]
enum Kind {
    Stdio(stdio::Stdio),
    Unix(unix::Socket),
    Http(http::Http),
    Sse(sse::Sse),
    Builtin(builtin::Builtin),
}

impl Kind {
    /// What the answers of all calls come in through; HTTP answers each call on its own.
    fn mux(&self) -> Option<&Arc<Mux>> {
        match self {
            Self::Stdio(stdio) => Some(&stdio.lines.mux),
            Self::Unix(socket) => Some(&socket.lines.mux),
            Self::Sse(sse) => Some(&sse.mux),
            Self::Http(_) | Self::Builtin(_) => None,
        }
    }
}

const NO_LEVEL: u8 = u8::MAX;

/// Whose link a legacy one is: everybody's, or one chat's, with what the server was told that it may ask.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) chat: Option<Arc<str>>,
    pub(crate) abilities: Abilities,
}

impl Key {
    /// A process or a socket is shared by all who cannot be asked anything; a session may hold state, so each chat has
    /// its own.
    pub(crate) fn of(transport: &Transport, chat: &Arc<str>, abilities: Abilities) -> Self {
        if speaks_in_lines(transport) && !abilities.can_be_asked() {
            let apps = if abilities.has(Abilities::APPS) { Abilities::APPS } else { Abilities::NONE };
            return Self { chat: None, abilities: apps };
        }
        Self { chat: Some(chat.clone()), abilities: abilities.without(Abilities::TASKS) }
    }
}

pub(crate) fn speaks_in_lines(transport: &Transport) -> bool {
    match transport {
        Transport::Stdio(_) => true,
        Transport::Unix(reach) => reach.framing == UnixFraming::Lines,
        Transport::Http(_)
        | Transport::Sse(_)
        | Transport::Builtin
        | Transport::Bud(_)
        | Transport::Impossible { .. } => false,
    }
}

/// Opens a link as the instance's transport says.
pub(crate) async fn open(
    context: &Arc<Context>,
    plan: &Plan,
    known: Option<&Verdict>,
    key: &Key,
) -> Result<Link, Error> {
    let guest = Guest { chat: key.chat.as_deref().unwrap_or_default(), abilities: key.abilities };
    match &context.instance.transport {
        Transport::Stdio(command) => stdio::open(context, command, plan, key.abilities).await,
        Transport::Unix(reach) if reach.framing == UnixFraming::Lines => {
            unix::open(context, reach, plan, key.abilities).await
        }
        Transport::Unix(reach) => {
            let endpoint = crate::web::Endpoint::of_socket(context, reach)?;
            http::open(context, endpoint, plan, known, guest).await
        }
        Transport::Http(reach) => {
            let endpoint = crate::web::Endpoint::of(context, reach)?;
            http::open(context, endpoint, plan, known, guest).await
        }
        Transport::Sse(reach) => {
            let endpoint = crate::web::Endpoint::of(context, reach)?;
            sse::open(context, endpoint, plan, key.abilities).await.map_err(Failure::into_error)
        }
        Transport::Builtin | Transport::Bud(_) => Ok(builtin::open(context, plan)),
        Transport::Impossible { problem, .. } => Err(context.unreachable(problem.clone())),
    }
}

impl Link {
    fn new(context: &Arc<Context>, session: Session, plan: &Plan, kind: Kind) -> Self {
        let trust = match plan {
            Plan::Modern { trust, .. } | Plan::Legacy { trust, .. } => *trust,
            Plan::Probe => Trust::Found,
        };
        // A legacy server speaks unasked wherever it can: the connection itself is the feed.
        if let (Era::Legacy, Some(mux)) = (session.era, kind.mux())
            && Announced::read(&session.capabilities).complete
        {
            mux.is_feed();
        }
        Self {
            context: context.clone(),
            session,
            kind,
            trust,
            opened: Instant::now(),
            used: AtomicU64::new(0),
            level: AtomicU8::new(NO_LEVEL),
            feed: Mutex::new(None),
            listens: tokio::sync::Mutex::default(),
        }
    }

    fn desk(&self) -> &Arc<Desk> {
        match &self.kind {
            Kind::Http(http) => http.desk(),
            Kind::Stdio(stdio) => &stdio.lines.mux.desk,
            Kind::Unix(socket) => &socket.lines.mux.desk,
            Kind::Sse(sse) => &sse.mux.desk,
            Kind::Builtin(builtin) => &builtin.desk,
        }
    }

    /// Whether it takes one call at a time, because nothing else would say to which one a question belongs.
    pub(crate) fn takes_turns(&self) -> bool {
        self.session.era == Era::Legacy
            && self.desk().can_be_asked()
            && (self.kind.mux().is_some() || self.context.does_ask_beside())
    }

    /// Whether it sends arguments as `Mcp-Param-*` headers.
    pub(crate) fn sends_headers(&self) -> bool {
        self.session.era == Era::Modern && matches!(self.kind, Kind::Http(_))
    }

    /// Whether its connection can be lost without the link being lost.
    pub(crate) fn is_stateless(&self) -> bool {
        matches!(self.kind, Kind::Http(_) | Kind::Builtin(_))
    }

    /// Sends a caller's request.
    pub(crate) async fn call(&self, outgoing: &Outgoing, events: &Events) -> Result<Raw, Failure> {
        if let Some(level) = outgoing.log_level.filter(|it| self.wants_level(it)) {
            Box::pin(self.set_level(level)).await;
        }
        let watcher = Watcher::new(events, outgoing.log_level);
        let _in_flight = self.desk().enter(&watcher);
        let ask = Ask {
            method: outgoing.method.as_str(),
            params: &outgoing.params,
            events,
            log_level: outgoing.log_level,
            abilities: outgoing.abilities,
            headers: &outgoing.headers,
            watcher: Some(&watcher),
            timeout: self.context.instance.timeout,
            leaving: Leaving::Cancel,
            outgoing: Some(outgoing),
        };
        let answer = match outgoing.legacy_task {
            LegacyTask::Required if self.has_core_tasks() => Box::pin(core_task::run(self, &ask)).await,
            _ => self.ask(&ask).await,
        };
        // Sent again, the call would ask again what somebody may have answered.
        answer.map_err(|failure| match failure {
            failure if !watcher.was_asked() => failure,
            Failure::Lost(error) => Failure::Final(self.context.lost(error)),
            failure => Failure::Final(failure.into_error()),
        })
    }

    fn has_core_tasks(&self) -> bool {
        Version::parse(&self.session.version) == Some(Version::V2025_11_25)
    }

    /// Sends a request of the hub's own.
    pub(crate) async fn fetch(&self, method: &'static str, params: &Raw) -> Result<Raw, Failure> {
        let params = params.clone().into();
        self.ask(&Ask::own(method, &params, self.context.instance.timeout, Leaving::Cancel)).await
    }

    /// Sends a request whose answer nobody waits for, from where nothing may wait.
    fn send_beside(&self, method: &'static str, params: &Raw) {
        let params = params.clone().into();
        let ask = Ask::own(method, &params, self.context.instance.timeout, Leaving::Silent);
        match &self.kind {
            Kind::Http(http) => http.send_beside(&ask),
            Kind::Stdio(stdio) => stdio.lines.mux.send_beside(&self.session.speech, &ask),
            Kind::Unix(socket) => socket.lines.mux.send_beside(&self.session.speech, &ask),
            Kind::Sse(sse) => sse.mux.send_beside(&self.session.speech, &ask),
            // What nobody waits for, it has no use for.
            Kind::Builtin(_) => {}
        }
    }

    /// Tells a legacy server that its client's roots are others now, if it was told of roots at all.
    pub(crate) async fn roots_changed(&self) {
        const CHANGED: &str = "notifications/roots/list_changed";
        if self.session.era != Era::Legacy || !self.desk().declared.has(Abilities::ROOTS) {
            return;
        }
        match (&self.kind, self.kind.mux()) {
            (Kind::Http(http), _) => http.notify(CHANGED),
            // A link that is closed has nobody to tell.
            (_, Some(mux)) => drop(mux.notify(CHANGED, None).await),
            _ => {}
        }
    }

    async fn ask(&self, ask: &Ask<'_>) -> Result<Raw, Failure> {
        let answer = match &self.kind {
            Kind::Http(http) => Box::pin(http.ask(ask)).await,
            Kind::Stdio(stdio) => stdio.lines.mux.ask(&self.session.speech, ask).await,
            Kind::Unix(socket) => socket.lines.mux.ask(&self.session.speech, ask).await,
            Kind::Sse(sse) => Box::pin(sse.mux.ask(&self.session.speech, ask)).await,
            Kind::Builtin(builtin) => Box::pin(builtin.ask(ask)).await,
        };
        answer.map_err(|failure| match failure {
            Failure::Refused { status, error }
                if self.trust == Trust::Found && era::is_other_era(self.session.era, status, &error) =>
            {
                Failure::OtherEra(era::without_hop_codes(error))
            }
            Failure::Refused { status, error } => {
                Failure::Refused { status, error: era::without_hop_codes(error) }
            }
            Failure::Final(error) => Failure::Final(era::without_hop_codes(error)),
            other => other,
        })
    }

    /// Makes a legacy server as talkative as the most curious caller. It is never made quieter again: what a caller
    /// did not ask for is dropped when it arrives.
    fn wants_level(&self, level: &str) -> bool {
        if self.session.era == Era::Modern || self.session.capabilities.get("logging").is_none() {
            return false;
        }
        let Some(rank) = level_rank(level) else { return false };
        if let Kind::Http(http) = &self.kind {
            http.open_stream();
        }
        self.level.fetch_min(rank, Ordering::Relaxed) > rank
    }

    async fn set_level(&self, level: &str) {
        if let Err(failure) = self.fetch("logging/setLevel", &Raw::of(&json!({ "level": level }))).await {
            tracing::debug!(server = self.context.slug(), error = %failure.error(), "the log level was not set");
        }
    }

    /// Keeps hearing about changed lists from a modern server that announces them. Done once per link.
    pub(crate) fn start_feed(&self, capabilities: &Raw) {
        let announced = Announced::read(capabilities);
        if self.session.era == Era::Legacy || announced.is_empty() {
            return;
        }
        let mut feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        if feed.as_ref().is_some_and(|it| !it.0.is_finished()) {
            return;
        }
        *feed = self.listen(Topic::Lists(announced), Ack::new().0);
    }

    fn listen(&self, topic: Topic, ack: Ack) -> Option<Task> {
        let mux = match &self.kind {
            Kind::Http(http) => return Some(Task::spawn("listen", http.listen(topic, ack))),
            Kind::Stdio(stdio) => &stdio.lines.mux,
            Kind::Unix(socket) => &socket.lines.mux,
            // HTTP+SSE is never modern, and what is built in announces nothing.
            Kind::Sse(_) | Kind::Builtin(_) => return None,
        };
        let speech = self.session.speech.clone();
        Some(Task::spawn("listen", feed::listen(mux.clone(), speech, topic, ack)))
    }

    /// Why this link can no longer be used, if so.
    pub(crate) fn ended(&self) -> Option<Error> {
        match &self.kind {
            Kind::Http(http) => http.is_over().then(|| self.context.unreachable("the session is gone")),
            _ => self.kind.mux()?.ended(),
        }
    }

    /// Waits until it can no longer be used.
    pub(crate) async fn over(&self) {
        match &self.kind {
            Kind::Http(http) => http.over().await,
            Kind::Stdio(stdio) => stdio.lines.mux.over().await,
            Kind::Unix(socket) => socket.lines.mux.over().await,
            Kind::Sse(sse) => sse.mux.over().await,
            Kind::Builtin(_) => std::future::pending().await,
        }
    }

    /// Nobody gets this link any more: who keeps something up over it has to look for another.
    pub(crate) fn retire(&self) {
        if let Kind::Http(http) = &self.kind {
            http.end();
        }
    }

    /// Requests and questions without an answer.
    pub(crate) fn pending(&self) -> usize {
        let requests = match &self.kind {
            Kind::Http(http) => http.pending(),
            _ => self.kind.mux().map_or(0, |it| it.pending()),
        };
        requests + self.desk().pending()
    }

    /// Ends the link politely: a session is deleted, a process gets time to leave.
    pub(crate) async fn close(&self) {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.listens.lock().await.end();
        match &self.kind {
            Kind::Stdio(stdio) => stdio.close().await,
            Kind::Unix(socket) => socket.lines.close(),
            Kind::Http(http) => http.close().await,
            Kind::Sse(sse) => sse.close(),
            Kind::Builtin(_) => {}
        }
    }

    pub(crate) fn touch(&self) {
        self.used.store(self.opened.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    pub(crate) fn idle_for(&self) -> std::time::Duration {
        self.age().saturating_sub(std::time::Duration::from_millis(self.used.load(Ordering::Relaxed)))
    }

    pub(crate) fn age(&self) -> std::time::Duration {
        self.opened.elapsed()
    }
}

/// A task that ends with its owner.
#[derive(Debug)]
pub(crate) struct Task(JoinHandle<()>);

impl Task {
    pub(crate) fn spawn(name: &'static str, future: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(toolgrove_core::task::spawn(name, future))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
