//! The client that the conformance suite tests: the hub's own links, driver and catalogue behind one address.
//!
//! The suite starts a server of its own for each scenario and runs this program with the server's URL as the last
//! argument. What a scenario wants is mostly that everything on offer is used once; the rest is known here only.

mod wallet;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::future::join_all;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use toolgrove_core::call::{Asking, Call, Caller, Door, Method, Outcome, Role, View};
use toolgrove_core::config::Capabilities;
use toolgrove_core::event::{Ask, Event, Events, ListKind, Progress, Question};
use toolgrove_core::hub::{Hub, Log};
use toolgrove_core::instance::{EraSetting, HttpReach, Instance, Switch, Transport, Verdict};
use toolgrove_core::name::Profile;
use toolgrove_core::offer::Offer;
use toolgrove_core::{CallRecord, Error, task};
use toolgrove_upstream::{Pool, PoolOptions, ShepherdCommand};
use toolgrove_wire::modern::Implementation;
use toolgrove_wire::{Abilities, Raw};
use url::Url;
use uuid::Uuid;

use wallet::Wallet;

const SLUG: &str = "suite";
/// More than any scenario allows.
const MOST_SIGN_INS: usize = 5;

#[tokio::main]
async fn main() -> Result<(), String> {
    let url = std::env::args().next_back().unwrap_or_default();
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let scenario = variable("MCP_CONFORMANCE_SCENARIO");
    let client = Client::open(&url)?;
    let played = client.play(&scenario, &variable("MCP_CONFORMANCE_CONTEXT")).await;
    client.hub.links().shutdown().await;
    played
}

/// A hub with one server, and a person who says yes to everything.
struct Client {
    hub: Arc<Hub<Pool, NoLog>>,
    instance: Arc<Instance>,
    wallet: Arc<Wallet>,
    url: Url,
}

impl Client {
    fn open(url: &str) -> Result<Self, String> {
        let url: Url = url.parse().map_err(|error| format!("`{url}` is not a URL: {error}"))?;
        let wallet = Arc::new(Wallet::default());
        let (reports, heard) = mpsc::unbounded_channel();
        let pool = Pool::new(PoolOptions {
            // No server here is a process.
            shepherd: ShepherdCommand { program: "none".into(), args: Vec::new() },
            client: Implementation { name: "toolgrove".into(), version: env!("CARGO_PKG_VERSION").into() },
            body_limit: 10 << 20,
            idle: Duration::from_secs(300),
            reports,
            tokens: Some(wallet.clone()),
            now,
            guard: toolgrove_core::net::Guard::Open,
        });
        let instance = Arc::new(Instance {
            id: Uuid::from_u128(1),
            person: Uuid::nil(),
            server: Uuid::nil(),
            slug: SLUG.into(),
            server_name: SLUG.into(),
            transport: Transport::Http(HttpReach {
                url: url.clone(),
                headers: Vec::new(),
                query: Vec::new(),
            }),
            hosts: toolgrove_core::net::Allowlist::Any,
            era: EraSetting::Auto,
            protocol: None,
            verdict: None,
            timeout: Duration::from_secs(20),
            switch: Switch::On,
            phase: toolgrove_core::policy::Phase::Gamma,
            rate: None,
            revision: 1,
        });
        let hub = Arc::new(Hub::new(pool, NoLog, now, Capabilities::default()));
        hub.load([Offer::new(instance.clone())]);
        task::spawn("reports", hub.clone().follow(heard));
        Ok(Self { hub, instance, wallet, url })
    }

    async fn play(&self, scenario: &str, context: &str) -> Result<(), String> {
        self.wallet.enter(context);
        let found = self.signed_in(async || self.hub.refresh(&self.instance).await).await?;
        for (_, list) in found.lists {
            list.map_err(|error| error.to_string())?;
        }
        match scenario {
            "initialize"
            | "tools_call"
            | "elicitation-sep1034-client-defaults"
            | "sse-retry"
            | "sep-2322-client-request-state"
            | "http-standard-headers"
            | "http-invalid-tool-headers" => self.use_everything().await,
            "http-custom-headers" => self.call_as_told(context).await,
            // Nothing is on offer there, but a request of a client shows what the client can do.
            "request-metadata" => self.send(Method::ReadResource, json!({ "uri": "test://any" })).await,
            "json-schema-ref-no-deref" => {
                // The check of the arguments reads the schema. The server has no tool behind it.
                let _ = self.use_everything().await;
                Ok(())
            }
            "json-schema-2020-12-preservation" => self.echo_schema().await,
            it if it.starts_with("auth/") => self.use_everything().await,
            other => Err(format!("the scenario `{other}` is not known here")),
        }
    }

    /// Calls every tool, gets every prompt and reads every resource, all at once.
    async fn use_everything(&self) -> Result<(), String> {
        let tools = self.list(ListKind::Tools)?.into_iter().map(|it| {
            (Method::CallTool, json!({ "name": it["name"], "arguments": sample(&it["inputSchema"]) }))
        });
        let prompts = self.list(ListKind::Prompts)?.into_iter();
        let prompts = prompts.map(|it| (Method::GetPrompt, json!({ "name": it["name"] })));
        let resources = self.list(ListKind::Resources)?.into_iter();
        let resources = resources.map(|it| (Method::ReadResource, json!({ "uri": it["uri"] })));
        let all = tools.chain(prompts).chain(resources);
        join_all(all.map(|(method, params)| self.send(method, params))).await.into_iter().collect()
    }

