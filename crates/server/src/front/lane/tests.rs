//! What is answered here, what goes to the HTTP library, and how a connection ends.

use axum::response::IntoResponse;
use futures::FutureExt;
use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use toolgrove_core::task::spawn;

use super::*;

/// The longest plain body here.
const LONGEST: usize = 3 * 1024 * 1024;

/// A client of a lane whose door gives back what it gets, and how the lane ends: with nothing, or with what it leaves.
struct Client<S = DuplexStream> {
    io: S,
    stage: Arc<Stage>,
    ended: tokio::task::JoinHandle<io::Result<Next<S>>>,
}

fn echo(request: Request<Body>) -> BoxFuture<'static, Response> {
    let echo = async {
        match request.into_body().collect().await {
            Ok(body) => Body::new(Pieces::from(body.to_bytes())).into_response(),
            Err(_) => StatusCode::BAD_REQUEST.into_response(),
        }
    };
    echo.boxed()
}

impl Client {
    fn new(answer: impl Fn(Request<Body>) -> BoxFuture<'static, Response> + Send + Sync + 'static) -> Self {
        Self::over(duplex(64 * 1024), answer)
    }

    fn echo() -> Self {
        Self::new(echo)
    }
}

impl<S: AsyncRead + AsyncWrite + Patient + Unpin + Send + 'static> Client<S> {
    fn over(
        (io, ours): (S, S),
        answer: impl Fn(Request<Body>) -> BoxFuture<'static, Response> + Send + Sync + 'static,
    ) -> Self {
        let stage = Arc::new(Stage::default());
        let lane = Lane::new(ours, stage.clone(), LONGEST);
        Self { io, stage, ended: spawn("lane", async move { lane.serve(answer).await }) }
    }

    async fn send(&mut self, text: &str) {
        self.io.write_all(text.as_bytes()).await.unwrap();
    }

    /// Head and body of the next answer.
    async fn hear(&mut self) -> (String, String) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.io.read_u8().await.expect("an answer before the connection ends"));
        }
        let head = String::from_utf8(head).unwrap();
        let length = head.split_once("content-length: ").and_then(|it| it.1.split("\r\n").next());
        let mut body = vec![0; length.map_or(0, |it| it.parse().unwrap())];
        self.io.read_exact(&mut body).await.unwrap();
        (head, String::from_utf8(body).unwrap())
    }

    /// What was left for the library, and whether it is to answer something first.
    async fn left(self) -> Option<(Bytes, bool)> {
        match self.ended.await.unwrap().unwrap() {
            Next::Ended => None,
            Next::Over { seen, first, .. } => Some((seen, first.is_some())),
        }
    }
}

fn post(body: &str) -> String {
    format!("POST /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn plain_requests_are_answered_one_after_the_other_in_whatever_pieces_they_come() {
    let mut client = Client::echo();
    let long = "x".repeat(LONGEST - 1);
    for body in ["", "a", &"b".repeat(20_000), &long] {
        let request = post(body);
        for cut in [0, 1, 30, request.len() - body.len(), request.len() - body.len() / 2, request.len()] {
            let (first, rest) = request.split_at(cut);
            let (mut reader, mut writer) = tokio::io::split(&mut client.io);
            let send = async {
                writer.write_all(first.as_bytes()).await.unwrap();
                tokio::task::yield_now().await;
                writer.write_all(rest.as_bytes()).await.unwrap();
            };
            let expected = format!("content-length: {}\r\n", body.len());
            let hear = async {
                let mut seen = Vec::new();
                while !seen.windows(4).any(|it| it == b"\r\n\r\n") {
                    reader.read_buf(&mut seen).await.unwrap();
                }
                let head = seen.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
                while seen.len() < head + body.len() {
                    reader.read_buf(&mut seen).await.unwrap();
                }
                let text = String::from_utf8(seen[..head].to_vec()).unwrap();
                assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains(&expected), "{text}");
                assert!(text.contains("\r\ndate: ") && !text.contains("connection"), "{text}");
                assert!(&seen[head..] == body.as_bytes(), "{cut} of {}", request.len());
            };
            futures::future::join(send, hear).await;
        }
    }
    let several = [post("one"), post("two"), post("three")].concat();
    client.send(&several).await;
    for body in ["one", "two", "three"] {
        assert_eq!(client.hear().await.1, body);
    }
    let Client { io, ended, .. } = client;
    drop(io);
    assert!(matches!(ended.await.unwrap(), Ok(Next::Ended)));
}

