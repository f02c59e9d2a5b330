//! Signing in to servers in a team: what one person begins, nobody else can finish, see or take over.

use http::Method;
use serde_json::{Value, json};

use crate::provider::{Provider, query};
use crate::team::{Team, Visitor};

async fn begin(visitor: &Visitor, team: &Team, id: &str) -> String {
    let path = format!("/api/mcp/instances/{id}/connect");
    let (status, begun) = visitor.api(&team.hub, Method::POST, &path, json!({})).await;
    assert_eq!(status, 200, "{begun}");
    query(begun["url"].as_str().unwrap())["state"].clone()
}

async fn come_back(visitor: &Visitor, team: &Team, state: &str) -> crate::hub::Answer {
    let path = format!("/ui/auth/mcp/callback?state={state}&code=a-code");
    visitor.ask(&team.hub, Method::GET, &path, &[], "").await
}

#[tokio::test]
async fn a_sign_in_is_finished_only_by_whoever_began_it() {
    let provider = Provider::start().await;
    let team = Team::start().await;
    let (bob, eve) = (team.invite("bob", "member").await, team.invite("eve", "member").await);
    let id = bob.add(&team.hub, "w", &provider.mcp()).await;
    let state = begin(&bob, &team, &id).await;
    // Eve's browser would put her account into his instance, or his into hers.
    for stranger in [&eve, &team.admin] {
        let refused = come_back(stranger, &team, &state).await;
        assert_eq!(refused.status, 400);
        assert!(refused.text().contains("oauth.state-unknown"), "{}", refused.text());
        assert!(!refused.text().contains(&id), "{}", refused.text());
        let go = format!("/ui/auth/mcp/go?state={state}");
        assert_eq!(stranger.ask(&team.hub, Method::GET, &go, &[], "").await.status, 400);
    }
    assert!(provider.seen("/token").is_empty());
    let done = come_back(&bob, &team, &state).await;
    assert_eq!(done.status, 303, "{}", done.text());
    assert_eq!(bob.get(&team.hub, &format!("/api/mcp/instances/{id}")).await["status"], "ready");
}

#[tokio::test]
async fn nobody_signs_in_to_or_looks_at_the_instance_of_another() {
    let provider = Provider::start().await;
    let team = Team::start().await;
    let (bob, eve) = (team.invite("bob", "member").await, team.invite("eve", "member").await);
    let id = bob.add(&team.hub, "w", &provider.mcp()).await;
    let state = begin(&bob, &team, &id).await;
    assert_eq!(come_back(&bob, &team, &state).await.status, 303);
    let unknown = uuid::Uuid::now_v7().to_string();
    for stranger in [&eve, &team.admin] {
        for method in [Method::GET, Method::POST] {
            let mut answers = Vec::new();
            for id in [&id, &unknown] {
                let path = format!("/api/mcp/instances/{id}/connect");
                let (status, mut problem) = stranger.api(&team.hub, method.clone(), &path, Value::Null).await;
                problem["detail"].take();
                answers.push((status, problem));
            }
            assert_eq!(answers[0].0, 404);
            assert_eq!(answers[0], answers[1], "a foreign instance is like one that never was");
        }
        let form = stranger.form(&team.hub, "/ui/auth/mcp/start", &[("instance", &id)]).await;
        assert_eq!(form.status, 404);
    }
}

#[tokio::test]
async fn whoever_was_signed_out_of_the_hub_meanwhile_signs_in_and_goes_on() {
    let provider = Provider::start().await;
    let team = Team::start().await;
    let bob = team.invite("bob", "member").await;
    let id = bob.add(&team.hub, "w", &provider.mcp()).await;
    let state = begin(&bob, &team, &id).await;
    let nobody = come_back(&Visitor::default(), &team, &state).await;
    assert_eq!(nobody.status, 303);
    let location = nobody.headers["location"].to_str().unwrap();
    let next = format!("/ui/auth/mcp/callback?state={state}&code=a-code");
    assert_eq!(query(&format!("{}{location}", team.hub.url))["next"], next);
    assert_eq!(come_back(&bob, &team, &state).await.status, 303, "nothing was used up");
}
