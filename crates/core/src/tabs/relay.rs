//! The words of `webmcp-local-relay`, protocol `webmcp.v1`: pages that embed it connect by themselves.

use serde_json::{Value, json};
use toolgrove_wire::{Edit, Raw};

/// What a page may offer as subprotocols, and what it is answered.
pub const SUBPROTOCOL: &str = "webmcp.v1";
/// Relays among themselves speak this; a browser never does.
pub const RELAY_SUBPROTOCOL: &str = "webmcp-relay.v1";
/// Pages look for a relay here.
pub const PORTS: std::ops::RangeInclusive<u16> = 9333..=9348;

const HINTS: [&str; 4] = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/// What a page sends.
#[derive(Debug, Clone)]
pub enum FromPage {
    Hello(Greeting),
    /// The whole list; a later one replaces it.
    Tools(Vec<Raw>),
    Result {
        call: String,
        result: Raw,
    },
    Pong,
}

/// Who a page says it is. What is left out keeps its value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Greeting {
    pub tab: String,
    pub origin: Option<String>,
    pub url: Option<String>,
    pub title: Option<String>,
}

impl FromPage {
    /// Reads a message, or says what is wrong with it.
    pub fn read(message: &Raw) -> Result<Self, String> {
        let word = message.get_text("type").ok_or("it has no `type`")?;
        let text = |key: &str| {
            message.get_text(key).filter(|it| !it.is_empty()).ok_or_else(|| format!("it has no `{key}`"))
        };
        match word.as_str() {
            "hello" => Ok(Self::Hello(Greeting {
                tab: text("tabId")?,
                origin: message.get_text("origin"),
                url: message.get_text("url"),
                title: message.get_text("title"),
            })),
            "tools/list" | "tools/changed" => {
                let tools = message.get("tools").filter(Raw::is_array).ok_or("it has no `tools`")?;
                let mut read = Vec::new();
                for tool in tools.items() {
                    read.extend(read_tool(&tool)?);
                }
                Ok(Self::Tools(read))
            }
            "result" => Ok(Self::Result {
                call: text("callId")?,
                result: message.get("result").ok_or("it has no `result`")?,
            }),
            "pong" => Ok(Self::Pong),
            other => Err(format!("`{other}` is no type we know")),
        }
    }
}

/// A tool with a schema; nothing if it can only be run as a task.
fn read_tool(tool: &Raw) -> Result<Option<Raw>, String> {
    let name = tool.get_text("name").filter(|it| !it.is_empty()).ok_or("a tool has no name")?;
    if let Some(annotations) = tool.get("annotations").filter(|it| !it.is_null()) {
        let is_wrong = |it: &&&str| annotations.get(it).is_some_and(|it| it.bool().is_none());
        if let Some(hint) = HINTS.iter().find(is_wrong) {
            return Err(format!("`{hint}` of `{name}` is neither true nor false"));
        }
    }
    if tool.get("execution").and_then(|it| it.get_text("taskSupport")).as_deref() == Some("required") {
        tracing::info!(target: "tabs", tool = name, "a tool that only runs as a task was left out");
        return Ok(None);
    }
    if tool.get("inputSchema").is_some() {
        return Ok(Some(tool.clone()));
    }
    let schema = Raw::of(&json!({ "type": "object", "properties": {} }));
    Ok(Some(Edit::of(tool).set("inputSchema", schema).done()))
}

/// The first word of the hub.
pub fn server_hello(instance: &str, port: u16) -> Value {
    json!({
        "type": "server-hello",
        "service": "webmcp-local-relay",
        "version": 1,
        "host": "127.0.0.1",
        "instanceId": instance,
        "port": port,
        "relayId": instance,
        "label": "Toolgrove",
    })
}

pub fn accepted() -> Value {
    json!({ "type": "hello/accepted" })
}

pub fn rejected(origin: &str) -> Value {
    json!({
        "type": "hello/rejected",
        "reason": "host-origin-not-allowed",
        "message": format!("`{origin}` is not among `tabs.allowed_origins` of this hub"),
    })
}

pub fn invoke(call: &str, tool: &str, args: &Raw) -> Value {
    json!({ "type": "invoke", "callId": call, "toolName": tool, "args": args })
}

/// What a page's result is in the words of the extension.
pub fn executed(result: &Raw) -> Raw {
    Raw::of(&json!({ "success": true, "payload": result }))
}
