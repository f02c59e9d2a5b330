//! Instance → link: opened when first needed, once however many wait, kept while used, closed when idle.

mod entry;
mod look;
mod state;
mod watched;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::mpsc;
use toolgrove_core::Error;
use toolgrove_core::call::{Discovery, Links, Listing, Outgoing, Subject, Watching};
use toolgrove_core::event::{Events, ListKind, Report};
use toolgrove_core::instance::Instance;
use toolgrove_core::net::Guard;
use toolgrove_core::task::spawn;
use toolgrove_wire::Raw;
use toolgrove_wire::modern::Implementation;
use uuid::Uuid;

use self::entry::{Entry, Tries, Who};
use self::look::Occasion;
use self::state::Patience;
use self::watched::Watched;
use crate::context::Context;
use crate::failure::Failure;
use crate::link::HUB_CHAT;
use crate::lists;
use crate::log_tail::{LogPiece, LogTail};
use crate::oauth::Tokens;
use crate::own::OwnCalls;
use crate::tabs::Tabs;
use crate::web::Dial;
use crate::web::fetch::Fetch;

/// A link that nobody used for this long is closed.
pub const IDLE: Duration = Duration::from_secs(5 * 60);

/// What a pool needs to know about the hub.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    pub shepherd: ShepherdCommand,
    /// Who we say we are.
    pub client: Implementation,
    /// The largest answer that is read, in bytes.
    pub body_limit: usize,
    /// A link that nobody used for this long is closed.
    pub idle: Duration,
    pub reports: mpsc::UnboundedSender<Report>,
    /// Who keeps the tokens of instances that somebody signed in to.
    pub tokens: Option<Arc<dyn Tokens>>,
    /// The time, in Unix milliseconds.
    pub now: fn() -> i64,
    /// Which addresses may be connected to.
    pub guard: Guard,
}

/// How the hub runs itself as a shepherd: `program args… -- server args…`.
#[derive(Debug, Clone)]
pub struct ShepherdCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

/// All live connections of a hub.
#[derive(Debug, Clone)]
pub struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    options: Arc<PoolOptions>,
    dial: Arc<Dial>,
    fetch: Fetch,
    entries: RwLock<HashMap<Uuid, Arc<Entry>>>,
    tails: Mutex<HashMap<Uuid, Arc<LogTail>>>,
    /// What is watched, whatever becomes of the links meanwhile.
    watched: Mutex<HashMap<Uuid, Arc<Watched>>>,
    /// Whether idle links are being looked for; not before there is one.
    swept: AtomicBool,
    tabs: OnceLock<Arc<Tabs>>,
    own: OnceLock<OwnCalls>,
}

impl Pool {
    pub fn new(options: PoolOptions) -> Self {
        let dial = Arc::new(Dial::new(options.guard.clone()));
        let agent = format!("{}/{}", options.client.name, options.client.version);
        Self(Arc::new(Inner {
            options: Arc::new(options),
            fetch: Fetch::new(dial.clone(), &agent),
            dial,
            entries: RwLock::default(),
            tails: Mutex::default(),
            watched: Mutex::default(),
            swept: AtomicBool::new(false),
            tabs: OnceLock::new(),
            own: OnceLock::new(),
        }))
    }

    /// From now on the instances of tabs have these. Done once.
    pub fn keep_tabs(&self, tabs: Arc<Tabs>) {
        let _ = self.0.tabs.set(tabs);
    }

    /// From now on calls of what is part of the hub go here. Done once.
    pub fn hand_own_to(&self, own: OwnCalls) {
        let _ = self.0.own.set(own);
    }

    /// The way out for everything that is no call.
    pub fn fetch(&self) -> &Fetch {
        &self.0.fetch
    }

    /// Lets go of what only speeds up the next call and is soon had again. Its memory is little, but it may hold much
    /// around it that a rush has left.
    pub fn rest(&self) {
        self.0.dial.rest();
    }

    pub(crate) fn dial(&self) -> &Arc<Dial> {
        &self.0.dial
    }

    /// The last lines an instance's process wrote to stderr, over all its starts.
    pub fn log_tail(&self, instance: Uuid) -> LogPiece {
        self.known_tail(instance).map(|it| it.all()).unwrap_or_default()
    }

