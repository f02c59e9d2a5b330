//! A scripted server behind a socket that speaks in lines, in process, for any number of connections.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixListener;
use toolgrove_core::instance::{Transport, UnixFraming, UnixReach};
use toolgrove_core::task::spawn;

use crate::witness::Record;

/// A message that came in, and over which connection.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) connection: usize,
    pub(crate) message: Value,
}

pub(crate) struct LinePeer {
    folder: tempfile::TempDir,
    pub(crate) lines: Record<Line>,
}

/// What a script says to a message, none of it addressed yet.
pub(crate) type Script = fn(&mut Conversation, &Value) -> Vec<Value>;

/// What a script remembers of one connection.
#[derive(Default)]
pub(crate) struct Conversation {
    /// Answers so far, and how many are expected, by call.
    calls: HashMap<String, (Value, usize, Vec<Value>)>,
    pub(crate) watched: Vec<Value>,
}

impl LinePeer {
    pub(crate) fn start(script: Script) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(folder.path().join("s")).expect("a socket");
        let lines = Record::new();
        let record = lines.clone();
        spawn("line-peer", async move {
            for connection in 0.. {
                let Ok((stream, _)) = listener.accept().await else { return };
                let record = record.clone();
                spawn("line-peer-connection", async move {
                    let (reader, mut writer) = stream.into_split();
                    let mut lines = BufReader::new(reader).lines();
                    let mut conversation = Conversation::default();
                    while let Ok(Some(line)) = lines.next_line().await {
                        let message: Value = serde_json::from_str(&line).expect("JSON");
                        let said = script(&mut conversation, &message);
                        record.push(Line { connection, message });
                        for said in said {
                            if said == "hang up" {
                                return;
                            }
                            let _ = writer.write_all(format!("{said}\n").as_bytes()).await;
                        }
                    }
                    record.push(Line { connection, message: json!({ "method": "eof" }) });
                });
            }
        });
        Self { folder, lines }
    }

    pub(crate) fn transport(&self) -> Transport {
        let path = self.folder.path().join("s");
        Transport::Unix(UnixReach { path, framing: UnixFraming::Lines, headers: Vec::new() })
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.lines.all().iter().filter(|it| it.message["method"] == method).count()
    }

    pub(crate) async fn wait_for(&self, method: &str) -> Line {
        self.lines.wait_for(method, |it| it.message["method"] == method).await
    }

    /// The answer to one of our questions.
    pub(crate) async fn answer(&self, id: &str) -> Value {
        let found =
            self.lines.wait_for(id, |it| it.message["id"] == id && it.message.get("method").is_none());
        found.await.message
    }
}

pub(crate) fn said(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

pub(crate) fn result(message: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })
}

/// A legacy server whose tool `ask` asks what its arguments say and returns what it was told.
pub(crate) fn asking(conversation: &mut Conversation, message: &Value) -> Vec<Value> {
    let Some(method) = message["method"].as_str() else { return told(conversation, message) };
    let arguments = &message["params"]["arguments"];
    match method {
        "server/discover" => {
            let error = json!({ "code": -32601, "message": "no" });
            vec![json!({ "jsonrpc": "2.0", "id": message["id"], "error": error })]
        }
        "initialize" => {
            let capabilities = json!({ "tools": {}, "resources": { "subscribe": true } });
            vec![result(message, json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities }))]
        }
        "resources/subscribe" => {
            conversation.watched.push(message["params"]["uri"].clone());
            vec![result(message, json!({}))]
        }
        "resources/unsubscribe" => {
            conversation.watched.retain(|it| *it != message["params"]["uri"]);
            vec![result(message, json!({}))]
        }
        "tools/call" if message["params"]["name"] == "touch" => {
            let mut said: Vec<_> = conversation
                .watched
                .iter()
                .map(|it| said("notifications/resources/updated", json!({ "uri": it })))
                .collect();
            said.push(result(message, json!({})));
            said
        }
        "tools/call" if message["params"]["name"] == "crash" => vec![json!("hang up")],
        "tools/call" if message["params"]["name"] == "ask" => {
            let asks = arguments["asks"].as_array().cloned().unwrap_or_default();
            let call = message["id"].to_string();
            let mut said = Vec::new();
            for (place, ask) in asks.iter().enumerate() {
                let id = format!("{call}/{place}");
                said.push(json!({ "jsonrpc": "2.0", "id": id, "method": ask[0], "params": ask[1] }));
            }
            conversation.calls.insert(call, (message["id"].clone(), asks.len(), Vec::new()));
            said.extend(arguments["then"].as_array().cloned().unwrap_or_default());
            said
        }
        _ if message["id"].is_null() => Vec::new(),
        _ => vec![result(message, json!({ "echo": arguments }))],
    }
}

fn told(conversation: &mut Conversation, message: &Value) -> Vec<Value> {
    let id = message["id"].as_str().unwrap_or_default();
    let Some((call, _)) = id.split_once('/') else { return Vec::new() };
    let Some((call, expected, answers)) = conversation.calls.get_mut(call) else { return Vec::new() };
    let mut answer = message.clone();
    answer.as_object_mut().expect("a message").remove("jsonrpc");
    answers.push(answer);
    if answers.len() < *expected {
        return Vec::new();
    }
    answers.sort_by_key(|it| it["id"].to_string());
    vec![json!({ "jsonrpc": "2.0", "id": call, "result": { "answers": answers } })]
}
