//! A legacy server asks in the middle of a call, and its client is modern: the call waits while the client is away.

use futures::future::join_all;
use serde_json::{Value, json};
use toolgrove_fixture::Options;

use crate::grove::{eventually, hub_with, over_http, over_stdio, text};
use crate::hub::Hub;
use crate::scripted::{Scripted, Step, question};
use crate::talk::{Modern, accept, everything, keys, retry, sampled};

const ASK: &str = "mcp__s__test_elicitation";
const THREE: &str = "mcp__s__test_input_required_result_multiple_inputs";
const TWICE: &str = "mcp__s__test_input_required_result_multi_round";

fn ask() -> Value {
    json!({ "message": "Who?" })
}

fn user() -> Value {
    json!({ "user": accept(json!({ "username": "ada", "email": "a@b" })) })
}

const ADA: &str = r#"User response: action=accept, content={"username":"ada","email":"a@b"}"#;

async fn parked(hub: &Hub) -> usize {
    usize::try_from(hub.get("/api/status").await["parked"].as_u64().unwrap()).unwrap()
}

#[track_caller]
fn check_refused(error: &Value, reason: &str) {
    assert_eq!(error["code"], -32602, "{error}");
    assert_eq!(error["data"]["reason"], reason, "{error}");
}

/// The sentence for everything that is not a state for this request.
#[track_caller]
fn check_foreign(error: &Value, what: &str) {
    assert_eq!(
        *error,
        json!({ "code": -32602, "message": "requestState is not valid for this request" }),
        "{what}"
    );
}

#[tokio::test]
async fn questions_asked_together_come_in_one_round_and_name_who_asks() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call(THREE, json!({})).await;
    assert_eq!(keys(&asked), ["client_roots", "greeting", "user_name"]);
    let requests = &asked["inputRequests"];
    assert_eq!(requests["user_name"]["params"]["message"], "[s] What is your name?");
    assert_eq!(requests["user_name"]["method"], "elicitation/create");
    assert_eq!(requests["greeting"]["params"]["messages"][0]["content"]["text"], "Generate a greeting");
    assert_eq!(requests["client_roots"], json!({ "method": "roots/list" }));
    assert!(!asked.to_string().contains("inputKey"), "{asked}");
    assert_eq!(parked(&hub).await, 1);

    let answers = json!({
        "user_name": accept(json!({ "name": "Ada" })),
        "greeting": sampled("Hi"),
        "client_roots": { "roots": [] },
        "nobody_asked": { "action": "accept" },
    });
    let result = client.retry(THREE, json!({}), &asked, answers).await;
    assert_eq!(text(&result), "Hi \"Ada\" []", "{result}");
    assert_eq!(result["resultType"], "complete");
    assert_eq!(parked(&hub).await, 0);
}

#[tokio::test]
async fn the_same_is_so_over_stdio_and_the_old_sse() {
    let sse = over_http(Options { kind: toolgrove_fixture::Kind::Sse, ..Options::default() }).await;
    for (hub, what) in [(over_stdio(&[]).await, "stdio"), (sse.0, "sse")] {
        let client = Modern::new(&hub, everything());
        let asked = client.call(THREE, json!({})).await;
        assert_eq!(keys(&asked), ["client_roots", "greeting", "user_name"], "{what}");
        let answers = json!({
            "user_name": accept(json!({ "name": "Ada" })),
            "greeting": sampled("Hi"),
            "client_roots": { "roots": [] },
        });
        let result = client.retry(THREE, json!({}), &asked, answers).await;
        assert_eq!(text(&result), "Hi \"Ada\" []", "{what}: {result}");
    }
}

#[tokio::test]
async fn a_call_that_asks_twice_takes_two_rounds_with_two_states() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let first = client.call(TWICE, json!({})).await;
    assert_eq!(keys(&first), ["step1"]);
    let second =
        client.retry(TWICE, json!({}), &first, json!({ "step1": accept(json!({ "name": "Ada" })) })).await;
    assert_eq!(keys(&second), ["step2"]);
    assert_ne!(first["requestState"], second["requestState"]);

    let again =
        client.retry(TWICE, json!({}), &first, json!({ "step1": accept(json!({ "name": "Bob" })) })).await;
    check_refused(&again, "consumed");

    let result =
        client.retry(TWICE, json!({}), &second, json!({ "step2": accept(json!({ "color": "red" })) })).await;
    assert_eq!(text(&result), "\"Ada\" likes \"red\"");
}

