//! What each command prints, alone and with a hub running.

use expect_test::expect;
use serde_json::{Value, json};

use crate::home::{Home, HttpFixture, fixture};

#[test]
fn commands_print_the_same_alone_and_through_a_hub() {
    let home = Home::new();
    let http = HttpFixture::start(&["--era", "modern"]);
    let text = json!({ "mcpServers": {
        "local one": { "command": fixture(), "args": ["stdio"], "env": { "SECRET": "s3cret" } },
        "far": { "url": http.url, "headers": { "X-Key": "k" } },
    } });
    home.write("mine.json", &text.to_string());
    let imported = home.run(["import", &home.path("mine.json").display().to_string()]);
    assert!(imported.out.starts_with("Added: local one ("), "{imported:?}");

    let commands = [
        "tools",
        "tools --server far",
        "tools --format mcp",
        "tools --format openai --names single",
        "prompt",
        "export",
        "export --format bouno --json",
        "export --secrets",
        "server list",
        "call mcp__local-one__echo text=a=b number=7 word=02139x flag=true",
        "call mcp__far__image",
        "call mcp__far__fail message=sorry",
        "call mcp__far__sleep ms=20",
        "call mcp_far__sleep ms=20",
        "call mcp__far__rpc_error code=-32001 message=nope",
        "call mcp__far__sleep ms=soon",
        "call mcp__far__nothing",
        "instance on far --tool ecko",
        "server show near",
        "doctor far",
    ];
    let timeless = |text: String| {
        let lines = text
            .lines()
            .map(|it| it.strip_suffix(" ms)").and_then(|it| it.rsplit_once(" (")).map_or(it, |it| it.0));
        lines.collect::<Vec<_>>().join("\n")
    };
    let alone: Vec<_> = commands.iter().map(|it| timeless(home.type_(it).all())).collect();
    let hub = home.serve();
    for (command, alone) in commands.iter().zip(alone) {
        assert_eq!(timeless(home.type_(command).all()), alone, "{command}");
    }
    hub.stop();
}

