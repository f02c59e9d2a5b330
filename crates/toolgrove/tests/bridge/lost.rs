//! What becomes of a call when its server starts anew, forgets the session or crashes in the middle of a form, a
//! sampling or a report: in every cell what ARCHITECTURE.md says, and the next call works.

use serde_json::{Value, json};
use tokio::process::Command;
use toolgrove_fixture::{Era, Options};

use crate::grove::{ERAS, eventually, over_http, over_stdio};
use crate::hub::{Hub, Stream};
use crate::talk::{Door, LATEST, Legacy, Modern, everything, keys, obliging, retry};

/// What is going on when something is lost: the tool, its arguments, and what it asks.
fn middles() -> [(&'static str, Value, Option<&'static str>); 3] {
    [
        ("test_elicitation", json!({ "message": "Who?" }), Some("elicitation/create")),
        ("test_sampling", json!({ "prompt": "?" }), Some("sampling/createMessage")),
        ("sleep", json!({ "ms": 3_000 }), None),
    ]
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({ "name": format!("mcp__s__{tool}"), "arguments": arguments, "_meta": { "progressToken": 1 } })
}

/// A call of either client, in the middle.
enum Middle<'a> {
    Asked { client: Modern<'a>, tool: &'static str, arguments: Value, asked: Value },
    Reporting(Box<Stream>),
    Legacy { client: Box<Legacy<'a>>, id: u64, question: Option<Value> },
}

impl<'a> Middle<'a> {
    async fn modern(hub: &'a Hub, (tool, arguments, question): (&'static str, Value, Option<&str>)) -> Self {
        let client = Modern::new(hub, everything());
        if question.is_none() {
            let mut stream = client.open("tools/call", call(tool, &arguments)).await;
            assert_eq!(stream.next().await.unwrap()["method"], "notifications/progress");
            return Self::Reporting(Box::new(stream));
        }
        let asked = client.ask("tools/call", call(tool, &arguments)).await;
        assert_eq!(keys(&asked).len(), 1, "{asked}");
        Self::Asked { client, tool, arguments, asked }
    }

    async fn legacy(hub: &'a Hub, (tool, arguments, question): (&'static str, Value, Option<&str>)) -> Self {
        let mut client = Box::new(Legacy::open(hub, Door::Http, LATEST, everything(), obliging).await);
        let id = client.start("tools/call", call(tool, &arguments)).await;
        let heard = client.wait_for(question.unwrap_or("notifications/progress")).await;
        Self::Legacy { client, id, question: question.map(|_| heard) }
    }

    /// Goes on as a client does that has noticed nothing; gives the result or the error.
    async fn end(self) -> Value {
        match self {
            Self::Asked { client, tool, arguments, asked } => {
                let (key, request) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
                let answers = json!({ key: obliging(request) });
                client.ask("tools/call", retry(&format!("mcp__s__{tool}"), arguments, &asked, answers)).await
            }
            Self::Reporting(stream) => {
                let message = stream.rest().await.json();
                message.get("result").or(message.get("error")).cloned().unwrap_or(message)
            }
            Self::Legacy { mut client, id, question } => {
                if let Some(question) = question {
                    client.reply(&question).await;
                }
                client.finish(id).await.outcome().clone()
            }
        }
    }
}

/// A call that was at its server when that was lost, and had asked something or not.
#[track_caller]
fn check_lost(ended: &Value, question: Option<&str>, what: &str) {
    assert_eq!(
        (&ended["code"], &ended["data"]["code"]),
        (&json!(-32603), &json!("link.unreachable")),
        "{what}: {ended}"
    );
    let message = ended["message"].as_str().unwrap();
    assert!(message.starts_with("cannot reach `s`: "), "{what}: {message}");
    assert_eq!(message.ends_with("; the call may have had effects"), question.is_some(), "{what}: {message}");
}

async fn check_next(hub: &Hub, what: &str) {
    eventually(what, async || hub.call("mcp__s__echo", json!({})).await.get("content").cloned()).await;
    assert_eq!(hub.get("/api/status").await["parked"], 0, "{what}");
}

#[tokio::test]
async fn a_server_that_starts_anew_ends_the_calls_it_held_and_no_others() {
    for era in ERAS {
        let (hub, mut server) = over_http(Options { era, ..Options::default() }).await;
        for middle in middles() {
            for is_modern in [true, false] {
                let what = format!("{era:?} server, modern client {is_modern}, {}", middle.0);
                let question = middle.2;
                let held = if is_modern {
                    Middle::modern(&hub, middle.clone()).await
                } else {
                    Middle::legacy(&hub, middle.clone()).await
                };
                server.restart().await.unwrap();
                let ended = held.end().await;
                if era == Era::Modern && question.is_some() {
                    // It had answered, and remembers nothing in between.
                    assert!(ended["content"].is_array(), "{what}: {ended}");
                } else {
                    check_lost(&ended, question, &what);
                }
                check_next(&hub, &what).await;
            }
        }
    }
}

fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children = threads.filter_map(|it| std::fs::read_to_string(it.path().join("children")).ok());
    children
        .flat_map(|it| it.split_whitespace().filter_map(|it| it.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Kills every server below a hub, and waits until the shepherds are gone that would have ended them.
async fn crash_all(hub: &Hub) {
    let shepherds = children(hub.pid());
    for pid in shepherds.iter().flat_map(|it| children(*it)) {
        let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status().await;
    }
    eventually("the hub notices", async || {
        children(hub.pid()).iter().all(|it| !shepherds.contains(it)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_process_that_crashes_ends_the_calls_it_held_and_no_others() {
    for era in ERAS {
        let name = if era == Era::Modern { "modern" } else { "legacy" };
        for middle in middles() {
            for is_modern in [true, false] {
                let what = format!("{era:?} process, modern client {is_modern}, {}", middle.0);
                let question = middle.2;
                // A process that dies often is left alone for a while, so each has a hub of its own.
                let hub = over_stdio(&["--era", name]).await;
                let held = if is_modern {
                    Middle::modern(&hub, middle.clone()).await
                } else {
                    Middle::legacy(&hub, middle.clone()).await
                };
                // A client that can be asked may have a process of its own.
                crash_all(&hub).await;
                let ended = held.end().await;
                if era == Era::Modern && question.is_some() {
                    assert!(ended["content"].is_array(), "{what}: {ended}");
                } else {
                    check_lost(&ended, question, &what);
                }
                check_next(&hub, &what).await;
            }
        }
    }
}

#[tokio::test]
async fn a_session_the_server_forgets_ends_the_calls_that_were_asked_and_no_others() {
    let (hub, _server) = over_http(Options { lose_sessions: true, ..Options::default() }).await;
    for middle in middles() {
        for is_modern in [true, false] {
            let what = format!("modern client {is_modern}, {}", middle.0);
            let question = middle.2;
            let held = if is_modern {
                Middle::modern(&hub, middle.clone()).await
            } else {
                Middle::legacy(&hub, middle.clone()).await
            };
            hub.call("mcp__s__forget_sessions", json!({})).await;
            let ended = held.end().await;
            if question.is_some() {
                check_lost(&ended, question, &what);
                let message = ended["message"].as_str().unwrap();
                assert!(message.contains("has forgotten the session of this call"), "{what}: {message}");
            } else {
                // Its stream is open, and the result comes on it.
                assert!(ended["content"].is_array(), "{what}: {ended}");
            }
            check_next(&hub, &what).await;
        }
    }
}
