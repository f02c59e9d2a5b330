//! `bundle_duplicates.json`: guards, identities, and which twin is the active one.

use serde_json::{Map, Value, json};
use toolgrove_bundle::identity::{Definition, Identity, is_remote, is_stdio};
use toolgrove_bundle::install::Outcome;

use crate::kit::{Kit, name};
use crate::{Case, Ran};

pub(crate) fn run(case: &Case) -> Ran {
    let Case { id, given, expect, .. } = case;
    match id.as_str() {
        "id-stdio-args" | "id-stdio-no-args" => assert_eq!(identity(given).to_string(), *expect),
        "id-headers-ignored" | "id-env-ignored" => assert_eq!(identity(&given["a"]), identity(&given["b"])),
        "id-pipe-in-arg" => pipe(given),
        "dup-two-stdio" => two(case),
        "dup-remote" => same_url(),
        "dup-three" => three(given),
        "dup-different" => different(),
        "dup-first-disabled" => first_disabled(given),
        "dup-idempotent" => twice(),
        "life-description-restored" => description_restored(given),
        "life-author-disabled" => author_disabled(),
        "life-any-order-property" => any_order(),
        _ if id.starts_with("guard-") => guard(given, expect),
        _ => return false,
    }
    true
}

fn definition(value: &Value) -> &Definition {
    value.as_object().expect("a definition")
}

fn identity(value: &Value) -> Identity {
    Identity::of(definition(value)).expect("an identity")
}

fn guard(given: &Value, expect: &Value) {
    let it = definition(given);
    assert_eq!(json!(is_stdio(it)), expect["is_stdio"]);
    assert_eq!(json!(is_remote(it)), expect["is_remote"]);
    let kit = Kit::new();
    let outcome = kit.install("b", json!({"s": given})).unwrap();
    if expect["install"] == "refused" {
        let error = "server `s`: give `command`, or `url` with `type: http` or `sse`";
        assert_eq!(outcome.failed.iter().map(|it| it.error.as_str()).collect::<Vec<_>>(), [error]);
        assert_eq!(kit.bytes(), None, "nothing to install, no file");
    } else {
        assert_eq!(outcome.failed, []);
        assert_eq!(kit.servers()[&name("b", "s")], *given);
    }
}

fn pipe(given: &Value) {
    let (a, b) = (identity(&given["a"]), identity(&given["b"]));
    assert_eq!((a.to_string(), b.to_string()), ("stdio:x:a|b".to_owned(), "stdio:x:a|b".to_owned()));
    assert_ne!(a, b);
    let kit = Kit::new();
    kit.install("a", json!({"s": given["a"]})).unwrap();
    assert_eq!(kit.install("b", json!({"s": given["b"]})).unwrap().duplicates, []);
}

/// Installs entries called `prompt-registry:<bundle>:<server>`, each with its bundle.
fn install(kit: &Kit, entries: &Map<String, Value>) -> Outcome {
    let mut last = Outcome::default();
    for (name, definition) in entries {
        let mut parts = name.splitn(3, ':').skip(1);
        let (bundle, server) = (parts.next().unwrap(), parts.next().unwrap());
        last = kit.install(bundle, json!({ server: definition })).unwrap();
    }
    last
}

fn two(case: &Case) {
    let entries = case.given["servers in order"].as_object().unwrap();
    let kit = Kit::new();
    let outcome = install(&kit, entries);
    assert_eq!(serde_json::to_value(&outcome.duplicates).unwrap(), case.expect["reported"]);
    let servers = kit.servers();
    assert_eq!(servers.keys().collect::<Vec<_>>(), entries.keys().collect::<Vec<_>>());
    for (name, definition) in entries {
        let mut wanted = definition.clone();
        if let Some(marks) = case.expect[name].as_object() {
            wanted.as_object_mut().unwrap().extend(marks.clone());
        }
        assert_eq!(servers[name], wanted);
    }
}

fn same_url() {
    let kit = Kit::new();
    let definition = json!({"type": "http", "url": "https://x/mcp"});
    kit.install("a", json!({"s": definition})).unwrap();
    kit.install("b", json!({"t": {"type": "sse", "url": "https://x/mcp", "headers": {"A": "1"}}})).unwrap();
    let servers = kit.servers();
    assert_eq!(servers[&name("a", "s")], definition);
    assert_eq!(servers[&name("b", "t")]["disabled"], true);
}

