//! Ways to sign in that an admin sets up over the API: with a client that was made at the provider, or without one.

use http::Method;
use serde_json::{Value, json};

use crate::guarded::{Guarded, add_up, check_sum, ended, get, status};
use crate::hub::Hub;
use crate::provider::{Provider, connect, query};

const SECRET: &str = "entered-secret-of-an-admin";

/// Registers a server as an admin does.
async fn register(hub: &Hub, url: &str, auth: Value) -> (u16, Value) {
    let workspace = hub.get("/api/workspaces").await[0]["id"].clone();
    let body = json!({ "workspaceId": workspace, "name": "w", "endpoint": url, "auth": auth });
    hub.api(Method::POST, "/api/mcp/servers", body).await
}

async fn enter(hub: &Hub, config: Value) -> (u16, Value) {
    hub.api(Method::POST, "/api/mcp/servers/w/auth-configs", config).await
}

/// An instance `w` of the server, and what it wants.
async fn use_it(hub: &Hub, more: Value) {
    let mut body = json!({ "server_id": "w", "slug": "w" });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (code, instance) = hub.api(Method::POST, "/api/mcp/instances", body).await;
    assert_eq!((code, &instance["status"]), (201, &json!("not_ready")), "{instance}");
    assert_eq!(instance["auth_type"], "oauth", "{instance}");
}

async fn client_id(hub: &Hub) -> String {
    query(&connect(hub, "w").await)["client_id"].clone()
}

#[tokio::test]
async fn a_client_that_an_admin_entered_is_used_and_its_secret_never_shown() {
    let server = Guarded::start().await;
    let hub = Hub::start_with("capabilities = \"cached\"\n").await;
    assert_eq!(register(&hub, &server.url, Value::Null).await.0, 201);
    let config =
        json!({ "type": "oauth", "name": "Sign in", "client_id": "entered", "client_secret": SECRET });
    let (code, entered) = enter(&hub, config).await;
    assert_eq!(code, 201, "{entered}");
    let shown = &entered["endpoints"];
    assert_eq!((&shown["client_id"], &shown["has_client_secret"]), (&json!("entered"), &json!(true)));
    let listed = hub.get("/api/mcp/servers/w/auth-configs").await;
    assert_eq!(listed, json!([entered]));
    assert!(!listed.to_string().contains(SECRET), "{listed}");

    use_it(&hub, json!({})).await;
    assert_eq!(client_id(&hub).await, "entered");
    server.order(json!({ "ttl": 1 })).await;
    server.sign_in(&hub, "w").await;
    ended(&hub).await;
    server.order(json!({ "ttl": 3600 })).await;
    check_sum(&add_up(&hub).await);
    let asked = server.order(json!({})).await;
    assert_eq!(asked["registrations"], 0);
    let renewed = server.grants("refresh_token").await;
    assert!(renewed.iter().all(|it| it["status"] == 200) && !renewed.is_empty(), "{renewed:?}");

    // Without it the hub registers itself, and instances that were set up this way say that they need another.
    let path = format!("/api/mcp/servers/w/auth-configs/{}", entered["id"].as_str().unwrap());
    assert_eq!(hub.api(Method::DELETE, &path, Value::Null).await.0, 204);
    assert_eq!(status(&hub, "w").await, "not_ready");
    assert_eq!(enter(&hub, json!({ "type": "oauth" })).await.0, 201);
    let (code, changed) =
        hub.api(Method::PATCH, "/api/mcp/instances/w", json!({ "auth_type": "oauth" })).await;
    assert_eq!(code, 200, "{changed}");
    assert_ne!(client_id(&hub).await, "entered");
    server.sign_in(&hub, "w").await;
    check_sum(&add_up(&hub).await);
    let log = hub.get("/api/admin/log").await.to_string();
    for action in ["server.add", "auth-config.add", "auth-config.remove"] {
        assert!(log.contains(action), "{log}");
    }
    assert!(!log.contains(SECRET), "{log}");
}

