//! Questions of a server in the middle of a call: whose they are, how they are answered, and what waits meanwhile.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::advance;
use toolgrove_core::call::{LegacyTask, Links, Outgoing};
use toolgrove_core::event::{Ask, Event, Events, Heard, LONGEST_ASK, MOST_ASKS, Progress};
use toolgrove_core::instance::Transport;
use toolgrove_fixture::{Era, Fixture, Kind, Options};
use toolgrove_wire::{Abilities, Raw, RpcError};

use crate::bed::{Bed, answer, asked, bed, bed_with, call, freeze, http, process, reach};
use crate::line_peer::{Line, LinePeer, asking};
use crate::peer::{Peer, Reply, event, legacy};
use crate::witness::Witness;

fn elicit() -> Value {
    json!(["elicitation/create", { "message": "Who?", "requestedSchema": {}, "_meta": { "dev.toolgrove/inputKey": "who", "k": 1 } }])
}

fn ask(asks: &[Value]) -> Outgoing {
    asked("ask", json!({ "asks": asks }))
}

/// Starts a call and waits for its first question.
async fn first_ask(
    bed: &Bed,
    outgoing: Outgoing,
) -> (tokio::task::JoinHandle<Result<Raw, toolgrove_core::Error>>, Ask, Heard) {
    let (events, mut rx) = Events::channel(Progress::Unwanted);
    let (pool, instance) = (bed.pool.clone(), bed.instance.clone());
    let call =
        toolgrove_core::task::spawn("call", async move { pool.request(&instance, &outgoing, &events).await });
    let Some(Event::Ask(ask)) = rx.recv().await else { panic!("a question") };
    (call, ask, rx)
}

