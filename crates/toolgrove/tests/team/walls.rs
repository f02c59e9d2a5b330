//! Where a team's hub connects to: the allowlist of a workspace and the guard, through every way in which it reaches out.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::Options;

use crate::hub::Hub;
use crate::provider::Provider;
use crate::team::{Team, Visitor, fixture};

async fn call(visitor: &Visitor, hub: &Hub, tool: &str) -> Value {
    visitor.api(hub, Method::POST, "/api/mcp/call", json!({ "tool": tool, "arguments": {} })).await.1
}

async fn register(team: &Team, name: &str, url: &str, auth: Value) {
    let workspace = team.admin.get(&team.hub, "/api/workspaces").await[0]["id"].clone();
    let body = json!({ "workspaceId": workspace, "name": name, "endpoint": url, "auth": auth });
    let (status, server) = team.admin.api(&team.hub, Method::POST, "/api/mcp/servers", body).await;
    assert_eq!(status, 201, "any address may be registered: {server}");
}

#[tokio::test]
async fn a_private_address_is_reached_in_no_way_unless_an_admin_lets_it() {
    let (server, provider) = (fixture(Options::default()).await, Provider::start().await);
    let team = Team::start_as("", |_| {}).await;
    let (hub, admin) = (&team.hub, &team.admin);
    let bob = team.invite("bob", "member").await;
    register(&team, "s", &server.url(), Value::Null).await;
    register(&team, "w", &provider.mcp(), json!({ "type": "oauth" })).await;
    for name in ["s", "w"] {
        bob.api(hub, Method::POST, "/api/mcp/instances", json!({ "server_id": name, "slug": name })).await;
    }
    // Nothing was ever listed, so there is nothing to call.
    assert_eq!(call(&bob, hub, "mcp__s__echo").await["code"], "tool.unknown");
    let mut refusals = Vec::new();
    for (who, method, path) in [
        (&bob, Method::POST, "/api/mcp/instances/s/refresh"),
        (&bob, Method::POST, "/api/mcp/instances/s/doctor"),
        (&bob, Method::POST, "/api/mcp/servers/s/test"),
        (&bob, Method::POST, "/api/mcp/instances/w/connect"),
        (admin, Method::GET, "/api/mcp/servers/s/preview"),
    ] {
        let body = if method == Method::GET { Value::Null } else { json!({}) };
        refusals.push(who.api(hub, method, path, body).await.1);
    }
    let client = json!({ "type": "oauth", "client_id": "x" });
    refusals.push(admin.api(hub, Method::POST, "/api/mcp/servers/w/auth-configs", client).await.1);
    let text = json!({ "p": { "url": server.url() } }).to_string();
    refusals.push(bob.api(hub, Method::POST, "/api/mcp/import", json!({ "text": text })).await.1);
    for refusal in refusals {
        assert!(refusal.to_string().contains("`127.0.0.1` is not at a public address"), "{refusal}");
    }
    assert_eq!((server.log().len(), provider.read().len(), provider.seen("/mcp").len()), (0, 0, 0));
}

#[tokio::test]
async fn an_allowlist_is_asked_at_every_call() {
    let server = fixture(Options::default()).await;
    let team = Team::start().await;
    let (hub, admin) = (&team.hub, &team.admin);
    let bob = team.invite("bob", "member").await;
    register(&team, "s", &server.url(), Value::Null).await;
    bob.api(hub, Method::POST, "/api/mcp/instances", json!({ "server_id": "s", "slug": "s" })).await;
    let workspace = admin.get(hub, "/api/workspaces").await[0]["id"].as_str().unwrap().to_owned();
    let workspace = format!("/api/workspaces/{workspace}");
    for (allowlist, is_reached) in [
        (Value::Null, true),
        (json!(["*.example.com"]), false),
        (json!(["127.0.0.1"]), true),
        (json!([]), false),
    ] {
        let change = json!({ "allowlist": allowlist });
        assert_eq!(admin.api(hub, Method::PATCH, &workspace, change).await.0, 200);
        server.clear_log();
        let called = call(&bob, hub, "mcp__s__echo").await;
        let reached = server.log().iter().any(|it| it.method.as_deref() == Some("tools/call"));
        assert_eq!(reached, is_reached, "{allowlist}: {called}");
        assert_eq!(called["code"] == "workspace.host", !is_reached, "{allowlist}: {called}");
    }
}
