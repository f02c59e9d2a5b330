//! What people do with their own way in: `/api/password`, `/api/sessions`. A token cannot.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolgrove_core::{Error, Secret};
use ts_rs::TS;
use uuid::Uuid;

use super::body;
use crate::App;
use crate::auth::{Pass, Peer};
use crate::problem::{Answer, store_error};

/// A browser in which the caller is signed in.
#[derive(Debug, Serialize, TS)]
pub struct Browser {
    pub id: Uuid,
    pub agent: String,
    /// Whether it is the one that asks.
    pub current: bool,
    pub last_seen_at: i64,
    pub expires_at: i64,
    pub created_at: i64,
}

pub(crate) async fn sessions(
    State(app): State<Arc<App>>,
    Extension(pass): Extension<Pass>,
) -> Answer<Json<Vec<Browser>>> {
    pass.caller.require_person()?;
    let current = pass.session.as_ref().map(|it| it.id);
    let rows = app.store.sessions_of(pass.caller.person).await?;
    let shown = rows.into_iter().map(|it| Browser {
        current: Some(it.id) == current,
        id: it.id,
        agent: it.agent,
        last_seen_at: it.last_seen_at,
        expires_at: it.expires_at,
        created_at: it.created_at,
    });
    Ok(Json(shown.collect()))
}

/// Signs a browser out: by its id, or the `current` one.
pub(crate) async fn end_session(
    State(app): State<Arc<App>>,
    Extension(pass): Extension<Pass>,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    pass.caller.require_person()?;
    let unknown = || Error::NotFound(format!("session {id}"));
    let current = pass.session.as_ref().map(|it| it.id).filter(|_| id == "current");
    let session = current.or_else(|| Uuid::parse_str(&id).ok()).ok_or_else(unknown)?;
    if !app.close_session(pass.caller.person, session).await? {
        return Err(unknown().into());
    }
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewPassword {
    current: Secret,
    new: Secret,
}

/// Changes the caller's password and signs all their other browsers out.
pub(crate) async fn password(
    State(app): State<Arc<App>>,
    Extension(pass): Extension<Pass>,
    peer: Peer,
    bytes: Bytes,
) -> Answer<StatusCode> {
    pass.caller.require_person()?;
    let given: NewPassword = body(&bytes)?;
    let person = app.store.person(pass.caller.person).await?;
    let email = person.and_then(|it| it.email).unwrap_or_default();
    app.recognise(&email, given.current, peer.0).await?;
    let hash = app.gate.passwords.hash(given.new).await?;
    app.store.set_password(pass.caller.person, &hash).await?;
    let current = pass.session.as_ref().map(|it| it.id);
    for session in app.store.sessions_of(pass.caller.person).await.map_err(store_error)? {
        if Some(session.id) != current {
            app.close_session(pass.caller.person, session.id).await?;
        }
    }
    Ok(StatusCode::NO_CONTENT)
}
