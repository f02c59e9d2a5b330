//! Buds, plans and function schemas on the command line, and `docs/buds.md`: what it tells people to type works.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::home::{Home, until};
use crate::model::{Model, Reply};

/// A model that answers beside the test.
fn model(script: impl IntoIterator<Item = Reply>) -> (Runtime, Model) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let model = runtime.block_on(Model::start(script));
    (runtime, model)
}

const BUD: &str = "[bud.Compare]\ndescription = \"Compares\"\nsystem_prompt = \"Be brief\"\nmodel = \"m\"\n";

#[test]
fn buds_are_listed_and_asked_alone_and_through_a_hub() {
    let said = || Reply::Text(vec!["Hello ", "there"]);
    let (_runtime, model) = model([said(), Reply::Status(401, &[]), said(), Reply::Status(401, &[])]);
    let home = Home::new();
    home.write("toolgrove.toml", &format!("{}{BUD}", model.config("openai")));
    let look = || {
        let listed = home.type_("bud list");
        assert!(
            ["Compare", "bud://home/Compare", "Compares"].iter().all(|it| listed.out.contains(it)),
            "{listed:?}"
        );
        assert_eq!(home.type_("bud list --json").json()[0]["name"], "Compare");
        let asked = home.run(["bud", "run", "Compare", "say", "hello"]);
        assert_eq!((asked.code, asked.out.trim()), (0, "Hello there"), "{asked:?}");
        let failed = home.run(["bud", "run", "bud://home/Compare", "{\"message\": \"again\"}"]);
        assert_eq!(failed.code, 1, "{failed:?}");
        assert!(failed.err.starts_with("error: provider `scripted` failed: scripted 401"), "{failed:?}");
        let unknown = home.type_("bud run Nobody hello");
        let expected = "error: no bud is called `Nobody`\nhint: run `toolgrove bud list` to see every bud\n";
        assert_eq!((unknown.code, unknown.err.as_str()), (1, expected));
    };
    look();
    let hub = home.serve();
    look();
    hub.stop();
    let asked: Vec<_> = model.seen().iter().map(|it| it["messages"][1]["content"].clone()).collect();
    assert_eq!(asked, ["say hello", "again", "say hello", "again"]);
}

