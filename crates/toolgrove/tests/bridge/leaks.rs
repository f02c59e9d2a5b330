//! Fifty times everything that can go wrong between a question and its answer: nothing is left of it in the hub.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::{Era, Options};

use crate::grove::{add, eventually, fixture, text};
use crate::hub::{Hub, PATIENCE, stdio_fixture};
use crate::talk::{Door, LATEST, Legacy, Modern, accept, everything, keys, obliging};

const ROUNDS: usize = 50;
/// A hub keeps up to eight processes of a server for calls that come at once: seven more than the first needed.
const MORE_LINKS: usize = 7;
/// Pipes of those, and connections that are kept for the next request: fewer than one for each round.
const MORE_FILES: usize = 6 + 4 * MORE_LINKS;

/// What a hub holds.
#[derive(Debug, Clone)]
struct Held {
    files: usize,
    children: usize,
    parked: u64,
    sessions: u64,
}

async fn held(hub: &Hub) -> Held {
    let pid = hub.pid();
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    // Any thread may have started a process.
    let children = std::fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .filter_map(|it| std::fs::read_to_string(it.ok()?.path().join("children")).ok())
        .map(|it| it.split_whitespace().count())
        .sum();
    let status = hub.get("/api/status").await;
    let (parked, sessions) = (status["parked"].as_u64().unwrap(), status["sessions"].as_u64().unwrap());
    Held { files, children, parked, sessions }
}

/// Does something once to warm up, then fifty times, and waits until the hub holds no more than before.
async fn check(hub: &Hub, what: &str, mut round: impl AsyncFnMut()) {
    round().await;
    let before = eventually(&format!("{what}: the hub is at rest"), async || {
        let held = held(hub).await;
        (held.parked == 0 && held.sessions == 0).then_some(held)
    })
    .await;
    for _ in 0..ROUNDS {
        round().await;
    }
    at_rest(hub, what, &before).await;
}

