//! Requests that go together on one connection, against a server that sees how they come and answers as it is told.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use toolgrove_core::Error;
use toolgrove_core::call::Outgoing;
use toolgrove_core::instance::EraSetting;
use toolgrove_core::task::spawn;

use crate::bed::{Bed, bed, call, http};

const WAVE: usize = 12;
/// They go two to a connection.
const PAIRS: usize = WAVE / 2;
/// So many waves show that a server is quick: of the first of them the first three go alone because they are few.
const KNOWN: usize = 6;

/// What becomes of several calls that came over one connection.
#[derive(Debug, Clone, Copy)]
enum Manner {
    Plain,
    /// The first is answered with these bytes, as soon as it is here.
    Odd(&'static str),
    /// After the first answer the connection ends.
    Leaves,
    /// The first two get each other's answer.
    Confused,
    /// The answers do not say whose they are.
    Nameless,
    /// The first is answered when all are that were behind somebody.
    Slow,
}

#[derive(Debug)]
struct Server {
    url: String,
    manner: Mutex<Manner>,
    /// Calls seen so far, and how many there must be before one is answered.
    seen: watch::Sender<usize>,
    awaited: AtomicUsize,
    answered: watch::Sender<usize>,
    /// The most calls that waited on one connection.
    most: AtomicUsize,
    /// Connections that ended while calls waited on them.
    left: watch::Sender<usize>,
}

impl Server {
    async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let server = Arc::new(Self {
            url: format!("http://{}/mcp", listener.local_addr().expect("an address")),
            manner: Mutex::new(Manner::Plain),
            seen: watch::Sender::new(0),
            awaited: AtomicUsize::new(0),
            answered: watch::Sender::new(0),
            most: AtomicUsize::new(0),
            left: watch::Sender::new(0),
        });
        let accepting = server.clone();
        spawn("server", async move {
            while let Ok((stream, _)) = listener.accept().await {
                spawn("connection", Connection::of(accepting.clone(), stream).serve());
            }
        });
        server
    }

    fn bed(&self, era: EraSetting) -> Bed {
        bed(http(&self.url), |instance| instance.era = era)
    }

