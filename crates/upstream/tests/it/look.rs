//! The second look: tools that a legacy server has only for clients that can be asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolgrove_core::call::{Discovery, Links};
use toolgrove_core::event::{ListKind, News};
use toolgrove_core::instance::Transport;
use toolgrove_wire::Raw;

use crate::bed::{Bed, bed, freeze, http, process};
use crate::peer::{Peer, Reply, Seen, event, legacy};
use crate::witness::Witness;

fn names(tools: &[Raw]) -> Vec<String> {
    tools.iter().filter_map(|it| it.get_text("name")).collect()
}

fn tools(discovery: &Discovery) -> Vec<String> {
    let list = discovery.lists.iter().find(|it| it.0 == ListKind::Tools).expect("a list");
    names(list.1.as_ref().expect("tools"))
}

async fn list(bed: &Bed) -> Vec<String> {
    names(&bed.pool.list(&bed.instance, ListKind::Tools).await.expect("a list").items)
}

/// Whether a request belongs to the session of a client that can be asked.
fn can_be_asked(seen: &Seen) -> bool {
    seen.header("mcp-session-id") == Some("asked")
        || seen.body["params"]["capabilities"].as_object().is_some_and(|it| !it.is_empty())
}

/// A legacy server that has more for a client that can be asked.
fn conditional(seen: &Seen) -> Reply {
    match seen.method() {
        "initialize" if can_be_asked(seen) => {
            let result = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} } });
            Reply::result(seen, result).with("mcp-session-id", "asked")
        }
        "tools/list" if can_be_asked(seen) => {
            let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            let tools = json!({ "tools": [{ "name": "confirm" }, { "name": "echo", "n": 2 }] });
            let answer = json!({ "jsonrpc": "2.0", "id": seen.id(), "result": tools });
            Reply::events(&[event(&changed), event(&answer)].concat())
        }
        _ => legacy(seen),
    }
}

#[tokio::test]
async fn what_a_server_has_for_clients_that_can_be_asked_is_in_every_list() {
    let peer = Peer::start(conditional).await;
    let mut bed = bed(http(&peer.url), |_| {});
    assert_eq!(tools(&bed.discover().await.expect("a server")), ["echo", "confirm"]);
    let greetings: Vec<Value> = peer
        .seen
        .all()
        .into_iter()
        .filter(|it| it.method() == "initialize")
        .map(|mut it| it.body["params"]["capabilities"].take())
        .collect();
    let everything = json!({
        "elicitation": { "form": {}, "url": {} },
        "sampling": { "tools": {}, "context": {} },
        "roots": { "listChanged": true },
        "extensions": { "io.modelcontextprotocol/ui": { "mimeTypes": ["text/html;profile=mcp-app"] } },
    });
    assert_eq!(greetings, [json!({}), everything]);
    peer.wait_for("DELETE").await;
    assert_eq!(bed.pool.counts(), (1, 0), "the visitor has left");
    // A list needs no other look; who asks for everything gets one, because the last one found something.
    assert_eq!((list(&bed).await, peer.count("initialize")), (vec!["echo".into(), "confirm".into()], 2));
    assert_eq!(tools(&bed.discover().await.expect("a server")), ["echo", "confirm"]);
    assert_eq!(peer.count("initialize"), 3);
    while let Ok(report) = bed.reports.try_recv() {
        assert!(!matches!(report.news, News::ListChanged(_)), "the visit is nobody's news");
    }
}

#[tokio::test]
async fn a_server_that_shows_everybody_the_same_is_looked_at_twice_once() {
    let peer = Peer::start(legacy).await;
    let bed = bed(http(&peer.url), |_| {});
    assert_eq!(list(&bed).await, ["echo"]);
    for _ in 0..2 {
        assert_eq!(tools(&bed.discover().await.expect("a server")), ["echo"]);
        assert_eq!(list(&bed).await, ["echo"]);
    }
    assert_eq!(peer.count("initialize"), 2);
    let witness = Witness::new();
    let process = crate::bed::bed(Transport::Stdio(process(&witness, &[])), |_| {});
    for _ in 0..3 {
        assert_eq!(tools(&process.discover().await.expect("a server")), ["echo"]);
    }
    assert_eq!(witness.starts(), 2);
}

#[tokio::test]
async fn a_second_look_that_fails_spoils_nothing_and_is_tried_again_when_somebody_asks() {
    let is_well = Arc::new(AtomicBool::new(false));
    let well = is_well.clone();
    let peer = Peer::start(move |seen| match seen.method() {
        "initialize" if can_be_asked(seen) && !well.load(Ordering::SeqCst) => Reply::status("500 No"),
        _ => conditional(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |_| {});
    assert_eq!(tools(&bed.discover().await.expect("a server")), ["echo"]);
    is_well.store(true, Ordering::SeqCst);
    assert_eq!((list(&bed).await, peer.count("initialize")), (vec!["echo".into()], 2));
    assert_eq!(tools(&bed.discover().await.expect("a server")), ["echo", "confirm"]);
    is_well.store(false, Ordering::SeqCst);
    assert_eq!(tools(&bed.discover().await.expect("a server")), ["echo", "confirm"], "what it had, it has");
}

#[tokio::test]
async fn a_slow_second_look_is_not_waited_for_and_what_it_finds_is_announced() {
    let (tx, rx) = mpsc::unbounded_channel::<String>();
    let slow = std::sync::Mutex::new(Some(rx));
    let (asked, id) = (Arc::new(AtomicUsize::new(0)), Arc::new(std::sync::Mutex::new(Value::Null)));
    let (count, place) = (asked.clone(), id.clone());
    let peer = Peer::start(move |seen| match seen.method() {
        "tools/list" if can_be_asked(seen) => {
            count.fetch_add(1, Ordering::SeqCst);
            *place.lock().expect("whole") = seen.id().clone();
            Reply::Stream(slow.lock().expect("whole").take().expect("asked once"))
        }
        _ => conditional(seen),
    })
    .await;
    let mut bed = bed(http(&peer.url), |_| {});
    let clock = freeze();
    let waiting = bed.discover();
    let moved = async {
        peer.seen.wait_for("the second look", |_| asked.load(Ordering::SeqCst) == 1).await;
        tokio::time::advance(Duration::from_secs(6)).await;
    };
    let (found, ()) = tokio::join!(waiting, moved);
    assert_eq!(tools(&found.expect("a server")), ["echo"]);
    drop(clock);
    tokio::time::resume();
    let answer = json!({ "jsonrpc": "2.0", "id": *id.lock().expect("whole"), "result": { "tools": [{ "name": "late" }] } });
    tx.send(event(&answer)).expect("open");
    bed.news(|it| matches!(it, News::ListChanged(ListKind::Tools)).then_some(())).await;
    assert_eq!(list(&bed).await, ["echo", "late"]);
}
