//! What is known of one person's tabs: by browser, origin and tab. Nothing here waits, and time is a parameter.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use toolgrove_wire::Raw;

use super::names::{Named, Names};
use super::tool::{PageTool, origin_of};
use super::transport::TabKey;
use super::wire::{Source, TabFacts};
use crate::name::{domain_of, sanitize};

/// How long a page of the relay may be away and still be the same tab.
const RELAY_AWAY_MS: i64 = 30_000;
/// A tab of an earlier run that has not come back for this long is forgotten at start.
const PRUNE_MS: i64 = 60 * 60 * 1000;

/// The tabs of one person.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub(super) browsers: BTreeMap<Arc<str>, Browser>,
    pub(super) tabs: BTreeMap<TabKey, Tab>,
    /// By origin and tool: what stays callable with no tab open.
    pub(super) cached: BTreeMap<(String, String), Cached>,
    pub(super) names: Names,
    /// Whether the person has paired a browser at all.
    pub(super) paired: bool,
    /// By origin and tool: what is not what was approved, and what was. None: nothing was.
    pub(super) held: HashMap<(String, String), Option<Raw>>,
}

/// How a browser is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrowserKind {
    /// By the extension: it reports tabs and can open them.
    Extension,
    /// A page that embeds the relay: a browser with one tab, which does what its page says.
    Relay,
}

#[derive(Debug, Clone)]
pub(super) struct Browser {
    pub(super) kind: BrowserKind,
    pub(super) label: String,
    pub(super) connected: bool,
    /// The window that last had the focus.
    pub(super) focused: Option<i64>,
    /// When it was last heard of.
    pub(super) seen: i64,
}

#[derive(Debug, Clone)]
pub(super) struct Tab {
    pub(super) origin: String,
    pub(super) domain: String,
    pub(super) slot: u32,
    pub(super) url: Option<String>,
    pub(super) title: Option<String>,
    pub(super) document: Option<String>,
    pub(super) window: Option<i64>,
    pub(super) active: bool,
    pub(super) incognito: bool,
    pub(super) rest: Rest,
    /// Empty while its page is loading, gone, or has nothing to offer.
    pub(super) tools: Vec<PageTool>,
    pub(super) asks: bool,
    pub(super) last_updated: i64,
    /// Its id in the words of the relay.
    pub(super) source: String,
    /// The id under which the relay knows the same page.
    pub(super) relay_tab: Option<String>,
    /// An origin its page only says it has.
    pub(super) claims: Option<String>,
}

/// What a browser has done with a page that nobody looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    Awake,
    /// It is stopped, and runs again in front.
    Frozen,
    /// It is out of memory, and has to be loaded again.
    Discarded,
}

impl Rest {
    fn of(facts: &TabFacts) -> Self {
        match facts {
            TabFacts { discarded: true, .. } => Self::Discarded,
            TabFacts { frozen: true, .. } => Self::Frozen,
            _ => Self::Awake,
        }
    }
}

impl Tab {
    pub(super) fn tool(&self, name: &str) -> Option<&PageTool> {
        self.tools.iter().find(|it| it.name == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cached {
    pub(super) domain: String,
    pub(super) tool: PageTool,
    pub(super) url: Option<String>,
}

/// A page's full list of tools, and what its browser vouches for.
#[derive(Debug, Clone, Default)]
pub struct Registration {
    pub tools: Vec<Raw>,
    /// The page's address, from the browser.
    pub url: Option<String>,
    /// The origin the connection itself comes from, where that is all a browser vouches for. It wins over the address.
    pub vouched: Option<String>,
    pub document: Option<String>,
    pub window: Option<i64>,
    pub active: Option<bool>,
    pub incognito: bool,
    pub title: Option<String>,
    pub sources: BTreeMap<String, Source>,
    /// The tab's id in the words of the relay; its number where there is none.
    pub source: Option<String>,
    pub relay_tab: Option<String>,
}

/// A tab as it is remembered over a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TabRow {
    pub key: TabKey,
    pub domain: String,
    pub origin: String,
    pub slot: u32,
    pub url: Option<String>,
    pub title: Option<String>,
    pub active: bool,
    pub last_updated: i64,
}

/// A cached tool as it is remembered over a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedRow {
    pub domain: String,
    pub origin: String,
    pub name: String,
    pub public_name: String,
    /// The definition, as JSON.
    pub raw: String,
    pub url: Option<String>,
}

/// A browser as people see it.
#[derive(Debug, Clone)]
pub struct BrowserView {
    pub id: Arc<str>,
    pub kind: BrowserKind,
    pub label: String,
    pub connected: bool,
}

/// A tab as people see it.
#[derive(Debug, Clone)]
pub struct TabView {
    pub key: TabKey,
    pub domain: String,
    pub origin: String,
    pub slot: u32,
    pub url: Option<String>,
    pub title: Option<String>,
    pub active: bool,
    pub incognito: bool,
    pub claims: Option<String>,
    pub source: String,
    pub last_updated: i64,
    /// Public name and page's own name of each tool.
    pub tools: Vec<(String, PageTool)>,
}

impl Table {
    pub fn connect(&mut self, browser: &Arc<str>, kind: BrowserKind, label: &str, now: i64) {
        let focused = self.browsers.get(browser).and_then(|it| it.focused);
        let label = label.to_owned();
        self.browsers.insert(browser.clone(), Browser { kind, label, connected: true, focused, seen: now });
        self.clear(|key, _| key.browser == *browser);
        self.paired = true;
    }

