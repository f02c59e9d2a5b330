//! `proxy.json`: the endpoint of one instance.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::{Era, Fixture, Options, Running};

use crate::Case;
use crate::hub::Hub;

crate::scenarios! {
    "req-headers" => request_headers,
    "resp-headers" => response_headers,
    "accept-forced" => accept_forced,
    "server-disabled" => server_disabled,
    "upstream-down" => upstream_down,
    "upstream-401" => upstream_401,
    "two-clients" => two_clients,
    "resources-prompts" => resources_prompts,
}

const PATH: &str = "/mcp/i/s";

async fn pair(era: Era) -> (Hub, Running) {
    let server = Fixture::start(Options { era, ..Options::default() }).await.unwrap();
    let hub = Hub::start().await;
    let imported =
        hub.import(json!({ "s": { "url": server.url(), "headers": { "X-Own": "instance-auth" } } })).await;
    assert_eq!(imported["failed"], json!([]), "{imported}");
    (hub, server)
}

async fn request_headers(_: Case) {
    for era in [Era::Legacy, Era::Modern] {
        let (hub, server) = pair(era).await;
        let client = hub.legacy(PATH).await;
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-session-id", client.session.as_str()),
            ("mcp-protocol-version", "2025-11-25"),
            ("last-event-id", "caller-event"),
            ("cookie", "caller-cookie=1"),
            ("x-other", "caller-other"),
        ];
        let body = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": { "name": "echo", "arguments": {} } });
        let answer = hub.ask(Method::POST, PATH, &headers, body.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        for seen in server.log() {
            let text = format!("{:?}", seen.headers).to_lowercase();
            assert!(!text.contains("caller-"), "{text}");
            assert!(!text.contains(&hub.key.to_lowercase()), "the caller's key went upstream");
            assert_eq!(seen.header("authorization"), None);
            assert_ne!(seen.header("mcp-session-id"), Some(client.session.as_str()));
            assert_eq!(seen.header("x-own"), Some("instance-auth"));
        }
    }
}

async fn response_headers(case: Case) {
    let allowed: Vec<String> = case.expect["at most"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap().to_lowercase())
        .collect();
    let transport = ["date", "content-length", "transfer-encoding", "x-accel-buffering", "connection"];
    assert!(case.expect["besides"].as_str().unwrap().contains("Date"));
    let (hub, _server) = pair(Era::Legacy).await;
    let client = hub.legacy(PATH).await;
    let json = client
        .post(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "echo" } }))
        .await;
    let params = json!({ "name": "test_tool_with_progress", "_meta": { "progressToken": 1 } });
    let stream =
        client.post(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params })).await;
    assert_eq!(stream.headers["content-type"], "text/event-stream");
    for answer in [json, stream] {
        for name in answer.headers.keys() {
            assert!(allowed.contains(&name.to_string()) || transport.contains(&name.as_str()), "{name}");
        }
    }
}

async fn accept_forced(case: Case) {
    let (hub, server) = pair(Era::Legacy).await;
    let accept = case.given["client Accept"].as_str().unwrap().to_owned();
    let headers = [("content-type", "application/json"), ("accept", accept.as_str())];
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "echo", "arguments": {} } });
    let answer = hub.ask(Method::POST, PATH, &headers, body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.headers["content-type"], "application/json");
    for seen in server.log().into_iter().filter(|it| it.http.as_deref() == Some("POST")) {
        let accepts: Vec<_> = seen
            .headers
            .iter()
            .filter(|it| it.0.eq_ignore_ascii_case("accept"))
            .map(|it| it.1.clone())
            .collect();
        assert_eq!(accepts, ["application/json, text/event-stream"]);
    }
}

async fn server_disabled(case: Case) {
    let (hub, server) = pair(Era::Legacy).await;
    hub.api(Method::PATCH, "/api/mcp/servers/s", json!({ "enabled": false })).await;
    server.clear_log();
    let answer = hub.modern(PATH, "tools/call", json!({ "name": "echo" })).await;
    check(&case, answer.status, &answer.json());
    assert!(
        server.log().iter().all(|it| it.http.as_deref() == Some("DELETE")),
        "nothing is asked of it: {:?}",
        server.methods()
    );
}

fn check(case: &Case, status: u16, message: &Value) {
    assert_eq!(json!(status), case.expect["status"], "{message}");
    assert_eq!(message["error"]["data"]["code"], case.expect["code"], "{message}");
}

async fn upstream_down(case: Case) {
    let (hub, mut server) = pair(Era::Legacy).await;
    server.stop().await;
    let answer = hub.modern(PATH, "tools/call", json!({ "name": "echo" })).await;
    check(&case, answer.status, &answer.json());
    let list = hub.modern(PATH, "tools/list", json!({})).await;
    assert_eq!(list.status, 200, "lists still come from the catalogue");
    let all = hub.modern("/mcp", "tools/call", json!({ "name": "mcp__s__echo" })).await;
    assert_eq!(all.status, 200, "on the aggregate a failed hop is an answer");
}

async fn upstream_401(_: Case) {
    let (hub, server) = pair(Era::Legacy).await;
    server.change(|it| it.require_header = vec!["x-own=something-else".parse().unwrap()]);
    let answer = hub.modern(PATH, "tools/call", json!({ "name": "echo" })).await;
    assert_ne!(answer.status, 401);
    assert!(!answer.headers.contains_key("www-authenticate"));
    let error = &answer.json()["error"];
    assert_eq!(error["data"]["code"], "instance.needs-reauth", "{error}");
    assert_eq!(error["data"]["data"]["status"], 401, "{error}");
    assert!(error["data"]["data"].get("body").is_some(), "{error}");
    let instance = hub.get("/api/mcp/instances/s").await;
    assert_eq!(instance["status"], "needs_reauth", "{instance}");
}

async fn two_clients(_: Case) {
    let (hub, _server) = pair(Era::Legacy).await;
    let (one, two) = (hub.legacy(PATH).await, hub.legacy(PATH).await);
    assert_ne!(one.session, two.session);
    for client in [&one, &two, &one] {
        let answer = client.request("tools/call", json!({ "name": "echo", "arguments": { "n": 1 } })).await;
        assert_eq!(answer["result"]["content"][0]["text"], "{\"n\":1}", "{answer}");
    }
}

async fn resources_prompts(_: Case) {
    for era in [Era::Legacy, Era::Modern] {
        let (hub, server) = pair(era).await;
        let client = hub.legacy(PATH).await;
        let prompts = client.request("prompts/list", json!({})).await;
        let names: Vec<_> =
            prompts["result"]["prompts"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
        assert!(names.contains(&json!("test_simple_prompt")), "{names:?}");
        let prompt = client.request("prompts/get", json!({ "name": "test_simple_prompt" })).await;
        assert!(prompt["result"]["messages"][0]["content"]["text"].is_string(), "{prompt}");
        let resources = client.request("resources/list", json!({})).await;
        assert!(resources.to_string().contains("\"test://static-text\""), "{resources}");
        let read = client.request("resources/read", json!({ "uri": "test://static-text" })).await;
        assert_eq!(read["result"]["contents"][0]["uri"], "test://static-text", "{read}");
        let last =
            server.log().into_iter().rev().find(|it| it.method.as_deref() == Some("resources/read")).unwrap();
        assert!(last.body.contains("\"uri\":\"test://static-text\""), "{}", last.body);
    }
}
