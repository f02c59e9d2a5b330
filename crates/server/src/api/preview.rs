//! `/api/mcp/servers/:id/preview`: what a server offers right now, for whoever keeps the registry. Each list has its own
//! error, and a server that fails stays where it is.

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde::Serialize;
use serde_json::Value;
use toolgrove_core::call::{Caller, Discovery};
use toolgrove_core::error::Problem;
use toolgrove_core::event::ListKind;
use toolgrove_core::instance::Verdict;
use toolgrove_core::name::{self, Profile};
use toolgrove_core::offer::Offer;
use toolgrove_store::ServerRow;
use toolgrove_wire::Raw;
use ts_rs::TS;
use uuid::Uuid;

use super::{body, servers};
use crate::App;
use crate::problem::Answer;
use crate::registry::Looked;

/// What was found.
#[derive(Debug, Serialize, TS)]
pub struct Preview {
    pub server_id: Uuid,
    pub ok: bool,
    /// Why nothing could be asked at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub error: Option<Problem>,
    #[ts(as = "Option<Verdict>")]
    pub era: Option<Value>,
    #[ts(type = "Json")]
    pub capabilities: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "Json")]
    pub server_info: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub instructions: Option<String>,
    pub tools: PreviewList,
    pub resources: PreviewList,
    pub resource_templates: PreviewList,
    pub prompts: PreviewList,
    /// Public names as they would be listed.
    pub names: Vec<PublicName>,
    /// List entries that could not be used, and why.
    pub warnings: Vec<String>,
    /// What the tools cost a model that is shown all of them, roughly.
    pub tokens: usize,
}

#[derive(Debug, Default, Serialize, TS)]
pub struct PreviewList {
    /// As the server sent them.
    #[ts(type = "Array<{ [key in string]?: Json }>")]
    pub items: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub error: Option<Problem>,
}

#[derive(Debug, Serialize, TS)]
pub struct PublicName {
    pub tool: String,
    pub public_name: String,
    /// Another tool had the name already.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub collides: bool,
}

/// A token is about this many characters of JSON.
const CHARACTERS_PER_TOKEN: usize = 4;

pub async fn saved(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Preview>> {
    let server = servers::find_to_change(&app, &caller, &id).await?;
    let found = app.look_at(caller.person, &server).await?;
    Ok(Json(shown(&app, server, found)))
}

/// The same for an edit that is not saved.
pub async fn unsaved(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<Json<Preview>> {
    let mut server = servers::find_to_change(&app, &caller, &id).await?;
    let change: servers::ServerChange = body(&bytes)?;
    change.apply(&mut server)?;
    let found = app.look_at_edit(caller.person, &server).await?;
    Ok(Json(shown(&app, server, found)))
}

fn shown(app: &App, server: ServerRow, found: Looked) -> Preview {
    match found.discovery {
        Ok(discovery) => of(&server, Offer::new(found.instance), &discovery, app.hub.now()),
        Err(error) => Preview {
            server_id: server.id,
            ok: false,
            error: Some(error.problem()),
            era: None,
            capabilities: Value::Object(serde_json::Map::new()),
            server_info: None,
            instructions: None,
            tools: PreviewList::default(),
            resources: PreviewList::default(),
            resource_templates: PreviewList::default(),
            prompts: PreviewList::default(),
            names: Vec::new(),
            warnings: Vec::new(),
            tokens: 0,
        },
    }
}

fn of(server: &ServerRow, blank: Offer, found: &Discovery, now: i64) -> Preview {
    let list = |kind: ListKind| match found.lists.iter().find(|it| it.0 == kind) {
        None => PreviewList::default(),
        Some((_, Ok(items))) => PreviewList { items: items.iter().map(Raw::to_value).collect(), error: None },
        Some((_, Err(error))) => PreviewList { items: Vec::new(), error: Some(error.problem()) },
    };
    let offer = blank.with_discovery(found, |_| false, now);
    let mut seen = HashSet::new();
    let names = offer.listed().map(|it| {
        let plain = name::encode(Profile::Double, &offer.instance.slug, &it.name);
        let collides = !seen.insert(plain.clone()) || plain != it.public_name;
        PublicName { tool: it.name.clone(), public_name: it.public_name.clone(), collides }
    });
    Preview {
        server_id: server.id,
        ok: found.lists.iter().all(|it| it.1.is_ok()),
        error: None,
        era: serde_json::to_value(&found.verdict).ok(),
        capabilities: found.capabilities.to_value(),
        server_info: found.server_info.as_ref().map(Raw::to_value),
        instructions: found.instructions.clone(),
        tools: list(ListKind::Tools),
        resources: list(ListKind::Resources),
        resource_templates: list(ListKind::Templates),
        prompts: list(ListKind::Prompts),
        names: names.collect(),
        warnings: offer.problems.clone(),
        tokens: offer.listed().map(|it| it.raw.as_str().len().div_ceil(CHARACTERS_PER_TOKEN)).sum(),
    }
}
