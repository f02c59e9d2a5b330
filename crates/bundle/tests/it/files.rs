//! Files that are not as they should be: each has its sentence, and stays as it was.

use std::error::Error as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;
use toolgrove_bundle::BundleError;
use toolgrove_bundle::install::Change;
use toolgrove_bundle::places::CommitMode;

use crate::kit::{Kit, json_of, name};

fn one() -> serde_json::Value {
    json!({"s": {"command": "c"}})
}

/// Message, cause, code and hint as a person sees them.
fn told(error: &BundleError) -> String {
    let cause = error.source().map(|it| format!(": {it}")).unwrap_or_default();
    format!("{}: {error}{cause}\nhint: {}", error.code(), error.hint().unwrap_or_default())
}

#[test]
fn a_broken_file_is_not_touched() {
    let text = "{\n  \"servers\": {\n    \"a\": oops\n  }\n}";
    let kit = Kit::with(text);
    let error = kit.install("b", one()).unwrap_err();
    assert_eq!(
        told(&error),
        "bundle.file: mcp.json is not valid: 3:10\nhint: mend mcp.json in an editor; it was not touched"
    );
    assert_eq!(kit.text(), text);
    assert_eq!(names_in(kit.target.file.parent().unwrap()), ["mcp.json"]);
    assert_eq!(kit.uninstall("b").unwrap_err().code(), "bundle.file");
}

#[test]
fn a_broken_tracking_file_is_not_touched() {
    let kit = Kit::with("{}");
    std::fs::write(kit.target.tracking_file(), "{\"managedServers\": 5}").unwrap();
    let error = kit.install("b", one()).unwrap_err();
    assert_eq!(error.code(), "bundle.tracking");
    assert!(error.hint().unwrap().starts_with("mend or remove"));
    assert_eq!(kit.text(), "{}");
}

#[test]
fn line_ends_marks_and_tabs_survive_an_install_and_an_uninstall() {
    for text in [
        "{\r\n  \"servers\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n",
        "\u{feff}{\n\t\"servers\": {\n\t\t\"a\": {},\n\t},\n}",
        "\u{feff}",
        "",
        "   \n",
        "{}",
        "{\"servers\":{}}",
        "// later\n",
    ] {
        let kit = Kit::with(text);
        kit.install("b", one()).unwrap();
        assert!(kit.servers().contains_key(&name("b", "s")), "{text:?}");
        kit.uninstall("b").unwrap();
        assert_eq!(kit.text(), text);
    }
}

#[test]
fn a_file_that_was_made_for_a_bundle_goes_with_it() {
    let kit = Kit::new();
    kit.install("b", one()).unwrap();
    kit.install("c", json!({"t": {"command": "t"}})).unwrap();
    kit.uninstall("b").unwrap();
    assert_eq!(kit.servers().len(), 1);
    kit.uninstall("c").unwrap();
    assert_eq!(kit.bytes(), None);
    assert!(!kit.target.tracking_file().exists());
}

#[test]
fn a_link_stays_a_link() {
    let kit = Kit::new();
    let real = kit.folder.path().join("dotfiles");
    std::fs::create_dir(&real).unwrap();
    std::fs::write(real.join("mcp.json"), "{}").unwrap();
    std::fs::create_dir(kit.target.file.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(real.join("mcp.json"), &kit.target.file).unwrap();
    kit.install("b", one()).unwrap();
    assert!(std::fs::symlink_metadata(&kit.target.file).unwrap().is_symlink());
    assert!(json_of(&real.join("mcp.json"))["servers"][name("b", "s")].is_object());
    kit.uninstall("b").unwrap();
    assert_eq!(std::fs::read_to_string(real.join("mcp.json")).unwrap(), "{}");

    std::fs::remove_file(real.join("mcp.json")).unwrap();
    let error = kit.install("b", one()).unwrap_err();
    assert_eq!(error.code(), "bundle.file");
    assert!(error.to_string().ends_with("mcp.json` is a link to nowhere"), "{error}");
}

#[test]
fn the_mode_of_a_file_stays() {
    let kit = Kit::with("{}");
    std::fs::set_permissions(&kit.target.file, std::fs::Permissions::from_mode(0o640)).unwrap();
    kit.install("b", one()).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&kit.target.file), 0o640);
}

#[test]
fn names_that_could_mean_more_are_refused() {
    let kit = Kit::new();
    let outcome = kit
        .install(
            "b",
            json!({
                "a; rm -rf /": {"command": "c"},
                "../x": {"command": "c"},
                "": {"command": "c"},
                "f": {"type": "http", "url": "file:///etc/passwd"},
                "h": {"type": "http", "url": "http://x/mcp", "headers": {"A\r\nB": "c"}},
                "n": {"command": "c\u{0}d"},
                "e": {"command": "c", "env": {"A=B": "c"}},
                "l": 5,
                "good": {"command": "c"},
            }),
        )
        .unwrap();
    assert_eq!(outcome.failed.len(), 8, "{:?}", outcome.failed);
    assert!(outcome.failed.iter().all(|it| it.error.starts_with("server `")), "{:?}", outcome.failed);
    assert_eq!(
        kit.servers().keys().collect::<Vec<_>>(),
        [&name("b", "good")],
        "one that is wrong spoils no other"
    );
}

