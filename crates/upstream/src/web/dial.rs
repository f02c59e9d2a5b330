//! Connections: one pooled client for plain HTTP, one for TLS (made when first needed), one per unix socket.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::Connect;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::UnixStream;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use toolgrove_core::net::Guard;
use url::Url;

use super::connect::{CONNECT_TIMEOUT, Connector, Lookup, Refused, Resolver};

/// Shorter than what proxies and servers usually keep, so that we seldom write into a connection being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);
const IDLE_PER_HOST: usize = 256;

type Plain = Client<Connector, Full<Bytes>>;
type Secure = Client<HttpsConnector<Connector>, Full<Bytes>>;

/// All clients of a pool. Connections are shared by every instance with the same origin.
#[derive(Debug)]
pub(crate) struct Dial {
    connector: Connector,
    plain: Plain,
    secure: OnceLock<Result<Secure, String>>,
    /// A PEM file of authorities to be trusted beside those of this machine.
    ca_file: Option<PathBuf>,
}

/// What carries a link's requests.
#[derive(Debug, Clone)]
pub(crate) enum Carrier {
    Plain(Plain),
    Secure(Secure),
    Unix(Client<Socket, Full<Bytes>>),
}

impl Dial {
    pub(crate) fn new(guard: Guard) -> Self {
        Self::with(guard, Lookup::System)
    }

    pub(crate) fn with(guard: Guard, lookup: Lookup) -> Self {
        let connector = Connector::new(Resolver::new(guard, lookup));
        Self { plain: client(connector.clone()), connector, secure: OnceLock::new(), ca_file: None }
    }

    /// The same way out, with more to trust.
    pub(crate) fn trusting(&self, ca_file: &Path) -> Self {
        let (connector, plain) = (self.connector.clone(), self.plain.clone());
        Self { connector, plain, secure: OnceLock::new(), ca_file: Some(ca_file.to_owned()) }
    }

    pub(crate) fn resolver(&self) -> &Resolver {
        self.connector.resolver()
    }

    pub(crate) fn carrier(&self, url: &Url) -> Result<Carrier, String> {
        if url.scheme() != "https" {
            return Ok(Carrier::Plain(self.plain.clone()));
        }
        self.secure.get_or_init(|| self.tls().map(client)).clone().map(Carrier::Secure)
    }

    /// Opens connections that are secure or not at all.
    pub(crate) fn tls(&self) -> Result<HttpsConnector<Connector>, String> {
        let builder = match &self.ca_file {
            Some(file) => HttpsConnectorBuilder::new().with_tls_config(trusting(file)?),
            None => HttpsConnectorBuilder::new()
                .with_native_roots()
                .map_err(|it| format!("the certificates of this machine cannot be read: {it}"))?,
        };
        Ok(builder.https_only().enable_http1().wrap_connector(self.connector.clone()))
    }
}

/// A machine without certificates of its own still has those of the file.
fn trusting(file: &Path) -> Result<ClientConfig, String> {
    let failed = |it: &dyn std::fmt::Display| format!("cannot use `{}`: {it}", file.display());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let certificates = CertificateDer::pem_file_iter(file).map_err(|it| failed(&it))?;
    for certificate in certificates {
        roots.add(certificate.map_err(|it| failed(&it))?).map_err(|it| failed(&it))?;
    }
    let ring = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(ring).with_safe_default_protocol_versions();
    let config = config.map_err(|it| failed(&it))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
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
pub(crate) fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

/// The host that the guard refused, if that is the reason.
pub(crate) fn refused_host(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    chain(error).find_map(|it| it.downcast_ref::<Refused>()).map(|it| it.host.clone())
}

fn chain<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |it| it.source())
}
