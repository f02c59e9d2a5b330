//! `/api/mcp/instances`: servers as the caller uses them. What belongs to others is not there.

pub mod edit;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgrove_core::Error;
use toolgrove_core::auth::AuthType;
use toolgrove_core::call::{Caller, Links};
use toolgrove_core::health::{Health, LastCall, Status};
use toolgrove_core::instance::{Transport, Verdict};
use toolgrove_core::offer::{Offer, Permission};
use toolgrove_core::pins::Drift;
use toolgrove_store::{InstanceRow, StoreError};
use toolgrove_upstream::LogPiece;
use toolgrove_upstream::doctor::Step;
use toolgrove_wire::Raw;
use ts_rs::TS;
use uuid::Uuid;

use super::{body, health};
use crate::App;
use crate::problem::{Answer, store_error};
use crate::registry::auth::{self, NamedValue};

/// An instance as the API shows it.
#[derive(Debug, Clone, Serialize, TS)]
pub struct Instance {
    pub id: Uuid,
    pub server_id: Uuid,
    pub server_name: String,
    pub slug: String,
    pub name: String,
    pub description: String,
    pub enabled: bool,
    pub transport: &'static str,
    /// `external` or `builtin`.
    pub kind: &'static str,
    pub auth_type: String,
    /// `not_ready`, `ready` or `needs_reauth`.
    pub status: Status,
    pub health: Health,
    pub last_error: Option<String>,
    pub tools: usize,
    pub tools_off: usize,
    /// Age of the catalogue in seconds.
    pub age_s: Option<i64>,
    /// List entries that could not be used.
    pub problems: Vec<String>,
    pub last_call: Option<LastCall>,
}

/// One tool of an instance.
#[derive(Debug, Serialize, TS)]
pub struct Tool {
    pub name: String,
    pub public_name: String,
    pub description: String,
    pub enabled: bool,
    pub permission: Permission,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub icon: Option<String>,
    #[ts(type = "Json")]
    pub input_schema: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "Json")]
    pub output_schema: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub title: Option<String>,
    /// What the server says of it: `readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "{ [key in string]?: Json }")]
    pub annotations: Option<Value>,
    /// What was approved and what the server says now, when they differ and nobody has decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub changed: Option<ToolChanged>,
}

#[derive(Debug, Serialize, TS)]
pub struct ToolChanged {
    #[ts(type = "Json")]
    pub before: Value,
    #[ts(type = "Json")]
    pub after: Value,
}

impl ToolChanged {
    fn of(drift: &Drift) -> Option<Self> {
        let before = drift.before.as_ref().map(Raw::to_value).unwrap_or_default();
        (!drift.rejected).then(|| Self { before, after: drift.now.to_value() })
    }
}

#[derive(Debug, Serialize, TS)]
#[ts(rename = "InstanceDetail")]
pub struct Whole {
    #[serde(flatten)]
    pub instance: Instance,
    #[ts(as = "Option<Verdict>")]
    pub era: Option<Value>,
    pub auth_config_id: Option<Uuid>,
    /// What the admin has named and the person fills in. Values are never shown.
    pub credentials: Vec<NamedValue>,
    pub tool_list: Vec<Tool>,
}

impl Instance {
    fn of(app: &App, row: InstanceRow, offer: &Offer) -> Self {
        let health = health(app, offer, &row.status);
        Self {
            id: row.id,
            server_id: row.server_id,
            server_name: offer.instance.server_name.clone(),
            slug: row.slug,
            name: row.name,
            description: row.description,
            enabled: row.enabled,
            transport: offer.instance.transport.kind(),
            kind: if offer.instance.transport == Transport::Builtin { "builtin" } else { "external" },
            auth_type: row.auth_type,
            status: health.status(),
            health,
            last_error: row.last_error,
            tools: offer.listed().count(),
            tools_off: offer.listed().filter(|it| !it.enabled).count(),
            age_s: offer.age_ms(app.hub.now()).map(|it| it / 1000),
            problems: offer.problems.clone(),
            last_call: app.hub.log().last_call(row.id),
        }
    }
}

/// A person's instance as it is now; none if there is none.
pub(crate) async fn shown(app: &App, person: Uuid, id: Uuid) -> Result<Option<Instance>, Error> {
    let row = app.store.instance(person, id).await.map_err(store_error)?;
    Ok(row.and_then(|row| {
        let offer = app.hub.offer(row.id)?;
        Some(Instance::of(app, row, &offer))
    }))
}

/// The id behind a slug of the caller's.
pub(crate) async fn id_of(app: &App, caller: &Caller, slug: &str) -> Result<Option<Uuid>, Error> {
    let row = app.store.instance_by_slug(caller.person, slug).await.map_err(store_error)?;
    Ok(row.map(|it| it.id).filter(|it| caller.may_use(*it)))
}

/// An instance by id or slug. One that a token was not granted is not there.
pub(crate) async fn find(app: &App, caller: &Caller, word: &str) -> Result<(InstanceRow, Arc<Offer>), Error> {
    find_to_connect(app, caller, word).await.map_err(|error| match error {
        Error::GrantMissing { .. } => Error::UnknownInstance { id: word.to_owned() },
        error => error,
    })
}

