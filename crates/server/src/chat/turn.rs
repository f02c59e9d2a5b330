//! One turn from what a person said to the last word about it.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use toolgrove_core::Error;
use toolgrove_core::bud::{BudPreset, Preset, ToolChoice};
use toolgrove_core::call::{Caller, Door, View};
use toolgrove_core::event::{Along, Event, Events, Next, Progress, Question as Kind};
use toolgrove_core::instance::Transport;
use toolgrove_core::offer::Offer;
use toolgrove_core::text::command::Command;
use toolgrove_store::{ChatRow, MessageRow};
use toolgrove_upstream::model::{Delta, Turn as Asked};
use toolgrove_wire::{Abilities, Raw};
use uuid::Uuid;

use super::{Turn, content, history, lock, session, stored};
use crate::App;
use crate::api::chats::{Chat, ChatEvent, Content, MessageState, Question, ToolUse, Usage};
use crate::problem::store_error;
use crate::talk::{Behalf, Heard, Used};

/// Runs it to its end, whatever that is.
pub(super) async fn run(
    app: &Arc<App>,
    caller: &Arc<Caller>,
    turn: &Turn,
    chat: &ChatRow,
    said: &MessageRow,
) {
    let mut scene = Scene {
        app,
        turn,
        chat,
        answer: None,
        places: Vec::new(),
        tools: HashMap::new(),
        said: String::new(),
        speaks: false,
    };
    let on = Behalf {
        caller: caller.clone(),
        parent: None,
        depth: 0,
        door: Door::Chat,
        chat: session(chat),
        abilities: Abilities::FORM.with(Abilities::URL),
    };
    let result = match Command::read(&content(said).text) {
        Ok(Some(command)) => scene.call(&on, command).await,
        Ok(None) => scene.talk(&on).await,
        Err(error) => Err(error),
    };
    let state = scene.close(result).await;
    lock(&turn.asks).clear();
    // Who heard all of it knows when that was, and need not read it again.
    if let Ok(Some(now)) = app.store.chat(chat.person_id, chat.id).await {
        turn.tell(&ChatEvent::Chat { chat: Box::new(Chat { running: false, ..Chat::of(app, now) }) });
    }
    turn.tell(&ChatEvent::Done { state });
}

/// What is on the stage while a turn runs.
struct Scene<'a> {
    app: &'a Arc<App>,
    turn: &'a Turn,
    chat: &'a ChatRow,
    /// The answer that is being said.
    answer: Option<MessageRow>,
    /// The ids of the tools it asks for, in order.
    places: Vec<String>,
    /// Tools that run, by use.
    tools: HashMap<String, MessageRow>,
    /// What the answer, or a tool that speaks, has said so far: kept even if somebody stops it here.
    said: String,
    /// Whether what a person called is a bud, which speaks while it runs.
    speaks: bool,
}

/// Somebody stopped the turn.
enum Ended {
    Whole(Result<(), Error>),
    Stopped,
}

