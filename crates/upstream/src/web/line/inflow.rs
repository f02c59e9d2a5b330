//! A body on its way in: piece by piece as it comes, or whole, read straight to where it stays.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::uri::Authority;
use tokio_util::io::poll_read_buf;
use toolgrove_wire::Gathered;

use super::{Line, Lines, gone};
use crate::web::head::{Framing, Said};

/// The longest line between chunks, or behind them.
const LONGEST_LINE: usize = 16 * 1024;
const NO_NUMBER: &str = "the length of a chunk is no number";

pub(crate) struct Inflow {
    said: Said,
    left: Left,
    /// The connection it comes over, until the last byte.
    line: Option<Box<Line>>,
    /// Where the connection is kept then.
    home: (Arc<Lines>, Authority),
}

impl fmt::Debug for Inflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflow").field("said", &self.said).finish_non_exhaustive()
    }
}

/// What is still to come.
#[derive(Debug, Clone, Copy)]
enum Left {
    Bytes(usize),
    /// The length of a chunk.
    Length,
    /// So much of a chunk.
    Chunk(u64),
    /// The end of the line that a chunk ends with.
    Gap,
    /// Headers that are sent behind the body, which nobody asked for.
    Trailers,
    /// Nobody knows how much.
    Rest,
}

/// Why a body ends before its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("it is too long")]
    TooLong,
    #[error(transparent)]
    Lost(#[from] io::Error),
}

/// What can be done with what is here.
enum Step {
    Piece(Bytes),
    Again,
    More,
    Done,
}

impl Inflow {
    pub(super) fn new(line: Box<Line>, said: Said, home: (Arc<Lines>, Authority)) -> Self {
        let left = match said.framing {
            Framing::Sized(length) => Left::Bytes(length),
            Framing::Chunked => Left::Length,
            Framing::Endless => Left::Rest,
        };
        let mut inflow = Self { said, left, line: Some(line), home };
        if matches!(inflow.left, Left::Bytes(0)) {
            inflow.settle();
        }
        inflow
    }

    /// What the head said.
    pub(in crate::web) fn said(&self) -> &Said {
        &self.said
    }

    /// The next piece; none at the end.
    pub(crate) async fn piece(&mut self) -> Option<io::Result<Bytes>> {
        poll_fn(|cx| self.poll_piece(cx)).await
    }

    /// All of it in one piece, if it has no more than so many bytes.
    pub(crate) async fn whole(mut self, limit: usize) -> Result<Bytes, Broken> {
        if let (Left::Bytes(length), Some(line)) = (self.left, &mut self.line) {
            if length > limit {
                return Err(Broken::TooLong);
            }
            if line.seen.len() < length {
                let all = poll_fn({
                    let mut all = BytesMut::with_capacity(length);
                    all.put(&mut line.seen);
                    move |cx| line.poll_all(cx, &mut all, length)
                });
                let all = all.await?;
                self.settle();
                return Ok(all);
            }
        }
        let mut gathered = Gathered::default();
        while let Some(piece) = self.piece().await {
            let piece = piece?;
            if gathered.len() + piece.len() > limit {
                return Err(Broken::TooLong);
            }
            gathered.push(piece, None);
        }
        Ok(gathered.into_bytes())
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            let Some(line) = &mut self.line else { return Poll::Ready(None) };
            match step(&mut self.left, &mut line.seen) {
                Ok(Step::Piece(piece)) => {
                    if matches!(self.left, Left::Bytes(0)) {
                        self.settle();
                    }
                    return Poll::Ready(Some(Ok(piece)));
                }
                Ok(Step::Again) => {}
                Ok(Step::Done) => {
                    self.settle();
                    return Poll::Ready(None);
                }
                Ok(Step::More) => match ready!(line.poll_more(cx)) {
                    Ok(1..) => {}
                    Ok(0) if matches!(self.left, Left::Rest) => self.line = None,
                    Ok(0) => return self.broken(gone("the connection ended")),
                    Err(error) => return self.broken(error),
                },
                Err(error) => return self.broken(error),
            }
        }
    }

    fn broken(&mut self, error: io::Error) -> Poll<Option<io::Result<Bytes>>> {
        self.line = None;
        Poll::Ready(Some(Err(error)))
    }

    /// All is read: the connection is ready for the next request, or of no more use.
    fn settle(&mut self) {
        let Some(mut line) = self.line.take() else { return };
        if self.said.stays_open && line.is_written() && line.seen.is_empty() {
            line.seen = Bytes::new();
            let (lines, host) = &self.home;
            lines.keep(host, line);
        }
    }
}

impl Line {
    /// Reads what comes next of a body. A request that is answered before its end goes on being written.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.write_on(cx);
        self.fill(cx)
    }

    /// Reads until there are so many bytes, and none behind them.
    fn poll_all(
        &mut self,
        cx: &mut Context<'_>,
        all: &mut BytesMut,
        length: usize,
    ) -> Poll<io::Result<Bytes>> {
        self.write_on(cx);
        while all.len() < length {
            let room = length - all.len();
            let read = poll_read_buf(Pin::new(&mut self.io), cx, &mut (&mut *all).limit(room));
            if ready!(read)? == 0 {
                return Poll::Ready(Err(gone("the connection ended")));
            }
            self.patience.set(&*self.io, length - all.len());
        }
        Poll::Ready(Ok(std::mem::take(all).freeze()))
    }

    fn write_on(&mut self, cx: &mut Context<'_>) {
        if !self.is_written() {
            // Whoever has answered need not read on.
            let _ = self.write(cx);
        }
    }
}

/// Takes what can be taken.
fn step(left: &mut Left, seen: &mut Bytes) -> io::Result<Step> {
    let garbled = |why: &'static str| io::Error::new(io::ErrorKind::InvalidData, why);
    Ok(match left {
        Left::Bytes(0) => Step::Done,
        _ if seen.is_empty() => Step::More,
        Left::Bytes(length) => {
            let piece = seen.split_to(seen.len().min(*length));
            *length -= piece.len();
            Step::Piece(piece)
        }
        Left::Rest => Step::Piece(std::mem::take(seen)),
        // A line without a number would be taken for the last.
        Left::Length if !seen[0].is_ascii_hexdigit() => return Err(garbled(NO_NUMBER)),
        Left::Length => match httparse::parse_chunk_size(seen) {
            Ok(httparse::Status::Complete((end, length))) => {
                seen.advance(end);
                *left = if length == 0 { Left::Trailers } else { Left::Chunk(length) };
                Step::Again
            }
            Ok(httparse::Status::Partial) if seen.len() <= LONGEST_LINE => Step::More,
            Ok(_) | Err(_) => return Err(garbled(NO_NUMBER)),
        },
        Left::Chunk(length) => {
            let piece = seen.split_to(usize::try_from(*length).unwrap_or(usize::MAX).min(seen.len()));
            *length -= piece.len() as u64;
            if *length == 0 {
                *left = Left::Gap;
            }
            Step::Piece(piece)
        }
        Left::Gap if seen.len() < 2 => Step::More,
        Left::Gap => {
            if !seen.starts_with(b"\r\n") {
                return Err(garbled("a chunk is longer than it said"));
            }
            seen.advance(2);
            *left = Left::Length;
            Step::Again
        }
        Left::Trailers => match memchr::memchr(b'\n', seen) {
            Some(end) => {
                let is_last = seen[..end].trim_ascii_end().is_empty();
                seen.advance(end + 1);
                if is_last { Step::Done } else { Step::Again }
            }
            None if seen.len() <= LONGEST_LINE => Step::More,
            None => return Err(garbled("what follows its last chunk is too long")),
        },
    })
}
