//! Several requests on one connection before the first of them is answered, where that is safe and pays.
//!
//! A write and a read then carry many calls, and both ends wake up once for all of them. But answers come in the order
//! of the requests: a slow one holds up those behind it, and one that ends the connection loses them. So only requests
//! that may run twice go together, to a server that has just answered many of them quickly, each with one JSON body.
//! Of whatever else happens nothing is made here: the request goes alone, as all others do.

mod habit;
mod pipe;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::header::HeaderValue;
use http::{Method, StatusCode, Uri};
use tokio::sync::oneshot;
use tokio::time::Instant;
use toolgrove_core::task::spawn;

use self::habit::Habit;
use self::pipe::Pipe;
use super::head::{Framing, Said};
use super::{Endpoint, Head, Inflow, Kind};

/// So many at once are worth a connection in common. Many come and go in waves, so the next few of those that follow
/// them are taken for the first of others.
const MANY: usize = 4;
const NEXT: usize = 16;
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
    /// How many of the next are counted among many.
    rush: usize,
    pipes: Vec<Arc<Pipe>>,
}

/// A request as it is written.
pub(crate) struct Written<'a> {
    pub(crate) to: &'a Uri,
    pub(crate) head: &'a Head<'a>,
    pub(crate) token: Option<&'a HeaderValue>,
    pub(crate) body: &'a [u8],
}

impl Written<'_> {
    fn put(&self, out: &mut BytesMut) {
        self.head.put(out, (&Method::POST, self.to), self.token, self.body.len());
        out.put_slice(self.body);
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
        state.rush = if state.under_way >= MANY { NEXT } else { state.rush.saturating_sub(1) };
        let way = match state.rush {
            0 => Way::Few,
            _ => state.habit.depth(Instant::now()).map_or(Way::Alone, Way::Together),
        };
        Entered { pipeline: self.clone(), among: state.under_way, way }
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
    way: Way,
}

/// How a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Alone, because there are few.
    Few,
    /// Alone among many.
    Alone,
    /// With others, so many of them on one connection.
    Together(usize),
}

impl Entered {
    pub(crate) fn goes_together(&self) -> bool {
        matches!(self.way, Way::Together(_))
    }

    /// The body of a plain answer, if the request was given one. Else it is to go alone.
    pub(crate) async fn together(&self, endpoint: &Endpoint, request: &Written<'_>) -> Option<Bytes> {
        self.join(endpoint, request)?.await.ok()
    }

    fn join(&self, endpoint: &Endpoint, request: &Written<'_>) -> Option<oneshot::Receiver<Bytes>> {
        let Way::Together(depth) = self.way else { return None };
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
    pub(crate) fn heard_alone(&self, since: Instant, answer: &Inflow) {
        self.learn(since.elapsed(), plain(answer.said()));
    }

    /// What an answer says of the server that took so long, and has this length if it is plain.
    fn learn(&self, took: Duration, length: Option<usize>) {
        let mut state = self.pipeline.lock();
        let among = state.under_way.max(self.among);
        match self.way {
            _ if length.is_none() => state.habit.heard_otherwise(),
            Way::Alone => state.habit.heard_alone(took, among),
            Way::Few | Way::Together(_) => {}
        }
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

/// How long the body of an answer is, if it is what is expected and others can follow it on its connection.
fn plain(said: &Said) -> Option<usize> {
    let Framing::Sized(length) = said.framing else { return None };
    let is_plain = said.status == StatusCode::OK
        && said.kind == Kind::Json
        && said.stays_open
        && !said.is_coded
        && length <= LONGEST;
    is_plain.then_some(length)
}

#[cfg(test)]
mod tests;
