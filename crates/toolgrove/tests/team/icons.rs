//! The picture of a server's domain: fetched once for everybody, shown to whoever sees the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::get;
use http::Method;
use serde_json::json;

use crate::hub::Answer;
use crate::team::{Team, Visitor};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n the rest of a picture";

/// A site with a picture, and how often it was asked for it.
async fn site() -> (String, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let picture = move || {
        count.fetch_add(1, Ordering::SeqCst);
        async { PNG }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let app = Router::new().route("/favicon.ico", get(picture));
    #[expect(clippy::disallowed_methods, reason = "a test has no tree of tasks")]
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (url, asked)
}

/// Registers a server for everybody in the workspace and gives its id.
async fn register(team: &Team, url: &str) -> String {
    let workspace = team.admin.get(&team.hub, "/api/workspaces").await[0]["id"].clone();
    let body = json!({ "workspaceId": workspace, "name": "s", "endpoint": url });
    let (status, server) = team.admin.api(&team.hub, Method::POST, "/api/mcp/servers", body).await;
    assert_eq!(status, 201, "{server}");
    server["id"].as_str().unwrap().to_owned()
}

async fn icon(team: &Team, who: &Visitor, id: &str) -> Answer {
    who.ask(&team.hub, Method::GET, &format!("/api/mcp/icon/{id}"), &[], "").await
}

#[tokio::test]
async fn two_people_see_a_picture_that_was_asked_for_once() {
    let (url, asked) = site().await;
    let team = Team::start().await;
    let bob = team.invite("bob", "member").await;
    let id = register(&team, &url).await;
    for who in [&team.admin, &bob] {
        let answer = icon(&team, who, &id).await;
        assert_eq!((answer.status, &*answer.body), (200, PNG), "{answer:?}");
        for (name, value) in [
            ("content-type", "image/png"),
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", "default-src 'none'; sandbox"),
        ] {
            assert_eq!(answer.headers[name], value, "{name}");
        }
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);

    // What only one of them has, the other has no picture of.
    let text = json!({ "mine": { "url": url } }).to_string();
    bob.api(&team.hub, Method::POST, "/api/mcp/import", json!({ "text": text, "save_anyway": true })).await;
    let rows = bob.get(&team.hub, "/api/mcp/registry").await;
    let mine = rows.as_array().unwrap().iter().find(|it| it["name"] == "mine").unwrap();
    let mine = mine["id"].as_str().unwrap();
    assert_eq!(icon(&team, &bob, mine).await.status, 200);
    let (foreign, unknown) = (
        icon(&team, &team.admin, mine).await,
        icon(&team, &team.admin, &uuid::Uuid::now_v7().to_string()).await,
    );
    assert_eq!((foreign.status, unknown.status), (404, 404));
    assert_eq!(icon(&team, &Visitor::default(), mine).await.status, 401);
    assert_eq!(asked.load(Ordering::SeqCst), 1, "the domain is known");
}

#[tokio::test]
async fn a_private_address_has_no_picture_unless_an_admin_lets_it() {
    let (url, asked) = site().await;
    let team = Team::start_as("", |_| {}).await;
    let id = register(&team, &url).await;
    let answer = icon(&team, &team.admin, &id).await;
    assert_eq!((answer.status, answer.body.len()), (204, 0), "{answer:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}
