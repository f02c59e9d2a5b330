//! What one instance offers, as it was last listed: its tools with their names and switches, prompts, resources.

mod tabs;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use toolgrove_wire::Raw;
use ts_rs::TS;

use self::tabs::OfPage;
use crate::call::{Discovery, LegacyTask};
use crate::event::ListKind;
use crate::header::{self, Annotation};
use crate::instance::{Instance, Transport};
use crate::name::{self, Profile};
use crate::pins::{self, Drift, Pin, PinPolicy, Pinned, Verdict};
use crate::schema::Validator;
use crate::tabs::PREFIX;

/// An instance and its lists. Immutable: a refresh or a switch makes a new one that shares what did not change.
#[derive(Debug, Clone)]
pub struct Offer {
    pub instance: Arc<Instance>,
    /// In the order of first listing. Holds tools that are off, and those that are gone, whose names stay theirs.
    pub tools: Vec<Arc<Tool>>,
    pub prompts: Vec<Raw>,
    pub resources: Vec<Raw>,
    pub templates: Vec<Raw>,
    pub capabilities: Raw,
    pub server_info: Option<Raw>,
    pub instructions: Option<String>,
    /// Unix milliseconds; none before the first listing.
    pub fetched_at: Option<i64>,
    /// List entries that could not be used, each as a sentence.
    pub problems: Vec<String>,
    /// What a person has said of tools that the server has not listed yet.
    pub settings: HashMap<String, (bool, Permission)>,
    /// What was approved, and what is done about the rest.
    pub pinned: Pinned,
}

/// One tool of one instance.
#[derive(Debug)]
pub struct Tool {
    pub name: String,
    /// Its name in profile `double` and in profile `single`. Given once, kept for good.
    pub public_name: String,
    pub single_name: String,
    /// The definition as the server sent it.
    pub raw: Raw,
    pub enabled: bool,
    pub permission: Permission,
    /// No longer listed by the server.
    pub gone: bool,
    /// It is not what was approved.
    pub drift: Option<Box<Drift>>,
    pub shown: Shown,
    /// The definition without what changes all the time and is no news.
    steady: Option<Raw>,
    /// What its page says of it, if it is a tool of a page.
    page: Option<OfPage>,
    validator: OnceLock<Option<Validator>>,
    hints: OnceLock<Hints>,
}

/// In which lists a tool stands. It can be called either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shown {
    #[default]
    Everywhere,
    /// Only where everything is.
    Together,
    /// Only where its instance is alone.
    Alone,
    Never,
}

impl Shown {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Everywhere => "everywhere",
            Self::Together => "together",
            Self::Alone => "alone",
            Self::Never => "never",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Everywhere, Self::Together, Self::Alone, Self::Never]
            .into_iter()
            .find(|it| it.as_str() == word)
    }
}

/// What a definition says about how its tool is called, read once.
#[derive(Debug)]
struct Hints {
    repeatable: bool,
    legacy_task: LegacyTask,
    annotations: Vec<Annotation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    #[default]
    Allow,
    Ask,
    Block,
}

impl Permission {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Block => "block",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Allow, Self::Ask, Self::Block].into_iter().find(|it| it.as_str() == text)
    }
}

impl Tool {
    pub fn new(name: String, names: (String, String), raw: Raw) -> Self {
        Self {
            name,
            public_name: names.0,
            single_name: names.1,
            raw,
            enabled: true,
            permission: Permission::Allow,
            gone: false,
            drift: None,
            shown: Shown::Everywhere,
            steady: None,
            page: None,
            validator: OnceLock::new(),
            hints: OnceLock::new(),
        }
    }

    pub fn switched(&self, enabled: bool, permission: Permission) -> Self {
        let drift = self.drift.clone();
        Self { enabled, permission, drift, ..self.with(self.raw.clone(), self.gone) }
    }

    fn with(&self, raw: Raw, gone: bool) -> Self {
        Self {
            name: self.name.clone(),
            public_name: self.public_name.clone(),
            single_name: self.single_name.clone(),
            raw,
            enabled: self.enabled,
            permission: self.permission,
            gone,
            drift: None,
            shown: self.shown,
            steady: self.steady.clone(),
            page: self.page.clone(),
            validator: OnceLock::new(),
            hints: OnceLock::new(),
        }
    }

    /// The tool as its server lists it, whatever is served in its place. None for one that is only kept.
    pub fn as_listed(&self) -> Option<&Raw> {
        match &self.drift {
            Some(drift) if drift.moved_to.is_some() => None,
            Some(drift) => Some(&drift.now),
            None => Some(&self.raw).filter(|_| !self.gone),
        }
    }

    /// What it is called among the pins.
    pub fn pinned_as(&self) -> &str {
        self.page.as_ref().map_or(&self.name, |it| &it.pin)
    }

