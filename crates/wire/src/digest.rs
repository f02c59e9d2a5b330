//! One number for what a request asks, however its client writes it down.
//!
//! A client that returns with an answer may have serialised its parameters anew. The digest is taken over the
//! canonical text: keys sorted, no white space, strings decoded, number tokens as they are.

use sha2::{Digest as _, Sha256};

use crate::Raw;

/// SHA-256 over method, target and the parameters that matter.
pub fn of_request(method: &str, target: &str, params: &Raw) -> [u8; 32] {
    let mut text = Vec::with_capacity(params.bytes().len() + method.len() + target.len() + 2);
    text.extend_from_slice(method.as_bytes());
    text.push(0);
    text.extend_from_slice(target.as_bytes());
    text.push(0);
    let mut members: Vec<(String, Raw)> =
        params.members().map(|it| (it.key().into_owned(), it.value())).collect();
    members.retain(|it| !matches!(it.0.as_str(), "_meta" | "inputResponses" | "requestState"));
    write_members(members, &mut text);
    Sha256::digest(&text).into()
}

fn write(value: &Raw, out: &mut Vec<u8>) {
    if value.is_object() {
        write_members(value.members().map(|it| (it.key().into_owned(), it.value())).collect(), out);
    } else if value.is_array() {
        out.push(b'[');
        for (place, item) in value.items().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            write(&item, out);
        }
        out.push(b']');
    } else {
        match value.text() {
            Some(text) => out.extend_from_slice(Raw::string(&text).bytes()),
            None => out.extend_from_slice(value.bytes()),
        }
    }
}

fn write_members(mut members: Vec<(String, Raw)>, out: &mut Vec<u8>) {
    members.sort_by(|a, b| a.0.cmp(&b.0));
    out.push(b'{');
    for (place, (key, value)) in members.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(Raw::string(key).bytes());
        out.push(b':');
        write(value, out);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &'static str) -> [u8; 32] {
        of_request("tools/call", "i/t", &Raw::parse(text).expect("valid"))
    }

    #[test]
    fn spelling_does_not_matter() {
        let one = digest(r#"{"name":"t","arguments":{"a":1,"b":["\u0061"]}}"#);
        assert_eq!(one, digest("{ \"arguments\" : {\"b\":[ \"a\" ], \"a\" : 1 },\"name\":\"t\"}"));
        assert_eq!(
            one,
            digest(
                r#"{"name":"t","_meta":{"x":1},"arguments":{"a":1,"b":["a"]},"requestState":"s","inputResponses":{}}"#
            )
        );
    }

    #[test]
    fn meaning_does() {
        let one = digest(r#"{"name":"t","arguments":{"a":1}}"#);
        assert_ne!(one, digest(r#"{"name":"t","arguments":{"a":1.0}}"#));
        assert_ne!(one, digest(r#"{"name":"t","arguments":{"a":"1"}}"#));
        assert_ne!(one, digest(r#"{"name":"t","arguments":{"a":1,"b":null}}"#));
        let params = Raw::parse(r#"{"name":"t","arguments":{"a":1}}"#).expect("valid");
        assert_ne!(one, of_request("tools/call", "i/other", &params));
        assert_ne!(one, of_request("prompts/get", "i/t", &params));
    }
}
