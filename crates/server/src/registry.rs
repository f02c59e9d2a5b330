//! Servers and instances: added, changed, switched, refreshed and removed, in the store and in the hub at once.
//!
//! The store is the truth; the hub's catalogue is rebuilt from it at start and kept in step with every change.

pub mod auth;
pub mod builtin;
mod files;
mod paste;
pub mod rows;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use toolgrove_core::call::{Caller, Discovery, Links};
use toolgrove_core::catalog::usable;
use toolgrove_core::config::Mode;
use toolgrove_core::instance::Instance;
use toolgrove_core::net::Allowlist;
use toolgrove_core::offer::{Offer, Permission, Tool};
use toolgrove_core::pins::{Pin, PinPolicy, Pinned};
use toolgrove_core::policy::Phase;
use toolgrove_core::tabs::SLUG;
use toolgrove_core::{Error, Secret, name, task};
use toolgrove_store::{
    AuthConfigRow, BUILTINS, InstanceRow, PinRow, ServerRow, StoreError, Switch, ToolRow, ToolSetting,
};
use toolgrove_wire::Raw;
use uuid::Uuid;

pub use files::{Declared, Keep, sync_declared, sync_shared};
pub use paste::{Added, ImportStep, Imported, OnStep, Paste};

use crate::App;
use crate::bundles::ORIGIN;
use crate::memory::LISTS;
use crate::problem::store_error;

/// How long a client waits for the very first listing of an instance it asks for by name.
const FIRST_LISTING: Duration = Duration::from_secs(10);

/// Every change makes a new revision, so that links of an older one are closed.
static REVISION: AtomicU64 = AtomicU64::new(1);

fn next_revision() -> u64 {
    REVISION.fetch_add(1, Ordering::Relaxed)
}

impl App {
    /// Fills the hub from the store: what was known at the last stop is served at once.
    pub async fn load(&self) -> Result<(), StoreError> {
        self.store.give_builtins().await?;
        let mut offers = Vec::new();
        let mut people: HashMap<Uuid, Vec<InstanceRow>> = HashMap::new();
        for row in self.store.all_instances().await? {
            people.entry(row.person_id).or_default().push(row);
        }
        for (person, rows) in people {
            let mut known = Known::default();
            known.read(self, person).await?;
            let seen = self.store.servers_of(person).await?;
            for row in rows {
                let Some(server) = seen.iter().find(|it| it.id == row.server_id) else { continue };
                offers.push(self.offer(server, &row, &mut known, next_revision()).await?);
            }
        }
        self.hub.load(offers);
        self.hub.log().load(&self.store).await?;
        Ok(())
    }

    /// Asks every usable server for its lists, beside everything else.
    pub fn refresh_all(self: &Arc<Self>) {
        for offer in self.hub.offers() {
            if usable(&offer.instance).is_ok() {
                let (app, instance) = (self.clone(), offer.instance.clone());
                task::spawn("first refresh", async move {
                    if let Err(error) = app.refresh(&instance).await
                        && app.is_started()
                    {
                        tracing::warn!(server = instance.slug, %error, "could not be listed");
                    }
                });
            }
        }
    }

    /// Waits a little for an instance that has never been listed; any other is served from the catalogue.
    pub async fn first_listing(self: &Arc<Self>, caller: &Caller, slug: &str) {
        let catalog = self.hub.catalog(caller);
        let Some(offer) = catalog.offer(slug).filter(|it| it.fetched_at.is_none()) else { return };
        let _ = tokio::time::timeout(FIRST_LISTING, self.refresh(&offer.instance)).await;
    }

    /// Asks a server for everything and remembers how that went.
    pub async fn refresh(self: &Arc<Self>, instance: &Arc<Instance>) -> Result<Discovery, Error> {
        let found = self.hub.refresh(instance).await;
        self.note_status(instance, found.as_ref().err()).await;
        found
    }

