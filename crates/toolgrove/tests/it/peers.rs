//! Programs of other people on both sides of one hub: their servers behind it, their clients in front.

use std::io::Read;
use std::process::Stdio;

use flate2::read::GzDecoder;
use futures::StreamExt;
use http::Method;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use toolgrove_fixture::Options;

use crate::grove::{add, eventually, fixture, hub_with};
use crate::hub::{Hub, modern_request};
use crate::third::{EVERYTHING, everything, listening, node, python, script, variable};

const INSPECTOR: &str = "node_modules/.bin/inspector";

/// All six servers behind one hub.
struct Grove {
    hub: Hub,
    _servers: Vec<Child>,
}

/// One call of each server: slug, tool, arguments, and the text of the result.
const CALLS: [(&str, &str, &str, &str); 6] = [
    ("ev-stdio", "echo", r#"{"message":"grüße"}"#, "Echo: grüße"),
    ("ev-sse", "get-sum", r#"{"a":20,"b":22}"#, "The sum of 20 and 22 is 42."),
    ("ev-http", "echo", r#"{"message":"over http"}"#, "Echo: over http"),
    ("py-stdio", "greet", r#"{"name":"Ada"}"#, "Hello, Ada!"),
    ("py-http", "add", r#"{"a":1,"b":2}"#, "3.0"),
    ("ts-http", "add", r#"{"a":1,"b":2}"#, "3"),
];

impl Grove {
    async fn start() -> Self {
        let mut python_server = python("py_server.py");
        python_server.arg("streamable-http");
        let (sse, http, python_http, typescript) = tokio::join!(
            everything("sse"),
            everything("streamableHttp"),
            listening(python_server),
            listening(node("ts-server.mjs")),
        );
        let hub = Hub::start().await;
        let place = |name| variable(name).display().to_string();
        add(&hub, json!({
            "ev-stdio": { "command": place("TOOLGROVE_TEST_NODE"), "args": [script(EVERYTHING), "stdio"] },
            "ev-sse": { "type": "sse", "url": sse.1 },
            "ev-http": { "url": http.1 },
            "py-stdio": { "command": place("TOOLGROVE_TEST_PYTHON"), "args": [script("py_server.py"), "stdio"] },
            "py-http": { "url": python_http.1 },
            "ts-http": { "url": typescript.1 },
        }))
        .await;
        Self { hub, _servers: vec![sse.0, http.0, python_http.0, typescript.0] }
    }

    fn address(&self, path: &str) -> String {
        format!("{}{path}", self.hub.url)
    }
}

/// Every tool that must be in a list of everything.
fn expected() -> Vec<String> {
    let reference = [
        "echo",
        "get-sum",
        "get-env",
        "get-tiny-image",
        "get-structured-content",
        "trigger-long-running-operation",
    ];
    let mut all = Vec::new();
    for slug in ["ev-stdio", "ev-sse", "ev-http"] {
        all.extend(reference.iter().map(|tool| format!("mcp__{slug}__{tool}")));
    }
    for slug in ["py-stdio", "py-http", "ts-http"] {
        all.extend(["add", "greet", "slow"].iter().map(|tool| format!("mcp__{slug}__{tool}")));
    }
    all
}

#[track_caller]
fn check_list(tools: &[String], who: &str) {
    for tool in expected() {
        assert!(tools.contains(&tool), "{who}: {tool} is missing in {tools:?}");
    }
}

#[track_caller]
fn check_result(result: &Value, text: &str, who: &str) {
    assert_eq!(result["content"][0]["text"], text, "{who}: {result}");
    assert!(result["isError"].is_null() || result["isError"] == false, "{who}: {result}");
}

/// Runs a client to its end and reads what it printed as JSON.
async fn run(command: &mut Command, who: &str) -> Value {
    let output = command.stdin(Stdio::null()).output().await.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{who}: {out}{err}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{who}: {error}: {out}{err}"))
}

/// One client run per server: the list is whole, the result right, the era the one that was asked for.
async fn check_sdk_client(
    grove: &Grove,
    name: &str,
    client: impl Fn() -> Command,
    path: &str,
    eras: &[(&str, &str)],
    calls: &[(&str, &str, &str, &str)],
    at_once: usize,
) {
    let runs = eras.iter().flat_map(|era| calls.iter().map(|call| (*era, *call)));
    futures::stream::iter(runs)
        .map(async |((era, protocol), (slug, tool, arguments, text))| {
            let who = format!("{name}, {era}, {path}, {slug}");
            let mut command = client();
            command.args([
                &grove.address(path),
                &format!("mcp__{slug}__{tool}"),
                arguments,
                "--era",
                era,
                "--key",
                &grove.hub.key,
            ]);
            let said = run(&mut command, &who).await;
            assert_eq!(said["protocol"], protocol, "{who}");
            let tools: Vec<String> = serde_json::from_value(said["tools"].clone()).unwrap();
            check_list(&tools, &who);
            check_result(&said["result"], text, &who);
        })
        .buffer_unordered(at_once)
        .collect::<Vec<()>>()
        .await;
}

const BOTH_ERAS: [(&str, &str); 2] = [("legacy", "2025-11-25"), ("modern", "2026-07-28")];

#[tokio::test]
async fn the_typescript_client_lists_and_calls_all_servers_in_both_eras() {
    let grove = Grove::start().await;
    check_sdk_client(&grove, "TypeScript", || node("ts-client.mjs"), "/mcp", &BOTH_ERAS, &CALLS, 3).await;
    for slug in ["py-stdio", "py-http", "ts-http"] {
        let mut command = node("ts-client.mjs");
        let tool = format!("mcp__{slug}__slow");
        command.args([
            &grove.address("/mcp"),
            &tool,
            "{\"steps\":3,\"ms\":20}",
            "--progress",
            "--key",
            &grove.hub.key,
        ]);
        let said = run(&mut command, slug).await;
        assert_eq!(said["progress"], json!([1, 2, 3]), "{slug}: {said}");
        check_result(&said["result"], "done after 3 steps", slug);
    }
}

#[tokio::test]
async fn the_python_client_lists_and_calls_all_servers_in_both_eras_and_over_the_old_sse() {
    let grove = Grove::start().await;
    check_sdk_client(&grove, "Python", || python("py_client.py"), "/mcp", &BOTH_ERAS, &CALLS, 3).await;
    // One after the other, and not the reference server, which announces a change with every new session: this
    // client fails when a notification reaches it while it leaves.
    let legacy = &BOTH_ERAS[..1];
    check_sdk_client(&grove, "Python", || python("py_client.py"), "/sse", legacy, &CALLS[3..], 1).await;
}

/// What the Inspector prints for one method.
async fn inspect(target: &[&str], rest: &[&str], era: &str) -> Value {
    let mut command = node(INSPECTOR);
    command
        .env("MCP_INSPECTOR_SECRET_STORE", "memory")
        .arg("--cli")
        .args(target)
        .args(["--protocol-era", era, "--format", "json"])
        .args(rest);
    let home = tempfile::tempdir().unwrap();
    command.env("HOME", home.path());
    run(&mut command, &format!("Inspector {era} {target:?} {rest:?}")).await
}

async fn check_inspector(target: &[&str], era: &str, calls: &[(&str, &str, &str, &str)]) {
    let list = inspect(target, &["--method", "tools/list"], era).await;
    let list = list.get("result").unwrap_or(&list);
    let tools: Vec<String> = list["tools"]
        .as_array()
        .unwrap_or_else(|| panic!("{list}"))
        .iter()
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect();
    check_list(&tools, &format!("Inspector {era}"));
    for (slug, tool, arguments, text) in calls {
        let arguments: serde_json::Map<String, Value> = serde_json::from_str(arguments).unwrap();
        let pairs: Vec<String> = arguments
            .iter()
            .map(|(key, value)| {
                format!("{key}={}", value.as_str().map_or_else(|| value.to_string(), Into::into))
            })
            .collect();
        let name = format!("mcp__{slug}__{tool}");
        let mut rest = vec!["--method", "tools/call", "--tool-name", &name];
        for pair in &pairs {
            rest.extend(["--tool-arg", pair]);
        }
        let said = inspect(target, &rest, era).await;
        check_result(said.get("result").unwrap_or(&said), text, &format!("Inspector {era} {name}"));
    }
}

#[tokio::test]
async fn the_inspector_lists_and_calls_all_servers_over_http_and_as_a_child_process() {
    let grove = Grove::start().await;
    let (url, key) = (grove.address("/mcp"), format!("Authorization: Bearer {}", grove.hub.key));
    let http = [url.as_str(), "--transport", "http", "--header", &key];
    let data = format!("TOOLGROVE_DATA={}", grove.hub.data().display());
    let config = format!("TOOLGROVE_CONFIG={}", grove.hub.dir.path().join("toolgrove.toml").display());
    let child =
        [env!("CARGO_BIN_EXE_toolgrove"), "stdio", "--transport", "stdio", "-e", &data, "-e", &config];
    tokio::join!(check_inspector(&http, "legacy", &CALLS), async {
        check_inspector(&http, "modern", &CALLS[..2]).await;
        check_inspector(&child, "legacy", &CALLS[2..4]).await;
        check_inspector(&child, "modern", &CALLS[4..]).await;
    });
}

/// Whether the answer to a request that takes gzip came compressed, and what it says.
async fn listed(hub: &Hub, era: &str, id: u64) -> (bool, Value) {
    let (mut headers, mut body) = modern_request("tools/list", json!({}));
    if era == "legacy" {
        headers.truncate(2);
        body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    }
    body["id"] = id.into();
    headers.push(("accept-encoding", "gzip, deflate".into()));
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = hub.ask(Method::POST, "/mcp", &headers, body.to_string()).await;
    if answer.headers.get("content-encoding").is_none_or(|it| it != "gzip") {
        return (false, answer.json());
    }
    let mut whole = String::new();
    GzDecoder::new(&answer.body[..]).read_to_string(&mut whole).unwrap();
    assert!(answer.body.len() * 4 < whole.len(), "{} of {}", answer.body.len(), whole.len());
    (true, serde_json::from_str(&whole).unwrap())
}

#[tokio::test]
async fn a_long_list_is_compressed_once_and_read_by_the_clients_of_both_sdks() {
    let server = fixture(Options { tools: 200, ..Options::default() }).await;
    let hub = hub_with(json!({ "s": { "url": server.url() } })).await;
    for (era, _) in BOTH_ERAS {
        let (is_zipped, plain) = listed(&hub, era, 1).await;
        assert!(!is_zipped, "who asks first does not wait for it");
        let zipped = eventually("a compressed list", async || {
            let (is_zipped, list) = listed(&hub, era, 2).await;
            is_zipped.then_some(list)
        })
        .await;
        assert_eq!((&plain["id"], &zipped["id"]), (&json!(1), &json!(2)));
        assert_eq!(plain["result"], zipped["result"]);
    }
    let tools = hub.tools().await;
    assert!(tools.len() > 200);
    for (era, protocol) in BOTH_ERAS {
        for (who, mut client) in [("TypeScript", node("ts-client.mjs")), ("Python", python("py_client.py"))] {
            client.args([&format!("{}/mcp", hub.url), "--era", era, "--key", &hub.key]);
            let said = run(&mut client, who).await;
            assert_eq!((&said["protocol"], &said["tools"]), (&json!(protocol), &json!(tools)), "{who}");
        }
    }
}
