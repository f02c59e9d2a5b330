//! Keeping the catalogue true: lists come from links, new tools get their names, a new catalogue is swapped in, and
//! whoever must know is told.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use super::{Hub, LinkState, Log, lock};
use crate::bus::{Change, Notice};
use crate::call::{Caller, Discovery, Links, Listing, View};
use crate::catalog::{Catalog, usable};
use crate::config::Capabilities;
use crate::event::{ListKind, News, Report};
use crate::instance::{Instance, Transport};
use crate::offer::Offer;
use crate::{Error, task};

/// A list is not asked for again within this time.
const FRESH: Duration = Duration::from_secs(1);
/// After a name was not found, the pause between two listings.
const MISS: Duration = Duration::from_millis(50);
/// No list is taken to hold for longer, whatever its server says.
const LONGEST_HOLD: Duration = Duration::from_secs(24 * 60 * 60);
/// A list older than this is asked for again when somebody reads it.
const LIST_TTL_MS: i64 = 60_000;
/// An unchanged list is written down again only after this time, so its stored age may be this much too high.
const KNOWN_AGE_MS: i64 = 60_000;

/// When an instance's tools were last fetched, and until when their server says that they hold.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fetched {
    at: Option<Instant>,
    holds_until: Option<Instant>,
}

/// Why a list is asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Age,
    Miss,
}

impl Fetched {
    fn now(holds: Duration) -> Self {
        let now = Instant::now();
        Self { at: Some(now), holds_until: Some(now + holds.min(LONGEST_HOLD)) }
    }

    fn is_fresh(self) -> bool {
        self.at.is_some_and(|it| it.elapsed() < FRESH)
    }

    fn holds(self) -> bool {
        self.holds_until.is_some_and(|it| Instant::now() < it)
    }
}

impl<L: Links, G: Log> Hub<L, G> {
    /// Takes the offers of all people at start.
    pub fn load(&self, offers: impl IntoIterator<Item = Offer>) {
        let mut held = self.held();
        held.extend(offers.into_iter().map(|it| (it.instance.id, Arc::new(it))));
        let mut people: HashMap<Uuid, Vec<Arc<Offer>>> = HashMap::new();
        for offer in held.values() {
            people.entry(offer.instance.person).or_default().push(offer.clone());
        }
        let catalogs = people.into_iter().map(|(person, offers)| (person, Arc::new(Catalog::build(offers))));
        self.catalogs.store(Arc::new(catalogs.collect()));
    }

    pub fn offer(&self, instance: Uuid) -> Option<Arc<Offer>> {
        self.held().get(&instance).cloned()
    }

    /// Every offer of everybody.
    pub fn offers(&self) -> Vec<Arc<Offer>> {
        self.held().values().cloned().collect()
    }

    pub fn state(&self, instance: Uuid) -> LinkState {
        lock(&self.states).get(&instance).cloned().unwrap_or_default()
    }

    /// Puts an offer in the place of the instance's last one and tells the person's clients.
    pub fn put(&self, offer: Offer) -> Arc<Offer> {
        let mut held = self.held();
        let old = held.get(&offer.instance.id).cloned();
        self.keep(&mut held, old.as_deref(), offer)
    }

    /// Forgets an instance and ends its links.
    pub async fn remove(&self, instance: Uuid) {
        {
            let mut held = self.held();
            if let Some(offer) = held.remove(&instance) {
                self.swap(&held, offer.instance.person);
                self.publish_all(&offer.instance);
                self.log.touched(&offer.instance);
            }
        }
        lock(&self.states).remove(&instance);
        lock(&self.fetching).remove(&instance);
        self.links.close(instance).await;
    }

    /// Reads everything a server offers, now, and keeps it.
    pub async fn refresh(self: &Arc<Self>, instance: &Arc<Instance>) -> Result<Discovery, Error> {
        let fetching = self.fetch_lock(instance.id);
        let mut last = fetching.lock().await;
        let found = match self.links.discover(instance).await {
            Ok(found) => found,
            Err(error) => {
                self.note_failure(instance, &error);
                return Err(error);
            }
        };
        *last = Fetched::now(found.tools_hold);
        self.learn(instance.id, &found);
        Ok(found)
    }

    /// Takes what a server told about itself into the catalogue.
    pub fn learn(&self, instance: Uuid, found: &Discovery) {
        let now = self.now();
        // It may have been asked before the hub knew of it.
        self.set_state(instance, LinkState::Open);
        self.change(instance, |old, is_taken| old.with_discovery(found, is_taken, now));
    }

    /// Makes sure the tool list is not older than a second, unless the configuration or the server's change feed
    /// makes that needless. Says whether a list was fetched.
    pub(super) async fn freshen(self: &Arc<Self>, instance: &Arc<Instance>) -> bool {
        self.freshen_because(instance, Reason::Age).await
    }

    /// The same after a name was not found, which may be newer than the newest list.
    pub(super) async fn freshen_for_a_miss(self: &Arc<Self>, instance: &Arc<Instance>) -> bool {
        self.freshen_because(instance, Reason::Miss).await
    }

