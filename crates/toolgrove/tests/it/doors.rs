//! The MCP doors, request by request: what is answered, with which status, in both eras and on both kinds of endpoint.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::Options;

use crate::grove::{eventually, over_http, text};
use crate::hub::{Answer, Hub, MODERN, modern_request};

pub(crate) const DOORS: [(&str, &str); 2] = [("/mcp", "mcp__s__echo"), ("/mcp/i/s", "echo")];
pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

/// Sends a body as it is with exactly these headers besides the key.
pub(crate) async fn post(
    hub: &Hub,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<bytes::Bytes>,
) -> Answer {
    hub.ask(Method::POST, path, headers, body).await
}

#[track_caller]
pub(crate) fn check(answer: &Answer, status: u16, code: i64, what: &str) {
    let found = (answer.status, answer.json()["error"]["code"].as_i64());
    assert_eq!(found, (status, Some(code)), "{what}: {}", answer.text());
    assert!(answer.json()["error"]["message"].as_str().is_some_and(|it| !it.is_empty()), "{what}");
}

/// A modern body with another `_meta`.
fn with_meta(method: &str, meta: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "_meta": meta } }).to_string()
}

fn meta(version: &str) -> Value {
    json!({ "io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {} })
}

/// What is wrong, the headers, the body, and the status and code it gets.
type Wrong<'a> = (&'a str, Vec<(&'a str, &'a str)>, String, u16, i64);

#[tokio::test]
async fn a_modern_request_whose_envelope_is_wrong_is_refused() {
    let (hub, _server) = over_http(Options::default()).await;
    let version = ("mcp-protocol-version", MODERN);
    let list = ("mcp-method", "tools/list");
    let bare =
        |method: &str| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} }).to_string();
    let whole = with_meta("tools/list", meta(MODERN));
    let mut no_abilities = meta(MODERN);
    no_abilities.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    let mut odd_level = meta(MODERN);
    odd_level["io.modelcontextprotocol/logLevel"] = "loud".into();

    let cases: Vec<Wrong> = vec![
        ("no _meta", vec![version, list], bare("tools/list"), 400, -32602),
        (
            "initialize without _meta",
            vec![version, ("mcp-method", "initialize")],
            bare("initialize"),
            400,
            -32020,
        ),
        ("no capabilities", vec![version, list], with_meta("tools/list", no_abilities), 400, -32602),
        ("unknown log level", vec![version, list], with_meta("tools/list", odd_level), 400, -32602),
        ("no version header", vec![list], whole.clone(), 400, -32020),
        (
            "another version header",
            vec![("mcp-protocol-version", "2025-11-25"), list],
            whole.clone(),
            400,
            -32020,
        ),
        ("version header twice", vec![version, version, list], whole.clone(), 400, -32020),
        ("no method header", vec![version], whole.clone(), 400, -32020),
        ("another method header", vec![version, ("mcp-method", "tools/call")], whole.clone(), 400, -32020),
        (
            "an unknown version",
            vec![("mcp-protocol-version", "2027-01-01"), list],
            with_meta("tools/list", meta("2027-01-01")),
            400,
            -32022,
        ),
        (
            "a legacy version",
            vec![("mcp-protocol-version", "2025-11-25"), list],
            with_meta("tools/list", meta("2025-11-25")),
            400,
            -32022,
        ),
        ("a batch", vec![version, list], format!("[{whole}]"), 400, -32600),
        (
            "an answer",
            vec![version],
            json!({ "jsonrpc": "2.0", "id": 1, "result": {} }).to_string(),
            400,
            -32600,
        ),
    ];
    for (path, _) in DOORS {
        for (what, headers, body, status, code) in &cases {
            let mut headers = headers.clone();
            headers.push(JSON);
            let answer = post(&hub, path, &headers, body.clone()).await;
            check(&answer, *status, *code, what);
            if *code == -32022 {
                assert_eq!(answer.json()["error"]["data"]["supported"], json!([MODERN]), "{what}");
            }
        }
        for method in [
            "initialize",
            "ping",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
            "no/such",
        ] {
            check(&hub.modern(path, method, json!({})).await, 404, -32601, method);
        }
    }
}

