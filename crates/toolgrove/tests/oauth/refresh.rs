//! Tokens that end: renewed once however many calls wait, never lost to an outage, and missed aloud when they are gone.

use std::collections::HashSet;

use futures::future::join_all;
use http::Method;
use serde_json::json;

use crate::guarded::{Guarded, add_up, check_sum, ended, eventually, status};
use crate::hub::Hub;
use crate::provider::{Provider, sign_in};

/// A hub that has signed in, and whose token has ended.
async fn expired() -> (Guarded, Hub) {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    server.order(json!({ "ttl": 1 })).await;
    server.sign_in(&hub, "w").await;
    ended(&hub).await;
    (server, hub)
}

#[tokio::test]
async fn a_hundred_calls_on_an_expired_token_make_one_refresh() {
    let provider = Provider::start().await;
    let hub = Hub::start().await;
    hub.import(json!({ "w": { "url": provider.mcp() } })).await;
    provider.set(|it| it.expires_in = json!(30));
    sign_in(&hub, "w").await;
    // The next token is good for long.
    provider.set(|it| it.expires_in = json!(3600));
    let before = provider.grants("refresh_token").len();
    let calls = join_all((0..100).map(|_| hub.call("mcp__w__whoami", json!({})))).await;
    let tokens: HashSet<_> = calls.iter().map(|it| it["content"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(tokens.len(), 1, "{tokens:?}");
    assert_eq!(provider.grants("refresh_token").len(), before + 1);
}

#[tokio::test]
async fn a_hundred_calls_at_a_real_provider_make_one_refresh() {
    let (server, hub) = expired().await;
    server.order(json!({ "ttl": 3600 })).await;
    let before = server.grants("refresh_token").await.len();
    for sum in join_all((0..100).map(|_| add_up(&hub))).await {
        check_sum(&sum);
    }
    let after = server.grants("refresh_token").await;
    assert_eq!(after.len(), before + 1);
    let sent: HashSet<_> = after.iter().map(|it| it["refresh_token"].as_str().unwrap()).collect();
    assert_eq!(sent.len(), after.len(), "no refresh token is used twice");
    assert!(after.iter().all(|it| it["resource"] == server.url && it["status"] == 200), "{after:?}");
}

#[tokio::test]
async fn outages_of_the_provider_sign_nobody_out() {
    let (server, hub) = expired().await;
    for outage in [json!(["503"]), json!(["reset"]), json!(["503", "reset", "503"])] {
        let times = outage.as_array().unwrap().len();
        server.order(json!({ "fail": outage })).await;
        for _ in 0..times {
            let error = add_up(&hub).await;
            assert_eq!(error["data"]["code"], "link.unreachable", "{error}");
            assert!(
                error["message"].as_str().unwrap().contains("its sign-in could not be renewed"),
                "{error}"
            );
            assert_eq!(status(&hub, "w").await, "ready");
        }
        check_sum(&add_up(&hub).await);
        ended(&hub).await;
    }
}

#[tokio::test]
async fn a_server_that_refuses_a_good_token_gets_one_new_one() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    server.sign_in(&hub, "w").await;
    check_sum(&add_up(&hub).await);
    server.order(json!({ "revoke": "access" })).await;
    for sum in join_all((0..20).map(|_| add_up(&hub))).await {
        check_sum(&sum);
    }
    assert_eq!(server.grants("refresh_token").await.len(), 1);
    assert_eq!(status(&hub, "w").await, "ready");
}

#[tokio::test]
async fn a_server_that_refuses_the_new_token_too_wants_somebody_to_sign_in() {
    let provider = Provider::start().await;
    let hub = Hub::start().await;
    hub.import(json!({ "w": { "url": provider.mcp() } })).await;
    sign_in(&hub, "w").await;
    // Tokens are given as before, and none is taken.
    let refuse = || provider.set(|it| it.good.clear());
    refuse();
    provider.set(|it| {
        it.tokens = [(200, json!({ "access_token": "nobody-knows-it", "refresh_token": "next" }))].into();
    });
    for _ in 0..3 {
        let error = hub.call("mcp__w__whoami", json!({})).await;
        assert_eq!(error["data"]["code"], "instance.needs-reauth", "{error}");
        assert_eq!(error["data"]["data"]["status"], 401, "{error}");
    }
    assert_eq!(provider.grants("refresh_token").len(), 1, "one refresh, one retry");
    assert_eq!(status(&hub, "w").await, "needs_reauth");
    // It was the server's mistake: nobody has to do anything.
    provider.set(|it| it.good = vec!["nobody-knows-it".into()]);
    let (code, instance) = hub.api(Method::POST, "/api/mcp/instances/w/refresh", json!({})).await;
    assert_eq!((code, instance["status"].as_str()), (200, Some("ready")), "{instance}");
    // A server that refused a session a moment ago is left alone for a while.
    eventually("calls get through again", async || {
        let result = hub.call("mcp__w__whoami", json!({})).await;
        (result["content"][0]["text"] == "nobody-knows-it").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_refused_refresh_is_told_in_the_providers_words_and_a_new_sign_in_mends_it() {
    let (server, hub) = expired().await;
    let before = hub.get("/api/mcp/instances/w").await;
    server.order(json!({ "revoke": "grants" })).await;
    let error = add_up(&hub).await;
    assert_eq!(error["data"]["code"], "instance.needs-reauth", "{error}");
    assert_eq!(error["message"], "`w` needs you to reconnect: grant request is invalid", "{error}");
    let instance = hub.get("/api/mcp/instances/w").await;
    assert_eq!(instance["status"], "needs_reauth");
    assert_eq!(instance["health"]["summary"], "Sign-in expired");
    // A restart remembers why.
    let hub = Hub::start_in(hub.stop().await).await;
    assert_eq!(add_up(&hub).await["message"], "`w` needs you to reconnect: grant request is invalid");
    server.order(json!({ "ttl": 3600 })).await;
    server.sign_in(&hub, "w").await;
    check_sum(&add_up(&hub).await);
    let after = hub.get("/api/mcp/instances/w").await;
    assert_eq!(
        (&after["id"], &after["slug"], &after["status"]),
        (&before["id"], &before["slug"], &json!("ready"))
    );
}

#[tokio::test]
async fn without_a_refresh_token_the_end_is_said_as_it_is() {
    let provider = Provider::start().await;
    let hub = Hub::start().await;
    hub.import(json!({ "w": { "url": provider.mcp() } })).await;
    provider.set(|it| {
        it.good = vec!["short".into()];
        it.tokens = [(200, json!({ "access_token": "short", "expires_in": 0 }))].into();
    });
    sign_in(&hub, "w").await;
    let (code, problem) = hub.api(Method::POST, "/api/mcp/instances/w/refresh", json!({})).await;
    assert_eq!(code, 409);
    let text = "`w` needs you to reconnect: access token expired and no refresh token is stored";
    assert_eq!(problem["detail"], text, "{problem}");
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_break_the_refresh_off() {
    let (server, hub) = expired().await;
    server.order(json!({ "ttl": 3600, "fail": ["hold"] })).await;
    {
        let call = add_up(&hub);
        tokio::pin!(call);
        let waiting = eventually("the provider is asked", async || {
            (server.order(json!({})).await["held"] == 1).then_some(())
        });
        tokio::select! {
            result = &mut call => panic!("{result}"),
            () = waiting => {}
        }
    }
    server.order(json!({ "release": true })).await;
    let before = server.grants("refresh_token").await.len();
    check_sum(&add_up(&hub).await);
    assert_eq!(server.grants("refresh_token").await.len(), before, "its answer was kept");
}