#[tokio::test]
async fn every_question_is_answered_over_http_and_sse() {
    for kind in [Kind::Http, Kind::Sse] {
        let options = Options { kind, era: Era::Legacy, ..Options::default() };
        let running = Fixture::start(options).await.expect("a fixture");
        let transport =
            if kind == Kind::Sse { Transport::Sse(reach(&running.url())) } else { http(&running.url()) };
        let bed = bed(transport, |it| it.server_name = "Weather".into());
        for (tool, method, key, expected) in [
            ("elicitation", "elicitation/create", "user_name", "Hello, Ada!"),
            ("sampling", "sampling/createMessage", "capital_question", "Paris"),
            ("list_roots", "roots/list", "client_roots", r#"Roots: [{"uri":"file:///a"}]"#),
        ] {
            let tool = format!("test_input_required_result_{tool}");
            let result = bed.converse(asked(&tool, json!({})), |ask| {
                assert_eq!((ask.question.method(), ask.key.as_deref()), (method, Some(key)));
                assert_eq!(ask.server, "Weather");
                assert!(ask.params.get("_meta").is_none());
                answer(ask);
            });
            assert_eq!(result.await.expect("a result")["content"][0]["text"], expected, "{kind:?}");
        }
        let mut asks = 0;
        let outgoing = asked("test_input_required_result_multiple_inputs", json!({}));
        let result = bed.converse(outgoing, |ask| {
            asks += 1;
            answer(ask);
        });
        let text = result.await.expect("a result")["content"][0]["text"].clone();
        assert_eq!(text, r#"Paris "Ada" [{"uri":"file:///a"}]"#);
        assert_eq!(asks, 3);
        assert_eq!(bed.pool.counts(), (1, 0), "{kind:?}");
    }
}

#[tokio::test]
async fn every_question_is_answered_by_a_process_and_a_socket() {
    let witness = Witness::new();
    let peer = LinePeer::start(asking);
    for transport in [Transport::Stdio(process(&witness, &[])), peer.transport()] {
        let bed = bed(transport, |_| {});
        let sample = json!(["sampling/createMessage", { "messages": [], "maxTokens": 1, "task": {} }]);
        let asks = [elicit(), sample, json!(["roots/list", {}])];
        let mut heard = Vec::new();
        let result = bed.converse(ask(&asks), |ask| {
            heard.push(ask.params.as_str().to_owned());
            answer(ask);
        });
        let answers = result.await.expect("a result")["answers"].clone();
        let answers = answers.as_array().expect("a list");
        assert_eq!(
            heard,
            [r#"{"message":"Who?","requestedSchema":{}}"#, r#"{"messages":[],"maxTokens":1}"#, "{}"]
        );
        assert_eq!(answers.len(), 3);
        assert!(answers.iter().any(|it| it["result"]["content"]["name"] == "Ada"));
        assert!(answers.iter().any(|it| it["result"]["model"] == "m"));
        assert!(answers.iter().any(|it| it["result"]["roots"][0]["uri"] == "file:///a"));
    }
}

#[tokio::test]
async fn a_question_that_is_dropped_is_declined_in_the_words_of_its_kind() {
    let peer = LinePeer::start(asking);
    let bed = bed(peer.transport(), |_| {});
    let asks = [elicit(), json!(["sampling/createMessage", {}]), json!(["roots/list", {}])];
    let answers = bed.converse(ask(&asks), drop).await.expect("a result")["answers"].clone();
    assert_eq!(answers[0]["result"], json!({ "action": "cancel" }));
    assert_eq!(answers[1]["error"], json!({ "code": -1, "message": "the user declined" }));
    assert_eq!(answers[2]["error"]["code"], -32603);
    // So is one that finds nobody listening, and an error of the client is passed on as it is.
    let answers = bed.request(ask(&asks[..1])).await.expect("a result")["answers"].clone();
    assert_eq!(answers[0]["result"], json!({ "action": "cancel" }));
    let refuse = |ask: Ask| drop(ask.reply.send(Err(RpcError::new(-7, "no").with_data(&1))));
    let answers = bed.converse(ask(&asks[1..2]), refuse).await.expect("a result")["answers"].clone();
    assert_eq!(answers[0]["error"], json!({ "code": -7, "message": "no", "data": 1 }));
}

#[tokio::test]
async fn what_the_client_cannot_be_asked_is_refused_and_the_call_goes_on() {
    let peer = LinePeer::start(asking);
    let bed = bed(peer.transport(), |_| {});
    let url = json!(["elicitation/create", { "mode": "url", "message": "Go", "url": "https://a", "elicitationId": "e" }]);
    let asks = [
        elicit(),
        url,
        json!(["sampling/createMessage", {}]),
        json!(["roots/list", {}]),
        json!(["ping", {}]),
    ];
    let mut outgoing = ask(&asks);
    outgoing.abilities = Abilities::FORM;
    let answers = bed.converse(outgoing, answer).await.expect("a result")["answers"].clone();
    assert_eq!(answers[0]["result"]["action"], "accept");
    for refused in [1, 2, 3] {
        assert_eq!(answers[refused]["error"]["code"], -32601, "{refused}");
    }
    assert_eq!(answers[4]["result"], json!({}));
    let declared: Vec<_> =
        peer.lines.all().into_iter().filter(|it| it.message["method"] == "initialize").collect();
    assert_eq!(declared[0].message["params"]["capabilities"], json!({ "elicitation": {} }));
}

#[tokio::test]
async fn between_calls_roots_are_none_and_everything_else_is_refused() {
    fn script(conversation: &mut crate::line_peer::Conversation, message: &Value) -> Vec<Value> {
        if message["method"] == "notifications/initialized" {
            let ask = |id, method| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} });
            return vec![ask("early-r", "roots/list"), ask("early-e", "elicitation/create")];
        }
        asking(conversation, message)
    }
    let peer = LinePeer::start(script);
    let bed = bed(peer.transport(), |_| {});
    // The hub itself has nothing to offer.
    bed.discover().await.expect("a server");
    assert_eq!(peer.answer("early-r").await["error"]["code"], -32601);
    let held = bed.converse(asked("echo", json!({})), answer).await;
    held.expect("a result");
    let early = |id: &'static str| {
        peer.lines.wait_for(id, move |it| {
            it.connection == 1 && it.message["id"] == id && it.message.get("method").is_none()
        })
    };
    let roots = early("early-r").await.message["result"]["roots"].clone();
    assert!(
        roots == json!([]) || roots[0]["uri"] == "file:///a",
        "answered before or within the call: {roots}"
    );
    early("early-e").await;
}

