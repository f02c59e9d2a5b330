//! HTTP as every link of that family needs it: where to send, with which headers, and what an answer means.

mod answer;
mod connect;
mod dial;
mod download;
pub(crate) mod fetch;
mod head;
mod line;
pub(crate) mod pipeline;

pub(crate) use answer::{EventStream, Kind, collect, collect_text, kind, refused};
pub(crate) use connect::NOT_PUBLIC;
pub(crate) use dial::{Dial, cause, refused_host};
pub(crate) use head::{Head, Opening, Own};
pub(crate) use line::{Broken, Inflow, Lines, Stream, Unanswered};

use std::fmt;
use std::sync::Arc;

use bytes::BytesMut;
use futures::TryFutureExt;
use http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use http::{Method, Response, Uri};
use toolgrove_core::instance::{HttpReach, UnixFraming, UnixReach};
use toolgrove_core::{Error, Secret};
use toolgrove_wire::Pieces;
use url::Url;
use zeroize::Zeroizing;

use crate::context::Context;
use crate::failure::Failure;
use crate::oauth::Next;

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(crate) const NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(crate) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const JSON_OR_EVENTS: HeaderValue =
    HeaderValue::from_static("application/json, text/event-stream");
pub(crate) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// How often a redirect inside one origin is followed.
const REDIRECTS: usize = 3;

/// One URL of a server and the person's own headers and parameters, which go with every request.
#[derive(Clone)]
pub(crate) struct Endpoint {
    context: Arc<Context>,
    lines: Arc<Lines>,
    /// A socket is on no host.
    is_socket: bool,
    /// Without the person's parameters, so that it may be spoken of.
    url: Url,
    uri: Uri,
    headers: HeaderMap,
    query: Arc<[(String, Secret)]>,
}

impl fmt::Debug for Endpoint {
    /// Without the query, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.url.origin().ascii_serialization(), self.url.path())
    }
}

impl Endpoint {
    pub(crate) fn of(context: &Arc<Context>, reach: &HttpReach) -> Result<Self, Error> {
        let mut url = reach.url.clone();
        url.set_fragment(None);
        let lines = context.dial.lines(&url).map_err(|cause| context.unreachable(cause))?;
        let endpoint = Self::new(context, lines, url, &reach.headers, &reach.query)?;
        endpoint.check_host(&endpoint.url)?;
        Ok(endpoint)
    }

    /// HTTP over a unix socket.
    pub(crate) fn of_socket(context: &Arc<Context>, reach: &UnixReach) -> Result<Self, Error> {
        let path = match &reach.framing {
            UnixFraming::Http { path } => path.as_str(),
            UnixFraming::Lines => "/",
        };
        let url = Url::parse("http://localhost").and_then(|it| it.join(path));
        let url =
            url.map_err(|it| Error::ServerConfig(format!("`{path}` is not a path on a socket: {it}")))?;
        let lines = dial::socket(reach.path.clone());
        Ok(Self { is_socket: true, ..Self::new(context, lines, url, &reach.headers, &[])? })
    }

    fn new(
        context: &Arc<Context>,
        lines: Arc<Lines>,
        url: Url,
        own: &[(String, Secret)],
        query: &[(String, Secret)],
    ) -> Result<Self, Error> {
        let mut headers = HeaderMap::with_capacity(own.len() + 4);
        let client = &context.options.client;
        if let Ok(agent) = HeaderValue::try_from(format!("{}/{}", client.name, client.version)) {
            headers.insert(USER_AGENT, agent);
        }
        let mut named = Vec::new();
        for (name, value) in own {
            let (name, value) = own_header(name, value)?;
            // The first of a name replaces ours, the others stand beside it.
            if named.contains(&name) {
                headers.append(name, value);
            } else {
                headers.insert(name.clone(), value);
                named.push(name);
            }
        }
        let uri = uri(&url, query)?;
        let (context, query) = (context.clone(), query.into());
        Ok(Self { context, lines, is_socket: false, url, uri, headers, query })
    }

    /// Another URL of the same server, as the server names it.
    pub(crate) fn join(&self, reference: &str) -> Result<Self, Error> {
        let url = self.url.join(reference);
        let url =
            url.map_err(|it| self.context.garbled(format!("its endpoint `{reference}` is not a URL: {it}")))?;
        if url.origin() != self.url.origin() {
            let origin = url.origin().ascii_serialization();
            return Err(self.context.garbled(format!("its endpoint is on another origin ({origin})")));
        }
        let uri = uri(&url, &self.query)?;
        Ok(Self { url, uri, ..self.clone() })
    }

    /// Whether the workspace lets its servers be there.
    fn check_host(&self, url: &Url) -> Result<(), Error> {
        if self.is_socket {
            return Ok(());
        }
        self.context.instance.hosts.check(url.host_str().unwrap_or_default())
    }

