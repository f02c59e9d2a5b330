//! All four cells with programs of other people at both ends, on one `/mcp` with everything behind it: a form, a model,
//! progress and a cancel half-way look to both ends as they would without a hub.

use std::process::Stdio;

use futures::StreamExt;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use toolgrove_fixture::{Options, Running};

use crate::grove::{eventually, fixture, text};
use crate::hub::Hub;
use crate::third::{EVERYTHING, everything, listening, node, python, script, variable};

/// Six live servers of both eras behind one hub, a dead one and a slow one beside them.
struct Grove {
    hub: Hub,
    /// Where the servers over HTTP are reached without the hub.
    direct: Vec<(&'static str, String)>,
    _servers: Vec<Child>,
    _slow: Running,
}

impl Grove {
    async fn start() -> Self {
        let mut python_http = python("py_ask_server.py");
        python_http.arg("streamable-http");
        let slow = fixture(Options { slow_ms: 2_000, ..Options::default() }).await;
        let (sse, http, py, ts) = tokio::join!(
            everything("sse"),
            everything("streamableHttp"),
            listening(python_http),
            listening(node("ts-ask-server.mjs")),
        );
        let hub = Hub::start().await;
        let place = |name| variable(name).display().to_string();
        hub.import(json!({
            "ev-stdio": { "command": place("TOOLGROVE_TEST_NODE"), "args": [script(EVERYTHING), "stdio"] },
            "ev-sse": { "type": "sse", "url": sse.1 },
            "ev-http": { "url": http.1 },
            "ts": { "url": ts.1 },
            "py": { "url": py.1 },
            "py-old": { "command": place("TOOLGROVE_TEST_PYTHON"), "args": [script("py_ask_server.py"), "stdio"], "era": "legacy" },
            "dead": { "url": "http://127.0.0.1:1/mcp" },
            "slow": { "url": slow.url() },
        }))
        .await;
        let direct = vec![("ev-http", http.1), ("ts", ts.1), ("py", py.1)];
        Self { hub, direct, _servers: vec![sse.0, http.0, py.0, ts.0], _slow: slow }
    }

    fn direct(&self, slug: &str) -> &str {
        &self.direct.iter().find(|it| it.0 == slug).unwrap().1
    }
}

/// What a tool of a server is called, and what it is to say.
struct Case {
    slug: &'static str,
    tool: &'static str,
    arguments: &'static str,
    /// What it asks, in the server's own words.
    asked: Option<(&'static str, &'static str)>,
    progress: &'static [f64],
    says: &'static str,
}

const FORM: &str = "elicitation/create";
const MODEL: &str = "sampling/createMessage";

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for slug in ["ev-stdio", "ev-sse", "ev-http"] {
        let form = (FORM, "Please provide inputs for the following fields:");
        let model = (MODEL, "Resource trigger-sampling-request context: it");
        let long = r#"{"duration":0.3,"steps":3}"#;
        cases.push(Case {
            slug,
            tool: "trigger-elicitation-request",
            arguments: "{}",
            asked: Some(form),
            progress: &[],
            says: "- Name: Ada",
        });
        cases.push(Case {
            slug,
            tool: "trigger-sampling-request",
            arguments: r#"{"prompt":"it"}"#,
            asked: Some(model),
            progress: &[],
            says: "forty-two",
        });
        cases.push(Case {
            slug,
            tool: "trigger-long-running-operation",
            arguments: long,
            asked: None,
            progress: &[1.0, 2.0, 3.0],
            says: "Long running operation completed",
        });
    }
    for slug in ["ts", "py", "py-old"] {
        let slow = r#"{"steps":3,"ms":30}"#;
        cases.push(Case {
            slug,
            tool: "ask",
            arguments: "{}",
            asked: Some((FORM, "Who are you?")),
            progress: &[],
            says: "Hello, Ada!",
        });
        cases.push(Case {
            slug,
            tool: "sample",
            arguments: "{}",
            asked: Some((MODEL, "What is it?")),
            progress: &[],
            says: "peer-model says forty-two",
        });
        cases.push(Case {
            slug,
            tool: "slow",
            arguments: slow,
            asked: None,
            progress: &[1.0, 2.0, 3.0],
            says: "done after 3 steps",
        });
    }
    cases
}

/// Runs a client to its end and reads what it printed.
async fn run(mut command: Command, who: &str) -> Value {
    let output = command.stdin(Stdio::null()).output().await.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{who}: {out}{err}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{who}: {error}: {out}{err}"))
}

