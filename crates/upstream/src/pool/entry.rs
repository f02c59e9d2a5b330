//! The links of one instance: who shares which, one opening at a time, and patience with a server that fails.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::watch;
use tokio::time::Instant;
use toolgrove_core::Error;
use toolgrove_core::event::News;
use toolgrove_core::instance::Verdict;
use toolgrove_core::task::spawn;

use crate::context::Context;
use crate::era::Plan;
use crate::failure::Failure;
use crate::link::http::HTTP_SSE;
use crate::link::{self, Link, Sharing};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A link that lived this long did not die of being opened.
const LONG_LIFE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Entry {
    context: Arc<Context>,
    state: Mutex<State>,
    /// Tells openings under way that nobody wants their link any more; so does its end.
    closing: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    /// The newest verdict, which may be newer than the instance's.
    verdict: Option<Verdict>,
    /// The link everybody shares, and those of single chats. A shared one serves all.
    shared: Option<Arc<Link>>,
    chats: HashMap<Arc<str>, Arc<Link>>,
    /// By chat; the one that will be shared, or is not yet known, has none.
    openings: HashMap<Option<Arc<str>>, Opening>,
    pause: Option<Pause>,
    /// How many openings failed, or links died young, in a row.
    failures: u32,
    closed: bool,
}

/// Tells everybody who waits how an opening ended.
type Opening = watch::Receiver<Option<Result<(), Error>>>;

/// Until when a failing server is left alone, and what it said.
#[derive(Debug)]
struct Pause {
    until: Instant,
    error: Error,
}

/// Whether a failing server is left alone for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    BackOff,
    /// Somebody asked for it: try.
    Now,
}

/// How often a request may be sent again: once if the server cannot have run it, once if running twice is harmless.
#[derive(Debug)]
pub(super) struct Tries {
    repeatable: bool,
    untaken: u8,
    lost: u8,
}

impl Tries {
    pub(super) fn new(repeatable: bool) -> Self {
        Self { repeatable, untaken: 1, lost: 1 }
    }
}

enum Step {
    Ready(Arc<Link>),
    Wait(Opening),
    Fail(Error),
}

impl Entry {
    pub(super) fn new(context: Context) -> Self {
        let state = State { verdict: context.instance.verdict.clone(), ..State::default() };
        Self { context: Arc::new(context), state: Mutex::new(state), closing: watch::channel(false).0 }
    }

    pub(super) fn revision(&self) -> u64 {
        self.context.instance.revision
    }

    pub(super) fn has_feed(&self) -> bool {
        self.context.has_feed()
    }

    /// The link for a chat: the open one, or a new one. However many ask, it is opened once.
    pub(super) async fn link(self: &Arc<Self>, chat: &str, patience: Patience) -> Result<Arc<Link>, Error> {
        // An opening may turn out to serve another chat, and a link may die at once; neither goes on for ever.
        for _ in 0..4 {
            let mut opening = match self.step(chat, patience) {
                Step::Ready(link) => return Ok(link),
                Step::Fail(error) => return Err(error),
                Step::Wait(opening) => opening,
            };
            let ended = opening.wait_for(Option::is_some).await.map(|it| it.clone());
            match ended {
                Ok(Some(result)) => result?,
                Ok(None) | Err(_) => return Err(Error::Internal("opening a link was given up".into())),
            }
        }
        Err(self.context.unreachable("its connection ends as soon as it is open"))
    }

    fn step(self: &Arc<Self>, chat: &str, patience: Patience) -> Step {
        let mut state = self.lock();
        if let Some(link) = state.shared.as_ref().or_else(|| state.chats.get(chat)) {
            let Some(error) = link.ended() else {
                link.touch();
                return Step::Ready(link.clone());
            };
            let link = link.clone();
            state.remove(&link);
            state.note_death(link.age(), error);
        }
        if state.closed {
            return Step::Fail(closed(&self.context));
        }
        let now_ms = (self.context.options.now)();
        let plan = Plan::of(&self.context.instance, state.verdict.as_ref(), now_ms);
        let chat = Arc::<str>::from(chat);
        let key = match link::sharing(&self.context.instance.transport, &plan) {
            Some(Sharing::Chat) => Some(chat.clone()),
            Some(Sharing::Instance) | None => None,
        };
        if let Some(opening) = state.openings.get(&key).filter(|it| it.has_changed().is_ok()) {
            return Step::Wait(opening.clone());
        }
        if let (Patience::BackOff, Some(pause)) = (patience, &state.pause)
            && Instant::now() < pause.until
        {
            return Step::Fail(pause.error.clone());
        }
        Step::Wait(self.start_opening(&mut state, key, plan, chat))
    }

    fn start_opening(
        self: &Arc<Self>,
        state: &mut State,
        key: Option<Arc<str>>,
        plan: Plan,
        chat: Arc<str>,
    ) -> Opening {
        let (tx, rx) = watch::channel(None);
        state.openings.insert(key.clone(), rx.clone());
        if state.is_empty() {
            self.context.report(News::Opening);
        }
        let known = state.verdict.clone();
        let (entry, context, mut closing) =
            (Arc::downgrade(self), self.context.clone(), self.closing.subscribe());
        spawn("open-link", async move {
            // The entry is not held meanwhile, so that a pool that is dropped drops its openings too.
            let opened = tokio::select! {
                opened = link::open(&context, &plan, known.as_ref(), &chat) => opened,
                _ = closing.wait_for(|it| *it) => Err(closed(&context)),
            };
            let result = match entry.upgrade() {
                Some(entry) => entry.opened(key, &plan, chat, opened),
                None => Err(closed(&context)),
            };
            tx.send_replace(Some(result));
        });
        rx
    }