    /// The calls that the suite hands over. The hub checks arguments, and none of the schemas takes a null: such an
    /// argument is left out.
    async fn call_as_told(&self, context: &str) -> Result<(), String> {
        let context: Value = serde_json::from_str(context).map_err(|error| format!("no context: {error}"))?;
        for mut call in context["toolCalls"].as_array().cloned().unwrap_or_default() {
            if let Some(arguments) = call["arguments"].as_object_mut() {
                arguments.retain(|_, value| !value.is_null());
            }
            self.send(Method::CallTool, call).await?;
        }
        Ok(())
    }

    /// Sends the schema of one tool, as the catalogue holds it, to another.
    async fn echo_schema(&self) -> Result<(), String> {
        let tools = self.list(ListKind::Tools)?;
        let tool = tools.iter().find(|it| it["name"] == "json_schema_2020_12_tool");
        let schema = &tool.ok_or("the tool with the schema is not listed")?["inputSchema"];
        let echo = json!({ "name": "json_schema_echo", "arguments": { "schema": schema } });
        self.send(Method::CallTool, echo).await
    }

    fn caller(&self) -> Caller {
        Caller::person(self.instance.person, Role::Admin, Profile::Double)
    }

    fn list(&self, kind: ListKind) -> Result<Vec<Value>, String> {
        let view = View::One { slug: SLUG.into() };
        let list = self.hub.catalog(&self.caller()).list(&view, kind, Profile::Double);
        Ok(list.map_err(|error| error.to_string())?.items().map(|it| it.to_value()).collect())
    }

    async fn send(&self, method: Method, params: Value) -> Result<(), String> {
        let outcome = self.signed_in(async || self.call(method, &params).await).await;
        let outcome = outcome.map_err(|error| format!("{params}: {error}"))?;
        match outcome.result.get("isError").and_then(|it| it.bool()) {
            Some(true) => Err(format!("{params}: {}", outcome.result.as_str())),
            _ => Ok(()),
        }
    }

    /// Does something, and signs in as often as the server says that this is what it takes.
    async fn signed_in<T>(&self, work: impl AsyncFn() -> Result<T, Error>) -> Result<T, String> {
        for _ in 0..MOST_SIGN_INS {
            match work().await {
                Err(Error::NeedsReauth { challenge, .. }) => {
                    let challenge = challenge.unwrap_or_default();
                    let signed_in = self.wallet.sign_in(self.hub.links().fetch(), &self.url, &challenge);
                    signed_in.await.map_err(|error| format!("no sign-in: {error}"))?;
                }
                done => return done.map_err(|error| error.to_string()),
            }
        }
        Err("signing in does not help".into())
    }

    async fn call(&self, method: Method, params: &Value) -> Result<Outcome, Error> {
        let abilities = [Abilities::FORM, Abilities::URL, Abilities::SAMPLING, Abilities::ROOTS];
        let call = Call {
            id: Uuid::new_v4(),
            parent: None,
            caller: Arc::new(self.caller()),
            door: Door::Cli,
            view: View::One { slug: SLUG.into() },
            method,
            params: Raw::of(params).into(),
            chat: "conformance".into(),
            depth: 0,
            abilities: abilities.into_iter().fold(Abilities::NONE, Abilities::with),
            asking: Asking::Live,
            log_level: None,
            client: None,
            started_at: now(),
        };
        let (events, mut happening) = Events::channel(Progress::Wanted);
        let answering = async {
            while let Some(event) = happening.recv().await {
                if let Event::Ask(ask) = event {
                    answer(ask);
                }
            }
        };
        // The events end with the call.
        let (ended, ()) = tokio::join!(self.hub.call(call, events), answering);
        ended
    }
}

fn answer(ask: Ask) {
    let answer = match ask.question {
        Question::Elicit => {
            let schema = ask.params.get("requestedSchema").map(|it| it.to_value()).unwrap_or_default();
            json!({ "action": "accept", "content": filled(&schema) })
        }
        Question::Sample => {
            json!({ "role": "assistant", "model": "none", "content": { "type": "text", "text": "yes" } })
        }
        Question::Roots => json!({ "roots": [{ "uri": "file:///" }] }),
    };
    // A call that has ended takes no answer.
    let _ = ask.reply.send(Ok(Raw::of(&answer)));
}

/// Every field of a form: its default, or something of its type.
fn filled(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, it)| (name.clone(), it.get("default").cloned().unwrap_or_else(|| sample(it))))
        .collect()
}

/// The simplest value a schema takes: of an object, only what is required.
fn sample(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("object") => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let members = required.map(|it| (it.to_owned(), sample(&schema["properties"][it])));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Some("array") => json!([]),
        Some("integer" | "number") => json!(7),
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        _ => json!("grove"),
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_millis() as i64)
}

/// Remembers nothing.
struct NoLog;

impl Log for NoLog {
    fn record(&self, _: CallRecord) {}
    fn listed(&self, _: &Arc<Offer>) {}
    fn barred(&self, _: &Arc<Instance>, _: &Error) {}
    fn judged(&self, _: &Arc<Instance>, _: &Verdict) {}
}
