//! Watched resources, in the way each era has for it, and watched tasks, which only modern servers have.

use std::collections::BTreeSet;

use toolgrove_core::call::Subject;
use toolgrove_core::instance::Era;
use toolgrove_wire::Raw;

use super::{Kind, Link, Task};
use crate::failure::Failure;
use crate::feed::{Ack, Topic};

/// A subscription cannot be changed, so each further subject opens one more; this many are merged into one.
const MOST_LISTENS: usize = 8;

/// Since when a link tells of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subscribed {
    Now,
    Before,
}

/// What is watched over one link.
#[derive(Debug, Default)]
pub(super) struct Listens {
    open: Vec<Listen>,
    /// What a legacy server was told.
    subscribed: BTreeSet<String>,
}

#[derive(Debug)]
struct Listen {
    subjects: Vec<Subject>,
    _task: Task,
}

impl Listens {
    pub(super) fn end(&mut self) {
        self.open.clear();
    }

    fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.open.iter().flat_map(|it| &it.subjects)
    }
}

impl Link {
    /// Has the updates of a resource or a task reported over this link.
    pub(crate) async fn watch(&self, subject: &Subject) -> Result<Subscribed, Failure> {
        let mut listens = self.listens.lock().await;
        if self.session.era == Era::Legacy {
            let Subject::Resource(uri) = subject else {
                return Err(self.context.garbled("it has no tasks that could be watched").into());
            };
            if listens.subscribed.contains(uri) {
                return Ok(Subscribed::Before);
            }
            if let Kind::Http(http) = &self.kind {
                http.open_stream();
                http.stream_answered().await;
            }
            self.fetch("resources/subscribe", &Raw::object("uri", &Raw::string(uri))).await?;
            listens.subscribed.insert(uri.clone());
            return Ok(Subscribed::Now);
        }
        if listens.subjects().any(|it| it == subject) {
            return Ok(Subscribed::Before);
        }
        if listens.open.len() < MOST_LISTENS {
            let listen = self.subscribe(vec![subject.clone()]).await?;
            listens.open.push(listen);
        } else {
            let all = listens.subjects().cloned().chain([subject.clone()]).collect();
            listens.open = vec![self.subscribe(all).await?];
        }
        Ok(Subscribed::Now)
    }

    pub(crate) async fn unwatch(&self, subject: &Subject) -> Result<(), Failure> {
        let mut listens = self.listens.lock().await;
        if let (Era::Legacy, Subject::Resource(uri)) = (self.session.era, subject) {
            if listens.subscribed.remove(uri) {
                self.fetch("resources/unsubscribe", &Raw::object("uri", &Raw::string(uri))).await?;
            }
            return Ok(());
        }
        let Some(place) = listens.open.iter().position(|it| it.subjects.contains(subject)) else {
            return Ok(());
        };
        let rest: Vec<_> = listens.open[place].subjects.iter().filter(|it| *it != subject).cloned().collect();
        if rest.is_empty() {
            listens.open.remove(place);
        } else {
            listens.open[place] = self.subscribe(rest).await?;
        }
        Ok(())
    }

    /// Opens one subscription and waits until the server has acknowledged it.
    async fn subscribe(&self, subjects: Vec<Subject>) -> Result<Listen, Failure> {
        let (ack, mut acked) = Ack::new();
        let refused = || self.context.garbled("it has no subscriptions");
        let task = self.listen(Topic::Subjects(subjects.clone()), ack).ok_or_else(refused)?;
        let timeout = self.context.instance.timeout;
        let Ok(taken) = tokio::time::timeout(timeout, acked.wait_for(Option::is_some)).await else {
            return Err(self.context.timeout(timeout).into());
        };
        match taken.map(|it| it.clone()) {
            Ok(Some(Err(error))) => Err(error.into()),
            Ok(_) => Ok(Listen { subjects, _task: task }),
            Err(_) => Err(Failure::Untaken(self.context.unreachable("the link was closed"))),
        }
    }
}
