//! Schemas, arguments, and the sentence that comes of them.

use serde_json::json;

use super::*;

#[track_caller]
fn check(schema: Value, args: Value, expected: &str) {
    let verdict = match Validator::compile(&schema) {
        Ok(validator) => {
            let verdict = validator.check(&args);
            assert_eq!(validator.check_raw(&Raw::of(&args)), verdict, "{args} against {schema}");
            verdict.err().unwrap_or_else(|| "fine".into())
        }
        Err(_) => "no check".into(),
    };
    assert_eq!(verdict, expected, "{args} against {schema}");
}

fn property(schema: Value) -> Value {
    json!({"type": "object", "properties": {"x": schema}})
}

#[test]
fn the_first_problem_is_a_pointer_and_a_sentence() {
    let weather = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": ["integer", "null"], "maximum": 14}},
        "required": ["city"],
        "additionalProperties": false
    });
    check(weather.clone(), json!({"city": "Oslo", "days": null}), "fine");
    check(weather.clone(), json!({}), "/city is required");
    check(weather.clone(), json!({"city": 5}), "/city must be of type string");
    check(weather.clone(), json!({"city": "Oslo", "days": "2"}), "/days must be of type null or integer");
    check(weather.clone(), json!({"city": "Oslo", "days": 15}), "/days is greater than the maximum of 14");
    check(weather.clone(), json!({"city": "Oslo", "a/b": 1}), "/a~1b is not allowed");
    check(weather, json!("Oslo"), "/ must be of type object");
}

#[test]
fn a_long_text_is_read_where_the_schema_wants_to_know_what_it_says() {
    let (long, kind) = ("x".repeat(10_000), json!({"type": "string"}));
    check(property(kind.clone()), json!({"x": long}), "fine");
    check(property(json!({"type": "integer"})), json!({"x": long}), "/x must be of type integer");
    check(property(json!({"maxLength": 5})), json!({"x": long}), "/x is longer than 5 characters");
    check(property(json!({"pattern": "^y"})), json!({"x": long}), "/x does not match the pattern ^y");
    let set = property(json!({"type": "array", "uniqueItems": true}));
    check(set, json!({"x": [long.clone() + "1", long.clone() + "2"]}), "fine");
    let nested = json!({"properties": {"a": {"properties": {"b": {"const": long}}}}});
    check(nested.clone(), json!({"a": {"b": long}}), "fine");
    check(property(json!({"anyOf": [kind, nested]})), json!({"x": long}), "fine");
}

#[test]
fn a_plain_schema_says_the_same_of_arguments_as_they_were_sent() {
    let kinds = ["string", "number", "integer", "boolean", "null", "object", "array"];
    let values = ["\"\"", "0", "-7", "1.5", "1.0", "1e2", "true", "false", "null", "{}", "[]", "\"\\ud800\""];
    for of in kinds.map(|kind| json!({"type": kind, "description": "x"})).iter().chain([&json!({})]) {
        for (required, closed) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut schema = json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object", "title": "t", "properties": {"a": of, "b": {}},
            });
            if required {
                schema["required"] = json!(["a"]);
            }
            if closed {
                schema["additionalProperties"] = json!(false);
            }
            let validator = Validator::compile(&schema).unwrap();
            let plain = validator.plain.as_ref().unwrap();
            for value in values {
                for args in [
                    format!("{{\"a\":{value}}}"),
                    format!("{{ \"b\" : [1, {value}], \"\\u0061\" : {value} }}"),
                    format!("{{\"b\":{value}}}"),
                    format!("{{\"c\":{value},\"a\":\"x\"}}"),
                    value.to_owned(),
                ] {
                    let raw = Raw::parse(args.clone()).unwrap();
                    let verdict = validator.check(&raw.to_value());
                    assert_eq!(validator.check_raw(&raw), verdict, "{args} against {schema}");
                    let is_sure = verdict.is_ok() && !["1.0", "1e2"].contains(&value);
                    assert!(plain.surely_takes(&raw) || !is_sure, "{args} against {schema}");
                }
            }
        }
    }
}

#[test]
fn a_backslash_in_a_name_is_no_escape() {
    let schema = json!({"type": "object", "properties": {"a\\tb": {}}, "required": ["a\\tb"]});
    check(schema.clone(), json!({"a\\tb": 1}), "fine");
    check(schema, json!({"a\tb": 1}), "/a\\tb is required");
}

#[test]
fn a_schema_that_says_more_is_not_plain() {
    let plain = |schema: Value| Plain::of(&schema).is_some();
    assert!(plain(json!({"type": "object"})));
    assert!(plain(property(json!({"type": "string", "default": 7}))));
    let with = |key: &str, value: Value| {
        let mut schema = property(json!({}));
        schema[key] = value;
        plain(schema)
    };
    assert!(
        with("required", json!(["x"])) && with("$schema", json!("http://json-schema.org/draft-07/schema#"))
    );
    assert!(
        !with("required", json!(["y"])) && !with("$schema", json!("http://json-schema.org/draft-04/schema#"))
    );
    assert!(!with("additionalProperties", json!({"type": "string"})) && !with("minProperties", json!(1)));
    assert!(!with("type", json!("string")) && !plain(json!({"properties": {}})) && !plain(json!(true)));
    let many: serde_json::Map<_, _> = (0..65).map(|n| (n.to_string(), json!({}))).collect();
    assert!(!with("properties", many.into()));
}

