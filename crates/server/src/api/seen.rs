//! The tools as somebody else finds them, a token of theirs, or whoever comes in a role, with the reason for what is not
//! found: `GET /api/people/:id/catalog`. For admins, who cannot do anything in another's name.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use toolgrove_core::Error;
use toolgrove_core::call::{Caller, Role};
use toolgrove_core::catalog::usable;
use toolgrove_core::offer::Permission;
use toolgrove_store::{PersonRow, ServerRow, TokenRow};
use ts_rs::TS;
use uuid::Uuid;

use super::people;
use super::tokens::Token;
use crate::App;
use crate::problem::Answer;
use crate::registry::builtin::BUILTIN;

/// A tool of somebody, or a server of which they have none.
#[derive(Debug, Serialize, TS)]
pub struct SeenTool {
    pub server: String,
    /// Null: the whole server.
    pub tool: Option<String>,
    /// What they call it by.
    pub public_name: Option<String>,
    /// Why they cannot.
    pub reason: Option<String>,
}

/// Of what they have, only what one of their tokens may use.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct As {
    token: Option<String>,
}

pub async fn catalog(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    Query(shown_as): Query<As>,
) -> Answer<Json<Vec<SeenTool>>> {
    let person = people::find(&app, &caller, &id).await?;
    let token = match shown_as.token {
        Some(id) => Some(token(&app, &person, &id).await?),
        None => None,
    };
    let mut seen = tools(&app, &person, token.as_ref());
    seen.extend(unused_servers(&app, &person).await?);
    Ok(Json(seen))
}

/// `GET /api/people/:id/tokens`: what a person's programs may use. What they show is known to nobody.
pub async fn tokens(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Vec<Token>>> {
    let person = people::find(&app, &caller, &id).await?;
    Ok(Json(Token::all_of(&app, person.id).await?))
}

/// `GET /api/roles/:role/catalog`: what somebody finds who has just come to the first workspace in this role.
pub async fn newcomer(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(word): Path<String>,
) -> Answer<Json<Vec<SeenTool>>> {
    caller.require_admin()?;
    let role = Role::parse(&word).ok_or_else(|| Error::NotFound(format!("role {word}")))?;
    let first = app.store.first_workspace().await?;
    let is_near = |it: &ServerRow| it.workspace_id.is_none_or(|id| id == first);
    let mut rows = shared_servers(&app).await?;
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let seen = rows.into_iter().map(|row| {
        let reason = match (is_near(&row), row.enabled, role) {
            (false, _, Role::Admin) => "not in this workspace; they may join the one it is in",
            (false, ..) => "not in this workspace",
            (true, false, Role::Admin) => "the server is off; they may turn it on",
            (true, false, _) => "the server is off",
            (true, true, _) => "they have no instance of it",
        };
        SeenTool { server: row.name, tool: None, public_name: None, reason: Some(reason.into()) }
    });
    Ok(Json(seen.collect()))
}

async fn token(app: &App, person: &PersonRow, id: &str) -> Answer<TokenRow> {
    let all = app.store.tokens_of(person.id).await?;
    let found = all.into_iter().find(|it| it.id.to_string() == id);
    Ok(found.ok_or_else(|| Error::NotFound(format!("token {id}")))?)
}

fn tools(app: &App, person: &PersonRow, token: Option<&TokenRow>) -> Vec<SeenTool> {
    let grants = token.and_then(|it| it.grants.as_ref());
    let mut seen = Vec::new();
    for offer in app.hub.offers().iter().filter(|it| it.instance.person == person.id) {
        let is_granted = grants.is_none_or(|it| it.contains(&offer.instance.id));
        let off = usable(&offer.instance).err().map(|error| error.to_string());
        for tool in offer.listed() {
            let reason = match (is_granted, &off, tool.enabled, tool.permission) {
                (false, ..) => Some("this token has no grant for it".into()),
                (true, Some(why), ..) => Some(why.clone()),
                (true, None, false, _) => Some("they turned it off".into()),
                (true, None, true, Permission::Block) => Some("they blocked it".into()),
                (true, None, true, _) => None,
            };
            seen.push(SeenTool {
                server: offer.instance.server_name.clone(),
                tool: Some(tool.name.clone()),
                public_name: Some(tool.public_name.clone()),
                reason,
            });
        }
    }
    seen.sort_by(|a, b| a.public_name.cmp(&b.public_name));
    seen
}

/// What everybody may come to see. What others own is nobody's business.
async fn shared_servers(app: &App) -> Answer<Vec<ServerRow>> {
    let mut rows = app.store.all_servers().await?;
    rows.retain(|it| it.owner_id.is_none() && it.transport != BUILTIN);
    Ok(rows)
}

/// What is shared and not used by them.
async fn unused_servers(app: &App, person: &PersonRow) -> Answer<Vec<SeenTool>> {
    let used: HashSet<Uuid> =
        app.store.instances_of(person.id).await?.into_iter().map(|it| it.server_id).collect();
    let reach: HashSet<Uuid> = app.store.servers_of(person.id).await?.into_iter().map(|it| it.id).collect();
    let mut rows = shared_servers(app).await?;
    rows.retain(|it| !used.contains(&it.id));
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let seen = rows.into_iter().map(|row| {
        let reason = match (reach.contains(&row.id), row.enabled) {
            (false, _) => "not in this workspace",
            (true, false) => "the server is off",
            (true, true) => "they have no instance of it",
        };
        SeenTool { server: row.name, tool: None, public_name: None, reason: Some(reason.into()) }
    });
    Ok(seen.collect())
}
