//! Function schemas as other systems write them → methods.

use serde_json::{Map, Value, json};

use crate::Error;
use crate::bud::BudMethod;

/// Reads `{type: "function", function: {…}}`, `{type: "function", name, …}` and `{name, description, parameters}`.
pub fn methods(functions: &[Value]) -> Result<Vec<BudMethod>, Error> {
    let mut methods: Vec<BudMethod> = Vec::new();
    for (place, given) in functions.iter().enumerate() {
        let wrong = || Error::Request(format!("`functions[{place}]` is not a function with a `name`"));
        let function = given.get("function").unwrap_or(given).as_object().ok_or_else(wrong)?;
        let method = method(function).ok_or_else(wrong)?;
        if methods.iter().any(|it| it.name == method.name) {
            return Err(Error::ConvertDuplicate { name: method.name });
        }
        methods.push(method);
    }
    Ok(methods)
}

fn method(function: &Map<String, Value>) -> Option<BudMethod> {
    let text = |key: &str| function.get(key).and_then(Value::as_str);
    let schema = function.get("parameters").filter(|it| it.is_object()).cloned();
    Some(BudMethod {
        name: text("name").filter(|it| !it.is_empty())?.to_owned(),
        description: text("description").unwrap_or_default().to_owned(),
        input_schema: schema.unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
        template: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_shapes_are_one() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        let read = methods(&[
            json!({ "type": "function", "function": { "name": "a", "description": "A", "parameters": schema } }),
            json!({ "type": "function", "name": "b" }),
            json!({ "name": "c", "description": "C", "parameters": null }),
        ])
        .unwrap();
        let names: Vec<_> = read.iter().map(|it| (it.name.as_str(), it.description.as_str())).collect();
        assert_eq!(names, [("a", "A"), ("b", ""), ("c", "C")]);
        assert_eq!(read[0].input_schema, schema);
        assert_eq!(read[1].input_schema, json!({ "type": "object", "properties": {} }));
    }

    #[test]
    fn a_name_stands_once_and_is_a_name() {
        let twice = methods(&[json!({ "name": "a" }), json!({ "name": "a" })]).unwrap_err();
        assert_eq!((twice.code(), twice.status()), ("convert.duplicate", 400));
        for wrong in [json!(1), json!({}), json!({ "name": "" }), json!({ "function": 5 })] {
            assert!(methods(&[wrong]).is_err());
        }
    }
}
