//! People, roles and workspaces: who may change what, and what stays theirs.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::Options;

use crate::hub::stdio_fixture;
use crate::team::{PASSWORD, Team, Visitor, fixture};

#[tokio::test]
async fn an_invited_person_chooses_a_password_once() {
    let Team { hub, admin } = Team::start().await;
    let body = json!({ "email": "bob@example.com", "name": "Bob" });
    let (status, invited) = admin.api(&hub, Method::POST, "/api/people", body.clone()).await;
    assert_eq!((status, &invited["sign_in"], &invited["role"]), (201, &json!("invited"), &json!("member")));
    let (status, problem) = admin.api(&hub, Method::POST, "/api/people", body).await;
    assert_eq!((status, &problem["code"]), (409, &json!("people.email-taken")));

    let id = invited["id"].as_str().unwrap();
    let first = invited["invite"]["url"].as_str().unwrap().to_owned();
    let again = admin.api(&hub, Method::POST, &format!("/api/people/{id}/invite"), Value::Null).await.1;
    let visitor = Visitor::default();
    let fields = [("name", "Bob"), ("email", "mallory@example.com"), ("password", PASSWORD)];
    assert_eq!(visitor.join(&hub, &first, &fields).await.status, 404, "only the newest link is good");
    let link = again["url"].as_str().unwrap();
    let (a, b) = tokio::join!(visitor.join(&hub, link, &fields), visitor.join(&hub, link, &fields));
    let mut statuses = [a.status, b.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 404], "of two at once one gets it");
    assert_eq!(visitor.sign_in(&hub, "mallory@example.com", PASSWORD).await.status, 401);
    assert_eq!(visitor.sign_in(&hub, "bob@example.com", PASSWORD).await.status, 303);
    assert_eq!(admin.get(&hub, &format!("/api/people/{id}")).await["sign_in"], "password");
}

#[tokio::test]
async fn only_admins_keep_people_registry_and_log() {
    let team = Team::start().await;
    let (hub, admin) = (&team.hub, &team.admin);
    let member = team.invite("bob", "member").await;
    let keeper = team.invite("eve", "workspace-admin").await;
    let home = admin.get(hub, "/api/workspaces").await[0]["id"].as_str().unwrap().to_owned();
    let workspace = format!("/api/workspaces/{home}");
    let members = format!("{workspace}/members");
    let new = json!({ "workspaceId": home, "name": "x", "endpoint": "https://x.example/mcp" });
    for (visitor, method, path, body, status, code) in [
        (&member, Method::GET, "/api/people", Value::Null, 403, "auth.role"),
        (&member, Method::POST, "/api/people", json!({ "email": "x@y" }), 403, "auth.role"),
        (&member, Method::GET, "/api/admin/log", Value::Null, 403, "auth.role"),
        (&member, Method::GET, "/metrics", Value::Null, 403, "auth.role"),
        (&member, Method::POST, "/api/workspaces", json!({ "name": "x" }), 403, "auth.role"),
        (&member, Method::PATCH, &*workspace, json!({ "phase": "gamma" }), 403, "auth.role"),
        (&member, Method::GET, &*members, Value::Null, 403, "auth.role"),
        (&member, Method::POST, "/api/mcp/servers", new.clone(), 403, "auth.role"),
        (&keeper, Method::GET, "/api/people", Value::Null, 403, "auth.role"),
        (&keeper, Method::POST, "/api/mcp/servers", new.clone(), 403, "auth.role"),
        (&keeper, Method::DELETE, &*workspace, Value::Null, 403, "auth.role"),
        (&keeper, Method::PATCH, &*workspace, json!({ "phase": "delta" }), 400, "request.invalid"),
        (&keeper, Method::PATCH, &*workspace, json!({ "allowlist": ["a b"] }), 400, "request.invalid"),
        (
            &keeper,
            Method::PATCH,
            &*workspace,
            json!({ "allowed_transports": ["bud"] }),
            400,
            "request.invalid",
        ),
        (admin, Method::DELETE, &*workspace, Value::Null, 400, "request.invalid"),
    ] {
        let (found, problem) = visitor.api(hub, method.clone(), path, body).await;
        assert_eq!((found, &problem["code"]), (status, &json!(code)), "{method} {path}: {problem}");
    }
    let change = json!({ "phase": "gamma", "allowlist": ["*.example.com"], "pins": "hold" });
    let (status, changed) = keeper.api(hub, Method::PATCH, &workspace, change).await;
    assert_eq!((status, &changed["phase"], &changed["pins"]), (200, &json!("gamma"), &json!("hold")));
    let (_, changed) = keeper.api(hub, Method::PATCH, &workspace, json!({ "allowlist": null })).await;
    assert_eq!((&changed["allowlist"], &changed["phase"]), (&Value::Null, &json!("gamma")));
    assert_eq!(keeper.get(hub, &members).await.as_array().unwrap().len(), 3);

    let log = admin.get(hub, "/api/admin/log").await;
    let done: Vec<_> = log
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["person"].as_str().unwrap(), it["action"].as_str().unwrap()))
        .collect();
    assert_eq!(
        done,
        [
            ("eve", "workspace.change"),
            ("eve", "workspace.change"),
            ("eve", "people.join"),
            ("Ada", "people.invite"),
            ("bob", "people.join"),
            ("Ada", "people.invite"),
            ("Ada", "workspace.change"),
            ("Ada", "people.set-up"),
        ]
    );
    let older = format!("/api/admin/log?limit=1&before={}", log[0]["id"].as_str().unwrap());
    assert_eq!(admin.get(hub, &older).await[0]["id"], log[1]["id"]);
}

