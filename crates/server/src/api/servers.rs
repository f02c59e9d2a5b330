//! `/api/mcp/servers`: the registry.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toolgrove_core::call::{Caller, Role};
use toolgrove_core::event::ListKind;
use toolgrove_core::instance::Verdict;
use toolgrove_core::limits::Rate;
use toolgrove_core::{Error, import, name};
use toolgrove_store::{InstanceRow, ServerRow};
use ts_rs::TS;
use uuid::Uuid;

use super::{auth_configs, body};
use crate::App;
use crate::problem::{Answer, store_error};
use crate::registry::builtin::BUILTIN;
use crate::registry::rows::{self, Owner};

/// A registry entry as the API shows it.
#[derive(Debug, Serialize, TS)]
pub struct Server {
    pub id: Uuid,
    pub workspace_id: Option<Uuid>,
    pub name: String,
    pub description: String,
    pub endpoint: String,
    pub transport: String,
    pub origin: String,
    pub enabled: bool,
    pub protocol: Option<String>,
    pub era: String,
    #[ts(as = "Option<Verdict>")]
    pub era_verdict: Option<Value>,
    #[ts(type = "Json")]
    pub rate_limit: Option<Value>,
    pub enabled_instances: usize,
    pub disabled_instances: usize,
    pub created_at: i64,
    pub updated_at: i64,
}

