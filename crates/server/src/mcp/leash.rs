//! A legacy client's disconnect is no cancel: its request runs on for a while, for a client that comes back.

use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use toolgrove_core::task;

/// How long a request runs on for which nobody waits, and how long what came of it can still be asked for.
pub(super) const GRACE: Duration = Duration::from_secs(60);

/// Held by whoever waits for a request that runs in a task of its own. Dropping it before the end cancels the request,
/// after the grace.
#[derive(Debug)]
pub struct Leash {
    request: AbortHandle,
    grace: Duration,
}

impl Leash {
    pub(super) fn new(request: AbortHandle) -> Self {
        Self { request, grace: GRACE }
    }

    /// From now on the holder has itself waited long enough when it lets go.
    pub(super) fn shorten(&mut self) {
        self.grace = Duration::ZERO;
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        if self.request.is_finished() {
            return;
        }
        if self.grace.is_zero() || Handle::try_current().is_err() {
            return self.request.abort();
        }
        let (request, grace) = (self.request.clone(), self.grace);
        task::spawn("abandoned request", async move {
            tokio::time::sleep(grace).await;
            request.abort();
        });
    }
}
