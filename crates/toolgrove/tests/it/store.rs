//! The hub on PostgreSQL: everything that SQLite does by default.

use futures::future::join_all;
use http::Method;
use serde_json::json;
use toolgrove_fixture::Options;

use crate::grove::{add, fixture, text};
use crate::hub::{Hub, database, stdio_fixture};

#[tokio::test]
async fn a_hub_on_postgresql_imports_calls_restarts_and_knows_everything_again() {
    let server = fixture(Options::default()).await;
    let url = database().await;
    let hub = Hub::start_with(&format!("[store]\nurl = \"{url}\"\n")).await;
    add(&hub, json!({ "far": { "url": server.url(), "headers": { "X-Own": "secret-of-far" } }, "near": stdio_fixture(&[]) })).await;
    for slug in ["far", "near"] {
        assert_eq!(
            text(&hub.call(&format!("mcp__{slug}__echo"), json!({ "é": "😀" })).await),
            "{\"é\":\"😀\"}"
        );
    }
    hub.call("mcp__far__fail", json!({})).await;
    let (listed, calls) = (hub.tools().await, hub.get("/api/calls").await);
    assert_eq!(calls.as_array().unwrap().len(), 3);
    assert!(!hub.data().join("toolgrove.db").exists(), "nothing is kept beside it");

    let hub = Hub::start_in(hub.stop().await).await;
    assert_eq!(hub.tools().await, listed);
    assert_eq!(hub.get("/api/calls").await, calls);
    server.clear_log();
    assert_eq!(text(&hub.call("mcp__far__echo", json!({})).await), "{}");
    assert!(
        server.log().iter().all(|it| it.header("x-own") == Some("secret-of-far")),
        "the sealed header is known again"
    );
    let dir = hub.kill().await;
    let hub = Hub::start_in(dir).await;
    assert_eq!(hub.tools().await, listed, "after a crash, too");
}

#[tokio::test]
async fn hubs_on_one_postgresql_share_the_bucket_of_a_server() {
    let server = fixture(Options::default()).await;
    let (url, shared) = (database().await, tempfile::tempdir().unwrap());
    let key = shared.path().join("secret.key");
    let config = format!("secret_key_file = \"{}\"\n[store]\nurl = \"{url}\"\n", key.display());
    let one = Hub::start_with(&config).await;
    add(&one, json!({ "s": { "url": server.url() } })).await;
    // Slow enough that a busy machine does not fill the bucket meanwhile.
    let rate = json!({ "rate_limit": { "tok_per_sec": 0.001, "burst": 4 } });
    assert_eq!(one.api(Method::PATCH, "/api/mcp/servers/s", rate).await.0, 200);
    let other = Hub::start_with(&config).await;
    let calls = [&one, &other, &one, &other, &one, &other, &one, &other];
    let answers = join_all(calls.map(|hub| hub.call("mcp__s__echo", json!({})))).await;
    let (served, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|it| it.get("content").is_some());
    assert_eq!(served.len(), 4, "{answers:?}");
    for answer in refused {
        let wait = answer["data"]["retry_after_ms"].as_u64().unwrap();
        assert_eq!(answer["data"]["code"], "rate.limited");
        assert!((1..=1_000_001).contains(&wait), "{answer}");
    }
    // A limit that is lifted holds nobody back.
    let none = json!({ "rate_limit": null });
    assert_eq!(one.api(Method::PATCH, "/api/mcp/servers/s", none).await.0, 200);
    assert_eq!(text(&one.call("mcp__s__echo", json!({})).await), "{}");
}

#[tokio::test]
async fn a_database_that_is_not_there_is_named_without_its_password() {
    let dir = tempfile::tempdir().unwrap();
    let url = "postgres://hub:p4ssw0rd@127.0.0.1:1/none";
    std::fs::write(dir.path().join("toolgrove.toml"), format!("[store]\nurl = \"{url}\"\n")).unwrap();
    let ran =
        crate::hub::command(dir.path()).args(["serve", "--listen", "127.0.0.1:0"]).output().await.unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("error: ") && !said.contains("p4ssw0rd"), "{said}");
}
