//! Streams of legacy sessions that can be read again: a client that lost its connection asks for what came after the
//! last event it saw.
//!
//! The request runs on in a task of its own and writes into the replay; connections only read from it. A request whose
//! client does not come back within the grace is cancelled.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::stream::{self, Stream};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use toolgrove_core::task;
use toolgrove_wire::legacy::Version;
use toolgrove_wire::sse;

use super::answering::GRACE;
use super::stream::{Frame, KEEP_ALIVE, Running};

const EVENTS: usize = 256;
const BYTES: usize = 1024 * 1024;

/// The streams of one session.
#[derive(Default)]
pub(super) struct Replays {
    next: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Replay>>>,
}

struct Replay {
    number: u64,
    state: Mutex<State>,
    changed: Notify,
    /// How many connections read along.
    readers: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    /// The number of the first event that is still there.
    first: u64,
    events: VecDeque<Bytes>,
    bytes: usize,
    done: bool,
}

impl Replays {
    /// Lets a request run on by itself and reads along. The first frame may already be there.
    pub(super) fn record(
        self: &Arc<Self>,
        mut running: Box<Running>,
        first: Option<&[u8]>,
        version: Version,
    ) -> impl Stream<Item = Bytes> + Send + use<> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (state, changed, readers) = (Mutex::default(), Notify::new(), watch::channel(0).0);
        let replay = Arc::new(Replay { number, state, changed, readers });
        lock(&self.open).insert(number, replay.clone());
        if version >= Version::V2025_11_25 {
            // Something to resume from, before there is anything to say.
            replay.push(b"");
        }
        if let Some(first) = first {
            replay.push(first);
        }
        running.answer.shorten();
        let (replays, recorded, stream) = (self.clone(), replay.clone(), read(Reader::new(replay), 0));
        task::spawn("legacy stream", async move {
            let ended = tokio::select! {
                biased;
                () = recorded.run(running) => true,
                () = recorded.abandoned() => false,
            };
            if ended {
                sleep(GRACE).await;
            }
            lock(&replays.open).remove(&number);
        });
        stream
    }

    /// What came after an event, if its stream is still there.
    pub(super) fn after(&self, event: &str) -> Option<impl Stream<Item = Bytes> + Send + use<>> {
        let (number, place) = event.split_once('-')?;
        let (number, place) = (number.parse().ok()?, place.parse::<u64>().ok()?);
        let replay = lock(&self.open).get(&number).cloned()?;
        Some(read(Reader::new(replay), place + 1))
    }

    /// How many streams there are.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        lock(&self.open).len()
    }
}

impl Replay {
    async fn run(&self, running: Box<Running>) {
        let (id, era, mut running) = (running.id.clone(), running.era, running);
        loop {
            match running.advance(KEEP_ALIVE).await {
                (Frame::Note(note), Some(rest)) => {
                    self.push(&note);
                    running = rest;
                }
                (Frame::Quiet, Some(rest)) => running = rest,
                (Frame::Final(result), _) => {
                    self.push(&Running::final_bytes(&id, era, &result));
                    break;
                }
                (_, None) => break,
            }
        }
        lock(&self.state).done = true;
        self.changed.notify_waiters();
    }

    /// Waits until nobody has read along for as long as the grace.
    async fn abandoned(&self) {
        let mut readers = self.readers.subscribe();
        while readers.wait_for(|it| *it == 0).await.is_ok() {
            if timeout(GRACE, readers.wait_for(|it| *it > 0)).await.is_err() {
                return;
            }
        }
    }

    fn push(&self, message: &[u8]) {
        let mut state = lock(&self.state);
        let id = format!("{}-{}", self.number, state.first + state.events.len() as u64);
        let event = sse::write(None, Some(&id), message);
        state.bytes += event.len();
        state.events.push_back(event);
        while state.events.len() > 1 && (state.events.len() > EVENTS || state.bytes > BYTES) {
            if let Some(oldest) = state.events.pop_front() {
                state.bytes -= oldest.len();
                state.first += 1;
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// The event with this number, or the oldest after it.
    fn event(&self, place: u64) -> Next {
        let state = lock(&self.state);
        let place = place.max(state.first);
        match state.events.get((place - state.first) as usize) {
            Some(event) => Next::Event(event.clone(), place + 1),
            None if state.done => Next::End,
            None => Next::Later,
        }
    }
}

/// What a reader gets: an event and the number of the one after it, or nothing yet, or nothing more.
enum Next {
    Event(Bytes, u64),
    Later,
    End,
}

/// A connection that reads along.
struct Reader(Arc<Replay>);

impl Reader {
    fn new(replay: Arc<Replay>) -> Self {
        replay.readers.send_modify(|it| *it += 1);
        Self(replay)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.readers.send_modify(|it| *it -= 1);
    }
}

fn read(reader: Reader, place: u64) -> impl Stream<Item = Bytes> + Send + use<> {
    stream::unfold((reader, place), |(reader, place)| async move {
        loop {
            let changed = reader.0.changed.notified();
            match reader.0.event(place) {
                Next::End => return None,
                Next::Event(event, next) => {
                    drop(changed);
                    return Some((event, (reader, next)));
                }
                Next::Later => {
                    if timeout(KEEP_ALIVE, changed).await.is_err() {
                        return Some((Bytes::from_static(sse::KEEP_ALIVE), (reader, place)));
                    }
                }
            }
        }
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
