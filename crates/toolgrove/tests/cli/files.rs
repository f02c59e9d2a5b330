//! `toolgrove.toml` and the `mcp.json` beside it.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::home::{Home, HttpFixture, fixture, until};

#[track_caller]
fn check(config: &str, expected: &Expect) {
    let home = Home::new();
    home.write("toolgrove.toml", config);
    expected.assert_eq(&home.type_("serve").all());
    assert_eq!(home.type_("tools").all(), home.type_("serve").all(), "every command says the same");
}

#[test]
fn a_broken_configuration_is_named_with_line_and_column() {
    check(
        "mode = \"solo\"\nlisen = \"127.0.0.1:1\"\n",
        &expect![[r"
        error: `~/toolgrove.toml`: line 2, column 1: `lisen` is not a key; did you mean `listen`?
        exit 2"]],
    );
    check(
        "listen = \n",
        &expect![[r"
        error: `~/toolgrove.toml`: line 1, column 10: string values must be quoted, expected literal string
        exit 2"]],
    );
    check(
        "[server.a]\nurl = 5\n",
        &expect![[r"
        error: `~/toolgrove.toml`: line 1, column 1: server `a`: `url` must be a text
        exit 2"]],
    );
}

#[test]
fn a_mode_that_is_not_there_yet_is_named() {
    check(
        "mode = \"cluster\"\n[store]\nurl = \"postgres://db.example/hub\"\n[cluster]\nvalkey = \"redis://cache.example\"\n",
        &expect![[r#"
        error: mode `cluster` is not there yet
        hint: set `mode = "team"` in `~/toolgrove.toml`
        exit 1"#]],
    );
}

#[test]
fn servers_in_both_files_work_without_a_command() {
    let home = Home::new();
    let http = HttpFixture::start(&[]);
    home.write(
        "toolgrove.toml",
        &format!("listen = \"127.0.0.1:0\"\n[server.far]\nurl = \"{}\"\n", http.url),
    );
    home.write(
        "mcp.json",
        &json!({ "mcpServers": { "near": { "command": fixture(), "args": ["stdio"] } } }).to_string(),
    );
    assert_eq!(home.type_("call mcp__far__echo a=1").ok(), "{\"a\":1}\n");
    assert_eq!(home.type_("call mcp__near__echo a=1").ok(), "{\"a\":1}\n");
    let list = home.type_("server list --json").json();
    let origins: Vec<_> = list.as_array().unwrap().iter().map(|it| it["origin"].as_str().unwrap()).collect();
    assert_eq!(origins, ["config", "config"]);
}

#[test]
fn a_running_hub_follows_the_files_and_keeps_what_it_has_when_one_breaks() {
    let home = Home::new();
    let http = HttpFixture::start(&[]);
    let hub = home.serve();
    let servers = || -> Vec<String> {
        let list = home.type_("server list --json").json();
        list.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    let entry = json!({ "url": http.url });
    home.write("mcp.json", &json!({ "mcpServers": { "a": entry, "b": entry } }).to_string());
    until(|| (servers() == ["a", "b"]).then_some(()));
    until(|| home.type_("tools").ok().contains("mcp__b__echo").then_some(()));

    home.write("mcp.json", "{ broken");
    until(|| hub.log().contains("mcp.json`: this is not valid JSON").then_some(()));
    assert_eq!(servers(), ["a", "b"]);

    home.write("mcp.json", &json!({ "mcpServers": { "a": { "uri": "x" }, "c": entry } }).to_string());
    until(|| (servers() == ["a", "c"]).then_some(()));
    assert!(hub.log().contains("server `a`: missing \"url\""), "{}", hub.log());
    assert_eq!(home.type_("call mcp__a__echo").code, 0, "what was known of `a` stays");

    home.write("toolgrove.toml", "[server.d]\nurl = 1\n");
    until(|| hub.log().contains("toolgrove.toml`: line 1, column 1: server `d`").then_some(()));
    assert_eq!(servers(), ["a", "c"]);

    home.write("toolgrove.toml", &format!("[server.d]\nurl = \"{}\"\n", http.url));
    std::fs::remove_file(home.path("mcp.json")).unwrap();
    until(|| (servers() == ["d"]).then_some(()));
    hub.stop();
}

#[test]
fn a_broken_mcp_json_does_not_keep_commands_from_working() {
    let home = Home::new().with_fixture();
    home.write("mcp.json", "nonsense");
    let ran = home.type_("call mcp__fix__echo");
    assert_eq!((ran.code, ran.out.as_str()), (0, "{}\n"));
    assert!(ran.err.contains("WARN `~/mcp.json`: this is not valid JSON"), "{ran:?}");
}
