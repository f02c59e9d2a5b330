//! The last lines a server's process wrote to stderr.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

const KEPT: usize = 500;

#[derive(Debug, Default)]
pub(crate) struct LogTail(Mutex<VecDeque<String>>);

impl LogTail {
    pub(crate) fn push(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
