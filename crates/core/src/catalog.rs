//! Everything one person can see: each accepted name → route, and the sorted lists clients are given.
//!
//! A catalogue never changes; a refresh builds a new one and swaps it in. Names are looked up, never parsed apart.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use toolgrove_wire::legacy::{self, Version};
use toolgrove_wire::modern::{self, CacheHint};
use toolgrove_wire::{Edit, Raw};
use uuid::Uuid;

use crate::Error;
use crate::call::View;
use crate::event::ListKind;
use crate::instance::{Instance, Switch};
use crate::name::{self, Profile};
use crate::offer::{Offer, Tool};
use crate::{tabs, uri};

/// Where a tool call goes.
#[derive(Debug, Clone)]
pub struct Route {
    pub instance: Arc<Instance>,
    pub tool: Arc<Tool>,
}

/// Where a prompt or resource request goes, and the server's own name for it.
#[derive(Debug, Clone)]
pub struct Place {
    pub instance: Arc<Instance>,
    pub name: String,
}

#[derive(Debug, Default)]
pub struct Catalog {
    /// By slug, in lower case: slugs are unique without regard to case.
    offers: HashMap<String, Arc<Offer>>,
    tools: HashMap<String, Route>,
    prompts: HashMap<String, Place>,
    /// Slugs the person has and this caller was not granted.
    withheld: HashSet<String>,
    lists: Lists,
}

/// Lists in the form in which they are sent, made when first asked for.
#[derive(Debug, Default)]
struct Lists {
    all: [[List; 2]; 4],
    one: HashMap<String, [List; 4]>,
}

/// One list: its entries, and the result that holds them for each kind of client.
#[derive(Debug, Default)]
struct List {
    entries: OnceLock<Raw>,
    results: [OnceLock<Raw>; 4],
}

/// How long a client may keep a list whose changes it would hear of.
const CLIENT_TTL_MS: u64 = 60_000;

/// What a client of an era may see in a list.
#[derive(Debug, Clone, Copy)]
pub enum Form<'a> {
    /// It also hears who the hub is, and whether it would hear of changes.
    Modern {
        hub: &'a Raw,
        is_live: bool,
    },
    /// The last legacy revision.
    Legacy,
    Older,
}

impl Form<'_> {
    pub fn of_legacy(version: Version) -> Self {
        if version < Version::V2025_11_25 { Self::Older } else { Self::Legacy }
    }

    /// Where it is kept.
    fn place(self) -> usize {
        match self {
            Self::Modern { is_live, .. } => usize::from(is_live),
            Self::Legacy => 2,
            Self::Older => 3,
        }
    }

    fn result(self, kind: ListKind, entries: &Raw) -> Raw {
        let seen = match (kind, self) {
            (ListKind::Tools, Self::Modern { .. }) => modern::tools_for_client(entries),
            (ListKind::Tools, Self::Legacy) => legacy::tools_for_client(entries, Version::V2025_11_25),
            (ListKind::Tools, Self::Older) => legacy::tools_for_client(entries, Version::V2025_06_18),
            _ => entries.clone(),
        };
        let result = Raw::object(kind.member(), &seen);
        match self {
            Self::Modern { hub, is_live } => {
                let ttl_ms = if is_live { CLIENT_TTL_MS } else { 0 };
                modern::complete(&result, hub, Some(CacheHint { ttl_ms }))
            }
            Self::Legacy | Self::Older => result,
        }
    }
}

