//! A modern server wants input, and its client is legacy: the hub asks the client and calls again, round by round.

use serde_json::{Value, json};
use toolgrove_fixture::{Era, LEGACY, Options};

use crate::grove::{ERAS, eventually, over_http};
use crate::hub::Hub;
use crate::talk::{DOORS, Door, LATEST, Legacy, declining, everything, failing, obliging};

async fn modern() -> (Hub, toolgrove_fixture::Running) {
    over_http(Options { era: Era::Modern, ..Options::default() }).await
}

fn tool(name: &str) -> String {
    format!("mcp__s__test_input_required_result_{name}")
}

/// Every revision at every door that can carry it.
fn clients() -> impl Iterator<Item = (Door, &'static str)> {
    DOORS.into_iter().flat_map(|door| LEGACY.map(|version| (door, version)))
}

const FIRST_WITH_FORMS: &str = LEGACY[2];

#[tokio::test]
async fn every_legacy_client_answers_what_its_revision_knows() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        for (door, version) in clients() {
            let who = format!("{era:?} {door:?} {version}");
            let mut client = Legacy::open(&hub, door, version, everything(), obliging).await;

            let sampling = client.call("mcp__s__test_sampling", json!({ "prompt": "capital?" })).await;
            assert_eq!(sampling.text(), "LLM response: Paris", "{who}");
            assert_eq!(sampling.asked(), ["sampling/createMessage"], "{who}");
            assert_eq!(
                sampling.questions[0]["params"]["messages"][0]["content"]["text"], "capital?",
                "{who}"
            );

            let roots = client.call(&tool("list_roots"), json!({})).await;
            assert_eq!(roots.text(), r#"Roots: [{"uri":"file:///home/me","name":"home"}]"#, "{who}");

            let form = client.call("mcp__s__test_elicitation", json!({ "message": "Who?" })).await;
            if version < FIRST_WITH_FORMS {
                assert!(form.questions.is_empty(), "{who}: {form:?}");
                check_cannot(era, form.outcome(), &who);
                continue;
            }
            assert_eq!(
                form.text(),
                r#"User response: action=accept, content={"username":"my username","email":"my email"}"#,
                "{who}"
            );
            assert_eq!(form.questions[0]["params"]["message"], "[s] Who?", "{who}");

            let three = client.call(&tool("multiple_inputs"), json!({})).await;
            assert_eq!(
                three.asked(),
                ["elicitation/create", "sampling/createMessage"],
                "{who}: the roots are known"
            );
            assert_eq!(three.text(), r#"Paris "my name" [{"uri":"file:///home/me","name":"home"}]"#, "{who}");

            let twice = client.call(&tool("multi_round"), json!({})).await;
            let messages: Vec<_> =
                twice.questions.iter().map(|it| it["params"]["message"].as_str().unwrap()).collect();
            assert_eq!(
                messages,
                ["[s] Step 1: What is your name?", "[s] Step 2: What is your favorite color?"],
                "{who}"
            );
            assert_eq!(twice.text(), r#""my name" likes "my color""#, "{who}");

            let prompt = client
                .request("prompts/get", json!({ "name": "mcp__s__test_input_required_result_prompt" }))
                .await;
            assert_eq!(
                prompt.outcome()["messages"][0]["content"]["text"],
                "Context: my context",
                "{who}: {prompt:?}"
            );
        }
    }
}

/// A client that cannot be asked reads why: in a result from a modern server, in the server's own error otherwise.
#[track_caller]
fn check_cannot(era: Era, outcome: &Value, who: &str) {
    if era == Era::Modern {
        assert_eq!(outcome["isError"], true, "{who}: {outcome}");
        assert!(crate::grove::text(outcome).starts_with("`s` could not finish: "), "{who}: {outcome}");
    } else {
        assert_eq!(outcome["message"], "the client does not support `elicitation`", "{who}: {outcome}");
    }
}

#[tokio::test]
async fn a_client_without_the_ability_is_not_asked_and_reads_why_the_call_ended() {
    let (hub, _server) = modern().await;
    for door in DOORS {
        let mut client = Legacy::open(&hub, door, LATEST, json!({}), obliging).await;
        for (name, arguments) in [
            ("mcp__s__test_elicitation", json!({ "message": "Who?" })),
            ("mcp__s__test_sampling", json!({ "prompt": "capital?" })),
            (&*tool("list_roots"), json!({})),
            ("mcp__s__test_missing_capability", json!({})),
        ] {
            let heard = client.call(name, arguments).await;
            assert!(heard.questions.is_empty(), "{door:?} {name}: {heard:?}");
            check_cannot(Era::Modern, heard.outcome(), &format!("{door:?} {name}"));
        }
        let prompt = client
            .request("prompts/get", json!({ "name": "mcp__s__test_input_required_result_prompt" }))
            .await;
        assert_eq!(prompt.outcome()["code"], -32603, "{door:?}: {prompt:?}");
    }
}

#[tokio::test]
async fn a_person_who_declines_is_told_to_the_server() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        for door in DOORS {
            let mut client = Legacy::open(&hub, door, LATEST, everything(), declining).await;
            let heard = client.call("mcp__s__test_elicitation", json!({ "message": "Who?" })).await;
            assert_eq!(heard.text(), "User response: action=decline, content=null", "{era:?} {door:?}");
        }
    }
}

