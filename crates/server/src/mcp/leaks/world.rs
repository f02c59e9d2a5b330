//! A hub in process, clients that talk to its router without a socket, and a scripted server of both eras behind
//! sockets. The clock stands still and moves only as far as it is told to.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::time::{advance, timeout};
use toolgrove_core::instance::{EraSetting, HttpReach, Instance, Switch, Transport, UnixFraming, UnixReach};
use toolgrove_core::offer::Offer;
use toolgrove_core::task;
use tower::ServiceExt;
use uuid::Uuid;

use crate::App;
use crate::mcp::bed;

/// Waits for something. The clock moves a little whenever nothing else would.
pub(super) async fn soon<T>(future: impl Future<Output = T>) -> T {
    let ticking = task::spawn("ticking", async {
        loop {
            for _ in 0..40 {
                tokio::task::yield_now().await;
            }
            advance(Duration::from_millis(25)).await;
        }
    });
    let done = timeout(Duration::from_secs(20), future).await.expect("something comes of it");
    ticking.abort();
    done
}

/// Lets time pass, with everything that happens in it.
pub(super) async fn pass(time: Duration) {
    bed::settle().await;
    advance(time).await;
    for _ in 0..4 {
        bed::settle().await;
    }
}

pub(super) struct World {
    pub(super) app: Arc<App>,
    router: Router,
    _clock: std::sync::mpsc::Sender<()>,
}

impl World {
    /// A hub whose instances are `slug → where`.
    pub(super) async fn start(folder: &Path, servers: &[(&str, Transport)]) -> Self {
        let (app, reports) = bed::hub(&format!("sqlite:{}", folder.join("hub.db").display())).await;
        task::spawn("follow", app.hub.clone().follow(reports));
        for (number, (slug, transport)) in servers.iter().enumerate() {
            let instance = Arc::new(Instance {
                id: Uuid::from_u128(1 + number as u128),
                person: app.gate.solo().expect("one person").person,
                server: Uuid::nil(),
                slug: (*slug).to_owned(),
                server_name: (*slug).to_owned(),
                transport: transport.clone(),
                era: EraSetting::Auto,
                protocol: None,
                verdict: None,
                timeout: Duration::from_secs(30),
                hosts: toolgrove_core::net::Allowlist::Any,
                switch: Switch::On,
                phase: toolgrove_core::policy::Phase::Gamma,
                rate: None,
                revision: 1,
            });
            app.hub.put(Offer::new(instance.clone()));
            app.hub.refresh(&instance).await.unwrap_or_else(|it| panic!("{slug}: {it}"));
        }
        tokio::time::pause();
        // The clock never runs ahead while such a task is running.
        let (clock, held) = std::sync::mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || held.recv());
        Self { router: crate::app(app.clone()), app, _clock: clock }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Response<Body> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "127.0.0.1:0")
            .header("authorization", "Bearer key")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).expect("a request");
        self.router.clone().oneshot(request).await.expect("no error")
    }

    /// A modern request.
    pub(super) async fn modern(&self, method: &str, mut params: Value) -> Stream {
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        Stream::new(self.send(Method::POST, "/mcp", &headers, body.to_string()).await)
    }

    /// Opens a session of a client that can be asked.
    pub(super) async fn session(&self) -> String {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "t", "version": "1" } });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = self.send(Method::POST, "/mcp", &[], body.to_string()).await;
        answer.headers()["mcp-session-id"].to_str().expect("ASCII").to_owned()
    }

    pub(super) async fn legacy(&self, session: &str, message: Value) -> Stream {
        let headers = [("mcp-session-id", session)];
        Stream::new(self.send(Method::POST, "/mcp", &headers, message.to_string()).await)
    }

    /// The `GET` stream of a session: its own, or one that goes on after an event.
    pub(super) async fn hear(&self, session: &str, after: Option<&str>) -> Stream {
        let mut headers = vec![("mcp-session-id", session)];
        headers.extend(after.map(|it| ("last-event-id", it)));
        Stream::new(self.send(Method::GET, "/mcp", &headers, String::new()).await)
    }

    pub(super) async fn end(&self, session: &str) -> StatusCode {
        self.send(Method::DELETE, "/mcp", &[("mcp-session-id", session)], String::new()).await.status()
    }

    /// The old door: its stream, and where to post.
    pub(super) async fn old_door(&self) -> (Stream, String) {
        let mut stream = Stream::new(self.send(Method::GET, "/sse", &[], String::new()).await);
        let place = stream.event().await.expect("an endpoint");
        (stream, place.lines().find_map(|it| it.strip_prefix("data: ")).expect("a place").to_owned())
    }

    pub(super) async fn post(&self, place: &str, message: Value) -> StatusCode {
        self.send(Method::POST, place, &[], message.to_string()).await.status()
    }
}

/// What a client reads: one JSON message, or events.
pub(super) struct Stream {
    pub(super) status: StatusCode,
    body: Body,
    text: String,
    is_events: bool,
    pub(super) last_id: Option<String>,
}

impl Stream {
    fn new(response: Response<Body>) -> Self {
        let kind = response.headers().get("content-type").map(|it| it.as_bytes().to_vec());
        Self {
            status: response.status(),
            is_events: kind.is_some_and(|it| it == b"text/event-stream"),
            body: response.into_body(),
            text: String::new(),
            last_id: None,
        }
    }

