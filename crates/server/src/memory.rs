//! What the hub remembers, written to the store beside the calls and in order. Nothing here is ever waited for by
//! a call; [`Memory::close`] returns when everything is on disk.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use toolgrove_core::event::ListKind;
use toolgrove_core::hub::Log;
use toolgrove_core::instance::{Instance, Verdict};
use toolgrove_core::offer::Offer;
use toolgrove_core::{CallRecord, Error, task};
use toolgrove_store::{CallLog, Store, StoreError, ToolRow};
use toolgrove_wire::Raw;
use uuid::Uuid;

pub struct Memory {
    calls: CallLog,
    jobs: mpsc::UnboundedSender<Job>,
}

enum Job {
    Listed(Arc<Offer>),
    Barred(Uuid, Error),
    Judged(Uuid, Verdict),
    Done(oneshot::Sender<()>),
}

impl Memory {
    pub fn start(store: &Store) -> Self {
        let (jobs, mut queue) = mpsc::unbounded_channel();
        let writer = store.clone();
        task::spawn("memory", async move {
            while let Some(job) = queue.recv().await {
                write(&writer, job).await;
            }
        });
        Self { calls: CallLog::start(store), jobs }
    }

    /// Returns when everything recorded so far is written.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.jobs.send(Job::Done(done)).is_ok() {
            let _ = written.await;
        }
        self.calls.flush().await;
    }

    pub async fn close(&self) {
        self.flush().await;
        self.calls.close().await;
    }
}

impl Log for Memory {
    fn record(&self, record: CallRecord) {
        self.calls.record(record);
    }

    fn listed(&self, offer: &Arc<Offer>) {
        let _ = self.jobs.send(Job::Listed(offer.clone()));
    }

    fn barred(&self, instance: &Arc<Instance>, error: &Error) {
        let _ = self.jobs.send(Job::Barred(instance.id, error.clone()));
    }

    fn judged(&self, instance: &Arc<Instance>, verdict: &Verdict) {
        let _ = self.jobs.send(Job::Judged(instance.server, verdict.clone()));
    }
}

async fn write(store: &Store, job: Job) {
    let written = match job {
        Job::Listed(offer) => write_offer(store, &offer).await,
        Job::Barred(instance, error) => {
            if let Err(error) = crate::connect::barred(store, instance, &error).await {
                tracing::debug!(%error, "what a server wants was not kept");
            }
            Ok(())
        }
        Job::Judged(server, verdict) => {
            let verdict = serde_json::to_value(&verdict).unwrap_or_default();
            store.set_era_verdict(server, Some(&verdict)).await.map(drop)
        }
        Job::Done(done) => {
            let _ = done.send(());
            Ok(())
        }
    };
    if let Err(error) = written {
        // An instance that was removed meanwhile is the usual reason.
        tracing::debug!(?error, "a listing was not kept");
    }
}

async fn write_offer(store: &Store, offer: &Offer) -> Result<(), StoreError> {
    let id = offer.instance.id;
    let Some(fetched_at) = offer.fetched_at else { return Ok(()) };
    let rows: Vec<ToolRow> = offer
        .tools
        .iter()
        .enumerate()
        .filter(|(_, it)| !it.gone)
        .map(|(position, it)| ToolRow {
            instance_id: id,
            name: it.name.clone(),
            public_name: it.public_name.clone(),
            single_name: it.single_name.clone(),
            position: position as i64,
            raw: it.raw.as_str().to_owned(),
            fetched_at,
            gone: false,
        })
        .collect();
    store.replace_tools(id, &rows).await?;
    for (kind, stored) in LISTS {
        let items = Raw::array(offer.list(kind));
        store.put_list(id, stored, items.as_str(), fetched_at).await?;
    }
    let about = serde_json::json!({
        "capabilities": offer.capabilities.to_value(),
        "serverInfo": offer.server_info.as_ref().map(Raw::to_value),
        "instructions": offer.instructions,
    });
    store.set_capabilities(id, &about).await?;
    Ok(())
}

/// The lists besides the tools, in both rooms' words.
pub(crate) const LISTS: [(ListKind, toolgrove_store::ListKind); 3] = [
    (ListKind::Prompts, toolgrove_store::ListKind::Prompts),
    (ListKind::Resources, toolgrove_store::ListKind::Resources),
    (ListKind::Templates, toolgrove_store::ListKind::Templates),
];
