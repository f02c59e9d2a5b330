//! Server-sent events: reads a byte stream into events, writes events as bytes.
//!
//! The reader takes any cut of the stream, CR, LF and CRLF line ends, comments and unknown fields.

use bytes::{BufMut, Bytes, BytesMut};

/// One event. `name` is `message` unless the stream said otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    pub name: String,
    pub data: Bytes,
    pub id: Option<String>,
    pub retry_ms: Option<u64>,
}

/// What is refused: an event larger than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {limit} bytes")]
pub struct TooLarge {
    pub limit: usize,
}

/// Collects pieces of a stream and gives out whole events.
#[derive(Debug)]
pub struct Reader {
    line: BytesMut,
    data: BytesMut,
    has_data: bool,
    event: Event,
    after_cr: bool,
    first: bool,
    limit: usize,
}

impl Reader {
    pub fn new(limit: usize) -> Self {
        Self {
            line: BytesMut::new(),
            data: BytesMut::new(),
            has_data: false,
            event: Event::default(),
            after_cr: false,
            first: true,
            limit,
        }
    }

    /// Takes the next piece and returns the events that it completes. Events without data are not given out,
    /// except that one that only carries an id or a retry time is: it primes a resumption.
    pub fn push(&mut self, mut piece: &[u8]) -> Result<Vec<Event>, TooLarge> {
        let mut events = Vec::new();
        while !piece.is_empty() {
            if self.after_cr {
                self.after_cr = false;
                if piece[0] == b'\n' {
                    piece = &piece[1..];
                    continue;
                }
            }
            if let Some(end) = memchr::memchr2(b'\n', b'\r', piece) {
                self.line.put_slice(&piece[..end]);
                self.after_cr = piece[end] == b'\r';
                piece = &piece[end + 1..];
                let line = self.line.split().freeze();
                self.take_line(&line, &mut events);
            } else {
                self.line.put_slice(piece);
                piece = &[];
            }
            if self.line.len() + self.data.len() > self.limit {
                return Err(TooLarge { limit: self.limit });
            }
        }
        Ok(events)
    }

    fn take_line(&mut self, line: &[u8], events: &mut Vec<Event>) {
        let line = if std::mem::take(&mut self.first) {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            self.end_event(events);
            return;
        }
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let field = &line[..colon];
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.put_u8(b'\n');
                }
                self.has_data = true;
                self.data.put_slice(value);
            }
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => self.event.id = Some(String::from_utf8_lossy(value).into_owned()),
            b"retry" => {
                self.event.retry_ms = std::str::from_utf8(value).ok().and_then(|it| it.parse().ok());
            }
            _ => {}
        }
    }

    fn end_event(&mut self, events: &mut Vec<Event>) {
        let mut event = std::mem::take(&mut self.event);
        event.data = self.data.split().freeze();
        self.has_data = false;
        if event.data.is_empty() && event.id.is_none() && event.retry_ms.is_none() {
            return;
        }
        if event.name.is_empty() {
            event.name = "message".into();
        }
        events.push(event);
    }
}

/// Writes one event. Line ends inside `data` become further `data:` lines.
pub fn write(name: Option<&str>, id: Option<&str>, data: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(data.len() + 48);
    if let Some(name) = name {
        out.put_slice(b"event: ");
        out.put_slice(name.as_bytes());
        out.put_u8(b'\n');
    }
    if let Some(id) = id {
        out.put_slice(b"id: ");
        out.put_slice(id.as_bytes());
        out.put_u8(b'\n');
    }
    for line in data.split(|it| *it == b'\n') {
        out.put_slice(b"data: ");
        out.put_slice(line.strip_suffix(b"\r").unwrap_or(line));
        out.put_u8(b'\n');
    }
    out.put_u8(b'\n');
    out.freeze()
}

/// A comment line, which keeps a connection open and means nothing.
pub const KEEP_ALIVE: &[u8] = b": \n\n";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(stream: &[u8]) -> Vec<(String, String, Option<String>)> {
        let events = Reader::new(1 << 20).push(stream).expect("small");
        events
            .into_iter()
            .map(|it| (it.name, String::from_utf8_lossy(&it.data).into_owned(), it.id))
            .collect()
    }

    #[test]
    fn every_line_end_is_understood() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = ["event: endpoint", "data: /x", "", ": hi", "", "id:7", "data:a", "data: b", "", ""]
                .join(end);
            assert_eq!(
                read(stream.as_bytes()),
                [("endpoint".into(), "/x".into(), None), ("message".into(), "a\nb".into(), Some("7".into()))],
                "{end:?}"
            );
        }
    }

    #[test]
    fn an_empty_event_is_skipped_and_a_priming_one_is_not() {
        assert_eq!(read(b"data: \n\n: c\n\n\n\n"), []);
        assert_eq!(read(b"id: 1\ndata:\n\n"), [("message".into(), String::new(), Some("1".into()))]);
        assert_eq!(Reader::new(9).push(b"retry: 500\n\n").expect("small")[0].retry_ms, Some(500));
    }

    #[test]
    fn an_event_that_does_not_end_is_refused_at_the_limit() {
        let mut reader = Reader::new(100);
        assert!(reader.push(&[b'a'; 90]).is_ok());
        assert_eq!(reader.push(&[b'a'; 90]), Err(TooLarge { limit: 100 }));
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_events(data in "[a-z \\n]{0,40}", cuts in prop::collection::vec(0_usize..200, 0..6)) {
            let stream = [&write(Some("x"), Some("1"), data.as_bytes())[..], b"\r\n: c\r\n", &write(None, None, b"{}")].concat();
            let whole = Reader::new(1 << 20).push(&stream).expect("small");
            let mut cuts: Vec<_> = cuts.into_iter().map(|it| it.min(stream.len())).collect();
            cuts.sort_unstable();
            let (mut reader, mut pieces, mut start) = (Reader::new(1 << 20), Vec::new(), 0);
            for cut in cuts.into_iter().chain([stream.len()]) {
                pieces.extend(reader.push(&stream[start..cut]).expect("small"));
                start = cut;
            }
            prop_assert_eq!(pieces, whole);
        }
    }
}