impl Scene<'_> {
    /// The model answers.
    async fn talk(&mut self, on: &Behalf) -> Result<(), Error> {
        let bud = match self.chat.bud_id {
            Some(id) => self.app.store.bud(id).await.map_err(store_error)?.map(|it| it.preset),
            None => None,
        };
        let bud = bud.unwrap_or_default();
        let BudPreset { system_prompt, temperature, max_tokens, mcp_config, .. } = bud.clone();
        let model = self.app.model(self.chat.model.as_deref().or(bud.model.as_deref()))?;
        let preset = Preset::of(&mcp_config, &self.chat.overrides);
        let tools = self.app.tools_for(&on.caller, &preset);
        let choice = if tools.is_empty() { ToolChoice::None } else { preset.choice };
        let rows = self.app.store.messages(self.chat.id).await.map_err(store_error)?;
        let messages = history::told(&rows);
        let mut asked = Asked {
            system: Some(system_prompt).filter(|it| !it.is_empty()),
            temperature,
            max_tokens,
            messages,
            ..model.turn(tools, choice)
        };
        if rows.iter().any(|it| content(it).result_id.is_some()) {
            self.app.give_reader(&mut asked, &on.caller);
        }
        let (hear, mut heard) = mpsc::unbounded_channel();
        let (app, stop) = (self.app.clone(), self.turn.stop.clone());
        let talk = app.talk(&model, &mut asked, on, &hear);
        tokio::pin!(talk);
        let ended = loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break Ended::Stopped,
                Some(it) = heard.recv() => self.hear(it, &model.name).await?,
                result = &mut talk => break Ended::Whole(result.map(drop)),
            }
        };
        while let Ok(it) = heard.try_recv() {
            self.hear(it, &model.name).await?;
        }
        match ended {
            Ended::Whole(result) => result,
            Ended::Stopped => Err(Error::Cancelled),
        }
    }

    async fn hear(&mut self, heard: Heard, model: &str) -> Result<(), Error> {
        match heard {
            Heard::Round => {
                let begun = Content {
                    state: Some(MessageState::Running),
                    model: Some(model.to_owned()),
                    ..Content::default()
                };
                let message = MessageRow::new(self.chat.id, "assistant", stored(&begun));
                self.turn.tell(&ChatEvent::Message { message: Box::new(message.clone().into()) });
                self.places.clear();
                self.said.clear();
                self.answer = Some(message);
            }
            Heard::Delta(delta) => self.say(delta),
            Heard::Said(said) => {
                let Some(mut message) = self.answer.take() else { return Ok(()) };
                let uses = said.calls.iter().map(|it| ToolUse {
                    id: it.id.clone(),
                    name: it.name.clone(),
                    arguments: it.arguments.clone(),
                });
                let whole = Content {
                    text: said.text.clone(),
                    uses: uses.collect(),
                    state: Some(MessageState::Done),
                    model: Some(model.to_owned()),
                    usage: Some(Usage { input: said.usage.input, output: said.usage.output }),
                    ..Content::default()
                };
                message.content = stored(&whole);
                self.said.clear();
                self.app.put(self.turn, &message).await?;
            }
            Heard::Began { use_id, name, call, arguments } => self.began(Some(use_id), name, call, arguments),
            Heard::Event { use_id, event } => self.went_on(&use_id, event),
            Heard::Used { use_id, used } => self.used(&use_id, *used).await?,
        }
        self.turn.take_back();
        Ok(())
    }

    fn say(&mut self, delta: Delta) {
        let Some(message) = &self.answer else { return };
        let id = message.id;
        match delta {
            Delta::Text(delta) => {
                self.said.push_str(&delta);
                self.turn.tell(&ChatEvent::Delta { message: id, delta });
            }
            Delta::Call { id: use_id, name, .. } => {
                self.places.push(use_id.clone());
                self.turn.tell(&ChatEvent::Use { message: id, use_id, name });
            }
            Delta::Arguments { place, piece } => {
                let use_id = self.places.get(place).cloned().unwrap_or_default();
                self.turn.tell(&ChatEvent::Arguments { message: id, use_id, delta: piece });
            }
        }
    }

    /// A tool is called: by the model if it wished for it, else by the person.
    fn began(&mut self, use_id: Option<String>, name: String, call: Uuid, arguments: Value) {
        let begun = Content {
            state: Some(MessageState::Running),
            use_id: use_id.clone(),
            tool: Some(name),
            arguments: Some(arguments),
            ..Content::default()
        };
        let message =
            MessageRow { call_id: Some(call), ..MessageRow::new(self.chat.id, "tool", stored(&begun)) };
        self.turn.tell(&ChatEvent::Message { message: Box::new(message.clone().into()) });
        self.tools.insert(use_id.unwrap_or_default(), message);
    }

    fn went_on(&mut self, use_id: &str, event: Event) {
        let message = self.tools.get(use_id).map(|it| it.id);
        match (event, message) {
            (Event::Progress(params), Some(message)) => {
                let number = |key: &str| params.get(key).and_then(|it| it.f64());
                self.turn.tell(&ChatEvent::Progress {
                    message,
                    progress: number("progress").unwrap_or_default(),
                    total: number("total"),
                    note: params.get_text("message"),
                });
            }
            (Event::Ask(ask), _) if ask.permission.as_ref().is_some_and(|it| self.turn.allows(it)) => {
                let _ = ask.reply.send(Ok(super::yes()));
            }
            (Event::Ask(ask), message) if ask.question == Kind::Elicit => {
                let id = Uuid::now_v7();
                let params = ask.params.to_value();
                let schema = params.get("requestedSchema").cloned();
                let is_empty =
                    |it: &Value| it["properties"].as_object().is_none_or(serde_json::Map::is_empty);
                let question = Question {
                    id,
                    message,
                    permission: ask.permission.is_some(),
                    text: ask.signed().get_text("message").unwrap_or_default(),
                    schema: schema.filter(|it| !is_empty(it)),
                    url: ask.params.get_text("url"),
                };
                let waiting = super::Asked { reply: ask.reply, permission: ask.permission };
                lock(&self.turn.asks).insert(id, waiting);
                self.turn.tell(&ChatEvent::Ask { ask: question });
            }
            // Anything else has no form here; dropping a question declines it.
            _ => {}
        }
    }

    async fn used(&mut self, use_id: &str, used: Used) -> Result<(), Error> {
        let Some(mut message) = self.tools.remove(use_id) else { return Ok(()) };
        let before = content(&message);
        let mut whole = Content::of(used);
        (whole.use_id, whole.tool, whole.arguments) = (before.use_id, before.tool, before.arguments);
        message.content = stored(&whole);
        self.app.put(self.turn, &message).await
    }

    /// A person calls a tool themselves.
    async fn call(&mut self, on: &Behalf, command: Command) -> Result<(), Error> {
        let (offer, method, arguments) = command_target(self.app, &on.caller, command).await?;
        let tool = offer.tool(&method).map_or_else(|| method.clone(), |it| it.public_name.clone());
        let call = Uuid::now_v7();
        self.began(None, tool, call, arguments.clone());
        let mut wanted = on.call(self.app, call, &method, Raw::of(&arguments));
        wanted.view = View::One { slug: offer.instance.slug.clone() };
        let (events, heard) = Events::channel(Progress::Wanted);
        let (started, stop) = (Instant::now(), self.turn.stop.clone());
        let app = self.app.clone();
        self.speaks = matches!(offer.instance.transport, Transport::Bud(_));
        let running = pin!(app.hub.call(wanted, events));
        let mut running = Along::new(running, heard);
        let result = loop {
            let next = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(Error::Cancelled),
                next = running.next() => next,
            };
            match next {
                Next::Event(event) => {
                    self.spoke("", event);
                    self.turn.take_back();
                }
                Next::End(result) => break result,
            }
        };
        let used = app.seen(on, call, result, started).await;
        self.used("", used).await
    }

    /// A bud's progress is its text.
    fn spoke(&mut self, use_id: &str, event: Event) {
        match (&event, self.tools.get(use_id)) {
            (Event::Progress(params), Some(message)) if self.speaks => {
                let Some(delta) = params.get_text("message") else { return };
                self.said.push_str(&delta);
                self.turn.tell(&ChatEvent::Delta { message: message.id, delta });
            }
            _ => self.went_on(use_id, event),
        }
    }

    /// What is still on the stage ends like the turn.
    async fn close(&mut self, result: Result<(), Error>) -> MessageState {
        let (state, problem) = match result {
            Ok(()) => (MessageState::Done, None),
            Err(Error::Cancelled) => (MessageState::Stopped, None),
            Err(error) => (MessageState::Failed, Some(json!(error.problem()))),
        };
        let mut open: Vec<MessageRow> =
            self.answer.take().into_iter().chain(self.tools.drain().map(|it| it.1)).collect();
        // An error always has a place to stand.
        if open.is_empty() && problem.is_some() {
            open.push(MessageRow::new(self.chat.id, "assistant", json!({})));
        }
        for mut message in open {
            let mut ended = content(&message);
            ended.state = Some(state);
            if message.role == "assistant" || self.speaks {
                ended.text.clone_from(&self.said);
            }
            if message.role == "assistant" {
                ended.error = problem.clone();
            }
            message.content = stored(&ended);
            if let Err(error) = self.app.put(self.turn, &message).await {
                tracing::warn!(%error, "the end of a turn was not kept");
            }
        }
        state
    }
}

