//! What of a request nobody has read when its answer is there, as when it is refused at the door.
//!
//! A client may send the end of its request after that, and the next request behind it. The connection can only go on
//! if the rest is read; if it is too much for that, the answer says that the connection ends. Otherwise the next request
//! would be lost, and nobody would know why.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::response::Response;
use http::header::{CONNECTION, EXPECT};
use http::{HeaderValue, Request};
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::time::timeout;

/// How much of it is read, and for how long it is waited for.
pub(super) const MOST: usize = 1024 * 1024;
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// Where the rest of a request is found. A connection has one at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Unread(Arc<Mutex<Option<Rest>>>);

#[derive(Debug)]
struct Rest {
    body: Incoming,
    /// The client waits to be asked for it.
    is_withheld: bool,
}

/// The body of a request, which is put back if it is not read to its end.
#[derive(Debug)]
pub(super) struct Lent {
    rest: Option<Rest>,
    home: Unread,
}

impl Unread {
    pub(super) fn lend(&self, request: Request<Incoming>) -> Request<Lent> {
        let is_withheld = request.headers().contains_key(EXPECT);
        request.map(|body| Lent { rest: Some(Rest { body, is_withheld }), home: self.clone() })
    }

    /// Reads what is left, so that the connection is ready for the next request, or has the answer say that it ends.
    pub(super) async fn settle(&self, mut response: Response) -> Response {
        let rest = self.lock().take();
        if let Some(rest) = rest
            && !Box::pin(rest.was_read()).await
        {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    fn lock(&self) -> MutexGuard<'_, Option<Rest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rest {
    /// Whether it came soon and was not too much.
    async fn was_read(mut self) -> bool {
        !self.is_withheld && matches!(timeout(PATIENCE, self.read()).await, Ok(true))
    }

    async fn read(&mut self) -> bool {
        let mut room = MOST;
        while let Some(frame) = self.body.frame().await {
            let length = frame.ok().map(|it| it.data_ref().map_or(0, Bytes::len));
            let Some(left) = length.and_then(|it| room.checked_sub(it)) else { return false };
            room = left;
        }
        true
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        *self.home.lock() = self.rest.take().filter(|it| !it.body.is_end_stream());
    }
}

impl Body for Lent {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.rest {
            Some(rest) => Pin::new(&mut rest.body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.as_ref().is_none_or(|it| it.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.rest.as_ref().map(|it| it.body.size_hint()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::response::IntoResponse;
    use http::StatusCode;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use toolgrove_core::task::spawn;

    use super::*;

    /// A client of a server that refuses everything unread.
    fn refused() -> DuplexStream {
        let (client, server) = duplex(64 * 1024);
        spawn("refusing", async move {
            let unread = Unread::default();
            let service = service_fn(move |request| {
                drop(unread.lend(request));
                let unread = unread.clone();
                async move { Ok::<_, Infallible>(unread.settle(StatusCode::UNAUTHORIZED.into_response()).await) }
            });
            let _ = http1::Builder::new().serve_connection(TokioIo::new(server), service).await;
        });
        client
    }

    /// Returns once the server has nothing more to do: the clock stands still before that.
    async fn quiet() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    async fn answer(client: &mut DuplexStream) -> String {
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(client.read_u8().await.expect("an answer before the connection ends"));
        }
        String::from_utf8(answer).unwrap()
    }

    fn head(headers: &str) -> String {
        format!("POST / HTTP/1.1\r\nhost: here\r\n{headers}\r\n\r\n")
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_request_may_end_late_and_another_follow() {
        let mut client = refused();
        let (counted, chunked) = (head("content-length: 6"), head("transfer-encoding: chunked"));
        for parts in
            [[&counted, "la", "te!!"], [&chunked, "2\r\nla\r\n", "0\r\n\r\n"], [&counted, "", "behind"]]
        {
            for part in parts {
                client.write_all(part.as_bytes()).await.unwrap();
                quiet().await;
            }
            let answer = answer(&mut client).await;
            assert!(answer.starts_with("HTTP/1.1 401") && !answer.contains("close"), "{answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_come_is_not_waited_for() {
        let mut client = refused();
        client.write_all(head("content-length: 6").as_bytes()).await.unwrap();
        let answer = answer(&mut client).await;
        assert!(answer.contains("connection: close"), "{answer}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_too_much_is_not_read() {
        let mut client = refused();
        client.write_all(head("content-length: 1000000000").as_bytes()).await.unwrap();
        while client.write_all(&[b' '; 8 * 1024]).await.is_ok() {}
        let answer = answer(&mut client).await;
        assert!(answer.contains("connection: close"), "{answer}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_to_be_asked_is_answered_at_once() {
        let mut client = refused();
        client.write_all(head("content-length: 6\r\nexpect: 100-continue").as_bytes()).await.unwrap();
        let began = tokio::time::Instant::now();
        let answer = answer(&mut client).await;
        assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("connection: close"), "{answer}");
        assert!(began.elapsed() < PATIENCE);
    }
}
