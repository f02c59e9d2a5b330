//! Whatever the hub says is what the specification says it may say: every answer, notification and question is held
//! against the schema of the revision that was spoken.

use std::collections::{BTreeMap, HashMap};

use jsonschema::Validator;
use serde_json::{Value, json};
use toolgrove_fixture::{Era, LEGACY, MODERN, Options};

use crate::grove::{fixture, hub_with};
use crate::hub::Hub;
use crate::talk::{Door, Legacy, Modern, everything, obliging};

/// The types of one revision's schema.
struct Spec {
    version: String,
    schema: Value,
    at: &'static str,
    compiled: HashMap<String, Validator>,
    /// How many messages were held against which type.
    checked: BTreeMap<String, usize>,
    problems: Vec<String>,
}

impl Spec {
    fn of(version: &str) -> Self {
        let path = format!("{}/../../spec/{version}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let at = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
        Self {
            version: version.into(),
            schema,
            at,
            compiled: HashMap::new(),
            checked: BTreeMap::new(),
            problems: Vec::new(),
        }
    }

    fn knows(&self, kind: &str) -> bool {
        self.schema[self.at].get(kind).is_some()
    }

    fn check(&mut self, kind: &str, value: &Value, what: &str) {
        assert!(self.knows(kind), "{} has no {kind}", self.version);
        let (schema, at) = (&self.schema, self.at);
        let validator = self.compiled.entry(kind.to_owned()).or_insert_with(|| {
            let mut root = schema.clone();
            root["$ref"] = format!("#/{at}/{kind}").into();
            if at == "definitions" {
                // In draft-07 nothing beside a reference counts.
                root = json!({ "$schema": schema["$schema"], "allOf": [{ "$ref": root["$ref"] }], at: schema[at] });
            }
            jsonschema::options().build(&root).unwrap()
        });
        *self.checked.entry(kind.to_owned()).or_default() += 1;
        let problems: Vec<_> =
            validator.iter_errors(value).map(|it| format!("{}: {it}", it.instance_path())).collect();
        if !problems.is_empty() {
            let mut problem = format!("{} {what}: no {kind}: {}", self.version, problems.join("; "));
            problem.truncate(problem.char_indices().nth(600).map_or(problem.len(), |it| it.0));
            self.problems.push(format!("{problem}\n   {:.400}", value.to_string()));
        }
    }

    /// Any message of the hub; `method` is what was asked.
    fn check_message(&mut self, method: &str, message: &Value, what: &str) {
        let first = |kinds: [&'static str; 2]| if self.knows(kinds[0]) { kinds[0] } else { kinds[1] };
        match (message.get("method"), message.get("id"), message.get("error")) {
            (Some(_), None, _) => self.check("ServerNotification", message, what),
            (Some(_), Some(_), _) => {
                self.check("JSONRPCRequest", message, what);
                self.check("ServerRequest", message, what);
            }
            (None, _, Some(_)) => {
                let kind = first(["JSONRPCErrorResponse", "JSONRPCError"]);
                self.check(kind, message, what);
            }
            (None, _, None) => {
                let kind = first(["JSONRPCResultResponse", "JSONRPCResponse"]);
                self.check(kind, message, what);
                self.check_result(method, &message["result"], what);
            }
        }
    }

    fn check_result(&mut self, method: &str, result: &Value, what: &str) {
        let kind = match method {
            _ if result["resultType"] == "input_required" => "InputRequiredResult",
            "initialize" => "InitializeResult",
            "server/discover" => "DiscoverResult",
            "tools/list" => "ListToolsResult",
            "tools/call" => "CallToolResult",
            "prompts/list" => "ListPromptsResult",
            "prompts/get" => "GetPromptResult",
            "resources/list" => "ListResourcesResult",
            "resources/templates/list" => "ListResourceTemplatesResult",
            "resources/read" => "ReadResourceResult",
            "completion/complete" => "CompleteResult",
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => "EmptyResult",
            other => panic!("{what}: what is the result of {other}?"),
        };
        self.check(kind, result, what);
        if self.version == MODERN {
            assert!(result["resultType"].is_string(), "{what}: {result}");
        }
    }

    #[track_caller]
    fn done(self, wanted: &[&str], at_least: usize) {
        assert!(self.problems.is_empty(), "{} problems:\n{}", self.problems.len(), self.problems.join("\n"));
        for kind in wanted {
            assert!(self.checked.contains_key(*kind), "no {kind} was seen: {:?}", self.checked);
        }
        let all: usize = self.checked.values().sum();
        assert!(all >= at_least, "only {all}: {:?}", self.checked);
    }
}

/// Tools that end or hold up the fixture.
const LEFT_OUT: [&str; 6] = ["crash", "spawn_child", "close_listens", "big", "sleep", "stderr"];

/// Arguments that a schema might accept.
fn plausible(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let value = |(key, schema): (String, Value)| {
        let value = match schema["type"].as_str() {
            Some("integer" | "number") => json!(0),
            Some("boolean") => json!(true),
            Some("object") => json!({}),
            Some("array") => json!([]),
            _ if key == "uri" => json!("test://static-text"),
            _ => schema["enum"].get(0).cloned().unwrap_or_else(|| json!("text")),
        };
        (key, value)
    };
    properties.into_iter().map(value).collect()
}

/// Requests of every method, right and wrong, as somebody sees them who has these lists.
fn requests(
    tools: &[Value],
    prompts: &[Value],
    resources: &[Value],
    templates: &[Value],
) -> Vec<(String, Value)> {
    let mut all: Vec<(&str, Value)> = Vec::new();
    for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        all.push((list, json!({})));
        all.push((list, json!({ "cursor": "no cursor of ours" })));
    }
    let kept = |it: &&Value| !LEFT_OUT.iter().any(|out| it["name"].as_str().unwrap().ends_with(out));
    for tool in tools.iter().filter(kept) {
        let name = &tool["name"];
        all.push(("tools/call", json!({ "name": name, "arguments": plausible(&tool["inputSchema"]), "_meta": { "progressToken": "p" } })));
        all.push(("tools/call", json!({ "name": name })));
        all.push(("tools/call", json!({ "name": name, "arguments": { "ms": [], "message": 1, "x": null } })));
    }
    let slow = tools.iter().find(|it| it["name"].as_str().unwrap().ends_with("sleep")).unwrap();
    all.push((
        "tools/call",
        json!({ "name": slow["name"], "arguments": { "ms": 40 }, "_meta": { "progressToken": 3 } }),
    ));
    for arguments in [json!([]), json!("text"), json!(7), json!(null)] {
        all.push(("tools/call", json!({ "name": slow["name"], "arguments": arguments })));
    }
    all.push(("tools/call", json!({ "name": "nobody" })));
    all.push(("tools/call", json!({ "name": "" })));
    for prompt in prompts {
        let arguments: serde_json::Map<_, _> = prompt["arguments"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|it| (it["name"].as_str().unwrap().to_owned(), json!("test://static-text")))
            .collect();
        all.push(("prompts/get", json!({ "name": prompt["name"], "arguments": arguments })));
        all.push(("prompts/get", json!({ "name": prompt["name"] })));
        let reference = json!({ "type": "ref/prompt", "name": prompt["name"] });
        all.push((
            "completion/complete",
            json!({ "ref": reference, "argument": { "name": "arg1", "value": "a" } }),
        ));
    }
    all.push(("prompts/get", json!({ "name": "nobody" })));
    for resource in resources {
        all.push(("resources/read", json!({ "uri": resource["uri"] })));
    }
    for template in templates {
        let uri = template["uriTemplate"].as_str().unwrap();
        all.push(("resources/read", json!({ "uri": uri.replace("{id}", "7") })));
        let reference = json!({ "type": "ref/resource", "uri": uri });
        all.push((
            "completion/complete",
            json!({ "ref": reference, "argument": { "name": "id", "value": "7" } }),
        ));
    }
    for uri in ["test://nothing", "toolgrove://l/test://nothing", "toolgrove://nobody/x", "no uri", ""] {
        all.push(("resources/read", json!({ "uri": uri })));
    }
    all.push((
        "completion/complete",
        json!({ "ref": { "type": "ref/else" }, "argument": { "name": "a", "value": "" } }),
    ));
    all.push(("completion/complete", json!({})));
    all.into_iter().map(|(method, params)| (method.to_owned(), params)).collect()
}

/// One hub with a fixture of each era behind it.
async fn grove() -> (Hub, [toolgrove_fixture::Running; 2]) {
    let legacy = fixture(Options::default()).await;
    let modern = fixture(Options { era: Era::Modern, ..Options::default() }).await;
    let hub = hub_with(json!({ "l": { "url": legacy.url() }, "m": { "url": modern.url() } })).await;
    (hub, [legacy, modern])
}

const VIEWS: [&str; 3] = ["/mcp", "/mcp/i/l", "/mcp/i/m"];

fn items(result: &Value, key: &str) -> Vec<Value> {
    result[key].as_array().unwrap_or_else(|| panic!("{result}")).clone()
}

#[tokio::test]
async fn every_modern_answer_validates() {
    let (hub, _servers) = grove().await;
    let mut spec = Spec::of(MODERN);
    for view in VIEWS {
        for capabilities in [json!({}), everything()] {
            let client = Modern::at(&hub, view, capabilities.clone());
            let tools = items(&client.ask("tools/list", json!({})).await, "tools");
            let prompts = items(&client.ask("prompts/list", json!({})).await, "prompts");
            let resources = items(&client.ask("resources/list", json!({})).await, "resources");
            let templates =
                items(&client.ask("resources/templates/list", json!({})).await, "resourceTemplates");
            let mut all = requests(&tools, &prompts, &resources, &templates);
            for method in [
                "server/discover",
                "ping",
                "initialize",
                "logging/setLevel",
                "resources/subscribe",
                "no/method",
                "tasks/list",
            ] {
                all.push((method.into(), json!({})));
            }
            all.push(("tasks/get".into(), json!({ "taskId": "none" })));
            all.push(("subscriptions/listen".into(), json!({})));
            for (method, mut params) in all {
                params["_meta"]["io.modelcontextprotocol/logLevel"] = "debug".into();
                let mut params = params;
                // Answers are given round by round, as long as there are questions.
                for _ in 0..4 {
                    let what = format!("{view} {method} {params:.200}");
                    let answer = client.send(&method, params.clone()).await;
                    let messages = answer.messages();
                    assert!(!messages.is_empty(), "{what}: {} {}", answer.status, answer.text());
                    for it in &messages {
                        spec.check_message(&method, it, &what);
                    }
                    let result = &messages.last().unwrap()["result"];
                    if result["resultType"] != "input_required" {
                        break;
                    }
                    let requests = result["inputRequests"].as_object().cloned().unwrap_or_default();
                    for request in requests.values() {
                        spec.check("InputRequest", request, &what);
                    }
                    let answers: serde_json::Map<_, _> =
                        requests.iter().map(|(key, request)| (key.clone(), obliging(request))).collect();
                    params["inputResponses"] = Value::Object(answers);
                    match result.get("requestState") {
                        Some(state) => params["requestState"] = state.clone(),
                        None => drop(params.as_object_mut().unwrap().remove("requestState")),
                    }
                }
            }
        }
        // Messages that are none, and envelopes that lack something.
        for body in [
            "",
            "{",
            "[]",
            "[{}]",
            "7",
            "null",
            r#"{"jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        ] {
            for version in [MODERN, "2099-01-01"] {
                let headers = [
                    ("content-type", "application/json"),
                    ("mcp-protocol-version", version),
                    ("mcp-method", "tools/list"),
                ];
                let answer = hub.ask(http::Method::POST, view, &headers, body).await;
                for message in answer.messages() {
                    spec.check_message("tools/list", &message, &format!("{view} {version} {body}"));
                }
            }
        }
    }
    let mut hears = hub.listen("/mcp").await;
    let watch = Modern::new(&hub, json!({}));
    let wanted = json!({ "notifications": { "resourceSubscriptions": ["toolgrove://l/test://watched-resource", "toolgrove://m/test://watched-resource"] } });
    let mut watches = watch.open("subscriptions/listen", wanted).await;
    let first = watches.next().await.unwrap();
    spec.check_message("subscriptions/listen", &first, "acknowledged");
    for server in ["l", "m"] {
        for tool in ["change_tools", "test_trigger_prompt_change", "change_resources"] {
            hub.call(&format!("mcp__{server}__{tool}"), json!({})).await;
            spec.check_message("subscriptions/listen", &hears.next().await.unwrap(), tool);
        }
        hub.call(&format!("mcp__{server}__touch"), json!({ "uri": "test://watched-resource" })).await;
        spec.check_message("subscriptions/listen", &watches.next().await.unwrap(), "touch");
    }
    let wanted = [
        "CallToolResult",
        "CompleteResult",
        "DiscoverResult",
        "GetPromptResult",
        "InputRequest",
        "InputRequiredResult",
        "JSONRPCErrorResponse",
        "ListToolsResult",
        "ReadResourceResult",
        "ServerNotification",
    ];
    spec.done(&wanted, 2_000);
}

#[tokio::test]
async fn every_legacy_answer_validates_at_each_revision() {
    let (hub, _servers) = grove().await;
    for version in LEGACY {
        let mut spec = Spec::of(version);
        let clients = [
            ("/mcp", everything()),
            ("/mcp", json!({})),
            ("/mcp/i/l", everything()),
            ("/mcp/i/m", everything()),
        ];
        // What older revisions say differs in words only, all of which one client hears.
        let clients = clients.into_iter().take(if version == LEGACY[3] { 4 } else { 1 });
        for (view, capabilities) in clients {
            let mut client = Legacy::at(&hub, view, version, capabilities, obliging).await;
            spec.check_result("initialize", &client.initialized, view);
            client.hear().await;
            let mut lists = Vec::new();
            for (method, key) in [
                ("tools/list", "tools"),
                ("prompts/list", "prompts"),
                ("resources/list", "resources"),
                ("resources/templates/list", "resourceTemplates"),
            ] {
                lists.push(items(client.request(method, json!({})).await.outcome(), key));
            }
            let mut all = requests(&lists[0], &lists[1], &lists[2], &lists[3]);
            let uri = &lists[2][0]["uri"];
            all.push(("ping".into(), json!({})));
            all.push(("logging/setLevel".into(), json!({ "level": "debug" })));
            all.push(("logging/setLevel".into(), json!({ "level": "loud" })));
            all.push(("resources/subscribe".into(), json!({ "uri": uri })));
            all.push(("resources/subscribe".into(), json!({ "uri": "test://nothing-of-the-kind" })));
            all.push(("resources/unsubscribe".into(), json!({ "uri": uri })));
            all.push(("server/discover".into(), json!({})));
            all.push(("no/method".into(), json!({})));
            for (method, params) in all {
                let what = format!("{view} {method} {params:.200}");
                let heard = client.request(&method, params).await;
                spec.check_message(&method, &heard.message, &what);
                heard
                    .questions
                    .iter()
                    .chain(&heard.notes)
                    .for_each(|it| spec.check_message(&method, it, &what));
            }
        }
        let wanted = [
            "CallToolResult",
            "CompleteResult",
            "EmptyResult",
            "GetPromptResult",
            "InitializeResult",
            "ListToolsResult",
            "ReadResourceResult",
            "ServerNotification",
            "ServerRequest",
        ];
        spec.done(&wanted, 500);
    }
    // The other doors say the same; a sample is enough.
    let mut spec = Spec::of(LEGACY[3]);
    for door in [Door::Sse, Door::Stdio] {
        let mut client = Legacy::open(&hub, door, LEGACY[3], everything(), obliging).await;
        spec.check_result("initialize", &client.initialized, "initialize");
        for server in ["l", "m"] {
            for (tool, arguments) in [
                ("test_elicitation", json!({ "message": "Who?" })),
                ("sleep", json!({ "ms": 4 })),
                ("test_tool_with_logging", json!({})),
            ] {
                let params = json!({ "name": format!("mcp__{server}__{tool}"), "arguments": arguments, "_meta": { "progressToken": 1 } });
                let heard = client.request("tools/call", params).await;
                spec.check_message("tools/call", &heard.message, tool);
                heard
                    .questions
                    .iter()
                    .chain(&heard.notes)
                    .for_each(|it| spec.check_message("tools/call", it, tool));
            }
        }
    }
    spec.done(&["ServerRequest", "ServerNotification"], 40);
}
