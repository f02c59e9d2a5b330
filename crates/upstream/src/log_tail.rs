//! The last lines a server's process wrote to stderr.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

const KEPT: usize = 500;

#[derive(Debug, Default)]
pub(crate) struct LogTail(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<String>,
    /// How many there were, ever.
    count: u64,
    /// How many of them were told.
    told: u64,
}

/// Lines in a row, and which of all there ever were comes first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogPiece {
    pub from: u64,
    pub lines: Vec<String>,
}

impl LogTail {
    pub(crate) fn push(&self, line: String) {
        let mut lines = self.lock();
        if lines.kept.len() == KEPT {
            lines.kept.pop_front();
        }
        lines.kept.push_back(line);
        lines.count += 1;
    }

    pub(crate) fn all(&self) -> LogPiece {
        let lines = self.lock();
        LogPiece { from: lines.count - lines.kept.len() as u64, lines: lines.kept.iter().cloned().collect() }
    }

    /// What was not told yet, as far as it is still kept.
    pub(crate) fn untold(&self) -> LogPiece {
        let mut lines = self.lock();
        let first = lines.count - lines.kept.len() as u64;
        let from = lines.told.max(first);
        let skipped = usize::try_from(from - first).unwrap_or(usize::MAX);
        lines.told = lines.count;
        LogPiece { from, lines: lines.kept.iter().skip(skipped).cloned().collect() }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_told_once_as_long_as_it_is_kept() {
        let tail = LogTail::default();
        let write = |numbers: std::ops::Range<usize>| numbers.for_each(|it| tail.push(it.to_string()));
        write(0..2);
        assert_eq!(tail.untold(), LogPiece { from: 0, lines: vec!["0".into(), "1".into()] });
        assert_eq!(tail.untold(), LogPiece { from: 2, lines: Vec::new() });
        write(2..3);
        assert_eq!(tail.untold(), LogPiece { from: 2, lines: vec!["2".into()] });
        write(3..3 + KEPT + 7);
        let piece = tail.untold();
        assert_eq!((piece.from, piece.lines.len(), piece.lines[0].as_str()), (10, KEPT, "10"));
        assert_eq!(tail.all(), piece);
    }
}
