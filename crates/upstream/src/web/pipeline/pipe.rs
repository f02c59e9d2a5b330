//! One connection that several requests wait on.

use std::collections::VecDeque;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures::future::poll_fn;
use futures::task::AtomicWaker;
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout};

use super::{Pipeline, Written, plain};
use crate::web::{Endpoint, Stream, head};

/// How often it is looked at whether somebody is held up.
const TICK: Duration = Duration::from_millis(50);
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);
/// Nothing that lives long has this size, so that the allocator gives back all of the memory these lay in.
const READ: usize = 24 * 1024;

/// What goes in and who waits for what comes out.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    queue: Mutex<Queue>,
    /// Rung when there is something to write.
    bell: AtomicWaker,
}

#[derive(Default)]
struct Queue {
    out: BytesMut,
    waiting: VecDeque<Waiting>,
    /// Nobody joins any more.
    is_closed: bool,
}

impl fmt::Debug for Queue {
    /// Without what is to be written, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Waiting {
    answer: oneshot::Sender<Bytes>,
    since: Instant,
    /// How many were under way then.
    among: usize,
}

impl Pipe {
    /// Adds a request, if no more than so many wait then.
    pub(super) fn ask(
        &self,
        request: &Written<'_>,
        depth: usize,
        among: usize,
    ) -> Option<oneshot::Receiver<Bytes>> {
        let mut queue = self.lock();
        if queue.is_closed || queue.waiting.len() >= depth {
            return None;
        }
        let (answer, asked) = oneshot::channel();
        queue.waiting.push_back(Waiting { answer, since: Instant::now(), among });
        let was_empty = queue.out.is_empty();
        request.put(&mut queue.out);
        drop(queue);
        if was_empty {
            self.bell.wake();
        }
        Some(asked)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes and reads until the connection ends or is of no more use.
pub(super) async fn run(pipeline: Arc<Pipeline>, endpoint: Endpoint, pipe: Arc<Pipe>) {
    let closing = Closing { pipeline, pipe };
    let patience = closing.pipeline.lock().habit.patience();
    let Ok(Some(stream)) = timeout(patience, endpoint.connect()).await else { return };
    let mut drive = Drive::new(&closing.pipeline, &closing.pipe, stream);
    poll_fn(|cx| drive.poll(cx)).await;
}

/// However it ends, nobody joins any more, and who still waits goes alone.
struct Closing {
    pipeline: Arc<Pipeline>,
    pipe: Arc<Pipe>,
}

impl Drop for Closing {
    fn drop(&mut self) {
        let mut state = self.pipeline.lock();
        state.pipes.retain(|it| !Arc::ptr_eq(it, &self.pipe));
        let mut queue = self.pipe.lock();
        queue.is_closed = true;
        if !std::mem::take(&mut queue.waiting).is_empty() {
            state.habit.pause(Instant::now());
        }
    }
}

struct Drive<'a> {
    pipeline: &'a Pipeline,
    pipe: &'a Pipe,
    io: Box<dyn Stream>,
    out: BytesMut,
    is_flushed: bool,
    seen: BytesMut,
    began: Instant,
    /// When the last answer came.
    moved: Option<Instant>,
    tick: Interval,
}

impl<'a> Drive<'a> {
    fn new(pipeline: &'a Pipeline, pipe: &'a Pipe, stream: Box<dyn Stream>) -> Self {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            pipeline,
            pipe,
            io: stream,
            out: BytesMut::new(),
            is_flushed: true,
            seen: BytesMut::new(),
            began: Instant::now(),
            moved: None,
            tick,
        }
    }

