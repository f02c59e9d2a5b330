//! `GET /api/status`: the hub, who asks, and how far they have come with it.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use toolgrove_core::call::{Caller, Role};
use toolgrove_core::config::Mode;
use toolgrove_store::Membership;
use ts_rs::TS;
use uuid::Uuid;

use crate::App;
use crate::problem::Answer;

#[derive(Debug, Serialize, TS)]
pub struct HubStatus {
    pub name: &'static str,
    pub version: &'static str,
    pub mode: Mode,
    /// Where clients connect.
    pub endpoint: String,
    pub instances: usize,
    pub tools: usize,
    pub sessions: usize,
    pub parked: usize,
    pub me: Me,
    pub workspaces: Vec<Workspace>,
    pub checklist: Checklist,
}

/// Who asks.
#[derive(Debug, Serialize, TS)]
pub struct Me {
    pub id: Uuid,
    pub name: String,
    pub email: Option<String>,
    pub role: Role,
}

/// A workspace the caller is a member of.
#[derive(Debug, Serialize, TS)]
#[ts(rename = "MyWorkspace")]
pub struct Workspace {
    pub id: Uuid,
    pub name: String,
    /// `alpha`, `beta` or `gamma`.
    pub phase: String,
    /// What they are in it.
    pub role: Role,
}

/// The three steps of the first day.
#[derive(Debug, Serialize, TS)]
pub struct Checklist {
    /// Has a server.
    pub server: bool,
    /// A client has connected.
    pub client: bool,
    /// Something was called.
    pub call: bool,
}

pub async fn status(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<HubStatus>> {
    let catalog = app.hub.catalog(&caller);
    let instances = catalog.shown().count();
    app.hub.log().flush().await;
    let doors = app.store.newest_doors(caller.person).await?;
    let by_client = ["mcp", "legacy", "stdio"].iter().any(|it| doors.contains(*it));
    let person = app.store.person(caller.person).await?;
    let (name, email) = person.map(|it| (it.name, it.email)).unwrap_or_default();
    Ok(Json(HubStatus {
        name: "toolgrove",
        version: env!("CARGO_PKG_VERSION"),
        mode: app.config.mode,
        endpoint: format!("{}/mcp", app.gate.base()),
        instances,
        tools: catalog.offers().map(|it| it.listed().count()).sum(),
        sessions: app.sessions.count(&caller),
        parked: app.lot.count(&caller),
        me: Me { id: caller.person, name, email, role: caller.role },
        workspaces: mine(&app, &caller).await?,
        checklist: Checklist {
            server: instances > 0,
            client: by_client || app.live.has_met(caller.person),
            call: !doors.is_empty(),
        },
    }))
}

/// The workspaces the caller is a member of, their own first.
async fn mine(app: &App, caller: &Caller) -> Answer<Vec<Workspace>> {
    let rows = app.store.workspaces_of(caller.person).await?;
    let shown = |Membership { workspace, role }| Workspace {
        id: workspace.id,
        name: workspace.name,
        phase: workspace.phase,
        role,
    };
    Ok(rows.into_iter().map(shown).collect())
}
