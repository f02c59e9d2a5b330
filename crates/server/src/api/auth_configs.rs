//! `/api/mcp/servers/:id/auth-configs`: how a server is shown who asks. Admins name the places; values are each person's.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolgrove_core::auth::{AuthEntry, AuthType, Place, check_entries};
use toolgrove_core::call::Caller;
use toolgrove_core::{Error, Secret, name};
use toolgrove_store::{AuthConfigRow, OauthClientRow, ServerRow};
use toolgrove_upstream::oauth::{self, Registration};
use ts_rs::TS;
use url::Url;
use uuid::Uuid;

use super::{body, servers};
use crate::App;
use crate::problem::{Answer, store_error};
use crate::registry::auth;

/// A config as the API shows it.
#[derive(Debug, Serialize, TS)]
pub struct AuthConfig {
    pub id: Uuid,
    pub server_id: Uuid,
    #[serde(rename = "type")]
    pub kind: AuthType,
    pub name: String,
    pub entries: Vec<AuthEntry>,
    /// Separated by spaces.
    pub scopes: Option<String>,
    /// Who we are at which provider, if an admin has entered that.
    pub endpoints: Option<EnteredClient>,
}

/// A client that an admin has entered. Its secret is never shown.
#[derive(Debug, Serialize, TS)]
pub struct EnteredClient {
    pub issuer: String,
    pub client_id: String,
    pub has_client_secret: bool,
}

impl AuthConfig {
    async fn of(app: &App, row: AuthConfigRow) -> Result<Self, Error> {
        let endpoints = app.client_of(&row).await?.map(|it| EnteredClient {
            has_client_secret: it.client_secret.is_some(),
            issuer: it.issuer,
            client_id: it.client_id,
        });
        Ok(Self {
            entries: auth::entries(&row),
            kind: AuthType::parse(&row.kind),
            scopes: row.scopes.and_then(|it| it.as_str().map(Into::into)),
            endpoints,
            id: row.id,
            server_id: row.server_id,
            name: row.name,
        })
    }
}

/// What an admin enters.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    #[serde(rename = "type")]
    kind: Option<AuthType>,
    name: Option<String>,
    #[serde(default)]
    entries: Vec<AuthEntry>,
    scopes: Option<String>,
    /// Who signs people in; found out if it is not said.
    issuer: Option<String>,
    client_id: Option<String>,
    client_secret: Option<Secret>,
}

/// A client as it is typed in.
pub(crate) struct Typed {
    pub(crate) issuer: Option<String>,
    id: String,
    secret: Option<Secret>,
}

impl New {
    /// Takes out the client that is entered with it, if any.
    pub(crate) fn client(&mut self) -> Result<Option<Typed>, Error> {
        let (issuer, secret) = (self.issuer.take(), self.client_secret.take());
        let filled = |it: &String| !it.trim().is_empty();
        match self.client_id.take().filter(filled) {
            Some(id) if self.kind == Some(AuthType::Oauth) => {
                let secret = secret.filter(|it| !it.reveal().is_empty());
                let issuer = issuer.filter(filled).map(|it| check_issuer(&it)).transpose()?;
                Ok(Some(Typed { issuer, id: id.trim().to_owned(), secret }))
            }
            Some(_) => Err(Error::Request("`client_id` is for type `oauth`".into())),
            None if issuer.is_some() || secret.is_some() => {
                Err(Error::RequestMissing(vec!["client_id".into()]))
            }
            None => Ok(None),
        }
    }

    /// The row for a server, if it makes sense there.
    pub(crate) fn row(self, server: &ServerRow) -> Result<AuthConfigRow, Error> {
        let kind = self.kind.ok_or_else(|| Error::RequestMissing(vec!["type".into()]))?;
        if kind == AuthType::Header {
            check_entries(&self.entries)?;
            check_transport(&self.entries, &server.transport)?;
        } else if !self.entries.is_empty() {
            return Err(Error::Request(format!("`entries` are for type `header`, not `{}`", kind.as_str())));
        }
        if kind != AuthType::Oauth && self.scopes.is_some() {
            return Err(Error::Request(format!("`scopes` are for type `oauth`, not `{}`", kind.as_str())));
        }
        let called = self.name.unwrap_or_else(|| kind.as_str().to_owned());
        name::check_name(&called)?;
        let mut row = AuthConfigRow::new(server.id, kind.as_str(), &called, json!(self.entries));
        let scopes: Vec<_> = self.scopes.as_deref().unwrap_or_default().split_whitespace().collect();
        row.scopes = (!scopes.is_empty()).then(|| scopes.join(" ").into());
        Ok(row)
    }
}

