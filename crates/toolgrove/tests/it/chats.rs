//! Chats and buds with a scripted model: what is said, stopped, resumed and asked, and what a bad model comes to.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::{Fixture, Options, Running};

use crate::hub::{Hub, Stream};
use crate::model::{Model, Reply};

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

/// A hub with a model and the server `s`.
async fn world(kind: &str, calls: &str, script: impl IntoIterator<Item = Reply>) -> (Hub, Model, Running) {
    let model = Model::start(script).await;
    let server = Fixture::start(Options::default()).await.unwrap();
    let hub = Hub::start_with(&format!("{}calls = \"{calls}\"\n", model.config(kind))).await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    (hub, model, server)
}

/// A chat with a model and the tools of `s`.
async fn chat(hub: &Hub) -> String {
    let body = json!({ "model": "m", "mcp_config_overrides": { "additional_servers": ["s"] } });
    let (status, chat) = hub.api(Method::POST, "/api/chats", body).await;
    assert_eq!(status, 201, "{chat}");
    format!("/api/chats/{}", chat["id"].as_str().unwrap())
}

async fn send(hub: &Hub, chat: &str, body: Value) -> Stream {
    hub.open(Method::POST, &format!("{chat}/messages"), JSON, body.to_string()).await
}

async fn said(hub: &Hub, chat: &str, text: &str) -> Vec<Value> {
    send(hub, chat, json!({ "text": text })).await.rest().await.messages()
}

/// Role, text and state of everything in a chat.
async fn kept(hub: &Hub, chat: &str) -> Vec<(String, String, String)> {
    let whole = hub.get(chat).await;
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let messages = whole["messages"].as_array().unwrap().iter();
    messages
        .map(|it| (text(&it["role"]), text(&it["content"]["text"]), text(&it["content"]["state"])))
        .collect()
}

fn row(role: &str, text: &str, state: &str) -> (String, String, String) {
    (role.into(), text.into(), state.into())
}

#[tokio::test]
async fn a_model_uses_a_tool_in_both_formats_and_in_plain_text() {
    let text =
        "<tool_calls><invoke name=\"mcp__s__echo\"><parameter name=\"a\">1</parameter></invoke></tool_calls>";
    for (kind, calls, first) in [
        ("openai", "native", Reply::Tool("mcp__s__echo", vec!["{\"a\"", ":1}"])),
        ("anthropic", "native", Reply::Tool("mcp__s__echo", vec!["{\"a\"", ":1}"])),
        (
            "openai",
            "xml",
            Reply::Text(vec!["I look. <tool_", Box::leak(text[6..].to_owned().into_boxed_str())]),
        ),
    ] {
        let (hub, model, _server) = world(kind, calls, [first, Reply::Text(vec!["It said ", "one"])]).await;
        let chat = chat(&hub).await;
        let events = said(&hub, &chat, "try it").await;
        let kept = kept(&hub, &chat).await;
        let (roles, texts): (Vec<_>, Vec<_>) = kept.iter().map(|it| (it.0.as_str(), it.1.as_str())).unzip();
        assert_eq!(roles, ["user", "assistant", "tool", "assistant"], "{kind} {calls}: {events:?}");
        assert_eq!((texts[2], texts[3]), ("{\"a\":1}", "It said one"), "{kind} {calls}");
        let told = model.seen()[1].to_string();
        assert!(told.contains("{\\\"a\\\":1}") || told.contains("<parameter name=\\\"a\\\">1<"), "{told}");
        assert_eq!(model.seen()[0].get("tools").is_some(), calls == "native");
        let kinds: Vec<_> = events.iter().map(|it| it["type"].as_str().unwrap()).collect();
        assert!(
            kinds.contains(&"use") && kinds.contains(&"arguments") && kinds.contains(&"delta"),
            "{kinds:?}"
        );
        assert_eq!(events.last().unwrap(), &json!({ "type": "done", "state": "done" }));
        let usage = &hub.get(&chat).await["messages"][3]["content"]["usage"];
        assert_eq!(usage, &json!({ "input": 11, "output": 7 }), "{kind} {calls}");
    }
}

#[tokio::test]
async fn stopping_closes_the_providers_stream_and_keeps_what_was_said() {
    let (hub, model, _server) = world("openai", "native", [Reply::Wait(vec!["half ", "an answer"])]).await;
    let chat = chat(&hub).await;
    let mut stream = send(&hub, &chat, json!({ "text": "go" })).await;
    let mut text = String::new();
    while text != "half an answer" {
        let event = stream.next().await.unwrap();
        text.push_str(event["delta"].as_str().unwrap_or_default());
    }
    assert_eq!(hub.get(&chat).await["chat"]["running"], true);
    let (status, problem) =
        hub.api(Method::POST, &format!("{chat}/messages"), json!({ "text": "more" })).await;
    assert_eq!((status, &problem["detail"]), (400, &json!("an answer is on its way; stop it first")));
    assert_eq!(hub.api(Method::POST, &format!("{chat}/stop"), Value::Null).await.0, 204);
    let rest = stream.rest().await.messages();
    assert_eq!(rest.last().unwrap(), &json!({ "type": "done", "state": "stopped" }));
    model.hung_up().await;
    assert_eq!(
        kept(&hub, &chat).await,
        [row("user", "go", ""), row("assistant", "half an answer", "stopped")]
    );
}

