//! The messages between extension and hub, `toolgrove.tabs.v1`: one JSON-RPC message per text frame.
//!
//! These types are the one source: the extension's TypeScript and the JSON Schema are written from them, in
//! `written.rs`. Members we do not know are ignored.

mod written;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgrove_wire::Raw;
use ts_rs::TS;

pub use written::{json_schema, typescript};

/// The WebSocket subprotocol, and the version of what is said over it.
pub const SUBPROTOCOL: &str = "toolgrove.tabs.v1";
pub const PROTOCOL: u32 = 1;

/// A tool as MCP describes it; members that are not named here travel along.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    pub name: String,
    #[ts(optional)]
    pub title: Option<String>,
    #[ts(optional)]
    pub description: Option<String>,
    #[ts(type = "Record<string, unknown>")]
    pub input_schema: serde_json::Map<String, Value>,
    #[ts(optional, type = "Record<string, unknown>")]
    pub annotations: Option<serde_json::Map<String, Value>>,
}

/// Where a tool of a page was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Native,
    Channel,
    Shim,
}

/// `hub/challenge`: the first word.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Challenge {
    pub nonce: String,
    pub protocol: u32,
}

/// `browser/hello`: who comes, and the proof.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    pub nonce: String,
    /// Lower-case hex HMAC-SHA-256 of `ext|<hubNonce>|<extNonce>`, keyed with the token.
    pub mac: String,
    pub protocol: u32,
    pub profile_id: String,
    pub extension_id: String,
    pub extension_version: String,
    pub browser: String,
    #[serde(default)]
    pub features: Vec<String>,
    /// The mac is keyed with a pairing code, and the welcome is to bring a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub pairing: Option<bool>,
}

/// `hub/welcome`: the hub's own proof, and its terms.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    /// Of `hub|<extNonce>|<hubNonce>`.
    pub mac: String,
    pub ping_seconds: u64,
    pub max_message_bytes: u64,
    /// What a pairing code was exchanged for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub token: Option<String>,
}

/// A tab as `browser/tabs` reports it; address and title only where the site is shared.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the browser has a word for each")]
pub struct TabFacts {
    pub tab_id: i64,
    #[serde(default)]
    #[ts(optional)]
    pub window_id: Option<i64>,
    #[serde(default)]
    pub active: bool,
    #[serde(default)]
    pub incognito: bool,
    #[serde(default)]
    pub discarded: bool,
    /// The browser has stopped its page.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(as = "Option<bool>", optional)]
    pub frozen: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub title: Option<String>,
}

/// `browser/tabs`: every tab there is.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct AllTabs {
    pub tabs: Vec<TabFacts>,
}

/// Who registers: the document that the browser vouches for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PageFacts {
    pub tab_id: i64,
    #[ts(optional)]
    pub window_id: Option<i64>,
    #[ts(optional)]
    pub document_id: Option<String>,
    #[ts(optional)]
    pub active: Option<bool>,
    pub incognito: bool,
    #[ts(optional)]
    pub title: Option<String>,
    pub sources: BTreeMap<String, Source>,
    /// The id under which the page is known to `webmcp-local-relay`, if it embeds that too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub relay_tab_id: Option<String>,
}

/// `browser/registerTools` and `browser/updateTools`: always the full list.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolList {
    #[ts(type = "Tool[]")]
    #[schemars(with = "Vec<Tool>")]
    pub tools: Vec<Raw>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub tab_url: Option<String>,
    #[serde(default)]
    pub extensions: PageFacts,
}

/// The tab, and where needed the document, window or former id, that a message is about.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TabPlace {
    #[ts(as = "Option<i64>", optional)]
    pub tab_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub window_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub document_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub old_tab_id: Option<i64>,
    /// The call that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub request_id: Option<String>,
}

/// `browser/tabDisconnected`, `tabActivated`, `windowFocus`, `tabReplaced`, `tabRemoved`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabNews {
    #[serde(default)]
    pub extensions: TabPlace,
}

/// `browser/toolStarted`: the content script has begun.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolStarted {
    pub request_id: String,
}

/// `notifications/progress` of a page.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub progress_token: String,
    pub progress: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub total: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub message: Option<String>,
}

/// `browser/elicitConfirmation`: a page asks its person something in the middle of a call.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Elicit {
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "Record<string, unknown>")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub requested_schema: Option<Raw>,
    #[serde(default)]
    pub extensions: TabPlace,
}

/// What a person answered.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Confirmation {
    pub action: ConfirmAction,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "Record<string, unknown>")]
    pub content: Option<serde_json::Map<String, Value>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConfirmAction {
    Accept,
    Decline,
    Cancel,
}

/// `browser/executeTool`.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Execute {
    pub tool_name: String,
    #[ts(type = "Record<string, unknown>")]
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub args: Raw,
    pub extensions: TabPlace,
}

/// What a call came to: the page's `CallToolResult`, or a sentence.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Executed {
    pub success: bool,
    #[ts(type = "Record<string, unknown> | string")]
    #[schemars(with = "Value")]
    pub payload: Raw,
}

/// Why a request was not fulfilled.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Problem {
    pub code: i64,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "Record<string, unknown>")]
    pub data: Option<serde_json::Map<String, Value>>,
}

