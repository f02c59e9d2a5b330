//! Bundles come, change and go: planned, written to the file, then to the registry and the hub.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use toolgrove_bundle::BundleError;
use toolgrove_bundle::install::{Arrival, How, Installed, Outcome, Site, Verb};
use toolgrove_bundle::manifest::{Answers, Manifest, Setting, SettingKind};
use toolgrove_bundle::places::{Home, System, Target};
use toolgrove_core::call::Caller;
use toolgrove_core::catalog::usable;
use toolgrove_core::config::Mode;
use toolgrove_core::import::{self, Entry};
use toolgrove_core::{Error, Secret, name};
use toolgrove_store::{Arrived, BundleRow, ServerRow};
use ts_rs::TS;
use uuid::Uuid;

use super::order::Order;
use super::settle::ORIGIN;
use super::source::{Fetched, stage};
use super::{Plan, on_disk, refused};
use crate::App;
use crate::problem::store_error;
use crate::registry::rows::{self, Owner};
use crate::workspace::check_new;

/// How long the servers of a new bundle may take to list their tools.
const FIRST_LISTING: Duration = Duration::from_secs(10);
/// Longer descriptions are an author's, not the registry's.
const DESCRIPTION_MAX: usize = 255;
/// Under which key of its `metadata` a server says what its bundle calls it.
pub(crate) const KEY: &str = "bundleServer";

/// What was installed or updated, and how its servers took it.
#[derive(Debug, Serialize, TS)]
#[ts(rename = "BundleDone")]
pub struct Done {
    #[serde(flatten)]
    pub plan: Plan,
    pub started: Vec<Started>,
}

#[derive(Debug, Serialize, TS)]
pub struct Started {
    pub server: String,
    pub slug: String,
    pub instance: Uuid,
    /// None: it was not asked, or did not answer.
    pub tools: Option<usize>,
    pub error: Option<String>,
}

/// What was taken away.
#[derive(Debug, Default, Serialize)]
pub struct Gone {
    pub id: String,
    /// Entries of the file.
    pub removed: Vec<String>,
    /// Entries of the registry.
    pub servers: usize,
    /// Duplicates that take their place.
    pub enabled: Vec<String>,
    pub warnings: Vec<String>,
}

/// A bundle that is about to come, or to be replaced.
struct Coming {
    fetched: Fetched,
    target: Option<Target>,
    order: Order,
    before: Option<BundleRow>,
    verb: Verb,
}

impl App {
    /// What an install would do; with `id`, what an update of that bundle would. Nothing is changed.
    pub async fn plan_bundle(
        self: &Arc<Self>,
        caller: &Caller,
        order: Order,
        id: Option<&str>,
    ) -> Result<Plan, Error> {
        let mut coming = self.coming(caller, order, id).await?;
        let given = coming.order.settings.clone();
        let manifest = &coming.fetched.staged.manifest;
        let problem = manifest.variables(coming.fetched.staged.folder(), &self.any_home(), &given).err();
        coming.order.settings = with_placeholders(&manifest.settings, &given);
        let (mut plan, _) = self.planned(caller, coming).await?;
        plan.problem = problem.map(|it| it.to_string());
        Ok(plan)
    }

    pub async fn install_bundle(self: &Arc<Self>, caller: &Caller, order: Order) -> Result<Done, Error> {
        let _alone = self.bundles.alone.lock().await;
        let coming = self.coming(caller, order, None).await?;
        self.put_bundle(caller, coming).await
    }

    /// Another version in the place of the one that is there.
    pub async fn update_bundle(
        self: &Arc<Self>,
        caller: &Caller,
        id: &str,
        order: Order,
    ) -> Result<Done, Error> {
        let _alone = self.bundles.alone.lock().await;
        let coming = self.coming(caller, order, Some(id)).await?;
        self.put_bundle(caller, coming).await
    }

