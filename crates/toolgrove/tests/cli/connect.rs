//! The hub in the files of clients, and the servers that are there already.

use std::fs;

use serde_json::{Value, json};

use crate::home::{Home, fixture};

#[test]
fn a_change_is_shown_made_and_undone_to_the_very_bytes() {
    let home = Home::new();
    let file = home.path("home/.cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text = "{\n  // mine\n  \"mcpServers\": {\n    \"own\": { \"command\": \"x\" }\n  }\n}\n";
    fs::write(&file, text).unwrap();
    let shown = home.type_("connect cursor --preview");
    assert!(shown.err.contains("+    \"toolgrove\": {"), "{shown:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "shown, not made");
    assert_eq!(home.type_("connect cursor").code, 2, "nobody agreed");

    assert_eq!(home.type_("connect cursor --yes").ok(), "Toolgrove is in `~/home/.cursor/mcp.json`\n");
    let made = fs::read_to_string(&file).unwrap();
    assert!(made.contains("// mine") && made.contains("\"stdio\""), "{made}");
    assert_eq!(fs::read_to_string(home.path("home/.cursor/mcp.json.before-toolgrove")).unwrap(), text);
    assert_eq!(
        home.type_("connect cursor --yes").ok(),
        "Toolgrove is in `~/home/.cursor/mcp.json` already\n"
    );
    assert_eq!(
        home.type_("connect cursor --undo --yes").ok(),
        "Toolgrove is out of `~/home/.cursor/mcp.json`\n"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    assert!(!home.path("home/.cursor/mcp.json.before-toolgrove").exists());
}

#[test]
fn every_client_gets_the_hub_and_loses_it_again() {
    let home = Home::new();
    for client in [
        "claude-code",
        "claude-desktop",
        "codex",
        "cursor",
        "goose",
        "vscode",
        "vscode-insiders",
        "windsurf",
        "zed",
    ] {
        let made = home.type_(&format!("connect {client} --yes --json")).json();
        let file = made["file"].as_str().unwrap().to_owned();
        let text = fs::read_to_string(file.replacen('~', &home.path("").display().to_string(), 1)).unwrap();
        assert!(text.contains("toolgrove") && text.contains("stdio"), "{client}: {text}");
        let gone = home.type_(&format!("connect {client} --undo --yes --json")).json();
        assert_eq!(gone["changed"], true, "{client}");
        assert!(!std::path::Path::new(&file.replacen('~', &home.path("").display().to_string(), 1)).exists());
    }
}

#[test]
fn a_running_hub_is_reached_by_its_address_with_the_key_unshown() {
    let home = Home::new();
    assert!(home.type_("connect vscode --http --yes").err.contains("there is no running hub to connect to"));
    let hub = home.serve();
    let made = home.type_("connect vscode --http --yes");
    let key = fs::read_to_string(home.data("key")).unwrap();
    assert!(made.err.contains("Bearer •••") && !made.err.contains(key.trim()), "{made:?}");
    let file: Value = serde_json::from_str(&home.read(&home.mcp_json()).unwrap()).unwrap();
    let entry = &file["servers"]["toolgrove"];
    assert_eq!(entry["url"], hub.url());
    assert_eq!(entry["headers"]["Authorization"], format!("Bearer {}", key.trim()));
    hub.stop();
}

#[test]
fn an_unknown_client_is_named_with_those_there_are() {
    let refused = Home::new().type_("connect emacs");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("no client is called `emacs`; there are `claude-code`"), "{refused:?}");
}

#[test]
fn the_servers_of_a_client_are_imported_without_the_hub_itself() {
    let home = Home::new();
    let file = home.path("home/.claude.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let servers = json!({ "mcpServers": { "fix": { "command": fixture(), "args": ["stdio"] },
        "toolgrove": { "command": "toolgrove", "args": ["stdio"] } } });
    fs::write(&file, servers.to_string()).unwrap();
    let imported = home.type_("import --from claude-code");
    assert!(imported.out.starts_with("Added: fix ("), "{imported:?}");
    assert_eq!(home.type_("server list --json").json().as_array().unwrap().len(), 1);
}
