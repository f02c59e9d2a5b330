//! A request until it has its answer. It runs where its client waits for it. A legacy client's disconnect is no cancel:
//! its request runs on by itself for a while, for a client that comes back.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::time::timeout;
use toolgrove_core::task;
use toolgrove_wire::Draft;

use super::answer::{Failure, broken};

/// How long a request runs on for which nobody waits, and how long what came of it can still be asked for.
pub(super) const GRACE: Duration = Duration::from_secs(60);

type Answer = Result<Draft, Failure>;

/// The future of an answer. Dropped before its end, it runs on for its grace, or not at all.
pub struct Answering {
    /// None once it has ended.
    future: Option<Pin<Box<dyn Future<Output = Answer> + Send>>>,
    grace: Duration,
}

impl Answering {
    /// A request that ends when nobody waits for it.
    pub(super) fn new(future: impl Future<Output = Answer> + Send + 'static) -> Self {
        // What breaks must not take the connection with it, over which others may be waiting.
        let future = AssertUnwindSafe(future).catch_unwind();
        let future = future.map(|it| it.unwrap_or_else(|_| Err(broken("a call broke off"))));
        Self { future: Some(Box::pin(future)), grace: Duration::ZERO }
    }

    /// The same for a client that may come back.
    pub(super) fn lasting(future: impl Future<Output = Answer> + Send + 'static) -> Self {
        let mut answering = Self::new(future);
        answering.grace = GRACE;
        answering
    }

    /// From now on the holder has itself waited long enough when it lets go.
    pub(super) fn shorten(&mut self) {
        self.grace = Duration::ZERO;
    }

    /// Puts what came of it back, for when it is asked for again.
    pub(super) fn put_back(&mut self, answer: Answer) {
        self.future = Some(Box::pin(std::future::ready(answer)));
    }
}

impl Future for Answering {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        let Some(future) = &mut self.future else { return Poll::Pending };
        let polled = future.as_mut().poll(cx);
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let Some(future) = self.future.take() else { return };
        if self.grace.is_zero() || Handle::try_current().is_err() {
            return;
        }
        let grace = self.grace;
        task::spawn("abandoned request", async move {
            let _ = timeout(grace, future).await;
        });
    }
}
