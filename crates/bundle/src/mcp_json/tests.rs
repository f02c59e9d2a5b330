//! Texts in, edits, texts out; and the promise that what was added comes out again without a trace.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parse(text: &str) -> Document {
    Document::parse("mcp.json", "servers", Some(text.as_bytes())).unwrap()
}

fn set(name: &str, value: Value) -> (String, Edit) {
    (name.to_owned(), Edit::Set(value))
}

fn remove(name: &str) -> (String, Edit) {
    (name.to_owned(), Edit::Remove)
}

fn node() -> Value {
    json!({"command": "node", "args": ["a"]})
}

/// Adds two entries, shows the text, takes them out again and wants the old text back.
#[track_caller]
fn check_round_trip(text: &str, expected: &Expect) {
    let document = parse(text);
    let added = document.edit(&[set("x", node()), set("y", json!({"url": "u"}))]).unwrap();
    expected.assert_eq(&added.replace('\r', "␍").replace('\t', "→").replace(BOM, "␟"));
    assert_eq!(taken_out(&added, document.created()), Some(text.to_owned()), "not the old text");
}

#[track_caller]
fn taken_out(text: &str, created: Option<Created>) -> Option<String> {
    let document = parse(text);
    let bare = document.edit(&[remove("y"), remove("x")]).unwrap();
    match created {
        Some(created) => parse(&bare).retract(created).unwrap(),
        None => Some(bare),
    }
}

