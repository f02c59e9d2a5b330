//! Whatever is sent, through whichever door and at whichever revision: what comes back is what the specification says
//! may come back. Requests are made from those that `schemas.rs` knows, changed, broken and bundled.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use toolgrove_fixture::{LEGACY, MODERN};

use crate::schemas::{VIEWS, converse, grove, of_one_era, pool};
use crate::spec::Spec;
use crate::talk::{CAPABILITIES, Door, Legacy, Modern, everything, obliging};

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A request that may be wrong in any part of it.
#[derive(Debug, Clone)]
struct Case {
    of: Index,
    change: Change,
    id: Value,
    broken: Option<Break>,
}

/// What is done to the parameters.
#[derive(Debug, Clone)]
enum Change {
    Nothing,
    Replace(Index, Value),
    Remove(Index),
    Add(String, Value),
    Argument(Index, Value),
    Whole(Value),
}

/// What is done to the message.
#[derive(Debug, Clone)]
enum Break {
    Member(&'static str, Value),
    Without(&'static str),
    Cut(Index),
    Twice(&'static str),
    Text(&'static str),
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        Just(json!(0.5)),
        Just(json!(-1e300)),
        "[a-z0-9äß\"\\\\ ]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("[a-z]{1,4}", inner), 0..4).prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => Just(Change::Nothing),
        2 => (any::<Index>(), anything()).prop_map(|(at, value)| Change::Replace(at, value)),
        1 => any::<Index>().prop_map(Change::Remove),
        1 => (select(vec!["cursor", "x", "inputResponses", "requestState", "task", "arguments"]), anything())
            .prop_map(|(key, value)| Change::Add(key.to_owned(), value)),
        2 => (any::<Index>(), anything()).prop_map(|(at, value)| Change::Argument(at, value)),
        1 => anything().prop_map(Change::Whole),
    ]
}

fn id() -> impl Strategy<Value = Value> {
    prop_oneof!["[a-z]{1,8}".prop_map(|it| json!(format!("it-{it}"))), Just(json!("")), Just(json!(-1)),]
}

fn broken() -> impl Strategy<Value = Break> {
    prop_oneof![
        3 => (select(vec!["jsonrpc", "id", "method", "params"]), anything())
            .prop_map(|(key, value)| Break::Member(key, value)),
        2 => select(vec!["jsonrpc", "id", "method", "params"]).prop_map(Break::Without),
        2 => any::<Index>().prop_map(Break::Cut),
        1 => select(vec!["jsonrpc", "id", "method"]).prop_map(Break::Twice),
        1 => select(vec!["", "[]", "[{}]", "7", "null", "{}", "\"x\"", "{\"jsonrpc\":\"2.0\"}", "\u{feff}{}", "[[[["])
            .prop_map(Break::Text),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let broken = prop_oneof![3 => Just(None), 1 => broken().prop_map(Some)];
    (any::<Index>(), change(), id(), broken).prop_map(|(of, change, id, broken)| Case {
        of,
        change,
        id,
        broken,
    })
}

impl Case {
    /// With an id that no other case has, so that a late answer is not taken for another.
    fn alone(mut self) -> Self {
        static NEXT: AtomicI64 = AtomicI64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.id = match &self.id {
            Value::String(text) if text.is_empty() && self.broken.is_none() => json!(""),
            Value::String(text) => json!(format!("{text}-{number}")),
            _ => json!(-number),
        };
        self
    }

    fn request(&self, pool: &[(String, Value)]) -> (String, Value) {
        let (method, mut params) = self.of.get(pool).clone();
        let change = |object: &mut Map<String, Value>, at: &Index, value: Option<&Value>| {
            let Some(key) =
                (!object.is_empty()).then(|| at.get(&object.keys().cloned().collect::<Vec<_>>()).clone())
            else {
                return;
            };
            match value {
                Some(value) => object.insert(key, value.clone()),
                None => object.remove(&key),
            };
        };
        let object = params.as_object_mut().unwrap();
        match &self.change {
            Change::Nothing => {}
            Change::Replace(at, value) => change(object, at, Some(value)),
            Change::Remove(at) => change(object, at, None),
            Change::Add(key, value) => drop(object.insert(key.clone(), value.clone())),
            Change::Argument(at, value) => {
                if let Some(arguments) = object.get_mut("arguments").and_then(Value::as_object_mut) {
                    change(arguments, at, Some(value));
                }
            }
            Change::Whole(value) => params = value.clone(),
        }
        (method, params)
    }

    /// The message as it is sent, and what was asked if it is one.
    fn text(&self, method: &str, params: &Value) -> String {
        let mut message = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        match &self.broken {
            None => {}
            Some(Break::Member(key, value)) => message[*key] = value.clone(),
            Some(Break::Without(key)) => drop(message.as_object_mut().unwrap().remove(*key)),
            Some(Break::Cut(at)) => {
                let text = message.to_string();
                let mut end = at.index(text.len());
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                return text[..end].to_owned();
            }
            Some(Break::Twice(key)) => {
                return message.to_string().replacen('{', &format!("{{\"{key}\":\"twice\","), 1);
            }
            Some(Break::Text(text)) => return (*text).to_owned(),
        }
        message.to_string()
    }
}

/// Runs a property whose cases share what was opened for them.
fn check<S: Strategy>(
    runtime: &Runtime,
    cases: u32,
    strategy: &S,
    run: impl AsyncFn(S::Value) -> Vec<String>,
) {
    let config =
        ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 60, ..Default::default() };
    let result = TestRunner::new(config).run(strategy, |case| {
        let problems = runtime.block_on(run(case));
        if problems.is_empty() { Ok(()) } else { Err(TestCaseError::fail(problems.join("\n"))) }
    });
    result.unwrap_or_else(|failed| panic!("{failed}"));
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A legacy client, and the schema it knows.
struct Ear<'a> {
    client: Legacy<'a>,
    spec: Spec,
    /// What was asked under which id.
    asked: HashMap<String, String>,
}

impl Ear<'_> {
    /// Holds one message against the schema. Says which request it answers.
    async fn take(&mut self, message: &Value, what: &str) -> Option<String> {
        if let Some(all) = message.as_array() {
            self.spec.check("JSONRPCBatchResponse", &named(message), what);
            let mut last = None;
            for it in all {
                last = Box::pin(self.take(it, what)).await.or(last);
            }
            return last;
        }
        let method = self.asked.get(&message["id"].to_string()).cloned();
        match (&method, message.get("method"), message.get("result")) {
            // Whose result it is nobody knows.
            (None, None, Some(_)) => {}
            _ => self.spec.check_message(method.as_deref().unwrap_or("?"), &named(message), what),
        }
        if message.get("method").is_some() {
            if message.get("id").is_some() {
                self.client.reply(message).await;
            }
            return None;
        }
        Some(message["id"].to_string())
    }

    /// Sends something, and a ping after it; listens until both are answered, as far as they are.
    async fn say(&mut self, text: &str, wanted: &[Value]) -> Vec<String> {
        let mut missing: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        let what = format!("{} {text:.300}", self.spec.version);
        let told = self.client.send_text(text).await;
        let ping = json!(self.client.start("ping", json!({})).await).to_string();
        // Modern clients do not ping; this one only wants to know that what came before has been read.
        if self.spec.version != MODERN {
            self.asked.insert(ping.clone(), "ping".into());
        }
        let (mut answers, mut pong) = (0, false);
        while !pong || !missing.is_empty() || told.is_some_and(|it| answers < it) {
            let message = self.client.next().await;
            let answered = self.take(&message, &what).await;
            if answered.as_ref() == Some(&ping) {
                pong = true;
            } else if let Some(id) = answered {
                answers += 1;
                if message.is_array() {
                    missing.clear();
                }
                missing.retain(|it| *it != id);
            }
        }
        std::mem::take(&mut self.spec.problems)
    }
}

/// Older schemas have no word for an answer to what had no readable id; the door says `null` there.
fn named(message: &Value) -> Value {
    let mut message = message.clone();
    match &mut message {
        Value::Array(all) => all.iter_mut().for_each(|it| *it = named(it)),
        message if message["id"].is_null() && message.get("error").is_some() => message["id"] = json!(0),
        _ => {}
    }
    message
}

#[test]
fn whatever_a_legacy_client_sends_is_answered_as_its_revision_allows() {
    let runtime = runtime();
    let (hub, _servers) = runtime.block_on(grove());
    let known = runtime.block_on(pool(&Modern::new(&hub, json!({}))));
    let known: Vec<_> = known.into_iter().chain(of_one_era()).filter(|it| it.0 != "initialize").collect();
    for version in LEGACY {
        for door in [Door::Http, Door::Sse, Door::Stdio] {
            let client = runtime.block_on(Legacy::open(&hub, door, version, everything(), obliging));
            let ear = Mutex::new(Ear { client, spec: Spec::of(version), asked: HashMap::new() });
            let cases = if door == Door::Http { 48 } else { 16 };
            check(&runtime, cases, &case(), async |case| {
                let (mut ear, case) = (ear.lock().await, case.alone());
                let (method, params) = case.request(&known);
                ear.asked.insert(case.id.to_string(), method.clone());
                let wanted = case.broken.is_none().then(|| case.id.clone());
                ear.say(&case.text(&method, &params), wanted.as_slice()).await
            });
        }
    }
}

#[test]
fn whatever_is_in_a_batch_is_answered_as_its_revision_allows() {
    let runtime = runtime();
    let (hub, _servers) = runtime.block_on(grove());
    let known = runtime.block_on(pool(&Modern::new(&hub, json!({}))));
    // A client that is asked something in a batch has no stream to hear it on.
    for (version, door) in [(LEGACY[1], Door::Http), (LEGACY[1], Door::Stdio), (LEGACY[3], Door::Http)] {
        let client = runtime.block_on(Legacy::open(&hub, door, version, json!({}), obliging));
        let ear = Mutex::new(Ear { client, spec: Spec::of(version), asked: HashMap::new() });
        check(&runtime, 24, &vec(case(), 1..5), async |cases| {
            let mut ear = ear.lock().await;
            let (mut elements, mut wanted) = (Vec::new(), Vec::new());
            for mut case in cases {
                // Elements are at least JSON.
                case.broken = case.broken.filter(|it| matches!(it, Break::Member(..) | Break::Without(_)));
                let mut case = case.alone();
                if case.id == json!("") {
                    case.id = json!(format!("empty-{}", elements.len()));
                }
                let (method, params) = case.request(&known);
                ear.asked.insert(case.id.to_string(), method.clone());
                elements.push(case.text(&method, &params));
                if case.broken.is_none() && version == LEGACY[1] {
                    wanted.push(case.id);
                }
            }
            ear.say(&format!("[{}]", elements.join(",")), &wanted).await
        });
    }
}

#[test]
fn whatever_a_modern_client_sends_is_answered_as_its_revision_allows() {
    let runtime = runtime();
    let (hub, _servers) = runtime.block_on(grove());
    let mut capabilities = everything();
    capabilities["extensions"] = json!({ TASKS: {} });
    for view in VIEWS {
        let client = Modern::at(&hub, view, capabilities.clone());
        let known: Vec<_> = runtime.block_on(pool(&client)).into_iter().chain(of_one_era()).collect();
        let spec = Mutex::new(Spec::of(MODERN));
        check(&runtime, 64, &case(), async |case| {
            let mut spec = spec.lock().await;
            let (method, params) = case.request(&known);
            let has_meta = params.is_object() && params.get("_meta").is_none_or(Value::is_object);
            if case.broken.is_none() && has_meta {
                converse(&mut spec, &client, &method, params).await;
                return std::mem::take(&mut spec.problems);
            }
            let text = case.text(&method, &params);
            let headers = [
                ("content-type", "application/json"),
                ("mcp-protocol-version", MODERN),
                ("mcp-method", method.as_str()),
            ];
            let answer = hub.ask(http::Method::POST, view, &headers, text.clone()).await;
            for message in answer.messages() {
                spec.check_message(&method, &message, &format!("{view} {text:.300}"));
            }
            std::mem::take(&mut spec.problems)
        });
    }
    // On a channel without headers the message alone says its era.
    let known = runtime.block_on(pool(&Modern::new(&hub, json!({}))));
    let client = runtime.block_on(Legacy::open(&hub, Door::Stdio, LEGACY[3], everything(), obliging));
    let ear = Mutex::new(Ear { client, spec: Spec::of(MODERN), asked: HashMap::new() });
    check(&runtime, 32, &case(), async |case| {
        let (mut ear, case) = (ear.lock().await, case.alone());
        let (method, mut params) = case.request(&known);
        if !params.is_object() {
            params = json!({});
        }
        if !params["_meta"].is_object() {
            params["_meta"] = json!({});
        }
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
        params["_meta"][CAPABILITIES] = json!({});
        ear.asked.insert(case.id.to_string(), method.clone());
        // What is broken is no modern message any more.
        let case = Case { broken: None, ..case };
        ear.say(&case.text(&method, &params), std::slice::from_ref(&case.id)).await
    });
}

#[test]
fn whatever_becomes_of_a_task_is_told_as_its_extension_says() {
    let runtime = runtime();
    let (hub, _servers) = runtime.block_on(grove());
    let client = Modern::at(&hub, "/mcp/i/m", json!({ "extensions": { TASKS: {} }, "elicitation": {} }));
    let spec = Mutex::new(Spec::of(MODERN));
    let tools = ["failing_job", "protocol_error_job", "confirm_delete", "multi_input"];
    let steps = vec((select(vec!["tasks/get", "tasks/update", "tasks/cancel"]), anything()), 0..5);
    check(&runtime, 24, &(select(tools.to_vec()), steps), async |(tool, steps)| {
        let mut spec = spec.lock().await;
        let params = json!({ "name": tool, "arguments": { "filename": "a" } });
        let created = client.send("tools/call", params).await.json();
        spec.check_message("tools/call", &created, tool);
        let id = created["result"]["taskId"].clone();
        for (method, answers) in steps {
            let mut params = json!({ "taskId": id });
            if method == "tasks/update" {
                params["inputResponses"] = answers;
            }
            let what = format!("{tool} {method} {params:.200}");
            spec.check_message(method, &client.send(method, params).await.json(), &what);
        }
        std::mem::take(&mut spec.problems)
    });
    spec.into_inner().done(&["a task"], 24);
}
