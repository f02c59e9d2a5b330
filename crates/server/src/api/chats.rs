//! `/api/chats`: conversations with a model, each its person's own. How a turn runs: `crate::chat`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgrove_core::Error;
use toolgrove_core::bud::Overrides;
use toolgrove_core::call::{Caller, Links};
use toolgrove_store::{ChatRow, MessageRow};
use ts_rs::TS;
use uuid::Uuid;

use super::{Said, body};
use crate::App;
use crate::chat::{Sent, session};
use crate::mcp::event_stream;
use crate::problem::{Answer, store_error};

/// A conversation.
#[derive(Debug, Clone, Serialize, TS)]
pub struct Chat {
    pub id: Uuid,
    pub workspace_id: Uuid,
    pub bud_id: Option<Uuid>,
    /// The beginning of the first message, until somebody names it.
    pub title: String,
    /// `<provider>/<model>`, in the place of the bud's.
    pub model: Option<String>,
    pub mcp_config_overrides: Overrides,
    /// Whether an answer is on its way: `GET /api/chats/:id/stream` follows it.
    pub running: bool,
    pub created_at: i64,
    pub updated_at: i64,
}

/// One message. `content` says all there is to draw.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(rename = "ChatMessage")]
pub struct Message {
    pub id: Uuid,
    pub chat_id: Uuid,
    #[ts(type = "\"system\" | \"user\" | \"assistant\" | \"tool\"")]
    pub role: String,
    pub content: Content,
    /// The call behind a `tool` message.
    pub call_id: Option<Uuid>,
    pub created_at: i64,
}

/// What a message holds. Members that do not belong to its role are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
#[ts(rename = "MessageContent", optional_fields)]
pub struct Content {
    /// What was said; of a tool, the text of its result.
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<Picture>>")]
    pub images: Vec<Picture>,
    /// The tools an assistant wanted; each has a `tool` message of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<ToolUse>>")]
    pub uses: Vec<ToolUse>,
    /// How it is with an answer or a tool; absent on what a person said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<MessageState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(type = "Problem")]
    pub error: Option<Value>,
    /// Of a tool: which use of the assistant's it answers; absent when a person called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub use_id: Option<String>,
    /// Of a tool: its public name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Of a tool: the slug of its instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(type = "Json")]
    pub arguments: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(type = "Json")]
    pub structured: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<f64>,
    /// The whole of a text that was cut: `GET /api/mcp/results/:id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_id: Option<Uuid>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct Picture {
    #[serde(rename = "mimeType")]
    pub mime_type: String,
    /// Base64.
    pub data: String,
}

/// A tool that the model wants. The arguments are what it wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ToolUse {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum MessageState {
    /// Not there yet; a stream brings the rest.
    Running,
    Done,
    /// Somebody stopped it half-way.
    Stopped,
    /// `error` says why; a tool that ran and said that it failed has text instead.
    Failed,
}

/// What a turn tells, one event each, in order.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ChatEvent {
    /// The chat is new, or not what it was.
    Chat { chat: Box<Chat> },
    /// A message as it stands now, in the place of the one with its id.
    Message { message: Box<Message> },
    /// Messages from this one on are no longer there: one was edited.
    Cut { from: Uuid },
    /// More text of a message: of an assistant, or of a tool that speaks while it runs.
    Delta { message: Uuid, delta: String },
    /// An assistant begins to ask for a tool.
    Use { message: Uuid, use_id: String, name: String },
    /// More of the arguments, as the model writes them.
    Arguments { message: Uuid, use_id: String, delta: String },
    /// A running tool is this far.
    Progress { message: Uuid, progress: f64, total: Option<f64>, note: Option<String> },
    /// A tool wants to know something: `POST /api/chats/:id/asks/:ask {action, content?}`.
    Ask { ask: Question },
    /// A question needs no answer any more.
    Asked { ask: Uuid },
    /// The turn is over.
    Done { state: MessageState },
}

/// A question to the person.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(rename = "ChatQuestion")]
pub struct Question {
    pub id: Uuid,
    /// The `tool` message that waits for the answer.
    pub message: Option<Uuid>,
    /// Whether it is about permission alone: then accepting is enough.
    pub permission: bool,
    pub text: String,
    /// What to fill in; null when nothing is.
    #[ts(type = "Json | null")]
    pub schema: Option<Value>,
    /// A page to visit.
    pub url: Option<String>,
}

/// A chat with everything said in it.
#[derive(Debug, Serialize, TS)]
pub struct ChatWhole {
    pub chat: Chat,
    pub messages: Vec<Message>,
}