#[tokio::test]
async fn the_registry_is_read_by_members_where_it_is_on() {
    let team = Team::start().await;
    let (hub, admin) = (&team.hub, &team.admin);
    let member = team.invite("bob", "member").await;
    let server = fixture(Options::default()).await;
    let home = admin.get(hub, "/api/workspaces").await[0]["id"].clone();
    let new = json!({ "workspaceId": home, "name": "shared", "endpoint": server.url() });
    let id = admin.api(hub, Method::POST, "/api/mcp/servers", new).await.1["id"].as_str().unwrap().to_owned();
    let path = format!("/api/mcp/servers/{id}");
    assert_eq!(member.get(hub, "/api/mcp/servers").await[0]["name"], "shared");
    for (method, body) in [(Method::PATCH, json!({ "enabled": false })), (Method::DELETE, Value::Null)] {
        let (status, problem) = member.api(hub, method, &path, body).await;
        assert_eq!((status, &problem["code"]), (403, &json!("auth.role")));
    }
    let use_it = json!({ "server_id": id, "slug": "mine" });
    assert_eq!(member.api(hub, Method::POST, "/api/mcp/instances", use_it).await.0, 201);
    assert!(member.tools(hub).await.contains(&"mcp__mine__echo".to_owned()));
    assert!(admin.tools(hub).await.is_empty(), "whose instance it is matters, not who keeps the server");

    admin.api(hub, Method::PATCH, &path, json!({ "enabled": false })).await;
    assert_eq!(member.get(hub, "/api/mcp/servers").await, json!([]));
    assert_eq!(member.api(hub, Method::GET, &path, Value::Null).await.0, 404);
    assert!(member.tools(hub).await.is_empty());
    assert_eq!(admin.get(hub, &path).await["enabled"], false);
    admin.api(hub, Method::DELETE, &path, Value::Null).await;
    assert_eq!(member.slugs(hub).await, [""; 0]);
}

#[tokio::test]
async fn members_add_processes_only_where_the_workspace_lets_them() {
    let team = Team::start().await;
    let (hub, admin) = (&team.hub, &team.admin);
    let member = team.invite("bob", "member").await;
    let paste =
        |name: &str, entry: Value| json!({ "text": json!({ name: entry }).to_string(), "save_anyway": true });
    let refused = member.api(hub, Method::POST, "/api/mcp/import", paste("p", stdio_fixture(&[]))).await.1;
    assert_eq!(
        refused["failed"],
        json!([{ "name": "p", "error": "stdio servers are not allowed in this workspace" }])
    );
    let socket = paste("u", json!({ "url": "unix:///tmp/none.sock" }));
    let refused = member.api(hub, Method::POST, "/api/mcp/import", socket).await.1;
    assert_eq!(refused["failed"][0]["error"], "unix servers are not allowed in this workspace");
    assert_eq!(member.slugs(hub).await, [""; 0]);

    let home = admin.get(hub, "/api/workspaces").await[0]["id"].as_str().unwrap().to_owned();
    let workspace = format!("/api/workspaces/{home}");
    admin.api(hub, Method::PATCH, &workspace, json!({ "allowed_transports": ["stdio"] })).await;
    let added = member.api(hub, Method::POST, "/api/mcp/import", paste("p", stdio_fixture(&[]))).await.1;
    assert_eq!(added["failed"], json!([]), "{added}");
    let added = admin.api(hub, Method::POST, "/api/mcp/import", paste("a", stdio_fixture(&[]))).await.1;
    assert_eq!(added["failed"], json!([]), "admins always may: {added}");
}

