//! Exposes. The only crate that answers HTTP: the MCP doors, the API, and the pages.
//!
//! [`app`] has every route on one page. Host and Origin are checked on all of them, the key on all but a few.
//! [`Front`] stands before it and sends most calls straight to their door.

pub mod api;
mod auth;
pub mod authority;
mod buds;
pub mod bundles;
pub mod chat;
pub mod connect;
mod front;
pub mod live;
pub mod mcp;
mod memory;
pub mod own;
mod page;
mod plain;
mod problem;
pub mod registry;
pub mod tabs;
pub mod talk;
pub mod types;
mod ui;
mod workspace;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use authority::{authorize, metadata, register, token};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::{any, delete, get, patch, post};
use metrics_exporter_prometheus::PrometheusHandle;
use toolgrove_core::Config;
use toolgrove_core::hub::Hub;
use toolgrove_store::Store;
use toolgrove_upstream::Pool;
use toolgrove_wire::Raw;

pub use auth::{AS, Gate, Local, Welcome};
pub use front::{Arrival, Front};
pub use memory::Memory;
pub use problem::Refusal;

/// Everything a request may need. Built once, by whoever starts the hub.
pub struct App {
    pub hub: Arc<Hub<Pool, Memory>>,
    pub store: Store,
    pub config: Config,
    pub gate: Gate,
    /// Tokens of instances that somebody signed in to.
    pub keyring: connect::Keyring,
    pub sessions: mcp::session::Sessions,
    pub streams: mcp::sse::Streams,
    pub lot: mcp::park::Lot,
    /// Lists as they go out compressed.
    pub zips: Arc<mcp::zipped::Zips>,
    /// Where browsers connect.
    pub tabs: tabs::Door,
    /// What people hear at once.
    pub live: Arc<live::Live>,
    /// The registry as people last saw it.
    pub shelf: api::registry::Shelf,
    /// What the favicons of servers were.
    pub icons: api::icons::Icons,
    /// Where bundles are kept.
    pub bundles: bundles::Bundles,
    /// The way to models.
    pub models: talk::Models,
    /// Answers of chats that are on their way.
    pub turns: chat::Turns,
    /// How the hub introduces itself.
    pub server_info: Raw,
    pub metrics: PrometheusHandle,
    /// Looks up variables of server entries.
    pub env: fn(&str) -> Option<String>,
    /// Set while the doors are open: then servers are asked for their lists unbidden.
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
        .route("/sse", get(mcp::sse::open))
        .route("/sse/message", post(mcp::sse::post))
        .route("/metrics", get(api::metrics))
        .route("/api/status", get(api::status::status))
        .route("/api/workspaces", get(api::workspaces::list).post(api::workspaces::add))
        .route(
            "/api/workspaces/{id}",
            get(api::workspaces::one).patch(api::workspaces::change).delete(api::workspaces::remove),
        )
        .route(
            "/api/workspaces/{id}/members",
            get(api::workspaces::members).post(api::workspaces::put_member),
        )
        .route("/api/workspaces/{id}/files", get(api::files::list).post(api::files::add))
        .route("/api/workspaces/{id}/files/{file}", get(api::files::one).delete(api::files::remove))
        .route("/api/workspaces/{id}/members/{person}", delete(api::workspaces::remove_member))
        .route("/api/people", get(api::people::list).post(api::people::add))
        .route(
            "/api/people/{id}",
            get(api::people::one).patch(api::people::change).delete(api::people::remove),
        )
        .route("/api/people/{id}/invite", post(api::people::invite_again))
        .route("/api/people/{id}/catalog", get(api::seen::catalog))
        .route("/api/people/{id}/tokens", get(api::seen::tokens))
        .route("/api/roles/{role}/catalog", get(api::seen::newcomer))
        .route("/api/admin/log", get(api::people::log))
        .route("/api/tokens", get(api::tokens::list).post(api::tokens::add))
        .route("/api/tokens/{id}", delete(api::tokens::revoke))
        .route("/api/oauth/clients", get(api::oauth::list))
        .route("/api/oauth/clients/{id}", delete(api::oauth::remove))
        .route("/api/oauth/known", get(api::oauth::known).delete(api::oauth::forget))
        .route("/api/sessions", get(api::account::sessions))
        .route("/api/sessions/{id}", delete(api::account::end_session))
        .route("/api/password", post(api::account::password))
        .route("/api/calls", get(api::calls::list))
        .route("/api/calls/stats", get(api::calls::stats))
        .route("/api/calls/{id}", get(api::calls::one))
        .route("/api/events", get(api::events::stream))
        .route("/api/tabs", get(api::tabs::list))
        .route("/api/tabs/log", get(api::tabs::log))
        .route("/api/tabs/questions", get(api::tabs::questions))
        .route("/api/tabs/questions/{id}", post(api::tabs::answer))
        .route("/api/tabs/pair", post(api::tabs::pair))
        .route("/api/tabs/browsers/{id}", delete(api::tabs::forget_browser))
        .route("/api/tabs/tools/{id}", post(api::tabs::remember).delete(api::tabs::forget))
        .route("/api/mcp/registry", get(api::registry::list))
        .route("/api/mcp/meta/{id}", get(api::registry::meta))
        .route("/api/mcp/icon/{id}", get(api::icons::one))
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
        .route("/api/mcp/servers/{id}/preview", get(api::preview::saved).post(api::preview::unsaved))
        .route(
            "/api/mcp/servers/{id}/auth-configs",
            get(api::auth_configs::list).post(api::auth_configs::add).delete(api::auth_configs::remove_all),
        )
        .route("/api/mcp/servers/{id}/auth-configs/{config}", delete(api::auth_configs::remove))
        .route("/api/models", get(api::models::models))
        .route("/api/buds", get(api::buds::list).post(api::buds::add))
        .route("/api/buds/{id}", get(api::buds::one).patch(api::buds::change).delete(api::buds::remove))
        .route("/api/chats", get(api::chats::list).post(api::chats::add))
        .route("/api/chats/{id}", get(api::chats::one).patch(api::chats::change).delete(api::chats::remove))
        .route("/api/chats/{id}/messages", post(api::turns::send))
        .route("/api/chats/{id}/stream", get(api::turns::stream))
        .route("/api/chats/{id}/stop", post(api::turns::stop))
        .route("/api/chats/{id}/tools", get(api::turns::tools))
        .route("/api/chats/{id}/asks/{ask}", post(api::turns::answer))
        .route("/api/plans", get(api::plans::list).post(api::plans::add))
        .route("/api/plans/{id}", get(api::plans::one).patch(api::plans::change).delete(api::plans::remove))
        .route("/api/plans/{id}/run", post(api::plans::run::run))
        .route("/bud-run", post(api::invoke::bud_run))
        .route("/api/mcp/invoke", post(api::invoke::invoke))
        .route("/api/mcp/convert", post(api::convert::convert))
        .route("/api/mcp/results/{id}", get(api::turns::result))
        .route("/api/bundles", get(api::bundles::list).post(api::bundles::install))
        .route("/api/bundles/preview", post(api::bundles::preview))
        .route("/api/bundles/search", get(api::bundles::search))
        .route("/api/bundles/{id}", get(api::bundles::one).delete(api::bundles::remove))
        .route("/api/bundles/{id}/update", post(api::bundles::update))
        .route("/api/pins", get(api::pins::list))
        .route("/api/pins/{id}/{tool}", post(api::pins::decide))
        .route("/api/key/rotate", post(api::key::rotate))
        .route("/api/mcp/instances", get(api::instances::list).post(api::instances::edit::add))
        .route(
            "/api/mcp/instances/{id}",
            get(api::instances::one).patch(api::instances::edit::change).delete(api::instances::remove),
        )
        .route("/api/mcp/instances/{id}/refresh", post(api::instances::refresh))
        .route("/api/mcp/instances/{id}/connect", get(api::connect::show).post(api::connect::begin))
        .route("/api/mcp/instances/{id}/doctor", post(api::instances::doctor))
        .route("/api/mcp/instances/{id}/log", get(api::instances::log))
        .route("/api/mcp/instances/{id}/tools/{tool}", patch(api::instances::switch_tool))
        .layer(from_fn_with_state(state.clone(), auth::known));
    let pages = Router::new()
        .route("/", get(|| async { Redirect::to("/ui/") }))
        .route("/ui", get(|| async { Redirect::to("/ui/") }))
        .route("/ui/", get(ui::home))
        .route("/ui/logout", get(auth::sign_out_form).post(auth::sign_out))
        .route("/ui/auth/mcp/start", post(connect::start))
        .route("/ui/auth/mcp/go", get(connect::go))
        .route("/ui/auth/mcp/callback", get(connect::callback))
        .route("/ui/{*path}", get(ui::at))
        .layer(from_fn_with_state(state.clone(), auth::known))
        .layer(from_fn(ui::to_sign_in));
    let authority = Router::new()
        .route("/.well-known/oauth-protected-resource", get(metadata::of_hub))
        .route("/.well-known/oauth-protected-resource/{*path}", get(metadata::of_endpoint))
        .route("/.well-known/oauth-authorization-server", get(metadata::of_authority))
        .route("/oauth/authorize", get(authorize::ask).post(authorize::decide))
        .route("/oauth/token", post(token::token))
        .route("/oauth/register", post(register::register))
        .route("/oauth/revoke", post(token::revoke))
        // Where clients of 2025-03-26 look that have not read the metadata, or no longer remember it.
        .route("/authorize", get(authorize::ask))
        .route("/token", post(token::token))
        .route("/register", post(register::register))
        .layer(DefaultBodyLimit::max(authority::BODY))
        .layer(from_fn_with_state(state.clone(), authority::with_people));
    let open_pages = Router::new()
        .route("/ui/login", get(auth::sign_in_form).post(auth::sign_in))
        .route("/ui/login/provider", get(auth::to_provider))
        .route("/ui/login/return", get(auth::provider_return))
        .route("/ui/join", get(auth::join_form).post(auth::join));
    let pages = pages.merge(open_pages).layer(from_fn_with_state(state.clone(), connect::on_own_host));
    Router::new()
        .route("/healthz", get(page::healthy))
        .route("/mcp", any(mcp::all))
        .route("/mcp/i/{slug}", any(mcp::one))
        .route("/tabs", get(tabs::open))
        .route("/oauth/client.json", get(connect::document))
        .merge(known)
        .merge(pages)
        .merge(authority)
        .fallback(page::nothing_here)
        .layer(from_fn_with_state(state.clone(), live::notice))
        .layer(from_fn_with_state(state.clone(), auth::origin))
        .with_state(state)
}
