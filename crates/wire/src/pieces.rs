//! Messages on their way in and out, in the pieces they come and go in. What is long is shared, not copied.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};

/// So long that it is cheaper to send it as a piece of its own.
const APART: usize = 16 * 1024;
const BACK: &[u8] = b"}";

/// One message in up to three pieces, and the body of a request or an answer that consists of it.
#[derive(Debug, Clone, Default)]
pub struct Pieces {
    front: Bytes,
    shared: Bytes,
    back: Bytes,
}

impl Pieces {
    /// Where an object is written up to the value of its last member, which may be long.
    pub fn begin(written: usize, last: &Bytes) -> BytesMut {
        BytesMut::with_capacity(if last.len() < APART { written + last.len() + BACK.len() } else { written })
    }

    /// That value, and the end.
    pub fn end(mut front: BytesMut, last: &Bytes) -> Self {
        if last.len() >= APART {
            return Self { front: front.freeze(), shared: last.clone(), back: Bytes::from_static(BACK) };
        }
        front.put_slice(last);
        front.put_slice(BACK);
        front.freeze().into()
    }

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

    fn len(&self) -> usize {
        self.front.len() + self.shared.len() + self.back.len()
    }

    fn take(&mut self) -> Option<Bytes> {
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

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.take().map(|it| Ok(Frame::data(it))))
    }

    fn is_end_stream(&self) -> bool {
        self.len() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.len() as u64)
    }
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
            let mut front = Pieces::begin(8, &shared);
            front.put_slice(b"{\"a\":");
            let mut pieces = Pieces::end(front, &shared);
            let whole = format!("{{\"a\":{}}}", "x".repeat(length));
            assert_eq!(pieces.clone().into_bytes(), whole);
            assert_eq!(pieces.size_hint().exact(), Some(whole.len() as u64));
            let mut sent = Vec::new();
            while let Some(piece) = pieces.take() {
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