    /// A connection is gone: its tabs keep their numbers, for they may come back.
    pub fn lose(&mut self, browser: &Arc<str>, now: i64) {
        if let Some(browser) = self.browsers.get_mut(browser) {
            (browser.connected, browser.seen) = (false, now);
        }
        self.clear(|key, _| key.browser == *browser);
    }

    /// Takes a browser's whole list of tabs: those that are not in it are gone.
    pub fn reconcile(&mut self, browser: &Arc<str>, facts: &[TabFacts], now: i64) {
        let there: BTreeSet<i64> = facts.iter().map(|it| it.tab_id).collect();
        self.tabs.retain(|key, _| key.browser != *browser || there.contains(&key.tab));
        for fact in facts {
            let Some(tab) = self.tabs.get_mut(&TabKey::new(browser, fact.tab_id)) else { continue };
            (tab.active, tab.window) = (fact.active, fact.window_id);
            tab.rest = Rest::of(fact);
            if fact.title.is_some() {
                tab.title.clone_from(&fact.title);
            }
        }
        self.see(browser, now);
        self.tidy();
    }

    /// Takes a page's full list. What could not be used comes back as sentences.
    pub fn register(&mut self, key: &TabKey, registration: Registration, now: i64) -> Vec<String> {
        let Registration { tools, url, vouched, document, window, active, incognito, title, .. } =
            registration;
        let claimed = url.as_deref().and_then(origin_of);
        let (origin, url, claims) = match vouched {
            Some(vouched) if claimed.as_ref() != Some(&vouched) => (Some(vouched), None, claimed),
            _ => (claimed, url, None),
        };
        let domain = domain_of(url.as_deref().or(origin.as_deref()).unwrap_or_default());
        let origin = origin.unwrap_or_default();
        let (tools, mut problems) = PageTool::read_all(&tools);
        if tools.is_empty() {
            problems.push("the page registered no tool".to_owned());
        }
        let asks = registration.sources.values().any(|it| *it != Source::Native);
        let source = registration.source.unwrap_or_else(|| key.tab.to_string());
        let old = self.tabs.get(key);
        let active = active.unwrap_or_else(|| old.is_some_and(|it| it.active));
        let window = window.or_else(|| old.and_then(|it| it.window));
        let kept = old.filter(|it| sanitize(&it.domain) == sanitize(&domain)).map(|it| it.slot);
        let slot = kept.unwrap_or_else(|| self.slot(&domain, &origin, &source, key, now));
        let tab = Tab {
            origin,
            domain,
            slot,
            url,
            title,
            document,
            window,
            active,
            incognito,
            rest: Rest::Awake,
            tools,
            asks,
            last_updated: now,
            source,
            relay_tab: registration.relay_tab,
            claims,
        };
        if tab.active {
            self.deactivate(&key.browser, tab.window);
        }
        for tool in &tab.tools {
            self.names.tab(&tab.domain, tab.slot, &tool.name);
            self.names.origin(&tab.domain, &tab.origin, &tool.name);
            let place = (tab.origin.clone(), tool.name.clone());
            if !incognito && !tab.origin.is_empty() && (tool.cache || self.cached.contains_key(&place)) {
                let cached = Cached { domain: tab.domain.clone(), tool: tool.clone(), url: tab.url.clone() };
                self.cached.insert(place, cached);
            }
        }
        self.tabs.insert(key.clone(), tab);
        self.see(&key.browser, now);
        self.tidy();
        problems
    }

