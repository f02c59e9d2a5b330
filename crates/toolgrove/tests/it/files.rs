//! Servers that are written in files: `[server.x]` of `toolgrove.toml` and the `mcp.json` beside it, followed while
//! the hub runs.

use std::fs;

use serde_json::{Value, json};
use toolgrove_fixture::Options;

use crate::grove::{eventually, fixture, refusal, text};
use crate::hub::Hub;

fn write(hub: &Hub, name: &str, content: &str) {
    // As an editor does it: a reader never sees half a file.
    let path = hub.dir.path().join(name);
    let new = path.with_extension("new");
    fs::write(&new, content).unwrap();
    fs::rename(new, path).unwrap();
}

fn mcp_json(servers: Value) -> String {
    json!({ "mcpServers": servers }).to_string()
}

/// The slugs whose tools are listed.
async fn slugs(hub: &Hub) -> Vec<String> {
    let suffix = "__echo";
    let tools = hub.tools().await;
    tools.iter().filter_map(|it| it.strip_prefix("mcp__")?.strip_suffix(suffix).map(Into::into)).collect()
}

async fn until_listed(hub: &Hub, expected: &[&str]) {
    eventually(&format!("{expected:?} are listed"), async || (slugs(hub).await == expected).then_some(()))
        .await;
}

#[tokio::test]
async fn servers_come_change_and_go_with_the_files_while_the_hub_runs() {
    let (one, two) = (fixture(Options::default()).await, fixture(Options::default()).await);
    let hub = Hub::start_with(&format!("[server.toml]\nurl = \"{}\"\n", one.url())).await;
    until_listed(&hub, &["toml"]).await;

    // Added.
    write(&hub, "mcp.json", &mcp_json(json!({ "json": { "url": one.url() } })));
    until_listed(&hub, &["json", "toml"]).await;
    write(
        &hub,
        "toolgrove.toml",
        &format!("[server.toml]\nurl = \"{0}\"\n[server.more]\nurl = \"{0}\"\n", one.url()),
    );
    until_listed(&hub, &["json", "more", "toml"]).await;

    // Changed: calls go to the new place.
    write(
        &hub,
        "mcp.json",
        &mcp_json(json!({ "json": { "url": two.url(), "headers": { "X-Own": "from-file" } } })),
    );
    eventually("calls go to the second server", async || {
        two.clear_log();
        hub.call("mcp__json__echo", json!({})).await;
        let seen = two.log();
        seen.iter()
            .any(|it| it.method.as_deref() == Some("tools/call") && it.header("x-own") == Some("from-file"))
            .then_some(())
    })
    .await;

    // Removed.
    write(&hub, "mcp.json", &mcp_json(json!({})));
    until_listed(&hub, &["more", "toml"]).await;
    assert_eq!(hub.call("mcp__json__echo", json!({})).await["code"], -32602);
    write(&hub, "toolgrove.toml", "");
    until_listed(&hub, &[]).await;
    assert_eq!(hub.get("/api/mcp/servers").await, json!([]));
}

#[tokio::test]
async fn a_broken_file_changes_nothing_and_is_named() {
    let server = fixture(Options::default()).await;
    let hub = Hub::start_with(&format!("[server.toml]\nurl = \"{}\"\n", server.url())).await;
    write(&hub, "mcp.json", &mcp_json(json!({ "json": { "url": server.url() } })));
    until_listed(&hub, &["json", "toml"]).await;
    for (file, content, said) in [
        ("mcp.json", "{ \"mcpServers\": { \"json\":", "mcp.json`: "),
        ("mcp.json", "\u{1}\u{2}", "mcp.json`: "),
        ("toolgrove.toml", "[server.toml\n", "line 1, column"),
        ("toolgrove.toml", "[server.toml]\nurl = 5\n", "server `toml`"),
        ("toolgrove.toml", "lisen = \"127.0.0.1:1\"\n", "did you mean `listen`?"),
    ] {
        let before = hub.log().matches(said).count();
        write(&hub, file, content);
        eventually(&format!("`{content}` is named"), async || {
            (hub.log().matches(said).count() > before).then_some(())
        })
        .await;
        assert_eq!(slugs(&hub).await, ["json", "toml"], "{content}");
        assert_eq!(text(&hub.call("mcp__json__echo", json!({})).await), "{}");
        assert_eq!(text(&hub.call("mcp__toml__echo", json!({})).await), "{}");
    }
}

#[tokio::test]
async fn one_bad_entry_does_not_keep_the_others_of_its_file_out() {
    let server = fixture(Options::default()).await;
    let hub = Hub::start().await;
    write(&hub, "mcp.json", &mcp_json(json!({ "good": { "url": server.url() }, "bad": { "uri": "x" } })));
    until_listed(&hub, &["good"]).await;
    assert!(hub.log().contains("server `bad`"), "{}", hub.log());
    let servers = hub.get("/api/mcp/servers").await;
    assert_eq!(servers.as_array().unwrap().len(), 1, "{servers}");
}

#[tokio::test]
async fn a_declared_server_that_is_away_is_kept_and_used_once_it_is_there() {
    let mut server = fixture(Options::default()).await;
    let url = server.url();
    server.stop().await;
    let hub = Hub::start_with(&format!("[server.s]\nurl = \"{url}\"\n")).await;
    assert_eq!(hub.tools().await, Vec::<String>::new());
    eventually("its health says so", async || {
        let instance = hub.get("/api/mcp/instances/s").await;
        (instance["health"]["state"] == "failed").then_some(())
    })
    .await;
    server.restart().await.unwrap();
    // The first call by name looks for it.
    eventually("its tool is found", async || {
        let answer = hub.call("mcp__s__echo", json!({})).await;
        if answer.get("content").is_some() {
            return Some(());
        }
        refusal(&answer);
        None
    })
    .await;
    assert_eq!(slugs(&hub).await, ["s"]);
}

#[tokio::test]
async fn what_a_person_switched_off_stays_off_when_the_file_is_read_again() {
    let server = fixture(Options::default()).await;
    let hub = Hub::start_with(&format!("[server.s]\nurl = \"{}\"\n", server.url())).await;
    until_listed(&hub, &["s"]).await;
    hub.api(http::Method::PATCH, "/api/mcp/instances/s/tools/big", json!({ "enabled": false })).await;
    write(
        &hub,
        "toolgrove.toml",
        &format!("[server.s]\nurl = \"{}\"\n[server.t]\nurl = \"{0}\"\n", server.url()),
    );
    until_listed(&hub, &["s", "t"]).await;
    assert!(!hub.tools().await.contains(&"mcp__s__big".into()));
    let hub = Hub::start_in(hub.stop().await).await;
    assert!(!hub.tools().await.contains(&"mcp__s__big".into()));
}
