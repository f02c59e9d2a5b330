//! Ten thousand rounds of everything that can go wrong between a question and its answer, in all four cells, on a clock
//! that stands still: sessions, streams, replays, parked calls, the driver, links and watched resources are all gone
//! in the end, and memory is what it was.

mod world;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use toolgrove_fixture::{Fixture, Options};

use self::world::{Era, Server, Stream, World, http, pass, soon};

/// In all four cells together.
const ROUNDS: usize = 10_000;
/// One round in so many goes over HTTP, which is slower.
const OVER_HTTP: usize = 40;
/// What memory may seem to grow by although nothing was kept: less than two kilobytes for each round.
const SLACK_KB: usize = 3 * 1024;

const OLD: &str = "mcp__old__";
const NEW: &str = "mcp__new__";
const HTTP: &str = "mcp__http__";

fn tool(place: &str, name: &str) -> Value {
    json!({ "name": format!("{place}{name}"), "arguments": { "message": "Who?" } })
}

fn call(place: &str, name: &str) -> Value {
    let mut params = tool(place, name);
    params["_meta"] = json!({ "progressToken": 1 });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

/// The same call again with the answers to what it asked.
fn retry(place: &str, name: &str, asked: &Value) -> Value {
    let key = asked["inputRequests"].as_object().expect("questions").keys().next().expect("one").clone();
    let mut params = tool(place, name);
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] =
        json!({ key: { "action": "accept", "content": { "username": "a", "email": "b" } } });
    params
}

/// A modern client's call until it is asked.
async fn parked(world: &World, place: &str, name: &str) -> Value {
    let asked = soon(async { world.modern("tools/call", tool(place, name)).await.last().await }).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    asked["result"].clone()
}

/// A legacy client's call until it is asked: its session, its stream and the question.
async fn asked(world: &World, place: &str, name: &str) -> (String, Stream, Value) {
    let session = world.session().await;
    let (stream, question) = soon(async {
        let mut stream = world.legacy(&session, call(place, name)).await;
        loop {
            let message = stream.next().await.expect("a question");
            if message["method"] == "elicitation/create" {
                return (stream, message);
            }
        }
    })
    .await;
    (session, stream, question)
}

async fn answer(world: &World, session: &str, question: &Value) {
    let result = json!({ "action": "accept", "content": {} });
    let said =
        world.legacy(session, json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).await;
    assert_eq!(said.status, StatusCode::ACCEPTED);
}

struct Servers {
    old: Server,
    new: Server,
    http: toolgrove_fixture::Running,
}

/// A modern client in front of a legacy server.
async fn modern_client(world: &World, servers: &mut Servers, round: usize) {
    let name = if round % 5 == 3 { "ask-and-hang" } else { "ask" };
    let first = parked(world, OLD, name).await;
    let again = || world.modern("tools/call", retry(OLD, name, &first));
    match round % 5 {
        0 => {
            let done = soon(async { again().await.last().await }).await;
            assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
        }
        1 => {
            pass(Duration::from_secs(601)).await;
            let late = soon(async { again().await.last().await }).await;
            assert_eq!(late["error"]["data"]["reason"], "expired", "{late}");
        }
        2 => {
            servers.old.restart();
            let lost = soon(async { again().await.last().await }).await;
            assert_eq!(lost["error"]["data"]["code"], "link.unreachable", "{lost}");
            // A server that dies often is left alone for a while.
            pass(Duration::from_secs(31)).await;
        }
        3 => {
            let cancelled = servers.old.cancelled.load(Ordering::SeqCst);
            {
                let mut going_on = Box::pin(again());
                for _ in 0..60 {
                    assert!(futures::poll!(&mut going_on).is_pending());
                    tokio::task::yield_now().await;
                }
            }
            soon(until(|| servers.old.cancelled.load(Ordering::SeqCst) > cancelled)).await;
        }
        _ => {
            let filter =
                json!({ "toolsListChanged": true, "resourceSubscriptions": ["toolgrove://old/a://b"] });
            let mut ear =
                soon(world.modern("subscriptions/listen", json!({ "notifications": filter }))).await;
            let heard = soon(ear.next()).await.expect("an acknowledgement");
            assert_eq!(heard["params"]["notifications"], filter, "{heard}");
            let done = soon(async { again().await.last().await }).await;
            assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
        }
    }
}