/// `browser/openTab`.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct OpenTab {
    pub url: String,
    pub active: bool,
}

/// `browser/activateTab`, `reloadTab` and `closeTab`, and the answer to `openTab`.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneTab {
    pub tab_id: i64,
}

/// `notifications/cancelled`.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancelled {
    pub request_id: String,
    pub reason: String,
}

/// `hub/ping`, answered by `browser/pong` with the same `t`.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Ping {
    pub t: i64,
}

/// What the worker sends besides answers.
#[derive(Debug, Clone, Serialize, TS, JsonSchema)]
#[serde(tag = "method", content = "params")]
pub enum ToHub {
    #[serde(rename = "browser/hello")]
    Hello(Hello),
    #[serde(rename = "browser/tabs")]
    Tabs(AllTabs),
    #[serde(rename = "browser/registerTools")]
    Register(ToolList),
    #[serde(rename = "browser/updateTools")]
    Update(ToolList),
    #[serde(rename = "browser/tabDisconnected")]
    Disconnected(TabNews),
    #[serde(rename = "browser/tabActivated")]
    Activated(TabNews),
    #[serde(rename = "browser/windowFocus")]
    Focus(TabNews),
    #[serde(rename = "browser/tabReplaced")]
    Replaced(TabNews),
    #[serde(rename = "browser/tabRemoved")]
    Removed(TabNews),
    #[serde(rename = "browser/toolStarted")]
    Started(ToolStarted),
    #[serde(rename = "notifications/progress")]
    Progress(Progress),
    #[serde(rename = "browser/elicitConfirmation")]
    Elicit(Elicit),
    #[serde(rename = "browser/pong")]
    Pong(Ping),
}

/// What the hub sends besides answers.
#[derive(Debug, Clone, Serialize, TS, JsonSchema)]
#[serde(tag = "method", content = "params")]
pub enum FromHub {
    #[serde(rename = "hub/challenge")]
    Challenge(Challenge),
    #[serde(rename = "hub/welcome")]
    Welcome(Welcome),
    #[serde(rename = "browser/executeTool")]
    Execute(Execute),
    #[serde(rename = "browser/openTab")]
    Open(OpenTab),
    #[serde(rename = "browser/activateTab")]
    Activate(OneTab),
    #[serde(rename = "browser/reloadTab")]
    Reload(OneTab),
    #[serde(rename = "browser/closeTab")]
    Close(OneTab),
    #[serde(rename = "notifications/cancelled")]
    Cancelled(Cancelled),
    #[serde(rename = "hub/ping")]
    Ping(Ping),
}

/// What is said to the hub in the second vocabulary, by peers that name types instead of methods.
#[derive(Debug, Clone, Serialize, TS, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum TypedToHub {
    RegisterTools(ToolList),
    ToolsUpdated(ToolList),
    ToolStarted {
        request_id: String,
    },
    Progress {
        request_id: String,
        progress: f64,
        #[ts(optional)]
        total: Option<f64>,
        #[ts(optional)]
        message: Option<String>,
    },
    ToolResult {
        request_id: String,
        data: Executed,
    },
    ConfirmAction {
        confirm_id: String,
        message: String,
        #[ts(optional, type = "Record<string, unknown>")]
        requested_schema: Option<serde_json::Map<String, Value>>,
        #[ts(optional)]
        request_id: Option<String>,
        #[serde(default)]
        extensions: TabPlace,
    },
    Pong,
}

/// What the hub says in it.
#[derive(Debug, Clone, Serialize, TS, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum TypedFromHub {
    ExecuteTool {
        request_id: String,
        tool_name: String,
        #[ts(type = "Record<string, unknown>")]
        #[schemars(with = "serde_json::Map<String, Value>")]
        args: Raw,
        extensions: TabPlace,
    },
    Cancel {
        request_id: String,
        reason: String,
    },
    ConfirmResult {
        confirm_id: String,
        data: Confirmed,
    },
}

/// What a person answered, or why nobody was asked.
#[derive(Debug, Clone, Serialize, TS, JsonSchema)]
#[serde(untagged)]
pub enum Confirmed {
    Answer(Confirmation),
    Failed { error: Problem },
}

impl ToHub {
    /// Reads a message by its method. Nothing if the method is not known; a sentence if its parameters are wrong.
    pub fn read(method: &str, params: &Raw) -> Option<Result<Self, String>> {
        let read = match method {
            "browser/hello" => params.read().map(Self::Hello),
            "browser/tabs" => params.read().map(Self::Tabs),
            "browser/registerTools" => params.read().map(Self::Register),
            "browser/updateTools" => params.read().map(Self::Update),
            "browser/tabDisconnected" => params.read().map(Self::Disconnected),
            "browser/tabActivated" => params.read().map(Self::Activated),
            "browser/windowFocus" => params.read().map(Self::Focus),
            "browser/tabReplaced" => params.read().map(Self::Replaced),
            "browser/tabRemoved" => params.read().map(Self::Removed),
            "browser/toolStarted" => params.read().map(Self::Started),
            "notifications/progress" => params.read().map(Self::Progress),
            "browser/elicitConfirmation" => params.read().map(Self::Elicit),
            "browser/pong" => params.read().map(Self::Pong),
            _ => return None,
        };
        Some(read.map_err(|error| error.to_string()))
    }
}
