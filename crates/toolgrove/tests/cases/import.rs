//! The cases of other files that need a hub: names that are called, pastes that are discovered, addresses that are
//! only kept.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::{Fixture, Options};

use crate::http::scripted;
use crate::hub::Hub;
use crate::{Case, Scenario};

crate::scenarios! {
    "partial-success" => partial_success,
    "duplicate-name-second-import" => duplicate_name,
    "stored-id-auto" => stored_id,
    "export-secrets-owner-only" => export_secrets,
    "paste-sign-in" => paste_sign_in,
}

pub(crate) const NAMING: &[(&str, Scenario)] = &[
    ("unknown-server-text", |case| Box::pin(unknown_server(case))),
    ("aliases-resolve", |case| Box::pin(aliases(case))),
];

pub(crate) const SLUGS: &[(&str, Scenario)] = &[
    ("url-any-on-add", |case| Box::pin(any_url(case))),
    ("url-self-update", |case| Box::pin(self_update(case))),
];

async fn unknown_server(case: Case) {
    let server = Fixture::start(Options::default()).await.unwrap();
    let hub = Hub::start().await;
    hub.import(json!({ case.given["servers"][0].as_str().unwrap(): { "url": server.url() } })).await;
    let call = case.given["call"].as_str().unwrap();
    let (status, problem) = hub.api(Method::POST, "/api/mcp/call", json!({ "tool": call })).await;
    assert_eq!((status, &problem["code"]), (404, &case.expect["code"]), "{problem}");
    let text = format!("<invoke name=\"{call}\"></invoke>");
    let (_, ran) = hub.api(Method::POST, "/api/mcp/xml", json!({ "text": text, "run": true })).await;
    assert_eq!(ran["results"][0]["success"], case.expect["success"]);
    assert_eq!(ran["results"][0]["error"], case.expect["error"]);
}

