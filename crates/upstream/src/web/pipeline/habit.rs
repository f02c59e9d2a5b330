//! How a server answers, and so whether requests to it go together.

use std::time::Duration;

use tokio::time::Instant;

/// So many answers show what a server is like, and so many whether going together pays.
const KNOWN: u32 = 64;
const TRIED: u32 = 256;
/// A server is quick whose answers take so many seconds, or follow one another like this however long they take.
const QUICK: f64 = 0.012;
const QUICK_PACE: f64 = 0.000_2;
/// How long an answer may hold up those behind it: this long, or twice as long as answers take anyway.
const PATIENCE: Duration = Duration::from_millis(150);
/// How much pace is lost where it does not pay: of those that were answered side by side, two on one connection take
/// nearly twice as long.
const LOSS: f64 = 1.8;
/// How many wait on one connection: few at first, and twice as many when it has paid.
const FEWEST: usize = 2;
const MOST: usize = 32;
/// How long requests go alone when it does not: twice as long each time, unless it had paid for long.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
const LONG: u32 = 16;

#[derive(Debug, Default)]
pub(super) struct Habit {
    /// Of many that were under way at once. Those who come while others go together are seldom held up, and say
    /// nothing of this.
    alone: Pace<KNOWN>,
    together: Pace<TRIED>,
    /// How often it has paid.
    stage: u32,
    pause: Option<Pause>,
    is_over: bool,
}

#[derive(Debug, Clone, Copy)]
struct Pause {
    length: Duration,
    end: Instant,
}

/// How the last so many were answered, in seconds.
#[derive(Debug, Default)]
struct Pace<const N: u32> {
    /// What a request takes.
    took: f64,
    /// The time from answer to answer: what a request takes, divided by how many are under way.
    each: f64,
    of: u32,
}

impl<const N: u32> Pace<N> {
    fn add(&mut self, took: Duration, under_way: usize) {
        self.of = (self.of + 1).min(N);
        let (took, share) = (took.as_secs_f64(), f64::from(self.of));
        self.took += (took - self.took) / share;
        self.each += (took / under_way.max(1) as f64 - self.each) / share;
    }

    fn known(&self) -> Option<&Self> {
        (self.of == N).then_some(self)
    }
}

impl Habit {
    /// How many may wait on one connection; none if all go alone.
    pub(super) fn depth(&self, now: Instant) -> Option<usize> {
        let is_quick = self.alone.known().is_some_and(|it| it.took <= QUICK || it.each <= QUICK_PACE);
        let may = is_quick && !self.is_over && self.pause.is_none_or(|it| it.end <= now);
        may.then_some((FEWEST << self.stage).min(MOST))
    }

    pub(super) fn patience(&self) -> Duration {
        PATIENCE.max(Duration::from_secs_f64(self.alone.took * 2.0))
    }

    /// One of many that went alone was answered.
    pub(super) fn heard_alone(&mut self, took: Duration, under_way: usize) {
        self.alone.add(took, under_way);
    }

    /// An answer was not one that others could follow.
    pub(super) fn heard_otherwise(&mut self) {
        self.alone = Pace::default();
    }

    pub(super) fn heard_together(&mut self, took: Duration, under_way: usize, now: Instant) {
        self.together.add(took, under_way);
        let (Some(together), Some(alone)) = (self.together.known(), self.alone.known()) else { return };
        // Where fewer are under way than before, answers follow one another more slowly, but take no longer.
        if together.each > alone.each * LOSS && together.took > alone.took * LOSS {
            return self.pause(now);
        }
        if FEWEST << self.stage < MOST {
            self.stage += 1;
            self.together = Pace::default();
        }
    }

    /// It did not pay, or an answer was not as expected.
    pub(super) fn pause(&mut self, now: Instant) {
        let length = match self.pause {
            // Several connections may end for one reason.
            Some(last) if now < last.end => return,
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
