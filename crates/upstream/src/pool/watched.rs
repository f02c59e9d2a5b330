//! What is watched at an instance, kept up over every link that comes and goes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::watch;
use toolgrove_core::event::News;
use toolgrove_core::task::spawn;

use super::entry::{Entry, Who};
use super::state::Patience;
use crate::failure::Failure;
use crate::feed::Pauses;
use crate::link::{Link, Subscribed};

/// The resources of one instance that somebody watches.
#[derive(Debug)]
pub(super) struct Watched {
    state: Mutex<State>,
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    uris: BTreeSet<String>,
    /// The links that are kept for it, by their instance's revision.
    kept_for: Option<Weak<Entry>>,
}

impl Default for Watched {
    fn default() -> Self {
        Self { state: Mutex::default(), count: watch::channel(0).0 }
    }
}

impl Watched {
    pub(super) fn add(&self, uri: &str) {
        let mut state = self.lock();
        state.uris.insert(uri.to_owned());
        self.count.send_replace(state.uris.len());
    }

    pub(super) fn remove(&self, uri: &str) {
        let mut state = self.lock();
        state.uris.remove(uri);
        self.count.send_replace(state.uris.len());
    }

    fn all(&self) -> Vec<String> {
        self.lock().uris.iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a link of the hub open, and everything watched over it, while anything is watched.
pub(super) fn keep(entry: &Arc<Entry>, watched: &Arc<Watched>) {
    let mut state = watched.lock();
    let is_kept = state.kept_for.as_ref().is_some_and(|it| std::ptr::eq(it.as_ptr(), Arc::as_ptr(entry)));
    if state.uris.is_empty() || is_kept {
        return;
    }
    state.kept_for = Some(Arc::downgrade(entry));
    spawn("watched", keep_up(Arc::downgrade(entry), watched.clone()));
}

async fn keep_up(entry: Weak<Entry>, watched: Arc<Watched>) {
    let mut pauses = Pauses::new();
    let mut count = watched.count.subscribe();
    while let Some(link) = link(&entry, &watched, &mut pauses).await {
        let mut is_well = true;
        for uri in watched.all() {
            match link.watch(&uri).await {
                Ok(Subscribed::Before) => {}
                // It was watched over another link; nobody knows what was missed meanwhile.
                Ok(Subscribed::Now) => link.context.report(News::ResourceUpdated { uri }),
                Err(failure) => {
                    tracing::debug!(server = link.context.slug(), uri, error = %failure.error(), "not watched");
                    if matches!(failure, Failure::Untaken(_) | Failure::OtherEra(_) | Failure::Lost(_)) {
                        is_well = false;
                        link.retire();
                        break;
                    }
                }
            }
        }
        if is_well {
            pauses = Pauses::new();
        } else {
            tokio::time::sleep(pauses.next()).await;
        }
        tokio::select! {
            () = link.over() => {}
            _ = count.wait_for(|it| *it == 0) => {}
        }
    }
}

/// The hub's link, once it can be had; none when nothing is watched any more.
async fn link(entry: &Weak<Entry>, watched: &Watched, pauses: &mut Pauses) -> Option<Arc<Link>> {
    loop {
        let entry = entry.upgrade()?;
        {
            let mut state = watched.lock();
            let is_ours =
                state.kept_for.as_ref().is_some_and(|it| std::ptr::eq(it.as_ptr(), Arc::as_ptr(&entry)));
            if state.uris.is_empty() && is_ours {
                state.kept_for = None;
            }
            if state.uris.is_empty() || !is_ours || entry.is_closed() {
                return None;
            }
        }
        match entry.link(&Who::hub(), Patience::BackOff).await {
            Ok(lease) if lease.link.ended().is_none() => return Some(lease.link.clone()),
            Ok(_) | Err(_) => tokio::time::sleep(pauses.next()).await,
        }
    }
}
