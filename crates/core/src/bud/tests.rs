//! What a bud's model is told, and what it may use.

use serde_json::{Value, json};

use super::*;

fn method(value: Value) -> BudMethod {
    serde_json::from_value(value).unwrap()
}

#[track_caller]
fn told(method: Value, arguments: Value, expected: &str) {
    assert_eq!(self::method(method).message(arguments.as_object().unwrap()), expected);
}

#[test]
fn a_template_is_filled_in_one_pass() {
    let template = json!({ "name": "x", "template": "A: {{a}}, B: {{ b }}; {{none}}." });
    told(template.clone(), json!({ "a": "{{b}}", "b": [1, 2] }), "A: {{b}}, B: [1,2]; .");
    told(json!({ "name": "x", "template": "open {{a" }), json!({ "a": 1 }), "open {{a");
}

#[test]
fn without_template_the_only_text_is_the_message() {
    told(json!({ "name": "x" }), json!({ "message": "hi" }), "hi");
    told(json!({ "name": "x" }), json!({ "a": 1 }), r#"{"a":1}"#);
    told(json!({ "name": "x" }), json!({ "a": "x", "b": "y" }), r#"{"a":"x","b":"y"}"#);
    told(json!({ "name": "x" }), json!({}), "{}");
}

#[track_caller]
fn refused(preset: Value, expected: &str) {
    let preset: BudPreset = serde_json::from_value(preset).unwrap();
    assert_eq!(preset.check().unwrap_err().to_string(), expected);
}

#[test]
fn what_cannot_be_is_said() {
    refused(json!({ "temperature": 2.5 }), "`temperature` is a number from 0 to 2");
    refused(json!({ "max_tokens": 0 }), "`max_tokens` must be at least 1");
    refused(
        json!({ "methods": [{ "name": "a b" }] }),
        "`a b` is not a method name; use letters, digits, `_`, `-` and `.`",
    );
    refused(json!({ "methods": [{ "name": "a" }, { "name": "a" }] }), "method `a` stands there twice");
    refused(
        json!({ "methods": [{ "name": "a", "inputSchema": { "type": "string" } }] }),
        "the `inputSchema` of `a` must have the type `object`",
    );
}

#[test]
fn a_bud_without_methods_can_be_asked() {
    let methods = BudPreset::default().methods();
    assert_eq!(methods.len(), 1);
    assert_eq!(methods[0].name, "ask");
    assert_eq!(methods[0].input_schema["required"], json!(["message"]));
}

/// `cfg-merge-servers`, `cfg-disabled-union` and `cfg-available` of the cases.
#[test]
fn servers_join_and_what_either_takes_away_is_away() {
    let bud = McpConfig {
        servers: vec!["s1".into(), "s2".into()],
        disabled_tools: vec!["s1.a".into()],
        ..McpConfig::default()
    };
    let chat = Overrides {
        additional_servers: vec!["s2".into(), "s3".into()],
        disabled_tools: vec!["b".into()],
        tool_choice: Some(ToolChoice::Required),
    };
    let preset = Preset::of(&bud, &chat);
    assert_eq!(preset.servers, ["s1", "s2", "s3"]);
    assert_eq!(preset.choice, ToolChoice::Required);
    let left = |preset: &Preset| {
        let tools = [("s1", "a"), ("s1", "b"), ("s2", "b"), ("s2", "c")];
        tools.into_iter().filter(|it| preset.allows(&[it.0], it.1)).collect::<Vec<_>>()
    };
    assert_eq!(left(&preset), [("s2", "c")]);
    let some = McpConfig { available_tools: vec!["s1.a".into(), "c".into()], ..McpConfig::default() };
    assert_eq!(left(&Preset::of(&some, &Overrides::default())), [("s1", "a"), ("s2", "c")]);
    let nothing = Preset::of(&McpConfig::default(), &Overrides::default());
    assert_eq!((left(&nothing), nothing.choice), (vec![], ToolChoice::None));
}
