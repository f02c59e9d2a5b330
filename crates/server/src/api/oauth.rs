//! `/api/oauth`: the clients a person let in, and, for admins, those that may ask. A token sees neither.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolgrove_core::Error;
use toolgrove_core::call::Caller;
use toolgrove_store::{ClientRow, ConnectedClient, InstanceRow};
use ts_rs::TS;
use uuid::Uuid;

use super::tokens::Grant;
use crate::App;
use crate::authority::redirect::Redirect;
use crate::problem::Answer;

/// A client that the caller let in.
#[derive(Debug, Serialize, TS)]
#[ts(rename = "ConnectedClient")]
pub struct Connected {
    pub id: Uuid,
    pub client_id: String,
    pub name: String,
    /// Where answers to it go: a host, or the scheme of an app.
    pub place: String,
    /// The path that its tokens are for; empty for the whole hub.
    pub resource: String,
    pub scope: String,
    /// The instances it may use; null means all of its person.
    pub grants: Option<Vec<Grant>>,
    pub last_used_at: Option<i64>,
    /// When it is over if it is not used from now on.
    pub expires_at: i64,
    pub created_at: i64,
}

impl Connected {
    fn of(row: ConnectedClient, instances: &[InstanceRow]) -> Self {
        let ConnectedClient { connection, client_name, grants } = row;
        let granted = || instances.iter().filter(|it| grants.contains(&it.id)).map(Grant::of).collect();
        Self {
            place: Redirect::read(&connection.redirect_uri).map(|it| it.place()).unwrap_or_default(),
            grants: (!connection.all_instances).then(granted),
            id: connection.id,
            client_id: connection.client_id,
            name: client_name,
            resource: connection.resource,
            scope: connection.scope,
            last_used_at: connection.last_used_at,
            expires_at: connection.expires_at,
            created_at: connection.created_at,
        }
    }
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<Vec<Connected>>> {
    caller.require_person()?;
    let instances = app.store.instances_of(caller.person).await?;
    let rows = app.store.connections_of(caller.person).await?;
    Ok(Json(rows.into_iter().map(|it| Connected::of(it, &instances)).collect()))
}

/// Locks a client out. What it is doing ends at once.
pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    caller.require_person()?;
    let unknown = || Error::NotFound(format!("client {id}"));
    let connection = Uuid::parse_str(&id).map_err(|_| unknown())?;
    if !app.store.remove_connection_of(caller.person, connection).await? {
        return Err(unknown().into());
    }
    app.end(&HashSet::from([connection]));
    Ok(StatusCode::NO_CONTENT)
}

/// A client that may ask people to let it in.
#[derive(Debug, Serialize, TS)]
#[ts(rename = "KnownClient")]
pub struct Known {
    pub client_id: String,
    /// `registered` or `document`.
    pub kind: String,
    pub name: String,
    pub redirect_uris: Vec<String>,
    /// How many times people let it in.
    pub connections: i64,
    pub last_used_at: Option<i64>,
    pub created_at: i64,
}

impl Known {
    fn of((row, connections): (ClientRow, i64)) -> Self {
        Self {
            client_id: row.id,
            kind: row.kind,
            name: row.name,
            redirect_uris: row.redirect_uris,
            connections,
            last_used_at: row.last_used_at,
            created_at: row.created_at,
        }
    }
}

pub async fn known(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<Vec<Known>>> {
    caller.require_admin()?;
    caller.require_person()?;
    Ok(Json(app.store.clients().await?.into_iter().map(Known::of).collect()))
}

/// An id may be an address, so it is no part of the path.
#[derive(Deserialize)]
pub struct Named {
    client_id: Option<String>,
}

/// Forgets a client and locks it out wherever it was let in. It may register again.
pub async fn forget(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(Named { client_id }): Query<Named>,
) -> Answer<StatusCode> {
    caller.require_admin()?;
    caller.require_person()?;
    let client_id = client_id.ok_or_else(|| Error::RequestMissing(vec!["client_id".into()]))?;
    let connections = app.store.connections_with(&client_id).await?;
    if !app.store.remove_client(&client_id).await? {
        return Err(Error::NotFound(format!("client {client_id}")).into());
    }
    app.end(&connections.into_iter().collect());
    app.note_admin(&caller, "client.remove", &client_id).await;
    Ok(StatusCode::NO_CONTENT)
}
