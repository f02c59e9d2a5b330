//! What a healthy server notices of the hub: one connection that is kept, no needless questions, calls that may take long.

use std::process::Stdio;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use toolgrove_fixture::{Era, Kind, Options};

use crate::grove::{ERAS, add, fixture, hub_with, over_http, over_stdio, refusal, text};
use crate::hub::{Hub, fixture_program, stdio_fixture};

#[tokio::test]
async fn calls_share_one_connection_and_ask_for_no_lists() {
    for era in ERAS {
        let (hub, server) = over_http(Options { era, ..Options::default() }).await;
        hub.call("mcp__s__echo", json!({})).await;
        server.clear_log();
        for number in 0..50 {
            assert_eq!(
                text(&hub.call("mcp__s__echo", json!({ "n": number })).await),
                format!("{{\"n\":{number}}}")
            );
        }
        let methods = server.methods();
        assert_eq!(methods.iter().filter(|it| *it == "tools/call").count(), 50);
        let others: Vec<_> = methods.iter().filter(|it| *it != "tools/call").collect();
        assert!(others.is_empty(), "{era:?}: a call is one request: {others:?}");
    }
}

#[tokio::test]
async fn many_lists_ask_nothing_of_a_server() {
    let (hub, server) = over_http(Options::default()).await;
    server.clear_log();
    for _ in 0..20 {
        assert!(hub.tools().await.contains(&"mcp__s__echo".into()));
    }
    assert_eq!(server.methods(), Vec::<String>::new());
}

#[tokio::test]
async fn a_call_may_take_longer_than_the_limit_as_long_as_it_reports_progress() {
    let limits = "[limits]\ncall_timeout_ms = 1000\n";
    for era in ["legacy", "modern"] {
        let hub = Hub::start_with(limits).await;
        add(&hub, json!({ "s": stdio_fixture(&["--era", era]) })).await;
        // Reports every 500 ms.
        let params = json!({ "name": "mcp__s__sleep", "arguments": { "ms": 2000 }, "_meta": { "progressToken": "p" } });
        let answer = hub.modern("/mcp", "tools/call", params).await.json();
        assert_eq!(text(&answer["result"]), "slept 2000 ms", "{era}: {answer}");
        let error = hub.call("mcp__s__sleep", json!({ "ms": 60_000 })).await;
        assert_eq!(refusal(&error), ("call.timeout", "`s` did not answer within 1000 ms"));
        assert_eq!(error["data"]["hint"], "run `toolgrove doctor s`");
        assert_eq!(text(&hub.call("mcp__s__echo", json!({})).await), "{}", "the link lives on");
    }
}

#[tokio::test]
async fn pages_of_a_list_are_followed() {
    for era in [Era::Legacy, Era::Modern] {
        let (hub, server) =
            over_http(Options { era, tools: 25, page_size: Some(7), ..Options::default() }).await;
        let tools = hub.tools().await;
        assert!(
            tools.contains(&"mcp__s__tool_0024".into()) && tools.contains(&"mcp__s__echo".into()),
            "{tools:?}"
        );
        assert!(server.methods().iter().filter(|it| *it == "tools/list").count() > 3);
    }
}

#[tokio::test]
async fn five_hundred_tools_of_one_server_are_all_listed_and_called() {
    let hub = over_stdio(&["--tools", "500"]).await;
    assert!(hub.tools().await.len() > 500);
    assert_eq!(text(&hub.call("mcp__s__tool_0499", json!({})).await), "tool_0499 was called");
}

#[tokio::test]
async fn a_server_behind_a_unix_socket_is_used_over_http_and_in_lines() {
    let folder = tempfile::tempdir().unwrap();
    let hub = Hub::start().await;
    let http = folder.path().join("http.sock");
    let _server =
        fixture(Options { kind: Kind::UnixHttp, path: Some(http.clone()), ..Options::default() }).await;
    let lines = folder.path().join("lines.sock");
    let mut process = Command::new(fixture_program())
        .args(["unix", "--path"])
        .arg(&lines)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    BufReader::new(process.stdout.take().unwrap()).lines().next_line().await.unwrap().expect("it listens");
    add(
        &hub,
        json!({
            "http": { "url": format!("unix://{}#/mcp", http.display()) },
            "lines": { "url": format!("unix://{}", lines.display()), "framing": "lines" },
        }),
    )
    .await;
    for slug in ["http", "lines"] {
        assert_eq!(
            text(&hub.call(&format!("mcp__{slug}__echo"), json!({ "a": 1 })).await),
            "{\"a\":1}",
            "{slug}"
        );
    }
    let refused = hub.import(json!({ "pipe": { "url": "pipe:///pipe/x" } })).await;
    let said = refused["failed"][0]["error"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert!(said.contains("Windows"), "{said}");
}

#[tokio::test]
async fn a_process_that_takes_its_time_to_start_works() {
    for era in ["legacy", "modern"] {
        // Longer than a probe waits for its answer.
        let script = format!("sleep 4; exec '{}' stdio --era {era}", fixture_program());
        let hub = hub_with(json!({ "s": { "command": "sh", "args": ["-c", script] } })).await;
        assert_eq!(text(&hub.call("mcp__s__echo", json!({})).await), "{}", "{era}");
        assert_eq!(hub.get("/api/mcp/instances/s").await["era"]["era"], era);
    }
}

#[tokio::test]
async fn a_catalogue_says_how_old_it_is_and_keeps_its_age_over_a_restart() {
    let (hub, _server) = over_http(Options::default()).await;
    let age = hub.get("/api/mcp/instances/s").await["age_s"].clone();
    assert!(age.as_i64().is_some_and(|it| (0..60).contains(&it)), "{age}");
    let dir = hub.stop().await;
    let hub = Hub::start_in(dir).await;
    let age = hub.get("/api/mcp/instances/s").await["age_s"].clone();
    assert!(age.as_i64().is_some_and(|it| (0..60).contains(&it)), "{age}");
}
