//! A real hub for tests: the built binary on a port of its own, a data folder of its own, and plain HTTP to it.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test binary uses a part of it; a test may panic"
)]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Collected, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

#[path = "watch.rs"]
pub mod watch;

use self::watch::Watch;

pub const MODERN: &str = "2026-07-28";
/// Longer than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct Hub {
    pub child: Child,
    pub url: String,
    pub key: String,
    /// Searches the folder before it goes.
    watch: Watch,
    pub dir: TempDir,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// An answer, read whole.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// The JSON body, or the last message of an event stream.
    pub fn json(&self) -> Value {
        self.messages().pop().unwrap_or(Value::Null)
    }

    /// Every message: one for a JSON body, several for an event stream.
    pub fn messages(&self) -> Vec<Value> {
        let text = String::from_utf8_lossy(&self.body);
        let kind = self.headers.get("content-type").map_or("", |it| it.to_str().unwrap());
        if kind.starts_with("text/event-stream") {
            text.lines()
                .filter_map(|it| it.strip_prefix("data: "))
                .filter_map(|it| serde_json::from_str(it).ok())
                .collect()
        } else {
            serde_json::from_slice(&self.body).into_iter().collect()
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Hub {
    /// A hub without servers.
    pub async fn start() -> Self {
        Self::start_with("").await
    }

    /// A hub with this `toolgrove.toml`.
    pub async fn start_with(config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("toolgrove.toml"), config).unwrap();
        Self::start_in(dir).await
    }

    /// A hub in a folder that an earlier one may have used.
    pub async fn start_in(dir: TempDir) -> Self {
        Self::start_as(dir, |_| {}).await
    }

    /// A hub whose command is changed before it runs.
    pub async fn start_as(dir: TempDir, change: impl FnOnce(&mut Command)) -> Self {
        Self::start_at(dir, "127.0.0.1:0", change).await
    }

    /// The same at an address that an earlier one may have had.
    pub async fn start_at(dir: TempDir, address: &str, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = command(dir.path());
        command.args(["serve", "--listen", address]);
        if !is_busy() {
            command.env("TOOLGROVE_LOG", "trace");
        }
        change(&mut command);
        let log = dir.path().join("hub.log");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut out = String::new();
        let url = loop {
            let line = lines.next_line().await.unwrap();
            let Some(line) = line else {
                panic!(
                    "the hub ended: {}",
                    std::fs::read_to_string(dir.path().join("hub.log")).unwrap_or_default()
                )
            };
            out.push_str(&line);
            out.push('\n');
            if let Some(start) = line.find("http://127.0.0.1:") {
                let rest = &line[start + 17..];
                let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
                break format!("http://127.0.0.1:{port}");
            }
        };
        std::fs::write(dir.path().join("hub.out"), out).unwrap();
        keep(lines.into_inner(), dir.path().join("hub.out")).await;
        let key = std::fs::read_to_string(dir.path().join("data/key")).unwrap().trim().to_owned();
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { child, url, key, watch: Watch(dir.path().to_owned()), dir, client }
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("hub.log")).unwrap_or_default()
    }

    /// What it printed for people.
    pub fn output(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("hub.out")).unwrap_or_default()
    }

    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// A request whose answer is read piece by piece. Dropping the stream closes it.
    pub async fn open(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Stream {
        self.open_as(self.request(method, path, headers, body)).await
    }

    /// The same for a request as it is.
    pub async fn open_as(&self, request: Request<Full<Bytes>>) -> Stream {
        let (request, path) = shown(request).await;
        let response = tokio::time::timeout(PATIENCE, self.client.request(request)).await;
        let (parts, body) = response.expect("the hub sends headers").unwrap().into_parts();
        Stream {
            status: parts.status.as_u16(),
            headers: parts.headers,
            is_watched: path == "/api/events",
            last_id: None,
            body,
            unread: String::new(),
        }
    }

    /// `subscriptions/listen` for every list; its acknowledgement has been read.
    pub async fn listen(&self, path: &str) -> Stream {
        let all =
            json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true });
        let (headers, body) = modern_request("subscriptions/listen", json!({ "notifications": all }));
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut stream = self.open(Method::POST, path, &headers, body.to_string()).await;
        let first = stream.next().await.expect("an acknowledgement");
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
        stream
    }

    /// A request as it is: nothing is added.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        let is_ours = request.uri().to_string().starts_with(&self.url);
        let (request, path) = shown(request).await;
        let response = self.client.request(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
        let answer = Answer { status: parts.status.as_u16(), headers: parts.headers, body };
        if is_ours {
            watch::answered(&path, &answer.headers, &answer.body);
        } else {
            // Another server says what it was shown.
            watch::sent("", &answer.headers, &answer.body);
        }
        answer
    }

    /// A request with the key.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        self.send(self.request(method, path, headers, body)).await
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Request<Full<Bytes>> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.key));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Full::new(body.into())).unwrap()
    }

    pub async fn api(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let answer = self.ask(method, path, &[("content-type", "application/json")], body).await;
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or(Value::Null))
    }

    pub async fn get(&self, path: &str) -> Value {
        let (status, body) = self.api(Method::GET, path, Value::Null).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Pastes a server configuration.
    pub async fn import(&self, servers: Value) -> Value {
        let (status, body) =
            self.api(Method::POST, "/api/mcp/import", json!({ "text": servers.to_string() })).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    /// One modern request.
    pub async fn modern(&self, path: &str, method: &str, params: Value) -> Answer {
        self.modern_with(path, method, params, &[]).await
    }

    pub async fn modern_with(
        &self,
        path: &str,
        method: &str,
        params: Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        let (own, body) = modern_request(method, params);
        let mut all: Vec<_> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
        all.extend_from_slice(headers);
        self.ask(Method::POST, path, &all, body.to_string()).await
    }

    /// Calls a tool over the modern door and gives its result or error.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.modern("/mcp", "tools/call", json!({ "name": tool, "arguments": arguments })).await;
        let message = answer.json();
        message.get("result").or(message.get("error")).cloned().unwrap_or(message)
    }

    /// The names in a list.
    pub async fn tools(&self) -> Vec<String> {
        let answer = self.modern("/mcp", "tools/list", json!({})).await.json();
        let tools = answer["result"]["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Opens a legacy session.
    pub async fn legacy(&self, path: &str) -> Legacy<'_> {
        self.legacy_at(path, "2025-11-25").await
    }

    pub async fn legacy_at(&self, path: &str, version: &str) -> Legacy<'_> {
        self.legacy_with(path, version, json!({})).await
    }

    /// Opens a legacy session of a client that can be asked things.
    pub async fn legacy_with(&self, path: &str, version: &str, capabilities: Value) -> Legacy<'_> {
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": { "name": "t", "version": "1" } });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let headers =
            [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        let answer = self.ask(Method::POST, path, &headers, body.to_string()).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        let session = answer.headers["mcp-session-id"].to_str().unwrap().to_owned();
        let initialized = answer.json()["result"].clone();
        let client = Legacy { hub: self, path: path.into(), session, initialized };
        client.notify("notifications/initialized", json!({})).await;
        client
    }

    /// Ends the hub as a person would and waits for it.
    pub async fn stop(mut self) -> TempDir {
        let pid = self.child.id().unwrap();
        Command::new("kill").args(["-TERM", &pid.to_string()]).status().await.unwrap();
        let status = self.child.wait().await.unwrap();
        assert!(status.success(), "{status}: {}", self.log());
        drop(self.watch);
        self.dir
    }

    /// Ends the hub as a crash would.
    pub async fn kill(mut self) -> TempDir {
        self.child.kill().await.unwrap();
        drop(self.watch);
        self.dir
    }
}

