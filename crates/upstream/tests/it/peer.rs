//! A scripted HTTP server: it answers what its script says, byte by byte if need be, and remembers what it saw.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;
use toolgrove_core::task::spawn;

use crate::witness::Record;

/// One request. A connection that the client closed while we were answering shows as method `CLOSED`.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) http: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or(&self.http)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|it| it.0 == name).map(|it| it.1.as_str())
    }

    pub(crate) fn tool(&self) -> &str {
        self.body["params"]["name"].as_str().unwrap_or_default()
    }

    pub(crate) fn id(&self) -> &Value {
        &self.body["id"]
    }
}

pub(crate) enum Reply {
    Full {
        status: String,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// Pieces of an event stream; it ends when the sender is dropped.
    Stream(mpsc::UnboundedReceiver<String>),
    /// The connection is closed without an answer.
    HangUp,
    /// No answer until the client gives up.
    Never,
}

impl Reply {
    pub(crate) fn status(status: &str) -> Self {
        Self::Full { status: status.into(), headers: Vec::new(), body: String::new() }
    }

    pub(crate) fn json(status: &str, body: &Value) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self::Full { status: status.into(), headers, body: body.to_string() }
    }

    pub(crate) fn result(seen: &Seen, result: Value) -> Self {
        Self::json("200 OK", &json!({ "jsonrpc": "2.0", "id": seen.id(), "result": result }))
    }

    pub(crate) fn error(status: &str, seen: &Seen, code: i64, message: &str) -> Self {
        let error = json!({ "code": code, "message": message });
        Self::json(status, &json!({ "jsonrpc": "2.0", "id": seen.id(), "error": error }))
    }

    /// A whole event stream, then its end.
    pub(crate) fn events(text: &str) -> Self {
        let (tx, rx) = mpsc::unbounded_channel();
        tx.send(text.to_owned()).expect("open");
        Self::Stream(rx)
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Self::Full { headers, .. } = &mut self {
            headers.push((name, value.to_owned()));
        }
        self
    }
}

pub(crate) fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

type Script = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

pub(crate) struct Peer {
    pub(crate) url: String,
    pub(crate) seen: Record<Seen>,
}

impl Peer {
    pub(crate) async fn start(script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let (seen, script): (_, Script) = (Record::new(), Arc::new(script));
        let record = seen.clone();
        spawn("peer", async move {
            while let Ok((stream, _)) = listener.accept().await {
                spawn("peer-connection", serve(stream, script.clone(), record.clone()));
            }
        });
        Self { url, seen }
    }

    pub(crate) fn start_unix(
        listener: UnixListener,
        script: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let (seen, script): (_, Script) = (Record::new(), Arc::new(script));
        let record = seen.clone();
        spawn("peer", async move {
            while let Ok((stream, _)) = listener.accept().await {
                spawn("peer-connection", serve(stream, script.clone(), record.clone()));
            }
        });
        Self { url: String::new(), seen }
    }

    /// What was asked, in order: JSON-RPC methods, and the HTTP method of what has none.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.seen.all().iter().map(|it| it.method().to_owned()).collect()
    }

    pub(crate) async fn wait_for(&self, method: &str) -> Seen {
        self.seen.wait_for(method, |it| it.method() == method).await
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.methods().iter().filter(|it| *it == method).count()
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, script: Script, record: Record<Seen>) {
    let mut buffer = Vec::new();
    while let Some(seen) = read(&mut stream, &mut buffer).await {
        let reply = script(&seen);
        let closed = Seen { http: "CLOSED".into(), body: Value::Null, ..seen.clone() };
        record.push(seen);
        match reply {
            Reply::Full { status, headers, body } => {
                let mut text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
                for (name, value) in headers {
                    let _ = write!(text, "{name}: {value}\r\n");
                }
                let text = format!("{text}\r\n{body}");
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            Reply::Stream(mut pieces) => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                let _ = stream.write_all(head.as_bytes()).await;
                loop {
                    tokio::select! {
                        piece = pieces.recv() => {
                            let piece = piece.unwrap_or_default();
                            let text = format!("{:x}\r\n{piece}\r\n", piece.len());
                            if stream.write_all(text.as_bytes()).await.is_err() || piece.is_empty() {
                                return;
                            }
                        }
                        _ = stream.read_u8() => return record.push(closed),
                    }
                }
            }
            Reply::HangUp => return,
            Reply::Never => {
                let _ = stream.read_u8().await;
                return record.push(closed);
            }
        }
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> Option<Seen> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|it| it == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(buffer[..end].to_vec()).expect("ASCII");
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (http, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|it| it.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length =
        headers.iter().find(|it| it.0 == "content-length").map_or(0, |it| it.1.parse().expect("a number"));
    while buffer.len() < end + 4 + length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&buffer[end + 4..end + 4 + length]).unwrap_or(Value::Null);
    buffer.drain(..end + 4 + length);
    Some(Seen { http, path, headers, body })
}

/// A legacy server with a session `s1` and no GET stream.
pub(crate) fn legacy(seen: &Seen) -> Reply {
    match (seen.http.as_str(), seen.method()) {
        ("POST", "initialize") => Reply::result(
            seen,
            json!({
                "protocolVersion": seen.body["params"]["protocolVersion"],
                "capabilities": { "tools": { "listChanged": true }, "logging": {} },
                "serverInfo": { "name": "legacy", "version": "1" },
                "instructions": "be kind",
            }),
        )
        .with("mcp-session-id", "s1"),
        ("POST", method) if method.starts_with("notifications/") => Reply::status("202 Accepted"),
        ("POST", "tools/list") => Reply::result(seen, json!({ "tools": [{ "name": "echo" }] })),
        ("POST", "logging/setLevel") => Reply::result(seen, json!({})),
        ("POST", "tools/call") => Reply::result(seen, json!({ "echo": seen.body["params"]["arguments"] })),
        ("DELETE", _) => Reply::status("200 OK"),
        ("GET", _) => Reply::status("405 Method Not Allowed"),
        _ => Reply::error("400 Bad Request", seen, -32000, "Bad Request: Server not initialized"),
    }
}

/// A modern server: stateless, strict about its headers.
pub(crate) fn modern(seen: &Seen) -> Reply {
    let meta = &seen.body["params"]["_meta"];
    if seen.http != "POST" {
        return Reply::status("405 Method Not Allowed");
    }
    if meta["io.modelcontextprotocol/protocolVersion"] != "2026-07-28" {
        return Reply::error("400 Bad Request", seen, -32602, "no protocol version");
    }
    if seen.header("mcp-method") != Some(seen.method())
        || seen.header("mcp-protocol-version") != Some("2026-07-28")
    {
        return Reply::error("400 Bad Request", seen, -32020, "header mismatch");
    }
    match seen.method() {
        "server/discover" => Reply::result(
            seen,
            json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": {} },
                "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "modern", "version": "1" } },
            }),
        ),
        "tools/list" => {
            Reply::result(seen, json!({ "resultType": "complete", "tools": [{ "name": "echo" }] }))
        }
        "tools/call" => {
            Reply::result(seen, json!({ "resultType": "complete", "echo": seen.body["params"]["arguments"] }))
        }
        _ => Reply::error("404 Not Found", seen, -32601, "no such method"),
    }
}