fn check_issuer(typed: &str) -> Result<String, Error> {
    let issuer = typed.trim();
    match Url::parse(issuer) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(issuer.to_owned()),
        _ => Err(Error::Request(format!("`{issuer}` is not the URL of an issuer"))),
    }
}

/// A process has no headers, and a socket no query.
fn check_transport(entries: &[AuthEntry], transport: &str) -> Result<(), Error> {
    match transport {
        "streamable_http" | "sse" => Ok(()),
        "unix" | "pipe" if entries.iter().all(|it| it.place == Place::Header) => Ok(()),
        "unix" | "pipe" => {
            Err(Error::Request("query parameters are for a server that has an http URL".into()))
        }
        kind => Err(Error::Request(format!("a `{kind}` server takes no headers"))),
    }
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Vec<AuthConfig>>> {
    let server = servers::find(&app, &caller, &id).await?;
    let rows = app.store.auth_configs_of(server.id).await?;
    let mut shown = Vec::with_capacity(rows.len());
    for row in rows {
        shown.push(AuthConfig::of(&app, row).await?);
    }
    Ok(Json(shown))
}

pub async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<(StatusCode, Json<AuthConfig>)> {
    let server = servers::find_to_change(&app, &caller, &id).await?;
    let mut new: New = body(&bytes)?;
    let typed = new.client()?;
    let mut row = new.row(&server)?;
    if let Some(typed) = typed {
        // What is known of a whole issuer is for those who keep the registry.
        caller.require_admin()?;
        let issuer = match &typed.issuer {
            Some(issuer) => issuer.clone(),
            None => issuer_of(&app, &server).await?,
        };
        enter(&app, &mut row, typed, &issuer).await?;
    }
    app.store.add_auth_config(&row).await?;
    app.note_admin(&caller, "auth-config.add", &subject(&server, &row)).await;
    Ok((StatusCode::CREATED, Json(AuthConfig::of(&app, row).await?)))
}

/// Who signs people in to a server, by its own word.
async fn issuer_of(app: &App, server: &ServerRow) -> Result<String, Error> {
    let url = name::check_server_url(&server.endpoint)?;
    let hosts = app.hosts(server.workspace_id).await.map_err(store_error)?;
    Ok(oauth::discover(&app.hub.links().fetch().within(&hosts), &url, None).await?.issuer)
}

/// Keeps a client that an admin is known by at a provider. From then on it is used first.
pub(crate) async fn enter(
    app: &App,
    row: &mut AuthConfigRow,
    typed: Typed,
    issuer: &str,
) -> Result<(), Error> {
    row.endpoints = Some(json!({ "issuer": issuer, "client_id": typed.id }));
    let mut client = OauthClientRow::new(issuer, Registration::Preregistered.as_str(), &typed.id);
    client.client_secret = typed.secret;
    app.store.put_oauth_client(&client).await.map_err(store_error)
}

/// Removes one config. Whoever used it has to choose another.
pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path((id, config)): Path<(String, String)>,
) -> Answer<StatusCode> {
    let server = servers::find_to_change(&app, &caller, &id).await?;
    let rows = app.store.auth_configs_of(server.id).await?;
    let row = rows.into_iter().find(|it| it.id.to_string() == config);
    let row = row.ok_or_else(|| Error::NotFound(format!("/api/mcp/servers/{id}/auth-configs/{config}")))?;
    forget(&app, &caller, &server, &[row]).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn remove_all(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    let server = servers::find_to_change(&app, &caller, &id).await?;
    let rows = app.store.auth_configs_of(server.id).await?;
    forget(&app, &caller, &server, &rows).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn forget(
    app: &Arc<App>,
    caller: &Caller,
    server: &ServerRow,
    rows: &[AuthConfigRow],
) -> Result<(), Error> {
    for row in rows {
        app.store.remove_auth_config(row.id).await.map_err(store_error)?;
        if let Some(client) = app.client_of(row).await?
            && !is_named_elsewhere(app, row).await?
        {
            app.store.remove_oauth_client(client.id).await.map_err(store_error)?;
        }
        app.note_admin(caller, "auth-config.remove", &subject(server, row)).await;
    }
    app.reload_server(server.id).await
}

/// Whether another server's config names the same client.
async fn is_named_elsewhere(app: &App, row: &AuthConfigRow) -> Result<bool, Error> {
    for server in app.store.all_servers().await.map_err(store_error)? {
        let configs = app.store.auth_configs_of(server.id).await.map_err(store_error)?;
        if configs.iter().any(|it| it.id != row.id && it.endpoints == row.endpoints) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn subject(server: &ServerRow, row: &AuthConfigRow) -> String {
    format!("{}: {}", server.name, row.name)
}
