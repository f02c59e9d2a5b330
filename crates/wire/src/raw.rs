//! A piece of checked JSON: a view into the message it came with, never a copy.

mod members;

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use bytes::{BufMut, Bytes, BytesMut};
use memchr::memmem;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};

pub use self::members::{Items, Member, Members};
use crate::long::{Long, NOTED, Span};
use crate::scan::{self, Malformed, skip_value, skip_white};

/// Texts of so many bytes are left out of an outline.
const LONG: usize = 512;

/// Valid JSON text without outer white space. Cloning shares the bytes of the message it is part of.
#[derive(Clone)]
pub struct Raw(Bytes, Long);

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Raw {}

impl Hash for Raw {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Raw {
    /// Checks untrusted text. See [`scan::check`] for what is refused.
    pub fn parse(bytes: impl Into<Bytes>) -> Result<Self, Malformed> {
        let bytes = bytes.into();
        let long = Long::new(scan::measure(&bytes)?);
        let start = skip_white(&bytes, 0);
        let end = bytes.len() - bytes.iter().rev().take_while(|it| it.is_ascii_whitespace()).count();
        if (start, end) == (0, bytes.len()) {
            return Ok(Self(bytes, long));
        }
        Ok(Self(bytes.slice(start..end), long.cut(start, end)))
    }

    /// Takes text that this crate wrote or cut out of a checked one.
    pub(crate) fn trusted(bytes: Bytes) -> Self {
        Self::measured(bytes, Vec::new())
    }

    /// The same, where it is known which of its values are long.
    pub(crate) fn measured(bytes: Bytes, long: Vec<Span>) -> Self {
        debug_assert!(scan::check(&bytes).is_ok(), "{}", String::from_utf8_lossy(&bytes));
        Self(bytes, Long::new(long))
    }

    pub(crate) fn long(&self) -> &Long {
        &self.1
    }

    /// The end of the value that begins here.
    fn skip(&self, at: usize) -> usize {
        self.1.end(at).unwrap_or_else(|| skip_value(&self.0, at))
    }

    pub fn of(value: &impl Serialize) -> Self {
        Self(serde_json::to_vec(value).expect("our own types serialise").into(), Long::default())
    }

    pub fn string(text: &str) -> Self {
        Self::of(&text)
    }

    pub fn number(number: u64) -> Self {
        Self(number.to_string().into(), Long::default())
    }

    /// The text `complete`, which nearly every result holds.
    pub(crate) fn complete() -> Self {
        Self(Bytes::from_static(b"\"complete\""), Long::default())
    }

    pub fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"), Long::default())
    }