    /// A document is gone. One that the tab no longer shows is late news.
    pub fn leave(&mut self, key: &TabKey, document: Option<&str>) -> bool {
        let Some(tab) = self.tabs.get(key) else { return false };
        if document.is_some() && tab.document.is_some() && tab.document.as_deref() != document {
            return false;
        }
        self.clear(|it, _| it == key);
        true
    }

    /// A tab is closed: its number is free.
    pub fn remove(&mut self, key: &TabKey) {
        self.tabs.remove(key);
        self.tidy();
    }

    /// The browser gave a tab another id.
    pub fn replace(&mut self, key: &TabKey, old: i64) {
        if let Some(tab) = self.tabs.remove(&TabKey::new(&key.browser, old)) {
            self.tabs.insert(key.clone(), tab);
            self.clear(|it, _| it == key);
        }
    }

    pub fn activate(&mut self, key: &TabKey, window: Option<i64>, now: i64) {
        let window = window.or_else(|| self.tabs.get(key).and_then(|it| it.window));
        self.deactivate(&key.browser, window);
        if let Some(tab) = self.tabs.get_mut(key) {
            (tab.active, tab.window) = (true, window);
        }
        self.see(&key.browser, now);
    }

    /// Another window has the focus. None having it changes nothing: the last one still counts.
    pub fn focus(&mut self, browser: &Arc<str>, window: i64, now: i64) {
        if let Some(browser) = self.browsers.get_mut(browser).filter(|_| window >= 0) {
            (browser.focused, browser.seen) = (Some(window), now);
        }
    }

    /// Takes what was known in an earlier run. Tabs that were last heard of too long ago are left out.
    pub fn restore(&mut self, tabs: Vec<TabRow>, cached: Vec<CachedRow>, now: i64) {
        for row in tabs.into_iter().filter(|it| now - it.last_updated <= PRUNE_MS) {
            let TabRow { key, domain, origin, slot, url, title, active, last_updated } = row;
            let source = key.tab.to_string();
            let tab = Tab {
                origin,
                domain,
                slot,
                url,
                title,
                active,
                last_updated,
                source,
                document: None,
                window: None,
                incognito: false,
                rest: Rest::Awake,
                tools: Vec::new(),
                asks: false,
                relay_tab: None,
                claims: None,
            };
            self.tabs.insert(key, tab);
        }
        for row in cached {
            let tool = Raw::parse(row.raw).map_err(|it| it.to_string()).and_then(|it| PageTool::read(&it));
            match tool {
                Ok(tool) => {
                    self.names.restore(&row.origin, &row.name, &row.public_name);
                    self.names.origin(&row.domain, &row.origin, &row.name);
                    let cached = Cached { domain: row.domain, tool, url: row.url };
                    self.cached.insert((row.origin, row.name), cached);
                }
                Err(problem) => tracing::debug!(target: "tabs", problem, "a cached tool is no longer usable"),
            }
        }
    }

    /// The rows of what should be known in the next run.
    pub fn rows(&self) -> (Vec<TabRow>, Vec<CachedRow>) {
        let is_kept = |key: &TabKey, tab: &Tab| {
            !tab.incognito
                && self.browsers.get(&key.browser).is_none_or(|it| it.kind == BrowserKind::Extension)
        };
        let tabs = self.tabs.iter().filter(|it| is_kept(it.0, it.1)).map(|(key, tab)| TabRow {
            key: key.clone(),
            domain: tab.domain.clone(),
            origin: tab.origin.clone(),
            slot: tab.slot,
            url: tab.url.clone(),
            title: tab.title.clone(),
            active: tab.active,
            last_updated: tab.last_updated,
        });
        let cached = self.cached.iter().map(|((origin, name), it)| CachedRow {
            domain: it.domain.clone(),
            origin: origin.clone(),
            name: name.clone(),
            public_name: self.origin_name(origin, name).unwrap_or_default(),
            raw: it.tool.raw.as_str().to_owned(),
            url: it.url.clone(),
        });
        (tabs.collect(), cached.collect())
    }

