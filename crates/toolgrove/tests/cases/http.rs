//! `mcp_client_http.json`: what reaches an HTTP server, and what of its answers reaches a person.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::{Era, Fixture, Kind, Options, Running};

use crate::Case;
use crate::hub::Hub;

crate::scenarios! {
    "handshake-order" => handshake_order,
    "initialize-params" => initialize_params,
    "accept-header" => accept_header,
    "sse-answer" => sse_answer,
    "http-400" => http_status,
    "http-408" => http_status,
    "http-500" => http_status,
    "http-502" => http_status,
    "http-418" => http_status,
    "rpc-error" => rpc_error,
    "full-error-shown" => rpc_error,
    "text-join" => text_view,
    "is-error-text" => text_view,
    "is-error-empty" => text_view,
    "tools-missing-key" => tools_missing_key,
    "description-default" => tool_views,
    "icon-first" => tool_views,
    "refresh-keeps-icon" => refresh_keeps_icon,
    "refresh-keeps-disabled" => refresh_keeps_disabled,
    "offline-start" => offline_start,
    "pagination" => pagination,
    "era-probe" => era_probe,
    "headers-on-get-and-delete" => headers_everywhere,
    "sse-fallback" => sse_fallback,
}

async fn fixture(options: Options) -> Running {
    Fixture::start(options).await.unwrap()
}

/// A hub with one server under the name `s`.
async fn hub_with(server: Value) -> Hub {
    let hub = Hub::start().await;
    let imported = hub.import(json!({ "s": server })).await;
    assert_eq!(imported["failed"], json!([]), "{imported}");
    hub
}

async fn handshake_order(case: Case) {
    let server =
        fixture(Options { revisions: vec!["2025-03-26".into()], no_get: true, ..Options::default() }).await;
    let protocol = case.given["setting"]["protocol"].clone();
    let hub = hub_with(json!({ "url": server.url(), "protocol": protocol })).await;
    hub.call("mcp__s__echo", json!({})).await;
    let wanted: Vec<String> =
        case.expect.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect();
    let seen = server.methods();
    let mut rest = seen.iter();
    for step in &wanted {
        let method = step.split(' ').next().unwrap();
        assert!(rest.any(|it| it == method), "{method} is missing or out of order in {seen:?}");
    }
    assert!(!seen.iter().any(|it| it == "server/discover"), "a pinned revision needs no probe: {seen:?}");
    assert_eq!(initialize(&server)["protocolVersion"], protocol);

    // Without the setting a probe comes first, the newest revision is offered, and the server's own is accepted.
    let server = fixture(Options { revisions: vec!["2025-03-26".into()], ..Options::default() }).await;
    let _hub = hub_with(json!({ "url": server.url() })).await;
    assert_eq!(server.methods()[0], "server/discover");
    assert_eq!(initialize(&server)["protocolVersion"], "2025-11-25");
}

/// The parameters of the first `initialize` a server got.
fn initialize(server: &Running) -> Value {
    let seen = server.log().into_iter().find(|it| it.method.as_deref() == Some("initialize")).unwrap();
    serde_json::from_str::<Value>(&seen.body).unwrap()["params"].clone()
}

async fn initialize_params(case: Case) {
    let server = fixture(Options::default()).await;
    let _hub = hub_with(json!({ "url": server.url(), "protocol": case.given["setting"]["protocol"] })).await;
    let mut params = initialize(&server);
    let version = params["clientInfo"]["version"].take();
    assert!(version.as_str().unwrap().split('.').count() == 3, "{version}");
    let mut expected = case.expect;
    expected["clientInfo"]["version"].take();
    assert_eq!(params, expected);
}

async fn accept_header(_: Case) {
    let server = fixture(Options::default()).await;
    let hub = hub_with(json!({ "url": server.url() })).await;
    hub.call("mcp__s__echo", json!({})).await;
    let posts: Vec<_> = server.log().into_iter().filter(|it| it.http.as_deref() == Some("POST")).collect();
    assert!(posts.len() > 3);
    for post in posts {
        let accepts: Vec<_> = post.headers.iter().filter(|it| it.0.eq_ignore_ascii_case("accept")).collect();
        assert_eq!(accepts.len(), 1, "{post:?}");
        assert_eq!(accepts[0].1, "application/json, text/event-stream");
    }
}

async fn sse_answer(_: Case) {
    for era in [Era::Legacy, Era::Modern] {
        let server = fixture(Options { era, always_sse: true, ..Options::default() }).await;
        let hub = hub_with(json!({ "url": server.url() })).await;
        let result = hub.call("mcp__s__echo", json!({ "a": 1 })).await;
        assert_eq!(result["content"][0]["text"], "{\"a\":1}", "{result}");
    }
}

