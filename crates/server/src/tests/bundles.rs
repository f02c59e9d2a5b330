//! Bundles on a hub that people share: nobody reaches the machine's files, and what runs there is for admins.

use http::Method;
use serde_json::{Value, json};

use super::world::{Who, World};

async fn order(world: &World, who: Who, body: Value) -> (u16, String) {
    let headers = [("content-type", "application/json")];
    let answer = world.ask(who, Method::POST, "/api/bundles", &headers, body.to_string()).await;
    let problem: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    (answer.status.as_u16(), problem["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_shared_hub_reads_no_folder_and_writes_no_file_of_its_machine() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("deployment-manifest.yml"), "id: a\nversion: 1.0.0\nname: A\n")
        .unwrap();
    for who in [Who::Member, Who::Admin] {
        let refused = order(&world, who, json!({ "source": folder.path() })).await;
        assert_eq!(refused, (400, "bundle.source".into()), "{who:?}");
        let refused = order(&world, who, json!({ "source": "io.github.x/y", "target": "user" })).await;
        assert_eq!(refused, (400, "request.invalid".into()), "{who:?}");
    }
    let refused = order(&world, Who::Token, json!({ "source": "io.github.x/y" })).await;
    assert_eq!(refused, (403, "auth.token".into()));
}

#[tokio::test]
async fn an_order_that_cannot_be_understood_is_refused_with_a_sentence() {
    let world = World::new().await;
    for (body, code) in [
        (json!({}), "request.missing"),
        (json!({ "source": "x", "tarket": "user" }), "request.invalid"),
        (json!({ "source": "file:///etc/passwd" }), "bundle.source"),
        (json!({ "source": "http://x/a.zip" }), "bundle.source"),
        (json!({ "source": "github:../x" }), "bundle.source"),
    ] {
        assert_eq!(order(&world, Who::Admin, body.clone()).await, (400, code.into()), "{body}");
    }
}