    async fn freshen_because(self: &Arc<Self>, instance: &Arc<Instance>, reason: Reason) -> bool {
        if self.capabilities == Capabilities::Cached {
            return false;
        }
        let asked = Instant::now();
        let fetching = self.fetch_lock(instance.id);
        let mut last = fetching.lock().await;
        if last.at.is_some_and(|it| it > asked) {
            return true;
        }
        match (reason, last.at) {
            (Reason::Miss, Some(at)) => sleep_until(at + MISS).await,
            (Reason::Age, _) if last.is_fresh() && self.capabilities == Capabilities::Live => return false,
            _ => {}
        }
        match self.links.list(instance, ListKind::Tools).await {
            Ok(listing) => {
                *last = Fetched::now(listing.holds);
                let now = self.now();
                self.change(instance.id, |old, is_taken| old.with_tools(&listing.items, is_taken, now));
                true
            }
            Err(error) => {
                tracing::debug!(server = instance.slug, %error, "the tool list could not be fetched");
                false
            }
        }
    }

    /// The same beside a call that need not wait for it.
    pub(super) fn freshen_beside(self: &Arc<Self>, instance: &Arc<Instance>) {
        if self.capabilities == Capabilities::Cached
            || (self.capabilities == Capabilities::Live && self.links.has_feed(instance.id))
        {
            return;
        }
        let fetching = self.fetch_lock(instance.id);
        let due = match fetching.try_lock() {
            Ok(last) => self.capabilities == Capabilities::Always || !(last.is_fresh() || last.holds()),
            Err(_) => false,
        };
        if due {
            let (hub, instance) = (self.clone(), instance.clone());
            task::spawn("freshen", async move { hub.freshen(&instance).await });
        }
    }

    /// Asks again, beside whoever reads a list now, servers whose lists are old and who would not tell of a change.
    /// What turns out different is announced like any other change.
    pub fn freshen_stale(self: &Arc<Self>, caller: &Caller, view: &View) {
        let now = self.now();
        for offer in self.catalog(caller).offers() {
            let stale = offer.age_ms(now).is_some_and(|it| it > LIST_TTL_MS);
            if is_seen(view, offer) && stale && usable(&offer.instance).is_ok() {
                self.freshen_beside(&offer.instance);
            }
        }
    }

    /// Whether every server behind the lists that a client sees is heard announcing their changes.
    pub fn lists_are_live(&self, caller: &Caller, view: &View) -> bool {
        let catalog = self.catalog(caller);
        let mut offers =
            catalog.offers().filter(|it| is_seen(view, it) && usable(&it.instance).is_ok()).peekable();
        // What is part of the hub changes with the hub only, but for tabs: which one is active is told to nobody, and
        // stands in what clients see.
        let is_heard = |it: &Offer| match it.instance.transport {
            Transport::Builtin => !it.instance.is_tabs() || it.present().next().is_none(),
            _ => self.links.has_modern_feed(it.instance.id),
        };
        offers.peek().is_some() && offers.all(|it| is_heard(it))
    }

    /// Acts on what links report. Ends when the last link is gone.
    pub async fn follow(self: Arc<Self>, mut reports: mpsc::UnboundedReceiver<Report>) {
        while let Some(Report { instance, news }) = reports.recv().await {
            let Some(offer) = self.offer(instance) else { continue };
            match news {
                News::ListChanged(kind) => {
                    let hub = self.clone();
                    task::spawn("relist", async move { hub.relist(&offer.instance, kind).await });
                }
                News::Redescribed => {
                    let hub = self.clone();
                    task::spawn("redescribe", async move { hub.fetch_tools(&offer.instance).await });
                }
                News::ResourceUpdated { uri } => self.publish(&offer.instance, Change::Resource { uri }),
                News::TaskChanged { id, params } => {
                    self.publish(&offer.instance, Change::Task { id, params });
                }
                News::Wrote => self.log.wrote(&offer.instance),
                News::Verdict(verdict) => self.log.judged(&offer.instance, &verdict),
                News::Opening => self.set_state(instance, LinkState::Opening),
                News::Open => self.set_state(instance, LinkState::Open),
                News::Lost(error) => self.set_state(instance, LinkState::Failed(error)),
            }
        }
    }

    /// A server said that a list changed: fetch it, and pass the word on even if it reads the same.
    async fn relist(self: &Arc<Self>, instance: &Arc<Instance>, kind: ListKind) {
        let fetching = self.fetch_lock(instance.id);
        let mut last = fetching.lock().await;
        let kinds = match kind {
            ListKind::Resources => vec![ListKind::Resources, ListKind::Templates],
            kind => vec![kind],
        };
        for kind in kinds {
            match self.links.list(instance, kind).await {
                Ok(Listing { items, holds }) => {
                    if kind == ListKind::Tools {
                        *last = Fetched::now(holds);
                    }
                    let now = self.now();
                    self.change(instance.id, |old, is_taken| match kind {
                        ListKind::Tools => old.with_tools(&items, is_taken, now),
                        _ => old.clone().with_list(kind, items),
                    });
                }
                Err(error) => {
                    last.holds_until = None;
                    tracing::warn!(server = instance.slug, %error, "a changed list could not be fetched");
                }
            }
        }
        self.publish(instance, Change::List(kind));
    }

