//! `toolgrove stdio`, with a hub running and without.

use expect_test::expect;
use serde_json::{Value, json};

use crate::home::{Client, Home, initialize};

/// A whole conversation that ends before the answers come.
const SCRIPT: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"mcp__fix__sleep","arguments":{"ms":100}}}"#,
);

#[test]
fn both_ways_answer_the_same_even_when_the_input_has_ended() {
    let home = Home::new().with_fixture();
    let alone = home.run_with_input("stdio", SCRIPT);
    let hub = home.serve();
    let forwarded = home.run_with_input("stdio", SCRIPT);
    let answers = |out: &str| -> Vec<Value> {
        let lines: Vec<Value> = out.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
        lines.into_iter().filter(|it| it.get("id").is_some()).collect()
    };
    assert_eq!((alone.code, forwarded.code), (0, 0), "{alone:?} {forwarded:?}");
    assert_eq!(answers(&alone.out), answers(&forwarded.out));
    assert_eq!(answers(&alone.out)[1]["result"]["content"][0]["text"], "slept 100 ms");
    hub.stop();
}

#[test]
fn one_instance_can_be_offered_under_its_own_names() {
    let home = Home::new().with_fixture();
    for way in ["alone", "forwarded"] {
        let hub = (way == "forwarded").then(|| home.serve());
        let mut client = Client::start(&home, "stdio --instance fix");
        client.greet();
        assert_eq!(client.call(1, "test_simple_text")["result"]["isError"], Value::Null, "{way}");
        let (_, code) = client.end();
        assert_eq!(code, Some(0));
        let ran = home.run_with_input("stdio --instance fax", SCRIPT);
        assert_eq!(
            ran.all(),
            "error: no instance has the id `fax`\nhint: did you mean `fix`?\nexit 1",
            "{way}: nothing on stdout, a sentence on stderr"
        );
        drop(hub);
    }
}

#[test]
fn a_second_client_and_commands_share_the_hub_of_the_first() {
    let home = Home::new().with_fixture();
    let mut first = Client::start(&home, "stdio");
    first.greet();
    let pid = first.call(1, "mcp__fix__pid")["result"]["structuredContent"]["pid"].clone();
    let mut second = Client::start(&home, "stdio");
    second.greet();
    assert_eq!(home.type_("call mcp__fix__echo a=1").ok(), "{\"a\":1}\n");
    let ran = home.type_("serve --listen 127.0.0.1:0");
    assert!(ran.err.contains("error: a hub is already running for a client's `toolgrove stdio`"), "{ran:?}");

    // The first client leaves, and the second goes on with a hub of its own.
    assert_eq!(first.end().1, Some(0));
    let answer = second.call(2, "mcp__fix__pid");
    let other = &answer["result"]["structuredContent"]["pid"];
    assert!(other.is_number() && *other != pid, "{answer} {pid}");
    assert_eq!(home.type_("tools").code, 0);
    assert_eq!(second.end().1, Some(0));
}

#[test]
fn a_client_survives_the_restart_of_its_hub() {
    let home = Home::new().with_fixture();
    let hub = home.serve();
    let mut client = Client::start(&home, "stdio");
    client.greet();
    client.call(1, "mcp__fix__echo");
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "mcp__fix__sleep", "arguments": { "ms": 600_000 } } }));
    client.call(3, "mcp__fix__echo");
    drop(hub);
    let lost = client.answer();
    assert_eq!(lost["id"], 2);
    expect![[r#"{"code":-32603,"message":"the hub went away before it answered"}"#]]
        .assert_eq(&lost["error"].to_string());
    let answer = client.call(4, "mcp__fix__echo");
    assert_eq!(answer["result"]["content"][0]["text"], "{}", "{answer}");
    assert_eq!(client.end().1, Some(0));
}

#[test]
fn a_client_that_is_killed_takes_its_servers_along_and_frees_the_folder() {
    let home = Home::new().with_fixture();
    let mut client = Client::start(&home, "stdio");
    client.greet();
    let pid = client.call(1, "mcp__fix__pid")["result"]["structuredContent"]["pid"].as_i64().unwrap();
    client.kill();
    crate::home::wait_until_gone(pid as i32);
    assert_eq!(home.type_("call mcp__fix__echo").code, 0);
}

#[test]
fn garbage_is_answered_and_stdout_carries_only_mcp() {
    let home = Home::new();
    let ran = home.run_with_input("stdio", &format!("not json\n{}\n", initialize()));
    let lines: Vec<Value> = ran.out.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(lines[0]["error"]["code"], -32700, "{ran:?}");
    assert_eq!(lines[1]["id"], 0);
    assert_eq!(ran.code, 0);
}

#[test]
fn an_empty_input_ends_quietly() {
    let home = Home::new();
    assert_eq!(home.run_with_input("stdio", "").all(), "exit 0");
}
