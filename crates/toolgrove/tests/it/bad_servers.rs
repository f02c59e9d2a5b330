//! Servers that misbehave, one way per test: what a user sees of it, and that nobody else's tools suffer.

use futures::FutureExt;
use serde_json::{Value, json};
use toolgrove_fixture::{Era, Kind, Options, Running};

use crate::grove::{
    ERAS, add, eventually, fixture, hub_with, over_each_transport, over_http, over_stdio, refusal,
    server_pid, text,
};
use crate::hub::{Hub, stdio_fixture};

const MIB: usize = 1024 * 1024;

/// An instance's health, as its state and the sentence beside it.
async fn health(hub: &Hub, slug: &str) -> (String, String) {
    let instance = hub.get(&format!("/api/mcp/instances/{slug}")).await;
    let word =
        |key: &str| instance["health"][key].as_str().unwrap_or_else(|| panic!("{instance}")).to_owned();
    (word("state"), word("summary"))
}

/// Calls until it works; a call that does not must say why in the hub's own words.
async fn until_it_works(hub: &Hub, tool: &str) {
    eventually(&format!("`{tool}` works again"), async || {
        let answer = hub.call(tool, json!({})).await;
        if answer.get("content").is_some() {
            return Some(());
        }
        refusal(&answer);
        None
    })
    .await;
}

#[tokio::test]
async fn a_slow_server_keeps_nobody_waiting_but_its_own_callers() {
    let (slow, well) = (fixture(Options::default()).await, fixture(Options::default()).await);
    let hub = hub_with(json!({ "slow": { "url": slow.url() }, "well": { "url": well.url() } })).await;
    let listed = hub.tools().await;
    hub.call("mcp__slow__echo", json!({})).await;
    slow.change(|it| it.slow_ms = 600_000);
    slow.clear_log();
    let waiting = hub.call("mcp__slow__echo", json!({}));
    tokio::pin!(waiting);
    eventually("the slow server has the call", async || {
        assert!((&mut waiting).now_or_never().is_none());
        slow.methods().contains(&"tools/call".to_owned()).then_some(())
    })
    .await;

    assert_eq!(hub.tools().await, listed, "the list comes at once and whole");
    for number in 0..10 {
        assert_eq!(
            text(&hub.call("mcp__well__echo", json!({ "n": number })).await),
            format!("{{\"n\":{number}}}")
        );
    }
    let client = hub.legacy("/mcp").await;
    assert_eq!(text(&client.call("mcp__well__echo", json!({})).await), "{}");
    assert!((&mut waiting).now_or_never().is_none(), "all of that happened while the slow call was waiting");
}

#[tokio::test]
async fn a_server_that_never_answers_does_not_hold_up_the_start() {
    let mute = fixture(Options { slow_ms: 600_000, ..Options::default() }).await;
    let well = fixture(Options::default()).await;
    let config =
        format!("[server.mute]\nurl = \"{}\"\n[server.well]\nurl = \"{}\"\n", mute.url(), well.url());
    let hub = Hub::start_with(&config).await;
    eventually("the healthy server is listed", async || {
        hub.tools().await.contains(&"mcp__well__echo".into()).then_some(())
    })
    .await;
    assert_eq!(text(&hub.call("mcp__well__echo", json!({})).await), "{}");
    assert!(!mute.log().is_empty(), "the other one has been asked and has not answered");
    assert_eq!(health(&hub, "mute").await.0, "starting");
}

