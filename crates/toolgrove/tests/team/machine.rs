//! Commands on the machine of a team's hub: who owns its folder acts as an admin, by name.

use std::path::Path;

use serde_json::Value;
use toolgrove_fixture::Options;

use crate::hub::{Hub, command};
use crate::team::{Team, fixture};

async fn run(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let done = command(dir).args(args).output().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (done.status.code().unwrap(), text(&done.stdout), text(&done.stderr))
}

#[tokio::test]
async fn before_there_is_an_admin_commands_say_so() {
    let hub = Hub::start_with("mode = \"team\"").await;
    let (exit, _, said) = run(hub.dir.path(), &["tools"]).await;
    assert_eq!(exit, 1);
    assert!(said.contains("this hub has no admin yet; open its set-up link first"), "{said}");
}

#[tokio::test]
async fn a_command_acts_as_the_admin_who_is_named_or_the_only_one() {
    let team = Team::start().await;
    let dir = team.hub.dir.path();
    let server = fixture(Options::default()).await;
    let (exit, _, said) = run(dir, &["server", "add", "s", &server.url()]).await;
    assert_eq!(exit, 0, "{said}");
    assert!(team.admin.tools(&team.hub).await.contains(&"mcp__s__echo".to_owned()), "it is hers");

    let grace = team.invite("grace", "admin").await;
    let (exit, _, said) = run(dir, &["tools"]).await;
    assert_eq!(exit, 1);
    assert!(said.contains("several admins; say who you are with `--as EMAIL`"), "{said}");
    let (exit, _, said) = run(dir, &["tools", "--as", "bob@example.com"]).await;
    assert_eq!(exit, 1);
    assert!(said.contains("no admin of this hub has the address `bob@example.com`"), "{said}");
    let (exit, tools, _) = run(dir, &["tools", "--json", "--as", "Grace@example.com"]).await;
    assert_eq!(
        (exit, serde_json::from_str::<Value>(&tools).unwrap()["tools"].clone()),
        (0, serde_json::json!([]))
    );

    let (exit, made, said) =
        run(dir, &["token", "create", "ci", "--grant", "s", "--as", "ada@example.com", "--json"]).await;
    assert_eq!(exit, 0, "{said}");
    let made: Value = serde_json::from_str(&made).unwrap();
    let token = team.admin.with_token(made["token"].as_str().unwrap());
    assert!(token.tools(&team.hub).await.iter().all(|it| it.starts_with("mcp__s__")));
    let (_, listed, _) = run(dir, &["token", "list", "--as", "ada@example.com"]).await;
    assert!(listed.contains("ci") && !listed.contains(made["token"].as_str().unwrap()), "{listed}");
    let (exit, _, said) = run(dir, &["token", "revoke", "other", "--as", "ada@example.com"]).await;
    assert_eq!((exit, said.contains("no token is called `other`")), (1, true), "{said}");
    assert_eq!(run(dir, &["token", "revoke", "ci", "--as", "ada@example.com"]).await.0, 0);
    assert_eq!(token.api(&team.hub, http::Method::GET, "/api/status", Value::Null).await.0, 401);
    drop(grace);
}

#[tokio::test]
async fn without_a_running_hub_commands_work_the_same() {
    let team = Team::start().await;
    let server = fixture(Options::default()).await;
    team.admin.add(&team.hub, "s", &server.url()).await;
    let dir = team.hub.stop().await;
    let (exit, said, problem) = run(dir.path(), &["call", "mcp__s__echo", "text=hi"]).await;
    assert_eq!(exit, 0, "{said}{problem}");
    let (exit, made, _) = run(dir.path(), &["token", "create", "ci", "--json"]).await;
    assert_eq!(exit, 0);
    let made: Value = serde_json::from_str(&made).unwrap();
    let team = Team::start_in(dir, team.admin).await;
    let token = team.admin.with_token(made["token"].as_str().unwrap());
    assert!(!token.tools(&team.hub).await.is_empty());
}

#[tokio::test]
async fn a_solo_hub_has_nobody_to_act_as() {
    let hub = Hub::start().await;
    let (exit, _, said) = run(hub.dir.path(), &["tools", "--as", "ada@example.com"]).await;
    assert_eq!((exit, said.contains("a solo hub has one person; leave out `--as`")), (1, true), "{said}");
    let (exit, made, _) = run(hub.dir.path(), &["token", "create", "ci"]).await;
    assert_eq!((exit, made.starts_with("tgt_")), (0, true), "tokens are for one person, too");
}