/// A request whose secrets are remembered, and its path.
async fn shown(request: Request<Full<Bytes>>) -> (Request<Full<Bytes>>, String) {
    let path = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    watch::sent(&path, &parts.headers, &body);
    (Request::from_parts(parts, Full::new(body)), path)
}

/// Whether this binary's hubs have so much to do that a log at its most talkative would be all they did.
fn is_busy() -> bool {
    env!("CARGO_CRATE_NAME") == "bridge"
}

/// The headers and the body of a modern request.
pub fn modern_request(method: &str, mut params: Value) -> (Vec<(&'static str, String)>, Value) {
    let meta = params.as_object_mut().unwrap().entry("_meta").or_insert_with(|| json!({}));
    meta["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
    if meta.get("io.modelcontextprotocol/clientCapabilities").is_none() {
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    let name = params.get("name").or(params.get("uri")).or(params.get("taskId"));
    let name = name.and_then(Value::as_str).unwrap_or("").to_owned();
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("accept", "application/json, text/event-stream".to_owned()),
        ("mcp-protocol-version", MODERN.to_owned()),
        ("mcp-method", method.to_owned()),
    ];
    let named = ["tools/call", "prompts/get", "resources/read", "tasks/get", "tasks/update", "tasks/cancel"];
    if named.contains(&method) {
        headers.push(("mcp-name", name));
    }
    (headers, json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
}

/// An answer that comes in pieces.
pub struct Stream {
    pub status: u16,
    pub headers: HeaderMap,
    /// Whether no secret may be in it: what a tool says is its caller's.
    is_watched: bool,
    /// The id of the last event that was read, empty ones included.
    pub last_id: Option<String>,
    body: Incoming,
    unread: String,
}

impl Stream {
    /// Everything that is still to come.
    pub async fn rest(self) -> Answer {
        let body = tokio::time::timeout(PATIENCE, self.body.collect()).await.expect("the answer ends");
        let body = body.map(Collected::to_bytes).unwrap_or_default();
        let body = [self.unread.as_bytes(), &body].concat().into();
        Answer { status: self.status, headers: self.headers, body }
    }

    /// The stream ends; a list that changed just before may still be said.
    pub async fn ends(mut self) {
        while let Some(last) = self.next().await {
            let method = last["method"].as_str().unwrap_or_default();
            assert!(method.ends_with("/list_changed"), "{last}");
        }
    }

    /// Whether events come, rather than one JSON body.
    pub fn is_events(&self) -> bool {
        self.headers
            .get("content-type")
            .is_some_and(|it| it.to_str().unwrap().starts_with("text/event-stream"))
    }

    /// The next event's data; none when the stream has ended. Comments and empty events are skipped.
    pub async fn next_data(&mut self) -> Option<String> {
        loop {
            if let Some(data) = self.unread_data() {
                return Some(data);
            }
            let frame =
                tokio::time::timeout(PATIENCE, self.body.frame()).await.expect("the stream says something");
            let frame = frame?.ok()?;
            if let Some(data) = frame.data_ref() {
                self.unread.push_str(&String::from_utf8_lossy(data));
            }
        }
    }

    /// As `next_data`, for a stream that may be silent for as long as it likes.
    pub async fn next_data_ever(&mut self) -> Option<String> {
        loop {
            if let Some(data) = self.unread_data() {
                return Some(data);
            }
            let frame = self.body.frame().await?.ok()?;
            if let Some(data) = frame.data_ref() {
                self.unread.push_str(&String::from_utf8_lossy(data));
            }
        }
    }

    fn unread_data(&mut self) -> Option<String> {
        while let Some(end) = self.unread.find("\n\n") {
            let event: String = self.unread.drain(..end + 2).collect();
            if let Some(id) = event.lines().find_map(|it| it.strip_prefix("id:")) {
                self.last_id = Some(id.trim().to_owned());
            }
            let data: Vec<_> =
                event.lines().filter_map(|it| it.strip_prefix("data:")).map(str::trim).collect();
            if data.iter().any(|it| !it.is_empty()) {
                if self.is_watched {
                    watch::heard("an event", &event);
                }
                return Some(data.join("\n"));
            }
        }
        None
    }

    /// The next message; none when the stream has ended.
    pub async fn next(&mut self) -> Option<Value> {
        let data = self.next_data().await?;
        Some(serde_json::from_str(&data).unwrap_or_else(|error| panic!("{error}: {data}")))
    }
}

/// One legacy session.
pub struct Legacy<'a> {
    hub: &'a Hub,
    path: String,
    pub session: String,
    pub initialized: Value,
}

impl Legacy<'_> {
    pub async fn post(&self, body: Value) -> Answer {
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-session-id", self.session.as_str()),
        ];
        self.hub.ask(Method::POST, &self.path, &headers, body.to_string()).await
    }

    pub async fn request(&self, method: &str, params: Value) -> Value {
        let answer =
            self.post(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await;
        answer.json()
    }

    pub async fn notify(&self, method: &str, params: Value) -> u16 {
        self.post(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await.status
    }

    /// A post whose answer is read piece by piece.
    pub async fn open(&self, body: Value) -> Stream {
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-session-id", self.session.as_str()),
        ];
        self.hub.open(Method::POST, &self.path, &headers, body.to_string()).await
    }

    /// Calls a tool and gives its result or error.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        let message = self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        message.get("result").or(message.get("error")).cloned().unwrap_or(message)
    }

    /// The stream on which the session hears of changes.
    pub async fn hear(&self) -> Stream {
        let headers = [("accept", "text/event-stream"), ("mcp-session-id", self.session.as_str())];
        self.hub.open(Method::GET, &self.path, &headers, "").await
    }
}

