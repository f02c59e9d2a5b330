//! Watched resources: told in both eras, remembered over every loss.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolgrove_core::call::{Links, Outgoing, Subject, Watching};
use toolgrove_core::event::{ListKind, News};
use toolgrove_fixture::{Era, Fixture, Kind, Options};
use toolgrove_wire::Abilities;

use crate::bed::{Bed, bed, bed_with, call, http};
use crate::line_peer::{LinePeer, asking};
use crate::peer::{Peer, Reply, event, legacy, modern};

fn touch() -> Outgoing {
    call("touch", json!({ "uri": "test://watched-resource" }))
}

impl Bed {
    async fn watch(&self, uri: &str) {
        self.pool
            .watch(&self.instance, &Subject::Resource(uri.into()), Watching::Start)
            .await
            .expect("watched");
    }

    async fn unwatch(&self, uri: &str) {
        self.pool
            .watch(&self.instance, &Subject::Resource(uri.into()), Watching::Stop)
            .await
            .expect("unwatched");
    }

    async fn updated(&mut self) -> String {
        self.news(|it| if let News::ResourceUpdated { uri } = it { Some(uri) } else { None }).await
    }
}

#[tokio::test]
async fn a_socket_is_subscribed_again_after_it_was_lost_and_kept_while_watched() {
    let peer = LinePeer::start(asking);
    let mut bed = bed_with(peer.transport(), Duration::from_millis(50), |_| {});
    bed.watch("a://1").await;
    bed.call("touch", json!({})).await.expect("a result");
    assert_eq!(bed.updated().await, "a://1");
    bed.call("crash", json!({})).await.expect_err("gone");
    // Nobody knows what was missed.
    assert_eq!(bed.updated().await, "a://1");
    let again = peer
        .lines
        .wait_for("again", |it| it.connection == 1 && it.message["method"] == "resources/subscribe");
    assert_eq!(again.await.message["params"]["uri"], "a://1");
    bed.call("touch", json!({})).await.expect("a result");
    assert_eq!(bed.updated().await, "a://1");
    assert_eq!(peer.count("eof"), 0, "not closed for being idle");
    bed.unwatch("a://1").await;
    peer.wait_for("resources/unsubscribe").await;
    peer.wait_for("eof").await;
}

#[tokio::test]
async fn a_session_that_is_gone_is_opened_and_subscribed_again() {
    let gone = Arc::new(AtomicBool::new(false));
    let streams: Arc<Mutex<Vec<mpsc::UnboundedSender<String>>>> = Arc::default();
    let (is_gone, kept) = (gone.clone(), streams.clone());
    let peer = Peer::start(move |seen| match (seen.http.as_str(), seen.method()) {
        ("GET", _) if is_gone.swap(false, Ordering::SeqCst) => Reply::status("404 Not Found"),
        ("GET", _) => {
            let (tx, rx) = mpsc::unbounded_channel();
            tx.send("retry: 1\ndata:\n\n".to_owned()).expect("open");
            kept.lock().expect("whole").push(tx);
            Reply::Stream(rx)
        }
        (_, "resources/subscribe" | "resources/unsubscribe") => Reply::result(seen, json!({})),
        _ => legacy(seen),
    })
    .await;
    let mut bed = bed(http(&peer.url), |_| {});
    bed.watch("a://1").await;
    peer.wait_for("GET").await;
    let update = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": "a://1" } });
    streams.lock().expect("whole")[0].send(event(&update)).expect("open");
    assert_eq!(bed.updated().await, "a://1");
    gone.store(true, Ordering::SeqCst);
    streams.lock().expect("whole").clear();
    assert_eq!(bed.updated().await, "a://1");
    assert_eq!((peer.count("initialize"), peer.count("resources/subscribe")), (2, 2));
    bed.unwatch("a://1").await;
    assert_eq!(peer.count("resources/unsubscribe"), 1);
}

