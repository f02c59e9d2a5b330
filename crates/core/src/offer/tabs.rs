//! The offer of a person's tabs. Names are given where tabs are known and go with them, so what is pinned is what a
//! page says of a tool, by the origin of the page and the page's own name for it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use toolgrove_wire::{Edit, Raw};

use super::{Offer, Permission, Shown, Tool, usable};
use crate::name::{self, Profile};
use crate::pins::{Drift, Pin, PinPolicy, digest};
use crate::tabs;

/// What a page says of one of its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OfPage {
    /// What the tool is called among the pins.
    pub(super) pin: String,
    origin: String,
    tool: String,
    /// The definition under the page's own name, and without what the list adds to the description.
    definition: Raw,
    /// Nothing of a private window is remembered.
    private: bool,
}

/// What a list entry says of itself, for the hub only.
struct Listing {
    /// The entry without it.
    raw: Raw,
    shown: Shown,
    steady: Option<Raw>,
    page: Option<OfPage>,
}

impl Offer {
    /// This offer with a fresh list of tab tools; what a person has said of one is kept.
    pub(super) fn with_tab_tools(&self, listed: &[Raw], now: i64) -> Self {
        let mut before: HashMap<&str, &Arc<Tool>> =
            self.tools.iter().map(|it| (it.name.as_str(), it)).collect();
        let mut tools = Vec::with_capacity(listed.len());
        for raw in listed {
            let Ok(name) = usable(raw) else { continue };
            let Listing { raw, shown, steady, page } = Listing::read(raw);
            let old = before.remove(name.as_str());
            let is_same = |it: &&Arc<Tool>| {
                it.raw == raw && it.shown == shown && it.steady == steady && it.page == page
            };
            if let Some(old) = old.filter(|it| !it.gone && it.drift.is_none()).filter(is_same) {
                tools.push(old.clone());
                continue;
            }
            let names = if name.starts_with(tabs::PREFIX) {
                (name.clone(), name.clone())
            } else {
                let encode = |profile| name::encode(profile, &self.instance.slug, &name);
                (encode(Profile::Double), encode(Profile::Single))
            };
            let said =
                old.map(|it| (it.enabled, it.permission)).or_else(|| self.settings.get(&name).copied());
            let (enabled, permission) = said.unwrap_or((true, Permission::Allow));
            let tool = Tool { enabled, permission, shown, steady, page, ..Tool::new(name, names, raw) };
            tools.push(Arc::new(tool));
        }
        let is_switched = |it: &Tool| !it.enabled || it.permission != Permission::Allow;
        let gone = self.tools.iter().filter(|it| before.contains_key(it.name.as_str()) && is_switched(it));
        tools.extend(gone.map(|it| Arc::new(it.with(it.raw.clone(), true))));
        let mut offer = Self { tools, problems: Vec::new(), fetched_at: Some(now), ..self.clone() };
        offer.hold_pages_to_pins();
        offer
    }

    /// What pages may not be told to say: by origin and tool, with what was approved.
    pub fn held_pages(&self) -> HashMap<(String, String), Option<Raw>> {
        let held = self.present().filter(|it| it.is_held());
        held.filter_map(|it| {
            let page = it.page.as_ref()?;
            let before = it.drift.as_ref()?.before.clone();
            Some(((page.origin.clone(), page.tool.clone()), before))
        })
        .collect()
    }

    /// Holds what pages say against what was approved. An origin is a server here: what its first list has is
    /// approved as it is.
    fn hold_pages_to_pins(&mut self) {
        if self.pinned.policy == PinPolicy::Off {
            return;
        }
        let known: HashSet<String> =
            self.pinned.pins.iter().filter_map(|it| Some(it.tool.split_once(' ')?.0.to_owned())).collect();
        for place in 0..self.tools.len() {
            let tool = &self.tools[place];
            let Some(page) = tool.page.as_ref().filter(|_| !tool.gone) else { continue };
            let now = digest(&page.definition);
            let rejected = self.pinned.rejected.get(&page.pin) == Some(&now);
            let before = match self.pinned.pin(&page.pin) {
                Some(pin) if pin.digest == now => continue,
                Some(pin) => Some(pin.raw.clone()),
                None if rejected => None,
                None if page.private => continue,
                None if self.pinned.policy == PinPolicy::Hold && known.contains(&page.origin) => None,
                None => {
                    let (tool, raw) = (page.pin.clone(), page.definition.clone());
                    self.pinned.pins.push(Pin { tool, digest: now, raw });
                    continue;
                }
            };
            let held = rejected || self.pinned.policy == PinPolicy::Hold;
            let served = before.as_ref().filter(|_| held);
            let stand_in = |raw: &Raw| served.map_or_else(|| raw.clone(), |it| page.stand_in(it, raw));
            let (raw, steady) = (stand_in(&tool.raw), tool.steady.as_ref().map(stand_in));
            let now = page.definition.clone();
            let drift = Drift { before, now, renamed_from: None, moved_to: None, rejected, held };
            let tool = Tool { drift: Some(Box::new(drift)), steady, ..tool.with(raw, false) };
            self.tools[place] = Arc::new(tool);
        }
    }
}

impl OfPage {
    fn read(raw: &Raw, page: &Raw) -> Option<Self> {
        let (origin, tool) = (page.get_text("origin")?, page.get_text("tool")?);
        let description = page.get_text("description")?;
        let definition = Edit::of(raw).set_text("name", &tool).set_text("description", &description).done();
        let private = page.get("private").and_then(|it| it.bool()) == Some(true);
        Some(Self { pin: format!("{origin} {tool}"), origin, tool, definition, private })
    }

    /// An approved definition in the place of a listed one: under its name, behind what the list adds to descriptions.
    fn stand_in(&self, approved: &Raw, listed: &Raw) -> Raw {
        let text = |raw: &Raw, key| raw.get_text(key).unwrap_or_default();
        let (shown, own) = (text(listed, "description"), text(&self.definition, "description"));
        let prefix = shown.strip_suffix(own.trim_end()).unwrap_or_default().trim_end();
        let description = format!("{prefix} {}", text(approved, "description"));
        Edit::of(approved)
            .set_text("name", &text(listed, "name"))
            .set_text("description", description.trim())
            .done()
    }
}

impl Listing {
    fn read(raw: &Raw) -> Self {
        let meta = raw.get("_meta");
        let Some(listing) = meta.as_ref().and_then(|it| it.get(tabs::KEY_LISTING)) else {
            return Self { raw: raw.clone(), shown: Shown::Everywhere, steady: None, page: None };
        };
        let shown = listing.get_text("shown").and_then(|it| Shown::parse(&it)).unwrap_or_default();
        let meta = meta.map(|it| Edit::of(&it).remove(tabs::KEY_LISTING).done());
        let raw = match meta {
            Some(meta) if meta.members().next().is_some() => Edit::of(raw).set("_meta", meta).done(),
            _ => Edit::of(raw).remove("_meta").done(),
        };
        let steady = listing.get_text("plain").map(|it| Edit::of(&raw).set_text("description", &it).done());
        let page = listing.get("page").and_then(|it| OfPage::read(&raw, &it));
        Self { raw, shown, steady, page }
    }
}