#[tokio::test]
async fn a_client_that_answers_with_an_error_cancels_the_form_has_no_roots_and_ends_the_sampling() {
    let (hub, _server) = modern().await;
    for door in DOORS {
        let mut client = Legacy::open(&hub, door, LATEST, everything(), failing).await;
        let form = client.call("mcp__s__test_elicitation", json!({ "message": "Who?" })).await;
        assert_eq!(form.text(), "User response: action=cancel, content=null", "{door:?}");
        let roots = client.call(&tool("list_roots"), json!({})).await;
        assert_eq!(roots.text(), "Roots: []", "{door:?}");
        let sampling = client.call("mcp__s__test_sampling", json!({ "prompt": "capital?" })).await;
        assert_eq!(
            sampling.text(),
            "`s` could not finish: the client could not sample: not today",
            "{door:?}"
        );
        assert_eq!(sampling.outcome()["isError"], true, "{door:?}");
    }
}

#[tokio::test]
async fn an_error_of_the_client_reaches_a_legacy_server_as_it_is() {
    let (hub, _server) = over_http(Options::default()).await;
    let mut client = Legacy::open(&hub, Door::Http, LATEST, everything(), failing).await;
    let heard = client.call("mcp__s__test_sampling", json!({ "prompt": "capital?" })).await;
    assert_eq!(heard.outcome()["data"]["error"]["message"], "not today", "{heard:?}");
}

#[tokio::test]
async fn a_page_to_visit_goes_to_the_clients_that_know_pages() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        for door in DOORS {
            let who = format!("{era:?} {door:?}");
            let mut client = Legacy::open(&hub, door, LATEST, everything(), obliging).await;
            let heard = client.call("mcp__s__test_url_elicitation", json!({})).await;
            assert_eq!(heard.text(), r#"visited: "accept""#, "{who}: {heard:?}");
            let params = &heard.questions[0]["params"];
            assert_eq!(
                (&params["mode"], &params["url"]),
                (&json!("url"), &json!("https://example.com/consent")),
                "{who}"
            );
            assert_eq!(params["message"], "[s] Please give your consent", "{who}");
            let id = params["elicitationId"].as_str().unwrap_or_else(|| panic!("{who}: {heard:?}"));
            let complete = heard.notes.iter().find(|it| it["method"] == "notifications/elicitation/complete");
            let complete =
                complete.unwrap_or_else(|| panic!("{who}: it is told that the page is done with: {heard:?}"));
            assert_eq!(complete["params"]["elicitationId"], id, "{who}");

            let mut older = Legacy::open(&hub, door, LEGACY[2], everything(), obliging).await;
            let heard = older.call("mcp__s__test_url_elicitation", json!({})).await;
            assert!(heard.questions.is_empty(), "{who}: {heard:?}");
        }
    }
}

#[tokio::test]
async fn a_page_that_must_be_visited_first_is_an_error_to_the_last_revision_and_words_to_older_ones() {
    let (hub, _server) = over_http(Options::default()).await;
    let mut older = Legacy::open(&hub, Door::Http, LEGACY[2], everything(), obliging).await;
    let heard = older.call("mcp__s__url_required", json!({})).await;
    assert_eq!(heard.outcome()["isError"], true, "{heard:?}");
    assert!(heard.text().contains("https://example.com/consent"), "{heard:?}");

    let (hub, _server) = over_http(Options::default()).await;
    let mut latest = Legacy::open(&hub, Door::Http, LATEST, everything(), obliging).await;
    let heard = latest.call("mcp__s__url_required", json!({})).await;
    assert_eq!(heard.outcome()["code"], -32042, "{heard:?}");
    assert_eq!(heard.outcome()["data"]["elicitations"][0]["url"], "https://example.com/consent", "{heard:?}");
}

