//! How output looks: JSON for programs, colour for terminals, pages for readers.

use expect_test::expect;
use serde_json::Value;

use crate::home::{Home, HttpFixture};

#[test]
fn json_is_one_document_and_nothing_else() {
    let home = Home::new().with_fixture();
    let http = HttpFixture::start(&[]);
    let hub = home.serve();
    let first: Value = serde_json::from_str(&hub.first).unwrap();
    assert!(first["page"].as_str().unwrap().contains("/ui/login?code="), "{first}");
    home.run(["server", "add", "far", &http.url, "--json"]).json();
    for line in [
        "server list",
        "server show far",
        "server test far",
        "server off far",
        "server on far",
        "instance list",
        "instance off far",
        "instance on far --tool echo",
        "instance on far",
        "instance refresh far",
        "tools",
        "tools --format openai",
        "call mcp__far__echo a=1",
        "prompt",
        "export",
        "logs",
        "logs --server fix",
        "doctor",
        "doctor far",
        "instance remove far --yes",
        "instance add far",
        "server remove far --yes",
    ] {
        home.type_(&format!("{line} --json")).json();
    }
    hub.stop();
}

#[test]
fn a_problem_is_json_on_stderr() {
    let home = Home::new().with_fixture();
    let ran = home.type_("--json call mcp__fix__ecko");
    expect![[r#"
        {"status":404,"code":"tool.unknown","detail":"no tool is called `mcp__fix__ecko`","hint":"did you mean `mcp__fix__echo`?"}
        exit 1"#]]
    .assert_eq(&ran.all());
    assert!(ran.out.is_empty());
    let ran = home.type_("call mcp__fix__fail message=no --json");
    assert_eq!(ran.code, 3);
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((answer["success"].clone(), answer["error"].clone()), (false.into(), "no".into()));
}

#[test]
fn colour_is_for_terminals_and_never_with_no_color() {
    let home = Home::new();
    let look = |variables: &[(&str, &str)]| {
        let mut command = home.command(["call", "nothing"]);
        home.finish(command.envs(variables.iter().copied())).err
    };
    assert!(!look(&[]).contains('\u{1b}'));
    assert!(look(&[("CLICOLOR_FORCE", "1")]).contains("\u{1b}["));
    assert!(!look(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
}

#[test]
fn completions_are_written_for_every_shell() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(home.run(["completions", shell]).ok().contains("toolgrove"), "{shell}");
    }
    assert!(!home.path("data").exists(), "nothing is made for that");
}

#[test]
fn the_reference_pages_are_written() {
    let home = Home::new();
    for (page, told) in
        [("errors", "## tool.unknown"), ("config", "| `listen` |"), ("cli", "## toolgrove serve")]
    {
        assert!(home.run(["__docs", page]).ok().contains(told), "{page}");
    }
    assert!(!home.path("data").exists());
}

#[test]
fn help_speaks_of_every_command() {
    let help = Home::new().type_("--help").ok();
    for command in [
        "serve", "stdio", "import", "export", "server", "instance", "tools", "call", "prompt", "logs",
        "doctor",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}: {help}");
    }
    assert!(!help.contains("shepherd") && !help.contains("__docs"), "{help}");
}
