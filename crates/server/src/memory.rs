//! What the hub remembers, written to the store beside the calls and in order. Nothing here is ever waited for by
//! a call, but for the rates that hubs share; [`Memory::close`] returns when everything is on disk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use toolgrove_core::event::{Event, ListKind};
use toolgrove_core::health::LastCall;
use toolgrove_core::hub::{Log, Running};
use toolgrove_core::instance::{Instance, Verdict};
use toolgrove_core::limits::Rate;
use toolgrove_core::offer::Offer;
use toolgrove_core::pins::Pin;
use toolgrove_core::{CallRecord, Error, task};
use toolgrove_store::{CallLog, PinRow, Store, StoreError, ToolRow};
use toolgrove_upstream::Tabs;
use toolgrove_wire::Raw;
use uuid::Uuid;

use crate::api::calls::Call;
use crate::live::{Live, LiveEvent};

pub struct Memory {
    calls: CallLog,
    /// The store, if other hubs use it too.
    shared: Option<Store>,
    jobs: mpsc::UnboundedSender<Job>,
    live: Arc<Live>,
    /// How the last call of each instance went.
    last: Mutex<HashMap<Uuid, LastCall>>,
    /// Hears which tools of pages are held back, once it is there.
    tabs: OnceLock<Arc<Tabs>>,
}

enum Job {
    Listed(Arc<Offer>),
    Barred(Arc<Instance>, Error),
    Judged(Uuid, Verdict),
    Done(oneshot::Sender<()>),
}

impl Memory {
    pub fn start(store: &Store, live: Arc<Live>) -> Self {
        let (jobs, mut queue) = mpsc::unbounded_channel();
        let (writer, told) = (store.clone(), live.clone());
        task::spawn("memory", async move {
            while let Some(job) = queue.recv().await {
                write(&writer, &told, job).await;
            }
        });
        Self {
            calls: CallLog::start(store),
            shared: store.is_shared().then(|| store.clone()),
            jobs,
            live,
            last: Mutex::default(),
            tabs: OnceLock::new(),
        }
    }

    /// Tells the tabs from now on what is held back.
    pub(crate) fn tell(&self, tabs: Arc<Tabs>) {
        let _ = self.tabs.set(tabs);
    }

    /// Takes the last call of every instance from earlier runs.
    pub async fn load(&self, store: &Store) -> Result<(), StoreError> {
        let calls = store.last_calls().await?;
        let calls = calls.iter().filter_map(|it| Some((it.instance_id?, LastCall::of(it)?)));
        lock(&self.last).extend(calls);
        Ok(())
    }

    /// How the last call that reached an instance went.
    pub fn last_call(&self, instance: Uuid) -> Option<LastCall> {
        lock(&self.last).get(&instance).copied()
    }

    fn note_last(&self, record: &CallRecord) {
        let (Some(instance), Some(call)) = (record.instance_id, LastCall::of(record)) else { return };
        let before = lock(&self.last).insert(instance, call);
        if before.is_some_and(|it| it.is_slow()) != call.is_slow() {
            self.live.touch(record.person_id, instance);
        }
    }

    /// Returns when everything recorded so far is written.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.jobs.send(Job::Done(done)).is_ok() {
            let _ = written.await;
        }
        self.calls.flush().await;
    }

    /// Lets go of what a rush has left.
    pub async fn rest(&self) {
        self.calls.rest().await;
    }

    pub async fn close(&self) {
        self.flush().await;
        self.calls.close().await;
    }
}

impl Log for Memory {
    async fn take(&self, server: Uuid, rate: Rate) -> Option<Result<(), Duration>> {
        let store = self.shared.as_ref()?;
        match store.take_token(server, rate.per_second, rate.burst).await {
            Ok(None) => Some(Ok(())),
            Ok(Some(wait)) => Some(Err(wait)),
            Err(error) => {
                tracing::warn!(%error, "how often a server was called elsewhere is not known");
                None
            }
        }
    }

