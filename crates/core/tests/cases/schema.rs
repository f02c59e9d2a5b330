//! `schema_mapping.json`: a JSON Schema as a parameter list.

use serde_json::{Value, json};
use toolgrove_core::text::params::{ParamKind, params};

use crate::{Case, Ran, assert_holds};

pub(crate) fn run(case: &Case) -> Ran {
    let given = &case.given;
    if let Some(schema_type) = given.get("json_schema_type") {
        let schema_type = (!schema_type.is_null()).then_some(schema_type);
        assert_eq!(json!(ParamKind::of(schema_type).as_str()), case.expect);
        return true;
    }
    let schema: &Value = if given.get("inputSchema").is_some() { &given["inputSchema"] } else { given };
    if !schema.is_object() {
        return false;
    }
    assert_holds(&serde_json::to_value(params(schema)).expect("JSON"), &case.expect);
    true
}