async fn http_status(case: Case) {
    let server = fixture(Options::default()).await;
    let hub = hub_with(json!({ "url": server.url() })).await;
    let status = case.given["status"].as_u64().unwrap();
    for (phrase, expected) in [
        (case.given["reason_phrase"].as_str().unwrap(), case.expect["error"].as_str().unwrap().to_owned()),
        ("Gone Fishing", format!("server answered {status} Gone Fishing")),
    ] {
        server.change(|it| it.status = None);
        hub.call("mcp__s__echo", json!({})).await;
        server.change(|it| it.status = Some(format!("{status}:{phrase}").parse().unwrap()));
        let problem = text_call(&hub, "mcp__s__echo", json!({})).await;
        assert_eq!(problem["detail"], expected, "{problem}");
    }
}

/// A call for something that is no MCP client: the text view, or the problem.
async fn text_call(hub: &Hub, tool: &str, arguments: Value) -> Value {
    hub.api(Method::POST, "/api/mcp/call", json!({ "tool": tool, "arguments": arguments })).await.1
}

async fn rpc_error(case: Case) {
    let error = case.given["response"]["error"].clone();
    let server = fixture(Options::default()).await;
    let hub = hub_with(json!({ "url": server.url() })).await;
    let seen = hub.call("mcp__s__rpc_error", error.clone()).await;
    assert_eq!(seen["code"], error["code"], "{seen}");
    assert_eq!(seen["message"], error["message"]);
    assert_eq!(seen.get("data"), error.get("data"));
    let problem = text_call(&hub, "mcp__s__rpc_error", error.clone()).await;
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.starts_with(&format!("MCP error {}: {}", error["code"], error["message"].as_str().unwrap())),
        "{detail}"
    );
    if let Some(data) = error.get("data") {
        assert!(detail.ends_with(&data.to_string()), "{detail}");
        assert_eq!(&problem["data"]["data"], data);
    }
    if let Some(expected) = case.expect.as_str().filter(|it| it.starts_with("MCP error")) {
        assert_eq!(detail, expected);
    }
}

/// A server of one tool, `t`, that answers with this result and lists with these tools.
pub(crate) async fn scripted(result: Value, list: Value) -> (String, tokio::task::JoinHandle<()>) {
    use axum::Json;
    use axum::routing::post;
    let reply = move |Json(message): Json<Value>| {
        let (result, list) = (result.clone(), list.clone());
        async move {
            let id = message["id"].clone();
            let result = match message["method"].as_str().unwrap_or_default() {
                "initialize" => json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "scripted", "version": "1" } }),
                "tools/list" => list,
                "tools/call" => result,
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
    #[expect(clippy::disallowed_methods, reason = "a test server")]
    let task = tokio::spawn(async move {
        axum::serve(listener, axum::Router::new().route("/mcp", post(reply))).await.unwrap();
    });
    (url, task)
}

fn one_tool() -> Value {
    json!({ "tools": [{ "name": "t", "inputSchema": { "type": "object" } }] })
}

async fn text_view(case: Case) {
    let (url, _server) = scripted(case.given.clone(), one_tool()).await;
    let hub = hub_with(json!({ "url": url })).await;
    let mut view = text_call(&hub, "mcp__s__t", json!({})).await;
    view.as_object_mut().unwrap().remove("raw");
    assert_eq!(view, case.expect);
}

async fn tools_missing_key(case: Case) {
    let (url, _server) = scripted(json!({}), case.given["tools/list result"].clone()).await;
    let hub = Hub::start().await;
    let imported = hub.import(json!({ "s": { "url": url } })).await;
    assert_eq!(imported["message_success"], "Added: s (0 tools)");
    assert_eq!(json!(hub.tools().await), case.expect);
}

/// What the page shows of one listed tool.
async fn tool_views(case: Case) {
    let (url, _server) = scripted(json!({}), json!({ "tools": [case.given["tool"]] })).await;
    let hub = hub_with(json!({ "url": url })).await;
    let shown = hub.get("/api/mcp/instances/s").await["tool_list"][0].clone();
    for (key, value) in case.expect.as_object().unwrap() {
        assert_eq!(&shown[key], value, "{shown}");
    }
}

async fn refresh_keeps_icon(_: Case) {
    let tool = json!({ "name": "x", "icons": [{ "src": "https://e/1.png" }] });
    let (url, _server) = scripted(json!({}), json!({ "tools": [tool] })).await;
    let hub = hub_with(json!({ "url": url })).await;
    let (status, after) = hub.api(Method::POST, "/api/mcp/instances/s/refresh", Value::Null).await;
    assert_eq!(status, 200, "{after}");
    assert_eq!(after["tool_list"][0]["icon"], "https://e/1.png");
}

