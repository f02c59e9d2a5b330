//! Lists: all pages, nothing invented, each with its own fate.

use std::time::Duration;

use serde_json::json;
use toolgrove_core::call::Links;
use toolgrove_core::event::ListKind;

use crate::bed::{bed, http};
use crate::peer::{Peer, Reply, Seen, legacy, modern};

/// Case `pagination`.
#[tokio::test]
async fn all_pages_are_fetched_and_a_cursor_that_comes_again_is_the_end() {
    let peer = Peer::start(|seen| match (seen.method(), seen.body["params"]["cursor"].as_str()) {
        ("tools/list", None) => {
            Reply::result(seen, json!({ "tools": [{ "name": "a", "n": 1 }], "nextCursor": "" }))
        }
        ("tools/list", Some("")) => {
            Reply::result(seen, json!({ "tools": [{ "name": "b" }], "nextCursor": "2" }))
        }
        ("tools/list", Some(_)) => {
            Reply::result(seen, json!({ "tools": [{ "name": "c" }], "nextCursor": "2" }))
        }
        _ => legacy(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |_| {});
    let tools = bed.pool.list(&bed.instance, ListKind::Tools).await.expect("a list");
    let tools: Vec<_> = tools.items.iter().map(toolgrove_wire::Raw::as_str).collect();
    assert_eq!(tools, [r#"{"name":"a","n":1}"#, r#"{"name":"b"}"#, r#"{"name":"c"}"#]);
}

/// Case `tools-missing-key`.
#[tokio::test]
async fn a_result_without_tools_is_an_empty_list() {
    let peer = Peer::start(|seen| match seen.method() {
        "tools/list" => Reply::result(seen, json!({})),
        _ => legacy(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |_| {});
    assert!(bed.pool.list(&bed.instance, ListKind::Tools).await.expect("a list").items.is_empty());
}

#[tokio::test]
async fn only_declared_lists_are_asked_for_and_one_that_fails_spares_the_others() {
    let peer = Peer::start(|seen| match seen.method() {
        "initialize" => Reply::result(
            seen,
            json!({ "protocolVersion": "2025-06-18", "capabilities": { "resources": {} } }),
        ),
        "resources/list" => Reply::error("200 OK", seen, -32603, "no disk"),
        "resources/templates/list" => Reply::result(seen, json!({ "resourceTemplates": [{}] })),
        _ => legacy(seen),
    })
    .await;
    let discovery = bed(http(&peer.url), |_| {}).discover().await.expect("a server");
    let lists: Vec<_> = discovery
        .lists
        .iter()
        .map(|(kind, result)| (*kind, result.as_ref().map(Vec::len).map_err(ToString::to_string)))
        .collect();
    assert_eq!(
        lists,
        [
            (ListKind::Tools, Ok(1)),
            (ListKind::Resources, Err("MCP error -32603: no disk".into())),
            (ListKind::Templates, Ok(1)),
        ]
    );
    assert_eq!(peer.count("prompts/list"), 0);
}

#[tokio::test]
async fn a_notification_that_is_refused_does_not_fail_discovery() {
    let peer = Peer::start(|seen| match seen.method() {
        "notifications/initialized" => Reply::status("500 No"),
        _ => legacy(seen),
    })
    .await;
    bed(http(&peer.url), |_| {}).discover().await.expect("a server");
}

#[tokio::test]
async fn a_list_holds_as_long_as_its_shortest_page_if_a_modern_server_says_so() {
    let page = |seen: &Seen| match seen.body["params"]["cursor"].as_str() {
        None => Reply::result(seen, json!({ "tools": [], "nextCursor": "2", "ttlMs": 9_000 })),
        Some(_) => Reply::result(seen, json!({ "tools": [], "ttlMs": 4_000 })),
    };
    for (script, expected) in [(modern as fn(&_) -> _, 4), (legacy, 0)] {
        let peer =
            Peer::start(move |seen| if seen.method() == "tools/list" { page(seen) } else { script(seen) })
                .await;
        let bed = bed(http(&peer.url), |_| {});
        let holds = bed.pool.list(&bed.instance, ListKind::Tools).await.expect("a list").holds;
        assert_eq!(holds, Duration::from_secs(expected));
        assert_eq!(bed.discover().await.expect("a server").tools_hold, holds);
    }
}