impl Catalog {
    pub fn build(offers: impl IntoIterator<Item = Arc<Offer>>) -> Self {
        let mut catalog = Self::default();
        let mut offers: Vec<_> = offers.into_iter().collect();
        offers.sort_by(|a, b| a.instance.slug.cmp(&b.instance.slug));
        for offer in &offers {
            let slug = offer.instance.slug.to_ascii_lowercase();
            catalog.lists.one.insert(slug.clone(), Default::default());
            catalog.offers.insert(slug, offer.clone());
            for tool in offer.routed() {
                let route = Route { instance: offer.instance.clone(), tool: tool.clone() };
                catalog.tools.insert(tool.public_name.clone(), route.clone());
                catalog.tools.insert(tool.single_name.clone(), route);
            }
            catalog.add_prompts(offer);
        }
        // The server's name may stand in the slug's place, unless that is somebody's real name.
        for offer in &offers {
            if offer.instance.server_name == offer.instance.slug {
                continue;
            }
            for tool in offer.listed() {
                let alias = format!("mcp__{}__{}", offer.instance.server_name, tool.name);
                let route = Route { instance: offer.instance.clone(), tool: tool.clone() };
                catalog.tools.entry(alias).or_insert(route);
            }
        }
        catalog
    }

    /// What is left for a caller who was granted only these instances. Names stay what they are in the whole.
    pub fn granted(&self, grants: &HashSet<Uuid>) -> Self {
        let has = |instance: &Instance| grants.contains(&instance.id);
        let (kept, left): (Vec<_>, Vec<_>) = self.offers.iter().partition(|it| has(&it.1.instance));
        let kept: HashMap<_, _> =
            kept.into_iter().map(|(slug, offer)| (slug.clone(), offer.clone())).collect();
        let one = kept.keys().map(|it| (it.clone(), Default::default())).collect();
        let tools = self.tools.iter().filter(|it| has(&it.1.instance));
        let prompts = self.prompts.iter().filter(|it| has(&it.1.instance));
        Self {
            offers: kept,
            tools: tools.map(|(name, route)| (name.clone(), route.clone())).collect(),
            prompts: prompts.map(|(name, place)| (name.clone(), place.clone())).collect(),
            withheld: left.into_iter().map(|it| it.0.clone()).collect(),
            lists: Lists { one, ..Lists::default() },
        }
    }

    fn add_prompts(&mut self, offer: &Arc<Offer>) {
        for name in offer.prompts.iter().filter_map(|it| it.get_text("name")) {
            for profile in Profile::ALL {
                let wanted = name::encode(profile, &offer.instance.slug, &name);
                let public = name::free_name(&wanted, |it| self.prompts.contains_key(it));
                let place = Place { instance: offer.instance.clone(), name: name.clone() };
                self.prompts.insert(public, place);
            }
        }
    }

    pub fn offers(&self) -> impl Iterator<Item = &Arc<Offer>> {
        self.offers.values()
    }

    /// What is worth showing to people: all but what is built in and has no tools.
    pub fn shown(&self) -> impl Iterator<Item = &Arc<Offer>> {
        self.offers().filter(|it| !it.is_hollow())
    }

    pub fn offer(&self, slug: &str) -> Option<&Arc<Offer>> {
        self.offers.get(&slug.to_ascii_lowercase())
    }

    /// Whether a name is held by any tool of this person.
    pub fn holds(&self, public_name: &str) -> bool {
        self.tools.contains_key(public_name)
    }

    /// The tool behind a name.
    pub fn tool(&self, view: &View, name: &str) -> Result<Route, Error> {
        let found = match view {
            View::All => self.tools.get(name).cloned(),
            View::One { slug } => {
                let offer = self.require(slug)?;
                offer.tool(name).map(|it| Route { instance: offer.instance.clone(), tool: it.clone() })
            }
        };
        let Some(route) = found else {
            return Err(match view {
                View::All => self.why_unknown(name),
                View::One { slug } if self.tabs().is_some_and(|it| it.instance.slug == *slug) => {
                    Error::TabNone { tool: name.to_owned(), reason: None }
                }
                View::One { .. } => Error::UnknownTool { tool: name.to_owned() },
            });
        };
        usable(&route.instance)?;
        if !route.tool.enabled {
            return Err(Error::ToolOff { tool: name.to_owned() });
        }
        Ok(route)
    }