    async fn event(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let rest = self.text.split_off(end + 2);
                return Some(std::mem::replace(&mut self.text, rest));
            }
            let frame = self.body.frame().await?.expect("no error");
            self.text.push_str(&String::from_utf8_lossy(frame.data_ref().expect("data")));
        }
    }

    /// The next message; none at the end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        if !self.is_events {
            let body = std::mem::take(&mut self.body).collect().await.expect("a body").to_bytes();
            return serde_json::from_slice(&body).ok();
        }
        loop {
            let event = self.event().await?;
            let field = |name: &str| event.lines().find_map(|it| it.strip_prefix(name).map(str::to_owned));
            self.last_id = field("id: ").or(self.last_id.take());
            if let Some(message) = field("data: ").and_then(|it| serde_json::from_str(&it).ok()) {
                return Some(message);
            }
        }
    }

    /// The last message.
    pub(super) async fn last(mut self) -> Value {
        let mut last = Value::Null;
        while let Some(message) = self.next().await {
            last = message;
            if !self.is_events {
                break;
            }
        }
        last
    }
}

/// A scripted server behind a socket, in lines. Its tools ask, or never end.
pub(super) struct Server {
    path: std::path::PathBuf,
    /// Rises with every restart.
    life: watch::Sender<u32>,
    pub(super) cancelled: Arc<AtomicUsize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

impl Server {
    pub(super) fn start(path: &Path, era: Era) -> Self {
        let listener = UnixListener::bind(path).expect("a socket");
        let (life, cancelled) = (watch::channel(0).0, Arc::new(AtomicUsize::new(0)));
        let (alive, count) = (life.clone(), cancelled.clone());
        task::spawn("scripted server", async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (mut life, count) = (alive.subscribe(), count.clone());
                task::spawn("scripted connection", async move {
                    tokio::select! {
                        () = serve(stream, era, &count) => {}
                        _ = life.changed() => {}
                    }
                });
            }
        });
        Self { path: path.to_owned(), life, cancelled }
    }

    pub(super) fn transport(&self) -> Transport {
        let (path, headers) = (self.path.clone(), Vec::new());
        Transport::Unix(UnixReach { path, framing: UnixFraming::Lines, headers })
    }

    /// Drops every connection and takes new ones.
    pub(super) fn restart(&self) {
        self.life.send_modify(|it| *it += 1);
    }
}

pub(super) fn http(url: &str) -> Transport {
    Transport::Http(HttpReach { url: url.parse().expect("a URL"), headers: Vec::new(), query: Vec::new() })
}

async fn serve(stream: UnixStream, era: Era, cancelled: &AtomicUsize) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).expect("JSON");
        if message["method"] == "notifications/cancelled" {
            cancelled.fetch_add(1, Ordering::SeqCst);
        }
        for said in answer(era, &message) {
            if writer.write_all(format!("{said}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

fn answer(era: Era, message: &Value) -> Vec<Value> {
    let result = |result: Value| vec![json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })];
    let form = json!({ "mode": "form", "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } });
    let tool = message["params"]["name"].as_str().unwrap_or_default();
    let text = json!({ "content": [{ "type": "text", "text": "done" }] });
    match (message["method"].as_str(), era) {
        // An answer to a question, which carries the id of its call. What it belongs to ends, or goes on for ever.
        (None, Era::Legacy) => match message["id"].as_str().and_then(|it| it.split_once(':')) {
            Some(("ask", call)) => {
                vec![
                    json!({ "jsonrpc": "2.0", "id": call.parse::<u64>().expect("a number"), "result": text }),
                ]
            }
            _ => Vec::new(),
        },
        (Some("server/discover"), Era::Modern) => result(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": { "listChanged": true } }, "ttlMs": 0, "cacheScope": "private",
        })),
        (Some("initialize"), Era::Legacy) => result(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": { "listChanged": true }, "resources": { "subscribe": true } },
            "serverInfo": { "name": "scripted", "version": "1" },
        })),
        (Some("subscriptions/listen"), Era::Modern) => {
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": message["id"] });
            let params = json!({ "_meta": meta, "notifications": message["params"]["notifications"] });
            vec![
                json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params }),
            ]
        }
        (Some("tools/list"), _) => {
            let tools: Vec<_> = ["ask", "ask-and-hang", "hang"]
                .iter()
                .map(|it| json!({ "name": it, "inputSchema": { "type": "object" } }))
                .collect();
            result(json!({ "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private" }))
        }
        (Some("resources/list"), _) => result(json!({ "resources": [{ "uri": "a://b", "name": "b" }] })),
        (Some("resources/subscribe" | "resources/unsubscribe"), _) => result(json!({})),
        (Some("tools/call"), _) if tool == "hang" => Vec::new(),
        (Some("tools/call"), Era::Legacy) => {
            let id = format!("{tool}:{}", message["id"]);
            vec![json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": form })]
        }
        (Some("tools/call"), Era::Modern) if message["params"]["inputResponses"].is_null() => {
            let ask = json!({ "method": "elicitation/create", "params": form });
            result(
                json!({ "resultType": "input_required", "requestState": "s", "inputRequests": { "k": ask } }),
            )
        }
        (Some("tools/call"), Era::Modern) if tool == "ask-and-hang" => Vec::new(),
        (Some("tools/call"), Era::Modern) => {
            result(json!({ "resultType": "complete", "content": text["content"] }))
        }
        (Some(_), _) if message["id"].is_null() => Vec::new(),
        (Some(_), _) => {
            let error = json!({ "code": -32601, "message": "no" });
            vec![json!({ "jsonrpc": "2.0", "id": message["id"], "error": error })]
        }
        (None, Era::Modern) => Vec::new(),
    }
}