#[test]
fn a_bud_in_the_file_follows_it_while_the_hub_runs() {
    let (_runtime, model) = model([]);
    let home = Home::new();
    let config = model.config("openai");
    home.write("toolgrove.toml", &format!("{config}{BUD}"));
    let hub = home.serve();
    let prompts = || {
        let buds = home.type_("bud list --json").json();
        let of = |it: &Value| format!("{}: {}", it["name"], it["system_prompt"]);
        buds.as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(prompts(), ["\"Compare\": \"Be brief\""]);
    let changed = BUD.replace("Be brief", "Be very brief");
    home.write("toolgrove.toml", &format!("{config}{changed}[bud.Second]\nmodel = \"m\"\n"));
    until(|| (prompts() == ["\"Compare\": \"Be very brief\"", "\"Second\": \"\""]).then_some(()));
    home.write("toolgrove.toml", &config);
    until(|| prompts().is_empty().then_some(()));
    hub.stop();
}

#[test]
fn a_plan_runs_to_its_end_and_says_how_each_node_ended() {
    let home = Home::new().with_fixture();
    assert_eq!(home.type_("plan list").out.trim(), "no plans yet");
    let hub = home.serve();
    let node = |id: &str, tool: &str, args: Value| json!({ "id": id, "tool": tool, "args": args });
    let nodes = json!([
        node("sum", "mcp__builtin__calculator", json!({ "expression": "6*7" })),
        node("tell", "mcp__fix__echo", json!({ "sum": "{{sum}}" })),
        node("bad", "mcp__fix__fail", json!({ "message": "sorry" })),
        node("after", "mcp__fix__echo", json!({ "from": "{{bad}}" })),
    ]);
    let made =
        hub.ask(&home, "POST", "/api/plans", &json!({ "name": "Morning", "graph": { "nodes": nodes } }));
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let look = || {
        assert!(home.type_("plan list").out.contains("Morning"));
        let ran = home.type_("plan run Morning");
        assert_eq!(ran.code, 3, "a node failed: {ran:?}");
        for (node, end) in [
            ("sum", "done 42"),
            ("tell", r#"done {"sum":"42"}"#),
            ("bad", "failed sorry"),
            ("after", "skipped"),
        ] {
            let line = ran.out.lines().find(|it| it.split_whitespace().any(|it| it == node));
            assert!(line.is_some_and(|it| it.contains(end)), "{node}: {ran:?}");
        }
        let nodes = home.run(["plan", "run", "Morning", "--json"]);
        let done: Value = serde_json::from_str(&nodes.out).unwrap();
        assert_eq!(
            done["nodes"],
            json!({ "sum": "done", "tell": "done", "bad": "failed", "after": "skipped" })
        );
    };
    look();
    hub.stop();
    look();
    let unknown = home.type_("plan run Evening");
    assert!(
        unknown.err.starts_with("error: no plan is called `Evening`\nhint: run `toolgrove plan list`"),
        "{unknown:?}"
    );
}

#[test]
fn function_schemas_become_a_bud_and_come_back() {
    let home = Home::new();
    let schema =
        json!({ "type": "object", "properties": { "zone": { "type": "string" } }, "required": ["zone"] });
    let functions = json!([
        { "type": "function", "function": { "name": "now", "description": "Time", "parameters": schema } },
        { "type": "function", "name": "later" },
    ]);
    let file = home.write("functions.json", &functions.to_string()).display().to_string();
    let shown = home.run(["convert", &file]).ok();
    assert!(shown.contains("now(zone: string)") && shown.contains("later()"), "{shown}");
    let saved = home.run(["convert", &file, "--name", "Clock", "--save"]);
    assert!(saved.code == 0 && saved.err.contains("saved as the bud `Clock`"), "{saved:?}");
    assert!(home.type_("bud list").out.contains("bud://home/Clock"));
    let back = home.type_("tools --format openai --json").json();
    let named = |name: &str| {
        let is = |it: &&Value| it["function"]["name"] == format!("mcp__Clock__{name}");
        back.as_array().unwrap().iter().find(is).unwrap_or_else(|| panic!("{back}"))["function"].clone()
    };
    assert_eq!((&named("now")["description"], &named("now")["parameters"]), (&json!("Time"), &schema));
    assert_eq!(named("later")["parameters"], json!({ "type": "object", "properties": {} }));
    let twice = home.run_with_input("convert -", r#"[{"name":"a"},{"name":"a"}]"#);
    assert_eq!((twice.code, twice.err.as_str()), (2, "error: function `a` stands there twice\n"));
    let broken = home.run_with_input("convert -", "{oops");
    assert!(broken.code != 0 && broken.err.starts_with("error: "), "{broken:?}");
}

#[test]
fn files_are_added_found_listed_and_removed_alone_and_through_a_hub() {
    let home = Home::new();
    let oak = home.write("oak.md", "The oak is old").display().to_string();
    let elm = home.write("elm.md", "The elm is young").display().to_string();
    let big = home.write("big.md", &"y".repeat(512 * 1024 + 1)).display().to_string();
    std::fs::write(home.path("picture"), [0xff, 0xfe, 0x00]).unwrap();
    let search = || home.run(["call", "mcp__builtin__file_search", "query=oak"]).ok();
    let look = || {
        assert_eq!(home.type_("files list").ok(), "no files yet\n");
        let added = home.run(["files", "add", &oak, &elm]).ok();
        assert_eq!(added, "added `oak.md` to `home`\nadded `elm.md` to `home`\n");
        assert_eq!(search(), "oak.md: The oak is old\n");
        let listed = home.type_("files list --json").json();
        let names: Vec<_> =
            listed.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["elm.md", "oak.md"]);
        assert!(
            home.type_("files list").ok().contains("oak.md  home       14"),
            "{:?}",
            home.type_("files list")
        );
        for (words, said) in [
            (vec!["files", "add", &big], "error: `big.md`: a file has at most 512 KiB\n"),
            (
                vec!["files", "add", &oak, "--workspace", "away"],
                "error: you are in no workspace called `away`\n",
            ),
            (
                vec!["files", "remove", "ash.md"],
                "error: no file is called `ash.md`\nhint: run `toolgrove files list` to see every file\n",
            ),
        ] {
            let ran = home.run(words);
            assert!(ran.code != 0 && ran.err == said, "{ran:?}");
        }
        let unread = home.run(["files", "add", &elm, &home.path("picture").display().to_string()]);
        assert!(unread.code == 2 && unread.err.starts_with("error: cannot read `"), "{unread:?}");
        // Two of a name are told apart by their ids.
        home.run(["files", "add", &oak, "--workspace", "home"]).ok();
        let twice = home.type_("files remove oak.md");
        assert!(
            twice.err.starts_with("error: several files are called `oak.md`\nhint: give the id"),
            "{twice:?}"
        );
        for file in home.type_("files list --json").json().as_array().unwrap() {
            home.run(["files", "remove", file["id"].as_str().unwrap()]).ok();
        }
        assert_eq!(search(), "no file holds all of these words\n");
    };
    look();
    let hub = home.serve();
    look();
    hub.stop();
}

/// The code blocks of the page in one language.
fn blocks(language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/buds.md");
    let page = fs::read_to_string(page).unwrap();
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|it| it.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_snippet_of_the_page_works() {
    let (_runtime, model) = model([]);
    let home = Home::new();
    let own = home.path("home");
    let folder = own.join(".config/toolgrove");
    fs::create_dir_all(&folder).unwrap();
    // Nothing is changed but where the model and the hub are.
    let config = blocks("toml").concat().replace("http://127.0.0.1:11434", &model.url);
    fs::write(folder.join("toolgrove.toml"), config).unwrap();
    for (name, block) in ["functions.json", "morning.json"].into_iter().zip(blocks("json")) {
        home.write(name, &block);
    }
    let in_home = |command: &mut Command| {
        let bin = Path::new(env!("CARGO_BIN_EXE_toolgrove")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        command.env("HOME", &own).env("PATH", path).env("ANTHROPIC_API_KEY", "k").current_dir(home.path(""));
        for name in
            ["TOOLGROVE_DATA", "TOOLGROVE_CONFIG", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLICOLOR_FORCE"]
        {
            command.env_remove(name);
        }
    };
    let hub = home.serve_as(in_home);
    let address = hub.url().trim_end_matches("/mcp").to_owned();
    let mut ran = 0;
    for block in blocks("sh") {
        let script = block.replace("http://127.0.0.1:7430", &address);
        let mut command = Command::new("sh");
        command.args(["-e", "-c", &script]);
        in_home(&mut command);
        let output = command.output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{script}{out}{err}");
        assert!(!out.contains("\"code\":") && !out.contains("event: error"), "{script}{out}{err}");
        ran += block.lines().filter(|it| it.starts_with("toolgrove ") || it.starts_with("curl ")).count();
    }
    assert!(ran >= 9, "the page was read");
    hub.stop();
}
