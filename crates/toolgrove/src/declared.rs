//! What is written in files: `[server.<name>]` and `[bud.<name>]` of `toolgrove.toml`, and a `mcp.json` beside it.
//!
//! Both are followed while a hub runs. A file or an entry that cannot be read is reported in one sentence, and what
//! was known of it stays.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::{MissedTickBehavior, interval};
use toolgrove_core::bud::BudPreset;
use toolgrove_core::import::{self, Entry};
use toolgrove_core::{Config, Error};
use toolgrove_server::App;
use toolgrove_server::registry::rows::Owner;
use toolgrove_server::registry::{Declared, Keep, sync_declared, sync_shared};

use crate::failure::reason;
use crate::paths::Paths;
use crate::start::read_config;

const LOOK: Duration = Duration::from_secs(1);

/// Makes the registry say what the files say.
pub(crate) async fn sync(app: &Arc<App>, paths: &Paths, servers: &[Entry]) -> Result<(), Error> {
    let mut declared = Declared { entries: servers.to_vec(), keep: Keep::Nothing };
    for problem in read_mcp_json(&paths.mcp_json(), &mut declared) {
        tracing::warn!("{problem}");
    }
    let Some(caller) = app.gate.solo() else { return sync_shared(app, &declared).await };
    let workspace = app.home(caller).await?.id;
    let owner = Owner { person: caller.person, workspace, origin: "config".into() };
    sync_declared(app, &owner, &declared).await
}

/// Makes the buds what `[bud.<name>]` says. A team's are in its first workspace, and nobody's.
pub(crate) async fn sync_buds(app: &Arc<App>, buds: &BTreeMap<String, BudPreset>) -> Result<(), Error> {
    let (owner, workspace) = if let Some(caller) = app.gate.solo() {
        (Some(caller.person), app.home(caller).await?.id)
    } else {
        let first = app.store.first_workspace().await;
        (None, first.map_err(|error| Error::Internal(error.to_string()))?)
    };
    app.declare_buds(owner, workspace, buds).await
}

/// Adds the entries of a `mcp.json`, if there is one, and returns what is wrong with it.
fn read_mcp_json(path: &Path, declared: &mut Declared) -> Vec<String> {
    let place = path.display();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            declared.keep = Keep::Everything;
            return vec![format!("cannot read `{place}`: {}", reason(&error))];
        }
    };
    let entries = match import::read(&text) {
        Ok(entries) => entries,
        // A file with nothing in it declares nothing.
        Err(_) if text.trim().is_empty() => return Vec::new(),
        Err(error) if error.to_string().starts_with("no servers found") => return Vec::new(),
        Err(error) => {
            declared.keep = Keep::Everything;
            return vec![format!("`{place}`: {error}")];
        }
    };
    let (mut problems, mut broken) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry {
            Ok(entry) if declared.entries.iter().any(|it| it.name == entry.name) => {
                problems.push(format!(
                    "`{place}`: server `{}` is also in `toolgrove.toml`, which wins",
                    entry.name
                ));
            }
            Ok(entry) => declared.entries.push(entry),
            Err(failed) => {
                problems.push(format!("`{place}`: server `{}`: {}", failed.name, failed.error));
                broken.push(failed.name);
            }
        }
    }
    if !broken.is_empty() {
        declared.keep = Keep::Named(broken);
    }
    problems
}

/// Follows the files for as long as the hub runs.
pub(crate) async fn watch(app: Arc<App>, paths: Paths, mut seen: Stamp) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut config = app.config.clone();
    loop {
        ticks.tick().await;
        let found = Stamp::of(&paths);
        if found == seen {
            continue;
        }
        seen = found;
        match read_config(&paths) {
            Err(failure) => {
                tracing::warn!("{}; servers and buds stay as they are", failure.problem.detail);
                continue;
            }
            Ok(read) => {
                let rest = |it: &Config| Config { servers: Vec::new(), buds: BTreeMap::new(), ..it.clone() };
                if rest(&read) != rest(&config) {
                    tracing::info!("settings other than servers and buds take effect at the next start");
                }
                config = read;
            }
        }
        match sync(&app, &paths, &config.servers).await {
            Ok(()) => tracing::info!(
                "the servers in `{}` were read again",
                paths.config.parent().unwrap_or(&paths.config).display()
            ),
            Err(error) => tracing::warn!("the declared servers could not be read again: {error}"),
        }
        if let Err(error) = sync_buds(&app, &config.buds).await {
            tracing::warn!("the declared buds could not be read again: {error}");
        }
    }
}

/// What tells that a file is another one than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp([Option<(SystemTime, u64)>; 2]);

impl Stamp {
    /// Taken before the files are read, so that no change falls between.
    pub(crate) fn of(paths: &Paths) -> Self {
        let stamp = |path: &Path| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.modified().ok()?, found.len()))
        };
        Self([stamp(&paths.config), stamp(&paths.mcp_json())])
    }
}