    /// Takes the tools as they are now; whether a client hears of it depends on what is new.
    pub(super) async fn fetch_tools(self: &Arc<Self>, instance: &Arc<Instance>) {
        let fetching = self.fetch_lock(instance.id);
        let mut last = fetching.lock().await;
        if let Ok(Listing { items, holds }) = self.links.list(instance, ListKind::Tools).await {
            *last = Fetched::now(holds);
            let now = self.now();
            self.change(instance.id, |old, is_taken| old.with_tools(&items, is_taken, now));
        }
    }

    /// Replaces one offer, unless the instance was removed while its list was on the way.
    fn change(
        &self,
        instance: Uuid,
        make: impl FnOnce(&Offer, &dyn Fn(&str) -> bool) -> Offer,
    ) -> Option<Arc<Offer>> {
        let mut held = self.held();
        let old = held.get(&instance).cloned()?;
        let catalog = self.whole_catalog(old.instance.person);
        let offer = make(&old, &|name| catalog.holds(name));
        if old.same_as(&offer) && old.age_ms(self.now()).is_some_and(|it| it < KNOWN_AGE_MS) {
            return Some(old);
        }
        Some(self.keep(&mut held, Some(&old), offer))
    }

    /// Rebuilds a person's catalogue around one offer, remembers it and publishes what is new.
    fn keep(&self, held: &mut HashMap<Uuid, Arc<Offer>>, old: Option<&Offer>, offer: Offer) -> Arc<Offer> {
        let offer = Arc::new(offer);
        held.insert(offer.instance.id, offer.clone());
        self.swap(held, offer.instance.person);
        self.log.listed(&offer);
        self.log.touched(&offer.instance);
        for problem in &offer.problems {
            tracing::warn!(server = offer.instance.slug, "{problem}");
        }
        let switched = old.is_none_or(|it| it.instance.switch != offer.instance.switch);
        if switched || old.is_none_or(|it| !it.same_tools(&offer)) {
            self.publish(&offer.instance, Change::List(ListKind::Tools));
        }
        if old.is_some_and(|it| !it.lists_same_tools(&offer)) {
            self.log.relisted(&offer.instance, ListKind::Tools);
        }
        for kind in [ListKind::Prompts, ListKind::Resources, ListKind::Templates] {
            if switched || old.is_none_or(|it| it.list(kind) != offer.list(kind)) {
                self.publish(&offer.instance, Change::List(kind));
            }
            if old.is_some_and(|it| it.list(kind) != offer.list(kind)) {
                self.log.relisted(&offer.instance, kind);
            }
        }
        offer
    }

    fn swap(&self, held: &HashMap<Uuid, Arc<Offer>>, person: Uuid) {
        let offers = held.values().filter(|it| it.instance.person == person).cloned();
        let catalog = Arc::new(Catalog::build(offers));
        let mut catalogs = HashMap::clone(&self.catalogs.load());
        catalogs.insert(person, catalog);
        self.catalogs.store(Arc::new(catalogs));
    }

    fn publish(&self, instance: &Instance, what: Change) {
        let (person, slug) = (instance.person, instance.slug.clone());
        self.bus.publish(Notice { person, instance: instance.id, slug, what });
    }

    fn publish_all(&self, instance: &Instance) {
        for kind in ListKind::ALL {
            self.publish(instance, Change::List(kind));
        }
    }

    /// An instance could not be asked: that is its state until it can.
    pub fn note_failure(&self, instance: &Arc<Instance>, error: &Error) {
        if matches!(error, Error::NeedsReauth { .. }) {
            self.log.barred(instance, error);
        }
        if error.is_failed_hop() && !matches!(error, Error::Cancelled | Error::Timeout { .. }) {
            self.set_state(instance.id, LinkState::Failed(error.clone()));
        }
    }

    fn set_state(&self, instance: Uuid, state: LinkState) {
        let is_news = {
            let mut states = lock(&self.states);
            let old = states.get(&instance).map(LinkState::word);
            let is_news = old.as_ref() != Some(&state.word());
            states.insert(instance, state);
            is_news
        };
        if is_news && let Some(offer) = self.offer(instance) {
            self.log.touched(&offer.instance);
        }
    }

    fn fetch_lock(&self, instance: Uuid) -> Arc<AsyncMutex<Fetched>> {
        lock(&self.fetching).entry(instance).or_default().clone()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<Offer>>> {
        lock(&self.offers)
    }
}

fn is_seen(view: &View, offer: &Offer) -> bool {
    match view {
        View::All => true,
        View::One { slug } => offer.instance.slug.eq_ignore_ascii_case(slug),
    }
}
