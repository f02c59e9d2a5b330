//! Servers that are processes: how many there are, what happens to what they say, and that none is ever left behind.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use futures::future::join_all;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};

use crate::grove::{eventually, hub_with, over_stdio, server_pid, text};
use crate::hub::{Hub, command, fixture_program, stdio_fixture};

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    pid: u32,
    parent: u32,
    started: String,
    name: String,
}

/// Every process that is alive now; what only waits to be collected is not.
fn processes() -> Vec<Process> {
    let numbers =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|it| it.file_name().to_str()?.parse().ok());
    numbers.filter_map(process).collect()
}

fn process(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields[0] == "Z" {
        return None;
    }
    let name = head.split_once('(')?.1.to_owned();
    Some(Process { pid, parent: fields[1].parse().ok()?, started: fields[19].to_owned(), name })
}

/// Everything below a process.
fn descendants(pid: u32) -> BTreeSet<Process> {
    let all = processes();
    let (mut found, mut parents) = (BTreeSet::new(), vec![pid]);
    while let Some(parent) = parents.pop() {
        for child in all.iter().filter(|it| it.parent == parent) {
            if found.insert(child.clone()) {
                parents.push(child.pid);
            }
        }
    }
    found
}

async fn all_gone(family: &BTreeSet<Process>) {
    eventually("every process is gone", async || {
        let left: Vec<_> =
            family.iter().filter(|it| process(it.pid).is_some_and(|now| now.started == it.started)).collect();
        left.is_empty().then_some(())
    })
    .await;
}

/// Three servers, each with two helpers of its own.
async fn busy_hub(servers: serde_json::Value) -> (Hub, BTreeSet<Process>) {
    let hub = hub_with(servers).await;
    for slug in ["a", "b", "c"] {
        for _ in 0..2 {
            let child = hub.call(&format!("mcp__{slug}__spawn_child"), json!({})).await;
            assert!(child["structuredContent"]["pid"].is_u64(), "{child}");
        }
    }
    running(hub.pid(), 3).await;
    let family = descendants(hub.pid());
    let helpers = family.iter().filter(|it| it.name == "sleep").count();
    assert_eq!(helpers, 6, "{family:?}");
    (hub, family)
}

/// So many servers run below a process, not counting shepherds and helpers, once the second look has left.
async fn running(pid: u32, count: usize) {
    eventually(&format!("{count} servers run"), async || {
        let family = descendants(pid);
        let servers = family.iter().filter(|it| it.name != "toolgrove" && it.name != "sleep");
        (servers.count() == count).then_some(())
    })
    .await;
}

async fn check_database(hub_folder: &std::path::Path) {
    let url = format!("sqlite:{}", hub_folder.join("data/toolgrove.db").display());
    let mut database = SqliteConnection::connect(&url).await.unwrap();
    let found: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut database).await.unwrap();
    assert_eq!(found, "ok");
    database.close().await.unwrap();
}

#[tokio::test]
async fn a_hub_killed_under_load_leaves_no_process_no_damage_and_knows_its_tools_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("server");
    symlink(fixture_program(), &program).unwrap();
    let entry = json!({ "command": program, "args": ["stdio"] });
    let (hub, family) = busy_hub(json!({ "a": entry, "b": entry, "c": entry })).await;
    let listed = hub.tools().await;

    // Calls go on in every server until the very moment of the kill, and rows are being written.
    let (url, key) = (hub.url.clone(), hub.key.clone());
    let load: Vec<_> = (0..12)
        .map(|number| {
            let slug = ["a", "b", "c"][number % 3];
            let tool = format!("mcp__{slug}__{}", if number < 6 { "echo" } else { "sleep" });
            let body = json!({ "tool": tool, "arguments": { "ms": 60_000 } }).to_string();
            crate::grove::beside(hammer(url.clone(), key.clone(), body))
        })
        .collect();
    eventually("the load runs", async || {
        (hub.get("/api/calls?limit=1000").await.as_array().unwrap().len() > 100).then_some(())
    })
    .await;
    let family: BTreeSet<_> = family.into_iter().chain(descendants(hub.pid())).collect();
    let dir = hub.kill().await;
    all_gone(&family).await;
    for it in load {
        it.abort();
    }
    check_database(dir.path()).await;

    // From now on the servers say nothing, so the first list can only come from what was kept.
    fs::remove_file(&program).unwrap();
    fs::write(&program, "#!/bin/sh\nexec cat >/dev/null\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let hub = Hub::start_in(dir).await;
    assert_eq!(hub.tools().await, listed);
    assert!(
        hub.get("/api/calls?limit=1000").await.as_array().unwrap().len() > 100,
        "finished calls are kept"
    );
    let doctor = command(hub.dir.path()).args(["doctor", "--json"]).output().await.unwrap();
    let found: serde_json::Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let database = found["checks"].as_array().unwrap().iter().find(|it| it["name"] == "database").unwrap();
    assert_eq!(database["ok"], true, "{found}");
}

/// One call after the other for as long as the hub answers.
async fn hammer(url: String, key: String, body: String) {
    let client =
        hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new()).build_http();
    loop {
        let request = http::Request::post(format!("{url}/api/mcp/call"))
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json")
            .body(http_body_util::Full::new(bytes::Bytes::from(body.clone())))
            .unwrap();
        let Ok(response) = client.request(request).await else { return };
        let _ = http_body_util::BodyExt::collect(response.into_body()).await;
    }
}