#[tokio::test]
async fn a_state_is_good_once() {
    let (hub, server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call(ASK, ask()).await;
    server.clear_log();
    assert_eq!(text(&client.retry(ASK, ask(), &asked, user()).await), ADA);
    let told = server.log().len();
    check_refused(&client.retry(ASK, ask(), &asked, user()).await, "consumed");
    assert_eq!(server.log().len(), told, "the server is told nothing twice");
}

#[tokio::test]
async fn of_many_retries_at_once_one_goes_on() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call(ASK, ask()).await;
    let retries = (0..8).map(|_| client.retry(ASK, ask(), &asked, user()));
    let ended = join_all(retries).await;
    let (done, refused): (Vec<_>, Vec<_>) = ended.iter().partition(|it| it.get("content").is_some());
    assert_eq!((done.len(), refused.len()), (1, 7), "{ended:?}");
    for it in refused {
        check_refused(it, "consumed");
    }
}

#[tokio::test]
async fn a_client_may_write_its_arguments_anew() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call(ASK, json!({ "message": "Who?", "b": 1, "a": { "y": 1, "x": 2 } })).await;
    let anew = json!({ "a": { "x": 2, "y": 1 }, "b": 1, "message": "Who?" });
    assert_eq!(text(&client.retry(ASK, anew, &asked, user()).await), ADA);
}

#[tokio::test]
async fn a_state_of_anything_else_is_refused_in_one_and_the_same_sentence() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call(ASK, ask()).await;
    let state = asked["requestState"].as_str().unwrap().to_owned();

    let with = |state: Value| json!({ "requestState": state });
    let middle = state.len() / 2;
    let flipped = if state.as_bytes()[middle] == b'A' { "B" } else { "A" };
    let mut tampered = state.clone();
    tampered.replace_range(middle..=middle, flipped);
    let (kind, rest) = state.split_once('.').unwrap();
    let strange = [
        json!("nonsense"),
        json!(""),
        json!(7),
        json!(null),
        json!({ "state": state }),
        json!(tampered),
        json!(state[..state.len() - 1]),
        json!(format!("{state}A")),
        json!(format!("tg2.{rest}")),
        json!(format!("{kind}.other.{}", rest.split_once('.').unwrap().1)),
    ];
    for state in strange {
        let error = client.retry(ASK, ask(), &with(state.clone()), user()).await;
        check_foreign(&error, &state.to_string());
    }

    check_foreign(&client.retry(ASK, json!({ "message": "Whom?" }), &asked, user()).await, "other arguments");
    check_foreign(&client.retry(TWICE, ask(), &asked, user()).await, "another tool");
    let prompt = json!({ "name": ASK, "arguments": ask(), "requestState": state, "inputResponses": user() });
    check_foreign(&client.ask("prompts/get", prompt).await, "another method");
    let one = Modern::at(&hub, "/mcp/i/s", everything());
    check_foreign(&one.retry("test_elicitation", ask(), &asked, user()).await, "another endpoint");
    check_foreign(&one.retry(ASK, ask(), &asked, user()).await, "another endpoint, the same name");

    assert_eq!(parked(&hub).await, 1, "nothing of that touched the call that waits");
    assert_eq!(text(&client.retry(ASK, ask(), &asked, user()).await), ADA);
}

#[tokio::test]
async fn answers_that_are_no_object_consume_nothing() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call(ASK, ask()).await;
    for answers in [json!([]), json!("user"), json!(null), json!(7)] {
        let error = client.retry(ASK, ask(), &asked, answers.clone()).await;
        assert_eq!(error["code"], -32602, "{answers}: {error}");
    }
    assert_eq!(text(&client.retry(ASK, ask(), &asked, user()).await), ADA);
}

