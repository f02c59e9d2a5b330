//! A hub that is killed in the middle.

use serde_json::json;

use crate::guarded::{Guarded, add_up, check_sum, ended, eventually, get, status};
use crate::hub::Hub;
use crate::provider::connect;

/// A hub in the same folder, on the same port: providers send people back to where they came from.
async fn again(hub: Hub) -> Hub {
    let address = hub.url.strip_prefix("http://").unwrap().to_owned();
    let dir = hub.kill().await;
    Hub::start_at(dir, &address, |_| {}).await
}

#[tokio::test]
async fn killed_in_the_middle_of_a_sign_in_the_hub_goes_on_with_it() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    let id = hub.get("/api/mcp/instances/w").await["id"].clone();
    let url = connect(&hub, "w").await;
    let hub = again(hub).await;
    assert_eq!(hub.get("/api/mcp/instances/w").await["id"], id);
    assert_eq!(status(&hub, "w").await, "not_ready");
    let back = server.visit(&url).await;
    assert_eq!(get(&hub, &back).await.status, 303);
    check_sum(&add_up(&hub).await);
}

#[tokio::test]
async fn killed_in_the_middle_of_an_exchange_the_hub_still_has_its_instance() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    let id = hub.get("/api/mcp/instances/w").await["id"].clone();
    let back = server.visit(&connect(&hub, "w").await).await;
    server.order(json!({ "fail": ["hold"] })).await;
    {
        let finishing = get(&hub, &back);
        tokio::pin!(finishing);
        let held = eventually("the provider is asked", async || {
            (server.order(json!({})).await["held"] == 1).then_some(())
        });
        tokio::select! {
            answer = &mut finishing => panic!("{}", answer.text()),
            () = held => {}
        }
    }
    let hub = again(hub).await;
    assert_eq!(hub.get("/api/mcp/instances/w").await["id"], id);
    assert_eq!(get(&hub, &back).await.status, 400, "a code is good once");
    server.sign_in(&hub, "w").await;
    check_sum(&add_up(&hub).await);
}

#[tokio::test]
async fn killed_in_the_middle_of_a_refresh_the_hub_never_uses_the_token_again() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    server.order(json!({ "ttl": 1 })).await;
    server.sign_in(&hub, "w").await;
    ended(&hub).await;
    let before = hub.get("/api/mcp/instances/w").await;
    server.order(json!({ "fail": ["hold"] })).await;
    {
        let call = add_up(&hub);
        tokio::pin!(call);
        let held = eventually("the provider has answered, and nobody hears it", async || {
            (server.order(json!({})).await["held"] == 1).then_some(())
        });
        tokio::select! {
            result = &mut call => panic!("{result}"),
            () = held => {}
        }
    }
    let hub = again(hub).await;
    let spent = server.grants("refresh_token").await;
    let error = add_up(&hub).await;
    assert_eq!(error["data"]["code"], "instance.needs-reauth", "{error}");
    let text = error["message"].as_str().unwrap();
    assert!(text.contains("the hub was stopped while it renewed this sign-in"), "{text}");
    assert_eq!(
        server.grants("refresh_token").await.len(),
        spent.len(),
        "a refresh token is never sent twice"
    );
    let instance = hub.get("/api/mcp/instances/w").await;
    assert_eq!((&instance["id"], &instance["slug"]), (&before["id"], &before["slug"]));
    assert_eq!(instance["status"], "needs_reauth");
    server.order(json!({ "ttl": 3600 })).await;
    server.sign_in(&hub, "w").await;
    check_sum(&add_up(&hub).await);
    let sent: Vec<_> =
        server.grants("refresh_token").await.iter().map(|it| it["refresh_token"].to_string()).collect();
    let unique: std::collections::HashSet<_> = sent.iter().collect();
    assert_eq!(unique.len(), sent.len(), "{sent:?}");
}

#[tokio::test]
async fn killed_in_the_middle_of_a_refresh_the_hub_uses_a_token_that_is_still_good() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    // Less than a minute: it is renewed before each use, and good all the same.
    server.order(json!({ "ttl": 50 })).await;
    server.sign_in(&hub, "w").await;
    server.order(json!({ "fail": ["hold"] })).await;
    {
        let call = add_up(&hub);
        tokio::pin!(call);
        let held = eventually("the provider is asked", async || {
            (server.order(json!({})).await["held"] == 1).then_some(())
        });
        tokio::select! {
            result = &mut call => panic!("{result}"),
            () = held => {}
        }
    }
    let hub = again(hub).await;
    check_sum(&add_up(&hub).await);
    assert_eq!(status(&hub, "w").await, "ready");
}

#[tokio::test]
async fn a_hub_that_is_stopped_waits_for_a_refresh_that_is_under_way() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    server.order(json!({ "ttl": 1 })).await;
    server.sign_in(&hub, "w").await;
    ended(&hub).await;
    server.order(json!({ "ttl": 3600, "fail": ["hold"] })).await;
    {
        let call = add_up(&hub);
        tokio::pin!(call);
        let held = eventually("the provider is asked", async || {
            (server.order(json!({})).await["held"] == 1).then_some(())
        });
        tokio::select! {
            result = &mut call => panic!("{result}"),
            () = held => {}
        }
    }
    let release = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        server.order(json!({ "release": true })).await;
    };
    let (dir, ()) = tokio::join!(hub.stop(), release);
    let hub = Hub::start_in(dir).await;
    check_sum(&add_up(&hub).await);
}