    /// The tool a page of an app means: pages know a tool by the name its server gave it. None when no server has
    /// one; an error that names the candidates when several have.
    pub fn tool_of_app(&self, name: &str) -> Option<Result<Route, Error>> {
        let on = self.offers.values().filter(|it| it.instance.switch == Switch::On);
        let found: Vec<_> = on
            .filter_map(|offer| {
                let tool = offer.tool(name).filter(|it| it.enabled)?;
                Some(Route { instance: offer.instance.clone(), tool: tool.clone() })
            })
            .collect();
        match <[Route; 1]>::try_from(found) {
            Ok([route]) => Some(Ok(route)),
            Err(found) if found.is_empty() => None,
            Err(found) => {
                let mut names: Vec<_> = found.iter().map(|it| format!("`{}`", it.tool.public_name)).collect();
                names.sort();
                Some(Err(Error::Request(format!("several servers have `{name}`: {}", names.join(", ")))))
            }
        }
    }

    /// An unknown name in the words that help most.
    fn why_unknown(&self, name: &str) -> Error {
        if name.starts_with(tabs::PREFIX) && self.tabs().is_some() {
            return Error::TabNone { tool: name.to_owned(), reason: None };
        }
        if !name.starts_with("mcp_") {
            return Error::UnknownTool { tool: name.to_owned() };
        }
        match Profile::ALL.into_iter().find_map(|it| name::decode(it, name)) {
            None => Error::ToolName { tool: name.to_owned() },
            Some((slug, _)) if self.named(slug).is_none() => Error::UnknownServer { server: slug.to_owned() },
            Some((slug, _)) => match self.named(slug).map(|it| usable(&it.instance)) {
                Some(Err(off)) => off,
                _ => Error::UnknownTool { tool: name.to_owned() },
            },
        }
    }

    /// The offer a name of this form points at, though it may have no such tool.
    pub fn owner(&self, view: &View, name: &str) -> Option<&Arc<Offer>> {
        match view {
            View::One { slug } => self.offer(slug),
            View::All if name.starts_with(tabs::PREFIX) => self.tabs(),
            View::All => {
                let (slug, _) = Profile::ALL.into_iter().find_map(|it| name::decode(it, name))?;
                self.named(slug)
            }
        }
    }

    /// The person's browser tabs.
    pub fn tabs(&self) -> Option<&Arc<Offer>> {
        self.offer(tabs::SLUG).filter(|it| it.instance.is_tabs())
    }

    fn named(&self, word: &str) -> Option<&Arc<Offer>> {
        self.offer(word).or_else(|| self.offers.values().find(|it| it.instance.server_name == word))
    }

    /// An instance by slug, on or off.
    pub fn require(&self, slug: &str) -> Result<&Arc<Offer>, Error> {
        self.offer(slug).ok_or_else(|| {
            if self.withheld.contains(&slug.to_ascii_lowercase()) {
                return Error::GrantMissing { slug: slug.to_owned() };
            }
            Error::UnknownServer { server: slug.to_owned() }
        })
    }

    pub fn prompt(&self, view: &View, name: &str) -> Result<Place, Error> {
        let place = match view {
            View::All => self.prompts.get(name).cloned(),
            View::One { slug } => {
                let offer = self.require(slug)?;
                Some(Place { instance: offer.instance.clone(), name: name.to_owned() })
            }
        };
        let place = place.ok_or_else(|| Error::UnknownPrompt { prompt: name.to_owned() })?;
        usable(&place.instance)?;
        Ok(place)
    }

    pub fn resource(&self, view: &View, uri: &str) -> Result<Place, Error> {
        let unknown = || Error::UnknownResource { uri: uri.to_owned() };
        let (offer, name) = match view {
            View::All => {
                let (slug, original) = uri::unwrap(uri).ok_or_else(unknown)?;
                (self.offer(slug).ok_or_else(unknown)?, original)
            }
            View::One { slug } => (self.require(slug)?, uri.to_owned()),
        };
        usable(&offer.instance)?;
        Ok(Place { instance: offer.instance.clone(), name })
    }

    /// One list as a JSON array, sorted, without what is off.
    pub fn list(&self, view: &View, kind: ListKind, profile: Profile) -> Result<Raw, Error> {
        self.made(view, kind, profile).map(|(_, entries)| entries.clone())
    }

