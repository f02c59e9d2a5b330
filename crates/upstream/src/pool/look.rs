//! The second look: tools that a legacy server has only for clients that can be asked.
//!
//! A legacy server learns once what its client can do, and some leave out of their lists what such a client could not
//! use. The hub lists as a client that can do nothing, so it visits a second time as one that can do everything, takes
//! what is there beyond the first list, and leaves. That is one more session, or one more process for a moment: it is
//! done once for each set of links, and again only when somebody asks for everything and the last look found more
//! than the first, or failed. Whatever goes wrong here spoils nothing.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use toolgrove_core::event::{ListKind, News};
use toolgrove_core::instance::Verdict;
use toolgrove_core::task::spawn;
use toolgrove_wire::{Abilities, Raw};

use crate::context::Context;
use crate::era::Plan;
use crate::failure::Failure;
use crate::link::{self, Key, Link};
use crate::lists;

/// How long a list waits for the second look. What is found later is announced as a change.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a server may take that behaves differently to clients that can be asked.
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Look(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// What the server has beyond its first list.
    more: Vec<Raw>,
    last: Last,
    going: Option<watch::Receiver<bool>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Last {
    #[default]
    Never,
    Done,
    Failed,
}

/// What a list was wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// The list itself: what is known is good enough.
    List,
    /// Somebody asked for everything the server has.
    Discovery,
}

/// How a server is visited.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) context: Arc<Context>,
    pub(super) plan: Plan,
    pub(super) verdict: Option<Verdict>,
    /// Turns true when the links are closed; so does its end.
    pub(super) closing: watch::Receiver<bool>,
}

impl Look {
    /// Adds to a list of tools what the server has beyond it.
    pub(super) async fn complete(
        self: &Arc<Self>,
        tools: &mut Vec<Raw>,
        occasion: Occasion,
        visit: impl FnOnce() -> Visit,
    ) {
        if let Some(mut going) = self.going(tools, occasion, visit) {
            let _ = timeout(PATIENCE, going.wait_for(|it| *it)).await;
        }
        let more = self.lock().more.clone();
        let listed = names(tools);
        tools.extend(more.into_iter().filter(|it| is_new(&listed, it)));
    }

    /// The look that is going on, begun now if one is due.
    fn going(
        self: &Arc<Self>,
        tools: &[Raw],
        occasion: Occasion,
        visit: impl FnOnce() -> Visit,
    ) -> Option<watch::Receiver<bool>> {
        let mut state = self.lock();
        if state.going.is_some() {
            return state.going.clone();
        }
        let is_due = match (state.last, occasion) {
            (Last::Never, _) | (Last::Failed, Occasion::Discovery) => true,
            (Last::Done, Occasion::Discovery) => !state.more.is_empty(),
            (_, Occasion::List) => false,
        };
        if !is_due {
            return None;
        }
        let (tx, rx) = watch::channel(false);
        state.going = Some(rx.clone());
        let (look, visit, listed) = (Arc::downgrade(self), visit(), names(tools));
        spawn("second-look", async move {
            let (found, link) = timeout(LONGEST, visit.tools()).await.ok().flatten().unzip();
            let Some(look) = look.upgrade() else { return };
            let news = look.keep(found, &listed);
            if tx.send(true).is_err() && news {
                visit.context.report(News::ListChanged(ListKind::Tools));
            }
            // Some processes take their time to leave.
            if let Some(link) = link {
                link.close().await;
            }
        });
        Some(rx)
    }

    /// Remembers what a look found. Says whether that is news.
    fn keep(&self, found: Option<Vec<Raw>>, listed: &HashSet<String>) -> bool {
        let mut state = self.lock();
        state.going = None;
        let Some(found) = found else {
            state.last = Last::Failed;
            return false;
        };
        let more: Vec<_> = found.into_iter().filter(|it| is_new(listed, it)).collect();
        let news = state.more != more;
        (state.last, state.more) = (Last::Done, more);
        news
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Visit {
    /// The tools a client sees that can do everything, and the link they came over.
    async fn tools(&self) -> Option<(Vec<Raw>, Link)> {
        let mut closing = self.closing.clone();
        tokio::select! {
            found = self.go() => {
                found.inspect_err(|failure| {
                    let error = failure.error();
                    tracing::debug!(server = self.context.slug(), %error, "the second look failed");
                }).ok()
            }
            _ = closing.wait_for(|it| *it) => None,
        }
    }

    async fn go(&self) -> Result<(Vec<Raw>, Link), Failure> {
        let context = Arc::new(self.context.aside());
        let key = Key { chat: Some("second look".into()), abilities: Abilities::ALL_LEGACY };
        let link = link::open(&context, &self.plan, self.verdict.as_ref(), &key).await?;
        match lists::list(&link, ListKind::Tools).await {
            Ok(listing) => Ok((listing.items, link)),
            Err(failure) => {
                link.close().await;
                Err(failure)
            }
        }
    }
}

fn names(tools: &[Raw]) -> HashSet<String> {
    tools.iter().filter_map(|it| it.get_text("name")).collect()
}

fn is_new(listed: &HashSet<String>, tool: &Raw) -> bool {
    tool.get_text("name").is_some_and(|it| !listed.contains(&it))
}
