//! `/api/buds`: model presets that act as servers. Members of a workspace see its buds; authors and those who keep the
//! workspace change them.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use http::StatusCode;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde_json::{Map, Value};
use toolgrove_core::Error;
use toolgrove_core::bud::BudPreset;
use toolgrove_core::call::Caller;
use toolgrove_store::BudRow;
use ts_rs::TS;
use uuid::Uuid;

use super::body;
use crate::App;
use crate::problem::{Answer, store_error};

/// What stands in an address as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A bud as the API shows it.
#[derive(Debug, Serialize, TS)]
pub struct Bud {
    /// Also the id of its server.
    pub id: Uuid,
    pub workspace_id: Uuid,
    pub owner_id: Option<Uuid>,
    pub name: String,
    /// `bud://<workspace>/<name>`.
    pub address: String,
    #[serde(flatten)]
    #[ts(flatten)]
    pub preset: BudPreset,
    /// Whether it is declared in `toolgrove.toml`.
    pub declared: bool,
    /// Whether the caller may change it.
    pub editable: bool,
    pub created_at: i64,
    pub updated_at: i64,
}

async fn shown(app: &App, caller: &Caller, row: BudRow) -> Result<Bud, Error> {
    let editable = app.may_change_bud(caller, &row).await?;
    let workspace = app.store.workspace(row.workspace_id).await.map_err(store_error)?;
    let workspace = workspace.map(|it| it.name).unwrap_or_default();
    let encode = |it: &str| utf8_percent_encode(it, PLAIN).to_string();
    Ok(Bud {
        id: row.id,
        workspace_id: row.workspace_id,
        owner_id: row.owner_id,
        address: format!("bud://{}/{}", encode(&workspace), encode(&row.name)),
        name: row.name,
        preset: row.preset,
        declared: row.origin == "config",
        editable,
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<Vec<Bud>>> {
    let mut buds = Vec::new();
    for row in app.store.buds_of(caller.person).await? {
        if caller.grants.is_none() || app.hub.catalog(&caller).offers().any(|it| it.instance.server == row.id)
        {
            buds.push(shown(&app, &caller, row).await?);
        }
    }
    Ok(Json(buds))
}

/// `{name, workspace_id?, …}` with the keys of a preset; the first workspace of the caller's when none is named.
pub async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    bytes: Bytes,
) -> Answer<(StatusCode, Json<Bud>)> {
    let mut given: Map<String, Value> = body(&bytes)?;
    let name = text(given.remove("name")).ok_or_else(|| Error::RequestMissing(vec!["name".into()]))?;
    let workspace = match text(given.remove("workspace_id")) {
        Some(id) => app.workspace(&caller, &id).await?.workspace.id,
        None => app.home(&caller).await?.id,
    };
    if caller.grants.is_some() {
        return Err(Error::GrantMissing { slug: name }.into());
    }
    let row = BudRow::new(workspace, Some(caller.person), &name, preset(given)?);
    app.add_bud(&caller, &row).await?;
    app.note_admin(&caller, "bud.add", &name).await;
    Ok((StatusCode::CREATED, Json(shown(&app, &caller, row).await?)))
}

fn text(value: Option<Value>) -> Option<String> {
    value.and_then(|it| it.as_str().map(|it| it.trim().to_owned())).filter(|it| !it.is_empty())
}

fn preset(given: Map<String, Value>) -> Result<BudPreset, Error> {
    serde_json::from_value(Value::Object(given))
        .map_err(|problem| Error::Request(format!("the bud cannot be read: {problem}")))
}

pub async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Bud>> {
    let row = seen(&app, &caller, &id).await?;
    Ok(Json(shown(&app, &caller, row).await?))
}

/// A token for some instances sees the buds behind them.
pub(super) async fn seen(app: &App, caller: &Caller, word: &str) -> Result<BudRow, Error> {
    let row = app.bud(caller, word).await?;
    let is_granted = |id: Uuid| app.hub.catalog(caller).offers().any(|it| it.instance.server == id);
    if caller.grants.is_some() && !is_granted(row.id) {
        return Err(Error::UnknownServer { server: word.to_owned() });
    }
    Ok(row)
}

/// Whatever is named takes the place of what was there.
pub async fn change(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<Json<Bud>> {
    let given: Map<String, Value> = body(&bytes)?;
    seen(&app, &caller, &id).await?;
    let mut row = app.bud_to_change(&caller, &id).await?;
    let mut merged = match serde_json::to_value(&row.preset) {
        Ok(Value::Object(merged)) => merged,
        _ => Map::new(),
    };
    for (key, value) in given {
        if key == "name" {
            row.name = text(Some(value)).ok_or_else(|| Error::RequestMissing(vec!["name".into()]))?;
        } else {
            merged.insert(key, value);
        }
    }
    row.preset = preset(merged)?;
    app.change_bud(&row).await?;
    app.note_admin(&caller, "bud.change", &row.name).await;
    Ok(Json(shown(&app, &caller, row).await?))
}

pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    seen(&app, &caller, &id).await?;
    let row = app.bud_to_change(&caller, &id).await?;
    app.remove_bud(row.id).await?;
    app.note_admin(&caller, "bud.remove", &row.name).await;
    Ok(StatusCode::NO_CONTENT)
}
