//! Two hubs on one store: what one has begun, the other finishes, and neither does it twice.

use serde_json::json;

use crate::hub::{Hub, database};
use crate::provider::{Provider, come_back, connect, query};

/// Two hubs with folders of their own. What they share is the store and the key it is sealed with.
async fn pair(store: &str, key: &std::path::Path) -> [Hub; 2] {
    let config = format!("secret_key_file = \"{}\"\n[store]\nurl = \"{store}\"\n", key.display());
    [Hub::start_with(&config).await, Hub::start_with(&config).await]
}

async fn check(store: &str) {
    let provider = Provider::start().await;
    let shared = tempfile::tempdir().unwrap();
    let store = store.replace("<shared>", &shared.path().display().to_string());
    let [one, other] = pair(&store, &shared.path().join("secret.key")).await;
    // The other one has been running when this came.
    one.import(json!({ "w": { "url": provider.mcp() } })).await;
    let id = one.get("/api/mcp/instances/w").await["id"].clone();

    let state = query(&connect(&one, "w").await)["state"].clone();
    let returned = [("state", state.as_str()), ("code", "a-code-for-replicas")];
    let finished = come_back(&other, &returned).await;
    assert_eq!(finished.status, 303, "{}", finished.text());
    for hub in [&one, &other] {
        let again = come_back(hub, &returned).await;
        assert_eq!((again.status, again.text().contains("oauth.state-unknown")), (400, true));
        let instance = hub.get("/api/mcp/instances/w").await;
        assert_eq!((&instance["id"], &instance["status"]), (&id, &json!("ready")), "{instance}");
    }
    for hub in [&other, &one] {
        let (_, refreshed) = hub.api(http::Method::POST, "/api/mcp/instances/w/refresh", json!({})).await;
        assert_eq!(refreshed["tools"], 1, "{refreshed}");
        assert_eq!(hub.call("mcp__w__whoami", json!({})).await["content"][0]["text"], "access-1");
    }

    // Both at once: one of them has it.
    let state = query(&connect(&other, "w").await)["state"].clone();
    let returned = [("state", state.as_str()), ("code", "a-code-for-replicas")];
    let (first, second) = tokio::join!(come_back(&one, &returned), come_back(&other, &returned));
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 400]);
    assert_eq!(provider.grants("authorization_code").len(), 2, "a code is sent once");
}

#[tokio::test]
async fn a_sign_in_begun_on_one_hub_is_finished_on_another_with_the_same_postgresql() {
    check(&database().await).await;
}

#[tokio::test]
async fn a_sign_in_begun_on_one_hub_is_finished_on_another_with_the_same_file() {
    check("sqlite:<shared>/toolgrove.db").await;
}