    /// Forgets cached tools: one by its public name, or all of a domain. Says how many.
    pub fn forget(&mut self, word: &str) -> usize {
        let names = &self.names;
        let before = self.cached.len();
        self.cached.retain(|(origin, tool), it| {
            let named = Named::Origin { origin: origin.clone(), tool: tool.clone() };
            names.of(&named) != Some(word) && it.domain != word && origin != word
        });
        self.tidy();
        before - self.cached.len()
    }

    /// Remembers an open tool as if its page had said so.
    pub fn remember(&mut self, name: &str) -> bool {
        let Some((key, tool)) = self.tool_of(name) else { return false };
        let Some(tab) = self.tabs.get(&key).filter(|it| !it.incognito && !it.origin.is_empty()) else {
            return false;
        };
        let Some(tool) = tab.tool(&tool).cloned() else { return false };
        let cached = Cached { domain: tab.domain.clone(), url: tab.url.clone(), tool };
        self.cached.insert((tab.origin.clone(), cached.tool.name.clone()), cached);
        true
    }

    /// Says whether a browser was ever paired, which is when the fixed tools are listed.
    pub fn set_paired(&mut self, paired: bool) {
        self.paired = paired;
    }

    /// A browser that was forgotten takes its tabs with it.
    pub fn drop_browser(&mut self, browser: &str) {
        self.browsers.remove(browser);
        self.tabs.retain(|key, _| &*key.browser != browser);
        self.tidy();
    }

    pub fn is_asking(&self) -> bool {
        self.tabs.values().any(|it| it.asks && !it.tools.is_empty())
    }

    pub fn is_caching(&self) -> bool {
        !self.cached.is_empty()
    }

    pub fn browser_views(&self) -> Vec<BrowserView> {
        let view = |(id, it): (&Arc<str>, &Browser)| BrowserView {
            id: id.clone(),
            kind: it.kind,
            label: it.label.clone(),
            connected: it.connected,
        };
        self.browsers.iter().map(view).collect()
    }

    /// Tabs with tools, newest first.
    pub fn views(&self) -> Vec<TabView> {
        let mut views: Vec<_> = self.offering().map(|(key, tab)| self.view(key, tab)).collect();
        views.sort_by_key(|it| std::cmp::Reverse(it.last_updated));
        views
    }

    pub fn tab_view(&self, key: &TabKey) -> Option<TabView> {
        self.tabs.get(key).map(|it| self.view(key, it))
    }

    fn view(&self, key: &TabKey, tab: &Tab) -> TabView {
        let name = |tool: &PageTool| self.tab_name(tab, &tool.name).unwrap_or_default();
        TabView {
            key: key.clone(),
            domain: tab.domain.clone(),
            origin: tab.origin.clone(),
            slot: tab.slot,
            url: tab.url.clone(),
            title: tab.title.clone(),
            active: self.is_active(key, tab),
            incognito: tab.incognito,
            claims: tab.claims.clone(),
            source: tab.source.clone(),
            last_updated: tab.last_updated,
            tools: tab.tools.iter().map(|it| (name(it), it.clone())).collect(),
        }
    }

    /// Tabs that have tools, without pages of the relay that the extension reports too, and with one of two
    /// connections of one page: the newest.
    pub(super) fn offering(&self) -> impl Iterator<Item = (&TabKey, &Tab)> {
        let twins: BTreeSet<&str> = self.tabs.values().filter_map(|it| it.relay_tab.as_deref()).collect();
        let mut newest: HashMap<(&str, &str), &TabKey> = HashMap::new();
        for (key, tab) in self.tabs.iter().filter(|it| self.is_relay(it.0) && !it.1.tools.is_empty()) {
            let place = newest.entry((&tab.origin, &tab.source)).or_insert(key);
            if self.tabs[*place].last_updated <= tab.last_updated {
                *place = key;
            }
        }
        self.tabs.iter().filter(move |(key, tab)| {
            let is_twin = self.is_relay(key)
                && (twins.contains(tab.source.as_str())
                    || newest.get(&(tab.origin.as_str(), tab.source.as_str())) != Some(key));
            !tab.tools.is_empty() && !is_twin
        })
    }

    /// A tab of an origin whose page its browser has put out of memory.
    pub(super) fn discarded(&self, origin: &str) -> Option<TabKey> {
        let is_connected = |key: &TabKey| self.browsers.get(&key.browser).is_some_and(|it| it.connected);
        let mut there = self
            .tabs
            .iter()
            .filter(|(key, tab)| tab.rest == Rest::Discarded && tab.origin == origin && is_connected(key));
        there.next().map(|it| it.0.clone())
    }

