//! `buds.json`: model presets as servers, calls as streams, plans, and what workspaces allow.

use http::Method;
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, Row, SqliteConnection};
use toolgrove_core::bud::{McpConfig, Overrides, Preset};
use toolgrove_core::text::command::Command;
use toolgrove_fixture::{Fixture, Options};

use crate::Case;
use crate::hub::{Answer, Hub};
use crate::model::{Model, Reply};
use crate::team::Team;

crate::scenarios! {
    "uri-forms" => uri_forms,
    "table-columns" => table_columns,
    "metadata-sync-insert" => metadata_sync,
    "discovery-scope" => discovery_scope,
    "invoke-body" => invoke_body,
    "invoke-bud-prompt" => invoke_prompt,
    "invoke-external" => invoke_external,
    "invoke-unknown-method" => invoke_unknown,
    "invoke-bad-args" => invoke_bad_args,
    "invoke-saved" => invoke_saved,
    "invoke-slash" => invoke_slash,
    "depth-self" => depth_self,
    "phase-alpha" => phase_alpha,
    "cfg-merge-servers" => merge_servers,
    "cfg-disabled-union" => disabled_union,
    "cfg-available" => available,
    "missing-fields" => missing_fields,
    "foreign-workspace" => foreign_workspace,
    "test-endpoint" => test_endpoint,
    "bad-json-args" => bad_json,
    "global-row" => global_row,
    "run-default-method" => default_method,
    "bud-run-route" => bud_run,
    "meta-signature" => meta_signature,
    "meta-offline" => meta_offline,
    "call-snippet-empty" => snippet,
    "rate-burst-default" => rate_burst,
    "rate-null" => rate_null,
    "bud-instance-first-use" => first_use,
    "plan-failure" => plan_failure,
    "convert-plain" => convert_plain,
    "convert-duplicate" => convert_duplicate,
    "convert-save" => convert_save,
    "convert-back" => convert_back,
    "registry-lists-all-kinds" => all_kinds,
    "allowlist-redirect" => allowlist_redirect,
    "favicon-once" => favicon_once,
    "migrations-keep-rows" => migrations,
}

/// A hub with a scripted model and one bud.
async fn with_bud(script: impl IntoIterator<Item = Reply>, bud: Value) -> (Hub, Model, Value) {
    let model = Model::start(script).await;
    let hub = Hub::start_with(&model.config("openai")).await;
    let bud = add_bud(&hub, bud).await;
    (hub, model, bud)
}

async fn add_bud(hub: &Hub, bud: Value) -> Value {
    let (status, bud) = hub.api(Method::POST, "/api/buds", bud).await;
    assert_eq!(status, 201, "{bud}");
    bud
}

/// A server's row in the registry.
async fn registered(hub: &Hub, name: &str) -> Value {
    let rows = hub.get("/api/mcp/registry").await;
    rows.as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone()
}

/// The events of a stream: name (empty for the unnamed) and data.
fn events(answer: &Answer) -> Vec<(String, Value)> {
    let text = answer.text();
    let read = |block: &str| {
        let line = |key: &str| block.lines().find_map(|it| it.strip_prefix(key)).map(str::to_owned);
        Some((line("event: ").unwrap_or_default(), serde_json::from_str(&line("data: ")?).unwrap()))
    };
    text.split("\n\n").filter_map(read).collect()
}

async fn post(hub: &Hub, path: &str, body: Value) -> Answer {
    hub.ask(Method::POST, path, &[("content-type", "application/json")], body.to_string()).await
}

async fn invoke(hub: &Hub, server: &Value, method: &str, args: Value) -> Answer {
    post(hub, "/api/mcp/invoke", json!({ "serverId": server, "method": method, "args": args })).await
}

fn joined(events: &[(String, Value)]) -> String {
    events.iter().filter(|it| it.0.is_empty()).map(|it| it.1["delta"].as_str().unwrap()).collect()
}

async fn uri_forms(_: Case) {
    let (hub, _model, bud) = with_bud([], json!({ "name": "Compare & co" })).await;
    assert_eq!(bud["address"], "bud://home/Compare%20%26%20co");
    let by_words = "/api/buds/bud%3A%2F%2Fhome%2FCompare%2520%2526%2520co";
    let by_id = format!("/api/buds/bud%3A%2F%2F{}", bud["id"].as_str().unwrap());
    for path in [by_words, &by_id] {
        assert_eq!(hub.get(path).await["id"], bud["id"], "{path}");
    }
    for path in ["/api/buds/bud%3A%2F%2Fhome%2Fcompare", "/api/buds/bud%3A%2F%2Fother%2FCompare"] {
        assert_eq!(hub.api(Method::GET, path, Value::Null).await.0, 404, "{path}");
    }
}

async fn database(hub: &Hub) -> SqliteConnection {
    let file = std::fs::read_dir(hub.data()).unwrap().map(|it| it.unwrap().path());
    let file = file.into_iter().find(|it| it.extension().is_some_and(|it| it == "db")).unwrap();
    SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(file)).await.unwrap()
}

