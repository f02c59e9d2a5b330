//! The links of one instance: who shares which, one opening at a time, and patience with a server that fails.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::{Instant, timeout};
use toolgrove_core::Error;
use toolgrove_core::event::News;
use toolgrove_core::instance::{Era, Transport, Verdict};
use toolgrove_core::redact::redact;
use toolgrove_core::task::spawn;
use toolgrove_wire::{Abilities, Raw};

use super::look::{Look, Occasion, Visit};
use super::state::{Opening, Patience, State};
use crate::context::Context;
use crate::era::{Plan, Trust};
use crate::failure::Failure;
use crate::link::http::HTTP_SSE;
use crate::link::{self, HUB_CHAT, Key, Link};

/// How many links an instance may have that take one call at a time.
const OWN_LINKS: usize = 8;

#[derive(Debug)]
pub(super) struct Entry {
    context: Arc<Context>,
    state: Mutex<State>,
    /// What a client would see that can be asked.
    look: Arc<Look>,
    /// One for each call that has a link to itself.
    slots: Arc<Semaphore>,
    /// Tells openings under way that nobody wants their link any more; so does its end.
    closing: watch::Sender<bool>,
}

/// For whom a link is wanted.
#[derive(Debug, Clone)]
pub(super) struct Who {
    pub(super) chat: Arc<str>,
    pub(super) abilities: Abilities,
}

impl Who {
    /// The hub itself, which can be asked nothing.
    pub(super) fn hub() -> Self {
        Self { chat: HUB_CHAT.into(), abilities: Abilities::NONE }
    }
}

/// A link that may be used until this is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    /// Given back before the slot is, so that the next one finds it free.
    pub(super) link: Arc<Link>,
    /// How long it took until there was a slot for it, if it needs one.
    pub(super) queued: Option<Duration>,
    _slot: Option<OwnedSemaphorePermit>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.link.touch();
    }
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
    /// It has to be one that takes one call at a time.
    Own,
    Wait(Opening),
    Fail(Error),
}

