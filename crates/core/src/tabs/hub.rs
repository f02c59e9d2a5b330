//! The tabs of everybody. Hears what browsers report, keeps each person's table, and tells the hub of tools when a
//! list has changed: once per burst, and silently when only the active tab is another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use toolgrove_wire::Raw;
use uuid::Uuid;

use super::listing::Entry;
use super::questions::Waiting;
use super::run::Running;
use super::table::{BrowserView, CachedRow, TabRow, TabView, Table};
use super::tool::Origins;
use super::transport::{TabEvent, TabKey, TabTransport};
use crate::event::{ListKind, News, Report};
use crate::{meter, task};

/// A first change is gathered for this long.
const FIRST: Duration = Duration::from_millis(10);
/// Changes that follow are told no more often than this.
const DEBOUNCE: Duration = Duration::from_millis(500);

/// What the tab hub needs to know of the hub.
#[derive(Debug, Clone)]
pub struct TabOptions {
    pub timeout: Duration,
    pub relay_timeout: Duration,
    /// What a domain, or `domain/tool`, is given instead.
    pub timeouts: HashMap<String, Duration>,
    /// Whether a frozen tab may be brought to the front.
    pub activate: bool,
    pub allowed: Origins,
    /// The time, in Unix milliseconds.
    pub now: fn() -> i64,
    /// Where changed lists are told.
    pub reports: mpsc::UnboundedSender<Report>,
    /// Where goes what should be remembered.
    pub notes: mpsc::UnboundedSender<Note>,
}

/// Something to write down.
#[derive(Debug, Clone)]
pub enum Note {
    /// A person's tabs and cached tools, whole.
    Table { person: Uuid, tabs: Vec<TabRow>, cached: Vec<CachedRow> },
    /// One line of the tab log.
    Log {
        person: Uuid,
        browser: String,
        tab: i64,
        domain: String,
        origin: String,
        event: &'static str,
        tool: Option<String>,
        outcome: String,
        at: i64,
    },
    /// A person's browsers or tabs are not what they were.
    Touched { person: Uuid },
}

pub struct TabHub<T> {
    pub(super) transport: T,
    pub(super) options: TabOptions,
    people: Mutex<HashMap<Uuid, Person>>,
    owners: Mutex<HashMap<Arc<str>, Uuid>>,
    pub(super) running: Mutex<HashMap<Uuid, Arc<Running>>>,
    pub(super) waiting: Mutex<HashMap<Uuid, Waiting>>,
    /// Rises with every event that was taken.
    pub(super) taken: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Person {
    table: Table,
    instance: Option<Uuid>,
    /// The list as it was last told.
    told: Vec<Entry>,
    told_at: Option<Instant>,
    telling: bool,
    /// What was last said of the capability.
    capability: Option<Value>,
}

impl<T> std::fmt::Debug for TabHub<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TabHub")
    }
}

impl<T: TabTransport> TabHub<T> {
    pub fn new(transport: T, options: TabOptions) -> Arc<Self> {
        Arc::new(Self {
            transport,
            options,
            people: Mutex::default(),
            owners: Mutex::default(),
            running: Mutex::default(),
            waiting: Mutex::default(),
            taken: watch::Sender::new(0),
        })
    }

    pub fn transport(&self) -> &T {
        &self.transport
    }

    pub fn allowed(&self) -> &Origins {
        &self.options.allowed
    }

    /// Acts on what browsers report. Ends with the transport.
    pub async fn follow(self: Arc<Self>) {
        let mut events = self.transport.events();
        while let Some(event) = events.recv().await {
            self.take(event);
            self.taken.send_modify(|it| *it += 1);
        }
    }

    /// Says which instance a person's tabs are, for reports.
    pub fn introduce(self: &Arc<Self>, person: Uuid, instance: Uuid) {
        self.people().entry(person).or_default().instance = Some(instance);
        self.tell(person);
    }

    /// Takes what was known in an earlier run.
    pub fn restore(self: &Arc<Self>, person: Uuid, paired: bool, tabs: Vec<TabRow>, cached: Vec<CachedRow>) {
        let now = (self.options.now)();
        self.with(person, |table| {
            table.set_paired(paired);
            table.restore(tabs, cached, now);
        });
    }

    /// Changes a person's table and tells of it.
    pub fn with<R>(self: &Arc<Self>, person: Uuid, change: impl FnOnce(&mut Table) -> R) -> R {
        let result = change(&mut self.people().entry(person).or_default().table);
        self.note_table(person);
        self.tell(person);
        result
    }

