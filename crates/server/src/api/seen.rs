//! `GET /api/people/:id/catalog`: the tools as somebody else finds them, with the reason for what they do not find. For
//! admins, who cannot do anything in another's name.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde::Serialize;
use toolgrove_core::call::Caller;
use toolgrove_core::catalog::usable;
use toolgrove_core::offer::Permission;
use toolgrove_store::PersonRow;
use ts_rs::TS;
use uuid::Uuid;

use super::people;
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

pub async fn catalog(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Vec<SeenTool>>> {
    let person = people::find(&app, &caller, &id).await?;
    let mut seen = tools(&app, &person);
    seen.extend(unused_servers(&app, &person).await?);
    Ok(Json(seen))
}

fn tools(app: &App, person: &PersonRow) -> Vec<SeenTool> {
    let mut seen = Vec::new();
    for offer in app.hub.offers().iter().filter(|it| it.instance.person == person.id) {
        let off = usable(&offer.instance).err().map(|error| error.to_string());
        for tool in offer.listed() {
            let reason = match (&off, tool.enabled, tool.permission) {
                (Some(why), ..) => Some(why.clone()),
                (None, false, _) => Some("they turned it off".into()),
                (None, true, Permission::Block) => Some("they blocked it".into()),
                (None, true, _) => None,
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

/// What is shared and not used by them. What others own is nobody's business.
async fn unused_servers(app: &App, person: &PersonRow) -> Answer<Vec<SeenTool>> {
    let used: HashSet<Uuid> =
        app.store.instances_of(person.id).await?.into_iter().map(|it| it.server_id).collect();
    let reach: HashSet<Uuid> = app.store.servers_of(person.id).await?.into_iter().map(|it| it.id).collect();
    let mut rows = app.store.all_servers().await?;
    rows.retain(|it| it.owner_id.is_none() && it.transport != BUILTIN && !used.contains(&it.id));
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
