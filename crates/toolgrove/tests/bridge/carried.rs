//! What travels along with requests and lists, in all four cells: the trace, arguments that are headers too, pages of
//! apps, and an order that never changes.

use serde_json::{Value, json};
use toolgrove_fixture::{Era, Options, Running, Seen};

use crate::grove::{ERAS, fixture, hub_with, over_http, text};
use crate::hub::{Hub, stdio_fixture};
use crate::talk::{Legacy, Modern, everything, obliging};

/// The last call a server has seen.
#[track_caller]
fn last_call(server: &Running) -> (Seen, Value) {
    let seen = server.log().into_iter().rfind(|it| it.method.as_deref() == Some("tools/call")).unwrap();
    let body = serde_json::from_str(&seen.body).unwrap();
    (seen, body)
}

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The trace is the client's, the span is the hub's own, and baggage stays behind.
#[track_caller]
fn check_trace(server: &Running, what: &str) {
    let (_, body) = last_call(server);
    let meta = &body["params"]["_meta"];
    let parent = meta["traceparent"].as_str().unwrap_or_else(|| panic!("{what}: {body}"));
    let parts: Vec<_> = parent.split('-').collect();
    assert_eq!((parts[1], parts[3]), ("0af7651916cd43dd8448eb211c80319c", "01"), "{what}: {parent}");
    assert_ne!(parts[2], "b7ad6b7169203331", "{what}: the hub is between them");
    assert_eq!((&meta["tracestate"], meta.get("baggage")), (&json!("a=b"), None), "{what}");
}

#[tokio::test]
async fn a_trace_goes_on_in_every_cell() {
    for era in ERAS {
        let (hub, server) = over_http(Options { era, ..Options::default() }).await;
        let trace = json!({ "traceparent": PARENT, "tracestate": "a=b", "baggage": "k=v" });
        let params = json!({ "name": "mcp__s__echo", "arguments": {}, "_meta": trace });
        Modern::new(&hub, json!({})).ask("tools/call", params.clone()).await;
        check_trace(&server, &format!("modern client, {era:?}"));
        hub.legacy("/mcp").await.request("tools/call", params).await;
        check_trace(&server, &format!("legacy client, {era:?}"));

        let plain = json!({ "name": "mcp__s__echo", "arguments": {} });
        let headers = [("traceparent", PARENT), ("tracestate", "a=b"), ("baggage", "k=v")];
        hub.modern_with("/mcp", "tools/call", plain, &headers).await;
        check_trace(&server, &format!("modern client that says it in headers, {era:?}"));
    }
}

