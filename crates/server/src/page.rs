//! The pages a binary without the UI has: a plain list of what is connected, and "nothing here".

use std::fmt::Write;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use http::Uri;
use toolgrove_core::Error;
use toolgrove_core::call::Caller;

use crate::App;
use crate::problem::Refusal;

/// What is connected, as a page without scripts.
pub(crate) async fn home(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Html<String> {
    let catalog = app.hub.catalog(&caller);
    let mut offers: Vec<_> = catalog.offers().collect();
    offers.sort_by(|a, b| a.instance.slug.cmp(&b.instance.slug));
    let mut rows = String::new();
    for offer in offers {
        let health = crate::api::health(&app, offer, "ready");
        let _ = write!(
            rows,
            "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&offer.instance.slug),
            escape(offer.instance.transport.kind()),
            escape(&health.summary)
        );
    }
    if rows.is_empty() {
        rows = "<tr><td colspan=3>No servers yet. Add one with <code>toolgrove import FILE</code>.</td></tr>"
            .into();
    }
    Html(format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Toolgrove</title>\
         <style>body{{font:14px/1.5 system-ui;margin:2rem;max-width:60rem;color-scheme:light dark}}\
         td,th{{text-align:left;padding:.25rem 1rem .25rem 0}}</style>\
         <h1>Toolgrove</h1><p>Connect a client to <code>/mcp</code>.</p>\
         <table><tr><th>Instance</th><th>Kind</th><th>Status</th></tr>{rows}</table></html>"
    ))
}

pub(crate) async fn nothing_here(uri: Uri) -> Response {
    Refusal(Error::NotFound(uri.path().to_owned())).into_response()
}

/// Text from anywhere as text of a page.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