impl Entry {
    pub(super) fn new(context: Context) -> Self {
        let state = State::new(context.instance.verdict.clone());
        Self {
            context: Arc::new(context),
            state: Mutex::new(state),
            look: Arc::default(),
            slots: Arc::new(Semaphore::new(OWN_LINKS)),
            closing: watch::channel(false).0,
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.context.instance.revision
    }

    pub(super) fn has_feed(&self) -> bool {
        self.context.has_feed()
    }

    /// Whether its link is one to a modern server.
    pub(super) fn is_modern(&self) -> bool {
        self.lock().shared.is_some()
    }

    /// The link for somebody: an open one, or a new one. However many ask for one that is shared, it is opened once.
    pub(super) async fn link(self: &Arc<Self>, who: &Who, patience: Patience) -> Result<Lease, Error> {
        match self.step(who, patience) {
            Step::Ready(link) => Ok(Lease { link, queued: None, _slot: None }),
            // Few calls have to wait: what that takes is not carried about by all the others.
            step => Box::pin(self.link_after(step, who, patience)).await,
        }
    }

    async fn link_after(
        self: &Arc<Self>,
        first: Step,
        who: &Who,
        patience: Patience,
    ) -> Result<Lease, Error> {
        let mut first = Some(first);
        // An opening may turn out to serve somebody else, and a link may die at once; neither goes on for ever.
        for _ in 0..4 {
            let mut opening = match first.take().unwrap_or_else(|| self.step(who, patience)) {
                Step::Ready(link) => return Ok(Lease { link, queued: None, _slot: None }),
                Step::Fail(error) => return Err(error),
                Step::Own => match self.own(who, patience).await? {
                    Some(lease) => return Ok(lease),
                    None => continue,
                },
                Step::Wait(opening) => opening,
            };
            let ended = opening.wait_for(Option::is_some).await.map(|it| it.clone());
            match ended {
                Ok(Some(result)) => result?,
                Ok(None) | Err(_) => return Err(given_up()),
            }
        }
        Err(self.context.unreachable("its connection ends as soon as it is open"))
    }

    fn step(self: &Arc<Self>, who: &Who, patience: Patience) -> Step {
        let mut state = self.lock();
        let key = self.key(who);
        let takes_turns = self.takes_turns(&state, who);
        let open = match (&state.shared, takes_turns) {
            (Some(link), _) => Some(link),
            (None, false) => state.kept.get(&key),
            (None, true) => None,
        };
        if let Some(link) = open.cloned() {
            let Some(error) = link.ended() else {
                link.touch();
                return Step::Ready(link);
            };
            state.remove(&link);
            state.note_death(&link, error);
        }
        if state.closed {
            return Step::Fail(closed(&self.context));
        }
        let plan = self.plan(&state);
        let opening_key = match (&self.context.instance.transport, &plan) {
            (Transport::Sse(_), _) | (_, Plan::Legacy { .. }) => Some(key.clone()),
            _ => None,
        };
        if opening_key.is_some() && takes_turns {
            return Step::Own;
        }
        if let Some(opening) = state.openings.get(&opening_key).filter(|it| it.has_changed().is_ok()) {
            return Step::Wait(opening.clone());
        }
        if let Some(error) = state.left_alone(patience) {
            return Step::Fail(error);
        }
        let (tx, rx) = watch::channel(None);
        state.openings.insert(opening_key.clone(), rx.clone());
        self.open(&mut state, plan, key, None, move |entry, link| {
            if let Some(entry) = entry {
                entry.lock().openings.remove(&opening_key);
            }
            tx.send_replace(Some(link.map(drop)));
        });
        Step::Wait(rx)
    }

    /// A link with room for one call, of which there are only so many. None if the server turned out to need no such.
    async fn own(self: &Arc<Self>, who: &Who, patience: Patience) -> Result<Option<Lease>, Error> {
        let asked = Instant::now();
        let patient = timeout(self.context.instance.timeout, self.slots.clone().acquire_owned()).await;
        let Ok(Ok(slot)) = patient else {
            let problem = format!("its {OWN_LINKS} connections are all taken by calls that wait for answers");
            return Err(self.context.unreachable(problem));
        };
        let queued = Some(asked.elapsed());
        let key = self.key(who);
        let opened = {
            let mut state = self.lock();
            while let Some(link) = state.free(|it| *it == key) {
                let Some(error) = link.ended() else {
                    link.touch();
                    return Ok(Some(Lease { link, queued, _slot: Some(slot) }));
                };
                state.remove(&link);
                state.note_death(&link, error);
            }
            if state.closed {
                return Err(closed(&self.context));
            }
            if let Some(error) = state.left_alone(patience) {
                return Err(error);
            }
            let plan = self.plan(&state);
            let evicted = if state.own.len() + state.own_openings < OWN_LINKS {
                None
            } else {
                // Every other slot is taken by one busy link at most, so there is an idle one.
                state.free(|_| true).inspect(|it| state.remove(it))
            };
            state.own_openings += 1;
            let (tx, rx) = oneshot::channel();
            self.open(&mut state, plan, key, evicted, move |entry, link| {
                if let Some(entry) = entry {
                    entry.lock().own_openings -= 1;
                }
                // Somebody who has gone gives the link back at once.
                let lease =
                    link.map(|link| link.takes_turns().then_some(Lease { link, queued, _slot: Some(slot) }));
                let _ = tx.send(lease);
            });
            rx
        };
        opened.await.unwrap_or_else(|_| Err(given_up()))
    }

    /// Opens a link beside whatever is going on, after another one was closed for it.
    fn open(
        self: &Arc<Self>,
        state: &mut State,
        plan: Plan,
        key: Key,
        evicted: Option<Arc<Link>>,
        done: impl FnOnce(Option<&Self>, Result<Arc<Link>, Error>) + Send + 'static,
    ) {
        if state.is_empty() {
            self.context.report(News::Opening);
        }
        let known = state.verdict.clone();
        let (entry, context, mut closing) =
            (Arc::downgrade(self), self.context.clone(), self.closing.subscribe());
        spawn("open-link", async move {
            if let Some(evicted) = evicted {
                evicted.close().await;
            }
            // The entry is not held meanwhile, so that a pool that is dropped drops its openings too.
            let opened = tokio::select! {
                opened = link::open(&context, &plan, known.as_ref(), &key) => opened,
                _ = closing.wait_for(|it| *it) => Err(closed(&context)),
            };
            let entry = entry.upgrade();
            let kept = match &entry {
                Some(entry) => entry.keep(key, &plan, opened),
                None => Err(closed(&context)),
            };
            done(entry.as_deref(), kept);
        });
    }

    /// Keeps what an opening brought.
    fn keep(&self, key: Key, plan: &Plan, opened: Result<Link, Error>) -> Result<Arc<Link>, Error> {
        let mut state = self.lock();
        let link = match opened {
            Ok(link) => Arc::new(link),
            Err(error) => {
                let error = redact(error, &self.context.instance);
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
        state.forgive();
        if link.is_stateless() {
            state.failures = 0;
        }
        link.start_feed(&link.session.capabilities);
        if link.session.era == Era::Modern {
            state.shared = Some(link.clone());
        } else if link.takes_turns() {
            state.own.push((key, link.clone()));
        } else {
            state.kept.insert(key, link.clone());
        }
        self.context.report(News::Open);
        Ok(link)
    }

    /// Adds to a legacy server's tools those it has only for clients that can be asked.
    pub(super) async fn complete(&self, lease: &Lease, tools: &mut Vec<Raw>, occasion: Occasion) {
        let session = &lease.link.session;
        if session.era == Era::Modern {
            return;
        }
        let visit = || {
            let state = self.lock();
            let version = match self.plan(&state) {
                Plan::Legacy { version, .. } => version,
                _ => session.version.clone(),
            };
            Visit {
                context: self.context.clone(),
                plan: Plan::Legacy { version, trust: Trust::Told },
                verdict: state.verdict.clone(),
                closing: self.closing.subscribe(),
            }
        };
        self.look.complete(tools, occasion, visit).await;
    }

    fn key(&self, who: &Who) -> Key {
        Key::of(&self.context.instance.transport, &who.chat, who.abilities)
    }

    fn plan(&self, state: &State) -> Plan {
        Plan::of(&self.context.instance, state.verdict.as_ref(), (self.context.options.now)())
    }

    /// Whether somebody's calls run one at a time on a legacy link: nothing else would tie a question to its call.
    fn takes_turns(&self, state: &State, who: &Who) -> bool {
        let transport = &self.context.instance.transport;
        who.abilities.can_be_asked()
            && (link::speaks_in_lines(transport)
                || matches!(transport, Transport::Sse(_))
                || state.verdict.as_ref().is_some_and(is_sse)
                || state.own.iter().any(|it| it.0 == self.key(who))
                || self.context.does_ask_beside())
    }

    /// The link somebody would get, if it is open.
    pub(super) fn open_link(&self, who: &Who) -> Option<Arc<Link>> {
        let state = self.lock();
        let link = state.shared.as_ref().or_else(|| state.kept.get(&self.key(who)));
        link.filter(|it| it.ended().is_none()).cloned()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// How many links there are, and what waits on them.
    pub(super) fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        let links = state.links();
        (links.len() + state.own_openings + state.openings.len(), links.iter().map(|it| it.pending()).sum())
    }

    /// Whether a request that failed may be sent again. Forgets the link if it was to blame.
    pub(super) fn after(&self, link: &Arc<Link>, failure: Failure, tries: &mut Tries) -> Result<(), Error> {
        let (left, blame) = match &failure {
            Failure::Untaken(_) => (&mut tries.untaken, Blame::Link),
            Failure::OtherEra(_) => (&mut tries.untaken, Blame::Verdict),
            Failure::Lost(_) if tries.repeatable => (&mut tries.lost, Blame::Nobody),
            _ => return Err(redact(failure.into_error(), &self.context.instance)),
        };
        self.forget(link, blame);
        match left.checked_sub(1) {
            Some(fewer) => {
                *left = fewer;
                Ok(())
            }
            None => Err(redact(failure.into_error(), &self.context.instance)),
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
            link.retire();
        }
    }

    /// Takes out the links that nobody has used for this long and nobody is using now.
    pub(super) fn take_idle(&self, idle: Duration) -> Vec<Arc<Link>> {
        let mut state = self.lock();
        let is_idle = |it: &Arc<Link>| Arc::strong_count(it) == 1 && it.idle_for() >= idle;
        let idle: Vec<_> = state.links().into_iter().filter(|it| is_idle(it)).cloned().collect();
        for link in &idle {
            state.remove(link);
        }
        idle
    }

    /// The links of one chat.
    pub(super) fn of_chat(&self, chat: &str) -> Vec<Arc<Link>> {
        let state = self.lock();
        let is_its = |key: &Key| key.chat.as_deref() == Some(chat);
        let kept = state.kept.iter().filter(|it| is_its(it.0)).map(|it| it.1.clone());
        kept.chain(state.own.iter().filter(|it| is_its(&it.0)).map(|it| it.1.clone())).collect()
    }

    /// Takes out the links of one chat.
    pub(super) fn take_chat(&self, chat: &str) -> Vec<Arc<Link>> {
        let mut state = self.lock();
        let is_its = |key: &Key| key.chat.as_deref() == Some(chat);
        let kept = state.kept.extract_if(|key, _| is_its(key)).map(|it| it.1).collect::<Vec<_>>();
        kept.into_iter().chain(state.own.extract_if(.., |it| is_its(&it.0)).map(|it| it.1)).collect()
    }

    pub(super) async fn close(&self) {
        self.closing.send_replace(true);
        let links: Vec<_> = {
            let mut state = self.lock();
            state.closed = true;
            let links = state.links().into_iter().cloned().collect();
            state.shared = None;
            state.kept.clear();
            state.own.clear();
            links
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

fn given_up() -> Error {
    Error::Internal("opening a link was given up".into())
}
