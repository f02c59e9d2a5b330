//! Builds store, pool, hub and doors from the configuration. Who listens, and for how long, is each command's.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use toolgrove_bundle::places::Home;
use toolgrove_core::call::{Caller, Role};
use toolgrove_core::config::Mode;
use toolgrove_core::hub::Hub;
use toolgrove_core::net::Guard;
use toolgrove_core::{Config, Error, Secret, meter, task};
use toolgrove_native::Rest;
use toolgrove_server::bundles::Bundles;
use toolgrove_server::connect::{Keyring, Replicas};
use toolgrove_server::live::{self, Live};
use toolgrove_server::tabs::Door;
use toolgrove_server::{App, Gate, Memory};
use toolgrove_store::{SecretBox, Store};
use toolgrove_upstream::{IDLE, OwnCalls, Pool, PoolOptions, ShepherdCommand};
use toolgrove_wire::modern::Implementation;
use toolgrove_wire::{Raw, Seal};

use crate::declared;
use crate::failure::{Failure, reason};
use crate::lock::Lock;
use crate::paths::Paths;

/// The hidden subcommand that keeps one server's process.
pub(crate) const SHEPHERD: &str = "shepherd";
/// From a call answered out of memory to one that waited for the slowest server, in seconds.
const BUCKETS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];
/// How often is done what nobody waits for.
const UPKEEP: Duration = Duration::from_secs(1);

/// A hub that owns its folder.
pub(crate) struct Started {
    pub(crate) app: Arc<App>,
    pub(crate) lock: Lock,
}

impl Started {
    /// Ends every link, writes down what is still in memory, and lets go of the folder.
    pub(crate) async fn close(self) {
        // From here on nobody wants to hear that a server cannot be asked.
        self.app.started.store(false, Ordering::Release);
        self.app.hub.links().shutdown().await;
        self.app.keyring.close().await;
        self.app.hub.log().close().await;
        self.app.store.close().await;
    }
}

/// What the configuration file means; a missing file means the defaults.
pub(crate) fn read_config(paths: &Paths) -> Result<Config, Failure> {
    let place = paths.config.display();
    let text = match fs::read_to_string(&paths.config) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Error::Config(format!("cannot read `{place}`: {}", reason(&error))).into()),
    };
    let config =
        Config::parse(&text, variable).map_err(|error| Error::Config(format!("`{place}`: {error}")))?;
    match config.mode {
        Mode::Solo | Mode::Team => Ok(config),
        Mode::Cluster => Err(Failure::new("hub.mode", "mode `cluster` is not there yet")
            .hint(format!("set `mode = \"team\"` in `{place}`"))),
    }
}

