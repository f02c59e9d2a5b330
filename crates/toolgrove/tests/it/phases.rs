//! What a workspace lets be called: every phase, every kind of server, every door.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::{Fixture, Options};

use crate::browser::{Browser, done, tool, until_listed};
use crate::hub::{Hub, Legacy};
use crate::model::Model;
use crate::stdio::Client;

/// Kind, the server's name, its method, the name of the tool, arguments.
const KINDS: [(&str, &str, &str, &str, &str); 4] = [
    ("bud", "Compare", "ask", "mcp__Compare__ask", r#"{"message":"x"}"#),
    ("built-in", "builtin", "calculator", "mcp__builtin__calculator", r#"{"expression":"1+1"}"#),
    ("external", "s", "echo", "mcp__s__echo", "{}"),
    ("tab", "tabs", "website_tool_example_com_tab1_getCart", "website_tool_example_com_tab1_getCart", "{}"),
];

const CALLS_OFF: &str = "workspace.calls-off";
const EXTERNAL_OFF: &str = "workspace.external-off";

/// What a call of each kind comes to; empty: it goes through.
const PHASES: [(&str, [&str; 4]); 3] = [
    ("alpha", [CALLS_OFF, CALLS_OFF, CALLS_OFF, CALLS_OFF]),
    ("beta", ["", "", EXTERNAL_OFF, EXTERNAL_OFF]),
    ("gamma", ["", "", "", ""]),
];

const DOORS: [&str; 5] = ["legacy", "modern", "rest", "stdio", "invoke"];

/// The code that a call is refused with; empty if it is not.
async fn code(hub: &Hub, legacy: &Legacy<'_>, stdio: &mut Client, door: &str, kind: usize) -> String {
    let (_, server, method, name, arguments) = KINDS[kind];
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    let params = json!({ "name": name, "arguments": arguments });
    let said = match door {
        "legacy" => legacy.call(name, arguments).await,
        "modern" => hub.call(name, arguments).await,
        "stdio" => {
            let answer = stdio.request(7, "tools/call", params).await;
            answer.get("result").or(answer.get("error")).cloned().unwrap_or(answer)
        }
        "rest" => {
            let (status, answer) =
                hub.api(Method::POST, "/api/mcp/call", json!({ "tool": name, "arguments": arguments })).await;
            assert!([200, 403].contains(&status), "{door} {name}: {answer}");
            return answer["code"].as_str().unwrap_or_default().to_owned();
        }
        _ => {
            let rows = hub.get("/api/mcp/registry").await;
            let row = rows.as_array().unwrap().iter().find(|it| it["name"] == server).unwrap();
            let body = json!({ "serverId": row["id"], "method": method, "args": arguments });
            let json = [("content-type", "application/json")];
            let answer = hub.ask(Method::POST, "/api/mcp/invoke", &json, body.to_string()).await;
            let last = answer.json();
            assert!(
                answer.status == 403 || last["result"]["content"].is_array(),
                "{door} {name}: {}",
                answer.text()
            );
            return last["code"].as_str().unwrap_or_default().to_owned();
        }
    };
    let code = said["data"]["code"].as_str().unwrap_or_default().to_owned();
    assert!(!code.is_empty() || said["content"].is_array(), "{door} {name}: {said}");
    code
}

#[tokio::test]
async fn every_phase_holds_for_every_kind_at_every_door() {
    let model = Model::start([]).await;
    let server = Fixture::start(Options::default()).await.unwrap();
    let hub = Hub::start_with(&model.config("openai")).await;
    assert_eq!(hub.api(Method::POST, "/api/buds", json!({ "name": "Compare", "model": "m" })).await.0, 201);
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let mut browser = Browser::connect(&hub).await;
    browser.register(1, "https://example.com/shop", json!([tool("getCart")])).await;
    until_listed(&hub, KINDS[3].3).await;
    let legacy = hub.legacy("/mcp").await;
    let mut stdio = Client::start(hub.dir.path(), &[]);
    stdio.greet().await;
    let workspace =
        format!("/api/workspaces/{}", hub.get("/api/workspaces").await[0]["id"].as_str().unwrap());
    let work = async {
        let mut cells = 0;
        for (phase, codes) in PHASES {
            let (status, changed) = hub.api(Method::PATCH, &workspace, json!({ "phase": phase })).await;
            assert_eq!((status, &changed["phase"]), (200, &json!(phase)));
            server.clear_log();
            for door in DOORS {
                for (kind, expected) in codes.iter().enumerate() {
                    let found = code(&hub, &legacy, &mut stdio, door, kind).await;
                    assert_eq!(&found, expected, "{phase}, {}, {door}", KINDS[kind].0);
                    cells += 1;
                }
            }
            let called = server.methods().iter().filter(|it| *it == "tools/call").count();
            assert_eq!(
                called,
                if phase == "gamma" { DOORS.len() } else { 0 },
                "{phase}: what is refused is not sent"
            );
        }
        assert_eq!(cells, 60);
    };
    tokio::select! {
        () = work => {}
        end = browser.serve(|_, args| done(&args.to_string())) => panic!("the page was disturbed: {end:?}"),
    }
    stdio.end().await;
}
