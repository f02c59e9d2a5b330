//! The names a client sees: never two alike, never too long, never another one later.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::Options;

use crate::grove::{fixture, hub_with, scripted, text};
use crate::hub::Hub;

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

#[tokio::test]
async fn two_servers_with_the_same_tools_do_not_collide() {
    let (one, two) = (fixture(Options::default()).await, fixture(Options::default()).await);
    let hub = hub_with(json!({ "one": { "url": one.url() }, "two": { "url": two.url() } })).await;
    let tools = hub.tools().await;
    let mut once = tools.clone();
    once.dedup();
    assert_eq!(tools, once);
    assert!(tools.is_sorted());
    for (slug, seen, other) in [("one", &one, &two), ("two", &two, &one)] {
        seen.clear_log();
        other.clear_log();
        hub.call(&format!("mcp__{slug}__echo"), json!({})).await;
        assert!(seen.methods().contains(&"tools/call".into()));
        assert!(!other.methods().contains(&"tools/call".into()), "only the named server is called");
    }
}

#[tokio::test]
async fn long_names_are_shortened_and_stay_apart_and_stay_the_same() {
    let stem = "a_tool_whose_name_alone_takes_all_the_room_there_is_for_names";
    let (first, second) = (format!("{stem}_1"), format!("{stem}_2"));
    let url = scripted(json!([tool(&first), tool(&second), tool("short")])).await;
    let hub = hub_with(json!({ "a-server-with-a-long-name": { "url": url } })).await;
    let names = hub.tools().await;
    assert_eq!(names.len(), 3, "{names:?}");
    for name in &names {
        assert!(name.len() <= 64, "{name}");
    }
    let mut called = Vec::new();
    for name in &names {
        called.push(text(&hub.call(name, json!({})).await).to_owned());
    }
    called.sort();
    assert_eq!(called, [first, second, "short".into()], "each name is one tool");

    let hub = Hub::start_in(hub.stop().await).await;
    assert_eq!(hub.tools().await, names, "a name that a client has learnt is good for ever");
}

#[tokio::test]
async fn a_list_shows_one_form_and_calls_take_both() {
    let server = fixture(Options::default()).await;
    let hub = hub_with(json!({ "s": { "url": server.url() } })).await;
    assert!(hub.tools().await.iter().all(|it| it.starts_with("mcp__s__")));
    let list = hub.modern("/mcp?names=single", "tools/list", json!({})).await.json();
    let tools = list["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().all(|it| it["name"].as_str().unwrap().starts_with("mcp_s__")), "{list}");
    for name in ["mcp__s__echo", "mcp_s__echo"] {
        assert_eq!(text(&hub.call(name, json!({ "a": 1 })).await), "{\"a\":1}");
    }
    assert_eq!(
        hub.call("echo", json!({})).await["code"],
        -32602,
        "a raw name belongs to one instance's endpoint"
    );
    let raw = hub.modern("/mcp/i/s", "tools/call", json!({ "name": "echo", "arguments": {} })).await.json();
    assert_eq!(text(&raw["result"]), "{}");
}

#[tokio::test]
async fn what_is_turned_off_is_in_no_list_and_cannot_be_called() {
    let server = fixture(Options::default()).await;
    let hub = hub_with(json!({ "s": { "url": server.url() } })).await;
    for (path, expected) in [
        ("/api/mcp/instances/s/tools/echo", "tool.off"),
        ("/api/mcp/instances/s", "instance.off"),
        ("/api/mcp/servers/s", "server.off"),
    ] {
        let (status, body) = hub.api(Method::PATCH, path, json!({ "enabled": false })).await;
        assert_eq!(status, 200, "{body}");
        assert!(!hub.tools().await.contains(&"mcp__s__echo".into()), "{path}");
        server.clear_log();
        let error = hub.call("mcp__s__echo", json!({})).await;
        assert_eq!(error["data"]["code"], expected, "{error}");
        assert!(!server.methods().contains(&"tools/call".into()), "{path}");
        hub.api(Method::PATCH, path, json!({ "enabled": true })).await;
        assert_eq!(text(&hub.call("mcp__s__echo", json!({})).await), "{}", "{path}");
    }
}
