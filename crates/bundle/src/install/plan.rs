//! What a change makes of a file and its tracking. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Change, Existing, Failed, How, Installed, Outcome, Package, State, candidates};
use crate::duplicates::{self, Standing};
use crate::error::{BundleError, Result};
use crate::files::Readers;
use crate::identity::{self, Definition, Identity};
use crate::mcp_json::{Document, Edit};
use crate::places::Form;
use crate::servers::{self, Managed, Tracking, iso};
use crate::variables::{Context, Env, Used};

pub(super) struct Planned {
    /// None: there is no file any more.
    pub(super) text: Option<String>,
    pub(super) tracking: Tracking,
    pub(super) readers: Readers,
    pub(super) outcome: Outcome,
}

pub(super) fn plan(state: &State<'_>, change: &Change<'_>, how: &How<'_>) -> Result<Planned> {
    let mut draft = Draft::new(state);
    match change {
        Change::Install(package) => draft.install(package, how)?,
        Change::Update(package) => draft.update(package, how)?,
        Change::Uninstall { bundle } => draft.uninstall(bundle),
        Change::Reconcile => {}
    }
    draft.settle();
    draft.finish(how)
}

/// What the hub itself runs of a bundle that goes into no file.
pub(super) fn without_target(change: &Change<'_>, how: &How<'_>) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    if let Change::Install(package) | Change::Update(package) = change {
        let ready = ready(package, how, None)?;
        if let (Change::Update(_), Some(failed)) = (change, ready.failed.first()) {
            return Err(BundleError::Manifest(failed.error.clone()));
        }
        outcome.warnings = ready.warnings;
        outcome.failed = ready.failed;
        outcome.installed = ready.servers.into_iter().map(|it| it.installed).collect();
    }
    Ok(outcome)
}

/// The file as it is going to be.
struct Draft<'a> {
    state: &'a State<'a>,
    entries: Vec<(String, Value)>,
    edits: Vec<(String, Edit)>,
    tracking: Tracking,
    readers: Readers,
    outcome: Outcome,
}

impl<'a> Draft<'a> {
    fn new(state: &'a State<'a>) -> Self {
        Self {
            state,
            entries: state.entries.clone(),
            edits: Vec::new(),
            tracking: state.tracking.clone(),
            readers: Readers::Unchanged,
            outcome: Outcome { file: state.target.file.clone(), ..Outcome::default() },
        }
    }

    fn install(&mut self, package: &Package<'_>, how: &How<'_>) -> Result<()> {
        let bundle = &package.manifest.id;
        self.check_scope(bundle)?;
        let ready = ready(package, how, Some(self.state.target.form))?;
        let mut taken: Vec<_> = ready.servers.iter().map(|it| it.installed.name.clone()).collect();
        taken.extend(self.tracking.of_bundle(bundle).map(str::to_owned));
        taken.retain(|it| self.has(it));
        let mut seen = BTreeSet::new();
        taken.retain(|it| seen.insert(it.clone()));
        let title = self.state.target.title();
        match how.existing {
            Existing::Refuse if !taken.is_empty() => {
                return Err(BundleError::Conflict { file: title, names: taken });
            }
            Existing::Overwrite => {
                self.outcome.warnings.extend(taken.iter().map(|it| format!("replaced `{it}`")));
                self.forget(bundle, &ready);
            }
            Existing::Skip => {
                let skipped = taken.iter().map(|it| format!("skipped `{it}`: already in {title}"));
                self.outcome.warnings.extend(skipped);
            }
            Existing::Refuse => {}
        }
        let skip = |it: &Ready| how.existing == Existing::Skip && taken.contains(&it.installed.name);
        self.add(package, how, ready, skip);
        Ok(())
    }

