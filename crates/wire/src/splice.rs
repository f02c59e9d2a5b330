//! Changes named members of an object and keeps every other byte as it was sent.
//!
//! An [`Edit`] makes the changed object. A [`Draft`] carries an object and its changes to where it is written, so that
//! what several places change on its way is copied once, or not at all where it is long.

use bytes::{BufMut, BytesMut};

use crate::Raw;
use crate::pieces::Writing;
use crate::raw::{put_string, put_value};

/// A set of changes to one object. Nothing is copied until [`Edit::done`].
#[derive(Debug)]
pub struct Edit<'a> {
    object: &'a Raw,
    changes: Vec<Change<'a>>,
}

#[derive(Debug, Clone)]
struct Change<'a> {
    key: &'a str,
    /// None: the member is removed.
    to: Option<Raw>,
}

impl<'a> Edit<'a> {
    pub fn of(object: &'a Raw) -> Self {
        Self { object, changes: Vec::with_capacity(2) }
    }

    /// Gives a member this value: in its place if it is there, else at the end.
    pub fn set(mut self, key: &'a str, value: Raw) -> Self {
        change(&mut self.changes, key, Some(value));
        self
    }

    pub fn set_text(self, key: &'a str, text: &str) -> Self {
        self.set(key, Raw::string(text))
    }

    pub fn remove(mut self, key: &'a str) -> Self {
        change(&mut self.changes, key, None);
        self
    }

    /// The changed object. Anything that is no object becomes one.
    pub fn done(self) -> Raw {
        done(self.object, &self.changes)
    }
}

/// An object with changes that are made when it is written.
#[derive(Debug, Clone)]
pub struct Draft {
    object: Raw,
    changes: Vec<Change<'static>>,
}

impl From<Raw> for Draft {
    fn from(object: Raw) -> Self {
        Self { object, changes: Vec::new() }
    }
}

impl Draft {
    /// Gives a member this value: in its place if it is there, else at the end.
    pub fn set(mut self, key: &'static str, value: Raw) -> Self {
        change(&mut self.changes, key, Some(value));
        self
    }

    pub fn set_text(self, key: &'static str, text: &str) -> Self {
        self.set(key, Raw::string(text))
    }

    pub fn remove(mut self, key: &'static str) -> Self {
        change(&mut self.changes, key, None);
        self
    }

    /// The value that a member will have.
    pub fn get(&self, key: &str) -> Option<Raw> {
        match self.changes.iter().find(|it| it.key == key) {
            Some(change) => change.to.clone(),
            None => self.object.get(key),
        }
    }

    /// The text of one string member.
    pub fn get_text(&self, key: &str) -> Option<String> {
        self.get(key)?.text().map(Into::into)
    }

    /// The changed object, or whatever it is that nothing changes.
    pub fn raw(&self) -> Raw {
        if self.changes.is_empty() { self.object.clone() } else { done(&self.object, &self.changes) }
    }

    /// It has no more bytes than this.
    pub fn size(&self) -> usize {
        size(&self.object, &self.changes)
    }

    /// Writes the changed object.
    pub fn put(&self, out: &mut Writing) {
        let bytes = self.object.bytes();
        if self.changes.is_empty() {
            return out.share(bytes, 0, bytes.len());
        }
        walk(&self.object, &self.changes, |part| match part {
            Part::Kept(start, end) => out.share(bytes, start, end),
            Part::Own(text) => out.put(text),
            Part::Key(key) => out.put_string(key),
            Part::Value(value) => out.share(value.bytes(), 0, value.bytes().len()),
        });
    }
}

fn change<'a>(changes: &mut Vec<Change<'a>>, key: &'a str, to: Option<Raw>) {
    changes.retain(|it| it.key != key);
    changes.push(Change { key, to });
}

