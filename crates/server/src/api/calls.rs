//! `/api/calls`: what was called, by whom, how long it took and how it ended.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use serde::Deserialize;
use toolgrove_core::call::Caller;
use toolgrove_core::{CallEnd, CallRecord, Error};
use toolgrove_store::CallFilter;
use uuid::Uuid;

use crate::App;
use crate::problem::Answer;

#[derive(Deserialize)]
pub struct Wanted {
    limit: Option<u32>,
    before: Option<Uuid>,
    tool: Option<String>,
    outcome: Option<String>,
    instance: Option<Uuid>,
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(wanted): Query<Wanted>,
) -> Answer<Json<Vec<CallRecord>>> {
    let outcome = match wanted.outcome {
        None => None,
        Some(word) => {
            Some(CallEnd::parse(&word).ok_or_else(|| Error::Request(format!("`{word}` is not an outcome")))?)
        }
    };
    let filter = CallFilter {
        limit: wanted.limit.unwrap_or(50).min(1000),
        before: wanted.before,
        tool: wanted.tool,
        outcome,
        instance_id: wanted.instance,
    };
    // A call that has just ended is part of the answer.
    app.hub.log().flush().await;
    Ok(Json(app.store.calls(caller.person, &filter).await?))
}

pub async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<Uuid>,
) -> Answer<Json<CallRecord>> {
    app.hub.log().flush().await;
    let call = app.store.call(caller.person, id).await?;
    Ok(Json(call.ok_or_else(|| Error::NotFound(format!("call {id}")))?))
}
