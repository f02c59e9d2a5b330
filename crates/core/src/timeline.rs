//! When a call got where: a few instants taken on its way, and the tab it went to, kept with its row. Nothing of what
//! was said is in it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use ts_rs::TS;

/// More than this many ticks are thinned out; what is drawn stays the same.
const MOST_TICKS: usize = 64;

/// Where a call's time went, in microseconds after it came in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The tool was found, may be called, and its arguments match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<u64>,
    /// How long it waited for its turn, where a link takes one call at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<u64>,
    /// A link was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linked: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ticks: Vec<Tick>,
    /// The browser tab it went to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tab: Option<TabOfCall>,
    /// What models have read and written for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
}

/// Where in a browser a call has run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TabOfCall {
    /// The browser's own number of the tab.
    pub id: i64,
    pub domain: String,
}

/// Something the server let hear before its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    pub at: u64,
    /// How far it was; none for a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
}

/// A timeline in the making.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    started: Option<Instant>,
    timeline: Timeline,
}

impl Clock {
    pub(crate) fn start(&mut self, now: Instant) {
        self.started = Some(now);
    }

    pub(crate) fn checked(&mut self) {
        self.timeline.checked = self.now();
    }

    /// Rounds after the first find the link open.
    pub(crate) fn linked(&mut self, queued: Option<Duration>) {
        if self.timeline.linked.is_none() {
            self.timeline.linked = self.now();
            self.timeline.queued = queued.map(|it| it.as_micros() as u64);
        }
    }

    pub(crate) fn went_to(&mut self, tab: TabOfCall) {
        self.timeline.tab = Some(tab);
    }

    pub(crate) fn tick(&mut self, progress: Option<f64>, total: Option<f64>) {
        let Some(at) = self.now() else { return };
        let ticks = &mut self.timeline.ticks;
        if ticks.len() == MOST_TICKS {
            let mut is_kept = false;
            ticks.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
        ticks.push(Tick { at, progress, total });
    }

    pub(crate) fn used(&mut self, input: u64, output: u64) {
        let tokens = self.timeline.tokens.get_or_insert_default();
        tokens.input += input;
        tokens.output += output;
    }

    pub(crate) fn take(&mut self) -> Timeline {
        std::mem::take(&mut self.timeline)
    }

    fn now(&self) -> Option<u64> {
        self.started.map(|it| it.elapsed().as_micros() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_thousand_ticks_are_thinned_and_the_last_one_stays() {
        let mut clock = Clock::default();
        clock.start(Instant::now());
        for number in 0..1000 {
            clock.tick(Some(number.into()), Some(1000.0));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        let ticks = clock.take().ticks;
        assert!(ticks.len() <= MOST_TICKS, "{}", ticks.len());
        assert_eq!((ticks[0].at, ticks[0].progress), (0, Some(0.0)));
        assert_eq!(ticks.last().map(|it| it.at), Some(999_000));
        assert!(ticks.is_sorted_by_key(|it| it.at));
    }

    #[test]
    fn a_call_that_was_refused_at_once_keeps_an_empty_timeline() {
        assert_eq!(serde_json::to_string(&Timeline::default()).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<Timeline>("{}").unwrap(), Timeline::default());
    }
}
