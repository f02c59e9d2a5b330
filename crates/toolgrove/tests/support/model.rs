//! A provider of models, scripted: it speaks both wire formats, in pieces, and keeps what it was asked.

#![allow(dead_code, clippy::unwrap_used, reason = "each test binary uses a part of it; a test may panic")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

/// Longer than anything here takes.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) url: String,
    inner: Arc<Inner>,
}

struct Inner {
    script: Mutex<VecDeque<Reply>>,
    seen: Mutex<Vec<Value>>,
    /// Lets a reply go on that waits.
    go_on: Semaphore,
    /// Told when somebody hangs up on a reply that waits.
    hung_up: Arc<Notify>,
}

/// What it answers next; when nothing is left, `ok`.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// These pieces.
    Text(Vec<&'static str>),
    /// These pieces, and then nothing until the test says so.
    Wait(Vec<&'static str>),
    /// A wish for a tool, its arguments in pieces.
    Tool(&'static str, Vec<&'static str>),
    /// So many characters.
    Long(usize),
    /// An answer of another status, with headers.
    Status(u16, &'static [(&'static str, &'static str)]),
    /// An error in the middle of the stream.
    Breaks(&'static str),
    /// A stream that ends too early.
    Cut(&'static str),
    /// What is made of what it was asked.
    From(fn(&Value) -> Reply),
}

impl Model {
    pub(crate) async fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inner = Arc::new(Inner {
            script: Mutex::new(script.into_iter().collect()),
            seen: Mutex::default(),
            go_on: Semaphore::new(0),
            hung_up: Arc::default(),
        });
        let router = Router::new().fallback(answer).with_state(inner.clone());
        toolgrove_core::task::spawn("model", async move { axum::serve(listener, router).await.unwrap() });
        Self { url, inner }
    }

    /// The section of a `toolgrove.toml` that names it.
    pub(crate) fn config(&self, kind: &str) -> String {
        format!("[provider.scripted]\nkind = \"{kind}\"\nurl = \"{}/v1\"\n", self.url)
    }

    pub(crate) fn push(&self, reply: Reply) {
        self.inner.script.lock().unwrap().push_back(reply);
    }

    /// The bodies of what it was asked.
    pub(crate) fn seen(&self) -> Vec<Value> {
        self.inner.seen.lock().unwrap().clone()
    }

    pub(crate) fn go_on(&self) {
        self.let_go(1);
    }

    /// Lets so many replies go on.
    pub(crate) fn let_go(&self, count: usize) {
        self.inner.go_on.add_permits(count);
    }

    pub(crate) async fn hung_up(&self) {
        tokio::time::timeout(PATIENCE, self.inner.hung_up.notified()).await.expect("it hangs up");
    }
}

/// Tells that a stream was dropped before its end.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

async fn answer(State(inner): State<Arc<Inner>>, request: Request<Body>) -> Response {
    let is_anthropic = request.uri().path().ends_with("/messages");
    assert!(is_anthropic || request.uri().path().ends_with("/chat/completions"), "{}", request.uri());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let reply = inner.script.lock().unwrap().pop_front().unwrap_or(Reply::Text(vec!["ok"]));
    let reply = if let Reply::From(make) = reply { make(&asked) } else { reply };
    inner.seen.lock().unwrap().push(asked);
    if let Reply::Status(status, headers) = reply {
        let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let body = json!({ "error": { "type": "x", "message": format!("scripted {status}") } });
        return response.body(Body::from(body.to_string())).unwrap();
    }
    let waits = matches!(reply, Reply::Wait(_));
    let frames = if is_anthropic { anthropic(&reply) } else { openai(&reply) };
    let count = frames.len();
    let end = if waits { count - 2 } else { count };
    let tail: Vec<Bytes> = frames[end..].to_vec();
    let first = stream::iter(frames.into_iter().take(end));
    let held = inner.clone();
    let rest = stream::once(async move {
        if !waits {
            return Bytes::new();
        }
        let dropped = Dropped(held.hung_up.clone());
        held.go_on.acquire().await.unwrap().forget();
        std::mem::forget(dropped);
        tail.concat().into()
    });
    // Piece by piece, with a breath between: each is a read of its own.
    let pieces = first.then(|it| async {
        tokio::task::yield_now().await;
        it
    });
    let body = Body::from_stream(pieces.chain(rest).map(Ok::<_, std::convert::Infallible>));
    Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
}

fn openai(reply: &Reply) -> Vec<Bytes> {
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [choice], "usage": null,
        });
        Bytes::from(format!("data: {chunk}\n\n"))
    };
    let usage = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
        "usage": { "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 },
    });
    let mut frames = vec![chunk(json!({ "role": "assistant", "content": "" }), None)];
    let mut finish = "stop";
    match reply {
        Reply::Text(pieces) | Reply::Wait(pieces) => {
            frames.extend(pieces.iter().map(|it| chunk(json!({ "content": it }), None)));
        }
        Reply::Tool(name, pieces) => {
            let call = json!([{ "index": 0, "id": "call_1", "type": "function", "function": { "name": name, "arguments": "" } }]);
            frames.push(chunk(json!({ "tool_calls": call }), None));
            for piece in pieces {
                let more = json!([{ "index": 0, "function": { "arguments": piece } }]);
                frames.push(chunk(json!({ "tool_calls": more }), None));
            }
            finish = "tool_calls";
        }
        Reply::Long(count) => {
            frames.extend((0..count / 1000).map(|_| chunk(json!({ "content": "x".repeat(1000) }), None)));
        }
        Reply::Breaks(text) => {
            frames.push(chunk(json!({ "content": "half" }), None));
            frames.push(Bytes::from(format!("data: {}\n\n", json!({ "error": { "message": text } }))));
            return frames;
        }
        Reply::Cut(text) => {
            frames.push(chunk(json!({ "content": text }), None));
            return frames;
        }
        Reply::Status(..) | Reply::From(_) => {}
    }
    frames.push(chunk(json!({}), Some(finish)));
    frames.push(Bytes::from(format!("data: {usage}\n\ndata: [DONE]\n\n")));
    frames
}

