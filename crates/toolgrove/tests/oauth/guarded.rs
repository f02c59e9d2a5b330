//! The peer of `auth-server.mjs`: a provider, and a server that takes its tokens.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::time::Instant;

use crate::hub::{Answer, Hub, PATIENCE, watch};
use crate::provider::connect;
use crate::third::{listening, node};

pub(crate) struct Guarded {
    pub(crate) url: String,
    client: Client<HttpConnector, Full<Bytes>>,
    _child: Child,
}

impl Guarded {
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(args: &[&str]) -> Self {
        let mut command = node("auth-server.mjs");
        command.args(args);
        let (child, url) = listening(command).await;
        Self { url, client: Client::builder(TokioExecutor::new()).build_http(), _child: child }
    }

    /// Orders something, and says what has happened so far.
    pub(crate) async fn order(&self, order: Value) -> Value {
        let url = self.url.replace("/mcp", "/control");
        let request = Request::post(url).body(Full::new(order.to_string().into())).unwrap();
        let response = self.client.request(request).await.unwrap();
        let said = response.into_body().collect().await.unwrap().to_bytes();
        // Codes, verifiers and refresh tokens that the hub has sent there.
        watch::sent("", &http::HeaderMap::new(), &said);
        serde_json::from_slice(&said).unwrap()
    }

    /// What the token endpoint was asked with one grant type.
    pub(crate) async fn grants(&self, kind: &str) -> Vec<Value> {
        let all = self.order(json!({})).await["tokens"].as_array().unwrap().clone();
        all.into_iter().filter(|it| it["grant_type"] == kind).collect()
    }

    /// Goes where the hub sends people, signs in and consents. Says where the provider sends them back to.
    pub(crate) async fn visit(&self, url: &str) -> String {
        let visited = self.order(json!({ "visit": url })).await;
        visited["location"].as_str().unwrap_or_else(|| panic!("{visited}")).to_owned()
    }

    /// A hub with the server under the name `w`.
    pub(crate) async fn hub(&self) -> Hub {
        // Nothing is asked of the server but what a test asks.
        let hub = Hub::start_with("capabilities = \"cached\"\n").await;
        self.add(&hub, "w").await;
        hub
    }

    pub(crate) async fn add(&self, hub: &Hub, name: &str) {
        let imported = hub.import(json!({ name: { "url": self.url } })).await;
        assert_eq!(imported["message_success"], format!("Added: {name} (sign in to use)"), "{imported}");
    }

    pub(crate) async fn sign_in(&self, hub: &Hub, slug: &str) {
        let back = self.visit(&connect(hub, slug).await).await;
        let answer = get(hub, &back).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        assert_eq!(answer.headers["location"], "/ui/mcp");
    }
}

/// Goes to an address of the hub.
pub(crate) async fn get(hub: &Hub, url: &str) -> Answer {
    let path = url.strip_prefix(&hub.url).unwrap_or_else(|| panic!("{url} is not at the hub"));
    hub.ask(Method::GET, path, &[], "").await
}

pub(crate) async fn add_up(hub: &Hub) -> Value {
    hub.call("mcp__w__add", json!({ "a": 1, "b": 2 })).await
}

#[track_caller]
pub(crate) fn check_sum(result: &Value) {
    assert_eq!(result["content"][0]["text"], "3", "{result}");
}

pub(crate) async fn status(hub: &Hub, slug: &str) -> String {
    hub.get(&format!("/api/mcp/instances/{slug}")).await["status"].as_str().unwrap().to_owned()
}

/// Waits until the token of `w` has ended.
pub(crate) async fn ended(hub: &Hub) {
    eventually("the token has ended", async || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        let end = hub.get("/api/mcp/instances/w/connect").await["expires_at"].as_u64().unwrap();
        (u128::from(end) < now).then_some(())
    })
    .await;
}

/// Looks again and again until something is so.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "it did not happen: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Reads what a process still says, so that it never waits for a reader.
pub(crate) fn keep<R: tokio::io::AsyncBufRead + Unpin + Send + 'static>(mut lines: tokio::io::Lines<R>) {
    #[expect(clippy::disallowed_methods, reason = "reads a child's output until it ends")]
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
}

/// Opens a page of the hub in a browser that has never seen it, and does what it leads to.
pub(crate) async fn browse(server: &Guarded, base: &str, page: &str) {
    let mut cookie = String::new();
    let mut url = page.to_owned();
    for _ in 0..10 {
        if !url.starts_with(base) {
            url = server.visit(&url).await;
        }
        let request = Request::get(&url).header("cookie", &cookie).body(Full::default()).unwrap();
        let response = server.client.request(request).await.unwrap();
        if let Some(set) = response.headers().get("set-cookie") {
            cookie = set.to_str().unwrap().split(';').next().unwrap().to_owned();
        }
        let status = response.status();
        let Some(location) = response.headers().get("location").map(|it| it.to_str().unwrap().to_owned())
        else {
            let text = response.into_body().collect().await.unwrap().to_bytes();
            panic!("{url}: {status} {}", String::from_utf8_lossy(&text));
        };
        url = if location.starts_with('/') { format!("{base}{location}") } else { location };
        if url == format!("{base}/ui/mcp") {
            return;
        }
    }
    panic!("{page} leads nowhere");
}