async fn table_columns(case: Case) {
    let hub = Hub::start().await;
    let mut database = database(&hub).await;
    let rows = sqlx::query("SELECT name, \"notnull\" AS needed FROM pragma_table_info('mcp_servers')");
    let rows = rows.fetch_all(&mut database).await.unwrap();
    for column in case.expect.as_array().unwrap() {
        let column = column.as_str().unwrap();
        let name = column.split(' ').next().unwrap();
        let found =
            rows.iter().find(|it| it.get::<String, _>("name") == name).unwrap_or_else(|| panic!("{name}"));
        assert!(!column.contains("null") || found.get::<i64, _>("needed") == 0, "{column}");
    }
}

async fn metadata_sync(_: Case) {
    let hub = Hub::start().await;
    let bud = add_bud(&hub, json!({ "name": "Compare", "description": "Compares" })).await;
    let id = bud["id"].as_str().unwrap();
    let mut database = database(&hub).await;
    let row = sqlx::query("SELECT endpoint, metadata FROM mcp_servers WHERE bud_id = ?").bind(id);
    let row = row.fetch_one(&mut database).await.unwrap();
    assert_eq!(row.get::<String, _>("endpoint"), format!("bud://{id}"));
    let metadata: Value = serde_json::from_str(&row.get::<String, _>("metadata")).unwrap();
    assert_eq!((&metadata["name"], &metadata["description"]), (&json!("Compare"), &json!("Compares")));
    assert_eq!(metadata["methods"][0]["name"], "ask");
    assert_eq!(hub.api(Method::DELETE, &format!("/api/buds/{id}"), Value::Null).await.0, 204);
    assert_eq!(hub.api(Method::GET, &format!("/api/mcp/meta/{id}"), Value::Null).await.0, 404);
    assert!(hub.tools().await.is_empty());
}

async fn discovery_scope(_: Case) {
    let team = Team::start_with("[server.g]\nurl = \"http://127.0.0.1:9/mcp\"").await;
    let hub = &team.hub;
    let member = team.invite("bob", "member").await;
    let home = team.admin.get(hub, "/api/workspaces").await[0]["id"].clone();
    let (_, side) = team.admin.api(hub, Method::POST, "/api/workspaces", json!({ "name": "side" })).await;
    for (name, workspace) in [("a", &home), ("b", &side["id"])] {
        let bud = json!({ "name": name, "workspace_id": workspace });
        assert_eq!(team.admin.api(hub, Method::POST, "/api/buds", bud).await.0, 201);
    }
    let rows = member.get(hub, "/api/mcp/registry").await;
    let names: Vec<_> = rows.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "builtin", "g"], "and what everybody has");
}

async fn invoke_body(_: Case) {
    let schema = json!({ "type": "object", "properties": { "docA": { "type": "string" }, "docB": { "type": "string" } }, "required": ["docA", "docB"] });
    let method =
        json!({ "name": "compareClauses", "inputSchema": schema, "template": "{{docA}} or {{docB}}" });
    let (hub, model, bud) = with_bud(
        [Reply::Text(vec!["one ", "and ", "two"])],
        json!({ "name": "Compare", "model": "m", "methods": [method] }),
    )
    .await;
    let answer = invoke(&hub, &bud["id"], "compareClauses", json!({ "docA": "x", "docB": "y" })).await;
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let events = events(&answer);
    let id = events[0].1["id"].clone();
    for (name, data) in &events[..events.len() - 1] {
        assert_eq!((name.as_str(), data.as_object().unwrap().len()), ("", 3));
        assert_eq!((&data["role"], &data["id"]), (&json!("tool"), &id));
    }
    assert!(events.len() > 3, "it came in pieces: {events:?}");
    assert_eq!(joined(&events), "one and two");
    let (name, done) = events.last().unwrap();
    assert_eq!((name.as_str(), &done["result"]["content"][0]["text"]), ("done", &json!("one and two")));
    assert_eq!(model.seen()[0]["messages"].as_array().unwrap().last().unwrap()["content"], "x or y");
}

async fn invoke_prompt(case: Case) {
    let mut bud = case.given["bud"].clone();
    bud["name"] = "Compare".into();
    bud["max_tokens"] = json!(55);
    for kind in ["openai", "anthropic"] {
        let model = Model::start([]).await;
        let hub = Hub::start_with(&model.config(kind)).await;
        let made = add_bud(&hub, bud.clone()).await;
        invoke(&hub, &made["id"], "ask", json!({ "message": "hi" })).await;
        let [asked] = &model.seen()[..] else { panic!("one request") };
        let system = if kind == "openai" { &asked["messages"][0]["content"] } else { &asked["system"] };
        assert_eq!(system, &bud["system_prompt"], "{kind}");
        assert_eq!((&asked["model"], &asked["temperature"]), (&bud["model"], &bud["temperature"]), "{kind}");
        assert_eq!(asked["max_tokens"], 55, "{kind}");
        assert_eq!(asked.get("tools"), None, "{kind}");
    }
}

