//! HTTP connections without tasks of their own: whoever waits for an answer drives its connection, so that a request
//! changes hands nowhere. A connection that has answered is kept for the next request to its host.

mod inflow;

pub(crate) use inflow::{Broken, Inflow};

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::buf::Chain;
use bytes::{Buf, Bytes, BytesMut};
use futures::FutureExt;
use http::uri::Authority;
use http::{Request, Response, StatusCode, Uri};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::unconstrained;
use tokio::time::Instant;
use tokio_util::io::poll_write_buf;
use toolgrove_core::task::{spawn, turn};
use toolgrove_wire::{Pieces, read_behind};

use super::connect::BoxError;
use super::dial::Way;
use super::head::{self, Head, Opening, Said};
use crate::near::{Patience, Patient};

/// Shorter than what proxies and servers usually keep, so that we seldom write into a connection being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);
const IDLE_PER_HOST: usize = 1024;
/// So many wait for the next request that long; the others, which many requests at once have left, not much longer
/// than those lasted.
const SPARE: usize = 16;
const SURPLUS_TIMEOUT: Duration = Duration::from_secs(1);

/// What a connection goes over.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Patient + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Patient + Unpin + Send> Stream for T {}

/// The connections one way leads over.
pub(crate) struct Lines {
    way: Way,
    /// By host and port. URLs spell a host in one way.
    idle: Mutex<HashMap<Box<str>, Vec<Idle>>>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("way", &self.way).finish_non_exhaustive()
    }
}