fn three(given: &Value) {
    let names = given["servers in order"].as_array().unwrap();
    let entries = names.iter().map(|it| (it.as_str().unwrap().to_owned(), json!({"command": "s"}))).collect();
    let kit = Kit::new();
    let outcome = install(&kit, &entries);
    assert_eq!(outcome.duplicates.len(), 2);
    let servers = kit.servers();
    let state = |place: usize| servers[names[place].as_str().unwrap()].get("disabled").cloned();
    assert_eq!([state(0), state(1), state(2)], [None, Some(json!(true)), Some(json!(true))]);
}

fn different() {
    let kit = Kit::new();
    let entries = json!({
        "prompt-registry:a:s": {"command": "one"},
        "prompt-registry:b:s": {"command": "two"},
        "prompt-registry:c:s": {"type": "http", "url": "https://x/one"},
    });
    let outcome = install(&kit, entries.as_object().unwrap());
    assert_eq!(outcome.duplicates, []);
    assert_eq!(Value::Object(kit.servers()), entries);
}

fn first_disabled(given: &Value) {
    let kit = Kit::new();
    assert_eq!(install(&kit, given.as_object().unwrap()).duplicates, []);
    assert_eq!(Value::Object(kit.servers()), *given);
}

fn twice() {
    let kit = Kit::new();
    kit.install("a", json!({"s": {"command": "s"}})).unwrap();
    let first = kit.install("b", json!({"s": {"command": "s", "description": "d"}})).unwrap();
    let (bytes, tracking) = (kit.bytes(), kit.tracking());
    let again = kit.apply(&toolgrove_bundle::install::Change::Reconcile).unwrap();
    assert!(!again.changed);
    assert_eq!(again.duplicates, first.duplicates);
    assert_eq!((kit.bytes(), kit.tracking()), (bytes, tracking));
}

fn description_restored(given: &Value) {
    let kit = Kit::new();
    let b = json!({"command": "s", "description": given["b.description"]});
    kit.install("a", json!({"s": {"command": "s"}})).unwrap();
    kit.install("b", json!({"s": b})).unwrap();
    assert_eq!(kit.servers()[&name("b", "s")]["description"], format!("Duplicate of {}", name("a", "s")));
    let outcome = kit.uninstall("a").unwrap();
    assert_eq!(outcome.enabled, [name("b", "s")]);
    assert_eq!(kit.servers()[&name("b", "s")], b, "in the file, in the same write");
}

fn author_disabled() {
    let kit = Kit::new();
    let b = json!({"command": "s", "disabled": true, "description": "off for now"});
    kit.install("a", json!({"s": {"command": "s"}})).unwrap();
    kit.install("b", json!({"s": b})).unwrap();
    kit.uninstall("a").unwrap();
    assert_eq!(kit.servers()[&name("b", "s")], b);
}

/// Every sequence of six steps over three bundles: after each, exactly one of an identity is active.
fn any_order() {
    let servers = |bundle: usize| match bundle {
        0 => json!({"p": {"command": "one"}, "q": {"command": "two"}}),
        1 => json!({"p": {"command": "one", "description": "mine"}}),
        _ => {
            json!({"p": {"command": "two"}, "q": {"command": "one"}, "r": {"command": "one", "disabled": true}})
        }
    };
    let kit = Kit::new();
    steps(&kit, &servers, 6);
}

/// Tries every step from here, and from where each leads.
fn steps(kit: &Kit, servers: &impl Fn(usize) -> Value, left: usize) {
    if left == 0 {
        return;
    }
    let files = [kit.target.file.clone(), kit.target.tracking_file()];
    let before = files.clone().map(|it| std::fs::read(it).ok());
    for (bundle, remove) in (0..3).flat_map(|it| [(it, false), (it, true)]) {
        let id = format!("b{bundle}");
        let is_installed = kit.servers().keys().any(|it| it.starts_with(&format!("prompt-registry:{id}:")));
        if remove {
            assert_eq!(kit.uninstall(&id).unwrap().changed, is_installed);
        } else {
            assert_eq!(kit.install(&id, servers(bundle)).is_err(), is_installed);
        }
        // A step that does nothing leads nowhere new.
        if remove == is_installed {
            let file = kit.servers();
            for command in ["one", "two"] {
                let twins = || file.iter().filter(|(_, it)| it["command"] == command);
                let may_run = twins().any(|(name, _)| !name.ends_with(":r"));
                let active = twins().filter(|(_, it)| it.get("disabled").is_none()).count();
                assert_eq!(active, usize::from(may_run), "{command} in {file:?}");
            }
            steps(kit, servers, left - 1);
        }
        for (file, bytes) in files.iter().zip(&before) {
            match bytes {
                Some(bytes) => {
                    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                    std::fs::write(file, bytes).unwrap();
                }
                None => drop(std::fs::remove_file(file)),
            }
        }
    }
}
