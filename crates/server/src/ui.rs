//! The web UI inside the binary: files as they were built and compressed, one document for all its pages.
//!
//! `ui/dist` is made by `cargo xtask ui`; a build without it is complete and serves [`page::home`] instead. Every file
//! is kept as brotli alone. A debug build reads the folder, so that a new UI needs no new hub.

mod document;

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use bytes::Bytes;
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use rust_embed::RustEmbed;
use toolgrove_core::call::Caller;

use crate::{App, page};

#[derive(RustEmbed)]
#[folder = "../../ui/dist"]
#[allow_missing = true]
#[include = "index.html"]
#[include = "*.br"]
#[include = "*.png"]
#[include = "*.ico"]
struct Built;

/// What a file's name gets when it is compressed.
const BROTLI: &str = ".br";
/// Names of files in here hold a hash of their content.
const HASHED: &str = "assets/";

/// Every page of the UI. The server decides what is a page; the UI what it shows.
const PAGES: [&[&str]; 12] = [
    &[],
    &["mcp"],
    &["mcp", "*"],
    &["admin", "mcp"],
    &["admin", "people"],
    &["chat"],
    &["chat", "*"],
    &["discover"],
    &["activity"],
    &["activity", "*"],
    &["plans", "*"],
    &["settings"],
];

pub(crate) async fn home(
    state: State<Arc<App>>,
    caller: Extension<Arc<Caller>>,
    headers: HeaderMap,
) -> Response {
    at(state, caller, Path(String::new()), headers).await
}

/// Whatever lies under `/ui/`.
pub(crate) async fn at(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Response {
    let find = |name: &str| Built::get(name).map(|it| it.data);
    let response = match answer(find, &path, &headers) {
        Some(response) => response,
        None if is_page(&path) => page::home(&app, &caller).await,
        None => page::missing(),
    };
    guarded(response)
}

/// Who is not signed in and wants to see a page goes and signs in.
pub(crate) async fn to_sign_in(request: Request<Body>, next: Next) -> Response {
    let uri = request.uri().clone();
    // Whoever comes back from a provider goes on where they were.
    let is_page = uri.path().strip_prefix("/ui/").is_none_or(|it| is_page(it) || it.starts_with("auth/mcp/"));
    let response = next.run(request).await;
    if is_page && response.status() == StatusCode::UNAUTHORIZED {
        let wanted = uri.path_and_query().map_or("/ui/", |it| it.as_str());
        let next = url::form_urlencoded::byte_serialize(wanted.as_bytes()).collect::<String>();
        return Redirect::to(&format!("/ui/login?next={next}")).into_response();
    }
    response
}

/// Sent with everything under `/ui`.
fn guarded(mut response: Response) -> Response {
    const ALWAYS: [(HeaderName, &str); 3] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer` a browser would send forms of ours with the origin `null`.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in ALWAYS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn is_page(path: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path);
    let parts: Vec<&str> = if path.is_empty() { Vec::new() } else { path.split('/').collect() };
    PAGES.iter().any(|page| {
        page.len() == parts.len()
            && page
                .iter()
                .zip(&parts)
                .all(|(wanted, it)| if *wanted == "*" { !it.is_empty() } else { wanted == it })
    })
}

/// The file or the document a path stands for; none if it is neither, or the UI was not built.
fn answer(
    find: impl Fn(&str) -> Option<Cow<'static, [u8]>>,
    path: &str,
    headers: &HeaderMap,
) -> Option<Response> {
    if is_page(path) {
        return find("index.html").map(|it| document::answer(shared(it), headers));
    }
    if path.ends_with(BROTLI) || path == "index.html" {
        return None;
    }
    let kind = kind(path)?;
    let (body, coding) = match find(&format!("{path}{BROTLI}")) {
        Some(packed) if takes(headers, "br") => (shared(packed), Some("br")),
        Some(packed) => (unpacked(&packed)?, None),
        None => (shared(find(path)?), None),
    };
    let age =
        if path.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "public, max-age=3600" };
    let mut response = body.into_response();
    let all = [
        (header::CONTENT_TYPE, Some(kind)),
        (header::CACHE_CONTROL, Some(age)),
        (header::VARY, Some("accept-encoding")),
        (header::CONTENT_ENCODING, coding),
    ];
    for (name, value) in all.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Some(response)
}

fn shared(data: Cow<'static, [u8]>) -> Bytes {
    match data {
        Cow::Borrowed(data) => Bytes::from_static(data),
        Cow::Owned(data) => data.into(),
    }
}

fn unpacked(packed: &[u8]) -> Option<Bytes> {
    let mut whole = Vec::new();
    brotli_decompressor::Decompressor::new(packed, 4096).read_to_end(&mut whole).ok()?;
    Some(whole.into())
}

/// Whether a client reads a content coding.
pub(crate) fn takes(headers: &HeaderMap, coding: &str) -> bool {
    let codings = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|it| it.to_str().ok());
    codings.flat_map(|it| it.split(',')).any(|it| {
        let mut parts = it.split(';').map(str::trim);
        let is_it = parts.next().is_some_and(|it| it.eq_ignore_ascii_case(coding));
        is_it && !parts.any(|it| it.strip_prefix("q=").is_some_and(|it| it.parse() == Ok(0.0)))
    })
}

/// The media type of what a UI is made of; anything else is not served.
fn kind(path: &str) -> Option<&'static str> {
    Some(match path.rsplit_once('.')?.1 {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        "wasm" => "application/wasm",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