#[tokio::test]
async fn a_dead_server_stays_listed_says_so_when_called_and_wakes_by_itself() {
    let (mut dead, well) = (fixture(Options::default()).await, fixture(Options::default()).await);
    let hub = hub_with(json!({ "dead": { "url": dead.url() }, "well": { "url": well.url() } })).await;
    let listed = hub.tools().await;
    dead.stop().await;
    let error = hub.call("mcp__dead__echo", json!({})).await;
    let (code, sentence) = refusal(&error);
    assert_eq!(code, "link.unreachable", "{error}");
    assert!(sentence.starts_with("cannot reach `dead`: "), "{sentence}");
    assert_eq!(error["data"]["hint"], "run `toolgrove doctor dead`");
    assert_eq!(hub.tools().await, listed, "the list is not emptied");
    assert_eq!(text(&hub.call("mcp__well__echo", json!({})).await), "{}");
    assert_eq!(health(&hub, "dead").await.0, "failed");
    assert_eq!(health(&hub, "well").await.0, "ready");

    dead.restart().await.unwrap();
    until_it_works(&hub, "mcp__dead__echo").await;
    assert_eq!(health(&hub, "dead").await.0, "ready");
}

#[tokio::test]
async fn a_server_that_was_dead_at_the_start_is_used_once_it_is_there() {
    let mut server = fixture(Options::default()).await;
    let hub = hub_with(json!({ "s": { "url": server.url() } })).await;
    let listed = hub.tools().await;
    let dir = hub.stop().await;
    server.stop().await;
    let hub = Hub::start_in(dir).await;
    assert_eq!(hub.tools().await, listed, "the catalogue of the last run");
    refusal(&hub.call("mcp__s__echo", json!({})).await);
    server.restart().await.unwrap();
    until_it_works(&hub, "mcp__s__echo").await;
}

#[tokio::test]
async fn a_connection_that_keeps_breaking_is_not_noticed_where_repeating_is_harmless() {
    for era in ERAS {
        let (hub, server) = over_http(Options { era, ..Options::default() }).await;
        hub.call("mcp__s__echo", json!({})).await;
        server.change(|it| it.flap = Some(3));
        for number in 0..20 {
            let result = hub.call("mcp__s__echo", json!({ "n": number })).await;
            assert_eq!(text(&result), format!("{{\"n\":{number}}}"), "{era:?}");
        }
    }
}

#[tokio::test]
async fn a_process_that_keeps_exiting_is_started_again_and_left_alone_in_between() {
    let hub = hub_with(json!({ "flap": stdio_fixture(&["--flap", "12"]), "well": stdio_fixture(&[]) })).await;
    let listed = hub.tools().await;
    let mut pids = std::collections::BTreeSet::new();
    eventually("three lives of the process were used", async || {
        let answer = hub.call("mcp__flap__pid", json!({})).await;
        match answer["structuredContent"]["pid"].as_u64() {
            Some(pid) => drop(pids.insert(pid)),
            None => assert_eq!(refusal(&answer).0, "link.unreachable"),
        }
        assert_eq!(text(&hub.call("mcp__well__echo", json!({})).await), "{}");
        (pids.len() >= 3).then_some(())
    })
    .await;
    assert_eq!(hub.tools().await, listed);
}

#[tokio::test]
async fn a_process_that_prints_garbage_between_its_messages_works() {
    for era in ["legacy", "modern"] {
        let hub = over_stdio(&["--garbage", "--era", era]).await;
        for number in 0..5 {
            assert_eq!(
                text(&hub.call("mcp__s__echo", json!({ "n": number })).await),
                format!("{{\"n\":{number}}}")
            );
        }
    }
}

#[tokio::test]
async fn a_page_instead_of_an_answer_is_named_as_such() {
    let page = fixture(Options { garbage: true, ..Options::default() }).await;
    let hub = Hub::start().await;
    let imported = hub.import(json!({ "page": { "url": page.url() } })).await;
    let failed = imported["failed"][0]["error"].as_str().unwrap_or_else(|| panic!("{imported}"));
    assert!(failed.starts_with("`page` sent something that is not MCP: "), "{failed}");
    assert_eq!(hub.get("/api/mcp/servers").await, json!([]), "nothing is stored");

    let (server, well) = (fixture(Options::default()).await, fixture(Options::default()).await);
    add(&hub, json!({ "s": { "url": server.url() }, "well": { "url": well.url() } })).await;
    let listed = hub.tools().await;
    server.change(|it| it.garbage = true);
    assert_eq!(refusal(&hub.call("mcp__s__echo", json!({})).await).0, "link.garbled");
    assert_eq!(hub.tools().await, listed);
    assert_eq!(text(&hub.call("mcp__well__echo", json!({})).await), "{}");
    server.change(|it| it.garbage = false);
    until_it_works(&hub, "mcp__s__echo").await;
}