#[tokio::test]
async fn a_refused_subscription_is_an_error_and_not_remembered() {
    let peer = Peer::start(|seen| match seen.method() {
        "resources/subscribe" => Reply::error("200 OK", seen, -32602, "no such resource"),
        _ => legacy(seen),
    })
    .await;
    let bed_legacy = bed(http(&peer.url), |_| {});
    let error = bed_legacy
        .pool
        .watch(&bed_legacy.instance, &Subject::Resource("a://1".into()), Watching::Start)
        .await
        .expect_err("refused");
    assert_eq!(error.to_string(), "MCP error -32602: no such resource");

    let peer = Peer::start(modern).await;
    let bed_modern = bed(http(&peer.url), |_| {});
    let error = bed_modern
        .pool
        .watch(&bed_modern.instance, &Subject::Resource("a://1".into()), Watching::Start)
        .await
        .expect_err("refused");
    assert_eq!(error.to_string(), "MCP error -32601: no such method");
}

#[tokio::test]
async fn subscriptions_of_a_modern_server_are_opened_one_by_one_merged_and_renewed() {
    type Open = Vec<(Value, mpsc::UnboundedSender<String>)>;
    let open: Arc<Mutex<Open>> = Arc::default();
    let kept = open.clone();
    let peer = Peer::start(move |seen| match seen.method() {
        "subscriptions/listen" => {
            let (tx, rx) = mpsc::unbounded_channel();
            let params = json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": seen.id() } });
            let ack = json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params });
            tx.send(event(&ack)).expect("open");
            let uris = seen.body["params"]["notifications"]["resourceSubscriptions"].clone();
            kept.lock().expect("whole").push((uris, tx));
            Reply::Stream(rx)
        }
        _ => modern(seen),
    })
    .await;
    let mut bed = bed(http(&peer.url), |_| {});
    let live = || {
        let open = open.lock().expect("whole");
        open.iter()
            .filter(|it| !it.1.is_closed())
            .map(|it| it.0.as_array().map_or(0, Vec::len))
            .collect::<Vec<_>>()
    };
    for n in 0..8 {
        bed.watch(&format!("a://{n}")).await;
    }
    bed.watch("a://0").await;
    assert_eq!(live(), [1; 8], "one for each, and none twice");
    bed.watch("a://8").await;
    for _ in 0..8 {
        peer.wait_for("CLOSED").await;
    }
    let merged = async {
        while live() != [9] {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), merged).await.expect("one for all");
    bed.unwatch("a://3").await;
    let smaller = async {
        while live() != [8] {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), smaller).await.expect("one for the rest");
    let update = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": "a://5" } });
    open.lock().expect("whole").last().expect("one").1.send(event(&update)).expect("open");
    assert_eq!(bed.updated().await, "a://5");
    // Lost: listened to again after a pause, and everything may have changed.
    open.lock().expect("whole").clear();
    assert_eq!(bed.updated().await, "a://0");
    assert_eq!(live(), [8]);
}

#[tokio::test]
async fn a_modern_socket_is_listened_to_again_after_it_was_lost() {
    fn script(_: &mut crate::line_peer::Conversation, message: &Value) -> Vec<Value> {
        let subscription = json!({ "io.modelcontextprotocol/subscriptionId": message["id"] });
        match message["method"].as_str() {
            Some("server/discover") => {
                let result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } });
                vec![crate::line_peer::result(message, result)]
            }
            Some("subscriptions/listen") => {
                let params = json!({ "_meta": subscription });
                vec![crate::line_peer::said("notifications/subscriptions/acknowledged", params)]
            }
            Some("tools/call") => vec![json!("hang up")],
            _ => Vec::new(),
        }
    }
    let peer = LinePeer::start(script);
    let mut bed = bed(peer.transport(), |_| {});
    bed.watch("a://1").await;
    bed.call("crash", json!({})).await.expect_err("gone");
    assert_eq!(bed.updated().await, "a://1");
    assert_eq!(peer.count("subscriptions/listen"), 2);
    let listen = peer.wait_for("subscriptions/listen").await.message;
    assert_eq!(listen["params"]["notifications"], json!({ "resourceSubscriptions": ["a://1"] }));
    bed.unwatch("a://1").await;
    peer.wait_for("notifications/cancelled").await;
}

