//! What a person's pages hear at once: calls as they run, instances and the registry as they change.
//!
//! One bus for the whole hub, with a line of its own for everybody who listens, so that nobody is slowed down or told
//! of by somebody else's calls. Nothing is made where nobody listens. A line is bounded: who reads too slowly is told
//! that something was missed and asks anew.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http::{Method, Request};
use serde::Serialize;
use tokio::sync::{Notify, broadcast};
use toolgrove_core::call::Caller;
use toolgrove_core::event::ListKind;
use toolgrove_core::task;
use toolgrove_upstream::LogPiece;
use toolgrove_wire::{Raw, sse};
use ts_rs::TS;
use uuid::Uuid;

use crate::App;
use crate::api::calls::Call;
use crate::api::chats::Chat;
use crate::api::instances::{self, Instance};

/// What waits for one listener at most.
const LINE: usize = 256;
/// How long changes of instances are gathered.
const GATHER: Duration = Duration::from_millis(50);

/// Nobody has more kinds of clients than this.
const MOST_CLIENTS: usize = 100;

/// Something a page wants to know at once.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LiveEvent {
    /// An instance is new, or not what it was.
    Instance { instance: Box<Instance> },
    /// An instance is gone.
    InstanceRemoved { id: Uuid },
    /// The registry is not what this person last saw of it; this is what it is now.
    Registry {
        #[ts(as = "Vec<crate::api::registry::RegistryRow>")]
        rows: Raw,
    },
    /// A server lists something else than before.
    List { instance: Uuid, list: &'static str },
    /// A process wrote to its log: the lines, and how many there were before the first.
    Log { instance: Uuid, from: u64, lines: Vec<String> },
    /// A call has begun (`outcome` is null) or has ended.
    Call { call: Box<Call> },
    /// A running call is this far.
    Progress { id: Uuid, ms: f64, progress: f64, total: Option<f64>, message: Option<String> },
    /// A client has connected that was not here since the hub started.
    Client { name: Option<Arc<str>> },
    /// A running call waits for an answer of its caller.
    Question { id: Uuid, ms: f64 },
    /// The person's browsers or tabs are not what they were; so many questions of pages wait for an answer.
    Tabs { questions: usize },
    /// A chat is new, or not what it was: said in, answered, renamed.
    Chat { chat: Box<Chat> },
    /// A chat is gone.
    ChatRemoved { id: Uuid },
}

/// Whom an event is for, among the callers of one person.
#[derive(Debug, Clone, Copy)]
enum About {
    /// Everybody who comes in this person's name.
    Person,
    /// Only those who may see everything the person has.
    Everything,
    Instance(Uuid),
    /// A call made with this token.
    Call(Option<Uuid>),
}

/// An event as it is sent.
#[derive(Debug, Clone)]
struct Item {
    about: About,
    frame: Bytes,
}

impl Item {
    /// A caller with grants hears of what it was granted and of its own calls.
    fn is_for(&self, caller: &Caller) -> bool {
        match self.about {
            About::Person => true,
            About::Everything => caller.grants.is_none(),
            About::Instance(id) => caller.may_use(id),
            About::Call(token) => caller.grants.is_none() || token == caller.token,
        }
    }
}

/// The bus.
#[derive(Default)]
pub struct Live {
    lines: Mutex<HashMap<Uuid, broadcast::Sender<Item>>>,
    /// How many listen, so that a call need not look when nobody does.
    listeners: AtomicUsize,
    /// Instances to look at, by person.
    touched: Mutex<HashSet<(Uuid, Uuid)>>,
    /// Instances whose log has new lines, by person.
    wrote: Mutex<HashSet<(Uuid, Uuid)>>,
    wake: Notify,
    /// The clients that were here since the hub started, by person.
    met: Mutex<HashMap<Uuid, HashSet<Option<Arc<str>>>>>,
    /// Counts everything that may have changed what somebody sees.
    revision: AtomicU64,
}

impl Live {
    pub(crate) fn is_watched(&self, person: Uuid) -> bool {
        self.listeners.load(Ordering::Relaxed) > 0 && lock(&self.lines).contains_key(&person)
    }

    pub(crate) fn tell_call(&self, person: Uuid, token: Option<Uuid>, event: &LiveEvent) {
        self.tell(person, About::Call(token), event);
    }

    fn tell(&self, person: Uuid, about: About, event: &LiveEvent) {
        let Some(line) = lock(&self.lines).get(&person).cloned() else { return };
        let data = serde_json::to_vec(event).unwrap_or_default();
        // Nobody listening any more is fine.
        let _ = line.send(Item { about, frame: sse::write(None, None, &data) });
    }

    /// A server lists something else than before.
    pub(crate) fn relisted(&self, instance: &toolgrove_core::instance::Instance, kind: ListKind) {
        if self.is_watched(instance.person) {
            let event = LiveEvent::List { instance: instance.id, list: kind.member() };
            self.tell(instance.person, About::Instance(instance.id), &event);
        }
    }

    /// An instance may not be what it was.
    pub(crate) fn touch(&self, person: Uuid, instance: Uuid) {
        self.revision.fetch_add(1, Ordering::Relaxed);
        if self.is_watched(person) {
            lock(&self.touched).insert((person, instance));
            self.wake.notify_one();
        }
    }

