//! How commands talk to the hub: the same requests and the same JSON, whether one runs or not.
//!
//! A running hub is asked over its socket. Without one the command owns the folder itself: it starts a hub that
//! listens nowhere, asks it directly, and closes it at the end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::body::Body;
use axum::{Extension, Router};
use futures::future::join_all;
use http::{Method, Request, Response, header};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::UnixStream;
use toolgrove_core::catalog::usable;
use toolgrove_core::{Secret, task};
use toolgrove_server::{AS, Local};
use toolgrove_wire::Raw;
use tower::ServiceExt;

use crate::commands::Stop;
use crate::failure::Failure;
use crate::lock::{self, Owner, Place};
use crate::near;
use crate::paths::Paths;
use crate::start::{self, Started};

/// How long servers that were never asked may take to list their tools.
const FIRST_LISTING: Duration = Duration::from_secs(10);

pub(crate) struct Api {
    way: Way,
    key: Secret,
    /// A name the hub answers to.
    host: String,
    acting_as: Option<String>,
}

enum Way {
    Socket(PathBuf),
    InProcess { hub: Box<Started>, doors: Router },
}

/// A whole answer of the API.
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.bytes).map_err(|error| {
            Failure::new("hub.internal", format!("the hub's answer cannot be read: {error}"))
        })
    }

    pub(crate) fn value(&self) -> Result<Value, Failure> {
        self.read()
    }

    /// For what a server has sent: it may hold numbers that are no value of ours.
    pub(crate) fn raw(&self) -> Result<Raw, Failure> {
        Raw::parse(self.bytes.clone()).map_err(|error| {
            Failure::new("hub.internal", format!("the hub's answer cannot be read: {error}"))
        })
    }
}

impl Api {
    /// Runs `work` with a hub and closes what was opened for it, also on Ctrl-C.
    pub(crate) async fn with<T>(
        paths: &Paths,
        work: impl AsyncFnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        Self::open(paths).await?.run(work).await
    }

    /// The same with a hub that was started already.
    pub(crate) async fn with_hub<T>(
        paths: &Paths,
        hub: Started,
        work: impl AsyncFnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        Self::of_ours(paths, hub)?.run(work).await
    }

    async fn run<T>(self, work: impl AsyncFnOnce(&Self) -> Result<T, Failure>) -> Result<T, Failure> {
        let (api, mut stop) = (self, Stop::new());
        let done = tokio::select! {
            done = work(&api) => done,
            () = stop.told() => Err(Failure::interrupted()),
        };
        let done = match done {
            Err(failure) => Err(api.suggest(failure).await),
            done => done,
        };
        api.close().await;
        done
    }

    async fn open(paths: &Paths) -> Result<Self, Failure> {
        match lock::claim(paths).await? {
            Owner::Running(place) => Self::of_running(paths, &place),
            Owner::Us(lock) => {
                let hub = start::start(paths, start::read_config(paths)?, lock, 0).await?;
                Self::of_ours(paths, hub)
            }
        }
    }

    fn of_ours(paths: &Paths, hub: Started) -> Result<Self, Failure> {
        let doors = toolgrove_server::app(hub.app.clone()).layer(Extension(Local));
        let base = hub.app.gate.base();
        let host = base.split('/').nth(2).unwrap_or_default().to_owned();
        let (key, acting_as) = (start::local_key(paths)?, paths.acting_as.clone());
        Ok(Self { way: Way::InProcess { hub: Box::new(hub), doors }, key, host, acting_as })
    }

