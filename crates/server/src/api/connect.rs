//! `/api/mcp/instances/:id/connect`: signing in to an instance's server.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde::Serialize;
use serde_json::{Value, json};
use toolgrove_core::call::Caller;
use ts_rs::TS;

use super::instances::{find, find_to_connect};
use crate::App;
use crate::problem::Answer;

/// Who is signed in to an instance, without anything secret.
#[derive(Debug, Serialize, TS)]
pub struct SignIn {
    pub issuer: String,
    pub client_id: String,
    pub scope: Option<String>,
    /// Unix milliseconds.
    pub signed_in_at: i64,
    pub expires_at: Option<i64>,
    pub has_refresh_token: bool,
}

/// The sign-in there is, or null.
pub async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Option<SignIn>>> {
    let (row, _) = find(&app, &caller, &id).await?;
    let token = app.store.oauth_token_of(row.id).await?;
    Ok(Json(token.map(|it| SignIn {
        issuer: it.issuer,
        client_id: it.client_id,
        scope: it.scope,
        signed_in_at: it.created_at,
        expires_at: it.expires_at,
        has_refresh_token: it.refresh.is_some(),
    })))
}

/// Begins a sign-in: a browser goes to `url`; one that is not signed in to the hub yet goes to `page`.
pub async fn begin(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Value>> {
    let (row, offer) = find_to_connect(&app, &caller, &id).await?;
    let begun = app.connect(&caller, &row, &offer).await?;
    let page = app.way_to(&caller, &format!("/ui/auth/mcp/go?state={}", begun.state)).await?;
    Ok(Json(json!({ "url": begun.url, "page": page })))
}
