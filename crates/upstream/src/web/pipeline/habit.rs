//! How a server answers, and so whether requests to it go together.

use std::time::Duration;

use tokio::time::Instant;

/// So many answers show what a server is like, and so many whether going together pays.
const KNOWN: u32 = 64;
const TRIED: u32 = 256;
/// Behind slower answers nobody should have to wait.
const QUICK: f64 = 0.005;
/// How much pace is lost where it does not pay: two that were answered side by side take twice as long in a line.
const LOSS: f64 = 2.0;
/// How long requests go alone then: twice as long each time, unless it had paid for long.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
const LONG: u32 = 16;

#[derive(Debug, Default)]
pub(super) struct Habit {
    /// Seconds.
    alone: Mean<KNOWN>,
    /// Seconds from answer to answer: what a request takes, divided by how many are under way.
    pace_alone: Mean<KNOWN>,
    pace_together: Mean<TRIED>,
    pause: Option<Pause>,
    is_over: bool,
}

#[derive(Debug, Clone, Copy)]
struct Pause {
    length: Duration,
    end: Instant,
}

/// Over so many of the last.
#[derive(Debug, Default)]
struct Mean<const N: u32> {
    value: f64,
    of: u32,
}

impl<const N: u32> Mean<N> {
    fn add(&mut self, value: f64) {
        self.of = (self.of + 1).min(N);
        self.value += (value - self.value) / f64::from(self.of);
    }

    fn known(&self) -> Option<f64> {
        (self.of == N).then_some(self.value)
    }
}

impl Habit {
    pub(super) fn goes_together(&self, now: Instant) -> bool {
        let is_quick = self.alone.known().is_some_and(|it| it <= QUICK);
        is_quick && !self.is_over && self.pause.is_none_or(|it| it.end <= now)
    }

    pub(super) fn heard_alone(&mut self, took: Duration, under_way: usize, is_plain: bool) {
        if !is_plain {
            (self.alone, self.pace_alone) = Default::default();
            return;
        }
        self.alone.add(took.as_secs_f64());
        self.pace_alone.add(pace(took, under_way));
    }

    pub(super) fn heard_together(&mut self, took: Duration, under_way: usize, now: Instant) {
        self.pace_together.add(pace(took, under_way));
        if self.pace_together.known().is_some_and(|it| it > self.pace_alone.value * LOSS) {
            self.pause(now);
        }
    }

    /// It did not pay, or an answer was not as expected.
    pub(super) fn pause(&mut self, now: Instant) {
        let length = match self.pause {
            Some(last) if now < last.end + last.length * LONG => (last.length * 2).min(LONGEST_PAUSE),
            _ => SHORTEST_PAUSE,
        };
        let pause = Some(Pause { length, end: now + length });
        *self = Self { pause, is_over: self.is_over, ..Self::default() };
    }

    pub(super) fn give_up(&mut self) {
        self.is_over = true;
    }
}

fn pace(took: Duration, under_way: usize) -> f64 {
    took.as_secs_f64() / under_way.max(1) as f64
}
