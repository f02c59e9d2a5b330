//! The inside of a JSON string, as many bytes at a time as this machine can.

#![allow(clippy::inline_always, reason = "instructions are chosen in one place, for all that is done there")]

use fearless_simd::{Bytes, Level, Simd, SimdBase, SimdInt, SimdMask, dispatch, i8x16, i8x64, u8x16, u8x64};

const PART: usize = 16;
const BLOCK: usize = 64;

/// What is below are control characters, and as signed numbers all that is not ASCII.
const FIRST_PLAIN: u8 = 0x20;

/// What stands between the quotes of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inside {
    /// Where the closing quote is.
    pub(crate) end: usize,
    pub(crate) has_escapes: bool,
    pub(crate) is_ascii: bool,
}

/// Reads what begins behind the opening quote. Without its end, this is the place of what may not stand there.
#[inline]
pub(crate) fn inside(bytes: &[u8], start: usize) -> Result<Inside, usize> {
    // Most strings are short and plain.
    if let Some(part) = bytes[start..].first_chunk() {
        let place = dispatch!(Level::baseline(), simd => in_part(simd, part, Marks::InAscii)).trailing_zeros()
            as usize;
        if part.get(place) == Some(&b'"') {
            return Ok(Inside { end: start + place, has_escapes: false, is_ascii: true });
        }
    }
    any(bytes, start)
}

/// The same for all strings.
fn any(bytes: &[u8], start: usize) -> Result<Inside, usize> {
    dispatch!(Level::new(), simd => walk(simd, bytes, start))
}

#[inline(always)]
fn walk<S: Simd>(simd: S, bytes: &[u8], start: usize) -> Result<Inside, usize> {
    let mut walk = Walk { simd, bytes, at: start, has_escapes: false };
    let is_ascii = walk.on(Marks::InAscii)? == b'"';
    if !is_ascii {
        walk.on(Marks::InAnyText)?;
    }
    Ok(Inside { end: walk.at, has_escapes: walk.has_escapes, is_ascii })
}

struct Walk<'a, S> {
    simd: S,
    bytes: &'a [u8],
    at: usize,
    has_escapes: bool,
}

impl<S: Simd> Walk<'_, S> {
    /// Goes on to the closing quote, or to what is not ASCII if that is a mark too.
    #[inline(always)]
    fn on(&mut self, marks: Marks) -> Result<u8, usize> {
        loop {
            let rest = &self.bytes[self.at..];
            let (mut all, width) = if let Some(block) = rest.first_chunk::<BLOCK>() {
                let all = in_block(self.simd, block, marks);
                let left = without_short(block, all);
                self.has_escapes |= left != all;
                (left, BLOCK)
            } else if let Some(part) = rest.first_chunk() {
                (in_part(self.simd, part, marks), PART)
            } else {
                // What is too short ends with a quote that is not there.
                let part = std::array::from_fn(|it| rest.get(it).copied().unwrap_or(b'"'));
                (in_part(self.simd, &part, marks), rest.len())
            };
            if all == 0 {
                // What comes next is at a fixed distance: the processor begins with it before it is done here.
                self.at += width;
                continue;
            }
            let mut next = width;
            while all != 0 {
                let place = all.trailing_zeros() as usize;
                match rest.get(place) {
                    Some(b'\\') => {
                        self.has_escapes = true;
                        if !is_escape(rest, place) {
                            return Err(self.at + place);
                        }
                        // What is escaped is no stop; the digits of a long one never are.
                        next = next.max(place + 2);
                        all &= !(0b11 << place);
                    }
                    Some(stop @ (b'"' | 0x80..)) => {
                        self.at += place;
                        return Ok(*stop);
                    }
                    _ => return Err(self.at + place),
                }
            }
            self.at += next;
        }
    }
}

/// The marks of a block from the first on that is not an escape of one character, or lies across its end.
#[inline]
fn without_short(block: &[u8; BLOCK], mut all: u64) -> u64 {
    while all << 1 != 0 {
        let place = all.trailing_zeros() as usize;
        if block[place] != b'\\' || !SHORT[usize::from(block[place + 1])] {
            break;
        }
        all &= !(0b11 << place);
    }
    all
}

/// What makes an escape with a backslash before it.
const SHORT: [bool; 256] = {
    let mut all = [false; 256];
    let (kinds, mut at) = (br#""\/bfnrt"#, 0);
    while at < kinds.len() {
        all[kinds[at] as usize] = true;
        at += 1;
    }
    all
};

/// Whether the backslash here begins an escape: of one character, or of `u` and four digits.
#[inline]
fn is_escape(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at + 1) {
        Some(&it) if SHORT[usize::from(it)] => true,
        Some(b'u') => bytes.get(at + 2..at + 6).is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit)),
        _ => false,
    }
}

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    /// Quotes, backslashes, control characters, and all that is not ASCII.
    InAscii,
    /// The same without what is not ASCII.
    InAnyText,
}

