//! `tabs_hub.json` and `tabs_wire.json`: what needs a real hub and its doors.

use std::time::Instant;

use http::Method;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::Case;
use crate::browser::{Browser, End, done, tool, until_listed};
use crate::hub::{Hub, PATIENCE};

const SHOP: &str = "https://example.com/shop";
const CART: &str = "website_tool_example_com_tab1_getCart";

crate::scenarios! {
    "exec-args-default" => args_default,
    "spoofed-result" => spoofed,
    "origin-missing" => origin_missing,
    "malformed" => malformed,
    "perf-register" => perf_register,
    "modern-client-tab-tools" => both_eras,
    "elicit-modern" => elicit_modern,
    "elicit-alias" => elicit_alias,
}

/// Those of the other file.
pub(crate) const WIRE: &[(&str, crate::Scenario)] = &[
    ("hello-accepted", |it| Box::pin(hello_accepted(it))),
    ("before-hello", |it| Box::pin(before_hello(it))),
    ("invoke", |it| Box::pin(invoke(it))),
    ("oversize", |it| Box::pin(oversize(it))),
    ("heartbeat", |it| Box::pin(heartbeat(it))),
    ("relay-protocol-from-browser", |it| Box::pin(relay_protocol(it))),
    ("subprotocols", |it| Box::pin(subprotocols(it))),
    ("mcpb-jsonrpc", |it| Box::pin(mcpb_jsonrpc(it))),
    ("meta-tools", |it| Box::pin(meta_tools(it))),
];

/// A hub to which pages with the relay can come, and its port.
async fn relay_hub(more: &str) -> (Hub, u16) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("toolgrove.toml"), format!("[tabs]\nrelay = true\n{more}")).unwrap();
    let home = dir.path().to_owned();
    let hub = Hub::start_as(dir, |command| {
        command.env("HOME", home);
    })
    .await;
    let port = hub.get("/api/tabs").await["relay"]["port"].as_u64().expect("a port");
    (hub, u16::try_from(port).unwrap())
}

/// A call beside whatever the browser does meanwhile.
macro_rules! meanwhile {
    ($call:expr, $browser:expr) => {
        tokio::join!($call, $browser)
    };
}

