//! Browsers of people who are no longer here, and what a page asks of those who are.

use http::Method;
use serde_json::{Value, json};
use toolgrove_core::tabs::{BrowserKind, TabQuestion};
use toolgrove_upstream::ToBrowser;
use toolgrove_wire::Raw;
use uuid::Uuid;

use super::world::{MARK, Who, World};

#[tokio::test]
async fn the_browsers_of_a_person_who_is_removed_are_hung_up_on() {
    let world = World::new().await;
    let browser = format!("{MARK}-profile").into();
    let transport = world.app.tabs.hub.transport();
    let (_connection, mut orders) = transport.attach(&browser, world.owner, BrowserKind::Extension, MARK);
    let path = format!("/api/people/{}", world.owner);
    let answer = world.ask(Who::Admin, Method::DELETE, &path, &[], String::new()).await;
    assert_eq!(answer.status, 204, "{}", answer.body);
    assert!(matches!(orders.recv().await, Some(ToBrowser::Close { code: 4003, .. })));
}

#[tokio::test]
async fn a_page_is_answered_once_and_in_the_words_of_the_wire() {
    let world = World::new().await;
    let (reply, replied) = tokio::sync::oneshot::channel();
    let question = TabQuestion {
        id: Uuid::now_v7(),
        domain: "example.com".into(),
        tool: "buy".into(),
        message: "Buy it?".into(),
        schema: Raw::empty_object(),
        asked_at: i64::MAX,
    };
    let path = format!("/api/tabs/questions/{}", question.id);
    world.app.tabs.hub.put(world.owner, Uuid::now_v7(), question, reply);
    let listed = world.ask(Who::Owner, Method::GET, "/api/tabs/questions", &[], String::new()).await;
    let listed: Value = serde_json::from_str(&listed.body).unwrap();
    assert_eq!((&listed[1]["message"], &listed[1]["schema"]), (&json!("Buy it?"), &json!({})), "{listed}");

    let post =
        async |body: &str| world.ask(Who::Owner, Method::POST, &path, &[], body.to_owned()).await.status;
    assert_eq!(post(r#"{"action":"perhaps"}"#).await, 400);
    assert_eq!(post(r#"{"action":"accept","content":{"n":1}}"#).await, 204);
    assert_eq!(post(r#"{"action":"accept"}"#).await, 404);
    let answer = replied.await.unwrap().unwrap();
    assert_eq!(answer.to_value(), json!({ "action": "accept", "content": { "n": 1 } }));
}