    fn update(&mut self, package: &Package<'_>, how: &How<'_>) -> Result<()> {
        let bundle = &package.manifest.id;
        self.check_scope(bundle)?;
        let ready = ready(package, how, Some(self.state.target.form))?;
        if let Some(failed) = ready.failed.first() {
            return Err(BundleError::Manifest(failed.error.clone()));
        }
        let own: BTreeSet<_> = self.tracking.of_bundle(bundle).map(str::to_owned).collect();
        let names = ready.servers.iter().map(|it| &it.installed.name);
        let taken: Vec<_> = names.filter(|it| !own.contains(*it) && self.has(it)).cloned().collect();
        if !taken.is_empty() && how.existing != Existing::Overwrite {
            return Err(BundleError::Conflict { file: self.state.target.title(), names: taken });
        }
        self.outcome.warnings.extend(taken.iter().map(|it| format!("replaced `{it}`")));
        let gone: BTreeSet<_> = own.into_iter().filter(|it| !self.has(it)).collect();
        self.forget(bundle, &ready);
        for name in &gone {
            if ready.servers.iter().any(|it| it.installed.name == *name) {
                self.outcome.warnings.push(format!("`{name}` was removed by hand and stays away"));
            }
        }
        let away = |it: &Ready| gone.contains(&it.installed.name);
        self.add(package, how, ready, away);
        Ok(())
    }

    /// Takes out what the bundle had and is not going to have.
    fn forget(&mut self, bundle: &str, ready: &AllReady) {
        let stays = |name: &str| ready.servers.iter().any(|it| it.installed.name == name);
        let names: Vec<_> = self.tracking.of_bundle(bundle).map(str::to_owned).collect();
        for name in names.into_iter().filter(|it| !stays(it)) {
            self.remove(&name);
        }
    }

    fn uninstall(&mut self, bundle: &str) {
        let names: Vec<_> = self.tracking.of_bundle(bundle).map(str::to_owned).collect();
        for name in names {
            self.remove(&name);
        }
    }

    fn remove(&mut self, name: &str) {
        self.tracking.managed_servers.remove(name);
        if self.has(name) {
            self.entries.retain(|(it, _)| it != name);
            self.edits.push((name.to_owned(), Edit::Remove));
            self.outcome.removed.push(name.to_owned());
        }
    }

    fn add(&mut self, package: &Package<'_>, how: &How<'_>, ready: AllReady, skip: impl Fn(&Ready) -> bool) {
        let scope = self.state.target.scope;
        let mut used = Used::default();
        let mut sensitive = false;
        for it in ready.servers.into_iter().filter(|it| !skip(it)) {
            let name = it.installed.name.clone();
            used.set.extend(it.used.set);
            used.unset.extend(it.used.unset);
            sensitive |= it.sensitive;
            let written = self.kept_by_hand(&name, &it.installed.definition, it.written);
            let managed = Managed {
                bundle_id: package.manifest.id.clone(),
                bundle_version: package.manifest.version.clone(),
                original_name: it.installed.server.clone(),
                original_config: it.installed.definition.clone(),
                installed_at: iso(how.now),
                scope,
                extra: Map::new(),
            };
            self.tracking.managed_servers.insert(name.clone(), managed);
            let value = Value::Object(written);
            match self.entries.iter_mut().find(|(it, _)| *it == name) {
                Some((_, entry)) => *entry = value.clone(),
                None => self.entries.push((name.clone(), value.clone())),
            }
            self.edits.push((name, Edit::Set(value)));
            self.outcome.installed.push(it.installed);
        }
        self.outcome.failed = ready.failed;
        self.outcome.warnings.extend(ready.warnings);
        self.warn(&used, sensitive);
    }

    fn warn(&mut self, used: &Used, sensitive: bool) {
        let names = |names: &BTreeSet<String>| {
            names.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
        };
        let warnings = &mut self.outcome.warnings;
        warnings.extend(used.unset.iter().map(|it| format!("`{it}` is not set; its place stays empty")));
        if !used.set.is_empty() || sensitive {
            self.readers = Readers::OwnerOnly;
            let title = self.state.target.title();
            let what = if used.set.is_empty() { "secret settings".to_owned() } else { names(&used.set) };
            warnings.push(format!("{title} holds the value of {what}; only you may read it"));
        }
    }

