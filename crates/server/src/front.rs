//! Where connections come in. A request to an MCP door goes straight to it; everything else goes through the router,
//! whose layers are too much for the path of every call. Both ask the same questions first. Plain HTTP is read and
//! written here (`lane.rs`), all else by a library.

mod lane;
mod rewound;
mod unread;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use http::{Method, Request, Uri};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use toolgrove_core::call::View;
use toolgrove_upstream::near::Patient;
use tower_service::Service;

use self::lane::{Lane, Next, Stage};
use self::rewound::Rewound;
use self::unread::Unread;
use crate::auth::until;
use crate::problem::Refusal;
use crate::{App, Local, mcp};

/// A request in the place of one that was read before.
const SEEN: &[u8] = b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 0\r\n\r\n";

/// What answers the requests of a connection, until the hub stops.
#[derive(Clone)]
pub struct Front {
    app: Arc<App>,
    doors: Router,
    stop: CancellationToken,
}

/// How a connection came.
#[derive(Debug, Clone, Copy)]
pub enum Arrival {
    Network(SocketAddr),
    /// Over the hub's own socket, from this machine.
    Socket,
}

impl Front {
    pub fn new(app: Arc<App>, stop: CancellationToken) -> Self {
        Self { doors: crate::app(app.clone()), app, stop }
    }

    /// Answers the requests of one connection until its client goes. When the hub stops, what runs may finish.
    pub async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Patient + Unpin + Send + 'static,
        arrival: Arrival,
    ) -> io::Result<()> {
        let stage = Arc::new(Stage::default());
        let lane = Lane::new(stream, stage.clone(), self.app.body_limit());
        // On the heap, because connections are many and each is at one time either here or there.
        let mut plain = Box::pin(lane.serve(|request| self.answer(request, arrival)));
        let next = tokio::select! {
            biased;
            next = plain.as_mut() => next?,
            () = self.stop.cancelled() => if stage.finish() { plain.as_mut().await? } else { Next::Ended },
        };
        drop(plain);
        match next {
            Next::Ended => Ok(()),
            Next::Over { io, seen, first } => {
                // The library has not seen what is answered first, so it is shown another request.
                let seen = if first.is_some() { [SEEN, &seen].concat().into() } else { seen };
                let rest = self.serve_all(Rewound::new(seen, io), arrival, first);
                Box::pin(rest).await.map_err(io::Error::other)
            }
        }
    }

    /// The same for whatever HTTP there is.
    async fn serve_all(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        arrival: Arrival,
        first: Option<Response>,
    ) -> hyper::Result<()> {
        let (unread, first) = (Unread::default(), Mutex::new(first));
        let service = service_fn(|request: Request<Incoming>| {
            let first = first.lock().unwrap_or_else(PoisonError::into_inner).take();
            let answered = match first {
                Some(first) => ready(first).boxed(),
                None => self.answer(unread.lend(request).map(Body::new), arrival),
            };
            let unread = unread.clone();
            async move { Ok::<_, Infallible>(unread.settle(answered.await).await) }
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection.with_upgrades());
        tokio::select! {
            biased;
            served = connection.as_mut() => return served,
            () = self.stop.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        connection.await
    }

    fn answer(&self, mut request: Request<Body>, arrival: Arrival) -> BoxFuture<'static, Response> {
        // Streams that only carry news have no end of their own: they end when the hub stops, calls may finish.
        let is_news = request.method() == Method::GET
            || request.headers().get(mcp::headers::METHOD).is_some_and(|it| it == "subscriptions/listen");
        if matches!(arrival, Arrival::Socket) {
            request.extensions_mut().insert(Local);
        }
        let answered = if let Some(view) = door(request.uri()) {
            match self.app.gate.check_origin(&request) {
                Ok(()) => mcp::enter(self.app.clone(), view, request),
                Err(error) => ready(Refusal(error).into_response()).boxed(),
            }
        } else {
            if let Arrival::Network(peer) = arrival {
                request.extensions_mut().insert(ConnectInfo(peer));
            }
            self.doors.clone().call(request).map(IntoResponse::into_response).boxed()
        };
        if !is_news {
            return answered;
        }
        let over = self.stop.clone().cancelled_owned();
        answered.map(|response| until(response, over)).boxed()
    }
}

/// The MCP door that is meant, if it is spelled as everybody does.
fn door(uri: &Uri) -> Option<View> {
    if uri.query().is_some() {
        return None;
    }
    match uri.path().strip_prefix("/mcp")? {
        "" => Some(View::All),
        rest => {
            let slug = rest.strip_prefix("/i/")?;
            let is_plain =
                !slug.is_empty() && slug.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
            is_plain.then(|| View::One { slug: slug.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_skip_the_router() {
        let one = |slug: &str| Some(View::One { slug: slug.into() });
        for (uri, meant) in [
            ("/mcp", Some(View::All)),
            ("/mcp/i/notes-2", one("notes-2")),
            ("/mcp?names=single", None),
            ("/mcp/", None),
            ("/mcp/i/", None),
            ("/mcp/i/a/b", None),
            ("/mcp/i/%61", None),
            ("/mcpx", None),
            ("/api/mcp", None),
        ] {
            assert_eq!(door(&Uri::from_static(uri)), meant, "{uri}");
        }
    }
}