    /// Reads a person's table.
    pub fn read<R>(&self, person: Uuid, read: impl FnOnce(&Table) -> R) -> R {
        match self.people().get(&person) {
            Some(it) => read(&it.table),
            None => read(&Table::default()),
        }
    }

    pub fn list(&self, person: Uuid) -> Vec<Entry> {
        self.read(person, Table::list)
    }

    /// The list for the catalogue, which whoever reads it keeps: from here on this is what was told.
    pub fn hand_out(&self, person: Uuid) -> Vec<Entry> {
        let mut people = self.people();
        let it = people.entry(person).or_default();
        it.told = it.table.list();
        it.told.clone()
    }

    /// Says which tools a person has to look at first: none of the fixed tools tells what their pages say now.
    pub fn hold(&self, person: Uuid, held: HashMap<(String, String), Option<Raw>>) {
        self.people().entry(person).or_default().table.held = held;
    }

    pub fn browsers(&self, person: Uuid) -> Vec<BrowserView> {
        self.read(person, Table::browser_views)
    }

    pub fn tabs(&self, person: Uuid) -> Vec<TabView> {
        self.read(person, Table::views)
    }

    /// The capability `browser`.
    pub fn capability(&self, person: Uuid) -> Value {
        self.read(person, capability)
    }

    /// Of the page that a tab shows, if it offers tools.
    pub fn domain(&self, tab: &TabKey) -> Option<String> {
        self.read(self.owner(&tab.browser)?, |it| it.tab_view(tab)).map(|it| it.domain)
    }

    pub(super) fn owner(&self, browser: &str) -> Option<Uuid> {
        lock(&self.owners).get(browser).copied()
    }

    fn take(self: &Arc<Self>, event: TabEvent) {
        let now = (self.options.now)();
        match event {
            TabEvent::Connected { browser, person, kind, label } => {
                lock(&self.owners).insert(browser.clone(), person);
                self.end_running(|it| it.key.browser == browser);
                self.with(person, |table| table.connect(&browser, kind, &label, now));
                self.touched(person);
            }
            TabEvent::Lost { browser } => {
                let Some(person) = self.owner(&browser) else { return };
                self.with(person, |table| table.lose(&browser, now));
                self.end_running(|it| it.key.browser == browser);
                self.touched(person);
            }
            TabEvent::Tabs { browser, tabs } => {
                let Some(person) = self.owner(&browser) else { return };
                self.with(person, |table| table.reconcile(&browser, &tabs, now));
                self.touched(person);
            }
            TabEvent::Registered { tab, registration } => self.register(&tab, registration, now),
            TabEvent::Left { tab, document } => {
                let Some(person) = self.owner(&tab.browser) else { return };
                let view = self.read(person, |it| it.tab_view(&tab));
                if self.with(person, |table| table.leave(&tab, document.as_deref())) {
                    self.end_running(|it| it.key == tab);
                    self.log(person, &tab, view.as_ref(), "left", None, "ok");
                }
                self.touched(person);
            }
            TabEvent::Removed { tab } => {
                let Some(person) = self.owner(&tab.browser) else { return };
                let view = self.read(person, |it| it.tab_view(&tab));
                self.with(person, |table| table.remove(&tab));
                self.end_running(|it| it.key == tab);
                if view.is_some() {
                    self.log(person, &tab, view.as_ref(), "closed", None, "ok");
                    self.touched(person);
                }
            }
            TabEvent::Activated { tab, window } => {
                let Some(person) = self.owner(&tab.browser) else { return };
                self.with(person, |table| table.activate(&tab, window, now));
                self.touched(person);
            }
            TabEvent::Focused { browser, window } => {
                let Some(person) = self.owner(&browser) else { return };
                self.with(person, |table| table.focus(&browser, window, now));
            }
            TabEvent::Replaced { tab, old } => {
                let Some(person) = self.owner(&tab.browser) else { return };
                self.with(person, |table| table.replace(&tab, old));
                let old = TabKey::new(&tab.browser, old);
                self.end_running(|it| it.key == old);
            }
            TabEvent::Started { browser, request } => {
                if let Some(running) = self.run_of(&browser, request) {
                    running.start();
                }
            }
            TabEvent::Progress { browser, request, params } => {
                if let Some(running) = self.run_of(&browser, request) {
                    running.progress(&params);
                }
            }
            TabEvent::Answered { to, answer } => {
                let _ = to.send(answer);
            }
            TabEvent::Asked { tab, request, params, reply } => self.ask(&tab, request, params, reply),
        }
    }

