//! The way back into the hub: calls of what the hub runs itself, handed to whoever runs it.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use toolgrove_core::Error;
use toolgrove_core::call::Outgoing;
use toolgrove_core::event::Events;
use toolgrove_core::instance::Instance;
use toolgrove_wire::Raw;

/// One call. Whoever waits for it has gone when `reply` is closed.
#[derive(Debug)]
pub struct OwnCall {
    pub instance: Arc<Instance>,
    pub outgoing: Outgoing,
    pub events: Events,
    pub reply: oneshot::Sender<Result<Raw, Error>>,
}

/// Where such calls go.
#[derive(Debug, Clone)]
pub struct OwnCalls(mpsc::UnboundedSender<OwnCall>);

impl OwnCalls {
    pub fn channel() -> (Self, mpsc::UnboundedReceiver<OwnCall>) {
        let (tx, rx) = mpsc::unbounded_channel();
        (Self(tx), rx)
    }

    pub(crate) async fn call(
        &self,
        instance: &Arc<Instance>,
        outgoing: &Outgoing,
        events: &Events,
    ) -> Result<Raw, Error> {
        let (reply, answer) = oneshot::channel();
        let call =
            OwnCall { instance: instance.clone(), outgoing: outgoing.clone(), events: events.clone(), reply };
        let gone = || Error::Internal("nobody runs this any more".into());
        self.0.send(call).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}