#[test]
fn a_call_prints_the_result_and_ends_with_its_code() {
    let home = Home::new().with_fixture();
    let call = |line: &str| home.type_(&format!("call {line}")).all();
    expect![[r#"
        {"a":1,"b":"x y"}
        exit 0"#]]
    .assert_eq(&home.run(["call", "mcp__fix__echo", "a=1", "b=x y"]).all());
    expect![[r"
        [image image/png, 69 bytes]
        exit 0"]]
    .assert_eq(&call("mcp__fix__image"));
    expect![[r"
        error: it failed
        exit 3"]]
    .assert_eq(&call("mcp__fix__fail"));
    expect![[r"
        error: arguments do not match: /ms must be of type integer
        exit 2"]]
    .assert_eq(&call("mcp__fix__sleep ms=1s"));
    expect![[r"
        error: MCP error -1: no
        exit 1"]]
    .assert_eq(&call("mcp__fix__rpc_error code=-1 message=no"));
    expect![[r"
        error: argument `a` is given twice
        exit 2"]]
    .assert_eq(&call("mcp__fix__echo a=1 a=2"));
    expect![[r"
        error: no tool is called `echo`
        hint: did you mean `mcp__fix__echo`?
        exit 1"]]
    .assert_eq(&call("echo"));
    expect![[r"
        error: no server is called `fox`
        hint: did you mean `fix`?
        exit 1"]]
    .assert_eq(&call("mcp__fox__echo"));
}

#[test]
fn arguments_may_be_json_and_keep_every_byte() {
    let home = Home::new().with_fixture();
    let text = r#"{"big": 123456789012345678901234567890, "e": 1e400,  "é": null}"#;
    let echoed = format!("{text}\n");
    assert_eq!(home.run(["call", "mcp__fix__echo", "--json-args", text]).ok(), echoed);
    assert_eq!(home.run_with_input("call mcp__fix__echo --json-args -", text).ok(), echoed);
    for (given, problem) in [
        ("[1]", "`--json-args` must be a JSON object, such as `{\"a\": 1}`"),
        ("{", "tool arguments are not valid JSON: "),
        ("{\"a\":1,\"a\":2}", "tool arguments are not valid JSON: "),
    ] {
        let ran = home.run(["call", "mcp__fix__echo", "--json-args", given]);
        assert!(ran.code == 2 && ran.err.starts_with(&format!("error: {problem}")), "{given}: {ran:?}");
    }
    assert_eq!(home.type_("logs --json").json().as_array().unwrap().len(), 2, "nothing else reached the hub");
}

#[test]
fn a_server_that_wants_a_sign_in_has_an_exit_code_of_its_own() {
    let home = Home::new();
    let http = HttpFixture::start(&["--require-header", "x-key=right"]);
    let add = |header: &str| {
        home.run(["server", "add", "far", &http.url, "--header", header, "--replace", "--save-anyway"])
    };
    assert_eq!(add("X-Key=right").code, 0);
    assert_eq!(add("X-Key=wrong").code, 0);
    let ran = home.type_("call mcp__far__echo");
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.starts_with("error: `far` needs you to reconnect: "), "{ran:?}");
    assert!(ran.err.ends_with("hint: check the credentials of this instance\n"), "{ran:?}");
    let ran = home.type_("doctor far");
    assert!(ran.code == 1 && ran.out.contains("✗ auth"), "{ran:?}");
    assert!(ran.err.contains("hint: check the credentials of `far`"), "{ran:?}");
}

#[test]
fn servers_are_added_switched_and_removed() {
    let home = Home::new();
    let http = HttpFixture::start(&[]);
    expect![[r"
        no servers yet
        hint: add some with `toolgrove import FILE` or `toolgrove server add NAME URL`
        exit 0"]]
    .assert_eq(&home.type_("server list").all());
    home.run(["server", "add", "far", &http.url]).ok();
    let list = home.type_("server list").ok().replace(&http.url, "URL");
    expect![[r"
          NAME  IS  KIND             FROM   INSTANCES  ENDPOINT
        ✓ far   on  streamable_http  paste  1          URL
    "]]
    .assert_eq(&list);
    let again = home.run(["server", "add", "far", &http.url]);
    expect![[r"
        error: `far` was not added: a server with this name already exists in the workspace
        hint: update it in place with `--replace`
        exit 1"]]
    .assert_eq(&again.all());
    assert!(home.type_("server test far").ok().starts_with("`far` is connected and has "));
    assert_eq!(home.type_("server off far").ok(), "server `far` is off\n");
    expect![[r"
        error: server `far` is turned off
        hint: turn it on with `toolgrove server on far`
        exit 1"]]
    .assert_eq(&home.type_("call mcp__far__echo").all());
    assert_eq!(home.type_("tools").ok(), "no tools\n");
    assert_eq!(home.type_("server on far").ok(), "server `far` is on\n");
    expect![[r"
        error: nobody is there to be asked
        hint: say `--yes` to remove it unasked
        exit 2"]]
    .assert_eq(&home.type_("server remove far").all());
    assert_eq!(home.type_("server remove far --yes").ok(), "removed server `far`\n");
    expect![[r"
        error: no server is called `far`
        hint: run `toolgrove server list` to see every server
        exit 1"]]
    .assert_eq(&home.type_("server remove far --yes").all());
}

#[test]
fn a_server_can_be_registered_first_and_used_later() {
    let home = Home::new();
    let http = HttpFixture::start(&["--require-header", "x-key=right"]);
    home.run(["server", "add", "far", &http.url, "--auth", "header:X-Key", "--no-instance"]).ok();
    assert_eq!(home.type_("instance list").ok(), "no instances yet\n");
    let bare = home.type_("instance add far --slug bare");
    expect![[r"
        added instance `bare`: Needs an API key
        hint: run `toolgrove instance set bare --credential X-Key`
        exit 0"]]
    .assert_eq(&bare.all());
    let refused = home.type_("call mcp__bare__echo");
    assert_eq!(refused.code, 1, "nothing can be called without the value: {refused:?}");
    let file = home.write("value", "right\n");
    let given = home.run(["instance", "set", "bare", "--credential", &format!("X-Key=@{}", file.display())]);
    assert!(given.ok().starts_with("changed instance `bare`: Ready · "));
    let added = home.run_with_input("instance add far --slug mine --credential X-Key", "right\n").ok();
    assert!(added.starts_with("added instance `mine`: Ready · "), "{added}");
    assert_eq!(home.type_("call mcp__mine__echo").code, 0);
    let taken = home.type_("instance add far --slug mine");
    assert_eq!(taken.all(), "error: slug `mine` is already in use\nexit 1");
    let wrong = home.type_("instance add far --slug no_good");
    assert_eq!(wrong.all(), "error: slug may hold only letters, digits and hyphens\nexit 2");
    assert_eq!(home.type_("instance remove mine --yes").ok(), "removed instance `mine`\n");
    assert_eq!(home.type_("server list --json").json()[0]["name"], "far", "the server stays");
}

#[test]
fn a_new_key_is_made_with_and_without_a_running_hub() {
    let home = Home::new();
    let http = HttpFixture::start(&["--require-header", "x-key=right-and-secret"]);
    home.run(["server", "add", "far", &http.url, "--header", "X-Key=right-and-secret"]).ok();
    let key = || std::fs::read_to_string(home.data("secret.key")).unwrap();
    let mut seen = vec![key()];
    for running in [false, true, false] {
        let hub = running.then(|| home.serve());
        let rotated = home.type_("key rotate").ok();
        assert!(rotated.ends_with("secrets have a new key\n"), "{rotated}");
        assert!(!seen.contains(&key()) && key().lines().count() == 1);
        seen.push(key());
        assert_eq!(home.type_("call mcp__far__echo").code, 0, "its value can still be read");
        drop(hub);
    }
    assert_eq!(home.type_("key rotate --json").json()["unreadable"], 0);
}

#[test]
fn instances_and_single_tools_are_switched() {
    let home = Home::new().with_fixture();
    assert_eq!(home.type_("instance off fix").ok(), "instance `fix` is off\n");
    expect![[r"
        SLUG SERVER KIND TOOLS LISTED STATUS
        – fix fix stdio N AGE Off"]]
    .assert_eq(&listed(&home));
    expect![[r"
        error: instance `fix` is turned off
        hint: turn it on with `toolgrove instance on fix`
        exit 1"]]
    .assert_eq(&home.type_("instance refresh fix").all());
    assert_eq!(home.type_("instance on fix").ok(), "instance `fix` is on\n");
    assert_eq!(home.type_("instance off fix --tool echo").ok(), "tool `echo` of `fix` is off\n");
    expect![[r"
        error: tool `mcp__fix__echo` is turned off
        hint: turn it on with `toolgrove instance on SLUG --tool mcp__fix__echo`
        exit 1"]]
    .assert_eq(&home.type_("call mcp__fix__echo").all());
    // The name as the hint has it.
    assert_eq!(home.type_("instance on fix --tool mcp__fix__echo").ok(), "tool `echo` of `fix` is on\n");
    assert_eq!(home.type_("call mcp__fix__echo").code, 0);
    expect![[r"
        error: `fix` has no tool called `ecko`
        hint: did you mean `echo`?
        exit 1"]]
    .assert_eq(&home.type_("instance off fix --tool ecko").all());
}

/// The list without what changes from run to run: words are one blank apart.
fn listed(home: &Home) -> String {
    let count = home.type_("instance list --json").json()[0]["tools"].to_string();
    let list = home.type_("instance list").ok();
    let lines = list.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().map(|it| if it == count { "N" } else { it }).collect();
        match words.iter().position(|it| *it == "ago") {
            Some(ago) => [&words[..ago - 2], &["AGE"], &words[ago + 1..]].concat().join(" "),
            None => words.join(" "),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_export_can_be_imported_elsewhere() {
    let (here, there) = (Home::new(), Home::new());
    let http = HttpFixture::start(&["--require-header", "x-key=right"]);
    here.run(["server", "add", "far", &http.url, "--header", "X-Key=right"]).ok();
    here.type_("instance off far --tool echo").ok();
    let open = here.type_("export").ok();
    assert!(!open.contains("right"), "{open}");
    for format in ["mcp.json", "bouno"] {
        let text = here.type_(&format!("export --secrets --format {format}")).ok();
        let added = there.run_with_input("import - --replace", &text);
        assert!(added.out.starts_with("Added: far ("), "{format}: {added:?}");
        assert_eq!(there.type_("call mcp__far__image").code, 0);
    }
    assert_eq!(there.type_("call mcp__far__echo").code, 1, "a tool that was off is off");
}

#[test]
fn logs_tell_what_was_called_and_what_a_server_said() {
    let home = Home::new().with_fixture();
    assert_eq!(home.type_("logs").ok(), "no calls\n");
    let hub = home.serve();
    for call in ["mcp__fix__echo", "mcp__fix__fail", "nothing", "mcp__fix__stderr line=hello"] {
        home.type_(&format!("call {call}"));
    }
    let outcomes = |line: &str| -> Vec<String> {
        let calls: Vec<Value> = serde_json::from_value(home.type_(line).json()).unwrap();
        calls
            .iter()
            .map(|it| format!("{} {}", it["tool"].as_str().unwrap(), it["outcome"].as_str().unwrap()))
            .collect()
    };
    let all = ["mcp__fix__stderr done", "nothing failed", "mcp__fix__fail tool_error", "mcp__fix__echo done"];
    assert_eq!(outcomes("logs --json"), all);
    assert_eq!(outcomes("logs --json --failed"), all[1..3]);
    assert_eq!(outcomes("logs --json --limit 1"), all[..1]);
    assert_eq!(outcomes("logs --json --tool mcp__fix__echo"), all[3..]);
    let shown = home.type_("logs").ok();
    assert!(shown.lines().nth(3).unwrap().contains("nothing"), "oldest first: {shown}");
    assert_eq!(home.type_("logs --server fix").ok(), "hello\n");
    assert_eq!(home.type_("logs --server fix --json").json(), json!({ "slug": "fix", "lines": ["hello"] }));
    hub.stop();
    expect![[r"
        error: there is no running hub to follow
        hint: start one with `toolgrove serve`
        exit 1"]]
    .assert_eq(&home.type_("logs --follow").all());
}

#[test]
fn following_prints_each_new_call_until_interrupted() {
    use std::io::BufRead;
    let home = Home::new().with_fixture();
    let hub = home.serve();
    home.type_("call mcp__fix__echo").ok();
    let mut logs =
        home.command(["logs", "--follow", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufReader::new(logs.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["tool"].clone();
    assert_eq!(next(), "mcp__fix__echo");
    home.type_("call mcp__fix__image").ok();
    assert_eq!(next(), "mcp__fix__image");
    let pid = rustix::process::Pid::from_child(&logs);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(logs.wait().unwrap().code(), Some(0));
    hub.stop();
}

#[test]
fn the_doctor_looks_at_everything() {
    let home = Home::new().with_fixture();
    let http = HttpFixture::start(&[]);
    home.run(["server", "add", "far", &http.url]).ok();
    let count = format!(" {} tools", home.type_("instance list --json").json()[0]["tools"]);
    expect![[r"
        ✓ configuration  no file at `~/toolgrove.toml`, so the defaults hold
        ✓ hub            not running; commands start one for themselves
        ✓ data folder    ~/data
        ✓ key            ~/data/key
        ✓ database       answers

        ✓ far  Ready · N tools
        ✓ fix  Starts on demand
        exit 0"]]
    .assert_eq(&home.type_("doctor").all().replace(&count, " N tools"));
    let url = http.url.clone();
    drop(http);
    let hub = home.serve();
    home.type_("instance refresh fix").ok();
    assert_eq!(home.type_("instance refresh far").code, 1);
    let ran = home.type_("doctor");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("✗ far  Connection refused") && ran.out.contains("✓ fix  Ready"), "{ran:?}");
    assert_eq!(ran.err, "hint: run `toolgrove doctor far` to see at which step it fails\n");
    let ran = home.type_("doctor far");
    let port = url.split(':').nth(2).unwrap().trim_end_matches("/mcp");
    assert!(ran.out.contains("✓ DNS") && ran.out.contains("✗ TCP"), "{port} {ran:?}");
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (1, "hint: start the server, or check host and port in its URL\n")
    );
    hub.stop();
}