    /// A server that answers has let us in; one that is away says nothing about that.
    async fn note_status(&self, instance: &Instance, error: Option<&Error>) {
        self.hub.log().flush().await;
        let status = match error {
            None => "ready".to_owned(),
            Some(_) => match self.store.instance(instance.person, instance.id).await {
                Ok(Some(row)) => row.status,
                _ => return,
            },
        };
        let text = error.map(ToString::to_string);
        if let Err(error) = self.store.set_status(instance.id, &status, text.as_deref()).await
            && self.is_started()
        {
            tracing::warn!(?error, "a status was not kept");
        }
        self.live.touch(instance.person, instance.id);
    }

    /// A slug nobody of this person has.
    pub async fn free_slug(&self, person: Uuid, wanted: &str) -> Result<String, Error> {
        let rows = self.store.instances_of(person).await.map_err(store_error)?;
        let taken = rows.iter().map(|it| it.slug.as_str()).chain(BUILTINS.map(|it| it.0));
        Ok(name::next_free(wanted, taken))
    }

    /// Brings the hub in step with an instance's rows after they changed.
    pub async fn reload(self: &Arc<Self>, person: Uuid, instance: Uuid) -> Result<Arc<Offer>, Error> {
        let unknown = || Error::UnknownInstance { id: instance.to_string() };
        let row = self.store.instance(person, instance).await.map_err(store_error)?.ok_or_else(unknown)?;
        let server = self.store.visible_server(person, row.server_id).await.map_err(store_error)?;
        let server = server.ok_or_else(unknown)?;
        let offer = self.stored_offer(&server, &row, next_revision()).await?;
        self.hub.links().close(instance).await;
        Ok(self.hub.put(offer))
    }

    /// Brings everybody's instances of a server in step after it changed.
    pub async fn reload_server(self: &Arc<Self>, server: Uuid) -> Result<(), Error> {
        let rows = self.store.all_instances().await.map_err(store_error)?;
        for row in rows.iter().filter(|it| it.server_id == server) {
            self.reload(row.person_id, row.id).await?;
        }
        Ok(())
    }

    /// Where the servers of a workspace may be. What is in no workspace was put there by an admin and may be anywhere.
    pub(crate) async fn hosts(&self, workspace: Option<Uuid>) -> Result<Allowlist, StoreError> {
        let Some(workspace) = workspace else { return Ok(Allowlist::Any) };
        let row = self.store.workspace(workspace).await?;
        Ok(Allowlist::stored(row.and_then(|it| it.allowlist).as_ref()))
    }

    fn around(&self, server: &ServerRow, hosts: Allowlist, revision: u64) -> rows::Surroundings {
        let timeout = Duration::from_millis(self.config.limits.call_timeout_ms);
        // The hub's environment belongs to whoever runs it, and so do the files that may name it.
        let is_theirs = self.config.mode == Mode::Solo || server.origin == "config";
        let env = if is_theirs { self.env } else { |_: &str| None };
        rows::Surroundings {
            env,
            hosts,
            timeout,
            revision,
            duplicate_of: None,
            phase: Phase::Gamma,
            bud: None,
        }
    }

    /// How an instance shows who it is, if that has to be known.
    pub(crate) async fn auth_config(&self, row: &InstanceRow) -> Result<Option<AuthConfigRow>, StoreError> {
        match row.auth_config_id {
            Some(id) => self.store.auth_config(id).await,
            None => Ok(None),
        }
    }

    /// An instance's offer as the store has it, everything that is still being written included.
    async fn stored_offer(
        &self,
        server: &ServerRow,
        row: &InstanceRow,
        revision: u64,
    ) -> Result<Offer, Error> {
        self.hub.log().flush().await;
        let mut known = Known::default();
        known.read(self, row.person_id).await.map_err(store_error)?;
        self.offer(server, row, &mut known, revision).await.map_err(store_error)
    }