/// A legacy client in front of a server of either era: the second is driven.
async fn legacy_client(world: &World, servers: &mut Servers, round: usize, place: &str) {
    let server = if place == OLD { &servers.old } else { &servers.new };
    match round % 6 {
        0 => {
            let (session, stream, question) = asked(world, place, "ask").await;
            let _ear = world.hear(&session, None).await;
            answer(world, &session, &question).await;
            let done = soon(stream.last()).await;
            assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
            assert_eq!(world.end(&session).await, StatusCode::NO_CONTENT);
        }
        1 => {
            let (session, stream, question) = asked(world, place, "ask").await;
            let last = stream.last_id.clone().expect("events have ids");
            drop(stream);
            pass(Duration::from_secs(59)).await;
            let rest = world.hear(&session, Some(&last)).await;
            answer(world, &session, &question).await;
            let done = soon(rest.last()).await;
            assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
        }
        // Leaves while it is asked, and says no goodbye.
        2 => {
            let cancelled = server.cancelled.load(Ordering::SeqCst);
            let (session, stream, _) = asked(world, place, "ask").await;
            drop(stream);
            pass(Duration::from_secs(61)).await;
            if place == OLD {
                soon(until(|| server.cancelled.load(Ordering::SeqCst) > cancelled)).await;
            }
            let streams =
                world.app.sessions.all().iter().find(|it| *it.id == *session).map(|it| it.replays.count());
            assert_eq!(streams, Some(0));
        }
        // Leaves before it has heard anything.
        3 => {
            let cancelled = server.cancelled.load(Ordering::SeqCst);
            let session = world.session().await;
            {
                let mut waiting = Box::pin(world.legacy(&session, call(place, "hang")));
                for _ in 0..60 {
                    assert!(futures::poll!(&mut waiting).is_pending());
                    tokio::task::yield_now().await;
                }
            }
            pass(Duration::from_secs(61)).await;
            soon(until(|| server.cancelled.load(Ordering::SeqCst) > cancelled)).await;
        }
        4 => {
            let (session, stream, question) = asked(world, place, "ask-and-hang").await;
            answer(world, &session, &question).await;
            server.restart();
            let lost = soon(stream.last()).await;
            assert_eq!(lost["error"]["data"]["code"], "link.unreachable", "{lost}");
            pass(Duration::from_secs(31)).await;
            assert_eq!(world.end(&session).await, StatusCode::NO_CONTENT);
        }
        // The old door, left while it is asked.
        _ => {
            let (mut stream, post) = world.old_door().await;
            let params = json!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} } });
            let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
            assert_eq!(world.post(&post, hello).await, StatusCode::ACCEPTED);
            assert_eq!(world.post(&post, call(place, "ask")).await, StatusCode::ACCEPTED);
            soon(async {
                while stream.next().await.expect("a question")["method"] != "elicitation/create" {}
            })
            .await;
        }
    }
}

/// A server over HTTP that forgets its sessions or starts anew while a call is parked.
async fn over_http(world: &World, servers: &mut Servers, round: usize) {
    let first = parked(world, HTTP, "test_elicitation").await;
    match round % 3 {
        0 => {}
        1 => {
            soon(async { world.modern("tools/call", tool(HTTP, "forget_sessions")).await.last().await })
                .await;
        }
        _ => soon(servers.http.restart()).await.expect("the port is free"),
    }
    let params = retry(HTTP, "test_elicitation", &first);
    let ended = soon(async { world.modern("tools/call", params).await.last().await }).await;
    if round.is_multiple_of(3) {
        assert!(ended["result"]["content"].is_array(), "{ended}");
    } else {
        assert_eq!(ended["error"]["data"]["code"], "link.unreachable", "{ended}");
        pass(Duration::from_secs(31)).await;
    }
    servers.http.clear_log();
}

async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