#[tokio::test]
async fn a_malformed_tool_is_left_out_and_named_and_the_good_ones_work() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, malformed_tool: true, ..Options::default() }).await;
        let tools = hub.tools().await;
        assert!(tools.contains(&"mcp__s__echo".into()) && tools.contains(&"mcp__s__big".into()), "{tools:?}");
        assert_eq!(text(&hub.call("mcp__s__echo", json!({})).await), "{}");
        let problems = hub.get("/api/mcp/instances/s").await["problems"].clone();
        assert_eq!(problems.as_array().map_or(0, Vec::len), 2, "{problems}");
        assert!(problems.to_string().contains("schema_is_a_string"), "{problems}");
    }
}

#[tokio::test]
async fn a_result_of_nine_mebibytes_arrives_whole() {
    for (kind, hub, _server) in over_each_transport().await {
        let result = hub.call("mcp__s__big", json!({ "bytes": 9 * MIB })).await;
        let text = text(&result);
        assert!(text.len() == 9 * MIB && text.bytes().all(|it| it == b'x'), "{kind}: {} bytes", text.len());
    }
}

#[tokio::test]
async fn a_result_over_the_limit_is_refused_in_words_and_the_next_call_works() {
    for (kind, hub, _server) in over_each_transport().await {
        let error = hub.call("mcp__s__big", json!({ "bytes": 11 * MIB })).await;
        assert_eq!(refusal(&error), ("link.too-large", "the answer of `s` is larger than 10 MiB"), "{kind}");
        assert_eq!(text(&hub.call("mcp__s__echo", json!({})).await), "{}", "{kind}");
    }
}

#[tokio::test]
async fn a_changed_list_reaches_clients_of_both_eras() {
    for (kind, hub, _server) in over_each_transport().await {
        let legacy = hub.legacy("/mcp").await;
        let (mut ear, mut one) = (legacy.hear().await, hub.listen("/mcp/i/s").await);
        let mut subscription = hub.listen("/mcp").await;
        for added in [true, false] {
            hub.call("mcp__s__change_tools", json!({})).await;
            // Each hears of it, and who then asks sees it. A word about the import itself may come first.
            for stream in [&mut ear, &mut subscription, &mut one] {
                loop {
                    let note = stream.next().await.unwrap();
                    assert!(note["method"].as_str().unwrap().ends_with("/list_changed"), "{kind}: {note}");
                    if note["method"] == "notifications/tools/list_changed"
                        && hub.tools().await.contains(&"mcp__s__test_added_tool".into()) == added
                    {
                        break;
                    }
                }
            }
        }
        let note = loop {
            hub.call("mcp__s__change_tools", json!({})).await;
            if let Some(note) = subscription.next().await {
                break note;
            }
        };
        assert_eq!(note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "{note}");
    }
}

#[tokio::test]
async fn a_change_is_announced_once() {
    for era in ["legacy", "modern"] {
        let hub = Hub::start().await;
        let mut stream = hub.listen("/mcp").await;
        add(&hub, json!({ "s": stdio_fixture(&["--era", era]) })).await;
        let mut of_import = std::collections::BTreeSet::new();
        while of_import.len() < 3 {
            of_import.insert(stream.next().await.unwrap()["method"].to_string());
        }
        let (tools, prompts) =
            (json!("notifications/tools/list_changed"), json!("notifications/prompts/list_changed"));
        let mut heard = Vec::new();
        // What comes after the second one is after the first one, too.
        for (trigger, last) in
            [("mcp__s__change_tools", &tools), ("mcp__s__test_trigger_prompt_change", &prompts)]
        {
            hub.call(trigger, json!({})).await;
            while heard.last() != Some(last) {
                heard.push(stream.next().await.unwrap()["method"].clone());
            }
        }
        heard.retain(|it| *it == tools || *it == prompts);
        assert_eq!(heard, [tools, prompts], "{era}");
    }
}

