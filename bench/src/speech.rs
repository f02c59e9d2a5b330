//! What the echo server says, whatever carries it: one era per process, the smallest honest server there is.
//!
//! `echo` gives its `text` back byte for byte. With `steps` it reports progress that often before it answers.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

pub(crate) const MODERN: &str = "2026-07-28";
/// The tool that says nothing of what it does: a hub may not send its calls twice.
pub(crate) const UNMARKED: &str = "echo_unmarked";
pub(crate) const LEGACY: &str = "2025-11-25";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

impl Era {
    pub(crate) const BOTH: [Self; 2] = [Self::Legacy, Self::Modern];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// What becomes of one message.
pub(crate) enum Reply {
    /// A notification: nothing is said.
    Silence,
    /// One message, with the status it has over HTTP.
    Message(u16, Bytes),
    /// Several messages, the last of which is the answer.
    Stream(Vec<Bytes>),
    /// One message on a stream that stays open.
    Open(Bytes),
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize, Default)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(default)]
    steps: u32,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/subscriptionId")]
    _subscription: Option<&'a RawValue>,
}

/// Answers one message of a client of the server that has so many tools.
pub(crate) fn answer(era: Era, tools: usize, message: &[u8]) -> Reply {
    let Ok(Message { id, method, params }) = serde_json::from_slice(message) else {
        return error(400, None, -32700, "that is no message");
    };
    let (Some(id), Some(method)) = (id, method) else { return Reply::Silence };
    let params = params.unwrap_or_default();
    let is_modern = params.meta.as_ref().is_some_and(|it| it.version.is_some());
    if is_modern != (era == Era::Modern) {
        return error(400, Some(id), -32601, "that is not the era of this server");
    }
    match method {
        "initialize" => result(id, &[&initialized().to_string()]),
        "ping" => result(id, &["{}"]),
        "server/discover" => result(id, &[&in_era(era, discovered()).to_string()]),
        "tools/list" => result(id, &[&in_era(era, json!({ "tools": list(tools) })).to_string()]),
        "tools/call" => call(era, id, &params),
        "subscriptions/listen" => Reply::Open(
            json!({
                "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": { "_meta": { "io.modelcontextprotocol/subscriptionId": id }, "notifications": { "toolsListChanged": true } },
            })
            .to_string()
            .into(),
        ),
        _ => error(200, Some(id), -32601, "no such method"),
    }
}

fn initialized() -> serde_json::Value {
    json!({
        "protocolVersion": LEGACY, "capabilities": { "tools": { "listChanged": true } }, "serverInfo": info(),
    })
}

fn discovered() -> serde_json::Value {
    json!({ "supportedVersions": [MODERN], "capabilities": { "tools": { "listChanged": true } } })
}

fn info() -> serde_json::Value {
    json!({ "name": "echo", "version": env!("CARGO_PKG_VERSION") })
}

fn in_era(era: Era, mut value: serde_json::Value) -> serde_json::Value {
    if era == Era::Modern {
        value["resultType"] = json!("complete");
        value["ttlMs"] = json!(3_600_000);
        value["cacheScope"] = json!("private");
        value["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": info() });
    }
    value
}

/// `echo`, then others like it, with the schema and the words a usual tool has. All say that they only read, but for
/// [`UNMARKED`].
fn list(tools: usize) -> Vec<serde_json::Value> {
    let name = |place: usize| match place {
        0 => "echo".to_owned(),
        1 => UNMARKED.to_owned(),
        _ => format!("echo_{place:05}"),
    };
    (0..tools)
        .map(|place| {
            json!({
                "name": name(place),
                "description": "Gives back the text it is given, unchanged, and reports progress if it is asked to.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "text": { "type": "string", "description": "What is to be given back" },
                        "steps": { "type": "integer", "minimum": 0, "description": "How often progress is reported" },
                    },
                    "required": ["text"],
                    "additionalProperties": false,
                },
                "annotations": if place == 1 { json!({}) } else { json!({ "readOnlyHint": true }) },
            })
        })
        .collect()
}

fn call(era: Era, id: &RawValue, params: &Params<'_>) -> Reply {
    let Some(Arguments { text: Some(text), steps }) = &params.arguments else {
        return error(200, Some(id), -32602, "`text` is missing");
    };
    let tail = match era {
        Era::Legacy => "",
        Era::Modern => {
            r#","resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"echo","version":"0.1.0"}}"#
        }
    };
    let content = [r#"{"content":[{"type":"text","text":"#, text.get(), "}]", tail, "}"];
    let token = params.meta.as_ref().and_then(|it| it.progress_token);
    let (Some(token), 1..) = (token, *steps) else { return result(id, &content) };
    let mut messages: Vec<Bytes> = (1..=*steps)
        .map(|step| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{step},"total":{steps}}}}}"#
            )
            .into()
        })
        .collect();
    messages.push(message(id, &content));
    Reply::Stream(messages)
}

fn result(id: &RawValue, result: &[&str]) -> Reply {
    Reply::Message(200, message(id, result))
}

/// The answer whose result consists of these parts.
fn message(id: &RawValue, result: &[&str]) -> Bytes {
    [&[r#"{"jsonrpc":"2.0","id":"#, id.get(), r#","result":"#], result, &["}"]].concat().concat().into()
}

fn error(status: u16, id: Option<&RawValue>, code: i64, message: &str) -> Reply {
    let error = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } });
    Reply::Message(status, error.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_comes_back_byte_for_byte() {
        let asked = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a\u0062\n"}}}"#;
        let Reply::Message(200, answer) = answer(Era::Legacy, 1, asked) else { panic!("one message") };
        assert_eq!(
            answer,
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"a\u0062\n"}]}}"#
        );
    }

    #[test]
    fn progress_comes_before_the_answer() {
        let asked = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"","steps":2},"_meta":{"progressToken":"t"}}}"#;
        let Reply::Stream(messages) = answer(Era::Legacy, 1, asked) else { panic!("a stream") };
        assert_eq!(messages.len(), 3);
        assert!(messages[1].windows(15).any(|it| it == br#""progress":2,"t"#));
    }
}
