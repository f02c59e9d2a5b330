//! Properties of the wire over random JSON: what is not named is not touched, and no input makes it panic.

use bytes::Bytes;
use proptest::prelude::*;
use toolgrove_wire::{Edit, Message, Raw, envelope, scan};

/// JSON text with odd spacing, huge numbers, names that look alike, and nesting.
fn json() -> impl Strategy<Value = String> {
    let space = prop::sample::select(vec!["", " ", "\n", "\t ", "\r\n"]);
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i64>().prop_map(|it| it.to_string()),
        "[1-9][0-9]{30,60}".prop_map(|it| it),
        "-?[1-9][0-9]{0,3}\\.[0-9]{1,5}[eE][+-]?[0-9]{1,2}".prop_map(|it| it),
        any::<String>().prop_map(|it| serde_json::to_string(&it).expect("a text")),
        Just("\"\\u0061\\ud83d\\ude00\"".to_owned()),
    ];
    leaf.prop_recursive(8, 64, 6, move |inner| {
        let key = prop_oneof!["[a-c]", Just("name ".to_owned()), Just("Name".to_owned()), any::<String>()];
        let space = space.clone();
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..5), space.clone()).prop_map(|(items, space)| format!(
                "[{space}{}{space}]",
                items.join(&format!("{space},{space}"))
            )),
            (prop::collection::hash_map(key, inner, 0..5), space).prop_map(|(members, space)| {
                let members: Vec<String> = members
                    .iter()
                    .map(|(key, value)| {
                        format!("{}{space}:{space}{value}", serde_json::to_string(key).expect("a text"))
                    })
                    .collect();
                format!("{{{space}{}{space}}}", members.join(&format!("{space},{space}")))
            }),
        ]
    })
}

/// An object with unknown members around one that is called `name`.
fn object() -> impl Strategy<Value = (String, String, String)> {
    (json(), json(), "[a-z]{1,9}").prop_map(|(before, after, name)| {
        let head = format!("{{ \"x-before\" :{before} ,\"name\": ");
        let tail = format!(" , \"x-after\":{after}\n}}");
        (head, name, tail)
    })
}

proptest! {
    #[test]
    fn replacing_a_name_keeps_every_other_byte((head, name, tail) in object()) {
        let before = format!("{head}\"{name}\"{tail}");
        let raw = Raw::parse(before).expect("valid");
        let edited = Edit::of(&raw).set_text("name", "another/name").done();
        prop_assert_eq!(edited.as_str(), format!("{head}\"another/name\"{tail}"));
        let back = Edit::of(&edited).set_text("name", &name).done();
        prop_assert_eq!(back, raw);
    }

    #[test]
    fn parameters_and_results_pass_through_byte_for_byte(value in json(), id in any::<u64>()) {
        let params = format!("{{\"arguments\":{value},\"unknown\":1}}");
        let sent = format!("{{\"id\":{id},\"params\": {params} ,\"jsonrpc\":\"2.0\",\"method\":\"tools/call\"}}");
        let Ok(Message::Request { id, params: Some(read), .. }) = Message::parse(sent) else {
            return Err(TestCaseError::fail("not a request"));
        };
        prop_assert_eq!(read.as_str(), &params);
        let written = envelope::request(&id, "tools/call", Some(&read));
        let Ok(Message::Request { params: Some(again), .. }) = Message::parse(written) else {
            return Err(TestCaseError::fail("not a request"));
        };
        prop_assert_eq!(again.as_str(), params);
        let answer = envelope::response(&id, &read);
        prop_assert!(std::str::from_utf8(&answer).expect("text").contains(read.as_str()));
    }

    #[test]
    fn members_and_items_add_up_to_what_serde_reads(value in json()) {
        let raw = Raw::parse(value.clone()).expect("valid");
        let read: serde_json::Value = serde_json::from_str(&value).expect("valid");
        match &read {
            serde_json::Value::Object(object) => {
                prop_assert_eq!(raw.members().count(), object.len());
                for member in raw.members() {
                    prop_assert_eq!(&member.value().to_value(), &object[&*member.key()]);
                }
            }
            serde_json::Value::Array(array) => {
                let items: Vec<_> = raw.items().map(|it| it.to_value()).collect();
                prop_assert_eq!(&items, array);
            }
            _ => prop_assert_eq!(raw.members().count() + raw.items().count(), 0),
        }
    }

    #[test]
    fn whatever_is_accepted_is_json(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if scan::check(&bytes).is_ok() {
            prop_assert!(serde_json::from_slice::<&serde_json::value::RawValue>(&bytes).is_ok());
        }
    }

    #[test]
    fn a_broken_text_never_panics(value in json(), cut in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = value.into_bytes();
        if !bytes.is_empty() {
            let at = cut.index(bytes.len());
            bytes[at] = byte;
        }
        let accepted = scan::check(&bytes).is_ok();
        let read = serde_json::from_slice::<&serde_json::value::RawValue>(&bytes).is_ok();
        // Only what is ambiguous or too deep is refused beyond what serde refuses.
        prop_assert!(!accepted || read);
        let _ = Message::parse(Bytes::from(bytes));
    }
}

#[test]
fn oversize_and_deep_messages_are_refused_in_bounded_time() {
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{{\"a\":{}1{}}}}}",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let problem = Message::parse(deep).expect_err("too deep");
    assert_eq!(problem.rpc().code, envelope::PARSE_ERROR);
    assert_eq!(problem.to_string(), "parse error: nested deeper than 127 levels");

    let many_keys: Vec<String> = (0..200_000).map(|it| format!("\"k{it}\":0,")).collect();
    let many_keys = many_keys.concat();
    let wide =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{{{many_keys}\"k7\":1}}}}");
    let problem = Message::parse(wide).expect_err("twice");
    assert_eq!(problem.to_string(), "invalid request: the key `k7` appears twice in one object");
}
