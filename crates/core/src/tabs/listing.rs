//! The list of a person's tab tools, and what each name of it aims at.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use toolgrove_wire::{Edit, Raw};

use super::names::{Named, relay_names};
use super::table::{Rest, Tab, Table};
use super::tool::PageTool;
use super::transport::TabKey;
use super::{KEY_LISTING, meta};
use crate::offer::Shown;

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub shown: Shown,
    /// The description without the mark of the active tab, where the two differ.
    pub plain: Option<String>,
    pub raw: Raw,
    /// Whose tool it is; none for those of the hub.
    pub page: Option<PageOf>,
}

/// The page's side of an entry: what is pinned, since names and descriptions of the list change with the tabs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOf {
    pub origin: String,
    pub tool: String,
    pub description: String,
    /// Nothing of a private window is remembered.
    pub private: bool,
}

impl PageOf {
    fn new(origin: &str, tool: &PageTool, private: bool) -> Option<Self> {
        let (tool, description) = (tool.name.clone(), tool.description.clone());
        Some(Self { origin: origin.to_owned(), tool, description, private })
    }
}

impl Entry {
    pub(super) fn new(name: &str, shown: Shown, raw: &Raw) -> Self {
        let raw = Edit::of(raw).set_text("name", name).done();
        Self { name: name.to_owned(), shown, plain: None, raw, page: None }
    }

    /// The same as a tool of a tab.
    fn of(self, tab: &Tab, tool: &PageTool) -> Self {
        Self { page: PageOf::new(&tab.origin, tool, tab.incognito), ..self }
    }

    /// As a link lists it: where it is shown stands in `_meta`, for the offer to read and take out.
    pub fn listed(&self) -> Raw {
        let page = self.page.as_ref().map(|it| {
            json!({ "origin": it.origin, "tool": it.tool, "description": it.description, "private": it.private })
        });
        let listing = json!({ "shown": self.shown.as_str(), "plain": self.plain, "page": page });
        let meta = self.raw.get("_meta").filter(Raw::is_object).unwrap_or_else(Raw::empty_object);
        Edit::of(&self.raw).set("_meta", Edit::of(&meta).set(KEY_LISTING, Raw::of(&listing)).done()).done()
    }

    /// Whether a client would see no difference but which tab is active.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let plain = |it: &Self| match &it.plain {
            Some(plain) => Edit::of(&it.raw).set_text("description", plain).done(),
            None => it.raw.clone(),
        };
        self.name == other.name && self.shown == other.shown && plain(self) == plain(other)
    }
}

/// What a call is meant for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Aim {
    /// This tab and no other.
    Tab(TabKey),
    /// The best tab of an origin; one is opened if there is none.
    Origin(String),
    /// Whichever tab was heard of last, as the relay does it.
    Newest,
}

/// A tab that a call goes to now.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) key: TabKey,
    pub(super) domain: String,
    pub(super) origin: String,
    pub(super) document: Option<String>,
    pub(super) tool: PageTool,
    pub(super) relay: bool,
    pub(super) frozen: bool,
    /// In a private window: nothing of it is written down or done elsewhere.
    pub(super) incognito: bool,
}

impl Table {
    /// Every name that can be called, with what it stands for.
    pub fn list(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        if self.paired || self.offering().next().is_some() {
            entries.extend(meta::entries());
        }
        let prefixes = self.prefixes();
        let mut origins: BTreeMap<(&str, &str), Option<(&TabKey, &Tab)>> =
            self.cached.keys().map(|(origin, tool)| ((origin.as_str(), tool.as_str()), None)).collect();
        for (key, tab) in self.offering() {
            let (marked, plain) = &prefixes[tab.domain.as_str()];
            for tool in &tab.tools {
                let shown = if tool.debugging { Shown::Never } else { Shown::Together };
                if let Some(name) = self.tab_name(tab, &tool.name) {
                    let entry = Entry::new(&name, shown, &tool.raw).of(tab, tool);
                    entries.push(described(entry, tool, marked, plain));
                }
                let best = origins.entry((&tab.origin, &tool.name)).or_default();
                if best.is_none_or(|best| self.rank(key, tab) > self.rank(best.0, best.1)) {
                    *best = Some((key, tab));
                }
            }
        }
        for ((origin, name), best) in origins {
            let Some(public) = self.origin_name(origin, name) else { continue };
            if let Some((tab, tool)) = best.and_then(|it| Some((it.1, it.1.tool(name)?))) {
                let (marked, plain) = &prefixes[tab.domain.as_str()];
                let entry = Entry::new(&public, Shown::Never, &tool.raw).of(tab, tool);
                entries.push(described(entry, tool, marked, plain));
            } else if let Some(cached) = self.cached.get(&(origin.to_owned(), name.to_owned())) {
                let prefix = format!("[{}]", cached.domain);
                let page = PageOf::new(origin, &cached.tool, false);
                let entry = Entry { page, ..Entry::new(&public, Shown::Together, &cached.tool.raw) };
                entries.push(described(entry, &cached.tool, &prefix, &prefix));
            }
        }
        entries.extend(self.relay_entries());
        entries
    }