    /// Keeps what an opening brought.
    fn opened(
        &self,
        key: Option<Arc<str>>,
        plan: &Plan,
        chat: Arc<str>,
        opened: Result<Link, Error>,
    ) -> Result<(), Error> {
        let mut state = self.lock();
        state.openings.remove(&key);
        let link = match opened {
            Ok(link) => Arc::new(link),
            Err(error) => {
                state.note_failure(error.clone());
                if state.is_empty() {
                    self.context.report(News::Lost(error.clone()));
                }
                return Err(error);
            }
        };
        if state.closed {
            drop(state);
            spawn("late-link", async move { link.close().await });
            return Err(closed(&self.context));
        }
        let verdict = link.session.verdict((self.context.options.now)());
        let is_news =
            state.verdict.as_ref().is_none_or(|it| it.era != verdict.era || is_sse(it) != is_sse(&verdict));
        if plan.is_open() && (*plan == Plan::Probe || is_news) {
            self.context.report(News::Verdict(verdict.clone()));
            state.verdict = Some(verdict);
        }
        state.pause = None;
        if link.is_stateless() {
            state.failures = 0;
        }
        link.start_feed(&link.session.capabilities);
        match link.sharing() {
            Sharing::Instance => state.shared = Some(link),
            Sharing::Chat => drop(state.chats.insert(chat, link)),
        }
        self.context.report(News::Open);
        Ok(())
    }

    /// Whether a request that failed may be sent again. Forgets the link if it was to blame.
    pub(super) fn after(&self, link: &Arc<Link>, failure: Failure, tries: &mut Tries) -> Result<(), Error> {
        let (left, blame) = match &failure {
            Failure::Untaken(_) => (&mut tries.untaken, Blame::Link),
            Failure::OtherEra(_) => (&mut tries.untaken, Blame::Verdict),
            Failure::Lost(_) if tries.repeatable => (&mut tries.lost, Blame::Nobody),
            _ => return Err(failure.into_error()),
        };
        self.forget(link, blame);
        match left.checked_sub(1) {
            Some(fewer) => {
                *left = fewer;
                Ok(())
            }
            None => Err(failure.into_error()),
        }
    }

    fn forget(&self, link: &Arc<Link>, blame: Blame) {
        let mut state = self.lock();
        if blame == Blame::Verdict {
            state.verdict = None;
        }
        // A link that has ended by itself is found and judged at the next step.
        if blame != Blame::Nobody && link.ended().is_none() {
            state.remove(link);
        }
    }

    /// Takes out the links that nobody has used for this long and nobody is using now.
    pub(super) fn take_idle(&self, idle: Duration) -> Vec<Arc<Link>> {
        let mut state = self.lock();
        let is_idle = |it: &Arc<Link>| Arc::strong_count(it) == 1 && it.idle_for() >= idle;
        let shared = state.shared.take_if(|it| is_idle(it));
        state.chats.extract_if(|_, it| is_idle(it)).map(|it| it.1).chain(shared).collect()
    }

    pub(super) async fn close(&self) {
        self.closing.send_replace(true);
        let links: Vec<_> = {
            let mut state = self.lock();
            state.closed = true;
            let shared = state.shared.take();
            state.chats.drain().map(|it| it.1).chain(shared).collect()
        };
        join_all(links.iter().map(|it| it.close())).await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn closed(context: &Context) -> Error {
    context.unreachable("the instance was changed or closed")
}

/// What is to blame for a request that was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blame {
    Nobody,
    Link,
    Verdict,
}

fn is_sse(verdict: &Verdict) -> bool {
    verdict.evidence == HTTP_SSE
}

impl State {
    fn is_empty(&self) -> bool {
        self.shared.is_none() && self.chats.is_empty()
    }

    fn remove(&mut self, link: &Arc<Link>) {
        self.shared.take_if(|it| Arc::ptr_eq(it, link));
        self.chats.retain(|_, it| !Arc::ptr_eq(it, link));
    }

    fn note_failure(&mut self, error: Error) {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(16)).min(LONGEST_PAUSE);
        self.failures += 1;
        self.pause = Some(Pause { until: Instant::now() + pause, error });
    }

    /// One death is forgiven: the next call starts the server again at once. One that keeps dying is left alone.
    fn note_death(&mut self, lived: Duration, error: Error) {
        if lived >= LONG_LIFE {
            self.failures = 0;
        } else if self.failures == 0 {
            self.failures = 1;
        } else {
            self.note_failure(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn pause(state: &State) -> u128 {
        state.pause.as_ref().map_or(0, |it| it.until.saturating_duration_since(Instant::now()).as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_half_a_minute() {
        let mut state = State::default();
        let mut pauses = Vec::new();
        for _ in 0..11 {
            state.note_failure(Error::Cancelled);
            pauses.push(pause(&state));
            advance(LONGEST_PAUSE).await;
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_early_death_is_forgiven_and_a_server_that_keeps_dying_is_left_alone() {
        let mut state = State::default();
        state.note_death(Duration::from_secs(1), Error::Cancelled);
        assert_eq!(pause(&state), 0);
        state.note_death(Duration::from_secs(1), Error::Cancelled);
        assert_eq!(pause(&state), 200);
        state.note_death(Duration::from_secs(1), Error::Cancelled);
        assert_eq!(pause(&state), 400);
        state.pause = None;
        state.note_death(LONG_LIFE, Error::Cancelled);
        assert_eq!((pause(&state), state.failures), (0, 0));
    }
}
