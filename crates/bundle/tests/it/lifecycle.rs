//! From a folder or an archive to servers in a file, and back to nothing.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolgrove_bundle::install::{Arrival, Placed, Site, Verb};
use toolgrove_bundle::manifest::{Answers, Expected};
use toolgrove_bundle::places::{Client, CommitMode, Editor, Home, System, Target};
use toolgrove_bundle::servers::Scope;
use toolgrove_bundle::shelf::{Shelf, Staged};
use zip::write::SimpleFileOptions;

use crate::files::names_in;
use crate::kit::{Kit, json_of, name};

fn archive(kit: &Kit, files: &[(&str, &str)]) -> PathBuf {
    let path = kit.folder.path().join("bundle.zip");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    for (name, text) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    path
}

fn shelf(kit: &Kit) -> Shelf {
    Shelf::new(&kit.folder.path().join("data"))
}

fn manifest(version: &str, server: &str) -> String {
    format!(
        "id: b\nversion: {version}\nname: B\nmcpServers:\n  {server}:\n    command: node\n    args: ['${{bundlePath}}/s.js']\n"
    )
}

struct Run<'a> {
    kit: &'a Kit,
    shelf: Shelf,
}

impl Run<'_> {
    fn site(&self) -> Site<'_> {
        Site { disk: &self.kit.disk, shelf: &self.shelf, target: Some(&self.kit.target) }
    }

    fn stage(&self, files: &[(&str, &str)]) -> Result<Staged, toolgrove_bundle::BundleError> {
        self.shelf.stage_archive(&archive(self.kit, files), None, &Expected::default(), System::Linux)
    }
}

fn arrival<'a>(kit: &'a Kit, staged: Staged, answers: &'a Answers) -> Arrival<'a> {
    Arrival { staged, origin: &kit.origin, answers }
}

#[test]
fn a_bundle_comes_is_updated_and_goes_without_a_trace() {
    let kit = Kit::with("{}");
    let run = Run { kit: &kit, shelf: shelf(&kit) };
    let (answers, none) = (Answers::new(), |_: &str| None);
    let how = kit.how(&none);
    // Many archives wrap everything in one folder.
    let staged = run
        .stage(&[("b-1.0.0/deployment-manifest.yml", &manifest("1.0.0", "s")), ("b-1.0.0/s.js", "1")])
        .unwrap();
    assert!(staged.sha256.is_some());
    let arriving = arrival(&kit, staged, &answers);
    let preview = run.site().preview(&arriving, Verb::Install, &how).unwrap();
    assert_eq!(kit.text(), "{}", "a preview touches nothing");
    let installed = run.site().install(arriving, &how).unwrap().done();
    assert_eq!(installed.installed, preview.installed);
    assert_eq!(preview.installed[0].definition["args"], json!(["${bundlePath}/s.js"]), "shown as written");
    let path = kit.servers()[&name("b", "s")]["args"][0].as_str().unwrap().to_owned();
    assert!(Path::new(&path).is_absolute());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "1");

    let staged = run.stage(&[("deployment-manifest.yml", &manifest("1.1.0", "t")), ("s.js", "2")]).unwrap();
    run.site().update(arrival(&kit, staged, &answers), "1.0.0", &how).unwrap().done();
    assert_eq!(kit.servers().keys().collect::<Vec<_>>(), [&name("b", "t")]);
    let folder = kit.folder.path().join("data/bundles");
    assert_eq!(names_in(&folder.join("b")), ["1.1.0"]);

    run.site().uninstall("b", "1.1.0", &how).unwrap();
    assert_eq!(kit.text(), "{}");
    assert_eq!(names_in(&folder), Vec::<String>::new());
    assert_eq!(names_in(kit.target.file.parent().unwrap()), ["mcp.json", "mcp.json.backup"]);
}