    /// What a person has added to an entry that is replaced: members that neither its old author's definition nor the
    /// new one knows.
    fn kept_by_hand(&self, name: &str, new: &Definition, mut written: Definition) -> Definition {
        let entry = self.entries.iter().find(|(it, _)| it == name).and_then(|(_, it)| it.as_object());
        let (Some(entry), Some(managed)) = (entry, self.tracking.managed_servers.get(name)) else {
            return written;
        };
        let old = &managed.original_config;
        let ours = duplicates::state(entry, Some(old)) == duplicates::State::Duplicate;
        for (key, value) in entry {
            let marked = ours && (key == "disabled" || key == "description");
            if !marked
                && !old.contains_key(key)
                && !new.contains_key(key)
                && key != self.state.target.form.url_key
            {
                written.insert(key.clone(), value.clone());
            }
        }
        written
    }

    /// Makes every entry of a bundle what it is among its twins.
    fn settle(&mut self) {
        let definitions: Vec<_> =
            self.entries.iter().map(|(name, it)| (name.as_str(), it.as_object())).collect();
        let candidates = candidates(&definitions, &self.tracking);
        let standings = duplicates::settle(&candidates);
        self.outcome.duplicates = duplicates::report(&candidates, &standings);
        let mut patches = Vec::new();
        for (place, (candidate, standing)) in candidates.iter().zip(&standings).enumerate() {
            let managed = self.tracking.managed_servers.get(candidate.name);
            let (Some(managed), Some(definition)) = (managed, definitions[place].1) else { continue };
            let active = match standing {
                Standing::DuplicateOf(first) => candidates[*first].name,
                Standing::Active | Standing::Off => "",
            };
            let patch = duplicates::patch(definition, &managed.original_config, *standing, active);
            if patch.is_empty() {
                continue;
            }
            if *standing == Standing::Active {
                self.outcome.enabled.push(candidate.name.to_owned());
            }
            patches.push((place, patch));
        }
        for (place, patch) in patches {
            let (name, entry) = &mut self.entries[place];
            if let Some(entry) = entry.as_object_mut() {
                duplicates::apply(entry, &patch);
            }
            match self.edits.iter_mut().find(|(it, _)| it == name) {
                Some((_, edit)) => *edit = Edit::Set(entry.clone()),
                None => self.edits.push((name.clone(), Edit::Patch(patch))),
            }
        }
    }

    fn finish(mut self, how: &How<'_>) -> Result<Planned> {
        let State { document, target, .. } = self.state;
        let adds = self.edits.iter().any(|(name, _)| self.state.entries.iter().all(|(it, _)| it != name));
        if adds && document.created().is_some() {
            self.tracking.created = document.created();
        } else if self.state.tracking.managed_servers.is_empty() {
            self.tracking.created = None;
        }
        let mut text = Some(document.edit(&self.edits)?);
        if self.state.bytes.is_none() && !adds {
            text = None;
        }
        if let (true, Some(created), Some(edited)) =
            (self.tracking.managed_servers.is_empty(), self.tracking.created, &text)
        {
            text = Document::parse(&target.title(), target.form.key, Some(edited.as_bytes()))?
                .retract(created)?;
        }
        let same_text = text.as_deref().map(str::as_bytes) == self.state.bytes.as_deref();
        self.outcome.changed =
            !same_text || self.tracking.managed_servers != self.state.tracking.managed_servers;
        if self.outcome.changed {
            self.tracking.last_updated = iso(how.now);
        }
        let Self { tracking, readers, outcome, .. } = self;
        Ok(Planned { text, tracking, readers, outcome })
    }

    fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|(it, _)| it == name)
    }

    /// One bundle, one scope.
    fn check_scope(&self, bundle: &str) -> Result<()> {
        let mut own = self.tracking.managed_servers.values().filter(|it| it.bundle_id == bundle);
        match own.find(|it| it.scope != self.state.target.scope) {
            Some(it) => Err(BundleError::Scope { bundle: bundle.to_owned(), scope: it.scope.as_str() }),
            None => Ok(()),
        }
    }
}

struct AllReady {
    servers: Vec<Ready>,
    failed: Vec<Failed>,
    warnings: Vec<String>,
}

struct Ready {
    installed: Installed,
    /// What goes into the file.
    written: Definition,
    used: Used,
    sensitive: bool,
}

/// Checks every server of a bundle and puts its variables in. Servers stand alone: one that is wrong spoils no other.
fn ready(package: &Package<'_>, how: &How<'_>, form: Option<Form>) -> Result<AllReady> {
    let Package { manifest, folder, origin, answers } = package;
    let mut all = AllReady { servers: Vec::new(), failed: Vec::new(), warnings: manifest.warnings.clone() };
    if origin.kind == "skills" {
        if !manifest.servers.is_empty() {
            all.warnings.push("servers of a `skills` source are not installed".into());
        }
        return Ok(all);
    }
    let mut context = Context::new(folder, &manifest.id, &manifest.version, how.environment);
    context.named.extend(manifest.variables(folder, how.home, answers)?);
    for (server, definition) in &manifest.servers {
        match one(package, how, form, &mut context, server, definition) {
            Ok(Some(ready)) => all.servers.push(ready),
            Ok(None) => {
                all.warnings.push(format!("`{server}` is left out: this client only starts local servers"));
            }
            Err(error) => all.failed.push(Failed { server: server.clone(), error }),
        }
    }
    Ok(all)
}

/// None: the client cannot reach such a server.
fn one(
    package: &Package<'_>,
    how: &How<'_>,
    form: Option<Form>,
    context: &mut Context<'_>,
    server: &str,
    definition: &Value,
) -> std::result::Result<Option<Ready>, String> {
    servers::check_key(server)?;
    let definition =
        definition.as_object().ok_or_else(|| format!("server `{server}`: expected an object"))?;
    identity::check(server, definition)?;
    context.env = Env::Kept;
    let ready = context.fill(definition).definition;
    context.env = how.env;
    let filled = context.fill(definition);
    // What the hub could not run is not worth writing anywhere. Its limit on descriptions is its own.
    let mut checked = filled.definition.clone();
    checked.remove("description");
    toolgrove_core::import::entry(server, checked).map_err(|it| format!("server `{server}`: {it}"))?;
    let identity = Identity::of(&filled.definition).ok_or("no identity")?;
    let remote = matches!(identity, Identity::Remote { .. });
    let mut written = filled.definition;
    if let Some(form) = form {
        if remote && !form.remote {
            return Ok(None);
        }
        if remote && form.url_key != "url" {
            written = written.into_iter().map(|(key, value)| (url_key(key, form), value)).collect();
        }
    }
    Ok(Some(Ready {
        installed: Installed {
            name: servers::name(&package.manifest.id, server),
            server: server.to_owned(),
            identity: identity.to_string(),
            definition: definition.clone(),
            ready,
        },
        written,
        used: filled.used,
        sensitive: speaks_of_secrets(package, definition),
    }))
}

fn url_key(key: String, form: Form) -> String {
    if key == "url" { form.url_key.to_owned() } else { key }
}

/// Whether a setting that is to be kept secret goes into it.
fn speaks_of_secrets(package: &Package<'_>, definition: &Definition) -> bool {
    let text = Value::Object(definition.clone()).to_string();
    package.manifest.settings.iter().any(|it| {
        it.sensitive
            && (package.answers.contains_key(&it.key) || it.default.is_some())
            && text.contains(&format!("${{user_config.{}}}", it.key))
    })
}