    pub(super) fn is_relay(&self, key: &TabKey) -> bool {
        self.browsers.get(&key.browser).is_some_and(|it| it.kind == BrowserKind::Relay)
    }

    /// Whether it is what its person looks at: the active tab of the window that last had the focus.
    pub(super) fn is_active(&self, key: &TabKey, tab: &Tab) -> bool {
        let focused = self.browsers.get(&key.browser).and_then(|it| it.focused);
        tab.active && (focused.is_none() || tab.window.is_none() || tab.window == focused)
    }

    pub(super) fn tab_name(&self, tab: &Tab, tool: &str) -> Option<String> {
        let named = Named::Tab { domain: sanitize(&tab.domain), slot: tab.slot, tool: tool.to_owned() };
        self.names.of(&named).map(str::to_owned)
    }

    pub(super) fn origin_name(&self, origin: &str, tool: &str) -> Option<String> {
        let named = Named::Origin { origin: origin.to_owned(), tool: tool.to_owned() };
        self.names.of(&named).map(str::to_owned)
    }

    /// The tab and the page's own name behind a name of the tab form.
    pub(super) fn tool_of(&self, name: &str) -> Option<(TabKey, String)> {
        let Some(Named::Tab { domain, slot, tool }) = self.names.meaning(name) else { return None };
        let is_it =
            |tab: &Tab| tab.slot == *slot && sanitize(&tab.domain) == *domain && tab.tool(tool).is_some();
        let (key, _) = self.offering().find(|it| is_it(it.1))?;
        Some((key.clone(), tool.clone()))
    }

    /// The lowest number of a domain that no other tab has. A page of the relay that comes back gets its own again.
    fn slot(&mut self, domain: &str, origin: &str, source: &str, key: &TabKey, now: i64) -> u32 {
        if self.is_relay(key) {
            let browsers = &self.browsers;
            let is_away = |it: &TabKey| {
                browsers.get(&it.browser).is_some_and(|it| it.kind == BrowserKind::Relay && !it.connected)
            };
            let before = self.tabs.iter().find(|(it, tab)| {
                is_away(it)
                    && tab.origin == origin
                    && tab.source == source
                    && now - tab.last_updated <= RELAY_AWAY_MS
            });
            if let Some((before, slot)) = before.map(|(it, tab)| (it.clone(), tab.slot)) {
                self.tabs.remove(&before);
                return slot;
            }
            self.tabs.retain(|it, tab| !is_away(it) || now - tab.last_updated <= RELAY_AWAY_MS);
        }
        let domain = sanitize(domain);
        let taken: BTreeSet<u32> = self
            .tabs
            .iter()
            .filter(|(it, tab)| *it != key && sanitize(&tab.domain) == domain)
            .map(|it| it.1.slot)
            .collect();
        (1..=u32::MAX).find(|it| !taken.contains(it)).unwrap_or(u32::MAX)
    }

    fn deactivate(&mut self, browser: &Arc<str>, window: Option<i64>) {
        for (_, tab) in self.tabs.iter_mut().filter(|it| it.0.browser == *browser && it.1.window == window) {
            tab.active = false;
        }
    }

    fn see(&mut self, browser: &Arc<str>, now: i64) {
        if let Some(browser) = self.browsers.get_mut(browser) {
            browser.seen = now;
        }
    }

    /// Takes the tools of some tabs away.
    fn clear(&mut self, is_over: impl Fn(&TabKey, &Tab) -> bool) {
        for (key, tab) in &mut self.tabs {
            if is_over(key, tab) {
                tab.tools.clear();
                tab.document = None;
            }
        }
        self.tidy();
    }

    /// Names live as long as the slot, or the origin's tool, that they belong to.
    fn tidy(&mut self) {
        let slots: BTreeSet<(String, u32)> =
            self.tabs.values().map(|it| (sanitize(&it.domain), it.slot)).collect();
        let origins: BTreeSet<&str> = self.tabs.values().map(|it| it.origin.as_str()).collect();
        let cached = &self.cached;
        self.names.retain(|it| match it {
            Named::Tab { domain, slot, .. } => slots.contains(&(domain.clone(), *slot)),
            Named::Origin { origin, tool } => {
                origins.contains(origin.as_str()) || cached.contains_key(&(origin.clone(), tool.clone()))
            }
        });
    }
}
