//! The one document of the UI, with the rules a browser must keep on it.

use std::iter;

use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

/// The document, or word that the browser has it already.
pub(super) fn answer(html: Bytes, headers: &HeaderMap) -> Response {
    let etag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(&Sha256::digest(&html)[..12]));
    let policy = policy(&String::from_utf8_lossy(&html));
    let known = headers.get(header::IF_NONE_MATCH).and_then(|it| it.to_str().ok());
    let mut response = if known.is_some_and(|it| it.split(',').any(|it| it.trim() == etag)) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let kind = HeaderValue::from_static("text/html; charset=utf-8");
        ([(header::CONTENT_TYPE, kind)], html).into_response()
    };
    let own = [
        (header::CACHE_CONTROL, "no-cache"),
        (header::ETAG, &etag),
        (header::CONTENT_SECURITY_POLICY, &policy),
    ];
    for (name, value) in own {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Scripts are ours or the one that stands in the document. Style elements are inserted by libraries of the UI.
fn policy(html: &str) -> String {
    let hash = |it: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(it.as_bytes())));
    let scripts: Vec<String> =
        iter::once("'self'".to_owned()).chain(inline_scripts(html).map(hash)).collect();
    let scripts = scripts.join(" ");
    format!(
        "default-src 'self'; script-src {scripts}; style-src 'self' 'unsafe-inline'; \
         img-src 'self' data: blob:; media-src 'self' data: blob:; object-src 'none'; base-uri 'none'; \
         form-action 'self'; frame-ancestors 'none'"
    )
}

/// The text of every script that is not fetched from somewhere.
fn inline_scripts(html: &str) -> impl Iterator<Item = &str> {
    html.split("<script").skip(1).filter_map(|it| {
        let (attributes, rest) = it.split_once('>')?;
        let is_fetched = attributes.split_ascii_whitespace().any(|it| it.starts_with("src="));
        (!is_fetched).then(|| rest.split("</script").next().unwrap_or_default())
    })
}
