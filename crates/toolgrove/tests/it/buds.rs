//! Buds among themselves and their callers: one tree of calls, one session for each chat, and many streams at once.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::join_all;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use toolgrove_fixture::{Era, Fixture, Options};

use crate::grove::{eventually, text};
use crate::hub::{Answer, Hub};
use crate::model::{Model, Reply};
use crate::third::node;

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

async fn post(hub: &Hub, path: &str, body: Value) -> Answer {
    hub.ask(Method::POST, path, JSON, body.to_string()).await
}

/// Four buds, each of which may call the next.
async fn chain() -> (Hub, Model) {
    let model = Model::start([]).await;
    let hub = Hub::start_with(&model.config("openai")).await;
    for (name, next) in [("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")] {
        let bud = json!({ "name": name, "model": "m", "mcp_config": { "servers": [next] } });
        assert_eq!(hub.api(Method::POST, "/api/buds", bud).await.0, 201);
    }
    (hub, model)
}

/// A asks B, B asks C, C asks D, which is one too many; then all three answer.
fn script() -> Vec<Reply> {
    let ask = |name: &'static str| Reply::Tool(name, vec!["{\"mess", "age\":\"go\"}"]);
    let say = |words: &'static str| Reply::Text(vec![words]);
    vec![
        ask("mcp__B__ask"),
        ask("mcp__C__ask"),
        ask("mcp__D__ask"),
        say("third"),
        say("second"),
        say("first"),
    ]
}

/// The calls below a root, from it to the last, as `tool door depth code`.
async fn tree(hub: &Hub, known: &[String], count: usize) -> (Vec<String>, Vec<String>) {
    let calls = eventually(&format!("{count} calls are in the log"), async || {
        let calls = hub.get("/api/calls?limit=1000").await.as_array().unwrap().clone();
        let id = |it: &Value| it["id"].as_str().unwrap().to_owned();
        let new: Vec<_> = calls.into_iter().filter(|it| !known.contains(&id(it))).collect();
        (new.len() >= count && new.iter().all(|it| !it["outcome"].is_null())).then_some(new)
    })
    .await;
    assert_eq!(calls.len(), count, "{calls:?}");
    let mut line = Vec::new();
    let mut parent = Value::Null;
    while let Some(call) = calls.iter().find(|it| it["parent_id"] == parent) {
        let word = |key: &str| call[key].as_str().unwrap_or("-").to_owned();
        line.push(format!("{} {} {} {}", word("tool"), word("door"), call["depth"], word("error_code")));
        parent = call["id"].clone();
    }
    let ids: Vec<_> = calls.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    // Whoever looks at the root sees all of it.
    let root = calls.iter().find(|it| it["parent_id"].is_null()).unwrap()["id"].as_str().unwrap();
    let whole = hub.get(&format!("/api/calls/{root}")).await;
    assert_eq!(whole["nested"].as_array().unwrap().len(), count - 1, "{whole}");
    (line, ids)
}

