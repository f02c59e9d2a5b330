//! `GET /api/mcp/registry` and `GET /api/mcp/meta/:serverId`: what the sidebar shows of everything a person may see.
//!
//! Both answer from what the hub knows; no server is asked. The registry is kept for a minute, and whatever is changed
//! through this hub drops it at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use toolgrove_core::Error;
use toolgrove_core::call::{Caller, Role};
use toolgrove_core::health::{Level, Status};
use toolgrove_core::name::Profile;
use toolgrove_core::offer::Offer;
use toolgrove_core::text::params::{params, signature};
use toolgrove_store::{InstanceRow, ServerRow};
use toolgrove_wire::Raw;
use ts_rs::TS;
use uuid::Uuid;

use super::{health, icons};
use crate::App;
use crate::problem::{Answer, store_error};

/// How long a registry may be old that was changed by another replica.
const FRESH: Duration = Duration::from_secs(60);

/// One server in the sidebar.
#[derive(Debug, Serialize, TS)]
pub struct RegistryRow {
    pub id: Uuid,
    pub name: String,
    pub kind: Kind,
    pub transport: String,
    /// An address of ours that begins with `/`, or a name of the UI's own icons.
    pub icon: String,
    pub description: String,
    /// Tools that can be called.
    pub tools: usize,
    /// How the instance is that would be used; null without one.
    pub status: Option<Status>,
    /// The one that would be used: the oldest that is on and ready.
    pub instance: Option<RegistryInstance>,
    /// All that the caller has of this server, oldest first.
    pub instances: Vec<RegistryInstance>,
    /// Why nothing of it can be called here yet.
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Serialize, TS)]
pub struct RegistryInstance {
    pub id: Uuid,
    pub slug: String,
    pub name: String,
    pub enabled: bool,
    pub status: Status,
    /// Why it does not work, if it does not.
    pub failure: Option<String>,
}

/// What a server is to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, TS)]
#[serde(rename_all = "lowercase")]
#[ts(rename = "ServerKind")]
pub enum Kind {
    Bud,
    Builtin,
    External,
    Tab,
    Wasm,
}

impl Kind {
    pub fn of(transport: &str) -> Self {
        match transport {
            "bud" => Self::Bud,
            "builtin" => Self::Builtin,
            "tab" => Self::Tab,
            "wasm" => Self::Wasm,
            _ => Self::External,
        }
    }
}

/// What a server offers, as it was last heard of.
#[derive(Debug, Serialize, TS)]
pub struct Meta {
    pub id: Uuid,
    pub name: String,
    pub description: String,
    pub kind: Kind,
    pub icon: String,
    pub methods: Vec<MetaMethod>,
    /// Unix milliseconds; null if it was never listed.
    pub fetched_at: Option<i64>,
    pub age_s: Option<i64>,
}

#[derive(Debug, Serialize, TS)]
pub struct MetaMethod {
    pub name: String,
    pub description: String,
    /// `compareClauses(docA: string, limit?: number)`
    pub signature: String,
    #[serde(rename = "inputSchema")]
    #[ts(type = "Json")]
    pub input_schema: Value,
}

/// The registries as callers last saw them.
#[derive(Default)]
pub struct Shelf(Mutex<HashMap<Uuid, Kept>>);

#[derive(Clone)]
struct Kept {
    at: Instant,
    /// What the bus said before it was read.
    revision: u64,
    etag: HeaderValue,
    body: Bytes,
}

impl Shelf {
    async fn read(&self, app: &App, caller: &Caller) -> Result<Kept, Error> {
        let revision = app.live.revision();
        let known = self.known(caller.id());
        if let Some(kept) = known.filter(|it| it.revision == revision && it.at.elapsed() < FRESH) {
            return Ok(kept);
        }
        let body = serde_json::to_vec(&rows(app, caller).await?).unwrap_or_default();
        let kept = Kept { at: Instant::now(), revision, etag: etag(&body), body: body.into() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(caller.id(), kept.clone());
        Ok(kept)
    }

    /// The rows, if a person would see something else than the last time they looked.
    pub(crate) async fn news(&self, app: &App, person: Uuid) -> Option<Raw> {
        let known = self.known(person)?;
        // Neither role nor profile changes what is seen.
        match self.read(app, &Caller::person(person, Role::Member, Profile::Double)).await {
            Ok(kept) => (kept.etag != known.etag).then(|| Raw::parse(kept.body).ok())?,
            Err(error) => {
                tracing::warn!(%error, "the registry could not be read");
                None
            }
        }
    }

    fn known(&self, caller: Uuid) -> Option<Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&caller).cloned()
    }
}

