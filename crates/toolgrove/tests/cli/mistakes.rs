//! What is typed wrong, and what is wrong with what it names: one sentence, the right code, nothing stored.

use std::fs;

use expect_test::{Expect, expect};

use crate::home::Home;

#[track_caller]
fn check(line: &str, expected: &Expect) {
    let home = Home::new();
    expected.assert_eq(&home.type_(line).all());
    assert_eq!(home.type_("server list --json").json(), serde_json::json!([]), "nothing is stored");
}

#[track_caller]
fn check_import(text: &str, expected: &Expect) {
    let home = Home::new();
    expected.assert_eq(&home.run_with_input("import -", text).all());
    assert_eq!(home.type_("server list --json").json(), serde_json::json!([]), "nothing is stored");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    check(
        "import nothing.json",
        &expect![[r"
        error: cannot read `nothing.json`: it does not exist
        exit 2"]],
    );
    check(
        "import /",
        &expect![[r"
        error: cannot read `/`: it is a folder
        exit 2"]],
    );
}

#[test]
fn text_that_is_no_configuration_is_refused() {
    check_import(
        "",
        &expect![[r"
        error: paste a JSON configuration first
        exit 2"]],
    );
    check_import(
        "{",
        &expect![[r#"
        error: this is not valid JSON; expected { "server-name": { "url": "..." } }
        exit 2"#]],
    );
    check_import(
        "[]",
        &expect![[r"
        error: expected a JSON object whose keys are server names
        exit 2"]],
    );
    check_import(
        "{}",
        &expect![[r"
        error: no servers found in this JSON
        exit 2"]],
    );
}

#[test]
fn each_server_that_is_wrong_is_named() {
    check_import(
        r#"{"a": {}, "b": {"url": "nowhere"}, "c": {"command": "/does/not/exist"}}"#,
        &expect![[r#"
        error: `a` was not added: missing "url"
        error: `b` was not added: not a server URL: `nowhere`
        error: `c` was not added: cannot reach `c`: the process exited with code 127: cannot start `/does/not/exist`: No such file or directory (os error 2)
        hint: keep servers that do not answer with `--save-anyway`
        exit 1"#]],
    );
}

#[test]
fn a_server_is_a_url_or_a_command() {
    check(
        "server add x",
        &expect![[r"
        error: give either a URL, or `--` and a command
        hint: for instance `toolgrove server add x -- npx some-server`
        exit 2"]],
    );
    check(
        "server add x http://a -- b",
        &expect![[r"
        error: give either a URL, or `--` and a command
        hint: for instance `toolgrove server add x -- npx some-server`
        exit 2"]],
    );
    check(
        "server add x http://a --env A=b",
        &expect![[r"
        error: `--env` is for a server that is a command
        exit 2"]],
    );
    check(
        "server add x --header A=b -- c",
        &expect![[r"
        error: `--header` is for a server that has a URL
        exit 2"]],
    );
    check(
        "server add x nowhere",
        &expect![[r"
        error: `x` was not added: not a server URL: `nowhere`
        hint: keep servers that do not answer with `--save-anyway`
        exit 1"]],
    );
    check(
        "server add x nowhere --no-instance",
        &expect![[r"
        error: not a server URL: `nowhere`
        exit 2"]],
    );
    check(
        "server add x pipe:///a",
        &expect![[r"
        error: `x` was not added: cannot reach `x`: a `pipe:` server can be reached on Windows only
        hint: keep servers that do not answer with `--save-anyway`
        exit 1"]],
    );
}

#[test]
fn names_that_are_not_there_are_named() {
    let unknown_instance = expect![[r"
        error: no instance has the id `x`
        hint: run `toolgrove instance list` to see every instance
        exit 1"]];
    for line in [
        "instance on x",
        "instance off x --tool t",
        "instance refresh x",
        "instance remove x --yes",
        "doctor x",
        "logs --server x",
    ] {
        check(line, &unknown_instance);
    }
    let unknown_server = expect![[r"
        error: no server is called `x`
        hint: run `toolgrove server list` to see every server
        exit 1"]];
    for line in [
        "server show x",
        "server test x",
        "server on x",
        "server remove x --yes",
        "instance add x",
        "tools --server x",
    ] {
        check(line, &unknown_server);
    }
}

#[test]
fn what_the_parser_refuses_ends_with_code_two() {
    for (line, told) in [
        ("", "Usage: toolgrove"),
        ("serv", "some similar subcommands exist: 'server', 'serve'"),
        ("tools --format yaml", "possible values: table, mcp, openai"),
        ("tools --names triple", "possible values: double, single"),
        ("export --format toml", "possible values: mcp.json, bouno"),
        ("logs --limit 0", "0 is not in 1..=1000"),
        ("logs --server a --tool b", "cannot be used with"),
        ("call", "<TOOL>"),
        ("call t noequals", "expected NAME=VALUE"),
        ("call t a=1 --json-args {}", "cannot be used with"),
        ("server add x u --header =value", "expected NAME=VALUE"),
        ("server add x u --auth oauth", "--no-instance"),
        ("server add x http://u/ --no-instance --auth key", "`--auth key` cannot be understood"),
        ("server add x http://u/ --header K", "nobody gave a value for `K`"),
        ("instance set x", "nothing is to be changed"),
        ("completions tcsh", "possible values"),
    ] {
        let ran = Home::new().type_(line);
        assert!(ran.code == 2 && ran.err.contains(told) && ran.out.is_empty(), "`{line}`: {ran:?}");
    }
}

#[test]
fn a_log_filter_that_cannot_be_read_is_named() {
    let home = Home::new();
    let ran = home.finish(home.command(["tools"]).env("TOOLGROVE_LOG", "a=b=c"));
    assert!(ran.code == 2 && ran.err.starts_with("error: `TOOLGROVE_LOG` cannot be read: "), "{ran:?}");
}

#[test]
fn a_database_from_the_future_or_broken_is_named() {
    let home = Home::new();
    home.type_("tools").ok();
    fs::write(home.data("toolgrove.db"), "this is not a database, it is a text that is long enough").unwrap();
    let ran = home.type_("tools");
    assert!(
        ran.code == 1 && ran.err.starts_with("error: cannot ") && ran.err.contains("database"),
        "{ran:?}"
    );
    assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
    let ran = home.type_("doctor");
    assert!(ran.code == 1 && ran.out.contains("✗ database"), "{ran:?}");
    fs::write(home.data("secret.key"), "rubbish").unwrap();
    expect![[r"
        error: key file `~/data/secret.key` is damaged: line 1 is not `kid:key` with 64 hexadecimal digits
        hint: restore the file from a backup; without it stored secrets cannot be read
        exit 1"]]
    .assert_eq(&home.type_("tools").all());
}