#[tokio::test]
async fn a_modern_call_must_name_its_tool_in_the_header_too() {
    let (hub, _server) = over_http(Options::default()).await;
    for (path, tool) in DOORS {
        let (headers, body) = modern_request("tools/call", json!({ "name": tool, "arguments": {} }));
        let own: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let without: Vec<_> = own.iter().copied().filter(|it| it.0 != "mcp-name").collect();
        check(&post(&hub, path, &without, body.to_string()).await, 400, -32020, "missing");
        let with = |name| [without.clone(), vec![("mcp-name", name)]].concat();
        check(&post(&hub, path, &with("other"), body.to_string()).await, 400, -32020, "another");
        let encoded = format!("=?base64?{}?=", base64(tool.as_bytes()));
        let answer = post(&hub, path, &with(&encoded), body.to_string()).await;
        assert_eq!(text(&answer.json()["result"]), "{}", "the encoded form is the same name");
    }
}

/// Enough of base64 for a header.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bytes
        .chunks(3)
        .flat_map(|chunk| {
            let bits =
                chunk.iter().fold(0u32, |bits, it| bits << 8 | u32::from(*it)) << (8 * (3 - chunk.len()));
            (0..4).map(move |it| {
                if it <= chunk.len() { DIGITS[(bits >> (18 - 6 * it) & 63) as usize] as char } else { '=' }
            })
        })
        .collect()
}

#[tokio::test]
async fn discovery_names_the_version_and_every_modern_answer_names_the_hub() {
    let (hub, _server) = over_http(Options::default()).await;
    for (path, tool) in DOORS {
        let found = hub.modern(path, "server/discover", json!({})).await.json()["result"].clone();
        assert_eq!(found["supportedVersions"], json!([MODERN]), "{found}");
        assert_eq!(found["resultType"], "complete");
        assert_eq!(found["capabilities"]["tools"]["listChanged"], true);
        let call =
            hub.modern(path, "tools/call", json!({ "name": tool, "arguments": {} })).await.json()["result"]
                .clone();
        let list = hub.modern(path, "tools/list", json!({})).await.json()["result"].clone();
        for result in [&found, &call, &list] {
            assert_eq!(
                result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "toolgrove",
                "{result}"
            );
            assert_eq!(result["resultType"], "complete");
        }
        assert_eq!(call["_meta"]["dev.toolgrove/origin"]["instance"], "s", "{call}");
        for result in [&found, &list] {
            assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string(), "{result}");
        }
    }
}

#[tokio::test]
async fn a_modern_request_ignores_what_belongs_to_sessions() {
    let (hub, _server) = over_http(Options::default()).await;
    let stray = [("mcp-session-id", "nobody"), ("last-event-id", "7")];
    let answer = hub.modern_with("/mcp", "tools/list", json!({}), &stray).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(!answer.headers.contains_key("mcp-session-id"));
}

#[tokio::test]
async fn legacy_clients_get_the_version_they_ask_for_or_the_newest() {
    let (hub, _server) = over_http(Options::default()).await;
    for (asked, got) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        for (path, tool) in DOORS {
            let client = hub.legacy_at(path, asked).await;
            assert_eq!(client.initialized["protocolVersion"], got);
            assert_eq!(client.initialized["serverInfo"]["name"], "toolgrove");
            let result = client.call(tool, json!({ "v": asked })).await;
            assert_eq!(text(&result), json!({ "v": asked }).to_string());
            assert!(
                result.get("resultType").is_none() && result.get("_meta").is_none(),
                "no modern words: {result}"
            );
        }
    }
}

#[tokio::test]
async fn a_session_lasts_until_it_is_deleted_and_an_unknown_one_is_not_found() {
    let (hub, _server) = over_http(Options::default()).await;
    for (path, _) in DOORS {
        let client = hub.legacy(path).await;
        assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
        let session = [("mcp-session-id", client.session.as_str())];
        let ear = client.hear().await;
        assert_eq!(hub.ask(Method::DELETE, path, &session, "").await.status, 204);
        ear.ends().await;
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        check(&client.post(ping).await, 404, -32600, "a request of an ended session");
        for method in [Method::GET, Method::DELETE] {
            assert_eq!(hub.ask(method.clone(), path, &session, "").await.status, 404, "{method}");
            assert_eq!(
                hub.ask(method.clone(), path, &[], "").await.status,
                405,
                "{method} without a session"
            );
        }
        assert_eq!(hub.ask(Method::PUT, path, &[], "").await.status, 405);
    }
    let elsewhere = hub.legacy("/mcp/i/s").await;
    let stolen = [JSON, ("mcp-session-id", elsewhere.session.as_str())];
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    assert_eq!(post(&hub, "/mcp", &stolen, ping).await.status, 404, "a session belongs to its endpoint");
}

