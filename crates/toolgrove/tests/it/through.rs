//! What passes through the hub on its way: bytes as they are, progress, log messages, cancellation, names and addresses.

use futures::FutureExt;
use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::{Era, Kind, Options, Running};

use crate::grove::{ERAS, beside, eventually, hub_with, over_http, over_stdio, scripted, text};
use crate::hub::{Hub, Stream, modern_request};

/// A modern request whose answer is read as it comes.
async fn open(hub: &Hub, path: &str, method: &str, params: Value) -> Stream {
    let (headers, body) = modern_request(method, params);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    hub.open(Method::POST, path, &headers, body.to_string()).await
}

#[tokio::test]
async fn arguments_and_results_pass_byte_for_byte() {
    let odd = [
        r#"{"big":123456789012345678901234567890,"tiny":1e-400,"huge":1e400,"zero":-0,"point":1.10}"#,
        r#"{ "spaced" : [ 1 ,2,   3 ], "nested":{"b":1,"a":{"b":1}} }"#,
        r#"{"escapes":"\u00e9\ud83d\ude00\/\b","plain":"é😀/","lone":"\ud800"}"#,
        r#"{"__proto__":null,"":"empty key","constructor":{},"$ref":"x","name":"other","_meta":{"progressToken":1}}"#,
        r"{}",
    ];
    for (what, hub, _server) in crate::grove::over_each_transport().await {
        for arguments in odd {
            let before = r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"mcp__s__echo","arguments":"#;
            let legacy = format!("{before}{arguments}}}}}");
            let answer = hub.ask(Method::POST, "/mcp", &[("content-type", "application/json")], legacy).await;
            let body = answer.text();
            assert!(
                body.contains(&format!("\"structuredContent\":{arguments}")),
                "{what}: {arguments}\n{body}"
            );
            assert!(body.contains("\"id\":9007199254740993"), "{what}: {body}");
        }
    }
}

#[tokio::test]
async fn members_nobody_knows_survive_in_lists_in_results_and_on_the_way_to_the_server() {
    let tool = r#"{"name":"t","inputSchema":{"type":"object","x-order":["b","a"],"properties":{"z":{},"a":{}}},"x-vendor":{"deep":[1,{"k":null}]},"annotations":{"com.example/cost":0.5}}"#;
    let url = scripted(serde_json::from_str(&format!("[{tool}]")).unwrap()).await;
    let hub = hub_with(json!({ "s": { "url": url } })).await;
    let listed = hub.modern("/mcp/i/s", "tools/list", json!({})).await.text();
    assert!(listed.contains(tool), "{listed}");
    let renamed = hub.modern("/mcp", "tools/list", json!({})).await.text();
    assert!(
        renamed.contains(&tool.replacen("\"t\"", "\"mcp__s__t\"", 1)),
        "only the name is another one: {renamed}"
    );

    for era in ERAS {
        let (hub, server) = over_http(Options { era, ..Options::default() }).await;
        let params = json!({ "name": "mcp__s__echo", "arguments": {}, "com.example/extra": [1], "_meta": { "com.example/trace": "abc" } });
        hub.modern("/mcp", "tools/call", params).await;
        let seen =
            server.log().into_iter().rev().find(|it| it.method.as_deref() == Some("tools/call")).unwrap();
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        assert_eq!(body["params"]["com.example/extra"], json!([1]), "{}", seen.body);
        assert_eq!(body["params"]["_meta"]["com.example/trace"], "abc", "{}", seen.body);
    }
}

#[tokio::test]
async fn progress_comes_under_the_clients_own_token() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        let client = hub.legacy("/mcp").await;
        for token in [json!("mine"), json!(7)] {
            let params = json!({ "name": "mcp__s__test_tool_with_progress", "arguments": {}, "_meta": { "progressToken": token } });
            let modern = hub.modern("/mcp", "tools/call", params.clone()).await;
            let legacy = client
                .post(json!({ "jsonrpc": "2.0", "id": "p", "method": "tools/call", "params": params }))
                .await;
            for answer in [modern, legacy] {
                assert_eq!(answer.headers["content-type"], "text/event-stream");
                let mut messages = answer.messages();
                let last = messages.pop().unwrap();
                assert_eq!(text(&last["result"]), "Progressed", "{last}");
                let steps: Vec<_> = messages
                    .iter()
                    .map(|it| {
                        (&it["method"], &it["params"]["progressToken"], it["params"]["progress"].as_f64())
                    })
                    .collect();
                let note = json!("notifications/progress");
                assert_eq!(
                    steps,
                    [(&note, &token, Some(0.0)), (&note, &token, Some(50.0)), (&note, &token, Some(100.0))],
                    "{era:?}"
                );
            }
        }
        let silent = client.post(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "mcp__s__test_tool_with_progress" } })).await;
        assert_eq!(silent.messages().len(), 1, "who asked for none gets none: {}", silent.text());
    }
}

