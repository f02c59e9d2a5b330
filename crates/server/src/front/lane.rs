//! Plain requests and plain answers of MCP doors: a POST that says how long its body is, and an answer that is whole.
//! They are read and written here, a body straight to and from where it stays. Whatever else comes or goes, even once,
//! takes its connection to the HTTP library, which knows all of HTTP and keeps it.

mod plain;

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::response::Response;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::future::BoxFuture;
use http::header::CONNECTION;
use http::{HeaderValue, Request};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;
use tokio_util::io::{poll_read_buf, poll_write_buf};
use toolgrove_upstream::near::{Patience, Patient};
use toolgrove_wire::{Pieces, read_behind};

use super::unread::{MOST, PATIENCE};

/// How much room a body gets before any of it has come.
const ROOM: usize = 2 * 1024 * 1024;

/// One connection.
pub(super) struct Lane<S> {
    /// Shared with the body that is being read, if there is one.
    wire: Shared<S>,
    stage: Arc<Stage>,
    longest: usize,
}

type Shared<S> = Arc<Mutex<Option<Wire<S>>>>;

struct Wire<S> {
    io: S,
    /// How much of what comes is waited for.
    patience: Patience,
    /// What has come in and nobody has taken yet.
    seen: Bytes,
    /// How much of the body of this request nobody has read.
    unread: usize,
}

/// Where a connection is between its requests.
#[derive(Debug, Default)]
pub(super) struct Stage {
    is_busy: AtomicBool,
    is_last: AtomicBool,
}

/// Why there is no plain request.
enum Unasked {
    /// The client wants something else.
    Other,
    /// It has gone.
    Gone,
    Broken(io::Error),
}

/// How it goes on with a connection.
pub(super) enum Next<S> {
    Ended,
    /// The HTTP library takes it: what was read already, and an answer that is to be given first.
    Over {
        io: S,
        seen: Bytes,
        first: Option<Response>,
    },
}

impl Stage {
    /// The request under way is the last. Whether there is one.
    pub(super) fn finish(&self) -> bool {
        self.is_last.store(true, Ordering::Relaxed);
        self.is_busy.load(Ordering::Relaxed)
    }

    fn is_last(&self) -> bool {
        self.is_last.load(Ordering::Relaxed)
    }
}

