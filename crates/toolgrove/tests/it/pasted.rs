//! `POST /api/mcp/import` as the page asks it: every step of the doctor as it is taken, and then the end.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::Options;

use crate::grove::fixture;
use crate::hub::{Hub, Stream};

async fn paste(hub: &Hub, body: Value) -> Stream {
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    hub.open(Method::POST, "/api/mcp/import", &headers, body.to_string()).await
}

#[tokio::test]
async fn who_pastes_hears_every_step_of_every_server_and_then_the_end() {
    let (hub, server) = (Hub::start().await, fixture(Options::default()).await);
    let text = json!({ "good": { "url": server.url() }, "bad": { "url": "http://127.0.0.1:1/mcp" } });
    let mut stream = paste(&hub, json!({ "text": text.to_string() })).await;
    assert!(stream.status == 200 && stream.is_events());
    let mut steps = std::collections::HashMap::<String, Vec<(String, bool)>>::new();
    let end = loop {
        let event = stream.next().await.expect("the end comes");
        let Some(server) = event["server"].as_str() else { break event };
        let step = (event["step"]["name"].as_str().unwrap().to_owned(), event["step"]["ok"] == true);
        steps.entry(server.to_owned()).or_default().push(step);
    };
    assert_eq!(stream.next().await, None, "nothing comes after the end");
    assert!(steps["good"].len() >= 2 && steps["good"].iter().all(|it| it.1), "{steps:?}");
    assert!(steps["bad"].iter().any(|it| !it.1), "{steps:?}");
    assert_eq!(end["added"][0]["name"], "good", "{end}");
    assert_eq!(end["added"][0]["instance"]["slug"], "good", "the end has all that the page needs: {end}");
    assert_eq!(end["failed"][0]["name"], "bad", "{end}");
    assert_eq!(hub.get("/api/mcp/instances/good").await["tools"], end["added"][0]["tools"]);
}

#[tokio::test]
async fn a_text_that_cannot_be_read_is_refused_before_a_stream_begins() {
    let hub = Hub::start().await;
    for text in ["", "{", "[]", "{}"] {
        let answer = paste(&hub, json!({ "text": text })).await.rest().await;
        assert_eq!(answer.status, 400, "{text}: {}", answer.text());
        assert!(answer.json()["detail"].is_string(), "{text}: {}", answer.text());
    }
}
