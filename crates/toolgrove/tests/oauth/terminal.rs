//! `toolgrove login`.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use crate::guarded::{Guarded, status};
use crate::hub::{Hub, command};

/// Runs the command up to the page it wants to be opened.
async fn login(dir: &std::path::Path) -> (Child, Value) {
    let mut command = command(dir);
    command.args(["login", "w", "--json"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().expect("it says where to go");
    let begun = serde_json::from_str(&line).unwrap();
    crate::guarded::keep(lines);
    (child, begun)
}

#[tokio::test]
async fn login_waits_until_its_owner_has_signed_in() {
    let server = Guarded::start().await;
    let hub = server.hub().await;
    let (mut child, begun) = login(hub.dir.path()).await;
    crate::guarded::browse(&server, &hub.url, begun["page"].as_str().unwrap()).await;
    assert!(child.wait().await.unwrap().success());
    assert_eq!(status(&hub, "w").await, "ready");
}

#[tokio::test]
async fn login_needs_no_running_hub() {
    let server = Guarded::start().await;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("toolgrove.toml"), "listen = \"127.0.0.1:0\"\n").unwrap();
    let hub = Hub::start_in(dir).await;
    server.add(&hub, "w").await;
    let dir = hub.stop().await;
    let (mut child, begun) = login(dir.path()).await;
    let page = begun["page"].as_str().unwrap().to_owned();
    let base = page.split("/ui/").next().unwrap().to_owned();
    crate::guarded::browse(&server, &base, &page).await;
    assert!(child.wait().await.unwrap().success());
    let hub = Hub::start_in(dir).await;
    assert_eq!(status(&hub, "w").await, "ready");
}