    /// Joins values to one array.
    pub fn array(items: &[Raw]) -> Self {
        let mut out = BytesMut::with_capacity(items.iter().map(|it| it.0.len() + 1).sum::<usize>() + 2);
        let mut long = Vec::new();
        out.put_u8(b'[');
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                out.put_u8(b',');
            }
            put_value(&mut out, item, &mut long);
        }
        out.put_u8(b']');
        Self::measured(out.freeze(), long)
    }

    /// An object with one member.
    pub fn object(key: &str, value: &Raw) -> Self {
        let mut out = BytesMut::with_capacity(key.len() + value.0.len() + 5);
        out.put_u8(b'{');
        put_string(&mut out, key);
        out.put_u8(b':');
        let mut long = Vec::new();
        put_value(&mut out, value, &mut long);
        out.put_u8(b'}');
        Self::measured(out.freeze(), long)
    }

    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("checked JSON is UTF-8")
    }

    pub fn is_object(&self) -> bool {
        self.0.first() == Some(&b'{')
    }

    pub fn is_array(&self) -> bool {
        self.0.first() == Some(&b'[')
    }

    pub fn is_null(&self) -> bool {
        &*self.0 == b"null"
    }

    pub fn is_string(&self) -> bool {
        self.0.first() == Some(&b'"')
    }

    /// Whether this is a number without fraction or exponent.
    pub fn is_integer(&self) -> bool {
        let digits = self.0.strip_prefix(b"-").unwrap_or(&self.0);
        !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
    }

    /// The text of a JSON string; `None` for anything else (and for a lone surrogate, which has no text).
    pub fn text(&self) -> Option<Cow<'_, str>> {
        if !self.is_string() {
            return None;
        }
        let inner = &self.as_str()[1..self.0.len() - 1];
        if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
            return Some(Cow::Borrowed(inner));
        }
        serde_json::from_slice::<String>(&self.0).ok().map(Cow::Owned)
    }

    pub fn u64(&self) -> Option<u64> {
        self.as_str().parse().ok()
    }

    pub fn f64(&self) -> Option<f64> {
        serde_json::from_slice(&self.0).ok()
    }

    pub fn bool(&self) -> Option<bool> {
        match &*self.0 {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// Reads the whole value. Numbers beyond `f64` make it fail; use this off the call path only.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// A view for checks and for people. What has no exact place in it comes close: a number beyond `f64` is the
    /// largest there is, a lone surrogate is the replacement character.
    pub fn to_value(&self) -> serde_json::Value {
        self.read().unwrap_or_else(|_| self.to_near_value())
    }

    /// The same with long texts left empty: for checks that look at what is there and not at what it says.
    pub fn to_outline(&self) -> serde_json::Value {
        if self.0.len() < LONG {
            return self.to_value();
        }
        match self.0.first() {
            Some(b'{') => self.members().map(|it| (it.key().into_owned(), it.value().to_outline())).collect(),
            Some(b'[') => self.items().map(|it| it.to_outline()).collect(),
            Some(b'"') => serde_json::Value::String(String::new()),
            _ => self.to_value(),
        }
    }

    fn to_near_value(&self) -> serde_json::Value {
        use serde_json::Value;
        match self.0.first() {
            Some(b'{') => {
                self.members().map(|it| (it.key().into_owned(), it.value().to_near_value())).collect()
            }
            Some(b'[') => self.items().map(|it| it.to_near_value()).collect(),
            Some(b'"') => match self.text() {
                Some(text) => Value::String(text.into_owned()),
                None => Value::String("\u{fffd}".into()),
            },
            Some(b'-') => self.read().unwrap_or_else(|_| f64::MIN.into()),
            _ => self.read().unwrap_or_else(|_| f64::MAX.into()),
        }
    }

    /// The value of one member of an object.
    pub fn get(&self, key: &str) -> Option<Raw> {
        self.members().find(|it| it.is(key)).map(|it| it.value())
    }

    /// The text of one string member.
    pub fn get_text(&self, key: &str) -> Option<String> {
        self.get(key)?.text().map(Cow::into_owned)
    }

    /// Whether something stands anywhere but in a long string. What has quotes around it stands in none.
    pub fn mentions(&self, what: &memmem::Finder<'_>) -> bool {
        let found = |from: usize, to: usize| what.find(&self.0[from..to]).is_some();
        let mut at = 0;
        for (start, end) in self.1.within(self.0.len()) {
            if end - start >= LONG && self.0[start] == b'"' {
                if found(at, start) {
                    return true;
                }
                at = end;
            }
        }
        found(at, self.0.len())
    }

    /// The members of an object in their order; nothing for any other value.
    pub fn members(&self) -> Members<'_> {
        Members { object: self, at: if self.is_object() { 1 } else { self.0.len() } }
    }

    /// The elements of an array; nothing for any other value.
    pub fn items(&self) -> Items<'_> {
        Items { array: self, at: if self.is_array() { 1 } else { self.0.len() } }
    }

    fn cut(&self, start: usize, end: usize) -> Raw {
        Raw(self.0.slice(start..end), self.1.cut(start, end))
    }
}

/// Writes a text as a JSON string. Most need no escapes and are copied as they are.
pub(crate) fn put_string(out: &mut BytesMut, text: &str) {
    if text.bytes().all(|it| it >= 0x20 && it != b'"' && it != b'\\') {
        out.put_u8(b'"');
        out.put_slice(text.as_bytes());
        out.put_u8(b'"');
    } else {
        out.put_slice(&Raw::string(text).0);
    }
}

