//! HTTP+SSE of 2024-11-05.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolgrove_core::event::News;
use toolgrove_core::instance::Transport;

use crate::bed::{Bed, bed, http, reach};
use crate::peer::{Peer, Reply, event};

/// Answers POSTs to `/messages` on the stream that GET opened; everything else is 405.
pub(crate) async fn sse_peer(endpoint: &'static str) -> Peer {
    let stream: Arc<Mutex<Option<mpsc::UnboundedSender<String>>>> = Arc::default();
    Peer::start(move |seen| {
        if seen.http == "GET" {
            let (tx, rx) = mpsc::unbounded_channel();
            tx.send(format!("event: endpoint\ndata: {endpoint}\n\n")).expect("open");
            *stream.lock().expect("whole") = Some(tx);
            return Reply::Stream(rx);
        }
        if !seen.path.starts_with("/messages") {
            return Reply::status("405 Method Not Allowed");
        }
        let result = match seen.method() {
            "initialize" => json!({ "protocolVersion": "2024-11-05", "capabilities": { "tools": {} } }),
            "tools/list" => json!({ "tools": [{ "name": "echo" }] }),
            "tools/call" if seen.tool() == "hang" => return Reply::status("202 Accepted"),
            "tools/call" => json!({ "echo": seen.body["params"]["arguments"] }),
            _ => Value::Null,
        };
        if seen.tool() == "cut" {
            stream.lock().expect("whole").take();
        } else if !result.is_null() {
            let answer = json!({ "jsonrpc": "2.0", "id": seen.id(), "result": result });
            let stream = stream.lock().expect("whole");
            stream.as_ref().expect("a stream").send(event(&answer)).expect("open");
        }
        Reply::status("202 Accepted")
    })
    .await
}

async fn check(bed: &Bed, peer: &Peer) {
    let discovery = bed.discover().await.expect("a server");
    assert_eq!(discovery.verdict.evidence, "HTTP+SSE (deprecated)");
    assert_eq!(bed.call("echo", json!({ "a": 1 })).await.expect("a result")["echo"]["a"], 1);
    for seen in peer.seen.all() {
        assert_eq!(seen.header("x-api-key"), Some("abc123"), "{}", seen.method());
    }
}

/// Case `sse-fallback`.
#[tokio::test]
async fn a_server_that_takes_no_post_is_spoken_to_over_http_sse() {
    let peer = sse_peer("/messages?session=1").await;
    check(&bed(http(&peer.url), |_| {}), &peer).await;
    let first: Vec<_> = peer.methods().into_iter().take(3).collect();
    assert_eq!(first, ["server/discover", "initialize", "GET"]);
}

#[tokio::test]
async fn the_kind_sse_goes_there_directly() {
    let peer = sse_peer("/messages").await;
    check(&bed(Transport::Sse(reach(&peer.url)), |_| {}), &peer).await;
    assert_eq!(peer.methods()[..2], ["GET", "initialize"]);
}

#[tokio::test]
async fn an_endpoint_on_another_origin_is_refused() {
    let peer = sse_peer("http://elsewhere.example/messages").await;
    let error = bed(Transport::Sse(reach(&peer.url)), |_| {}).discover().await.expect_err("refused");
    assert_eq!(
        error.to_string(),
        "`peer` sent something that is not MCP: its endpoint is on another origin (http://elsewhere.example)"
    );
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_by_name() {
    let peer = sse_peer("/messages").await;
    let bed = bed(Transport::Sse(reach(&peer.url)), |_| {});
    tokio::select! {
        result = bed.call("hang", json!({})) => panic!("{result:?}"),
        _ = peer.wait_for("tools/call") => {}
    }
    let id = peer.wait_for("tools/call").await.id().clone();
    assert_eq!(peer.wait_for("notifications/cancelled").await.body["params"]["requestId"], id);
}

#[tokio::test]
async fn a_stream_that_ends_fails_the_call_and_the_next_one_opens_another() {
    let peer = sse_peer("/messages").await;
    let mut bed = bed(Transport::Sse(reach(&peer.url)), |_| {});
    let error = bed.call("cut", json!({})).await.expect_err("cut");
    assert_eq!(error.to_string(), "cannot reach `peer`: the event stream ended");
    bed.news(|it| matches!(it, News::Lost(_)).then_some(())).await;
    bed.call("echo", json!({})).await.expect("a new stream");
    assert_eq!(peer.count("tools/call"), 2);
}
