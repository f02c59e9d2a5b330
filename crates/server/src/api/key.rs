//! `POST /api/key/rotate`: a new key for every stored secret.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use toolgrove_core::call::Caller;
use toolgrove_store::OldKeys;

use crate::App;
use crate::problem::Answer;

#[derive(Debug, Serialize)]
pub struct Rotation {
    /// Secrets that are sealed with the new key now.
    pub resealed: u64,
    /// Secrets that no key opens; they have to be entered again.
    pub unreadable: u64,
    /// Whether the old key still lies in the file; the next rotation drops it.
    pub old_key_kept: bool,
}

pub async fn rotate(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<Rotation>> {
    caller.require_admin()?;
    let rotated = app.store.rotate_key().await?;
    app.note_admin(&caller, "key.rotate", "secret key").await;
    Ok(Json(Rotation {
        resealed: rotated.resealed,
        unreadable: rotated.unreadable,
        old_key_kept: rotated.old_keys == OldKeys::Kept,
    }))
}