#[tokio::test]
async fn buds_call_buds_three_deep_from_every_door_and_each_call_is_one_tree() {
    let (hub, model) = chain().await;
    let mut known = Vec::new();
    for door in ["typescript", "chat", "bud-run", "plan"] {
        for reply in script() {
            model.push(reply);
        }
        let (root, said) = match door {
            "typescript" => {
                let mut client = node("ts-client.mjs");
                let url = format!("{}/mcp", hub.url);
                client.args([
                    &url,
                    "mcp__A__ask",
                    r#"{"message":"go"}"#,
                    "--era",
                    "legacy",
                    "--key",
                    &hub.key,
                ]);
                let output = client.output().await.unwrap();
                let said: Value = serde_json::from_slice(&output.stdout).unwrap();
                assert!(said["tools"].as_array().unwrap().contains(&json!("mcp__A__ask")), "{said}");
                (vec!["mcp__A__ask legacy 1 -"], text(&said["result"]).to_owned())
            }
            "chat" => {
                let message = json!({ "text": "/invoke bud://home/A go" });
                let events = post(&hub, "/api/chats", json!({ "message": message })).await.messages();
                let last = events.iter().rfind(|it| it["type"] == "message").unwrap();
                (vec!["ask chat 1 -"], last["message"]["content"]["text"].as_str().unwrap().to_owned())
            }
            "bud-run" => {
                let body = json!({ "bud_id": "bud://home/A", "args": { "message": "go" } });
                let done = post(&hub, "/bud-run", body).await.json();
                (vec!["ask api 1 -"], text(&done["result"]).to_owned())
            }
            _ => {
                let nodes = json!([{ "id": "a", "tool": "mcp__A__ask", "args": { "message": "go" } }]);
                let body = json!({ "name": "p", "graph": { "nodes": nodes } });
                let (_, plan) = hub.api(Method::POST, "/api/plans", body).await;
                let path = format!("/api/plans/{}/run", plan["id"].as_str().unwrap());
                let events = post(&hub, &path, Value::Null).await.messages();
                let said = events.iter().find(|it| it["state"] == "done").unwrap();
                (vec!["p plan 0 -", "mcp__A__ask plan 1 -"], said["delta"].as_str().unwrap().to_owned())
            }
        };
        assert_eq!(said, "first", "{door}");
        let (line, ids) = tree(&hub, &known, root.len() + 3).await;
        let rest = ["mcp__B__ask bud 2 -", "mcp__C__ask bud 3 -", "mcp__D__ask bud 3 bud.depth"];
        assert_eq!(line, [&root[..], &rest].concat(), "{door}");
        known.extend(ids);
    }
    // Each bud heard what became of the next.
    let told: Vec<_> = model.seen()[3..6]
        .iter()
        .map(|it| it["messages"].as_array().unwrap().last().unwrap()["content"].clone())
        .collect();
    assert_eq!(told, ["a bud may be called at most 3 deep", "third", "second"]);
    assert_eq!(model.seen().len(), 6 * 4);
}

#[tokio::test]
async fn the_run_of_a_plan_is_one_record_whose_nodes_are_its_children() {
    let hub = Hub::start().await;
    let node = |id: &str, sum: &str| json!({ "id": id, "tool": "mcp__builtin__calculator", "args": { "expression": sum } });
    for (name, nodes, outcome, made) in [
        ("whole", json!([node("a", "1 + 1"), node("b", "2 * {{a}}")]), "done", 2),
        ("broken", json!([node("a", "1 / 0"), node("b", "2 * {{a}}"), node("c", "3")]), "tool_error", 2),
    ] {
        let body = json!({ "name": name, "graph": { "nodes": nodes } });
        let (_, plan) = hub.api(Method::POST, "/api/plans", body).await;
        post(&hub, &format!("/api/plans/{}/run", plan["id"].as_str().unwrap()), Value::Null).await;
        let calls = hub.get("/api/calls").await;
        let run = calls.as_array().unwrap().iter().find(|it| it["tool"] == name).unwrap();
        let word = |key: &str| run[key].as_str().unwrap_or("-");
        assert_eq!(
            [word("method"), word("door"), word("outcome"), word("parent_id")],
            ["plans/run", "plan", outcome, "-"]
        );
        let whole = hub.get(&format!("/api/calls/{}", word("id"))).await;
        let nested = whole["nested"].as_array().unwrap();
        assert_eq!(nested.len(), made, "{whole}");
        assert!(nested.iter().all(|it| it["parent_id"] == run["id"]), "{whole}");
    }
}

