//! HTTP connections without tasks of their own: whoever waits for an answer drives its connection, so that a request
//! changes hands nowhere. A connection that has answered is kept for the next request to its host.

use std::collections::HashMap;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::poll_fn;
use http::header::HOST;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderValue, Request, Response, Uri};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper::rt::{Read, Write};
use tokio::time::Instant;
use toolgrove_core::task::{spawn, turn};
use toolgrove_wire::Pieces;

use super::connect::BoxError;
use super::dial::Way;

/// Shorter than what proxies and servers usually keep, so that we seldom write into a connection being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);
const IDLE_PER_HOST: usize = 1024;
/// So many wait for the next request that long; the others, which many requests at once have left, not much longer
/// than those lasted.
const SPARE: usize = 16;
const SURPLUS_TIMEOUT: Duration = Duration::from_secs(1);

/// What a connection goes over.
pub(crate) trait Stream: Read + Write + Unpin + Send {}

impl<T: Read + Write + Unpin + Send> Stream for T {}

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

struct Line {
    sender: SendRequest<Pieces>,
    connection: Option<Connection<Box<dyn Stream>, Pieces>>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error("no connection")]
    Connect(#[source] BoxError),
    #[error(transparent)]
    Lost(#[from] hyper::Error),
}

impl Lines {
    pub(super) fn new(way: Way) -> Arc<Self> {
        Arc::new(Self { way, idle: Mutex::default() })
    }

    /// Sends a request to the host its URL names. One whose connection was gone before its first byte was written is
    /// sent over another.
    pub(crate) fn send(
        self: &Arc<Self>,
        mut request: Request<Pieces>,
    ) -> impl Future<Output = Result<Response<Inflow>, Unanswered>> + Send {
        let uri = std::mem::take(request.uri_mut());
        let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        *request.uri_mut() = Uri::from(path);
        async move {
            let Some(host) = uri.authority() else {
                return Err(Unanswered::Connect("the address names no host".into()));
            };
            if !request.headers().contains_key(HOST)
                && let Ok(value) = HeaderValue::from_str(named(&uri, host))
            {
                request.headers_mut().insert(HOST, value);
            }
            loop {
                let (mut line, is_kept) = match self.kept(host) {
                    Some(line) => (line, true),
                    None => (Box::pin(self.open(&uri)).await?, false),
                };
                match line.exchange(request).await {
                    Ok(response) => {
                        let home = (self.clone(), host.clone());
                        return Ok(response.map(|body| Inflow { body, line: Some(line), home }));
                    }
                    Err(mut failed) => match failed.take_message() {
                        Some(unsent) if is_kept => request = unsent,
                        _ => return Err(failed.into_error().into()),
                    },
                }
            }
        }
    }

    pub(super) async fn connect(&self, uri: &Uri) -> Result<Box<dyn Stream>, BoxError> {
        self.way.connect(uri).await
    }

    async fn open(&self, uri: &Uri) -> Result<Box<Line>, Unanswered> {
        let stream = self.connect(uri).await.map_err(Unanswered::Connect)?;
        let (sender, connection) = http1::handshake(stream).await?;
        Ok(Box::new(Line { sender, connection: Some(connection) }))
    }

    /// The connection to a host that was used last.
    fn kept(&self, host: &Authority) -> Option<Box<Line>> {
        let mut idle = self.lock();
        let kept = idle.get_mut(host.as_str())?;
        let Idle { line, since } = kept.pop()?;
        if since.elapsed() < IDLE_TIMEOUT {
            return Some(line);
        }
        // The others have waited even longer.
        kept.clear();
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

/// The host as a header says it: a scheme's own port goes without saying.
pub(super) fn named<'a>(uri: &Uri, host: &'a Authority) -> &'a str {
    match (uri.scheme_str(), host.port_u16()) {
        (Some("http"), Some(80)) | (Some("https"), Some(443)) => host.host(),
        _ => host.as_str(),
    }
}

impl Line {
    /// Sends a request and drives the connection until its answer begins.
    fn exchange(
        &mut self,
        request: Request<Pieces>,
    ) -> impl Future<Output = Result<Response<Incoming>, TrySendError<Request<Pieces>>>> + Send {
        let Self { sender, connection } = self;
        let answer = sender.try_send_request(request);
        async move {
            turn().await;
            let mut answer = pin!(answer);
            poll_fn(|cx| {
                drive(connection, cx);
                answer.as_mut().poll(cx)
            })
            .await
        }
    }
}

/// Lets a connection read and write what it can. One that has ended is let go, and what waits for it hears so.
fn drive(connection: &mut Option<Connection<Box<dyn Stream>, Pieces>>, cx: &mut Context<'_>) {
    if let Some(it) = connection
        && let Poll::Ready(ended) = Pin::new(it).poll(cx)
    {
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection broke");
        }
        *connection = None;
    }
}

/// A body on its way in, and the connection it comes over.
pub(crate) struct Inflow {
    body: Incoming,
    /// Until the last byte.
    line: Option<Box<Line>>,
    /// Where the connection is kept then.
    home: (Arc<Lines>, Authority),
}

impl fmt::Debug for Inflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflow").finish_non_exhaustive()
    }
}

impl Body for Inflow {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut frame = Pin::new(&mut self.body).poll_frame(cx);
        if let (Poll::Pending, Some(line)) = (&frame, &mut self.line) {
            drive(&mut line.connection, cx);
            frame = Pin::new(&mut self.body).poll_frame(cx);
        }
        if let Poll::Ready(None) = frame {
            self.settle(cx);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        // Not before the connection was seen to: who stops reading here would close it.
        self.line.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Inflow {
    /// All is read: the connection is ready for the next request, or of no more use.
    fn settle(&mut self, cx: &mut Context<'_>) {
        let Some(mut line) = self.line.take() else { return };
        if !line.sender.is_ready() {
            drive(&mut line.connection, cx);
        }
        if line.connection.is_some() && line.sender.is_ready() {
            let (lines, host) = &self.home;
            lines.keep(host, line);
        }
    }
}

#[cfg(test)]
mod tests;
