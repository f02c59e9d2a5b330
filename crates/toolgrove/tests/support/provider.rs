//! A provider and a server that takes its tokens, scripted: whatever the one or the other does is set by the test, and
//! whatever they were asked is kept.

#![allow(dead_code, clippy::unwrap_used, reason = "each test binary uses a part of it; a test may panic")]

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use url::Url;

use crate::hub::{Hub, watch};

#[derive(Clone)]
pub(crate) struct Provider {
    pub(crate) base: String,
    script: Arc<Mutex<Script>>,
}

/// What is answered.
pub(crate) struct Script {
    /// By path. Whatever is not here is 404.
    pub(crate) documents: HashMap<String, (u16, Value)>,
    /// The `WWW-Authenticate` of the server, without its metadata.
    pub(crate) challenge: String,
    pub(crate) registration: (u16, Value),
    /// One for each request; then a good one for ever.
    pub(crate) tokens: VecDeque<(u16, Value)>,
    pub(crate) expires_in: Value,
    /// Whether a refresh brings a new refresh token.
    pub(crate) rotates: bool,
    /// Tokens the server takes.
    pub(crate) good: Vec<String>,
    pub(crate) seen: Vec<Seen>,
    given: usize,
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn form(&self) -> HashMap<String, String> {
        url::form_urlencoded::parse(self.body.as_bytes()).into_owned().collect()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn bearer(&self) -> Option<&str> {
        self.headers.get("authorization")?.to_str().unwrap().strip_prefix("Bearer ")
    }
}

pub(crate) const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
pub(crate) const ISSUER: &str = "/.well-known/oauth-authorization-server";

impl Provider {
    /// One that does everything right.
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let script = Script {
            documents: HashMap::new(),
            challenge: format!("Bearer resource_metadata=\"{base}{RESOURCE}\""),
            registration: (201, json!({ "client_id": "c1" })),
            tokens: VecDeque::new(),
            expires_in: json!(3600),
            rotates: true,
            good: Vec::new(),
            seen: Vec::new(),
            given: 0,
        };
        let provider = Self { base: base.clone(), script: Arc::new(Mutex::new(script)) };
        provider.set(|it| {
            let resource = json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] });
            it.documents.insert(RESOURCE.into(), (200, resource));
            it.documents.insert(ISSUER.into(), (200, issuer(&base, &base)));
        });
        let app = Router::new().fallback(answer).with_state(provider.clone());
        beside(async move { axum::serve(listener, app).await.unwrap() });
        provider
    }

    pub(crate) fn mcp(&self) -> String {
        format!("{}/mcp", self.base)
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script());
    }

    /// Changes the metadata of the issuer, or with null takes a member out.
    pub(crate) fn issuer_with(&self, key: &str, value: Value) {
        self.set(|it| {
            let document = it.documents.get_mut(ISSUER).unwrap().1.as_object_mut().unwrap();
            if value.is_null() {
                document.remove(key);
            } else {
                document.insert(key.into(), value);
            }
        });
    }

    pub(crate) fn resource_with(&self, key: &str, value: Value) {
        self.set(|it| it.documents.get_mut(RESOURCE).unwrap().1[key] = value);
    }

    /// What was asked at one path, in order.
    pub(crate) fn seen(&self, path: &str) -> Vec<Seen> {
        self.script().seen.iter().filter(|it| it.path.split('?').next() == Some(path)).cloned().collect()
    }

    /// Every document that was read, in order.
    pub(crate) fn read(&self) -> Vec<String> {
        let is_document = |it: &&Seen| it.method == Method::GET && !it.path.starts_with("/mcp");
        self.script().seen.iter().filter(is_document).map(|it| it.path.clone()).collect()
    }

    /// The forms of one grant type.
    pub(crate) fn grants(&self, kind: &str) -> Vec<HashMap<String, String>> {
        let forms = self.seen("/token").into_iter().map(|it| it.form());
        forms.filter(|it| it["grant_type"] == kind).collect()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }
}

/// The metadata of an issuer whose endpoints are at `base`.
pub(crate) fn issuer(issuer: &str, base: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
    })
}