#[test]
fn entries_are_added_in_the_manner_of_the_file() {
    check_round_trip(
        "{\n  \"servers\": {\n    \"a\": {\"url\": \"u\"} // mine\n    // the end\n  }\n}\n",
        &expect![[r#"
            {
              "servers": {
                "a": {"url": "u"}, // mine
                // the end
                "x": {
                  "command": "node",
                  "args": [
                    "a"
                  ]
                },
                "y": {
                  "url": "u"
                }
              }
            }
        "#]],
    );
}

#[test]
fn tabs_line_ends_trailing_commas_and_a_byte_order_mark_stay() {
    check_round_trip(
        "\u{feff}{\r\n\t\"servers\": {\r\n\t\t\"a\": {},\r\n\t},\r\n}\r\n",
        &expect![[r#"
            ␟{␍
            →"servers": {␍
            →→"a": {},␍
            →→"x": {␍
            →→→"command": "node",␍
            →→→"args": [␍
            →→→→"a"␍
            →→→]␍
            →→},␍
            →→"y": {␍
            →→→"url": "u"␍
            →→},␍
            →},␍
            }␍
        "#]],
    );
}

#[test]
fn what_is_on_one_line_stays_on_one_line() {
    check_round_trip(
        r#"{"servers":{"a":{"url":"u"}}}"#,
        &expect![[r#"{"servers":{"a":{"url":"u"},"x":{"command":"node","args":["a"]},"y":{"url":"u"}}}"#]],
    );
    check_round_trip(
        r#"{ "servers": { "a": {} }, "inputs": [] }"#,
        &expect![[
            r#"{ "servers": { "a": {}, "x": {"command":"node","args":["a"]}, "y": {"url":"u"} }, "inputs": [] }"#
        ]],
    );
}

#[test]
fn what_is_missing_is_created_and_goes_again() {
    let created = expect![[r#"
        {
          "servers": {
            "x": {
              "command": "node",
              "args": [
                "a"
              ]
            },
            "y": {
              "url": "u"
            }
          }
        }
    "#]];
    check_round_trip("", &created);
    check_round_trip("{}\n", &created);
    check_round_trip("{\n  \"servers\": {}\n}\n", &created);
    let document = Document::parse("mcp.json", "servers", None).unwrap();
    let text = document.edit(&[set("x", node()), set("y", json!({"url": "u"}))]).unwrap();
    created.assert_eq(&text);
    assert_eq!(taken_out(&text, document.created()), None, "a file that we made goes");
    check_round_trip(
        "{\n  // what I type\n  \"inputs\": [{\"id\": \"t\"}]\n}",
        &expect![[r#"
            {
              // what I type
              "inputs": [{"id": "t"}],
              "servers": {
                "x": {
                  "command": "node",
                  "args": [
                    "a"
                  ]
                },
                "y": {
                  "url": "u"
                }
              }
            }"#]],
    );
    check_round_trip(
        "// nothing yet\n",
        &expect![[r#"
            // nothing yet
            {
              "servers": {
                "x": {
                  "command": "node",
                  "args": [
                    "a"
                  ]
                },
                "y": {
                  "url": "u"
                }
              }
            }
        "#]],
    );
}

#[test]
fn what_a_person_has_added_since_keeps_what_we_created() {
    let text = "{\n  \"servers\": {\n    \"mine\": {}\n  }\n}\n";
    assert_eq!(parse(text).retract(Created::File).unwrap().as_deref(), Some(text));
    let text = "{\n  \"servers\": {},\n  \"inputs\": []\n}\n";
    assert_eq!(parse(text).retract(Created::File).unwrap().as_deref(), Some("{\n  \"inputs\": []\n}\n"));
    let text = "{\n  // keep\n  \"servers\": {}\n}\n";
    assert_eq!(parse(text).retract(Created::File).unwrap().as_deref(), Some("{\n  // keep\n}\n"));
    let text = "{\n  \"servers\": { /* keep */ }\n}\n";
    assert_eq!(parse(text).retract(Created::File).unwrap().as_deref(), Some(text));
}

#[track_caller]
fn check(text: &str, edits: &[(String, Edit)], expected: &str) {
    assert_eq!(parse(text).edit(edits).unwrap(), expected);
    parse(expected);
}

#[test]
fn no_comment_goes_with_an_entry() {
    check(
        "{\"servers\": {\n  \"a\": 1, // of a\n  // above x\n  \"x\": 2, // beside x\n  \"b\": 3\n}}",
        &[remove("x")],
        "{\"servers\": {\n  \"a\": 1, // of a\n  // above x\n  // beside x\n  \"b\": 3\n}}",
    );
    check(
        "{\"servers\": {\"x\": 2 /* c */, /* d */ \"b\": 3}}",
        &[remove("x")],
        "{\"servers\": {/* c */ /* d */ \"b\": 3}}",
    );
    check("{\"servers\": { // c\n \"x\": 2, \"b\": 3}}", &[remove("x")], "{\"servers\": { // c\n \"b\": 3}}");
    check("{\"servers\": { \"x\": 2 // c\n}}", &[remove("x")], "{\"servers\": { // c\n}}");
    check("{\"servers\": {\n\"a\": 1\n, \"x\": 2\n}}", &[remove("x")], "{\"servers\": {\n\"a\": 1\n\n}}");
    // What follows must not slip behind a comment of the line above.
    check("{\"servers\": {\n // c\n \"x\": 2}}", &[remove("x")], "{\"servers\": {\n // c\n }}");
}

#[test]
fn members_of_an_entry_are_changed_where_they_stand() {
    let patch = |members: &[(&str, Option<Value>)]| {
        let members = members.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        [("x".to_owned(), Edit::Patch(members))]
    };
    let off = patch(&[("disabled", Some(true.into())), ("description", Some("d".into()))]);
    let on = patch(&[("disabled", None), ("description", Some("old".into()))]);
    let text =
        "{\"servers\": {\n  \"x\": {\n    \"command\": \"c\", // why\n    \"description\": \"old\"\n  }\n}}";
    let marked = "{\"servers\": {\n  \"x\": {\n    \"command\": \"c\", // why\n    \"description\": \"d\",\n    \"disabled\": true\n  }\n}}";
    check(text, &off, marked);
    check(marked, &on, text);
    check("{\"servers\": {\"x\": 5}}", &off, "{\"servers\": {\"x\": 5}}");
}

#[test]
fn an_entry_is_replaced_where_it_stands() {
    check(
        "{\"servers\": {\n  \"x\": {\"url\": \"v\"}, // c\n  \"b\": 3\n}}",
        &[set("x", json!({"url": "u"})), remove("b"), set("y", json!(1))],
        "{\"servers\": {\n  \"x\": {\n    \"url\": \"u\"\n  }, // c\n  \"y\": 1\n}}",
    );
    check("{\"servers\": { \"a\": 1 }}", &[remove("a"), set("b", json!(2))], "{\"servers\": { \"b\": 2 }}");
    check("{\"servers\": { \"a\": 1, }}", &[set("b", json!(2))], "{\"servers\": { \"a\": 1, \"b\": 2, }}");
}

#[test]
fn a_text_that_is_not_valid_says_where() {
    for (text, place) in [
        ("{\n  \"servers\": {\n    \"a\": }\n", "3:10"),
        ("[]", "1:1"),
        ("\n  \"text\"", "2:3"),
        ("{\"servers\": []}", "1:2"),
        ("{\"servers\": null}", "1:2"),
        ("{\"servers\": {},\n\"servers\": {}}", "2:1"),
        ("{'servers': {}}", "1:2"),
        ("{\"servers\": {\"a\": 1 \"b\": 2}}", "1:20"),
        ("{} {}", "1:4"),
        ("{", "1:1"),
    ] {
        let error = Document::parse("mcp.json", "servers", Some(text.as_bytes())).unwrap_err();
        assert_eq!(error.to_string(), format!("mcp.json is not valid: {place}"), "{text}");
    }
    let error = Document::parse("mcp.json", "servers", Some(b"{\n\xff}")).unwrap_err();
    assert_eq!(error.to_string(), "mcp.json is not valid: 2:1");
    let deep = format!("{{\"servers\": {}{}}}", "[".repeat(5000), "]".repeat(5000));
    assert!(Document::parse("mcp.json", "servers", Some(deep.as_bytes())).is_err());
}

/// White space and comments of any kind, each safe at any place between two tokens.
fn gap(newline: &'static str, comment: &'static str) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => Just(String::new()),
        3 => Just(" ".to_owned()),
        1 => Just("\t".to_owned()),
        3 => Just(newline.to_owned()),
        1 => Just(format!("/* {comment} */")),
        1 => Just(format!("// {comment}: {{ , }}{newline}")),
    ];
    proptest::collection::vec(piece, 0..4).prop_map(|it| it.concat())
}

/// A file with entries `u0`, `u1` … that somebody wrote in their own way.
fn document() -> impl Strategy<Value = String> {
    prop_oneof![Just("\n"), Just("\r\n")].prop_flat_map(|newline| {
        let (outside, inside) = (|| gap(newline, "out"), || gap(newline, "in"));
        let entry = (outside(), inside(), inside(), outside(), 0..3_usize);
        let entries = proptest::collection::vec(entry, 0..4);
        let around = proptest::collection::vec(outside(), 6);
        (entries, around, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |(entries, around, trailing, mark, more)| {
                let values =
                    ["{}", r#"{"url": "http://x/, }", "k": [1, 2,]}"#, r#"{ "command" : "c" /* in */ }"#];
                let mut inner = String::new();
                let count = entries.len();
                for (place, (a, b, c, d, value)) in entries.into_iter().enumerate() {
                    inner.extend([&a, &format!("\"u{place}\""), &b, ":", &c, values[value], &d]);
                    if place + 1 < count || trailing {
                        inner.push(',');
                    }
                }
                let end = if count == 0 { "" } else { &around[0] };
                let tail =
                    if more { format!(",{}\"inputs\": []{}", around[4], around[5]) } else { String::new() };
                let mark = if mark { BOM } else { "" };
                format!(
                    "{mark}{}{{{}\"servers\":{}{{{inner}{end}}}{tail}}}{}",
                    around[1], around[2], around[3], around[4]
                )
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_added_comes_out_without_a_trace(text in document(), count in 1..4_usize) {
        let before = parse(&text);
        let names: Vec<_> = (0..count).map(|it| format!("x{it}")).collect();
        let edits: Vec<_> = names.iter().map(|it| set(it, node())).collect();
        let added = parse(&before.edit(&edits).unwrap());

        let mut expected = before.entries().unwrap();
        expected.extend(names.iter().map(|it| (it.clone(), node())));
        prop_assert_eq!(added.entries().unwrap(), expected);

        // Taken out one by one, in any order.
        let mut text_now = added.text().to_owned();
        for name in names.iter().rev() {
            text_now = parse(&text_now).edit(&[remove(name)]).unwrap();
        }
        prop_assert_eq!(&text_now, &text);
        let mut text_now = added.text().to_owned();
        for name in &names {
            text_now = parse(&text_now).edit(&[remove(name)]).unwrap();
        }
        prop_assert_eq!(&text_now, &text);
        let all: Vec<_> = names.iter().map(|it| remove(it)).collect();
        prop_assert_eq!(&parse(added.text()).edit(&all).unwrap(), &text);
    }

    #[test]
    fn an_edit_changes_nothing_but_its_entry(text in document(), place in 0..4_usize, kind in 0..3_usize) {
        let before = parse(&text);
        let entries = before.entries().unwrap();
        let name = format!("u{place}");
        if entries.iter().all(|(it, _)| *it != name) {
            return Ok(());
        }
        let patch = Edit::Patch(vec![("disabled".into(), Some(true.into())), ("url".into(), None)]);
        let edit = [Edit::Remove, Edit::Set(node()), patch][kind].clone();
        let after = parse(&before.edit(&[(name.clone(), edit)]).unwrap());

        let others = |document: &Document| {
            let mut entries = document.entries().unwrap();
            entries.retain(|(it, _)| *it != name);
            entries
        };
        prop_assert_eq!(others(&before), others(&after));
        let comments = |text: &str| text.matches("/* out */").count() + text.matches("// out: { , }").count();
        prop_assert_eq!(comments(before.text()), comments(after.text()));
    }
}
