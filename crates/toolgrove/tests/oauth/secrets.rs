//! Nothing secret of a sign-in is written down anywhere but sealed.

use std::path::Path;

use http::Method;
use serde_json::json;

use crate::hub::Hub;
use crate::provider::{Provider, come_back, connect, query};

/// Every file below a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    entries.flat_map(|it| if it.is_dir() { files(&it) } else { vec![it] }).collect()
}

#[tokio::test]
async fn neither_the_log_nor_the_folder_nor_an_answer_holds_a_secret_of_a_sign_in() {
    let provider = Provider::start().await;
    let secrets = [
        "code-s3cret",
        "client-s3cret",
        "access-s3cret-1",
        "access-s3cret-2",
        "refresh-s3cret-1",
        "refresh-s3cret-2",
    ];
    provider.set(|it| {
        it.registration.1 = json!({ "client_id": "c1", "client_secret": "client-s3cret" });
        it.good = secrets.iter().map(|it| (*it).to_owned()).collect();
        let grant = |n: u8, expires_in: u32| {
            json!({ "access_token": format!("access-s3cret-{n}"), "refresh_token": format!("refresh-s3cret-{n}"),
                "expires_in": expires_in })
        };
        it.tokens = [(200, grant(1, 0)), (200, grant(2, 3600))].into();
    });
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start_as(dir, |command| {
        command.env("TOOLGROVE_LOG", "trace");
    })
    .await;
    hub.import(json!({ "w": { "url": provider.mcp() } })).await;
    let state = query(&connect(&hub, "w").await)["state"].clone();
    let back = come_back(&hub, &[("state", &state), ("code", "code-s3cret")]).await;
    assert_eq!(back.status, 303, "{}", back.text());
    let called = hub.call("mcp__w__whoami", json!({})).await;
    assert_eq!(called["content"][0]["text"], "access-s3cret-2", "it was renewed: {called}");
    let verifier = provider.grants("authorization_code")[0]["code_verifier"].clone();

    let mut said = vec![back.text()];
    for path in [
        "/api/mcp/instances",
        "/api/mcp/instances/w",
        "/api/mcp/instances/w/connect",
        "/api/mcp/servers",
        "/api/mcp/export?format=mcp.json",
        "/api/calls",
        "/metrics",
        "/ui/mcp",
    ] {
        said.push(hub.ask(Method::GET, path, &[], "").await.text());
    }
    said.push(hub.log());
    assert!(hub.log().contains("TRACE"), "the log is at its most talkative");
    let dir = hub.stop().await;
    for file in files(&dir.path().join("data")) {
        said.push(String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned());
    }
    for text in said {
        for secret in secrets.iter().copied().chain([verifier.as_str()]) {
            let at = text.find(secret).map(|at| text[..at].chars().rev().take(300).collect::<String>());
            let around = at.map(|it| it.chars().rev().collect::<String>());
            assert_eq!(around, None, "`{secret}` stands after this");
        }
    }
}