#[tokio::test]
async fn who_comes_back_hears_the_rest_and_nothing_twice() {
    let (hub, model, _server) = world("anthropic", "native", [Reply::Wait(vec!["one ", "two"])]).await;
    let chat = chat(&hub).await;
    let mut stream = send(&hub, &chat, json!({ "text": "go" })).await;
    while stream.next().await.unwrap()["type"] != "delta" {}
    let last = stream.last_id.clone().unwrap();
    drop(stream);
    // Somebody else looks from the beginning, while it runs.
    let path = format!("{chat}/stream");
    let mut whole = hub.open(Method::GET, &path, &[], "").await;
    assert_eq!(whole.next().await.unwrap()["type"], "chat");
    model.go_on();
    let rest = hub.ask(Method::GET, &path, &[("last-event-id", &last)], "").await.messages();
    let text: String = rest.iter().filter_map(|it| it["delta"].as_str()).collect();
    assert!(["two", ""].contains(&text.as_str()), "{rest:?}");
    assert_eq!(rest.last().unwrap()["type"], "done");
    assert!(whole.rest().await.text().contains("one two"));
    assert_eq!(kept(&hub, &chat).await[1], row("assistant", "one two", "done"));
    let (status, _) = hub.api(Method::GET, &format!("{}/stream", self::chat(&hub).await), Value::Null).await;
    assert_eq!(status, 204);
}

#[tokio::test]
async fn an_edited_message_takes_the_place_of_what_followed() {
    let (hub, model, _server) =
        world("openai", "native", [Reply::Text(vec!["first"]), Reply::Text(vec!["second"])]).await;
    let chat = chat(&hub).await;
    said(&hub, &chat, "one").await;
    let edited = hub.get(&chat).await["messages"][0]["id"].clone();
    let events = send(&hub, &chat, json!({ "text": "two", "edit": edited })).await.rest().await.messages();
    assert_eq!(events[0], json!({ "type": "cut", "from": edited }));
    assert_eq!(kept(&hub, &chat).await, [row("user", "two", ""), row("assistant", "second", "done")]);
    assert_eq!(model.seen()[1]["messages"], json!([{ "role": "user", "content": "two" }]));
    assert_eq!(hub.get(&chat).await["chat"]["title"], "one");
}

#[tokio::test]
async fn a_tool_that_needs_permission_asks_in_the_chat() {
    for (action, text) in [("accept", "{\"a\":1}"), ("decline", "you may not call `mcp__s__echo`")] {
        let script = [Reply::Tool("mcp__s__echo", vec!["{\"a\":1}"]), Reply::Text(vec!["fine"])];
        let (hub, _model, _server) = world("openai", "native", script).await;
        let path = "/api/mcp/instances/s/tools/echo";
        assert_eq!(hub.api(Method::PATCH, path, json!({ "permission": "ask" })).await.0, 200);
        let chat = chat(&hub).await;
        let mut stream = send(&hub, &chat, json!({ "text": "go" })).await;
        let ask = loop {
            let event = stream.next().await.unwrap();
            if event["type"] == "ask" {
                break event["ask"].clone();
            }
        };
        assert_eq!((&ask["permission"], &ask["schema"]), (&json!(true), &Value::Null));
        assert!(ask["text"].as_str().unwrap().contains("mcp__s__echo"), "{ask}");
        let path = format!("{chat}/asks/{}", ask["id"].as_str().unwrap());
        assert_eq!(hub.api(Method::POST, &path, json!({ "action": action })).await.0, 204);
        let rest = stream.rest().await.messages();
        assert_eq!(rest[0], json!({ "type": "asked", "ask": ask["id"] }), "who comes back does not see it");
        assert_eq!(kept(&hub, &chat).await[2].1, text, "{action}");
        assert_eq!(hub.api(Method::POST, &path, json!({ "action": action })).await.0, 404, "once");
        let refused = hub.call("mcp__s__echo", json!({})).await;
        assert_eq!(refused["data"]["code"], "call.denied", "a client that cannot be asked: {refused}");
    }
}