    /// Whether calls are refused until somebody has looked at what changed.
    pub fn is_held(&self) -> bool {
        self.drift.as_ref().is_some_and(|it| it.held)
    }

    /// Whether nobody has approved anything under this name, so that it is not shown.
    fn is_hidden(&self) -> bool {
        self.drift.as_ref().is_some_and(|it| it.held && (it.before.is_none() || it.renamed_from.is_some()))
    }

    /// Whether a client would call it the same tool.
    fn reads_like(&self, other: &Self) -> bool {
        let steady = |it: &Self| it.steady.clone().unwrap_or_else(|| it.raw.clone());
        self.shown == other.shown
            && (self.raw == other.raw
                || ((self.steady.is_some() || other.steady.is_some()) && steady(self) == steady(other)))
    }

    pub fn gone(self) -> Self {
        Self { gone: true, ..self }
    }

    pub fn public(&self, profile: Profile) -> &str {
        match profile {
            Profile::Double => &self.public_name,
            Profile::Single => &self.single_name,
        }
    }

    pub fn description(&self) -> String {
        self.raw.get_text("description").unwrap_or_default()
    }

    /// The address of the tool's first icon.
    pub fn icon(&self) -> Option<String> {
        self.raw.get("icons")?.items().next()?.get_text("src")
    }

    /// Checks arguments against the tool's schema, compiled on first use. A schema that does not compile checks
    /// nothing: the server knows its own tool best.
    pub fn check(&self, arguments: &Raw) -> Result<(), String> {
        let validator = self.validator.get_or_init(|| {
            let schema = self.raw.get("inputSchema")?.to_value();
            Validator::compile(&schema)
                .inspect_err(
                    |problem| tracing::warn!(tool = self.public_name, %problem, "schema is not checked"),
                )
                .ok()
        });
        match validator {
            Some(validator) => validator.check_raw(arguments),
            None => Ok(()),
        }
    }

    fn hints(&self) -> &Hints {
        self.hints.get_or_init(|| {
            let said = |hint: &str| {
                self.raw.get("annotations").and_then(|it| it.get(hint)).and_then(|it| it.bool()) == Some(true)
            };
            let support = self.raw.get("execution").and_then(|it| it.get_text("taskSupport"));
            let schema = self.raw.get("inputSchema");
            Hints {
                repeatable: said("readOnlyHint") || said("idempotentHint"),
                legacy_task: match support.as_deref() {
                    Some("required") => LegacyTask::Required,
                    _ => LegacyTask::No,
                },
                annotations: schema.and_then(|it| header::annotations(&it).ok()).unwrap_or_default(),
            }
        })
    }

    /// Whether a server of the last legacy revision runs this tool only as a task.
    pub fn legacy_task(&self) -> LegacyTask {
        self.hints().legacy_task
    }

    /// What this tool wants repeated in headers.
    pub fn annotations(&self) -> &[Annotation] {
        &self.hints().annotations
    }

    /// The arguments this tool wants repeated in headers.
    pub fn param_headers(&self, arguments: &Raw) -> Vec<(String, String)> {
        header::values(self.annotations(), arguments)
    }

    /// Whether calling it twice does no harm, by the tool's own word.
    pub fn repeatable(&self) -> bool {
        self.hints().repeatable
    }
}

impl Offer {
    pub fn new(instance: Arc<Instance>) -> Self {
        Self {
            instance,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            capabilities: Raw::empty_object(),
            server_info: None,
            instructions: None,
            fetched_at: None,
            problems: Vec::new(),
            settings: HashMap::new(),
            pinned: Pinned::default(),
        }
    }