/// The same for a sign-in, where a token hears that it lacks the grant: its person has to know what to give it.
pub(crate) async fn find_to_connect(
    app: &App,
    caller: &Caller,
    word: &str,
) -> Result<(InstanceRow, Arc<Offer>), Error> {
    // What was learnt a moment ago is part of the answer.
    app.hub.log().flush().await;
    let row = match Uuid::parse_str(word) {
        Ok(id) => app.store.instance(caller.person, id).await,
        Err(_) => app.store.instance_by_slug(caller.person, word).await,
    };
    let unknown = || Error::UnknownInstance { id: word.to_owned() };
    let row = row.map_err(store_error)?.ok_or_else(unknown)?;
    if !caller.may_use(row.id) {
        return Err(Error::GrantMissing { slug: row.slug });
    }
    let offer = app.hub.offer(row.id).ok_or_else(unknown)?;
    Ok((row, offer))
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<Vec<Instance>>> {
    app.hub.log().flush().await;
    let mut all = Vec::new();
    for row in app.store.instances_of(caller.person).await?.into_iter().filter(|it| caller.may_use(it.id)) {
        if let Some(offer) = app.hub.offer(row.id) {
            all.push(Instance::of(&app, row, &offer));
        }
    }
    // What everybody has comes after what is somebody's own.
    all.sort_by_key(|it: &Instance| it.kind == "builtin");
    Ok(Json(all))
}

pub async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Whole>> {
    let (row, offer) = find(&app, &caller, &id).await?;
    let server = app.store.server(row.server_id).await?;
    let era = server.and_then(|it| it.era_verdict);
    Ok(Json(whole(&app, &caller, row, &offer, era).await?))
}

async fn whole(
    app: &App,
    caller: &Caller,
    row: InstanceRow,
    offer: &Offer,
    era: Option<Value>,
) -> Result<Whole, Error> {
    let mut tool_list: Vec<Tool> = offer
        .listed()
        .map(|it| Tool {
            name: it.name.clone(),
            public_name: it.public(caller.profile).to_owned(),
            description: it.description(),
            enabled: it.enabled,
            permission: it.permission,
            icon: it.icon(),
            input_schema: it.raw.get("inputSchema").map(|it| it.to_value()).unwrap_or_default(),
            output_schema: it.raw.get("outputSchema").map(|it| it.to_value()),
            title: it.raw.get_text("title"),
            annotations: it.raw.get("annotations").filter(Raw::is_object).map(|it| it.to_value()),
            changed: it.drift.as_deref().and_then(ToolChanged::of),
        })
        .collect();
    tool_list.sort_by(|a, b| a.name.cmp(&b.name));
    let credentials = credentials(app, &row).await.map_err(store_error)?;
    let auth_config_id = row.auth_config_id;
    Ok(Whole { instance: Instance::of(app, row, offer), era, auth_config_id, credentials, tool_list })
}

/// What the instance needs, and whether it has it.
async fn credentials(app: &App, row: &InstanceRow) -> Result<Vec<NamedValue>, StoreError> {
    let Some(server) = app.store.server(row.server_id).await? else { return Ok(Vec::new()) };
    let config = app.auth_config(row).await?;
    let given = app.store.credential_keys(row.id).await?;
    let named = auth::named(&server, AuthType::parse(&row.auth_type), config.as_ref());
    Ok(named.iter().map(|it| it.shown(&given)).collect())
}

pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    let (row, offer) = find(&app, &caller, &id).await?;
    edit::check_own(&offer)?;
    app.remove_instance(caller.person, row.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Asks the server for everything again.
pub async fn refresh(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Whole>> {
    let (row, offer) = find(&app, &caller, &id).await?;
    toolgrove_core::catalog::usable(&offer.instance)?;
    app.keyring.look_again(row.id);
    let found = app.refresh(&offer.instance).await?;
    let (row, offer) = find(&app, &caller, &row.id.to_string()).await?;
    let era = serde_json::to_value(&found.verdict).ok();
    Ok(Json(whole(&app, &caller, row, &offer, era).await?))
}

/// What the doctor found.
#[derive(Debug, Serialize, TS)]
pub struct Diagnosis {
    pub slug: String,
    pub steps: Vec<Step>,
    /// What to do, in a sentence.
    pub advice: String,
}

/// Walks the way to the server step by step and says where it ends.
pub async fn doctor(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Diagnosis>> {
    let (row, offer) = find(&app, &caller, &id).await?;
    let mut steps = toolgrove_upstream::doctor::way(app.hub.links(), &offer.instance).await;
    if steps.iter().all(|it| it.ok) {
        app.hub.links().close(offer.instance.id).await;
        let found = app.refresh(&offer.instance).await;
        steps.extend(toolgrove_upstream::doctor::talk(&offer.instance, &found));
    }
    let advice = toolgrove_upstream::doctor::advice(&offer.instance, &steps);
    Ok(Json(Diagnosis { slug: row.slug, steps, advice }))
}

/// What the server's process last wrote to stderr.
#[derive(Debug, Serialize, TS)]
pub struct LogLines {
    pub slug: String,
    pub lines: Vec<String>,
    /// How many lines there were before the first of these.
    pub from: u64,
}

pub async fn log(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<LogLines>> {
    let (row, _) = find(&app, &caller, &id).await?;
    let LogPiece { from, lines } = app.hub.links().log_tail(row.id);
    Ok(Json(LogLines { slug: row.slug, lines, from }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolChange {
    enabled: Option<bool>,
    permission: Option<Permission>,
}

pub async fn switch_tool(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path((id, tool)): Path<(String, String)>,
    bytes: Bytes,
) -> Answer<Json<Whole>> {
    let change: ToolChange = body(&bytes)?;
    let (row, _) = find(&app, &caller, &id).await?;
    let offer = app.switch_tool(caller.person, row.id, &tool, change.enabled, change.permission).await?;
    Ok(Json(whole(&app, &caller, row, &offer, None).await?))
}