#[tokio::test]
async fn leaving_a_workspace_takes_its_servers_away_and_coming_back_brings_them() {
    let team = Team::start().await;
    let (hub, admin) = (&team.hub, &team.admin);
    let member = team.invite("bob", "member").await;
    let server = fixture(Options::default()).await;
    let (_, side) =
        admin.api(hub, Method::POST, "/api/workspaces", json!({ "name": "side", "phase": "gamma" })).await;
    let side = side["id"].as_str().unwrap();
    let new = json!({ "workspaceId": side, "name": "shared", "endpoint": server.url() });
    let id = admin.api(hub, Method::POST, "/api/mcp/servers", new.clone()).await.1["id"].clone();
    assert_eq!(
        member.api(hub, Method::POST, "/api/mcp/servers", new).await.0,
        404,
        "no such workspace for them"
    );
    let use_it = json!({ "server_id": id, "slug": "mine" });
    assert_eq!(member.api(hub, Method::POST, "/api/mcp/instances", use_it.clone()).await.0, 404);

    let members = format!("/api/workspaces/{side}/members");
    let join = json!({ "email": "Bob@example.com" });
    assert_eq!(admin.api(hub, Method::POST, &members, join.clone()).await.0, 200);
    assert_eq!(member.api(hub, Method::POST, "/api/mcp/instances", use_it).await.0, 201);
    assert!(!member.tools(hub).await.is_empty());
    let bob = member.get(hub, "/api/status").await["me"]["id"].as_str().unwrap().to_owned();
    let leave = format!("{members}/{bob}");
    assert_eq!(admin.api(hub, Method::DELETE, &leave, Value::Null).await.0, 204);
    assert_eq!(admin.api(hub, Method::DELETE, &leave, Value::Null).await.0, 404);
    assert!(member.tools(hub).await.is_empty());
    assert_eq!(member.slugs(hub).await, [""; 0]);
    let slug = member.modern(hub, "/mcp/i/mine", "tools/list", json!({})).await;
    assert_eq!(slug.status, 404);
    admin.api(hub, Method::POST, &members, join).await;
    assert!(!member.tools(hub).await.is_empty());

    assert_eq!(admin.api(hub, Method::DELETE, &format!("/api/workspaces/{side}"), Value::Null).await.0, 204);
    assert!(member.tools(hub).await.is_empty());
}

