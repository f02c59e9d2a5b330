//! Each client's file, before and after, and back again to the very bytes.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

struct Place {
    _folder: TempDir,
    file: PathBuf,
    client: Client,
    disk: Disk,
}

impl Place {
    fn new(client: Client, text: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep").join("config");
        if let Some(text) = text {
            std::fs::create_dir(folder.path().join("deep")).unwrap();
            std::fs::write(&file, text).unwrap();
        }
        Self { _folder: folder, file, client, disk: Disk::default() }
    }

    fn connect(&self, door: &Door) -> String {
        let change = connect(&self.disk, self.client, &self.file, door).unwrap();
        let diff = change.diff();
        change.apply(&self.disk).unwrap();
        diff
    }

    fn disconnect(&self) {
        disconnect(&self.disk, self.client, &self.file).unwrap().apply(&self.disk).unwrap();
    }

    fn text(&self) -> Option<String> {
        std::fs::read_to_string(&self.file).ok()
    }

    fn servers(&self) -> Value {
        servers(&self.disk, self.client, &self.file).unwrap()["mcpServers"].clone()
    }
}

fn http() -> Door {
    Door::Http { url: "http://127.0.0.1:7430/mcp".into(), key: Some(Secret::new("s3cret")) }
}

fn stdio() -> Door {
    Door::Stdio { command: "/usr/bin/toolgrove".into(), args: vec!["stdio".into()] }
}

/// Connects twice, looks at the change, and takes everything back.
#[track_caller]
fn check(client: Client, door: &Door, text: Option<&str>, expected: &Expect) {
    let place = Place::new(client, text);
    let diff = place.connect(door);
    expected.assert_eq(&diff.replace('\r', ""));
    assert!(!diff.contains("s3cret"));
    let connected = place.text();
    assert_eq!(place.connect(door), "", "once is enough");
    place.connect(&Door::Http { url: "http://other/mcp".into(), key: None });
    place.connect(door);
    assert_eq!(place.text(), connected);
    place.disconnect();
    assert_eq!(place.text().as_deref(), text);
    assert!(!backup_of(&place.file).exists());
}

