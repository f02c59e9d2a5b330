//! Starts tasks. Every task has a name, so that a log line or a dump says what was running.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use tokio::runtime::{Handle, RuntimeFlavor};
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

/// How many requests this process is busy with.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// A request under way, until it is dropped.
#[derive(Debug)]
pub struct UnderWay(());

impl UnderWay {
    pub fn begin() -> Self {
        UNDER_WAY.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Lets the other requests that can go on do so first.
///
/// What many requests write then follows one another: the first write wakes whoever reads on the other side, the
/// next ones find it awake. To wake a thread that sleeps on another core costs more than to write. Where several
/// threads share the work, a request that lets others go first would itself wake one of them: there it goes on.
pub async fn turn() {
    let shares_a_thread = UNDER_WAY.load(Ordering::Relaxed) > 1
        && Handle::try_current().is_ok_and(|it| it.runtime_flavor() == RuntimeFlavor::CurrentThread);
    let mut has_waited = !shares_a_thread;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Messages that came together, taken a few at a time.
///
/// What the first few lead to is done, and on its way to the next process, before the others are looked at. Taken all at
/// once they would pass through the hub side by side, while the processes around it have nothing to do; taken one by one,
/// each would be a write of its own.
#[derive(Debug, Default)]
pub struct Handful {
    taken: usize,
}

impl Handful {
    const FULL: usize = 4;

    /// One more was taken, and so many bytes are left of what came with it.
    pub async fn took(&mut self, left: usize) {
        self.taken = if left == 0 { 0 } else { self.taken + 1 };
        if self.taken == Self::FULL {
            self.taken = 0;
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::{Arc, Mutex};

    use futures::FutureExt;
    use futures::future::join;

    use super::*;

    #[tokio::test]
    async fn whoever_is_alone_waits_for_nobody_and_among_many_all_get_ready_before_one_goes_on() {
        let alone = UnderWay::begin();
        assert!(turn().now_or_never().is_some());

        let other = UnderWay::begin();
        let said = RefCell::new(Vec::new());
        let one = |name: &'static str| {
            let said = &said;
            async move {
                said.borrow_mut().push(format!("{name} is ready"));
                turn().await;
                said.borrow_mut().push(format!("{name} goes on"));
            }
        };
        join(one("first"), one("second")).await;
        assert_eq!(*said.borrow(), ["first is ready", "second is ready", "first goes on", "second goes on"]);
        drop((alone, other));
    }

    #[tokio::test]
    async fn what_a_few_messages_lead_to_is_done_before_the_next_are_taken() {
        let done = Arc::new(Mutex::new(Vec::new()));
        let mut handful = Handful::default();
        let mut before = Vec::new();
        for message in 0..10 {
            before.push(done.lock().unwrap().len());
            let done = done.clone();
            spawn("message", async move { done.lock().unwrap().push(message) });
            handful.took(9 - message).await;
        }
        assert_eq!(before, [0, 0, 0, 0, 4, 4, 4, 4, 8, 8]);
    }
}
