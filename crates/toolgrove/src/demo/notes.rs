//! Notes behind a sign-in: an HTTP server that wants OAuth, and the provider it sends people to, on one loopback port.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use toolgrove_core::task;
use url::Url;
use url::form_urlencoded::parse;

use super::peer::lock;
use super::{icon, text, word};

const METADATA: &str = "/.well-known/oauth-protected-resource/mcp";
const HOUR_S: u64 = 3600;

#[derive(Default)]
struct Desk {
    base: String,
    state: Mutex<Held>,
}

/// What the provider has given out, and the notes.
#[derive(Default)]
struct Held {
    clients: HashMap<String, Vec<String>>,
    /// Codes that wait to be traded in: the client, where it is, and its challenge.
    codes: HashMap<String, (String, String, String)>,
    access: Vec<String>,
    refresh: Vec<String>,
    notes: Vec<String>,
}

type Fields = HashMap<String, String>;

/// Listens on a free port until the hub ends, and says where.
pub(super) async fn start() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base = format!("http://{}", listener.local_addr()?);
    let state = Held { notes: vec!["Buy oat milk".into()], ..Held::default() };
    let desk = Arc::new(Desk { base: base.clone(), state: Mutex::new(state) });
    task::spawn("demo notes", async move {
        if let Err(error) = axum::serve(listener, app(desk)).await {
            tracing::warn!(%error, "the demo's notes are gone");
        }
    });
    Ok(format!("{base}/mcp"))
}

fn app(desk: Arc<Desk>) -> Router {
    Router::new()
        .route("/mcp", post(mcp))
        .route(METADATA, get(resource))
        .route("/.well-known/oauth-authorization-server", get(provider))
        .route("/register", post(register))
        .route("/authorize", get(authorize))
        .route("/allow", get(allow))
        .route("/token", post(token))
        .with_state(desk)
}

async fn mcp(State(desk): State<Arc<Desk>>, headers: HeaderMap, body: Bytes) -> Response {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
    let bearer = bearer.and_then(|it| it.strip_prefix("Bearer "));
    if !bearer.is_some_and(|it| lock(&desk.state).access.iter().any(|known| known == it)) {
        let challenge = format!("Bearer resource_metadata=\"{}{METADATA}\"", desk.base);
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response();
    }
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Some(id) = message.get("id").cloned() else { return StatusCode::ACCEPTED.into_response() };
    let answer = |member: &str, value: Value| {
        let mut answer = json!({ "jsonrpc": "2.0", "id": id });
        answer[member] = value;
        Json(answer).into_response()
    };
    let params = &message["params"];
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => answer(
            "result",
            json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "notes", "title": "Notes", "version": "1.0.0", "icons": [icon("Notes", "#15803d")] } }),
        ),
        "ping" => answer("result", json!({})),
        "tools/list" => answer("result", json!({ "tools": tools() })),
        "tools/call" => match call(&desk, word(params, "name"), &params["arguments"]) {
            Some(result) => answer("result", result),
            None => answer("error", json!({ "code": -32602, "message": "no such tool" })),
        },
        _ => answer("error", json!({ "code": -32601, "message": "not known here" })),
    }
}