    /// Ready when there is nothing more to be had from this connection.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.pipe.bell.register(cx.waker());
        if let Poll::Ready(Err(Ended)) = self.write(cx) {
            return Poll::Ready(());
        }
        if let Poll::Ready(Ended) = self.read(cx) {
            return Poll::Ready(());
        }
        while self.tick.poll_tick(cx).is_ready() {
            if self.is_done() {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        loop {
            if self.out.is_empty() {
                std::mem::swap(&mut self.out, &mut self.pipe.lock().out);
            }
            if self.out.is_empty() {
                break;
            }
            match ready!(Pin::new(&mut self.io).poll_write(cx, &self.out)) {
                Ok(written @ 1..) => self.out.advance(written),
                Ok(0) | Err(_) => return Poll::Ready(Err(Ended)),
            }
            self.is_flushed = false;
        }
        if !self.is_flushed {
            ready!(Pin::new(&mut self.io).poll_flush(cx)).map_err(|_| Ended)?;
            self.is_flushed = true;
        }
        Poll::Ready(Ok(()))
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        loop {
            self.seen.reserve(READ);
            match ready!(pin!(self.io.read_buf(&mut self.seen)).poll(cx)) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return Poll::Ready(Ended),
            }
            if self.hand_out().is_err() {
                return Poll::Ready(Ended);
            }
        }
    }

    /// Gives everybody their answer whose answer is here.
    fn hand_out(&mut self) -> Result<(), Ended> {
        let now = Instant::now();
        while let Some(body) = next(&mut self.seen)? {
            // An answer that nobody has asked for.
            let Some(waiting) = self.pipe.lock().waiting.pop_front() else { return Err(Ended) };
            self.moved = Some(now);
            // What those waited for who were there before the connection says nothing of the server's pace.
            if waiting.since >= self.began {
                self.pipeline.heard_together(now - waiting.since, waiting.among, now);
            }
            // Whoever does not wait any more needs none.
            let _ = waiting.answer.send(body);
        }
        Ok(())
    }

    /// Whether the connection is idle, or only holds up who waits on it. The request in front stays as long as somebody
    /// waits for it, if the server has answered here at all; for a modern server the end of its connection means that
    /// nobody does.
    fn is_done(&mut self) -> bool {
        let patience = self.pipeline.lock().habit.patience();
        let mut queue = self.pipe.lock();
        let (now, moved) = (Instant::now(), self.moved.unwrap_or(self.began));
        let Some(front) = queue.waiting.front() else {
            let is_idle = now - moved > IDLE_TIMEOUT;
            queue.is_closed |= is_idle;
            return queue.is_closed;
        };
        if now - front.since.max(moved) <= patience {
            return false;
        }
        let is_left = front.answer.is_closed() || self.moved.is_none();
        queue.is_closed = true;
        queue.waiting.truncate(1);
        drop(queue);
        self.pipeline.lock().habit.pause(now);
        is_left
    }
}

/// The connection is of no more use.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ended;

/// The body of the next answer, once all of it is here.
pub(super) fn next(seen: &mut BytesMut) -> Result<Option<Bytes>, Ended> {
    let Some(said) = head::read(seen).map_err(|_| Ended)? else { return Ok(None) };
    let length = plain(&said).ok_or(Ended)?;
    if seen.len() < said.end + length {
        return Ok(None);
    }
    seen.advance(said.end);
    Ok(Some(seen.split_to(length).freeze()))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, duplex};
    use tokio::time::sleep;

    use super::*;
    use crate::web::{Head, Opening};

    #[tokio::test(start_paused = true)]
    async fn who_waited_for_the_connection_says_nothing_of_the_pace() {
        let (pipeline, pipe) = (Pipeline::default(), Pipe::default());
        for _ in 0..100 {
            pipeline.lock().habit.heard_alone(Duration::from_millis(1), 4);
        }
        let (opening, to) = (Opening::default(), http::Uri::from_static("http://a.example/"));
        let request = Written { to: &to, head: &Head::plain(&opening), token: None, body: b"{}" };
        let asked: Vec<_> = (0..400).filter_map(|_| pipe.ask(&request, usize::MAX, 4)).collect();
        sleep(Duration::from_secs(3)).await;

        let (ours, mut theirs) = duplex(64 * 1024);
        let mut drive = Drive::new(&pipeline, &pipe, Box::new(ours));
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        theirs.write_all(answer.repeat(asked.len()).as_bytes()).await.unwrap();
        let answered = futures::future::join_all(asked);
        tokio::select! {
            () = poll_fn(|cx| drive.poll(cx)) => panic!("the connection is still good"),
            answers = answered => assert!(answers.iter().all(Result::is_ok)),
        }
        assert!(pipeline.lock().habit.depth(Instant::now()).is_some(), "they still go together");
    }
}
