//! A small client for everything off the call path: metadata, registrations, tokens. It goes the same guarded way as
//! links do; every request has an end, every answer a limit, and redirects are followed inside the origin only, for
//! what merely reads.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HeaderMap, HeaderValue, LOCATION, USER_AGENT};
use http::{Method, Request, Response, StatusCode};
use toolgrove_core::net::{Allowlist, Guard};
use toolgrove_wire::Pieces;
use url::Url;

use super::answer::reason;
use super::{Broken, Dial, Inflow, JSON, REDIRECTS, dial, uri};

pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Far more than any document or token needs.
const LIMIT: usize = 1024 * 1024;

#[derive(Debug, Clone)]
pub struct Fetch {
    pub(super) dial: Arc<Dial>,
    pub(super) agent: HeaderValue,
    pub(super) hosts: Allowlist,
    limit: usize,
}

/// An answer, read whole. It may hold tokens, so it does not print.
pub struct Fetched {
    pub status: StatusCode,
    pub reason: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Why there is no answer. What it says is a cause, to be put behind a colon.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct Unfetched(pub String);

impl Fetched {
    /// `HTTP 403 Forbidden`.
    pub fn line(&self) -> String {
        format!("HTTP {} {}", self.status.as_u16(), self.reason)
    }

    /// The same with what the body says, for people.
    pub fn whole(&self) -> String {
        let body = String::from_utf8_lossy(&self.body);
        match body.trim() {
            "" => self.line(),
            body => format!("{}: {body}", self.line()),
        }
    }
}

impl Fetch {
    pub(crate) fn new(dial: Arc<Dial>, agent: &str) -> Self {
        let agent = HeaderValue::try_from(agent).unwrap_or_else(|_| HeaderValue::from_static("toolgrove"));
        Self { dial, agent, hosts: Allowlist::Any, limit: LIMIT }
    }

    /// The same on behalf of a workspace, which lets its servers be only there.
    pub fn within(&self, hosts: &Allowlist) -> Self {
        Self { hosts: hosts.clone(), ..self.clone() }
    }

    /// The same for answers of at most so many bytes.
    pub fn up_to(&self, limit: usize) -> Self {
        Self { limit, ..self.clone() }
    }

    /// The same, trusting the authorities of a PEM file as well.
    pub fn trusting(&self, ca_file: &Path) -> Self {
        Self { dial: Arc::new(self.dial.trusting(ca_file)), ..self.clone() }
    }

    /// The same for addresses that whoever runs the hub has written down: they may be anywhere.
    pub fn trusted(&self) -> Self {
        Self { dial: Arc::new(Dial::new(Guard::Open)), hosts: Allowlist::Any, ..self.clone() }
    }

    /// Reads a JSON document.
    pub async fn document(&self, url: &Url) -> Result<Fetched, Unfetched> {
        let mut url = url.clone();
        for _ in 0..REDIRECTS {
            let mut request = request(Method::GET, &url, Bytes::new())?;
            request.headers_mut().insert(ACCEPT, JSON);
            let answer = self.send(request).await?;
            let location = answer.headers.get(LOCATION).and_then(|it| it.to_str().ok());
            let next = location.filter(|_| answer.status.is_redirection()).and_then(|it| url.join(it).ok());
            match next {
                Some(next) if next.origin() == url.origin() => url = next,
                _ => return Ok(answer),
            }
        }
        Err(Unfetched(format!("`{url}` redirects in circles")))
    }

    /// Sends one request as it is; redirects are answers like any other.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Fetched, Unfetched> {
        let url = Url::parse(&request.uri().to_string()).map_err(|it| Unfetched(it.to_string()))?;
        let place = url.origin().ascii_serialization();
        let exchange = async { read(&place, self.begin(request).await?, self.limit).await };
        tokio::time::timeout(PATIENCE, exchange).await.unwrap_or_else(|_| {
            Err(Unfetched(format!("`{place}` did not answer within {} s", PATIENCE.as_secs())))
        })
    }

    /// Sends one request and returns its answer while it may still be coming in. How long that may take is the caller's.
    pub(crate) async fn begin(&self, mut request: Request<Bytes>) -> Result<Response<Inflow>, Unfetched> {
        let url = Url::parse(&request.uri().to_string()).map_err(|it| Unfetched(it.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Unfetched(format!("`{url}` is not an http or https address")));
        }
        self.hosts.check(url.host_str().unwrap_or_default()).map_err(|it| Unfetched(it.to_string()))?;
        let place = url.origin().ascii_serialization();
        let lines = self.dial.lines(&url).map_err(Unfetched)?;
        request.headers_mut().insert(USER_AGENT, self.agent.clone());
        let response = lines.send(request.map(Pieces::from)).await;
        response.map_err(|it| Unfetched(format!("`{place}`: {}", dial::cause(&it))))
    }
}

/// A request to a URL, without headers.
pub(crate) fn request(
    method: Method,
    url: &Url,
    body: impl Into<Bytes>,
) -> Result<Request<Bytes>, Unfetched> {
    let mut request = Request::new(body.into());
    *request.method_mut() = method;
    *request.uri_mut() = uri(url, &[]).map_err(|it| Unfetched(it.to_string()))?;
    Ok(request)
}

async fn read(place: &str, response: Response<Inflow>, limit: usize) -> Result<Fetched, Unfetched> {
    let reason = reason(&response);
    let (parts, body) = response.into_parts();
    let body = body.whole(limit).await.map_err(|it| match it {
        Broken::TooLong => Unfetched(format!("the answer of `{place}` is larger than {} KiB", limit / 1024)),
        Broken::Lost(error) => Unfetched(format!("`{place}`: the answer broke off: {error}")),
    })?;
    Ok(Fetched { status: parts.status, reason, headers: parts.headers, body })
}

#[cfg(test)]
mod tests;
