//! What most tests begin with: servers, a hub that knows them, and a way to wait for what must happen.

use std::time::Duration;

use axum::Json;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::time::Instant;
use toolgrove_fixture::{Era, Fixture, Kind, Options, Running};

use crate::hub::{Hub, PATIENCE, stdio_fixture};

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// Looks again and again until something is so.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "it did not happen: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) async fn fixture(options: Options) -> Running {
    Fixture::start(options).await.unwrap()
}

/// A hub with these servers, all of them asked for their tools.
pub(crate) async fn hub_with(servers: Value) -> Hub {
    let hub = Hub::start().await;
    add(&hub, servers).await;
    hub
}

pub(crate) async fn add(hub: &Hub, servers: Value) {
    let imported = hub.import(servers).await;
    assert_eq!(imported["failed"], json!([]), "{imported}");
}

/// A hub with the fixture under the name `s`, over Streamable HTTP.
pub(crate) async fn over_http(options: Options) -> (Hub, Running) {
    let server = fixture(options).await;
    let hub = hub_with(json!({ "s": { "url": server.url() } })).await;
    (hub, server)
}

/// A hub with the fixture under the name `s`, as a process.
pub(crate) async fn over_stdio(args: &[&str]) -> Hub {
    hub_with(json!({ "s": stdio_fixture(args) })).await
}

/// The fixture over every transport that has a link of its own, one hub each.
pub(crate) async fn over_each_transport() -> Vec<(&'static str, Hub, Option<Running>)> {
    let (http, http_server) = over_http(Options::default()).await;
    let (modern, modern_server) = over_http(Options { era: Era::Modern, ..Options::default() }).await;
    let (sse, sse_server) = over_http(Options { kind: Kind::Sse, ..Options::default() }).await;
    let stdio = over_stdio(&[]).await;
    vec![
        ("http", http, Some(http_server)),
        ("modern http", modern, Some(modern_server)),
        ("sse", sse, Some(sse_server)),
        ("stdio", stdio, None),
    ]
}

/// The first text of a result.
#[track_caller]
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

/// What a user reads of a call that did not reach its tool: the code and the sentence.
#[track_caller]
pub(crate) fn refusal(error: &Value) -> (&str, &str) {
    let code = error["data"]["code"].as_str().unwrap_or_else(|| panic!("no code in {error}"));
    (code, error["message"].as_str().unwrap())
}

/// The process behind the stdio server of this slug.
pub(crate) async fn server_pid(hub: &Hub, slug: &str) -> u32 {
    let result = hub.call(&format!("mcp__{slug}__pid"), json!({})).await;
    u32::try_from(result["structuredContent"]["pid"].as_u64().unwrap_or_else(|| panic!("{result}"))).unwrap()
}

/// A legacy server that lists these tools and answers every call with the name it was called by.
pub(crate) async fn scripted(tools: Value) -> String {
    let reply = move |Json(message): Json<Value>| {
        let tools = tools.clone();
        async move {
            let id = message["id"].clone();
            let result = match message["method"].as_str().unwrap_or_default() {
                "initialize" => json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "scripted", "version": "1" } }),
                "tools/list" => json!({ "tools": tools }),
                "tools/call" => json!({ "content": [{ "type": "text", "text": message["params"]["name"] }] }),
                _ => {
                    return Json(
                        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no" } }),
                    );
                }
            };
            Json(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    beside(async move {
        axum::serve(listener, axum::Router::new().route("/mcp", post(reply))).await.unwrap();
    });
    url
}

/// Runs something beside the test; it ends with the test.
pub(crate) fn beside<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    #[expect(clippy::disallowed_methods, reason = "a test has no tree of tasks")]
    tokio::spawn(work)
}