#[tokio::test]
async fn what_is_missing_or_misshapen_is_asked_again_and_what_is_good_is_kept() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call(THREE, json!({})).await;
    let some = json!({ "greeting": sampled("Hi"), "user_name": { "action": 7 } });
    let rest = client.retry(THREE, json!({}), &asked, some).await;
    assert_eq!(keys(&rest), ["client_roots", "user_name"]);
    assert_eq!(rest["inputRequests"]["user_name"], asked["inputRequests"]["user_name"]);
    assert_ne!(rest["requestState"], asked["requestState"]);
    check_refused(&client.retry(THREE, json!({}), &asked, json!({})).await, "consumed");

    for answers in [json!({}), json!({ "user_name": null, "client_roots": null, "else": {} })] {
        let asked = client.retry(THREE, json!({}), &rest, answers).await;
        if asked["resultType"] == "input_required" {
            assert_eq!(keys(&asked), ["client_roots", "user_name"]);
            let last =
                json!({ "user_name": accept(json!({ "name": "Ada" })), "client_roots": { "roots": [] } });
            let result = client.retry(THREE, json!({}), &asked, last).await;
            assert_eq!(text(&result), "Hi \"Ada\" []");
        } else {
            check_refused(&asked, "consumed");
        }
    }
}

#[tokio::test]
async fn answers_may_come_before_their_questions() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let params =
        json!({ "name": ASK, "arguments": ask(), "inputResponses": { "user": user()["user"], "extra": 1 } });
    assert_eq!(text(&client.ask("tools/call", params).await), ADA);

    let params = json!({ "name": ASK, "arguments": ask(), "inputResponses": { "user": { "action": null } } });
    let asked = client.ask("tools/call", params).await;
    assert_eq!(keys(&asked), ["user"], "an early answer of the wrong shape is none");
    assert_eq!(text(&client.retry(ASK, ask(), &asked, user()).await), ADA);
}

#[tokio::test]
async fn a_person_may_decline_and_may_dismiss() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    for action in ["decline", "cancel"] {
        let asked = client.call(ASK, ask()).await;
        let result = client.retry(ASK, ask(), &asked, json!({ "user": { "action": action } })).await;
        assert_eq!(text(&result), format!("User response: action={action}, content=null"));
    }
}

#[tokio::test]
async fn prompts_are_parked_too() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let name = "mcp__s__test_input_required_result_prompt";
    let asked = client.ask("prompts/get", json!({ "name": name })).await;
    assert_eq!(keys(&asked), ["user_context"]);
    let answers = json!({ "user_context": accept(json!({ "context": "rain" })) });
    let again = json!({ "name": name, "requestState": asked["requestState"], "inputResponses": answers });
    let result = client.ask("prompts/get", again).await;
    assert_eq!(result["messages"][0]["content"]["text"], "Context: rain", "{result}");
}

#[tokio::test]
async fn what_a_client_did_not_declare_is_not_asked() {
    let (hub, _server) = over_http(Options::default()).await;
    let only_roots = Modern::new(&hub, json!({ "roots": {} }));
    let result = only_roots.call(ASK, ask()).await;
    assert_eq!(result["message"], "the client does not support `elicitation`", "{result}");
    let asked = only_roots.call("mcp__s__test_input_required_result_capabilities", json!({})).await;
    assert_eq!(keys(&asked), ["client_roots"]);
}