    /// The tool with this name of the server's own.
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.iter().find(|it| it.name == name && !it.gone)
    }

    /// Tools that the server has now, on or off, without those that nobody has approved. The hub's own are listed
    /// only where they are asked for.
    pub fn listed(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.offered().filter(|_| !self.instance.is_own())
    }

    /// The same for whoever chooses among all servers: a person at the registry, a model that is given a server.
    pub fn offered(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.present().filter(|it| !it.is_hidden() && matches!(it.shown, Shown::Everywhere | Shown::Together))
    }

    /// The same where the instance is alone.
    pub fn listed_alone(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.present().filter(|it| !it.is_hidden() && matches!(it.shown, Shown::Everywhere | Shown::Alone))
    }

    /// What can be called where everything is.
    pub fn routed(&self) -> impl Iterator<Item = &Arc<Tool>> {
        let is_routed = |it: &Tool| match it.shown {
            Shown::Everywhere | Shown::Together => true,
            Shown::Alone | Shown::Never => it.name.starts_with(PREFIX),
        };
        self.present().filter(move |it| is_routed(it))
    }

    /// The same with all that are held back: their names exist, if only to be refused.
    pub fn present(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.iter().filter(|it| !it.gone)
    }

    /// Tools that are not what was approved. What has several names is here once.
    pub fn drifts(&self) -> impl Iterator<Item = (&Arc<Tool>, &Drift)> {
        let mut seen = HashSet::new();
        self.present().filter_map(move |it| {
            let drift = it.drift.as_deref().filter(|it| it.moved_to.is_none())?;
            seen.insert((it.pinned_as(), drift.now.as_str())).then_some((it, drift))
        })
    }

    /// The same without those that somebody has decided on.
    pub fn drifted(&self) -> impl Iterator<Item = (&Arc<Tool>, &Drift)> {
        self.drifts().filter(|it| !it.1.rejected)
    }

    pub fn declares(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some()
    }

    /// This offer with a fresh tool list. Known tools keep names and switches, new ones start on, missing ones are
    /// marked gone. `is_taken` says which public names other instances of the person hold.
    pub fn with_tools(&self, listed: &[Raw], is_taken: impl Fn(&str) -> bool, now: i64) -> Self {
        if self.instance.is_tabs() {
            return self.with_tab_tools(listed, now);
        }
        let mut tools: Vec<Arc<Tool>> = self.tools.iter().map(unpinned).collect();
        let mut places: HashMap<String, usize> =
            tools.iter().enumerate().map(|(place, it)| (it.name.clone(), place)).collect();
        let mut names: HashSet<String> =
            tools.iter().flat_map(|it| [it.public_name.clone(), it.single_name.clone()]).collect();
        let mut seen = vec![false; tools.len()];
        let mut problems = Vec::new();
        for (row, raw) in listed.iter().enumerate() {
            let name = match usable(raw) {
                Ok(name) => name,
                Err(problem) => {
                    problems.push(format!("tool {} of the list was left out: {problem}", row + 1));
                    continue;
                }
            };
            match places.get(&name) {
                Some(place) if seen[*place] => {
                    problems
                        .push(format!("tool {} of the list was left out: `{name}` is listed twice", row + 1));
                }
                Some(place) => {
                    seen[*place] = true;
                    if tools[*place].raw != *raw || tools[*place].gone {
                        tools[*place] = Arc::new(tools[*place].with(raw.clone(), false));
                    }
                }
                None => {
                    let mut free = |profile| {
                        let wanted = name::encode(profile, &self.instance.slug, &name);
                        let name = name::free_name(&wanted, |it| is_taken(it) || names.contains(it));
                        names.insert(name.clone());
                        name
                    };
                    let public = (free(Profile::Double), free(Profile::Single));
                    places.insert(name.clone(), tools.len());
                    let (enabled, permission) =
                        self.settings.get(&name).copied().unwrap_or((true, Permission::Allow));
                    tools.push(Arc::new(Tool {
                        enabled,
                        permission,
                        ..Tool::new(name, public, raw.clone())
                    }));
                    seen.push(true);
                }
            }
        }
        for (tool, seen) in tools.iter_mut().zip(seen) {
            if !seen && !tool.gone {
                *tool = Arc::new(tool.with(tool.raw.clone(), true));
            }
        }
        Self { tools, problems, fetched_at: Some(now), ..self.clone() }.held_to_pins()
    }

    /// This offer, whose tools are as listed, held against what was approved. The first list is approved as it is.
    pub fn held_to_pins(mut self) -> Self {
        // What the hub brings is as trusted as the hub.
        if self.pinned.policy == PinPolicy::Off || self.instance.is_own() {
            return self;
        }
        let listed: Vec<Raw> = self.present().map(|it| it.raw.clone()).collect();
        if self.pinned.pins.is_empty() && self.pinned.rejected.is_empty() {
            self.pinned.pins = listed.iter().filter_map(Pin::of).collect();
            return self;
        }
        let judged = pins::judge(&self.pinned.pins, &listed).tools;
        for ((name, verdict), now) in judged.into_iter().zip(&listed) {
            let (before, renamed_from) = match verdict {
                Verdict::Same => continue,
                Verdict::Changed => (self.pinned.pin(&name), None),
                Verdict::Renamed { from } => (self.pinned.pin(&from), Some(from)),
                Verdict::New if self.pinned.policy == PinPolicy::Warn => {
                    self.pinned.pins.extend(Pin::of(now));
                    continue;
                }
                Verdict::New => (None, None),
            };
            let rejected = self.pinned.rejects(&name, now);
            let drift = Drift {
                before: before.map(|it| it.raw.clone()),
                now: now.clone(),
                renamed_from,
                moved_to: None,
                rejected,
                held: rejected || self.pinned.policy == PinPolicy::Hold,
            };
            self.drift(&name, drift);
        }
        self
    }

    fn drift(&mut self, name: &str, drift: Drift) {
        if let (true, Some(from), Some(before)) = (drift.held, &drift.renamed_from, &drift.before) {
            let moved = Drift { moved_to: Some(name.to_owned()), renamed_from: None, ..drift.clone() };
            if let Some(old) = self.tools.iter_mut().find(|it| it.name == *from) {
                *old = Arc::new(Tool { drift: Some(Box::new(moved)), ..old.with(before.clone(), false) });
            }
        }
        if let Some(tool) = self.tools.iter_mut().find(|it| it.name == name) {
            let served = match &drift.before {
                Some(before) if drift.held && drift.renamed_from.is_none() => before.clone(),
                _ => drift.now.clone(),
            };
            *tool = Arc::new(Tool { drift: Some(Box::new(drift)), ..tool.with(served, false) });
        }
    }

    /// This offer after the server has told everything about itself. A list that failed stays as it was.
    pub fn with_discovery(&self, found: &Discovery, is_taken: impl Fn(&str) -> bool, now: i64) -> Self {
        let mut offer = self.clone();
        offer.capabilities = found.capabilities.clone();
        offer.server_info.clone_from(&found.server_info);
        offer.instructions.clone_from(&found.instructions);
        for (kind, list) in &found.lists {
            let Ok(items) = list else { continue };
            offer = match kind {
                ListKind::Tools => offer.with_tools(items, &is_taken, now),
                _ => offer.with_list(*kind, items.clone()),
            };
        }
        offer
    }

    /// This offer with another list than the tools'.
    pub fn with_list(mut self, kind: ListKind, items: Vec<Raw>) -> Self {
        match kind {
            ListKind::Tools => {}
            ListKind::Prompts => self.prompts = items,
            ListKind::Resources => self.resources = items,
            ListKind::Templates => self.templates = items,
        }
        self
    }

    pub fn list(&self, kind: ListKind) -> &[Raw] {
        match kind {
            ListKind::Tools => &[],
            ListKind::Prompts => &self.prompts,
            ListKind::Resources => &self.resources,
            ListKind::Templates => &self.templates,
        }
    }

    /// Whether it is part of the hub and has nothing to offer, so that it would only puzzle people.
    pub fn is_hollow(&self) -> bool {
        self.instance.transport == Transport::Builtin && self.listed().next().is_none()
    }

    /// How old the lists are; none before the first listing.
    pub fn age_ms(&self, now: i64) -> Option<i64> {
        self.fetched_at.map(|it| now - it)
    }

    /// Whether the tools are the same, switches included.
    pub fn same_tools(&self, other: &Self) -> bool {
        let same = |a: &Arc<Tool>, b: &Arc<Tool>| {
            Arc::ptr_eq(a, b)
                || (a.name == b.name
                    && a.reads_like(b)
                    && a.gone == b.gone
                    && a.enabled == b.enabled
                    && a.drift == b.drift
                    && a.permission == b.permission)
        };
        self.tools.len() == other.tools.len() && self.tools.iter().zip(&other.tools).all(|(a, b)| same(a, b))
    }

    /// Whether the server lists the same tools, whatever is switched.
    pub fn lists_same_tools(&self, other: &Self) -> bool {
        let same = |(a, b): (&Arc<Tool>, &Arc<Tool>)| match (&a.steady, &b.steady) {
            _ if Arc::ptr_eq(a, b) => true,
            (None, None) => a.as_listed() == b.as_listed(),
            _ => a.reads_like(b) && a.gone == b.gone,
        };
        self.tools.len() == other.tools.len() && self.tools.iter().zip(&other.tools).all(same)
    }

    /// Whether nothing but the age differs.
    pub fn same_as(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&Arc<Tool>, &Arc<Tool>)| Arc::ptr_eq(a, b) || a.raw == b.raw;
        Arc::ptr_eq(&self.instance, &other.instance)
            && self.same_tools(other)
            && self.tools.iter().zip(&other.tools).all(is_same)
            && self.problems == other.problems
            && self.capabilities == other.capabilities
            && self.instructions == other.instructions
            && self.server_info == other.server_info
            && ListKind::ALL.iter().all(|it| self.list(*it) == other.list(*it))
    }
}

/// A tool as its server listed it.
fn unpinned(tool: &Arc<Tool>) -> Arc<Tool> {
    match &tool.drift {
        None => tool.clone(),
        Some(drift) if drift.moved_to.is_some() => Arc::new(tool.with(tool.raw.clone(), true)),
        Some(drift) => Arc::new(tool.with(drift.now.clone(), false)),
    }
}

/// The name of a list entry, or why it cannot be used.
fn usable(raw: &Raw) -> Result<String, String> {
    let name = raw.get_text("name").ok_or("it has no name")?;
    if name.is_empty() {
        return Err("its name is empty".into());
    }
    match raw.get("inputSchema") {
        Some(schema) if !schema.is_object() => Err(format!("the inputSchema of `{name}` is not an object")),
        _ => Ok(name),
    }
}