fn anthropic(reply: &Reply) -> Vec<Bytes> {
    let event = |name: &str, mut data: Value| {
        data["type"] = name.into();
        Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
    };
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null,
        "stop_sequence": null, "usage": { "input_tokens": 11, "output_tokens": 1 },
    });
    let mut frames = vec![event("message_start", json!({ "message": message })), event("ping", json!({}))];
    let text = |piece: &str| {
        event("content_block_delta", json!({ "index": 0, "delta": { "type": "text_delta", "text": piece } }))
    };
    let begin =
        event("content_block_start", json!({ "index": 0, "content_block": { "type": "text", "text": "" } }));
    let mut stop = "end_turn";
    match reply {
        Reply::Text(pieces) | Reply::Wait(pieces) => {
            frames.push(begin);
            frames.extend(pieces.iter().map(|it| text(it)));
            frames.push(event("content_block_stop", json!({ "index": 0 })));
        }
        Reply::Tool(name, pieces) => {
            let block = json!({ "type": "tool_use", "id": "toolu_1", "name": name, "input": {} });
            frames.push(event("content_block_start", json!({ "index": 0, "content_block": block })));
            for piece in pieces {
                let delta = json!({ "type": "input_json_delta", "partial_json": piece });
                frames.push(event("content_block_delta", json!({ "index": 0, "delta": delta })));
            }
            frames.push(event("content_block_stop", json!({ "index": 0 })));
            stop = "tool_use";
        }
        Reply::Long(count) => {
            frames.push(begin);
            frames.extend((0..count / 1000).map(|_| text(&"x".repeat(1000))));
        }
        Reply::Breaks(said) => {
            frames.extend([begin, text("half")]);
            frames.push(event("error", json!({ "error": { "type": "overloaded_error", "message": said } })));
            return frames;
        }
        Reply::Cut(said) => {
            frames.extend([begin, text(said)]);
            return frames;
        }
        Reply::Status(..) | Reply::From(_) => {}
    }
    let delta = json!({ "stop_reason": stop, "stop_sequence": null });
    frames.push(event("message_delta", json!({ "delta": delta, "usage": { "output_tokens": 7 } })));
    frames.push(event("message_stop", json!({})));
    frames
}