#[tokio::test]
async fn somebody_who_is_removed_is_out_at_once_with_all_they_own() {
    let team = Team::start().await;
    let (hub, admin) = (&team.hub, &team.admin);
    let bob = team.invite("bob", "member").await;
    let server = fixture(Options::default()).await;
    bob.add(hub, "mine", &server.url()).await;
    let (token, _) = bob.token(hub, json!({ "name": "ci" })).await;
    let id = bob.get(hub, "/api/status").await["me"]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/people/{id}");
    let (_, promoted) = admin.api(hub, Method::PATCH, &path, json!({ "role": "admin" })).await;
    assert_eq!(promoted["role"], "admin");
    assert_eq!(bob.get(hub, "/api/status").await["me"]["role"], "admin", "at once");
    assert_eq!(admin.api(hub, Method::DELETE, &path, Value::Null).await.0, 204);
    for visitor in [&bob, &token] {
        assert_eq!(visitor.api(hub, Method::GET, "/api/status", Value::Null).await.0, 401);
    }
    assert_eq!(bob.sign_in(hub, "bob@example.com", PASSWORD).await.status, 401);
    assert_eq!(admin.get(hub, "/api/mcp/servers").await, json!([]));

    let me = admin.get(hub, "/api/status").await["me"]["id"].as_str().unwrap().to_owned();
    let me = format!("/api/people/{me}");
    for (method, body) in [(Method::DELETE, Value::Null), (Method::PATCH, json!({ "role": "member" }))] {
        let (status, problem) = admin.api(hub, method, &me, body).await;
        assert_eq!((status, &problem["code"]), (409, &json!("people.last-admin")));
    }
    assert_eq!(admin.get(hub, "/api/people").await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_hub_that_was_solo_keeps_everything_when_it_becomes_a_teams() {
    let server = fixture(Options::default()).await;
    let hub = crate::hub::Hub::start().await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let dir = hub.stop().await;
    std::fs::write(dir.path().join("toolgrove.toml"), crate::team::team_config("")).unwrap();
    let hub = crate::hub::Hub::start_in(dir).await;
    let link = crate::team::set_up_link(&hub).await;
    let visitor = Visitor::default();
    let fields = [("name", "Ada"), ("email", "ada@example.com"), ("password", PASSWORD)];
    let ada = visitor.with_cookie(&visitor.join(&hub, &link, &fields).await);
    assert!(ada.tools(&hub).await.contains(&"mcp__s__echo".to_owned()));
    assert_eq!(ada.get(&hub, "/api/people").await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn every_change_by_an_admin_leaves_a_row_with_their_name() {
    let team = Team::start().await;
    let (hub, admin) = (&team.hub, &team.admin);
    let client = crate::client::Client::registered(hub).await;
    let made = async |method: Method, path: &str, body: Value| {
        let (status, answer) = admin.api(hub, method.clone(), path, body).await;
        assert!((200..300).contains(&status), "{method} {path}: {answer}");
        answer["id"].as_str().unwrap_or_default().to_owned()
    };
    let workspace = made(Method::POST, "/api/workspaces", json!({ "name": "lab" })).await;
    let lab = format!("/api/workspaces/{workspace}");
    made(Method::PATCH, &lab, json!({ "pins": "hold" })).await;
    let person = made(Method::POST, "/api/people", json!({ "email": "bob@example.com" })).await;
    let bob = format!("/api/people/{person}");
    made(Method::PATCH, &bob, json!({ "name": "Bob" })).await;
    made(Method::POST, &format!("{bob}/invite"), Value::Null).await;
    made(Method::POST, &format!("{lab}/members"), json!({ "email": "bob@example.com" })).await;
    made(Method::DELETE, &format!("{lab}/members/{person}"), Value::Null).await;
    let server = json!({ "workspaceId": workspace, "name": "s", "endpoint": "https://s.example/mcp" });
    made(Method::POST, "/api/mcp/servers", server).await;
    made(Method::PATCH, "/api/mcp/servers/s", json!({ "enabled": false })).await;
    let configs = "/api/mcp/servers/s/auth-configs";
    let config = made(Method::POST, configs, json!({ "type": "public" })).await;
    made(Method::DELETE, &format!("{configs}/{config}"), Value::Null).await;
    made(Method::DELETE, "/api/mcp/servers/s", Value::Null).await;
    made(Method::DELETE, &bob, Value::Null).await;
    made(Method::DELETE, &lab, Value::Null).await;
    made(Method::POST, "/api/key/rotate", Value::Null).await;
    made(Method::DELETE, &format!("/api/oauth/known?client_id={}", client.id), Value::Null).await;
    let log = admin.get(hub, "/api/admin/log").await;
    let rows = log.as_array().unwrap().iter().rev();
    let done: Vec<_> =
        rows.map(|it| (it["person"].as_str().unwrap(), it["action"].as_str().unwrap())).collect();
    let expected = [
        "people.set-up",
        "workspace.change",
        "workspace.add",
        "workspace.change",
        "people.invite",
        "people.change",
        "people.invite",
        "workspace.member",
        "workspace.member",
        "server.add",
        "server.change",
        "auth-config.add",
        "auth-config.remove",
        "server.remove",
        "people.remove",
        "workspace.remove",
        "key.rotate",
        "client.remove",
    ];
    assert_eq!(done, expected.map(|it| ("Ada", it)));
}