async fn aliases(case: Case) {
    let server = Fixture::start(Options::default()).await.unwrap();
    let hub = Hub::start().await;
    let slug = case.given["instance_slug"].as_str().unwrap();
    hub.import(json!({ slug: { "url": server.url() } })).await;
    // The fixture has `echo` where the case says `search_code`.
    let tool = case.given["tool"].as_str().unwrap();
    for call in case.given["calls"].as_array().unwrap() {
        let name = call.as_str().unwrap().replace(tool, "echo");
        let result = hub.call(&name, json!({ "via": name })).await;
        assert!(result["content"][0]["text"].as_str().unwrap().contains(&name), "{result}");
    }
    for (profile, shown, hidden) in [("double", "mcp__", "mcp_m"), ("single", "mcp_m", "mcp__")] {
        let path = format!("/mcp?names={profile}");
        let list = hub.modern(&path, "tools/list", json!({})).await.json();
        let names: Vec<_> = list["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["name"].as_str().unwrap().to_owned())
            .collect();
        assert!(names.iter().all(|it| it.starts_with(shown) && !it.starts_with(hidden)), "{names:?}");
    }
    let error = hub.call(&format!("{slug}.echo"), json!({})).await;
    assert_eq!(error["data"]["code"], "tool.unknown");
}

async fn partial_success(case: Case) {
    let discovery = case.given["discovery"].as_object().unwrap();
    let (address, tools) = discovery.iter().next().unwrap();
    let tools: Vec<_> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|it| json!({ "name": it, "inputSchema": { "type": "object" } }))
        .collect();
    let (url, _server) = scripted(json!({}), json!({ "tools": tools })).await;
    let text = case.given["text"].as_str().unwrap().replace(address, &url);
    let hub = Hub::start().await;
    let (_, answer) = hub.api(Method::POST, "/api/mcp/import", json!({ "text": text })).await;
    let added: Vec<_> = answer["added"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(json!(added), case.expect["added"]);
    assert_eq!(answer["message_success"], case.expect["message_success"]);
    assert_eq!(answer["message_error"], case.expect["message_error"]);
    assert_eq!(hub.get("/api/mcp/servers").await.as_array().unwrap().len(), 1, "what failed is not kept");
}

async fn duplicate_name(case: Case) {
    let (first, second) = (
        Fixture::start(Options::default()).await.unwrap(),
        Fixture::start(Options::default()).await.unwrap(),
    );
    let hub = Hub::start().await;
    let name = case.given["existing"][0].as_str().unwrap();
    hub.import(json!({ name: { "url": first.url() } })).await;
    let before = hub.get(&format!("/api/mcp/instances/{name}")).await;
    let text = case.given["text"].as_str().unwrap().replace("http://other/mcp", &second.url());
    let (_, answer) = hub.api(Method::POST, "/api/mcp/import", json!({ "text": text })).await;
    assert_eq!(answer["message_error"], case.expect["message_error"]);
    let (_, answer) =
        hub.api(Method::POST, "/api/mcp/import", json!({ "text": text, "replace": true })).await;
    assert_eq!(answer["failed"], json!([]), "{answer}");
    let after = hub.get(&format!("/api/mcp/instances/{name}")).await;
    for key in ["id", "slug", "server_id"] {
        assert_eq!(before[key], after[key]);
    }
    assert_eq!(hub.get("/api/mcp/servers").await[0]["endpoint"], second.url());
    hub.call(&format!("mcp__{name}__echo"), json!({})).await;
    assert!(second.methods().contains(&"tools/call".to_owned()));
}

async fn stored_id(case: Case) {
    let hub = Hub::start().await;
    let text = case.given["text"]
        .as_str()
        .unwrap()
        .replace("http://a/mcp", "http://127.0.0.1:1/a")
        .replace("http://b/mcp", "http://127.0.0.1:1/b");
    hub.api(Method::POST, "/api/mcp/import", json!({ "text": text, "save_anyway": true })).await;
    let servers = hub.get("/api/mcp/servers").await;
    let ids: Vec<&str> = servers.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
    for id in ids {
        assert_eq!(&id[14..15], "7", "{id} is not a UUIDv7");
    }
}

/// One hub has one person in solo mode; the other person here is somebody without the key, and somebody whose data
/// folder is another.
async fn export_secrets(case: Case) {
    let path = case.given["GET"].as_str().unwrap();
    let server = Fixture::start(Options::default()).await.unwrap();
    let owner = Hub::start().await;
    owner
        .import(json!({ "s": { "url": server.url(), "headers": { "X-Api-Key": "very-secret-value" } } }))
        .await;
    assert!(owner.get(path).await.to_string().contains("very-secret-value"));
    assert!(!owner.get("/api/mcp/export?format=bouno").await.to_string().contains("very-secret-value"));
    let other = Hub::start().await;
    let request = http::Request::get(format!("{}{path}", owner.url))
        .header("authorization", format!("Bearer {}", other.key));
    let answer = owner.send(request.body(http_body_util::Full::default()).unwrap()).await;
    assert_eq!(answer.status, 401);
    for secret in ["very-secret-value", server.url().as_str()] {
        assert!(!answer.text().contains(secret));
        assert!(!other.get(path).await.to_string().contains(secret));
    }
}

async fn paste_sign_in(case: Case) {
    let metadata = "http://w/.well-known/oauth-protected-resource/mcp";
    assert!(case.given["WWW-Authenticate"].as_str().unwrap().contains(metadata));
    let options = Options {
        require_header: vec!["authorization=Bearer right".parse().unwrap()],
        resource_metadata: Some(metadata.into()),
        ..Options::default()
    };
    let server = Fixture::start(options).await.unwrap();
    let text = case.given["text"].as_str().unwrap().replace("http://w/mcp", &server.url());
    let hub = Hub::start().await;
    let (_, answer) = hub.api(Method::POST, "/api/mcp/import", json!({ "text": text })).await;
    assert_eq!(answer["message_success"], case.expect["message_success"], "{answer}");
    assert_eq!(answer["added"][0]["name"], case.expect["added"][0]);
    assert_eq!(hub.get("/api/mcp/instances/w").await["status"], case.expect["status"]);
}

async fn any_url(case: Case) {
    let hub = Hub::start().await;
    let workspace = hub.get("/api/workspaces").await[0]["id"].clone();
    let body = json!({ "workspaceId": workspace, "name": "nowhere", "endpoint": case.given["url"] });
    let (status, added) = hub.api(Method::POST, "/api/mcp/servers", body).await;
    assert_eq!(status, 201, "{added}");
    let (status, made) = hub
        .api(Method::POST, "/api/mcp/instances", json!({ "server_id": "nowhere", "slug": "nowhere" }))
        .await;
    assert_eq!(status, 201, "{made}");
    let (_, test) = hub.api(Method::POST, "/api/mcp/servers/nowhere/test", Value::Null).await;
    assert_eq!(test["data"]["success"], false);
    assert!(test["data"]["message"].as_str().unwrap().starts_with("cannot reach `nowhere`"), "{test}");
    assert_eq!(hub.get("/api/mcp/servers").await.as_array().unwrap().len(), 1, "it stays");
}

async fn self_update(_: Case) {
    let hub = Hub::start().await;
    let workspace = hub.get("/api/workspaces").await[0]["id"].clone();
    let body = json!({ "workspaceId": workspace, "name": "a", "endpoint": "https://a.invalid/mcp" });
    assert_eq!(hub.api(Method::POST, "/api/mcp/servers", body.clone()).await.0, 201);
    let (status, _) =
        hub.api(Method::PATCH, "/api/mcp/servers/a", json!({ "endpoint": "https://A.invalid/mcp" })).await;
    assert_eq!(status, 200, "its own URL is no clash");
    let mut other = body;
    other["name"] = "b".into();
    let (status, problem) = hub.api(Method::POST, "/api/mcp/servers", other).await;
    assert_eq!((status, &problem["code"]), (409, &json!("server.url-taken")));
}