    fn be(&self, manner: Manner) {
        *self.manner.lock().expect("whole") = manner;
        self.most.store(0, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

struct Connection {
    server: Arc<Server>,
    stream: TcpStream,
    bytes: Vec<u8>,
    waiting: VecDeque<Value>,
}

impl Connection {
    fn of(server: Arc<Server>, stream: TcpStream) -> Self {
        Self { server, stream, bytes: Vec::new(), waiting: VecDeque::new() }
    }

    async fn serve(mut self) {
        let server = self.server.clone();
        let (mut seen, mut answered) = (server.seen.subscribe(), server.answered.subscribe());
        loop {
            let manner = *server.manner.lock().expect("whole");
            let is_together = self.waiting.len() > 1;
            let may = match manner {
                Manner::Odd(_) if is_together => self.answer(manner).await,
                Manner::Slow if is_together => tokio::select! {
                    read = self.read() => read,
                    () = reaches(&mut answered, WAVE - PAIRS) => self.answer(Manner::Plain).await,
                },
                _ => tokio::select! {
                    read = self.read() => read,
                    () = reaches(&mut seen, server.awaited.load(Ordering::SeqCst)), if !self.waiting.is_empty() => {
                        self.answer(manner).await
                    }
                },
            };
            if may.is_none() {
                return;
            }
        }
    }

    /// Takes what comes; none at the end.
    async fn read(&mut self) -> Option<()> {
        let read = self.stream.read_buf(&mut self.bytes).await;
        if !read.is_ok_and(|it| it > 0) {
            if !self.waiting.is_empty() {
                self.server.left.send_modify(|it| *it += 1);
            }
            return None;
        }
        self.take().await;
        Some(())
    }

    /// Takes the requests that are here. What is no call is answered at once.
    async fn take(&mut self) {
        while let Some(request) = self.next() {
            let id = &request["id"];
            match request["method"].as_str() {
                Some("tools/call") => {
                    self.waiting.push_back(request.clone());
                    self.server.most.fetch_max(self.waiting.len(), Ordering::SeqCst);
                    self.server.seen.send_modify(|it| *it += 1);
                }
                Some("initialize") => {
                    let result = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "s", "version": "1" } });
                    self.say(&json!({ "jsonrpc": "2.0", "id": id, "result": result })).await;
                }
                Some(_) => self.send("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await,
                // The stream of a session.
                None => self.send("HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n").await,
            }
        }
    }

    fn next(&mut self) -> Option<Value> {
        let head = self.bytes.windows(4).position(|it| it == b"\r\n\r\n")? + 4;
        let text = String::from_utf8_lossy(&self.bytes[..head]).to_ascii_lowercase();
        assert_eq!(text.matches("host: 127.0.0.1:").count(), 1, "{text}");
        let length = text.split("content-length: ").nth(1).and_then(|it| it.lines().next()?.parse().ok());
        let end = head + length.unwrap_or(0);
        if self.bytes.len() < end {
            return None;
        }
        let request = if end > head {
            serde_json::from_slice(&self.bytes[head..end]).expect("a message")
        } else {
            json!({})
        };
        self.bytes.drain(..end);
        Some(request)
    }

    /// Answers those that wait; none if that was the last of this connection.
    async fn answer(&mut self, manner: Manner) -> Option<()> {
        let is_together = self.waiting.len() > 1;
        if let (Manner::Confused, true) = (manner, is_together) {
            let id = self.waiting[0]["id"].take();
            self.waiting[0]["id"] = self.waiting[1]["id"].take();
            self.waiting[1]["id"] = id;
        }
        while let Some(mut call) = self.waiting.pop_front() {
            if let (Manner::Nameless, true) = (manner, is_together) {
                call["id"] = Value::Null;
                call["params"]["arguments"]["text"] = json!("somebody's");
            }
            if let (Manner::Odd(bytes), true) = (manner, is_together) {
                self.send(bytes).await;
                continue;
            }
            let text = call["params"]["arguments"]["text"].clone();
            let result = json!({ "content": [{ "type": "text", "text": text }], "resultType": "complete" });
            self.say(&json!({ "jsonrpc": "2.0", "id": call["id"], "result": result })).await;
            self.server.answered.send_modify(|it| *it += 1);
            if let (Manner::Leaves, true) = (manner, is_together) {
                return None;
            }
        }
        Some(())
    }

    async fn say(&mut self, message: &Value) {
        let body = message.to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: keep-alive\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.send(&(head + &body)).await;
    }

    async fn send(&mut self, bytes: &str) {
        // Who has gone does not hear it.
        let _ = self.stream.write_all(bytes.as_bytes()).await;
    }
}

async fn reaches(count: &mut watch::Receiver<usize>, enough: usize) {
    count.wait_for(|it| *it >= enough).await.map(drop).expect("a server");
}

fn harmless(text: &str, chat: usize) -> Outgoing {
    Outgoing { repeatable: true, chat: chat.to_string().into(), ..call("echo", json!({ "text": text })) }
}

fn check(answer: &Result<Value, Error>, text: &str) {
    let answer = answer.as_ref().unwrap_or_else(|it| panic!("{text}: {it}"));
    assert_eq!(answer["content"][0]["text"], text);
}

/// Calls that go alone, until the server is known.
async fn get_known(server: &Server, bed: &Bed) {
    for _ in 0..KNOWN {
        wave(server, bed, true).await;
        assert_eq!(server.most(), 1);
    }
}

/// A server that is known.
async fn known(era: EraSetting) -> (Arc<Server>, Bed) {
    let server = Server::start().await;
    let bed = server.bed(era);
    get_known(&server, &bed).await;
    (server, bed)
}

/// Many calls at once, none of which is answered before all are there. Everybody gets their own answer.
async fn wave(server: &Server, bed: &Bed, repeatable: bool) {
    server.awaited.store(*server.seen.borrow() + WAVE, Ordering::SeqCst);
    server.answered.send_replace(0);
    let texts: Vec<_> = (0..WAVE).map(|it| format!("wave {it}")).collect();
    let calls = texts
        .iter()
        .enumerate()
        .map(|(chat, text)| bed.request(Outgoing { repeatable, ..harmless(text, chat) }));
    for (answer, text) in join_all(calls).await.iter().zip(&texts) {
        check(answer, text);
    }
}

const ERAS: [EraSetting; 2] = [EraSetting::Legacy, EraSetting::Modern];

#[tokio::test]
async fn calls_of_many_chats_that_may_run_twice_go_together() {
    for era in ERAS {
        let (server, bed) = known(era).await;
        for _ in 0..3 {
            server.be(Manner::Plain);
            wave(&server, &bed, true).await;
            assert!(server.most() > 1, "{}", server.most());
        }
    }
}

#[tokio::test]
async fn a_call_that_may_not_run_twice_goes_alone() {
    let (server, bed) = known(EraSetting::Legacy).await;
    wave(&server, &bed, false).await;
    assert_eq!(server.most(), 1);
}

#[tokio::test]
async fn a_server_that_is_not_known_gets_calls_alone() {
    let server = Server::start().await;
    let bed = server.bed(EraSetting::Modern);
    wave(&server, &bed, true).await;
    assert_eq!(server.most(), 1);
}

#[tokio::test]
async fn whoever_was_behind_an_answer_that_ended_the_connection_goes_alone() {
    for era in ERAS {
        let (server, bed) = known(era).await;
        server.be(Manner::Leaves);
        wave(&server, &bed, true).await;
        assert!(server.most() > 1);
    }
}

#[tokio::test]
async fn an_answer_of_another_kind_is_asked_for_again_alone() {
    for odd in [
        "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno",
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n]]",
        "what?\r\n\r\n",
    ] {
        let (server, bed) = known(EraSetting::Modern).await;
        server.be(Manner::Odd(odd));
        wave(&server, &bed, true).await;
        assert!(server.most() > 1, "{odd}");
    }
}

