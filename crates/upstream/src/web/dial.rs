//! Connections: one pooled client for plain HTTP, one for TLS (made when first needed), one per unix socket.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::UnixStream;
use url::Url;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Shorter than what proxies and servers usually keep, so that we seldom write into a connection being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);
const IDLE_PER_HOST: usize = 256;

type Plain = Client<HttpConnector, Full<Bytes>>;
type Secure = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// All clients of a pool. Connections are shared by every instance with the same origin.
#[derive(Debug)]
pub(crate) struct Dial {
    plain: Plain,
    secure: OnceLock<Result<Secure, String>>,
}

/// What carries a link's requests.
#[derive(Debug, Clone)]
pub(crate) enum Carrier {
    Plain(Plain),
    Secure(Secure),
    Unix(Client<Socket, Full<Bytes>>),
}

impl Dial {
    pub(crate) fn new() -> Self {
        Self { plain: client(connector()), secure: OnceLock::new() }
    }

    pub(crate) fn carrier(&self, url: &Url) -> Result<Carrier, String> {
        if url.scheme() != "https" {
            return Ok(Carrier::Plain(self.plain.clone()));
        }
        self.secure.get_or_init(secure).clone().map(Carrier::Secure)
    }
}

fn secure() -> Result<Secure, String> {
    let mut connector = connector();
    connector.enforce_http(false);
    let builder = HttpsConnectorBuilder::new()
        .with_native_roots()
        .map_err(|it| format!("the certificates of this machine cannot be read: {it}"))?;
    Ok(client(builder.https_or_http().enable_http1().wrap_connector(connector)))
}

fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.set_keepalive(Some(Duration::from_secs(60)));
    connector
}

fn client<C: Connect + Clone>(connector: C) -> Client<C, Full<Bytes>> {
    // A request is sent again only when its connection was gone before the first byte was written: the default.
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_PER_HOST)
        .build(connector)
}

impl Carrier {
    pub(crate) fn unix(path: PathBuf) -> Self {
        Self::Unix(client(Socket { path }))
    }

    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, legacy::Error> {
        match self {
            Self::Plain(client) => client.request(request).await,
            Self::Secure(client) => client.request(request).await,
            Self::Unix(client) => client.request(request).await,
        }
    }
}

/// Connects to a socket whatever the URL says.
#[derive(Debug, Clone)]
pub(crate) struct Socket {
    path: PathBuf,
}

impl tower_service::Service<Uri> for Socket {
    type Response = TokioIo<UnixStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _uri: Uri) -> Self::Future {
        let path = self.path.clone();
        Box::pin(async move {
            let stream = tokio::time::timeout(CONNECT_TIMEOUT, UnixStream::connect(path)).await??;
            Ok(TokioIo::new(stream))
        })
    }
}

/// The innermost reason, which is the one a person can do something about.
pub(crate) fn cause(error: &legacy::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
