//! `bundle_mcp_json.json`: the file, its tracking, and what stands around them.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Map, Value, json};
use toolgrove_bundle::files::Disk;
use toolgrove_bundle::install::{Change, Existing, list};
use toolgrove_bundle::places::{CommitMode, Target};
use toolgrove_bundle::servers;
use toolgrove_bundle::variables::Env;

use crate::kit::{Kit, json_of, manifest, name};
use crate::{Case, Ran, text};

pub(crate) fn run(case: &Case) -> Ran {
    let Case { id, given, expect, .. } = case;
    match id.as_str() {
        "prefix" => assert_eq!(servers::name(text(given, "bundleId"), text(given, "server")), *expect),
        "file-shape" => shape(expect),
        "paths-workspace" => paths(expect),
        "create-missing" => create(),
        "merge-keeps-user" => merge(given),
        "merge-keeps-inputs-tasks" => inputs(given),
        "skip" => skip(case),
        "skip-not-tracked" => skipped_stays(),
        "tracking-entry" => tracking(expect),
        "uninstall" => uninstall(text(given, "bundle")),
        "uninstall-other-bundle" => other_bundle(given),
        "uninstall-unknown" => unknown(text(given, "bundle")),
        "uninstall-hand-edited" => hand_edited(),
        "backup" => backup(),
        "jsonc-comments-kept" => comments(),
        "empty-file" => empty(text(given, "file")),
        "git-exclude-local" => excluded(),
        "git-exclude-commit" => not_excluded(),
        "git-exclude-once" => excluded_once(),
        "update-bundle" => update(),
        "update-fails" => failed_update(),
        "performance" => performance(),
        "install-steps" => steps(),
        "lockfile" => lockfile(expect.as_str().expect("a sentence")),
        "keep-env" => keep_env(given),
        "secret-mode" => secret_mode(given),
        _ => return false,
    }
    true
}

fn one() -> Value {
    json!({"s": {"command": "node", "args": ["a.js"]}})
}

fn shape(expect: &Value) {
    let before = "{\n  \"inputs\": [],\n  \"tasks\": {}\n}\n";
    let kit = Kit::with(before);
    kit.install("b", json!({"s": {"command": "c"}})).unwrap();
    assert_eq!(
        kit.text(),
        "{\n  \"inputs\": [],\n  \"tasks\": {},\n  \"servers\": {\n    \"prompt-registry:b:s\": {\n      \"command\": \"c\"\n    }\n  }\n}\n"
    );
    let keys: Vec<_> = expect.as_object().unwrap().keys().collect();
    for key in json_of(&kit.target.file).as_object().unwrap().keys() {
        assert!(keys.contains(&key), "{key}");
    }
}

fn paths(expect: &Value) {
    let target = Target::workspace(&PathBuf::from("/w"));
    assert_eq!(target.file, PathBuf::from("/w").join(text(expect, "config")));
    assert_eq!(target.tracking_file(), PathBuf::from("/w").join(text(expect, "tracking")));
}

fn create() {
    let kit = Kit::new();
    assert!(!kit.target.file.parent().unwrap().exists());
    assert_eq!(kit.install("b", one()).unwrap().installed.len(), 1);
    assert_eq!(Value::Object(kit.servers()), json!({"prompt-registry:b:s": one()["s"]}));
}