#[test]
fn an_install_that_fails_leaves_nothing_on_the_shelf() {
    let kit = Kit::with("{ broken");
    let run = Run { kit: &kit, shelf: shelf(&kit) };
    let (answers, none) = (Answers::new(), |_: &str| None);
    let how = kit.how(&none);
    let stage =
        |version: &str| run.stage(&[("deployment-manifest.yml", &manifest(version, "s")), ("s.js", version)]);
    let error = run
        .site()
        .install(arrival(&kit, stage("1.0.0").unwrap(), &answers), &how)
        .map(Placed::done)
        .unwrap_err();
    assert_eq!(error.code(), "bundle.file");
    let folder = kit.folder.path().join("data/bundles");
    assert_eq!(names_in(&folder), Vec::<String>::new());

    // And an update that fails leaves the old version, even when it has the same number.
    kit.write("{}");
    run.site().install(arrival(&kit, stage("1.0.0").unwrap(), &answers), &how).unwrap().done();
    let text = kit.text();
    for version in ["1.0.0", "2.0.0"] {
        let bad = manifest(version, "s").replace("command: node", "url: x");
        let staged = run.stage(&[("deployment-manifest.yml", &bad), ("s.js", "new")]).unwrap();
        let error =
            run.site().update(arrival(&kit, staged, &answers), "1.0.0", &how).map(Placed::done).unwrap_err();
        assert_eq!(error.code(), "bundle.manifest");
        assert_eq!(kit.text(), text);
        assert_eq!(names_in(&folder.join("b")), ["1.0.0"]);
        assert_eq!(std::fs::read_to_string(folder.join("b/1.0.0/s.js")).unwrap(), "1.0.0");
    }
}

#[test]
fn what_was_installed_or_updated_can_be_taken_back_to_the_byte() {
    for before in [None, Some("// mine\n{\"servers\": {\"own\": {\"command\": \"x\"}}, }\n")] {
        let kit = before.map_or_else(Kit::new, Kit::with);
        let run = Run { kit: &kit, shelf: shelf(&kit) };
        let (answers, none) = (Answers::new(), |_: &str| None);
        let how = kit.how(&none);
        let arriving = |version: &str| {
            let files = [
                ("deployment-manifest.yml", &*manifest(version, &version.replace('.', "-"))),
                ("s.js", version),
            ];
            arrival(&kit, run.stage(&files).unwrap(), &answers)
        };
        let (folder, shelf) = (kit.target.file.parent().unwrap(), kit.folder.path().join("data/bundles"));
        let all = || {
            let names = if folder.exists() { names_in(folder) } else { Vec::new() };
            let files = names.into_iter().filter(|it| !it.ends_with(".backup"));
            files.map(|it| (it.clone(), std::fs::read(folder.join(it)).unwrap())).collect::<Vec<_>>()
        };
        let empty = all();
        run.site().install(arriving("1.0.0"), &how).unwrap().take_back().unwrap();
        drop(run.site().install(arriving("1.0.0"), &how).unwrap());
        assert_eq!((all(), names_in(&shelf)), (empty, Vec::new()), "{before:?}");
        assert_eq!(before.is_none(), !folder.exists());

        run.site().install(arriving("1.0.0"), &how).unwrap().done();
        let installed = all();
        for version in ["1.0.0", "2.0.0"] {
            run.site().update(arriving(version), "1.0.0", &how).unwrap().take_back().unwrap();
            drop(run.site().update(arriving(version), "1.0.0", &how).unwrap());
            assert_eq!((all(), names_in(&shelf.join("b"))), (installed.clone(), vec!["1.0.0".to_owned()]));
        }

        // What somebody has written in between is theirs.
        let placed = run.site().update(arriving("2.0.0"), "1.0.0", &how).unwrap();
        kit.write("{\"servers\": {\"new\": {\"command\": \"y\"}}}");
        placed.take_back().unwrap();
        assert_eq!(kit.text(), "{\"servers\": {\"new\": {\"command\": \"y\"}}}");
    }
}

#[test]
fn only_a_bundle_can_be_taken_off_the_shelf() {
    let kit = Kit::new();
    let shelf = shelf(&kit);
    let precious = kit.folder.path().join("data/precious/1.0.0");
    std::fs::create_dir_all(&precious).unwrap();
    std::fs::create_dir_all(kit.folder.path().join("data/bundles")).unwrap();
    for (id, version) in
        [("../precious", "1.0.0"), ("..", "precious"), ("x", "../../precious"), ("", ""), (".", ".")]
    {
        shelf.remove(id, version).unwrap();
        assert!(precious.exists(), "{id} {version}");
    }
}

