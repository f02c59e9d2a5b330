//! What an admin sees when they look as somebody else: a person, a token of theirs, whoever comes in a role.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::Options;

use crate::team::{Team, fixture};

/// The names with their reasons, for those of a server or a tool.
fn reasons(seen: &Value, name: &str) -> Vec<Option<String>> {
    let is_it = |it: &&Value| it["public_name"] == name || (it["tool"].is_null() && it["server"] == name);
    let found = seen.as_array().unwrap().iter().filter(is_it);
    found.map(|it| it["reason"].as_str().map(str::to_owned)).collect()
}

fn why(text: &str) -> Vec<Option<String>> {
    vec![Some(text.to_owned())]
}

#[tokio::test]
async fn an_admin_sees_what_a_person_and_their_token_and_a_newcomer_find() {
    let server = fixture(Options::default()).await;
    let team = Team::start().await;
    let (hub, admin) = (&team.hub, &team.admin);
    let bob = team.invite("bob", "member").await;
    let home = admin.get(hub, "/api/workspaces").await[0]["id"].clone();
    let (_, away) = admin.api(hub, Method::POST, "/api/workspaces", json!({ "name": "away" })).await;
    for (name, workspace) in [("shared", &home), ("unused", &home), ("off", &home), ("far", &away["id"])] {
        let body = json!({ "workspaceId": workspace, "name": name, "endpoint": server.url().replace("/mcp", &format!("/mcp?{name}")) });
        let (status, made) = admin.api(hub, Method::POST, "/api/mcp/servers", body).await;
        assert_eq!(status, 201, "{made}");
    }
    admin.api(hub, Method::PATCH, "/api/mcp/servers/off", json!({ "enabled": false })).await;
    let body = json!({ "server_id": "shared", "slug": "mine" });
    let (status, made) = bob.api(hub, Method::POST, "/api/mcp/instances", body).await;
    assert_eq!(status, 201, "{made}");
    bob.api(hub, Method::POST, "/api/mcp/instances/mine/refresh", json!({})).await;
    bob.api(hub, Method::PATCH, "/api/mcp/instances/mine/tools/fail", json!({ "enabled": false })).await;
    bob.api(hub, Method::PATCH, "/api/mcp/instances/mine/tools/sleep", json!({ "permission": "block" }))
        .await;
    let people = admin.get(hub, "/api/people").await;
    let id = people.as_array().unwrap().iter().find(|it| it["name"] == "bob").unwrap()["id"].clone();
    let path = format!("/api/people/{}", id.as_str().unwrap());

    let seen = admin.get(hub, &format!("{path}/catalog")).await;
    for (name, reason) in [
        ("mcp__mine__echo", vec![None]),
        ("mcp__mine__fail", why("they turned it off")),
        ("mcp__mine__sleep", why("they blocked it")),
        ("unused", why("they have no instance of it")),
        ("off", why("the server is off")),
        ("far", why("not in this workspace")),
    ] {
        assert_eq!(reasons(&seen, name), reason, "{name}: {seen}");
    }
    // What they blocked is listed all the same; calling it is refused.
    let is_listed = |it: &&Value| it["reason"].is_null() || it["reason"] == "they blocked it";
    let usable = seen.as_array().unwrap().iter().filter(is_listed);
    let mut usable: Vec<_> = usable.map(|it| it["public_name"].as_str().unwrap().to_owned()).collect();
    usable.sort();
    assert_eq!(usable, bob.tools(hub).await, "it is the very list that they get");

    let (_, bare) = bob.token(hub, json!({ "name": "bare", "grants": [] })).await;
    let (_, full) = bob.token(hub, json!({ "name": "full" })).await;
    let tokens = admin.get(hub, &format!("{path}/tokens")).await;
    assert_eq!(tokens.as_array().map(Vec::len), Some(2), "{tokens}");
    assert!(tokens[0].get("token").is_none() && tokens[0].get("hash").is_none(), "{tokens}");
    for (token, reason) in [(&bare, why("this token has no grant for it")), (&full, vec![None])] {
        let seen = admin.get(hub, &format!("{path}/catalog?token={token}")).await;
        assert_eq!(reasons(&seen, "mcp__mine__echo"), reason, "{seen}");
    }
    let foreign = format!("/api/people/{}/catalog?token={bare}", people[0]["id"].as_str().unwrap());
    let own = format!("{path}/catalog?token={}", uuid::Uuid::now_v7());
    for path in [&foreign, &own] {
        let is_bobs = *path == foreign && people[0]["id"] == id;
        assert_eq!(admin.api(hub, Method::GET, path, Value::Null).await.0, if is_bobs { 200 } else { 404 });
    }

    for (role, far) in [
        ("member", "not in this workspace"),
        ("workspace-admin", "not in this workspace"),
        ("admin", "not in this workspace; they may join the one it is in"),
    ] {
        let seen = admin.get(hub, &format!("/api/roles/{role}/catalog")).await;
        assert_eq!(reasons(&seen, "shared"), why("they have no instance of it"), "{seen}");
        assert_eq!(reasons(&seen, "far"), why(far), "{seen}");
        assert!(!seen.to_string().contains("mcp__mine"), "nothing of anybody's: {seen}");
    }
    assert_eq!(admin.api(hub, Method::GET, "/api/roles/king/catalog", Value::Null).await.0, 404);
    for path in [format!("{path}/catalog"), format!("{path}/tokens"), "/api/roles/member/catalog".into()] {
        assert_eq!(bob.api(hub, Method::GET, &path, Value::Null).await.0, 403, "{path}");
    }
}