fn etag(body: &[u8]) -> HeaderValue {
    let text = format!("\"{}\"", URL_SAFE_NO_PAD.encode(&Sha256::digest(body)[..12]));
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("\"\""))
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    headers: HeaderMap,
) -> Answer<Response> {
    let Kept { etag, body, .. } = app.shelf.read(&app, &caller).await?;
    let known = headers.get_all(header::IF_NONE_MATCH).iter().any(|it| *it == etag);
    let cache = (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    let etag = (header::ETAG, etag);
    if known {
        return Ok((StatusCode::NOT_MODIFIED, [cache, etag]).into_response());
    }
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(([kind, cache, etag], body).into_response())
}

async fn rows(app: &App, caller: &Caller) -> Result<Vec<RegistryRow>, Error> {
    let servers = app.store.servers_of(caller.person).await.map_err(store_error)?;
    let mine = Mine::read(app, caller).await?;
    let mut rows: Vec<RegistryRow> = servers
        .into_iter()
        .filter(|it| {
            it.enabled && (caller.grants.is_none() || mine.has(it.id)) && !mine.is_hollow(app, it.id)
        })
        .map(|it| row(app, it, &mine))
        .collect();
    rows.sort_by_cached_key(|it| (it.kind, it.name.to_lowercase(), it.name.clone(), it.id));
    Ok(rows)
}

fn row(app: &App, server: ServerRow, mine: &Mine) -> RegistryRow {
    let instances = mine.of(app, server.id);
    let used = preferred(&instances).cloned();
    let offer = used.as_ref().and_then(|it| app.hub.offer(it.id));
    let tools = match &offer {
        Some(offer) => offer.offered().filter(|it| it.enabled).count(),
        None => methods_of(&server).len(),
    };
    RegistryRow {
        icon: icons::place(&server, offer.as_deref()),
        id: server.id,
        name: server.name,
        kind: Kind::of(&server.transport),
        transport: server.transport,
        description: server.description,
        tools,
        status: used.as_ref().map(|it| it.status),
        instance: used,
        instances,
        reason: None,
    }
}

/// A caller's instances, by server.
struct Mine(Vec<InstanceRow>);

impl Mine {
    async fn read(app: &App, caller: &Caller) -> Result<Self, Error> {
        let mut rows = app.store.instances_of(caller.person).await.map_err(store_error)?;
        rows.retain(|it| caller.may_use(it.id));
        rows.sort_by_key(|it| (it.created_at, it.id));
        Ok(Self(rows))
    }

    fn has(&self, server: Uuid) -> bool {
        self.0.iter().any(|it| it.server_id == server)
    }

    /// Whether it is part of the hub and has nothing to offer.
    fn is_hollow(&self, app: &App, server: Uuid) -> bool {
        let mut offers =
            self.0.iter().filter(|it| it.server_id == server).filter_map(|it| app.hub.offer(it.id));
        offers.any(|it| it.is_hollow() && !it.instance.is_own())
    }

    fn of(&self, app: &App, server: Uuid) -> Vec<RegistryInstance> {
        let shown = |row: &InstanceRow| {
            let offer = app.hub.offer(row.id)?;
            let health = health(app, &offer, &row.status);
            Some(RegistryInstance {
                id: row.id,
                slug: row.slug.clone(),
                name: row.name.clone(),
                enabled: row.enabled,
                status: health.status(),
                failure: (health.level == Level::Bad).then_some(health.summary),
            })
        };
        self.0.iter().filter(|it| it.server_id == server).filter_map(shown).collect()
    }
}

/// The oldest that is on and ready, else the oldest that is on, else the oldest.
fn preferred(instances: &[RegistryInstance]) -> Option<&RegistryInstance> {
    instances
        .iter()
        .find(|it| it.enabled && it.status == Status::Ready)
        .or_else(|| instances.iter().find(|it| it.enabled))
        .or(instances.first())
}

/// By the id of a server or of an instance of the caller's.
pub async fn meta(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(word): Path<String>,
) -> Answer<Json<Meta>> {
    let (server, offer) = find(&app, &caller, &word).await?;
    let methods = match &offer {
        Some(offer) => methods(offer),
        None => methods_of(&server),
    };
    Ok(Json(Meta {
        icon: icons::place(&server, offer.as_deref()),
        id: server.id,
        name: server.name,
        description: server.description,
        kind: Kind::of(&server.transport),
        methods,
        fetched_at: offer.as_ref().and_then(|it| it.fetched_at),
        age_s: offer.and_then(|it| it.age_ms(app.hub.now())).map(|it| it / 1000),
    }))
}

/// A server the caller sees, and what of it they use. Anything else does not exist.
pub(super) async fn find(
    app: &App,
    caller: &Caller,
    word: &str,
) -> Result<(ServerRow, Option<Arc<Offer>>), Error> {
    let unknown = || Error::UnknownServer { server: word.to_owned() };
    let id = Uuid::parse_str(word).map_err(|_| unknown())?;
    let mine = Mine::read(app, caller).await?;
    let instance = mine.0.iter().find(|it| it.id == id);
    let wanted = instance.map_or(id, |it| it.server_id);
    let server = app.store.visible_server(caller.person, wanted).await.map_err(store_error)?;
    let server =
        server.filter(|it| it.enabled && (caller.grants.is_none() || mine.has(it.id))).ok_or_else(unknown)?;
    let used = match instance {
        Some(instance) => Some(instance.id),
        None => preferred(&mine.of(app, server.id)).map(|it| it.id),
    };
    Ok((server, used.and_then(|it| app.hub.offer(it))))
}

fn methods(offer: &Offer) -> Vec<MetaMethod> {
    let described = |name: &str, description: String, schema: Value| MetaMethod {
        name: name.to_owned(),
        description,
        signature: signature(name, &params(&schema)),
        input_schema: schema,
    };
    let on = offer.offered().filter(|it| it.enabled);
    let mut methods: Vec<MetaMethod> = on
        .map(|it| {
            let schema = it.raw.get("inputSchema").map(|it| it.to_value()).unwrap_or_default();
            described(&it.name, it.description(), schema)
        })
        .collect();
    methods.sort_by(|a, b| a.name.cmp(&b.name));
    methods
}

/// What the registry itself says, for a server of which the caller has no instance.
fn methods_of(server: &ServerRow) -> Vec<MetaMethod> {
    let text = |it: &Value, key: &str| it.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let methods = server.metadata.get("methods").and_then(Value::as_array);
    methods
        .into_iter()
        .flatten()
        .map(|it| {
            let (name, schema) = (text(it, "name"), it.get("inputSchema").cloned().unwrap_or_default());
            MetaMethod {
                signature: signature(&name, &params(&schema)),
                description: text(it, "description"),
                name,
                input_schema: schema,
            }
        })
        .collect()
}