#[tokio::test]
async fn leave_for_a_chat_holds_for_one_tool_in_one_chat_and_outlives_the_hub() {
    let call = |tool: &'static str| Reply::Tool(tool, vec!["{\"message\":\"x\"}"]);
    let fine = || Reply::Text(vec!["fine"]);
    let echo = "mcp__s__echo";
    let script = [call(echo), fine(), call(echo), fine(), call("mcp__s__fail"), fine(), call(echo), fine()];
    let (hub, _model, _server) = world("openai", "native", script).await;
    for tool in ["echo", "fail"] {
        let path = format!("/api/mcp/instances/s/tools/{tool}");
        assert_eq!(hub.api(Method::PATCH, &path, json!({ "permission": "ask" })).await.0, 200);
    }
    let first = chat(&hub).await;
    let mut stream = send(&hub, &first, json!({ "text": "go" })).await;
    let ask = asked(&mut stream).await;
    let path = format!("{first}/asks/{ask}");
    for (action, remember) in [("decline", "chat"), ("accept", "forever")] {
        let (status, problem) =
            hub.api(Method::POST, &path, json!({ "action": action, "remember": remember })).await;
        let said = "`remember` is `\"chat\"`, and only what is accepted is remembered";
        assert_eq!((status, &problem["detail"]), (400, &json!(said)));
    }
    let answer = json!({ "action": "accept", "remember": "chat" });
    assert_eq!(hub.api(Method::POST, &path, answer.clone()).await.0, 204);
    assert_eq!(hub.api(Method::POST, &path, answer).await.0, 404, "once");
    stream.rest().await;
    assert_eq!(kept(&hub, &first).await[2].1, "{\"message\":\"x\"}");

    let hub = Hub::start_in(hub.stop().await).await;
    let events = said(&hub, &first, "again").await;
    assert!(events.iter().all(|it| it["type"] != "ask"), "{events:?}");
    assert_eq!(kept(&hub, &first).await[6], row("tool", "{\"message\":\"x\"}", "done"));
    // Neither another tool nor another chat has it.
    for chat in [first, chat(&hub).await] {
        let mut stream = send(&hub, &chat, json!({ "text": "go" })).await;
        let path = format!("{chat}/asks/{}", asked(&mut stream).await);
        assert_eq!(hub.api(Method::POST, &path, json!({ "action": "decline" })).await.0, 204);
        stream.rest().await;
    }
}

/// The id of the next question of a turn.
async fn asked(stream: &mut Stream) -> String {
    loop {
        let event = stream.next().await.unwrap();
        if event["type"] == "ask" {
            return event["ask"]["id"].as_str().unwrap().to_owned();
        }
    }
}

#[tokio::test]
async fn plain_text_calls_tell_of_the_hubs_own_tools_before_those_of_servers() {
    let text = "<tool_calls><invoke name=\"mcp__builtin__calculator\"><parameter name=\"expression\">6*7</parameter></invoke></tool_calls>";
    let script = [Reply::Text(vec![text]), Reply::Text(vec!["It is ", "42"])];
    let (hub, model, _server) = world("openai", "xml", script).await;
    let preset = json!({ "servers": ["s", "builtin"], "available_tools": ["echo", "calculator"] });
    let bud = json!({ "name": "Sums", "system_prompt": "You add", "model": "m", "mcp_config": preset });
    assert_eq!(hub.api(Method::POST, "/api/buds", bud).await.0, 201);
    let result = hub.call("mcp__Sums__ask", json!({ "message": "6*7?" })).await;
    assert!(result["content"][0]["text"].as_str().unwrap().ends_with("It is 42"), "{result}");
    let prompt = model.seen()[0]["messages"][0]["content"].as_str().unwrap().to_owned();
    let headings: Vec<_> = prompt.lines().filter(|it| it.starts_with('#')).collect();
    assert_eq!(
        headings,
        ["## Tools", "### mcp__builtin__calculator", "## MCP Tools", "### mcp__s__echo"],
        "{prompt}"
    );
    assert!(prompt.starts_with("You add\n\n") && prompt.contains("- `expression` (string)"), "{prompt}");
}

#[tokio::test]
async fn a_bad_model_ends_in_a_sentence() {
    let again = || Reply::Tool("mcp__s__echo", vec!["{}"]);
    for kind in ["openai", "anthropic"] {
        for (script, problem) in [
            (vec![Reply::Breaks("it burns")], "provider `scripted` failed: it burns"),
            (
                vec![Reply::Cut("half")],
                "provider `scripted` failed: the provider's stream ended before the model did",
            ),
            (vec![Reply::Long(1_000_000)], "provider `scripted` failed: the model said more than 512 KiB"),
            (
                vec![Reply::Status(401, &[])],
                "provider `scripted` failed: scripted 401 (HTTP 401 Unauthorized)",
            ),
            (vec![again(); 16], "the model could not be followed: it asked for tools 16 times in a row"),
        ] {
            let (hub, _model, _server) = world(kind, "native", script).await;
            let chat = chat(&hub).await;
            let events = said(&hub, &chat, "go").await;
            assert_eq!(events.last().unwrap(), &json!({ "type": "done", "state": "failed" }));
            let whole = hub.get(&chat).await;
            let last = whole["messages"].as_array().unwrap().last().unwrap();
            assert_eq!(last["content"]["error"]["detail"], problem, "{kind}: {last}");
        }
    }
}

