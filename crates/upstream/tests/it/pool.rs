//! What a pool promises whatever the transport: isolation, back-off, idle and stale links.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use toolgrove_core::call::Links;
use toolgrove_core::event::Events;
use toolgrove_core::instance::Transport;
use uuid::Uuid;

use crate::bed::{bed, bed_with, call, http, instance, process};
use crate::peer::{Peer, Reply, legacy, modern};
use crate::witness::Witness;

#[tokio::test]
async fn one_dead_instance_does_not_delay_another() {
    let dead = Peer::start(|_| Reply::Never).await;
    let well = Peer::start(modern).await;
    let bed = bed(http(&well.url), |_| {});
    let other = Arc::new(instance(http(&dead.url), |it| it.id = Uuid::from_u128(2)));
    let (outgoing, events) = (call("echo", json!({})), Events::none());
    let stuck = bed.pool.request(&other, &outgoing, &events);
    tokio::pin!(stuck);
    tokio::select! {
        result = &mut stuck => panic!("{result:?}"),
        result = bed.call("echo", json!({})) => drop(result.expect("a result")),
    }
}

#[tokio::test]
async fn a_failed_opening_is_shared_and_not_repeated_at_once() {
    let well = Arc::new(AtomicBool::new(false));
    let is_well = well.clone();
    let peer = Peer::start(move |seen| {
        if is_well.load(Ordering::SeqCst) { modern(seen) } else { Reply::status("503 Service Unavailable") }
    })
    .await;
    let bed = bed(http(&peer.url), |_| {});
    let calls = (0..20).map(|_| bed.call("echo", json!({})));
    for result in futures::future::join_all(calls).await {
        assert_eq!(result.expect_err("down").to_string(), "server answered 503 Service Unavailable");
    }
    assert_eq!(peer.seen.all().len(), 1, "one opening for all, then a pause");
    // Somebody asks: the pause does not count.
    well.store(true, Ordering::SeqCst);
    bed.discover().await.expect("a server");
    bed.call("echo", json!({})).await.expect("a result");
}

#[tokio::test]
async fn a_call_that_is_given_up_does_not_spoil_the_opening_for_others() {
    let witness = Witness::new();
    let bed = bed(Transport::Stdio(process(&witness, &[])), |_| {});
    {
        let first = bed.call("echo", json!({}));
        tokio::pin!(first);
        assert!(futures::poll!(&mut first).is_pending());
    }
    bed.call("echo", json!({})).await.expect("a result");
    assert_eq!(witness.starts(), 1);
}

#[tokio::test]
async fn an_idle_session_is_deleted_and_opened_again_when_needed() {
    let peer = Peer::start(legacy).await;
    let bed = bed_with(http(&peer.url), Duration::from_millis(50), |_| {});
    bed.call("echo", json!({})).await.expect("a result");
    peer.wait_for("DELETE").await;
    bed.call("echo", json!({})).await.expect("a result");
    assert_eq!((peer.count("initialize"), peer.count("server/discover")), (2, 1));
}

#[tokio::test]
async fn an_idle_process_is_ended() {
    let witness = Witness::new();
    let bed = bed_with(Transport::Stdio(process(&witness, &[])), Duration::from_millis(200), |_| {});
    bed.call("echo", json!({})).await.expect("a result");
    witness.lines.wait_for("the end", |it| it == "eof").await;
}

#[tokio::test]
async fn links_of_an_older_revision_are_closed() {
    let peer = Peer::start(legacy).await;
    let bed = bed(http(&peer.url), |_| {});
    bed.call("echo", json!({})).await.expect("a result");
    let newer = Arc::new(instance(http(&peer.url), |it| it.revision = 2));
    bed.pool.request(&newer, &call("echo", json!({})), &Events::none()).await.expect("a result");
    peer.wait_for("DELETE").await;
    // Who still holds the old one gets the new link.
    bed.call("echo", json!({})).await.expect("a result");
    assert_eq!(peer.count("initialize"), 2);
}

#[tokio::test]
async fn each_chat_has_its_own_session_and_a_modern_server_has_none() {
    for (script, sessions) in [(legacy as fn(&_) -> _, 2), (modern, 0)] {
        let peer = Peer::start(script).await;
        let bed = bed(http(&peer.url), |_| {});
        for chat in ["one", "two", "one"] {
            let mut outgoing = call("echo", json!({}));
            outgoing.chat = chat.into();
            bed.request(outgoing).await.expect("a result");
        }
        assert_eq!(peer.count("initialize"), sessions);
        assert_eq!(peer.count("server/discover"), 1);
    }
}

#[tokio::test]
async fn shutdown_closes_everything() {
    let peer = Peer::start(legacy).await;
    let bed = bed(http(&peer.url), |_| {});
    bed.call("echo", json!({})).await.expect("a result");
    bed.pool.shutdown().await;
    assert_eq!(peer.count("DELETE"), 1);
}

#[tokio::test]
async fn what_cannot_be_reached_says_why() {
    let transport =
        Transport::Impossible { kind: "pipe", problem: "a named pipe needs a hub on Windows".into() };
    let error = bed(transport, |_| {}).call("echo", json!({})).await.expect_err("impossible");
    assert_eq!(error.to_string(), "cannot reach `peer`: a named pipe needs a hub on Windows");
}