    /// Those of them that nobody was told yet.
    pub fn untold_log(&self, instance: Uuid) -> LogPiece {
        self.known_tail(instance).map(|it| it.untold()).unwrap_or_default()
    }

    fn known_tail(&self, instance: Uuid) -> Option<Arc<LogTail>> {
        self.0.tails.lock().unwrap_or_else(PoisonError::into_inner).get(&instance).cloned()
    }

    /// How many links there are, and how many requests and questions wait on them. For tests.
    #[doc(hidden)]
    pub fn counts(&self) -> (usize, usize) {
        let entries = self.0.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.values().map(|it| it.counts()).fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
    }

    /// Closes every link: sessions are deleted, processes get time to leave.
    pub async fn shutdown(&self) {
        let entries: Vec<_> = {
            let mut entries = self.0.entries.write().unwrap_or_else(PoisonError::into_inner);
            entries.drain().map(|it| it.1).collect()
        };
        join_all(entries.iter().map(|it| it.close())).await;
    }

    /// The links of an instance. Those of an older revision are closed on the way.
    fn entry(&self, instance: &Arc<Instance>) -> Arc<Entry> {
        let known = self.0.entries.read().unwrap_or_else(PoisonError::into_inner).get(&instance.id).cloned();
        match known {
            Some(entry) if entry.revision() >= instance.revision => entry,
            _ => self.renew(instance),
        }
    }

    fn renew(&self, instance: &Arc<Instance>) -> Arc<Entry> {
        let (fresh, stale) = {
            let mut entries = self.0.entries.write().unwrap_or_else(PoisonError::into_inner);
            if let Some(entry) = entries.get(&instance.id).filter(|it| it.revision() >= instance.revision) {
                return entry.clone();
            }
            if !self.0.swept.swap(true, Ordering::Relaxed) {
                spawn("idle-links", close_idle(Arc::downgrade(&self.0)));
            }
            let fresh = Arc::new(Entry::new(Context {
                instance: instance.clone(),
                options: self.0.options.clone(),
                dial: self.0.dial.clone(),
                fetch: self.0.fetch.within(&instance.hosts),
                pipeline: Arc::default(),
                tail: self.tail(instance.id),
                tabs: self.0.tabs.get().cloned(),
                own: self.0.own.get().cloned(),
                feeds: 0.into(),
                beside: false.into(),
                passing: false,
            }));
            let stale = entries.insert(instance.id, fresh.clone());
            (fresh, stale)
        };
        if let Some(stale) = stale {
            spawn("stale-links", async move { stale.close().await });
        }
        watched::keep(&fresh, &self.watched(instance.id));
        fresh
    }

    fn watched(&self, instance: Uuid) -> Arc<Watched> {
        self.0.watched.lock().unwrap_or_else(PoisonError::into_inner).entry(instance).or_default().clone()
    }

    fn tail(&self, instance: Uuid) -> Arc<LogTail> {
        self.0.tails.lock().unwrap_or_else(PoisonError::into_inner).entry(instance).or_default().clone()
    }
}

impl Links for Pool {
    async fn request(
        &self,
        instance: &Arc<Instance>,
        outgoing: &Outgoing,
        events: &Events,
    ) -> Result<Raw, Error> {
        let entry = self.entry(instance);
        let mut tries = Tries::new(outgoing.repeatable);
        let who = Who { chat: outgoing.chat.clone(), abilities: outgoing.abilities };
        loop {
            let lease = entry.link(&who, Patience::BackOff).await?;
            events.linked(lease.queued);
            match lease.link.call(outgoing, events).await {
                Ok(result) => return Ok(result),
                Err(failure) => entry.after(&lease.link, failure, &mut tries)?,
            }
            events.begin_anew();
        }
    }

    fn request_beside(&self, instance: &Arc<Instance>, outgoing: Outgoing) {
        let (pool, instance) = (self.clone(), instance.clone());
        spawn("request-beside", async move {
            if let Err(error) = pool.request(&instance, &outgoing, &Events::none()).await {
                tracing::debug!(server = instance.slug, %error, "a request for which nobody waited failed");
            }
        });
    }