/// What a command means: something of the caller's, a method of it, and arguments.
async fn command_target(
    app: &Arc<App>,
    caller: &Arc<Caller>,
    command: Command,
) -> Result<(Arc<Offer>, String, Value), Error> {
    match command {
        Command::Call { server, method, arguments } => {
            let catalog = app.hub.catalog(caller);
            let named = |it: &&Arc<Offer>| {
                it.instance.slug.eq_ignore_ascii_case(&server) || it.instance.server_name == server
            };
            let found = catalog.offers().find(named).cloned();
            let offer = found.ok_or(Error::UnknownServer { server })?;
            Ok((offer, method, Value::Object(arguments)))
        }
        Command::Invoke { address, text } => {
            let bud = match address.strip_prefix('@') {
                Some(name) => {
                    let buds = app.store.buds_of(caller.person).await.map_err(store_error)?;
                    let found = buds.into_iter().find(|it| it.name.eq_ignore_ascii_case(name));
                    found.ok_or_else(|| Error::UnknownServer { server: name.to_owned() })?
                }
                None => app.bud(caller, &address).await?,
            };
            let server = app.store.server(bud.id).await.map_err(store_error)?;
            let server = server.ok_or_else(|| Error::UnknownServer { server: address.clone() })?;
            let method = bud.preset.methods().swap_remove(0);
            // The text goes where the method wants one.
            let arguments = match &text {
                None => json!({}),
                Some(text) => {
                    let wanted = method.input_schema["required"][0].as_str().map(str::to_owned);
                    let any = || method.input_schema["properties"].as_object()?.keys().next().cloned();
                    json!({ wanted.or_else(any).unwrap_or_else(|| "message".into()): text })
                }
            };
            Ok((app.used(caller, &server).await?, method.name, arguments))
        }
    }
}