#[tokio::test]
async fn closing_the_stream_while_the_call_runs_cancels_it_and_the_end_of_a_round_does_not() {
    let (hub, server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call(ASK, ask()).await;
    let meta = json!({ "progressToken": "p" });
    let mut stream = client
        .open("tools/call", json!({ "name": "mcp__s__sleep", "arguments": { "ms": 60_000 }, "_meta": meta }))
        .await;
    let first = stream.next().await.unwrap();
    assert_eq!(first["params"]["progressToken"], "p", "{first}");
    drop(stream);
    eventually("the server hears of the cancel", async || (server.cancelled() == 1).then_some(())).await;
    assert_eq!(
        text(&client.retry(ASK, ask(), &asked, user()).await),
        ADA,
        "the parked one was not cancelled"
    );
    assert_eq!(server.cancelled(), 1);
}

#[tokio::test]
async fn closing_the_stream_after_the_retry_cancels_too() {
    let steps = vec![Step::Ask(vec![question("a")]), Step::Progress(1), Step::Hang];
    let server = Scripted::start(steps).await;
    let hub = hub_with(json!({ "s": { "url": server.url } })).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call("mcp__s__run", json!({})).await;
    let answers = json!({ keys(&asked)[0].clone(): accept(json!({})) });
    let mut params = retry("mcp__s__run", json!({}), &asked, answers.clone());
    params["_meta"] = json!({ "progressToken": 1 });
    let mut stream = client.open("tools/call", params).await;
    assert_eq!(stream.next().await.unwrap()["params"]["progress"], 1);
    drop(stream);
    eventually("the server hears of the cancel", async || {
        server.told().iter().any(|it| it["method"] == "notifications/cancelled").then_some(())
    })
    .await;
    check_refused(&client.retry("mcp__s__run", json!({}), &asked, answers).await, "consumed");
}

#[tokio::test]
async fn what_is_reported_while_nobody_is_there_is_dropped() {
    let steps = vec![Step::Ask(vec![question("a")]), Step::Progress(1)];
    let steps = [vec![Step::Beside(50, 5)], steps].concat();
    let server = Scripted::start(steps).await;
    let hub = hub_with(json!({ "s": { "url": server.url } })).await;
    let client = Modern::new(&hub, everything());
    let params = json!({ "name": "mcp__s__run", "arguments": {}, "_meta": { "progressToken": "one" } });
    let asked = client.send("tools/call", params).await.json()["result"].clone();
    eventually("the server has reported", async || {
        server.told().iter().any(|it| it == "beside").then_some(())
    })
    .await;
    let mut again =
        retry("mcp__s__run", json!({}), &asked, json!({ keys(&asked)[0].clone(): accept(json!({})) }));
    again["_meta"] = json!({ "progressToken": "two" });
    let messages = client.send("tools/call", again).await.messages();
    let progress: Vec<_> = messages.iter().filter_map(|it| it["params"]["progress"].as_u64()).collect();
    assert_eq!(progress, [1], "{messages:?}");
}

#[tokio::test]
async fn progress_after_the_retry_goes_to_the_new_token() {
    let steps = vec![Step::Progress(1), Step::Ask(vec![question("a")]), Step::Progress(2), Step::Progress(3)];
    let server = Scripted::start(steps).await;
    let hub = hub_with(json!({ "s": { "url": server.url } })).await;
    let client = Modern::new(&hub, everything());
    let first = json!({ "name": "mcp__s__run", "arguments": {}, "_meta": { "progressToken": "one" } });
    let messages = client.send("tools/call", first).await.messages();
    assert_eq!(messages[0]["params"], json!({ "progressToken": "one", "progress": 1 }), "{messages:?}");
    let asked = messages.last().unwrap()["result"].clone();
    let answers = json!({ keys(&asked)[0].clone(): accept(json!({})) });
    let mut again = retry("mcp__s__run", json!({}), &asked, answers);
    again["_meta"] = json!({ "progressToken": "two" });
    let messages = client.send("tools/call", again).await.messages();
    let progress: Vec<_> = messages
        .iter()
        .filter(|it| it["method"] == "notifications/progress")
        .map(|it| it["params"].clone())
        .collect();
    assert_eq!(
        progress,
        [json!({ "progressToken": "two", "progress": 2 }), json!({ "progressToken": "two", "progress": 3 })]
    );
    assert_eq!(text(&messages.last().unwrap()["result"]), "1 accepted");
}

#[tokio::test]
async fn progress_that_was_not_wanted_at_first_comes_after_a_retry_that_wants_it() {
    let server = Scripted::start(vec![Step::Ask(vec![question("a")]), Step::Progress(2)]).await;
    let hub = hub_with(json!({ "s": { "url": server.url } })).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call("mcp__s__run", json!({})).await;
    let mut again =
        retry("mcp__s__run", json!({}), &asked, json!({ keys(&asked)[0].clone(): accept(json!({})) }));
    again["_meta"] = json!({ "progressToken": "two" });
    let messages = client.send("tools/call", again).await.messages();
    assert_eq!(messages[0]["params"], json!({ "progressToken": "two", "progress": 2 }), "{messages:?}");
}

#[tokio::test]
async fn a_server_that_dies_while_parked_is_told_to_the_retry() {
    let (hub, mut server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call(ASK, ask()).await;
    server.stop().await;
    let error = client.retry(ASK, ask(), &asked, user()).await;
    assert_eq!(error["code"], -32603, "{error}");
    assert_eq!(error["data"]["code"], "link.unreachable", "{error}");
    assert!(error["message"].as_str().unwrap().ends_with("; the call may have had effects"), "{error}");
    check_refused(&client.retry(ASK, ask(), &asked, user()).await, "consumed");
}

#[tokio::test]
async fn a_server_that_forgets_its_session_while_parked_is_told_to_the_retry() {
    let (hub, _server) = over_http(Options { lose_sessions: true, ..Options::default() }).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call(ASK, ask()).await;
    client.call("mcp__s__forget_sessions", json!({})).await;
    let error = client.retry(ASK, ask(), &asked, user()).await;
    let cause = "the server has forgotten the session of this call; the call may have had effects";
    assert_eq!(error["message"], format!("cannot reach `s`: {cause}"), "{error}");
    assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32603), &json!("link.unreachable")));
    let again = client.call(ASK, ask()).await;
    assert_eq!(text(&client.retry(ASK, ask(), &again, user()).await), ADA, "the next one has a new session");
}

