//! The pages without scripts: a plain list for a binary without the UI, and "nothing here".

use std::fmt::Write;

use axum::response::{Html, IntoResponse, Response};
use http::{HeaderValue, StatusCode, Uri, header};
use toolgrove_core::Error;
use toolgrove_core::call::Caller;
use toolgrove_core::health::{Action, ActionKind, Health};
use uuid::Uuid;

use crate::App;
use crate::problem::Refusal;

/// `/healthz`.
pub(crate) async fn healthy() -> &'static str {
    "ok\n"
}

/// What a person has connected, for a binary without the UI.
pub(crate) async fn home(app: &App, caller: &Caller) -> Response {
    let instances = match app.store.instances_of(caller.person).await {
        Ok(instances) => instances,
        Err(error) => return Refusal::from(error).into_response(),
    };
    let mut rows = String::new();
    let catalog = app.hub.catalog(caller);
    for row in instances {
        let Some(offer) = catalog.offer(&row.slug).filter(|it| !it.is_hollow()) else { continue };
        let health = crate::api::health(app, offer, &row.status);
        let _ = write!(
            rows,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&row.slug),
            escape(offer.instance.transport.kind()),
            escape(&health.summary),
            sign_in(&health, row.id)
        );
    }
    if rows.is_empty() {
        rows = "<tr><td colspan=4>No servers yet. Add one with <code>toolgrove import FILE</code>.</td></tr>"
            .into();
    }
    html(
        StatusCode::OK,
        "Toolgrove",
        &format!(
            "<p>Connect a client to <code>/mcp</code>.</p>\
             <table><tr><th>Instance</th><th>Kind</th><th>Status</th><th></th></tr>{rows}</table>\
             <p>This hub was built without its web UI. Build both with <code>cargo xtask run</code>, which needs \
             Node.js 20.19 or newer.</p>"
        ),
    )
}

/// The button of an instance that somebody has to sign in to.
fn sign_in(health: &Health, instance: Uuid) -> String {
    match &health.action {
        Some(Action { kind: ActionKind::SignIn | ActionKind::Reconnect, label }) => {
            crate::connect::button(instance, label).into_string()
        }
        _ => String::new(),
    }
}

/// For a browser that asked for a page there is none of.
pub(crate) fn missing() -> Response {
    html(StatusCode::NOT_FOUND, "Not found", "<p>There is no such page. <a href=\"/ui/\">Home</a></p>")
}

pub(crate) async fn nothing_here(uri: Uri) -> Response {
    Refusal(Error::NotFound(uri.path().to_owned())).into_response()
}

/// A page of ours: `title` is text, `body` is markup. It loads nothing and runs nothing.
pub(crate) fn html(status: StatusCode, title: &str, body: &str) -> Response {
    const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; \
        frame-ancestors 'none'";
    let title = escape(title);
    let page = Html(format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width\"><title>{title}</title>\
         <style>body{{font:14px/1.5 system-ui;margin:2rem;max-width:60rem;color-scheme:light dark}}\
         td,th{{text-align:left;padding:.25rem 1rem .25rem 0}}</style><h1>{title}</h1>{body}</html>"
    ));
    let mut response = (status, page).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Text from anywhere as text of a page.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