/// How much memory the process holds, in which nothing else runs: nextest gives each test one of its own.
fn resident_kb() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).expect("a number");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Everything the hub holds that a client or a server could leave behind.
fn held(world: &World) -> [(&'static str, usize); 10] {
    let app = &world.app;
    let (links, waiting) = app.hub.links().counts();
    [
        ("sessions", app.sessions.all().len()),
        ("replays", app.sessions.all().iter().map(|it| it.replays.count()).sum()),
        ("streams", app.streams.count()),
        ("parked calls", app.lot.count(app.gate.solo().expect("one person"))),
        ("links", links),
        ("requests and questions", waiting),
        ("listeners", app.hub.bus().listeners()),
        ("watched resources", app.hub.watched()),
        ("owners", Arc::strong_count(app)),
        ("tasks", tokio::runtime::Handle::current().metrics().num_alive_tasks()),
    ]
}

/// Lets a day pass, after which nobody is waited for any more.
async fn rest(world: &World) {
    for _ in 0..26 {
        pass(Duration::from_secs(3600)).await;
    }
    soon(world.app.hub.log().flush()).await;
    for _ in 0..50 {
        pass(Duration::from_secs(1)).await;
    }
}

/// Client and server; in each a round now and then goes to a server over HTTP that forgets its sessions.
#[derive(Debug, Clone, Copy)]
enum Cell {
    ModernLegacy,
    LegacyLegacy,
    LegacyModern,
    ModernModern,
}

/// A quarter of the rounds, all of one cell.
async fn check(cell: Cell) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut servers = Servers {
        old: Server::start(&folder.path().join("old"), Era::Legacy),
        new: Server::start(&folder.path().join("new"), Era::Modern),
        http: Fixture::start(Options { lose_sessions: true, ..Options::default() }).await.expect("a port"),
    };
    let places = [
        ("old", servers.old.transport()),
        ("new", servers.new.transport()),
        ("http", http(&servers.http.url())),
    ];
    let world = World::start(folder.path(), &places).await;
    let (mut before, mut memory) = (None, 0);
    for round in 0..ROUNDS / 4 {
        match cell {
            _ if round % OVER_HTTP == 0 => over_http(&world, &mut servers, round / OVER_HTTP).await,
            Cell::ModernLegacy => modern_client(&world, &mut servers, round).await,
            Cell::LegacyLegacy => legacy_client(&world, &mut servers, round, OLD).await,
            Cell::LegacyModern => legacy_client(&world, &mut servers, round, NEW).await,
            Cell::ModernModern => {
                let first = parked(&world, NEW, "ask").await;
                let params = retry(NEW, "ask", &first);
                let done = soon(async { world.modern("tools/call", params).await.last().await }).await;
                assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
            }
        }
        // Everything has been there by now, and every pool is as large as it gets.
        if round == ROUNDS / 16 {
            rest(&world).await;
            (before, memory) = (Some(held(&world)), resident_kb());
        }
    }
    rest(&world).await;
    let after = held(&world);
    for (what, count) in &after[..8] {
        assert_eq!(*count, 0, "{cell:?}: {what}");
    }
    let tasks = |held: &[(&str, usize); 10]| held[8..].iter().map(|it| it.1).sum::<usize>();
    let before = before.expect("it was at rest once");
    assert!(tasks(&after) <= tasks(&before), "{cell:?}: {after:?}, and before {before:?}");
    let grown = resident_kb().saturating_sub(memory);
    assert!(grown < SLACK_KB, "{cell:?}: {grown} kB more than after a quarter of the rounds");
}

#[tokio::test]
async fn modern_clients_and_a_legacy_server_leave_nothing() {
    check(Cell::ModernLegacy).await;
}

#[tokio::test]
async fn legacy_clients_and_a_legacy_server_leave_nothing() {
    check(Cell::LegacyLegacy).await;
}

#[tokio::test]
async fn legacy_clients_and_a_modern_server_leave_nothing() {
    check(Cell::LegacyModern).await;
}

#[tokio::test]
async fn modern_clients_and_a_modern_server_leave_nothing() {
    check(Cell::ModernModern).await;
}
