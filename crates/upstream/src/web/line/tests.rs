//! Connections that are kept, and those that are not, against a server that is nothing but a script.

use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use toolgrove_core::net::Guard;
use url::Url;

use super::*;
use crate::web::Dial;

/// A server that gives these answers, one for each request, and counts the connections it has had.
struct Server {
    url: Url,
    connections: Arc<AtomicUsize>,
}

#[derive(Clone, Copy)]
enum After {
    Stay,
    /// It ends the connection without having said so.
    Leave,
}

impl Server {
    async fn start(answer: &'static str, after: After) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        spawn("server", async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                spawn("connection", serve(stream, answer, after));
            }
        });
        Self { url, connections }
    }

    async fn ask(&self, dial: &Dial) -> Result<String, Unanswered> {
        let mut request = Request::new(Pieces::default());
        *request.uri_mut() = self.url.as_str().parse().unwrap();
        let response = dial.lines(&self.url).unwrap().send(request).await?;
        let body = response.into_body().collect().await?.to_bytes();
        Ok(String::from_utf8(body.to_vec()).unwrap())
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve(mut stream: TcpStream, answer: &str, after: After) {
    let mut seen = Vec::new();
    while stream.read_buf(&mut seen).await.is_ok_and(|it| it > 0) {
        if !seen.ends_with(b"\r\n\r\n") {
            continue;
        }
        seen.clear();
        stream.write_all(answer.as_bytes()).await.unwrap();
        if let After::Leave = after {
            return;
        }
    }
}

const WHOLE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

#[tokio::test]
async fn a_connection_that_has_answered_is_used_again() {
    let dial = Dial::new(Guard::Open);
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    for answer in [WHOLE, chunked, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"] {
        let server = Server::start(answer, After::Stay).await;
        for _ in 0..3 {
            server.ask(&dial).await.unwrap();
        }
        assert_eq!(server.connections(), 1, "{answer}");
    }
}

#[tokio::test]
async fn a_connection_that_is_to_be_closed_is_not_kept() {
    let dial = Dial::new(Guard::Open);
    let last = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi";
    let server = Server::start(last, After::Stay).await;
    for _ in 0..3 {
        assert_eq!(server.ask(&dial).await.unwrap(), "hi");
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn a_request_goes_over_another_connection_when_the_kept_one_was_closed_meanwhile() {
    let dial = Dial::new(Guard::Open);
    let server = Server::start(WHOLE, After::Leave).await;
    for asked in 1..=3 {
        assert_eq!(server.ask(&dial).await.unwrap(), "hi");
        // That it was closed is seen by who looks after the news has come in.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.connections(), asked);
    }
}

#[tokio::test]
async fn a_body_that_is_left_unread_leaves_its_connection() {
    let dial = Dial::new(Guard::Open);
    let server = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi", After::Stay).await;
    for _ in 0..2 {
        let mut request = Request::new(Pieces::default());
        *request.uri_mut() = server.url.as_str().parse().unwrap();
        drop(dial.lines(&server.url).unwrap().send(request).await.unwrap());
    }
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn of_many_connections_a_few_are_kept_for_long() {
    let dial = Dial::new(Guard::Open);
    let server = Server::start(WHOLE, After::Stay).await;
    let lines = dial.lines(&server.url).unwrap();
    let mut open = Vec::new();
    for _ in 0..SPARE + 5 {
        let mut request = Request::new(Pieces::default());
        *request.uri_mut() = server.url.as_str().parse().unwrap();
        open.push(lines.send(request).await.unwrap());
    }
    for response in open {
        response.into_body().collect().await.unwrap();
    }
    let kept = || lines.lock().values().map(Vec::len).sum::<usize>();
    assert_eq!(kept(), SPARE + 5);
    tokio::time::pause();
    tokio::time::sleep(SURPLUS_TIMEOUT * 3).await;
    assert_eq!(kept(), SPARE);
    tokio::time::sleep(IDLE_TIMEOUT).await;
    assert_eq!(kept(), 0);
}

#[tokio::test]
async fn at_rest_none_is_kept_and_the_next_request_opens_another() {
    let dial = Dial::new(Guard::Open);
    let server = Server::start(WHOLE, After::Stay).await;
    for connections in [1, 1] {
        server.ask(&dial).await.unwrap();
        assert_eq!(server.connections(), connections);
    }
    dial.rest();
    server.ask(&dial).await.unwrap();
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn nobody_there_and_gone_without_an_answer_are_told_apart() {
    let dial = Dial::new(Guard::Open);
    let server = Server::start("", After::Leave).await;
    assert!(matches!(server.ask(&dial).await, Err(Unanswered::Lost(_))));
    let nobody = Server { url: "http://127.0.0.1:1/".parse().unwrap(), connections: Arc::default() };
    assert!(matches!(nobody.ask(&dial).await, Err(Unanswered::Connect(_))));
}

#[test]
fn a_host_is_named_with_its_port_unless_that_goes_without_saying() {
    for (uri, name) in [
        ("http://a.example/x", "a.example"),
        ("http://a.example:80/", "a.example"),
        ("https://a.example:443/", "a.example"),
        ("https://a.example:80/", "a.example:80"),
        ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
        ("http://[::1]:80/", "[::1]"),
    ] {
        let uri: Uri = uri.parse().unwrap();
        assert_eq!(named(&uri, uri.authority().unwrap()), name);
    }
}
