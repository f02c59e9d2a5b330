//! A real browser, from the button to the provider's pages and back. What it sees is the built UI where `ui/dist` is
//! there, and the plain page where it is not.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::guarded::{Guarded, add_up, check_sum, ended, eventually};
use crate::hub::Hub;
use crate::third::{node, variable};

/// Comes in by the hub's link, presses a button in the list, and does what the provider asks for.
async fn press(hub: &Hub, words: &str) -> Value {
    let start = format!("{}/ui/login?code=", hub.url);
    let link = eventually("the link is printed", async || {
        let output = hub.output();
        let at = output.find(&start)?;
        output[at..].contains('\n').then(|| output[at..].lines().next().unwrap().trim().to_owned())
    })
    .await;
    let mut walk = node("browser-sign-in.mjs");
    walk.arg(link).arg(variable("TOOLGROVE_TEST_CHROMIUM")).arg(words);
    let output = walk.stdin(Stdio::null()).output().await.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    let walked: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(walked["end"], format!("{}/ui/mcp", hub.url), "{walked}");
    assert_eq!(walked["pages"], 1, "the same window all the way: {walked}");
    assert_eq!(walked["visited"].as_array().unwrap().len(), 3, "the hub, the provider, the hub: {walked}");
    walked
}

#[track_caller]
fn check_said(walked: &Value, before: &str, after: &str) {
    assert!(walked["before"].as_str().unwrap().contains(before), "{walked}");
    assert!(walked["after"].as_str().unwrap().contains(after), "{walked}");
    assert!(!walked["after"].as_str().unwrap().contains(before), "{walked}");
}

#[tokio::test]
async fn a_browser_signs_in_and_comes_back_to_a_ready_instance() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    check_said(&press(&hub, "Sign in").await, "Sign in to use", "Ready");
    check_sum(&add_up(&hub).await);
}

#[tokio::test]
async fn a_browser_reconnects_what_a_refused_refresh_has_ended() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    server.order(json!({ "ttl": 1 })).await;
    server.sign_in(&hub, "w").await;
    ended(&hub).await;
    let before = hub.get("/api/mcp/instances/w").await;
    server.order(json!({ "revoke": "grants", "ttl": 3600 })).await;
    assert_eq!(add_up(&hub).await["data"]["code"], "instance.needs-reauth");
    // A start prints a link that is good: signing in from elsewhere has ended the first one.
    let hub = Hub::start_in(hub.stop().await).await;
    check_said(&press(&hub, "Reconnect").await, "Sign-in expired", "Ready");
    check_sum(&add_up(&hub).await);
    let after = hub.get("/api/mcp/instances/w").await;
    assert_eq!((&after["id"], &after["slug"]), (&before["id"], &before["slug"]), "nothing else has changed");
}