/// Writes a value, and tells where it and what is in it come to lie, if they are long.
pub(crate) fn put_value(out: &mut BytesMut, value: &Raw, long: &mut Vec<Span>) {
    let (start, length) = (out.len(), value.0.len());
    if length >= NOTED {
        long.push((start, start + length));
        value.1.move_to(1, length, start + 1, long);
    }
    out.put_slice(&value.0);
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &serde_json::value::RawValue =
            serde_json::from_slice(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        Raw::parse(Bytes::copy_from_slice(raw.get().as_bytes())).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Edit;

    fn raw(text: &'static str) -> Raw {
        Raw::parse(text).expect("valid")
    }

    #[test]
    fn members_are_found_as_they_were_sent() {
        let object = raw(" { \"a\" : [ 1, {\"x\":\"]}\"} ] , \"b\\u0062\":1e400,\"c\":null} ");
        let members: Vec<_> = object.members().map(|it| (it.key().into_owned(), it.value())).collect();
        assert_eq!(members.len(), 3);
        assert_eq!(members[0], ("a".into(), raw("[ 1, {\"x\":\"]}\"} ]")));
        assert_eq!(members[1], ("bb".into(), raw("1e400")));
        assert!(members[2].1.is_null());
    }

    #[test]
    fn what_is_long_is_stepped_over_wherever_it_was_moved_to() {
        let text = "x\\n".repeat(LONG);
        let inner = format!("{{\"a\":[\"{text}\",{{\"b\":\"{text}\"}}],\"c\":1}}");
        let message = Raw::parse(format!("  {{\"p\":{inner},\"q\":2}} ")).expect("valid");
        let params = message.get("p").expect("there");
        assert_eq!(params.as_str(), inner);
        assert!(params.long().end(5).is_some());
        let moved = Edit::of(&params).set("z", params.get("a").expect("there")).remove("c").done();
        let moved = Raw::object("again", &Raw::array(&[moved.clone(), Raw::number(7), moved]));
        // Read anew, it is the same to everybody.
        let anew = Raw::parse(moved.bytes().clone()).expect("valid");
        for raw in [&moved, &anew] {
            let items: Vec<_> = raw.get("again").expect("there").items().collect();
            assert_eq!(items.len(), 3);
            let first = &items[2];
            assert_eq!(first.members().map(|it| it.key().into_owned()).collect::<Vec<_>>(), ["a", "z"]);
            let last = first.get("z").expect("there").items().nth(1).and_then(|it| it.get_text("b"));
            assert_eq!(last.as_deref(), Some(&*"x\n".repeat(LONG)));
        }
    }

    #[test]
    fn what_is_mentioned_is_found_around_long_strings_and_not_in_them() {
        let (short, long) = (r#"\"uri\""#, r#"\"uri\" "#.repeat(LONG));
        let finder = memmem::Finder::new(b"\"uri\"");
        for (text, is_mentioned) in [
            (format!(r#"{{"a":"{long}","b":["{long}",{{"uri":1}}]}}"#), true),
            (format!(r#"{{"a":"{long}","uri":"{long}"}}"#), true),
            (format!(r#"{{"uri":["{long}"]}}"#), true),
            (format!(r#"{{"a":"{long}","b":["{long}",{{"urn":"{short}"}}]}}"#), false),
            (format!("\"{long}\""), false),
            ("[]".into(), false),
        ] {
            let message = Raw::parse(format!(r#"{{"uri":0,"in":{text},"uri2":"{long}"}}"#)).expect("valid");
            let inner = message.get("in").expect("there");
            assert_eq!(inner.mentions(&finder), is_mentioned, "{:.40}", inner.as_str());
            assert!(message.mentions(&finder));
        }
    }

    #[test]
    fn every_member_is_found_by_its_key_however_that_is_spelt() {
        let object = raw(r#"{"a":1,"\u0062":2,"c\ud800":3,"d\\n":4,"e\n":5,"":6}"#);
        for (place, member) in object.members().enumerate() {
            let found = object.members().position(|it| it.is(&member.key()));
            assert_eq!(found, Some(place), "{:?}", member.key());
            assert_eq!(*member.name(), *member.key().as_bytes());
        }
        assert_eq!(object.get("b"), Some(Raw::number(2)));
        assert!(object.get("\\u0062").is_none() && object.get("e\\n").is_none());
    }

    #[test]
    fn items_are_found_as_they_were_sent() {
        let array = raw("[1, \"a,b\" ,[2,[3]],{}]");
        let items: Vec<_> = array.items().map(|it| it.as_str().to_owned()).collect();
        assert_eq!(items, ["1", "\"a,b\"", "[2,[3]]", "{}"]);
        assert_eq!(raw("[ ]").items().count(), 0);
    }

    #[test]
    fn a_view_comes_close_to_what_it_cannot_hold() {
        let value = raw("{\"a\":[1e400,-1e400,7],\"b\":\"\\ud800\"}").to_value();
        assert_eq!(value, serde_json::json!({ "a": [f64::MAX, f64::MIN, 7], "b": "\u{fffd}" }));
    }

    #[test]
    fn an_outline_has_all_but_the_long_texts() {
        let long = "x".repeat(LONG);
        let text = format!("{{\"a\":\"{long}\",\"b\":[1,\"{long}\",\"short\"],\"c\":null}}");
        let outline = Raw::parse(text).expect("valid").to_outline();
        assert_eq!(outline, serde_json::json!({ "a": "", "b": [1, "", "short"], "c": null }));
    }

    #[test]
    fn a_value_of_another_kind_has_no_members() {
        for text in ["1", "\"{}\"", "[{\"a\":1}]", "null"] {
            assert!(raw(text).get("a").is_none());
        }
    }

    #[test]
    fn text_is_decoded_only_when_it_must_be() {
        assert!(matches!(raw("\"plain\"").text(), Some(Cow::Borrowed("plain"))));
        assert_eq!(raw("\"a\\nb\"").text().as_deref(), Some("a\nb"));
        assert_eq!(raw("\"\\ud800\"").text(), None);
        assert_eq!(raw("12").text(), None);
    }
}
