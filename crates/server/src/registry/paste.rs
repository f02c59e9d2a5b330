//! Paste: JSON text → servers that were asked for their tools before they are kept.

use std::sync::Arc;

use futures::channel::mpsc;
use futures::stream::{self, StreamExt};
use serde::{Deserialize, Serialize};
use toolgrove_core::call::{Caller, Discovery, Links};
use toolgrove_core::event::ListKind;
use toolgrove_core::hub::Log;
use toolgrove_core::import::{self, Entry, Failed, message_error, message_success};
use toolgrove_core::{Error, name};
use toolgrove_store::{Switch, WorkspaceRow};
use toolgrove_upstream::doctor::{self, Step};
use ts_rs::TS;
use uuid::Uuid;

use super::rows::{self, Owner};
use crate::App;
use crate::api::instances::{self, Instance};
use crate::problem::store_error;
use crate::workspace::check_new;

/// Servers asked at the same time.
const AT_ONCE: usize = 8;

/// What is to be done with a pasted text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paste {
    pub text: String,
    /// Keep servers that could not be asked.
    #[serde(default)]
    pub save_anyway: bool,
    /// Update servers that are there already.
    #[serde(default)]
    pub replace: bool,
}

/// What became of it.
#[derive(Debug, Serialize, TS)]
#[ts(rename = "ImportAnswer")]
pub struct Imported {
    pub added: Vec<Added>,
    pub failed: Vec<Failed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub message_success: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub message_error: Option<String>,
}

#[derive(Debug, Clone, Serialize, TS)]
#[ts(rename = "ImportAdded")]
pub struct Added {
    pub id: Uuid,
    pub name: String,
    pub slug: String,
    /// None when the server wants a sign-in first, or could not be asked.
    pub tools: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub warning: Option<String>,
    /// What it is now, for who would ask next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub instance: Option<Instance>,
}

/// A step on the way to one of the servers, told as it is taken.
#[derive(Debug, Serialize, TS)]
pub struct ImportStep {
    pub server: String,
    pub step: Step,
}

/// Who wants to hear of steps. Nobody listening means that nothing extra is asked of servers.
pub type OnStep = mpsc::UnboundedSender<ImportStep>;

impl App {
    /// Adds every server of a text. Each stands alone; their order is the text's.
    pub async fn import(
        self: &Arc<Self>,
        caller: &Caller,
        workspace: &WorkspaceRow,
        paste: &Paste,
        on_step: Option<OnStep>,
    ) -> Result<Imported, Error> {
        let entries = import::read(&paste.text)?;
        let owner = &Owner { person: caller.person, workspace: workspace.id, origin: "paste".into() };
        let results: Vec<Result<Added, Failed>> = stream::iter(entries)
            .map(|entry| async {
                let entry = entry?;
                let kind = rows::transport_kind(&entry.transport);
                let added = match check_new(caller, workspace, kind, &entry.name) {
                    Ok(()) => self.import_one(owner, &entry, paste, on_step.as_ref()).await,
                    Err(error) => Err(error),
                };
                added.map_err(|error| Failed { name: entry.name.clone(), error: error.to_string() })
            })
            .buffered(AT_ONCE)
            .collect()
            .await;
        let (mut added, mut failed) = (Vec::new(), Vec::new());
        for result in results {
            match result {
                Ok(it) => added.push(it),
                Err(it) => failed.push(it),
            }
        }
        self.settle_duplicates(caller.person).await?;
        let message_success = message_success(added.iter().map(|it| (it.name.as_str(), it.tools)));
        let message_error = message_error(&failed);
        Ok(Imported { added, failed, message_success, message_error })
    }

    async fn import_one(
        self: &Arc<Self>,
        owner: &Owner,
        entry: &Entry,
        paste: &Paste,
        on_step: Option<&OnStep>,
    ) -> Result<Added, Error> {
        let existing = self.store.server_named(owner.person, Some(owner.workspace), &entry.name);
        let rows = match existing.await.map_err(store_error)? {
            Some(_) if !paste.replace => return Err(Error::ServerNameTaken),
            Some(server) => self.replaced(owner, entry, server).await?,
            None => {
                let slug = self.free_slug(owner.person, &name::slug_from_name(&entry.name)).await?;
                rows::rows(entry, owner, &slug)
            }
        };
        let mut added = self.keep_entry(entry, rows, paste.save_anyway, on_step).await?;
        added.instance = instances::shown(self, owner.person, added.id).await?;
        Ok(added)
    }