/// Starts a hub that answers requests to `port`. The catalogue is what it was at the last stop; nothing is asked of
/// any server.
pub(crate) async fn start(paths: &Paths, config: Config, lock: Lock, port: u16) -> Result<Started, Failure> {
    let key = local_key(paths)?;
    let secrets = SecretBox::load_or_create(&paths.secret_key(&config))?;
    let store = Store::open(&paths.store_url(&config), secrets).await?;
    let solo = match config.mode {
        Mode::Solo => {
            let person = store.solo_person().await?.person_id;
            Some(Caller::person(person, Role::Admin, config.names))
        }
        Mode::Team | Mode::Cluster => {
            store.first_workspace().await?;
            None
        }
    };
    let program = std::env::current_exe().map_err(|error| Failure::io("cannot find this program", &error))?;
    let (reports, heard) = mpsc::unbounded_channel();
    let tabs = Door::new(&config, reports.clone(), now);
    let version = env!("CARGO_PKG_VERSION");
    let body_limit = usize::try_from(config.limits.body_mb).unwrap_or(usize::MAX).saturating_mul(1024 * 1024);
    // A folder has one hub, but a database on a server may have others.
    let replicas = if store.is_shared() { Replicas::Several } else { Replicas::Alone };
    let keyring = Keyring::new(store.clone(), now, replicas);
    let pool = Pool::new(PoolOptions {
        shepherd: ShepherdCommand { program, args: vec![SHEPHERD.into()] },
        client: Implementation { name: "toolgrove".into(), version: version.into() },
        body_limit,
        idle: IDLE,
        reports,
        tokens: Some(Arc::new(keyring.clone())),
        now,
        guard: Guard::of(&config),
    });
    pool.keep_tabs(tabs.hub.clone());
    let (own, own_calls) = OwnCalls::channel();
    pool.hand_own_to(own);
    let live = Arc::<Live>::default();
    let memory = Memory::start(&store, live.clone());
    let hub = Arc::new(Hub::new(pool, memory, now, config.capabilities));
    task::spawn("reports", hub.clone().follow(heard));
    let gate = Gate::new(key, solo, port, &config);
    let app = Arc::new(App {
        hub,
        gate,
        keyring,
        tabs,
        sessions: toolgrove_server::mcp::session::Sessions::default(),
        streams: toolgrove_server::mcp::sse::Streams::default(),
        models: toolgrove_server::talk::Models::default(),
        turns: toolgrove_server::chat::Turns::default(),
        lot: toolgrove_server::mcp::park::Lot::new(Seal::new(store.seal_keys().await?)),
        zips: Arc::default(),
        live,
        shelf: toolgrove_server::api::registry::Shelf::default(),
        icons: toolgrove_server::api::icons::Icons::default(),
        bundles: Bundles::new(&paths.data, Home::here()),
        server_info: Raw::of(&json!({ "name": "toolgrove", "title": "Toolgrove", "version": version })),
        metrics: metrics().map_err(|error| Error::Internal(error.to_string()))?,
        env: variable,
        started: AtomicBool::new(false),
        store,
        config,
    });
    task::spawn("upkeep", keep_up(Arc::downgrade(&app)));
    app.load().await?;
    app.start_tabs().await?;
    live::start(&app);
    toolgrove_server::own::start(&app, own_calls);
    declared::sync(&app, paths, &app.config.servers).await?;
    declared::sync_buds(&app, &app.config.buds).await?;
    Ok(Started { app, lock })
}

/// The key of the doors, made at the first start.
pub(crate) fn local_key(paths: &Paths) -> Result<Secret, Failure> {
    let path = paths.key();
    let failed = |error| Failure::io(format_args!("cannot use key file `{}`", path.display()), &error);
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
        Ok(mut file) => {
            let mut key = String::new();
            for byte in rand::random::<[u8; 32]>() {
                let _ = write!(key, "{byte:02x}");
            }
            writeln!(file, "{key}").map_err(failed)?;
            file.sync_all().map_err(failed)?;
            Ok(Secret::new(key))
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if fs::metadata(&path).map_err(failed)?.permissions().mode() & 0o077 != 0 {
                tracing::warn!("others could read `{}`; now only its owner can", path.display());
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
            }
            let text = fs::read_to_string(&path).map_err(failed)?;
            let key = text.trim();
            if key.len() < 16 || !key.bytes().all(|it| it.is_ascii_graphic()) {
                return Err(Failure::new("cli.io", format!("key file `{}` is damaged", path.display()))
                    .hint("remove it: a new key is made at the next start, and clients need the new one"));
            }
            Ok(Secret::new(key))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Keeps the hub small, as long as it runs. How long calls took is added up: until then each duration is kept, and
/// nobody may ever ask. What only the start or a rush needed is given back.
async fn keep_up(weak: Weak<App>) {
    let mut rest = Rest::default();
    while let Some(app) = weak.upgrade() {
        app.metrics.run_upkeep();
        if rest.is_due() {
            app.hub.links().rest();
            app.hub.log().rest().await;
            // Here, because this is the thread that works, or one of them; then wherever nobody has to wait.
            toolgrove_native::give_back_own();
            let _ = spawn_blocking(toolgrove_native::give_back_shared).await;
        }
        drop(app);
        sleep(UPKEEP).await;
    }
}

/// A process has one recorder, however many hubs it starts one after another.
fn metrics() -> Result<PrometheusHandle, BuildError> {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full(meter::SECONDS.into()), &BUCKETS)?
        .install_recorder()?;
    Ok(HANDLE.get_or_init(|| handle).clone())
}

fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