#[tokio::test]
async fn a_hub_that_is_stopped_leaves_nothing_behind() {
    let (hub, family) =
        busy_hub(json!({ "a": stdio_fixture(&[]), "b": stdio_fixture(&[]), "c": stdio_fixture(&[]) })).await;
    let dir = hub.stop().await;
    let left: Vec<_> =
        family.iter().filter(|it| process(it.pid).is_some_and(|now| now.started == it.started)).collect();
    assert!(left.is_empty(), "when the hub has ended, all have: {left:?}");
    assert!(!dir.path().join("data/hub.sock").exists());
    check_database(dir.path()).await;
}

#[tokio::test]
async fn a_server_that_is_removed_or_turned_off_takes_its_helpers_with_it() {
    for (method, path, body) in [
        (http::Method::DELETE, "/api/mcp/servers/s", serde_json::Value::Null),
        (http::Method::PATCH, "/api/mcp/instances/s", json!({ "enabled": false })),
    ] {
        let hub = over_stdio(&[]).await;
        hub.call("mcp__s__spawn_child", json!({})).await;
        let family = descendants(hub.pid());
        assert!(family.len() >= 3, "{family:?}");
        let (status, answer) = hub.api(method, path, body).await;
        assert!(status < 300, "{answer}");
        all_gone(&family).await;
    }
}

#[tokio::test]
async fn one_process_serves_every_client() {
    for era in ["legacy", "modern"] {
        let hub = over_stdio(&["--era", era]).await;
        let pid = server_pid(&hub, "s").await;
        let clients =
            join_all((0..8).map(|it| hub.legacy(if it % 2 == 0 { "/mcp" } else { "/mcp/i/s" }))).await;
        for (number, client) in clients.iter().enumerate() {
            let tool = if number % 2 == 0 { "mcp__s__pid" } else { "pid" };
            assert_eq!(client.call(tool, json!({})).await["structuredContent"]["pid"], pid, "{era}");
        }
        running(hub.pid(), 1).await;
    }
}

#[tokio::test]
async fn fifty_clients_at_once_each_get_their_own_answers_from_one_process() {
    let hub = over_stdio(&[]).await;
    let legacy = join_all((0..25).map(|_| hub.legacy("/mcp"))).await;
    let of_legacy = join_all(legacy.iter().enumerate().map(async |(number, client)| {
        for turn in 0..4 {
            let result = client.call("mcp__s__echo", json!({ "legacy": number, "turn": turn })).await;
            assert_eq!(text(&result), format!("{{\"legacy\":{number},\"turn\":{turn}}}"));
        }
    }));
    let of_modern = join_all((0..25).map(async |number| {
        for turn in 0..4 {
            let result = hub.call("mcp__s__echo", json!({ "modern": number, "turn": turn })).await;
            assert_eq!(text(&result), format!("{{\"modern\":{number},\"turn\":{turn}}}"));
        }
    }));
    tokio::join!(of_legacy, of_modern);
    running(hub.pid(), 1).await;
    assert_eq!(hub.get("/api/calls?limit=1000").await.as_array().unwrap().len(), 200);
}

#[tokio::test]
async fn what_a_server_writes_to_stderr_is_in_the_log_under_its_name() {
    let hub = over_stdio(&[]).await;
    hub.call("mcp__s__stderr", json!({ "line": "disk almost full" })).await;
    eventually("the line is in the hub's log", async || {
        hub.log().lines().any(|it| it.contains("disk almost full") && it.contains('s')).then_some(())
    })
    .await;
    let log = hub.get("/api/mcp/instances/s/log").await;
    assert!(log.to_string().contains("disk almost full"), "{log}");
}

#[tokio::test]
async fn a_process_that_crashed_is_another_one_with_the_next_call() {
    let hub = over_stdio(&[]).await;
    let first = server_pid(&hub, "s").await;
    hub.call("mcp__s__spawn_child", json!({})).await;
    let family = descendants(hub.pid());
    hub.call("mcp__s__crash", json!({})).await;
    let second = server_pid(&hub, "s").await;
    assert_ne!(first, second);
    all_gone(&family).await;
}

#[tokio::test]
async fn a_process_gets_its_environment_file_and_its_own_variables() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(".env");
    fs::write(&file, "# a comment\nFROM_FILE='of the file'\nBOTH=file\n").unwrap();
    let mut entry = stdio_fixture(&[]);
    entry["envFile"] = json!(file);
    entry["env"] = json!({ "BOTH": "entry" });
    let hub = hub_with(json!({ "s": entry })).await;
    for (name, expected) in [("FROM_FILE", "of the file"), ("BOTH", "entry")] {
        let result = hub.call("mcp__s__env", json!({ "name": name })).await;
        assert_eq!(result["structuredContent"]["value"], expected, "{name}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let hub = Hub::start().await;
    let imported = hub.import(json!({ "s": { "command": "no-such-program-anywhere", "args": [] } })).await;
    let failed = imported["failed"][0]["error"].as_str().unwrap_or_else(|| panic!("{imported}"));
    assert!(
        failed.starts_with("cannot reach `s`: ") && failed.contains("no-such-program-anywhere"),
        "{failed}"
    );
}
