//! Starts tasks. Every task has a name, so that a log line or a dump says what was running.

use std::future::Future;

use tokio::task::JoinHandle;
use tracing::Instrument;

/// Runs `future` beside the current task, under a span with its name.
pub fn spawn<F>(name: &'static str, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    #[expect(clippy::disallowed_methods, reason = "the one place that spawns")]
    tokio::spawn(future.instrument(tracing::debug_span!("task", name)))
}
