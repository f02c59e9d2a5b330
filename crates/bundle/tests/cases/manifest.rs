//! `bundle_manifest.json`: collections, deployment manifests and the files beside them.

use serde_json::{Value, json};
use toolgrove_bundle::manifest::{Expected, Manifest};
use toolgrove_bundle::places::System;

use crate::{Case, Ran, text};

pub(crate) fn run(case: &Case) -> Ran {
    match case.id.as_str() {
        "coll-limits" => limits(&case.expect),
        "file-ref" => missing_file(case),
        "man-from-mcpServers" => both_keys(),
        "man-required" => required(case),
        "man-version-mismatch" => other_version(case),
        id if id.starts_with("coll-") => return collection(case),
        _ => return false,
    }
    true
}

fn collection(case: &Case) -> Ran {
    // JSON is YAML too.
    let read = Manifest::from_collection(&case.given.to_string());
    match (case.expect.as_str(), read) {
        (Some("valid"), Ok(manifest)) => {
            assert_eq!(
                Value::Object(manifest.servers),
                case.given["mcp"]["items"],
                "unsubstituted, nothing added"
            );
        }
        (Some("valid"), Err(error)) => panic!("refused: {error}"),
        (Some("invalid"), Ok(manifest)) => panic!("taken: {manifest:?}"),
        (Some("invalid"), Err(error)) => assert_eq!(error.to_string(), sentence(&case.id)),
        _ => return false,
    }
    true
}

/// For which of its faults a collection must be refused.
fn sentence(id: &str) -> &'static str {
    let guard = "server `s`: give `command`, or `url` with `type: http` or `sse`";
    match id {
        "coll-03" | "coll-04" => "`id` may hold only small letters, digits and hyphens",
        "coll-05" => "manifest lacks `id`",
        "coll-06" => "manifest lacks `name`",
        "coll-07" => "manifest lacks `description`",
        "coll-08" => "manifest lacks `items`",
        "coll-09" => {
            "`unknown-type` is not a kind; expected one of prompt, instruction, chat-mode, agent, skill"
        }
        "coll-11" => "manifest lacks `path`",
        "coll-12" => "`version` must be like `1.0.0`",
        "coll-15" | "coll-18" | "coll-20" => guard,
        _ => "no sentence is known for this case",
    }
}

fn limits(expect: &Value) {
    let max = |key: &str| expect[key].as_u64().and_then(|it| usize::try_from(it).ok()).expect("a number");
    let collection = |name: usize, description: usize, items: usize| {
        let item = json!({"path": "p", "kind": "prompt"});
        json!({
            "id": "a",
            "name": "n".repeat(name),
            "description": "d".repeat(description),
            "items": vec![item; items],
        })
    };
    let is_read = |it: Value| Manifest::from_collection(&it.to_string()).is_ok();
    let (name, description, items) = (max("name max"), max("description max"), max("items max"));
    assert!(is_read(collection(name, description, items)));
    assert!(is_read(collection(1, 1, 0)));
    for (name, description, items) in [
        (name + 1, description, items),
        (name, description + 1, items),
        (name, description, items + 1),
        (0, description, items),
        (name, 0, items),
    ] {
        assert!(!is_read(collection(name, description, items)), "{name} {description} {items}");
    }
}

fn missing_file(case: &Case) {
    let folder = tempfile::tempdir().unwrap();
    let path = text(&case.given, "path");
    let collection = json!({
        "id": "a", "name": "N", "description": "D", "items": [{"path": path, "kind": "prompt"}],
    });
    std::fs::write(folder.path().join("a.collection.yml"), collection.to_string()).unwrap();
    let read = || Manifest::read(folder.path(), &Expected::default(), System::Linux);
    assert_eq!(format!("error: {}", read().unwrap_err()), case.expect);
    let file = folder.path().join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "").unwrap();
    assert!(read().is_ok());
}

fn both_keys() {
    let (old, new) = (json!({"old": {"command": "a"}}), json!({"new": {"command": "${bundlePath}/b"}}));
    let servers = |more: Value| {
        let mut collection = json!({"id": "a", "name": "N", "description": "D", "items": []});
        collection.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Value::Object(Manifest::from_collection(&collection.to_string()).unwrap().servers)
    };
    assert_eq!(servers(json!({"mcpServers": new})), new);
    assert_eq!(servers(json!({"mcp": {"items": old}, "mcpServers": new})), new);
    assert_eq!(servers(json!({"mcp": {"items": old}})), old);
    assert_eq!(servers(json!({})), json!({}));
}

fn required(case: &Case) {
    let mut manifest = json!({"id": "a", "version": "1.0.0", "name": "N"});
    assert!(Manifest::from_deployment(&manifest.to_string()).is_ok());
    manifest.as_object_mut().unwrap().remove(text(&case.given, "manifest lacks"));
    let error = Manifest::from_deployment(&manifest.to_string()).unwrap_err();
    assert_eq!(error.to_string(), case.expect);
}

fn other_version(case: &Case) {
    let manifest = json!({"id": "a", "version": case.given["manifest.version"], "name": "N"});
    let manifest = Manifest::from_deployment(&manifest.to_string()).unwrap();
    let expecting = |version: &str| Expected { id: None, version: Some(version.to_owned()) };
    let error = manifest.check(&expecting(text(&case.given, "expected version"))).unwrap_err();
    assert_eq!(error.to_string(), case.expect);
    assert!(manifest.check(&expecting("latest")).is_ok());
    assert!(manifest.check(&expecting(text(&case.given, "manifest.version"))).is_ok());
}