#[tokio::test]
async fn a_chat_has_a_session_of_its_own_at_a_legacy_server_and_ends_it() {
    let server = Fixture::start(Options { era: Era::Legacy, ..Options::default() }).await.unwrap();
    let hub = Hub::start().await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    hub.call("mcp__s__echo", json!({})).await;
    server.clear_log();
    let count = |what: &str| {
        let log = server.log();
        let is = |it: &&toolgrove_fixture::Seen| {
            it.method.as_deref() == Some(what) || it.http.as_deref() == Some(what)
        };
        log.iter().filter(is).count()
    };
    let sessions = || {
        let mut all: Vec<String> = Vec::new();
        for seen in server.log().iter().filter(|it| it.method.as_deref() == Some("tools/call")) {
            let session = seen.header("mcp-session-id").unwrap().to_owned();
            if !all.contains(&session) {
                all.push(session);
            }
        }
        all
    };
    let chat = async || {
        let (status, chat) = hub.api(Method::POST, "/api/chats", json!({})).await;
        assert_eq!(status, 201, "{chat}");
        format!("/api/chats/{}", chat["id"].as_str().unwrap())
    };
    let (first, second) = (chat().await, chat().await);
    assert_eq!(count("initialize"), 0, "a chat that calls nothing has none");
    for (turn, chat) in [&first, &second, &first, &second, &first].into_iter().enumerate() {
        let body = json!({ "text": format!("/call s.echo(turn: {turn})") });
        let events = post(&hub, &format!("{chat}/messages"), body).await.messages();
        assert_eq!(events.last().unwrap()["state"], "done", "{events:?}");
    }
    let opened = sessions();
    assert_eq!((count("initialize"), opened.len(), count("DELETE")), (2, 2, 0), "one for each");
    assert_eq!(hub.api(Method::DELETE, &first, Value::Null).await.0, 204);
    eventually("the first session ends", async || (count("DELETE") == 1).then_some(())).await;
    let ended = server.log().iter().find(|it| it.http.as_deref() == Some("DELETE")).unwrap().clone();
    assert_eq!(ended.header("mcp-session-id"), Some(opened[0].as_str()));
    post(&hub, &format!("{second}/messages"), json!({ "text": "/call s.echo()" })).await;
    assert_eq!((count("initialize"), sessions()), (2, opened), "the other goes on");
}

/// Callers with eight streams each: no caller may have more.
const CALLERS: usize = 25;
const EACH: usize = 8;

#[tokio::test]
#[allow(clippy::print_stdout, reason = "it prints its figures")]
async fn two_hundred_streams_run_at_once_and_none_waits_for_another() {
    const ALL: usize = CALLERS * EACH;
    let model = Model::start(vec![Reply::Wait(vec!["one ", "two ", "three"]); ALL]).await;
    let hub = Hub::start_with(&model.config("openai")).await;
    let (_, bud) = hub.api(Method::POST, "/api/buds", json!({ "name": "Speaks", "model": "m" })).await;
    let mut tokens = Vec::new();
    for caller in 0..CALLERS {
        let (status, made) =
            hub.api(Method::POST, "/api/tokens", json!({ "name": format!("t{caller}") })).await;
        assert_eq!(status, 201, "{made}");
        tokens.push(made["token"].as_str().unwrap().to_owned());
    }
    let body = json!({ "bud_id": bud["id"], "args": { "message": "hi" } }).to_string();
    let began = Instant::now();
    let open = async |token: &str| {
        let request = Request::post(format!("{}/bud-run", hub.url))
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.clone())))
            .unwrap();
        let mut stream = hub.open_as(request).await;
        let (mut said, mut first, mut gap, mut last) = (String::new(), None, Duration::ZERO, began);
        while said != "one two three" {
            let event = stream.next().await.unwrap_or_else(|| panic!("a stream ended after `{said}`"));
            said.push_str(event["delta"].as_str().unwrap_or_else(|| panic!("{event}")));
            if first.is_some() {
                gap = gap.max(last.elapsed());
            }
            first.get_or_insert(began.elapsed());
            last = Instant::now();
        }
        (stream, first.unwrap(), gap)
    };
    let opened =
        join_all(tokens.iter().flat_map(|it| std::iter::repeat_n(it, EACH)).map(|it| open(it))).await;
    // All of them have spoken, and none has ended.
    assert_eq!((opened.len(), model.seen().len()), (ALL, ALL));
    let mut firsts: Vec<_> = opened.iter().map(|it| it.1).collect();
    firsts.sort();
    let gap = opened.iter().map(|it| it.2).max().unwrap();
    let (status, refused) = {
        let request = Request::post(format!("{}/bud-run", hub.url))
            .header("authorization", format!("Bearer {}", tokens[0]))
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.clone())))
            .unwrap();
        let answer = hub.send(request).await;
        (answer.status, answer.json())
    };
    assert_eq!((status, &refused["code"]), (429, &json!("bud.busy")));
    model.let_go(ALL);
    let ended = join_all(opened.into_iter().map(|it| it.0.rest())).await;
    let done = ended.iter().filter(|it| it.text().contains("event: done")).count();
    assert_eq!(done, ALL);
    println!(
        "{ALL} streams: first words after {:.0?} (median), {:.0?} (last); longest pause {gap:.0?}; all done after {:.0?}",
        firsts[ALL / 2],
        firsts[ALL - 1],
        began.elapsed(),
    );
}

