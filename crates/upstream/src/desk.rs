//! The server's side of a running call: what it reports, what it asks, and the clock that stands still meanwhile.
//!
//! Nothing here waits for the call's future to be polled. A question lies in the call's events until somebody answers
//! it, and a task of its own carries the answer back; a call whose client is away for minutes is served all the same.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};
use toolgrove_core::Error;
use toolgrove_core::event::{Ask, Event, Events, Question};
use toolgrove_core::task::spawn;
use toolgrove_wire::envelope::{self, INTERNAL_ERROR, METHOD_NOT_FOUND, UnknownId};
use toolgrove_wire::{Abilities, Edit, Id, Raw, RpcError};

use crate::context::Context;
use crate::link::http::Wire;
use crate::mux::Outbox;
use crate::speech::level_rank;

/// The `_meta` key under which a server says how a modern client should name its answer.
const KEY_INPUT: &str = "dev.toolgrove/inputKey";
const DECLINED: i64 = -1;

/// Where the questions of a link's server arrive, and the calls they may belong to.
#[derive(Debug)]
pub(crate) struct Desk {
    /// What the server was told that it may ask.
    pub(crate) declared: Abilities,
    calls: Mutex<Vec<Arc<Watcher>>>,
}

/// Which call a message belongs to that came in beside the calls' own streams.
#[derive(Debug)]
pub(crate) enum Whose {
    Nobodys,
    One(Arc<Watcher>),
    /// The wire does not say.
    Unclear,
}

impl Desk {
    pub(crate) fn new(declared: Abilities) -> Arc<Self> {
        Arc::new(Self { declared, calls: Mutex::default() })
    }

    pub(crate) fn can_be_asked(&self) -> bool {
        self.declared.can_be_asked()
    }

    /// Makes a call known to the server's questions for as long as the guard is kept.
    pub(crate) fn enter(self: &Arc<Self>, watcher: &Arc<Watcher>) -> Option<InFlight> {
        if !self.can_be_asked() {
            return None;
        }
        self.calls().push(watcher.clone());
        Some(InFlight { desk: self.clone(), watcher: watcher.clone() })
    }

    /// The one call in flight.
    pub(crate) fn only(&self) -> Whose {
        match self.calls().as_slice() {
            [] => Whose::Nobodys,
            [one] => Whose::One(one.clone()),
            _ => Whose::Unclear,
        }
    }

    /// Takes a request of the server.
    pub(crate) fn take(&self, context: &Context, asked: Asked, whose: Whose, back: Back) {
        let Asked { id, method, params } = asked;
        let params = params.unwrap_or_else(Raw::empty_object);
        let question = Question::parse(&method).filter(|it| it.fits(&params, self.declared));
        let said = match (question, whose) {
            _ if method == "ping" => envelope::response(&id, &Raw::empty_object()),
            (Some(question), Whose::One(watcher)) => {
                return watcher.ask(context, id, question, &params, back);
            }
            // Many servers ask right after they were greeted.
            (Some(Question::Roots), Whose::Nobodys) => {
                envelope::response(&id, &Raw::of(&json!({ "roots": [] })))
            }
            _ => refusal(&id, &method),
        };
        back.send_soon(vec![said]);
    }

    /// A person has finished what a URL sent them to: told to the call that asked for it.
    pub(crate) fn elicited(&self, params: &Raw) {
        let Some(id) = params.get_text("elicitationId") else { return };
        if let Some(watcher) = self.calls().iter().find(|it| it.lock().elicitations.contains(&id)) {
            watcher.events.send(Event::Elicited(params.clone()));
        }
    }

    /// The server no longer wants an answer.
    pub(crate) fn withdraw(&self, params: &Raw) {
        let Some(id) = params.get("requestId").and_then(Id::new) else { return };
        for watcher in self.calls().iter() {
            watcher.lock().open.retain(|_, it| it.id.key() != id.key());
            watcher.heard.notify_one();
        }
    }

    /// Calls in flight and questions without an answer.
    pub(crate) fn pending(&self) -> usize {
        self.calls().iter().map(|it| 1 + it.lock().open.len()).sum()
    }

    fn calls(&self) -> MutexGuard<'_, Vec<Arc<Watcher>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of a server as it came in.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) id: Id,
    pub(crate) method: String,
    pub(crate) params: Option<Raw>,
}

/// A call that questions may belong to. Once it is over its questions are moot.
#[derive(Debug)]
pub(crate) struct InFlight {
    desk: Arc<Desk>,
    watcher: Arc<Watcher>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.desk.calls().retain(|it| !Arc::ptr_eq(it, &self.watcher));
        self.watcher.lock().open.clear();
    }
}

/// The way back to the server.
#[derive(Debug, Clone)]
pub(crate) enum Back {
    Outbox(Outbox),
    Post(Arc<Wire>),
}

impl Back {
    /// Sends messages in their order, from where nothing may wait.
    pub(crate) fn send_soon(&self, messages: Vec<Bytes>) {
        match self {
            Self::Outbox(outbox) => outbox.send_all_soon(messages),
            Self::Post(wire) => wire.post_soon(messages),
        }
    }

    async fn send(&self, message: Bytes) -> Result<(), Error> {
        match self {
            // A link that has ended has told its calls already.
            Self::Outbox(outbox) => outbox.send(message).await,
            Self::Post(wire) => return wire.post_reply(message).await,
        }
        Ok(())
    }
}

