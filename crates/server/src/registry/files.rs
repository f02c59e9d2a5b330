//! Servers that are declared in files: `[server.<name>]` of `toolgrove.toml`, and a `mcp.json` beside it.
//!
//! The files are followed: what is new is added, what changed is updated in place, what is gone is removed. Only
//! servers that came from a file are touched.

use std::sync::Arc;

use toolgrove_core::Error;
use toolgrove_core::import::Entry;
use toolgrove_store::{ServerRow, Switch};
use uuid::Uuid;

use super::builtin::BUILTIN;
use super::rows::{self, Owner};
use crate::App;
use crate::problem::store_error;

/// All servers that files declare right now.
#[derive(Debug, Clone, Default)]
pub struct Declared {
    pub entries: Vec<Entry>,
    pub keep: Keep,
}

/// Which servers of a file stay as they are although it does not declare them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Keep {
    #[default]
    Nothing,
    /// Their entries cannot be read right now.
    Named(Vec<String>),
    /// A file cannot be read right now.
    Everything,
}

impl Keep {
    fn holds(&self, name: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Named(names) => names.iter().any(|it| it == name),
            Self::Everything => true,
        }
    }
}

const ORIGIN: &str = "config";

/// Makes the registry say what the files say. Nothing is asked of any server here.
pub async fn sync_declared(app: &Arc<App>, owner: &Owner, declared: &Declared) -> Result<(), Error> {
    let mut servers = app.store.servers_of(owner.person).await.map_err(store_error)?;
    servers.retain(|it| it.transport != BUILTIN);
    let ours: Vec<&ServerRow> = servers.iter().filter(|it| it.origin == ORIGIN).collect();
    for server in &ours {
        if !declared.entries.iter().any(|it| it.name == server.name) && !declared.keep.holds(&server.name) {
            tracing::info!(server = server.name, "no longer declared: removed");
            app.remove_server(server).await?;
        }
    }
    let instances = app.store.instances_of(owner.person).await.map_err(store_error)?;
    for entry in &declared.entries {
        let server = servers.iter().find(|it| it.name == entry.name);
        match server {
            Some(server) if server.origin != ORIGIN => {
                tracing::warn!(
                    server = entry.name,
                    "declared in a file, but a server of this name was added by hand; that one stays"
                );
            }
            Some(server) => {
                let Some(instance) = instances.iter().find(|it| it.server_id == server.id) else { continue };
                let credentials = app.store.credentials_of(instance.id).await.map_err(store_error)?;
                if rows::entry(server, &credentials).is_ok_and(|it| same(&it, entry)) {
                    continue;
                }
                let mut rows = toolgrove_store::Entry {
                    server: (*server).clone(),
                    auth_config: app.auth_config(instance).await.map_err(store_error)?,
                    instance: instance.clone(),
                    credentials: Vec::new(),
                };
                rows::write(entry, &mut rows);
                app.store.update_with_instance(&rows).await.map_err(store_error)?;
                let offer = app.reload(owner.person, instance.id).await?;
                refresh(app, &offer.instance);
            }
            None => {
                let slug =
                    app.free_slug(owner.person, &toolgrove_core::name::slug_from_name(&entry.name)).await?;
                let rows = rows::rows(entry, &Owner { origin: ORIGIN.into(), ..owner.clone() }, &slug);
                app.store.add_with_instance(&rows).await.map_err(store_error)?;
                for tool in &entry.disabled_tools {
                    app.store.switch_tool(rows.instance.id, tool, Switch::Off).await.map_err(store_error)?;
                }
                let offer = app.reload(owner.person, rows.instance.id).await?;
                refresh(app, &offer.instance);
            }
        }
    }
    Ok(())
}

/// The same for a team: what files declare is in the registry for everybody, and nobody's yet. Values of headers and
/// variables are each person's own, so those in a file are left out.
pub async fn sync_shared(app: &Arc<App>, declared: &Declared) -> Result<(), Error> {
    let servers = app.store.all_servers().await.map_err(store_error)?;
    let shared = |it: &&ServerRow| it.owner_id.is_none() && it.workspace_id.is_none();
    for server in servers.iter().filter(shared).filter(|it| it.origin == ORIGIN) {
        if !declared.entries.iter().any(|it| it.name == server.name) && !declared.keep.holds(&server.name) {
            tracing::info!(server = server.name, "no longer declared: removed");
            app.remove_server(server).await?;
        }
    }
    for entry in &declared.entries {
        let nobody = Owner { person: Uuid::nil(), workspace: Uuid::nil(), origin: ORIGIN.into() };
        let mut rows = rows::rows(entry, &nobody, "server");
        if rows.credentials.iter().any(|it| !it.1.reveal().is_empty()) {
            tracing::warn!(
                server = entry.name,
                "its headers and variables are named; each person gives the values"
            );
        }
        rows.server.owner_id = None;
        rows.server.workspace_id = None;
        match servers.iter().filter(shared).find(|it| it.name == entry.name) {
            Some(server) if server.origin != ORIGIN => {
                tracing::warn!(
                    server = entry.name,
                    "declared in a file, but a server of this name was added by hand; that one stays"
                );
            }
            Some(server) if server.config == rows.server.config && server.enabled == rows.server.enabled => {}
            Some(server) => {
                rows.server.id = server.id;
                app.store.update_server(&rows.server).await.map_err(store_error)?;
                for instance in app.store.all_instances().await.map_err(store_error)? {
                    if instance.server_id == server.id {
                        app.reload(instance.person_id, instance.id).await?;
                    }
                }
            }
            None => {
                app.store.add_server(&rows.server).await.map_err(store_error)?;
                if let Some(config) = &rows.auth_config {
                    app.store.add_auth_config(config).await.map_err(store_error)?;
                }
            }
        }
    }
    Ok(())
}

/// Which tools are off is the person's to change, so it does not make an entry another one.
fn same(kept: &Entry, declared: &Entry) -> bool {
    *kept == Entry { disabled_tools: kept.disabled_tools.clone(), ..declared.clone() }
}

/// Asks a server for its lists beside everything else.
fn refresh(app: &Arc<App>, instance: &Arc<toolgrove_core::instance::Instance>) {
    if toolgrove_core::catalog::usable(instance).is_err() || !app.is_started() {
        return;
    }
    let (app, instance) = (app.clone(), instance.clone());
    toolgrove_core::task::spawn("refresh", async move {
        if let Err(error) = app.refresh(&instance).await
            && app.is_started()
        {
            tracing::warn!(server = instance.slug, %error, "could not be listed");
        }
    });
}