#[tokio::test]
async fn an_argument_that_is_a_header_too_is_checked_at_the_door_and_sent_by_the_link() {
    for era in ERAS {
        let (hub, server) = over_http(Options { era, ..Options::default() }).await;
        for (path, name) in [("/mcp", "mcp__s__test_x_mcp_header"), ("/mcp/i/s", "test_x_mcp_header")] {
            let what = format!("{path}, {era:?}");
            let listed = Modern::at(&hub, path, json!({})).ask("tools/list", json!({})).await;
            let tool = listed["tools"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
            assert_eq!(tool["inputSchema"]["properties"]["region"]["x-mcp-header"], "Region", "{what}");

            let params = |region: &Value| json!({ "name": name, "arguments": { "region": region } });
            let köln = "=?base64?S8O2bG4=?=";
            for (region, header, status) in [
                (json!("north"), Some("north"), 200),
                (json!("Köln"), Some(köln), 200),
                (Value::Null, None, 200),
                (json!("north"), None, 400),
                (json!("north"), Some("south"), 400),
                (Value::Null, Some("north"), 400),
            ] {
                let headers: Vec<_> = header.map(|it| ("mcp-param-region", it)).into_iter().collect();
                let before = server.log().len();
                let arguments =
                    if region.is_null() { json!({ "name": name, "arguments": {} }) } else { params(&region) };
                let answer = hub.modern_with(path, "tools/call", arguments, &headers).await;
                assert_eq!(answer.status, status, "{what} {region} {header:?}: {}", answer.text());
                if status == 400 {
                    assert_eq!(answer.json()["error"]["code"], -32020, "{what}: {}", answer.text());
                    assert_eq!(server.log().len(), before, "{what}: the server is not bothered");
                } else {
                    let sent = header.filter(|_| era == Era::Modern);
                    assert_eq!(last_call(&server).0.header("mcp-param-region"), sent, "{what} {region}");
                }
            }
            // A legacy client knows nothing of such headers, a modern server still gets them.
            let said = hub.legacy(path).await.call(name, json!({ "region": "north" })).await;
            assert_eq!(text(&said), "region=north", "{what}");
            let sent = (era == Era::Modern).then_some("north");
            assert_eq!(last_call(&server).0.header("mcp-param-region"), sent, "{what}: legacy client");
        }
    }
}

#[tokio::test]
async fn the_page_of_an_app_is_reached_by_the_address_its_tool_names() {
    const APPS: &str = "io.modelcontextprotocol/ui";
    for era in ERAS {
        let (hub, server) = over_http(Options { era, ..Options::default() }).await;
        let other = fixture(Options { era, ..Options::default() }).await;
        let apps = json!({ "extensions": { APPS: { "mimeTypes": ["text/html;profile=mcp-app"] } } });
        for (path, name, uri) in
            [("/mcp", "mcp__s__test_app", "ui://s+fixture/app"), ("/mcp/i/s", "test_app", "ui://fixture/app")]
        {
            let what = format!("{path}, {era:?}");
            let modern = Modern::at(&hub, path, apps.clone());
            let mut legacy = Legacy::at(&hub, path, "2025-11-25", apps.clone(), obliging).await;
            let lists = [
                modern.ask("tools/list", json!({})).await,
                legacy.request("tools/list", json!({})).await.outcome().clone(),
            ];
            for listed in lists {
                let tool = listed["tools"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
                let expected = json!({ "ui": { "resourceUri": uri, "visibility": ["model", "app"] }, "ui/resourceUri": uri });
                assert_eq!(tool["_meta"], expected, "{what}");
            }
            let pages = [
                modern.ask("resources/read", json!({ "uri": uri })).await,
                legacy.request("resources/read", json!({ "uri": uri })).await.outcome().clone(),
            ];
            for page in pages {
                let page = &page["contents"][0];
                assert_eq!((&page["uri"], &page["text"]), (&json!(uri), &json!("<p>An app</p>")), "{what}");
                assert_eq!(page["_meta"]["ui"]["prefersBorder"], true, "{what}: {page}");
            }
            // The server learns from either client that it shows apps.
            for said in
                [modern.call(name, json!({})).await, legacy.call(name, json!({})).await.outcome().clone()]
            {
                assert_eq!(text(&said), "The app shows it.", "{what}");
            }
            let is_told = |it: &Seen| match it.method.as_deref() {
                Some("initialize") => it.body.contains(APPS) && it.body.contains("mcp-app"),
                Some("tools/call") => it.body.contains(APPS),
                _ => false,
            };
            assert!(server.log().iter().any(is_told), "{what}");
        }
        // A page calls its server's tools by their own names, as long as it is clear whose they are.
        let page = Modern::new(&hub, apps);
        assert_eq!(text(&page.call("test_app", json!({})).await), "The app shows it.", "{era:?}");
        crate::grove::add(&hub, json!({ "t": { "url": other.url() } })).await;
        let refused = page.call("test_app", json!({})).await;
        assert_eq!(refused["code"], -32602, "{refused}");
        let named = refused["message"].as_str().unwrap();
        assert!(named.contains("`mcp__s__test_app`") && named.contains("`mcp__t__test_app`"), "{named}");
    }
}

/// The bytes of every list, as both kinds of client see them.
async fn lists(hub: &Hub) -> Vec<String> {
    let (modern, mut all) = (Modern::new(hub, everything()), Vec::new());
    let legacy = hub.legacy("/mcp").await;
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        let mut listed = modern.ask(method, json!({})).await;
        listed.as_object_mut().unwrap().remove("ttlMs");
        all.push(listed.to_string());
        all.push(legacy.request(method, json!({})).await["result"].to_string());
    }
    all
}

#[tokio::test]
async fn lists_read_the_same_each_time_and_in_whatever_order_servers_came() {
    let modern = fixture(Options { era: Era::Modern, ..Options::default() }).await;
    let legacy = fixture(Options::default()).await;
    let servers = [
        ("c", json!({ "url": modern.url() })),
        ("a", stdio_fixture(&[])),
        ("b", json!({ "url": legacy.url() })),
    ];
    let first = Hub::start().await;
    for (name, server) in &servers {
        crate::grove::add(&first, json!({ *name: server })).await;
    }
    let seen = lists(&first).await;
    assert_eq!(lists(&first).await, seen);
    let names = first.tools().await;
    assert!(names.is_sorted() && names.len() > 100, "{names:?}");

    let all: Value = servers.iter().map(|(name, server)| ((*name).to_owned(), server.clone())).collect();
    let second = hub_with(all).await;
    assert_eq!(lists(&second).await, seen, "another hub with the same servers");

    let dir = first.stop().await;
    assert_eq!(lists(&Hub::start_in(dir).await).await, seen, "after a restart");
}
