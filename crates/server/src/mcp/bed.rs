//! A hub in process whose clock stands still, for the tests of this folder.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::sync::mpsc;
use tokio::time::Instant;
use toolgrove_core::Config;
use toolgrove_core::call::{Caller, Role};
use toolgrove_core::event::Report;
use toolgrove_core::hub::Hub;
use toolgrove_core::name::Profile;
use toolgrove_core::secret::Secret;
use toolgrove_store::{SecretBox, Store};
use toolgrove_upstream::{Pool, PoolOptions, ShepherdCommand};
use toolgrove_wire::modern::Implementation;
use toolgrove_wire::{Raw, Seal};

use super::park::Lot;
use crate::{App, Gate, Memory};

thread_local! {
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// A wall clock that goes with the paused one.
fn now() -> i64 {
    let began = BEGAN.get().unwrap_or_else(Instant::now);
    BEGAN.set(Some(began));
    1_000_000_000_000 + began.elapsed().as_millis() as i64
}

/// A hub without servers, whose clock stands still.
pub(super) async fn app() -> Arc<App> {
    let (app, _) = hub("sqlite::memory:").await;
    tokio::time::pause();
    app
}

/// A hub without servers, and what its links report.
pub(super) async fn hub(store: &str) -> (Arc<App>, mpsc::UnboundedReceiver<Report>) {
    let store = Store::open(store, SecretBox::in_memory()).await.expect("a store");
    let solo = store.solo_person().await.expect("a person");
    let config = Config::parse("", |_| None).expect("the defaults");
    let (reports, reported) = mpsc::unbounded_channel();
    let pool = Pool::new(PoolOptions {
        shepherd: ShepherdCommand { program: "none".into(), args: Vec::new() },
        client: Implementation { name: "toolgrove".into(), version: "0".into() },
        body_limit: 1 << 20,
        idle: Duration::from_secs(300),
        reports,
        tokens: None,
        now,
        guard: toolgrove_core::net::Guard::Open,
    });
    let owner = Caller::person(solo.person_id, Role::Admin, Profile::Double);
    let gate = Gate::new(Secret::new("key"), Some(owner), 0, &config);
    let app = Arc::new(App {
        hub: Arc::new(Hub::new(pool, Memory::start(&store, Arc::default()), now, config.capabilities)),
        gate,
        keyring: crate::connect::Keyring::new(store.clone(), now, crate::connect::Replicas::Alone),
        sessions: crate::mcp::session::Sessions::default(),
        streams: crate::mcp::sse::Streams::default(),
        live: Arc::default(),
        shelf: crate::api::registry::Shelf::default(),
        icons: crate::api::icons::Icons::default(),
        bundles: crate::bundles::Bundles::new(std::path::Path::new("/nonexistent"), None),
        tabs: crate::tabs::Door::new(&config, mpsc::unbounded_channel().0, now),
        models: crate::talk::Models::default(),
        turns: crate::chat::Turns::default(),
        lot: Lot::new(Seal::new([("k".to_owned(), [7; 32])])),
        zips: std::sync::Arc::default(),
        server_info: Raw::empty_object(),
        metrics: PrometheusBuilder::new().build_recorder().handle(),
        env: |_| None,
        started: AtomicBool::new(false),
        store,
        config,
    });
    (app, reported)
}

/// Lets everything that can go on go on.
pub(super) async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}
