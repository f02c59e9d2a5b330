//! Tools that want arguments repeated as headers, and do not say so by the rules.

use bytes::{BufMut, BytesMut};
use toolgrove_core::event::ListKind;
use toolgrove_core::header::{self, ANNOTATION};
use toolgrove_wire::{Edit, Raw};

use crate::link::Link;

/// Keywords whose members are named by the author of the schema.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords whose values are no schemas.
const VALUES: [&str; 4] = ["default", "const", "enum", "examples"];

/// A listed item as it may be used over this link. Where headers are sent, a tool that breaks the rules for them is
/// left out, as the specification demands; elsewhere only its annotations are.
pub(crate) fn admit(link: &Link, kind: ListKind, item: Raw) -> Option<Raw> {
    if kind != ListKind::Tools || !mentions(&item) {
        return Some(item);
    }
    let Some(schema) = item.get("inputSchema") else { return Some(item) };
    let Err(problem) = header::annotations(&schema) else { return Some(item) };
    let (server, tool) = (link.context.slug(), item.get_text("name").unwrap_or_default());
    if link.sends_headers() {
        tracing::warn!(server, tool, problem, "a tool is left out");
        return None;
    }
    tracing::debug!(server, tool, problem, "a tool loses its header annotations");
    let schema = without(&schema);
    Some(Edit::of(&item).set("inputSchema", schema).done())
}

fn mentions(raw: &Raw) -> bool {
    memchr::memmem::find(raw.bytes(), ANNOTATION.as_bytes()).is_some()
}

/// A schema without annotations. Every other byte stays.
fn without(schema: &Raw) -> Raw {
    if schema.is_array() {
        return each_item(schema);
    }
    let members: Vec<_> = schema
        .members()
        .filter(|it| !VALUES.contains(&&*it.key()))
        .map(|it| (it.key(), it.value()))
        .filter(|it| mentions(&it.1))
        .collect();
    let edit = Edit::of(schema).remove(ANNOTATION);
    let changed = members.iter().filter(|it| it.0 != ANNOTATION).fold(edit, |edit, (key, value)| {
        let value = if NAMED.contains(&&**key) { each_member(value) } else { without(value) };
        edit.set(key, value)
    });
    if schema.is_object() { changed.done() } else { schema.clone() }
}

fn each_member(named: &Raw) -> Raw {
    let members: Vec<_> =
        named.members().map(|it| (it.key(), it.value())).filter(|it| mentions(&it.1)).collect();
    members.iter().fold(Edit::of(named), |edit, (key, value)| edit.set(key, without(value))).done()
}

fn each_item(array: &Raw) -> Raw {
    let bytes = array.bytes();
    let mut out = BytesMut::with_capacity(bytes.len());
    let mut copied = 0;
    for item in array.items() {
        // An item is a view into its array.
        let start = item.bytes().as_ptr() as usize - bytes.as_ptr() as usize;
        out.put_slice(&bytes[copied..start]);
        out.put_slice(without(&item).bytes());
        copied = start + item.bytes().len();
    }
    out.put_slice(&bytes[copied..]);
    Raw::parse(out.freeze()).unwrap_or_else(|_| array.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_go_and_every_other_byte_stays() {
        let schema = Raw::parse(
            r#"{ "type":"object", "properties": {"x-mcp-header":{"type" : "string"}, "a":{"x-mcp-header":"A","type":"number"} }, "anyOf": [ {"x-mcp-header":"B", "n":1e400} , true ], "default":{"x-mcp-header":1} }"#,
        )
        .expect("valid");
        assert_eq!(
            without(&schema).as_str(),
            r#"{ "type":"object", "properties": {"x-mcp-header":{"type" : "string"}, "a":{"type":"number"} }, "anyOf": [ {"n":1e400} , true ], "default":{"x-mcp-header":1} }"#
        );
    }
}
