//! A JSON Schema as a flat list of parameters, and as a one-line signature.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One parameter of a tool, in the words of text views.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Param {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: ParamKind,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub required: bool,
    #[serde(rename = "enum", default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<Value>>,
    /// `Some(Value::Null)` is the default `null`; so are `false`, `0` and `""` defaults.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub default: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Items>,
}

/// What an array holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Items {
    #[serde(rename = "type")]
    pub kind: ParamKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParamKind {
    String,
    Number,
    Boolean,
    Array,
    Object,
}

impl ParamKind {
    /// Reads the `type` of a schema. Whatever the table does not know, unions included, is a string.
    pub fn of(schema_type: Option<&Value>) -> Self {
        match schema_type.and_then(Value::as_str) {
            Some("number" | "integer") => Self::Number,
            Some("boolean") => Self::Boolean,
            Some("array") => Self::Array,
            Some("object") => Self::Object,
            _ => Self::String,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// The parameters of an input schema, in the order of its properties.
pub fn params(schema: &Value) -> Vec<Param> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let required: HashSet<&str> = match schema.get("required").and_then(Value::as_array) {
        Some(names) => names.iter().filter_map(Value::as_str).collect(),
        None => HashSet::new(),
    };
    properties
        .iter()
        .map(|(name, property)| param(name, property, required.contains(name.as_str())))
        .collect()
}

/// `compareClauses(docA: string, limit?: number)`
pub fn signature(method: &str, params: &[Param]) -> String {
    let params: Vec<_> = params
        .iter()
        .map(|it| format!("{}{}: {}", it.name, if it.required { "" } else { "?" }, it.kind.as_str()))
        .collect();
    format!("{method}({})", params.join(", "))
}

fn param(name: &str, property: &Value, required: bool) -> Param {
    let none = Map::new();
    let property = property.as_object().unwrap_or(&none);
    Param {
        name: name.to_owned(),
        kind: ParamKind::of(property.get("type")),
        description: property.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
        required,
        options: property.get("enum").and_then(Value::as_array).cloned(),
        default: property.get("default").cloned(),
        items: property
            .get("items")
            .and_then(Value::as_object)
            .map(|it| Items { kind: ParamKind::of(it.get("type")) }),
    }
}

/// Keeps `null` apart from a missing member.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: Value) {
        assert_eq!(serde_json::to_value(params(&schema)).unwrap(), expected);
    }

    #[test]
    fn a_schema_becomes_a_list_in_its_own_order() {
        check(
            json!({
                "properties": {
                    "z": {"type": "integer", "description": "Z", "default": 0},
                    "a": {"type": "array", "items": {"type": "boolean"}, "enum": [[], [true]]},
                    "m": {"default": null, "items": {}},
                    "b": true
                },
                "required": ["a", "ghost", 5]
            }),
            json!([
                {"name": "z", "type": "number", "description": "Z", "required": false, "default": 0},
                {"name": "a", "type": "array", "description": "", "required": true, "enum": [[], [true]],
                 "items": {"type": "boolean"}},
                {"name": "m", "type": "string", "description": "", "required": false, "default": null,
                 "items": {"type": "string"}},
                {"name": "b", "type": "string", "description": "", "required": false}
            ]),
        );
    }

    #[test]
    fn odd_schemas_have_no_parameters() {
        for schema in [json!(null), json!(true), json!([]), json!({"properties": 5})] {
            check(schema, json!([]));
        }
    }

    #[test]
    fn empty_values_are_defaults_too() {
        for value in [json!(false), json!(0), json!(""), json!(null)] {
            let list = params(&json!({"properties": {"x": {"default": value}}}));
            assert_eq!(list[0].default, Some(value.clone()));
            let again: Vec<Param> = serde_json::from_value(serde_json::to_value(&list).unwrap()).unwrap();
            assert_eq!(again, list);
        }
    }

    #[test]
    fn a_signature_marks_what_may_be_left_out() {
        let schema = json!({"properties": {"docA": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["docA"]});
        assert_eq!(
            signature("compareClauses", &params(&schema)),
            "compareClauses(docA: string, limit?: number)"
        );
        assert_eq!(signature("ping", &[]), "ping()");
    }
}
