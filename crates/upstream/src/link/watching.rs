//! Watched resources, in the way each era has for it.

use std::collections::BTreeSet;

use toolgrove_core::instance::Era;
use toolgrove_wire::Raw;

use super::{Kind, Link, Task};
use crate::failure::Failure;
use crate::feed::{Ack, Topic};

/// A subscription cannot be changed, so each further resource opens one more; this many are merged into one.
const MOST_LISTENS: usize = 8;

/// Since when a link tells of a resource.
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
    uris: Vec<String>,
    _task: Task,
}

impl Listens {
    pub(super) fn end(&mut self) {
        self.open.clear();
    }

    fn uris(&self) -> impl Iterator<Item = &String> {
        self.open.iter().flat_map(|it| &it.uris)
    }
}

impl Link {
    /// Has the updates of a resource reported over this link.
    pub(crate) async fn watch(&self, uri: &str) -> Result<Subscribed, Failure> {
        let mut listens = self.listens.lock().await;
        if listens.subscribed.contains(uri) || listens.uris().any(|it| it == uri) {
            return Ok(Subscribed::Before);
        }
        if self.session.era == Era::Legacy {
            if let Kind::Http(http) = &self.kind {
                http.open_stream();
                http.stream_answered().await;
            }
            self.fetch("resources/subscribe", &Raw::object("uri", &Raw::string(uri))).await?;
            listens.subscribed.insert(uri.to_owned());
        } else if listens.open.len() < MOST_LISTENS {
            let listen = self.subscribe(vec![uri.to_owned()]).await?;
            listens.open.push(listen);
        } else {
            let all = listens.uris().cloned().chain([uri.to_owned()]).collect();
            listens.open = vec![self.subscribe(all).await?];
        }
        Ok(Subscribed::Now)
    }

    pub(crate) async fn unwatch(&self, uri: &str) -> Result<(), Failure> {
        let mut listens = self.listens.lock().await;
        if self.session.era == Era::Legacy {
            if listens.subscribed.remove(uri) {
                self.fetch("resources/unsubscribe", &Raw::object("uri", &Raw::string(uri))).await?;
            }
            return Ok(());
        }
        let Some(place) = listens.open.iter().position(|it| it.uris.iter().any(|it| it == uri)) else {
            return Ok(());
        };
        let rest: Vec<_> = listens.open[place].uris.iter().filter(|it| *it != uri).cloned().collect();
        if rest.is_empty() {
            listens.open.remove(place);
        } else {
            listens.open[place] = self.subscribe(rest).await?;
        }
        Ok(())
    }

    /// Opens one subscription and waits until the server has acknowledged it.
    async fn subscribe(&self, uris: Vec<String>) -> Result<Listen, Failure> {
        let (ack, mut acked) = Ack::new();
        let refused = || self.context.garbled("it has no subscriptions");
        let task = self.listen(Topic::Resources(uris.clone()), ack).ok_or_else(refused)?;
        let timeout = self.context.instance.timeout;
        let Ok(taken) = tokio::time::timeout(timeout, acked.wait_for(Option::is_some)).await else {
            return Err(self.context.timeout(timeout).into());
        };
        match taken.map(|it| it.clone()) {
            Ok(Some(Err(error))) => Err(error.into()),
            Ok(_) => Ok(Listen { uris, _task: task }),
            Err(_) => Err(Failure::Untaken(self.context.unreachable("the link was closed"))),
        }
    }
}
