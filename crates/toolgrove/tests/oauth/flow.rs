//! From a pasted address to a tool that works, and everything that may go wrong on the way.

use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::guarded::{Guarded, add_up, check_sum, get, status};
use crate::hub::Hub;
use crate::provider::{Provider, come_back, connect, query, try_connect};

#[tokio::test]
async fn a_pasted_server_works_after_its_owner_has_signed_in() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    let instance = hub.get("/api/mcp/instances/w").await;
    assert_eq!(
        (instance["status"].as_str(), instance["auth_type"].as_str()),
        (Some("not_ready"), Some("oauth"))
    );
    assert_eq!(instance["health"]["summary"], "Sign in to use");
    server.sign_in(&hub, "w").await;
    let instance = hub.get("/api/mcp/instances/w").await;
    assert_eq!(instance["health"]["summary"], "Ready · 2 tools", "{instance}");
    check_sum(&add_up(&hub).await);
    let sign_in = hub.get("/api/mcp/instances/w/connect").await;
    assert_eq!(sign_in["has_refresh_token"], true, "{sign_in}");
    assert_eq!(sign_in["scope"], "mcp:tools", "{sign_in}");
    assert!(!sign_in.to_string().contains("\"ey"), "no token is shown: {sign_in}");
}

#[tokio::test]
async fn an_issuer_with_a_path_is_found() {
    let server = Guarded::start_with(&["--path", "/tenant1"]).await;
    let hub = server.hub().await;
    server.sign_in(&hub, "w").await;
    check_sum(&add_up(&hub).await);
    let issuer = hub.get("/api/mcp/instances/w/connect").await["issuer"].as_str().unwrap().to_owned();
    assert!(issuer.ends_with("/tenant1"), "{issuer}");
}

#[tokio::test]
async fn several_instances_share_a_client_and_have_tokens_of_their_own() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    let id = hub.get("/api/mcp/instances/w").await["server_id"].clone();
    for slug in ["one", "two", "three"] {
        let body = json!({ "server_id": id, "slug": slug });
        assert_eq!(hub.api(Method::POST, "/api/mcp/instances", body).await.0, 201);
    }
    // All are begun before the first comes back, and come back in another order.
    let mut begun = Vec::new();
    for slug in ["one", "two", "three"] {
        begun.push(connect(&hub, slug).await);
    }
    let visits = futures::future::join_all(begun.iter().map(|it| server.visit(it))).await;
    for back in visits.iter().rev() {
        assert_eq!(get(&hub, back).await.status, 303);
    }
    for slug in ["one", "two", "three"] {
        let sum = hub.call(&format!("mcp__{slug}__add"), json!({ "a": 1, "b": 2 })).await;
        check_sum(&sum);
    }
    assert_eq!(status(&hub, "w").await, "not_ready", "one that nobody signed in to stays as it was");
    assert_eq!(server.order(json!({})).await["registrations"], 1);
}

#[tokio::test]
async fn signing_in_again_keeps_the_instance_and_leaves_one_row_of_tokens() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    let before = hub.get("/api/mcp/instances/w").await;
    for _ in 0..3 {
        server.sign_in(&hub, "w").await;
    }
    let after = hub.get("/api/mcp/instances/w").await;
    assert_eq!((&before["id"], &before["slug"]), (&after["id"], &after["slug"]));
    let path = hub.data().join("toolgrove.db");
    let database = sqlx::SqlitePool::connect(&format!("sqlite:{}", path.display())).await.unwrap();
    let rows: i64 =
        sqlx::query_scalar("SELECT count(*) FROM oauth_tokens").fetch_one(&database).await.unwrap();
    assert_eq!(rows, 1);
    check_sum(&add_up(&hub).await);
}

#[tokio::test]
async fn a_client_that_its_provider_has_forgotten_is_registered_again() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    // Its owner was sent to the provider and did not come back: perhaps they were told that the client is unknown.
    let first = query(&connect(&hub, "w").await)["client_id"].clone();
    let second = query(&connect(&hub, "w").await)["client_id"].clone();
    assert_ne!(first, second);
    // The provider forgets it between the consent and the exchange.
    let back = server.visit(&connect(&hub, "w").await).await;
    server.order(json!({ "fail": ["drop-client"] })).await;
    let refused = get(&hub, &back).await;
    assert_eq!(refused.status, 502);
    assert!(refused.text().contains("token exchange failed: HTTP 401 Unauthorized"), "{}", refused.text());
    assert!(refused.text().contains("invalid_client"), "{}", refused.text());
    server.sign_in(&hub, "w").await;
    check_sum(&add_up(&hub).await);
}

