//! Texts with calls in them, read whole and in every possible cut.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// Joins neighbouring texts, so that pieces read alike however they were cut.
fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Vec<Piece> {
    let mut calls = XmlCalls::default();
    let mut all: Vec<Piece> = pieces.into_iter().flat_map(|it| calls.push(it)).collect();
    all.extend(calls.finish());
    let mut joined: Vec<Piece> = Vec::new();
    for piece in all {
        match (joined.last_mut(), piece) {
            (Some(Piece::Text(text)), Piece::Text(more)) => text.push_str(&more),
            (_, piece) => joined.push(piece),
        }
    }
    joined
}

#[track_caller]
fn check(text: &str, expected: &Expect) {
    let whole = read([text]);
    let by_character: Vec<String> = text.chars().map(String::from).collect();
    assert_eq!(read(by_character.iter().map(String::as_str)), whole, "cut anywhere, the same");
    let lines: Vec<String> = whole
        .iter()
        .map(|it| match it {
            Piece::Text(text) => format!("{text:?}"),
            Piece::Call(call) => format!("{} {}", call.name, Value::Object(call.arguments(None))),
        })
        .collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn calls_stand_between_texts() {
    check(
        "Hi <tool_calls>\n  <invoke name=\"a\">\n <parameter name=\"x\"> 1 </parameter>\n</invoke>\n\
         <invoke name='b'/></tool_calls> bye",
        &expect![[r#"
            "Hi "
            a {"x":1}
            b {}
            " bye""#]],
    );
}

#[test]
fn text_inside_the_wrapper_is_text() {
    check(
        "<tool_calls> first this: <invoke name=\"a\"></invoke> done. </tool_calls>\n",
        &expect![[r#"
            " first this:"
            a {}
            " done.\n""#]],
    );
}

#[test]
fn what_only_looks_like_a_tag_is_text() {
    check(
        "a < b, <invoked>, <i>x</i>, <tool_call>, <<",
        &expect![[r#""a < b, <invoked>, <i>x</i>, <tool_call>, <<""#]],
    );
    check("<invoke>x</invoke>", &expect![[r#""<invoke>x</invoke>""#]]);
    check("<parameter name=\"x\">1</parameter>", &expect![[r#""<parameter name=\"x\">1</parameter>""#]]);
    check(
        "<<invoke name=\"a\"/>",
        &expect![[r#"
        "<"
        a {}"#]],
    );
    check(
        "<invoke <invoke name=\"a\"/>",
        &expect![[r#"
        "<invoke "
        a {}"#]],
    );
}

#[test]
fn a_stray_quote_does_not_swallow_the_text() {
    let text = format!("<invoke \"{}", "x".repeat(3_000));
    assert_eq!(read([text.as_str()]), [Piece::Text(text)]);
    check(
        "<invoke name='a><invoke name='b'/>",
        &expect![[r#"
        "<invoke name='a>"
        b {}"#]],
    );
}

#[test]
fn what_is_unfinished_at_the_end_is_dropped() {
    for tail in [
        "<invoke name=\"a\">",
        "<invoke name=\"a\"><parameter name=\"x\">1",
        "<invoke na",
        "<invo",
        "<tool_cal",
        "</to",
    ] {
        check(&format!("x {tail}"), &expect![[r#""x ""#]]);
    }
    check("x <", &expect![[r#""x <""#]]);
    check("x <invoke name=\"a\"><parameter name=\"x\">1</parameter></tool_calls> y", &expect![[r#""x  y""#]]);
}

#[test]
fn values_are_raw_text() {
    check(
        "<invoke name=\"a\" x=\">\"><parameter name=\"p\">if (a < b && c > d) { \"</invoke>\" } &lt;</parameter >\
         <parameter name=\"q\"/><parameter name=\"p2\"> <![CDATA[ </parameter> ]]> </parameter>\
         <parameter name=\"r\"><![CDATA[a]]]]><![CDATA[>b]]></parameter>\
         <parameter name=\"s\">x <![CDATA[y]]></parameter></invoke>",
        &expect![[
            r#"a {"p":"if (a < b && c > d) { \"</invoke>\" } &lt;","q":"","p2":" </parameter> ","r":"a]]>b","s":"x <![CDATA[y]]>"}"#
        ]],
    );
}

#[test]
fn the_last_parameter_of_a_name_counts() {
    check(
        "<invoke name=\"a\"><parameter name=\"x\">1</parameter><parameter name=\"x\">2</parameter></invoke>",
        &expect![[r#"a {"x":2}"#]],
    );
}

#[test]
fn arguments_follow_the_schema_of_the_tool() {
    let params = vec![("zip".into(), "02139".into()), ("n".into(), "7".into()), ("new".into(), "7".into())];
    let schema = serde_json::json!({"properties": {"zip": {"type": "string"}, "n": {"type": "string"}}});
    let call = XmlCall { name: "a".into(), params };
    assert_eq!(
        Value::Object(call.arguments(Some(&schema))).to_string(),
        r#"{"zip":"02139","n":"7","new":7}"#
    );
}

/// Fragments that get a reader into every corner.
fn fragments() -> impl Strategy<Value = Vec<&'static str>> {
    let fragment = prop::sample::select(vec![
        "<",
        ">",
        "\"",
        "'",
        "/",
        "é",
        " ",
        "\n",
        "x",
        "]]>",
        "<![CDATA[",
        "<invoke",
        "<invoke name=\"a\">",
        "</invoke>",
        "<invoked>",
        "<parameter name=\"p\">",
        "</parameter>",
        "<parameter",
        "<tool_calls>",
        "</tool_calls>",
        "<tools_call>",
        "</tools_call>",
        "name=",
        "<invoke name='b'/>",
        "42",
        "{\"a\":1}",
        "</",
    ]);
    prop::collection::vec(fragment, 0..40)
}

proptest! {
    #[test]
    fn no_cut_changes_the_result(fragments in fragments(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let text: Vec<char> = fragments.concat().chars().collect();
        let mut places: Vec<usize> = cuts.iter().map(|it| it.index(text.len() + 1)).chain([0, text.len()]).collect();
        places.sort_unstable();
        let pieces: Vec<String> = places.windows(2).map(|it| text[it[0]..it[1]].iter().collect()).collect();
        prop_assert_eq!(read(pieces.iter().map(String::as_str)), read([fragments.concat().as_str()]));
    }

    #[test]
    fn text_without_tags_comes_back_whole(text in "[^<]{0,200}") {
        let expected = if text.is_empty() { vec![] } else { vec![Piece::Text(text.clone())] };
        prop_assert_eq!(read([text.as_str()]), expected);
    }

    #[test]
    fn garbage_neither_panics_nor_leaks_a_tag(text in "\\PC{0,300}", fragments in fragments()) {
        for piece in read([text.as_str(), &fragments.concat()]) {
            if let Piece::Text(text) = piece {
                for tag in ["<tool_calls>", "</tool_calls>", "<tools_call>", "<invoke name=\"a\">", "<invoke name='b'/>"] {
                    prop_assert!(!text.contains(tag), "{}", text);
                }
            }
        }
    }
}

#[test]
fn long_texts_take_linear_time() {
    let texts = ["<".repeat(300_000), "<invoke \"".repeat(50_000), "> ".repeat(300_000), "[".repeat(300_000)];
    for text in texts {
        let _ = read([text.as_str()]);
        let inside = format!("<invoke name=\"a\"><parameter name=\"x\">{text}");
        assert!(read([inside.as_str()]).is_empty());
    }
}
