//! Streams of legacy sessions on a paused clock: how long they wait for a client that left, and what is left of them.

use std::pin::Pin;
use std::time::Duration;

use futures::StreamExt;
use http_body_util::BodyExt;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::advance;
use toolgrove_core::event::{Event, Events, Progress};
use toolgrove_wire::{Draft, Id, Raw};

use super::super::answer::ClientEra;
use super::super::answering::Answering;
use super::super::bed::settle;
use super::super::stream::{Asker, Running, Streams, Takes};
use super::*;

/// A request that runs until it is told its result.
struct Request {
    events: Events,
    /// Alive for as long as the request is.
    alive: Arc<()>,
    end: oneshot::Sender<Draft>,
}

fn request() -> (Request, Box<Running>) {
    let (events, heard) = Events::channel(Progress::Wanted);
    let (end, ended) = oneshot::channel();
    let alive = Arc::new(());
    let held = alive.clone();
    let answer = Answering::lasting(async move {
        let end = ended.await.expect("an end");
        drop(held);
        Ok(end)
    });
    let running = Box::new(Running {
        id: Id::number(1),
        era: ClientEra::Legacy(Version::LATEST),
        progress_token: Some(Raw::of(&json!(7))),
        events: heard,
        answer,
        asker: Asker::Nobody,
        visits: Vec::new(),
    });
    (Request { events, alive, end }, running)
}

impl Request {
    fn runs(&self) -> bool {
        Arc::strong_count(&self.alive) == 2
    }

    fn report(&self, progress: u32) {
        self.events.send(Event::Progress(Raw::of(&json!({ "progress": progress }))));
    }
}

async fn pass(seconds: u64) {
    settle().await;
    advance(Duration::from_secs(seconds)).await;
    settle().await;
}

type Read = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// The next event that is no comment.
async fn next(stream: &mut Read) -> Option<String> {
    loop {
        let event = String::from_utf8(stream.next().await?.to_vec()).expect("text");
        if !event.starts_with(':') {
            return Some(event);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_client_does_not_come_back_within_a_minute_is_cancelled() {
    let replays = Arc::new(Replays::default());
    let (request, running) = request();
    let mut stream: Read = Box::pin(replays.record(running, Some(b"{}"), Version::LATEST));
    assert!(next(&mut stream).await.expect("something to resume from").contains("id: 0-0"));
    drop(stream);
    pass(59).await;
    assert!(request.runs(), "a disconnect is no cancel");

    // Who comes back in time may stay away as long again.
    let mut stream: Read = Box::pin(replays.after("0-0").expect("the stream is there"));
    assert!(next(&mut stream).await.expect("what it missed").contains("data: {}"));
    pass(600).await;
    assert!(request.runs(), "somebody listens");
    request.report(1);
    assert!(next(&mut stream).await.expect("a report").contains("\"progress\":1"));
    drop(stream);
    pass(59).await;
    assert!(request.runs());
    pass(2).await;
    assert!(!request.runs(), "nobody wants it any more");
    assert_eq!(replays.count(), 0);
    assert!(replays.after("0-0").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_result_waits_a_minute_for_its_client() {
    let replays = Arc::new(Replays::default());
    let (request, running) = request();
    drop(replays.record(running, Some(b"{}"), Version::LATEST));
    pass(30).await;
    request.end.send(Raw::of(&json!({ "content": [] })).into()).expect("it runs");
    pass(59).await;
    let mut stream: Read = Box::pin(replays.after("0-1").expect("the stream is there"));
    assert!(next(&mut stream).await.expect("the result").contains("\"content\":[]"));
    assert_eq!(next(&mut stream).await, None);
    pass(2).await;
    assert_eq!(replays.count(), 0);
    assert!(replays.after("0-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_client_left_before_it_heard_anything_has_a_minute_too() {
    let (request, running) = request();
    let mut answer = Box::pin(running.respond(Takes { streams: Streams::Accepted, zips: None }));
    assert!(futures::poll!(&mut answer).is_pending());
    drop(answer);
    pass(59).await;
    assert!(request.runs());
    pass(2).await;
    assert!(!request.runs());
}

#[tokio::test]
async fn a_quiet_stream_can_be_resumed() {
    let app = super::super::bed::app().await;
    let caller = app.gate.solo().expect("one person").clone();
    let session = app.sessions.open(
        &caller,
        toolgrove_core::call::View::All,
        Version::LATEST,
        toolgrove_wire::Abilities::NONE,
        None,
    );
    let (request, running) = request();
    let running = Box::new(Running { asker: Asker::Session(session.clone()), ..*running });
    let mut body = running.respond(Takes { streams: Streams::Accepted, zips: None }).await.into_body();
    let mut heard = String::new();
    while !heard.contains("id: 0-0") {
        let frame = body.frame().await.expect("more").expect("no error");
        heard.push_str(&String::from_utf8_lossy(frame.data_ref().expect("data")));
    }
    drop(body);
    request.end.send(Raw::of(&json!({ "content": [] })).into()).expect("it runs");
    pass(30).await;
    let mut stream: Read = Box::pin(session.replays.after("0-0").expect("the stream is there"));
    assert!(next(&mut stream).await.expect("the result").contains("\"content\":[]"));
    drop(stream);
    pass(61).await;
    assert_eq!(session.replays.count(), 0);
}