#[test]
fn a_repository_remembers_a_bundle_without_servers_too() {
    let kit = Kit::repository(CommitMode::Commit);
    kit.install("b", json!({})).unwrap();
    assert!(json_of(&kit.root().join("prompt-registry.lock.json"))["bundles"]["b"].is_object());
    assert!(!kit.root().join(".vscode").exists());
    kit.uninstall("b").unwrap();
    assert_eq!(names_in(&kit.root()), [".git"]);
}

#[test]
fn an_archive_must_be_the_one_that_was_announced() {
    let kit = Kit::new();
    let path = archive(&kit, &[("deployment-manifest.yml", &manifest("1.0.0", "s"))]);
    let stage =
        |digest: &str| shelf(&kit).stage_archive(&path, Some(digest), &Expected::default(), System::Linux);
    assert_eq!(stage(&"0".repeat(64)).unwrap_err().code(), "bundle.digest");
    assert!(stage(&toolgrove_bundle::files::sha256_of(&path).unwrap()).is_ok());
    let other = Expected { id: Some("x".into()), version: None };
    assert!(shelf(&kit).stage_archive(&path, None, &other, System::Linux).is_err());
}

#[test]
fn a_folder_is_a_bundle_too() {
    let kit = Kit::new();
    let from = kit.folder.path().join("mine");
    std::fs::create_dir_all(from.join("collections")).unwrap();
    let stage = |id: Option<&str>| {
        let expected = Expected { id: id.map(str::to_owned), version: None };
        shelf(&kit).stage_folder(&from, &expected, System::Linux).map(|it| it.manifest.id.clone())
    };
    let error = stage(None).unwrap_err();
    assert_eq!(error.code(), "bundle.manifest");
    assert!(error.hint().unwrap().contains("deployment-manifest.yml"));
    let collection = |id: &str| format!("id: {id}\nname: N\ndescription: D\nitems: []\n");
    std::fs::write(from.join("collections/a.collection.yml"), collection("a")).unwrap();
    assert_eq!(stage(None).unwrap(), "a");
    std::fs::write(from.join("collections/b.collection.yml"), collection("b")).unwrap();
    assert_eq!(stage(Some("b")).unwrap(), "b");
    assert_eq!(
        stage(None).unwrap_err().to_string(),
        "several collections: `a.collection.yml`, `b.collection.yml`; say which by its id"
    );
}

#[test]
fn an_mcpb_is_installed_with_its_answers() {
    let kit = Kit::new();
    let run = Run { kit: &kit, shelf: shelf(&kit) };
    let manifest = json!({
        "manifest_version": "0.3", "name": "w", "version": "1.0.0", "description": "d", "author": {"name": "a"},
        "server": {"type": "node", "entry_point": "s.js", "mcp_config": {
            "command": "node", "args": ["${__dirname}/s.js"], "env": {"TOKEN": "${user_config.token}"},
        }},
        "user_config": {"token": {"type": "string", "sensitive": true, "required": true}},
    });
    let files = [("manifest.json", &*manifest.to_string()), ("s.js", "")];
    let none = |_: &str| None;
    let how = kit.how(&none);
    let answers = Answers::new();
    let error = run
        .site()
        .install(arrival(&kit, run.stage(&files).unwrap(), &answers), &how)
        .map(Placed::done)
        .unwrap_err();
    assert_eq!(error.to_string(), "setting `token` is needed");
    assert_eq!(error.hint().unwrap(), "give it with `--set token=<value>`");
    assert_eq!(kit.bytes(), None);

    let answers = json!({"token": "t0p"}).as_object().unwrap().clone();
    let outcome =
        run.site().install(arrival(&kit, run.stage(&files).unwrap(), &answers), &how).unwrap().done();
    let server = &kit.servers()[&name("w", "w")];
    assert_eq!(server["env"]["TOKEN"], "t0p");
    assert!(server["args"][0].as_str().unwrap().ends_with("data/bundles/w/1.0.0/s.js"));
    assert_eq!(outcome.warnings, ["mcp.json holds the value of secret settings; only you may read it"]);
    assert!(!std::fs::read_to_string(kit.target.tracking_file()).unwrap().contains("t0p"));
    assert!(!serde_json::to_string(&outcome).unwrap().contains("t0p"), "an outcome can be shown");
}

