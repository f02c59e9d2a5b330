//! A browser for tests: what the extension, or a page with the relay, says over its socket, word by word.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test binary uses a part of it; a test may panic"
)]

use futures::{SinkExt, StreamExt};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::hub::{Hub, PATIENCE};

pub const EXTENSION: &str = "ekgceiaggebphmbeeiiipjpghdepilkh";
pub const SUBPROTOCOL: &str = "toolgrove.tabs.v1";

pub struct Browser {
    pub socket: WebSocketStream<TcpStream>,
    /// What the hub answered to the subprotocols.
    pub protocol: Option<String>,
}

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Closed(u16),
    Broken,
}

pub fn origin() -> String {
    format!("chrome-extension://{EXTENSION}")
}

pub fn mac(secret: &str, text: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(text.as_bytes());
    toolgrove_server::tabs::hex(&mac.finalize().into_bytes())
}

/// The token that the native-messaging host would hand out.
pub fn token(hub: &Hub) -> String {
    let text = std::fs::read_to_string(hub.data().join("tabs.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["token"].as_str().unwrap().to_owned()
}

pub fn port(hub: &Hub) -> u16 {
    hub.url.rsplit(':').next().unwrap().parse().unwrap()
}

impl Browser {
    /// A WebSocket with these headers, or the status it was refused with.
    pub async fn open(port: u16, path: &str, headers: &[(&str, &str)]) -> Result<Self, u16> {
        let mut request = format!("ws://127.0.0.1:{port}{path}").into_client_request().unwrap();
        for (name, value) in headers {
            let name: http::HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        match client_async(request, stream).await {
            Ok((socket, response)) => {
                let protocol = response.headers().get("sec-websocket-protocol");
                let protocol = protocol.map(|it| it.to_str().unwrap().to_owned());
                Ok(Self { socket, protocol })
            }
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// The socket of our extension, before its greeting; and the challenge.
    pub async fn knock(hub: &Hub) -> (Self, String) {
        let headers = [("origin", origin()), ("sec-websocket-protocol", SUBPROTOCOL.into())];
        let headers: Vec<_> = headers.iter().map(|it| (it.0, it.1.as_str())).collect();
        let mut browser = Self::open(port(hub), "/tabs", &headers).await.expect("an upgrade");
        let challenge = browser.next().await.unwrap();
        assert_eq!(challenge["method"], "hub/challenge");
        (browser, challenge["params"]["nonce"].as_str().unwrap().to_owned())
    }

    pub fn hello(profile: &str, secret: &str, hub_nonce: &str) -> Value {
        let nonce = "0123456789abcdef0123456789abcdef";
        json!({ "jsonrpc": "2.0", "method": "browser/hello", "params": {
            "nonce": nonce, "mac": mac(secret, &format!("ext|{hub_nonce}|{nonce}")), "protocol": 1,
            "profileId": profile, "extensionId": EXTENSION, "extensionVersion": "0.1.0",
            "browser": "Chromium/156", "features": ["started"],
        }})
    }

    /// A browser with the extension that was let in.
    pub async fn connect(hub: &Hub) -> Self {
        Self::connect_as(hub, "profile-1", &token(hub)).await
    }

    pub async fn connect_as(hub: &Hub, profile: &str, secret: &str) -> Self {
        let (mut browser, nonce) = Self::knock(hub).await;
        browser.say(Self::hello(profile, secret, &nonce)).await;
        let welcome = browser.next().await.unwrap();
        let expected = mac(secret, &format!("hub|0123456789abcdef0123456789abcdef|{nonce}"));
        assert_eq!(welcome["params"]["mac"], json!(expected), "{welcome}");
        browser
    }

    /// A page that embeds the relay.
    pub async fn page(port: u16, page_origin: Option<&str>) -> Self {
        let mut headers = vec![("sec-websocket-protocol", "webmcp-discovery.v1, webmcp.v1")];
        headers.extend(page_origin.map(|it| ("origin", it)));
        let mut page = Self::open(port, "/", &headers).await.expect("an upgrade");
        let hello = page.next().await.unwrap();
        assert_eq!(
            (&hello["type"], &hello["service"]),
            (&json!("server-hello"), &json!("webmcp-local-relay"))
        );
        page
    }

    pub async fn say(&mut self, message: Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.say(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// One tab with these tools.
    pub async fn register(&mut self, tab: i64, url: &str, tools: Value) {
        let extensions = json!({ "tabId": tab, "windowId": 1, "documentId": "d", "active": false });
        let params = json!({ "tools": tools, "tabUrl": url, "extensions": extensions });
        self.notify("browser/registerTools", params).await;
    }

    /// The next message, pings left out.
    pub async fn next(&mut self) -> Result<Value, End> {
        loop {
            let message =
                tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("the hub says something");
            match message {
                Some(Ok(Message::Text(text))) => {
                    let message: Value = serde_json::from_str(&text).unwrap();
                    if message["method"] != "hub/ping" {
                        return Ok(message);
                    }
                }
                Some(Ok(Message::Close(frame))) => {
                    return Err(End::Closed(frame.map_or(1005, |it| it.code.into())));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(End::Broken),
            }
        }
    }

    /// How the connection ends; what is said before is not looked at.
    pub async fn end(&mut self) -> End {
        loop {
            if let Err(end) = self.next().await {
                return end;
            }
        }
    }

    /// Answers calls for ever with what is made of tool and arguments.
    pub async fn serve(mut self, answer: impl Fn(&str, &Value) -> Value) -> End {
        loop {
            let message = match self.next().await {
                Ok(message) => message,
                Err(end) => return end,
            };
            if message["method"] == "browser/executeTool" {
                let params = &message["params"];
                let result = answer(params["toolName"].as_str().unwrap(), &params["args"]);
                self.say(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })).await;
            }
        }
    }
}

pub fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "Does it", "inputSchema": { "type": "object" } })
}

/// What a page says when all went well.
pub fn done(text: &str) -> Value {
    json!({ "success": true, "payload": { "content": [{ "type": "text", "text": text }] } })
}

/// Waits until a list has this name.
pub async fn until_listed(hub: &Hub, name: &str) {
    let start = std::time::Instant::now();
    while !hub.tools().await.iter().any(|it| it == name) {
        assert!(start.elapsed() < PATIENCE, "`{name}` is never listed");
        tokio::task::yield_now().await;
    }
}