fn merge(given: &Value) {
    let names: Vec<_> = given["existing"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    let own = |name: &str| format!("\"{name}\":   {{ \"command\":\"{name}\",\"x\" : 1.0 }}");
    let entries: Vec<_> = names.iter().map(|it| own(it)).collect();
    let kit = Kit::with(&format!("{{\"servers\": {{\n  {}\n}}}}", entries.join(",\n  ")));
    kit.install("b", one()).unwrap();
    let text = kit.text();
    assert!(entries.iter().all(|it| text.contains(it)), "{text}");
    assert_eq!(kit.servers().len(), names.len() + 1);
    assert_eq!(kit.servers()[&name("b", "s")], one()["s"]);
}

fn inputs(given: &Value) {
    let before = format!("{:#}\n", given["existing"]);
    let kit = Kit::with(&before);
    kit.install("b", one()).unwrap();
    let after = json_of(&kit.target.file);
    assert_eq!(
        (&after["inputs"], &after["tasks"]),
        (&given["existing"]["inputs"], &given["existing"]["tasks"])
    );
    kit.uninstall("b").unwrap();
    assert_eq!(kit.text(), before);
}

fn skip(case: &Case) {
    let Case { given, expect, .. } = case;
    let before = format!("{:#}", json!({"servers": given["existing"]}));
    let mut kit = Kit::with(&before);
    let refused = kit.install("test-bundle", given["install"].clone()).unwrap_err();
    assert_eq!(refused.code(), "bundle.conflict");
    assert_eq!(refused.to_string(), "already in mcp.json: `prompt-registry:test-bundle:my-server`");
    kit.existing = Existing::Skip;
    let outcome = kit.install("test-bundle", given["install"].clone()).unwrap();
    assert_eq!(json!(outcome.warnings), json!([expect["warning"]]));
    assert_eq!(kit.text(), before, "existing is {}", expect["existing"]);
    assert_eq!(kit.tracking(), json!({}));
}

fn skipped_stays() {
    let own = name("b", "mine");
    let mut kit = Kit::with(&format!("{{\"servers\": {{\"{own}\": {{\"command\": \"python\"}}}}}}"));
    kit.existing = Existing::Skip;
    kit.install("b", json!({"mine": {"command": "node"}, "more": {"command": "more"}})).unwrap();
    assert_eq!(kit.uninstall("b").unwrap().removed, [name("b", "more")]);
    assert_eq!(Value::Object(kit.servers()), json!({ own: {"command": "python"} }));
}

fn tracking(expect: &Value) {
    let kit = Kit::new();
    let definition = json!({"command": "node", "args": ["${bundlePath}/a.js", "${env:HOME}"]});
    kit.install("test-bundle", json!({"server-a": definition})).unwrap();
    let tracking = kit.tracking();
    let (server, wanted) = expect["managedServers"].as_object().unwrap().iter().next().unwrap();
    let entry = tracking["managedServers"][server].as_object().unwrap();
    assert_eq!(entry.keys().collect::<Vec<_>>(), wanted.as_object().unwrap().keys().collect::<Vec<_>>());
    for key in ["bundleId", "bundleVersion", "originalName"] {
        assert_eq!(entry[key], wanted[key]);
    }
    assert_eq!(entry["originalConfig"], definition, "before substitution");
    assert_eq!(
        (&entry["installedAt"], &entry["scope"]),
        (&json!("2027-01-15T08:00:00.000Z"), &json!("workspace"))
    );
    assert_eq!((&tracking["lastUpdated"], &tracking["version"]), (&entry["installedAt"], &expect["version"]));
}

const OTHERS: &str = "// mine\n{\n\t\"servers\": {\n\t\t/* a */ \"a\": { \"command\": \"a\" }, // of a\n\t},\n\t\"zz\": [1e3],\n}";

fn uninstall(bundle: &str) {
    let kit = Kit::with(OTHERS);
    kit.install(bundle, json!({"s": {"command": "s"}, "t": {"type": "http", "url": "http://t/mcp"}}))
        .unwrap();
    assert_eq!(kit.servers().len(), 3);
    assert_eq!(kit.uninstall(bundle).unwrap().removed, [name(bundle, "s"), name(bundle, "t")]);
    assert_eq!(kit.text(), OTHERS, "everything else is byte for byte as it was");
    assert_eq!(kit.tracking(), json!({}));
}

fn other_bundle(given: &Value) {
    let kit = Kit::new();
    for bundle in given["bundles"].as_array().unwrap() {
        let bundle = bundle.as_str().unwrap();
        kit.install(bundle, json!({"s": {"command": bundle}})).unwrap();
    }
    kit.uninstall(text(given, "uninstall")).unwrap();
    assert_eq!(Value::Object(kit.servers()), json!({"prompt-registry:bundle-2:s": {"command": "bundle-2"}}));
    let tracked = kit.tracking()["managedServers"].as_object().unwrap().clone();
    assert_eq!(tracked.keys().collect::<Vec<_>>(), ["prompt-registry:bundle-2:s"]);
}

fn unknown(bundle: &str) {
    let kit = Kit::with(OTHERS);
    let outcome = kit.uninstall(bundle).unwrap();
    assert_eq!((outcome.removed.len(), outcome.changed), (0, false));
    assert_eq!(kit.text(), OTHERS);
    let kit = Kit::new();
    assert!(kit.uninstall(bundle).is_ok());
    assert!(!kit.target.file.parent().unwrap().exists(), "nothing was made");
}

fn hand_edited() {
    let kit = Kit::with(OTHERS);
    kit.install("b", one()).unwrap();
    let edited = kit.text().replace("a.js", "by-hand.js");
    kit.write(&edited);
    kit.uninstall("b").unwrap();
    assert_eq!(kit.text(), OTHERS);
    let backup = std::fs::read_to_string(kit.target.file.with_file_name("mcp.json.backup")).unwrap();
    assert_eq!(backup, edited);
}

fn backup() {
    let kit = Kit::with(OTHERS);
    kit.install("b", one()).unwrap();
    let backup = kit.target.file.with_file_name("mcp.json.backup");
    assert_eq!(std::fs::read_to_string(&backup).unwrap(), OTHERS);
    let kit = Kit::new();
    kit.install("b", one()).unwrap();
    assert!(!kit.target.file.with_file_name("mcp.json.backup").exists(), "nothing was there to keep");
}

fn comments() {
    let kit = Kit::with(OTHERS);
    kit.install("b", one()).unwrap();
    for comment in ["// mine", "/* a */", "// of a"] {
        assert!(kit.text().contains(comment), "{}", kit.text());
    }
    kit.uninstall("b").unwrap();
    assert_eq!(kit.text(), OTHERS);
}

fn empty(before: &str) {
    let kit = Kit::with(before);
    kit.install("b", one()).unwrap();
    assert_eq!(kit.servers().len(), 1);
    kit.uninstall("b").unwrap();
    assert_eq!(kit.text(), before);
}

fn exclude(kit: &Kit) -> String {
    std::fs::read_to_string(kit.root().join(".git/info/exclude")).unwrap_or_default()
}

fn excluded() {
    let kit = Kit::repository(CommitMode::LocalOnly);
    std::fs::write(kit.root().join(".git/info/exclude"), "# mine\n*.log\n").unwrap();
    assert_eq!(kit.install("b", one()).unwrap().warnings, Vec::<String>::new());
    assert!(exclude(&kit).starts_with("# mine\n*.log\n# Prompt Registry (local)\n.vscode/mcp.json\n"));
    kit.uninstall("b").unwrap();
    assert_eq!(exclude(&kit), "# mine\n*.log\n", "out with the last server, foreign lines stay");
}

fn not_excluded() {
    let kit = Kit::repository(CommitMode::Commit);
    std::fs::write(kit.root().join(".git/info/exclude"), "# mine").unwrap();
    kit.install("b", one()).unwrap();
    assert_eq!(exclude(&kit), "# mine");
    kit.uninstall("b").unwrap();
    assert_eq!(exclude(&kit), "# mine");
}

fn excluded_once() {
    let mut kit = Kit::repository(CommitMode::LocalOnly);
    kit.install("a", one()).unwrap();
    kit.install("b", json!({"t": {"command": "t"}})).unwrap();
    kit.existing = Existing::Overwrite;
    kit.install("b", json!({"t": {"command": "t"}})).unwrap();
    let exclude = exclude(&kit);
    assert_eq!(exclude.lines().filter(|it| *it == ".vscode/mcp.json").count(), 1, "{exclude}");
    assert_eq!(exclude.matches("# Prompt Registry (local)").count(), 1, "{exclude}");
}

fn update() {
    let kit = Kit::with(OTHERS);
    kit.install("b", json!({"old": {"command": "c"}, "same": {"command": "1"}})).unwrap();
    let outcome =
        kit.update("b", "1.1.0", json!({"new": {"command": "c"}, "same": {"command": "2"}})).unwrap();
    assert_eq!(outcome.removed, [name("b", "old")]);
    let servers = kit.servers();
    assert_eq!(servers.keys().collect::<Vec<_>>(), ["a", &name("b", "same"), &name("b", "new")]);
    assert_eq!(servers[&name("b", "same")]["command"], "2");
    let tracking = kit.tracking();
    for server in ["new", "same"] {
        assert_eq!(tracking["managedServers"][name("b", server)]["bundleVersion"], "1.1.0");
    }
    assert_eq!(tracking["managedServers"].as_object().unwrap().len(), 2);
    kit.uninstall("b").unwrap();
    assert_eq!(kit.text(), OTHERS);
}

fn failed_update() {
    let kit = Kit::with(OTHERS);
    kit.install("b", one()).unwrap();
    let before = (kit.bytes(), kit.tracking());
    let error =
        kit.update("b", "1.1.0", json!({"s": {"command": "2"}, "bad": {"url": "http://x"}})).unwrap_err();
    assert_eq!(error.code(), "bundle.manifest");
    assert_eq!((kit.bytes(), kit.tracking()), before);
}

/// 200 bundles with 400 servers, half of them twins, on a real disk. Figures are printed; only ten times a figure is a
/// failure.
fn performance() {
    let mut kit = Kit::new();
    let servers = |bundle: usize| {
        json!({
            "own": {"command": "node", "args": [format!("{bundle}.js")], "env": {"A": "1"}},
            "twin": {"type": "http", "url": format!("https://x/{}", bundle % 50)},
        })
    };
    let disk = tempfile::tempdir().unwrap();
    kit.target = Target::workspace(disk.path());
    let (mut entries, mut managed) = (Map::new(), Map::new());
    for bundle in 0..199 {
        let id = format!("bundle-{bundle}");
        for (server, definition) in servers(bundle).as_object().unwrap() {
            let name = toolgrove_bundle::servers::name(&id, server);
            entries.insert(name.clone(), definition.clone());
            managed.insert(
                name,
                json!({"bundleId": id, "bundleVersion": "1.0.0", "originalName": server,
                    "originalConfig": definition, "installedAt": "", "scope": "workspace"}),
            );
        }
    }
    kit.write(&format!("{:#}\n", json!({ "servers": entries })));
    let tracking = json!({"managedServers": managed, "lastUpdated": "", "version": "1.0.0"});
    std::fs::write(kit.target.tracking_file(), tracking.to_string()).unwrap();
    assert_eq!(kit.apply(&Change::Reconcile).unwrap().duplicates.len(), 149);

    let started = Instant::now();
    kit.install("bundle-199", servers(199)).unwrap();
    let install = started.elapsed().as_secs_f64();
    assert_eq!(kit.servers().len(), 400);
    let started = Instant::now();
    let listed = list(&Disk::default(), &kit.target).unwrap();
    let listing = started.elapsed().as_secs_f64();
    assert_eq!(listed.len(), 400);
    println!(
        "install among 200 bundles: {:.0} ms (< 1000), list: {:.0} ms (< 100)",
        install * 1e3,
        listing * 1e3
    );
    assert!(install < 10.0 && listing < 1.0);
}

fn steps() {
    let mut kit = Kit::new();
    kit.environment.insert("KEY".into(), "k".into());
    let definition = json!({"command": "${bundlePath}/run", "args": ["${bundleId}", "${bundleVersion}"], "env": {"K": "${env:KEY}"}});
    let outcome = kit.put(&manifest("b", "1.0.0", json!({"s": definition})), false).unwrap();
    let folder = kit.folder.path().join("bundles/b/1.0.0").display().to_string();
    let written = json!({"command": format!("{folder}/run"), "args": ["b", "1.0.0"], "env": {"K": "k"}});
    assert_eq!(Value::Object(kit.servers()), json!({"prompt-registry:b:s": written}));
    assert_eq!(kit.tracking()["managedServers"][name("b", "s")]["originalConfig"], definition);
    // The hub can run it: what it is handed reads as a server, with the environment left for when a link opens.
    let ready = outcome.installed[0].ready.clone();
    assert_eq!(ready["env"]["K"], "${env:KEY}");
    assert!(toolgrove_core::import::entry("s", ready).is_ok());
}

fn lockfile(expect: &str) {
    let kit = Kit::repository(CommitMode::Commit);
    kit.install("b", one()).unwrap();
    let path = kit.root().join("prompt-registry.lock.json");
    let lockfile = json_of(&path);
    let bundle = lockfile["bundles"]["b"].as_object().unwrap();
    for (key, value) in [
        ("version", json!("1.0.0")),
        ("sourceId", json!("here")),
        ("sourceType", json!("local")),
        ("installedAt", json!("2027-01-15T08:00:00.000Z")),
    ] {
        assert!(expect.contains(key), "{key}");
        assert_eq!(bundle[key], value);
    }
    let digest = toolgrove_bundle::files::sha256(b"// a server");
    assert_eq!(bundle["files"], json!([{"path": "server.js", "sha256": digest}]));
    assert_eq!(lockfile["version"], "2.0.0");
    kit.install("c", json!({"t": {"command": "t"}})).unwrap();
    kit.uninstall("b").unwrap();
    assert_eq!(json_of(&path)["bundles"].as_object().unwrap().keys().collect::<Vec<_>>(), ["c"]);
    kit.uninstall("c").unwrap();
    assert!(!path.exists());
}

fn keep_env(given: &Value) {
    let mut kit = Kit::new();
    kit.env = Env::Kept;
    kit.environment.insert("MY_API_KEY".into(), "secret".into());
    let outcome = kit.install("b", json!({"s": {"command": "c", "env": given["env"]}})).unwrap();
    assert_eq!(kit.servers()[&name("b", "s")]["env"], given["env"]);
    assert_eq!(outcome.warnings, Vec::<String>::new());
    assert!(!kit.text().contains("secret"));
}

#[cfg(unix)]
fn secret_mode(given: &Value) {
    use std::os::unix::fs::PermissionsExt;
    let mut kit = Kit::with("{}");
    kit.environment.insert("MY_API_KEY".into(), "secret".into());
    let mode = |path: &str| {
        std::fs::metadata(kit.target.file.with_file_name(path)).unwrap().permissions().mode() & 0o777
    };
    assert_ne!(mode("mcp.json"), 0o600);
    let outcome = kit.install("b", json!({"s": {"command": "c", "env": given["env"]}})).unwrap();
    assert_eq!(kit.servers()[&name("b", "s")]["env"]["API_KEY"], "secret");
    assert_eq!(outcome.warnings, ["mcp.json holds the value of `MY_API_KEY`; only you may read it"]);
    assert_eq!(mode("mcp.json"), 0o600);
    kit.install("c", one()).unwrap();
    assert_eq!((mode("mcp.json"), mode("mcp.json.backup")), (0o600, 0o600), "and it stays so");
    assert!(!std::fs::read_to_string(kit.target.tracking_file()).unwrap().contains("secret"));
}

#[cfg(not(unix))]
fn secret_mode(_given: &Value) {}
