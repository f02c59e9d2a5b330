//! Who is not let in at the door of browsers, what is not taken, and that the others never notice.

use std::time::Instant;

use futures::SinkExt;
use http::Method;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::browser::{Browser, EXTENSION, End, SUBPROTOCOL, done, origin, port, token, tool, until_listed};
use crate::hub::{Hub, command};

const SHOP: &str = "https://example.com/shop";
const CART: &str = "website_tool_example_com_tab1_getCart";

/// A hub, and a browser whose page answers for as long as the work goes on.
async fn with_shop(work: impl AsyncFnOnce(&Hub)) {
    let hub = Hub::start().await;
    let mut browser = Browser::connect(&hub).await;
    browser.register(1, SHOP, json!([tool("getCart")])).await;
    until_listed(&hub, CART).await;
    let serving = browser.serve(|_, args| done(&args.to_string()));
    let work = async {
        work(&hub).await;
        let result = hub.call(CART, json!({ "still": "there" })).await;
        assert_eq!(result["content"][0]["text"], r#"{"still":"there"}"#, "{result}");
    };
    tokio::select! {
        () = work => {}
        end = serving => panic!("the page was disturbed: {end:?}"),
    }
}

#[tokio::test]
async fn a_web_page_another_extension_and_a_foreign_host_are_refused_before_the_upgrade() {
    with_shop(async |hub| {
        let ours = origin();
        let other = format!("chrome-extension://{}", "a".repeat(32));
        let proper = ("sec-websocket-protocol", SUBPROTOCOL);
        let refused: [Vec<(&str, &str)>; 6] = [
            vec![("origin", "https://evil.example.com"), proper],
            vec![("origin", &hub.url), proper],
            vec![("origin", &other), proper],
            vec![proper],
            vec![("origin", &ours), ("sec-websocket-protocol", "chat")],
            vec![("origin", &ours), ("host", "evil.example.com"), proper],
        ];
        for headers in refused {
            let status = Browser::open(port(hub), "/tabs", &headers).await.err();
            assert_eq!(status, Some(403), "{headers:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_wrong_token_an_old_protocol_and_a_replayed_handshake_are_turned_away() {
    with_shop(async |hub| {
        let (mut browser, nonce) = Browser::knock(hub).await;
        browser.say(Browser::hello("profile-2", &"0".repeat(64), &nonce)).await;
        assert_eq!(browser.end().await, End::Closed(4003));

        let (mut browser, nonce) = Browser::knock(hub).await;
        let mut hello = Browser::hello("profile-2", &token(hub), &nonce);
        hello["params"]["protocol"] = json!(2);
        browser.say(hello).await;
        assert_eq!(browser.end().await, End::Closed(4002));

        // What was good for one challenge is good for no other.
        let (mut first, nonce) = Browser::knock(hub).await;
        let hello = Browser::hello("profile-2", &token(hub), &nonce);
        first.say(hello.clone()).await;
        assert_eq!(first.next().await.unwrap()["method"], "hub/welcome");
        let (mut second, _) = Browser::knock(hub).await;
        second.say(hello).await;
        assert_eq!(second.end().await, End::Closed(4003));

        let (mut browser, _) = Browser::knock(hub).await;
        browser.notify("browser/registerTools", json!({ "tools": [tool("sneaky")], "tabUrl": SHOP })).await;
        assert_eq!(browser.end().await, End::Closed(4003));
        assert!(hub.tools().await.iter().all(|it| !it.ends_with("sneaky")));

        let (mut browser, _) = Browser::knock(hub).await;
        let long =
            json!({ "jsonrpc": "2.0", "method": "browser/hello", "params": { "x": "y".repeat(5000) } });
        browser.say(long).await;
        assert_eq!(browser.end().await, End::Closed(1009));
    })
    .await;
}

#[tokio::test]
async fn whoever_guesses_five_times_waits() {
    let hub = Hub::start().await;
    for _ in 0..5 {
        let (mut browser, nonce) = Browser::knock(&hub).await;
        browser.say(Browser::hello("p", "guess", &nonce)).await;
        assert_eq!(browser.end().await, End::Closed(4003));
    }
    let ours = origin();
    let headers = [("origin", ours.as_str()), ("sec-websocket-protocol", SUBPROTOCOL)];
    assert_eq!(Browser::open(port(&hub), "/tabs", &headers).await.err(), Some(429));
}

#[tokio::test]
async fn a_message_of_20_mb_ends_its_own_connection_and_no_other() {
    with_shop(async |hub| {
        let mut browser = Browser::connect_as(hub, "profile-2", &token(hub)).await;
        let message =
            json!({ "jsonrpc": "2.0", "method": "browser/tabs", "params": { "x": "y".repeat(20_000_000) } });
        // The hub may hang up before everything is sent.
        let _ = browser.socket.send(Message::text(message.to_string())).await;
        let end = browser.end().await;
        assert!(matches!(end, End::Closed(1009) | End::Broken), "{end:?}");
    })
    .await;
}

#[tokio::test]
async fn a_flood_ends_its_own_connection_and_no_other() {
    with_shop(async |hub| {
        let mut browser = Browser::connect_as(hub, "profile-2", &token(hub)).await;
        let message = json!({ "jsonrpc": "2.0", "method": "browser/pong", "params": { "t": 1 } }).to_string();
        for _ in 0..10_000 {
            if browser.socket.feed(Message::text(message.clone())).await.is_err() {
                break;
            }
        }
        let _ = browser.socket.flush().await;
        let end = browser.end().await;
        assert!(matches!(end, End::Closed(1008) | End::Broken), "{end:?}");
    })
    .await;
}

#[tokio::test]
async fn a_tab_that_tells_of_its_tools_all_the_time_is_heard_now_and_then() {
    let hub = Hub::start().await;
    let mut browser = Browser::connect(&hub).await;
    for _ in 0..100 {
        browser.register(1, SHOP, json!([tool("getCart")])).await;
    }
    browser.register(1, SHOP, json!([tool("last")])).await;
    browser.register(2, "https://example.org/", json!([tool("other")])).await;
    browser.say(json!({ "jsonrpc": "2.0", "id": 9, "method": "nothing" })).await;
    assert_eq!(browser.next().await.unwrap()["id"], 9, "it has read all that");
    until_listed(&hub, "website_tool_example_org_tab1_other").await;
    let tabs = hub.get("/api/tabs").await["tabs"].to_string();
    assert!(tabs.contains(CART) && !tabs.contains("tab1_last"), "{tabs}");
}

#[tokio::test]
async fn arguments_are_checked_before_a_page_sees_them() {
    let hub = Hub::start().await;
    let mut browser = Browser::connect(&hub).await;
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    browser.register(1, SHOP, json!([{ "name": "getCart", "inputSchema": schema }])).await;
    until_listed(&hub, CART).await;
    let result = hub.call(CART, json!({ "n": "one" })).await;
    assert_eq!(result["isError"], true, "{result}");
    assert!(result["content"][0]["text"].as_str().unwrap().starts_with("arguments do not match"), "{result}");
    // Nothing was sent: the next thing the page hears is the answer to this.
    browser.say(json!({ "jsonrpc": "2.0", "id": 9, "method": "nothing" })).await;
    assert_eq!(browser.next().await.unwrap()["id"], 9);
}

#[tokio::test]
async fn a_code_pairs_one_browser_once_and_a_forgotten_browser_stays_out() {
    let hub = Hub::start().await;
    let (status, pairing) = hub.api(Method::POST, "/api/tabs/pair", Value::Null).await;
    assert_eq!(status, 201, "{pairing}");
    let code = pairing["code"].as_str().unwrap();
    assert_eq!(pairing["paste"], format!("127.0.0.1:{}#{code}", port(&hub)));
    assert!(
        pairing["link"].as_str().unwrap().starts_with(&format!("chrome-extension://{EXTENSION}/pair.html?"))
    );
    let mut given = String::new();
    for is_first in [true, false] {
        let (mut browser, nonce) = Browser::knock(&hub).await;
        let mut hello = Browser::hello("profile-7", code, &nonce);
        hello["params"]["pairing"] = json!(true);
        browser.say(hello).await;
        if is_first {
            given = browser.next().await.unwrap()["params"]["token"].as_str().unwrap().to_owned();
        } else {
            assert_eq!(browser.end().await, End::Closed(4003));
        }
    }
    let mut browser = Browser::connect_as(&hub, "profile-7", &given).await;
    assert_eq!(hub.get("/api/tabs").await["browsers"][0]["id"], "profile-7");
    let (status, _) = hub.api(Method::DELETE, "/api/tabs/browsers/profile-7", Value::Null).await;
    assert_eq!(status, 204);
    assert_eq!(browser.end().await, End::Closed(4003));
    for secret in [given, token(&hub)] {
        let (mut browser, nonce) = Browser::knock(&hub).await;
        browser.say(Browser::hello("profile-7", &secret, &nonce)).await;
        assert_eq!(
            browser.end().await,
            End::Closed(4003),
            "neither with its token nor with that of the machine"
        );
    }
    assert_eq!(hub.get("/api/tabs").await["browsers"], json!([]));
}

#[tokio::test]
async fn numbers_and_remembered_tools_outlive_the_hub() {
    let hub = Hub::start().await;
    let mut browser = Browser::connect(&hub).await;
    let cached =
        json!({ "name": "getCart", "inputSchema": { "type": "object" }, "annotations": { "cache": true } });
    browser.register(5, SHOP, json!([tool("other")])).await;
    browser.register(6, SHOP, json!([cached])).await;
    until_listed(&hub, "website_tool_example_com_tab2_getCart").await;
    let dir = hub.stop().await;
    let hub = Hub::start_in(dir).await;
    until_listed(&hub, "website_tool_example_com_getCart").await;
    let mut browser = Browser::connect(&hub).await;
    browser.notify("browser/tabs", json!({ "tabs": [{ "tabId": 5 }, { "tabId": 6 }] })).await;
    browser.register(6, SHOP, json!([tool("getCart")])).await;
    until_listed(&hub, "website_tool_example_com_tab2_getCart").await;
    let log = hub.get("/api/tabs/log").await;
    assert_eq!(
        (&log[0]["event"], &log[0]["domain"], &log[0]["tabId"]),
        (&json!("registered"), &json!("example.com"), &json!(6))
    );
    let output = command(hub.dir.path()).args(["tabs", "forget", "example.com"]).output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(hub.get("/api/tabs").await["remembered"], json!([]));
}

#[tokio::test]
async fn a_hundred_calls_at_once_are_all_answered() {
    with_shop(async |hub| {
        let mut times = Vec::new();
        for n in 0..50 {
            let started = Instant::now();
            hub.call(CART, json!({ "n": n })).await;
            times.push(started.elapsed());
        }
        times.sort();
        println!("round trip p50 {:?}, p95 {:?}", times[24], times[47]);
        let started = Instant::now();
        let calls = (0..100).map(|n| async move {
            let result = hub.call(CART, json!({ "n": n })).await;
            assert_eq!(result["content"][0]["text"], format!(r#"{{"n":{n}}}"#), "{result}");
        });
        futures::future::join_all(calls).await;
        println!("100 calls at once: {:?}", started.elapsed());
    })
    .await;
}

#[tokio::test]
async fn the_native_messaging_host_answers_one_question() {
    let hub = Hub::start().await;
    let ask = async |origin: &str| {
        let mut child = command(hub.dir.path());
        child.arg(origin).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = child.spawn().unwrap();
        let question = br#"{"profileId":"p"}"#;
        let mut stdin = child.stdin.take().unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stdin, &(question.len() as u32).to_le_bytes())
            .await
            .unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stdin, question).await.unwrap();
        let output = child.wait_with_output().await.unwrap();
        assert!(output.status.success());
        let length = u32::from_le_bytes(output.stdout[..4].try_into().unwrap()) as usize;
        assert_eq!(output.stdout.len(), 4 + length);
        serde_json::from_slice::<Value>(&output.stdout[4..]).unwrap()
    };
    let answer = ask(&format!("{}/", origin())).await;
    assert_eq!(answer, json!({ "port": port(&hub), "token": token(&hub) }));
    let other = ask(&format!("chrome-extension://{}/", "a".repeat(32))).await;
    assert!(other.get("token").is_none() && other["error"].is_string(), "{other}");

    let profile = hub.dir.path().join("profile");
    let output =
        command(hub.dir.path()).args(["tabs", "install", "--user-data-dir"]).arg(&profile).output().await;
    assert!(output.unwrap().status.success());
    let manifest = profile.join("NativeMessagingHosts/dev.toolgrove.pair.json");
    let manifest: Value = serde_json::from_str(&std::fs::read_to_string(manifest).unwrap()).unwrap();
    assert_eq!(manifest["allowed_origins"], json!([format!("{}/", origin())]));
    assert!(std::path::Path::new(manifest["path"].as_str().unwrap()).is_file());
}

#[tokio::test]
async fn link_and_code_name_the_address_that_browsers_reach_the_hub_under() {
    let hub = Hub::start_with("public_url = \"https://hub.example.com/\"").await;
    let (status, pairing) = hub.api(Method::POST, "/api/tabs/pair", Value::Null).await;
    assert_eq!(status, 201, "{pairing}");
    let code = pairing["code"].as_str().unwrap();
    assert_eq!(pairing["paste"], format!("https://hub.example.com#{code}"));
    let place = "hub=https%3A%2F%2Fhub.example.com";
    assert_eq!(
        pairing["link"],
        format!("chrome-extension://{EXTENSION}/pair.html?{place}&code={code}"),
        "the address is one value of the link"
    );
    // A browser comes through whoever answers there, with that name.
    let ours = origin();
    let headers =
        [("origin", ours.as_str()), ("host", "hub.example.com"), ("sec-websocket-protocol", SUBPROTOCOL)];
    assert!(Browser::open(port(&hub), "/tabs", &headers).await.is_ok());
}

#[tokio::test]
async fn progress_comes_in_its_order_and_before_the_result() {
    let hub = Hub::start().await;
    let mut browser = Browser::connect(&hub).await;
    browser.register(1, SHOP, json!([tool("getCart")])).await;
    until_listed(&hub, CART).await;
    let page = async {
        let id = browser.next().await.unwrap()["id"].clone();
        browser.notify("browser/toolStarted", json!({ "requestId": id })).await;
        for step in 1..=30 {
            let params =
                json!({ "progressToken": id, "progress": step, "total": 30, "message": step.to_string() });
            browser.notify("notifications/progress", params).await;
        }
        browser.say(json!({ "jsonrpc": "2.0", "id": id, "result": done("all") })).await;
    };
    let meta = json!({ "progressToken": "mine" });
    let params = json!({ "name": CART, "arguments": {}, "_meta": meta });
    let (answer, ()) = tokio::join!(hub.modern("/mcp", "tools/call", params), page);
    let mut messages = answer.messages();
    let result = messages.pop().unwrap();
    assert_eq!(result["result"]["content"][0]["text"], "all", "{result}");
    let steps: Vec<_> = messages.iter().map(|it| it["params"]["progress"].as_u64().unwrap()).collect();
    assert_eq!(steps, (1..=30).collect::<Vec<_>>(), "{messages:?}");
    assert!(messages.iter().all(|it| it["params"]["progressToken"] == "mine"), "{messages:?}");
}

#[tokio::test]
async fn a_call_stands_in_the_log_with_its_tab_and_domain() {
    let hub = Hub::start().await;
    let mut browser = Browser::connect(&hub).await;
    browser.register(12, SHOP, json!([tool("getCart")])).await;
    until_listed(&hub, CART).await;
    let logs = async {
        hub.call(CART, json!({})).await;
        let output = command(hub.dir.path()).arg("logs").output().await.unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let logs = tokio::select! {
        logs = logs => logs,
        end = browser.serve(|_, _| done("tea")) => panic!("{end:?}"),
    };
    let (head, row) = logs.trim_end().split_once('\n').unwrap();
    assert!(head.ends_with("TAB"), "{logs}");
    assert!(row.contains(CART) && row.ends_with("example.com (12)"), "{logs}");
    let call = &hub.get("/api/calls").await[0];
    assert_eq!(call["tab"], json!({ "id": 12, "domain": "example.com" }), "{call}");
}

#[tokio::test]
async fn a_frozen_tab_is_brought_to_the_front_before_its_tool_is_called() {
    let hub = Hub::start_with("[tabs]\nactivate = true").await;
    let mut browser = Browser::connect(&hub).await;
    browser.register(1, SHOP, json!([tool("getCart")])).await;
    let frozen = json!({ "tabId": 1, "windowId": 1, "active": false, "frozen": true });
    browser.notify("browser/tabs", json!({ "tabs": [frozen] })).await;
    browser.say(json!({ "jsonrpc": "2.0", "id": 9, "method": "nothing" })).await;
    assert_eq!(browser.next().await.unwrap()["id"], 9, "the hub has read it");
    until_listed(&hub, CART).await;
    let page = async {
        let first = browser.next().await.unwrap();
        assert_eq!(first["method"], "browser/activateTab", "{first}");
        assert_eq!(first["params"]["tabId"], 1, "{first}");
        browser.say(json!({ "jsonrpc": "2.0", "id": first["id"], "result": {} })).await;
        let second = browser.next().await.unwrap();
        assert_eq!(second["method"], "browser/executeTool", "{second}");
        browser.say(json!({ "jsonrpc": "2.0", "id": second["id"], "result": done("awake") })).await;
    };
    let (result, ()) = tokio::join!(hub.call(CART, json!({})), page);
    assert_eq!(result["content"][0]["text"], "awake", "{result}");
}

#[tokio::test]
async fn messages_are_traced_without_what_is_in_them_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start_as(dir, |command| {
        command.env("TOOLGROVE_LOG", "tabs=trace");
    })
    .await;
    let mut browser = Browser::connect(&hub).await;
    browser.register(12, SHOP, json!([tool("getCart")])).await;
    until_listed(&hub, CART).await;
    browser.say(json!({ "jsonrpc": "2.0", "method": "browser/nonsense" })).await;
    tokio::select! {
        _ = hub.call(CART, json!({ "card": "4111-1111" })) => {}
        end = browser.serve(|_, _| done("PIN 9876")) => panic!("{end:?}"),
    }
    let numbers = hub.ask(Method::GET, "/metrics", &[], String::new()).await.text();
    for counted in [
        "toolgrove_tabs_messages_total{direction=\"in\"}",
        "toolgrove_tabs_messages_total{direction=\"out\"}",
        "toolgrove_tabs_refused_total{why=\"message\"} 1",
        "toolgrove_tabs_capability_changes_total",
    ] {
        assert!(numbers.contains(counted), "{counted}: {numbers}");
    }
    let dir = hub.stop().await;
    let log = std::fs::read_to_string(dir.path().join("hub.log")).unwrap();
    for (direction, kind) in
        [("in", "browser/registerTools"), ("out", "browser/executeTool"), ("in", "answer")]
    {
        let is_it = |it: &&str| it.contains(direction) && it.contains(kind) && it.contains("bytes");
        let line = log.lines().find(is_it).unwrap_or_else(|| panic!("{direction} {kind}: {log}"));
        if kind != "answer" {
            assert!(line.contains("example.com") && line.contains("12"), "{line}");
        }
    }
    assert!(log.contains("the browser capability changed"), "{log}");
    for secret in ["4111-1111", "9876", "\"inputSchema\""] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}

#[tokio::test]
async fn a_page_that_floods_the_relay_ends_its_own_connection_and_where_the_relay_is_can_be_read() {
    // Ours or another's: the first port is taken, so pages may find somebody else there.
    let _taken = tokio::net::TcpListener::bind("127.0.0.1:9333").await;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("toolgrove.toml"), "[tabs]\nrelay = true\n").unwrap();
    let home = dir.path().to_owned();
    let hub = Hub::start_as(dir, |command| {
        command.env("HOME", &home);
    })
    .await;
    let relay = hub.get("/api/tabs").await["relay"].clone();
    assert_eq!(relay["note"], "port 9333 is taken, perhaps by a relay; pages may attach to that");
    let port = u16::try_from(relay["port"].as_u64().unwrap()).unwrap();
    let noted = std::fs::read_to_string(home.join(".webmcp/relay-port.json")).unwrap();
    let noted: Value = serde_json::from_str(&noted).unwrap();
    assert_eq!((&noted["host"], &noted["port"]), (&json!("127.0.0.1"), &relay["port"]));
    let valid = noted["expiresAt"].as_i64().unwrap() - noted["timestamp"].as_i64().unwrap();
    assert_eq!(valid, 24 * 60 * 60 * 1000);

    let page = async |domain: &str| {
        let mut page = Browser::page(port, Some(&format!("https://{domain}"))).await;
        page.say(json!({ "type": "hello", "tabId": domain })).await;
        assert_eq!(page.next().await.unwrap()["type"], "hello/accepted");
        page.say(json!({ "type": "tools/list", "tools": [{ "name": "first" }] })).await;
        page
    };
    let mut calm = page("example.com").await;
    let mut restless = page("example.org").await;
    until_listed(&hub, "website_tool_example_com_tab1_first").await;
    until_listed(&hub, "website_tool_example_org_tab1_first").await;
    for _ in 0..100 {
        restless.say(json!({ "type": "tools/list", "tools": [{ "name": "first" }] })).await;
    }
    restless.say(json!({ "type": "tools/list", "tools": [{ "name": "last" }] })).await;
    restless.say(json!({ "type": "hello", "tabId": "example.org" })).await;
    assert_eq!(restless.next().await.unwrap()["type"], "hello/accepted", "it has read all that");
    let tabs = hub.get("/api/tabs").await["tabs"].to_string();
    assert!(!tabs.contains("_last\""), "so many lists in a second are not taken: {tabs}");
    assert!(tabs.contains("example_org_tab1_first"), "{tabs}");

    let foreign =
        Browser::open(port, "/", &[("host", "evil.example"), ("origin", "https://evil.example")]).await;
    assert!(foreign.is_err(), "another name for this machine");
    for _ in 0..10_000 {
        if restless.socket.feed(Message::text(r#"{"type":"pong"}"#)).await.is_err() {
            break;
        }
    }
    let _ = restless.socket.flush().await;
    let end = restless.end().await;
    assert!(matches!(end, End::Closed(1008) | End::Broken), "{end:?}");

    let serving = async {
        let asked = calm.next().await.unwrap();
        let result = json!({ "content": [{ "type": "text", "text": "undisturbed" }] });
        calm.say(json!({ "type": "result", "callId": asked["callId"], "result": result })).await;
    };
    let (result, ()) = tokio::join!(hub.call("website_tool_example_com_tab1_first", json!({})), serving);
    assert_eq!(result["content"][0]["text"], "undisturbed", "{result}");
}

#[tokio::test]
async fn a_browser_is_paired_listed_and_forgotten_at_the_command_line() {
    let hub = Hub::start().await;
    let run = async |args: &[&str]| {
        let output = command(hub.dir.path()).args(args).output().await.unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let pairing: Value = serde_json::from_str(&run(&["tabs", "pair", "--json"]).await).unwrap();
    let said = run(&["tabs", "pair"]).await;
    assert!(said.contains("Paste this into the popup") && said.contains("/pair.html?"), "{said}");
    let (mut browser, nonce) = Browser::knock(&hub).await;
    let mut hello = Browser::hello("profile-7", pairing["code"].as_str().unwrap(), &nonce);
    hello["params"]["pairing"] = json!(true);
    browser.say(hello).await;
    assert!(browser.next().await.unwrap()["params"]["token"].is_string());
    browser.register(1, SHOP, json!([tool("getCart")])).await;
    until_listed(&hub, CART).await;
    let listed = run(&["tabs", "list"]).await;
    for word in ["profile-7", "connected", "example.com", "1 tool"] {
        assert!(listed.contains(word), "{word}: {listed}");
    }
    assert!(run(&["tabs", "forget", "profile-7"]).await.contains("forgot `profile-7`"));
    assert_eq!(browser.end().await, End::Closed(4003));
    assert!(run(&["tabs", "list"]).await.contains("no browser is paired"));
    let unknown = command(hub.dir.path()).args(["tabs", "forget", "nobody"]).output().await.unwrap();
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(!unknown.status.success() && said.contains("called `nobody`"), "{said}");
}

#[tokio::test]
async fn the_browsers_that_are_installed_are_told_where_the_hub_is() {
    let dir = tempfile::tempdir().unwrap();
    let install = async || {
        command(dir.path()).env("HOME", dir.path()).args(["tabs", "install"]).output().await.unwrap()
    };
    let output = install().await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("no browser was found"), "{said}");
    assert!(said.contains("--user-data-dir") && said.contains("toolgrove tabs pair"), "{said}");
    let folders = ["chromium", "BraveSoftware/Brave-Browser"];
    for folder in folders {
        std::fs::create_dir_all(dir.path().join(".config").join(folder)).unwrap();
    }
    let output = install().await;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    for word in ["Chromium knows this hub", "Brave knows this hub", "Load unpacked", "chrome://extensions"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    for folder in folders {
        let file =
            dir.path().join(".config").join(folder).join("NativeMessagingHosts/dev.toolgrove.pair.json");
        let manifest: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(manifest["allowed_origins"], json!([format!("{}/", origin())]));
    }
    assert!(!dir.path().join(".config/vivaldi").exists(), "only those that are there");
}