/// Keeps what a process says in a file, line by line, and in memory nothing.
async fn keep(source: impl AsyncRead + Unpin + Send + 'static, file: PathBuf) {
    let mut source = source;
    let mut file = tokio::fs::OpenOptions::new().create(true).append(true).open(file).await.unwrap();
    spawn(async move {
        let mut lines = BufReader::new(&mut source).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let _ = file.write_all(format!("{line}\n").as_bytes()).await;
            let _ = file.flush().await;
        }
    });
}

fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    #[expect(clippy::disallowed_methods, reason = "reads a child's output until it ends")]
    tokio::spawn(work);
}

/// The built binary with a folder of its own.
pub fn command(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolgrove"));
    command
        .env("TOOLGROVE_CONFIG", dir.join("toolgrove.toml"))
        .env("TOOLGROVE_DATA", dir.join("data"))
        .env_remove("TOOLGROVE_LOG");
    command
}

/// The fixture's binary, for servers that are processes.
pub fn fixture_program() -> String {
    let path = Path::new(env!("CARGO_BIN_EXE_toolgrove")).with_file_name("toolgrove-fixture");
    assert!(path.is_file(), "build the fixture first: cargo build -p toolgrove-fixture");
    path.display().to_string()
}

/// A database of our own on the server that the test command starts.
pub async fn database() -> String {
    let address = std::env::var("TOOLGROVE_TEST_POSTGRES")
        .expect("TOOLGROVE_TEST_POSTGRES is not set: run `cargo xtask test`, which starts a PostgreSQL");
    let name = format!("t_{}", uuid::Uuid::new_v4().simple());
    let mut server = PgConnection::connect(&address).await.unwrap();
    sqlx::query(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&mut server).await.unwrap();
    server.close().await.unwrap();
    let (start, _) = address.rsplit_once('/').unwrap();
    format!("{start}/{name}")
}

/// The fixture over stdio, as an entry of a configuration.
pub fn stdio_fixture(args: &[&str]) -> Value {
    let mut all = vec!["stdio"];
    all.extend_from_slice(args);
    json!({ "command": fixture_program(), "args": all })
}
