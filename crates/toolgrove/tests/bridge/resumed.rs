//! A legacy client loses its stream in the middle of a call and comes back for the rest; or it says goodbye.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::{Era, LEGACY, Options};

use crate::grove::{ERAS, eventually, over_http, text};
use crate::hub::{Hub, Legacy, Stream};
use crate::talk::{LATEST, everything};

async fn resume(hub: &Hub, session: &str, last: &str) -> Stream {
    let headers = [("accept", "text/event-stream"), ("mcp-session-id", session), ("last-event-id", last)];
    hub.open(Method::GET, "/mcp", &headers, "").await
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": format!("mcp__s__{tool}"), "arguments": arguments, "_meta": { "progressToken": id } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

async fn answer(session: &Legacy<'_>, question: &Value, result: Value) {
    let answer = session.post(json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).await;
    assert_eq!(answer.status, 202);
}

#[tokio::test]
async fn a_lost_stream_goes_on_after_the_last_event_that_was_seen() {
    for era in ERAS {
        let (hub, server) = over_http(Options { era, ..Options::default() }).await;
        let session = hub.legacy_with("/mcp", LATEST, everything()).await;
        let mut stream = session.open(call(1, "sleep", json!({ "ms": 800 }))).await;
        let first = stream.next().await.unwrap();
        assert_eq!(first["params"]["progress"], 0.0, "{era:?}: {first}");
        let last = stream.last_id.clone().expect("events have ids");
        drop(stream);

        let mut rest = resume(&hub, &session.session, &last).await;
        let mut progress = Vec::new();
        let result = loop {
            let message = rest.next().await.unwrap_or_else(|| panic!("{era:?}: it ended early"));
            match message.get("result") {
                Some(result) => break result.clone(),
                None => progress.push(message["params"]["progress"].as_f64().unwrap()),
            }
        };
        assert_eq!(progress, [1.0, 2.0, 3.0, 4.0], "{era:?}");
        assert_eq!(text(&result), "slept 800 ms");
        assert_eq!(rest.next().await, None, "{era:?}: and then it ends");
        assert_eq!(server.cancelled(), 0, "{era:?}: a lost stream is no cancel");

        let mut all = resume(&hub, &session.session, &last).await;
        assert_eq!(all.next().await.unwrap()["params"]["progress"], 1.0, "{era:?}: it can be read twice");
    }
}

#[tokio::test]
async fn a_question_that_was_out_is_asked_again_and_its_answer_counts() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        let session = hub.legacy_with("/mcp", LATEST, everything()).await;
        let mut stream = session.open(call(1, "test_streaming_elicitation", json!({}))).await;
        let first = stream.next().await.unwrap();
        assert_eq!(first["method"], "notifications/progress", "{era:?}: {first}");
        let last = stream.last_id.clone().unwrap();
        drop(stream);
        let mut rest = resume(&hub, &session.session, &last).await;
        let question = loop {
            let message = rest.next().await.unwrap();
            if message["method"] == "elicitation/create" {
                break message;
            }
        };
        answer(&session, &question, json!({ "action": "decline" })).await;
        let message = rest.next().await.unwrap();
        assert_eq!(
            text(&message["result"]),
            "Elicitation completed: action=decline, content=null",
            "{era:?}: {message}"
        );
    }
}

#[tokio::test]
async fn only_the_last_revision_gets_an_empty_event_to_resume_from() {
    let (hub, _server) = over_http(Options::default()).await;
    for version in LEGACY {
        let session = hub.legacy_at("/mcp", version).await;
        let answer = session.open(call(1, "sleep", json!({ "ms": 4 }))).await.rest().await;
        let events: Vec<_> =
            answer.text().split("\n\n").filter(|it| it.contains("data:")).map(str::to_owned).collect();
        let empty = events[0].lines().any(|it| it.trim() == "data:");
        assert_eq!(empty, version == LATEST, "{version}: {}", events[0]);
        assert!(events.iter().all(|it| it.contains("id:")), "{version}: {events:?}");
    }
}

#[tokio::test]
async fn a_stream_can_be_resumed_by_its_own_session_only() {
    let (hub, _server) = over_http(Options::default()).await;
    let (owner, other) = (hub.legacy("/mcp").await, hub.legacy("/mcp").await);
    let mut stream = owner.open(call(1, "sleep", json!({ "ms": 400 }))).await;
    stream.next().await.unwrap();
    let last = stream.last_id.clone().unwrap();
    assert_eq!(resume(&hub, &other.session, &last).await.status, 404);
    for strange in ["nonsense", "", "99-1", "-1--1", "0-"] {
        assert_eq!(resume(&hub, &owner.session, strange).await.status, 404, "{strange}");
    }
    assert_eq!(resume(&hub, &owner.session, &last).await.status, 200);
}

#[tokio::test]
async fn the_end_of_a_session_ends_its_calls_and_its_session_at_the_server() {
    for era in ERAS {
        let (hub, server) = over_http(Options { era, ..Options::default() }).await;
        let session = hub.legacy_with("/mcp", LATEST, everything()).await;
        let mut running = session.open(call(1, "sleep", json!({ "ms": 60_000 }))).await;
        running.next().await.unwrap();
        let mut asking = session.open(call(2, "test_streaming_elicitation", json!({}))).await;
        while asking.next().await.unwrap()["method"] != "elicitation/create" {}
        let mut hearing = session.hear().await;
        server.clear_log();

        let ended = hub.ask(Method::DELETE, "/mcp", &[("mcp-session-id", &session.session)], "").await;
        assert_eq!(ended.status, 204, "{era:?}");
        // The end of its session ends a legacy server's calls; between two rounds a modern one has none.
        eventually(&format!("{era:?}: the server hears of it"), async || match era {
            Era::Modern => (server.cancelled() == 1).then_some(()),
            _ => server.log().iter().any(|it| it.http.as_deref() == Some("DELETE")).then_some(()),
        })
        .await;
        while let Some(message) = hearing.next().await {
            assert!(message.get("id").is_none(), "{era:?}: {message}");
        }
        assert_eq!(session.post(json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" })).await.status, 404);
        let again = hub.ask(Method::DELETE, "/mcp", &[("mcp-session-id", &session.session)], "").await;
        assert_eq!(again.status, 404, "{era:?}");
        assert_eq!(hub.get("/api/status").await["sessions"], 0, "{era:?}");
    }
}
