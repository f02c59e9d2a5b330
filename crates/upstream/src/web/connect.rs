//! From a host's name to a connection, past the guard.
//!
//! A name is looked up once and the connection goes to an address of that answer. Asked again, the name might lead
//! elsewhere, so the guard judges the very addresses that are tried; a URL that holds an address is judged alike.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::vec;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use toolgrove_core::net::Guard;
use tower_service::Service;

pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How the sentence about a refused host ends.
pub(crate) const NOT_PUBLIC: &str = "is not at a public address";

/// Why no connection was tried. It names the host only: where a private name leads is nobody's business.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) host: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {NOT_PUBLIC}", self.host)
    }
}

impl std::error::Error for Refused {}

/// Looks names up and gives the addresses that may be connected to.
#[derive(Debug, Clone)]
pub(crate) struct Resolver {
    guard: Arc<Guard>,
    lookup: Lookup,
}

/// Who knows where names lead.
#[derive(Debug, Clone)]
pub(crate) enum Lookup {
    System,
    #[cfg(test)]
    Scripted(Arc<tests::Script>),
}

impl Lookup {
    async fn look_up(&self, host: &str) -> io::Result<Vec<SocketAddr>> {
        match self {
            Self::System => {
                let found = tokio::time::timeout(CONNECT_TIMEOUT, tokio::net::lookup_host((host, 0))).await;
                let slow =
                    || io::Error::new(io::ErrorKind::TimedOut, format!("nobody said where `{host}` is"));
                Ok(found.map_err(|_| slow())??.collect())
            }
            #[cfg(test)]
            Self::Scripted(script) => script.look_up(host),
        }
    }
}

impl Resolver {
    pub(crate) fn new(guard: Guard, lookup: Lookup) -> Self {
        Self { guard: Arc::new(guard), lookup }
    }

    /// Where a host may be connected to, with port 0. It may be an address itself.
    pub(crate) async fn resolve(&self, host: &str) -> Result<Vec<SocketAddr>, BoxError> {
        let host = host.trim_matches(['[', ']']);
        let mut found = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, 0)],
            Err(_) => self.lookup.look_up(host).await?,
        };
        if found.is_empty() {
            return Err(format!("`{host}` has no address").into());
        }
        found.retain(|it| self.guard.admits(host, it.ip()));
        if found.is_empty() { Err(Box::new(Refused { host: host.to_owned() })) } else { Ok(found) }
    }
}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolver = self.clone();
        Box::pin(async move { Ok(resolver.resolve(name.as_str()).await?.into_iter()) })
    }
}

/// Opens TCP connections.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    tcp: HttpConnector<Resolver>,
    resolver: Resolver,
}

impl Connector {
    pub(crate) fn new(resolver: Resolver) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(resolver.clone());
        // What the scheme means is decided by who asked.
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        tcp.set_keepalive(Some(Duration::from_secs(60)));
        Self { tcp, resolver }
    }

    pub(crate) fn resolver(&self) -> &Resolver {
        &self.resolver
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        // An address is not looked up, so nobody else would show it to the guard.
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        if let Ok(address) = host.parse::<IpAddr>()
            && !self.resolver.guard.admits(host, address)
        {
            let refused = Refused { host: host.to_owned() };
            return Box::pin(async move { Err(refused.into()) });
        }
        let connecting = self.tcp.call(uri);
        Box::pin(async move { Ok(connecting.await?) })
    }
}

#[cfg(test)]
pub(crate) mod tests;