#[tokio::test]
async fn log_messages_come_from_the_level_on_that_a_client_has_set() {
    let said =
        |messages: Vec<Value>| messages.iter().filter(|it| it["method"] == "notifications/message").count();
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        let client = hub.legacy("/mcp").await;
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "mcp__s__test_tool_with_logging" } });
        for (level, expected) in [("debug", 3), ("info", 3), ("warning", 0), ("emergency", 0)] {
            assert_eq!(
                client.request("logging/setLevel", json!({ "level": level })).await["result"],
                json!({}),
                "{level}"
            );
            assert_eq!(said(client.post(call.clone()).await.messages()), expected, "{era:?} {level}");
        }
        assert_eq!(
            client.request("logging/setLevel", json!({ "level": "loud" })).await["error"]["code"],
            -32602
        );

        for (level, expected) in [(Some("info"), 3), (Some("error"), 0), (None, 0)] {
            let mut params = json!({ "name": "mcp__s__test_tool_with_logging", "_meta": {} });
            if let Some(level) = level {
                params["_meta"]["io.modelcontextprotocol/logLevel"] = level.into();
            }
            assert_eq!(
                said(hub.modern("/mcp", "tools/call", params).await.messages()),
                expected,
                "{era:?} {level:?}"
            );
        }
    }
}

async fn has_call(server: &Running) {
    eventually("the server has the call", async || {
        server.methods().contains(&"tools/call".to_owned()).then_some(())
    })
    .await;
}

async fn is_cancelled(server: &Running) {
    eventually("the server hears of the cancellation", async || (server.cancelled() == 1).then_some(()))
        .await;
}

