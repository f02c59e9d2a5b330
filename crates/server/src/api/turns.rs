//! Turns of a chat: begun with a message, followed from anywhere, stopped, and answered when they ask.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgrove_core::Error;
use toolgrove_core::bud::Preset;
use toolgrove_core::call::Caller;
use toolgrove_core::event::Question;
use toolgrove_wire::Raw;
use ts_rs::TS;
use uuid::Uuid;

use super::{body, chats};
use crate::App;
use crate::chat::Sent;
use crate::mcp::event_stream;
use crate::problem::Answer;

/// A message, and the stream of the turn that it begins.
pub async fn send(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<Response> {
    let sent: Sent = body(&bytes)?;
    let chat = chats::find(&app, &caller, &id).await?;
    let turn = app.begin_turn(&caller, chat, sent).await?;
    Ok(event_stream(turn.stream(None)))
}

#[derive(Deserialize)]
pub struct After {
    after: Option<String>,
}

/// The turn that runs, or ran last: all of it, or what came after `Last-Event-ID` or `?after=`. 204: there is none.
pub async fn stream(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    Query(After { after }): Query<After>,
    headers: HeaderMap,
) -> Answer<Response> {
    let chat = chats::find(&app, &caller, &id).await?;
    let Some(turn) = app.turns.of(chat.id) else { return Ok(StatusCode::NO_CONTENT.into_response()) };
    let last = headers.get("last-event-id").and_then(|it| it.to_str().ok()).map(str::to_owned);
    Ok(event_stream(turn.stream(last.or(after).as_deref())))
}

/// Ends the turn that runs. What was said so far stays.
pub async fn stop(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    let chat = chats::find(&app, &caller, &id).await?;
    if let Some(turn) = app.turns.of(chat.id) {
        turn.stop();
    }
    Ok(StatusCode::NO_CONTENT)
}

/// `{action: "accept" | "decline" | "cancel", content?, remember?: "chat"}`: with `remember` a tool that asks for leave
/// has it for as long as there is the chat.
pub async fn answer(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path((id, ask)): Path<(String, String)>,
    bytes: Bytes,
) -> Answer<StatusCode> {
    let mut answer: Value = body(&bytes)?;
    let chat = chats::find(&app, &caller, &id).await?;
    let remember = answer.as_object_mut().and_then(|it| it.remove("remember"));
    let answer = Raw::of(&answer);
    if !Question::Elicit.accepts(&answer) {
        let problem = "`action` is `accept`, `decline` or `cancel`, and `content` an object";
        return Err(Error::Request(problem.into()).into());
    }
    let unknown = || Error::NotFound(format!("question {ask}"));
    let ask_id = Uuid::parse_str(&ask).map_err(|_| unknown())?;
    let turn = app.turns.of(chat.id).ok_or_else(unknown)?;
    if let Some(remember) = remember {
        let permission = turn.permission(ask_id).ok_or_else(unknown)?;
        if remember != "chat" || answer.get_text("action").as_deref() != Some("accept") {
            let problem = "`remember` is `\"chat\"`, and only what is accepted is remembered";
            return Err(Error::Request(problem.into()).into());
        }
        app.store.allow_in_chat(chat.id, permission.0, &permission.1).await?;
        turn.allow(&permission);
        return Ok(StatusCode::NO_CONTENT);
    }
    if turn.answer(ask_id, answer) {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(unknown().into())
}

/// A tool that the model of a chat has, and what it costs to tell it of.
#[derive(Debug, Serialize, TS)]
pub struct ChatTool {
    /// The public name.
    pub name: String,
    pub description: String,
    /// About how many tokens its description takes in every turn.
    pub tokens: usize,
}

/// The tools of a chat: its bud's and its own.
pub async fn tools(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Vec<ChatTool>>> {
    let chat = chats::find(&app, &caller, &id).await?;
    let bud = match chat.bud_id {
        Some(id) => app.store.bud(id).await?.map(|it| it.preset.mcp_config),
        None => None,
    };
    let tools = app.tools_for(&caller, &Preset::of(&bud.unwrap_or_default(), &chat.overrides));
    let shown = |it: toolgrove_upstream::model::ToolSpec| ChatTool {
        // Four characters are about one token.
        tokens: (it.name.len() + it.description.len() + it.input_schema.to_string().len()).div_ceil(4),
        name: it.name,
        description: it.description,
    };
    Ok(Json(tools.into_iter().map(shown).collect()))
}

/// The whole of a result that was cut for a model.
pub async fn result(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<String> {
    let unknown = || Error::NotFound(format!("result {id}"));
    let parsed = Uuid::parse_str(&id).map_err(|_| unknown())?;
    if caller.grants.is_some() {
        return Err(unknown().into());
    }
    Ok(app.store.result(caller.person, parsed).await?.ok_or_else(unknown)?)
}
