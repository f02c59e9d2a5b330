//! What an object or an array consists of, found by walking through its text.

use std::borrow::Cow;

use bytes::{BufMut, BytesMut};

use super::Raw;
use crate::scan::{skip_string, skip_white};

/// One member of an object, by its place in the text.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    object: &'a Raw,
    pub(crate) key_start: usize,
    key_end: usize,
    pub(crate) value_start: usize,
    pub(crate) value_end: usize,
}

impl<'a> Member<'a> {
    pub fn key(&self) -> Cow<'a, str> {
        // Only the key is looked at: its object may be a megabyte long.
        let inner = std::str::from_utf8(self.spelt()).expect("checked JSON is UTF-8");
        if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
            return Cow::Borrowed(inner);
        }
        let quoted = &self.object.0[self.key_start..self.key_end];
        serde_json::from_slice::<String>(quoted).map_or(Cow::Borrowed(inner), Cow::Owned)
    }

    /// The same where it only has to be told from others.
    pub fn name(&self) -> Cow<'a, [u8]> {
        let spelt = self.spelt();
        if spelt.contains(&b'\\') {
            return Cow::Owned(self.key().into_owned().into_bytes());
        }
        Cow::Borrowed(spelt)
    }

    /// Whether this is its key, however it is spelt.
    pub fn is(&self, key: &str) -> bool {
        let spelt = self.spelt();
        if spelt == key.as_bytes() {
            // A backslash is never spelt as itself, but for the key that has no text.
            return !key.contains('\\') || self.key() == key;
        }
        // Escapes make it longer, up to six times, and what is not escaped is as it is.
        let begins_alike = spelt.first() == key.as_bytes().first() || spelt.first() == Some(&b'\\');
        let may_be = begins_alike && spelt.len() > key.len() && spelt.len() <= key.len() * 6;
        may_be && spelt.contains(&b'\\') && self.key() == key
    }

    /// Writes it as it was sent.
    pub(crate) fn put(&self, out: &mut BytesMut) {
        out.put_slice(&self.object.0[self.key_start..self.value_end]);
    }

    fn spelt(&self) -> &'a [u8] {
        &self.object.0[self.key_start + 1..self.key_end - 1]
    }

    pub fn value(&self) -> Raw {
        self.object.cut(self.value_start, self.value_end)
    }

    /// The value as it was sent.
    pub fn spelling(&self) -> &'a [u8] {
        &self.object.0[self.value_start..self.value_end]
    }
}

pub struct Members<'a> {
    pub(super) object: &'a Raw,
    pub(super) at: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let bytes = &self.object.0;
        let mut at = skip_white(bytes, self.at);
        if bytes.get(at) == Some(&b',') {
            at = skip_white(bytes, at + 1);
        }
        if bytes.get(at) != Some(&b'"') {
            self.at = bytes.len();
            return None;
        }
        let key_start = at;
        let key_end = skip_string(bytes, at);
        let value_start = skip_white(bytes, skip_white(bytes, key_end) + 1);
        let value_end = self.object.skip(value_start);
        self.at = value_end;
        Some(Member { object: self.object, key_start, key_end, value_start, value_end })
    }
}

pub struct Items<'a> {
    pub(super) array: &'a Raw,
    pub(super) at: usize,
}

impl Iterator for Items<'_> {
    type Item = Raw;

    fn next(&mut self) -> Option<Raw> {
        let bytes = &self.array.0;
        let mut at = skip_white(bytes, self.at);
        if bytes.get(at) == Some(&b',') {
            at = skip_white(bytes, at + 1);
        }
        if at >= bytes.len() || bytes[at] == b']' {
            self.at = bytes.len();
            return None;
        }
        let end = self.array.skip(at);
        self.at = end;
        Some(self.array.cut(at, end))
    }
}