    async fn offer(
        &self,
        server: &ServerRow,
        row: &InstanceRow,
        known: &mut Known,
        revision: u64,
    ) -> Result<Offer, StoreError> {
        let credentials = self.store.credentials_of(row.id).await?;
        let duplicate_of = match server.duplicate_of {
            Some(of) => self.store.server(of).await?.map(|it| it.name),
            None => None,
        };
        let around = self.around(server, known.hosts(self, server.workspace_id).await?, revision);
        let bud = match server.bud_id {
            Some(id) => self.store.bud(id).await?.map(|it| it.bud()),
            None => None,
        };
        let phase = known.phase(server.workspace_id);
        let around = rows::Surroundings { duplicate_of, phase, bud, ..around };
        let auth = self.auth_config(row).await?;
        let instance = rows::instance(server, row, auth.as_ref(), &credentials, around);
        let mut offer = Offer::new(Arc::new(instance));
        if let Some(about) = &row.capabilities {
            let part = |key: &str| about.get(key).filter(|it| !it.is_null());
            offer.capabilities = part("capabilities").map_or_else(Raw::empty_object, Raw::of);
            offer.server_info = part("serverInfo").map(Raw::of);
            offer.instructions = part("instructions").and_then(|it| it.as_str()).map(Into::into);
        }
        offer.pinned =
            pinned(known.policy(self, server).await?, known.pins.remove(&row.id).unwrap_or_default());
        for it in known.settings.remove(&row.id).unwrap_or_default() {
            let permission = Permission::parse(&it.permission).unwrap_or_default();
            offer.settings.insert(it.tool, (it.enabled, permission));
        }
        for tool in known.tools.remove(&row.id).unwrap_or_default() {
            offer.fetched_at = offer.fetched_at.max(Some(tool.fetched_at));
            let Ok(raw) = Raw::parse(tool.raw) else { continue };
            let (enabled, permission) =
                offer.settings.get(&tool.name).copied().unwrap_or((true, Permission::Allow));
            let names = (tool.public_name, tool.single_name);
            let made = Tool::new(tool.name, names, raw).switched(enabled, permission);
            offer.tools.push(Arc::new(if tool.gone { made.gone() } else { made }));
        }
        if offer.instance.is_own() {
            offer = offer.with_tools(&toolgrove_core::builtin::tools(), |_| false, self.hub.now());
        }
        for list in known.lists.remove(&row.id).unwrap_or_default() {
            offer.fetched_at = offer.fetched_at.max(Some(list.fetched_at));
            let kind = LISTS.iter().find(|it| it.1 == list.kind).map(|it| it.0);
            if let (Some(kind), Ok(items)) = (kind, Raw::parse(list.items)) {
                offer = offer.with_list(kind, items.items().collect());
            }
        }
        // Before the first listing there is nothing to hold against anything.
        Ok(if offer.fetched_at.is_some() { offer.held_to_pins() } else { offer })
    }

    pub async fn switch_tool(
        self: &Arc<Self>,
        person: Uuid,
        instance: Uuid,
        tool: &str,
        enabled: Option<bool>,
        permission: Option<Permission>,
    ) -> Result<Arc<Offer>, Error> {
        let row = self.store.instance(person, instance).await.map_err(store_error)?;
        let row = row.ok_or_else(|| Error::UnknownInstance { id: instance.to_string() })?;
        let offer =
            self.hub.offer(row.id).ok_or_else(|| Error::UnknownInstance { id: instance.to_string() })?;
        let known = offer.tool(tool).ok_or_else(|| Error::UnknownTool { tool: tool.to_owned() })?.clone();
        if let Some(enabled) = enabled {
            self.store.switch_tool(row.id, tool, Switch::from(enabled)).await.map_err(store_error)?;
        }
        if let Some(permission) = permission {
            self.store.set_tool_permission(row.id, tool, permission.as_str()).await.map_err(store_error)?;
        }
        let (enabled, permission) =
            (enabled.unwrap_or(known.enabled), permission.unwrap_or(known.permission));
        let mut offer = Offer::clone(&offer);
        for it in &mut offer.tools {
            if it.name == tool {
                *it = Arc::new(it.switched(enabled, permission));
            }
        }
        Ok(self.hub.put(offer))
    }

    pub async fn remove_server(self: &Arc<Self>, server: &ServerRow) -> Result<(), Error> {
        let instances = self.store.all_instances().await.map_err(store_error)?;
        self.store.remove_server(server.id).await.map_err(store_error)?;
        let gone: Vec<_> = instances.iter().filter(|it| it.server_id == server.id).collect();
        for row in &gone {
            self.hub.remove(row.id).await;
        }
        // What was its duplicate may have to take its place.
        for row in gone {
            self.settle_duplicates(row.person_id).await?;
        }
        Ok(())
    }

