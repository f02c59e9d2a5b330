//! `GET /api/events`: what a page hears without asking.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::Options;

use crate::grove::{add, over_http};
use crate::hub::{Hub, Stream, stdio_fixture};
use crate::model::{Model, Reply};

async fn listen(hub: &Hub) -> Stream {
    let stream = hub.open(Method::GET, "/api/events", &[("accept", "text/event-stream")], "").await;
    assert!(stream.status == 200 && stream.is_events());
    stream
}

/// Reads until something of this type comes for which `is_it` holds.
async fn hear(events: &mut Stream, kind: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    loop {
        let event = events.next().await.expect("the stream goes on");
        if event["type"] == kind && is_it(&event) {
            return event;
        }
    }
}

#[tokio::test]
async fn a_call_is_told_when_it_begins_goes_on_and_ends() {
    let (hub, _server) = over_http(Options::default()).await;
    let mut events = listen(&hub).await;
    let asked = json!({ "tool": "mcp__s__sleep", "arguments": { "ms": 40 } });
    let call = hub.open(Method::POST, "/api/mcp/call", &[("accept", "text/event-stream")], asked.to_string());
    let answer = call.await.rest().await;
    assert_eq!(answer.status, 200, "{}", answer.text());

    let begun = hear(&mut events, "call", |_| true).await["call"].clone();
    assert_eq!(begun["outcome"], Value::Null);
    assert_eq!((&begun["tool"], &begun["door"]), (&json!("mcp__s__sleep"), &json!("api")));
    let far = hear(&mut events, "progress", |it| it["progress"] == 4.0).await;
    assert_eq!((&far["id"], &far["total"]), (&begun["id"], &json!(4.0)));
    let ended = hear(&mut events, "call", |_| true).await["call"].clone();
    assert_eq!((&ended["id"], &ended["outcome"]), (&begun["id"], &json!("done")));
    let listed = hub.get("/api/calls?limit=1").await;
    assert_eq!(listed[0], ended, "the event is the row");
}

#[tokio::test]
async fn a_call_that_is_refused_is_told_when_it_ends() {
    let (hub, _server) = over_http(Options::default()).await;
    let mut events = listen(&hub).await;
    hub.call("mcp__s__no_such", json!({})).await;
    let ended = hear(&mut events, "call", |_| true).await;
    assert_eq!(ended["call"]["error_code"], "tool.unknown");
}

#[tokio::test]
async fn an_instance_is_told_as_the_list_shows_it_until_it_is_gone() {
    let (hub, mut server) = over_http(Options::default()).await;
    let mut events = listen(&hub).await;
    let state = |word: &'static str| move |it: &Value| it["instance"]["health"]["state"] == word;

    hub.api(Method::PATCH, "/api/mcp/instances/s", json!({ "enabled": false })).await;
    let off = hear(&mut events, "instance", state("disabled")).await;
    let mut listed = hub.get("/api/mcp/instances").await[0].clone();
    let mut told = off["instance"].clone();
    listed["age_s"].take();
    told["age_s"].take();
    assert_eq!(told, listed);

    hub.api(Method::PATCH, "/api/mcp/instances/s", json!({ "enabled": true })).await;
    hear(&mut events, "instance", state("ready")).await;
    server.stop().await;
    hub.call("mcp__s__echo", json!({})).await;
    let failed = hear(&mut events, "instance", state("failed")).await;
    assert_eq!(failed["instance"]["health"]["action"]["label"], "Restart");

    hub.api(Method::PATCH, "/api/mcp/instances/s/tools/echo", json!({ "enabled": false })).await;
    hear(&mut events, "instance", |it| it["instance"]["tools_off"] == 1).await;
    hub.api(Method::DELETE, "/api/mcp/instances/s", Value::Null).await;
    let gone = hear(&mut events, "instance_removed", |_| true).await;
    assert_eq!(gone["id"], listed["id"]);
}

#[tokio::test]
async fn the_registry_is_told_to_have_changed_when_it_reads_differently() {
    let (hub, server) = over_http(Options::default()).await;
    let mut events = listen(&hub).await;
    hub.get("/api/mcp/registry").await;
    // A call changes nothing in it, so the next word of it is about the import.
    hub.call("mcp__s__echo", json!({})).await;
    hear(&mut events, "call", |it| it["call"]["outcome"] == "done").await;
    add(&hub, json!({ "second": { "url": server.url() } })).await;
    let told = hear(&mut events, "registry", |it| it["rows"].as_array().unwrap().len() == 3).await;
    assert_eq!(told["rows"], hub.get("/api/mcp/registry").await, "nothing has to be asked again");
}