#[tokio::test]
async fn over_a_real_connection_long_bodies_are_waited_for_and_the_short_ones_behind_them_are_not_kept_waiting()
 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let io = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    io.set_nodelay(true).unwrap();
    let mut client = Client::over((io, listener.accept().await.unwrap().0), echo);
    for (length, pieces) in
        [(1 << 20, 1 << 16), (1, 1), (300_000, 100), (70_000, 1000), (2, 1), (2 << 20, 1 << 20)]
    {
        let body = "x".repeat(length);
        for piece in post(&body).as_bytes().chunks(pieces) {
            client.io.write_all(piece).await.unwrap();
        }
        assert!(client.hear().await.1 == body, "{length} bytes in pieces of {pieces}");
    }
}

/// What nobody has read of a long body is not waited for by whoever has the connection next.
#[tokio::test]
async fn what_is_left_of_a_long_body_makes_nobody_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let io = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    // It reads what has come of a body, and lets go of it.
    let looked = Arc::new(Notify::new());
    let looks = looked.clone();
    let answer = move |request: Request<Body>| {
        let (mut body, looks) = (request.into_body(), looks.clone());
        async move {
            let is_whole = poll_fn(|cx| Poll::Ready(Pin::new(&mut body).poll_frame(cx).is_ready())).await;
            assert!(!is_whole);
            looks.notify_one();
            StatusCode::ACCEPTED.into_response()
        }
        .boxed()
    };
    let mut client = Client::over((io, listener.accept().await.unwrap().0), answer);
    let request = post(&"x".repeat(900_000));
    let (first, rest) = request.split_at(500_000);
    client.send(first).await;
    looked.notified().await;
    client.send(rest).await;
    assert!(client.hear().await.0.starts_with("HTTP/1.1 202 "));
    client.send(&plain_get()).await;
    assert!(matches!(client.left().await, Some((seen, false)) if seen == plain_get()));
}

fn plain_get() -> String {
    post("").replacen("POST", "GET", 1)
}

#[tokio::test]
async fn what_is_not_plain_is_left_untouched_for_the_library() {
    let plain = post("{}");
    let head = |more: &str| plain.replacen("Content-Length: 2\r\n", more, 1);
    for other in [
        plain.replacen("POST", "GET", 1),
        plain.replacen("/mcp", "/mcp?names=single", 1),
        plain.replacen("/mcp", "http://here/mcp", 1),
        plain.replacen("/mcp", "/api/me", 1),
        plain.replacen("1.1", "1.0", 1),
        head(""),
        head("Content-Length: 2\r\nContent-Length: 2\r\n"),
        head("Content-Length: +2\r\n"),
        head("Content-Length: 2, 2\r\n"),
        head("Content-Length: 9999999999999999999999\r\n"),
        head(&format!("Content-Length: {}\r\n", LONGEST + 1)),
        head("Transfer-Encoding: chunked\r\n"),
        head("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"),
        head("Content-Length: 2\r\nExpect: 100-continue\r\n"),
        head("Content-Length: 2\r\nConnection: close\r\n"),
        head("Content-Length: 2\r\nConnection: Upgrade\r\nUpgrade: x\r\n"),
        head(&format!("{}Content-Length: 2\r\n", "x: y\r\n".repeat(100))),
        head("Content-Length : 2\r\n"),
        "\u{16}\u{3}\u{1}no HTTP at all".to_owned(),
    ] {
        let mut client = Client::echo();
        client.send(&plain).await;
        client.hear().await;
        client.send(&other).await;
        assert_eq!(client.left().await, Some((other.clone().into(), false)), "{other}");
    }
    let mut client = Client::echo();
    let endless = format!("POST /mcp HTTP/1.1\r\nx: {}", "y".repeat(40_000));
    client.send(&endless).await;
    let (left, _) = client.left().await.unwrap();
    assert!(endless.as_bytes().starts_with(&left) && left.len() > 16 * 1024);
}

#[tokio::test]
async fn an_answer_that_is_not_whole_is_left_to_the_library_with_what_stands_behind_its_request() {
    let mut client = Client::new(|request| {
        let stream = async {
            drop(request.into_body().collect().await);
            let news = futures::stream::iter([Ok::<_, io::Error>("data: 1\n\n")]);
            Body::from_stream(news).into_response()
        };
        stream.boxed()
    });
    client.send(&[post("{}"), post("next")].concat()).await;
    assert_eq!(client.left().await, Some((post("next").into(), true)));
}

