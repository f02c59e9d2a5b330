//! Changes named members of an object and keeps every other byte as it was sent.

use bytes::{BufMut, BytesMut};

use crate::Raw;
use crate::raw::{put_string, put_value};

/// A set of changes to one object. Nothing is copied until [`Edit::done`].
#[derive(Debug)]
pub struct Edit<'a> {
    object: &'a Raw,
    changes: Vec<Change<'a>>,
}

#[derive(Debug)]
struct Change<'a> {
    key: &'a str,
    /// None: the member is removed.
    to: Option<Raw>,
    is_made: bool,
}

impl<'a> Edit<'a> {
    pub fn of(object: &'a Raw) -> Self {
        Self { object, changes: Vec::with_capacity(2) }
    }

    /// Gives a member this value: in its place if it is there, else at the end.
    pub fn set(self, key: &'a str, value: Raw) -> Self {
        self.change(key, Some(value))
    }

    pub fn set_text(self, key: &'a str, text: &str) -> Self {
        self.set(key, Raw::string(text))
    }

    pub fn remove(self, key: &'a str) -> Self {
        self.change(key, None)
    }

    fn change(mut self, key: &'a str, to: Option<Raw>) -> Self {
        self.changes.retain(|it| it.key != key);
        self.changes.push(Change { key, to, is_made: false });
        self
    }

    /// The changed object. Anything that is no object becomes one.
    pub fn done(mut self) -> Raw {
        if self.changes.is_empty() && self.object.is_object() {
            return self.object.clone();
        }
        let bytes = self.object.bytes();
        let grown: usize = self
            .changes
            .iter()
            .map(|it| it.key.len() + 4 + it.to.as_ref().map_or(0, |it| it.bytes().len()))
            .sum();
        let mut out = BytesMut::with_capacity(bytes.len() + grown);
        let mut long = Vec::new();
        let mut empty = true;
        let mut last_end = None;
        for member in self.object.members() {
            let change = self.changes.iter_mut().find(|it| member.is(it.key));
            let change = change.map(|it| {
                it.is_made = true;
                &it.to
            });
            if change.is_none_or(Option::is_some) {
                // What stands before a member is the opening brace or the comma, with its white space.
                out.put_slice(match last_end {
                    Some(end) if !empty => &bytes[end..member.key_start],
                    Some(_) => b"{",
                    None => &bytes[..member.key_start],
                });
                empty = false;
                out.put_slice(&bytes[member.key_start..member.value_start]);
                if let Some(Some(value)) = change {
                    put_value(&mut out, value, &mut long);
                } else {
                    let (start, end) = (member.value_start, member.value_end);
                    self.object.long().move_to(start, end, out.len(), &mut long);
                    out.put_slice(&bytes[start..end]);
                }
            }
            last_end = Some(member.value_end);
        }
        for change in self.changes.iter().filter(|it| !it.is_made) {
            let Some(value) = &change.to else { continue };
            out.put_u8(if empty { b'{' } else { b',' });
            empty = false;
            put_string(&mut out, change.key);
            out.put_u8(b':');
            put_value(&mut out, value, &mut long);
        }
        if empty {
            out.put_u8(b'{');
        }
        out.put_slice(last_end.map_or(b"}", |it| &bytes[it..]));
        Raw::measured(out.freeze(), long)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &'static str, edit: impl for<'a> FnOnce(Edit<'a>) -> Edit<'a>, after: &str) {
        let before = Raw::parse(before).expect("valid");
        assert_eq!(edit(Edit::of(&before)).done().as_str(), after);
    }

    #[test]
    fn a_member_is_replaced_in_its_place() {
        check(
            "{ \"a\" : 1e400,\n \"name\" : \"x\", \"z\":[ 1 ]}",
            |it| it.set_text("name", "y"),
            "{ \"a\" : 1e400,\n \"name\" : \"y\", \"z\":[ 1 ]}",
        );
    }

    #[test]
    fn a_missing_member_is_added_at_the_end() {
        check("{\"a\":1}", |it| it.set("b", Raw::number(2)), "{\"a\":1,\"b\":2}");
        check("{}", |it| it.set("b", Raw::number(2)), "{\"b\":2}");
        check("null", |it| it.set("b", Raw::number(2)), "{\"b\":2}");
    }

    #[test]
    fn a_member_is_removed_with_its_comma() {
        check("{\"a\":1,\"b\":2,\"c\":3}", |it| it.remove("a"), "{\"b\":2,\"c\":3}");
        check("{\"a\":1,\"b\":2,\"c\":3}", |it| it.remove("b"), "{\"a\":1,\"c\":3}");
        check("{\"a\":1,\"b\":2,\"c\":3}", |it| it.remove("c"), "{\"a\":1,\"b\":2}");
        check("{\"a\":1}", |it| it.remove("a"), "{}");
        check("{\"a\":1}", |it| it.remove("nope"), "{\"a\":1}");
        check("{\"a\":1,\"b\":2}", |it| it.remove("a").remove("b").set("c", Raw::number(1)), "{\"c\":1}");
    }
}