    /// The rows of a server that is there, with what is new written over.
    async fn replaced(
        &self,
        owner: &Owner,
        entry: &Entry,
        server: toolgrove_store::ServerRow,
    ) -> Result<toolgrove_store::Entry, Error> {
        let instances = self.store.instances_of(owner.person).await.map_err(store_error)?;
        let instance = instances.into_iter().find(|it| it.server_id == server.id);
        let instance = instance.ok_or_else(|| Error::InstanceMissing { server: server.name.clone() })?;
        let auth_config = self.auth_config(&instance).await.map_err(store_error)?;
        let mut rows = toolgrove_store::Entry { server, auth_config, instance, credentials: Vec::new() };
        rows::write(entry, &mut rows);
        Ok(rows)
    }

    /// Asks the server behind new rows for its tools, and keeps them if it answers or is to be kept anyway.
    async fn keep_entry(
        self: &Arc<Self>,
        entry: &Entry,
        mut rows: toolgrove_store::Entry,
        save_anyway: bool,
        on_step: Option<&OnStep>,
    ) -> Result<Added, Error> {
        let is_new = self.store.server(rows.server.id).await.map_err(store_error)?.is_none();
        let revision = super::next_revision();
        let hosts = self.hosts(rows.server.workspace_id).await.map_err(store_error)?;
        let around = self.around(&rows.server, hosts, revision);
        let toolgrove_store::Entry { server, auth_config, instance, credentials } = &rows;
        let instance = rows::instance(server, instance, auth_config.as_ref(), credentials, around);
        let instance = Arc::new(instance);
        let found = if entry.enabled { Some(self.discover(entry, &instance, on_step).await) } else { None };
        let mut warning = None;
        let tools = match &found {
            Some(Ok(found)) => {
                rows.instance.status = "ready".into();
                rows.instance.last_error = None;
                let tools = found.lists.iter().find(|it| it.0 == ListKind::Tools);
                match tools.map(|it| &it.1) {
                    Some(Err(error)) if !save_anyway => {
                        return self.drop_link(&instance, error.clone()).await;
                    }
                    _ => {}
                }
                if matches!(rows.server.transport.as_str(), "sse")
                    || found.verdict.evidence.contains("HTTP+SSE")
                {
                    warning = Some("deprecated transport".to_owned());
                }
                tools.and_then(|it| it.1.as_ref().ok()).map(Vec::len)
            }
            // A server that says where to sign in is worth keeping.
            Some(Err(error @ Error::NeedsReauth { challenge: Some(challenge), .. }))
                if challenge.contains("resource_metadata") =>
            {
                rows.instance.status = "not_ready".into();
                rows.instance.last_error = Some(error.to_string());
                if rows.auth_config.is_none() {
                    rows.instance.auth_type = "oauth".into();
                }
                None
            }
            Some(Err(error)) if !save_anyway => return self.drop_link(&instance, error.clone()).await,
            Some(Err(error)) => {
                rows.instance.last_error = Some(error.to_string());
                warning = Some(error.to_string());
                Some(0)
            }
            None => Some(0),
        };
        if is_new {
            self.store.add_with_instance(&rows).await.map_err(store_error)?;
        } else {
            self.store.update_with_instance(&rows).await.map_err(store_error)?;
        }
        if let Some(Err(error @ Error::NeedsReauth { .. })) = &found {
            crate::connect::barred(&self.store, rows.instance.id, error).await?;
        }
        for tool in &entry.disabled_tools {
            self.store.switch_tool(rows.instance.id, tool, Switch::Off).await.map_err(store_error)?;
        }
        self.hub.put(self.stored_offer(&rows.server, &rows.instance, revision).await?);
        match &found {
            Some(Ok(found)) => {
                self.hub.learn(instance.id, found);
                self.hub.log().judged(&instance, &found.verdict);
            }
            Some(Err(error)) if warning.is_some() => self.hub.note_failure(&instance, error),
            _ => {}
        }
        Ok(Added {
            id: rows.instance.id,
            name: entry.name.clone(),
            slug: rows.instance.slug.clone(),
            tools,
            warning,
            instance: None,
        })
    }

    /// Asks a server for everything, and tells each step to who wants to hear it.
    async fn discover(
        &self,
        entry: &Entry,
        instance: &Arc<toolgrove_core::instance::Instance>,
        on_step: Option<&OnStep>,
    ) -> Result<Discovery, Error> {
        let tell = |steps: Vec<Step>| {
            for step in steps {
                // Who has gone hears nothing more.
                let _ = on_step.map(|it| it.unbounded_send(ImportStep { server: entry.name.clone(), step }));
            }
        };
        if on_step.is_some() {
            tell(doctor::way(self.hub.links(), instance).await);
        }
        let found = self.hub.links().discover(instance).await;
        if on_step.is_some() {
            tell(doctor::talk(instance, &found));
        }
        found
    }

    async fn drop_link(
        &self,
        instance: &Arc<toolgrove_core::instance::Instance>,
        error: Error,
    ) -> Result<Added, Error> {
        self.hub.links().close(instance.id).await;
        self.keyring.forget(instance.id);
        Err(error)
    }
}
