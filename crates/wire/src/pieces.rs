//! Messages on their way in and out, in the pieces they come and go in. What is long is shared, not copied.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};

use crate::Draft;
use crate::raw::put_string;

/// So long that it is cheaper to send it as a piece of its own.
const APART: usize = 16 * 1024;

/// One message in up to three pieces, and the body of a request or an answer that consists of it.
#[derive(Debug, Clone, Default)]
pub struct Pieces {
    front: Bytes,
    shared: Bytes,
    back: Bytes,
}

impl Pieces {
    /// The message, if it is one piece.
    pub fn whole(&self) -> Option<&Bytes> {
        (self.shared.is_empty() && self.back.is_empty()).then_some(&self.front)
    }

    /// The message around a long value, and that value.
    pub fn parts(&self) -> Option<[&Bytes; 3]> {
        (!self.shared.is_empty()).then_some([&self.front, &self.shared, &self.back])
    }

    /// Three pieces that follow one another.
    pub fn of([front, shared, back]: [Bytes; 3]) -> Self {
        Self { front, shared, back }
    }

    /// All of it in one piece.
    pub fn into_bytes(self) -> Bytes {
        if self.shared.is_empty() && self.back.is_empty() {
            return self.front;
        }
        [self.front, self.shared, self.back].concat().into()
    }

    pub fn len(&self) -> usize {
        self.front.len() + self.shared.len() + self.back.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn next(&mut self) -> Option<Bytes> {
        [&mut self.front, &mut self.shared, &mut self.back]
            .into_iter()
            .map(std::mem::take)
            .find(|it| !it.is_empty())
    }
}

impl From<Bytes> for Pieces {
    fn from(front: Bytes) -> Self {
        Self { front, ..Self::default() }
    }
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.len()
    }

    fn chunk(&self) -> &[u8] {
        let all: [&[u8]; 3] = [&self.front, &self.shared, &self.back];
        all.into_iter().find(|it| !it.is_empty()).unwrap_or_default()
    }

    fn chunks_vectored<'a>(&'a self, to: &mut [IoSlice<'a>]) -> usize {
        let parts = [&self.front, &self.shared, &self.back].into_iter().filter(|it| !it.is_empty());
        to.iter_mut().zip(parts).map(|(to, part)| *to = IoSlice::new(part)).count()
    }

    fn advance(&mut self, mut count: usize) {
        for part in [&mut self.front, &mut self.shared, &mut self.back] {
            let of_it = count.min(part.len());
            part.advance(of_it);
            count -= of_it;
        }
        assert_eq!(count, 0, "nobody goes on beyond the end");
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|it| Ok(Frame::data(it))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.len() as u64)
    }
}

/// A message that is being written.
#[derive(Debug, Default)]
pub struct Writing {
    front: BytesMut,
    /// The first long piece, once there is one.
    shared: Bytes,
    back: BytesMut,
}

impl Writing {
    /// With room for so much that is not long.
    pub fn new(room: usize) -> Self {
        Self { front: BytesMut::with_capacity(room), ..Self::default() }
    }

    /// With room for an object and so much around it.
    pub fn around(draft: &Draft, room: usize) -> Self {
        let size = draft.size();
        Self::new(room + if size < APART { size } else { 0 })
    }

    pub fn put(&mut self, text: &[u8]) {
        self.own().put_slice(text);
    }

    /// A text as a JSON string.
    pub fn put_string(&mut self, text: &str) {
        put_string(self.own(), text);
    }

    pub fn put_number(&mut self, number: u64) {
        put_number(self.own(), number);
    }

    /// A part of what others hold too, which is copied only if it is short.
    pub(crate) fn share(&mut self, bytes: &Bytes, start: usize, end: usize) {
        if end - start >= APART && self.shared.is_empty() {
            self.shared = bytes.slice(start..end);
        } else {
            self.own().put_slice(&bytes[start..end]);
        }
    }

    fn own(&mut self) -> &mut BytesMut {
        if self.shared.is_empty() { &mut self.front } else { &mut self.back }
    }

    pub fn done(self) -> Pieces {
        Pieces { front: self.front.freeze(), shared: self.shared, back: self.back.freeze() }
    }
}

/// Writes a number in digits.
pub fn put_number(out: &mut BytesMut, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.put_slice(&digits[at..]);
}

/// How much is read at once of what nobody knows the length of.
const READ: usize = 16 * 1024;

thread_local! {
    /// Where it is read to. Who waits for something needs no room for it, and what has come only what it takes.
    static ROOM: RefCell<Vec<u8>> = RefCell::default();
}

