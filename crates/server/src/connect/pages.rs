//! What a browser meets of a sign-in, without scripts: the way to the provider, the return, and the document about us.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Form, Query, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Json};
use http::{Method, Request, StatusCode, header};
use maud::{Markup, html};
use serde::Deserialize;
use toolgrove_core::Error;
use toolgrove_core::call::Caller;
use toolgrove_upstream::oauth::{self, Callback};
use url::Url;
use uuid::Uuid;

use super::Unfinished;
use crate::plain::{Page, sentence};
use crate::problem::{Refusal, store_error};
use crate::{App, api};

const LIST: &str = "/ui/mcp";

/// `GET /oauth/client.json`: who we are, for providers that read it. Only a hub that they can reach has it.
pub(crate) async fn document(State(app): State<Arc<App>>) -> Response {
    let Some(url) = app.document_url() else {
        return Refusal(Error::NotFound(super::DOCUMENT.into())).into_response();
    };
    let mut document = oauth::metadata(&app.redirect_uri(), None);
    document["client_uri"] = app.gate.base().into();
    document["client_id"] = url.into();
    Json(document).into_response()
}

/// `GET /ui/auth/mcp/callback`: the return from a provider.
pub(crate) async fn callback(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(callback): Query<Callback>,
) -> Response {
    match app.finish_sign_in(&caller, &callback).await {
        Ok(()) => Redirect::to(LIST).into_response(),
        Err(unfinished) => failed(unfinished),
    }
}

#[derive(Deserialize)]
pub(crate) struct Start {
    /// Id or slug.
    instance: String,
}

/// `POST /ui/auth/mcp/start`: what the buttons of a page without scripts do. The way on is a page of its own, because
/// a browser lets no form lead to another site.
pub(crate) async fn start(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Form(Start { instance }): Form<Start>,
) -> Response {
    let begun = async {
        let (row, offer) = api::instances::find_to_connect(&app, &caller, &instance).await?;
        let begun = app.connect(&caller, &row, &offer).await;
        begun.map(|it| it.url).map_err(|error| Unfinished { instance: Some(row.id), error })
    };
    match begun.await {
        Ok(url) => onward(&url),
        Err(unfinished) => failed(unfinished),
    }
}

#[derive(Deserialize)]
pub(crate) struct Go {
    state: String,
}

/// `GET /ui/auth/mcp/go`: on to the provider, for a sign-in that was begun elsewhere, such as in a terminal.
pub(crate) async fn go(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(Go { state }): Query<Go>,
) -> Response {
    match app.store.pending(caller.person, &state).await {
        Ok(Some(pending)) => Redirect::to(&pending.url).into_response(),
        Ok(None) => failed(Error::OauthStateUnknown.into()),
        Err(error) => Refusal(store_error(error)).into_response(),
    }
}

/// A cookie belongs to one name, and providers send people back to 127.0.0.1: whoever comes as `localhost` is sent
/// there first. Behind an address of its own the hub is asked under that only.
pub(crate) async fn on_own_host(State(app): State<Arc<App>>, request: Request<Body>, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let is_alias = host.split(':').next().is_some_and(|it| it.eq_ignore_ascii_case("localhost"));
    let is_page = matches!(*request.method(), Method::GET | Method::HEAD);
    if is_alias && is_page && app.config.public_url.is_none() {
        let rest = request.uri().path_and_query().map_or("/", |it| it.as_str());
        return Redirect::temporary(&format!("{}{rest}", app.gate.base())).into_response();
    }
    next.run(request).await
}

fn onward(url: &Url) -> Response {
    let body = html! {
        meta http-equiv="refresh" content={ "0;url=" (url) };
        p { "Taking you to " a href=(url) { (url.host_str().unwrap_or_default()) } "." }
    };
    Page::new("Sign in", body).into_response()
}

/// One sentence, its code, and a way to try again. Nothing is lost by a sign-in that failed.
fn failed(Unfinished { instance, error }: Unfinished) -> Response {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = html! {
        p.problem role="alert" { (error) }
        @if let Some(hint) = error.hint() { p { (sentence(&hint)) } }
        p { code { (error.code()) } }
        @if let Some(instance) = instance { (button(instance, "Sign in again")) }
        p { a href=(LIST) { "All instances" } }
    };
    Page::new("Sign-in failed", body).with_status(status).into_response()
}

/// A form that begins a sign-in.
pub(crate) fn button(instance: Uuid, label: &str) -> Markup {
    html! {
        form method="post" action="/ui/auth/mcp/start" {
            input type="hidden" name="instance" value=(instance);
            button { (label) }
        }
    }
}