fn size(object: &Raw, changes: &[Change<'_>]) -> usize {
    let of_value = |it: &Change<'_>| it.to.as_ref().map_or(0, |it| it.bytes().len());
    object.bytes().len() + 2 + changes.iter().map(|it| it.key.len() + 4 + of_value(it)).sum::<usize>()
}

fn done(object: &Raw, changes: &[Change<'_>]) -> Raw {
    if changes.is_empty() && object.is_object() {
        return object.clone();
    }
    let (bytes, mut long) = (object.bytes(), Vec::new());
    let mut out = BytesMut::with_capacity(size(object, changes));
    walk(object, changes, |part| match part {
        Part::Kept(start, end) => {
            object.long().move_to(start, end, out.len(), &mut long);
            out.put_slice(&bytes[start..end]);
        }
        Part::Own(text) => out.put_slice(text),
        Part::Key(key) => put_string(&mut out, key),
        Part::Value(value) => put_value(&mut out, value, &mut long),
    });
    Raw::measured(out.freeze(), long)
}

/// A part of a changed object.
enum Part<'a> {
    /// What stood from one place to another, as it was sent.
    Kept(usize, usize),
    Own(&'static [u8]),
    Key(&'a str),
    Value(&'a Raw),
}

/// What is kept and stands together is one part.
struct Parts<F> {
    put: F,
    kept: (usize, usize),
}

impl<'a, F: FnMut(Part<'a>)> Parts<F> {
    fn keep(&mut self, start: usize, end: usize) {
        if self.kept.1 != start {
            self.flush();
            self.kept.0 = start;
        }
        self.kept.1 = end;
    }

    fn add(&mut self, part: Part<'a>) {
        self.flush();
        (self.put)(part);
    }

    fn flush(&mut self) {
        let (start, end) = self.kept;
        if start < end {
            (self.put)(Part::Kept(start, end));
        }
        self.kept.0 = end;
    }
}

/// A changed object from its first part to its last.
fn walk<'a>(object: &Raw, changes: &'a [Change<'_>], put: impl FnMut(Part<'a>)) {
    let mut parts = Parts { put, kept: (0, 0) };
    let (mut is_empty, mut last_end, mut made) = (true, None, 0_u64);
    for member in object.members() {
        let place = changes.iter().position(|it| member.is(it.key));
        made |= place.and_then(|it| 1_u64.checked_shl(it as u32)).unwrap_or_default();
        let change = place.map(|it| &changes[it].to);
        if change.is_none_or(Option::is_some) {
            // What stands before a member is the opening brace or the comma, with its white space.
            match last_end {
                Some(_) if is_empty => parts.add(Part::Own(b"{")),
                last_end => parts.keep(last_end.unwrap_or(0), member.key_start),
            }
            is_empty = false;
            parts.keep(member.key_start, member.value_start);
            match change {
                Some(Some(value)) => parts.add(Part::Value(value)),
                _ => parts.keep(member.value_start, member.value_end),
            }
        }
        last_end = Some(member.value_end);
    }
    for (place, Change { key, to }) in changes.iter().enumerate() {
        let is_made = match 1_u64.checked_shl(place as u32) {
            Some(bit) => made & bit != 0,
            None => object.get(key).is_some(),
        };
        let Some(value) = to.as_ref().filter(|_| !is_made) else { continue };
        parts.add(Part::Own(if is_empty { b"{" } else { b"," }));
        is_empty = false;
        parts.add(Part::Key(key));
        parts.add(Part::Own(b":"));
        parts.add(Part::Value(value));
    }
    if is_empty {
        parts.add(Part::Own(b"{"));
    }
    match last_end {
        Some(end) => parts.keep(end, object.bytes().len()),
        None => parts.add(Part::Own(b"}")),
    }
    parts.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &'static str, edit: impl for<'a> FnOnce(Edit<'a>) -> Edit<'a>, after: &str) {
        let before = Raw::parse(before).expect("valid");
        let edit = edit(Edit::of(&before));
        let mut out = Writing::new(0);
        let changes =
            edit.changes.iter().map(|it| Change { key: known(it.key), to: it.to.clone() }).collect();
        let draft = Draft { object: before.clone(), changes };
        draft.put(&mut out);
        for (key, value) in draft.changes.iter().map(|it| (it.key, &it.to)) {
            assert_eq!((draft.get(key), draft.raw().get(key)), (value.clone(), value.clone()));
        }
        assert_eq!(edit.done().as_str(), after);
        let written = out.done().into_bytes();
        assert_eq!((&*written, draft.raw().as_str()), (after.as_bytes(), after));
        assert!(written.len() <= draft.size());
    }

    fn known(key: &str) -> &'static str {
        ["name", "a", "b", "c", "nope"].into_iter().find(|it| *it == key).expect("a key of these tests")
    }

    #[test]
    fn a_draft_shares_what_is_long_and_makes_its_changes_around_it() {
        let text = "x".repeat(100_000);
        let object = Raw::parse(format!(r#"{{"name":"a","arguments":{{"t":"{text}"}},"_meta":{{"k":1}}}}"#));
        let object = object.expect("valid");
        let mut out = Writing::new(0);
        let draft = Draft::from(object.clone()).set_text("name", "longer").remove("_meta");
        assert_eq!(draft.get_text("name").as_deref(), Some("longer"));
        assert!(draft.get("_meta").is_none() && draft.get("arguments").is_some());
        draft.put(&mut out);
        let pieces = out.done();
        let [_, shared, _] = pieces.parts().expect("a piece of its own");
        assert!(object.bytes().as_ptr_range().contains(&shared.as_ptr()));
        assert_eq!(pieces.into_bytes(), format!(r#"{{"name":"longer","arguments":{{"t":"{text}"}}}}"#));
    }

    #[test]
    fn there_may_be_any_number_of_changes() {
        let keys: Vec<String> = (0..70).map(|it| format!("k{it}")).collect();
        let members: Vec<_> = keys.iter().map(|it| format!("\"{it}\":0")).collect();
        let before = Raw::parse(format!("{{{}}}", members.join(","))).expect("valid");
        let edit = keys.iter().fold(Edit::of(&before), |edit, key| edit.set(key, Raw::number(1)));
        let after = edit.set("more", Raw::number(2)).done();
        assert_eq!(after.members().count(), 71);
        assert!(keys.iter().all(|it| after.get(it) == Some(Raw::number(1))));
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
