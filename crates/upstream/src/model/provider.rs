//! One turn over HTTP: tried again while nothing was heard, closed as soon as nobody listens.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, HeaderName, Method, StatusCode};
use serde_json::Value;
use toolgrove_core::Secret;
use toolgrove_wire::sse::Reader;
use url::Url;

use super::{Broken, Delta, Reading, Said, Turn, Wire};
use crate::web::fetch::{Fetch, Unfetched, request};
use crate::web::{EVENTS, JSON, collect_text};

/// The revision of Anthropic's format that is written and read here.
const ANTHROPIC: (HeaderName, HeaderValue) =
    (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
const KEY: HeaderName = HeaderName::from_static("x-api-key");
/// How often a turn is sent before anything of its answer was heard.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);
/// A provider that wants more patience than this is told of instead.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// A provider that says nothing for this long says nothing more.
const SILENCE: Duration = Duration::from_secs(120);
/// The largest single event of a stream.
const EVENT: usize = 1024 * 1024;

/// A place that runs models.
#[derive(Debug, Clone)]
pub struct Provider {
    pub name: String,
    pub wire: Wire,
    /// What the format's own path is put behind.
    pub url: Url,
    pub key: Option<Secret>,
}

/// Why a model said nothing, or not all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("{0}")]
    Unreachable(String),
    #[error("{text}")]
    Status { status: u16, text: String, retry_after: Option<Duration> },
    #[error("it said nothing for {} s", SILENCE.as_secs())]
    Silent,
    #[error(transparent)]
    Broken(#[from] Broken),
}

impl From<Unfetched> for Refused {
    fn from(it: Unfetched) -> Self {
        Self::Unreachable(it.0)
    }
}

impl Provider {
    /// Sends a turn and tells its pieces as they come. Dropping the future closes the provider's stream.
    pub async fn say(
        &self,
        fetch: &Fetch,
        turn: &Turn,
        mut hear: impl FnMut(Delta),
    ) -> Result<Said, Refused> {
        let body = Bytes::from(self.wire.body(turn).to_string());
        let mut tries = 1;
        loop {
            match self.try_once(fetch, body.clone(), &mut hear).await {
                Err(Refused::Status { status, text, retry_after }) => {
                    let pause = retry_after.unwrap_or(PAUSE * 2_u32.pow(tries - 1));
                    if tries == TRIES || !is_passing(status) || pause > LONGEST_PAUSE {
                        return Err(Refused::Status { status, text, retry_after });
                    }
                    tracing::debug!(provider = self.name, status, ?pause, "a provider asks for patience");
                    tokio::time::sleep(pause).await;
                }
                done => return done,
            }
            tries += 1;
        }
    }

    async fn try_once(
        &self,
        fetch: &Fetch,
        body: Bytes,
        hear: &mut impl FnMut(Delta),
    ) -> Result<Said, Refused> {
        let mut request = request(Method::POST, &self.address()?, body)?;
        *request.headers_mut() = self.headers()?;
        let sent = tokio::time::timeout(SILENCE, fetch.begin(request)).await;
        let response = sent.map_err(|_| Refused::Silent)??;
        if !response.status().is_success() {
            let (status, retry_after) = (response.status(), retry_after(response.headers()));
            let text = tokio::time::timeout(SILENCE, collect_text(response)).await.unwrap_or_default();
            let text = words(status, &text);
            return Err(Refused::Status { status: status.as_u16(), text, retry_after });
        }
        let (mut stream, mut reader, mut reading) =
            (response.into_body(), Reader::new(EVENT), Reading::new(self.wire));
        while let Some(piece) =
            tokio::time::timeout(SILENCE, stream.piece()).await.map_err(|_| Refused::Silent)?
        {
            let piece = piece.map_err(|_| Broken::Truncated)?;
            for event in reader.push(&piece).map_err(|it| Broken::Format(it.to_string()))? {
                reading.take(&event)?.into_iter().for_each(&mut *hear);
            }
            if reading.is_too_long() {
                return Err(Broken::TooLong.into());
            }
            if reading.is_ended() {
                break;
            }
        }
        Ok(reading.finish()?)
    }

    fn address(&self) -> Result<Url, Refused> {
        let mut url = self.url.clone();
        let mut path = url.path().trim_end_matches('/').to_owned();
        // People copy the address with and without the version.
        let own = self.wire.path();
        let own = own.strip_prefix("v1/").filter(|_| path.ends_with("/v1")).unwrap_or(own);
        path.push('/');
        path.push_str(own);
        url.set_path(&path);
        Ok(url)
    }

    fn headers(&self) -> Result<HeaderMap, Refused> {
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, EVENTS);
        let secret = |text: String| {
            let mut value = HeaderValue::try_from(text).map_err(|_| {
                Refused::Unreachable(format!("the key of provider `{}` is not a header value", self.name))
            })?;
            value.set_sensitive(true);
            Ok::<_, Refused>(value)
        };
        if let Some(key) = &self.key {
            match self.wire {
                Wire::OpenAi => headers.insert(AUTHORIZATION, secret(format!("Bearer {}", key.reveal()))?),
                Wire::Anthropic => headers.insert(KEY, secret(key.reveal().to_owned())?),
            };
        }
        if self.wire == Wire::Anthropic {
            headers.insert(ANTHROPIC.0, ANTHROPIC.1);
        }
        Ok(headers)
    }
}

/// Whether the same request may be answered a little later. 529 is Anthropic's word for overloaded.
fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504 | 529)
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}

/// The provider's own words, which both formats put in the same place.
fn words(status: StatusCode, body: &str) -> String {
    let said: Value = serde_json::from_str(body).unwrap_or_default();
    let error = &said["error"];
    let text = error["message"].as_str().or(error.as_str()).or(said["message"].as_str());
    let text = text.map(str::trim).filter(|it| !it.is_empty());
    let status = format!("HTTP {} {}", status.as_u16(), status.canonical_reason().unwrap_or_default());
    match text {
        Some(text) => format!("{text} ({})", status.trim()),
        None => status.trim().to_owned(),
    }
}
