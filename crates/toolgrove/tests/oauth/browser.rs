//! A real browser, from the button to the provider's pages and back.

use std::process::Stdio;

use serde_json::Value;

use crate::guarded::{Guarded, add_up, check_sum};
use crate::third::{node, variable};

#[tokio::test]
async fn a_browser_signs_in_and_comes_back_to_a_ready_instance() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    let link = hub
        .output()
        .lines()
        .find_map(|it| it.split_once("/ui/login?code=").map(|it| it.1.to_owned()))
        .unwrap();
    let mut walk = node("browser-sign-in.mjs");
    walk.arg(format!("{}/ui/login?code={}", hub.url, link.trim())).arg(variable("TOOLGROVE_TEST_CHROMIUM"));
    let output = walk.stdin(Stdio::null()).output().await.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    let walked: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(walked["end"], format!("{}/ui/mcp", hub.url), "{walked}");
    assert_eq!(walked["pages"], 1, "the same window all the way: {walked}");
    assert!(walked["text"].as_str().unwrap().contains("Ready"), "{walked}");
    check_sum(&add_up(&hub).await);
}
