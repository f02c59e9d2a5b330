//! The doors of browsers: `GET /tabs` for the extension, and the ports of `webmcp-local-relay` for pages that embed
//! that. Here is what both share: who is paired, what is written down, and how the tab hub starts.
//!
//! `handshake.rs` lets the extension in, `socket.rs` is its connection, `words.rs` what is said over it; `relay.rs` is
//! the other door.

mod handshake;
pub mod relay;
mod socket;
mod words;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use toolgrove_core::event::Report;
use toolgrove_core::tabs::{Note, Origins, TabHub, TabOptions};
use toolgrove_core::{Config, Secret, task};
use toolgrove_store::{Store, StoreError, TabLogRow};
use toolgrove_upstream::{Browsers, Tabs};
use uuid::Uuid;

pub use handshake::hex;
pub(crate) use handshake::{Pace, pairing_code};
pub(crate) use socket::open;

use crate::App;

/// The id of our extension, which its key pins.
pub const EXTENSION: &str = "ekgceiaggebphmbeeiiipjpghdepilkh";
/// How long a pairing code is good.
pub(crate) const CODE_LIFE: Duration = Duration::from_secs(120);
/// A person may have this many codes at a time.
const CODES: usize = 8;

/// What the doors of browsers know.
pub struct Door {
    pub hub: Arc<Tabs>,
    pub(crate) pace: Pace,
    codes: Mutex<HashMap<String, Code>>,
    /// The token that the native-messaging host hands out to browsers of the hub's own machine.
    endpoint: OnceLock<Secret>,
    /// Where the port of the relay is, once it is open, or why it is not.
    pub relay: OnceLock<Result<u16, String>>,
    notes: Mutex<Option<mpsc::UnboundedReceiver<Note>>>,
}

struct Code {
    person: Uuid,
    until: Instant,
}

impl Door {
    /// Doors that nobody has come through. `reports` hears of changed lists.
    pub fn new(config: &Config, reports: mpsc::UnboundedSender<Report>, now: fn() -> i64) -> Self {
        let (notes, noted) = mpsc::unbounded_channel();
        let options = TabOptions {
            timeout: Duration::from_millis(config.tabs.timeout_ms),
            relay_timeout: Duration::from_millis(config.tabs.relay_timeout_ms),
            timeouts: config
                .tabs
                .timeouts
                .iter()
                .map(|(whose, ms)| (whose.clone(), Duration::from_millis(*ms)))
                .collect(),
            activate: config.tabs.activate,
            allowed: Origins::of(&config.tabs.allowed_origins),
            now,
            reports,
            notes,
        };
        Self {
            hub: TabHub::new(Browsers::default(), options),
            pace: Pace::default(),
            codes: Mutex::default(),
            endpoint: OnceLock::new(),
            relay: OnceLock::new(),
            notes: Mutex::new(Some(noted)),
        }
    }

    /// Lets browsers in that were given this token on the hub's own machine. Only for a hub of one person.
    pub fn trust(&self, token: Secret) {
        let _ = self.endpoint.set(token);
    }

    /// A code with which one browser may be paired, once and soon.
    pub(crate) fn invite(&self, person: Uuid) -> String {
        let code = pairing_code();
        let mut codes = lock(&self.codes);
        codes.retain(|_, it| it.until > Instant::now());
        while codes.values().filter(|it| it.person == person).count() >= CODES {
            let oldest = codes.iter().filter(|it| it.1.person == person).min_by_key(|it| it.1.until);
            let Some(oldest) = oldest.map(|it| it.0.clone()) else { break };
            codes.remove(&oldest);
        }
        codes.insert(code.clone(), Code { person, until: Instant::now() + CODE_LIFE });
        code
    }

    /// Takes the code that fits, if one does.
    fn redeem(&self, fits: impl Fn(&str) -> bool) -> Option<(String, Uuid)> {
        let mut codes = lock(&self.codes);
        codes.retain(|_, it| it.until > Instant::now());
        let code = codes.keys().find(|it| fits(it)).cloned()?;
        let Code { person, .. } = codes.remove(&code)?;
        Some((code, person))
    }
}