    fn record(&self, record: CallRecord) {
        self.note_last(&record);
        if self.live.is_watched(record.person_id) {
            let event = LiveEvent::Call { call: Box::new(Call::ended(&record)) };
            self.live.tell_call(record.person_id, record.token_id, &event);
        }
        self.calls.record(record);
    }

    fn begun(&self, record: &CallRecord) {
        if self.live.is_watched(record.person_id) {
            let event = LiveEvent::Call { call: Box::new(Call::running(record)) };
            self.live.tell_call(record.person_id, record.token_id, &event);
        }
    }

    fn is_watched(&self, person: Uuid) -> bool {
        self.live.is_watched(person)
    }

    fn went_on(&self, call: &Running, event: &Event) {
        let (id, ms) = (call.id, call.elapsed().as_secs_f64() * 1000.0);
        let event = match event {
            Event::Progress(params) => {
                let number = |key: &str| params.get(key).and_then(|it| it.as_str().parse::<f64>().ok());
                let Some(progress) = number("progress") else { return };
                LiveEvent::Progress {
                    id,
                    ms,
                    progress,
                    total: number("total"),
                    message: params.get_text("message"),
                }
            }
            Event::Ask(_) => LiveEvent::Question { id, ms },
            Event::Log(_) | Event::Elicited(_) => return,
        };
        self.live.tell_call(call.person, call.token, &event);
    }

    fn relisted(&self, instance: &Instance, kind: ListKind) {
        self.live.relisted(instance, kind);
    }

    fn wrote(&self, instance: &Instance) {
        self.live.wrote_line(instance);
    }

    fn touched(&self, instance: &Instance) {
        self.live.touch(instance.person, instance.id);
    }

    fn listed(&self, offer: &Arc<Offer>) {
        if let Some(tabs) = self.tabs.get().filter(|_| offer.instance.is_tabs()) {
            tabs.hold(offer.instance.person, offer.held_pages());
        }
        let _ = self.jobs.send(Job::Listed(offer.clone()));
    }

    fn barred(&self, instance: &Arc<Instance>, error: &Error) {
        let _ = self.jobs.send(Job::Barred(instance.clone(), error.clone()));
    }

    fn judged(&self, instance: &Arc<Instance>, verdict: &Verdict) {
        let _ = self.jobs.send(Job::Judged(instance.server, verdict.clone()));
    }
}

async fn write(store: &Store, live: &Live, job: Job) {
    let written = match job {
        Job::Listed(offer) => write_offer(store, &offer).await,
        Job::Barred(instance, error) => {
            if let Err(error) = crate::connect::barred(store, instance.id, &error).await {
                tracing::debug!(%error, "what a server wants was not kept");
            }
            live.touch(instance.person, instance.id);
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
    let pins: Vec<PinRow> = offer.pinned.pins.iter().map(|it| first_pin(id, it)).collect();
    store.first_pins(&pins).await?;
    // What tabs offer is known by the tab hub, which keeps what else should be kept.
    if offer.instance.is_tabs() {
        return Ok(());
    }
    let rows: Vec<ToolRow> = offer
        .tools
        .iter()
        .enumerate()
        .filter_map(|(position, it)| Some((position, it, it.as_listed()?)))
        .map(|(position, it, listed)| ToolRow {
            instance_id: id,
            name: it.name.clone(),
            public_name: it.public_name.clone(),
            single_name: it.single_name.clone(),
            position: position as i64,
            raw: listed.as_str().to_owned(),
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

/// A definition that was there when its server was first seen.
fn first_pin(instance_id: Uuid, pin: &Pin) -> PinRow {
    PinRow {
        instance_id,
        tool: pin.tool.clone(),
        digest: pin.digest.clone(),
        raw: pin.raw.as_str().to_owned(),
        state: "approved".into(),
        rejected: None,
        decided_by: None,
        decided_at: None,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lists besides the tools, in both rooms' words.
pub(crate) const LISTS: [(ListKind, toolgrove_store::ListKind); 3] = [
    (ListKind::Prompts, toolgrove_store::ListKind::Prompts),
    (ListKind::Resources, toolgrove_store::ListKind::Resources),
    (ListKind::Templates, toolgrove_store::ListKind::Templates),
];