#[tokio::test]
async fn the_fixture_tells_of_a_watched_resource_in_both_eras() {
    for era in [Era::Legacy, Era::Modern] {
        let options = Options { kind: Kind::Http, era, ..Options::default() };
        let running = Fixture::start(options).await.expect("a fixture");
        let mut bed = bed(http(&running.url()), |_| {});
        bed.watch("test://watched-resource").await;
        bed.request(touch()).await.expect("a result");
        assert_eq!(bed.updated().await, "test://watched-resource");
        bed.unwatch("test://watched-resource").await;
        let methods = running.methods();
        let wanted = if era == Era::Legacy { "resources/unsubscribe" } else { "subscriptions/listen" };
        assert!(methods.iter().any(|it| it == wanted), "{methods:?}");
    }
}

#[tokio::test]
async fn a_tool_with_a_broken_annotation_is_left_out_where_headers_are_sent() {
    fn tools(seen: &crate::peer::Seen) -> Reply {
        let tool = |name: &str, kind: &str| json!({ "name": name, "inputSchema": { "properties": { "a": { "type": kind, "x-mcp-header": "A" } } } });
        Reply::result(
            seen,
            json!({ "tools": [tool("good", "string"), tool("bad", "number"), { "name": "plain" }] }),
        )
    }
    for (script, expected) in
        [(modern as fn(&_) -> _, vec!["good", "plain"]), (legacy, vec!["good", "bad", "plain"])]
    {
        let peer =
            Peer::start(move |seen| if seen.method() == "tools/list" { tools(seen) } else { script(seen) })
                .await;
        let bed = bed(http(&peer.url), |_| {});
        let listed = bed.pool.list(&bed.instance, ListKind::Tools).await.expect("a list").items;
        let names: Vec<_> = listed.iter().filter_map(|it| it.get_text("name")).collect();
        assert_eq!(names, expected);
        assert!(listed[0].as_str().contains("x-mcp-header"), "a good one is kept");
        if names.len() == 3 {
            assert_eq!(
                listed[1].as_str(),
                r#"{"name":"bad","inputSchema":{"properties":{"a":{"type":"number"}}}}"#
            );
        }
    }
}

#[tokio::test]
async fn a_task_of_a_modern_server_is_watched_and_a_legacy_one_has_none() {
    let running =
        Fixture::start(Options { era: Era::Modern, ..Options::default() }).await.expect("a fixture");
    let mut bed_modern = bed(http(&running.url()), |_| {});
    let mut outgoing = call("slow_compute", json!({ "seconds": 0.3 }));
    outgoing.abilities = Abilities::TASKS;
    let created = bed_modern.request(outgoing).await.expect("a task");
    let task = Subject::Task(created["taskId"].as_str().expect("an id").to_owned());
    bed_modern.pool.watch(&bed_modern.instance, &task, Watching::Start).await.expect("watched");
    let done = bed_modern.news(|it| match it {
        News::TaskChanged { id, params } if params.get_text("status").as_deref() == Some("completed") => {
            Some((id, params))
        }
        _ => None,
    });
    let (id, params) = done.await;
    assert_eq!((Subject::Task(id), params.get("_meta")), (task.clone(), None), "{}", params.as_str());
    bed_modern.pool.watch(&bed_modern.instance, &task, Watching::Stop).await.expect("unwatched");

    let peer = Peer::start(legacy).await;
    let bed_legacy = bed(http(&peer.url), |_| {});
    let refused = bed_legacy.pool.watch(&bed_legacy.instance, &task, Watching::Start).await;
    assert_eq!(refused.expect_err("no tasks").code(), "link.garbled");
}
