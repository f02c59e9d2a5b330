//! What is left of a call: one row whatever its end, and the numbers of `/metrics`.

use std::collections::BTreeMap;

use futures::StreamExt;
use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::{Options, Running};

use crate::grove::{ERAS, eventually, fixture, hub_with, over_http, text};
use crate::hub::Hub;

/// Door, tool, outcome and error code of every row, oldest first.
async fn rows(hub: &Hub) -> Vec<(String, String, String, Option<String>)> {
    let rows = hub.get("/api/calls?limit=1000").await;
    let word = |row: &Value, key: &str| row[key].as_str().map(str::to_owned);
    let mut rows: Vec<_> = rows.as_array().unwrap().clone();
    rows.reverse();
    rows.iter()
        .map(|it| {
            assert!(it["ms"].as_f64().is_some_and(|it| it >= 0.0) && it["started_at"].is_i64(), "{it}");
            (
                word(it, "door").unwrap(),
                word(it, "tool").unwrap(),
                word(it, "outcome").unwrap(),
                word(it, "error_code"),
            )
        })
        .collect()
}

async fn has_calls(server: &Running, wanted: usize) {
    eventually("the server has the calls", async || {
        (server.methods().iter().filter(|it| *it == "tools/call").count() == wanted).then_some(())
    })
    .await;
}

/// Ends one call per way a call can end, through one door.
async fn all_ends(hub: &Hub, server: &mut Running, gone: &mut Running, door: &str) {
    let legacy = hub.legacy("/mcp").await;
    let call = async |tool: &str, arguments: Value| match door {
        "legacy" => legacy.call(tool, arguments).await,
        _ => hub.call(tool, arguments).await,
    };
    call("mcp__s__echo", json!({})).await;
    call("mcp__s__fail", json!({})).await;
    call("mcp__s__rpc_error", json!({ "code": 7 })).await;
    call("mcp__s__big", json!({ "bytes": "x" })).await;
    call("mcp__s__no_such", json!({})).await;
    call("mcp__off__echo", json!({})).await;
    gone.stop().await;
    call("mcp__gone__echo", json!({})).await;
    server.clear_log();
    let slow = json!({ "name": "mcp__s__sleep", "arguments": { "ms": 600_000 } });
    if door == "legacy" {
        let cancel = async {
            has_calls(server, 1).await;
            legacy.notify("notifications/cancelled", json!({ "requestId": "c" })).await;
        };
        let body = json!({ "jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": slow });
        tokio::join!(legacy.post(body), cancel);
    } else {
        tokio::select! {
            answer = hub.modern("/mcp", "tools/call", slow) => panic!("{}", answer.text()),
            () = has_calls(server, 1) => {}
        }
    }
}

#[tokio::test]
async fn every_call_leaves_one_row_however_it_ends() {
    for door in ["mcp", "legacy"] {
        let (mut server, mut gone) = (fixture(Options::default()).await, fixture(Options::default()).await);
        let off = fixture(Options::default()).await;
        let hub = hub_with(json!({ "s": { "url": server.url() }, "gone": { "url": gone.url() }, "off": { "url": off.url() } })).await;
        hub.api(Method::PATCH, "/api/mcp/instances/off", json!({ "enabled": false })).await;
        all_ends(&hub, &mut server, &mut gone, door).await;
        let expected = [
            ("mcp__s__echo", "done", None),
            ("mcp__s__fail", "tool_error", None),
            ("mcp__s__rpc_error", "failed", Some("server.error")),
            ("mcp__s__big", "failed", Some("call.arguments")),
            ("mcp__s__no_such", "failed", Some("tool.unknown")),
            ("mcp__off__echo", "failed", Some("instance.off")),
            ("mcp__gone__echo", "failed", Some("link.unreachable")),
            ("mcp__s__sleep", "cancelled", Some("call.cancelled")),
        ];
        let expected: Vec<_> = expected
            .iter()
            .map(|(tool, outcome, code)| {
                (door.to_owned(), (*tool).to_owned(), (*outcome).to_owned(), code.map(str::to_owned))
            })
            .collect();
        let found = eventually("the cancelled call has its row", async || {
            let rows = rows(&hub).await;
            (rows.len() >= expected.len()).then_some(rows)
        })
        .await;
        assert_eq!(found, expected);
        let by_outcome = hub.get("/api/calls?outcome=cancelled").await;
        assert_eq!(by_outcome.as_array().unwrap().len(), 1);
        let one = hub.get(&format!("/api/calls/{}", by_outcome[0]["id"].as_str().unwrap())).await;
        for (key, value) in by_outcome[0].as_object().unwrap() {
            assert_eq!(&one[key], value, "{key}");
        }
    }
}