    /// Takes a bundle out of the file, the registry and off the shelf.
    pub async fn uninstall_bundle(self: &Arc<Self>, caller: &Caller, id: &str) -> Result<Gone, Error> {
        let _alone = self.bundles.alone.lock().await;
        let mut gone = Gone { id: id.to_owned(), ..Gone::default() };
        if caller.grants.is_some() {
            return Err(Error::TokenMayNot);
        }
        let row = self.store.bundle(caller.person, id).await.map_err(store_error)?;
        let row = row.ok_or_else(|| unknown(id))?;
        let target = Order::default().again(row.target.as_ref()).target(self)?;
        let outcome = self.take_out(caller, &row.id, &row.version, target).await?;
        let instances = self.store.all_instances().await.map_err(store_error)?;
        let servers = self.store.remove_bundle(caller.person, id).await.map_err(store_error)?;
        for row in instances.iter().filter(|it| servers.contains(&it.server_id)) {
            self.hub.remove(row.id).await;
            self.keyring.forget(row.id);
        }
        self.settle_duplicates(caller.person).await?;
        gone.servers = servers.len();
        (gone.removed, gone.enabled, gone.warnings) = (outcome.removed, outcome.enabled, outcome.warnings);
        Ok(gone)
    }

    async fn coming(
        self: &Arc<Self>,
        caller: &Caller,
        mut order: Order,
        id: Option<&str>,
    ) -> Result<Coming, Error> {
        if caller.grants.is_some() {
            return Err(Error::TokenMayNot);
        }
        let known = match id {
            Some(id) => {
                let row = self.store.bundle(caller.person, id).await.map_err(store_error)?;
                Some(row.ok_or_else(|| unknown(id))?)
            }
            None => None,
        };
        if let Some(row) = &known {
            if order.source.is_empty() {
                order.source.clone_from(&row.source);
            }
            order = order.again(row.target.as_ref());
            let mut answers = answers_of(row);
            answers.extend(std::mem::take(&mut order.settings));
            order.settings = answers;
        }
        if order.source.is_empty() {
            return Err(Error::RequestMissing(vec!["source".into()]));
        }
        let target = order.target(self)?;
        let wanted = order.bundle.as_deref();
        let fetched = stage(self, caller, &order.source, wanted).await?;
        let manifest = &fetched.staged.manifest;
        if known.is_some() {
            // An answer to a question that is no longer asked goes.
            order.settings.retain(|key, _| manifest.settings.iter().any(|it| it.key == *key));
        }
        let before = match &known {
            Some(row) if row.id != manifest.id => {
                let (found, expected) = (manifest.id.clone(), row.id.clone());
                return Err(refused(BundleError::OtherId { found, expected }));
            }
            Some(row) => Some(row.clone()),
            None => self.store.bundle(caller.person, &manifest.id).await.map_err(store_error)?,
        };
        if let (Some(row), None) = (&before, &known) {
            check_again(row, &order, target.as_ref())?;
        }
        let verb = if known.is_some() { Verb::Update } else { Verb::Install };
        Ok(Coming { fetched, target, order, before, verb })
    }

    /// What would be done, and everything needed to do it.
    async fn planned(self: &Arc<Self>, caller: &Caller, coming: Coming) -> Result<(Plan, Coming), Error> {
        let shelf = self.bundle_shelf(caller);
        let (outcome, coming) = on_disk(self, move |app| {
            let Coming { fetched, target, order, before, verb } = coming;
            let home = app.any_home();
            let environment = app.bundle_env();
            let how = how(&order, &home, &environment);
            let site = Site { disk: &app.bundles.disk, shelf: &shelf, target: target.as_ref() };
            let arrival =
                Arrival { staged: fetched.staged, origin: &fetched.origin, answers: &order.settings };
            let outcome = site.preview(&arrival, verb, &how)?;
            let fetched = Fetched { staged: arrival.staged, ..fetched };
            Ok((outcome, Coming { fetched, target, order, before, verb }))
        })
        .await?;
        let workspace = self.home(caller).await?;
        let mut plan = Plan::new(
            &coming.order.source,
            &coming.fetched.staged.manifest,
            outcome.clone(),
            coming.fetched.staged.sha256.clone(),
        );
        for installed in &outcome.installed {
            let entry = entry(installed, &installed.server).map_err(Error::ServerConfig)?;
            check_new(caller, &workspace, rows::transport_kind(&entry.transport), &installed.server)?;
        }
        plan.warnings.splice(0..0, coming.fetched.warnings.iter().cloned());
        plan.installed = coming.before.as_ref().map(|it| it.version.clone());
        Ok((plan, coming))
    }

