//! `GET /api/mcp/icon/:serverId`: the picture of a server's domain, and which picture stands for a server at all.
//!
//! The hub fetches it, so that no stranger learns who looks at a page. Whoever may not see the server gets what an id
//! gets that was never given; a server without a picture has no content, which is no mistake.

mod kept;

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use toolgrove_core::call::Caller;
use toolgrove_core::offer::Offer;
use toolgrove_store::ServerRow;
use url::Url;

pub use self::kept::Icons;
use super::registry;
use crate::App;
use crate::problem::{Answer, store_error};

/// Where a server's icon is: an address of ours, or a name of the UI's own icons.
pub fn place(server: &ServerRow, _offer: Option<&Offer>) -> String {
    match server.transport.as_str() {
        "stdio" => "terminal".into(),
        "unix" | "pipe" => "socket".into(),
        "wasm" => "box".into(),
        "builtin" => "wrench".into(),
        _ => format!("/api/mcp/icon/{}", server.id),
    }
}

pub async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(word): Path<String>,
) -> Answer<Response> {
    let (server, _) = registry::find(&app, &caller, &word).await?;
    let picture = match Url::parse(&server.endpoint) {
        Ok(url) => {
            let hosts = app.hosts(server.workspace_id).await.map_err(store_error)?;
            app.icons.of(app.hub.links().fetch(), &url, &hosts, app.hub.now()).await
        }
        Err(_) => None,
    };
    // Whatever it is, it is a picture of ours to the page, and nothing that runs when it is opened alone.
    let headers = [
        (header::CACHE_CONTROL, "private, max-age=3600"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
    ];
    Ok(match picture {
        Some(it) => (headers, [(header::CONTENT_TYPE, it.kind)], it.bytes).into_response(),
        None => (StatusCode::NO_CONTENT, headers).into_response(),
    })
}