/// Waits until the hub holds no more than before.
async fn at_rest(hub: &Hub, what: &str, before: &Held) {
    let began = tokio::time::Instant::now();
    loop {
        let now = held(hub).await;
        if now.files <= before.files + MORE_FILES
            && now.children <= before.children + MORE_LINKS
            && (now.parked, now.sessions) == (0, 0)
        {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{what}: before {before:?}, after {now:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn user(asked: &Value) -> Value {
    json!({ keys(asked)[0].clone(): accept(json!({ "username": "ada", "email": "a@b" })) })
}

fn ask() -> Value {
    json!({ "message": "Who?" })
}

/// The fixture as processes and over HTTP, of both eras.
async fn grove() -> (Hub, [toolgrove_fixture::Running; 2]) {
    let http = fixture(Options { lose_sessions: true, ..Options::default() }).await;
    let modern = fixture(Options { era: Era::Modern, ..Options::default() }).await;
    let hub = Hub::start().await;
    let servers = json!({
        "pipe": stdio_fixture(&[]),
        "http": { "url": http.url() },
        "modern": { "url": modern.url() },
        "modern-pipe": stdio_fixture(&["--era", "modern"]),
    });
    add(&hub, servers).await;
    (hub, [http, modern])
}

const SLUGS: [&str; 4] = ["pipe", "http", "modern", "modern-pipe"];

/// A client that goes away while it is asked.
async fn check_leaving(door: Door) {
    let (hub, _servers) = grove().await;
    for (slug, tool) in SLUGS.into_iter().zip(["test_elicitation", "test_sampling"].into_iter().cycle()) {
        check(&hub, &format!("{slug} {door:?} {tool}"), async || {
            let mut client = Legacy::open(&hub, door, LATEST, everything(), obliging).await;
            let arguments = json!({ "message": "Who?", "prompt": "?" });
            let params = json!({ "name": format!("mcp__{slug}__{tool}"), "arguments": arguments });
            client.start("tools/call", params).await;
            // Lists may change meanwhile.
            while client.next().await.get("id").is_none() {}
            if door == Door::Http {
                let headers = [("mcp-session-id", client.session())];
                assert_eq!(hub.ask(Method::DELETE, "/mcp", &headers, "").await.status, 204);
            }
        })
        .await;
    }
}

#[tokio::test]
async fn clients_over_http_that_leave_in_the_middle_of_a_question_leave_nothing() {
    check_leaving(Door::Http).await;
}

#[tokio::test]
async fn clients_over_http_that_leave_without_a_word_keep_a_session_and_nothing_else() {
    let (hub, _servers) = grove().await;
    for slug in ["http", "modern"] {
        let before = held(&hub).await;
        let mut sessions = Vec::new();
        for _ in 0..ROUNDS {
            let mut client = Legacy::open(&hub, Door::Http, LATEST, everything(), obliging).await;
            let params = json!({ "name": format!("mcp__{slug}__test_elicitation"), "arguments": ask() });
            client.start("tools/call", params).await;
            client.wait_for("elicitation/create").await;
            sessions.push(client.session().to_owned());
        }
        let left = held(&hub).await;
        // Its call runs on for a minute, over at most a stream for what is asked, one for what is told, and one to answer.
        assert!(
            left.files <= before.files + MORE_FILES + 3 * ROUNDS,
            "{slug}: before {before:?}, then {left:?}"
        );
        assert_eq!((left.sessions, left.parked), (ROUNDS as u64, 0), "{slug}");
        // Whoever says goodbye after all, or is forgotten, leaves nothing.
        for session in sessions {
            let headers = [("mcp-session-id", session.as_str())];
            assert_eq!(hub.ask(Method::DELETE, "/mcp", &headers, "").await.status, 204);
        }
        at_rest(&hub, slug, &before).await;
    }
}

#[tokio::test]
async fn clients_over_the_old_sse_that_leave_in_the_middle_of_a_question_leave_nothing() {
    check_leaving(Door::Sse).await;
}

#[tokio::test]
async fn clients_over_stdio_that_leave_in_the_middle_of_a_question_leave_nothing() {
    check_leaving(Door::Stdio).await;
}

#[tokio::test]
async fn clients_that_leave_in_the_middle_of_a_report_leave_nothing() {
    let (hub, _servers) = grove().await;
    for slug in SLUGS {
        let name = format!("mcp__{slug}__sleep");
        let params = json!({ "name": name, "arguments": { "ms": 60_000 }, "_meta": { "progressToken": 1 } });
        check(&hub, &format!("{slug} modern"), async || {
            let client = Modern::new(&hub, everything());
            let mut stream = client.open("tools/call", params.clone()).await;
            assert_eq!(stream.next().await.unwrap()["method"], "notifications/progress");
        })
        .await;
        check(&hub, &format!("{slug} legacy"), async || {
            let mut client = Legacy::open(&hub, Door::Sse, LATEST, everything(), obliging).await;
            client.start("tools/call", params.clone()).await;
            client.wait_for("notifications/progress").await;
        })
        .await;
    }
}

#[tokio::test]
async fn calls_that_are_parked_and_taken_up_again_leave_nothing() {
    let (hub, _servers) = grove().await;
    let client = Modern::new(&hub, everything());
    for slug in SLUGS {
        let name = format!("mcp__{slug}__test_elicitation");
        check(&hub, slug, async || {
            let asked = client.call(&name, ask()).await;
            let result = client.retry(&name, ask(), &asked, user(&asked)).await;
            assert!(text(&result).starts_with("User response: action=accept"), "{result}");
        })
        .await;
    }
}

#[tokio::test]
async fn clients_that_come_back_for_a_lost_stream_leave_nothing() {
    let (hub, _servers) = grove().await;
    for slug in SLUGS {
        check(&hub, slug, async || {
            let session = hub.legacy_with("/mcp", LATEST, everything()).await;
            let name = format!("mcp__{slug}__test_streaming_elicitation");
            let params = json!({ "name": name, "arguments": {}, "_meta": { "progressToken": 1 } });
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            let mut stream = session.open(call).await;
            stream.next().await.unwrap();
            let last = stream.last_id.clone().unwrap();
            drop(stream);
            let id = ("mcp-session-id", session.session.as_str());
            let headers = [("accept", "text/event-stream"), id, ("last-event-id", last.as_str())];
            let mut rest = hub.open(Method::GET, "/mcp", &headers, "").await;
            let mut message = rest.next().await.unwrap();
            while message["method"] != "elicitation/create" {
                message = rest.next().await.unwrap();
            }
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "action": "decline" } });
            assert_eq!(session.post(answer).await.status, 202);
            while message.get("result").is_none() {
                message = rest.next().await.unwrap();
            }
            assert_eq!(hub.ask(Method::DELETE, "/mcp", &[id], "").await.status, 204);
        })
        .await;
    }
}

#[tokio::test]
async fn servers_that_forget_their_sessions_leave_nothing() {
    let (hub, _servers) = grove().await;
    let client = Modern::new(&hub, everything());
    let name = "mcp__http__test_elicitation";
    check(&hub, "parked", async || {
        let asked = client.call(name, ask()).await;
        client.call("mcp__http__forget_sessions", json!({})).await;
        // The server no longer knows who answers.
        let ended = client.retry(name, ask(), &asked, user(&asked)).await;
        let cause = "the server has forgotten the session of this call; the call may have had effects";
        assert_eq!(ended["message"], format!("cannot reach `http`: {cause}"), "{ended}");
        assert_eq!((&ended["code"], &ended["data"]["code"]), (&json!(-32603), &json!("link.unreachable")));
        let again = client.call(name, ask()).await;
        assert_eq!(keys(&again), ["user"], "the next one is asked in a new session");
        client.retry(name, ask(), &again, user(&again)).await;
    })
    .await;
}

#[tokio::test]
async fn servers_that_start_anew_leave_nothing() {
    let (hub, mut servers) = grove().await;
    let client = Modern::new(&hub, everything());
    for (server, slug) in servers.iter_mut().zip(["http", "modern"]) {
        let name = format!("mcp__{slug}__test_elicitation");
        check(&hub, slug, async || {
            let asked = client.call(&name, ask()).await;
            assert_eq!(keys(&asked), ["user"], "{slug}");
            server.restart().await.unwrap();
            let ended = client.retry(&name, ask(), &asked, user(&asked)).await;
            assert!(ended.get("code").is_some() || ended.get("content").is_some(), "{slug}: {ended}");
            // The hub may leave a server alone that has just failed.
            eventually("it answers again", async || {
                hub.call(&format!("mcp__{slug}__echo"), json!({})).await.get("content").cloned()
            })
            .await;
        })
        .await;
    }
}

#[tokio::test]
async fn processes_that_crash_in_the_middle_of_a_question_leave_nothing() {
    let (hub, _servers) = grove().await;
    check(&hub, "crash", async || {
        let mut client = Legacy::open(&hub, Door::Sse, LATEST, everything(), obliging).await;
        let pid = client.call("mcp__pipe__pid", json!({})).await;
        let pid = pid.outcome()["structuredContent"]["pid"].as_u64().unwrap_or_else(|| panic!("{pid:?}"));
        let params = json!({ "name": "mcp__pipe__test_elicitation", "arguments": ask() });
        let id = client.start("tools/call", params).await;
        client.wait_for("elicitation/create").await;
        let kill = tokio::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status().await;
        assert!(kill.unwrap().success());
        let ended = client.finish(id).await;
        assert_eq!(ended.outcome()["code"], -32603, "{ended:?}");
    })
    .await;
}