    async fn put_bundle(self: &Arc<Self>, caller: &Caller, coming: Coming) -> Result<Done, Error> {
        let agreed = coming.order.digest.clone();
        let (plan, coming) = self.planned(caller, coming).await?;
        if agreed.is_some_and(|it| it != plan.digest) {
            return Err(Error::BundleChanged { detail: "it is not what was looked at any more".into() });
        }
        let shelf = self.bundle_shelf(caller);
        let manifest = coming.fetched.staged.manifest.clone();
        let sha256 = coming.fetched.staged.sha256.clone();
        let (order, target) = (coming.order.clone(), coming.target.clone());
        let old = coming.before.as_ref().map(|it| it.version.clone());
        let placed = on_disk(self, move |app| {
            let Coming { fetched, target, order, verb, .. } = coming;
            let home = app.any_home();
            let environment = app.bundle_env();
            let how = how(&order, &home, &environment);
            let site = Site { disk: &app.bundles.disk, shelf: &shelf, target: target.as_ref() };
            let arrival =
                Arrival { staged: fetched.staged, origin: &fetched.origin, answers: &order.settings };
            match (verb, old) {
                (Verb::Update, Some(old)) => site.update(arrival, &old, &how),
                _ => site.install(arrival, &how),
            }
        })
        .await?;
        let registered =
            self.register_bundle(caller, &manifest, &order, target.as_ref(), sha256, &placed.outcome).await;
        let instances = match registered {
            Ok(instances) => instances,
            Err(error) => {
                // What the registry cannot have, the file must not have either.
                on_disk(self, |_| placed.take_back()).await?;
                return Err(error);
            }
        };
        let outcome = on_disk(self, |_| Ok(placed.done())).await?;
        let started = self.start_bundle(caller.person, instances).await?;
        Ok(Done { plan: Plan { warnings: outcome.warnings, failed: outcome.failed, ..plan }, started })
    }

