//! Tools as function-calling APIs want them: `{type: "function", function: {name, description, parameters}}`.

use serde::Serialize;
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionTool {
    #[serde(rename = "type")]
    kind: &'static str,
    pub function: Function,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Function {
    pub name: String,
    pub description: String,
    pub parameters: Value,
}

/// A tool under its public name. The schema goes through untouched; a missing one means "no arguments".
pub fn function_tool(name: &str, description: &str, schema: Option<&Value>) -> FunctionTool {
    let parameters = match schema {
        Some(schema) if schema.is_object() => schema.clone(),
        _ => json!({"type": "object", "properties": {}}),
    };
    let function = Function { name: name.to_owned(), description: description.to_owned(), parameters };
    FunctionTool { kind: "function", function }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: Option<Value>, parameters: Value) {
        let tool = function_tool("mcp__a__b", "B", schema.as_ref());
        let function = json!({"name": "mcp__a__b", "description": "B", "parameters": parameters});
        assert_eq!(serde_json::to_value(tool).unwrap(), json!({"type": "function", "function": function}));
    }

    #[test]
    fn the_schema_goes_through_untouched() {
        let schema =
            json!({"type": "object", "x-odd": [1], "properties": {"a": {"type": ["integer", "null"]}}});
        check(Some(schema.clone()), schema);
    }

    #[test]
    fn no_schema_means_no_arguments() {
        for schema in [None, Some(Value::Null), Some(json!(true))] {
            check(schema, json!({"type": "object", "properties": {}}));
        }
    }
}