    async fn list(&self, instance: &Arc<Instance>, kind: ListKind) -> Result<Listing, Error> {
        let entry = self.entry(instance);
        let mut tries = Tries::new(true);
        loop {
            let lease = entry.link(&Who::hub(), Patience::BackOff).await?;
            match lists::list(&lease.link, kind).await {
                Ok(mut listing) => {
                    if kind == ListKind::Tools {
                        entry.complete(&lease, &mut listing.items, Occasion::List).await;
                    }
                    return Ok(listing);
                }
                Err(failure) => entry.after(&lease.link, failure, &mut tries)?,
            }
        }
    }

    async fn discover(&self, instance: &Arc<Instance>) -> Result<Discovery, Error> {
        let entry = self.entry(instance);
        let mut tries = Tries::new(true);
        loop {
            let lease = entry.link(&Who::hub(), Patience::Now).await?;
            match lists::discover(&lease.link, (self.0.options.now)()).await {
                Ok(mut discovery) => {
                    let tools = discovery.lists.iter_mut().find(|it| it.0 == ListKind::Tools);
                    if let Some((_, Ok(tools))) = tools {
                        entry.complete(&lease, tools, Occasion::Discovery).await;
                    }
                    return Ok(discovery);
                }
                Err(failure) => entry.after(&lease.link, failure, &mut tries)?,
            }
        }
    }

    fn has_feed(&self, instance: Uuid) -> bool {
        let entries = self.0.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.get(&instance).is_some_and(|it| it.has_feed())
    }

    fn has_modern_feed(&self, instance: Uuid) -> bool {
        let entries = self.0.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.get(&instance).is_some_and(|it| it.has_feed() && it.is_modern())
    }

    async fn watch(
        &self,
        instance: &Arc<Instance>,
        subject: &Subject,
        watching: Watching,
    ) -> Result<(), Error> {
        let (entry, watched) = (self.entry(instance), self.watched(instance.id));
        if watching == Watching::Stop {
            watched.remove(subject);
            return match entry.open_link(&Who::hub()) {
                Some(link) => link.unwatch(subject).await.map_err(Failure::into_error),
                None => Ok(()),
            };
        }
        let mut tries = Tries::new(true);
        loop {
            let lease = entry.link(&Who::hub(), Patience::BackOff).await?;
            match lease.link.watch(subject).await {
                Ok(_) => break,
                Err(failure) => entry.after(&lease.link, failure, &mut tries)?,
            }
        }
        watched.add(subject);
        watched::keep(&entry, &watched);
        Ok(())
    }

    async fn roots_changed(&self, chat: &str) {
        let links: Vec<_> = {
            let entries = self.0.entries.read().unwrap_or_else(PoisonError::into_inner);
            entries.values().flat_map(|it| it.of_chat(chat)).collect()
        };
        join_all(links.iter().map(|it| it.roots_changed())).await;
    }

    async fn end_chat(&self, chat: &str) {
        // The hub's own links are nobody's to end.
        if chat == HUB_CHAT {
            return;
        }
        let links: Vec<_> = {
            let entries = self.0.entries.read().unwrap_or_else(PoisonError::into_inner);
            entries.values().flat_map(|it| it.take_chat(chat)).collect()
        };
        join_all(links.iter().map(|it| it.close())).await;
    }

    async fn close(&self, instance: Uuid) {
        let entry = self.0.entries.write().unwrap_or_else(PoisonError::into_inner).remove(&instance);
        if let Some(entry) = entry {
            entry.close().await;
        }
    }
}

/// Closes idle links until the pool is gone.
async fn close_idle(pool: Weak<Inner>) {
    loop {
        let Some(idle) = pool.upgrade().map(|it| it.options.idle) else { return };
        tokio::time::sleep((idle / 10).max(Duration::from_millis(10))).await;
        let Some(pool) = pool.upgrade() else { return };
        let entries: Vec<_> = {
            let entries = pool.entries.read().unwrap_or_else(PoisonError::into_inner);
            entries.values().cloned().collect()
        };
        for entry in entries {
            for link in entry.take_idle(idle) {
                spawn("idle-link", async move { link.close().await });
            }
        }
    }
}