#[tokio::test]
async fn a_server_that_confuses_its_answers_gets_calls_alone_from_then_on() {
    for (era, manner) in ERAS.into_iter().flat_map(|it| [(it, Manner::Confused), (it, Manner::Nameless)]) {
        let (server, bed) = known(era).await;
        server.be(manner);
        wave(&server, &bed, true).await;
        assert!(server.most() > 1);
        server.be(Manner::Plain);
        get_known(&server, &bed).await;
        wave(&server, &bed, true).await;
        assert_eq!(server.most(), 1);
    }
}

#[tokio::test]
async fn whoever_is_behind_a_slow_answer_does_not_wait_for_it() {
    for era in ERAS {
        let (server, bed) = known(era).await;
        // On connections that have answered before.
        wave(&server, &bed, true).await;
        server.be(Manner::Slow);
        wave(&server, &bed, true).await;
        assert!(server.most() > 1);
    }
}

#[tokio::test]
async fn a_slow_call_that_nobody_waits_for_ends_its_connection() {
    let (server, bed) = known(EraSetting::Modern).await;
    server.be(Manner::Plain);
    server.awaited.store(usize::MAX, Ordering::SeqCst);
    let seen = *server.seen.borrow();
    let texts: Vec<_> = (0..WAVE).map(|it| format!("left {it}")).collect();
    let calls = join_all(texts.iter().enumerate().map(|(chat, text)| bed.request(harmless(text, chat))));
    let mut all_seen = server.seen.subscribe();
    tokio::select! {
        _ = calls => panic!("nobody was answered"),
        () = reaches(&mut all_seen, seen + WAVE) => {}
    }
    reaches(&mut server.left.subscribe(), PAIRS).await;
}