#[tokio::test]
async fn a_server_that_is_kept_though_it_does_not_answer_is_not_called_ready() {
    let hub = Hub::start().await;
    let body = json!({ "text": r#"{"away":{"url":"http://127.0.0.1:9/mcp"}}"#, "save_anyway": true });
    hub.api(http::Method::POST, "/api/mcp/import", body).await;
    let away = &hub.get("/api/mcp/instances/away").await;
    assert_eq!(
        (&away["health"]["level"], &away["health"]["state"]),
        (&json!("bad"), &json!("failed")),
        "{away}"
    );
}

#[tokio::test]
async fn a_tool_that_has_just_appeared_can_be_called_at_once() {
    for (kind, hub, _server) in over_each_transport().await {
        hub.call("mcp__s__change_tools", json!({})).await;
        let result = hub.call("mcp__s__test_added_tool", json!({})).await;
        assert_eq!(text(&result), "test_added_tool was called", "{kind}");
    }
}

#[tokio::test]
async fn a_list_that_changes_unannounced_is_noticed_with_the_next_calls() {
    let server = fixture(Options { no_get: true, ..Options::default() }).await;
    let hub = hub_with(json!({ "s": { "url": server.url() } })).await;
    server.change(|it| it.tools = 1);
    eventually("the new tool is listed", async || {
        hub.call("mcp__s__echo", json!({})).await;
        hub.tools().await.contains(&"mcp__s__tool_0000".into()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_server_that_forgets_its_sessions_is_not_noticed() {
    let (hub, server) = over_http(Options { lose_sessions: true, ..Options::default() }).await;
    for _ in 0..3 {
        assert_eq!(text(&hub.call("mcp__s__forget_sessions", json!({})).await), "forgotten");
        server.clear_log();
        // `touch` is not marked as harmless to repeat: it is sent again only because it was not taken.
        let result = hub.call("mcp__s__touch", json!({ "uri": "test://static-text" })).await;
        assert_eq!(text(&result), "announced");
        assert!(sessions(&server) <= 2, "one for the calls, one for the lists: {:?}", server.methods());
    }
}

/// How many sessions were opened since the log was cleared.
fn sessions(server: &Running) -> usize {
    server.methods().iter().filter(|it| *it == "initialize").count()
}

#[tokio::test]
async fn many_calls_after_a_lost_session_open_one_new_session_for_all_of_them() {
    let (hub, server) = over_http(Options { lose_sessions: true, ..Options::default() }).await;
    hub.call("mcp__s__forget_sessions", json!({})).await;
    server.clear_log();
    let calls = (0..20).map(|it| hub.call("mcp__s__echo", json!({ "n": it })));
    for (number, result) in futures::future::join_all(calls).await.iter().enumerate() {
        assert_eq!(text(result), format!("{{\"n\":{number}}}"));
    }
    assert!(sessions(&server) <= 2, "one for the calls, one for the lists: {:?}", server.methods());
}

#[tokio::test]
async fn a_server_that_is_restarted_is_not_noticed() {
    for (era, kind) in [(Era::Legacy, Kind::Http), (Era::Modern, Kind::Http), (Era::Legacy, Kind::Sse)] {
        let (hub, mut server) = over_http(Options { era, kind, ..Options::default() }).await;
        assert_eq!(text(&hub.call("mcp__s__echo", json!({})).await), "{}");
        server.restart().await.unwrap();
        assert_eq!(text(&hub.call("mcp__s__echo", json!({ "a": 1 })).await), "{\"a\":1}", "{era:?} {kind:?}");
    }
}

#[tokio::test]
async fn a_killed_process_is_started_again_with_the_next_call() {
    for era in ["legacy", "modern"] {
        let hub = over_stdio(&["--era", era]).await;
        let first = server_pid(&hub, "s").await;
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(first as i32).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        until_it_works(&hub, "mcp__s__echo").await;
        assert_ne!(server_pid(&hub, "s").await, first);
    }
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_call_fails_that_call_in_words_and_the_next_one_works() {
    for era in ["legacy", "modern"] {
        let hub = over_stdio(&["--era", era]).await;
        let error = hub.call("mcp__s__crash", json!({})).await;
        let (code, sentence) = refusal(&error);
        assert_eq!(code, "link.unreachable", "{error}");
        assert!(sentence.contains("`s`") && sentence.contains("70"), "it names the exit code: {sentence}");
        assert_eq!(text(&hub.call("mcp__s__echo", json!({})).await), "{}", "{era}");
    }
    for era in ERAS {
        let (hub, mut server) = over_http(Options { era, ..Options::default() }).await;
        let error = hub.call("mcp__s__crash", json!({})).await;
        assert_eq!(refusal(&error).0, "link.unreachable", "{error}");
        server.restart().await.unwrap();
        until_it_works(&hub, "mcp__s__echo").await;
    }
}

#[tokio::test]
async fn a_call_that_may_have_run_is_not_sent_twice() {
    for era in ERAS {
        let (hub, mut server) = over_http(Options { era, ..Options::default() }).await;
        server.clear_log();
        hub.call("mcp__s__crash", json!({})).await;
        server.restart().await.unwrap();
        until_it_works(&hub, "mcp__s__echo").await;
        let crashes = server.log().iter().filter(|it| it.body.contains("\"crash\"")).count();
        assert_eq!(crashes, 1, "{era:?}");
    }
}

#[tokio::test]
async fn a_server_that_exits_when_probed_works_and_is_not_probed_again() {
    let hub = over_stdio(&["--exit-on-probe"]).await;
    assert_eq!(text(&hub.call("mcp__s__echo", json!({})).await), "{}");
    let hub = Hub::start_in(hub.stop().await).await;
    let seen = hub.call("mcp__s__seen_log", json!({})).await;
    let first: Vec<_> = seen["structuredContent"]["seen"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["method"])
        .take(2)
        .collect();
    assert_eq!(first, [&json!("initialize"), &json!("notifications/initialized")]);
    let era = hub.get("/api/mcp/instances/s").await["era"].clone();
    assert_eq!(era["era"], "legacy", "{era}");
}

#[tokio::test]
async fn a_server_that_refuses_its_credentials_says_so_in_its_health() {
    let server = fixture(Options::default()).await;
    let hub = hub_with(json!({ "s": { "url": server.url(), "headers": { "X-Key": "old" } } })).await;
    server.change(|it| it.require_header = vec!["x-key=new".parse().unwrap()]);
    let error = hub.call("mcp__s__echo", json!({})).await;
    assert_eq!(refusal(&error).0, "instance.needs-reauth", "{error}");
    assert_eq!(health(&hub, "s").await.0, "reauth");
    assert!(hub.tools().await.contains(&"mcp__s__echo".into()), "its tools stay in the list");
}

#[tokio::test]
async fn an_error_of_a_tool_and_an_error_of_a_server_arrive_as_they_were_said() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        let result = hub.call("mcp__s__fail", json!({ "message": "no such file" })).await;
        assert_eq!((&result["isError"], text(&result)), (&Value::Bool(true), "no such file"));
        let error = json!({ "code": 4711, "message": "out of order", "data": { "since": [1, 2, 3] } });
        assert_eq!(hub.call("mcp__s__rpc_error", error.clone()).await, error);
    }
}