#[test]
fn a_member_of_which_more_is_said_is_left_to_the_whole_check() {
    let more = [
        json!({"type": ["string", "null"]}),
        json!({"enum": [1]}),
        json!({"minimum": 1}),
        json!(true),
        json!({"$ref": "#/$defs/n"}),
        json!({"type": "object", "properties": {}}),
    ];
    for of in more {
        let schema = json!({
            "type": "object", "properties": {"x": of, "y": {"type": "string"}}, "required": ["y"],
            "$defs": {"n": {"type": "integer"}},
        });
        let validator = Validator::compile(&schema).unwrap();
        let plain = validator.plain.as_ref().unwrap();
        let takes = |args: &'static str| plain.surely_takes(&Raw::parse(args).unwrap());
        assert!(takes(r#"{"y":"a"}"#) && takes(r#"{"y":"a","z":1}"#), "{schema}");
        assert!(!takes(r#"{"y":"a","x":1}"#) && !takes(r#"{"x":1}"#) && !takes("{}"), "{schema}");
    }
    check(property(json!({"minimum": 1})), json!({"x": 0}), "/x is less than the minimum of 1");
}

#[test]
fn problems_of_one_value_are_readable() {
    let x = |value: Value| json!({"x": value});
    check(property(json!({"enum": ["c", 1]})), x(json!("k")), r#"/x must be one of "c", 1"#);
    check(property(json!({"const": 1})), x(json!(2)), "/x must be 1");
    check(property(json!({"maxLength": 1})), x(json!("secret")), "/x is longer than 1 character");
    check(property(json!({"pattern": "^a$"})), x(json!("b")), "/x does not match the pattern ^a$");
    check(property(json!({"anyOf": [{"type": "null"}]})), x(json!(1)), "/x has none of the allowed forms");
    check(property(json!({"items": {"minimum": 1}})), x(json!([1, 0])), "/x/1 is less than the minimum of 1");
    check(property(json!(false)), x(json!(0)), "/x is not allowed");
    check(property(json!({"uniqueItems": true})), x(json!([1, 1])), "/x has non-unique elements");
}

#[test]
fn the_dialect_follows_the_schema() {
    let tuple = json!({"items": [{"type": "string"}]});
    check(tuple, json!([1]), "no check");
    let tuple = json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]});
    check(tuple, json!([1]), "/0 must be of type string");
    check(json!({"prefixItems": [{"type": "string"}]}), json!([1]), "/0 must be of type string");
}

#[test]
fn a_schema_we_cannot_use_is_no_check() {
    check(json!({"type": "strnig"}), json!({}), "no check");
    check(json!({"$ref": "https://example.com/schema.json"}), json!({}), "no check");
    check(json!({"$schema": "https://example.com/dialect"}), json!({}), "no check");
    check(property(json!({"pattern": "("})), json!({}), "no check");
    let mut deep = json!({});
    for _ in 0..100 {
        deep = json!({"not": deep});
    }
    check(deep, json!({}), "no check");
    check(json!({"enum": vec![0; 30_000]}), json!({}), "no check");
}

#[test]
fn references_within_the_schema_work() {
    let tree = json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}}
    });
    check(tree, json!({"next": {"next": {"n": "x"}}}), "/next/next/n must be of type integer");
}

#[test]
fn a_schema_that_refers_to_itself_does_not_hang() {
    for schema in [json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]})] {
        let _ = Validator::compile(&schema).map(|it| it.check(&json!({})));
    }
    let twice = json!({"type": "object", "properties": {"x": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
    let mut args = json!(5);
    for _ in 0..100 {
        args = json!({"x": args});
    }
    check(twice.clone(), args, "fine");
    check(twice, json!({"x": {"x": 5}}), "/x/x must be of type object");
}

/// Definitions in a row, each made of the next one.
fn row(length: usize, link: fn(Value) -> Value) -> Value {
    let mut definitions: serde_json::Map<_, _> = (0..length)
        .map(|it| (format!("d{it}"), link(json!({"$ref": format!("#/$defs/d{}", it + 1)}))))
        .collect();
    definitions.insert(format!("d{length}"), json!({"type": "object"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn a_small_schema_cannot_ask_for_endless_work() {
    let twice = |next: Value| json!({"allOf": [next, next]});
    check(row(5, twice), json!(5), "/ must be of type object");
    check(row(40, twice), json!(5), "no check");
    check(row(5_000, |next| next), json!(5), "no check");
    check(row(20, |next| next), json!(5), "/ must be of type object");
}

#[test]
fn references_that_are_not_followed_are_no_check() {
    check(json!({"$dynamicRef": "#x"}), json!({}), "no check");
    check(json!({"$ref": "#x", "$defs": {"a": {"$anchor": "x"}}}), json!({}), "no check");
    check(property(json!({"$id": "http://x/y"})), json!({}), "no check");
    check(json!({"$ref": "#/$defs/nope"}), json!({}), "no check");
    check(json!({"$id": "https://example.com/root", "type": "array"}), json!({}), "/ must be of type array");
}

#[test]
fn a_hostile_pattern_stops_early() {
    let text = format!("{}b", "a".repeat(5_000));
    let pattern = property(json!({"pattern": "^(?=a)(a|aa)+\\1$"}));
    check(pattern, json!({"x": text}), "/x is too long for its pattern");
}

#[test]
fn a_validator_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Validator>();
}