/// Reads once and puts what came behind what is there. How much came is what `read` says.
pub fn read_behind(
    seen: &mut Bytes,
    read: impl FnOnce(&mut [u8]) -> Poll<io::Result<usize>>,
) -> Poll<io::Result<usize>> {
    ROOM.with_borrow_mut(|room| {
        room.resize(READ, 0);
        let count = ready!(read(room))?;
        let came = &room[..count];
        *seen =
            if seen.is_empty() { Bytes::copy_from_slice(came) } else { [&seen[..], came].concat().into() };
        Poll::Ready(Ok(count))
    })
}

/// What comes in in pieces and is wanted whole. A single piece stays as it came.
#[derive(Debug, Default)]
pub struct Gathered {
    first: Bytes,
    all: BytesMut,
}

impl Gathered {
    pub fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the next piece of so many bytes as are expected in all.
    pub fn push(&mut self, piece: Bytes, expected: Option<usize>) {
        if self.is_empty() {
            self.first = piece;
            return;
        }
        if self.all.is_empty() {
            let first = std::mem::take(&mut self.first);
            self.all.reserve(expected.unwrap_or(first.len() * 4).max(first.len() + piece.len()));
            self.all.extend_from_slice(&first);
        }
        self.all.extend_from_slice(&piece);
    }

    pub fn into_bytes(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_shared_and_comes_in_its_place() {
        for length in [0, 5, APART - 1, APART, 100_000] {
            let shared = Bytes::from("x".repeat(length));
            let mut out = Writing::new(8);
            out.put(b"{\"a\":");
            out.share(&shared, 0, shared.len());
            out.put(b"}");
            let mut pieces = out.done();
            let whole = format!("{{\"a\":{}}}", "x".repeat(length));
            assert_eq!(pieces.clone().into_bytes(), whole);
            assert_eq!(pieces.size_hint().exact(), Some(whole.len() as u64));
            let mut sent = Vec::new();
            while let Some(piece) = pieces.next() {
                assert!(!piece.is_empty());
                sent.push(piece);
            }
            assert!(pieces.is_end_stream());
            assert_eq!(sent.concat(), whole.as_bytes());
            let is_shared = sent.iter().any(|it| length > 0 && it.as_ptr() == shared.as_ptr());
            assert_eq!(is_shared, length >= APART, "{length}");
        }
    }

    #[test]
    fn pieces_are_written_from_wherever_the_last_write_ended() {
        let all = ["ab", "cde", "f"].map(Bytes::from);
        for steps in [vec![6], vec![1; 6], vec![2, 3, 1], vec![3, 3], vec![0, 4, 2]] {
            let (mut pieces, mut written) = (Pieces::of(all.clone()), Vec::new());
            for step in steps {
                let mut parts = [IoSlice::new(&[]); 4];
                let count = pieces.chunks_vectored(&mut parts);
                let left: Vec<u8> = parts[..count].iter().flat_map(|it| it.to_vec()).collect();
                assert_eq!(left.len(), pieces.remaining());
                assert!(left.starts_with(pieces.chunk()) && !pieces.chunk().is_empty(), "{left:?}");
                written.extend_from_slice(&left[..step]);
                pieces.advance(step);
            }
            assert_eq!(
                (written.as_slice(), pieces.remaining(), pieces.chunk()),
                (&b"abcdef"[..], 0, &b""[..])
            );
        }
    }

    #[test]
    fn what_is_read_stands_behind_what_was_there() {
        let mut seen = Bytes::new();
        let read = |text: &'static [u8]| {
            move |room: &mut [u8]| {
                room[..text.len()].copy_from_slice(text);
                Poll::Ready(Ok(text.len()))
            }
        };
        assert!(matches!(read_behind(&mut seen, read(b"ab")), Poll::Ready(Ok(2))));
        assert!(read_behind(&mut seen, |_| Poll::Pending).is_pending());
        assert!(matches!(read_behind(&mut seen, read(b"c")), Poll::Ready(Ok(1))));
        assert!(matches!(read_behind(&mut seen, read(b"")), Poll::Ready(Ok(0))));
        assert_eq!(seen, "abc");
        let failed = read_behind(&mut seen, |_| Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())));
        assert!(matches!(failed, Poll::Ready(Err(_))));
        assert_eq!(seen, "abc");
    }

    #[test]
    fn pieces_become_whole_in_their_order() {
        for lengths in [&[][..], &[3], &[0, 3], &[APART], &[3, 4, 5], &[APART, 1, APART]] {
            for expected in [None, Some(1), Some(lengths.iter().sum())] {
                let pieces = lengths.iter().enumerate().map(|(place, it)| vec![place as u8; *it]);
                let mut gathered = Gathered::default();
                for piece in pieces.clone() {
                    gathered.push(piece.into(), expected);
                }
                let whole: Vec<u8> = pieces.flatten().collect();
                assert_eq!((gathered.len(), gathered.is_empty()), (whole.len(), whole.is_empty()));
                assert_eq!(gathered.into_bytes(), whole);
            }
        }
    }
}
