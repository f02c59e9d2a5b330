//! Streamable HTTP: what is sent, what answers mean, and what happens when they break.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use toolgrove_core::Error;
use toolgrove_core::call::Links;
use toolgrove_core::event::{Events, ListKind, News};
use toolgrove_core::instance::{Era, Transport, Verdict};

use crate::bed::{bed, call, http, reach};
use crate::peer::{Peer, Reply, event, legacy, modern};

/// Case `accept-header`.
#[tokio::test]
async fn every_post_sends_exactly_one_accept() {
    for script in [legacy, modern] {
        let peer = Peer::start(script).await;
        let bed = bed(http(&peer.url), |_| {});
        bed.discover().await.expect("a server");
        bed.call("echo", json!({})).await.expect("a result");
        for seen in peer.seen.all().iter().filter(|it| it.http == "POST") {
            let accepts: Vec<_> =
                seen.headers.iter().filter(|it| it.0 == "accept").map(|it| it.1.as_str()).collect();
            assert_eq!(accepts, ["application/json, text/event-stream"], "{}", seen.method());
            assert_eq!(seen.header("content-type"), Some("application/json"));
        }
    }
}

/// Case `sse-answer`.
#[tokio::test]
async fn an_answer_may_come_as_events_after_comments_and_empty_data() {
    let peer = Peer::start(|seen| match seen.method() {
        "tools/call" => {
            let answer = json!({ "jsonrpc": "2.0", "id": seen.id(), "result": { "x": 1 } });
            Reply::events(&format!(": hello\n\nid: 1\ndata:\n\nevent: ping\ndata: now\n\n{}", event(&answer)))
        }
        _ => legacy(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |_| {});
    assert_eq!(bed.call("echo", json!({})).await.expect("a result"), json!({ "x": 1 }));
}

/// Cases `http-400`, `http-408`, `http-500`, `http-502`, `http-418`.
#[tokio::test]
async fn a_status_is_shown_with_the_best_phrase_there_is() {
    for (line, expected) in [
        ("400 ", "server answered 400 Bad Request"),
        ("408 ", "server answered 408 Request Timeout"),
        ("500 ", "server answered 500 Internal Server Error"),
        ("502 ", "server answered 502 Bad Gateway"),
        ("418 ", "server answered 418 Error"),
        ("599 ", "server answered 599 Error"),
        ("500 Out of Cheese", "server answered 500 Out of Cheese"),
        ("418 I'm a teapot", "server answered 418 I'm a teapot"),
    ] {
        let peer = Peer::start(move |_| Reply::status(line)).await;
        let error = bed(http(&peer.url), |_| {}).call("echo", json!({})).await.expect_err("a refusal");
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.code(), "link.answered");

        // The same in mid-life, on a call.
        let peer = Peer::start(move |seen| match seen.method() {
            "tools/call" => Reply::status(line),
            _ => legacy(seen),
        })
        .await;
        let error = bed(http(&peer.url), |_| {}).call("echo", json!({})).await.expect_err("a refusal");
        assert_eq!(error.to_string(), expected);
    }
}

/// Cases `rpc-error` and `full-error-shown`.
#[tokio::test]
async fn an_error_of_the_server_is_passed_on_whole() {
    for status in ["200 OK", "400 Bad Request", "500 Internal Server Error"] {
        let peer = Peer::start(move |seen| match seen.tool() {
            "plain" => Reply::error(status, seen, -32602, "Invalid params"),
            "rich" => {
                let error = json!({ "code": -32000, "message": "boom", "data": { "trace": "..." } });
                Reply::json(status, &json!({ "jsonrpc": "2.0", "id": seen.id(), "error": error }))
            }
            _ => legacy(seen),
        })
        .await;
        let bed = bed(http(&peer.url), |_| {});
        let plain = bed.call("plain", json!({})).await.expect_err("an error");
        assert_eq!(plain.to_string(), "MCP error -32602: Invalid params");
        let rich = bed.call("rich", json!({})).await.expect_err("an error");
        assert_eq!(rich.to_string(), r#"MCP error -32000: boom {"trace":"..."}"#);
    }
}

#[tokio::test]
async fn refused_credentials_ask_for_a_reconnect_in_the_servers_words() {
    async fn refuse(reply: fn() -> Reply) -> String {
        let peer = Peer::start(move |_| reply()).await;
        let error = bed(http(&peer.url), |_| {}).call("echo", json!({})).await.expect_err("a refusal");
        format!("{} {error}", error.code())
    }
    assert_eq!(
        refuse(|| Reply::status("401 Unauthorized")).await,
        "instance.needs-reauth `peer` needs you to reconnect: the server answered 401 Unauthorized"
    );
    assert_eq!(
        refuse(|| Reply::json("401 Unauthorized", &json!({ "error_description": "the token expired" })))
            .await,
        "instance.needs-reauth `peer` needs you to reconnect: the token expired"
    );
    assert_eq!(
        refuse(
            || Reply::status("403 Forbidden").with("www-authenticate", "Bearer error=\"insufficient_scope\"")
        )
        .await,
        "instance.needs-reauth `peer` needs you to reconnect: the server answered 403 Forbidden"
    );
    assert_eq!(
        refuse(|| Reply::status("403 Forbidden")).await,
        "link.answered server answered 403 Forbidden"
    );
}

#[tokio::test]
async fn a_web_page_and_a_foreign_redirect_are_named_for_what_they_are() {
    async fn answer(reply: fn() -> Reply) -> String {
        let peer = Peer::start(move |_| reply()).await;
        bed(http(&peer.url), |_| {}).call("echo", json!({})).await.expect_err("no MCP").to_string()
    }
    assert_eq!(
        answer(|| Reply::status("200 OK").with("content-type", "text/html; charset=utf-8")).await,
        "`peer` sent something that is not MCP: it answered with a web page; check the URL"
    );
    assert_eq!(
        answer(|| Reply::status("307 Moved").with("location", "https://elsewhere.example/mcp")).await,
        "cannot reach `peer`: it redirects to another origin (https://elsewhere.example); set that URL if you trust it"
    );
}

#[tokio::test]
async fn a_redirect_inside_the_origin_is_followed() {
    let peer = Peer::start(|seen| match seen.path.as_str() {
        "/mcp" => Reply::status("308 Permanent Redirect").with("location", "/mcp/"),
        _ => modern(seen),
    })
    .await;
    bed(http(&peer.url), |_| {}).call("echo", json!({})).await.expect("a result");
}

/// Case `headers-on-get-and-delete`.
#[tokio::test]
async fn own_headers_and_query_go_with_every_request() {
    let (keep, rx) = mpsc::unbounded_channel::<String>();
    let stream = std::sync::Mutex::new(Some(rx));
    let peer = Peer::start(move |seen| match seen.http.as_str() {
        "GET" => Reply::Stream(stream.lock().expect("whole").take().expect("one GET")),
        _ => legacy(seen),
    })
    .await;
    let mut reach = reach(&peer.url);
    reach.query = vec![("key".into(), toolgrove_core::Secret::new("a b"))];
    let bed = bed(Transport::Http(reach), |_| {});
    bed.discover().await.expect("a server");
    peer.wait_for("GET").await;
    bed.pool.close(bed.instance.id).await;
    let delete = peer.wait_for("DELETE").await;
    assert_eq!(delete.header("mcp-session-id"), Some("s1"));
    for seen in peer.seen.all().iter().filter(|it| it.http != "CLOSED") {
        assert_eq!(seen.header("x-api-key"), Some("abc123"), "{}", seen.method());
        assert_eq!(seen.path, "/mcp?key=a+b");
    }
    drop(keep);
}

#[tokio::test]
async fn a_lost_session_is_opened_again_once_and_the_call_replayed() {
    for reply in [
        || Reply::status("404 Not Found"),
        || Reply::json("400 Bad Request", &json!({ "error": "No valid session ID provided" })),
    ] {
        let lose = Arc::new(AtomicBool::new(false));
        let lost = lose.clone();
        let peer = Peer::start(move |seen| match seen.method() {
            "tools/call" if lost.swap(false, Ordering::SeqCst) => reply(),
            _ => legacy(seen),
        })
        .await;
        let bed = bed(http(&peer.url), |_| {});
        bed.call("echo", json!({})).await.expect("a result");
        lose.store(true, Ordering::SeqCst);
        bed.call("echo", json!({ "n": 2 })).await.expect("the replay's result");
        assert_eq!(peer.count("initialize"), 2);
        assert_eq!(peer.count("tools/call"), 3);
    }
    let peer = Peer::start(|seen| match seen.method() {
        "tools/call" => Reply::status("404 Not Found"),
        _ => legacy(seen),
    })
    .await;
    let error = bed(http(&peer.url), |_| {}).call("echo", json!({})).await.expect_err("lost twice");
    assert_eq!(error.to_string(), "server answered 404 Not Found");
    assert_eq!(peer.count("tools/call"), 2);
}

#[tokio::test]
async fn a_call_whose_connection_drops_is_not_sent_again() {
    for script in [legacy, modern] {
        let peer = Peer::start(move |seen| match seen.tool() {
            "drop" => Reply::HangUp,
            "cut" => Reply::events(": nothing yet\n\n"),
            _ => script(seen),
        })
        .await;
        let bed = bed(http(&peer.url), |_| {});
        for tool in ["drop", "cut"] {
            let error = bed.call(tool, json!({})).await.expect_err("lost");
            assert_eq!(error.code(), "link.unreachable", "{error}");
            assert_eq!(peer.seen.all().iter().filter(|it| it.tool() == tool).count(), 1);
        }
        // A tool that says repeating does no harm is repeated, once.
        let mut outgoing = call("drop", json!({ "again": true }));
        outgoing.repeatable = true;
        bed.request(outgoing).await.expect_err("lost twice");
        assert_eq!(peer.seen.all().iter().filter(|it| it.tool() == "drop").count(), 3);
        bed.call("echo", json!({})).await.expect("the link works on");
    }
}

#[tokio::test]
async fn a_call_that_is_sent_again_reports_nothing_twice() {
    let tries = AtomicUsize::new(0);
    let peer = Peer::start(move |seen| match seen.tool() {
        "count" => {
            let note = |step: u64| {
                let token = &seen.body["params"]["_meta"]["progressToken"];
                let params = json!({ "progressToken": token, "progress": step });
                event(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }))
            };
            let answer = event(&json!({ "jsonrpc": "2.0", "id": seen.id(), "result": { "n": 3 } }));
            let said = match tries.fetch_add(1, Ordering::Relaxed) {
                0 => vec![note(1), note(2)],
                _ => vec![note(1), note(2), note(3), answer],
            };
            Reply::events(&said.concat())
        }
        _ => modern(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |_| {});
    let mut outgoing = call("count", json!({}));
    outgoing.repeatable = true;
    let (result, heard) = bed.listen(outgoing).await;
    result.expect("the second try");
    assert_eq!(heard, [1, 2, 3].map(|it| format!("progress {{\"progress\":{it}}}")));
    assert_eq!(peer.count("tools/call"), 2);
}

#[tokio::test]
async fn a_broken_stream_is_resumed_where_it_broke() {
    let peer = Peer::start(|seen| match (seen.http.as_str(), seen.method()) {
        ("POST", "tools/call") => Reply::events("id: 7\nretry: 1\ndata:\n\n"),
        ("GET", _) if seen.header("last-event-id") == Some("7") => {
            Reply::events(&event(&json!({ "jsonrpc": "2.0", "id": 3, "result": { "resumed": true } })))
        }
        _ => legacy(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |_| {});
    assert_eq!(bed.call("echo", json!({})).await.expect("a result"), json!({ "resumed": true }));
    assert_eq!(peer.count("tools/call"), 1);
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_a_legacy_server_by_name() {
    let peer = Peer::start(|seen| match seen.tool() {
        "hang" => Reply::Never,
        _ => legacy(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |_| {});
    tokio::select! {
        result = bed.call("hang", json!({})) => panic!("{result:?}"),
        _ = peer.wait_for("tools/call") => {}
    }
    let id = peer.wait_for("tools/call").await.id().clone();
    let cancelled = peer.wait_for("notifications/cancelled").await;
    assert_eq!(cancelled.body["params"]["requestId"], id);
    assert_eq!(cancelled.header("mcp-session-id"), Some("s1"));
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_a_modern_server_by_closing_its_stream() {
    let peer = Peer::start(|seen| match seen.tool() {
        "hang" => Reply::Never,
        "stream" => {
            let (tx, rx) = mpsc::unbounded_channel();
            tx.send(": on its way\n\n".to_owned()).expect("open");
            std::mem::forget(tx);
            Reply::Stream(rx)
        }
        _ => modern(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |_| {});
    for tool in ["hang", "stream"] {
        tokio::select! {
            result = bed.call(tool, json!({})) => panic!("{result:?}"),
            _ = peer.seen.wait_for(tool, |it| it.tool() == tool) => {}
        }
    }
    peer.wait_for("CLOSED").await;
    assert_eq!(peer.count("notifications/cancelled"), 0);
}

#[tokio::test]
async fn a_call_that_takes_too_long_fails_and_is_cancelled() {
    let peer = Peer::start(|seen| match seen.tool() {
        "hang" => Reply::Never,
        _ => legacy(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |it| it.timeout = Duration::from_millis(300));
    let error = bed.call("hang", json!({})).await.expect_err("late");
    assert_eq!(error.to_string(), "`peer` did not answer within 300 ms");
    peer.wait_for("notifications/cancelled").await;
}

#[tokio::test]
async fn progress_restarts_the_clock_and_reaches_the_caller() {
    let peer = Peer::start(|seen| match seen.tool() {
        "slow" => {
            let (tx, rx) = mpsc::unbounded_channel();
            let (id, token) = (seen.id().clone(), seen.body["params"]["_meta"]["progressToken"].clone());
            assert_eq!(id, token);
            toolgrove_core::task::spawn("slow-tool", async move {
                let mut pace = tokio::time::interval(Duration::from_millis(400));
                for step in 1..=4 {
                    pace.tick().await;
                    let params = json!({ "progressToken": token, "progress": step });
                    let _ = tx.send(event(
                        &json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }),
                    ));
                }
                let _ = tx.send(event(&json!({ "jsonrpc": "2.0", "id": id, "result": {} })));
            });
            Reply::Stream(rx)
        }
        _ => legacy(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |it| it.timeout = Duration::from_millis(1100));
    let (result, heard) = bed.listen(call("slow", json!({}))).await;
    result.expect("in time, as long as something happens");
    assert_eq!(heard, [1, 2, 3, 4].map(|it| format!("progress {{\"progress\":{it}}}")));
}

#[tokio::test]
async fn log_messages_reach_who_asked_for_them() {
    for script in [legacy, modern] {
        let peer = Peer::start(move |seen| match seen.tool() {
            "talk" => {
                let log = |level| json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": level } });
                let answer = json!({ "jsonrpc": "2.0", "id": seen.id(), "result": {} });
                Reply::events(&[event(&log("debug")), event(&log("error")), event(&answer)].concat())
            }
            _ => script(seen),
        })
        .await;
        let bed = bed(http(&peer.url), |_| {});
        let mut outgoing = call("talk", json!({}));
        outgoing.log_level = Some("info");
        let (result, heard) = bed.listen(outgoing).await;
        result.expect("a result");
        assert_eq!(heard, [r#"log {"level":"error"}"#]);
        let (_, heard) = bed.listen(call("talk", json!({}))).await;
        assert!(heard.is_empty(), "{heard:?}");
        let asked = peer.seen.wait_for("the call", |it| it.tool() == "talk").await;
        match peer.count("initialize") {
            0 => assert_eq!(asked.body["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "info"),
            _ => assert_eq!(peer.wait_for("logging/setLevel").await.body["params"]["level"], "info"),
        }
    }
}

#[tokio::test]
async fn a_nine_mebibyte_result_arrives_and_an_eleven_mebibyte_one_is_refused() {
    for as_events in [false, true] {
        let peer = Peer::start(move |seen| match seen.tool() {
            "big" => {
                let size = seen.body["params"]["arguments"]["mib"].as_u64().expect("a number") as usize;
                let answer = json!({ "jsonrpc": "2.0", "id": seen.id(), "result": { "text": "x".repeat(size << 20) } });
                if as_events { Reply::events(&event(&answer)) } else { Reply::json("200 OK", &answer) }
            }
            _ => modern(seen),
        })
        .await;
        let bed = bed(http(&peer.url), |_| {});
        let result = bed.call("big", json!({ "mib": 9 })).await.expect("a result");
        assert_eq!(result["text"].as_str().map(str::len), Some(9 << 20));
        let error = bed.call("big", json!({ "mib": 11 })).await.expect_err("too large");
        assert_eq!(error.to_string(), "the answer of `peer` is larger than 10 MiB");
    }
}

#[tokio::test]
async fn a_legacy_stream_reports_changes_and_is_a_feed_while_it_lives() {
    let (tx, rx) = mpsc::unbounded_channel::<String>();
    let stream = std::sync::Mutex::new(Some(rx));
    let gets = Arc::new(AtomicUsize::new(0));
    let got = gets.clone();
    let peer = Peer::start(move |seen| match seen.http.as_str() {
        "GET" => {
            got.fetch_add(1, Ordering::SeqCst);
            stream.lock().expect("whole").take().map_or_else(|| Reply::status("405 No"), Reply::Stream)
        }
        _ => legacy(seen),
    })
    .await;
    let mut bed = bed(http(&peer.url), |_| {});
    bed.discover().await.expect("a server");
    tx.send(event(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }))).expect("open");
    bed.news(|it| matches!(it, News::ListChanged(ListKind::Tools)).then_some(())).await;
    assert!(bed.pool.has_feed(bed.instance.id));
    // A ping from the server is answered by a POST.
    tx.send(event(&json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" }))).expect("open");
    let pong = peer.seen.wait_for("a pong", |it| it.body["id"] == "p").await;
    assert_eq!(pong.body["result"], json!({}));
    drop(tx);
    peer.seen.wait_for("a second GET", |_| gets.load(Ordering::SeqCst) == 2).await;
    assert!(!bed.pool.has_feed(bed.instance.id));
}

#[tokio::test]
async fn a_modern_server_is_listened_to_when_it_announces_changes() {
    let (tx, rx) = mpsc::unbounded_channel::<String>();
    let stream = std::sync::Mutex::new(Some(rx));
    let peer = Peer::start(move |seen| match seen.method() {
        "server/discover" => Reply::result(
            seen,
            json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": { "listChanged": true } } }),
        ),
        "subscriptions/listen" => {
            stream.lock().expect("whole").take().map_or_else(|| Reply::status("404 Not Found"), Reply::Stream)
        }
        _ => modern(seen),
    })
    .await;
    let mut bed = bed(http(&peer.url), |_| {});
    bed.discover().await.expect("a server");
    let listen = peer.wait_for("subscriptions/listen").await;
    assert_eq!(listen.body["params"]["notifications"], json!({ "toolsListChanged": true }));
    assert!(!bed.pool.has_feed(bed.instance.id), "not before it is acknowledged");
    let said = |method: &str| event(&json!({ "jsonrpc": "2.0", "method": method, "params": {} }));
    tx.send(said("notifications/subscriptions/acknowledged")).expect("open");
    tx.send(said("notifications/tools/list_changed")).expect("open");
    bed.news(|it| matches!(it, News::ListChanged(ListKind::Tools)).then_some(())).await;
    assert!(bed.pool.has_feed(bed.instance.id));
}

#[tokio::test]
async fn a_hundred_calls_run_side_by_side() {
    let peer = Peer::start(legacy).await;
    let bed = bed(http(&peer.url), |_| {});
    let calls = (0..100).map(|n| {
        let bed = &bed;
        async move {
            let result = bed.call("echo", json!({ "n": n })).await.expect("a result");
            assert_eq!(result["echo"]["n"], n);
        }
    });
    futures::future::join_all(calls).await;
    // However many wait for the first link, it is opened once.
    assert_eq!((peer.count("server/discover"), peer.count("initialize")), (1, 1));
}

#[tokio::test]
async fn a_refused_connection_is_named_with_its_cause() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    drop(listener);
    let verdict = Verdict { era: Era::Modern, version: "2026-07-28".into(), evidence: String::new(), at: 0 };
    let bed = bed(http(&url), |it| it.verdict = Some(verdict));
    let outgoing = call("echo", json!({}));
    let error: Error =
        bed.pool.request(&bed.instance, &outgoing, &Events::none()).await.expect_err("nobody there");
    assert_eq!(error.to_string(), "cannot reach `peer`: Connection refused (os error 111)");
}
