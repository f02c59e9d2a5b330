//! Walks JSON text without building anything.
//!
//! [`check`] reads untrusted bytes once and refuses what two readers could understand differently: broken syntax,
//! invalid UTF-8, nesting beyond [`MAX_DEPTH`], and an object that names one key twice. Everything behind it
//! (`Raw`, `Members`) steps over text that is known to be good and therefore only counts brackets and quotes.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::inside::{Inside, inside};
use crate::long::{NOTED, Span};

/// How deep arrays and objects may nest. The same bound serde_json has, so every later reader agrees.
pub const MAX_DEPTH: usize = 127;

/// Up to this many keys are compared one by one; larger objects get a hash set.
const FEW_KEYS: usize = 12;

/// Why a text is not JSON we accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("not UTF-8 at byte {at}")]
    Utf8 { at: usize },
    #[error("not valid JSON at byte {at}")]
    Syntax { at: usize },
    #[error("nested deeper than {MAX_DEPTH} levels")]
    Depth,
    #[error("the key `{key}` appears twice in one object")]
    DuplicateKey { key: String },
}

/// Checks one whole JSON text.
pub fn check(bytes: &[u8]) -> Result<(), Malformed> {
    measure(bytes).map(drop)
}

/// The same, and where its long values are.
pub(crate) fn measure(bytes: &[u8]) -> Result<Vec<Span>, Malformed> {
    let (keys, long) = (Vec::with_capacity(FEW_KEYS), Vec::with_capacity(FEW_KEYS));
    let mut checker = Checker { bytes, at: 0, keys, long, refused: None };
    if checker.whole().is_none() {
        // What is no text at all is called that, whatever else may be wrong with it.
        std::str::from_utf8(bytes).map_err(|it| Malformed::Utf8 { at: it.valid_up_to() })?;
        return Err(checker.refused.unwrap_or(Malformed::Syntax { at: checker.at }));
    }
    Ok(checker.long)
}

struct Checker<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Keys of all objects that are open, the innermost last.
    keys: Vec<Cow<'a, [u8]>>,
    /// By their start.
    long: Vec<Span>,
    /// Why it is not accepted, if not for what stands here.
    refused: Option<Malformed>,
}

/// What stands between the quotes of a string.
struct Text<'a> {
    spelt: &'a [u8],
    has_escapes: bool,
}

impl<'a> Checker<'a> {
    /// None, as from everything below, where the text is not accepted.
    fn whole(&mut self) -> Option<()> {
        self.white();
        self.value(0)?;
        self.white();
        (self.at == self.bytes.len()).then_some(())
    }

    fn refuse<T>(&mut self, why: Malformed) -> Option<T> {
        self.refused = Some(why);
        None
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn white(&mut self) {
        self.at = skip_white(self.bytes, self.at);
    }

    fn eat(&mut self, wanted: u8) -> Option<()> {
        if self.peek() == Some(wanted) {
            self.at += 1;
            Some(())
        } else {
            None
        }
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        let (start, place) = (self.at, self.long.len());
        self.long.push((start, start));
        self.step(depth)?;
        if self.at - start >= NOTED {
            self.long[place].1 = self.at;
        } else {
            // What is in it is shorter still, and not among them either.
            self.long.truncate(place);
        }
        Some(())
    }

    fn step(&mut self, depth: usize) -> Option<()> {
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.string().map(drop),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => None,
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return self.refuse(Malformed::Depth);
        }
        self.at += 1;
        self.white();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Some(());
        }
        let first = self.keys.len();
        let mut many: Option<HashSet<Cow<'a, [u8]>>> = None;
        loop {
            let key = self.string()?.decoded();
            let seen = match &mut many {
                Some(set) => !set.insert(key.clone()),
                None => self.keys[first..].contains(&key),
            };
            if seen {
                let key = String::from_utf8_lossy(&key).into_owned();
                return self.refuse(Malformed::DuplicateKey { key });
            }
            if many.is_none() {
                self.keys.push(key);
                if self.keys.len() - first > FEW_KEYS {
                    many = Some(self.keys.drain(first..).collect());
                }
            }
            self.white();
            self.eat(b':')?;
            self.white();
            self.value(depth)?;
            self.white();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.white();
                }
                Some(b'}') => break,
                _ => return None,
            }
        }
        self.at += 1;
        self.keys.truncate(first);
        Some(())
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return self.refuse(Malformed::Depth);
        }
        self.at += 1;
        self.white();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Some(());
        }
        loop {
            self.value(depth)?;
            self.white();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.white();
                }
                Some(b']') => break,
                _ => return None,
            }
        }
        self.at += 1;
        Some(())
    }

    /// Reads a string and returns what stands between its quotes, escapes untouched.
    fn string(&mut self) -> Option<Text<'a>> {
        self.eat(b'"')?;
        let start = self.at;
        match inside(self.bytes, start) {
            Ok(Inside { end, has_escapes, is_ascii }) => {
                let spelt = &self.bytes[start..end];
                // Outside of strings nothing but ASCII is taken anyway.
                if !is_ascii && simdutf8::basic::from_utf8(spelt).is_err() {
                    return None;
                }
                self.at = end + 1;
                Some(Text { spelt, has_escapes })
            }
            Err(at) => {
                self.at = at;
                None
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            Some(())
        } else {
            None
        }
    }

    fn number(&mut self) -> Option<()> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return None,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { None } else { Some(()) }
    }
}