#[tokio::test]
async fn prompts_resources_and_completions_are_recorded_too() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        hub.modern("/mcp", "prompts/get", json!({ "name": "mcp__s__test_simple_prompt" })).await;
        hub.modern("/mcp", "resources/read", json!({ "uri": "toolgrove://s/test://static-text" })).await;
        let reference = json!({ "type": "ref/prompt", "name": "mcp__s__test_prompt_with_arguments" });
        hub.modern(
            "/mcp",
            "completion/complete",
            json!({ "ref": reference, "argument": { "name": "arg1", "value": "" } }),
        )
        .await;
        let calls = hub.get("/api/calls").await;
        let mut methods: Vec<_> = calls
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it["method"].clone(), it["outcome"].clone()))
            .collect();
        methods.reverse();
        let done = json!("done");
        assert_eq!(
            methods,
            [
                (json!("prompts/get"), done.clone()),
                (json!("resources/read"), done.clone()),
                (json!("completion/complete"), done)
            ]
        );
    }
}

#[tokio::test]
async fn a_clean_stop_loses_no_row_of_a_thousand() {
    let (hub, _server) = over_http(Options::default()).await;
    futures::stream::iter(0..1000)
        .map(async |number: u32| {
            let result = hub.call("mcp__s__echo", json!({ "n": number })).await;
            assert_eq!(text(&result), format!("{{\"n\":{number}}}"));
        })
        .buffer_unordered(32)
        .collect::<Vec<()>>()
        .await;
    let hub = Hub::start_in(hub.stop().await).await;
    let first = hub.get("/api/calls?limit=600").await;
    let last = first.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    let rest = hub.get(&format!("/api/calls?limit=1000&before={last}")).await;
    let mut ids: Vec<_> = [&first, &rest]
        .iter()
        .flat_map(|it| it.as_array().unwrap())
        .map(|it| it["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 1000);
}

#[tokio::test]
async fn a_stop_in_the_middle_of_calls_still_records_them() {
    let (hub, server) = over_http(Options::default()).await;
    server.clear_log();
    let calls = futures::future::join_all((0..5).map(|_| {
        hub.modern("/mcp", "tools/call", json!({ "name": "mcp__s__sleep", "arguments": { "ms": 600_000 } }))
    }));
    let pid = rustix::process::Pid::from_raw(hub.pid().try_into().unwrap()).unwrap();
    {
        tokio::pin!(calls);
        tokio::select! {
            _ = &mut calls => panic!("they answered"),
            () = has_calls(&server, 5) => {}
        }
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }
    let mut hub = hub;
    hub.child.wait().await.unwrap();
    let hub = Hub::start_in(hub.dir).await;
    let ends: Vec<_> = rows(&hub).await.into_iter().map(|it| it.2).collect();
    assert_eq!(ends, ["cancelled"; 5]);
}

/// The samples of one counter, by their labels.
fn samples(text: &str, name: &str) -> BTreeMap<String, f64> {
    text.lines()
        .filter_map(|it| it.strip_prefix(name)?.strip_prefix('{')?.split_once("} "))
        .map(|(labels, value)| {
            let mut labels: Vec<_> = labels.split(',').collect();
            labels.sort_unstable();
            (labels.join(","), value.parse().unwrap())
        })
        .collect()
}

#[tokio::test]
async fn the_numbers_tell_calls_that_succeeded_failed_and_were_cancelled() {
    let (mut server, mut gone) = (fixture(Options::default()).await, fixture(Options::default()).await);
    let off = fixture(Options::default()).await;
    let hub = hub_with(
        json!({ "s": { "url": server.url() }, "gone": { "url": gone.url() }, "off": { "url": off.url() } }),
    )
    .await;
    hub.api(Method::PATCH, "/api/mcp/instances/off", json!({ "enabled": false })).await;
    all_ends(&hub, &mut server, &mut gone, "mcp").await;
    hub.call("mcp__s__echo", json!({})).await;
    let key = |server: &str, outcome: &str| {
        format!("kind=\"streamable_http\",outcome=\"{outcome}\",server=\"{server}\"")
    };
    let metrics = eventually("the cancelled call is counted", async || {
        let text = hub.ask(Method::GET, "/metrics", &[], "").await.text();
        samples(&text, "toolgrove_calls_total").contains_key(&key("s", "cancelled")).then_some(text)
    })
    .await;
    let calls = samples(&metrics, "toolgrove_calls_total");
    for (server, outcome, count) in [
        ("s", "done", 2.0),
        ("s", "tool_error", 1.0),
        ("s", "failed", 2.0),
        ("s", "cancelled", 1.0),
        ("gone", "failed", 1.0),
    ] {
        assert_eq!(calls.get(&key(server, outcome)), Some(&count), "{server} {outcome}: {calls:#?}");
    }
    assert!((calls.values().sum::<f64>() - 9.0).abs() < 0.1, "each call once: {calls:#?}");
    let errors = samples(&metrics, "toolgrove_call_errors_total");
    for code in [
        "server.error",
        "call.arguments",
        "tool.unknown",
        "instance.off",
        "link.unreachable",
        "call.cancelled",
    ] {
        assert_eq!(errors.get(&format!("code=\"{code}\"")), Some(&1.0), "{code}: {errors:#?}");
    }
    let counted = samples(&metrics, "toolgrove_call_seconds_count");
    assert_eq!(counted.get("kind=\"streamable_http\",server=\"s\""), Some(&6.0), "{counted:#?}");
    for line in metrics.lines() {
        let words = line.split_whitespace().count();
        assert!(line.is_empty() || line.starts_with("# ") || words >= 2, "not Prometheus text: {line}");
    }
}