/// The texts of a result, one after the other.
fn words(said: &Value) -> String {
    let parts = said["result"]["content"].as_array().cloned().unwrap_or_default();
    parts.iter().filter_map(|it| it["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// Values a client reports by itself between rounds are not the server's.
fn progress(said: &Value, case: &Case) -> Vec<f64> {
    let all: Vec<f64> = serde_json::from_value(said["progress"].clone()).unwrap();
    if case.asked.is_some() { Vec::new() } else { all }
}

/// What a client was asked, but for its roots.
fn questions(said: &Value) -> Vec<Value> {
    said["asked"].as_array().unwrap().iter().filter(|it| it["method"] != "roots/list").cloned().collect()
}

/// The reference server has these only for clients that can be asked.
fn is_conditional(case: &Case) -> bool {
    case.slug.starts_with("ev-") && case.asked.is_some()
}

async fn check_cases(grove: &Grove, client: fn() -> Command, name: &str, wanted: fn(&Case) -> bool) {
    let (address, key) = (format!("{}/mcp", grove.hub.url), grove.hub.key.clone());
    let runs = [("legacy", "2025-11-25"), ("modern", "2026-07-28")]
        .into_iter()
        .flat_map(|era| cases().into_iter().filter(wanted).map(move |case| (era, case)));
    let (address, key) = (&address, &key);
    let problems: Vec<Option<String>> = futures::stream::iter(runs)
        .map(async |((era, protocol), case)| {
            let who = format!("{name}, {era}, {} {}", case.slug, case.tool);
            let mut through = client();
            through.args([
                address,
                &format!("mcp__{}__{}", case.slug, case.tool),
                case.arguments,
                "--era",
                era,
                "--key",
                key,
            ]);
            let said = run(through, &who).await;
            let asked = case.asked.map(|(method, message)| {
                // A person sees who asks; a model does not care.
                let message =
                    if method == FORM { format!("[{}] {message}", case.slug) } else { message.to_owned() };
                json!({ "method": method, "message": message })
            });
            let asked: Vec<Value> = asked.into_iter().collect();
            let progress = progress(&said, &case);
            // The reference server asks for roots soon after it was greeted. A modern client is away meanwhile, and
            // what is reported then is lost.
            let is_reported = match (case.slug.starts_with("ev-"), era) {
                (true, "modern") => {
                    // A client may report the number of each round it is asked in, whatever was reported before.
                    let mut progress = progress.clone();
                    if let Some(own) = progress.windows(2).position(|it| it[1] <= it[0]) {
                        let rounds = said["asked"].as_array().unwrap().len();
                        assert_eq!(progress.remove(own + 1).to_string(), rounds.to_string(), "{who}: {said}");
                    }
                    progress.is_sorted() && progress.iter().all(|it| case.progress.contains(it))
                }
                _ => progress == case.progress,
            };
            let is_right = said["protocol"] == protocol
                && said["error"].is_null()
                && questions(&said) == asked
                && is_reported
                && words(&said).contains(case.says);
            if !is_right {
                return Some(format!("{who}: {said}"));
            }
            let shares_an_era =
                matches!((case.slug, era), ("ev-http", "legacy") | ("ts", "modern") | ("py", _));
            if !shares_an_era {
                return None;
            }
            let mut alone = client();
            alone.args([grove.direct(case.slug), case.tool, case.arguments, "--era", era]);
            let direct = run(alone, &who).await;
            let is_same = words(&direct) == words(&said)
                && self::progress(&direct, &case) == progress
                && questions(&direct).len() == asked.len();
            (!is_same).then(|| format!("{who}: through the hub {said}, without it {direct}"))
        })
        .buffer_unordered(3)
        .collect()
        .await;
    let problems: Vec<_> = problems.into_iter().flatten().collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

async fn check_client(client: fn() -> Command, name: &str) {
    let grove = Grove::start().await;
    check_cases(&grove, client, name, |it| !is_conditional(it)).await;
    let (address, key) = (&format!("{}/mcp", grove.hub.url), &grove.hub.key);
    for (slug, era) in
        ["ts", "py", "py-old"].into_iter().flat_map(|slug| ["legacy", "modern"].map(|era| (slug, era)))
    {
        let who = format!("{name}, {era}, {slug}: cancelled half-way");
        let count = async || {
            text(&grove.hub.call(&format!("mcp__{slug}__cancelled"), json!({})).await).parse::<u32>().unwrap()
        };
        let before = count().await;
        let mut command = client();
        let tool = format!("mcp__{slug}__slow");
        command.args([address, &tool, r#"{"steps":100,"ms":50}"#, "--era", era, "--key", key, "--cancel"]);
        let said = run(command, &who).await;
        assert_eq!(said["progress"].as_array().map(Vec::len), Some(1), "{who}: {said}");
        assert_eq!(said["result"], Value::Null, "{who}: {said}");
        // The process that runs the calls of a client that can be asked is its own; nobody else can count there.
        if slug != "py-old" {
            eventually(&who, async || (count().await == before + 1).then_some(())).await;
        }
    }
    for (slug, tool) in [("ts", "ask"), ("py", "ask"), ("py-old", "ask")] {
        for era in ["legacy", "modern"] {
            let who = format!("{name}, {era}, {slug}: declined");
            let mut command = client();
            command.args([
                address,
                &format!("mcp__{slug}__{tool}"),
                "{}",
                "--era",
                era,
                "--key",
                key,
                "--decline",
            ]);
            let said = run(command, &who).await;
            assert!(words(&said).contains("decline"), "{who}: {said}");
        }
    }
    let status = grove.hub.get("/api/status").await;
    assert_eq!(status["parked"], 0, "{name}: {status}");
}

#[tokio::test]
async fn the_typescript_client_is_asked_told_and_obeyed_in_all_four_cells() {
    check_client(|| node("ts-ask-client.mjs"), "TypeScript").await;
}

#[tokio::test]
async fn the_python_client_is_asked_told_and_obeyed_in_all_four_cells() {
    check_client(|| python("py_ask_client.py"), "Python").await;
}

#[tokio::test]
async fn the_typescript_client_uses_tools_that_a_server_has_only_for_those_who_can_be_asked() {
    check_cases(&Grove::start().await, || node("ts-ask-client.mjs"), "TypeScript", is_conditional).await;
}

#[tokio::test]
async fn the_python_client_uses_tools_that_a_server_has_only_for_those_who_can_be_asked() {
    check_cases(&Grove::start().await, || python("py_ask_client.py"), "Python", is_conditional).await;
}
