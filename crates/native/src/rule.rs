//! When memory is given back: once after the start and once after every rush, as soon as the process has come to rest
//! and what it left open has closed, and once when nothing at all has happened for long.
//!
//! A call now and then is no rush: it finds in memory what the last one needed. What comes back at once, because it is
//! needed to rest, is not given back over and over.

use std::time::Duration;

use crate::c::clock;

/// A tick in which the process worked longer was no rest. A call takes a fraction of a millisecond.
const LITTLE: Duration = Duration::from_millis(20);
/// In a tick with less than that nothing has happened; so many of them in a row are long.
const NOTHING: Duration = Duration::from_millis(1);
const LONG: u32 = 30;

/// What a process has done since it last gave memory back. It begins with its start, which is work.
#[derive(Debug, Default)]
pub struct Rest {
    state: State,
    /// How much was in memory when it had last given back and come to rest, in bytes.
    low: u64,
    /// How long the process had worked at the last tick.
    worked: Duration,
    /// In how many ticks nothing has happened since.
    still: u32,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Worked,
    /// It has nothing to do, but what the work left open for the next may still lie around for a second.
    Settles,
    GaveBack,
    Rests,
}

impl Rest {
    /// Whether to give back now. To be asked every second.
    pub fn is_due(&mut self) -> bool {
        self.is_due_after(processor_time(), resident)
    }

    /// The same, for a process that has worked for so long. How much is in memory is asked only if it matters.
    fn is_due_after(&mut self, worked: Duration, resident: impl FnOnce() -> Option<u64>) -> bool {
        let lately = worked.saturating_sub(std::mem::replace(&mut self.worked, worked));
        self.still = if lately > NOTHING { 0 } else { self.still.saturating_add(1) };
        if lately > LITTLE {
            self.state = State::Worked;
            return false;
        }
        if self.state == State::Worked {
            self.state = State::Settles;
            return false;
        }
        let before = std::mem::replace(&mut self.state, State::Rests);
        if before == State::Rests && self.still != LONG {
            return false;
        }
        let Some(resident) = resident() else { return false };
        match before {
            // What has come back at once is what it takes to rest.
            State::GaveBack => self.low = resident,
            _ if resident > self.low + self.low / 5 => self.state = State::GaveBack,
            _ => {}
        }
        self.state == State::GaveBack
    }
}

/// How many bytes of this process are in memory; `None` where the kernel does not say so.
pub(crate) fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let size = status.lines().find_map(|it| it.strip_prefix("VmRSS:"))?.trim().strip_suffix(" kB")?;
    Some(size.parse::<u64>().ok()? * 1024)
}

fn processor_time() -> Duration {
    Duration::from_micros(u64::try_from(clock()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    /// Ticks in each of which the process works for so many milliseconds and then has so many MiB in memory; at which
    /// of them it gives back.
    #[track_caller]
    fn check(ticks: &[(u64, u64)], expected: &[usize]) {
        let (mut rest, mut worked, mut due) = (Rest::default(), Duration::ZERO, Vec::new());
        for (place, (millis, mebibytes)) in ticks.iter().enumerate() {
            worked += Duration::from_millis(*millis);
            if rest.is_due_after(worked, || Some(mebibytes * MIB)) {
                due.push(place);
            }
        }
        assert_eq!(due, expected, "{ticks:?}");
    }

    #[test]
    fn the_start_is_followed_by_one_giving_back() {
        check(&[(15, 30), (1, 30), (0, 12), (0, 12)], &[1]);
        check(&[(400, 50), (300, 50), (2, 50), (1, 50), (1, 12), (0, 12)], &[3]);
    }

    #[test]
    fn so_is_every_rush_and_nothing_is_given_back_while_it_lasts() {
        check(
            &[(15, 30), (1, 30), (1, 12), (900, 60), (900, 60), (30, 50), (2, 40), (1, 39), (1, 13), (0, 13)],
            &[1, 7],
        );
    }

    #[test]
    fn a_rush_right_after_giving_back_is_followed_by_another() {
        check(&[(15, 30), (1, 30), (900, 60), (2, 40), (1, 40), (1, 13), (0, 13)], &[1, 4]);
        check(&[(15, 30), (900, 60), (2, 40), (900, 60), (2, 40), (1, 40), (1, 13)], &[5]);
    }

    #[test]
    fn a_call_now_and_then_changes_nothing() {
        check(&[(15, 30), (1, 30), (1, 12), (4, 19), (0, 19), (4, 20), (4, 20), (0, 20)], &[1]);
    }

    #[test]
    fn what_a_call_brought_back_is_given_back_when_nothing_has_happened_for_long() {
        let start = [(15, 30), (2, 30), (2, 12), (4, 19)];
        let still = [(0, 19); LONG as usize];
        check(&[&start[..], &still, &[(0, 12); 99]].concat(), &[1, start.len() + still.len() - 1]);
        check(&[&start[..], &still[1..], &[(4, 19)], &still[1..]].concat(), &[1]);
        check(&[&start[..3], &[(0, 12); 99]].concat(), &[1]);
    }

    #[test]
    fn work_that_left_less_than_a_fifth_more_is_not_worth_it() {
        check(
            &[(15, 30), (1, 30), (1, 10), (900, 12), (2, 12), (1, 12), (900, 13), (2, 13), (1, 13)],
            &[1, 8],
        );
    }

    #[test]
    fn where_memory_cannot_be_measured_nothing_is_given_back() {
        let mut rest = Rest::default();
        assert!(!(0..3).any(|_| rest.is_due_after(Duration::ZERO, || None)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernel_says_how_long_a_process_worked_and_how_much_it_has_in_memory() {
        assert!(processor_time() > Duration::ZERO);
        assert!(resident().is_some_and(|it| it > 100 * 1024));
    }
}
