//! Bundles: their files on the shelf, their servers in a client's file and in the registry, at once or not at all.
//!
//! What would be done is computed by the same functions that do it, so that it can be shown first. The file is changed
//! before the registry, because its change can be taken back; what the registry refuses is taken out of the file again.

mod arrive;
mod order;
mod settle;
mod source;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use toolgrove_bundle::BundleError;
use toolgrove_bundle::duplicates::Duplicate;
use toolgrove_bundle::files::Disk;
use toolgrove_bundle::install::{Failed, Installed, Outcome};
use toolgrove_bundle::manifest::{Item, Manifest, Setting};
use toolgrove_bundle::places::Home;
use toolgrove_bundle::shelf::Shelf;
use toolgrove_core::Error;
use toolgrove_core::call::Caller;
use toolgrove_core::config::Mode;
use ts_rs::TS;

pub use arrive::{Done, Gone, Started};
pub use order::{Order, Where};
pub use source::{Hit, Hits, search};
pub use watch::follow;

pub(crate) use arrive::{KEY, unknown};
pub(crate) use settle::{ORIGIN, identity};

use crate::App;

/// Where bundles are kept, and whose clients they can be written for.
pub struct Bundles {
    data: PathBuf,
    /// None: there is no home here, so no client has a file.
    home: Option<Home>,
    disk: Disk,
    /// One change at a time, so that file and registry stay in step.
    alone: tokio::sync::Mutex<()>,
}

impl Bundles {
    pub fn new(data: &Path, home: Option<Home>) -> Self {
        Self { data: data.to_owned(), home, disk: Disk::default(), alone: tokio::sync::Mutex::default() }
    }
}

impl App {
    /// The shelf of one person: where people share a hub, each has their own.
    fn bundle_shelf(&self, caller: &Caller) -> Shelf {
        match self.config.mode {
            Mode::Solo => Shelf::new(&self.bundles.data),
            Mode::Team | Mode::Cluster => {
                Shelf::new(&self.bundles.data.join("people").join(caller.person.to_string()))
            }
        }
    }
}

/// What an install or an update does, or would do.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(rename = "BundlePlan")]
pub struct Plan {
    pub id: String,
    pub version: String,
    pub name: String,
    pub description: String,
    pub author: Option<String>,
    /// What it came from, as it was typed.
    pub source: String,
    /// The version that is there now.
    pub installed: Option<String>,
    /// What will be started or reached.
    pub servers: Vec<Runs>,
    /// What somebody has to say first.
    pub settings: Vec<Setting>,
    pub items: Vec<Item>,
    pub failed: Vec<Failed>,
    /// The file that is written; none when the hub alone runs the servers.
    #[ts(type = "string | null")]
    pub file: Option<PathBuf>,
    pub duplicates: Vec<Duplicate>,
    pub removed: Vec<String>,
    pub warnings: Vec<String>,
    /// The archive's.
    pub sha256: Option<String>,
    /// Of everything here that runs: whoever agreed to it sends it along.
    pub digest: String,
    /// The first setting that is missing or wrong.
    pub problem: Option<String>,
}

/// One server, as its author wrote it.
#[derive(Debug, Clone, Serialize, TS)]
pub struct Runs {
    pub name: String,
    pub server: String,
    pub identity: String,
    /// `stdio`, `http` or `sse`.
    pub kind: String,
    /// The command line, or the address.
    pub endpoint: String,
    #[ts(type = "{ env?: { [key in string]: string }, headers?: { [key in string]: string } }")]
    pub definition: Value,
    /// Variables of the environment that go into it.
    pub env: Vec<String>,
    pub flags: Vec<toolgrove_core::pins::Flag>,
}

impl Runs {
    fn of(installed: &Installed) -> Self {
        let definition = &installed.definition;
        let text = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let endpoint = match definition.get("command").and_then(Value::as_str) {
            Some(command) => {
                let args = definition.get("args").and_then(Value::as_array).into_iter().flatten();
                let args = args.map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned));
                std::iter::once(command.to_owned()).chain(args).collect::<Vec<_>>().join(" ")
            }
            None => text("url"),
        };
        let kind = match text("type") {
            kind if kind.is_empty() => "stdio".to_owned(),
            kind => kind,
        };
        let whole = Value::Object(definition.clone());
        let written = whole.to_string();
        let mut env: Vec<String> = written
            .split("${env:")
            .skip(1)
            .filter_map(|it| it.split_once('}').map(|it| it.0.to_owned()))
            .filter(|it| !it.is_empty())
            .collect();
        env.sort();
        env.dedup();
        Self {
            name: installed.name.clone(),
            server: installed.server.clone(),
            identity: installed.identity.clone(),
            kind,
            endpoint,
            flags: toolgrove_core::pins::flags(&text("description")),
            definition: whole,
            env,
        }
    }
}

impl Plan {
    fn new(source: &str, manifest: &Manifest, outcome: Outcome, sha256: Option<String>) -> Self {
        let servers: Vec<Runs> = outcome.installed.iter().map(Runs::of).collect();
        let runs = serde_json::json!([
            manifest.id,
            manifest.version,
            servers.iter().map(|it| (&it.name, &it.definition)).collect::<Vec<_>>(),
            sha256,
        ]);
        Self {
            id: manifest.id.clone(),
            version: manifest.version.clone(),
            name: manifest.name.clone(),
            description: manifest.description.clone(),
            author: manifest.author.clone(),
            source: source.to_owned(),
            installed: None,
            settings: manifest.settings.clone(),
            items: manifest.items.clone(),
            failed: outcome.failed,
            file: Some(outcome.file).filter(|it| !it.as_os_str().is_empty()),
            duplicates: outcome.duplicates,
            removed: outcome.removed,
            warnings: outcome.warnings,
            digest: toolgrove_bundle::files::sha256(runs.to_string().as_bytes()),
            servers,
            sha256,
            problem: None,
        }
    }
}

/// What the room of bundles says, in the hub's words.
pub(crate) fn refused(error: BundleError) -> Error {
    let mut detail = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(it) = source {
        detail = format!("{detail}: {it}");
        source = it.source();
    }
    Error::Bundle { code: error.code(), status: error.status(), hint: error.hint(), detail }
}

/// Runs what waits for the disk where nobody waits for it.
async fn on_disk<T: Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce(&App) -> Result<T, BundleError> + Send + 'static,
) -> Result<T, Error> {
    let app = app.clone();
    let done = tokio::task::spawn_blocking(move || work(&app)).await;
    done.map_err(|it| Error::Internal(it.to_string()))?.map_err(refused)
}