#[tokio::test]
async fn without_a_client_the_hub_registers_itself_and_asks_for_what_the_admin_wrote() {
    let provider = Provider::start().await;
    let hub = Hub::start().await;
    let (code, server) =
        register(&hub, &provider.mcp(), json!({ "type": "oauth", "scopes": " read  write " })).await;
    assert_eq!(code, 201, "{server}");
    assert_eq!(provider.seen("/register").len(), 0, "nothing is asked before somebody signs in");
    use_it(&hub, json!({})).await;
    let asked = query(&connect(&hub, "w").await);
    assert_eq!((asked["client_id"].as_str(), asked["scope"].as_str()), ("c1", "read write"));
    assert_eq!(provider.seen("/register").len(), 1);
}

#[tokio::test]
async fn a_wrong_secret_is_told_and_a_right_one_takes_its_place() {
    let server = Guarded::start().await;
    let hub = Hub::start_with("capabilities = \"cached\"\n").await;
    register(&hub, &server.url, Value::Null).await;
    let config = |secret: &str| json!({ "type": "oauth", "client_id": "entered", "client_secret": secret });
    assert_eq!(enter(&hub, config("a wrong one")).await.0, 201);
    use_it(&hub, json!({})).await;
    let refused = get(&hub, &server.visit(&connect(&hub, "w").await).await).await;
    assert_eq!(refused.status, 502);
    assert!(refused.text().contains("invalid_client"), "{}", refused.text());
    assert_eq!(status(&hub, "w").await, "not_ready");
    assert_eq!(enter(&hub, config(SECRET)).await.0, 201);
    server.sign_in(&hub, "w").await;
    check_sum(&add_up(&hub).await);
}

#[tokio::test]
async fn each_way_to_sign_in_has_its_own_client_and_a_new_server_may_bring_one() {
    let provider = Provider::start().await;
    let hub = Hub::start().await;
    let auth =
        json!({ "type": "oauth", "issuer": provider.base, "client_id": "first", "client_secret": "s" });
    let (code, server) = register(&hub, &provider.mcp(), auth).await;
    assert_eq!(code, 201, "{server}");
    assert_eq!(provider.read(), [""; 0], "an issuer that is named is not looked for");
    let (_, second) = enter(&hub, json!({ "type": "oauth", "name": "two", "client_id": "second" })).await;
    assert_eq!(second["endpoints"]["issuer"], provider.base, "it was looked for: {second}");
    use_it(&hub, json!({})).await;
    assert_eq!(client_id(&hub).await, "first");
    let change = json!({ "auth_config_id": second["id"] });
    assert_eq!(hub.api(Method::PATCH, "/api/mcp/instances/w", change).await.0, 200);
    assert_eq!(client_id(&hub).await, "second");
}

#[tokio::test]
async fn what_is_entered_wrongly_is_refused_in_one_sentence() {
    let hub = Hub::start().await;
    register(&hub, "http://127.0.0.1:9/mcp", Value::Null).await;
    for (config, words) in [
        (json!({ "type": "header", "client_id": "x" }), "`client_id` is for type `oauth`"),
        (json!({ "type": "oauth", "client_secret": "x" }), "client_id"),
        (
            json!({ "type": "oauth", "client_id": "x", "issuer": "nonsense" }),
            "`nonsense` is not the URL of an issuer",
        ),
        (json!({ "type": "oauth", "entries": [{ "in": "header", "key": "X" }] }), "`entries` are for type"),
        (json!({ "type": "public", "scopes": "x" }), "`scopes` are for type `oauth`"),
        (json!({ "client_id": "x" }), "`client_id` is for type `oauth`"),
    ] {
        let (code, problem) = enter(&hub, config.clone()).await;
        assert_eq!(code, 400, "{config}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    }
    // A server that cannot be asked who signs people in is a reason to name it.
    let (code, problem) = enter(&hub, json!({ "type": "oauth", "client_id": "x" })).await;
    assert!((500..600).contains(&code), "{problem}");
    let auth = json!({ "type": "oauth", "client_id": "x" });
    let (code, problem) = register(&hub, "http://127.0.0.1:9/other", auth).await;
    assert_eq!((code, problem["detail"].as_str().unwrap().contains("auth.issuer")), (400, true), "{problem}");
    assert_eq!(hub.get("/api/mcp/servers/w/auth-configs").await, json!([]));
}