    /// The tools under the names that `webmcp-local-relay` would give them, and every bare name that several tabs
    /// share, which is not listed and can be called all the same.
    fn relay_entries(&self) -> Vec<Entry> {
        let rows = self.relay_rows();
        let names: BTreeSet<&str> = rows.iter().map(|it| it.0.as_str()).collect();
        let mut bare: BTreeMap<&str, (&TabKey, &Tab, &PageTool)> = BTreeMap::new();
        for (_, key, tab, tool) in &rows {
            if names.contains(tool.name.as_str()) || meta::META_TOOLS.contains(&tool.name.as_str()) {
                continue;
            }
            let best = bare.entry(&tool.name).or_insert((key, tab, tool));
            if best.1.last_updated < tab.last_updated {
                *best = (key, tab, tool);
            }
        }
        let shown = |tool: &PageTool| if tool.debugging { Shown::Never } else { Shown::Alone };
        let listed =
            rows.iter().map(|(name, _, tab, tool)| Entry::new(name, shown(tool), &tool.raw).of(tab, tool));
        let unlisted = bare.iter().map(|(name, it)| Entry::new(name, Shown::Never, &it.2.raw).of(it.1, it.2));
        listed.chain(unlisted).collect()
    }

    fn relay_rows(&self) -> Vec<(String, &TabKey, &Tab, &PageTool)> {
        let rows: Vec<_> =
            self.offering().flat_map(|(key, tab)| tab.tools.iter().map(move |it| (key, tab, it))).collect();
        let offers: Vec<_> = rows.iter().map(|it| (it.2.name.clone(), it.1.source.clone())).collect();
        let names = relay_names(&offers);
        names.into_iter().zip(rows).map(|(name, (key, tab, tool))| (name, key, tab, tool)).collect()
    }

    /// What a name means, and the page's own name of the tool.
    pub(super) fn aim(&self, name: &str) -> Option<(Aim, String)> {
        match self.names.meaning(name) {
            Some(Named::Tab { .. }) => self.tool_of(name).map(|(key, tool)| (Aim::Tab(key), tool)),
            Some(Named::Origin { origin, tool }) => Some((Aim::Origin(origin.clone()), tool.clone())),
            None => {
                let rows = self.relay_rows();
                if let Some((_, key, _, tool)) = rows.iter().find(|it| it.0 == name) {
                    return Some((Aim::Tab((*key).clone()), tool.name.clone()));
                }
                let (_, _, _, tool) = rows.iter().find(|it| it.3.name == name)?;
                Some((Aim::Newest, tool.name.clone()))
            }
        }
    }

    /// The tab for a call: the one it names, else the active one that has the tool, else the one heard of last.
    pub(super) fn best(&self, aim: &Aim, tool: &str, tried: &[TabKey]) -> Option<Target> {
        let fits = |key: &TabKey, tab: &Tab| match aim {
            Aim::Tab(wanted) => key == wanted,
            Aim::Origin(origin) => tab.origin == *origin,
            Aim::Newest => true,
        };
        let (key, tab) = self
            .offering()
            .filter(|(key, tab)| fits(key, tab) && tab.tool(tool).is_some() && !tried.contains(key))
            .max_by_key(|(key, tab)| match aim {
                Aim::Newest => (false, tab.last_updated),
                _ => self.rank(key, tab),
            })?;
        Some(Target {
            key: key.clone(),
            domain: tab.domain.clone(),
            origin: tab.origin.clone(),
            document: tab.document.clone(),
            tool: tab.tool(tool)?.clone(),
            relay: self.is_relay(key),
            frozen: tab.rest == Rest::Frozen,
            incognito: tab.incognito,
        })
    }

    fn rank(&self, key: &TabKey, tab: &Tab) -> (bool, i64) {
        (self.is_active(key, tab), tab.last_updated)
    }

    /// What stands before the descriptions of a domain's tools: with and without the mark of the active tab.
    fn prefixes(&self) -> BTreeMap<&str, (String, String)> {
        let mut domains: BTreeMap<&str, (usize, Option<u32>)> = BTreeMap::new();
        for (key, tab) in self.offering() {
            let (count, active) = domains.entry(&tab.domain).or_default();
            *count += 1;
            if self.is_active(key, tab) {
                *active = Some(active.map_or(tab.slot, |it| it.min(tab.slot)));
            }
        }
        let prefix = |(domain, (count, active)): (&str, (usize, Option<u32>))| {
            let many = if count > 1 { format!(" - {count} tabs") } else { String::new() };
            let plain = format!("[{domain}{many}]");
            (
                domain.to_owned(),
                match active {
                    None => (plain.clone(), plain),
                    Some(slot) if count > 1 => (format!("[{domain}{many} • Tab {slot} Active]"), plain),
                    Some(_) => (format!("[{domain} • Active]"), plain),
                },
            )
        };
        domains.into_iter().map(|it| (it.0, prefix(it).1)).collect()
    }
}

fn described(mut entry: Entry, tool: &PageTool, marked: &str, plain: &str) -> Entry {
    let text = |prefix: &str| format!("{prefix} {}", tool.description).trim_end().to_owned();
    entry.raw = Edit::of(&entry.raw).set_text("description", &text(marked)).done();
    entry.plain = (marked != plain).then(|| text(plain));
    entry
}