impl<'a> Text<'a> {
    /// Two spellings of one key (`"a"`, `"\u0061"`) are one key.
    fn decoded(self) -> Cow<'a, [u8]> {
        if !self.has_escapes {
            return Cow::Borrowed(self.spelt);
        }
        let quoted = [b"\"", self.spelt, b"\""].concat();
        match serde_json::from_slice::<String>(&quoted) {
            Ok(text) => Cow::Owned(text.into_bytes()),
            // A lone surrogate has no text; its spelling stands for itself.
            Err(_) => Cow::Borrowed(self.spelt),
        }
    }
}

pub(crate) fn skip_white(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The end of the string that starts at `at`. Only for checked text.
pub(crate) fn skip_string(bytes: &[u8], at: usize) -> usize {
    inside(bytes, at + 1).map_or(bytes.len(), |it| it.end + 1)
}

/// The end of the value that starts at `at`. Only for checked text.
pub(crate) fn skip_value(bytes: &[u8], mut at: usize) -> usize {
    match bytes.get(at) {
        Some(b'"') => skip_string(bytes, at),
        Some(b'{' | b'[') => {
            // What is long is noted and not walked through; the rest is too short for a search to pay.
            let mut depth = 0_usize;
            while let Some(byte) = bytes.get(at) {
                match byte {
                    b'"' => {
                        at = skip_string(bytes, at);
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return at;
                }
            }
            bytes.len()
        }
        _ => {
            while let Some(it) = bytes.get(at)
                && !matches!(it, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t')
            {
                at += 1;
            }
            at
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &[u8], expected: &str) {
        assert_eq!(check(text).expect_err("must be refused").to_string(), expected);
    }

    #[test]
    fn plain_json_is_accepted() {
        for text in
            ["null", " [1, -0.5e+10, \"\\u00e9\\n\"] ", "{\"a\":{\"b\":[]},\"c\":{}}", "1e400", "\"\\ud800\""]
        {
            assert_eq!(check(text.as_bytes()), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1.",
            "NaN",
            "-",
            "'a'",
            "\"\t\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\",
            "[1] 2",
            "{1:2}",
        ] {
            assert!(matches!(check(text.as_bytes()), Err(Malformed::Syntax { .. })), "{text}");
        }
        refused(b"{\"a\":NaN}", "not valid JSON at byte 5");
    }

    #[test]
    fn invalid_utf8_is_refused() {
        refused(b"\"\xff\"", "not UTF-8 at byte 1");
    }

    #[test]
    fn a_key_may_appear_once_however_it_is_spelt() {
        refused(br#"{"a":1,"b":2,"a":3}"#, "the key `a` appears twice in one object");
        refused(br#"{"x":{"a":1,"\u0061":3}}"#, "the key `a` appears twice in one object");
        assert_eq!(check(br#"{"a":{"a":1},"b":{"a":[{"a":2}]}}"#), Ok(()));
    }

    #[test]
    fn a_key_may_appear_once_in_a_large_object_too() {
        let mut text = (0..100).map(|it| format!("\"k{it}\":{it}")).collect::<Vec<_>>();
        assert_eq!(check(format!("{{{}}}", text.join(",")).as_bytes()), Ok(()));
        text.push("\"k50\":0".into());
        refused(format!("{{{}}}", text.join(",")).as_bytes(), "the key `k50` appears twice in one object");
    }

    #[test]
    fn deep_nesting_is_refused_without_a_panic() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = |levels: usize| format!("{}1{}", open.repeat(levels), close.repeat(levels));
            assert_eq!(check(deep(MAX_DEPTH).as_bytes()), Ok(()));
            assert_eq!(check(deep(MAX_DEPTH + 1).as_bytes()), Err(Malformed::Depth));
            assert_eq!(check(deep(10_000).as_bytes()), Err(Malformed::Depth));
        }
    }
}