#[test]
fn a_value_of_the_environment_is_text_and_nothing_else() {
    let mut kit = Kit::new();
    let nasty = "\"}}, $(id) `id` ${bundleId} \\ \n é";
    kit.environment.insert("NASTY".into(), nasty.into());
    kit.install("b", json!({"s": {"command": "c", "args": ["${env:NASTY}", "x"]}})).unwrap();
    assert_eq!(kit.servers()[&name("b", "s")]["args"], json!([nasty, "x"]), "one argument, unread");
}

#[test]
fn hand_edits_survive_an_update() {
    let kit = Kit::new();
    kit.install("b", json!({"s": {"command": "1"}, "t": {"command": "t"}, "u": {"command": "u"}})).unwrap();
    let edited = kit.text().replace("\"command\": \"1\"", "\"command\": \"1\",\n      \"cwd\": \"/mine\"");
    let edited = edited.replace("\"command\": \"t\"", "\"command\": \"t\", \"disabled\": true");
    kit.write(&edited.replace(&name("b", "u"), "renamed-by-hand"));
    let new = json!({"s": {"command": "2"}, "t": {"command": "t"}, "u": {"command": "u"}});
    let outcome = kit.update("b", "2.0.0", new).unwrap();
    assert_eq!(outcome.warnings, [format!("`{}` was removed by hand and stays away", name("b", "u"))]);
    let servers = kit.servers();
    assert_eq!(servers[&name("b", "s")], json!({"command": "2", "cwd": "/mine"}));
    assert_eq!(servers[&name("b", "t")], json!({"command": "t", "disabled": true}));
    assert_eq!(servers["renamed-by-hand"], json!({"command": "u"}));
}

#[test]
fn a_persons_own_entry_wins_wherever_it_stands() {
    let kit = Kit::new();
    kit.install("b", json!({"s": {"type": "http", "url": "https://x/mcp"}})).unwrap();
    let text = kit.text();
    let own = text.replace("\n  }\n}", ",\n    \"mine\": { \"url\": \"https://x/mcp\" }\n  }\n}");
    kit.write(&own);
    let outcome = kit.apply(&Change::Reconcile).unwrap();
    assert_eq!(
        serde_json::to_value(&outcome.duplicates).unwrap(),
        json!([{
            "serverName": name("b", "s"), "duplicateOf": "mine",
            "bundleId": "b", "originalBundleId": "unknown",
        }])
    );
    assert_eq!(kit.servers()[&name("b", "s")]["description"], "Duplicate of mine");
    assert!(kit.text().contains("\"mine\": { \"url\": \"https://x/mcp\" }"), "never touched");
    kit.write(&kit.text().replace("\"https://x/mcp\" }", "\"https://y/mcp\" }"));
    assert_eq!(kit.apply(&Change::Reconcile).unwrap().enabled, [name("b", "s")]);
    assert_eq!(kit.servers()[&name("b", "s")], json!({"type": "http", "url": "https://x/mcp"}));
}

#[test]
fn a_bundle_has_one_scope() {
    let mut kit = Kit::repository(CommitMode::Commit);
    kit.install("b", one()).unwrap();
    kit.target.scope = toolgrove_bundle::servers::Scope::Workspace;
    kit.target.repository = None;
    let error = kit.update("b", "2.0.0", one()).unwrap_err();
    assert_eq!(
        told(&error),
        "bundle.scope: bundle `b` is already installed in scope `repository`\nhint: run `toolgrove bundle uninstall b` first"
    );
}

#[test]
fn a_repository_without_git_is_told_so() {
    let kit = Kit::repository(CommitMode::LocalOnly);
    std::fs::remove_dir_all(kit.root().join(".git")).unwrap();
    let warnings = kit.install("b", one()).unwrap().warnings;
    assert_eq!(warnings, [format!("`{}` has no `.git`: nothing is excluded", kit.root().display())]);
    assert!(kit.root().join("prompt-registry.local.lock.json").exists());
}

#[test]
fn a_linked_work_tree_is_excluded_in_its_repository() {
    let kit = Kit::repository(CommitMode::LocalOnly);
    let main = kit.folder.path().join("main/.git");
    std::fs::create_dir_all(main.join("worktrees/ws")).unwrap();
    std::fs::write(main.join("worktrees/ws/commondir"), "../..\n").unwrap();
    std::fs::remove_dir_all(kit.root().join(".git")).unwrap();
    let git = format!("gitdir: {}\n", main.join("worktrees/ws").display());
    std::fs::write(kit.root().join(".git"), git).unwrap();
    kit.install("b", one()).unwrap();
    let exclude = std::fs::read_to_string(main.join("info/exclude")).unwrap();
    assert!(exclude.starts_with("# Prompt Registry (local)\n.vscode/mcp.json\n"));
}

#[test]
fn servers_of_a_skills_source_are_not_installed() {
    let mut kit = Kit::new();
    kit.origin.kind = "skills".into();
    let outcome = kit.install("b", one()).unwrap();
    assert_eq!(outcome.warnings, ["servers of a `skills` source are not installed"]);
    assert_eq!(kit.bytes(), None);
}

pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .map(|it| it.flatten().map(|it| it.file_name().into_string().unwrap()).collect())
        .unwrap_or_default();
    names.sort();
    names
}