struct Idle {
    line: Box<Line>,
    since: Instant,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error("no connection")]
    Connect(#[source] BoxError),
    #[error("the connection was lost")]
    Lost(#[from] io::Error),
}

/// The server's own words for a status, where they are not the usual ones.
#[derive(Debug, Clone)]
pub(super) struct Reason(pub(super) Box<str>);

impl Lines {
    pub(super) fn new(way: Way) -> Arc<Self> {
        Arc::new(Self { way, idle: Mutex::default() })
    }

    /// Sends a request to the host its URL names.
    pub(crate) async fn send(
        self: &Arc<Self>,
        request: Request<Pieces>,
    ) -> Result<Response<Inflow>, Unanswered> {
        let (parts, body) = request.into_parts();
        let (mut written, opening) = (BytesMut::new(), Opening::of(&parts.headers));
        Head::plain(&opening).put(&mut written, (&parts.method, &parts.uri), None, body.len());
        self.exchange(&parts.uri, written, body).await
    }

    /// Sends a request whose head is written already.
    pub(super) async fn exchange(
        self: &Arc<Self>,
        uri: &Uri,
        head: BytesMut,
        body: Pieces,
    ) -> Result<Response<Inflow>, Unanswered> {
        let Some(host) = uri.authority() else {
            return Err(Unanswered::Connect("the address names no host".into()));
        };
        turn().await;
        let mut line = match self.kept(host) {
            Some(line) => line,
            None => Box::pin(self.open(uri)).await?,
        };
        line.out = head.freeze().chain(body);
        let said = poll_fn(|cx| line.poll_said(cx)).await?;
        line.answer(said, (self.clone(), host.clone()))
    }

    pub(super) async fn connect(&self, uri: &Uri) -> Result<Box<dyn Stream>, BoxError> {
        self.way.connect(uri).await
    }

    async fn open(&self, uri: &Uri) -> Result<Box<Line>, Unanswered> {
        let io = self.connect(uri).await.map_err(Unanswered::Connect)?;
        Ok(Box::new(Line::new(io)))
    }

    /// The connection to a host that was used last and is still there.
    fn kept(&self, host: &Authority) -> Option<Box<Line>> {
        let mut idle = self.lock();
        let kept = idle.get_mut(host.as_str())?;
        while let Some(Idle { mut line, since }) = kept.pop() {
            if since.elapsed() >= IDLE_TIMEOUT {
                // The others have waited even longer.
                kept.clear();
            } else if line.is_quiet() {
                return Some(line);
            }
        }
        None
    }

    fn keep(self: &Arc<Self>, host: &Authority, line: Box<Line>) {
        let mut idle = self.lock();
        if idle.is_empty() && tokio::runtime::Handle::try_current().is_ok() {
            spawn("idle-connections", close_idle(Arc::downgrade(self)));
        }
        let fresh = Idle { line, since: Instant::now() };
        match idle.get_mut(host.as_str()) {
            Some(kept) if kept.len() < IDLE_PER_HOST => kept.push(fresh),
            Some(_) => {}
            None => drop(idle.insert(host.as_str().into(), vec![fresh])),
        }
    }

    /// Closes what waits for a next request.
    pub(crate) fn rest(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Vec<Idle>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes what nobody has used for long, until there is nothing left.
async fn close_idle(lines: Weak<Lines>) {
    loop {
        tokio::time::sleep(SURPLUS_TIMEOUT).await;
        let Some(lines) = lines.upgrade() else { return };
        let mut idle = lines.lock();
        idle.retain(|_, kept| {
            // The last is the one that was used last.
            let mut before = kept.len();
            kept.retain(|it| {
                before -= 1;
                it.since.elapsed() < if before < SPARE { IDLE_TIMEOUT } else { SURPLUS_TIMEOUT }
            });
            !kept.is_empty()
        });
        if idle.is_empty() {
            return;
        }
    }
}

/// One connection.
struct Line {
    io: Box<dyn Stream>,
    /// How much of what comes is waited for.
    patience: Patience,
    /// What has come in and nobody has taken yet.
    seen: Bytes,
    /// What is still to be written.
    out: Chain<Bytes, Pieces>,
    is_flushed: bool,
}

impl Line {
    fn new(io: Box<dyn Stream>) -> Self {
        let out = Bytes::new().chain(Pieces::default());
        Self { io, patience: Patience::default(), seen: Bytes::new(), out, is_flushed: true }
    }

    /// Whether nothing has come in, nor the end of the connection.
    fn is_quiet(&mut self) -> bool {
        let mut byte = [0];
        let look = poll_fn(|cx| Pin::new(&mut self.io).poll_read(cx, &mut ReadBuf::new(&mut byte)));
        // Whoever has done a lot would be told to wait without a look.
        unconstrained(look).now_or_never().is_none()
    }

    fn is_written(&self) -> bool {
        self.is_flushed && !self.out.has_remaining()
    }

    /// Writes what can be written now.
    fn write(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while self.out.has_remaining() {
            match poll_write_buf(Pin::new(&mut self.io), cx, &mut self.out)? {
                Poll::Ready(0) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(_) => self.is_flushed = false,
                Poll::Pending => return Ok(()),
            }
        }
        if !self.is_flushed {
            self.is_flushed = Pin::new(&mut self.io).poll_flush(cx)?.is_ready();
        }
        Ok(())
    }

    /// Reads what has come. Nothing is the end.
    fn fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Self { io, seen, .. } = self;
        read_behind(seen, |room| {
            let mut room = ReadBuf::new(room);
            Pin::new(io).poll_read(cx, &mut room).map_ok(|()| room.filled().len())
        })
    }

    /// Writes the request and reads until the head of its answer is here.
    fn poll_said(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Said>> {
        // A server that refuses a request may have ended its side before all of it was written.
        let written = self.write(cx);
        loop {
            match head::read(&self.seen) {
                Ok(Some(said)) if said.status == StatusCode::SWITCHING_PROTOCOLS => {
                    return Poll::Ready(Err(gone("it switches to a protocol that nobody asked for")));
                }
                // What is said on the way is not the answer.
                Ok(Some(said)) if said.status.is_informational() => {
                    self.seen.advance(said.end);
                    continue;
                }
                Ok(Some(said)) => return Poll::Ready(Ok(said)),
                Ok(None) => {}
                Err(head::Garbled) => return Poll::Ready(Err(not_http())),
            }
            match self.fill(cx) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(gone("the server closed the connection"))),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return written.map_or_else(|it| Poll::Ready(Err(it)), |()| Poll::Pending),
            }
        }
    }

    /// The answer whose head is here, while its body may still be on its way.
    fn answer(
        mut self: Box<Self>,
        said: Said,
        home: (Arc<Lines>, Authority),
    ) -> Result<Response<Inflow>, Unanswered> {
        let head = self.seen.split_to(said.end);
        let (headers, reason) = head::headers(&head).map_err(|head::Garbled| not_http())?;
        let mut response = Response::new(Inflow::new(self, said, home));
        *response.status_mut() = said.status;
        *response.headers_mut() = headers;
        if let Some(reason) = reason {
            response.extensions_mut().insert(Reason(reason));
        }
        Ok(response)
    }
}

fn gone(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, why)
}

fn not_http() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the head of its answer is not HTTP/1.1, too long, or contradicts itself",
    )
}

#[cfg(test)]
mod tests;
