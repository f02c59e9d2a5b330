//! Exposes. The only crate that answers HTTP: the MCP doors, the API, and the pages.
//!
//! [`app`] has every route on one page. Host and Origin are checked on all of them, the key on all but a few.

pub mod api;
mod auth;
pub mod authority;
pub mod mcp;
mod memory;
mod page;
mod problem;
pub mod registry;
mod ui;
mod workspace;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::{any, get, patch, post};
use metrics_exporter_prometheus::PrometheusHandle;
use toolgrove_core::Config;
use toolgrove_core::hub::Hub;
use toolgrove_store::Store;
use toolgrove_upstream::Pool;
use toolgrove_wire::Raw;

pub use auth::Gate;
pub use memory::Memory;
pub use problem::Refusal;

/// Everything a request may need. Built once, by whoever starts the hub.
pub struct App {
    pub hub: Arc<Hub<Pool, Memory>>,
    pub store: Store,
    pub config: Config,
    pub gate: Gate,
    pub sessions: mcp::session::Sessions,
    pub streams: mcp::sse::Streams,
    pub lot: mcp::park::Lot,
    /// How the hub introduces itself.
    pub server_info: Raw,
    pub metrics: PrometheusHandle,
    /// Looks up variables of server entries.
    pub env: fn(&str) -> Option<String>,
    /// Set when the doors are open: from then on servers are asked for their lists unbidden.
    pub started: AtomicBool,
}

impl App {
    pub fn is_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// The largest message in either direction.
    pub fn body_limit(&self) -> usize {
        usize::try_from(self.config.limits.body_mb).unwrap_or(usize::MAX).saturating_mul(1024 * 1024)
    }
}

/// Every route.
pub fn app(state: Arc<App>) -> Router {
    let known = Router::new()
        .route("/mcp", any(mcp::all))
        .route("/mcp/i/{slug}", any(mcp::one))
        .route("/sse", get(mcp::sse::open))
        .route("/sse/message", post(mcp::sse::post))
        .route("/metrics", get(api::metrics))
        .route("/api/status", get(api::status))
        .route("/api/workspaces", get(api::workspaces))
        .route("/api/calls", get(api::calls::list))
        .route("/api/calls/{id}", get(api::calls::one))
        .route("/api/mcp/import", post(api::text::import))
        .route("/api/mcp/export", get(api::text::export))
        .route("/api/mcp/tools", get(api::text::tools))
        .route("/api/mcp/prompt", get(api::text::prompt))
        .route("/api/mcp/xml", post(api::text::xml))
        .route("/api/mcp/call", post(api::call::call))
        .route("/api/mcp/servers", get(api::servers::list).post(api::servers::add))
        .route(
            "/api/mcp/servers/{id}",
            get(api::servers::one).patch(api::servers::change).delete(api::servers::remove),
        )
        .route("/api/mcp/servers/{id}/test", post(api::servers::test))
        .route("/api/mcp/instances", get(api::instances::list).post(api::instances::add))
        .route(
            "/api/mcp/instances/{id}",
            get(api::instances::one).patch(api::instances::change).delete(api::instances::remove),
        )
        .route("/api/mcp/instances/{id}/refresh", post(api::instances::refresh))
        .route("/api/mcp/instances/{id}/doctor", post(api::instances::doctor))
        .route("/api/mcp/instances/{id}/log", get(api::instances::log))
        .route("/api/mcp/instances/{id}/tools/{tool}", patch(api::instances::switch_tool))
        .layer(from_fn_with_state(state.clone(), auth::key));
    let pages = Router::new()
        .route("/", get(|| async { Redirect::to("/ui/") }))
        .route("/ui", get(|| async { Redirect::to("/ui/") }))
        .route("/ui/", get(ui::home))
        .route("/ui/{*path}", get(ui::at))
        .layer(from_fn_with_state(state.clone(), auth::key))
        .layer(from_fn(ui::to_sign_in));
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/ui/login", get(auth::sign_in))
        .merge(known)
        .merge(pages)
        .fallback(page::nothing_here)
        .layer(from_fn_with_state(state.clone(), auth::origin))
        .with_state(state)
}
