//! `POST /api/mcp/invoke` and `POST /bud-run`: one call as a stream of `{role: "tool", id, delta}`, whatever is behind it.
//!
//! A refusal has its own status; once the call is on its way, everything is told in the stream.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use futures::future::FutureExt;
use futures::stream::{self, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use toolgrove_core::Error;
use toolgrove_core::call::{Caller, Door, Outcome, View};
use toolgrove_core::event::{Along, Event, Events, Heard, Next, Progress};
use toolgrove_core::instance::Transport;
use toolgrove_core::offer::Offer;
use toolgrove_store::{ChatRow, MessageRow};
use toolgrove_wire::legacy::{self, Version};
use toolgrove_wire::{Abilities, Raw, sse};
use uuid::Uuid;

use super::chats::{Content, MessageState};
use super::{body, buds, chats, registry};
use crate::App;
use crate::mcp::event_stream;
use crate::problem::Answer;
use crate::talk::{Behalf, Used};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Invoke {
    server_id: Option<String>,
    method: Option<String>,
    args: Option<Raw>,
    chat_id: Option<String>,
}

pub async fn invoke(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    bytes: Bytes,
) -> Answer<Response> {
    let asked: Invoke = body(&bytes)?;
    let missing = [("serverId", asked.server_id.is_none()), ("method", asked.method.is_none())];
    let missing: Vec<_> = missing.iter().filter(|it| it.1).map(|it| it.0.to_owned()).collect();
    let (Some(server), Some(method)) = (asked.server_id, asked.method) else {
        return Err(Error::RequestMissing(missing).into());
    };
    let (row, used) = registry::find(&app, &caller, &server).await?;
    let chat = match &asked.chat_id {
        Some(id) => Some(chats::find(&app, &caller, id).await?),
        None => None,
    };
    let offer = match used {
        Some(offer) => offer,
        None => app.used(&caller, &row).await?,
    };
    run(&app, &caller, offer, method, asked.args, chat).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudRun {
    bud_id: Option<String>,
    args: Option<Raw>,
}

/// The first method of a bud.
pub async fn bud_run(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    bytes: Bytes,
) -> Answer<Response> {
    let asked: BudRun = body(&bytes)?;
    let id = asked.bud_id.ok_or_else(|| Error::RequestMissing(vec!["bud_id".into()]))?;
    let bud = buds::seen(&app, &caller, &id).await?;
    let (row, used) = registry::find(&app, &caller, &bud.id.to_string()).await?;
    let offer = match used {
        Some(offer) => offer,
        None => app.used(&caller, &row).await?,
    };
    let method = bud.preset.methods().swap_remove(0).name;
    run(&app, &caller, offer, method, asked.args, None).await
}

async fn run(
    app: &Arc<App>,
    caller: &Arc<Caller>,
    offer: Arc<Offer>,
    method: String,
    args: Option<Raw>,
    chat: Option<ChatRow>,
) -> Answer<Response> {
    let arguments = args.filter(|it| !it.is_null()).unwrap_or_else(Raw::empty_object);
    let on = Behalf {
        caller: caller.clone(),
        parent: None,
        depth: 0,
        door: Door::Api,
        chat: chat.as_ref().map_or_else(|| caller.chat(), crate::chat::session),
        abilities: Abilities::NONE,
    };
    let id = Uuid::now_v7();
    let mut call = on.call(app, id, &method, arguments.clone());
    call.view = View::One { slug: offer.instance.slug.clone() };
    let speaks = matches!(offer.instance.transport, Transport::Bud(_));
    let (events, heard) = Events::channel(Progress::Wanted);
    let (admitted, started) = (events.when_checked(), Instant::now());
    let hub = app.hub.clone();
    let mut running = Box::pin(async move { hub.call(call, events).await });
    let early = tokio::select! {
        biased;
        result = &mut running => Some(result),
        _ = admitted => None,
    };
    match early {
        // Naming what is not there is told in the stream, by its name.
        Some(Err(error @ (Error::UnknownTool { .. } | Error::ToolName { .. }))) => {
            let end = error_frame(id, &error);
            return Ok(event_stream(stream::once(async { end })));
        }
        Some(Err(error)) if !error.is_failed_hop() => return Err(error.into()),
        _ => {}
    }
    let invoked = Invoked {
        app: app.clone(),
        on,
        id,
        chat,
        tool: offer.tool(&method).map_or(method, |it| it.public_name.clone()),
        server: offer.instance.slug.clone(),
        arguments: arguments.to_value(),
        speaks,
        said: String::new(),
        started,
    };
    let work = match early {
        Some(result) => futures::future::ready(result).left_future(),
        None => running.right_future(),
    };
    Ok(event_stream(invoked.stream(heard, work)))
}

/// A call that is being told.
struct Invoked {
    app: Arc<App>,
    on: Behalf,
    id: Uuid,
    chat: Option<ChatRow>,
    tool: String,
    server: String,
    arguments: Value,
    /// Whether its progress is what it says.
    speaks: bool,
    said: String,
    started: Instant,
}

impl Invoked {
    fn stream(
        self,
        heard: Heard,
        work: impl Future<Output = Result<Outcome, Error>> + Send + Unpin + 'static,
    ) -> impl stream::Stream<Item = Bytes> + Send {
        stream::unfold((self, Some(Along::new(work, heard))), |(mut this, work)| async move {
            let mut work = work?;
            loop {
                match work.next().await {
                    Next::Event(event) => {
                        if let Some(frame) = this.delta(&event) {
                            return Some((frame, (this, Some(work))));
                        }
                    }
                    Next::End(result) => {
                        let frame = this.end(result).await;
                        return Some((frame, (this, None)));
                    }
                }
            }
        })
        .boxed()
    }

    fn delta(&mut self, event: &Event) -> Option<Bytes> {
        let Event::Progress(params) = event else { return None };
        let piece = params.get_text("message").filter(|_| self.speaks)?;
        self.said.push_str(&piece);
        Some(self.frame(&piece))
    }

    fn frame(&self, delta: &str) -> Bytes {
        let data = json!({ "role": "tool", "id": self.id, "delta": delta });
        sse::write(None, None, data.to_string().as_bytes())
    }

    /// What is left to say, one message in the chat, and how it ended.
    async fn end(&mut self, result: Result<Outcome, Error>) -> Bytes {
        let raw = result.as_ref().ok().map(|it| legacy::result_for_client(&it.result, Version::LATEST));
        let failed = result.as_ref().err().cloned();
        let used = self.app.seen(&self.on, self.id, result, self.started).await;
        let mut frames = Vec::new();
        if failed.is_none()
            && let Some(rest) = used.text.strip_prefix(self.said.as_str()).filter(|it| !it.is_empty())
        {
            frames.push(self.frame(rest));
        }
        if let Err(error) = self.keep(used).await {
            tracing::warn!(%error, "a call's message was not kept");
        }
        frames.push(match (failed, raw) {
            (None, Some(result)) => {
                let data = json!({ "id": self.id, "result": result.to_value() });
                sse::write(Some("done"), None, data.to_string().as_bytes())
            }
            (error, _) => error_frame(self.id, &error.unwrap_or(Error::Cancelled)),
        });
        frames.concat().into()
    }

    async fn keep(&self, used: Used) -> Result<(), toolgrove_store::StoreError> {
        let Some(chat) = &self.chat else { return Ok(()) };
        let mut content = Content::of(used);
        content.tool = Some(self.tool.clone());
        content.server = Some(self.server.clone());
        content.arguments = Some(self.arguments.clone());
        let content = serde_json::to_value(content).unwrap_or_default();
        let message = MessageRow { call_id: Some(self.id), ..MessageRow::new(chat.id, "tool", content) };
        self.app.store.put_message(&message).await?;
        self.app.tell_chat(chat).await;
        Ok(())
    }
}

impl Content {
    /// What a call came to.
    pub(crate) fn of(used: Used) -> Self {
        let state = if used.is_error { MessageState::Failed } else { MessageState::Done };
        let picture =
            |it: toolgrove_core::text::view::Image| chats::Picture { mime_type: it.mime_type, data: it.data };
        Self {
            text: used.text,
            images: used.images.into_iter().map(picture).collect(),
            state: Some(state),
            error: used.error.and_then(|it| serde_json::to_value(it.problem()).ok()),
            server: used.server,
            structured: used.structured,
            ms: Some(used.ms),
            result_id: used.result_id,
            ..Self::default()
        }
    }
}

fn error_frame(id: Uuid, error: &Error) -> Bytes {
    let mut problem = serde_json::to_value(error.problem()).unwrap_or_default();
    if let Some(members) = problem.as_object_mut() {
        members.remove("status");
    }
    sse::write(Some("error"), None, json!({ "id": id, "error": problem }).to_string().as_bytes())
}
