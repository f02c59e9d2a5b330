//! `/api/plans`: graphs of calls. Each is its owner's.

pub mod run;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolgrove_core::call::Caller;
use toolgrove_core::plan::Graph;
use toolgrove_core::{Error, name};
use toolgrove_store::PlanRow;
use ts_rs::TS;
use uuid::Uuid;

use super::body;
use crate::App;
use crate::problem::{Answer, store_error};

#[derive(Debug, Serialize, TS)]
pub struct Plan {
    pub id: Uuid,
    pub workspace_id: Uuid,
    pub name: String,
    pub graph: Graph,
    pub created_at: i64,
    pub updated_at: i64,
}

fn shown(row: PlanRow) -> Result<Plan, Error> {
    let unreadable = |problem| Error::Internal(format!("plan `{}` cannot be read: {problem}", row.name));
    Ok(Plan {
        id: row.id,
        workspace_id: row.workspace_id,
        graph: serde_json::from_value(row.graph.clone()).map_err(unreadable)?,
        name: row.name,
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<Vec<Plan>>> {
    // A token for some instances has no plans: they may name anything.
    let rows = match caller.grants {
        None => app.store.plans_of(caller.person).await?,
        Some(_) => Vec::new(),
    };
    Ok(Json(rows.into_iter().map(shown).collect::<Result<_, _>>()?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    name: Option<String>,
    graph: Option<Graph>,
    workspace_id: Option<String>,
}

/// A plan that runs in circles, or names what is not there, is not kept.
pub async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    bytes: Bytes,
) -> Answer<(StatusCode, Json<Plan>)> {
    let given: Given = body(&bytes)?;
    let wanted = given.name.ok_or_else(|| Error::RequestMissing(vec!["name".into()]))?;
    name::check_name(&wanted)?;
    let graph = given.graph.unwrap_or_default();
    graph.order()?;
    if caller.grants.is_some() {
        return Err(Error::TokenMayNot.into());
    }
    let workspace = match given.workspace_id {
        Some(id) => app.workspace(&caller, &id).await?.workspace.id,
        None => app.home(&caller).await?.id,
    };
    let row =
        PlanRow::new(workspace, caller.person, &wanted, serde_json::to_value(graph).unwrap_or_default());
    app.store.add_plan(&row).await?;
    Ok((StatusCode::CREATED, Json(shown(row)?)))
}

/// A plan of the caller's.
pub(crate) async fn find(app: &App, caller: &Caller, id: &str) -> Result<PlanRow, Error> {
    let unknown = || Error::NotFound(format!("plan {id}"));
    let parsed = Uuid::parse_str(id).map_err(|_| unknown())?;
    if caller.grants.is_some() {
        return Err(unknown());
    }
    app.store.plan(caller.person, parsed).await.map_err(store_error)?.ok_or_else(unknown)
}

pub async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Plan>> {
    Ok(Json(shown(find(&app, &caller, &id).await?)?))
}

pub async fn change(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<Json<Plan>> {
    let given: Given = body(&bytes)?;
    let mut row = find(&app, &caller, &id).await?;
    if let Some(wanted) = given.name {
        name::check_name(&wanted)?;
        row.name = wanted;
    }
    if let Some(graph) = given.graph {
        graph.order()?;
        row.graph = serde_json::to_value(graph).unwrap_or_default();
    }
    app.store.update_plan(&row).await?;
    Ok(Json(shown(row)?))
}

pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    let row = find(&app, &caller, &id).await?;
    app.store.remove_plan(caller.person, row.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
