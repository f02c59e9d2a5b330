//! The text of a parameter as the JSON value it stands for.

use serde_json::Value;

/// Follows the `type` of the parameter's schema. Without one, what looks like a JSON number, boolean, array or
/// object is read as such. Whatever does not fit stays text.
pub fn coerce(text: &str, schema_type: Option<&Value>) -> Value {
    let read = || serde_json::from_str::<Value>(text.trim()).ok();
    let fitting = match schema_type {
        Some(Value::String(wanted)) => read().filter(|it| fits(it, wanted)),
        Some(Value::Array(wanted)) => {
            // A string fits every text, so in a union it leaves room for nothing but `null`.
            let has_string = wanted.iter().any(|it| it == "string");
            let fits_one =
                |it: &Value| wanted.iter().filter_map(Value::as_str).any(|wanted| fits(it, wanted));
            read().filter(|it| fits_one(it) && (!has_string || it.is_null()))
        }
        _ => read().filter(|it| !it.is_string() && !it.is_null()),
    };
    fitting.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn fits(value: &Value, wanted: &str) -> bool {
    match wanted {
        "number" | "integer" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, schema_type: Value, expected: Value) {
        let schema_type = (!schema_type.is_null()).then_some(&schema_type);
        assert_eq!(coerce(text, schema_type), expected, "`{text}` as {schema_type:?}");
    }

    #[test]
    fn the_schema_decides() {
        check("02139", json!("string"), json!("02139"));
        check("true", json!("string"), json!("true"));
        check("7", json!("integer"), json!(7));
        check("seven", json!("integer"), json!("seven"));
        check("true", json!("number"), json!("true"));
        check(" {\"a\":1} ", json!("object"), json!({"a": 1}));
        check("[1]", json!("object"), json!("[1]"));
        check("null", json!(["integer", "null"]), json!(null));
        check("5", json!(["string", "integer"]), json!("5"));
        check("null", json!(["string", "null"]), json!(null));
        check("5", json!("date"), json!("5"));
    }

    #[test]
    fn without_a_schema_json_literals_are_read() {
        check("false", json!(null), json!(false));
        check("1e3", json!(null), json!(1000.0));
        check("02139", json!(null), json!("02139"));
        check("\"quoted\"", json!(null), json!("\"quoted\""));
        check("null", json!(null), json!("null"));
        check("[1,", json!(null), json!("[1,"));
        check(" kept ", json!(null), json!(" kept "));
    }
}