#[tokio::test]
async fn a_session_of_an_earlier_run_is_not_found_so_that_its_client_opens_another() {
    let (hub, _server) = over_http(Options::default()).await;
    let session = hub.legacy("/mcp").await.session;
    let hub = Hub::start_in(hub.kill().await).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    check(
        &post(&hub, "/mcp", &[JSON, ("mcp-session-id", &session)], ping).await,
        404,
        -32600,
        "an old session",
    );
    assert_eq!(text(&hub.legacy("/mcp").await.call("mcp__s__echo", json!({})).await), "{}");
}

#[tokio::test]
async fn open_streams_end_with_the_hub_and_do_not_hold_it_up() {
    let (hub, _server) = over_http(Options::default()).await;
    let mut streams = vec![
        hub.legacy("/mcp").await.hear().await,
        hub.listen("/mcp").await,
        hub.listen("/mcp/i/s").await,
        hub.open(Method::GET, "/sse", &[("accept", "text/event-stream")], "").await,
    ];
    let _dir = hub.stop().await;
    for stream in &mut streams {
        while stream.next_data().await.is_some() {}
    }
}

#[tokio::test]
async fn a_legacy_client_without_a_session_is_answered_too() {
    let (hub, _server) = over_http(Options::default()).await;
    for (path, tool) in DOORS {
        let body = json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": { "name": tool, "arguments": {} } });
        let answer = post(&hub, path, &[JSON], body.to_string()).await;
        assert_eq!((answer.status, text(&answer.json()["result"])), (200, "{}"));
        assert_eq!(answer.json()["id"], "x");
    }
}

#[tokio::test]
async fn batches_are_taken_in_sessions_of_2025_03_26_only() {
    let (hub, _server) = over_http(Options::default()).await;
    let batch = |tool: &str| {
        let call = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": { "id": id } } });
        json!([call(json!(1)), call(json!("two")), { "jsonrpc": "2.0", "method": "notifications/initialized" }])
    };
    for (path, tool) in DOORS {
        let client = hub.legacy_at(path, "2025-03-26").await;
        let answer = client.post(batch(tool)).await.json();
        let mut answers = answer.as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        answers.sort_by_key(|it| it["id"].is_string());
        assert_eq!(answers.len(), 2, "{answer}");
        for (answer, id) in answers.iter().zip([json!(1), json!("two")]) {
            assert_eq!(answer["id"], id);
            assert_eq!(text(&answer["result"]), json!({ "id": id }).to_string());
        }
        let notes = client.post(json!([{ "jsonrpc": "2.0", "method": "notifications/initialized" }])).await;
        assert_eq!((notes.status, notes.body.len()), (202, 0));
        check(&client.post(json!([])).await, 400, -32600, "an empty batch");
        for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
            check(&hub.legacy_at(path, version).await.post(batch(tool)).await, 400, -32600, version);
        }
        check(&post(&hub, path, &[JSON], batch(tool).to_string()).await, 400, -32600, "no session");
    }
}

#[tokio::test]
async fn an_endpoint_of_an_instance_that_is_not_there_says_so() {
    let (hub, _server) = over_http(Options::default()).await;
    let answer = hub.modern("/mcp/i/nobody", "tools/list", json!({})).await;
    assert_eq!(answer.status, 404, "{}", answer.text());
    let error = &answer.json()["error"];
    assert!(error["message"].as_str().unwrap().contains("`nobody`"), "{error}");
}

#[tokio::test]
async fn the_old_sse_door_carries_a_whole_conversation() {
    let (hub, _server) = over_http(Options::default()).await;
    let mut stream = hub.open(Method::GET, "/sse", &[("accept", "text/event-stream")], "").await;
    assert_eq!(stream.status, 200);
    let address = stream.next_data().await.unwrap();
    assert!(address.starts_with('/'), "{address}");
    let say = async |message: Value| {
        assert_eq!(post(&hub, &address, &[JSON], message.to_string()).await.status, 202);
    };
    say(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } }))
    .await;
    assert_eq!(stream.next().await.unwrap()["result"]["protocolVersion"], "2024-11-05");
    say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    // A word about the import itself may come in between.
    say(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "mcp__s__echo", "arguments": { "a": 1 } } })).await;
    let answer = loop {
        let message = stream.next().await.unwrap();
        if message["id"] == 2 {
            break message;
        }
    };
    assert_eq!(text(&answer["result"]), "{\"a\":1}");
    say(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "mcp__s__change_tools", "arguments": {} } })).await;
    let (mut answered, mut told) = (false, false);
    while !(answered && told) {
        let message = stream.next().await.unwrap();
        answered |= message["id"] == 3;
        told |= message["method"] == "notifications/tools/list_changed";
    }
    drop(stream);
    eventually("the address ends with the stream", async || {
        (post(&hub, &address, &[JSON], "{}").await.status == 404).then_some(())
    })
    .await;
}