    /// The same as the result that a client gets.
    pub fn listing(
        &self,
        view: &View,
        kind: ListKind,
        profile: Profile,
        form: Form<'_>,
    ) -> Result<Raw, Error> {
        let (list, entries) = self.made(view, kind, profile)?;
        Ok(list.results[form.place()].get_or_init(|| form.result(kind, entries)).clone())
    }

    fn made(&self, view: &View, kind: ListKind, profile: Profile) -> Result<(&List, &Raw), Error> {
        match view {
            View::All => {
                let list = &self.lists.all[kind as usize][profile as usize];
                Ok((list, list.entries.get_or_init(|| self.merged(kind, profile))))
            }
            View::One { slug } => {
                let offer = self.require(slug)?;
                usable(&offer.instance)?;
                let list = &self.lists.one[&offer.instance.slug.to_ascii_lowercase()][kind as usize];
                Ok((list, list.entries.get_or_init(|| own(offer, kind))))
            }
        }
    }

    fn merged(&self, kind: ListKind, profile: Profile) -> Raw {
        let on = self.offers.values().filter(|it| it.instance.switch == Switch::On);
        let mut entries: Vec<(String, Raw)> = Vec::new();
        for offer in on {
            let slug = &offer.instance.slug;
            match kind {
                ListKind::Tools => entries.extend(offer.listed().filter(|it| it.enabled).map(|it| {
                    let name = it.public(profile);
                    let tool = uri::wrap_tool(slug, &it.raw);
                    (name.to_owned(), Edit::of(&tool).set_text("name", name).done())
                })),
                ListKind::Prompts => {}
                ListKind::Resources => entries.extend(offer.resources.iter().map(|it| {
                    let entry = uri::wrap_entry(slug, it, "uri");
                    (entry.get_text("uri").unwrap_or_default(), entry)
                })),
                ListKind::Templates => entries.extend(offer.templates.iter().map(|it| {
                    let entry = uri::wrap_entry(slug, it, "uriTemplate");
                    (entry.get_text("uriTemplate").unwrap_or_default(), entry)
                })),
            }
        }
        if kind == ListKind::Prompts {
            entries.extend(self.prompts.iter().filter_map(|(public, place)| {
                let in_profile = public.starts_with("mcp__") == (profile == Profile::Double);
                let offer = self
                    .offer(&place.instance.slug)
                    .filter(|_| in_profile && place.instance.switch == Switch::On)?;
                let raw =
                    offer.prompts.iter().find(|it| it.get_text("name").as_deref() == Some(&place.name))?;
                Some((public.clone(), Edit::of(raw).set_text("name", public).done()))
            }));
        }
        sorted(entries)
    }
}

fn own(offer: &Offer, kind: ListKind) -> Raw {
    let key = match kind {
        ListKind::Tools => {
            return sorted(
                offer
                    .listed_alone()
                    .filter(|it| it.enabled)
                    .map(|it| (it.name.clone(), it.raw.clone()))
                    .collect(),
            );
        }
        ListKind::Prompts => "name",
        ListKind::Resources => "uri",
        ListKind::Templates => "uriTemplate",
    };
    sorted(offer.list(kind).iter().map(|it| (it.get_text(key).unwrap_or_default(), it.clone())).collect())
}

fn sorted(mut entries: Vec<(String, Raw)>) -> Raw {
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let entries: Vec<Raw> = entries.into_iter().map(|it| it.1).collect();
    Raw::array(&entries)
}

/// Whether an instance may be used at all.
pub fn usable(instance: &Instance) -> Result<(), Error> {
    match &instance.switch {
        Switch::On => Ok(()),
        Switch::ServerOff => Err(Error::ServerOff { server: instance.server_name.clone() }),
        Switch::Duplicate { of } => {
            Err(Error::InstanceDuplicate { slug: instance.slug.clone(), of: of.clone() })
        }
        Switch::InstanceOff => Err(Error::InstanceOff { slug: instance.slug.clone() }),
    }
}