async fn invoke_external(_: Case) {
    let server = Fixture::start(Options::default()).await.unwrap();
    let hub = Hub::start().await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let row = registered(&hub, "s").await;
    for id in [&row["id"], &row["instance"]["id"]] {
        let events = events(&invoke(&hub, id, "echo", json!({ "a": 1 })).await);
        assert_eq!(joined(&events), "{\"a\":1}");
        assert_eq!(events.last().unwrap().0, "done");
    }
}

async fn invoke_unknown(_: Case) {
    let (hub, model, bud) = with_bud([], json!({ "name": "Compare", "model": "m" })).await;
    let answer = invoke(&hub, &bud["id"], "nope", json!({})).await;
    assert_eq!(answer.status, 200);
    let events = events(&answer);
    let [(name, data)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((name.as_str(), &data["error"]["code"]), ("error", &json!("tool.unknown")));
    assert!(data["error"]["detail"].as_str().unwrap().contains("nope"), "{data}");
    assert!(model.seen().is_empty());
}

async fn invoke_bad_args(_: Case) {
    let (hub, model, bud) = with_bud([], json!({ "name": "Compare", "model": "m" })).await;
    let answer = invoke(&hub, &bud["id"], "ask", json!({})).await;
    let problem = answer.json();
    assert_eq!((answer.status, &problem["code"]), (422, &json!("call.arguments")));
    assert!(problem["detail"].as_str().unwrap().contains("message"), "{problem}");
    assert!(model.seen().is_empty(), "the model is never called");
}

async fn invoke_saved(_: Case) {
    let (hub, _model, bud) =
        with_bud([Reply::Text(vec!["a", "b"])], json!({ "name": "Compare", "model": "m" })).await;
    let (_, chat) = hub.api(Method::POST, "/api/chats", json!({})).await;
    let body =
        json!({ "serverId": bud["id"], "method": "ask", "args": { "message": "x" }, "chatId": chat["id"] });
    post(&hub, "/api/mcp/invoke", body.clone()).await;
    let whole = hub.get(&format!("/api/chats/{}", chat["id"].as_str().unwrap())).await;
    let [message] = &whole["messages"].as_array().unwrap()[..] else { panic!("{whole}") };
    assert_eq!((&message["role"], &message["content"]["text"]), (&json!("tool"), &json!("ab")));
    let mut foreign = body;
    foreign["chatId"] = json!("0192f0c1-0000-7000-8000-000000000000");
    assert_eq!(post(&hub, "/api/mcp/invoke", foreign).await.status, 404);
}

async fn invoke_slash(_: Case) {
    let (hub, model, _) =
        with_bud([Reply::Text(vec!["answer"])], json!({ "name": "Compare", "model": "m" })).await;
    let message = json!({ "text": "/invoke bud://home/Compare which one?" });
    let events = events(&post(&hub, "/api/chats", json!({ "message": message })).await);
    let last = events.iter().rfind(|it| it.1["type"] == "message").unwrap();
    assert_eq!(last.1["message"]["content"]["text"], "answer", "{events:?}");
    assert_eq!(events.last().unwrap().1, json!({ "type": "done", "state": "done" }));
    assert_eq!(model.seen()[0]["messages"][0]["content"], "which one?");
}

async fn depth_self(_: Case) {
    let ask = || Reply::Tool("mcp__Loop__ask", vec!["{\"mess", "age\":\"again\"}"]);
    let script = [
        ask(),
        ask(),
        ask(),
        Reply::Text(vec!["third"]),
        Reply::Text(vec!["second"]),
        Reply::Text(vec!["first"]),
    ];
    let bud = json!({ "name": "Loop", "model": "m", "mcp_config": { "servers": ["Loop"] } });
    let (hub, model, bud) = with_bud(script, bud).await;
    let events = events(&invoke(&hub, &bud["id"], "ask", json!({ "message": "go" })).await);
    assert_eq!(joined(&events), "first", "the outer three answer: {events:?}");
    // Three buds have asked for a tool, and each has heard what came of it; the fourth never ran.
    assert_eq!(model.seen().len(), 6);
    assert!(
        model.seen()[3].to_string().contains("a bud may be called at most 3 deep"),
        "{}",
        model.seen()[3]
    );
    let calls = hub.get("/api/calls").await;
    let calls = calls["calls"].as_array().or(calls.as_array()).unwrap().clone();
    let depths: Vec<_> = calls.iter().map(|it| (it["depth"].clone(), it["error_code"].clone())).collect();
    assert!(depths.contains(&(json!(3), Value::Null)), "{depths:?}");
    assert!(depths.iter().any(|it| it.1 == "bud.depth"), "{depths:?}");
    let roots = calls.iter().filter(|it| it["parent_id"].is_null()).count();
    assert_eq!((calls.len(), roots), (4, 1), "one tree: {calls:?}");
}

async fn phase_alpha(_: Case) {
    who_switches_a_phase().await;
    let server = Fixture::start(Options::default()).await.unwrap();
    let (hub, _model, bud) = with_bud([], json!({ "name": "Compare", "model": "m" })).await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let workspace =
        format!("/api/workspaces/{}", hub.get("/api/workspaces").await[0]["id"].as_str().unwrap());
    let external = registered(&hub, "s").await["id"].clone();
    for (phase, bud_code, external_code) in [
        ("alpha", "workspace.calls-off", "workspace.calls-off"),
        ("beta", "", "workspace.external-off"),
        ("gamma", "", ""),
    ] {
        assert_eq!(hub.api(Method::PATCH, &workspace, json!({ "phase": phase })).await.0, 200);
        assert_eq!(
            hub.get("/api/mcp/registry").await.as_array().unwrap().len(),
            3,
            "{phase}: it is still read"
        );
        for (id, tool, args, code) in [
            (&bud["id"], "ask", json!({ "message": "x" }), bud_code),
            (&external, "echo", json!({}), external_code),
        ] {
            let slug = if tool == "ask" { "Compare" } else { "s" };
            let name = format!("mcp__{slug}__{tool}");
            let invoked = invoke(&hub, id, tool, args.clone()).await;
            let over_mcp = hub.call(&name, args.clone()).await;
            let by_api = post(&hub, "/api/mcp/call", json!({ "tool": name, "arguments": args })).await;
            if code.is_empty() {
                assert_eq!((invoked.status, by_api.status), (200, 200), "{phase} {tool}: {}", invoked.text());
                assert!(over_mcp["content"].is_array(), "{phase} {tool}: {over_mcp}");
            } else {
                for refused in [&invoked, &by_api] {
                    assert_eq!(
                        (refused.status, &refused.json()["code"]),
                        (403, &json!(code)),
                        "{phase} {tool}"
                    );
                }
                assert_eq!(over_mcp["data"]["code"], code, "{phase} {tool}: {over_mcp}");
            }
        }
    }
}

/// Only who keeps the workspace does.
async fn who_switches_a_phase() {
    let team = Team::start().await;
    let hub = &team.hub;
    let path = format!(
        "/api/workspaces/{}",
        team.admin.get(hub, "/api/workspaces").await[0]["id"].as_str().unwrap()
    );
    let (keeper, member) = (team.invite("kay", "workspace-admin").await, team.invite("bob", "member").await);
    let (_, side) = team.admin.api(hub, Method::POST, "/api/workspaces", json!({ "name": "side" })).await;
    assert_eq!(side["phase"], "beta", "a team's workspaces begin with buds");
    let side = format!("/api/workspaces/{}", side["id"].as_str().unwrap());
    // Being a workspace admin somewhere is not enough: they must keep this one.
    let keeps = json!({ "email": "kay@example.com", "role": "workspace-admin" });
    assert!(team.admin.api(hub, Method::POST, &format!("{path}/members"), keeps).await.0 < 300);
    for (who, name, place, expected) in [
        (&member, "a member", &path, (403, json!("auth.role"))),
        (&member, "a member, elsewhere", &side, (404, json!("workspace.unknown"))),
        (&keeper, "who keeps it", &path, (200, Value::Null)),
        (&keeper, "who keeps another", &side, (404, json!("workspace.unknown"))),
        (&team.admin, "an admin", &side, (200, Value::Null)),
    ] {
        let (status, answer) = who.api(hub, Method::PATCH, place, json!({ "phase": "alpha" })).await;
        assert_eq!((status, answer["code"].clone()), expected, "{name}: {answer}");
    }
    let (status, problem) = team.admin.api(hub, Method::PATCH, &path, json!({ "phase": "delta" })).await;
    assert_eq!(status, 400, "{problem}");
}

fn preset(case: &Case) -> Preset {
    let mut bud = case.given["bud"].clone();
    if bud.is_null() {
        bud = json!({ "available_tools": case.given["available_tools"] });
    } else if case.given["tools"].is_array() {
        bud["servers"] = json!(["s1", "s2"]);
    }
    let bud: McpConfig = serde_json::from_value(bud).unwrap();
    let chat = case.given["chat"].clone();
    let chat: Overrides =
        if chat.is_null() { Overrides::default() } else { serde_json::from_value(chat).unwrap() };
    Preset::of(&bud, &chat)
}

fn left(case: &Case) -> Value {
    let preset = preset(case);
    let tools = case.given["tools"].as_array().unwrap().iter();
    let allowed = tools.filter(|it| {
        let (server, tool) = it.as_str().unwrap().split_once('.').unwrap();
        preset.allows(&[server], tool)
    });
    allowed.cloned().collect()
}

async fn merge_servers(case: Case) {
    assert_eq!(json!(preset(&case).servers), case.expect);
}

async fn disabled_union(case: Case) {
    assert_eq!(left(&case), case.expect);
}

async fn available(case: Case) {
    assert_eq!(left(&case), case.expect);
}

async fn missing_fields(case: Case) {
    let hub = Hub::start().await;
    let (status, problem) = hub.api(Method::POST, "/api/mcp/servers", case.given["POST"].clone()).await;
    assert_eq!(
        json!({ "status": status, "code": problem["code"], "detail": problem["detail"] }),
        case.expect
    );
}

async fn foreign_workspace(case: Case) {
    let team = Team::start().await;
    let (_, side) =
        team.admin.api(&team.hub, Method::POST, "/api/workspaces", json!({ "name": "side" })).await;
    let member = team.invite("bob", "member").await;
    for (path, mut body) in [
        ("/api/mcp/servers", json!({ "name": "x", "endpoint": "https://x.example/mcp" })),
        ("/api/buds", json!({ "name": "x" })),
    ] {
        body[if path == "/api/buds" { "workspace_id" } else { "workspaceId" }] = side["id"].clone();
        let (status, problem) = member.api(&team.hub, Method::POST, path, body).await;
        assert_eq!(json!({ "status": status, "code": problem["code"] }), case.expect, "{path}");
    }
}

async fn test_endpoint(_: Case) {
    let server = Fixture::start(Options::default()).await.unwrap();
    let hub = Hub::start().await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let (status, answer) = hub.api(Method::POST, "/api/mcp/servers/s/test", Value::Null).await;
    let data = &answer["data"];
    assert_eq!((status, &data["success"], &data["message"]), (200, &json!(true), &json!("connected")));
    assert_eq!(data["server_name"], "s");
    assert!(data["tools"].as_array().unwrap().contains(&json!("echo")), "{data}");
}

async fn bad_json(case: Case) {
    let server = Fixture::start(Options::default()).await.unwrap();
    let script = [
        Reply::Tool("mcp__s__echo", vec!["{oops"]),
        Reply::Tool("nothing", vec!["{}"]),
        Reply::Text(vec!["sorry"]),
    ];
    let bud = json!({ "name": "Clumsy", "model": "m", "mcp_config": { "servers": ["s"] } });
    let (hub, model, bud) = with_bud(script, bud).await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let events = events(&invoke(&hub, &bud["id"], "ask", json!({ "message": "go" })).await);
    assert_eq!(joined(&events), "sorry", "{events:?}");
    let told =
        |turn: usize| model.seen()[turn]["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert_eq!(told(1), case.expect["message"]);
    assert_eq!(told(2), "no tool is called `nothing`");
}

async fn global_row(case: Case) {
    let endpoint = case.given["insert"]["endpoint"].as_str().unwrap();
    let team = Team::start_with(&format!("[server.everywhere]\nurl = \"{endpoint}\"")).await;
    let (_, side) =
        team.admin.api(&team.hub, Method::POST, "/api/workspaces", json!({ "name": "side" })).await;
    assert!(side["id"].is_string());
    for name in ["bob", "eve"] {
        let member = team.invite(name, "member").await;
        let rows = member.get(&team.hub, "/api/mcp/registry").await;
        assert!(rows.as_array().unwrap().iter().any(|it| it["name"] == "everywhere"), "{rows}");
    }
}

async fn default_method(_: Case) {
    let (hub, _model, _) = with_bud([], json!({ "name": "Plain" })).await;
    let list = hub.modern("/mcp/i/Plain", "tools/list", json!({})).await.json();
    let [tool] = &list["result"]["tools"].as_array().unwrap()[..] else { panic!("{list}") };
    assert_eq!((&tool["name"], &tool["inputSchema"]["required"]), (&json!("ask"), &json!(["message"])));
    assert_eq!(tool["inputSchema"]["properties"]["message"]["type"], "string");
}

async fn bud_run(_: Case) {
    let script = [Reply::Text(vec!["he", "llo"]), Reply::Text(vec!["he", "llo"])];
    let (hub, _model, bud) = with_bud(script, json!({ "name": "Plain", "model": "m" })).await;
    let ran = post(&hub, "/bud-run", json!({ "bud_id": bud["id"], "args": { "message": "hi" } })).await;
    let invoked = invoke(&hub, &bud["id"], "ask", json!({ "message": "hi" })).await;
    let shape = |answer: &Answer| {
        let mut events = events(answer);
        for it in &mut events {
            it.1["id"] = Value::Null;
        }
        events
    };
    assert_eq!(shape(&ran), shape(&invoked));
    assert_eq!(joined(&events(&ran)), "hello");
}

async fn meta_signature(case: Case) {
    let method = json!({ "name": case.given["method"], "inputSchema": case.given["inputSchema"] });
    let (hub, _model, bud) = with_bud([], json!({ "name": "Compare", "methods": [method] })).await;
    let meta = hub.get(&format!("/api/mcp/meta/{}", bud["id"].as_str().unwrap())).await;
    assert_eq!((&meta["methods"][0]["signature"], &meta["kind"]), (&case.expect, &json!("bud")));
}

async fn meta_offline(_: Case) {
    let server = Fixture::start(Options::default()).await.unwrap();
    let hub = Hub::start().await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let id = registered(&hub, "s").await["id"].as_str().unwrap().to_owned();
    drop(server);
    let meta = hub.get(&format!("/api/mcp/meta/{id}")).await;
    assert!(meta["methods"].as_array().unwrap().iter().any(|it| it["name"] == "echo"), "{meta}");
    assert!(meta["age_s"].is_i64() && meta["fetched_at"].is_i64(), "{meta}");
}

async fn snippet(case: Case) {
    let command = Command::read(case.given["text"].as_str().unwrap()).unwrap();
    let Some(Command::Call { server, method, arguments }) = command else { panic!("{command:?}") };
    assert_eq!(json!({ "server": server, "method": method, "args": arguments }), case.expect);
}

/// A hub with one external server whose limit is this.
async fn limited(rate: &Value) -> (Hub, toolgrove_fixture::Running) {
    let server = Fixture::start(Options::default()).await.unwrap();
    let hub = Hub::start().await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let (status, changed) = hub.api(Method::PATCH, "/api/mcp/servers/s", json!({ "rate_limit": rate })).await;
    assert_eq!((status, &changed["rate_limit"]), (200, rate), "{changed}");
    hub.call("mcp__s__nothing", json!({})).await;
    (hub, server)
}

async fn rate_burst(case: Case) {
    let mut rate = case.given["rate_limit"].clone();
    // Slow enough that a busy machine does not fill the bucket meanwhile.
    rate["tok_per_sec"] = json!(0.01);
    rate["burst"] = case.given["rate_limit"]["tok_per_sec"].clone();
    let (hub, _server) = limited(&rate).await;
    let call = || post(&hub, "/api/mcp/call", json!({ "tool": "mcp__s__echo" }));
    let answers = [call().await, call().await, call().await];
    assert_eq!(answers.each_ref().map(|it| it.status), [200, 200, 429]);
    assert_eq!(answers[2].json()["code"], "rate.limited");
    let wait: u64 = answers[2].headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=100).contains(&wait), "{wait}");
    let over_mcp = hub.call("mcp__s__echo", json!({})).await;
    assert!(over_mcp["data"]["retry_after_ms"].as_u64().unwrap() > 0, "{over_mcp}");
}