#[test]
fn vs_code_keeps_comments() {
    check(
        Client::VsCode,
        &http(),
        Some("{\n\t// mine\n\t\"servers\": {\n\t\t\"a\": {\"url\": \"u\"}, // a\n\t},\n}\n"),
        &expect![[r#"
            @@ -2,5 +2,12 @@
             	// mine
             	"servers": {
             		"a": {"url": "u"}, // a
            +		"toolgrove": {
            +			"type": "http",
            +			"url": "http://127.0.0.1:7430/mcp",
            +			"headers": {
            +				"Authorization": "Bearer •••"
            +			}
            +		},
             	},
             }
        "#]],
    );
}

#[test]
fn a_client_without_a_file_gets_one_and_loses_it_again() {
    check(
        Client::Cursor,
        &http(),
        None,
        &expect![[r#"
            @@ -0,0 +1,10 @@
            +{
            +  "mcpServers": {
            +    "toolgrove": {
            +      "url": "http://127.0.0.1:7430/mcp",
            +      "headers": {
            +        "Authorization": "Bearer •••"
            +      }
            +    }
            +  }
            +}
        "#]],
    );
}

#[test]
fn windsurf_and_zed_have_their_own_words() {
    check(
        Client::Windsurf,
        &http(),
        Some("{\"mcpServers\":{}}"),
        &expect![[r#"
            @@ -1 +1,8 @@
            -{"mcpServers":{}}
            \ No newline at end of file
            +{"mcpServers":{
            +  "toolgrove": {
            +    "serverUrl": "http://127.0.0.1:7430/mcp",
            +    "headers": {
            +      "Authorization": "Bearer •••"
            +    }
            +  }
            +}}
            \ No newline at end of file
        "#]],
    );
    check(
        Client::Zed,
        &http(),
        Some("// Zed settings\n{\n  \"theme\": \"One\",\n}\n"),
        &expect![[r#"
            @@ -1,4 +1,12 @@
             // Zed settings
             {
               "theme": "One",
            +  "context_servers": {
            +    "toolgrove": {
            +      "url": "http://127.0.0.1:7430/mcp",
            +      "headers": {
            +        "Authorization": "Bearer •••"
            +      }
            +    }
            +  },
             }
        "#]],
    );
}

#[test]
fn claude_desktop_starts_the_hub() {
    let place = Place::new(Client::ClaudeDesktop, None);
    let error = connect(&place.disk, place.client, &place.file, &http()).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("connect.local", "Claude Desktop can only start a local server")
    );
    place.connect(&stdio());
    assert_eq!(
        place.text().unwrap(),
        "{\n  \"mcpServers\": {\n    \"toolgrove\": {\n      \"command\": \"/usr/bin/toolgrove\",\n      \"args\": [\n        \"stdio\"\n      ]\n    }\n  }\n}\n"
    );
    place.disconnect();
    assert_eq!(place.text(), None);
}

#[test]
fn codex_keeps_its_toml() {
    check(
        Client::Codex,
        &http(),
        Some("# mine\r\nmodel = \"gpt\" # the best\r\n\r\n[mcp_servers.a]\r\ncommand = 'x'\r\n"),
        &expect![[r#"
            @@ -3,3 +3,7 @@
             
             [mcp_servers.a]
             command = 'x'
            +
            +[mcp_servers.toolgrove]
            +url = "http://127.0.0.1:7430/mcp"
            +http_headers = { Authorization = "Bearer •••" }
        "#]],
    );
    check(
        Client::Codex,
        &http(),
        None,
        &expect![[r#"
            @@ -0,0 +1,3 @@
            +[mcp_servers.toolgrove]
            +url = "http://127.0.0.1:7430/mcp"
            +http_headers = { Authorization = "Bearer •••" }
        "#]],
    );
}

#[test]
fn goose_keeps_its_yaml() {
    check(
        Client::Goose,
        &http(),
        Some(
            "GOOSE_MODE: auto # mine\nextensions:\n    developer:\n        enabled: true\n        type: builtin\nOTHER: 1\n",
        ),
        &expect![[r#"
            @@ -1,5 +1,14 @@
             GOOSE_MODE: auto # mine
             extensions:
            +    toolgrove:
            +      enabled: true
            +      name: toolgrove
            +      description: "Every tool, through one hub"
            +      timeout: 300
            +      type: streamable_http
            +      uri: "http://127.0.0.1:7430/mcp"
            +      headers:
            +        Authorization: "Bearer •••"
                 developer:
                     enabled: true
                     type: builtin
        "#]],
    );
    for text in [None, Some("# only\n"), Some("extensions: {}\n"), Some("A: 1"), Some("extensions:\n")] {
        let place = Place::new(Client::Goose, text);
        place.connect(&stdio());
        assert!(place.text().unwrap().contains("    cmd: \"/usr/bin/toolgrove\"\n"), "{text:?}");
        place.disconnect();
        assert_eq!(place.text().as_deref(), text);
    }
}

#[test]
fn what_was_edited_since_stays() {
    for (client, text, edit) in [
        (
            Client::VsCode,
            "{\"servers\": {}}",
            ("\"servers\": {", "\"servers\": {\n \"mine\": {\"url\": \"m\"},"),
        ),
        (Client::Codex, "a = 1\n", ("a = 1\n", "a = 1\nb = 2\n")),
        (Client::Goose, "A: 1\n", ("A: 1\n", "A: 1\nB: 2\n")),
    ] {
        let place = Place::new(client, Some(text));
        place.connect(&http());
        std::fs::write(&place.file, place.text().unwrap().replacen(edit.0, edit.1, 1)).unwrap();
        place.disconnect();
        let after = place.text().unwrap();
        assert!(!after.contains(NAME), "{after}");
        assert!(after.contains("mine") || after.contains('2'), "{after}");
        place.disconnect();
        assert_eq!(place.text().unwrap(), after, "twice is once");
    }
}

#[test]
fn a_file_that_cannot_be_edited_safely_is_left_alone() {
    for (client, text) in [
        (Client::Codex, "mcp_servers = { a = { command = \"x\" } }\n"),
        (Client::Goose, "extensions: {a: {type: builtin}}\n"),
        (Client::Goose, "--- \nextensions: &e\n  a: 1\nother: *e\n"),
    ] {
        let place = Place::new(client, Some(text));
        let error = connect(&place.disk, place.client, &place.file, &stdio()).unwrap_err();
        assert_eq!(error.code(), "connect.unsafe", "{text}");
        assert!(error.hint().unwrap().contains("/usr/bin/toolgrove"));
        assert_eq!(place.text().as_deref(), Some(text));
    }
    for (client, text, place_of) in [
        (Client::Codex, "a = 1\nb = = 2\n", "2:5"),
        (Client::Goose, "a: [1\nb: 2\n", "2:2"),
        (Client::Zed, "{", "1:1"),
    ] {
        let place = Place::new(client, Some(text));
        let error = connect(&place.disk, place.client, &place.file, &stdio()).unwrap_err();
        assert_eq!(error.to_string(), format!("config is not valid: {place_of}"));
    }
}

#[test]
fn a_change_that_was_looked_at_too_long_ago_is_not_made() {
    let place = Place::new(Client::VsCode, Some("{}"));
    let change = connect(&place.disk, place.client, &place.file, &http()).unwrap();
    std::fs::write(&place.file, "{ }").unwrap();
    assert_eq!(change.apply(&place.disk).unwrap_err().code(), "bundle.busy");
    assert_eq!(place.text().unwrap(), "{ }");
}

#[cfg(unix)]
#[test]
fn a_file_with_the_key_in_it_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new(Client::VsCode, Some("{}"));
    place.connect(&http());
    for path in [&place.file, &backup_of(&place.file)] {
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn servers_of_every_client_can_be_imported() {
    let zed = r#"{"context_servers": {
        "a": {"source": "custom", "command": {"path": "x", "args": ["y"], "env": {"K": "v"}}},
        "b": {"url": "http://b/mcp", "headers": {"A": "1"}},
        "ext": {"settings": {}}, // an extension's
    }}"#;
    assert_eq!(
        Place::new(Client::Zed, Some(zed)).servers(),
        json!({
            "a": {"command": "x", "args": ["y"], "env": {"K": "v"}},
            "b": {"url": "http://b/mcp", "headers": {"A": "1"}},
        })
    );
    let codex = "[mcp_servers.a]\ncommand = 'x'\nargs = ['y']\nenabled = false\n[mcp_servers.a.env]\nK = 'v'\n\
        [mcp_servers.b]\nurl = 'http://b/mcp'\nbearer_token_env_var = 'TOK'\nhttp_headers = { A = '1' }\n\
        env_http_headers = { B = 'BB' }\n";
    assert_eq!(
        Place::new(Client::Codex, Some(codex)).servers(),
        json!({
            "a": {"command": "x", "args": ["y"], "enabled": false, "env": {"K": "v"}},
            "b": {"url": "http://b/mcp", "headers": {"A": "1", "B": "${env:BB}", "Authorization": "Bearer ${env:TOK}"}},
        })
    );
    let goose = "extensions:\n  dev: {type: builtin, enabled: true}\n  a:\n    type: stdio\n    enabled: false\n    \
        cmd: x\n    args: [y]\n    envs: {K: v}\n    env_keys: [S]\n  b:\n    type: streamable_http\n    \
        uri: http://b/mcp\n    enabled: true\n    headers: {}\n";
    assert_eq!(
        Place::new(Client::Goose, Some(goose)).servers(),
        json!({
            "a": {"command": "x", "args": ["y"], "env": {"K": "v", "S": "${env:S}"}, "enabled": false},
            "b": {"type": "http", "url": "http://b/mcp", "enabled": true},
        })
    );
    for client in Client::ALL {
        let place = Place::new(client, None);
        assert_eq!(place.servers(), json!({}));
        place.connect(&stdio());
        assert_eq!(place.servers(), json!({}), "the hub does not import itself");
    }
}
