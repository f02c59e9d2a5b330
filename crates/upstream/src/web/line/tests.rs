//! Connections that are kept, and those that are not, against a server that is nothing but a script.

use std::sync::atomic::{AtomicUsize, Ordering};

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
        let response = self.begin(dial).await?;
        let body = response.into_body().whole(100).await.unwrap();
        Ok(String::from_utf8(body.to_vec()).unwrap())
    }

    async fn begin(&self, dial: &Dial) -> Result<Response<Inflow>, Unanswered> {
        let mut request = Request::new(Pieces::default());
        *request.uri_mut() = self.url.as_str().parse().unwrap();
        dial.lines(&self.url).unwrap().send(request).await
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
    let early = "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    for answer in [WHOLE, chunked, early, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"] {
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
        drop(server.begin(&dial).await.unwrap());
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
        open.push(server.begin(&dial).await.unwrap());
    }
    for response in open {
        response.into_body().whole(100).await.unwrap();
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

/// What is read of an answer whose parts come one after the other, piece by piece and whole.
#[track_caller]
fn check(parts: &[&str], expected: &Result<&str, &str>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let read = |whole: bool| async move {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let mut line = Box::new(Line::new(Box::new(ours)));
        let lines = Lines::new(Way::Unix("nowhere".into()));
        let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
        spawn("server", async move {
            for part in parts {
                theirs.write_all(part.as_bytes()).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
        let said = poll_fn(|cx| line.poll_said(cx)).await.map_err(|it| it.to_string())?;
        let response =
            line.answer(said, (lines, Authority::from_static("a"))).map_err(|it| it.to_string())?;
        let mut inflow = response.into_body();
        if whole {
            let body = inflow.whole(20).await.map_err(|it| it.to_string())?;
            return Ok(String::from_utf8(body.to_vec()).unwrap());
        }
        let mut all = String::new();
        while let Some(piece) = inflow.piece().await {
            all += std::str::from_utf8(&piece.map_err(|it| it.to_string())?).unwrap();
        }
        assert!(inflow.piece().await.is_none(), "the end stays the end");
        Ok::<_, String>(all)
    };
    for whole in [false, true] {
        let found = runtime.block_on(read(whole));
        let found = found.as_deref().map_err(String::as_str);
        assert_eq!(found, expected.as_ref().map(|it| *it).map_err(|it| *it), "{parts:?}, whole: {whole}");
    }
}

#[test]
fn bodies_are_read_to_their_end_in_whatever_pieces_they_come() {
    let chunked =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nx: y\r\n\r\n";
    let sized = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello!";
    let endless = "HTTP/1.1 200 OK\r\n\r\nhello!";
    for answer in [chunked, sized, endless] {
        for cut in 0..=answer.len() {
            check(&[&answer[..cut], &answer[cut..]], &Ok("hello!"));
        }
        let bytes: Vec<_> = answer.split_inclusive(|_| true).collect();
        check(&bytes, &Ok("hello!"));
    }
}

#[test]
fn a_body_that_breaks_off_or_is_not_what_it_says_is_no_answer() {
    let ended = Err("the connection ended");
    check(&["HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello"], &ended);
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for cut in ["", "5", "5\r\nhel", "5\r\nhello", "5\r\nhello\r\n", "5\r\nhello\r\n0\r\n"] {
        check(&[chunked, cut], &ended);
    }
    check(&[chunked, "5\r\nhello!!0\r\n\r\n"], &Err("a chunk is longer than it said"));
    for size in ["x", "-1", "11111111111111111", "", " ", ";x"] {
        check(&[chunked, size, "\r\nhello\r\n"], &Err("the length of a chunk is no number"));
    }
    check(&[chunked, "5;", &"x".repeat(40_000)], &Err("the length of a chunk is no number"));
    check(&[chunked, "0\r\n", &"x".repeat(40_000)], &Err("what follows its last chunk is too long"));
    check(
        &["SSH-2.0-x\r\n"],
        &Err("the head of its answer is not HTTP/1.1, too long, or contradicts itself"),
    );
    check(
        &["HTTP/1.1 101 Switching Protocols\r\n\r\n"],
        &Err("it switches to a protocol that nobody asked for"),
    );
    check(&["HTTP/1.1 200 OK\r\ncontent-le"], &Err("the server closed the connection"));
}

#[tokio::test]
async fn a_body_is_no_longer_than_it_may_be() {
    let long = "x".repeat(21);
    for answer in [
        format!("HTTP/1.1 200 OK\r\ncontent-length: 21\r\n\r\n{long}"),
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n15\r\n{long}\r\n0\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\n\r\n{long}"),
    ] {
        let dial = Dial::new(Guard::Open);
        let server = Server::start(answer.leak(), After::Leave).await;
        let body = server.begin(&dial).await.unwrap().into_body();
        assert!(matches!(body.whole(20).await, Err(Broken::TooLong)));
        let body = server.begin(&dial).await.unwrap().into_body();
        assert_eq!(body.whole(21).await.unwrap(), long);
    }
}

#[tokio::test]
async fn an_answer_is_heard_though_the_server_has_not_read_all_of_the_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    spawn("server", async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut [0; 16]).await.unwrap();
        stream.write_all(b"HTTP/1.1 413 Content Too Large\r\ncontent-length: 3\r\n\r\nno!").await.unwrap();
        std::future::pending::<()>().await;
    });
    let dial = Dial::new(Guard::Open);
    let lines = dial.lines(&url).unwrap();
    let mut request = Request::new(Pieces::from(Bytes::from(vec![b' '; 64 << 20])));
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = url.as_str().parse().unwrap();
    let response = lines.send(request).await.unwrap();
    assert_eq!(response.status(), 413);
    assert_eq!(response.into_body().whole(100).await.unwrap(), "no!");
    assert!(lines.lock().is_empty(), "nobody else can use a connection in the middle of a request");
}