#[tokio::test]
async fn what_nobody_has_read_of_a_body_is_never_the_next_request() {
    let streamed = || {
        let news = futures::stream::iter([Ok::<_, io::Error>("data: 1\n\n")]);
        Body::from_stream(news).into_response()
    };
    let hidden = "GET /api/status HTTP/1.1\r\nHost: here\r\n\r\n";
    let mut client = Client::new(move |_| std::future::ready(streamed()).boxed());
    client.send(&[post(hidden), post("next")].concat()).await;
    assert_eq!(client.left().await, Some((post("next").into(), true)), "read, and let go of");

    let mut client = Client::new(move |_| std::future::ready(streamed()).boxed());
    let head = format!("POST /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: {LONGEST}\r\n\r\n");
    client.send(&[&head, hidden].concat()).await;
    let Ok(Next::Over { seen, first: Some(first), .. }) = client.ended.await.unwrap() else {
        panic!("the library takes it")
    };
    assert_eq!(
        (seen.len(), first.headers()["connection"].as_bytes()),
        (0, &b"close"[..]),
        "too much to read"
    );
}

#[tokio::test]
async fn a_call_ends_when_its_client_goes() {
    let (gone, heard) = tokio::sync::oneshot::channel::<()>();
    let gone = Arc::new(Mutex::new(Some(gone)));
    let mut client = Client::new(move |request| {
        let gone = gone.lock().unwrap().take();
        let never = async move {
            drop(request.into_body().collect().await);
            let _gone = gone;
            std::future::pending().await
        };
        never.boxed()
    });
    client.send(&post("{}")).await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(!client.ended.is_finished());
    let Client { io, ended, .. } = client;
    drop(io);
    assert!(heard.await.is_err(), "dropped");
    assert!(matches!(ended.await.unwrap(), Ok(Next::Ended)));
}

#[tokio::test]
async fn what_is_answered_unread_is_read_so_that_the_next_request_can_follow() {
    let mut client = Client::new(|_| async { StatusCode::UNAUTHORIZED.into_response() }.boxed());
    for _ in 0..3 {
        client.send(&post(&"x".repeat(40_000))).await;
        let (head, _) = client.hear().await;
        assert!(head.starts_with("HTTP/1.1 401 Unauthorized\r\n") && !head.contains("close"), "{head}");
    }
    let too_much = format!("POST /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: {LONGEST}\r\n\r\n");
    client.send(&too_much).await;
    let (head, _) = client.hear().await;
    assert!(head.starts_with("HTTP/1.1 401") && head.contains("connection: close"), "{head}");
    assert_eq!(client.left().await, None);
}

#[tokio::test]
async fn a_body_that_ends_early_is_no_request() {
    let mut client = Client::echo();
    client.send(&post("0123456789")[..60]).await;
    client.io.shutdown().await.unwrap();
    let (head, _) = client.hear().await;
    assert!(head.starts_with("HTTP/1.1 400") && head.contains("connection: close"), "{head}");
    assert_eq!(client.left().await, None);
}

#[tokio::test]
async fn when_the_hub_stops_what_runs_is_answered_and_what_waits_is_not_waited_for() {
    let (answer, wanted) = tokio::sync::oneshot::channel::<()>();
    let wanted = Arc::new(Mutex::new(Some(wanted)));
    let mut client = Client::new(move |_| {
        let wanted = wanted.lock().unwrap().take();
        let later = async move {
            wanted.unwrap().await.unwrap();
            "done".into_response()
        };
        later.boxed()
    });
    assert!(!client.stage.finish(), "nothing runs");
    client.send(&post("")).await;
    while !client.stage.finish() {
        tokio::task::yield_now().await;
    }
    answer.send(()).unwrap();
    let (head, body) = client.hear().await;
    assert!(head.contains("connection: close"), "{head}");
    assert_eq!((body.as_str(), client.left().await), ("done", None));
}

#[tokio::test]
async fn a_hub_that_stops_while_an_answer_is_written_does_not_wait_for_another_request() {
    let mut client = Client::echo();
    let long = "x".repeat(500_000);
    let (stage, request) = (client.stage.clone(), post(&long));
    let (mut reader, mut writer) = tokio::io::split(&mut client.io);
    let mut heard = vec![0; 1000];
    let both = futures::future::join(writer.write_all(request.as_bytes()), reader.read_exact(&mut heard));
    let (sent, began) = both.await;
    sent.unwrap();
    began.unwrap();
    assert!(stage.finish(), "the answer is being written");
    reader.read_to_end(&mut heard).await.unwrap();
    assert!(heard.ends_with(&[b'x'; 1000]));
    assert_eq!(client.left().await, None);
}

#[test]
fn no_byte_in_any_place_makes_reading_fail() {
    let request = post("{}");
    for place in 0..request.len() {
        for byte in 0..=u8::MAX {
            let mut odd = request.clone().into_bytes();
            odd[place] = byte;
            let _ = plain::read(&odd.into(), LONGEST);
        }
    }
}