async fn rate_null(case: Case) {
    let (hub, _server) = limited(&case.given["rate_limit"]).await;
    let calls = (0..100).map(|_| hub.call("mcp__s__echo", json!({})));
    for result in futures::future::join_all(calls).await {
        assert!(result["content"].is_array(), "{result}");
    }
}

async fn first_use(_: Case) {
    let model = Model::start([]).await;
    let team = Team::start_with(&model.config("openai")).await;
    let hub = &team.hub;
    let (_, bud) =
        team.admin.api(hub, Method::POST, "/api/buds", json!({ "name": "Compare it", "model": "m" })).await;
    assert_eq!(
        team.admin.slugs(hub).await.iter().filter(|it| *it == "Compare-it").count(),
        1,
        "its author has it"
    );
    let member = team.invite("bob", "member").await;
    assert!(!member.slugs(hub).await.contains(&"Compare-it".to_owned()));
    let body = json!({ "serverId": bud["id"], "method": "ask", "args": { "message": "x" } });
    let answer = member
        .ask(hub, Method::POST, "/api/mcp/invoke", &[("content-type", "application/json")], body.to_string())
        .await;
    assert_eq!(joined(&events(&answer)), "ok", "{}", answer.text());
    assert!(member.slugs(hub).await.contains(&"Compare-it".to_owned()));
    let path = format!("/api/buds/{}", bud["id"].as_str().unwrap());
    let (status, problem) = member.api(hub, Method::PATCH, &path, json!({ "model": "x" })).await;
    assert_eq!((status, &problem["code"]), (403, &json!("auth.role")));
}

