//! What a healthy server notices of the hub: one connection that is kept, no needless questions, calls that may take long.

use serde_json::json;
use toolgrove_fixture::{Era, Options};

use crate::grove::{ERAS, over_http, over_stdio, refusal, text};
use crate::hub::Hub;

#[tokio::test]
async fn calls_share_one_connection_and_ask_for_no_lists() {
    for era in ERAS {
        let (hub, server) = over_http(Options { era, ..Options::default() }).await;
        hub.call("mcp__s__echo", json!({})).await;
        server.clear_log();
        for number in 0..50 {
            assert_eq!(text(&hub.call("mcp__s__echo", json!({ "n": number })).await), format!("{{\"n\":{number}}}"));
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
        crate::grove::add(&hub, json!({ "s": crate::hub::stdio_fixture(&["--era", era]) })).await;
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
async fn a_client_that_wants_no_progress_may_wait_as_long() {
    let hub = Hub::start_with("[limits]\ncall_timeout_ms = 1000\n").await;
    crate::grove::add(&hub, json!({ "s": crate::hub::stdio_fixture(&[]) })).await;
    assert_eq!(text(&hub.call("mcp__s__sleep", json!({ "ms": 2000 })).await), "slept 2000 ms");
}

#[tokio::test]
async fn pages_of_a_list_are_followed() {
    for era in [Era::Legacy, Era::Modern] {
        let (hub, server) = over_http(Options { era, tools: 25, page_size: Some(7), ..Options::default() }).await;
        let tools = hub.tools().await;
        assert!(tools.contains(&"mcp__s__tool_0024".into()) && tools.contains(&"mcp__s__echo".into()), "{tools:?}");
        assert!(server.methods().iter().filter(|it| *it == "tools/list").count() > 3);
    }
}

#[tokio::test]
async fn five_hundred_tools_of_one_server_are_all_listed_and_called() {
    let hub = over_stdio(&["--tools", "500"]).await;
    assert!(hub.tools().await.len() > 500);
    assert_eq!(text(&hub.call("mcp__s__tool_0499", json!({})).await), "tool_0499 was called");
}
