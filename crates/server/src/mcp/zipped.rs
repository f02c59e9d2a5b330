//! Lists that go out compressed. Each is compressed once, beside the calls, for all who ask for it until it changes.
//!
//! What is around a list changes from answer to answer, as the id of the request does. It is put before and behind what
//! was compressed as it is, in blocks of its own; the whole is one gzip stream.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use flate2::{Compress, Compression, Crc, FlushCompress};
use http::{HeaderValue, header};
use toolgrove_wire::Pieces;

/// So many lists are kept, the last used: those of some views of some people in a few forms.
const KEPT: usize = 64;
/// The longest block that is not compressed.
const BLOCK: usize = u16::MAX as usize;
/// No name, no time, no matter which system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

#[derive(Debug, Default)]
pub struct Zips(Mutex<VecDeque<Kept>>);

#[derive(Debug)]
struct Kept {
    /// That it is kept makes its place in memory its name.
    list: Bytes,
    /// Shared with whoever compresses it, until that is done.
    zipped: Arc<OnceLock<Zipped>>,
}

#[derive(Debug)]
struct Zipped {
    /// Whole blocks, none of which is the last.
    blocks: Bytes,
    sum: Crc,
}

impl Zips {
    /// The message compressed, if that has been done for its long part. Else it is done for the next who asks.
    pub fn zip(&self, body: &Pieces) -> Option<Pieces> {
        let [front, list, back] = body.parts()?;
        let zipped = self.kept(list)?;
        zipped.get()?.with(front, back)
    }

    fn kept(&self, list: &Bytes) -> Option<Arc<OnceLock<Zipped>>> {
        let mut kept = self.lock();
        // What nobody else holds was replaced by a newer list.
        kept.retain(|it| !it.list.is_unique());
        let found =
            kept.iter().position(|it| it.list.as_ptr() == list.as_ptr() && it.list.len() == list.len());
        if let Some(found) = found.and_then(|it| kept.remove(it)) {
            let zipped = found.zipped.clone();
            kept.push_back(found);
            return Some(zipped);
        }
        // One at a time.
        if kept.iter().any(Kept::is_begun) {
            return None;
        }
        if kept.len() == KEPT {
            kept.pop_front();
        }
        let zipped = Arc::new(OnceLock::new());
        kept.push_back(Kept { list: list.clone(), zipped: zipped.clone() });
        drop(kept);
        let list = list.clone();
        tokio::task::spawn_blocking(move || zipped.set(Zipped::of(&list)));
        None
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn is_begun(&self) -> bool {
        self.zipped.get().is_none() && Arc::strong_count(&self.zipped) > 1
    }
}

impl Zipped {
    fn of(list: &[u8]) -> Self {
        let mut sum = Crc::new();
        sum.update(list);
        let mut compress = Compress::new(Compression::default(), false);
        let mut blocks = Vec::with_capacity(list.len() / 4);
        let (mut at, mut is_flushed) = (0, false);
        while !is_flushed {
            blocks.reserve(list.len() / 8 + 1024);
            // Writing to memory does not fail; a step that leaves room has written all.
            let _ = compress.compress_vec(&list[at..], &mut blocks, FlushCompress::Sync);
            at = usize::try_from(compress.total_in()).unwrap_or(usize::MAX);
            is_flushed = at == list.len() && blocks.len() < blocks.capacity();
        }
        Self { blocks: blocks.into(), sum }
    }