#[tokio::test]
async fn forms_are_put_in_the_words_of_the_revision() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        let enums = "mcp__s__test_elicitation_sep1330_enums";
        let mut latest = Legacy::open(&hub, Door::Http, LATEST, everything(), obliging).await;
        let heard = latest.call(enums, json!({})).await;
        let properties = &heard.questions[0]["params"]["requestedSchema"]["properties"];
        assert!(properties["titledSingle"]["oneOf"].is_array(), "{heard:?}");
        let mut older = Legacy::open(&hub, Door::Http, LEGACY[2], everything(), obliging).await;
        let heard = older.call(enums, json!({})).await;
        assert!(heard.questions.is_empty(), "a choice of several has no form there: {heard:?}");
        assert_eq!(heard.text(), "Elicitation completed: action=cancel, content=null", "{era:?}");
        let heard = older.call("mcp__s__test_elicitation_sep1034_defaults", json!({})).await;
        assert_eq!(
            heard.questions[0]["params"]["requestedSchema"]["properties"]["age"]["default"], 30,
            "{heard:?}"
        );
        assert!(heard.questions[0]["params"].get("mode").is_none(), "{heard:?}");
    }
}

#[tokio::test]
async fn roots_are_asked_once_per_session_and_again_after_they_changed() {
    for era in ERAS {
        let (hub, server) = over_http(Options { era, ..Options::default() }).await;
        for door in DOORS {
            let who = format!("{era:?} {door:?}");
            let mut client = Legacy::open(&hub, door, LATEST, everything(), obliging).await;
            let roots = r#"Roots: [{"uri":"file:///home/me","name":"home"}]"#;
            for asked in [1, 0] {
                let heard = client.call(&tool("list_roots"), json!({})).await;
                assert_eq!((heard.text(), heard.questions.len()), (roots, asked), "{who}");
            }
            server.clear_log();
            client.notify("notifications/roots/list_changed", json!({})).await;
            if era == Era::Legacy {
                eventually(&format!("{who}: the server hears of it"), async || {
                    server.methods().contains(&"notifications/roots/list_changed".to_owned()).then_some(())
                })
                .await;
            }
            let heard = client.call(&tool("list_roots"), json!({})).await;
            assert_eq!((heard.text(), heard.questions.len()), (roots, 1), "{who}");
            let mut other = Legacy::open(&hub, door, LATEST, everything(), obliging).await;
            assert_eq!(
                other.call(&tool("list_roots"), json!({})).await.questions.len(),
                1,
                "{who}: another session"
            );
        }
    }
}

#[tokio::test]
async fn a_legacy_client_waits_for_tasks_without_knowing_them() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        for door in DOORS {
            let who = format!("{era:?} {door:?}");
            let mut client = Legacy::open(&hub, door, LATEST, everything(), obliging).await;
            let heard = client.call("mcp__s__test_tool_with_task", json!({})).await;
            assert!(heard.text().contains("my name"), "{who}: {heard:?}");
            let heard = client.call("mcp__s__slow_compute", json!({ "seconds": 0.2 })).await;
            assert!(
                heard.outcome()["content"].is_array() && heard.outcome()["isError"] != true,
                "{who}: {heard:?}"
            );
            let heard = client.call("mcp__s__required_task", json!({ "seconds": 0.2 })).await;
            assert!(
                heard.outcome()["content"].is_array() && heard.outcome()["isError"] != true,
                "{who}: {heard:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_call_cancelled_half_way_is_cancelled_at_the_server_in_every_cell() {
    for era in ERAS {
        let (hub, server) = over_http(Options { era, ..Options::default() }).await;
        for (number, door) in DOORS.into_iter().enumerate() {
            let mut client = Legacy::open(&hub, door, LATEST, everything(), obliging).await;
            let meta = json!({ "progressToken": 5 });
            let id = client
                .start(
                    "tools/call",
                    json!({ "name": "mcp__s__sleep", "arguments": { "ms": 60_000 }, "_meta": meta }),
                )
                .await;
            let progress = client.wait_for("notifications/progress").await;
            assert_eq!(progress["params"]["progressToken"], 5, "{era:?} {door:?}: {progress}");
            client.notify("notifications/cancelled", json!({ "requestId": id })).await;
            eventually(&format!("{era:?} {door:?}: the server hears of it"), async || {
                (server.cancelled() == number + 1).then_some(())
            })
            .await;
        }
    }
}