#[tokio::test]
async fn after_a_restart_a_lost_tool_call_says_in_words_that_it_may_have_had_effects() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let tool = client.call(ASK, ask()).await;
    let prompt = json!({ "name": "mcp__s__test_input_required_result_prompt" });
    let prompt_asked = client.ask("prompts/get", prompt.clone()).await;
    let hub = Hub::start_in(hub.kill().await).await;
    let client = Modern::new(&hub, everything());
    let lost = client.retry(ASK, ask(), &tool, user()).await;
    assert_eq!(lost["isError"], true, "{lost}");
    assert_eq!(text(&lost), "the call was lost with the hub that held it; it may have had effects");
    let foreign = client.retry(ASK, json!({ "message": "else" }), &tool, user()).await;
    check_foreign(&foreign, "a state of the hub before this one is bound all the same");

    let mut again = prompt;
    again["requestState"] = prompt_asked["requestState"].clone();
    again["inputResponses"] = json!({ "user_context": accept(json!({ "context": "rain" })) });
    let result = client.ask("prompts/get", again).await;
    assert_eq!(result["messages"][0]["content"]["text"], "Context: rain", "a prompt starts anew: {result}");
}

#[tokio::test]
async fn the_thirty_third_parked_call_of_a_caller_is_declined_and_the_others_are_unharmed() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let message = |it: usize| json!({ "message": format!("{it}") });
    let waiting = join_all((0..32).map(|it| client.call(ASK, message(it)))).await;
    for it in &waiting {
        assert_eq!(keys(it), ["user"]);
    }
    assert_eq!(parked(&hub).await, 32);
    let over = client.call(ASK, message(32)).await;
    assert_eq!(text(&over), "User response: action=cancel, content=null");
    for (it, asked) in waiting.iter().enumerate() {
        assert_eq!(text(&client.retry(ASK, message(it), asked, user()).await), ADA);
    }
    assert_eq!(parked(&hub).await, 0);
    assert_eq!(keys(&client.call(ASK, message(33)).await), ["user"], "there is room again");
}

#[tokio::test]
async fn the_seventeenth_open_question_of_a_call_is_declined() {
    let server =
        Scripted::start(vec![Step::Ask((0..17).map(|it| question(&it.to_string())).collect())]).await;
    let hub = hub_with(json!({ "s": { "url": server.url } })).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call("mcp__s__run", json!({})).await;
    let keys = keys(&asked);
    assert_eq!(keys.len(), 16, "{keys:?}");
    eventually("one was dismissed", async || (server.told().len() == 1).then_some(())).await;
    assert_eq!(server.told()[0]["result"]["action"], "cancel", "{:?}", server.told());
    let answers: serde_json::Map<_, _> = keys.into_iter().map(|it| (it, accept(json!({})))).collect();
    let result = client.retry("mcp__s__run", json!({}), &asked, Value::Object(answers)).await;
    assert_eq!(text(&result), "16 accepted");
}