    pub async fn remove_instance(self: &Arc<Self>, person: Uuid, instance: Uuid) -> Result<(), Error> {
        if !self.store.remove_instance(person, instance).await.map_err(store_error)? {
            return Err(Error::UnknownInstance { id: instance.to_string() });
        }
        self.hub.remove(instance).await;
        self.keyring.forget(instance);
        Ok(())
    }

    /// Asks a server what it offers: as this person's instance of it if they have one, else as nobody in particular.
    pub async fn look_at(self: &Arc<Self>, person: Uuid, server: &ServerRow) -> Result<Looked, Error> {
        let rows = self.store.instances_of(person).await.map_err(store_error)?;
        let mine = rows.iter().filter(|it| it.server_id == server.id).min_by_key(|it| (!it.enabled, it.id));
        if let Some(offer) = mine.and_then(|it| self.hub.offer(it.id)) {
            let discovery = match usable(&offer.instance) {
                Ok(()) => self.refresh(&offer.instance).await,
                Err(off) => Err(off),
            };
            return Ok(Looked { instance: offer.instance.clone(), discovery });
        }
        let row = InstanceRow::new(person, server.id, &default_slug(server));
        self.look_as(server, &row, None, &[]).await
    }

    /// The same for a server that is not saved like this, with what the person shows the one that is.
    pub async fn look_at_edit(self: &Arc<Self>, person: Uuid, server: &ServerRow) -> Result<Looked, Error> {
        let rows = self.store.instances_of(person).await.map_err(store_error)?;
        let mine =
            rows.into_iter().filter(|it| it.server_id == server.id).min_by_key(|it| (!it.enabled, it.id));
        let Some(mine) = mine else {
            let row = InstanceRow::new(person, server.id, &default_slug(server));
            return self.look_as(server, &row, None, &[]).await;
        };
        let auth = self.auth_config(&mine).await.map_err(store_error)?;
        let credentials = self.store.credentials_of(mine.id).await.map_err(store_error)?;
        let row = InstanceRow { id: Uuid::now_v7(), enabled: true, ..mine };
        self.look_as(server, &row, auth.as_ref(), &credentials).await
    }

    /// Asks over a link that is closed again, whether or not somebody still waits for the answer.
    async fn look_as(
        self: &Arc<Self>,
        server: &ServerRow,
        row: &InstanceRow,
        auth: Option<&AuthConfigRow>,
        credentials: &[(String, Secret)],
    ) -> Result<Looked, Error> {
        let hosts = self.hosts(server.workspace_id).await.map_err(store_error)?;
        let around = self.around(server, hosts, next_revision());
        let instance = Arc::new(rows::instance(server, row, auth, credentials, around));
        if let Err(off) = usable(&instance) {
            return Ok(Looked { instance, discovery: Err(off) });
        }
        let (app, asked) = (self.clone(), instance.clone());
        let discovery = task::spawn("look", async move {
            let found = app.hub.links().discover(&asked).await;
            app.hub.links().close(asked.id).await;
            app.keyring.forget(asked.id);
            found
        });
        let ended = |_| Error::Internal("asking the server was given up".into());
        Ok(Looked { instance, discovery: discovery.await.map_err(ended)? })
    }

    /// Leaves a row in the admin log.
    pub async fn note_admin(&self, caller: &Caller, action: &str, subject: &str) {
        self.note_by(caller.person, action, subject, None).await;
    }

    pub(crate) async fn note_by(
        &self,
        person: Uuid,
        action: &str,
        subject: &str,
        detail: Option<&serde_json::Value>,
    ) {
        if let Err(error) = self.store.note(person, action, subject, detail).await {
            tracing::error!(?error, action, subject, "the admin log was not written");
        }
    }
}

/// What a server said when it was looked at, and as whom it was asked.
#[derive(Debug)]
pub struct Looked {
    pub instance: Arc<Instance>,
    pub discovery: Result<Discovery, Error>,
}

fn default_slug(server: &ServerRow) -> String {
    match name::default_slug(&server.endpoint) {
        slug if slug.is_empty() => name::slug_from_name(&server.name),
        slug => slug,
    }
}

