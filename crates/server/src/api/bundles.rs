//! `/api/bundles`: what a person has installed, what they could, and what would come of it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgrove_core::Error;
use toolgrove_core::call::Caller;
use toolgrove_core::health::Health;
use toolgrove_store::{BundleRow, InstanceRow, ServerRow};
use ts_rs::TS;
use uuid::Uuid;

use super::{body, health};
use crate::App;
use crate::bundles::{self, Done, Gone, Hits, KEY, ORIGIN, Order, Plan, identity, unknown};
use crate::problem::Answer;

/// A bundle that is installed.
#[derive(Debug, Serialize, TS)]
pub struct Bundle {
    pub id: String,
    pub version: String,
    pub name: String,
    pub description: String,
    pub author: Option<String>,
    pub source: String,
    /// `user`, `workspace` or `repository`.
    pub scope: String,
    /// The file its servers are in, if any.
    pub file: Option<String>,
    pub sha256: Option<String>,
    pub installed_at: i64,
    pub servers: Vec<BundleServer>,
}

/// One of its servers, as the hub has it.
#[derive(Debug, Serialize, TS)]
pub struct BundleServer {
    pub id: Uuid,
    pub name: String,
    /// As the bundle calls it.
    pub server: String,
    pub identity: Option<String>,
    pub endpoint: String,
    /// `active`, `off` or `duplicate`.
    #[ts(type = "\"active\" | \"off\" | \"duplicate\"")]
    pub state: &'static str,
    /// The server that does the same and stays.
    pub duplicate_of: Option<String>,
    pub instance: Option<Uuid>,
    pub slug: Option<String>,
    pub tools: usize,
    /// Tools that changed, and that nobody has decided on.
    pub changed: usize,
    pub health: Option<Health>,
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<Vec<Bundle>>> {
    refuse_tokens(&caller)?;
    let rows = app.store.bundles_of(caller.person).await?;
    let around = Around::read(&app, &caller).await?;
    Ok(Json(rows.into_iter().map(|it| around.bundle(&app, it)).collect()))
}

pub async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Whole>> {
    refuse_tokens(&caller)?;
    let row = app.store.bundle(caller.person, &id).await?.ok_or_else(|| unknown(&id))?;
    let manifest = row.manifest.clone();
    let around = Around::read(&app, &caller).await?;
    Ok(Json(Whole { bundle: around.bundle(&app, row), manifest }))
}

/// A bundle with what its author says of it.
#[derive(Debug, Serialize)]
pub struct Whole {
    #[serde(flatten)]
    pub bundle: Bundle,
    pub manifest: Value,
}

pub async fn install(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    bytes: Bytes,
) -> Answer<(StatusCode, Json<Done>)> {
    let done = app.install_bundle(&caller, body(&bytes)?).await?;
    app.note_admin(&caller, "bundle.install", &done.plan.id).await;
    Ok((StatusCode::CREATED, Json(done)))
}

#[derive(Deserialize)]
pub struct Asked {
    /// The bundle that would be updated; absent: installed.
    update: Option<String>,
}

pub async fn preview(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(asked): Query<Asked>,
    bytes: Bytes,
) -> Answer<Json<Plan>> {
    let order: Order = body(&bytes)?;
    Ok(Json(app.plan_bundle(&caller, order, asked.update.as_deref()).await?))
}

pub async fn update(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<Json<Done>> {
    let order = if bytes.is_empty() { Order::default() } else { body(&bytes)? };
    let done = app.update_bundle(&caller, &id, order).await?;
    app.note_admin(&caller, "bundle.update", &id).await;
    Ok(Json(done))
}

pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Gone>> {
    let gone = app.uninstall_bundle(&caller, &id).await?;
    if gone.servers > 0 {
        app.note_admin(&caller, "bundle.uninstall", &id).await;
    }
    Ok(Json(gone))
}

#[derive(Deserialize)]
pub struct Words {
    #[serde(default)]
    q: String,
    cursor: Option<String>,
}

pub async fn search(State(app): State<Arc<App>>, Query(words): Query<Words>) -> Answer<Json<Hits>> {
    Ok(Json(bundles::search(&app, words.q.trim(), words.cursor.as_deref()).await?))
}

/// Bundles are a person's; a token for some instances has none.
fn refuse_tokens(caller: &Caller) -> Result<(), Error> {
    if caller.grants.is_some() { Err(Error::TokenMayNot) } else { Ok(()) }
}

/// What a person's bundles are shown with.
struct Around {
    servers: Vec<ServerRow>,
    instances: Vec<InstanceRow>,
}

impl Around {
    async fn read(app: &App, caller: &Caller) -> Answer<Self> {
        let mut instances = app.store.instances_of(caller.person).await?;
        instances.retain(|it| caller.may_use(it.id));
        Ok(Self { servers: app.store.servers_of(caller.person).await?, instances })
    }

    fn bundle(&self, app: &App, row: BundleRow) -> Bundle {
        let text = |key: &str| row.manifest[key].as_str().map(str::to_owned);
        let origin = format!("{ORIGIN}{}", row.id);
        let mut servers: Vec<_> = self.servers.iter().filter(|it| it.origin == origin).collect();
        servers.sort_by_key(|it| it.id);
        Bundle {
            name: text("name").unwrap_or_else(|| row.id.clone()),
            description: text("description").unwrap_or_default(),
            author: text("author"),
            file: row.target.as_ref().and_then(|it| it["file"].as_str().map(str::to_owned)),
            servers: servers.into_iter().map(|it| self.server(app, it)).collect(),
            id: row.id,
            version: row.version,
            source: row.source,
            scope: row.scope,
            sha256: row.sha256,
            installed_at: row.installed_at,
        }
    }

    fn server(&self, app: &App, row: &ServerRow) -> BundleServer {
        let instance = self.instances.iter().find(|it| it.server_id == row.id);
        let offer = instance.and_then(|it| app.hub.offer(it.id));
        let duplicate = row.duplicate_of.and_then(|of| self.servers.iter().find(|it| it.id == of));
        BundleServer {
            id: row.id,
            name: row.name.clone(),
            server: row.metadata[KEY].as_str().unwrap_or(&row.name).to_owned(),
            identity: identity(&row.config),
            endpoint: row.endpoint.clone(),
            state: match (row.enabled, row.duplicate_of) {
                (false, _) => "off",
                (true, Some(_)) => "duplicate",
                (true, None) => "active",
            },
            duplicate_of: duplicate.map(|it| it.name.clone()),
            instance: instance.map(|it| it.id),
            slug: instance.map(|it| it.slug.clone()),
            tools: offer.as_ref().map_or(0, |it| it.listed().count()),
            changed: offer.as_ref().map_or(0, |it| it.drifted().count()),
            health: offer.zip(instance).map(|(offer, it)| health(app, &offer, &it.status)),
        }
    }
}
