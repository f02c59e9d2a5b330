//! The registry as the sidebar reads it: one row per server, what each offers, and nothing asked of any server.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::Options;

use crate::grove::{add, eventually, hub_with, over_http, scripted};
use crate::hub::{Hub, stdio_fixture};

fn names(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_server_is_one_row_with_the_instance_that_would_be_used() {
    let (hub, server) = over_http(Options::default()).await;
    add(&hub, json!({ "Zoo": { "url": server.url() }, "apple": stdio_fixture(&[]) })).await;
    let rows = hub.get("/api/mcp/registry").await;
    assert_eq!(names(&rows), ["builtin", "apple", "s", "Zoo"]);
    let s = &rows[2];
    assert_eq!((&s["kind"], &s["transport"]), (&json!("external"), &json!("streamable_http")));
    assert_eq!(s["status"], "ready");
    assert_eq!(s["instance"]["slug"], "s");
    assert_eq!(s["icon"], format!("/api/mcp/icon/{}", s["id"].as_str().unwrap()));
    assert_eq!((&rows[1]["icon"], &rows[0]["icon"]), (&json!("terminal"), &json!("wrench")));
    let tools = hub.get("/api/mcp/instances/s").await["tools"].clone();
    assert_eq!(s["tools"], tools);

    // Of two instances the oldest that is on and ready is used.
    let (status, second) =
        hub.api(Method::POST, "/api/mcp/instances", json!({ "server_id": s["id"], "slug": "second" })).await;
    assert_eq!(status, 201, "{second}");
    let used = async || {
        let rows = hub.get("/api/mcp/registry").await;
        assert_eq!(rows[2]["instances"].as_array().unwrap().len(), 2);
        rows[2]["instance"]["slug"].as_str().unwrap().to_owned()
    };
    assert_eq!(used().await, "s");
    hub.api(Method::PATCH, "/api/mcp/instances/s", json!({ "enabled": false })).await;
    assert_eq!(used().await, "second", "our own change is seen at once");

    hub.api(Method::PATCH, "/api/mcp/servers/Zoo", json!({ "enabled": false })).await;
    assert_eq!(
        names(&hub.get("/api/mcp/registry").await),
        ["builtin", "apple", "s"],
        "what is off is in no list"
    );
}

#[tokio::test]
async fn a_server_that_does_not_work_says_why_and_the_others_do_not() {
    let (hub, mut server) = over_http(Options::default()).await;
    add(&hub, json!({ "near": stdio_fixture(&[]) })).await;
    let failures = async || {
        let rows = hub.get("/api/mcp/registry").await;
        ["near", "s"].map(|name| {
            let row = rows.as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
            row["instance"]["failure"].clone()
        })
    };
    assert_eq!(failures().await, [Value::Null, Value::Null]);
    server.stop().await;
    hub.call("mcp__s__echo", json!({})).await;
    let [near, far] = eventually("the failure is seen", async || {
        let them = failures().await;
        them[1].is_string().then_some(them)
    })
    .await;
    assert!(near.is_null() && !far.as_str().unwrap().is_empty(), "{far}");
}

#[tokio::test]
async fn a_registry_that_did_not_change_is_not_sent_again() {
    let (hub, _server) = over_http(Options::default()).await;
    let first = hub.ask(Method::GET, "/api/mcp/registry", &[], "").await;
    let etag = first.headers["etag"].to_str().unwrap().to_owned();
    assert_eq!(first.headers["cache-control"], "private, no-cache");
    let known = [("if-none-match", etag.as_str())];
    let again = hub.ask(Method::GET, "/api/mcp/registry", &known, "").await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    hub.api(Method::PATCH, "/api/mcp/servers/s", json!({ "description": "new" })).await;
    let changed = hub.ask(Method::GET, "/api/mcp/registry", &known, "").await;
    assert_eq!((changed.status, &changed.json()[1]["description"]), (200, &json!("new")));
}

#[tokio::test]
async fn meta_tells_signatures_from_the_catalogue_and_asks_nobody() {
    let schema = json!({ "type": "object", "properties": { "docA": { "type": "string" },
        "docB": { "type": "string" }, "limit": { "type": "integer" } }, "required": ["docA", "docB"] });
    let compare = json!({ "name": "compareClauses", "description": "Compares", "inputSchema": schema });
    let hub = hub_with(json!({ "Compare": { "url": scripted(json!([compare])).await } })).await;
    let row = hub.get("/api/mcp/registry").await[1].clone();
    let meta = hub.get(&format!("/api/mcp/meta/{}", row["id"].as_str().unwrap())).await;
    assert_eq!(meta["name"], "Compare");
    assert_eq!(
        meta["methods"],
        json!([{ "name": "compareClauses", "description": "Compares",
            "signature": "compareClauses(docA: string, docB: string, limit?: number)", "inputSchema": schema }])
    );
    let by_instance = hub.get(&format!("/api/mcp/meta/{}", row["instance"]["id"].as_str().unwrap())).await;
    assert_eq!(by_instance["methods"], meta["methods"]);
}

#[tokio::test]
async fn meta_of_a_server_that_is_away_is_what_was_last_known() {
    let (hub, mut server) = over_http(Options::default()).await;
    let id = hub.get("/api/mcp/registry").await[1]["id"].as_str().unwrap().to_owned();
    server.stop().await;
    server.clear_log();
    hub.api(Method::PATCH, "/api/mcp/instances/s/tools/echo", json!({ "enabled": false })).await;
    let meta = hub.get(&format!("/api/mcp/meta/{id}")).await;
    let methods: Vec<_> = meta["methods"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert!(methods.contains(&json!("sleep")) && !methods.contains(&json!("echo")), "{methods:?}");
    assert!(meta["fetched_at"].is_i64() && meta["age_s"].as_i64().is_some_and(|it| it >= 0), "{meta}");
    assert!(server.log().is_empty(), "no request was sent");
}

#[tokio::test]
async fn meta_of_what_is_not_there_is_not_found() {
    let hub = Hub::start().await;
    for id in ["x", "00000000-0000-7000-8000-000000000000"] {
        let (status, problem) = hub.api(Method::GET, &format!("/api/mcp/meta/{id}"), Value::Null).await;
        assert_eq!((status, &problem["code"]), (404, &json!("server.unknown")));
    }
}