#[tokio::test]
async fn a_legacy_cancellation_reaches_the_server() {
    for (era, kind) in [(Era::Legacy, Kind::Http), (Era::Modern, Kind::Http), (Era::Legacy, Kind::Sse)] {
        let (hub, server) = over_http(Options { era, kind, ..Options::default() }).await;
        let client = hub.legacy("/mcp").await;
        server.clear_log();
        let call = json!({ "jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": { "name": "mcp__s__sleep", "arguments": { "ms": 600_000 } } });
        let cancel = async {
            has_call(&server).await;
            assert_eq!(
                client
                    .notify("notifications/cancelled", json!({ "requestId": "c", "reason": "enough" }))
                    .await,
                202
            );
            is_cancelled(&server).await;
        };
        // The answer of a cancelled call, if there is one, is no result.
        let (answer, ()) = tokio::join!(client.post(call), cancel);
        assert!(answer.json().get("result").is_none(), "{era:?} {kind:?}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_modern_client_that_goes_away_cancels_its_call() {
    for (era, kind) in [(Era::Legacy, Kind::Http), (Era::Modern, Kind::Http), (Era::Legacy, Kind::Sse)] {
        let params = json!({ "name": "mcp__s__sleep", "arguments": { "ms": 600_000 } });
        // Before any header of the answer.
        let (hub, server) = over_http(Options { era, kind, ..Options::default() }).await;
        server.clear_log();
        {
            let call = hub.modern("/mcp", "tools/call", params.clone());
            tokio::pin!(call);
            tokio::select! {
                answer = &mut call => panic!("{}", answer.text()),
                () = has_call(&server) => {}
            }
            assert!(call.now_or_never().is_none());
        }
        is_cancelled(&server).await;

        // In the middle of the answer.
        let (hub, server) = over_http(Options { era, kind, ..Options::default() }).await;
        let mut watched = params.clone();
        watched["_meta"] = json!({ "progressToken": 1 });
        let mut stream = open(&hub, "/mcp", "tools/call", watched).await;
        assert_eq!(stream.next().await.unwrap()["method"], "notifications/progress");
        drop(stream);
        is_cancelled(&server).await;
    }
}

#[tokio::test]
async fn a_cancelled_call_of_a_process_ends_there_too() {
    for era in ["legacy", "modern"] {
        let hub = over_stdio(&["--era", era]).await;
        let params = json!({ "name": "mcp__s__sleep", "arguments": { "ms": 600_000 }, "_meta": { "progressToken": 1 } });
        let mut stream = open(&hub, "/mcp", "tools/call", params).await;
        stream.next().await.unwrap();
        drop(stream);
        eventually("the process counts it", async || {
            let counted = hub.call("mcp__s__cancelled_count", json!({})).await;
            (counted["structuredContent"]["count"] == 1).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_legacy_client_that_loses_its_connection_does_not_cancel_its_call() {
    let (hub, server) = over_http(Options::default()).await;
    let client = hub.legacy("/mcp").await;
    server.clear_log();
    {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "mcp__s__sleep", "arguments": { "ms": 500 } } });
        let call = client.post(call);
        tokio::pin!(call);
        tokio::select! {
            answer = &mut call => panic!("{}", answer.text()),
            () = has_call(&server) => {}
        }
    }
    let row = eventually("the call ends", async || hub.get("/api/calls").await.get(0).cloned()).await;
    assert_eq!((&row["tool"], &row["outcome"]), (&json!("mcp__s__sleep"), &json!("done")), "{row}");
    assert_eq!(server.cancelled(), 0);
}

#[tokio::test]
async fn prompts_and_resources_carry_their_servers_name_on_the_aggregate_and_their_own_on_one_endpoint() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        for (path, name, uri) in [("/mcp", "mcp__s__", "toolgrove://s/"), ("/mcp/i/s", "", "")] {
            let legacy = hub.legacy(path).await;
            let both = async |method: &str, params: Value| {
                let modern = hub.modern(path, method, params.clone()).await.json()["result"].clone();
                [modern, legacy.request(method, params).await["result"].clone()]
            };
            for it in both("prompts/list", json!({})).await {
                let names: Vec<_> =
                    it["prompts"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
                assert!(names.contains(&format!("{name}test_simple_prompt").as_str()), "{names:?}");
            }
            for it in both("prompts/get", json!({ "name": format!("{name}test_prompt_with_embedded_resource"), "arguments": { "resourceUri": "test://static-text" } })).await {
                assert_eq!(it["messages"][0]["content"]["resource"]["uri"], format!("{uri}test://static-text"), "{it}");
            }
            for it in both("resources/list", json!({})).await {
                let uris: Vec<_> = it["resources"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|it| it["uri"].as_str().unwrap())
                    .collect();
                assert!(uris.contains(&format!("{uri}test://static-text").as_str()), "{uris:?}");
            }
            for it in both("resources/templates/list", json!({})).await {
                assert_eq!(
                    it["resourceTemplates"][0]["uriTemplate"],
                    format!("{uri}test://template/{{id}}/data"),
                    "{it}"
                );
            }
            for own in ["test://static-text", "test://template/42/data"] {
                for it in both("resources/read", json!({ "uri": format!("{uri}{own}") })).await {
                    assert_eq!(it["contents"][0]["uri"], format!("{uri}{own}"), "{it}");
                }
            }
            for it in both("tools/call", json!({ "name": format!("{name}test_embedded_resource") })).await {
                assert_eq!(
                    it["content"][0]["resource"]["uri"],
                    format!("{uri}test://embedded-resource"),
                    "{it}"
                );
            }
            for reference in [
                json!({ "type": "ref/prompt", "name": format!("{name}test_prompt_with_arguments") }),
                json!({ "type": "ref/resource", "uri": format!("{uri}test://template/{{id}}/data") }),
            ] {
                for it in both(
                    "completion/complete",
                    json!({ "ref": reference, "argument": { "name": "arg1", "value": "par" } }),
                )
                .await
                {
                    assert_eq!(it["completion"]["values"], json!(["paris", "park", "party"]), "{it}");
                }
            }
        }
    }
}

#[tokio::test]
async fn changed_prompts_and_resources_are_announced_too() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        let legacy = hub.legacy("/mcp").await;
        let (mut ear, mut subscription) = (legacy.hear().await, hub.listen("/mcp").await);
        hub.call("mcp__s__test_trigger_prompt_change", json!({})).await;
        // Each hears of it, and who then asks sees it. A word about the import itself may come first.
        for stream in [&mut ear, &mut subscription] {
            loop {
                let note = stream.next().await.unwrap();
                let prompts = legacy.request("prompts/list", json!({})).await.to_string();
                if note["method"] == "notifications/prompts/list_changed"
                    && prompts.contains("mcp__s__test_added_prompt")
                {
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn calls_of_one_session_run_beside_each_other() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = hub.legacy("/mcp").await;
    let slow = client.post(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "mcp__s__sleep", "arguments": { "ms": 60_000 } } }));
    tokio::pin!(slow);
    for id in 2..12 {
        let call = client.post(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "mcp__s__echo", "arguments": {} } }));
        let answer = tokio::select! {
            _ = &mut slow => panic!("the slow one was first"),
            answer = call => answer.json(),
        };
        assert_eq!((&answer["id"], text(&answer["result"])), (&json!(id), "{}"));
    }
}

#[tokio::test]
async fn the_same_id_in_two_sessions_is_two_requests() {
    let hub = std::sync::Arc::new(over_stdio(&[]).await);
    let calls: Vec<_> = (0..10)
        .map(|number| {
            let hub = hub.clone();
            beside(async move {
                let client = hub.legacy("/mcp").await;
                (number, client.call("mcp__s__echo", json!({ "n": number })).await)
            })
        })
        .collect();
    for call in calls {
        let (number, result) = call.await.unwrap();
        assert_eq!(text(&result), format!("{{\"n\":{number}}}"));
    }
}
