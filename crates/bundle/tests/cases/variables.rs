//! `bundle_variables.json`: what is put into definitions, and what is left alone.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};
use toolgrove_bundle::servers;
use toolgrove_bundle::variables::{Context, Filled, Used};

use crate::kit::Kit;
use crate::{Case, Ran, text};

pub(crate) fn run(case: &Case) -> Ran {
    let given = &case.given;
    match case.id.as_str() {
        "var-missing-env-warns" => missing(given),
        "var-preserved-fields" => {
            assert_eq!(Value::Object(fill(&given["definition"], given).definition), case.expect);
        }
        "var-no-type-stays-none" => no_type(given),
        "var-example" => example(case),
        _ if given["value"].is_string() => {
            let filled = text_of(text(given, "value"), given).0;
            assert_ne!(Value::from(filled.as_str()), case.avoid);
            assert_eq!(filled, case.expect);
            everywhere(given, &filled);
        }
        _ => return false,
    }
    true
}

fn with_context<T>(given: &Value, run: impl FnOnce(&Context<'_>) -> T) -> T {
    let context = &given["context"];
    let env: HashMap<String, String> = serde_json::from_value(context["env"].clone()).unwrap_or_default();
    let lookup = |name: &str| env.get(name).cloned();
    let member = |key: &str| context[key].as_str().unwrap_or_default();
    run(&Context::new(Path::new(member("bundlePath")), member("bundleId"), member("bundleVersion"), &lookup))
}

fn text_of(text: &str, given: &Value) -> (String, Used) {
    let mut used = Used::default();
    (with_context(given, |it| it.text(text, &mut used)), used)
}

fn fill(definition: &Value, given: &Value) -> Filled {
    with_context(given, |it| it.fill(definition.as_object().expect("an object")))
}

/// In every member that may hold variables, and in no other.
fn everywhere(given: &Value, filled: &str) {
    let written = |it: &Value| json!({ "command": it, "args": [it], "env": { "K": it }, "envFile": it, "url": it, "headers": { "H": it } });
    let kept = json!({ "description": given["value"], "cwd": given["value"], "more": [given["value"]] });
    let with_kept = |it: &Value| {
        let mut all = written(it).as_object().unwrap().clone();
        all.extend(kept.as_object().unwrap().clone());
        Value::Object(all)
    };
    let found = fill(&with_kept(&given["value"]), given).definition;
    assert_eq!(Value::Object(found), with_kept(&filled.into()));
}

fn missing(given: &Value) {
    let (value, used) = text_of(text(given, "value"), given);
    assert_eq!(
        (value.as_str(), used.unset.into_iter().collect::<Vec<_>>()),
        ("", vec!["NOT_SET".to_owned()])
    );
    let outcome = Kit::new().install("b", json!({"s": {"command": "c", "args": [given["value"]]}})).unwrap();
    assert_eq!(outcome.warnings, ["`NOT_SET` is not set; its place stays empty"]);
}

fn no_type(given: &Value) {
    assert_eq!(Value::Object(fill(&given["definition"], given).definition), given["definition"]);
    let kit = Kit::new();
    kit.install("b", json!({"s": given["definition"]})).unwrap();
    assert_eq!(kit.servers()["prompt-registry:b:s"], given["definition"]);
}

fn example(case: &Case) {
    let (server, definition) = case.given.as_object().unwrap().iter().next().expect("a server");
    let bundle = text(&case.given["context"], "bundleId");
    assert_eq!(servers::name(bundle, server), case.expect["name"]);
    assert_eq!(Value::Object(fill(definition, &case.given).definition), case.expect["entry"]);
}
