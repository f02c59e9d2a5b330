//! Who may come in: `Host` and `Origin` on every door, then the local key as a bearer or as a cookie.
//!
//! The key is made at first start and lies in the data folder, readable by its owner only. A browser gets a cookie
//! made from it through a link that works once.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::{Query, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, HeaderValue, Method, Request, header};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use toolgrove_core::call::Caller;
use toolgrove_core::{Error, Secret};
use url::Url;
use uuid::Uuid;

use crate::App;
use crate::problem::Refusal;

const COOKIE: &str = "toolgrove";

/// What the doors check a request against.
pub struct Gate {
    key: Secret,
    cookie: Secret,
    /// Whoever comes with the key.
    owner: Arc<Caller>,
    /// `host[:port]` under which the hub may be asked.
    hosts: Vec<String>,
    /// Codes of sign-in links that were not used yet.
    links: Mutex<HashSet<String>>,
}

impl Gate {
    pub fn new(key: Secret, owner: Caller, port: u16, public_url: Option<&Url>) -> Self {
        let mut hosts: Vec<String> =
            ["127.0.0.1", "localhost", "[::1]"].iter().map(|host| format!("{host}:{port}")).collect();
        if let Some(url) = public_url
            && let Some(host) = url.host_str()
        {
            hosts.push(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")));
        }
        let cookie = Secret::new(hex(&Sha256::digest(format!("toolgrove cookie {}", key.reveal()))));
        Self { key, cookie, owner: Arc::new(owner), hosts, links: Mutex::default() }
    }

    /// The path of a sign-in link for the page. It works once.
    pub fn sign_in_path(&self) -> String {
        let code = Uuid::new_v4().simple().to_string();
        self.links.lock().unwrap_or_else(PoisonError::into_inner).insert(code.clone());
        format!("/ui/login?code={code}")
    }

    /// Whoever owns the machine the hub runs on: the commands and `toolgrove stdio` act for them.
    pub fn owner(&self) -> Arc<Caller> {
        self.owner.clone()
    }

    /// A page in a browser must not reach the hub under a name that is not the hub's, nor from another origin.
    fn check_origin(&self, request: &Request<Body>) -> Result<(), Error> {
        let headers = request.headers();
        let host = headers.get(header::HOST).and_then(|it| it.to_str().ok());
        let host = host.or_else(|| request.uri().authority().map(http::uri::Authority::as_str));
        if !host.is_some_and(|it| self.is_ours(it)) {
            return Err(Error::AuthOrigin);
        }
        match headers.get(header::ORIGIN) {
            None => Ok(()),
            Some(origin) => {
                let origin = origin.to_str().ok().and_then(|it| it.split_once("://"));
                match origin {
                    Some(("http" | "https", host)) if self.is_ours(host) => Ok(()),
                    _ => Err(Error::AuthOrigin),
                }
            }
        }
    }

    fn is_ours(&self, host: &str) -> bool {
        self.hosts.iter().any(|it| it.eq_ignore_ascii_case(host))
    }

    fn check_key(&self, request: &Request<Body>) -> Result<(), Error> {
        if let Some(value) = request.headers().get(header::AUTHORIZATION) {
            let given = value.to_str().ok().and_then(|it| it.split_once(' '));
            return match given {
                Some((scheme, key))
                    if scheme.eq_ignore_ascii_case("bearer") && same(key.trim(), &self.key) =>
                {
                    Ok(())
                }
                _ => Err(Error::AuthMissing),
            };
        }
        if !cookie(request.headers()).is_some_and(|it| same(it, &self.cookie)) {
            return Err(Error::AuthMissing);
        }
        // A cookie travels by itself, so a change must also show that our own page asked for it.
        let from_page = request.headers().contains_key(header::ORIGIN)
            || request.headers().get("sec-fetch-site").is_some_and(|it| it == "same-origin");
        if from_page || matches!(*request.method(), Method::GET | Method::HEAD) {
            Ok(())
        } else {
            Err(Error::AuthOrigin)
        }
    }
}

fn same(given: &str, secret: &Secret) -> bool {
    given.as_bytes().ct_eq(secret.reveal().as_bytes()).into()
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(';'))
        .find_map(|it| it.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, it| {
        let _ = write!(text, "{it:02x}");
        text
    })
}

/// Lets a request through to a door that needs nobody to be known.
pub(crate) async fn origin(State(app): State<Arc<App>>, request: Request<Body>, next: Next) -> Response {
    match app.gate.check_origin(&request) {
        Ok(()) => next.run(request).await,
        Err(error) => Refusal(error).into_response(),
    }
}

/// Lets a request of a known caller through and tells the door who it is.
pub(crate) async fn key(State(app): State<Arc<App>>, mut request: Request<Body>, next: Next) -> Response {
    match app.gate.check_key(&request) {
        Ok(()) => {
            request.extensions_mut().insert(app.gate.owner());
            next.run(request).await
        }
        Err(error) => {
            let mut response = Refusal(error).into_response();
            if response.status() == http::StatusCode::UNAUTHORIZED {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            response
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct SignIn {
    #[serde(default)]
    code: String,
}

/// The one-time link: trades its code for the cookie.
pub(crate) async fn sign_in(State(app): State<Arc<App>>, Query(SignIn { code }): Query<SignIn>) -> Response {
    if !app.gate.links.lock().unwrap_or_else(PoisonError::into_inner).remove(&code) {
        return Refusal(Error::AuthMissing).into_response();
    }
    let value =
        format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000", app.gate.cookie.reveal());
    let mut response = Redirect::to("/ui/").into_response();
    if let Ok(value) = HeaderValue::from_str(&value) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}
