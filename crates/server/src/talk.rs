//! Model ⇄ tools, one round after the other: what buds and chats have in common. Every tool goes through `Hub::call`
//! in the name of whoever asked, so that a model can never do more than they could.

mod xml;

use std::pin::pin;
use std::sync::{Arc, OnceLock};

use futures::future::join_all;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use toolgrove_core::Error;
use toolgrove_core::bud::{Preset, ToolChoice};
use toolgrove_core::builtin;
use toolgrove_core::call::{Asking, Call, Caller, Door, Method, Outcome, View};
use toolgrove_core::config::{self, Calls, ProviderKind};
use toolgrove_core::event::{Along, Event, Events, Next, Progress};
use toolgrove_core::instance::{Instance, Switch};
use toolgrove_core::offer::Tool;
use toolgrove_core::text::view;
use toolgrove_upstream::Fetch;
use toolgrove_upstream::model::{
    Choice, Delta, Message, Part, Provider, Said, ToolCall, ToolSpec, Turn, Usage, Wire,
};
use toolgrove_wire::legacy::{self, Version};
use toolgrove_wire::{Abilities, Draft, Raw};
use url::Url;
use uuid::Uuid;

use crate::App;
use crate::problem::store_error;

/// How often in a row a model may ask for tools before it has to answer.
const ROUNDS: usize = 16;

/// The way to providers, made when first needed.
#[derive(Default)]
pub struct Models {
    fetch: OnceLock<Fetch>,
}

/// One model at its provider.
pub(crate) struct Model {
    provider: Provider,
    calls: Calls,
    pub(crate) name: String,
}

/// In whose name tools are called, and as part of what.
#[derive(Clone)]
pub(crate) struct Behalf {
    pub(crate) caller: Arc<Caller>,
    pub(crate) parent: Option<Uuid>,
    pub(crate) depth: u8,
    pub(crate) door: Door,
    pub(crate) chat: Arc<str>,
    pub(crate) abilities: Abilities,
}

/// What is heard while a model talks.
pub(crate) enum Heard {
    /// The model is asked.
    Round,
    Delta(Delta),
    /// It has said this.
    Said(Said),
    /// A tool is called for a use.
    Began {
        use_id: String,
        name: String,
        call: Uuid,
        arguments: Value,
    },
    Event {
        use_id: String,
        event: Event,
    },
    Used {
        use_id: String,
        used: Box<Used>,
    },
}

/// What came of one tool.
pub(crate) struct Used {
    pub(crate) call: Uuid,
    pub(crate) server: Option<String>,
    pub(crate) text: String,
    pub(crate) images: Vec<view::Image>,
    pub(crate) structured: Option<Value>,
    pub(crate) is_error: bool,
    pub(crate) error: Option<Error>,
    /// Where the whole text is, if the model got a part.
    pub(crate) result_id: Option<Uuid>,
    pub(crate) ms: f64,
}

impl App {
    /// The model a bud or a chat names: `<provider>/<model>`, else a model of the first provider.
    pub(crate) fn model(&self, wanted: Option<&str>) -> Result<Model, Error> {
        let providers = &self.config.providers;
        let first = providers.first_key_value();
        let first = first.ok_or_else(|| Error::ModelMissing("no provider is set up".into()))?;
        let wanted = wanted.ok_or_else(|| Error::ModelMissing("no model is chosen".into()))?;
        let named =
            wanted.split_once('/').and_then(|(name, model)| Some((providers.get_key_value(name)?, model)));
        let ((name, provider), model) = named.unwrap_or((first, wanted));
        Ok(Model { provider: provider_of(name, provider)?, calls: provider.calls, name: model.to_owned() })
    }

    /// The tools a model gets: of all the caller may call, what bud and chat name.
    pub(crate) fn tools_for(&self, caller: &Caller, preset: &Preset) -> Vec<ToolSpec> {
        if preset.choice == ToolChoice::None {
            return Vec::new();
        }
        let catalog = self.hub.catalog(caller);
        let mut tools = Vec::new();
        for offer in catalog.offers().filter(|it| it.instance.switch == Switch::On) {
            let instance = &offer.instance;
            let (server, id) = (instance.server.to_string(), instance.id.to_string());
            let words = [instance.slug.as_str(), &instance.server_name, &server, &id];
            let allowed = offer.offered().filter(|it| it.enabled && preset.allows(&words, &it.name));
            tools.extend(allowed.map(|it| spec(it, instance)));
        }
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools
    }

