//! Calls of what the hub runs itself: buds, and its own small tools.

mod builtin;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use toolgrove_core::bud::{Bud, Overrides, Preset, ToolChoice};
use toolgrove_core::call::{Behind, Door, Outgoing};
use toolgrove_core::event::{Ask, Event, Events, Question};
use toolgrove_core::instance::{Instance, Transport};
use toolgrove_core::{Error, task};
use toolgrove_upstream::OwnCall;
use toolgrove_upstream::model::{Delta, Message, Part, Turn, Usage};
use toolgrove_wire::{Abilities, Raw};

use crate::App;
use crate::talk::{Behalf, Heard, object};

/// What is asked of a client's own model where the bud has no bound.
const SAMPLE_TOKENS: u32 = 4096;

/// Runs them for as long as the hub does.
pub fn start(app: &Arc<App>, mut calls: mpsc::UnboundedReceiver<OwnCall>) {
    let app = app.clone();
    task::spawn("own calls", async move {
        while let Some(call) = calls.recv().await {
            task::spawn("own call", run(app.clone(), call));
        }
    });
}

async fn run(app: Arc<App>, call: OwnCall) {
    let OwnCall { instance, outgoing, events, mut reply } = call;
    let answer = answer(&app, &instance, &outgoing, &events);
    let result = tokio::select! {
        result = answer => result,
        // Whoever waited has gone: dropping the work closes what it has open.
        () = reply.closed() => return,
    };
    let _ = reply.send(result);
}

async fn answer(
    app: &Arc<App>,
    instance: &Arc<Instance>,
    outgoing: &Outgoing,
    events: &Events,
) -> Result<Raw, Error> {
    let tool = outgoing.params.get_text("name").unwrap_or_default();
    let arguments = outgoing.params.get("arguments").map(|it| it.to_value()).unwrap_or_default();
    match (&instance.transport, &outgoing.behind) {
        (Transport::Bud(bud), Some(behind)) => {
            ask_bud(app, bud, behind, outgoing, &tool, &arguments, events).await
        }
        (Transport::Builtin, Some(behind)) => builtin::answer(app, &behind.caller, &tool, &arguments).await,
        _ => Err(Error::UnknownTool { tool }),
    }
}

/// Runs a bud's method: its model talks, with the tools that its caller has too.
async fn ask_bud(
    app: &Arc<App>,
    bud: &Bud,
    behind: &Behind,
    outgoing: &Outgoing,
    method: &str,
    arguments: &Value,
    events: &Events,
) -> Result<Raw, Error> {
    let preset = &bud.preset;
    let method = preset.method(method).ok_or_else(|| Error::UnknownTool { tool: method.to_owned() })?;
    let message = method.message(&object(arguments));
    let model = match app.model(preset.model.as_deref()) {
        Ok(model) => model,
        // Who brings a model of their own needs none here.
        Err(_) if outgoing.abilities.has(Abilities::SAMPLING) => return sample(bud, message, events).await,
        Err(error) => return Err(error),
    };
    let tools = Preset::of(&preset.mcp_config, &Overrides::default());
    let given = app.tools_for(&behind.caller, &tools);
    let choice = if given.is_empty() { ToolChoice::None } else { tools.choice };
    let mut turn = Turn {
        system: Some(preset.system_prompt.clone()).filter(|it| !it.is_empty()),
        temperature: preset.temperature,
        max_tokens: preset.max_tokens,
        messages: vec![Message::User(vec![Part::Text(message)])],
        ..model.turn(given, choice)
    };
    let on = Behalf {
        caller: behind.caller.clone(),
        parent: Some(behind.call),
        depth: behind.depth,
        door: Door::Bud,
        chat: outgoing.chat.clone(),
        abilities: outgoing.abilities,
    };
    let (hear, mut heard) = mpsc::unbounded_channel();
    let mut speech = Speech { events, text: String::new(), is_new_round: false };
    let talk = app.talk(&model, &mut turn, &on, &hear);
    tokio::pin!(talk);
    let usage = loop {
        tokio::select! {
            biased;
            Some(it) = heard.recv() => speech.hear(it),
            usage = &mut talk => break usage,
        }
    };
    while let Ok(it) = heard.try_recv() {
        speech.hear(it);
    }
    let usage = usage?;
    events.used(usage.input, usage.output);
    Ok(result(&speech.text, &model.name, Some(usage)))
}

fn result(text: &str, model: &str, usage: Option<Usage>) -> Raw {
    let mut meta = json!({ "dev.toolgrove/model": model });
    if let Some(usage) = usage {
        meta["dev.toolgrove/usage"] = json!({ "input": usage.input, "output": usage.output });
    }
    Raw::of(&json!({ "content": [{ "type": "text", "text": text }], "_meta": meta }))
}

/// What a bud says, passed on piece by piece as progress.
struct Speech<'a> {
    events: &'a Events,
    text: String,
    is_new_round: bool,
}

impl Speech<'_> {
    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Round => self.is_new_round = !self.text.is_empty(),
            Heard::Delta(Delta::Text(piece)) => {
                if std::mem::take(&mut self.is_new_round) {
                    self.say("\n\n");
                }
                self.say(&piece);
            }
            // What a tool asks is asked of whoever called the bud.
            Heard::Event { event: Event::Ask(ask), .. } => self.events.send(Event::Ask(ask)),
            _ => {}
        }
    }

    fn say(&mut self, piece: &str) {
        self.text.push_str(piece);
        if self.events.wants_progress() {
            let params = json!({ "progress": self.text.len(), "message": piece });
            self.events.send(Event::Progress(Raw::of(&params)));
        }
    }
}

/// Lets the client's own model answer.
async fn sample(bud: &Bud, message: String, events: &Events) -> Result<Raw, Error> {
    let preset = &bud.preset;
    let mut params = json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": message } }],
        "maxTokens": preset.max_tokens.unwrap_or(SAMPLE_TOKENS),
    });
    if !preset.system_prompt.is_empty() {
        params["systemPrompt"] = preset.system_prompt.as_str().into();
    }
    if let Some(temperature) = preset.temperature {
        params["temperature"] = temperature.into();
    }
    if let Some(model) = &preset.model {
        params["modelPreferences"] = json!({ "hints": [{ "name": model }] });
    }
    let (reply, answer) = oneshot::channel();
    let (question, server) = (Question::Sample, bud.name.clone());
    let (params, permission) = (Raw::of(&params), None);
    events.send(Event::Ask(Ask { question, params, key: None, server, permission, reply }));
    let failed =
        |problem: String| Error::ModelMissing(format!("your client's model did not answer: {problem}"));
    let answer = match answer.await {
        Ok(Ok(answer)) => answer.to_value(),
        Ok(Err(error)) => return Err(failed(error.message)),
        Err(_) => return Err(failed("it was declined".into())),
    };
    let parts = match answer.get("content") {
        Some(Value::Array(parts)) => parts.clone(),
        Some(part) => vec![part.clone()],
        None => Vec::new(),
    };
    let texts: Vec<_> = parts.iter().filter_map(|it| it.get("text").and_then(Value::as_str)).collect();
    let model = answer.get("model").and_then(Value::as_str).unwrap_or_default();
    Ok(result(&texts.join("\n"), model, None))
}