#[tokio::test]
async fn a_huge_question_is_declined() {
    let server = Scripted::start(vec![Step::Ask(vec![question(&"x".repeat(257 * 1024))])]).await;
    let hub = hub_with(json!({ "s": { "url": server.url } })).await;
    let result = Modern::new(&hub, everything()).call("mcp__s__run", json!({})).await;
    assert_eq!(text(&result), "0 accepted");
    assert_eq!(server.told()[0]["result"]["action"], "cancel", "{:?}", server.told());
}

#[tokio::test]
async fn the_eleventh_round_is_declined() {
    let server =
        Scripted::start((0..12).map(|it| Step::Ask(vec![question(&it.to_string())])).collect()).await;
    let hub = hub_with(json!({ "s": { "url": server.url } })).await;
    let client = Modern::new(&hub, everything());
    let mut asked = client.call("mcp__s__run", json!({})).await;
    let mut seen = Vec::new();
    while asked["resultType"] == "input_required" {
        let key = keys(&asked).remove(0);
        asked =
            client.retry("mcp__s__run", json!({}), &asked, json!({ key.clone(): accept(json!({})) })).await;
        assert!(!seen.contains(&key), "a key is used once in a call: {key}");
        seen.push(key);
    }
    assert_eq!(text(&asked), "10 accepted", "{asked}");
}

#[tokio::test]
async fn questions_that_come_later_wait_for_the_next_round() {
    let server =
        Scripted::start(vec![Step::Ask(vec![question("a"), question("b")]), Step::Ask(vec![question("c")])])
            .await;
    let hub = hub_with(json!({ "s": { "url": server.url } })).await;
    let client = Modern::new(&hub, everything());
    let first = client.call("mcp__s__run", json!({})).await;
    assert_eq!(keys(&first), ["ask-1", "ask-2"]);
    assert_eq!(first["inputRequests"]["ask-1"]["params"]["message"], "[s] a");
    let answers = json!({ "ask-1": accept(json!({})), "ask-2": { "action": "decline" } });
    let second = client.retry("mcp__s__run", json!({}), &first, answers).await;
    assert_eq!(keys(&second), ["ask-3"]);
    let result = client.retry("mcp__s__run", json!({}), &second, json!({ "ask-3": accept(json!({})) })).await;
    assert_eq!(text(&result), "2 accepted");
}

#[tokio::test]
async fn a_server_that_wants_a_page_visited_first_is_called_again_after_the_visit() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call("mcp__s__url_required", json!({})).await;
    let key = keys(&asked).remove(0);
    let params = &asked["inputRequests"][&key]["params"];
    assert_eq!(params["mode"], "url", "{asked}");
    assert_eq!(params["url"], "https://example.com/consent");
    assert_eq!(params["message"], "[s] Please give your consent");
    assert!(params.get("elicitationId").is_none(), "{asked}");
    let result =
        client.retry("mcp__s__url_required", json!({}), &asked, json!({ key: { "action": "accept" } })).await;
    assert_eq!(text(&result), "visited", "{result}");
}

#[tokio::test]
async fn a_page_to_visit_in_the_middle_of_a_call_is_parked() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, everything());
    let asked = client.call("mcp__s__test_url_elicitation", json!({})).await;
    assert_eq!(keys(&asked), ["visit"]);
    let params = json!({ "mode": "url", "message": "[s] Please give your consent", "url": "https://example.com/consent" });
    assert_eq!(asked["inputRequests"]["visit"]["params"], params);
    let result = client
        .retry("mcp__s__test_url_elicitation", json!({}), &asked, json!({ "visit": { "action": "accept" } }))
        .await;
    assert_eq!(text(&result), "visited: \"accept\"");
    let form_only = Modern::new(&hub, json!({ "elicitation": {} }));
    let refused = form_only.call("mcp__s__test_url_elicitation", json!({})).await;
    assert!(refused.get("resultType").is_none_or(|it| it != "input_required"), "{refused}");
}