impl Chat {
    pub(crate) fn of(app: &App, row: ChatRow) -> Self {
        Self {
            running: app.turns.is_running(row.id),
            id: row.id,
            workspace_id: row.workspace_id,
            bud_id: row.bud_id,
            title: row.title,
            model: row.model,
            mcp_config_overrides: row.overrides,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

impl From<MessageRow> for Message {
    fn from(row: MessageRow) -> Self {
        Self {
            id: row.id,
            chat_id: row.chat_id,
            role: row.role,
            content: serde_json::from_value(row.content).unwrap_or_default(),
            call_id: row.call_id,
            created_at: row.created_at,
        }
    }
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<Vec<Chat>>> {
    // A token for some instances has no chats: others may have been used in them.
    let rows = match caller.grants {
        None => app.store.chats_of(caller.person).await?,
        Some(_) => Vec::new(),
    };
    Ok(Json(rows.into_iter().map(|it| Chat::of(&app, it)).collect()))
}

/// What a chat is made with, or changed to.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Given {
    pub(crate) workspace_id: Option<String>,
    /// Null: no bud.
    bud_id: Said,
    title: Option<String>,
    model: Said,
    mcp_config_overrides: Option<Overrides>,
    /// Its first message: then the answer is the stream of the turn.
    message: Option<Sent>,
}

impl Given {
    pub(crate) async fn put(self, app: &App, caller: &Caller, row: &mut ChatRow) -> Result<(), Error> {
        match self.bud_id {
            Said::Absent => {}
            Said::Null => row.bud_id = None,
            Said::Word(word) => row.bud_id = Some(app.bud(caller, &word).await?.id),
        }
        if let Some(title) = self.title {
            row.title = title.trim().chars().take(200).collect();
        }
        match self.model {
            Said::Absent => {}
            Said::Null => row.model = None,
            Said::Word(model) => row.model = Some(model).filter(|it| !it.trim().is_empty()),
        }
        if let Some(overrides) = self.mcp_config_overrides {
            row.overrides = overrides;
        }
        Ok(())
    }
}

pub async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    bytes: Bytes,
) -> Answer<Response> {
    let mut given: Given = body(&bytes)?;
    let sent = given.message.take();
    let row = made(&app, &caller, given).await?;
    app.store.add_chat(&row).await?;
    if let Some(sent) = sent {
        let turn = app.begin_turn(&caller, row, sent).await?;
        return Ok(event_stream(turn.stream(None)));
    }
    let chat = Chat::of(&app, row);
    app.live.tell_chat(caller.person, chat.clone());
    Ok((StatusCode::CREATED, Json(chat)).into_response())
}

/// A chat that is not stored yet.
pub(crate) async fn made(app: &App, caller: &Caller, given: Given) -> Result<ChatRow, Error> {
    if caller.grants.is_some() {
        return Err(Error::TokenMayNot);
    }
    let workspace = match &given.workspace_id {
        Some(id) => app.workspace(caller, id).await?.workspace.id,
        None => app.home(caller).await?.id,
    };
    let mut row = ChatRow::new(workspace, caller.person);
    given.put(app, caller, &mut row).await?;
    Ok(row)
}

/// A chat of the caller's.
pub(crate) async fn find(app: &App, caller: &Caller, id: &str) -> Result<ChatRow, Error> {
    let unknown = || Error::NotFound(format!("chat {id}"));
    let parsed = Uuid::parse_str(id).map_err(|_| unknown())?;
    if caller.grants.is_some() {
        return Err(unknown());
    }
    app.store.chat(caller.person, parsed).await.map_err(store_error)?.ok_or_else(unknown)
}

pub async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<ChatWhole>> {
    let row = find(&app, &caller, &id).await?;
    let messages = app.store.messages(row.id).await?.into_iter().map(Into::into).collect();
    Ok(Json(ChatWhole { chat: Chat::of(&app, row), messages }))
}

pub async fn change(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<Json<Chat>> {
    let given: Given = body(&bytes)?;
    let mut row = find(&app, &caller, &id).await?;
    given.put(&app, &caller, &mut row).await?;
    app.store.update_chat(&row).await?;
    let chat = Chat::of(&app, row);
    app.live.tell_chat(caller.person, chat.clone());
    Ok(Json(chat))
}

pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    let row = find(&app, &caller, &id).await?;
    app.turns.forget(row.id);
    app.store.remove_chat(caller.person, row.id).await?;
    app.live.chat_removed(caller.person, row.id);
    // What legacy servers kept for it ends with it.
    app.hub.links().end_chat(&session(&row)).await;
    Ok(StatusCode::NO_CONTENT)
}
