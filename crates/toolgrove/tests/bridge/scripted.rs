//! A legacy server over Streamable HTTP that does in one call what a test tells it to: ask, report, answer.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Json;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::grove::beside;

/// One step of a call.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Asks all of these at once and waits for every answer.
    Ask(Vec<Value>),
    /// Reports progress to the token the call came with.
    Progress(u64),
    /// Reports progress this often, beginning so many milliseconds from now, while the next steps are taken.
    Beside(u64, u64),
    /// Never goes on.
    Hang,
}

pub(crate) struct Scripted {
    pub(crate) url: String,
    /// Every answer to a question and every cancel, in the order in which they came.
    pub(crate) told: Arc<Mutex<Vec<Value>>>,
}

struct Desk {
    steps: Vec<Step>,
    waiting: Mutex<HashMap<String, oneshot::Sender<Value>>>,
    told: Arc<Mutex<Vec<Value>>>,
}

/// An elicitation with one field.
pub(crate) fn question(message: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "it": { "type": "string" } } });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

impl Scripted {
    /// Starts a server with the one tool `run`, which takes these steps and then says how many answers it got.
    pub(crate) async fn start(steps: Vec<Step>) -> Self {
        let told = Arc::default();
        let desk = Arc::new(Desk { steps, waiting: Mutex::default(), told: Arc::clone(&told) });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let reply = move |Json(message): Json<Value>| std::future::ready(answer(desk.clone(), message));
        beside(async move {
            axum::serve(listener, axum::Router::new().route("/mcp", post(reply))).await.unwrap();
        });
        Self { url, told }
    }

    pub(crate) fn told(&self) -> Vec<Value> {
        self.told.lock().unwrap().clone()
    }
}

fn answer(desk: Arc<Desk>, message: Value) -> Response {
    let id = message["id"].clone();
    let Some(method) = message["method"].as_str() else {
        desk.told.lock().unwrap().push(message.clone());
        if let Some(waiting) = desk.waiting.lock().unwrap().remove(&id.to_string()) {
            let _ = waiting.send(message);
        }
        return StatusCode::ACCEPTED.into_response();
    };
    let result = match method {
        "initialize" => json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "scripted", "version": "1" } }),
        "tools/list" => json!({ "tools": [{ "name": "run", "inputSchema": { "type": "object" } }] }),
        "tools/call" => return events(desk, id, message["params"]["_meta"]["progressToken"].clone()),
        _ if id.is_null() => {
            if method == "notifications/cancelled" {
                desk.told.lock().unwrap().push(message);
            }
            return StatusCode::ACCEPTED.into_response();
        }
        _ => {
            return Json(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no" } }))
                .into_response();
        }
    };
    Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })).into_response()
}

fn events(desk: Arc<Desk>, id: Value, token: Value) -> Response {
    let (tx, rx) = mpsc::unbounded_channel::<Value>();
    beside(async move {
        let mut answers = 0;
        for (number, step) in desk.steps.iter().enumerate() {
            match step {
                Step::Progress(value) if !token.is_null() => {
                    let params = json!({ "progressToken": token, "progress": value });
                    let _ = tx.send(
                        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }),
                    );
                }
                Step::Progress(_) => {}
                Step::Hang => std::future::pending().await,
                Step::Beside(ms, times) => {
                    let (tx, token, told) = (tx.clone(), token.clone(), desk.told.clone());
                    let (ms, times) = (*ms, *times);
                    beside(async move {
                        tokio::time::sleep(std::time::Duration::from_millis(100 + ms)).await;
                        for value in 0..times {
                            let params = json!({ "progressToken": token, "progress": value });
                            let _ = tx.send(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }));
                        }
                        tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
                        told.lock().unwrap().push(json!("beside"));
                    });
                }
                Step::Ask(questions) => {
                    let mut waiting = Vec::new();
                    for (place, question) in questions.iter().enumerate() {
                        let (reply, answered) = oneshot::channel();
                        let ask = format!("{id}-{number}-{place}");
                        desk.waiting.lock().unwrap().insert(json!(ask).to_string(), reply);
                        let mut request = question.clone();
                        request["jsonrpc"] = "2.0".into();
                        request["id"] = ask.into();
                        let _ = tx.send(request);
                        waiting.push(answered);
                    }
                    for answered in waiting {
                        let answer = answered.await.unwrap();
                        answers += usize::from(answer["result"]["action"] == "accept");
                    }
                }
            }
        }
        let result = json!({ "content": [{ "type": "text", "text": format!("{answers} accepted") }] });
        let _ = tx.send(json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    });
    let events = stream::unfold(rx, |mut rx| async move { rx.recv().await.map(|it| (it, rx)) });
    let events = events.map(|it| Ok::<_, Infallible>(Bytes::from(format!("event: message\ndata: {it}\n\n"))));
    ([("content-type", "text/event-stream")], Body::from_stream(events)).into_response()
}
