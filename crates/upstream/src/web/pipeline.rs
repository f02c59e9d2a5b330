//! Several requests on one connection before the first of them is answered, where that is safe and pays.
//!
//! A write and a read then carry many calls, and both ends wake up once for all of them. But answers come in the order
//! of the requests: a slow one holds up those behind it, and one that ends the connection loses them. So only requests
//! that may run twice go together, to a server that has just answered many of them quickly, each with one JSON body.
//! Of whatever else happens nothing is made here: the request goes alone, as all others do.

mod habit;
mod pipe;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode, Version};
use tokio::sync::oneshot;
use tokio::time::Instant;
use toolgrove_core::task::spawn;
use toolgrove_wire::put_number;

use self::habit::Habit;
use self::pipe::Pipe;
use super::{Endpoint, Inflow, Kind, Own, kind};

/// So many at once are worth a connection in common.
const MANY: usize = 4;
const PIPES: usize = 32;
/// Longer answers go alone, as do all requests that are not one piece.
const LONGEST: usize = 256 * 1024;

/// The connections that requests of one instance share, and what is known of its server.
#[derive(Debug, Default)]
pub(crate) struct Pipeline {
    /// The last id that a request had. None is given twice to an instance, so that an answer in the wrong place is
    /// known for what it is.
    id: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    habit: Habit,
    /// Requests without an answer, alone and together.
    under_way: usize,
    pipes: Vec<Arc<Pipe>>,
}

/// A request as it is written.
pub(crate) struct Written<'a> {
    pub(crate) opening: &'a Opening,
    pub(crate) own: &'a Own,
    pub(crate) token: Option<&'a HeaderValue>,
    pub(crate) body: &'a [u8],
}

/// How all requests of a link begin: the first line, and the headers that they have alike.
#[derive(Default)]
pub(crate) struct Opening {
    bytes: Bytes,
    has_authorization: bool,
}

impl fmt::Debug for Opening {
    /// It may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opening")
    }
}

impl Opening {
    pub(crate) fn of(endpoint: &Endpoint, headers: &HeaderMap) -> Self {
        let mut bytes = BytesMut::new();
        bytes.put_slice(endpoint.first_line("POST").as_bytes());
        for (name, value) in headers {
            put_header(&mut bytes, name, value);
        }
        Self { bytes: bytes.freeze(), has_authorization: headers.contains_key(AUTHORIZATION) }
    }
}

impl Pipeline {
    pub(crate) fn next_id(&self) -> u64 {
        self.id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A request begins that may run twice.
    pub(crate) fn enter(self: &Arc<Self>) -> Entered {
        let mut state = self.lock();
        state.under_way += 1;
        let depth = if state.under_way >= MANY { state.habit.depth(Instant::now()) } else { None };
        Entered { pipeline: self.clone(), among: state.under_way, depth }
    }

    fn heard_together(&self, took: Duration, among: usize, now: Instant) {
        let mut state = self.lock();
        let among = state.under_way.max(among);
        state.habit.heard_together(took, among, now);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under way.
pub(crate) struct Entered {
    pipeline: Arc<Pipeline>,
    /// How many were under way when it began. Many come and go in waves, so at its end there may be few.
    among: usize,
    /// How many may wait on one connection, if that pays.
    depth: Option<usize>,
}

impl Entered {
    pub(crate) fn goes_together(&self) -> bool {
        self.depth.is_some()
    }

    /// The body of a plain answer, if the request was given one. Else it is to go alone.
    pub(crate) async fn together(&self, endpoint: &Endpoint, request: &Written<'_>) -> Option<Bytes> {
        self.join(endpoint, request)?.await.ok()
    }

    fn join(&self, endpoint: &Endpoint, request: &Written<'_>) -> Option<oneshot::Receiver<Bytes>> {
        // What a header of its own replaces is for those that go alone.
        let is_plain =
            request.own.params.is_empty() && !(request.opening.has_authorization && request.token.is_some());
        let depth = self.depth.filter(|_| is_plain)?;
        let mut state = self.pipeline.lock();
        if let Some(asked) = state.pipes.iter().find_map(|it| it.ask(request, depth, self.among)) {
            return Some(asked);
        }
        if state.pipes.len() == PIPES {
            return None;
        }
        let pipe = Arc::new(Pipe::default());
        let asked = pipe.ask(request, depth, self.among);
        state.pipes.push(pipe.clone());
        spawn("http-pipe", pipe::run(self.pipeline.clone(), endpoint.clone(), pipe));
        asked
    }

    /// The request went alone since then, and this is the answer.
    pub(crate) fn heard_alone(&self, since: Instant, response: &Response<Inflow>) {
        let mut state = self.pipeline.lock();
        let among = state.under_way.max(self.among);
        state.habit.heard_alone(since.elapsed(), among, is_plain(response));
    }

    /// The server gave somebody else's answer.
    pub(crate) fn was_confused(&self) {
        self.pipeline.lock().habit.give_up();
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.pipeline.lock().under_way -= 1;
    }
}

/// Whether others could have followed on the connection of this answer.
fn is_plain(response: &Response<Inflow>) -> bool {
    let length = response.headers().get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    response.status() == StatusCode::OK
        && response.version() == Version::HTTP_11
        && kind(response.headers()) == Kind::Json
        && length.is_some_and(|it: usize| it <= LONGEST)
        && response.headers().get_all(CONNECTION).iter().all(|it| stays_open(it.as_bytes()))
}

/// What a `Connection` header says.
fn stays_open(said: &[u8]) -> bool {
    said.trim_ascii().eq_ignore_ascii_case(b"keep-alive")
}

impl Written<'_> {
    fn put(&self, out: &mut BytesMut) {
        out.reserve(self.opening.bytes.len() + self.body.len() + 256);
        out.put_slice(&self.opening.bytes);
        for (name, value) in self.own.more.iter().flatten() {
            put_header(out, name, value);
        }
        if let Some(token) = self.token {
            put_header(out, &AUTHORIZATION, token);
        }
        out.put_slice(b"content-length: ");
        put_number(out, self.body.len() as u64);
        out.put_slice(b"\r\n\r\n");
        out.put_slice(self.body);
    }
}

fn put_header(out: &mut BytesMut, name: &HeaderName, value: &HeaderValue) {
    out.put_slice(name.as_str().as_bytes());
    out.put_slice(b": ");
    out.put_slice(value.as_bytes());
    out.put_slice(b"\r\n");
}

#[cfg(test)]
mod tests;