#[tokio::test]
async fn a_provider_that_asks_for_patience_is_asked_again() {
    for status in [429, 503, 529] {
        let script = [Reply::Status(status, &[("retry-after", "0")]), Reply::Text(vec!["now"])];
        let (hub, model, _server) = world("anthropic", "native", script).await;
        let chat = chat(&hub).await;
        said(&hub, &chat, "go").await;
        assert_eq!((kept(&hub, &chat).await[1].1.as_str(), model.seen().len()), ("now", 2), "{status}");
    }
}

#[tokio::test]
async fn without_a_provider_the_chat_says_what_to_do_and_a_client_with_a_model_answers_itself() {
    let hub = Hub::start().await;
    let (_, made) = hub.api(Method::POST, "/api/chats", json!({ "model": "m" })).await;
    let chat = format!("/api/chats/{}", made["id"].as_str().unwrap());
    said(&hub, &chat, "hello").await;
    let error = hub.get(&chat).await["messages"][1]["content"]["error"].clone();
    assert_eq!(error["code"], "model.missing");
    assert!(error["hint"].as_str().unwrap().contains("[provider.<name>]"), "{error}");
    let (status, bud) =
        hub.api(Method::POST, "/api/buds", json!({ "name": "Own", "system_prompt": "Be brief" })).await;
    assert_eq!(status, 201, "{bud}");
    let client = hub.legacy_with("/mcp", "2025-11-25", json!({ "sampling": {} })).await;
    let params = json!({ "name": "mcp__Own__ask", "arguments": { "message": "hi" } });
    let mut stream =
        client.open(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
    let asked = stream.next().await.unwrap();
    assert_eq!(asked["method"], "sampling/createMessage", "{asked}");
    assert_eq!(asked["params"]["systemPrompt"], "Be brief");
    let result =
        json!({ "role": "assistant", "model": "theirs", "content": { "type": "text", "text": "hello you" } });
    client.post(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })).await;
    let answer = stream.rest().await.json();
    assert_eq!(answer["result"]["content"][0]["text"], "hello you", "{answer}");
}

#[tokio::test]
async fn a_buds_words_are_progress_for_a_client_that_asks_for_it() {
    let (hub, _model, _server) = world("openai", "native", [Reply::Text(vec!["one ", "two"])]).await;
    hub.api(Method::POST, "/api/buds", json!({ "name": "Speaks", "model": "m" })).await;
    let params = json!({
        "name": "mcp__Speaks__ask", "arguments": { "message": "hi" }, "_meta": { "progressToken": 7 },
    });
    let messages = hub.modern("/mcp", "tools/call", params).await.messages();
    let heard: String = messages.iter().filter_map(|it| it["params"]["message"].as_str()).collect();
    assert_eq!(heard, "one two", "{messages:?}");
    let last = messages.last().unwrap();
    assert_eq!(last["result"]["content"][0]["text"], "one two");
    assert_eq!(last["result"]["_meta"]["dev.toolgrove/usage"], json!({ "input": 11, "output": 7 }));
}

#[tokio::test]
async fn a_long_result_is_cut_and_kept_whole() {
    let long = "x".repeat(300);
    let arguments: &'static str = Box::leak(format!("{{\"a\":\"{long}\"}}").into_boxed_str());
    let model = Model::start([Reply::Tool("mcp__s__echo", vec![arguments])]).await;
    let server = Fixture::start(Options::default()).await.unwrap();
    let hub = Hub::start_with(&format!("{}[limits]\nresult_chars = 100\n", model.config("openai"))).await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let chat = chat(&hub).await;
    said(&hub, &chat, "go").await;
    let tool = hub.get(&chat).await["messages"][2]["content"].clone();
    let id = tool["result_id"].as_str().unwrap();
    let note = format!("\n[cut at 100 characters; use read_result with id {id}]");
    assert_eq!(tool["text"], format!("{}{note}", &arguments[..100]));
    assert!(model.seen()[1].to_string().contains("cut at 100 characters"));
    let whole = hub.ask(Method::GET, &format!("/api/mcp/results/{id}"), &[], "").await.text();
    assert_eq!(whole, arguments);
}
