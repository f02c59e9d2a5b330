//! Whatever the hub says is what the specification says it may say: every answer, notification and question is held
//! against the schema of the revision that was spoken. Here every tool, prompt and resource once; `garbled.rs` sends
//! everything that can be made of those.

use serde_json::{Value, json};
use toolgrove_fixture::{Era, LEGACY, MODERN, Options};

use crate::grove::{fixture, hub_with};
use crate::hub::Hub;
use crate::spec::Spec;
use crate::talk::{Legacy, Modern, everything, obliging};

/// Tools that end or hold up the fixture.
const LEFT_OUT: [&str; 8] =
    ["crash", "spawn_child", "close_listens", "big", "sleep", "stderr", "slow_compute", "required_task"];

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
pub(crate) fn requests(
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
pub(crate) async fn grove() -> (Hub, [toolgrove_fixture::Running; 2]) {
    let legacy = fixture(Options::default()).await;
    let modern = fixture(Options { era: Era::Modern, ..Options::default() }).await;
    let hub = hub_with(json!({ "l": { "url": legacy.url() }, "m": { "url": modern.url() } })).await;
    (hub, [legacy, modern])
}

pub(crate) const VIEWS: [&str; 3] = ["/mcp", "/mcp/i/l", "/mcp/i/m"];

pub(crate) fn items(result: &Value, key: &str) -> Vec<Value> {
    result[key].as_array().unwrap_or_else(|| panic!("{result}")).clone()
}

/// What one client sees, as requests.
pub(crate) async fn pool(client: &Modern<'_>) -> Vec<(String, Value)> {
    let mut lists = Vec::new();
    for (method, key) in LISTS {
        lists.push(items(&client.ask(method, json!({})).await, key));
    }
    requests(&lists[0], &lists[1], &lists[2], &lists[3])
}

const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

/// Requests that one era has and the other has not.
pub(crate) fn of_one_era() -> Vec<(String, Value)> {
    let all = [
        ("server/discover", json!({})),
        ("ping", json!({})),
        ("initialize", json!({})),
        ("logging/setLevel", json!({ "level": "debug" })),
        ("logging/setLevel", json!({ "level": "loud" })),
        ("resources/subscribe", json!({ "uri": "toolgrove://l/test://static-text" })),
        ("resources/subscribe", json!({ "uri": "test://nothing-of-the-kind" })),
        ("resources/unsubscribe", json!({ "uri": "toolgrove://l/test://static-text" })),
        ("subscriptions/listen", json!({})),
        ("tasks/get", json!({ "taskId": "none" })),
        ("tasks/list", json!({})),
        ("no/method", json!({})),
    ];
    all.into_iter().map(|(method, params)| (method.to_owned(), params)).collect()
}

/// Sends a modern request, answers what it asks round by round, and holds everything against the schema.
pub(crate) async fn converse(spec: &mut Spec, client: &Modern<'_>, method: &str, mut params: Value) {
    for _ in 0..4 {
        let what = format!("{} {method} {params:.200}", client.path);
        let answer = client.send(method, params.clone()).await;
        let messages = answer.messages();
        assert!(!messages.is_empty(), "{what}: {} {}", answer.status, answer.text());
        for it in &messages {
            spec.check_message(method, it, &what);
        }
        let result = &messages.last().unwrap()["result"];
        if result["resultType"] != "input_required" {
            return;
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

#[tokio::test]
async fn every_modern_answer_validates() {
    let (hub, _servers) = grove().await;
    let mut spec = Spec::of(MODERN);
    for (view, capabilities) in VIEWS.into_iter().zip([everything(), json!({}), everything()]) {
        let client = Modern::at(&hub, view, capabilities);
        for (method, mut params) in pool(&client).await.into_iter().chain(of_one_era()) {
            params["_meta"]["io.modelcontextprotocol/logLevel"] = "debug".into();
            converse(&mut spec, &client, &method, params).await;
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
    spec.done(&wanted, 1_000);
}

#[tokio::test]
async fn every_legacy_answer_validates_at_each_revision() {
    let (hub, _servers) = grove().await;
    let seen = pool(&Modern::new(&hub, json!({}))).await;
    for version in LEGACY {
        let mut spec = Spec::of(version);
        let mut client = Legacy::at(&hub, "/mcp", version, everything(), obliging).await;
        spec.check_result("initialize", &client.initialized, "initialize");
        client.hear().await;
        let all = seen.iter().cloned().chain(of_one_era().into_iter().filter(|it| it.0 != "initialize"));
        for (method, params) in all {
            let what = format!("{method} {params:.200}");
            let heard = client.request(&method, params).await;
            spec.check_message(&method, &heard.message, &what);
            heard.questions.iter().chain(&heard.notes).for_each(|it| spec.check_message(&method, it, &what));
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
}