    /// One stream with what stands before and behind, if that is short.
    fn with(&self, front: &[u8], back: &[u8]) -> Option<Pieces> {
        if front.len().max(back.len()) > BLOCK {
            return None;
        }
        let (mut before, mut behind) = (BytesMut::new(), BytesMut::new());
        before.put_slice(&HEAD);
        put_block(&mut before, front, false);
        put_block(&mut behind, back, true);
        let mut sum = Crc::new();
        sum.update(front);
        sum.combine(&self.sum);
        let mut last = Crc::new();
        last.update(back);
        sum.combine(&last);
        behind.put_u32_le(sum.sum());
        behind.put_u32_le(sum.amount());
        Some(Pieces::of([before.freeze(), self.blocks.clone(), behind.freeze()]))
    }
}

/// Bytes as they are.
fn put_block(out: &mut BytesMut, bytes: &[u8], is_last: bool) {
    let length = bytes.len() as u16;
    out.put_u8(u8::from(is_last));
    out.put_u16_le(length);
    out.put_u16_le(!length);
    out.put_slice(bytes);
}

/// Says of an answer that it is compressed.
pub(super) fn marked(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    response
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use toolgrove_wire::{Id, Raw, envelope};

    use super::*;

    fn list(entries: usize) -> Bytes {
        let entries: Vec<_> =
            (0..entries).map(|it| format!(r#"{{"name":"tool_{it}","n":{}}}"#, it * it)).collect();
        format!("[{}]", entries.join(",")).into()
    }

    fn around(id: &str, list: &Bytes) -> Pieces {
        let raw = |bytes: Bytes| Raw::parse(bytes).expect("JSON");
        let id = Id::new(raw(id.to_owned().into())).expect("an id");
        envelope::response_in_pieces(&id, &raw(list.clone()).into())
    }

    /// Read to the last byte by a reader that checks lengths and sums.
    fn unzipped(zipped: Pieces) -> Bytes {
        let bytes = zipped.into_bytes();
        let (mut whole, mut decoder) = (Vec::new(), GzDecoder::new(&bytes[..]));
        decoder.read_to_end(&mut whole).expect("gzip");
        assert!(decoder.into_inner().is_empty(), "nothing behind the end");
        whole.into()
    }

    #[test]
    fn one_compressed_list_serves_answers_that_differ() {
        for entries in [1000, 5000, 40_000] {
            let list = list(entries);
            let zipped = Zipped::of(&list);
            assert!(zipped.blocks.len() < list.len() / 3);
            for id in ["1", r#""a longer one""#] {
                let body = around(id, &list);
                let [front, _, back] = body.parts().expect("a long list");
                let out = zipped.with(front, back).expect("short enough");
                assert_eq!(unzipped(out), body.into_bytes());
            }
            let endless = "x".repeat(BLOCK + 1);
            assert!(zipped.with(endless.as_bytes(), b"}").is_none());
            let longest = "x".repeat(BLOCK);
            assert_eq!(
                unzipped(zipped.with(longest.as_bytes(), b"").expect("fits")).len(),
                BLOCK + list.len()
            );
        }
        // What cannot be made smaller.
        let noise: Vec<u8> =
            (0..100_000_u32).flat_map(|it| it.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let out = Zipped::of(&noise).with(b"<", b">").expect("short enough");
        assert_eq!(unzipped(out), [&b"<"[..], &noise, b">"].concat());
    }

    #[tokio::test]
    async fn who_asks_first_gets_it_plain_and_what_nobody_holds_is_let_go() {
        let zips = Zips::default();
        let lists: Vec<_> = (0..3).map(|it| list(2000 + it)).collect();
        for list in &lists {
            let body = around("7", list);
            let mut tries = 0;
            let zipped = loop {
                match zips.zip(&body) {
                    Some(zipped) => break zipped,
                    None => tokio::task::yield_now().await,
                }
                tries += 1;
            };
            assert!(tries > 0);
            assert_eq!(unzipped(zipped), body.into_bytes());
        }
        assert_eq!(zips.lock().len(), 3);
        let short = around("7", &list(3));
        assert!(zips.zip(&short).is_none());
        assert_eq!(zips.lock().len(), 3, "what is short goes as it is");
        drop(lists);
        assert!(zips.zip(&around("7", &list(2000))).is_none());
        assert_eq!(zips.lock().len(), 1);

        let lists: Vec<_> = (0..KEPT + 3).map(|it| list(1000 + it)).collect();
        for list in &lists {
            let body = around("7", list);
            while zips.zip(&body).is_none() {
                tokio::task::yield_now().await;
            }
            // The first stays, because it is in use.
            assert!(zips.zip(&around("7", &lists[0])).is_some());
        }
        assert_eq!(zips.lock().len(), KEPT);
    }
}