/// Who hears about a call while it runs, and what the server waits to hear from them.
#[derive(Debug)]
pub(crate) struct Watcher {
    events: Events,
    log_level: Option<u8>,
    /// Rung by progress, questions, answers, and the acknowledgement of a subscription.
    heard: Notify,
    asks: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Questions without an answer. Who takes one out of here answers it.
    open: HashMap<usize, Open>,
    /// The URL elicitations of this call.
    elicitations: Vec<String>,
    /// Why the server cannot get its answer.
    broken: Option<Error>,
}

#[derive(Debug)]
struct Open {
    id: Id,
    question: Question,
    /// Tells the task that waits for the answer, when dropped, that nobody needs it.
    _wanted: oneshot::Sender<()>,
}

impl Watcher {
    pub(crate) fn new(events: &Events, log_level: Option<&str>) -> Arc<Self> {
        Arc::new(Self {
            events: events.clone(),
            log_level: log_level.and_then(level_rank),
            heard: Notify::new(),
            asks: AtomicUsize::new(0),
            state: Mutex::default(),
        })
    }

    pub(crate) fn progress(&self, params: &Raw) {
        self.hear();
        self.events.send(Event::Progress(Edit::of(params).remove("progressToken").done()));
    }

    /// Passes a log message on if it is severe enough for who asked.
    pub(crate) fn log(&self, params: &Raw) {
        let Some(wanted) = self.log_level else { return };
        let level = params.get("level").and_then(|it| it.text().and_then(|it| level_rank(&it)));
        if level.is_none_or(|it| it >= wanted) {
            self.events.send(Event::Log(params.clone()));
        }
    }

    pub(crate) fn hear(&self) {
        self.heard.notify_one();
    }

    pub(crate) async fn heard(&self) {
        self.heard.notified().await;
    }

    /// Whether the server has asked anything, so that sending the call again would ask it again.
    pub(crate) fn was_asked(&self) -> bool {
        self.asks.load(Ordering::Relaxed) > 0
    }

    /// Passes a question on, and its answer back when it comes.
    fn ask(self: &Arc<Self>, context: &Context, id: Id, question: Question, params: &Raw, back: Back) {
        // Over a limit the server hears what a person who walked away would have said.
        if !self.events.takes(params, self.lock().open.len()) {
            return back.send_soon(vec![declined(&id, question)]);
        }
        let (reply, answered) = oneshot::channel();
        let (wanted, moot) = oneshot::channel();
        let place = self.asks.fetch_add(1, Ordering::Relaxed);
        {
            let mut state = self.lock();
            state.open.insert(place, Open { id, question, _wanted: wanted });
            state.elicitations.extend(params.get_text("elicitationId"));
        }
        self.hear();
        self.events.send(Event::Ask(Ask {
            question,
            params: Edit::of(params).remove("_meta").remove("task").done(),
            key: params.get("_meta").and_then(|it| it.get_text(KEY_INPUT)),
            server: context.instance.server_name.clone(),
            permission: None,
            reply,
        }));
        let watcher = self.clone();
        spawn("answer", async move {
            let answer = tokio::select! {
                biased;
                answer = answered => answer.ok(),
                _ = moot => return,
            };
            let Some(open) = watcher.lock().open.remove(&place) else { return };
            watcher.hear();
            let message = match answer {
                Some(Ok(answer)) => envelope::response(&open.id, &answer),
                Some(Err(error)) => envelope::error(Some(&open.id), &error, UnknownId::Null),
                None => declined(&open.id, question),
            };
            if let Err(error) = back.send(message).await {
                watcher.lock().broken = Some(error);
                watcher.hear();
            }
        });
    }

    /// Declines every open question, because nobody is there any more who could answer.
    pub(crate) fn decline_all(&self) -> Vec<Bytes> {
        let mut open: Vec<_> = self.lock().open.drain().collect();
        open.sort_by_key(|it| it.0);
        open.iter().map(|(_, it)| declined(&it.id, it.question)).collect()
    }

    /// Bounds a step by the call's clock. It restarts when something is heard and stands still during questions.
    pub(crate) async fn within<T>(
        &self,
        clock: &mut Clock,
        step: impl Future<Output = T>,
    ) -> Result<T, Stop> {
        tokio::pin!(step);
        loop {
            let is_asking = {
                let mut state = self.lock();
                if let Some(error) = state.broken.take() {
                    return Err(Stop::Broken(error));
                }
                !state.open.is_empty()
            };
            tokio::select! {
                biased;
                done = &mut step => return Ok(done),
                () = self.heard() => clock.restart(),
                () = sleep_until(clock.end), if !is_asking => return Err(Stop::TimedOut),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a call did not go on.
#[derive(Debug)]
pub(crate) enum Stop {
    TimedOut,
    Broken(Error),
}

/// How long a call may be silent.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) timeout: Duration,
    end: Instant,
}

impl Clock {
    pub(crate) fn start(timeout: Duration) -> Self {
        Self { timeout, end: Context::deadline(timeout) }
    }

    fn restart(&mut self) {
        self.end = Context::deadline(self.timeout);
    }
}

/// What a server hears when it asks what the client does not offer.
fn refusal(id: &Id, method: &str) -> Bytes {
    let error = RpcError::new(METHOD_NOT_FOUND, format!("the client does not offer `{method}`"));
    envelope::error(Some(id), &error, UnknownId::Null)
}

/// What a server hears when nobody answered, in the words its question has for that.
fn declined(id: &Id, question: Question) -> Bytes {
    let error = match question {
        Question::Elicit => return envelope::response(id, &Raw::of(&json!({ "action": "cancel" }))),
        Question::Sample => RpcError::new(DECLINED, "the user declined"),
        Question::Roots => RpcError::new(INTERNAL_ERROR, "the client gave no roots"),
    };
    envelope::error(Some(id), &error, UnknownId::Null)
}