impl<S: AsyncRead + AsyncWrite + Patient + Unpin + Send + 'static> Lane<S> {
    /// For requests whose body has at most so many bytes.
    pub(super) fn new(io: S, stage: Arc<Stage>, longest: usize) -> Self {
        let wire = Wire { io, patience: Patience::default(), seen: Bytes::new(), unread: 0 };
        Self { wire: Arc::new(Mutex::new(Some(wire))), stage, longest }
    }

    /// Answers requests as long as they are plain.
    pub(super) async fn serve(
        self,
        answer: impl Fn(Request<Body>) -> BoxFuture<'static, Response>,
    ) -> io::Result<Next<S>> {
        loop {
            let request = match poll_fn(|cx| self.poll_request(cx)).await {
                Ok(request) => request,
                Err(Unasked::Other) => return Ok(self.hand_over(None)),
                Err(Unasked::Gone) => return Ok(Next::Ended),
                Err(Unasked::Broken(error)) => return Err(error),
            };
            self.stage.is_busy.store(true, Ordering::Relaxed);
            let answered =
                answer(request.map(|()| Body::new(Inflow { wire: self.wire.clone(), all: BytesMut::new() })));
            let Some(response) = self.until_gone(answered).await else { return Ok(Next::Ended) };
            let was_read = self.was_read().await;
            let Some(length) = response.body().size_hint().exact() else {
                return Ok(self.hand_over(Some(if was_read { response } else { last(response) })));
            };
            let is_last = !was_read || self.stage.is_last();
            self.write(response, length, is_last).await?;
            // The hub may have begun to stop while this was written.
            if is_last || self.stage.is_last() {
                poll_fn(|cx| self.poll_shutdown(cx)).await?;
                return Ok(Next::Ended);
            }
            self.stage.is_busy.store(false, Ordering::Relaxed);
        }
    }

    fn poll_request(&self, cx: &mut Context<'_>) -> Poll<Result<Request<()>, Unasked>> {
        let mut wire = lock(&self.wire);
        let Some(wire) = wire.as_mut() else { return Poll::Ready(Err(Unasked::Gone)) };
        loop {
            if !wire.seen.is_empty()
                && let Some(plain) =
                    plain::read(&wire.seen, self.longest).map_err(|plain::Other| Unasked::Other)?
            {
                wire.seen.advance(plain.body);
                wire.unread = plain.length;
                return Poll::Ready(Ok(plain.request));
            }
            match ready!(wire.fill(cx)) {
                Ok(0) => return Poll::Ready(Err(Unasked::Gone)),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(Unasked::Broken(error))),
            }
        }
    }

    /// The answer, unless its client goes before.
    async fn until_gone(&self, mut answered: BoxFuture<'static, Response>) -> Option<Response> {
        poll_fn(|cx| {
            if let Poll::Ready(response) = answered.as_mut().poll(cx) {
                return Poll::Ready(Some(response));
            }
            match lock(&self.wire).as_mut() {
                // What stands behind the request is the next one: its client is there.
                Some(wire) if wire.unread == 0 && wire.seen.is_empty() => match wire.fill(cx) {
                    Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(None),
                    Poll::Ready(Ok(_)) | Poll::Pending => Poll::Pending,
                },
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Whether all of the request is read, so that the next can follow.
    async fn was_read(&self) -> bool {
        let unread = lock(&self.wire).as_ref().map_or(0, |it| it.unread);
        let through =
            poll_fn(|cx| lock(&self.wire).as_mut().map_or(Poll::Ready(false), |it| it.poll_through(cx)));
        unread == 0 || unread <= MOST && matches!(Box::pin(timeout(PATIENCE, through)).await, Ok(true))
    }

    async fn write(&self, response: Response, length: u64, is_last: bool) -> io::Result<()> {
        let (parts, mut body) = response.into_parts();
        let mut head = plain::head(&parts, length, is_last);
        let mut left = length;
        while left > 0 || !head.is_empty() {
            // A message has up to three pieces.
            let mut pieces: [Bytes; 3] = Default::default();
            for piece in &mut pieces {
                if left == 0 {
                    break;
                }
                let Some(frame) = body.frame().await else {
                    return Err(io::Error::other("a body is shorter than it said"));
                };
                *piece = frame.map_err(io::Error::other)?.into_data().unwrap_or_default();
                left = left.saturating_sub(piece.len() as u64);
            }
            let mut out = std::mem::take(&mut head).chain(Pieces::of(pieces));
            poll_fn(|cx| self.poll_write(cx, &mut out)).await?;
        }
        Ok(())
    }

    fn poll_write(&self, cx: &mut Context<'_>, out: &mut impl Buf) -> Poll<io::Result<()>> {
        let mut wire = lock(&self.wire);
        let Some(wire) = wire.as_mut() else { return Poll::Ready(Ok(())) };
        while out.has_remaining() {
            if ready!(poll_write_buf(Pin::new(&mut wire.io), cx, out))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
        }
        Pin::new(&mut wire.io).poll_flush(cx)
    }

    fn poll_shutdown(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.wire).as_mut().map_or(Poll::Ready(Ok(())), |it| Pin::new(&mut it.io).poll_shutdown(cx))
    }

    fn hand_over(&self, first: Option<Response>) -> Next<S> {
        let mut wire = lock(&self.wire).take();
        if let Some(Wire { io, patience, .. }) = &mut wire {
            patience.set(io, 0);
        }
        match wire {
            // The rest of a body is nobody's request.
            Some(Wire { io, unread: 1.., .. }) => Next::Over { io, seen: Bytes::new(), first },
            Some(Wire { io, seen, .. }) => Next::Over { io, seen, first },
            None => Next::Ended,
        }
    }
}

/// The answer, which says that its connection ends.
fn last(mut response: Response) -> Response {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

impl<S: AsyncRead + Patient + Unpin> Wire<S> {
    /// Reads what is left of a body and lets go of it; whether there was an end to it.
    fn poll_through(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        loop {
            let here = self.unread.min(self.seen.len());
            self.seen.advance(here);
            self.unread -= here;
            if self.unread == 0 {
                return Poll::Ready(true);
            }
            if !matches!(ready!(self.fill(cx)), Ok(1..)) {
                return Poll::Ready(false);
            }
        }
    }

    /// Reads what has come. Nothing is the end.
    fn fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Self { io, patience, seen, .. } = self;
        patience.set(io, 0);
        if seen.is_empty() {
            // Who waits keeps nothing of what came before.
            *seen = Bytes::new();
        }
        read_behind(seen, |room| {
            let mut room = ReadBuf::new(room);
            Pin::new(io).poll_read(cx, &mut room).map_ok(|()| room.filled().len())
        })
    }
}

fn lock<S>(wire: &Shared<S>) -> MutexGuard<'_, Option<Wire<S>>> {
    wire.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The body of a request, which comes whole.
struct Inflow<S> {
    wire: Shared<S>,
    all: BytesMut,
}

impl<S: AsyncRead + Patient + Unpin> hyper::body::Body for Inflow<S> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let Self { wire, all } = self.get_mut();
        let mut wire = lock(wire);
        let Some(wire) = wire.as_mut().filter(|it| it.unread > 0) else { return Poll::Ready(None) };
        if all.is_empty() && wire.seen.len() >= wire.unread {
            let body = wire.seen.split_to(std::mem::take(&mut wire.unread));
            return Poll::Ready(Some(Ok(Frame::data(body))));
        }
        loop {
            if all.capacity() == all.len() {
                all.reserve(wire.unread.min(ROOM));
            }
            if wire.seen.has_remaining() {
                wire.unread -= wire.seen.len();
                all.put(&mut wire.seen);
            }
            let read = poll_read_buf(Pin::new(&mut wire.io), cx, &mut (&mut *all).limit(wire.unread));
            match ready!(read) {
                Ok(0) => return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
                Ok(read) => wire.unread -= read,
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
            wire.patience.set(&wire.io, wire.unread);
            if wire.unread == 0 {
                return Poll::Ready(Some(Ok(Frame::data(std::mem::take(all).freeze()))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.wire).as_ref().is_none_or(|it| it.unread == 0)
    }

    fn size_hint(&self) -> SizeHint {
        let unread = lock(&self.wire).as_ref().map_or(0, |it| it.unread);
        SizeHint::with_exact((unread + self.all.len()) as u64)
    }
}

#[cfg(test)]
mod tests;