/// A bit for each marked byte.
#[inline(always)]
fn in_part<S: Simd>(simd: S, part: &[u8; PART], marks: Marks) -> u64 {
    bits(simd, u8x16::from_slice(simd, part).bitcast::<i8x16<S>>(), marks)
}

#[inline(always)]
fn in_block<S: Simd>(simd: S, block: &[u8; BLOCK], marks: Marks) -> u64 {
    bits(simd, u8x64::from_slice(simd, block).bitcast::<i8x64<S>>(), marks)
}

#[inline(always)]
fn bits<S: Simd, V: SimdInt<S, Element = i8>>(simd: S, bytes: V, marks: Marks) -> u64 {
    let all = |byte: u8| V::splat(simd, byte.cast_signed());
    let special = bytes.simd_eq(all(b'"')) | bytes.simd_eq(all(b'\\'));
    let unplain = bytes.simd_lt(all(FIRST_PLAIN));
    let unplain = if marks == Marks::InAscii { unplain } else { unplain & !bytes.simd_lt(all(0)) };
    (special | unplain).to_bitmask()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same, a byte at a time.
    fn slowly(bytes: &[u8], start: usize) -> Result<(usize, bool), usize> {
        let (mut at, mut has_escapes) = (start, false);
        loop {
            match bytes.get(at) {
                Some(b'"') => return Ok((at, has_escapes)),
                Some(b'\\') => {
                    has_escapes = true;
                    if !is_escape(bytes, at) {
                        return Err(at);
                    }
                    at += 2;
                }
                Some(FIRST_PLAIN..) => at += 1,
                Some(_) | None => return Err(at),
            }
        }
    }

    /// What this machine can do, the best of it and all that others would have.
    fn levels() -> Vec<Level> {
        let best = Level::new();
        #[cfg(target_arch = "x86_64")]
        let more = [best.as_sse4_2().map(Simd::level), best.as_avx2().map(Simd::level)];
        #[cfg(not(target_arch = "x86_64"))]
        let more = [];
        more.into_iter().flatten().chain([Level::baseline(), best]).collect()
    }

    #[track_caller]
    fn check(text: &[u8], start: usize) {
        let slowly = slowly(text, start);
        let seen = inside(text, start).map(|it| (it.end, it.has_escapes));
        assert_eq!(seen, slowly, "{:?} from {start}", String::from_utf8_lossy(text));
        for level in levels() {
            let seen = dispatch!(level, simd => walk(simd, text, start)).map(|it| (it.end, it.has_escapes));
            assert_eq!(seen, slowly, "{:?} from {start} with {level:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn the_end_of_a_string_is_found_wherever_it_is() {
        let plain = [b' ', b'!', b'#', b'[', b']', b'a', 0x7f, 0x80, 0xa2, 0xdc, 0xff];
        for length in (0..20).chain(44..84).chain([130, 200, 300]) {
            let text: Vec<u8> = plain.iter().copied().cycle().take(length).collect();
            check(&text, 0);
            for at in 0..length {
                for stop in
                    [&b"\""[..], b"\\", b"\\n", b"\\\\", b"\\\"", b"\\u00e9", b"\\u00", b"\x00", b"\x1f"]
                {
                    let mut text = text.clone();
                    let end = (at + stop.len()).min(length);
                    text[at..end].copy_from_slice(&stop[..end - at]);
                    for behind in [&b""[..], b"\"", b"\" and more than a part of it behind"] {
                        check(&[&text, behind].concat(), 0);
                    }
                    check(&text, at.min(3));
                }
            }
        }
    }

    #[test]
    fn every_mix_of_quotes_and_backslashes_is_read_alike() {
        for bits in 0_u32..1 << 12 {
            for before in [0, 9, 58, 70] {
                let mut text = vec![b'x'; before];
                text.extend((0..12).map(|it| if bits >> it & 1 == 0 { b'\\' } else { b'"' }));
                text.extend_from_slice(b"n\"");
                check(&text, 0);
            }
        }
    }

    #[test]
    fn what_is_beyond_ascii_is_seen() {
        for before in 0..200 {
            let text = format!("{}é\"", "x".repeat(before));
            assert!(inside(text.as_bytes(), 0).is_ok_and(|it| !it.is_ascii), "{before}");
            let text = format!("{}\"", "x".repeat(before));
            assert!(inside(text.as_bytes(), 0).is_ok_and(|it| it.is_ascii), "{before}");
        }
    }
}
