//! What is watched at an instance, kept up over every link that comes and goes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::watch;
use toolgrove_core::call::Subject;
use toolgrove_core::event::News;
use toolgrove_core::task::spawn;

use super::entry::{Entry, Who};
use super::state::Patience;
use crate::failure::Failure;
use crate::feed::Pauses;
use crate::link::{Link, Subscribed};

/// What somebody watches at one instance.
#[derive(Debug)]
pub(super) struct Watched {
    state: Mutex<State>,
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    subjects: BTreeSet<Subject>,
    /// The links that are kept for it, by their instance's revision.
    kept_for: Option<Weak<Entry>>,
}

impl Default for Watched {
    fn default() -> Self {
        Self { state: Mutex::default(), count: watch::channel(0).0 }
    }
}

impl Watched {
    pub(super) fn add(&self, subject: &Subject) {
        let mut state = self.lock();
        state.subjects.insert(subject.clone());
        self.count.send_replace(state.subjects.len());
    }

    pub(super) fn remove(&self, subject: &Subject) {
        let mut state = self.lock();
        state.subjects.remove(subject);
        self.count.send_replace(state.subjects.len());
    }

    fn all(&self) -> Vec<Subject> {
        self.lock().subjects.iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a link of the hub open, and everything watched over it, while anything is watched.
pub(super) fn keep(entry: &Arc<Entry>, watched: &Arc<Watched>) {
    let mut state = watched.lock();
    let is_kept = state.kept_for.as_ref().is_some_and(|it| std::ptr::eq(it.as_ptr(), Arc::as_ptr(entry)));
    if state.subjects.is_empty() || is_kept {
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
        for subject in watched.all() {
            match (link.watch(&subject).await, subject) {
                // It was watched over another link; nobody knows what was missed meanwhile.
                (Ok(Subscribed::Now), Subject::Resource(uri)) => {
                    link.context.report(News::ResourceUpdated { uri });
                }
                // Who watches a task asks for it as well.
                (Ok(Subscribed::Before), _) | (Ok(Subscribed::Now), Subject::Task(_)) => {}
                (Err(failure), subject) => {
                    tracing::debug!(server = link.context.slug(), ?subject, error = %failure.error(), "not watched");
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
            if state.subjects.is_empty() && is_ours {
                state.kept_for = None;
            }
            if state.subjects.is_empty() || !is_ours || entry.is_closed() {
                return None;
            }
        }
        match entry.link(&Who::hub(), Patience::BackOff).await {
            Ok(lease) if lease.link.ended().is_none() => return Some(lease.link.clone()),
            Ok(_) | Err(_) => tokio::time::sleep(pauses.next()).await,
        }
    }
}