#[tokio::test]
async fn a_tool_that_asks_says_so_where_nobody_can_be_asked() {
    let server = Fixture::start(Options::default()).await.unwrap();
    let hub = Hub::start().await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let path = "/api/mcp/instances/s/tools/echo";
    let (status, _) = hub.api(Method::PATCH, path, json!({ "permission": "ask" })).await;
    assert_eq!(status, 200);
    let rows = hub.get("/api/mcp/registry").await;
    let id = rows.as_array().unwrap().iter().find(|it| it["name"] == "s").unwrap()["id"].clone();
    let invoked = post(&hub, "/api/mcp/invoke", json!({ "serverId": id, "method": "echo" })).await;
    let called = post(&hub, "/api/mcp/call", json!({ "tool": "mcp__s__echo" })).await;
    for answer in [invoked, called] {
        let problem = answer.json();
        assert_eq!((answer.status, &problem["code"]), (403, &json!("call.denied")), "{problem}");
        assert!(
            problem["hint"].as_str().unwrap().starts_with("it asks each time, and you cannot be asked"),
            "{problem}"
        );
    }
    // A client that can be asked is.
    let client = hub.legacy_with("/mcp", "2025-11-25", json!({ "elicitation": {} })).await;
    let params = json!({ "name": "mcp__s__echo", "arguments": { "a": 1 } });
    let mut stream =
        client.open(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
    let asked = stream.next().await.unwrap();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    client
        .post(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "accept", "content": {} } }))
        .await;
    assert_eq!(text(&stream.rest().await.json()["result"]), r#"{"a":1}"#);
}

#[tokio::test]
async fn a_bud_whose_model_is_bad_ends_in_an_error_that_says_so() {
    let again = || Reply::Tool("mcp__s__echo", vec!["{}"]);
    let server = Fixture::start(Options::default()).await.unwrap();
    for kind in ["openai", "anthropic"] {
        for (script, code, detail) in [
            (
                vec![Reply::Long(1_000_000)],
                "model.provider",
                "provider `scripted` failed: the model said more than 512 KiB",
            ),
            (vec![Reply::Breaks("it burns")], "model.provider", "provider `scripted` failed: it burns"),
            (
                vec![Reply::Cut("half")],
                "model.provider",
                "provider `scripted` failed: the provider's stream ended before the model did",
            ),
            (
                vec![again(); 16],
                "model.output",
                "the model could not be followed: it asked for tools 16 times in a row",
            ),
        ] {
            let model = Model::start(script).await;
            let hub = Hub::start_with(&model.config(kind)).await;
            hub.import(json!({ "s": { "url": server.url() } })).await;
            let bud = json!({ "name": "Clumsy", "model": "m", "mcp_config": { "servers": ["s"] } });
            assert_eq!(hub.api(Method::POST, "/api/buds", bud).await.0, 201);
            let body = json!({ "bud_id": "bud://home/Clumsy", "args": { "message": "go" } });
            let answer = post(&hub, "/bud-run", body).await;
            assert!(answer.text().contains("event: error"), "{kind}: {}", answer.text());
            let error = &answer.json()["error"];
            assert_eq!((&error["code"], &error["detail"]), (&json!(code), &json!(detail)), "{kind}");
            // Over MCP it is an error too, and the hub goes on.
            let refused = hub.call("mcp__Clumsy__nothing", json!({})).await;
            assert_eq!(refused["data"]["code"], "tool.unknown");
        }
    }
}