    /// Lets a model talk until it wants no more tools. Everything it says and does is heard on the way; dropping the
    /// future closes the provider's stream and cancels what is called.
    pub(crate) async fn talk(
        self: &Arc<Self>,
        model: &Model,
        turn: &mut Turn,
        on: &Behalf,
        hear: &mpsc::UnboundedSender<Heard>,
    ) -> Result<Usage, Error> {
        let fetch = self.models.fetch.get_or_init(|| self.hub.links().fetch().trusted());
        let mut usage = Usage::default();
        for _ in 0..ROUNDS {
            let _ = hear.send(Heard::Round);
            let said = model.say(fetch, turn, |it| drop(hear.send(Heard::Delta(it)))).await?;
            usage.input += said.usage.input;
            usage.output += said.usage.output;
            let _ = hear.send(Heard::Said(said.clone()));
            let Said { text, calls, .. } = said;
            turn.messages.push(Message::Assistant { text, calls: calls.clone() });
            if calls.is_empty() {
                return Ok(usage);
            }
            let used = join_all(calls.iter().map(|it| self.use_tool(turn, on, it, hear))).await;
            if used.iter().any(|it| it.1) {
                self.give_reader(turn, &on.caller);
            }
            turn.messages.extend(used.into_iter().map(|it| it.0));
        }
        Err(Error::ModelOutput(format!("it asked for tools {ROUNDS} times in a row")))
    }

    /// A model that got a part of something can read the rest, if it may use tools at all.
    pub(crate) fn give_reader(&self, turn: &mut Turn, caller: &Caller) {
        let catalog = self.hub.catalog(caller);
        let own = catalog.offer(builtin::SLUG).filter(|it| it.instance.switch == Switch::On);
        let Some(own) = own else { return };
        let Some(reader) = own.tool(builtin::READ_RESULT).filter(|it| it.enabled) else { return };
        if turn.choice != Choice::None && turn.tools.iter().all(|it| it.name != reader.public_name) {
            turn.tools.push(spec(reader, &own.instance));
        }
    }

    /// What the model is told, and whether that is only a part.
    async fn use_tool(
        self: &Arc<Self>,
        turn: &Turn,
        on: &Behalf,
        wanted: &ToolCall,
        hear: &mpsc::UnboundedSender<Heard>,
    ) -> (Message, bool) {
        let used = self.call_for(turn, on, wanted, hear).await;
        let mut content = vec![Part::Text(used.text.clone())];
        content.extend(
            used.images
                .iter()
                .map(|it| Part::Image { mime_type: it.mime_type.clone(), data: it.data.clone() }),
        );
        let message = Message::Tool { call: wanted.id.clone(), content, is_error: used.is_error };
        let is_cut = used.result_id.is_some();
        let _ = hear.send(Heard::Used { use_id: wanted.id.clone(), used: Box::new(used) });
        (message, is_cut)
    }

    async fn call_for(
        self: &Arc<Self>,
        turn: &Turn,
        on: &Behalf,
        wanted: &ToolCall,
        hear: &mpsc::UnboundedSender<Heard>,
    ) -> Used {
        let call = Uuid::now_v7();
        let read = match wanted.arguments.trim() {
            "" => Ok(Raw::empty_object()),
            text => Raw::parse(text.to_owned()).map_err(|_| Error::RequestJson(shortened(text))),
        };
        let shown = read.as_ref().map_or_else(|_| Value::String(wanted.arguments.clone()), Raw::to_value);
        let (use_id, name) = (wanted.id.clone(), wanted.name.clone());
        let _ =
            hear.send(Heard::Began { use_id: use_id.clone(), name: name.clone(), call, arguments: shown });
        // A model may name what it was never given.
        let is_given = turn.tools.iter().any(|it| it.name == name);
        let started = Instant::now();
        let result = match read {
            Err(error) => Err(error),
            Ok(_) if !is_given => Err(Error::UnknownTool { tool: name }),
            Ok(arguments) => {
                let (events, heard) = Events::channel(Progress::Wanted);
                let running = pin!(self.hub.call(on.call(self, call, &name, arguments), events));
                let mut running = Along::new(running, heard);
                loop {
                    match running.next().await {
                        Next::Event(event) => {
                            let _ = hear.send(Heard::Event { use_id: use_id.clone(), event });
                        }
                        Next::End(result) => break result,
                    }
                }
            }
        };
        self.seen(on, call, result, started).await
    }

