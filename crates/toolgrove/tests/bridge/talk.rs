//! Clients written by hand, one for each era: every message they send and hear is in the test's hands.

use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use toolgrove_fixture::LEGACY;

use crate::grove::beside;
use crate::hub::{Answer, Hub, PATIENCE, Stream, command, modern_request};

pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const LATEST: &str = LEGACY[3];

/// Everything a client can be asked.
pub(crate) fn everything() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} })
}

static NEXT: AtomicU64 = AtomicU64::new(100);

/// A modern client: each request stands alone and declares what it can be asked.
pub(crate) struct Modern<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) path: String,
    pub(crate) capabilities: Value,
}

impl<'a> Modern<'a> {
    pub(crate) fn new(hub: &'a Hub, capabilities: Value) -> Self {
        Self { hub, path: "/mcp".into(), capabilities }
    }

    pub(crate) fn at(hub: &'a Hub, path: &str, capabilities: Value) -> Self {
        Self { hub, path: path.into(), capabilities }
    }

    fn request(&self, method: &str, mut params: Value) -> (Vec<(&'static str, String)>, Value) {
        params["_meta"][CAPABILITIES] = self.capabilities.clone();
        let (headers, mut body) = modern_request(method, params);
        body["id"] = NEXT.fetch_add(1, Ordering::Relaxed).into();
        (headers, body)
    }

    pub(crate) async fn send(&self, method: &str, params: Value) -> Answer {
        self.open(method, params).await.rest().await
    }

    pub(crate) async fn open(&self, method: &str, params: Value) -> Stream {
        let (headers, body) = self.request(method, params);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.hub.open(Method::POST, &self.path, &headers, body.to_string()).await
    }

    /// A result or an error.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let message = self.send(method, params).await.json();
        message.get("result").or(message.get("error")).cloned().unwrap_or(message)
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// The same call again, with answers and the state that came with the questions.
    pub(crate) async fn retry(&self, tool: &str, arguments: Value, asked: &Value, answers: Value) -> Value {
        self.ask("tools/call", retry(tool, arguments, asked, answers)).await
    }
}

/// The parameters of a retry.
pub(crate) fn retry(tool: &str, arguments: Value, asked: &Value, answers: Value) -> Value {
    let mut params = json!({ "name": tool, "arguments": arguments, "inputResponses": answers });
    if let Some(state) = asked.get("requestState") {
        params["requestState"] = state.clone();
    }
    params
}

/// The keys of the questions in a result.
#[track_caller]
pub(crate) fn keys(asked: &Value) -> Vec<String> {
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let mut keys: Vec<_> = asked["inputRequests"].as_object().unwrap().keys().cloned().collect();
    keys.sort();
    keys
}

pub(crate) fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

pub(crate) fn sampled(text: &str) -> Value {
    json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": text } })
}

/// The doors of the legacy era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Http,
    Sse,
    Stdio,
}

pub(crate) const DOORS: [Door; 3] = [Door::Http, Door::Sse, Door::Stdio];

/// A legacy client at any of its doors. What it hears comes in one row, whatever brought it.
pub(crate) struct Legacy<'a> {
    out: Out<'a>,
    heard: mpsc::UnboundedReceiver<Value>,
    tx: mpsc::UnboundedSender<Value>,
    pub(crate) initialized: Value,
    streams: Vec<AbortHandle>,
    /// Called with each question; gives the result, or an error as `{"error": …}`.
    answer: fn(&Value) -> Value,
}

enum Out<'a> {
    Http { hub: &'a Hub, path: String, session: Option<String> },
    Sse { hub: &'a Hub, path: String },
    Stdio { input: ChildStdin, _child: Child },
}

/// What came of one request.
#[derive(Debug)]
pub(crate) struct Heard {
    /// The whole answer.
    pub(crate) message: Value,
    pub(crate) questions: Vec<Value>,
    pub(crate) notes: Vec<Value>,
}

impl Heard {
    /// The result or the error.
    pub(crate) fn outcome(&self) -> &Value {
        self.message.get("result").or(self.message.get("error")).unwrap_or(&self.message)
    }

    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        crate::grove::text(self.outcome())
    }

    /// The methods of the questions, in their order by name.
    pub(crate) fn asked(&self) -> Vec<&str> {
        let mut asked: Vec<_> = self.questions.iter().map(|it| it["method"].as_str().unwrap()).collect();
        asked.sort_unstable();
        asked
    }
}

