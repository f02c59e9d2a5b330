//! One live connection to an instance, of one kind. A new kind is one file and one arm.

pub(crate) mod http;
mod lines;
pub(crate) mod sse;
mod stdio;
mod unix;

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolgrove_core::Error;
use toolgrove_core::call::Outgoing;
use toolgrove_core::event::Events;
use toolgrove_core::instance::{Era, Transport, UnixFraming, Verdict};
use toolgrove_wire::Raw;

use crate::context::Context;
use crate::era::{self, Plan, Session, Trust};
use crate::failure::Failure;
use crate::feed::{self, Announced};
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
}

#[derive(Debug)]
enum Kind {
    Stdio(stdio::Stdio),
    Unix(unix::Socket),
    Http(http::Http),
    Sse(sse::Sse),
}

impl Kind {
    /// What the answers of all calls come in through; HTTP answers each call on its own.
    fn mux(&self) -> Option<&Arc<Mux>> {
        match self {
            Self::Stdio(stdio) => Some(&stdio.lines.mux),
            Self::Unix(socket) => Some(&socket.lines.mux),
            Self::Sse(sse) => Some(&sse.mux),
            Self::Http(_) => None,
        }
    }
}

const NO_LEVEL: u8 = u8::MAX;

/// Who shares a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// One for all: a process, a socket, or a server that keeps no state.
    Instance,
    /// A legacy session may hold state, so each chat has its own.
    Chat,
}

/// Who shares links of this transport, if that is known before one is open.
pub(crate) fn sharing(transport: &Transport, plan: &Plan) -> Option<Sharing> {
    match transport {
        Transport::Stdio(_) | Transport::Impossible { .. } => Some(Sharing::Instance),
        Transport::Sse(_) => Some(Sharing::Chat),
        Transport::Unix(reach) if reach.framing == UnixFraming::Lines => Some(Sharing::Instance),
        Transport::Http(_) | Transport::Unix(_) => match plan {
            Plan::Probe => None,
            Plan::Modern { .. } => Some(Sharing::Instance),
            Plan::Legacy { .. } => Some(Sharing::Chat),
        },
    }
}

/// Opens a link as the instance's transport says.
pub(crate) async fn open(
    context: &Arc<Context>,
    plan: &Plan,
    known: Option<&Verdict>,
    chat: &str,
) -> Result<Link, Error> {
    match &context.instance.transport {
        Transport::Stdio(command) => stdio::open(context, command, plan).await,
        Transport::Unix(reach) if reach.framing == UnixFraming::Lines => {
            unix::open(context, reach, plan).await
        }
        Transport::Unix(reach) => {
            let endpoint = crate::web::Endpoint::of_socket(context, reach)?;
            http::open(context, endpoint, plan, known, chat).await
        }
        Transport::Http(reach) => {
            let endpoint = crate::web::Endpoint::of(context, reach)?;
            http::open(context, endpoint, plan, known, chat).await
        }
        Transport::Sse(reach) => {
            let endpoint = crate::web::Endpoint::of(context, reach)?;
            sse::open(context, endpoint, plan).await.map_err(Failure::into_error)
        }
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
        }
    }

    pub(crate) fn sharing(&self) -> Sharing {
        match &self.kind {
            Kind::Stdio(_) | Kind::Unix(_) => Sharing::Instance,
            Kind::Http(_) if self.session.era == Era::Modern => Sharing::Instance,
            Kind::Http(_) | Kind::Sse(_) => Sharing::Chat,
        }
    }

    /// Whether its connection can be lost without the link being lost.
    pub(crate) fn is_stateless(&self) -> bool {
        matches!(self.kind, Kind::Http(_))
    }

    /// Sends a caller's request.
    pub(crate) async fn call(&self, outgoing: &Outgoing, events: &Events) -> Result<Raw, Failure> {
        if let Some(level) = &outgoing.log_level {
            self.want_level(level).await;
        }
        self.ask(&Ask {
            method: outgoing.method.as_str(),
            params: &outgoing.params,
            events,
            log_level: outgoing.log_level.as_deref(),
            timeout: self.context.instance.timeout,
            leaving: Leaving::Cancel,
        })
        .await
    }

    /// Sends a request of the hub's own.
    pub(crate) async fn fetch(&self, method: &'static str, params: &Raw) -> Result<Raw, Failure> {
        self.ask(&Ask {
            method,
            params,
            events: &Events::none(),
            log_level: None,
            timeout: self.context.instance.timeout,
            leaving: Leaving::Cancel,
        })
        .await
    }

    async fn ask(&self, ask: &Ask<'_>) -> Result<Raw, Failure> {
        let answer = match &self.kind {
            Kind::Http(http) => http.ask(ask).await,
            Kind::Stdio(stdio) => stdio.lines.mux.ask(&self.session.speech, ask).await,
            Kind::Unix(socket) => socket.lines.mux.ask(&self.session.speech, ask).await,
            Kind::Sse(sse) => sse.mux.ask(&self.session.speech, ask).await,
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
    async fn want_level(&self, level: &str) {
        if self.session.era == Era::Modern || self.session.capabilities.get("logging").is_none() {
            return;
        }
        let Some(rank) = level_rank(level) else { return };
        if let Kind::Http(http) = &self.kind {
            http.open_stream();
        }
        if self.level.fetch_min(rank, Ordering::Relaxed) <= rank {
            return;
        }
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
        let speech = self.session.speech.clone();
        *feed = Some(match &self.kind {
            Kind::Http(http) => Task::spawn("listen", http.listen(announced)),
            Kind::Stdio(stdio) => {
                Task::spawn("listen", feed::listen(stdio.lines.mux.clone(), speech, announced))
            }
            Kind::Unix(socket) => {
                Task::spawn("listen", feed::listen(socket.lines.mux.clone(), speech, announced))
            }
            // HTTP+SSE is never modern.
            Kind::Sse(_) => return,
        });
    }

    /// Why this link can no longer be used, if so.
    pub(crate) fn ended(&self) -> Option<Error> {
        self.kind.mux()?.ended()
    }

    /// Ends the link politely: a session is deleted, a process gets time to leave.
    pub(crate) async fn close(&self) {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner).take();
        match &self.kind {
            Kind::Stdio(stdio) => stdio.close().await,
            Kind::Unix(socket) => socket.lines.close(),
            Kind::Http(http) => http.close().await,
            Kind::Sse(sse) => sse.close(),
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