async fn refresh_keeps_disabled(case: Case) {
    let off = case.given["disabledTools"][0].as_str().unwrap().to_owned();
    let names: Vec<_> =
        case.given["refresh"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect();
    let tools = |names: &[String]| json!({ "tools": names.iter().map(|it| json!({ "name": it, "inputSchema": { "type": "object" } })).collect::<Vec<_>>() });
    let (before, _first) = scripted(json!({ "content": [] }), tools(std::slice::from_ref(&off))).await;
    let (after, _second) = scripted(json!({ "content": [] }), tools(&names)).await;
    let hub = hub_with(json!({ "url": before })).await;
    let (status, _) = hub
        .api(Method::PATCH, &format!("/api/mcp/instances/s/tools/{off}"), json!({ "enabled": false }))
        .await;
    assert_eq!(status, 200);
    let (status, _) = hub.api(Method::PATCH, "/api/mcp/servers/s", json!({ "endpoint": after })).await;
    assert_eq!(status, 200);
    let (_, seen) = hub.api(Method::POST, "/api/mcp/instances/s/refresh", Value::Null).await;
    let states: Vec<_> = seen["tool_list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["name"].clone(), it["enabled"].clone()))
        .collect();
    assert_eq!(states, [(json!("a"), json!(false)), (json!("b"), json!(true))]);
    assert_eq!(hub.call(&format!("mcp__s__{off}"), json!({})).await["data"]["code"], "tool.off");
}

async fn offline_start(_: Case) {
    let mut server = fixture(Options::default()).await;
    let hub = hub_with(json!({ "url": server.url() })).await;
    let listed = hub.tools().await;
    assert!(listed.contains(&"mcp__s__echo".to_owned()));
    let dir = hub.stop().await;
    server.stop().await;
    let hub = Hub::start_in(dir).await;
    assert_eq!(hub.tools().await, listed, "the catalogue outlives hub and server");
    let error = hub.call("mcp__s__echo", json!({})).await;
    assert_eq!(error["data"]["code"], "link.unreachable", "{error}");
}

async fn pagination(_: Case) {
    for era in [Era::Legacy, Era::Modern] {
        let server = fixture(Options { era, tools: 25, page_size: Some(10), ..Options::default() }).await;
        let hub = hub_with(json!({ "url": server.url() })).await;
        let generated = hub.tools().await.iter().filter(|it| it.starts_with("mcp__s__tool_00")).count();
        assert_eq!(generated, 25);
    }
}

async fn era_probe(_: Case) {
    let server = fixture(Options { era: Era::Modern, ..Options::default() }).await;
    let hub = hub_with(json!({ "url": server.url() })).await;
    hub.call("mcp__s__echo", json!({})).await;
    let seen = server.methods();
    assert_eq!(seen[0], "server/discover");
    assert!(!seen.iter().any(|it| it == "initialize"), "{seen:?}");
    assert!(server.log().iter().all(|it| it.header("mcp-session-id").is_none()));
    assert_eq!(hub.get("/api/mcp/servers/s").await["era_verdict"]["era"], "modern");

    // A 400 that only a modern server sends is believed, whatever it says.
    for code in [-32020, -32021, -32022] {
        let url = refusing(code).await;
        let hub = Hub::start().await;
        let text = json!({ "s": { "url": url } }).to_string();
        let (_, body) =
            hub.api(Method::POST, "/api/mcp/import", json!({ "text": text, "save_anyway": true })).await;
        assert_eq!(body["added"][0]["name"], "s", "{body}");
        let said = body.to_string();
        assert!(!said.contains("initialize"), "{said}");
    }
}

/// A server that answers everything with one modern refusal, and fails the test if it is spoken to the old way.
async fn refusing(code: i64) -> String {
    use axum::Json;
    use axum::http::StatusCode;
    use axum::routing::post;
    let reply = move |Json(message): Json<Value>| async move {
        assert_ne!(message["method"], "initialize", "taken for a legacy server");
        let error = json!({ "code": code, "message": "refused", "data": { "supported": ["2026-07-28"], "requested": "x", "requiredCapabilities": {} } });
        (StatusCode::BAD_REQUEST, Json(json!({ "jsonrpc": "2.0", "id": message["id"], "error": error })))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    #[expect(clippy::disallowed_methods, reason = "a test server")]
    tokio::spawn(async move {
        axum::serve(listener, axum::Router::new().route("/mcp", post(reply))).await.unwrap();
    });
    url
}

async fn headers_everywhere(case: Case) {
    let server = fixture(Options::default()).await;
    let headers = case.given["headers"].clone();
    let hub = hub_with(json!({ "url": server.url(), "headers": headers })).await;
    hub.call("mcp__s__echo", json!({})).await;
    hub.stop().await;
    let (name, value) = headers.as_object().unwrap().iter().next().unwrap();
    for verb in ["POST", "GET", "DELETE"] {
        let seen: Vec<_> = server.log().into_iter().filter(|it| it.http.as_deref() == Some(verb)).collect();
        assert!(!seen.is_empty(), "no {verb}");
        for request in seen {
            assert_eq!(request.header(name), value.as_str(), "{verb}");
        }
    }
}

async fn sse_fallback(_: Case) {
    let server = fixture(Options { kind: Kind::Sse, ..Options::default() }).await;
    let hub = Hub::start().await;
    let imported = hub.import(json!({ "s": { "type": "http", "url": server.url() } })).await;
    assert_eq!(imported["added"][0]["warning"], "deprecated transport", "{imported}");
    let result = hub.call("mcp__s__echo", json!({ "a": 1 })).await;
    assert_eq!(result["content"][0]["text"], "{\"a\":1}", "{result}");
}
