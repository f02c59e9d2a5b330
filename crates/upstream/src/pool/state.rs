//! The table of one instance's links, and how long a server that fails is left alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use toolgrove_core::Error;
use toolgrove_core::instance::Verdict;

use crate::link::{Key, Link};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A link that lived this long did not die of being opened.
const LONG_LIFE: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct State {
    /// The newest verdict, which may be newer than the instance's.
    pub(super) verdict: Option<Verdict>,
    /// The link of a modern server, which serves everybody.
    pub(super) shared: Option<Arc<Link>>,
    /// Legacy links that take many calls at once.
    pub(super) kept: HashMap<Key, Arc<Link>>,
    /// Legacy links that take one call at a time; one key may have several.
    pub(super) own: Vec<(Key, Arc<Link>)>,
    /// How many of those are being opened.
    pub(super) own_openings: usize,
    /// By key; what will be shared by everybody, or is not yet known, has none.
    pub(super) openings: HashMap<Option<Key>, Opening>,
    pause: Option<Pause>,
    /// How many openings failed, or links died young, in a row.
    pub(super) failures: u32,
    pub(super) closed: bool,
}

/// Tells everybody who waits how an opening ended.
pub(super) type Opening = watch::Receiver<Option<Result<(), Error>>>;

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

impl State {
    pub(super) fn new(verdict: Option<Verdict>) -> Self {
        Self { verdict, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shared.is_none() && self.kept.is_empty() && self.own.is_empty()
    }

    pub(super) fn links(&self) -> Vec<&Arc<Link>> {
        self.shared.iter().chain(self.kept.values()).chain(self.own.iter().map(|it| &it.1)).collect()
    }

    /// The link nobody is using that was used least lately.
    pub(super) fn free(&self, fits: impl Fn(&Key) -> bool) -> Option<Arc<Link>> {
        let free = self.own.iter().filter(|it| Arc::strong_count(&it.1) == 1 && fits(&it.0));
        free.max_by_key(|it| it.1.idle_for()).map(|it| it.1.clone())
    }

    pub(super) fn remove(&mut self, link: &Arc<Link>) {
        self.shared.take_if(|it| Arc::ptr_eq(it, link));
        self.kept.retain(|_, it| !Arc::ptr_eq(it, link));
        self.own.retain(|it| !Arc::ptr_eq(&it.1, link));
    }

    pub(super) fn left_alone(&self, patience: Patience) -> Option<Error> {
        let pause =
            self.pause.as_ref().filter(|it| patience == Patience::BackOff && Instant::now() < it.until);
        pause.map(|it| it.error.clone())
    }

    /// The server answers again.
    pub(super) fn forgive(&mut self) {
        self.pause = None;
    }

    pub(super) fn note_failure(&mut self, error: Error) {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(16)).min(LONGEST_PAUSE);
        self.failures += 1;
        self.pause = Some(Pause { until: Instant::now() + pause, error });
    }

    /// One death is forgiven: the next call starts the server again at once. One that keeps dying is left alone.
    pub(super) fn note_death(&mut self, link: &Link, error: Error) {
        // A session that is gone says nothing about its server.
        if !link.is_stateless() {
            self.note_life(link.age(), error);
        }
    }

    fn note_life(&mut self, lived: Duration, error: Error) {
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
        state.note_life(Duration::from_secs(1), Error::Cancelled);
        assert_eq!(pause(&state), 0);
        state.note_life(Duration::from_secs(1), Error::Cancelled);
        assert_eq!(pause(&state), 200);
        state.note_life(Duration::from_secs(1), Error::Cancelled);
        assert_eq!(pause(&state), 400);
        state.pause = None;
        state.note_life(LONG_LIFE, Error::Cancelled);
        assert_eq!((pause(&state), state.failures), (0, 0));
    }
}