impl<'a> Legacy<'a> {
    pub(crate) async fn open(
        hub: &'a Hub,
        door: Door,
        version: &str,
        capabilities: Value,
        answer: fn(&Value) -> Value,
    ) -> Self {
        Self::connect(hub, door, "/mcp", version, capabilities, answer).await
    }

    /// A client over Streamable HTTP at any endpoint.
    pub(crate) async fn at(
        hub: &'a Hub,
        path: &str,
        version: &str,
        capabilities: Value,
        answer: fn(&Value) -> Value,
    ) -> Self {
        Self::connect(hub, Door::Http, path, version, capabilities, answer).await
    }

    async fn connect(
        hub: &'a Hub,
        door: Door,
        path: &str,
        version: &str,
        capabilities: Value,
        answer: fn(&Value) -> Value,
    ) -> Self {
        let (tx, heard) = mpsc::unbounded_channel();
        let mut streams = Vec::new();
        let out = match door {
            Door::Http => Out::Http { hub, path: path.into(), session: None },
            Door::Sse => {
                let mut stream = hub.open(Method::GET, "/sse", &[("accept", "text/event-stream")], "").await;
                let path = stream.next_data().await.expect("an endpoint");
                streams.push(pump(stream, tx.clone()));
                Out::Sse { hub, path }
            }
            Door::Stdio => {
                let mut child = command(hub.dir.path())
                    .arg("stdio")
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .kill_on_drop(true)
                    .spawn()
                    .unwrap();
                let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
                let tx = tx.clone();
                let reading = beside(async move {
                    while let Ok(Some(line)) = lines.next_line().await {
                        let _ = tx.send(serde_json::from_str(&line).unwrap());
                    }
                });
                streams.push(reading.abort_handle());
                Out::Stdio { input: child.stdin.take().unwrap(), _child: child }
            }
        };
        let mut client = Self { out, heard, tx, initialized: Value::Null, streams, answer };
        let hello = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": { "name": "t", "version": "1" } });
        client.initialized = client.request("initialize", hello).await.message["result"].clone();
        assert_eq!(client.initialized["protocolVersion"], version);
        client.notify("notifications/initialized", json!({})).await;
        client
    }

    /// Sends one message; what it brings is heard later.
    pub(crate) async fn send(&mut self, message: Value) {
        match &mut self.out {
            Out::Stdio { input, .. } => {
                input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
            }
            Out::Sse { hub, path } => {
                let answer = hub
                    .ask(Method::POST, path, &[("content-type", "application/json")], message.to_string())
                    .await;
                assert_eq!(answer.status, 202, "{}", answer.text());
            }
            Out::Http { hub, path, session } => {
                let mut headers = vec![
                    ("content-type", "application/json"),
                    ("accept", "application/json, text/event-stream"),
                ];
                if let Some(session) = session {
                    headers.push(("mcp-session-id", session.as_str()));
                }
                let stream = hub.open(Method::POST, path, &headers, message.to_string()).await;
                if session.is_none() {
                    *session = Some(stream.headers["mcp-session-id"].to_str().unwrap().to_owned());
                }
                if message.get("id").is_none() || message.get("method").is_none() {
                    assert_eq!(stream.status, 202);
                    return;
                }
                let tx = self.tx.clone();
                self.streams.push(pump(stream, tx));
            }
        }
    }