#[tokio::test]
async fn a_list_is_told_to_have_changed_by_the_server_only() {
    let (hub, _server) = over_http(Options::default()).await;
    let mut events = listen(&hub).await;
    hub.api(Method::PATCH, "/api/mcp/instances/s/tools/echo", json!({ "enabled": false })).await;
    hub.call("mcp__s__change_tools", json!({})).await;
    hub.api(Method::POST, "/api/mcp/instances/s/refresh", json!({})).await;
    let mut lists = 0;
    loop {
        let event = events.next().await.unwrap();
        lists += usize::from(event["type"] == "list");
        // One more tool is there, and one is off.
        let instance = &event["instance"];
        if instance["tools_off"] == 1 && lists > 0 {
            break;
        }
    }
    assert_eq!(lists, 1);
}

#[tokio::test]
async fn a_client_that_connects_is_told_and_ticks_the_checklist() {
    let (hub, _server) = over_http(Options::default()).await;
    let checklist = async || hub.get("/api/status").await["checklist"].clone();
    assert_eq!(checklist().await, json!({ "server": true, "client": false, "call": false }));
    let mut events = listen(&hub).await;
    let client = hub.legacy("/mcp").await;
    assert_eq!(hear(&mut events, "client", |_| true).await["name"], "t");
    assert_eq!(checklist().await, json!({ "server": true, "client": true, "call": false }));
    client.call("mcp__s__echo", json!({})).await;
    let told = hear(&mut events, "call", |it| it["call"]["outcome"] == "done").await;
    assert_eq!(told["call"]["client"], "t");
    assert_eq!(checklist().await, json!({ "server": true, "client": true, "call": true }));
}

#[tokio::test]
async fn who_is_not_let_in_hears_nothing() {
    let hub = Hub::start().await;
    let request =
        http::Request::get(format!("{}/api/events", hub.url)).body(http_body_util::Full::default()).unwrap();
    assert_eq!(hub.send(request).await.status, 401);
}

#[tokio::test]
async fn lines_of_a_process_are_told_as_it_writes_them() {
    let hub = Hub::start().await;
    add(&hub, json!({ "s": stdio_fixture(&[]) })).await;
    let id = hub.get("/api/mcp/instances/s").await["id"].clone();
    let mut events = listen(&hub).await;
    for line in ["one", "two"] {
        hub.call("mcp__s__stderr", json!({ "line": line })).await;
        let is_it =
            |it: &Value| it["instance"] == id && it["lines"].as_array().unwrap().contains(&json!(line));
        let event = hear(&mut events, "log", is_it).await;
        let log = hub.get("/api/mcp/instances/s/log").await;
        let skipped = (event["from"].as_u64().unwrap() - log["from"].as_u64().unwrap()) as usize;
        let told = event["lines"].as_array().unwrap();
        assert_eq!(
            log["lines"].as_array().unwrap()[skipped..skipped + told.len()],
            told[..],
            "{event} {log}"
        );
    }
}

#[tokio::test]
async fn a_chat_is_told_when_it_is_made_answered_renamed_and_removed() {
    let model = Model::start([Reply::Wait(vec!["half"])]).await;
    let hub = Hub::start_with(&model.config("openai")).await;
    let mut events = listen(&hub).await;
    let (_, made) = hub.api(Method::POST, "/api/chats", json!({ "model": "m" })).await;
    let is_this = |it: &Value| it["chat"]["id"] == made["id"];
    assert_eq!(hear(&mut events, "chat", is_this).await["chat"], made);

    let path = format!("/api/chats/{}", made["id"].as_str().unwrap());
    let body = json!({ "text": "go" }).to_string();
    let turn = hub
        .open(Method::POST, &format!("{path}/messages"), &[("content-type", "application/json")], body)
        .await;
    let begun = hear(&mut events, "chat", |it| is_this(it) && it["chat"]["running"] == true).await;
    assert_eq!(begun["chat"]["title"], "go");
    model.go_on();
    let told = turn.rest().await.messages();
    let ended = hear(&mut events, "chat", |it| is_this(it) && it["chat"]["running"] == false).await;
    assert_eq!(told[told.len() - 2], ended, "who heard the turn knows it already");

    hub.api(Method::PATCH, &path, json!({ "title": "Named" })).await;
    hear(&mut events, "chat", |it| is_this(it) && it["chat"]["title"] == "Named").await;
    hub.api(Method::DELETE, &path, Value::Null).await;
    assert_eq!(hear(&mut events, "chat_removed", |_| true).await["id"], made["id"]);
}