impl Server {
    fn of(row: ServerRow, instances: &[InstanceRow]) -> Self {
        let mine = || instances.iter().filter(|it| it.server_id == row.id);
        Self {
            enabled_instances: mine().filter(|it| it.enabled).count(),
            disabled_instances: mine().filter(|it| !it.enabled).count(),
            id: row.id,
            workspace_id: row.workspace_id,
            name: row.name,
            description: row.description,
            endpoint: row.endpoint,
            transport: row.transport,
            origin: row.origin,
            enabled: row.enabled,
            protocol: row.protocol,
            era: row.era,
            era_verdict: row.era_verdict,
            rate_limit: row.rate_limit,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

#[derive(Deserialize)]
pub struct Filter {
    enabled: Option<bool>,
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(filter): Query<Filter>,
) -> Answer<Json<Vec<Server>>> {
    let instances = app.store.instances_of(caller.person).await?;
    let mut rows = app.store.servers_of(caller.person).await?;
    rows.retain(|it| may_see(&app, &caller, it) && filter.enabled.is_none_or(|wanted| it.enabled == wanted));
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Json(rows.into_iter().map(|it| Server::of(it, &instances)).collect()))
}

/// A server by id or by name.
pub async fn find(app: &App, caller: &Caller, word: &str) -> Result<ServerRow, Error> {
    let found = if let Ok(id) = Uuid::parse_str(word) {
        app.store.visible_server(caller.person, id).await.map_err(store_error)?
    } else {
        let rows = app.store.servers_of(caller.person).await.map_err(store_error)?;
        rows.into_iter().find(|it| it.name == word && it.transport != BUILTIN)
    };
    found
        .filter(|it| may_see(app, caller, it))
        .ok_or_else(|| Error::UnknownServer { server: word.to_owned() })
}

/// What is shared and turned off is there for admins only; a token for some instances sees the servers behind them.
fn may_see(app: &App, caller: &Caller, row: &ServerRow) -> bool {
    // What is part of the hub is not the registry's.
    if row.transport == BUILTIN {
        return false;
    }
    if caller.grants.is_some() {
        return app.hub.catalog(caller).offers().any(|it| it.instance.server == row.id);
    }
    row.enabled || row.owner_id.is_some() || caller.role == Role::Admin
}

/// A server that the caller may change: their own, or any that is shared if they are an admin.
pub(crate) async fn find_to_change(app: &App, caller: &Caller, word: &str) -> Result<ServerRow, Error> {
    let row = find(app, caller, word).await?;
    if row.owner_id.is_none() {
        caller.require_admin()?;
    }
    Ok(row)
}

async fn shown(app: &App, caller: &Caller, row: ServerRow) -> Answer<Json<Server>> {
    let instances = app.store.instances_of(caller.person).await?;
    Ok(Json(Server::of(row, &instances)))
}

pub async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Server>> {
    let row = find(&app, &caller, &id).await?;
    shown(&app, &caller, row).await
}

/// Adds an entry. Its address must be one; nothing is asked of it.
pub async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    bytes: Bytes,
) -> Answer<(StatusCode, Json<Server>)> {
    let mut given: Map<String, Value> = body(&bytes)?;
    let missing: Vec<String> = ["workspaceId", "name", "endpoint"]
        .into_iter()
        .filter(|it| given.get(*it).is_none_or(|it| it.is_null() || it == ""))
        .map(Into::into)
        .collect();
    if !missing.is_empty() {
        return Err(Error::RequestMissing(missing).into());
    }
    let text = |value: Option<Value>| value.and_then(|it| it.as_str().map(|it| it.trim().to_owned()));
    let workspace = text(given.remove("workspaceId")).unwrap_or_default();
    let workspace = app.workspace(&caller, &workspace).await?.workspace.id;
    caller.require_admin()?;
    if given.get("headers").is_some_and(|it| !it.is_null()) {
        let problem = "name headers in `auth`; each person gives the values to their own instance";
        return Err(Error::Request(problem.into()).into());
    }
    let auth = match given.remove("auth") {
        None | Some(Value::Null) => None,
        Some(auth) => Some(
            serde_json::from_value::<auth_configs::New>(auth)
                .map_err(|problem| Error::Request(format!("`auth` cannot be read: {problem}")))?,
        ),
    };
    let server_name = text(given.remove("name")).unwrap_or_default();
    let endpoint = text(given.remove("endpoint")).unwrap_or_default();
    name::check_server_url(&endpoint)?;
    given.insert("url".into(), endpoint.clone().into());
    let entry = import::entry(&server_name, given).map_err(Error::ServerConfig)?;
    check_url_free(&app, Some(workspace), &endpoint, None).await?;
    let owner = Owner { person: caller.person, workspace, origin: "admin".into() };
    let mut rows = rows::rows(&entry, &owner, "server");
    rows.server.owner_id = None;
    match auth {
        Some(auth) => add_with(&app, &rows.server, auth).await?,
        None => app.store.add_server(&rows.server).await?,
    }
    app.note_admin(&caller, "server.add", &server_name).await;
    let (row, person) = (rows.server, &caller);
    Ok((StatusCode::CREATED, shown(&app, person, row).await?))
}

/// Adds an entry and how people sign in to it. Nothing is asked of it for that either.
async fn add_with(app: &App, server: &ServerRow, mut auth: auth_configs::New) -> Result<(), Error> {
    let typed = auth.client()?;
    let mut row = auth.row(server)?;
    if let Some(typed) = typed {
        let issuer = typed.issuer.clone().ok_or_else(|| Error::RequestMissing(vec!["auth.issuer".into()]))?;
        auth_configs::enter(app, &mut row, typed, &issuer).await?;
    }
    app.store.add_server_with(server, &row).await.map_err(store_error)
}

/// One address is registered once by admins; pastes and bundles may repeat it.
async fn check_url_free(
    app: &App,
    workspace: Option<Uuid>,
    url: &str,
    but: Option<Uuid>,
) -> Result<(), Error> {
    let normal =
        |url: &str| url::Url::parse(url.trim()).map_or_else(|_| url.trim().to_owned(), |it| it.to_string());
    let wanted = normal(url);
    let taken = app.store.all_servers().await.map_err(store_error)?.iter().any(|it| {
        it.origin == "admin"
            && Some(it.id) != but
            && it.workspace_id == workspace
            && normal(&it.endpoint) == wanted
    });
    if taken { Err(Error::ServerUrlTaken { url: url.to_owned() }) } else { Ok(()) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerChange {
    enabled: Option<bool>,
    name: Option<String>,
    description: Option<String>,
    endpoint: Option<String>,
    /// A revision to pin; an empty text unpins it.
    protocol: Option<String>,
    era: Option<String>,
    /// `{tok_per_sec, burst?}`; null takes the limit away.
    #[serde(default, deserialize_with = "given")]
    rate_limit: Option<Value>,
}

/// Tells null from nothing.
fn given<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

impl ServerChange {
    /// Writes what is wanted over a row.
    pub(crate) fn apply(self, row: &mut ServerRow) -> Result<(), Error> {
        let describes = self.name.is_some() || self.description.is_some() || self.endpoint.is_some();
        if row.bud_id.is_some() && describes {
            return Err(Error::Request("this server is a bud; change the bud".into()));
        }
        match self.rate_limit {
            None => {}
            Some(Value::Null) => row.rate_limit = None,
            Some(rate) => {
                Rate::read(&rate)?;
                row.rate_limit = Some(rate);
            }
        }
        if let Some(wanted) = self.name {
            name::check_name(&wanted)?;
            row.name = wanted;
        }
        if let Some(wanted) = self.description {
            name::check_description(&wanted)?;
            row.description = wanted;
        }
        if let Some(wanted) = self.endpoint {
            let wanted = wanted.trim().to_owned();
            name::check_server_url(&wanted)?;
            row.config["url"] = wanted.clone().into();
            row.endpoint = wanted;
            row.era_verdict = None;
        }
        if let Some(wanted) = self.era {
            if !["auto", "modern", "legacy"].contains(&wanted.as_str()) {
                return Err(Error::Request("`era` must be `auto`, `modern` or `legacy`".into()));
            }
            row.era = wanted;
            row.era_verdict = None;
        }
        if let Some(wanted) = self.protocol {
            row.protocol = Some(wanted).filter(|it| !it.is_empty());
            row.era_verdict = None;
        }
        if let Some(wanted) = self.enabled {
            row.enabled = wanted;
        }
        Ok(())
    }
}

pub async fn change(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<Json<Server>> {
    let change: ServerChange = body(&bytes)?;
    let mut row = find_to_change(&app, &caller, &id).await?;
    let before = row.endpoint.clone();
    change.apply(&mut row)?;
    if row.origin == "admin" && row.endpoint != before {
        check_url_free(&app, row.workspace_id, &row.endpoint, Some(row.id)).await?;
    }
    app.store.update_server(&row).await?;
    app.reload_server(row.id).await?;
    app.note_admin(&caller, "server.change", &row.name).await;
    shown(&app, &caller, row).await
}

pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    let row = find_to_change(&app, &caller, &id).await?;
    if row.bud_id.is_some() {
        return Err(Error::Request("this server is a bud; remove the bud".into()).into());
    }
    app.remove_server(&row).await?;
    app.note_admin(&caller, "server.remove", &row.name).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Asks a server what it offers, now, and says how that went.
pub async fn test(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Value>> {
    let row = find(&app, &caller, &id).await?;
    let found = app.look_at(caller.person, &row).await?.discovery;
    let data = match found {
        Ok(found) => {
            let tools = found.lists.iter().find(|it| it.0 == ListKind::Tools).map(|it| &it.1);
            let names: Vec<String> = match tools {
                Some(Ok(tools)) => tools.iter().filter_map(|it| it.get_text("name")).collect(),
                _ => Vec::new(),
            };
            let failed = tools.and_then(|it| it.as_ref().err());
            let message = failed.map_or_else(|| "connected".to_owned(), ToString::to_string);
            json!({ "success": failed.is_none(), "server_name": row.name, "tools": names, "message": message })
        }
        Err(error) => {
            json!({ "success": false, "server_name": row.name, "tools": [], "message": error.to_string(), "hint": error.hint() })
        }
    };
    Ok(Json(json!({ "data": data })))
}