#[tokio::test]
async fn a_person_who_says_no_reads_the_providers_words_and_loses_nothing() {
    let provider = Provider::start().await;
    let hub = Hub::start().await;
    hub.import(json!({ "w": { "url": provider.mcp() } })).await;
    let state = query(&connect(&hub, "w").await)["state"].clone();
    let answer = come_back(
        &hub,
        &[("state", &state), ("error", "access_denied"), ("error_description", "<b>not</b> now")],
    )
    .await;
    assert_eq!(answer.status, 400);
    let page = answer.text();
    assert!(page.contains("&lt;b&gt;not&lt;/b&gt; now") && page.contains("oauth.refused"), "{page}");
    assert!(page.contains("Sign in again") && page.contains("/ui/auth/mcp/start"), "{page}");
    assert_eq!(status(&hub, "w").await, "not_ready");
    // Whoever else claims to be the provider is not even shown.
    let state = query(&connect(&hub, "w").await)["state"].clone();
    let forged =
        [("state", state.as_str()), ("error", "visit evil.example"), ("iss", "https://evil.example")];
    let page = come_back(&hub, &forged).await.text();
    assert!(!page.contains("evil"), "{page}");
}

#[tokio::test]
async fn a_server_without_discovery_says_so_and_nothing_is_guessed() {
    let provider = Provider::start().await;
    provider.set(|it| it.documents.clear());
    let hub = Hub::start().await;
    hub.import(json!({ "w": { "url": provider.mcp() } })).await;
    let (status, problem) = try_connect(&hub, "w").await;
    assert_eq!((status, problem["code"].as_str()), (502, Some("oauth.discovery")));
    assert_eq!(problem["detail"], "this server offers no OAuth discovery");
    assert!(provider.read().iter().all(|it| it.starts_with("/.well-known/oauth-protected-resource")));
    provider.set(|it| {
        it.documents.insert(crate::provider::RESOURCE.into(), (500, Value::Null));
    });
    let (_, problem) = try_connect(&hub, "w").await;
    assert_eq!(
        problem["detail"],
        "protected resource metadata not available: HTTP 500 Internal Server Error"
    );
}

#[tokio::test]
async fn only_servers_with_a_url_and_without_credentials_of_their_own_are_signed_in_to() {
    let provider = Provider::start().await;
    let hub = Hub::start().await;
    hub.api(
        Method::POST,
        "/api/mcp/import",
        json!({ "save_anyway": true, "text": json!({
        "keyed": { "url": provider.mcp(), "headers": { "X-Key": "k" } },
        "local": { "command": "nothing-of-this-name" },
    }).to_string() }),
    )
    .await;
    let (status, problem) = try_connect(&hub, "keyed").await;
    assert_eq!((status, problem["code"].as_str()), (400, Some("request.invalid")), "{problem}");
    let (status, problem) = try_connect(&hub, "local").await;
    assert_eq!(status, 400, "{problem}");
    assert_eq!(try_connect(&hub, "nobody").await.0, 404);
}

#[tokio::test]
async fn a_page_asked_for_as_localhost_is_shown_where_the_provider_sends_people() {
    let hub = Hub::start().await;
    let local = hub.url.replace("127.0.0.1", "localhost");
    let request = Request::get(format!("{}/ui/mcp?a=1", hub.url))
        .header("host", local.strip_prefix("http://").unwrap())
        .body(Full::default())
        .unwrap();
    let answer = hub.send(request).await;
    assert_eq!(answer.status, 307);
    assert_eq!(answer.headers["location"], format!("{}/ui/mcp?a=1", hub.url));
}

#[tokio::test]
async fn a_token_is_not_shown_to_a_server_that_moved() {
    let (old, new) = (Provider::start().await, Provider::start().await);
    let hub = Hub::start().await;
    hub.import(json!({ "w": { "url": old.mcp() } })).await;
    crate::provider::sign_in(&hub, "w").await;
    let text = json!({ "w": { "url": new.mcp() } }).to_string();
    let (_, imported) =
        hub.api(Method::POST, "/api/mcp/import", json!({ "text": text, "replace": true })).await;
    assert_eq!(imported["message_success"], "Added: w (sign in to use)", "{imported}");
    let seen = new.seen("/mcp");
    assert!(!seen.is_empty() && seen.iter().all(|it| it.bearer().is_none()), "{seen:?}");
}

#[tokio::test]
async fn a_step_up_asks_for_everything_at_once_and_gives_up_after_three_rounds() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    server.sign_in(&hub, "w").await;
    server.order(json!({ "need": ["mcp:write"] })).await;
    let error = hub.call("mcp__w__write", json!({})).await;
    assert_eq!(error["data"]["code"], "instance.needs-reauth", "{error}");
    assert_eq!(error["data"]["data"]["status"], 403, "{error}");
    assert_eq!(status(&hub, "w").await, "needs_reauth");
    check_sum(&add_up(&hub).await);
    let url = connect(&hub, "w").await;
    assert_eq!(query(&url)["scope"], "mcp:tools mcp:write offline_access");
    assert_eq!(get(&hub, &server.visit(&url).await).await.status, 303);
    assert_eq!(hub.call("mcp__w__write", json!({})).await["content"][0]["text"], "written");
    // What no provider gives is not asked for for ever.
    server.order(json!({ "need": ["mcp:moon"] })).await;
    for round in 0..4 {
        let error = hub.call("mcp__w__write", json!({})).await;
        let code = if round < 2 { "instance.needs-reauth" } else { "link.answered" };
        assert_eq!(error["data"]["code"], code, "round {round}: {error}");
    }
}
