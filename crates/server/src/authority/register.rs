//! `POST /oauth/register`: a client makes itself known (RFC 7591). Anybody may, so it is bounded in every direction:
//! size, pace, number. Nobody has to trust what it says: it can do nothing until a person allows it.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use toolgrove_core::Error;
use toolgrove_store::ClientRow;
use uuid::Uuid;

use super::client::{AuthMethod, Description};
use super::refusal::Refused;
use super::scope::Scope;
use crate::App;
use crate::auth::{self, Peer};
use crate::problem::Refusal;

pub(crate) async fn register(State(app): State<Arc<App>>, Peer(address): Peer, bytes: Bytes) -> Response {
    if let Some(address) = address
        && let Err(wait) = app.gate.throttle.register(address)
    {
        return Refusal(Error::Throttled { seconds: wait.as_secs().max(1) }).into_response();
    }
    let description = match Description::registered(&bytes) {
        Ok(description) => description,
        Err(why) => return Refused::new(why.code(), why.text()).into_response(),
    };
    take(&app, description).await.unwrap_or_else(IntoResponse::into_response)
}

async fn take(app: &App, description: Description) -> Result<Response, Refused> {
    let redirects: Vec<String> = description.redirects.iter().map(|it| it.as_str().to_owned()).collect();
    let name = match (description.name.as_str(), description.redirects.first()) {
        ("", Some(redirect)) => redirect.place(),
        (name, _) => name.to_owned(),
    };
    let secret = (description.auth != AuthMethod::None).then(|| auth::fresh("tgs_"));
    let row = ClientRow {
        auth_method: description.auth.as_str().to_owned(),
        secret_hash: secret.as_ref().map(|it| auth::stored(&auth::hash(it.reveal()))),
        refreshes: description.refreshes,
        ..ClientRow::new(&Uuid::new_v4().to_string(), "registered", &name, redirects)
    };
    app.keep_client(&row).await?;
    let mut grants = vec!["authorization_code"];
    if row.refreshes {
        grants.push("refresh_token");
    }
    let mut body = json!({
        "client_id": row.id,
        "client_id_issued_at": row.created_at / 1000,
        "client_name": row.name,
        "redirect_uris": row.redirect_uris,
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": row.auth_method,
        "scope": Scope::ALL.map(Scope::as_str).join(" "),
    });
    if let Some(secret) = &secret {
        body["client_secret"] = secret.reveal().into();
        body["client_secret_expires_at"] = 0.into();
    }
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((StatusCode::CREATED, no_store, Json(body)).into_response())
}