    /// The headers of every request of a link.
    pub(crate) fn headers(&self, accept: HeaderValue) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, accept);
        headers
    }

    /// Where requests go that are not redirected.
    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// A connection of its own, if there is one to be had.
    pub(crate) async fn connect(&self) -> Option<Box<dyn Stream>> {
        self.lines.connect(&self.uri).await.ok()
    }

    /// The instance's token as a header has it.
    pub(crate) async fn token(&self) -> Result<Option<HeaderValue>, Failure> {
        let Some(tokens) = &self.context.options.tokens else { return Ok(None) };
        let token = tokens.bearer(&self.context.fetch, &self.context.instance).await?;
        Ok(token.as_ref().map(bearer).transpose()?)
    }

    /// Sends one request, with the instance's token if it has one. A token that the server refuses is renewed once:
    /// the server has not run what it refuses.
    pub(crate) async fn send(
        &self,
        method: Method,
        head: &Head<'_>,
        body: Pieces,
    ) -> Result<Response<Inflow>, Failure> {
        let (instance, fetch) = (&self.context.instance, &self.context.fetch);
        let Some(tokens) = &self.context.options.tokens else {
            return self.send_as(None, &method, head, body).await;
        };
        let Some(token) = tokens.bearer(fetch, instance).await? else {
            return self.send_as(None, &method, head, body).await;
        };
        let response = self.send_as(Some(&token), &method, head, body.clone()).await?;
        let Some(refusal) = answer::refusal(&response) else { return Ok(response) };
        Box::pin(async {
            let refused = answer::refused(&self.context, response).await;
            match tokens.refused(fetch, instance, &token, refusal).await {
                Ok(Next::Again(token)) => self.send_as(Some(&token), &method, head, body).await,
                Ok(Next::SignIn) => Err(refused),
                Ok(Next::GiveUp) => Err(answer::plain(refused)),
                Err(error) => Err(answer::because(refused, error)),
            }
        })
        .await
    }

    /// Redirects are followed inside the origin only: the server has not run what it redirects.
    async fn send_as(
        &self,
        token: Option<&Secret>,
        method: &Method,
        head: &Head<'_>,
        body: Pieces,
    ) -> Result<Response<Inflow>, Failure> {
        let token = token.map(bearer).transpose()?;
        let sent = Sent { method, head, token, body };
        let response = self.send_to(&self.uri, &sent).await?;
        if !response.status().is_redirection() {
            return Ok(response);
        }
        Box::pin(self.follow(response, &sent)).await
    }

    async fn follow(
        &self,
        mut response: Response<Inflow>,
        sent: &Sent<'_>,
    ) -> Result<Response<Inflow>, Failure> {
        let mut url = self.url.clone();
        for _ in 0..REDIRECTS {
            let location = response.headers().get(LOCATION).and_then(|it| it.to_str().ok());
            let Some(Ok(next)) = location.map(|it| url.join(it)) else { return Ok(response) };
            self.check_host(&next)?;
            if next.origin() != self.url.origin() {
                let origin = next.origin().ascii_serialization();
                let cause =
                    format!("it redirects to another origin ({origin}); set that URL if you trust it");
                return Err(self.context.unreachable(cause).into());
            }
            response = self.send_to(&uri(&next, &self.query)?, sent).await?;
            if !response.status().is_redirection() {
                return Ok(response);
            }
            url = next;
        }
        Err(self.context.unreachable("it redirects in circles").into())
    }

    async fn send_to(&self, uri: &Uri, sent: &Sent<'_>) -> Result<Response<Inflow>, Failure> {
        let mut head = BytesMut::new();
        sent.head.put(&mut head, (sent.method, uri), sent.token.as_ref(), sent.body.len());
        self.lines.exchange(uri, head, sent.body.clone()).map_err(|it| self.unanswered(it)).await
    }

    fn unanswered(&self, error: Unanswered) -> Failure {
        if let Some(host) = refused_host(&error) {
            return Failure::Final(Error::PrivateAddress { host });
        }
        let unreachable = self.context.unreachable(cause(&error));
        match error {
            // Without a connection nothing was sent, and another try would fail the same way.
            Unanswered::Connect(_) => Failure::Final(unreachable),
            Unanswered::Lost(_) => Failure::Lost(unreachable),
        }
    }
}

/// One request, as often as it has to be sent.
struct Sent<'a> {
    method: &'a Method,
    head: &'a Head<'a>,
    token: Option<HeaderValue>,
    body: Pieces,
}

/// What is sent: the URL with the person's parameters, unless the server has put them there itself.
fn uri(url: &Url, query: &[(String, Secret)]) -> Result<Uri, Error> {
    let mut url = url.clone();
    for (key, value) in query {
        if !url.query_pairs().any(|it| it.0 == *key && it.1 == value.reveal()) {
            url.query_pairs_mut().append_pair(key, value.reveal());
        }
    }
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.as_str().parse().map_err(|_| {
        url.set_query(None);
        Error::ServerUrl { url: url.to_string() }
    })
}

fn bearer(token: &Secret) -> Result<HeaderValue, Error> {
    let text = Zeroizing::new(format!("Bearer {}", token.reveal()));
    let mut value = HeaderValue::from_str(&text)
        .map_err(|_| Error::OauthExchange("the provider's token cannot be sent in a header".into()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn own_header(name: &str, value: &Secret) -> Result<(HeaderName, HeaderValue), Error> {
    let lower = name.to_ascii_lowercase();
    let is_ours = matches!(lower.as_str(), "host" | "accept" | "connection" | "transfer-encoding")
        || lower.starts_with("content-")
        || lower.starts_with("mcp-");
    if is_ours {
        return Err(Error::ServerConfig(format!("header `{name}` is set by Toolgrove")));
    }
    let Ok(header) = HeaderName::try_from(lower) else {
        return Err(Error::ServerConfig(format!("`{name}` is not a header name")));
    };
    let Ok(mut value) = HeaderValue::try_from(value.reveal()) else {
        return Err(Error::ServerConfig(format!("the value of header `{name}` cannot be sent")));
    };
    value.set_sensitive(true);
    Ok((header, value))
}
