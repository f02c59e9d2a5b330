//! The hub's own small tools: worked out, searched for, read on.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::{Fixture, Options};

use crate::grove::text;
use crate::hub::Hub;
use crate::model::{Model, Reply};

const OWN: &str = "mcp__builtin__";

/// Calls one of them over MCP.
async fn own(hub: &Hub, tool: &str, arguments: Value) -> Value {
    hub.call(&format!("{OWN}{tool}"), arguments).await
}

#[tokio::test]
async fn they_are_called_by_name_and_listed_only_where_they_are_alone() {
    let hub = Hub::start().await;
    assert_eq!(hub.tools().await, [""; 0]);
    let list = hub.modern("/mcp/i/builtin", "tools/list", json!({})).await.json();
    let names: Vec<_> = list["result"]["tools"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(json!(names), json!(["calculator", "file_search", "read_result"]));
    for (expression, expected, is_error) in [
        ("2 * (3 + 4)^2", "98", false),
        ("0.1 + 0.2", "0.3", false),
        ("1 / 0", "nothing can be divided by zero", true),
    ] {
        let result = own(&hub, "calculator", json!({ "expression": expression })).await;
        assert_eq!((text(&result), result["isError"] == true), (expected, is_error), "{result}");
    }
    let result = own(&hub, "calculator", json!({ "sum": "1" })).await;
    assert_eq!(text(&result), "arguments do not match: /sum is not allowed", "{result}");
    assert_eq!(own(&hub, "oracle", json!({})).await["data"]["code"], "tool.unknown");
    // It is switched like any other.
    let path = "/api/mcp/instances/builtin/tools/calculator";
    assert_eq!(hub.api(Method::PATCH, path, json!({ "enabled": false })).await.0, 200);
    assert_eq!(own(&hub, "calculator", json!({ "expression": "1" })).await["data"]["code"], "tool.off");
    let hub = Hub::start_in(hub.stop().await).await;
    assert_eq!(own(&hub, "calculator", json!({ "expression": "1" })).await["data"]["code"], "tool.off");
    assert_eq!(
        text(&own(&hub, "file_search", json!({ "query": "oak" })).await),
        "no file holds all of these words"
    );
}

#[tokio::test]
async fn files_of_a_workspace_are_added_found_read_and_removed() {
    let hub = Hub::start().await;
    let home = hub.get("/api/workspaces").await[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/workspaces/{home}/files");
    let add = async |body: Value| hub.api(Method::POST, &path, body).await;
    let (status, oak) =
        add(json!({ "name": "oak.md", "text": "The oak is old", "mime_type": "text/markdown" })).await;
    assert_eq!((status, &oak["chars"], &oak["is_own"]), (201, &json!(14), &json!(true)), "{oak}");
    let long = "leaf ".repeat(10_000);
    assert_eq!(add(json!({ "name": "leaves", "text": format!("{long} acorn {long}") })).await.0, 201);
    let names: Vec<_> =
        hub.get(&path).await.as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["leaves", "oak.md"]);

    let found = own(&hub, "file_search", json!({ "query": "OAK old" })).await;
    assert_eq!(text(&found), "oak.md: The oak is old");
    let hit = json!([{ "id": oak["id"], "name": "oak.md", "passage": "The oak is old" }]);
    assert_eq!(found["structuredContent"]["files"], hit);
    let passage = own(&hub, "file_search", json!({ "query": "acorn", "limit": 1 })).await;
    assert!(text(&passage).contains("acorn") && text(&passage).len() < 500, "{passage}");
    let nothing = own(&hub, "file_search", json!({ "query": "  " })).await;
    assert_eq!((text(&nothing), &nothing["isError"]), ("say what to look for", &json!(true)));
    let strange = own(&hub, "file_search", json!({ "query": "\" OR * NEAR( ' ; DROP" })).await;
    assert_eq!(text(&strange), "no file holds all of these words", "{strange}");

    for (body, problem) in [
        (json!({}), "missing: name, text"),
        (json!({ "name": "x", "text": "y".repeat(512 * 1024 + 1) }), "a file has at most 512 KiB"),
        (json!({ "name": "x", "text": "a\u{0}b" }), "a file is a text; this one holds a NUL"),
    ] {
        let (status, answer) = add(body).await;
        assert_eq!((status, answer["detail"].as_str().unwrap()), (400, problem));
    }
    let one = format!("{path}/{}", oak["id"].as_str().unwrap());
    assert_eq!(hub.ask(Method::GET, &one, &[], "").await.text(), "The oak is old");
    assert_eq!(hub.api(Method::DELETE, &one, Value::Null).await.0, 204);
    assert_eq!(hub.api(Method::DELETE, &one, Value::Null).await.0, 404);
    assert_eq!(
        text(&own(&hub, "file_search", json!({ "query": "oak" })).await),
        "no file holds all of these words"
    );
}

/// What a model does that was told where a result goes on.
fn read_on(asked: &Value) -> Reply {
    let said = asked["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    let id = said.split("use read_result with id ").nth(1).unwrap().split(']').next().unwrap();
    let arguments = json!({ "id": id, "offset": 100, "length": 90 }).to_string();
    Reply::Tool("mcp__builtin__read_result", vec![Box::leak(arguments.into_boxed_str())])
}

#[tokio::test]
async fn a_model_that_got_a_part_reads_the_rest() {
    let long = "0123456789".repeat(21);
    let arguments: &'static str = Box::leak(json!({ "a": long }).to_string().into_boxed_str());
    let script =
        [Reply::Tool("mcp__s__echo", vec![arguments]), Reply::From(read_on), Reply::Text(vec!["read"])];
    let model = Model::start(script).await;
    let server = Fixture::start(Options::default()).await.unwrap();
    let hub = Hub::start_with(&format!("{}[limits]\nresult_chars = 100\n", model.config("openai"))).await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let body = json!({ "model": "m", "mcp_config_overrides": { "additional_servers": ["s"] } });
    let (_, chat) = hub.api(Method::POST, "/api/chats", body).await;
    let chat = format!("/api/chats/{}", chat["id"].as_str().unwrap());
    let send = async |said: &str| {
        let json = [("content-type", "application/json")];
        let body = json!({ "text": said }).to_string();
        hub.open(Method::POST, &format!("{chat}/messages"), &json, body).await.rest().await
    };
    send("go").await;
    let whole = hub.get(&chat).await;
    let texts: Vec<_> = whole["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["content"]["text"].as_str().unwrap())
        .collect();
    let rest =
        format!("{}\n[190 of {} characters; go on with offset 190]", &arguments[100..190], arguments.len());
    assert_eq!((texts[4], texts[5]), (rest.as_str(), "read"), "{texts:?}");
    let has_reader =
        |turn: usize| model.seen()[turn]["tools"].to_string().contains("mcp__builtin__read_result");
    assert_eq!([0, 1, 2].map(has_reader), [false, true, true], "it is given when there is something to read");
    // Later turns of the chat still have it.
    send("and now?").await;
    assert!(has_reader(3));

    let id = whole["messages"][2]["content"]["result_id"].as_str().unwrap();
    let last = own(&hub, "read_result", json!({ "id": id, "offset": 200 })).await;
    assert_eq!(text(&last), &arguments[200..]);
    for unknown in ["x", "0192f0c1-0000-7000-8000-000000000000"] {
        let result = own(&hub, "read_result", json!({ "id": unknown })).await;
        assert_eq!(text(&result), format!("no result has the id `{unknown}`"));
        assert_eq!(result["isError"], true);
    }
}

#[tokio::test]
async fn a_bud_with_the_builtin_server_calculates() {
    let script = [Reply::Tool("mcp__builtin__calculator", vec!["{\"expr", "ession\":\"6*7\"}"])];
    let model = Model::start(script).await;
    let hub = Hub::start_with(&model.config("anthropic")).await;
    let bud = json!({ "name": "Sums", "model": "m", "mcp_config": { "servers": ["builtin"] } });
    assert_eq!(hub.api(Method::POST, "/api/buds", bud).await.0, 201);
    let result = hub.call("mcp__Sums__ask", json!({ "message": "six times seven" })).await;
    assert_eq!(text(&result), "ok", "{result}");
    let tools = model.seen()[0]["tools"].as_array().unwrap().len();
    assert_eq!(tools, 3);
    assert!(model.seen()[1].to_string().contains("\"42\""), "{}", model.seen()[1]);
}