async fn args_default(_: Case) {
    let hub = Hub::start().await;
    let mut browser = Browser::connect(&hub).await;
    browser.register(1, SHOP, json!([tool("getCart")])).await;
    until_listed(&hub, CART).await;
    let page = async {
        let asked = browser.next().await.unwrap();
        assert_eq!(asked["params"]["args"], json!({}));
        browser.say(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": done("ok") })).await;
    };
    let (result, ()) = meanwhile!(hub.modern("/mcp", "tools/call", json!({ "name": CART })), page);
    assert_eq!(result.json()["result"]["content"][0]["text"], "ok");
}

async fn spoofed(_: Case) {
    let (hub, port) = relay_hub("").await;
    let mut pages = Vec::new();
    for tab in ["aaaa", "bbbb"] {
        let mut page = Browser::page(port, Some("https://example.com")).await;
        page.say(json!({ "type": "hello", "tabId": tab })).await;
        assert_eq!(page.next().await.unwrap()["type"], "hello/accepted");
        page.say(json!({ "type": "tools/list", "tools": [{ "name": format!("tool_{tab}") }] })).await;
        pages.push(page);
    }
    let [mut a, mut b] = <[Browser; 2]>::try_from(pages).ok().unwrap();
    let name = "website_tool_example_com_tab1_tool_aaaa";
    until_listed(&hub, name).await;
    let page = async {
        let asked = a.next().await.unwrap();
        let result = |text: &str| {
            let result = json!({ "content": [{ "type": "text", "text": text }] });
            json!({ "type": "result", "callId": asked["callId"], "result": result })
        };
        b.say(result("forged")).await;
        // What comes after it has been read when this is answered.
        b.say(json!({ "type": "hello", "tabId": "bbbb" })).await;
        assert_eq!(b.next().await.unwrap()["type"], "hello/accepted");
        a.say(result("true")).await;
    };
    let (result, ()) = meanwhile!(hub.call(name, json!({})), page);
    assert_eq!(result["content"][0]["text"], "true");
}

async fn origin_missing(case: Case) {
    let allowed = format!("allowed_origins = {}\n", case.given["allowed"]);
    let (hub, port) = relay_hub(&allowed).await;
    for origin in [None, Some("https://evil.example.com")] {
        let mut page = Browser::page(port, origin).await;
        page.say(json!({ "type": "hello", "tabId": "t", "origin": case.given["allowed"][0] })).await;
        assert_eq!(page.next().await.unwrap()["reason"], "host-origin-not-allowed");
        assert_eq!(page.end().await, End::Closed(1008));
    }
    let mut page = Browser::page(port, case.given["allowed"][0].as_str()).await;
    page.say(json!({ "type": "hello", "tabId": "t" })).await;
    assert_eq!(page.next().await.unwrap()["type"], "hello/accepted");
    drop(hub);
}

async fn malformed(_: Case) {
    let hub = Hub::start().await;
    let mut browser = Browser::connect(&hub).await;
    for text in
        ["not json", "[]", "7", r#"{"type":"dance"}"#, r#"{"jsonrpc":"2.0","method":"browser/dance"}"#]
    {
        futures::SinkExt::send(&mut browser.socket, Message::text(text)).await.unwrap();
    }
    browser.notify("browser/registerTools", json!({ "tools": "none" })).await;
    browser.register(1, SHOP, json!([tool("getCart")])).await;
    until_listed(&hub, CART).await;
    assert!(hub.log().contains("a message was ignored"), "{}", hub.log());
}

async fn perf_register(_: Case) {
    let hub = Hub::start().await;
    let mut browser = Browser::connect(&hub).await;
    until_listed(&hub, "mcp__tabs__browser_list_tools").await;
    let mut best = u128::MAX;
    for tab in 1..=5 {
        let tools: Value = (0..10).map(|it| tool(&format!("t{it}"))).collect();
        let started = Instant::now();
        browser.register(tab, &format!("https://site{tab}.example.com"), tools).await;
        until_listed(&hub, &format!("website_tool_site{tab}_example_com_tab1_t9")).await;
        best = best.min(started.elapsed().as_millis());
        // The next one is no burst.
        tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    }
    println!("10 tools from message to tools/list: {best} ms");
    // Ten times the bound: machines differ, mistakes are larger.
    assert!(best < 1000, "{best} ms");
}

async fn both_eras(_: Case) {
    let hub = Hub::start().await;
    let mut browser = Browser::connect(&hub).await;
    browser.register(1, SHOP, json!([tool("getCart")])).await;
    until_listed(&hub, CART).await;
    let serving = browser.serve(|tool, args| done(&format!("{tool} {args}")));
    let calls = async {
        let modern = hub.call(CART, json!({ "a": 1 })).await;
        let legacy = hub.legacy("/mcp").await;
        assert_eq!(legacy.initialized["capabilities"]["browser"]["multiTabSupport"], true);
        let listed = legacy.request("tools/list", json!({})).await;
        let names: Vec<_> = listed["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["name"].as_str().unwrap())
            .collect();
        assert!(names.contains(&CART), "{names:?}");
        let legacy = legacy.call(CART, json!({ "a": 1 })).await;
        for result in [modern, legacy] {
            assert_eq!(result["content"][0]["text"], r#"getCart {"a":1}"#, "{result}");
        }
        let discovered = hub.modern("/mcp", "server/discover", json!({})).await.json();
        let browser = &discovered["result"]["capabilities"]["extensions"]["dev.toolgrove/browser"];
        assert_eq!(browser["multiTabSupport"], true, "{discovered}");
    };
    tokio::select! {
        () = calls => {}
        end = serving => panic!("{end:?}"),
    }
}

/// A call of a modern client that can be asked.
async fn call_asking(hub: &Hub, more: Value) -> Value {
    let mut params = json!({ "name": CART, "arguments": {} });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params["_meta"] =
        json!({ "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } } });
    hub.modern("/mcp", "tools/call", params).await.json()["result"].clone()
}

async fn elicit_modern(_: Case) {
    let hub = Hub::start().await;
    let mut browser = Browser::connect(&hub).await;
    browser.register(1, SHOP, json!([tool("getCart")])).await;
    until_listed(&hub, CART).await;
    let page = async {
        let asked = browser.next().await.unwrap();
        let extensions = json!({ "tabId": 1, "requestId": asked["id"] });
        let params = json!({ "message": "Buy it?", "extensions": extensions });
        browser.say(json!({ "jsonrpc": "2.0", "id": "q", "method": "browser/elicitConfirmation", "params": params })).await;
        asked["id"].clone()
    };
    let (asking, id) = meanwhile!(call_asking(&hub, json!({})), page);
    assert_eq!(asking["resultType"], "input_required", "{asking}");
    let (key, question) = asking["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(question["params"]["message"], "[example.com] Buy it?", "{asking}");
    let answers = json!({ key: { "action": "accept", "content": {} } });
    let retry = json!({ "inputResponses": answers, "requestState": asking["requestState"] });
    let page = async {
        let answer = browser.next().await.unwrap();
        assert_eq!((&answer["id"], &answer["result"]["action"]), (&json!("q"), &json!("accept")), "{answer}");
        browser.say(json!({ "jsonrpc": "2.0", "id": id, "result": done("bought") })).await;
    };
    let (result, ()) = meanwhile!(call_asking(&hub, retry), page);
    assert_eq!(result["content"][0]["text"], "bought", "{result}");
    // It ran once: nothing else was asked of the page.
    browser.say(json!({ "jsonrpc": "2.0", "id": 9, "method": "nothing" })).await;
    assert_eq!(browser.next().await.unwrap()["id"], 9);
}

/// A message of the second vocabulary, held against its schema.
#[track_caller]
fn typed(kind: &str, message: Value) -> Value {
    let mut schema = toolgrove_core::tabs::wire::json_schema();
    schema["anyOf"] = json!([{ "$ref": format!("#/$defs/{kind}") }]);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<_> = validator.iter_errors(&message).map(|it| it.to_string()).collect();
    assert!(problems.is_empty(), "{message}: {problems:?}");
    let mut wrong = message.clone();
    wrong["type"] = json!("browser/registerTools");
    assert!(!validator.is_valid(&wrong), "a type of no such name");
    message
}

async fn elicit_alias(case: Case) {
    let hub = Hub::start().await;
    let mut browser = Browser::connect(&hub).await;
    for (word, tools) in [("register-tools", json!([])), ("tools-updated", json!([tool("getCart")]))] {
        let list = json!({ "type": word, "tools": tools, "tabUrl": SHOP, "extensions": { "tabId": 1 } });
        browser.say(typed("TypedToHub", list)).await;
    }
    until_listed(&hub, CART).await;
    let word = case.given["typed vocabulary"].clone();
    let page = async {
        let asked = typed("TypedFromHub", browser.next().await.unwrap());
        assert_eq!((&asked["type"], &asked["toolName"]), (&json!("execute-tool"), &json!("getCart")));
        let request = &asked["requestId"];
        browser.say(typed("TypedToHub", json!({ "type": "tool-started", "requestId": request }))).await;
        browser
            .say(typed("TypedToHub", json!({ "type": "progress", "requestId": request, "progress": 1 })))
            .await;
        let question = json!({ "type": word, "confirmId": "c", "requestId": request, "message": "Buy it?", "extensions": { "tabId": 1 } });
        browser.say(typed("TypedToHub", question)).await;
        // A client that cannot be asked: the person is, on the hub's own page.
        let question = loop {
            let open = hub.get("/api/tabs/questions").await;
            if let Some(question) = open.get(0) {
                break question.clone();
            }
        };
        assert_eq!(question["message"], "Buy it?", "{question}");
        let path = format!("/api/tabs/questions/{}", question["id"].as_str().unwrap());
        let said = hub.api(Method::POST, &path, json!({ "action": "decline" })).await;
        assert_eq!(said.0, 204, "{said:?}");
        let answer = typed("TypedFromHub", browser.next().await.unwrap());
        assert_eq!(
            answer,
            json!({ "type": "confirm-result", "confirmId": "c", "data": { "action": "decline" } })
        );
        let result = json!({ "type": "tool-result", "requestId": request, "data": done("not bought") });
        browser.say(typed("TypedToHub", result)).await;
    };
    let (result, ()) = meanwhile!(hub.call(CART, json!({})), page);
    assert_eq!(result["content"][0]["text"], "not bought", "{result}");
    // Without a running call there is nobody to ask.
    let question =
        json!({ "type": word, "confirmId": "d", "message": "Still?", "extensions": { "tabId": 1 } });
    browser.say(typed("TypedToHub", question)).await;
    let refused = typed("TypedFromHub", browser.next().await.unwrap());
    assert_eq!(refused["data"]["error"]["code"], -32600);
}

async fn hello_accepted(case: Case) {
    let (_hub, port) = relay_hub("").await;
    let mut page = Browser::page(port, Some("https://trusted.example.com")).await;
    page.say(case.given["send"].clone()).await;
    assert_eq!(page.next().await.unwrap(), case.expect);
}

async fn before_hello(_: Case) {
    let (hub, port) = relay_hub("").await;
    let mut page = Browser::page(port, Some("https://example.com")).await;
    page.say(json!({ "type": "tools/list", "tools": [{ "name": "early" }] })).await;
    page.say(json!({ "type": "hello", "tabId": "t" })).await;
    assert_eq!(page.next().await.unwrap()["type"], "hello/accepted");
    page.say(json!({ "type": "tools/list", "tools": [{ "name": "late" }] })).await;
    until_listed(&hub, "website_tool_example_com_tab1_late").await;
    assert!(!hub.tools().await.iter().any(|it| it.ends_with("early")));
}

/// One page with one tool.
async fn page_with(hub: &Hub, port: u16, name: &str) -> Browser {
    let mut page = Browser::page(port, Some("https://example.com")).await;
    page.say(json!({ "type": "hello", "tabId": "t", "url": "https://example.com/x" })).await;
    page.next().await.unwrap();
    page.say(json!({ "type": "tools/list", "tools": [{ "name": name }] })).await;
    until_listed(hub, &format!("website_tool_example_com_tab1_{}", name.replace('-', "_"))).await;
    page
}

async fn invoke(case: Case) {
    let (hub, port) = relay_hub("").await;
    let mut page = page_with(&hub, port, "get-cart").await;
    let serving = async {
        let asked = page.next().await.unwrap();
        assert_eq!(
            (&asked["type"], &asked["toolName"], &asked["args"]),
            (&json!("invoke"), &json!("get-cart"), &json!({}))
        );
        let mut answer = case.expect["page answers"].clone();
        answer["callId"] = asked["callId"].clone();
        page.say(answer).await;
    };
    // Under its own name, where the tabs are alone.
    let call = hub.modern("/mcp/i/tabs", "tools/call", json!({ "name": "get_cart", "arguments": {} }));
    let (result, ()) = meanwhile!(call, serving);
    assert_eq!(result.json()["result"]["content"], json!([]), "{}", result.text());
    let listed = hub.modern("/mcp/i/tabs", "tools/list", json!({})).await.json();
    let names: Vec<_> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(
        json!(names),
        json!(["get_cart", "webmcp_list_sources", "webmcp_list_tools", "webmcp_open_page"])
    );
    let unknown = hub.modern("/mcp/i/tabs", "tools/call", json!({ "name": "nonexistent_tool" })).await.json();
    assert_eq!(unknown["error"]["code"], -32001, "{unknown}");
    let strict = json!({ "name": "get_cart", "arguments": {}, "requestTabId": "nonexistent-tab" });
    let strict = hub.modern("/mcp/i/tabs", "tools/call", strict).await.json();
    assert_eq!(strict["error"]["data"]["code"], "tab.none", "{strict}");
}

async fn oversize(_: Case) {
    let (hub, port) = relay_hub("max_payload_mb = 1\n").await;
    let mut page = page_with(&hub, port, "big").await;
    let serving = async {
        let asked = page.next().await.unwrap();
        let text = "x".repeat(2_000_000);
        let result = json!({ "content": [{ "type": "text", "text": text }] });
        let message = json!({ "type": "result", "callId": asked["callId"], "result": result }).to_string();
        // The hub may hang up before everything is sent.
        let _ = futures::SinkExt::send(&mut page.socket, Message::text(message)).await;
        page.end().await
    };
    let (result, end) = meanwhile!(hub.call("website_tool_example_com_tab1_big", json!({})), serving);
    assert!(result["message"].as_str().is_some_and(|it| it.contains("1 MiB")), "{result}");
    assert!(matches!(end, End::Closed(1009) | End::Broken), "{end:?}");
}

async fn heartbeat(case: Case) {
    assert_eq!(
        (&case.expect["ping every"], &case.expect["dead after"]),
        (&json!("15 s"), &json!("25 s without pong"))
    );
    let (_hub, port) = relay_hub("").await;
    let mut page = Browser::page(port, Some("https://example.com")).await;
    let started = Instant::now();
    assert_eq!(page.next().await.unwrap()["type"], "ping");
    assert!((14..18).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
    let End::Closed(code) = page.end().await else { panic!("closed") };
    assert_eq!(json!(code), case.expect["close"]);
    assert!((24..30).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
    assert!(started.elapsed() < PATIENCE * 2);
}

async fn relay_protocol(_: Case) {
    let (_hub, port) = relay_hub("").await;
    let headers = [("sec-websocket-protocol", "webmcp-relay.v1"), ("origin", "https://example.com")];
    let mut page = Browser::open(port, "/", &headers).await.unwrap();
    assert_eq!(page.next().await, Err(End::Closed(1008)));
}

async fn subprotocols(case: Case) {
    let (_hub, port) = relay_hub("").await;
    let page = Browser::page(port, Some("https://example.com")).await;
    assert_eq!(json!(page.protocol), case.expect);
}

async fn mcpb_jsonrpc(_: Case) {
    let hub = Hub::start().await;
    let mut browser = Browser::connect(&hub).await;
    browser.notify("browser/registerTools", json!({ "tools": [tool("a")], "tabUrl": SHOP })).await;
    until_listed(&hub, "website_tool_example_com_tab1_a").await;
    browser.notify("browser/updateTools", json!({ "tools": [tool("getCart")], "tabUrl": SHOP })).await;
    until_listed(&hub, CART).await;
    for (result, is_error) in
        [(done("ok"), Value::Null), (json!({ "success": false, "payload": "boom" }), json!(true))]
    {
        let page = async {
            let asked = browser.next().await.unwrap();
            assert_eq!(
                (&asked["method"], &asked["params"]["toolName"], &asked["params"]["args"]),
                (&json!("browser/executeTool"), &json!("getCart"), &json!({ "x": 1 }))
            );
            browser.say(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })).await;
        };
        let (result, ()) = meanwhile!(hub.call(CART, json!({ "x": 1 })), page);
        assert_eq!(result.get("isError").cloned().unwrap_or(Value::Null), is_error, "{result}");
    }
}

async fn meta_tools(case: Case) {
    let hub = Hub::start().await;
    assert!(hub.tools().await.iter().all(|it| !it.starts_with("mcp__tabs__")), "nobody has paired a browser");
    let mut browser = Browser::connect(&hub).await;
    until_listed(&hub, "mcp__tabs__browser_list_tools").await;
    let names: Vec<_> = hub.tools().await.into_iter().filter(|it| it.starts_with("mcp__tabs__")).collect();
    assert_eq!(json!(names), case.expect);
    browser.register(1, SHOP, json!([tool("getCart")])).await;
    until_listed(&hub, CART).await;
    let listed = hub.call("mcp__tabs__browser_list_tools", json!({})).await;
    assert_eq!(listed["structuredContent"]["tabs"][0]["tools"][0]["name"], CART, "{listed}");
    for name in [CART, "getCart"] {
        let page = async {
            let asked = browser.next().await.unwrap();
            assert_eq!(asked["params"]["args"], json!({ "x": 1 }));
            browser.say(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": done("ok") })).await;
        };
        let call = hub.call("mcp__tabs__browser_call_tool", json!({ "name": name, "arguments": { "x": 1 } }));
        let (result, ()) = meanwhile!(call, page);
        assert_eq!(result["content"][0]["text"], "ok", "{result}");
    }
    let none = hub.call("mcp__tabs__browser_call_tool", json!({ "name": "nothing" })).await;
    assert_eq!(none["data"]["code"], "tab.none", "{none}");
    let opened = hub.call("mcp__tabs__browser_open_tab", json!({ "url": "javascript:alert(1)" })).await;
    assert_eq!(opened["content"][0]["text"], "only http: and https: URLs can be opened, got `javascript:`");
}
