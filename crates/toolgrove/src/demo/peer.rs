//! A server's end of stdio: one JSON-RPC message per line, calls beside each other, questions to the client.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use toolgrove_core::task;

use super::{Show, files};

const VERSION: &str = "2025-11-25";
/// How long the sleepy one takes to get up.
const SLEEP: Duration = Duration::from_secs(4);

/// Why a request has no result.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

impl Fault {
    pub(super) fn unknown(what: &str, name: &str) -> Self {
        Self { code: -32602, message: format!("no {what} is called `{name}`"), data: None }
    }
}

/// The client on the other side, and what this server remembers.
pub(super) struct Peer {
    show: Show,
    out: mpsc::UnboundedSender<Value>,
    asked: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    running: Mutex<HashMap<String, AbortHandle>>,
    next: AtomicU64,
    can_be_asked: AtomicBool,
    /// How often something was called that remembers that.
    pub(super) count: AtomicU64,
    pub(super) folder: Mutex<files::Folder>,
}

/// One call.
pub(super) struct Job {
    pub(super) peer: Arc<Peer>,
    token: Option<Value>,
}

/// Serves until stdin ends.
pub(super) async fn serve(show: Show) -> ExitCode {
    if show == Show::Broken {
        let _ = tokio::io::stderr().write_all(b"cannot read `settings.json`: no such file\n").await;
        return ExitCode::FAILURE;
    }
    speak(show, tokio::io::stdin(), tokio::io::stdout()).await;
    ExitCode::SUCCESS
}

pub(super) async fn speak(
    show: Show,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin + Send + 'static,
) {
    let (out, mut lines) = mpsc::unbounded_channel::<Value>();
    let writer = task::spawn("write", async move {
        while let Some(message) = lines.recv().await {
            let line = format!("{message}\n");
            if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
                return;
            }
        }
    });
    let peer = Arc::new(Peer {
        show,
        out,
        asked: Mutex::default(),
        running: Mutex::default(),
        next: AtomicU64::new(1),
        can_be_asked: AtomicBool::new(false),
        count: AtomicU64::new(0),
        folder: Mutex::default(),
    });
    let mut lines = BufReader::new(input).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(message) = serde_json::from_str::<Value>(&line) {
            peer.take(message);
        }
    }
    for (_, running) in lock(&peer.running).drain() {
        running.abort();
    }
    drop(peer);
    let _ = writer.await;
}

impl Peer {
    fn take(self: &Arc<Self>, message: Value) {
        let id = message.get("id").cloned();
        match (message.get("method").and_then(Value::as_str), id) {
            (Some(method), Some(id)) => {
                let (peer, method) = (self.clone(), method.to_owned());
                let params = message.get("params").cloned().unwrap_or_default();
                let key = id.to_string();
                let ended = key.clone();
                let handle = task::spawn("answer", async move {
                    let answer = match peer.answer(&method, &params).await {
                        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                        Err(fault) => {
                            let mut error = json!({ "code": fault.code, "message": fault.message });
                            if let Some(data) = fault.data {
                                error["data"] = data;
                            }
                            json!({ "jsonrpc": "2.0", "id": id, "error": error })
                        }
                    };
                    lock(&peer.running).remove(&ended);
                    peer.send(answer);
                });
                lock(&self.running).insert(key, handle.abort_handle());
            }
            (Some("notifications/cancelled"), None) => {
                let key = message["params"]["requestId"].to_string();
                if let Some(running) = lock(&self.running).remove(&key) {
                    running.abort();
                }
            }
            (None, Some(id)) => {
                let asked = id.as_u64().and_then(|it| lock(&self.asked).remove(&it));
                if let Some(reply) = asked {
                    // A call that was cancelled has nobody waiting.
                    let _ = reply.send(message.get("result").cloned().unwrap_or_default());
                }
            }
            (_, None) => {}
        }
    }

    async fn answer(self: &Arc<Self>, method: &str, params: &Value) -> Result<Value, Fault> {
        let name = params["name"].as_str().unwrap_or_default();
        let args = &params["arguments"];
        Ok(match method {
            "initialize" => {
                let can = params["capabilities"].get("elicitation").is_some();
                self.can_be_asked.store(can, Ordering::Relaxed);
                if self.show == Show::Sleepy {
                    tokio::time::sleep(SLEEP).await;
                }
                let (info, instructions) = self.show.about();
                let asked = params["protocolVersion"].as_str().unwrap_or(VERSION);
                let version = if asked < VERSION { asked } else { VERSION };
                json!({ "protocolVersion": version, "serverInfo": info, "instructions": instructions,
                    "capabilities": { "tools": { "listChanged": true }, "prompts": {},
                        "resources": { "listChanged": true } } })
            }
            "ping" => json!({}),
            "tools/list" => json!({ "tools": self.show.tools(self) }),
            "tools/call" => {
                let job = Job { peer: self.clone(), token: params["_meta"].get("progressToken").cloned() };
                self.show.call(&job, name, args).await?
            }
            "prompts/list" => json!({ "prompts": self.show.prompts() }),
            "prompts/get" => self.show.prompt(name, args)?,
            "resources/list" => json!({ "resources": self.show.resources(self) }),
            "resources/templates/list" => json!({ "resourceTemplates": self.show.templates() }),
            "resources/read" => self.show.resource(self, params["uri"].as_str().unwrap_or_default())?,
            other => {
                return Err(Fault {
                    code: -32601,
                    message: format!("`{other}` is not known here"),
                    data: None,
                });
            }
        })
    }

    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn send(&self, message: Value) {
        // The client has gone: so will we.
        let _ = self.out.send(message);
    }
}

impl Job {
    pub(super) fn progress(&self, progress: f64, total: f64, message: &str) {
        if let Some(token) = &self.token {
            let params =
                json!({ "progressToken": token, "progress": progress, "total": total, "message": message });
            self.peer.notify("notifications/progress", &params);
        }
    }

    /// Asks the person behind the client to fill in a form; none if nobody can be asked.
    pub(super) async fn ask(&self, message: &str, schema: &Value) -> Option<Value> {
        if !self.peer.can_be_asked.load(Ordering::Relaxed) {
            return None;
        }
        let id = self.peer.next.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        lock(&self.peer.asked).insert(id, reply);
        self.peer.send(json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create",
            "params": { "mode": "form", "message": message, "requestedSchema": schema } }));
        answer.await.ok()
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