    /// Writes a bundle and its servers to the store. Returns their instances, by the bundle's names for them.
    async fn register_bundle(
        &self,
        caller: &Caller,
        manifest: &Manifest,
        order: &Order,
        target: Option<&Target>,
        sha256: Option<String>,
        outcome: &Outcome,
    ) -> Result<Vec<(String, Uuid)>, Error> {
        let person = caller.person;
        let origin = format!("{ORIGIN}{}", manifest.id);
        let owner = Owner { person, workspace: self.home(caller).await?.id, origin: origin.clone() };
        let servers = self.store.servers_of(person).await.map_err(store_error)?;
        let instances = self.store.instances_of(person).await.map_err(store_error)?;
        let (ours, others): (Vec<_>, Vec<_>) =
            servers.into_iter().partition(|it| it.origin == origin && it.owner_id == Some(person));
        let mut ours: HashMap<String, ServerRow> = ours
            .into_iter()
            .map(|it| (it.metadata[KEY].as_str().unwrap_or(&it.name).to_owned(), it))
            .collect();
        let mut slugs: Vec<String> = instances.iter().map(|it| it.slug.clone()).collect();
        let (mut arrived, mut named) = (Arrived::default(), Vec::new());
        for installed in &outcome.installed {
            let key = &installed.server;
            let known = ours.remove(key).and_then(|server| {
                let instance = instances.iter().find(|it| it.server_id == server.id)?.clone();
                Some((server, instance))
            });
            let name = match &known {
                Some((server, _)) => server.name.clone(),
                None if others.iter().any(|it| it.name == *key) => format!("{key} ({})", manifest.id),
                None => key.clone(),
            };
            let entry = entry(installed, &name).map_err(Error::ServerConfig)?;
            let mut rows = if let Some((server, instance)) = known {
                let auth_config = self.auth_config(&instance).await.map_err(store_error)?;
                let mut rows =
                    toolgrove_store::Entry { server, auth_config, instance, credentials: Vec::new() };
                rows::write(&entry, &mut rows);
                rows
            } else {
                let taken = slugs.iter().map(String::as_str);
                let taken = taken.chain(toolgrove_store::BUILTINS.map(|it| it.0));
                let slug = name::next_free(&name::slug_from_name(key), taken);
                slugs.push(slug.clone());
                rows::rows(&entry, &owner, &slug)
            };
            rows.server.metadata[KEY] = key.clone().into();
            named.push((key.clone(), rows.instance.id));
            if instances.iter().any(|it| it.id == rows.instance.id) {
                arrived.changed.push(rows);
            } else {
                arrived.added.push(rows);
            }
        }
        arrived.removed = ours.into_values().map(|it| it.id).collect();
        let settings = Some(&order.settings).filter(|it| !it.is_empty());
        let row = BundleRow {
            person_id: person,
            id: manifest.id.clone(),
            version: manifest.version.clone(),
            scope: target.map_or("user", |it| it.scope.as_str()).to_owned(),
            target: target.map(|it| order.remembered(it)),
            source: source_of(&order.source),
            manifest: serde_json::to_value(manifest).unwrap_or_default(),
            sha256,
            settings: settings.map(|it| Secret::new(Value::Object(it.clone()).to_string())),
            installed_at: self.hub.now(),
        };
        self.store.put_bundle(&row, &arrived).await.map_err(store_error)?;
        for instance in instances.iter().filter(|it| arrived.removed.contains(&it.server_id)) {
            self.hub.remove(instance.id).await;
        }
        Ok(named)
    }

    /// Brings the hub in step, and asks the new servers for their tools. One that does not answer stays.
    async fn start_bundle(
        self: &Arc<Self>,
        person: Uuid,
        instances: Vec<(String, Uuid)>,
    ) -> Result<Vec<Started>, Error> {
        for (_, instance) in &instances {
            self.reload(person, *instance).await?;
        }
        self.settle_duplicates(person).await?;
        let asked = instances.into_iter().filter_map(|(server, id)| {
            let offer = self.hub.offer(id)?;
            Some(async move {
                let instance = &offer.instance;
                let found = match usable(instance) {
                    Ok(()) => tokio::time::timeout(FIRST_LISTING, self.refresh(instance)).await,
                    Err(off) => Ok(Err(off)),
                };
                let error = match found {
                    Ok(Ok(_)) => None,
                    Ok(Err(error)) => Some(error.to_string()),
                    Err(_) => Some(format!("`{}` did not list its tools in time", instance.slug)),
                };
                let tools = self.hub.offer(id).filter(|_| error.is_none()).map(|it| it.listed().count());
                Started { server, slug: instance.slug.clone(), instance: id, tools, error }
            })
        });
        Ok(join_all(asked).await)
    }

    async fn take_out(
        self: &Arc<Self>,
        caller: &Caller,
        id: &str,
        version: &str,
        target: Option<Target>,
    ) -> Result<Outcome, Error> {
        let (id, version, shelf) = (id.to_owned(), version.to_owned(), self.bundle_shelf(caller));
        on_disk(self, move |app| {
            let (home, order) = (app.any_home(), Order::default());
            let environment = app.bundle_env();
            let site = Site { disk: &app.bundles.disk, shelf: &shelf, target: target.as_ref() };
            site.uninstall(&id, &version, &how(&order, &home, &environment))
        })
        .await
    }