impl App {
    /// Takes what is known of everybody's tabs from the store, and begins to listen to browsers.
    pub async fn start_tabs(self: &Arc<Self>) -> Result<(), StoreError> {
        let hub = &self.tabs.hub;
        self.hub.log().tell(hub.clone());
        for offer in self.hub.offers().iter().filter(|it| it.instance.is_tabs()) {
            let person = offer.instance.person;
            let is_paired = !self.store.pairings_of(person).await?.is_empty();
            let (tabs, cached) = self.store.tabs_of(person).await?;
            hub.restore(person, is_paired, tabs, cached);
            hub.introduce(person, offer.instance.id);
        }
        task::spawn("tabs", hub.clone().follow());
        if let Some(notes) = lock(&self.tabs.notes).take() {
            task::spawn("tab-notes", write_notes(self.store.clone(), Arc::downgrade(self), notes));
        }
        Ok(())
    }

    /// Hangs up on every browser of a person who is no longer here.
    pub(crate) fn close_browsers(&self, person: Uuid) {
        let hub = &self.tabs.hub;
        for browser in hub.browsers(person) {
            hub.transport().close(&browser.id, handshake::REFUSED, "its person was removed");
        }
        lock(&self.tabs.codes).retain(|_, it| it.person != person);
    }

    /// Tells the tab hub which instance a person's tabs are.
    pub(crate) fn introduce_tabs(&self, person: Uuid) {
        let offers = self.hub.offers();
        if let Some(offer) = offers.iter().find(|it| it.instance.person == person && it.instance.is_tabs()) {
            self.tabs.hub.introduce(person, offer.instance.id);
        }
    }
}

/// Writes down what the tab hub wants remembered. Of several states of one table only the last one counts.
async fn write_notes(store: Store, app: std::sync::Weak<App>, mut notes: mpsc::UnboundedReceiver<Note>) {
    let mut written: HashMap<Uuid, (Vec<_>, Vec<_>)> = HashMap::new();
    let mut lines = 0_u64;
    while let Some(first) = notes.recv().await {
        let mut tables = HashMap::new();
        let mut more = Some(first);
        while let Some(note) = more {
            match note {
                Note::Table { person, tabs, cached } => {
                    tables.insert(person, (tabs, cached));
                }
                Note::Touched { person } => {
                    if let Some(app) = app.upgrade() {
                        app.live.wrote();
                        app.live.tell_tabs(person, app.tabs.hub.questions(person).len());
                        let offers = app.hub.offers();
                        let tabs =
                            offers.iter().find(|it| it.instance.person == person && it.instance.is_tabs());
                        if let Some(offer) = tabs {
                            app.live.touch(person, offer.instance.id);
                        }
                    }
                }
                Note::Log { person, browser, tab, domain, origin, event, tool, outcome, at } => {
                    let line = TabLogRow {
                        id: Uuid::now_v7(),
                        person_id: person,
                        profile_id: browser,
                        tab_id: tab,
                        domain,
                        origin,
                        event: event.to_owned(),
                        tool,
                        outcome,
                        created_at: at,
                    };
                    lines += 1;
                    kept(store.add_tab_log(&line).await);
                    if lines.is_multiple_of(1000) {
                        kept(store.prune_tab_log(person).await);
                    }
                }
            }
            more = notes.try_recv().ok();
        }
        for (person, table) in tables {
            if written.get(&person) != Some(&table) {
                kept(store.put_tabs(person, &table.0, &table.1).await);
                written.insert(person, table);
            }
        }
    }
}

fn kept(result: Result<(), StoreError>) {
    if let Err(error) = result {
        // A person who was removed meanwhile is the usual reason.
        tracing::debug!(target: "tabs", ?error, "something about tabs was not kept");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_code_is_good_once_and_for_two_minutes_and_a_person_has_eight_at_most() {
        let door =
            Door::new(&Config::parse("", |_| None).expect("the defaults"), mpsc::unbounded_channel().0, || 1);
        let (person, other) = (Uuid::now_v7(), Uuid::now_v7());
        let redeem = |code: &str| door.redeem(|it| it == code).map(|it| it.1);
        let code = door.invite(person);
        assert_eq!((redeem(&code), redeem(&code)), (Some(person), None));

        let (in_time, late) = (door.invite(person), door.invite(person));
        tokio::time::advance(Duration::from_secs(119)).await;
        assert_eq!(redeem(&in_time), Some(person));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(redeem(&late), None);

        let (first, elsewhere) = (door.invite(person), door.invite(other));
        for _ in 0..CODES {
            tokio::time::advance(Duration::from_millis(1)).await;
            door.invite(person);
        }
        assert_eq!((redeem(&first), redeem(&elsewhere)), (None, Some(other)));
    }
}
