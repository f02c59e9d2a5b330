//! The messages as TypeScript with guards, for the extension, and as JSON Schema, for everybody else.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use ts_rs::TS;

use super::{
    AllTabs, Cancelled, Challenge, ConfirmAction, Confirmation, Confirmed, Elicit, Execute, Executed,
    FromHub, Hello, OneTab, OpenTab, PROTOCOL, PageFacts, Ping, Problem, Progress, SUBPROTOCOL, Source,
    TabFacts, TabNews, TabPlace, ToHub, Tool, ToolList, ToolStarted, TypedFromHub, TypedToHub, Welcome,
};

const HEAD: &str = "/** The messages between worker and hub, and guards for them. Written by `cargo xtask types`; do not edit. */

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === \"object\" && value !== null && !Array.isArray(value);
}
";

/// Every type, and a guard for each that says whether a value is one.
pub fn typescript() -> String {
    let config = ts_rs::Config::new().with_large_int("number");
    let mut text = String::from(HEAD);
    let _ = write!(
        text,
        "\nexport const SUBPROTOCOL = \"{SUBPROTOCOL}\";\nexport const PROTOCOL = {PROTOCOL};\n"
    );
    macro_rules! write_types {
        ($($type:ident),* $(,)?) => {$(
            let docs = <$type as TS>::docs().unwrap_or_default();
            let schema = schemars::schema_for!($type).to_value();
            text.push_str(&format!("\n{docs}export {}\n", <$type as TS>::decl(&config)));
            text.push_str(&format!(
                "\n/** Whether a value is a `{0}`. */\nexport function is{0}(value: unknown): value is {0} {{\n  return {1};\n}}\n",
                stringify!($type),
                guard(&schema, "value"),
            ));
        )*};
    }
    write_types![
        Tool,
        Source,
        Challenge,
        Hello,
        Welcome,
        TabFacts,
        AllTabs,
        PageFacts,
        ToolList,
        TabPlace,
        TabNews,
        ToolStarted,
        Progress,
        Elicit,
        ConfirmAction,
        Confirmation,
        Execute,
        Executed,
        Problem,
        OpenTab,
        OneTab,
        Cancelled,
        Ping,
        ToHub,
        FromHub,
        TypedToHub,
        TypedFromHub,
        Confirmed,
    ];
    text
}

/// An expression that is true of values the schema allows.
fn guard(schema: &Value, value: &str) -> String {
    let Some(schema) = schema.as_object() else { return "true".into() };
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|it| it.rsplit('/').next()) {
        let named = format!("is{name}({value})");
        // Members beside it are looked at first: what follows knows of the named ones only.
        let is_alone = !schema.contains_key("properties");
        return if is_alone { named } else { format!("{} && {named}", object(schema, value)) };
    }
    if let Some(constant) = schema.get("const") {
        return format!("{value} === {constant}");
    }
    if let Some(all) = schema.get("enum") {
        return format!("({all} as unknown[]).includes({value})");
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(all) = schema.get(choice).and_then(Value::as_array) {
            let all: Vec<_> = all.iter().filter(|it| !is_null(it)).map(|it| guard(it, value)).collect();
            return format!("({})", all.join(" || "));
        }
    }
    let kinds = schema.get("type").map(kinds).unwrap_or_default();
    match kinds.iter().find(|it| **it != "null").copied() {
        Some("string") => format!("typeof {value} === \"string\""),
        Some("boolean") => format!("typeof {value} === \"boolean\""),
        Some("number") => format!("typeof {value} === \"number\""),
        Some("integer") => format!("Number.isInteger({value})"),
        Some("array") => match schema.get("items").map(|it| guard(it, "it")).filter(|it| it != "true") {
            Some(items) => format!("Array.isArray({value}) && {value}.every((it) => {items})"),
            None => format!("Array.isArray({value})"),
        },
        Some("object") => object(schema, value),
        _ => "true".into(),
    }
}

fn object(schema: &Map<String, Value>, value: &str) -> String {
    let mut all = vec![format!("isObject({value})")];
    for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let member = format!("{value}.{name}");
        let it = guard(schema, &member);
        if it == "true" {
            continue;
        }
        all.push(if is_optional(schema) { format!("({member} == null || {it})") } else { it });
    }
    if let Some(values) = schema.get("additionalProperties").filter(|it| it.is_object()) {
        all.push(format!("Object.values({value}).every((it) => {})", guard(values, "it")));
    }
    all.join(" && ")
}

/// The hub leaves out only what may be null.
fn is_optional(schema: &Value) -> bool {
    let is_any = |it: &str| schema.get(it).and_then(Value::as_array).is_some_and(|it| it.iter().any(is_null));
    is_null(schema) || is_any("anyOf") || schema.get("default").is_some()
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|it| kinds(it).contains(&"null"))
}

fn kinds(value: &Value) -> Vec<&str> {
    match value {
        Value::String(it) => vec![it],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Every frame of both directions as one JSON Schema: `$defs/FrameToHub` and `$defs/FrameFromHub`, and those of the
/// second vocabulary, `$defs/TypedToHub` and `$defs/TypedFromHub`.
pub fn json_schema() -> Value {
    let mut generator = schemars::SchemaGenerator::default();
    let message = |schema: schemars::Schema| {
        // Whether a message has an id says its method.
        json!({ "allOf": [schema, { "properties": { "id": { "type": "string" } } }] })
    };
    let to_hub = message(generator.subschema_for::<ToHub>());
    let from_hub = message(generator.subschema_for::<FromHub>());
    let typed = [generator.subschema_for::<TypedToHub>(), generator.subschema_for::<TypedFromHub>()];
    let [typed_to_hub, typed_from_hub] = typed;
    let nothing = json!({ "type": "object", "additionalProperties": false });
    let answer = |results: Vec<Value>| {
        json!({
            "type": "object",
            "properties": { "id": { "type": "string" }, "result": { "anyOf": results } },
            "required": ["id", "result"],
        })
    };
    let answers = [
        answer(vec![
            generator.subschema_for::<Executed>().to_value(),
            generator.subschema_for::<OneTab>().to_value(),
            nothing,
        ]),
        answer(vec![generator.subschema_for::<Confirmation>().to_value()]),
    ];
    let failed = json!({
        "type": "object",
        "properties": { "id": { "type": "string" }, "error": generator.subschema_for::<Problem>() },
        "required": ["id", "error"],
    });
    let [to_answer, from_answer] = answers;
    let mut definitions = generator.take_definitions(true);
    let frame = |kinds: [Value; 3]| {
        json!({
            "type": "object",
            "properties": { "jsonrpc": { "const": "2.0" } },
            "required": ["jsonrpc"],
            "anyOf": kinds,
        })
    };
    definitions.insert("FrameToHub".into(), frame([to_hub, to_answer, failed.clone()]));
    definitions.insert("FrameFromHub".into(), frame([from_hub, from_answer, failed]));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SUBPROTOCOL,
        "anyOf": [
            { "$ref": "#/$defs/FrameToHub" }, { "$ref": "#/$defs/FrameFromHub" }, typed_to_hub, typed_from_hub,
        ],
        "$defs": definitions,
    })
}
