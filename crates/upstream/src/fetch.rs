//! One request to anywhere, under the same guard as links: metadata, tokens, icons. Sizes, times and redirects are
//! bounded, and each redirect is judged like the first address.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, COOKIE, LOCATION};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use toolgrove_core::Error;
use toolgrove_core::net::Allowlist;
use url::Url;

use crate::Pool;
use crate::web::{Dial, cause, refused_host};

const REDIRECTS: usize = 3;

/// What a request may cost.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub bytes: usize,
    pub time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { bytes: 1024 * 1024, time: Duration::from_secs(30) }
    }
}

/// An answer, whatever its status.
#[derive(Debug)]
pub struct Fetched {
    /// Where it came from, after redirects.
    pub url: Url,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Why there was no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FetchError {
    /// Nothing was sent: the host is not allowed.
    #[error(transparent)]
    Refused(Error),
    /// No connection, a broken one, or silence. The address may be fine another time.
    #[error("{0}")]
    Unreachable(String),
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
}

/// Sends requests that belong to no link.
#[derive(Debug, Clone)]
pub struct Fetch {
    dial: Arc<Dial>,
    hosts: Allowlist,
    bounds: Bounds,
}

impl Pool {
    /// For requests on behalf of somebody whose workspace has this allowlist.
    pub fn fetch(&self, hosts: Allowlist, bounds: Bounds) -> Fetch {
        Fetch { dial: self.dial().clone(), hosts, bounds }
    }
}

impl Fetch {
    /// Sends one request. A GET follows redirects, and leaves credentials behind where the origin changes.
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Fetched, FetchError> {
        let silent = || FetchError::Unreachable(format!("no answer within {} s", self.bounds.time.as_secs()));
        let followed = self.follow(&method, url.clone(), headers, body);
        tokio::time::timeout(self.bounds.time, followed).await.unwrap_or_else(|_| Err(silent()))
    }

    async fn follow(
        &self,
        method: &Method,
        mut url: Url,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Fetched, FetchError> {
        for _ in 0..=REDIRECTS {
            let response = self.send_once(method, &url, &headers, body.clone()).await?;
            let location = response.headers().get(LOCATION).and_then(|it| it.to_str().ok());
            let next = location.and_then(|it| url.join(it).ok());
            let Some(next) = next.filter(|_| method == Method::GET && response.status().is_redirection())
            else {
                return self.read(url, response).await;
            };
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(FetchError::Unreachable("it redirects to a place that is not secure".into()));
            }
            if next.origin() != url.origin() {
                headers.remove(AUTHORIZATION);
                headers.remove(COOKIE);
            }
            url = next;
        }
        Err(FetchError::Unreachable("it redirects in circles".into()))
    }

    async fn send_once(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, FetchError> {
        let host = url.host_str().unwrap_or_default();
        if !matches!(url.scheme(), "http" | "https") || host.is_empty() {
            return Err(FetchError::Unreachable(format!("`{}:` is not `http:` or `https:`", url.scheme())));
        }
        self.hosts.check(host).map_err(FetchError::Refused)?;
        let mut url = url.clone();
        url.set_fragment(None);
        let uri: Uri = url.as_str().parse().map_err(|_| FetchError::Unreachable("not a URL".into()))?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers.clone();
        let carrier = self.dial.carrier(&url).map_err(FetchError::Unreachable)?;
        carrier.send(request).await.map_err(|error| match refused_host(&error) {
            Some(host) => FetchError::Refused(Error::PrivateAddress { host }),
            None => FetchError::Unreachable(cause(&error)),
        })
    }

    async fn read(&self, url: Url, response: Response<Incoming>) -> Result<Fetched, FetchError> {
        let (parts, mut body) = response.into_parts();
        let mut all = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|it| FetchError::Unreachable(format!("the answer broke off: {it}")))?;
            let Ok(data) = frame.into_data() else { continue };
            if all.len() + data.len() > self.bounds.bytes {
                return Err(FetchError::TooLarge(self.bounds.bytes));
            }
            all.extend_from_slice(&data);
        }
        Ok(Fetched { url, status: parts.status, headers: parts.headers, body: all.freeze() })
    }
}

#[cfg(test)]
mod tests;
