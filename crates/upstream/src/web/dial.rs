//! Ways out: one for plain HTTP, one for TLS (made when first needed), one per unix socket.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use toolgrove_core::net::Guard;
use tower_service::Service;
use url::Url;

use super::connect::{BoxError, CONNECT_TIMEOUT, Connector, Lookup, Refused, Resolver};
use super::line::{Lines, Stream};
use crate::near;

/// All ways out of a pool. Connections are shared by every instance with the same origin.
#[derive(Debug)]
pub(crate) struct Dial {
    connector: Connector,
    plain: Arc<Lines>,
    secure: OnceLock<Result<Arc<Lines>, String>>,
    /// A PEM file of authorities to be trusted beside those of this machine.
    ca_file: Option<PathBuf>,
}

/// How a connection comes to be.
#[derive(Debug)]
pub(super) enum Way {
    Plain(Connector),
    Secure(HttpsConnector<Connector>),
    /// To a socket, whatever the URL says.
    Unix(PathBuf),
}

impl Way {
    pub(super) async fn connect(&self, uri: &Uri) -> Result<Box<dyn Stream>, BoxError> {
        Ok(match self {
            Self::Plain(connector) => {
                let stream = connector.clone().call(uri.clone()).await?.into_inner();
                near::settle(&stream);
                Box::new(stream)
            }
            Self::Secure(connector) => Box::new(TokioIo::new(connector.clone().call(uri.clone()).await?)),
            Self::Unix(path) => Box::new(timeout(CONNECT_TIMEOUT, UnixStream::connect(path)).await??),
        })
    }
}

impl Dial {
    pub(crate) fn new(guard: Guard) -> Self {
        Self::with(guard, Lookup::System)
    }

    pub(crate) fn with(guard: Guard, lookup: Lookup) -> Self {
        let connector = Connector::new(Resolver::new(guard, lookup));
        let plain = Lines::new(Way::Plain(connector.clone()));
        Self { plain, connector, secure: OnceLock::new(), ca_file: None }
    }

    /// The same way out, with more to trust.
    pub(crate) fn trusting(&self, ca_file: &Path) -> Self {
        let (connector, plain) = (self.connector.clone(), self.plain.clone());
        Self { connector, plain, secure: OnceLock::new(), ca_file: Some(ca_file.to_owned()) }
    }

    pub(crate) fn resolver(&self) -> &Resolver {
        self.connector.resolver()
    }

    pub(crate) fn lines(&self, url: &Url) -> Result<Arc<Lines>, String> {
        if url.scheme() != "https" {
            return Ok(self.plain.clone());
        }
        self.secure.get_or_init(|| self.tls().map(|it| Lines::new(Way::Secure(it)))).clone()
    }

    /// Closes idle connections that are cheap to open again.
    pub(crate) fn rest(&self) {
        self.plain.rest();
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

/// Connections to one unix socket.
pub(crate) fn socket(path: PathBuf) -> Arc<Lines> {
    Lines::new(Way::Unix(path))
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