fn tools() -> Value {
    let nothing = json!({ "type": "object", "properties": {} });
    json!([
        { "name": "list_notes", "title": "List notes", "description": "Every note",
            "annotations": { "readOnlyHint": true }, "inputSchema": nothing },
        { "name": "add_note", "title": "Add note", "description": "Keeps a note",
            "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] } },
        { "name": "end_sign_in", "title": "End sign-in", "description": "Makes the provider forget that you were here",
            "annotations": { "destructiveHint": true }, "inputSchema": nothing },
    ])
}

fn call(desk: &Desk, tool: &str, args: &Value) -> Option<Value> {
    let mut held = lock(&desk.state);
    Some(match tool {
        "list_notes" => text(held.notes.join("\n")),
        "add_note" => {
            held.notes.push(word(args, "text").to_owned());
            text(format!("{} notes", held.notes.len()))
        }
        "end_sign_in" => {
            held.access.clear();
            held.refresh.clear();
            text("the next call needs you to sign in again")
        }
        _ => return None,
    })
}

async fn resource(State(desk): State<Arc<Desk>>) -> Json<Value> {
    Json(json!({ "resource": format!("{}/mcp", desk.base), "authorization_servers": [desk.base],
        "resource_name": "Demo notes" }))
}

async fn provider(State(desk): State<Arc<Desk>>) -> Json<Value> {
    let at = |path: &str| format!("{}{path}", desk.base);
    Json(json!({
        "issuer": desk.base, "authorization_endpoint": at("/authorize"), "token_endpoint": at("/token"),
        "registration_endpoint": at("/register"), "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
    }))
}

async fn register(State(desk): State<Arc<Desk>>, body: Bytes) -> Response {
    let mut client: Value = serde_json::from_slice(&body).unwrap_or_default();
    let uris = client["redirect_uris"].as_array().into_iter().flatten();
    let uris: Vec<String> = uris.filter_map(|it| it.as_str().map(Into::into)).collect();
    if uris.is_empty() {
        let problem =
            json!({ "error": "invalid_redirect_uri", "error_description": "name at least one redirect URI" });
        return (StatusCode::BAD_REQUEST, Json(problem)).into_response();
    }
    let id = secret();
    lock(&desk.state).clients.insert(id.clone(), uris);
    client["client_id"] = id.into();
    client["token_endpoint_auth_method"] = "none".into();
    (StatusCode::CREATED, Json(client)).into_response()
}

/// The one page of the provider.
async fn authorize(State(desk): State<Arc<Desk>>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    match checked(&desk, &query) {
        Ok(deny) => Html(format!(
            "<!doctype html><html lang=en><meta charset=utf-8><link rel=icon href=data:,><title>Demo provider</title>\
             <style>body{{font:16px/1.5 system-ui;margin:3rem auto;max-width:24rem;color-scheme:light dark}}\
             a{{display:inline-block;margin-right:1rem}}</style><h1>Demo provider</h1>\
             <p>Toolgrove wants to read and write your demo notes.</p>\
             <a href=\"/allow?{}\">Allow</a><a href=\"{}\">Deny</a></html>",
            attribute(&query),
            attribute(deny.as_str())
        ))
        .into_response(),
        Err(problem) => (StatusCode::BAD_REQUEST, problem).into_response(),
    }
}

async fn allow(State(desk): State<Arc<Desk>>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    if let Err(problem) = checked(&desk, &query) {
        return (StatusCode::BAD_REQUEST, problem).into_response();
    }
    let given = fields(query.as_bytes());
    let part = |name: &str| given.get(name).cloned().unwrap_or_default();
    let code = secret();
    let held = (part("client_id"), part("redirect_uri"), part("code_challenge"));
    lock(&desk.state).codes.insert(code.clone(), held);
    let Ok(mut back) = Url::parse(&part("redirect_uri")) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    back.query_pairs_mut()
        .append_pair("code", &code)
        .append_pair("state", &part("state"))
        .append_pair("iss", &desk.base);
    Redirect::to(back.as_str()).into_response()
}

/// Where a refusal goes, if the request is one of a client we know.
fn checked(desk: &Desk, query: &str) -> Result<Url, &'static str> {
    let given = fields(query.as_bytes());
    let part = |name: &str| given.get(name).map(String::as_str).unwrap_or_default();
    let uri = part("redirect_uri");
    let known =
        lock(&desk.state).clients.get(part("client_id")).is_some_and(|it| it.iter().any(|it| it == uri));
    if !known {
        return Err("this client is not registered here");
    }
    if part("code_challenge_method") != "S256" || part("code_challenge").is_empty() {
        return Err("a challenge of method S256 is needed");
    }
    let mut back = Url::parse(uri).map_err(|_| "the redirect URI cannot be read")?;
    back.query_pairs_mut()
        .append_pair("error", "access_denied")
        .append_pair("error_description", "you chose not to allow it")
        .append_pair("state", part("state"))
        .append_pair("iss", &desk.base);
    Ok(back)
}

async fn token(State(desk): State<Arc<Desk>>, body: Bytes) -> Response {
    let given = fields(&body);
    let part = |name: &str| given.get(name).map(String::as_str).unwrap_or_default();
    let mut held = lock(&desk.state);
    let is_good = match part("grant_type") {
        "authorization_code" => held.codes.remove(part("code")).is_some_and(|(client, uri, challenge)| {
            let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(part("code_verifier")));
            client == part("client_id") && uri == part("redirect_uri") && challenge == proof
        }),
        "refresh_token" => {
            let before = held.refresh.len();
            held.refresh.retain(|it| it != part("refresh_token"));
            held.refresh.len() < before
        }
        _ => false,
    };
    if !is_good {
        let problem = json!({ "error": "invalid_grant", "error_description": "this sign-in was ended" });
        return (StatusCode::BAD_REQUEST, Json(problem)).into_response();
    }
    let (access, refresh) = (secret(), secret());
    held.access.push(access.clone());
    held.refresh.push(refresh.clone());
    Json(json!({ "access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": HOUR_S }))
        .into_response()
}

fn fields(text: &[u8]) -> Fields {
    parse(text).into_owned().collect()
}

fn secret() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 24]>())
}

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}