    fn register(self: &Arc<Self>, tab: &TabKey, registration: super::Registration, now: i64) {
        let Some(person) = self.owner(&tab.browser) else { return };
        let origin = registration.vouched.clone();
        let origin = origin.or_else(|| registration.url.as_deref().and_then(super::tool::origin_of));
        if !self.options.allowed.permit(origin.as_deref()) {
            let origin = origin.unwrap_or_default();
            meter::tab_refused("origin");
            tracing::warn!(target: "tabs", tab = %tab, origin, "a page of an origin that is not allowed was left out");
            return;
        }
        let is_new = self.read(person, |it| it.tab_view(tab).is_none_or(|it| it.tools.is_empty()));
        let problems = self.with(person, |table| table.register(tab, registration, now));
        let view = self.read(person, |it| it.tab_view(tab));
        let domain = view.as_ref().map(|it| it.domain.clone()).unwrap_or_default();
        for problem in &problems {
            tracing::warn!(target: "tabs", tab = %tab, domain, "{problem}");
        }
        let (event, count) =
            (if is_new { "registered" } else { "updated" }, view.as_ref().map_or(0, |it| it.tools.len()));
        tracing::info!(target: "tabs", tab = %tab, domain, tools = count, "{event}");
        self.log(person, tab, view.as_ref(), event, None, &format!("{count} tools"));
        self.touched(person);
    }

    pub(super) fn log(
        &self,
        person: Uuid,
        tab: &TabKey,
        view: Option<&TabView>,
        event: &'static str,
        tool: Option<&str>,
        outcome: &str,
    ) {
        // Nothing of a private window is written down.
        if view.is_some_and(|it| it.incognito) {
            return;
        }
        let _ = self.options.notes.send(Note::Log {
            person,
            browser: tab.browser.to_string(),
            tab: tab.tab,
            domain: view.map(|it| it.domain.clone()).unwrap_or_default(),
            origin: view.map(|it| it.origin.clone()).unwrap_or_default(),
            event,
            tool: tool.map(str::to_owned),
            outcome: outcome.to_owned(),
            at: (self.options.now)(),
        });
    }

    pub(super) fn touched(&self, person: Uuid) {
        let _ = self.options.notes.send(Note::Touched { person });
    }

    fn note_table(&self, person: Uuid) {
        let (tabs, cached) = self.read(person, Table::rows);
        let _ = self.options.notes.send(Note::Table { person, tabs, cached });
    }

    /// Tells of a changed list, soon: what else changes meanwhile is told along with it.
    fn tell(self: &Arc<Self>, person: Uuid) {
        let wait = {
            let mut people = self.people();
            let it = people.entry(person).or_default();
            if it.telling || it.instance.is_none() || it.told == it.table.list() {
                return;
            }
            it.telling = true;
            let since = it.told_at.map(|it| it.elapsed());
            FIRST.max(since.map_or(FIRST, |it| DEBOUNCE.saturating_sub(it)))
        };
        let hub = self.clone();
        task::spawn("tab-list", async move {
            tokio::time::sleep(wait).await;
            hub.tell_now(person);
        });
    }

    fn tell_now(&self, person: Uuid) {
        let mut people = self.people();
        let Some(it) = people.get_mut(&person) else { return };
        it.telling = false;
        let list = it.table.list();
        let is_like = list.len() == it.told.len() && list.iter().zip(&it.told).all(|(a, b)| a.is_like(b));
        let is_same = is_like && list == it.told;
        it.told = list;
        let capability = capability(&it.table);
        if it.capability.as_ref() != Some(&capability) {
            tracing::info!(target: "tabs", %capability, "the browser capability changed");
            meter::tab_capability_changed();
            it.capability = Some(capability);
        }
        let Some(instance) = it.instance.filter(|_| !is_same) else { return };
        it.told_at = Some(Instant::now());
        let news = if is_like { News::Redescribed } else { News::ListChanged(ListKind::Tools) };
        let _ = self.options.reports.send(Report { instance, news });
    }

    fn people(&self) -> MutexGuard<'_, HashMap<Uuid, Person>> {
        lock(&self.people)
    }
}

fn capability(table: &Table) -> Value {
    json!({
        "multiTabSupport": true,
        "cacheSupported": table.is_caching(),
        "elicitation": table.is_asking(),
    })
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
