//! Files that bundles are in, watched for what other hands do to them. Nothing that somebody wrote is overwritten: the
//! registry follows the file, and only what is ours in the file follows from it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::{MissedTickBehavior, interval};
use toolgrove_bundle::install::{Change, ListedState, apply, list};
use toolgrove_bundle::places::Target;
use toolgrove_core::Error;
use toolgrove_store::Switch;
use uuid::Uuid;

use super::arrive::how;
use super::order::Order;
use super::settle::ORIGIN;
use super::{KEY, on_disk};
use crate::App;
use crate::problem::store_error;

const LOOK: Duration = Duration::from_secs(1);

/// Tells a file from what it was.
type Stamp = Option<(SystemTime, u64)>;

/// A file as it was last seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    stamp: Option<Stamp>,
    /// Entries of bundles that are off in it, or not in it any more.
    off: HashSet<String>,
}

/// Follows the files for as long as the hub runs. Only one person's hub writes any.
pub async fn follow(app: Arc<App>) {
    let Some(person) = app.gate.solo().map(|it| it.person) else { return };
    let mut seen = HashMap::new();
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = app.follow_files(person, &mut seen).await {
            tracing::warn!("{error}");
        }
    }
}

impl App {
    /// Looks once at every file that is not as it was.
    pub(crate) async fn follow_files(
        self: &Arc<Self>,
        person: Uuid,
        seen: &mut HashMap<PathBuf, Seen>,
    ) -> Result<(), Error> {
        let bundles = self.store.bundles_of(person).await.map_err(store_error)?;
        let mut targets: HashMap<PathBuf, Target> = HashMap::new();
        for row in bundles {
            let order = Order::default().again(row.target.as_ref());
            match order.target(self) {
                Ok(Some(target)) => drop(targets.insert(target.file.clone(), target)),
                Ok(None) => {}
                Err(error) => tracing::debug!(bundle = row.id, %error, "its file is not followed"),
            }
        }
        for (file, target) in targets {
            let (before, now) = (seen.entry(file.clone()).or_default(), stamp(&file));
            if before.stamp.replace(now) == Some(now) {
                continue;
            }
            before.off = self.reconcile(person, target, &before.off).await?;
            // What we wrote ourselves is no news.
            before.stamp = Some(stamp(&file));
        }
        Ok(())
    }

    /// Makes of hand edits what they mean: duplicates are judged again, and what is off or gone in the file is off in
    /// the hub. What somebody turned off in the hub alone stays so. Returns what is off in the file now.
    async fn reconcile(
        self: &Arc<Self>,
        person: Uuid,
        target: Target,
        off: &HashSet<String>,
    ) -> Result<HashSet<String>, Error> {
        let _alone = self.bundles.alone.lock().await;
        let listed = on_disk(self, move |app| {
            let (home, order) = (app.any_home(), Order { keep_env: true, ..Order::default() });
            let environment = app.bundle_env();
            let disk = &app.bundles.disk;
            apply(disk, &target, &Change::Reconcile, &how(&order, &home, &environment))?;
            list(disk, &target)
        })
        .await?;
        let servers = self.store.servers_of(person).await.map_err(store_error)?;
        let mut now_off = HashSet::new();
        for it in listed {
            let origin = format!("{ORIGIN}{}", it.bundle);
            let server =
                servers.iter().find(|row| row.origin == origin && row.metadata[KEY] == it.server.as_str());
            let is_off = matches!(it.state, ListedState::Off | ListedState::Removed);
            let is_news = is_off != off.contains(&it.name);
            if is_off {
                now_off.insert(it.name);
            }
            if let Some(server) = server.filter(|row| is_news && row.enabled == is_off) {
                tracing::info!(server = server.name, on = !is_off, "edited by hand");
                self.store.switch_server(server.id, Switch::from(!is_off)).await.map_err(store_error)?;
                self.reload_server(server.id).await?;
            }
        }
        self.settle_duplicates(person).await?;
        Ok(now_off)
    }
}

fn stamp(file: &Path) -> Stamp {
    let found = std::fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}