/// What the store knows of a person's instances, by instance.
#[derive(Default)]
struct Known {
    tools: HashMap<Uuid, Vec<ToolRow>>,
    lists: HashMap<Uuid, Vec<toolgrove_store::ListRow>>,
    settings: HashMap<Uuid, Vec<ToolSetting>>,
    hosts: HashMap<Uuid, Allowlist>,
    pins: HashMap<Uuid, Vec<PinRow>>,
    policies: HashMap<Uuid, Option<PinPolicy>>,
    /// How far the person's workspaces are.
    phases: HashMap<Uuid, Phase>,
}

/// What is done about changed tools, and which are approved.
fn pinned(policy: PinPolicy, rows: Vec<PinRow>) -> Pinned {
    let mut pinned = Pinned { policy, ..Pinned::default() };
    for row in rows {
        if let Some(digest) = row.rejected {
            pinned.rejected.insert(row.tool.clone(), digest);
        }
        if let ("approved", Ok(raw)) = (row.state.as_str(), Raw::parse(row.raw)) {
            pinned.pins.push(Pin { tool: row.tool, digest: row.digest, raw });
        }
    }
    pinned
}

impl Known {
    async fn hosts(&mut self, app: &App, workspace: Option<Uuid>) -> Result<Allowlist, StoreError> {
        let Some(id) = workspace else { return Ok(Allowlist::Any) };
        if let Some(known) = self.hosts.get(&id) {
            return Ok(known.clone());
        }
        let hosts = app.hosts(workspace).await?;
        self.hosts.insert(id, hosts.clone());
        Ok(hosts)
    }

    /// The workspace's word, else: what bundles bring is held back, anything else only shown.
    async fn policy(&mut self, app: &App, server: &ServerRow) -> Result<PinPolicy, StoreError> {
        // Whoever shares a workspace with a bud's author takes it as it is.
        if server.bud_id.is_some() {
            return Ok(PinPolicy::Off);
        }
        // A person's tabs are in no workspace: the strictest of theirs counts.
        let is_tabs = server.workspace_id.is_none() && server.transport == "builtin" && server.name == SLUG;
        let workspaces: Vec<Uuid> = if is_tabs {
            self.phases.keys().copied().collect()
        } else {
            server.workspace_id.into_iter().collect()
        };
        let mut said = None;
        for id in workspaces {
            said = said.max(self.word(app, id).await?);
        }
        let usual = if server.origin.starts_with(ORIGIN) { PinPolicy::Hold } else { PinPolicy::Warn };
        Ok(said.unwrap_or(usual))
    }

    /// What a workspace says of changed tools.
    async fn word(&mut self, app: &App, workspace: Uuid) -> Result<Option<PinPolicy>, StoreError> {
        if let Some(known) = self.policies.get(&workspace) {
            return Ok(*known);
        }
        let row = app.store.workspace(workspace).await?;
        let word = row.and_then(|it| it.pins).and_then(|it| PinPolicy::parse(it.as_str()?));
        self.policies.insert(workspace, word);
        Ok(word)
    }

    /// What is in no workspace may be called as far as any of the person's lets it.
    fn phase(&self, workspace: Option<Uuid>) -> Phase {
        let found = match workspace {
            Some(id) => self.phases.get(&id).copied(),
            None => self.phases.values().copied().max(),
        };
        found.unwrap_or(Phase::Alpha)
    }

    async fn read(&mut self, app: &App, person: Uuid) -> Result<(), StoreError> {
        for it in app.store.workspaces_of(person).await? {
            self.phases.insert(it.workspace.id, Phase::parse(&it.workspace.phase).unwrap_or(Phase::Alpha));
        }
        for it in app.store.all_tools_of_person(person).await? {
            self.tools.entry(it.instance_id).or_default().push(it);
        }
        for it in app.store.lists_of_person(person).await? {
            self.lists.entry(it.instance_id).or_default().push(it);
        }
        for it in app.store.pins_of_person(person).await? {
            self.pins.entry(it.instance_id).or_default().push(it);
        }
        for it in app.store.tool_settings(person).await? {
            self.settings.entry(it.instance_id).or_default().push(it);
        }
        Ok(())
    }
}