    /// The process of an instance wrote to its log.
    pub(crate) fn wrote_line(&self, instance: &toolgrove_core::instance::Instance) {
        if self.is_watched(instance.person) {
            lock(&self.wrote).insert((instance.person, instance.id));
            self.wake.notify_one();
        }
    }

    /// Something a person sees may have changed.
    pub(crate) fn wrote(&self) {
        self.revision.fetch_add(1, Ordering::Relaxed);
        if self.listeners.load(Ordering::Relaxed) > 0 {
            self.wake.notify_one();
        }
    }

    /// A client of this person is here.
    pub(crate) fn meet(&self, person: Uuid, name: Option<&Arc<str>>) {
        let is_new = {
            let mut met = lock(&self.met);
            let names = met.entry(person).or_default();
            names.len() < MOST_CLIENTS && names.insert(name.cloned())
        };
        if is_new {
            self.tell(person, About::Person, &LiveEvent::Client { name: name.cloned() });
        }
    }

    /// A person's browsers, tabs or their questions are not what they were.
    pub(crate) fn tell_tabs(&self, person: Uuid, questions: usize) {
        self.tell(person, About::Everything, &LiveEvent::Tabs { questions });
    }

    pub(crate) fn tell_chat(&self, person: Uuid, chat: Chat) {
        self.tell(person, About::Everything, &LiveEvent::Chat { chat: Box::new(chat) });
    }

    pub(crate) fn chat_removed(&self, person: Uuid, id: Uuid) {
        self.tell(person, About::Everything, &LiveEvent::ChatRemoved { id });
    }

    pub(crate) fn has_met(&self, person: Uuid) -> bool {
        lock(&self.met).contains_key(&person)
    }

    /// Stands for everything anybody sees: as long as it is the same, nothing has changed through this hub.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }

    pub(crate) fn listen(self: &Arc<Self>, caller: Arc<Caller>) -> Listener {
        let mut lines = lock(&self.lines);
        let line = lines.entry(caller.person).or_insert_with(|| broadcast::Sender::new(LINE)).subscribe();
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Listener { live: self.clone(), caller, line }
    }

    fn listening(&self) -> Vec<Uuid> {
        lock(&self.lines).keys().copied().collect()
    }
}

/// One stream of one caller.
pub(crate) struct Listener {
    live: Arc<Live>,
    caller: Arc<Caller>,
    line: broadcast::Receiver<Item>,
}

/// What a listener gets.
pub(crate) enum Heard {
    Frame(Bytes),
    /// It was too slow and has missed something.
    Lag,
}

impl Listener {
    pub(crate) async fn next(&mut self) -> Heard {
        loop {
            match self.line.recv().await {
                Ok(item) if item.is_for(&self.caller) => return Heard::Frame(item.frame),
                Ok(_) => {}
                Err(broadcast::error::RecvError::Lagged(_)) => return Heard::Lag,
                // The bus lives as long as its listeners.
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut lines = lock(&self.live.lines);
        self.live.listeners.fetch_sub(1, Ordering::Relaxed);
        // This one still counts.
        if lines.get(&self.caller.person).is_some_and(|it| it.receiver_count() <= 1) {
            lines.remove(&self.caller.person);
        }
    }
}

/// Keeps everybody who listens informed, for as long as the hub runs.
pub fn start(app: &Arc<App>) {
    task::spawn("live", follow(app.clone()));
}

async fn follow(app: Arc<App>) {
    loop {
        app.live.wake.notified().await;
        tokio::time::sleep(GATHER).await;
        // What is still being written is part of what is told.
        app.hub.log().flush().await;
        let touched = mem::take(&mut *lock(&app.live.touched));
        for (person, id) in touched {
            let event = match instances::shown(&app, person, id).await {
                Ok(Some(instance)) => LiveEvent::Instance { instance: Box::new(instance) },
                Ok(None) => LiveEvent::InstanceRemoved { id },
                Err(error) => {
                    tracing::warn!(%error, "a change of an instance was not told");
                    continue;
                }
            };
            app.live.tell(person, About::Instance(id), &event);
        }
        for (person, instance) in mem::take(&mut *lock(&app.live.wrote)) {
            let LogPiece { from, lines } = app.hub.links().untold_log(instance);
            if !lines.is_empty() {
                app.live.tell(person, About::Instance(instance), &LiveEvent::Log { instance, from, lines });
            }
        }
        for person in app.live.listening() {
            if let Some(rows) = app.shelf.news(&app, person).await {
                app.live.tell(person, About::Everything, &LiveEvent::Registry { rows });
            }
        }
    }
}

/// Notices what people change. What only calls a tool changes nothing.
pub(crate) async fn notice(State(app): State<Arc<App>>, request: Request<Body>, next: Next) -> Response {
    const CALLS: [&str; 4] = ["/api/mcp/call", "/api/mcp/xml", "/api/mcp/invoke", "/bud-run"];
    let path = request.uri().path();
    let is_write = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS)
        && !path.starts_with("/mcp")
        && !CALLS.contains(&path);
    let response = next.run(request).await;
    if is_write {
        app.live.wrote();
    }
    response
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
