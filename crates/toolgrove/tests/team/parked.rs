//! What a caller carries or leaves open on the hub is theirs alone: parked calls, and states of servers.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::{Era, Options};

use crate::hub::Hub;
use crate::team::{Team, Visitor, fixture};

/// A call of somebody who can be asked for a form.
async fn call(hub: &Hub, visitor: &Visitor, more: &Value) -> Value {
    let mut params = json!({
        "name": "mcp__s__test_input_required_result_request_state",
        "arguments": {},
        "_meta": { "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } } },
    });
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    let message = visitor.modern(hub, "/mcp", "tools/call", params).await.json();
    message.get("result").or(message.get("error")).cloned().unwrap_or(message)
}

#[tokio::test]
async fn a_state_of_one_caller_is_worth_nothing_to_another() {
    for era in [Era::Legacy, Era::Modern] {
        let team = Team::start().await;
        let (hub, ada) = (&team.hub, &team.admin);
        let server = fixture(Options { era, ..Options::default() }).await;
        let bob = team.invite("bob", "admin").await;
        ada.add(hub, "s", &server.url()).await;
        bob.add(hub, "s", &server.url()).await;
        let (token, _) = ada.token(hub, json!({ "name": "ci" })).await;

        let asked = call(hub, ada, &json!({})).await;
        assert_eq!(asked["resultType"], "input_required", "{era:?}: {asked}");
        let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        let answer = json!({ "action": "accept", "content": { "ok": true } });
        let back = json!({ "requestState": asked["requestState"], "inputResponses": { key: answer } });
        let refusal = json!({ "code": -32602, "message": "requestState is not valid for this request" });
        for (who, visitor) in [("another person", &bob), ("another caller of the same person", &token)] {
            assert_eq!(call(hub, visitor, &back).await, refusal, "{era:?}: {who}");
        }
        let parked = async |visitor: &Visitor| visitor.get(hub, "/api/status").await["parked"].clone();
        let open = json!(usize::from(era == Era::Legacy));
        assert_eq!(
            (parked(ada).await, parked(&bob).await),
            (open, json!(0)),
            "{era:?}: nobody else's counts"
        );
        let done = call(hub, ada, &back).await;
        assert_eq!(done["resultType"], "complete", "{era:?}: the owner's is still good: {done}");
    }
}

#[tokio::test]
async fn a_parked_call_ends_with_the_token_that_made_it() {
    let team = Team::start().await;
    let (hub, ada) = (&team.hub, &team.admin);
    let server = fixture(Options { era: Era::Legacy, ..Options::default() }).await;
    ada.add(hub, "s", &server.url()).await;
    let (token, id) = ada.token(hub, json!({ "name": "ci" })).await;
    let asked = call(hub, &token, &json!({})).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(token.get(hub, "/api/status").await["parked"], 1);
    ada.api(hub, Method::DELETE, &format!("/api/tokens/{id}"), Value::Null).await;
    let began = std::time::Instant::now();
    loop {
        let calls = ada.get(hub, "/api/calls").await;
        if calls[0]["outcome"] == "cancelled" && calls[0]["token_id"] == id.as_str() {
            break;
        }
        assert!(
            began.elapsed() < crate::hub::PATIENCE,
            "nobody waits any more, and the log says so: {calls}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}
