//! What is no message, too large, or names what does not exist: refused in words, and nothing of it reaches a server.

use serde_json::{Value, json};
use toolgrove_fixture::Options;

use crate::doors::{DOORS, JSON, check, post};
use crate::grove::{over_http, text};
use crate::hub::{MODERN, modern_request};

#[tokio::test]
async fn what_is_no_message_is_refused_in_words_and_the_hub_lives_on() {
    let (hub, _server) = over_http(Options::default()).await;
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"mcp__s__echo","arguments":{arguments}}}}}"#
        )
    };
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep_objects = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    let invalid = [
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}".to_vec(),
        call("{\"a\":\"?\"}").replace('?', "\u{fffd}").into_bytes(),
    ];
    let mut broken_text = invalid[1].clone();
    let at = broken_text.windows(3).position(|it| it == "\u{fffd}".as_bytes()).unwrap();
    broken_text.splice(at..at + 3, [0xc3, 0x28]);
    let cases: Vec<(&str, Vec<u8>, i64)> = vec![
        ("nothing", Vec::new(), -32700),
        ("half a message", br#"{"jsonrpc":"2.0","id":1,"#.to_vec(), -32700),
        ("invalid UTF-8 in the method", invalid[0].clone(), -32700),
        ("invalid UTF-8 in an argument", broken_text, -32700),
        ("NaN", call(r#"{"a":NaN}"#).into_bytes(), -32700),
        ("Infinity", call(r#"{"a":-Infinity}"#).into_bytes(), -32700),
        ("10 000 arrays", call(&format!("{{\"a\":{deep}}}")).into_bytes(), -32700),
        ("10 000 objects", call(&deep_objects).into_bytes(), -32700),
        ("10 000 arrays and nothing else", deep.clone().into_bytes(), -32700),
        ("a key twice in the arguments", call(r#"{"a":1,"a":2}"#).into_bytes(), -32600),
        ("a key twice, spelt differently", call(r#"{"a":1,"\u0061":2}"#).into_bytes(), -32600),
        (
            "a key twice in the message",
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#.to_vec(),
            -32600,
        ),
        ("a number", b"42".to_vec(), -32600),
        ("another JSON-RPC", br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#.to_vec(), -32600),
        ("an id that is none", br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#.to_vec(), -32600),
        (
            "params that are none",
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":3}"#.to_vec(),
            -32600,
        ),
    ];
    let session = hub.legacy("/mcp").await;
    let sessions: [Vec<(&str, &str)>; 3] = [
        vec![JSON],
        vec![JSON, ("mcp-session-id", &session.session)],
        vec![
            JSON,
            ("mcp-protocol-version", MODERN),
            ("mcp-method", "tools/call"),
            ("mcp-name", "mcp__s__echo"),
        ],
    ];
    for (what, body, code) in &cases {
        for headers in &sessions {
            let answer = post(&hub, "/mcp", headers, body.clone()).await;
            check(&answer, 400, *code, what);
            let message = answer.json();
            // Whoever sent something with a readable id waits for that.
            let id = match *what {
                "another JSON-RPC" | "params that are none" => json!(1),
                _ => Value::Null,
            };
            assert_eq!(
                message.get("id").unwrap_or(&Value::Null),
                &id,
                "{what}: whose answer is it? {message}"
            );
        }
    }
    assert_eq!(text(&hub.call("mcp__s__echo", json!({})).await), "{}");
    assert!(!hub.log().contains("panicked"), "{}", hub.log());
}

#[tokio::test]
async fn a_body_that_is_too_large_or_no_json_by_its_own_word_is_refused() {
    let (hub, server) = over_http(Options::default()).await;
    server.clear_log();
    let body = |size: usize| {
        let (_, body) = modern_request(
            "tools/call",
            json!({ "name": "mcp__s__echo", "arguments": { "a": "x".repeat(size) } }),
        );
        body.to_string()
    };
    for (path, tool) in DOORS {
        let (headers, _) = modern_request("tools/call", json!({ "name": tool }));
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        check(&post(&hub, path, &headers, body(10 * 1024 * 1024)).await, 413, -32600, "over 10 MiB");
        for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
            let other: Vec<_> = headers
                .iter()
                .copied()
                .filter(|it| it.0 != "content-type")
                .chain([("content-type", kind)])
                .collect();
            check(&post(&hub, path, &other, body(1)).await, 415, -32600, kind);
        }
    }
    assert!(server.log().is_empty(), "none of it reached the server");
    let nine = "y".repeat(9 * 1024 * 1024);
    let result = hub.call("mcp__s__echo", json!({ "a": nine })).await;
    // Once as text and once as data is more than an answer may have.
    assert_eq!(result["data"]["code"], "link.too-large", "{}", &result.to_string()[..200]);
    assert!(server.methods().contains(&"tools/call".into()), "but 9 MiB are taken");
}

#[tokio::test]
async fn names_cursors_and_methods_that_do_not_exist_are_answered_with_an_error_of_their_own() {
    let (hub, server) = over_http(Options::default()).await;
    server.clear_log();
    for (path, prefix, uri) in [("/mcp", "mcp__s__", "toolgrove://s/"), ("/mcp/i/s", "", "")] {
        let legacy = hub.legacy(path).await;
        for (method, params, modern_code, legacy_code) in [
            ("tools/list", json!({ "cursor": "made-up" }), -32602, -32602),
            ("prompts/list", json!({ "cursor": "made-up" }), -32602, -32602),
            ("resources/list", json!({ "cursor": 7 }), -32602, -32602),
            (
                "tools/call",
                json!({ "name": format!("{prefix}no_such_tool"), "arguments": {} }),
                -32602,
                -32602,
            ),
            ("prompts/get", json!({ "name": format!("{prefix}no_such_prompt") }), -32602, -32602),
            ("resources/read", json!({ "uri": format!("{uri}test://nowhere") }), -32602, -32002),
        ] {
            let answer = hub.modern(path, method, params.clone()).await;
            check(&answer, 200, modern_code, &format!("modern {method} at {path}"));
            if method == "resources/read" {
                assert_eq!(answer.json()["error"]["data"]["uri"], params["uri"], "{}", answer.text());
            }
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            check(&legacy.post(body).await, 200, legacy_code, &format!("legacy {method} at {path}"));
        }
        check(&hub.modern(path, "no/such", json!({})).await, 404, -32601, "modern method");
        // A legacy client takes 404 for the end of its session.
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "no/such" });
        check(&legacy.post(body).await, 200, -32601, "legacy method");
    }
    assert!(!server.methods().contains(&"tools/call".into()));
}

#[tokio::test]
async fn arguments_that_do_not_fit_come_back_as_a_result_a_model_can_read() {
    let (hub, server) = over_http(Options::default()).await;
    server.clear_log();
    let legacy = hub.legacy("/mcp").await;
    let given = json!({ "bytes": "many" });
    for result in [hub.call("mcp__s__big", given.clone()).await, legacy.call("mcp__s__big", given).await] {
        assert_eq!(result["isError"], true, "{result}");
        assert!(
            text(&result).starts_with("arguments do not match: ") && text(&result).contains("bytes"),
            "{result}"
        );
    }
    assert!(!server.methods().contains(&"tools/call".into()));
}