#[tokio::test]
async fn the_clock_stands_still_while_the_server_waits_for_an_answer() {
    let _frozen = freeze();
    let peer = LinePeer::start(asking);
    let bed = bed(peer.transport(), |it| it.timeout = Duration::from_secs(30));
    let (call, first, mut events) = first_ask(&bed, ask(&[elicit(), json!(["roots/list", {}])])).await;
    let Some(Event::Ask(second)) = events.recv().await else { panic!("two questions") };
    advance(Duration::from_secs(600)).await;
    answer(first);
    peer.lines.wait_for("an answer", |it| it.message["result"]["action"] == "accept").await;
    advance(Duration::from_secs(600)).await;
    answer(second);
    call.await.expect("no panic").expect("a result");
}

#[tokio::test]
async fn an_answer_starts_the_clock_again() {
    let _frozen = freeze();
    let peer = Peer::start(|seen| match seen.tool() {
        "ask" => {
            let ask = json!({ "jsonrpc": "2.0", "id": "a", "method": "roots/list" });
            let (tx, rx) = mpsc::unbounded_channel();
            tx.send(event(&ask)).expect("open");
            std::mem::forget(tx);
            Reply::Stream(rx)
        }
        _ if seen.http == "POST" && seen.body["id"] == "a" => Reply::status("202 Accepted"),
        _ => legacy(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |it| it.timeout = Duration::from_secs(30));
    let (call, ask, _events) = first_ask(&bed, asked("ask", json!({}))).await;
    advance(Duration::from_secs(600)).await;
    answer(ask);
    peer.seen.wait_for("the answer", |it| it.body["result"]["roots"].is_array()).await;
    advance(Duration::from_secs(31)).await;
    let error = call.await.expect("no panic").expect_err("silence");
    assert_eq!(error.to_string(), "`peer` did not answer within 30000 ms");
    peer.wait_for("notifications/cancelled").await;
}

#[tokio::test]
async fn a_call_nobody_looks_at_for_ten_minutes_goes_on_where_it_was() {
    let running =
        Fixture::start(Options { era: Era::Legacy, ..Options::default() }).await.expect("a fixture");
    let lines = LinePeer::start(asking);
    let _frozen = freeze();
    for (transport, outgoing) in [
        (http(&running.url()), asked("test_input_required_result_multi_round", json!({}))),
        (lines.transport(), ask(&[elicit()])),
    ] {
        let bed = bed(transport, |it| it.timeout = Duration::from_secs(30));
        let (events, mut rx) = Events::channel(Progress::Unwanted);
        let mut call = Box::pin(bed.pool.request(&bed.instance, &outgoing, &events));
        let first = tokio::select! {
            biased;
            Some(Event::Ask(ask)) = rx.recv() => ask,
            result = &mut call => panic!("{result:?}"),
        };
        // Parked: only the link's own tasks run.
        advance(Duration::from_secs(600)).await;
        answer(first);
        if outgoing.params.raw().as_str().contains("multi_round") {
            let Some(Event::Ask(second)) = rx.recv().await else { panic!("a second question") };
            advance(Duration::from_secs(600)).await;
            answer(second);
        }
        // The result lies ready although nobody asked for it yet.
        if let Transport::Unix(_) = bed.instance.transport {
            lines.lines.wait_for("the answer", |it| it.message["result"]["action"] == "accept").await;
        }
        call.await.expect("a result");
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_while_it_asks_declines_and_then_cancels() {
    let peer = LinePeer::start(asking);
    let bed_lines = bed(peer.transport(), |_| {});
    let (call, ask, _events) = first_ask(&bed_lines, ask(&[elicit()])).await;
    call.abort();
    peer.wait_for("notifications/cancelled").await;
    let last: Vec<_> = peer.lines.all().into_iter().rev().take(2).map(|it| it.message).collect();
    assert_eq!(last[0]["params"]["requestId"].to_string() + "/0", last[1]["id"].as_str().expect("ours"));
    assert_eq!(last[1]["result"], json!({ "action": "cancel" }));
    assert!(ask.reply.is_closed(), "nobody waits for the answer any more");
    bed_lines.request(asked("echo", json!({}))).await.expect("the link works on");

    let running =
        Fixture::start(Options { era: Era::Legacy, ..Options::default() }).await.expect("a fixture");
    let bed_http = bed(http(&running.url()), |_| {});
    let outgoing = asked("test_input_required_result_elicitation", json!({}));
    let (call, _ask, _events) = first_ask(&bed_http, outgoing).await;
    call.abort();
    let told = async {
        while !running.methods().iter().any(|it| it == "notifications/cancelled") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), told).await.expect("a cancellation");
    assert_eq!(bed_http.pool.counts().1, 0);
}

#[tokio::test]
async fn a_question_on_the_sessions_own_stream_belongs_to_the_only_call() {
    let (stream, rx) = mpsc::unbounded_channel::<String>();
    let streams = std::sync::Mutex::new(Some(rx));
    let asker = stream.clone();
    let (finish, results) = mpsc::unbounded_channel::<String>();
    let results = std::sync::Mutex::new(Some(results));
    let peer = Peer::start(move |seen| match (seen.http.as_str(), seen.tool()) {
        ("GET", _) => match streams.lock().expect("whole").take() {
            Some(rx) => Reply::Stream(rx),
            None => Reply::status("405 Method Not Allowed"),
        },
        (_, "ask") => {
            asker.send(event(&json!({ "jsonrpc": "2.0", "id": "g", "method": "roots/list" }))).expect("open");
            Reply::Stream(results.lock().expect("whole").take().expect("one call"))
        }
        _ if seen.body["id"] == "g" => {
            let _ = finish.send(event(&json!({ "jsonrpc": "2.0", "id": 3, "result": seen.body["result"] })));
            Reply::status("202 Accepted")
        }
        _ => legacy(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |_| {});
    let result = bed.converse(asked("ask", json!({})), answer).await.expect("a result");
    assert_eq!(result["roots"][0]["uri"], "file:///a");
    let reply = peer.seen.wait_for("the answer", |it| it.body["id"] == "g").await;
    assert_eq!(reply.header("mcp-session-id"), Some("s1"));
    drop(stream);
}

#[tokio::test]
async fn a_finished_url_elicitation_is_told_to_the_call_that_asked() {
    let peer = LinePeer::start(asking);
    let bed = bed(peer.transport(), |_| {});
    let url = json!(["elicitation/create", { "mode": "url", "message": "Go", "url": "https://a", "elicitationId": "e1" }]);
    let complete = |id: &str| {
        crate::line_peer::said("notifications/elicitation/complete", json!({ "elicitationId": id }))
    };
    let outgoing = asked("ask", json!({ "asks": [url], "then": [complete("other"), complete("e1")] }));
    let (call, ask, mut events) = first_ask(&bed, outgoing).await;
    assert_eq!(ask.params.get_text("elicitationId").as_deref(), Some("e1"));
    match events.recv().await {
        Some(Event::Elicited(params)) => assert_eq!(params.get_text("elicitationId").as_deref(), Some("e1")),
        other => panic!("{other:?}"),
    }
    answer(ask);
    call.await.expect("no panic").expect("a result");
}

#[tokio::test]
async fn a_question_the_server_withdraws_is_not_answered() {
    let peer = LinePeer::start(|conversation, message| {
        let mut said = asking(conversation, message);
        if message["method"] == "tools/call" {
            let params = json!({ "requestId": format!("{}/0", message["id"]) });
            said.push(crate::line_peer::said("notifications/cancelled", params));
            said.push(crate::line_peer::result(message, json!({})));
        }
        said
    });
    let bed = bed(peer.transport(), |_| {});
    let (call, ask, _events) = first_ask(&bed, ask(&[elicit()])).await;
    call.await.expect("no panic").expect("a result");
    assert!(ask.reply.is_closed());
}

#[tokio::test]
async fn a_server_that_dies_while_it_asks_ends_the_call_which_is_not_sent_again() {
    let peer = LinePeer::start(|conversation, message| {
        let mut said = asking(conversation, message);
        if message["result"]["action"] == "accept" {
            said = vec![json!("hang up")];
        }
        said
    });
    let bed_lines = bed(peer.transport(), |_| {});
    let mut outgoing = ask(&[elicit()]);
    outgoing.repeatable = true;
    let error = bed_lines.converse(outgoing, answer).await.expect_err("dead");
    let cause = "the server closed the socket; the call may have had effects";
    assert_eq!(error.to_string(), format!("cannot reach `peer`: {cause}"));
    assert_eq!(peer.count("tools/call"), 1);
    bed_lines.request(asked("echo", json!({}))).await.expect("a new connection");

    // Over HTTP: the session is gone when the answer comes.
    let peer = Peer::start(|seen| match seen.tool() {
        "ask" => {
            let (tx, rx) = mpsc::unbounded_channel();
            tx.send(event(&json!({ "jsonrpc": "2.0", "id": "a", "method": "roots/list" }))).expect("open");
            std::mem::forget(tx);
            Reply::Stream(rx)
        }
        _ if seen.body["id"] == "a" => Reply::status("404 Not Found"),
        _ => legacy(seen),
    })
    .await;
    let bed_http = bed(http(&peer.url), |_| {});
    let mut outgoing = asked("ask", json!({}));
    outgoing.repeatable = true;
    let error = bed_http.converse(outgoing, answer).await.expect_err("lost");
    let cause = "the server has forgotten the session of this call; the call may have had effects";
    assert_eq!(error.to_string(), format!("cannot reach `peer`: {cause}"));
    assert_eq!(peer.count("tools/call"), 1);
    bed_http.request(asked("echo", json!({}))).await.expect("a new session");
    assert_eq!(peer.count("initialize"), 2);
}

#[tokio::test]
async fn a_server_that_restarts_while_it_asks_ends_the_call_and_serves_the_next() {
    let options = Options { era: Era::Legacy, ..Options::default() };
    let mut running = Fixture::start(options).await.expect("a fixture");
    let bed = bed(http(&running.url()), |_| {});
    let outgoing =
        Outgoing { repeatable: true, ..asked("test_input_required_result_elicitation", json!({})) };
    let (call, _ask, _events) = first_ask(&bed, outgoing.clone()).await;
    running.restart().await.expect("the same port");
    let error = call.await.expect("no panic").expect_err("lost");
    assert_eq!(error.code(), "link.unreachable", "{error}");
    assert_eq!(running.methods().iter().filter(|it| *it == "tools/call").count(), 1);
    bed.converse(outgoing, answer).await.expect("a result");
}

#[tokio::test]
async fn a_server_that_asks_beside_two_calls_gets_a_session_for_each_from_then_on() {
    let (stream, rx) = mpsc::unbounded_channel::<String>();
    let streams = std::sync::Mutex::new(Some(rx));
    let peer = Peer::start(move |seen| match (seen.http.as_str(), seen.tool()) {
        ("GET", _) => match streams.lock().expect("whole").take() {
            Some(rx) => Reply::Stream(rx),
            None => Reply::status("405 Method Not Allowed"),
        },
        (_, "hang") => Reply::Never,
        _ if seen.body["id"] == "g" => Reply::status("202 Accepted"),
        _ => legacy(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |_| {});
    let two =
        async { tokio::join!(bed.request(asked("hang", json!({}))), bed.request(asked("hang", json!({})))) };
    let refused = async {
        let hanging = || peer.seen.all().iter().filter(|it| it.tool() == "hang").count();
        while hanging() < 2 {
            tokio::task::yield_now().await;
        }
        stream.send(event(&json!({ "jsonrpc": "2.0", "id": "g", "method": "roots/list" }))).expect("open");
        peer.seen.wait_for("the answer", |it| it.body["id"] == "g").await
    };
    tokio::select! {
        result = two => panic!("{result:?}"),
        refused = refused => assert_eq!(refused.body["error"]["code"], -32601),
    }
    assert_eq!(peer.count("initialize"), 1);
    let both = (bed.request(asked("echo", json!({}))), bed.request(asked("echo", json!({}))));
    let (one, other) = tokio::join!(both.0, both.1);
    one.and(other).expect("results");
    assert_eq!(peer.count("initialize"), 3);
}

#[tokio::test]
async fn chat_and_abilities_keep_links_apart() {
    let peer = LinePeer::start(asking);
    let lines = bed(peer.transport(), |_| {});
    let session = Peer::start(legacy).await;
    let sessions = bed(http(&session.url), |_| {});
    let with = |chat: &str, abilities| Outgoing { chat: chat.into(), abilities, ..call("echo", json!({})) };
    let (form, all) = (Abilities::FORM, Abilities::FORM.with(Abilities::ROOTS));
    for (chat, abilities) in [
        ("a", Abilities::NONE),
        ("b", Abilities::NONE),
        ("b", Abilities::TASKS),
        ("a", Abilities::APPS),
        ("b", Abilities::APPS),
        ("a", form),
        ("a", form.with(Abilities::TASKS)),
        ("a", all),
        ("b", form),
        ("a", form),
    ] {
        lines.request(with(chat, abilities)).await.expect("a result");
        sessions.request(with(chat, abilities)).await.expect("a result");
    }
    // Lines: nobody's, apps', a+form, a+all, b+form.
    assert_eq!(peer.count("initialize"), 5);
    // Sessions: each chat has its own besides.
    assert_eq!(session.count("initialize"), 7);
    let declared = |it: &Value| it["params"]["capabilities"].clone();
    let all = session.seen.all();
    let last = all.iter().rfind(|it| it.method() == "initialize").expect("one");
    assert_eq!(declared(&last.body), json!({ "elicitation": {} }));
}

#[tokio::test]
async fn eight_calls_wait_for_answers_at_a_time_and_idle_links_make_room() {
    let peer = LinePeer::start(asking);
    let bed = bed(peer.transport(), |_| {});
    let mut open = Vec::new();
    for chat in 0..8 {
        let outgoing = Outgoing { chat: format!("chat {chat}").into(), ..ask(&[elicit()]) };
        open.push(first_ask(&bed, outgoing).await);
    }
    assert_eq!((peer.count("initialize"), bed.pool.counts().0), (8, 8));
    // The ninth waits for one of them, a call that cannot be asked does not.
    let (events, mut ninth) = Events::channel(Progress::Unwanted);
    let outgoing = Outgoing { chat: "late".into(), ..ask(&[elicit()]) };
    let late = bed.pool.request(&bed.instance, &outgoing, &events);
    tokio::pin!(late);
    bed.call("echo", json!({})).await.expect("a result");
    assert!(futures::poll!(&mut late).is_pending());
    assert_eq!(peer.count("initialize"), 9, "the shared one is beside the eight");
    let (call, ask, _events) = open.remove(3);
    answer(ask);
    call.await.expect("no panic").expect("a result");
    let result = loop {
        tokio::select! {
            result = &mut late => break result,
            Some(Event::Ask(ask)) = ninth.recv() => answer(ask),
        }
    };
    result.expect("a result");
    // The idle link of chat 3 was closed first.
    let closed = peer.wait_for("eof").await;
    assert_eq!(closed.connection, 3);
    assert_eq!(bed.pool.counts().0, 9);
    for (call, ask, _events) in open {
        answer(ask);
        call.await.expect("no panic").expect("a result");
    }
}

#[tokio::test]
async fn one_chat_may_ask_over_several_links_at_once() {
    let peer = LinePeer::start(asking);
    let bed = bed(peer.transport(), |_| {});
    let (first, first_asked, _one) = first_ask(&bed, ask(&[elicit()])).await;
    let (second, second_asked, _two) = first_ask(&bed, ask(&[elicit()])).await;
    answer(second_asked);
    second.await.expect("no panic").expect("a result");
    answer(first_asked);
    first.await.expect("no panic").expect("a result");
    assert_eq!(peer.count("initialize"), 2);
    bed.request(asked("echo", json!({}))).await.expect("a result");
    assert_eq!(peer.count("initialize"), 2, "a free one is used again");
}

#[tokio::test]
async fn ending_a_chat_ends_its_links_and_no_others() {
    let peer = Peer::start(legacy).await;
    let bed = bed(http(&peer.url), |_| {});
    for chat in ["one", "two"] {
        bed.request(Outgoing { chat: chat.into(), ..asked("echo", json!({})) }).await.expect("a result");
    }
    bed.discover().await.expect("a server");
    // The second look leaves as well.
    peer.wait_for("DELETE").await;
    bed.pool.end_chat("one").await;
    bed.pool.end_chat("toolgrove").await;
    assert_eq!(peer.count("DELETE"), 2);
    assert_eq!(bed.pool.counts().0, 2);
}

#[tokio::test]
async fn an_idle_link_that_was_asked_is_closed_too() {
    let peer = LinePeer::start(asking);
    let bed = bed_with(peer.transport(), Duration::from_millis(50), |_| {});
    bed.converse(ask(&[elicit()]), answer).await.expect("a result");
    peer.wait_for("eof").await;
    assert_eq!(bed.pool.counts(), (0, 0));
}

#[tokio::test]
async fn a_thousand_rounds_leave_nothing_behind() {
    let _frozen = freeze();
    let (lines, options) = (LinePeer::start(asking), Options { era: Era::Legacy, ..Options::default() });
    let running = Fixture::start(options).await.expect("a fixture");
    for (transport, outgoing) in [
        (lines.transport(), ask(&[elicit(), json!(["roots/list", {}])])),
        (http(&running.url()), asked("test_input_required_result_elicitation", json!({}))),
    ] {
        let bed = bed(transport, |_| {});
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        bed.converse(outgoing.clone(), answer).await.expect("a result");
        settle(&tasks).await;
        let (counts, before) = (bed.pool.counts(), settle(&tasks).await);
        for _ in 0..1_000 {
            bed.converse(outgoing.clone(), answer).await.expect("a result");
        }
        assert_eq!(bed.pool.counts(), counts);
        assert_eq!(counts, (1, 0));
        // The peer's own connections and streams may come and go.
        let after = settle(&tasks).await;
        assert!(after <= before + 8, "{before} tasks became {after}");
    }
}

/// The number of tasks once it no longer falls.
async fn settle(tasks: &impl Fn() -> usize) -> usize {
    let mut least = tasks();
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
        least = least.min(tasks());
    }
    least
}

#[tokio::test]
async fn a_required_task_is_started_followed_and_fetched() {
    let running =
        Fixture::start(Options { era: Era::Legacy, ..Options::default() }).await.expect("a fixture");
    let bed = bed(http(&running.url()), |_| {});
    let mut outgoing = call("required_task", json!({ "seconds": 0.1 }));
    bed.request(outgoing.clone()).await.expect_err("not as an ordinary call");
    outgoing.legacy_task = LegacyTask::Required;
    let result = bed.request(outgoing).await.expect("a result");
    assert!(result["content"][0]["text"].is_string(), "{result}");
    let methods = running.methods();
    assert!(methods.iter().any(|it| it == "tasks/get"), "{methods:?}");
    assert_eq!(methods.last().map(String::as_str), Some("tasks/result"));
}

#[tokio::test]
async fn a_required_task_whose_caller_left_is_cancelled() {
    let running =
        Fixture::start(Options { era: Era::Legacy, ..Options::default() }).await.expect("a fixture");
    let bed = bed(http(&running.url()), |_| {});
    let outgoing =
        Outgoing { legacy_task: LegacyTask::Required, ..call("required_task", json!({ "seconds": 1000 })) };
    let seen = async |method: &str| {
        while !running.methods().iter().any(|it| it == method) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        result = bed.request(outgoing) => panic!("{result:?}"),
        () = seen("tasks/get") => {}
    }
    tokio::time::timeout(Duration::from_secs(20), seen("tasks/cancel")).await.expect("a cancellation");
}

#[tokio::test]
async fn errors_that_mean_something_to_a_client_pass_untouched() {
    let peer = Peer::start(|seen| match seen.tool() {
        "go" => {
            let data = json!({ "elicitations": [{ "mode": "url", "url": "https://a" }] });
            let error = json!({ "code": -32042, "message": "go there", "data": data });
            Reply::json("200 OK", &json!({ "jsonrpc": "2.0", "id": seen.id(), "error": error }))
        }
        "lack" => {
            let error = json!({ "code": -32021, "message": "no", "data": { "requiredCapabilities": { "roots": {} } } });
            Reply::json("400 Bad Request", &json!({ "jsonrpc": "2.0", "id": seen.id(), "error": error }))
        }
        "mismatch" => Reply::error("400 Bad Request", seen, -32020, "header"),
        _ => crate::peer::modern(seen),
    })
    .await;
    let bed = bed(http(&peer.url), |_| {});
    let said = async |tool| bed.call(tool, json!({})).await.expect_err("an error").to_string();
    assert_eq!(
        said("go").await,
        r#"MCP error -32042: go there {"elicitations":[{"mode":"url","url":"https://a"}]}"#
    );
    assert_eq!(said("lack").await, r#"MCP error -32021: no {"requiredCapabilities":{"roots":{}}}"#);
    assert_eq!(said("mismatch").await, "MCP error -32020: header", "the hub looks at its list again");
}

#[tokio::test]
async fn a_modern_server_learns_abilities_and_headers_from_each_request() {
    let peer = Peer::start(crate::peer::modern).await;
    let bed = bed(http(&peer.url), |_| {});
    let mut outgoing = asked("echo", json!({}));
    outgoing.abilities = outgoing.abilities.with(Abilities::TASKS);
    outgoing.headers = vec![("Region".into(), "eu".into()), ("City".into(), "Köln".into())];
    bed.request(outgoing).await.expect("a result");
    bed.call("echo", json!({})).await.expect("a result");
    let calls: Vec<_> = peer.seen.all().into_iter().filter(|it| it.method() == "tools/call").collect();
    let declared =
        |place: usize| &calls[place].body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(
        *declared(0),
        json!({
            "elicitation": { "form": {}, "url": {} },
            "sampling": {},
            "roots": {},
            "extensions": { "io.modelcontextprotocol/tasks": {} },
        })
    );
    assert_eq!(*declared(1), json!({}));
    assert_eq!(calls[0].header("mcp-param-region"), Some("eu"));
    assert_eq!(calls[0].header("mcp-param-city"), Some("=?base64?S8O2bG4=?="));
    assert_eq!(calls[1].header("mcp-param-region"), None);
}

#[tokio::test]
async fn so_many_questions_wait_for_a_caller_who_is_away_and_the_rest_are_declined() {
    let peer = LinePeer::start(asking);
    let bed = bed(peer.transport(), |_| {});
    let long = json!(["elicitation/create", { "message": "x".repeat(LONGEST_ASK), "requestedSchema": {} }]);
    let mut asks = vec![long];
    asks.extend((0..MOST_ASKS + 3).map(|_| elicit()));
    let (events, mut rx) = Events::channel(Progress::Unwanted);
    events.pause();
    let outgoing = ask(&asks);
    let call = bed.pool.request(&bed.instance, &outgoing, &events);
    tokio::pin!(call);
    // What is over a limit is declined before anybody has answered anything.
    let declined = async {
        for place in [0, MOST_ASKS + 1, MOST_ASKS + 2, MOST_ASKS + 3] {
            let end = format!("/{place}");
            let is_it = |it: &Line| it.message["id"].as_str().is_some_and(|it| it.ends_with(&end));
            let said = peer.lines.wait_for("a refusal", is_it).await;
            assert_eq!(said.message["result"], json!({ "action": "cancel" }));
        }
    };
    tokio::select! {
        result = &mut call => panic!("{result:?}"),
        () = declined => {}
    }
    events.next_round();
    for _ in 0..MOST_ASKS {
        let Some(Event::Ask(ask)) = rx.recv().await else { panic!("a question") };
        answer(ask);
    }
    let answers = call.await.expect("a result").to_value()["answers"].clone();
    let accepted =
        answers.as_array().expect("answers").iter().filter(|it| it["result"]["action"] == "accept");
    assert_eq!(accepted.count(), MOST_ASKS);
}