    /// The hub's environment belongs to whoever runs it.
    pub(super) fn bundle_env(&self) -> impl Fn(&str) -> Option<String> + use<> {
        let (env, solo) = (self.env, self.config.mode == Mode::Solo);
        move |name: &str| if solo { env(name) } else { None }
    }

    pub(super) fn any_home(&self) -> Home {
        self.bundles.home.clone().unwrap_or_else(|| Home::at(&self.bundles.data, System::here()))
    }
}

pub(super) fn how<'a>(
    order: &Order,
    home: &'a Home,
    environment: &'a dyn Fn(&str) -> Option<String>,
) -> How<'a> {
    How { existing: order.existing(), env: order.env(), now: Timestamp::now(), home, environment }
}

/// A folder is found again from wherever the hub runs.
fn source_of(typed: &str) -> String {
    match std::path::absolute(typed) {
        Ok(path) if path.exists() => path.display().to_string(),
        _ => typed.to_owned(),
    }
}

/// A server as the hub runs it.
fn entry(installed: &Installed, name: &str) -> Result<Entry, String> {
    let mut definition = installed.ready.clone();
    let description = definition.get("description").and_then(Value::as_str).map(str::to_owned);
    if let Some(long) = description.filter(|it| it.chars().count() > DESCRIPTION_MAX) {
        let short: String = long.chars().take(DESCRIPTION_MAX - 1).chain(['…']).collect();
        definition.insert("description".into(), short.into());
    }
    import::entry(name, definition).map_err(|it| format!("server `{}`: {it}", installed.server))
}

/// A bundle that is there already is in one place only, and is not silently installed again.
fn check_again(row: &BundleRow, order: &Order, target: Option<&Target>) -> Result<(), Error> {
    let there = row.target.as_ref().map(|it| it["file"].clone());
    let wanted = target.map(|it| json!(it.file));
    if there != wanted {
        let scope = match row.scope.as_str() {
            _ if there.is_none() => "none",
            "workspace" => "workspace",
            "repository" => "repository",
            _ => "user",
        };
        return Err(refused(BundleError::Scope { bundle: row.id.clone(), scope }));
    }
    match (order.existing(), target) {
        (toolgrove_bundle::install::Existing::Refuse, None) => Err(Error::Bundle {
            code: "bundle.conflict",
            status: 409,
            detail: format!("bundle `{}` is already installed", row.id),
            hint: Some(format!("run `toolgrove bundle update {}`", row.id)),
        }),
        _ => Ok(()),
    }
}

fn answers_of(row: &BundleRow) -> Answers {
    let settings = row.settings.as_ref().and_then(|it| serde_json::from_str(it.reveal()).ok());
    settings.unwrap_or_default()
}

/// Something for every question that nobody has answered, so that the rest can be shown.
fn with_placeholders(settings: &[Setting], given: &Answers) -> Answers {
    let mut answers = given.clone();
    answers.retain(|key, _| settings.iter().any(|it| it.key == *key));
    for setting in settings.iter().filter(|it| it.required && it.default.is_none()) {
        if answers.get(&setting.key).is_none_or(|it| it.as_str() == Some("")) {
            let value = match setting.kind {
                SettingKind::Number => json!(setting.min.or(setting.max).unwrap_or(0.0)),
                SettingKind::Boolean => json!(true),
                _ => json!(setting.choices.first().map_or("…", String::as_str)),
            };
            answers.insert(setting.key.clone(), value);
        }
    }
    answers
}

pub(crate) fn unknown(id: &str) -> Error {
    Error::Bundle {
        code: "bundle.unknown",
        status: 404,
        detail: format!("no bundle is called `{id}`"),
        hint: Some("run `toolgrove bundle list` to see what is installed".into()),
    }
}