async fn plan_failure(case: Case) {
    let server = Fixture::start(Options::default()).await.unwrap();
    let hub = Hub::start().await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let node = |id: &str, tool: &str, args: Value| json!({ "id": id, "tool": tool, "args": args });
    let nodes = json!([
        node("c", "mcp__s__echo", json!({ "from": "{{b}}" })),
        node("a", "mcp__s__echo", json!({ "n": 1 })),
        node("b", "mcp__s__nothing", json!({ "from": "{{a}}" })),
        node("d", "mcp__s__echo", json!({})),
        node("e", "mcp__s__echo", json!({ "n": "{{a.n}}", "text": "got {{a}}" })),
    ]);
    let (status, plan) =
        hub.api(Method::POST, "/api/plans", json!({ "name": "p", "graph": { "nodes": nodes } })).await;
    assert_eq!(status, 201, "{plan}");
    let path = format!("/api/plans/{}", plan["id"].as_str().unwrap());
    let events = events(&post(&hub, &format!("{path}/run"), Value::Null).await);
    let (name, done) = events.last().unwrap();
    assert_eq!(name, "done");
    for (node, state) in case.expect.as_object().unwrap() {
        assert_eq!(&done["nodes"][node], state, "{node}: {done}");
    }
    let said = events.iter().find(|it| it.1["node"] == "e" && it.1["state"] == "done").unwrap();
    assert_eq!(said.1["delta"], r#"{"n":1,"text":"got {\"n\":1}"}"#);
    let circle = json!([node("a", "t", json!({ "x": "{{b}}" })), node("b", "t", json!({ "x": "{{a}}" }))]);
    let (status, problem) = hub.api(Method::PATCH, &path, json!({ "graph": { "nodes": circle } })).await;
    assert_eq!((status, &problem["code"]), (400, &json!("plan.cycle")));
}

async fn convert_plain(case: Case) {
    let hub = Hub::start().await;
    let (status, made) = hub.api(Method::POST, "/api/mcp/convert", case.given).await;
    assert_eq!(status, 200, "{made}");
    let methods = made["methods"].as_array().unwrap();
    let signatures: Vec<_> = methods.iter().map(|it| it["signature"].as_str().unwrap()).collect();
    assert_eq!(signatures, ["now()", "later()"]);
    for method in methods {
        assert_eq!(method["inputSchema"], json!({ "type": "object", "properties": {} }));
    }
}

async fn convert_duplicate(case: Case) {
    let hub = Hub::start().await;
    let (status, problem) = hub.api(Method::POST, "/api/mcp/convert", case.given).await;
    assert_eq!(format!("{status} {}", problem["code"].as_str().unwrap()), case.expect.as_str().unwrap());
}

async fn convert_save(_: Case) {
    let hub = Hub::start().await;
    let workspace = hub.get("/api/workspaces").await[0]["id"].clone();
    let body =
        json!({ "functions": [{ "name": "now" }], "name": "Clock", "save": { "workspaceId": workspace } });
    let (status, made) = hub.api(Method::POST, "/api/mcp/convert", body).await;
    assert_eq!(status, 200, "{made}");
    assert_eq!(hub.get(&format!("/api/buds/{}", made["bud_id"].as_str().unwrap())).await["name"], "Clock");
    assert_eq!(hub.tools().await, ["mcp__Clock__now"]);
}

async fn convert_back(_: Case) {
    let schema =
        json!({ "type": "object", "properties": { "a": { "type": ["integer", "null"] } }, "x-own": 1 });
    let hub = Hub::start().await;
    let long = "m".repeat(64);
    let methods = json!([{ "name": "short", "description": "S", "inputSchema": schema }, { "name": long }]);
    add_bud(&hub, json!({ "name": "Compare", "methods": methods })).await;
    let functions = hub.get("/api/mcp/tools?format=openai").await;
    let functions = functions.as_array().unwrap();
    assert_eq!(functions.len(), 2);
    for function in functions {
        assert_eq!(function["type"], "function");
        assert!(function["function"]["name"].as_str().unwrap().len() <= 64, "{function}");
    }
    let short = functions.iter().find(|it| it["function"]["description"] == "S").unwrap();
    assert_eq!(short["function"]["parameters"], schema);
}

async fn all_kinds(_: Case) {
    let server = Fixture::start(Options::default()).await.unwrap();
    let (hub, _model, _) = with_bud([], json!({ "name": "Zebra", "model": "m" })).await;
    hub.import(json!({ "a": { "url": server.url() } })).await;
    let rows = hub.get("/api/mcp/registry").await;
    let kinds: Vec<_> = rows.as_array().unwrap().iter().map(|it| (&it["kind"], &it["name"])).collect();
    let expected = [("bud", "Zebra"), ("builtin", "builtin"), ("external", "a")];
    assert_eq!(json!(kinds), json!(expected));
    assert_eq!((&rows[1]["icon"], &rows[1]["tools"]), (&json!("wrench"), &json!(3)));
    let own = hub.get(&format!("/api/mcp/meta/{}", rows[1]["id"].as_str().unwrap())).await;
    let signatures: Vec<_> = own["methods"].as_array().unwrap().iter().map(|it| &it["signature"]).collect();
    assert_eq!(
        json!(signatures),
        json!([
            "calculator(expression: string)",
            "file_search(query: string, limit?: number)",
            "read_result(id: string, offset?: number, length?: number)",
        ])
    );
}

/// A server at a host that is allowed comes to send everybody to one that is not.
async fn allowlist_redirect(_: Case) {
    let evil = Fixture::start(Options::default()).await.unwrap();
    let away = evil.url().replace("127.0.0.1", "localhost");
    let mut server = Fixture::start(Options::default()).await.unwrap();
    let url = server.url();
    let hub = Hub::start().await;
    let imported = hub.import(json!({ "sent": { "url": url }, "direct": { "url": away } })).await;
    assert_eq!(imported["failed"], json!([]), "{imported}");
    let path = format!("/api/workspaces/{}", hub.get("/api/workspaces").await[0]["id"].as_str().unwrap());
    let (status, changed) = hub.api(Method::PATCH, &path, json!({ "allowlist": ["127.0.0.1"] })).await;
    assert_eq!((status, &changed["allowlist"]), (200, &json!(["127.0.0.1"])), "{changed}");
    server.stop().await;
    let place = url.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    let listener = tokio::net::TcpListener::bind(place).await.unwrap();
    let target = away.clone();
    let app = axum::Router::new().fallback(move || {
        let target = target.clone();
        async move { axum::response::Redirect::temporary(&target) }
    });
    toolgrove_core::task::spawn("redirect", async move { axum::serve(listener, app).await.unwrap() });
    evil.clear_log();
    for name in ["sent", "direct"] {
        let answer = post(&hub, "/api/mcp/call", json!({ "tool": format!("mcp__{name}__echo") })).await;
        let problem = answer.json();
        assert_eq!((answer.status, &problem["code"]), (403, &json!("workspace.host")), "{name}: {problem}");
        assert_eq!(problem["detail"], "`localhost` is not on the allowlist of this workspace");
        let (_, tested) = hub.api(Method::POST, &format!("/api/mcp/servers/{name}/test"), Value::Null).await;
        assert_eq!(tested["data"]["message"], problem["detail"], "{name}");
    }
    assert!(evil.log().is_empty(), "nothing was sent to it");
}

async fn favicon_once(_: Case) {
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = asked.clone();
    let picture = move || {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async { b"\x89PNG\r\n\x1a\n the rest".as_slice() }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = axum::Router::new().route("/favicon.ico", axum::routing::get(picture));
    toolgrove_core::task::spawn("site", async move { axum::serve(listener, app).await.unwrap() });
    let team = Team::start().await;
    let bob = team.invite("bob", "member").await;
    let home = team.admin.get(&team.hub, "/api/workspaces").await[0]["id"].clone();
    for name in ["one", "two"] {
        let body = json!({ "workspaceId": home, "name": name, "endpoint": format!("{url}/{name}") });
        assert_eq!(team.admin.api(&team.hub, Method::POST, "/api/mcp/servers", body).await.0, 201);
    }
    for who in [&team.admin, &bob] {
        let rows = who.get(&team.hub, "/api/mcp/registry").await;
        for row in rows.as_array().unwrap().iter().filter(|it| it["kind"] == "external") {
            let icon = who.ask(&team.hub, Method::GET, row["icon"].as_str().unwrap(), &[], "").await;
            assert_eq!(icon.status, 200, "{row}");
        }
    }
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 1);
}

/// What a database of the first version held, in its words, read back after today's hub has opened it. Every version
/// and both databases: `store/src/tests/upgrade.rs`.
async fn migrations(_: Case) {
    const START: &str = include_str!("../../../store/migrations/0001_start.sql");
    const ROWS: &str = include_str!("../../../store/src/tests/rows/0001.sql");
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(dir.path().join("toolgrove.toml"), "").unwrap();
    let file = data.join("toolgrove.db");
    let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true).foreign_keys(false);
    let mut old = SqliteConnection::connect_with(&options).await.unwrap();
    let versions = "CREATE TABLE schema_versions (version BIGINT PRIMARY KEY, created_at BIGINT NOT NULL);
        INSERT INTO schema_versions VALUES (1, 1);";
    // A key that is not there seals what no hub can open.
    let unsealed = "DELETE FROM credentials";
    for script in [START, ROWS, versions, unsealed] {
        sqlx::raw_sql(script).execute(&mut old).await.unwrap();
    }
    let names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'";
    let tables: Vec<String> = sqlx::query_scalar(names).fetch_all(&mut old).await.unwrap();
    assert!(tables.len() > 5, "{tables:?}");
    let mut before = Vec::new();
    for table in &tables {
        let columns = sqlx::query_scalar("SELECT name FROM pragma_table_info(?)").bind(table);
        let columns: Vec<String> = columns.fetch_all(&mut old).await.unwrap();
        // Each value as SQL would write it, so that its type counts too.
        let values: Vec<_> = columns.iter().map(|it| format!("quote(\"{it}\")")).collect();
        let query = format!("SELECT {} FROM {table}", values.join(" || ',' || "));
        let rows: Vec<String> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(query.clone())).fetch_all(&mut old).await.unwrap();
        before.push((table, query, rows));
    }
    old.close().await.unwrap();
    let hub = Hub::start_in(dir).await;
    let mut now = database(&hub).await;
    for (table, query, rows) in before {
        let found: Vec<String> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_all(&mut now).await.unwrap();
        for row in &rows {
            assert!(found.contains(row), "{table}: {row} is not in {found:?}");
        }
    }
}