    fn of_running(paths: &Paths, place: &Place) -> Result<Self, Failure> {
        let host = place.url.as_ref().and_then(|it| it.strip_prefix("http://")).unwrap_or("localhost:0");
        let socket = place.socket.clone().unwrap_or_else(|| paths.socket());
        Ok(Self {
            way: Way::Socket(socket),
            key: start::local_key(paths)?,
            host: host.to_owned(),
            acting_as: paths.acting_as.clone(),
        })
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.way, Way::Socket(_))
    }

    async fn close(self) {
        if let Way::InProcess { hub, .. } = self.way {
            hub.close().await;
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Answer, Failure> {
        self.send(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Answer, Failure> {
        self.send(Method::POST, path, Some(body.to_string())).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Result<Answer, Failure> {
        let response = self.request(method, path, "application/json", body).await?;
        let bytes = response.into_body().collect().await.map_err(|_| gone())?.to_bytes();
        Ok(Answer { bytes: bytes.to_vec() })
    }

    /// One request; an answer with an error status is a failure.
    pub(crate) async fn request(
        &self,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<String>,
    ) -> Result<Response<Body>, Failure> {
        let mut request = Request::builder();
        if let Some(email) = &self.acting_as {
            request = request.header(AS, email);
        }
        let request = request
            .method(method)
            .uri(path)
            .header(header::HOST, &self.host)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.key.reveal()))
            .header(header::ACCEPT, accept)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.unwrap_or_default()))
            .map_err(|error| Failure::usage(error.to_string()))?;
        let response = match &self.way {
            Way::Socket(path) => ask(path, request).await.map_err(|_| gone())?,
            Way::InProcess { doors, .. } => {
                let Ok(response) = doors.clone().oneshot(request).await;
                response
            }
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.map_err(|_| gone())?.to_bytes();
        Err(Failure::answered(status, &bytes))
    }

    /// A hub of our own asks servers that were never asked, because nobody else will. A running hub does so itself.
    pub(crate) async fn first_listings(&self) {
        let Way::InProcess { hub, .. } = &self.way else { return };
        let app = &hub.app;
        // Who nobody is has nothing to list; the request that follows says so.
        let Ok(caller) = app.local_caller(self.acting_as.as_deref()).await else { return };
        let catalog = app.hub.catalog(&caller);
        let never = catalog.offers().filter(|it| it.fetched_at.is_none() && usable(&it.instance).is_ok());
        let asked = never.map(|offer| async move {
            match tokio::time::timeout(FIRST_LISTING, app.refresh(&offer.instance)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::warn!("{error}"),
                Err(_) => tracing::warn!("`{}` did not list its tools in time", offer.instance.slug),
            }
        });
        join_all(asked).await;
    }

    /// A name that is not there gets the nearest ones as its hint.
    async fn suggest(&self, mut failure: Failure) -> Failure {
        let (path, list, key) = match failure.problem.code.as_str() {
            "tool.unknown" | "tool.name" => ("/api/mcp/tools", "tools", "name"),
            "server.unknown" => ("/api/mcp/servers", "", "name"),
            "instance.unknown" => ("/api/mcp/instances", "", "slug"),
            _ => return failure,
        };
        let Some(typed) = failure.problem.detail.split('`').nth(1) else { return failure };
        let Ok(Ok(mut answer)) = self.get(path).await.map(|it| it.value()) else { return failure };
        let answer = if list.is_empty() { answer } else { answer[list].take() };
        let names: Vec<String> = answer
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|it| it[key].as_str().map(Into::into))
            .collect();
        if let Some(hint) = near::hint(typed, &names) {
            failure.problem.hint = Some(hint);
        }
        failure
    }
}

/// One request over a connection of its own.
async fn ask(socket: &Path, request: Request<Body>) -> Result<Response<Body>, Box<dyn std::error::Error>> {
    let stream = UnixStream::connect(socket).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    task::spawn("connection", connection);
    let response = sender.send_request(request).await?;
    Ok(response.map(Body::new))
}

fn gone() -> Failure {
    Failure::new("hub.gone", "the hub went away").hint("run `toolgrove doctor` to see whether one is running")
}

/// Any text as one part of a path.
pub(crate) fn segment(text: &str) -> String {
    text.bytes()
        .map(|it| match it {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => char::from(it).to_string(),
            _ => format!("%{it:02X}"),
        })
        .collect()
}

/// `path?key=value…` without the pairs that have no value.
pub(crate) fn with_query(path: &str, pairs: &[(&str, Option<&str>)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (key, value) in pairs {
        if let Some(value) = value {
            query.append_pair(key, value);
        }
    }
    let query = query.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_travel_in_paths_and_queries() {
        assert_eq!(segment("a b/c.d%é"), "a%20b%2Fc%2Ed%25%C3%A9");
        assert_eq!(with_query("/x", &[("a", None), ("b", Some("1&2"))]), "/x?b=1%262");
        assert_eq!(with_query("/x", &[("a", None)]), "/x");
    }
}