    /// What a model, a chat or a person gets to see of a call.
    pub(crate) async fn seen(
        &self,
        on: &Behalf,
        call: Uuid,
        result: Result<Outcome, Error>,
        started: Instant,
    ) -> Used {
        let ms = started.elapsed().as_secs_f64() * 1000.0;
        let none = |text: String, error: Error| Used {
            call,
            server: None,
            text,
            images: Vec::new(),
            structured: None,
            is_error: true,
            error: Some(error),
            result_id: None,
            ms,
        };
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error) => return none(error.to_string(), error),
        };
        let value = legacy::result_for_client(&outcome.result, Version::LATEST).to_value();
        let shown = view::view(&value);
        let text = match (&shown.result, shown.error) {
            (_, Some(error)) => error,
            (Some(Value::String(text)), None) => text.clone(),
            (Some(Value::Array(parts)), None) if shown.images.len() == parts.len() => String::new(),
            (Some(other), None) => other.to_string(),
            (None, None) => String::new(),
        };
        // What the hub itself says is short, and says where to go on.
        let cut = if outcome.instance.is_own() {
            Ok((text, None))
        } else {
            self.cut(on.caller.person, call, text).await
        };
        let (text, result_id) = match cut {
            Ok(cut) => cut,
            Err(error) => return none(error.to_string(), error),
        };
        Used {
            call,
            server: Some(outcome.instance.slug.clone()),
            text,
            images: shown.images,
            structured: value.get("structuredContent").cloned(),
            is_error: !shown.success,
            error: None,
            result_id,
            ms,
        }
    }

    /// A text as a model gets it: the whole of one that is too long is kept.
    async fn cut(&self, person: Uuid, call: Uuid, text: String) -> Result<(String, Option<Uuid>), Error> {
        let most = usize::try_from(self.config.limits.result_chars).unwrap_or(usize::MAX);
        let Some((end, _)) = text.char_indices().nth(most) else { return Ok((text, None)) };
        let id = self.store.add_result(person, call, &text).await.map_err(store_error)?;
        let note = format!("[cut at {most} characters; use read_result with id {id}]");
        Ok((format!("{}\n{note}", &text[..end]), Some(id)))
    }
}

impl Behalf {
    pub(crate) fn call(&self, app: &App, id: Uuid, tool: &str, arguments: Raw) -> Call {
        let named = Draft::from(Raw::of(&json!({ "name": tool })));
        Call {
            id,
            parent: self.parent,
            caller: self.caller.clone(),
            door: self.door,
            view: View::All,
            method: Method::CallTool,
            params: named.set("arguments", arguments),
            chat: self.chat.clone(),
            depth: self.depth,
            abilities: self.abilities,
            asking: Asking::Live,
            log_level: None,
            client: None,
            started_at: app.hub.now(),
        }
    }
}

impl Model {
    /// One round: the model's words, with its wishes for tools read out of them.
    async fn say(&self, fetch: &Fetch, turn: &Turn, mut hear: impl FnMut(Delta)) -> Result<Said, Error> {
        let said = match self.calls {
            Calls::Native => self.provider.say(fetch, turn, hear).await,
            Calls::Xml => {
                let mut reader = xml::Reader::new(&turn.tools);
                let written = xml::written(turn);
                let told = self.provider.say(fetch, &written, |it| {
                    if let Delta::Text(piece) = it {
                        reader.push(&piece).into_iter().for_each(&mut hear);
                    }
                });
                told.await.map(|said| {
                    let (deltas, text, calls) = reader.finish();
                    deltas.into_iter().for_each(&mut hear);
                    Said { text, calls, ..said }
                })
            }
        };
        said.map_err(|it| Error::Provider { provider: self.provider.name.clone(), problem: it.to_string() })
    }

    /// What is asked of it, but for what was said so far.
    pub(crate) fn turn(&self, tools: Vec<ToolSpec>, choice: ToolChoice) -> Turn {
        Turn {
            model: self.name.clone(),
            tools,
            choice: match choice {
                ToolChoice::Auto => Choice::Auto,
                ToolChoice::None => Choice::None,
                ToolChoice::Required => Choice::Any,
            },
            ..Turn::default()
        }
    }
}

fn provider_of(name: &str, provider: &config::Provider) -> Result<Provider, Error> {
    let (wire, usual) = match provider.kind {
        ProviderKind::Openai => (Wire::OpenAi, "https://api.openai.com/v1"),
        ProviderKind::Anthropic => (Wire::Anthropic, "https://api.anthropic.com"),
    };
    let url = match &provider.url {
        Some(url) => url.clone(),
        None => Url::parse(usual).map_err(|it| Error::Internal(it.to_string()))?,
    };
    Ok(Provider { name: name.to_owned(), wire, url, key: provider.key.clone() })
}

/// A tool as models are told of it.
fn spec(tool: &Tool, instance: &Instance) -> ToolSpec {
    let schema = tool.raw.get("inputSchema").map(|it| it.to_value()).filter(Value::is_object);
    ToolSpec {
        name: tool.public_name.clone(),
        description: tool.description(),
        input_schema: schema.unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
        is_own: instance.is_own(),
    }
}

/// What a model wrote may be long, and is repeated to it.
fn shortened(text: &str) -> String {
    const MOST: usize = 500;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The arguments as an object, whatever they were.
pub(crate) fn object(arguments: &Value) -> Map<String, Value> {
    arguments.as_object().cloned().unwrap_or_default()
}
