//! `xml_tool_calls.json`: calls in a model's text, in every cut into two pieces.

use serde_json::{Value, json};
use toolgrove_core::text::xml::{Piece, XmlCalls};

use crate::{Case, Ran, assert_holds, text};

pub(crate) fn run(case: &Case) -> Ran {
    let given = &case.given;
    if given.get("text").is_some() {
        let whole = text(given, "text");
        for cut in (0..=whole.len()).filter(|it| whole.is_char_boundary(*it)) {
            assert_holds(&read(whole, cut, None), &case.expect);
        }
    } else if given.get("parameter_text").is_some() {
        let value = text(given, "parameter_text");
        let whole = format!("<invoke name=\"t\"><parameter name=\"x\">{value}</parameter></invoke>");
        let schema = json!({"properties": {"x": {"type": given["schema_type"]}}});
        let schema = (!given["schema_type"].is_null()).then_some(&schema);
        assert_eq!(read(&whole, 0, schema)["calls"][0]["params"]["x"], case.expect);
    } else {
        return false;
    }
    true
}

fn read(whole: &str, cut: usize, schema: Option<&Value>) -> Value {
    let mut reader = XmlCalls::default();
    let mut pieces = reader.push(&whole[..cut]);
    pieces.extend(reader.push(&whole[cut..]));
    pieces.extend(reader.finish());
    let (mut text, mut calls) = (String::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Text(more) => text += &more,
            Piece::Call(call) => calls.push(json!({"name": call.name, "params": call.arguments(schema)})),
        }
    }
    json!({"text": text, "calls": calls})
}