async fn answer(State(provider): State<Provider>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let body = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    let seen = Seen {
        method: parts.method,
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: body.clone(),
    };
    let mut script = provider.script();
    script.seen.push(seen.clone());
    let path = parts.uri.path();
    match path {
        "/mcp" => mcp(&script, &seen),
        _ if path.ends_with("/register") => said(script.registration.clone()),
        _ if path.ends_with("/token") => token(&mut script),
        _ => said(script.documents.get(path).cloned().unwrap_or((404, json!({ "error": "not here" })))),
    }
}

fn said((status, body): (u16, Value)) -> Response {
    let text = body.as_str().map_or_else(|| body.to_string(), Into::into);
    (StatusCode::from_u16(status).unwrap(), [(header::CONTENT_TYPE, "application/json")], text)
        .into_response()
}

fn token(script: &mut Script) -> Response {
    if let Some(answer) = script.tokens.pop_front() {
        hide(&answer.1);
        return said(answer);
    }
    script.given += 1;
    let access = format!("access-{}", script.given);
    script.good.push(access.clone());
    let mut body = json!({ "access_token": access, "token_type": "Bearer", "expires_in": script.expires_in });
    if script.given == 1 || script.rotates {
        body["refresh_token"] = format!("refresh-{}", script.given).into();
    }
    hide(&body);
    said((200, body))
}

/// What a hub is given is its own.
fn hide(grant: &Value) {
    ["access_token", "refresh_token"].iter().filter_map(|it| grant[it].as_str()).for_each(watch::hide);
}

/// A legacy server with one tool that says which token it was shown.
fn mcp(script: &Script, seen: &Seen) -> Response {
    let token = seen.bearer().filter(|it| script.good.iter().any(|good| good == it));
    let Some(token) = token else {
        let mut response = said((401, json!({ "error": "invalid_token" })));
        response.headers_mut().insert(header::WWW_AUTHENTICATE, script.challenge.parse().unwrap());
        return response;
    };
    if seen.method != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let message = seen.json();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "guarded", "version": "1" } }),
        "tools/list" => json!({ "tools": [{ "name": "whoami", "inputSchema": { "type": "object" } }] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": token }] }),
        _ if message["id"].is_null() => return StatusCode::ACCEPTED.into_response(),
        _ => {
            let error = json!({ "code": -32601, "message": "no such method" });
            return said((200, json!({ "jsonrpc": "2.0", "id": message["id"], "error": error })));
        }
    };
    said((200, json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })))
}

/// The parameters of an address.
pub(crate) fn query(url: &str) -> HashMap<String, String> {
    Url::parse(url).unwrap().query_pairs().into_owned().collect()
}

/// Begins to sign in and says where the person is sent.
pub(crate) async fn connect(hub: &Hub, slug: &str) -> String {
    let (status, answer) = try_connect(hub, slug).await;
    assert_eq!(status, 200, "{answer}");
    answer["url"].as_str().unwrap().to_owned()
}

pub(crate) async fn try_connect(hub: &Hub, slug: &str) -> (u16, Value) {
    hub.api(Method::POST, &format!("/api/mcp/instances/{slug}/connect"), json!({})).await
}

/// The return from the provider, as the person's browser makes it.
pub(crate) async fn come_back(hub: &Hub, pairs: &[(&str, &str)]) -> crate::hub::Answer {
    let query: String = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    hub.ask(Method::GET, &format!("/ui/auth/mcp/callback?{query}"), &[], "").await
}

/// Signs in from beginning to end.
pub(crate) async fn sign_in(hub: &Hub, slug: &str) {
    let state = query(&connect(hub, slug).await)["state"].clone();
    let answer = come_back(hub, &[("state", &state), ("code", "a-code")]).await;
    assert_eq!(
        (answer.status, answer.headers["location"].to_str().unwrap()),
        (303, "/ui/mcp"),
        "{}",
        answer.text()
    );
}

fn beside(work: impl Future<Output = ()> + Send + 'static) {
    #[expect(clippy::disallowed_methods, reason = "a test has no tree of tasks")]
    tokio::spawn(work);
}