    /// Sends whatever it is. What comes of it is heard later; over Streamable HTTP it is told how much that is, if
    /// it is told at all.
    pub(crate) async fn send_text(&mut self, text: &str) -> Option<usize> {
        let json = ("content-type", "application/json");
        match &mut self.out {
            Out::Stdio { input, .. } => {
                input.write_all(format!("{}\n", text.replace('\n', " ")).as_bytes()).await.unwrap();
                None
            }
            Out::Sse { hub, path } => {
                let answer = hub.ask(Method::POST, path, &[json], text.to_owned()).await;
                assert_eq!(answer.status, 202, "{}", answer.text());
                None
            }
            Out::Http { hub, path, session } => {
                let mut headers = vec![json, ("accept", "application/json, text/event-stream")];
                headers.extend(session.as_deref().map(|it| ("mcp-session-id", it)));
                let stream = hub.open(Method::POST, path, &headers, text.to_owned()).await;
                if stream.is_events() {
                    self.streams.push(pump(stream, self.tx.clone()));
                    return None;
                }
                let messages = stream.rest().await.messages();
                let count = messages.len();
                for message in messages {
                    let _ = self.tx.send(message);
                }
                Some(count)
            }
        }
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Starts to hear what is said outside of requests. Only Streamable HTTP needs it.
    pub(crate) async fn hear(&mut self) {
        if let Out::Http { hub, path, session: Some(session) } = &self.out {
            let stream = hub
                .open(Method::GET, path, &[("accept", "text/event-stream"), ("mcp-session-id", session)], "")
                .await;
            self.streams.push(pump(stream, self.tx.clone()));
        }
    }

    pub(crate) async fn next(&mut self) -> Value {
        tokio::time::timeout(PATIENCE, self.heard.recv()).await.expect("the hub says something").unwrap()
    }

    /// Whatever is there without waiting long.
    pub(crate) async fn next_within(&mut self, time: Duration) -> Option<Value> {
        tokio::time::timeout(time, self.heard.recv()).await.ok().flatten()
    }

    /// The next message with this method.
    pub(crate) async fn wait_for(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().await;
            if message["method"] == method {
                return message;
            }
        }
    }

    pub(crate) async fn start(&mut self, method: &str, params: Value) -> u64 {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// One request to its end; questions are answered on the way.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Heard {
        let id = self.start(method, params).await;
        self.finish(id).await
    }

    pub(crate) async fn finish(&mut self, id: u64) -> Heard {
        let (mut questions, mut notes) = (Vec::new(), Vec::new());
        loop {
            let message = self.next().await;
            match (message.get("id"), message.get("method")) {
                (Some(_), Some(_)) => {
                    self.reply(&message).await;
                    questions.push(message);
                }
                (None, Some(_)) => notes.push(message),
                (Some(it), None) if *it == json!(id) => return Heard { message, questions, notes },
                _ => panic!("nobody asked for {message}"),
            }
        }
    }

    /// Answers a question.
    pub(crate) async fn reply(&mut self, question: &Value) {
        let mut reply = json!({ "jsonrpc": "2.0", "id": question["id"] });
        let answer = (self.answer)(question);
        match answer.get("error") {
            Some(error) => reply["error"] = error.clone(),
            None => reply["result"] = answer,
        }
        self.send(reply).await;
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Heard {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    pub(crate) fn session(&self) -> &str {
        match &self.out {
            Out::Http { session: Some(session), .. } => session,
            _ => panic!("only Streamable HTTP has session ids"),
        }
    }
}

impl Drop for Legacy<'_> {
    fn drop(&mut self) {
        for stream in &self.streams {
            stream.abort();
        }
    }
}

/// Reads a stream to its end in the background.
fn pump(mut stream: Stream, tx: mpsc::UnboundedSender<Value>) -> AbortHandle {
    beside(async move {
        if !stream.is_events() {
            for message in stream.rest().await.messages() {
                let _ = tx.send(message);
            }
            return;
        }
        while let Some(data) = stream.next_data_ever().await {
            let _ = tx.send(serde_json::from_str(&data).unwrap());
        }
    })
    .abort_handle()
}

/// A client that answers everything it is asked.
pub(crate) fn obliging(question: &Value) -> Value {
    match question["method"].as_str().unwrap() {
        "elicitation/create" if question["params"]["mode"] == "url" => json!({ "action": "accept" }),
        "elicitation/create" => {
            let properties = question["params"]["requestedSchema"]["properties"].as_object().unwrap();
            let content = properties.iter().map(|(key, schema)| {
                let value = match schema["type"].as_str() {
                    Some("boolean") => json!(true),
                    Some("integer" | "number") => json!(7),
                    Some("array") => json!([]),
                    _ => schema["enum"].get(0).cloned().unwrap_or_else(|| format!("my {key}").into()),
                };
                (key.clone(), value)
            });
            accept(Value::Object(content.collect()))
        }
        "sampling/createMessage" => sampled("Paris"),
        "roots/list" => json!({ "roots": [{ "uri": "file:///home/me", "name": "home" }] }),
        other => panic!("what is {other}?"),
    }
}

pub(crate) fn declining(question: &Value) -> Value {
    match question["method"].as_str().unwrap() {
        "elicitation/create" => json!({ "action": "decline" }),
        _ => failing(question),
    }
}

pub(crate) fn failing(_: &Value) -> Value {
    json!({ "error": { "code": -32000, "message": "not today" } })
}