#[test]
fn without_a_file_the_hub_alone_gets_the_servers() {
    let kit = Kit::new();
    let shelf = shelf(&kit);
    let site = Site { disk: &kit.disk, shelf: &shelf, target: None };
    let text = json!({
        "name": "io.github.x/w", "description": "d", "version": "1.0.0",
        "remotes": [{"type": "streamable-http", "url": "https://x/mcp"}],
    });
    let staged = shelf.stage_server_json(&text.to_string(), &Expected::default(), System::Linux).unwrap();
    let (answers, none) = (Answers::new(), |_: &str| None);
    let outcome = site.install(arrival(&kit, staged, &answers), &kit.how(&none)).unwrap().done();
    assert_eq!(
        Value::Object(outcome.installed[0].ready.clone()),
        json!({"type": "http", "url": "https://x/mcp"})
    );
    assert!(shelf.folder("io.github.x-w", "1.0.0").join("server.json").exists());
    assert_eq!(kit.bytes(), None);
}

#[test]
fn every_editor_has_its_file() {
    let home = Home::at(Path::new("/h"), System::Linux);
    let file = |editor| Target::user(&home, editor).file;
    assert_eq!(file(Editor::Code), Path::new("/h/.config/Code/User/mcp.json"));
    assert_eq!(file(Editor::Insiders), Path::new("/h/.config/Code - Insiders/User/mcp.json"));
    assert_eq!(file(Editor::parse("cursor").unwrap()), Path::new("/h/.config/Cursor/User/mcp.json"));
    assert_eq!(file(Editor::parse("Windsurf").unwrap()), Path::new("/h/.config/Windsurf/User/mcp.json"));
    let mac = Home::at(Path::new("/h"), System::MacOs);
    assert_eq!(
        Target::user(&mac, Editor::Code).file,
        Path::new("/h/Library/Application Support/Code/User/mcp.json")
    );
    let windows = Home::at(Path::new("/h"), System::Windows);
    assert_eq!(Target::user(&windows, Editor::Code).file, Path::new("/h/AppData/Roaming/Code/User/mcp.json"));
}

#[test]
fn clients_get_servers_in_their_own_form() {
    let servers = json!({"l": {"command": "l"}, "r": {"type": "http", "url": "https://r/mcp"}});
    for (client, key, remote) in [
        (Client::Cursor, "mcpServers", Some(json!({"type": "http", "url": "https://r/mcp"}))),
        (Client::ClaudeCode, "mcpServers", Some(json!({"type": "http", "url": "https://r/mcp"}))),
        (Client::Windsurf, "mcpServers", Some(json!({"type": "http", "serverUrl": "https://r/mcp"}))),
        (Client::ClaudeDesktop, "mcpServers", None),
    ] {
        let mut kit = Kit::new();
        let file = client.user_file(&kit.home);
        kit.target = Target::client(client, file, Scope::User).unwrap();
        let outcome = kit.install("b", servers.clone()).unwrap();
        let written = json_of(&kit.target.file)[key].clone();
        assert_eq!(written[name("b", "l")], json!({"command": "l"}));
        assert_eq!(written.get(name("b", "r")).cloned(), remote, "{client:?}");
        if remote.is_none() {
            assert_eq!(outcome.warnings, ["`r` is left out: this client only starts local servers"]);
        } else {
            // A twin is known there too.
            let twin = kit.install("c", json!({"x": {"type": "sse", "url": "https://r/mcp"}})).unwrap();
            assert_eq!(twin.duplicates.len(), 1, "{client:?}");
            kit.uninstall("b").unwrap();
            assert_eq!(json_of(&kit.target.file)[key][name("c", "x")].get("disabled"), None);
            kit.uninstall("c").unwrap();
        }
        kit.uninstall("b").unwrap();
        assert_eq!(kit.bytes(), None);
    }
    assert!(Target::client(Client::Codex, PathBuf::new(), Scope::User).is_none());
}
