//! A loopback forwarder that adds the hub's key, because the conformance suite sends no credentials.
//!
//! `Host`, `Origin` and every other header pass unchanged; bodies stream both ways as they come, and a side that
//! hangs up is felt on the other.

use std::convert::Infallible;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONNECTION, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

type Body = BoxBody<Bytes, hyper::Error>;

/// Bound but not forwarding: its address must be known before the hub starts.
pub(crate) struct Forwarder {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Forwarder {
    pub(crate) async fn bind() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Forwards to `hub` (`127.0.0.1:PORT`) until the returned set is dropped.
    pub(crate) fn forward(self, hub: &str, key: &str) -> Result<JoinSet<()>> {
        let mut bearer =
            HeaderValue::from_str(&format!("Bearer {key}")).context("the key is not a header value")?;
        bearer.set_sensitive(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .set_host(false)
            .build(HttpConnector::new());
        let way = Way { client, hub: hub.to_owned(), bearer };

        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = self.listener.accept().await {
                let way = way.clone();
                connections.spawn(async move {
                    let service = service_fn(move |request| {
                        let way = way.clone();
                        async move { Ok::<_, Infallible>(way.pass(request).await) }
                    });
                    // A connection that breaks is the suite's business.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(tasks)
    }
}

#[derive(Clone)]
struct Way {
    client: Client<HttpConnector, Incoming>,
    hub: String,
    bearer: HeaderValue,
}

impl Way {
    async fn pass(&self, request: Request<Incoming>) -> Response<Body> {
        match self.try_pass(request).await {
            Ok(response) => response,
            Err(error) => {
                let mut response = Response::new(
                    Full::from(format!("forwarder: {error:#}")).map_err(|it| match it {}).boxed(),
                );
                *response.status_mut() = StatusCode::BAD_GATEWAY;
                response
            }
        }
    }

    async fn try_pass(&self, mut request: Request<Incoming>) -> Result<Response<Body>> {
        let path = request.uri().path_and_query().map_or("/", |it| it.as_str());
        *request.uri_mut() = format!("http://{}{path}", self.hub).parse::<Uri>()?;
        let headers = request.headers_mut();
        headers.remove(CONNECTION);
        headers.entry(AUTHORIZATION).or_insert_with(|| self.bearer.clone());
        let mut response = self.client.request(request).await?;
        response.headers_mut().remove(CONNECTION);
        Ok(response.map(BodyExt::boxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    /// Reads until what was read ends with `end`.
    async fn read_to(stream: &mut TcpStream, end: &str) -> String {
        let mut read = Vec::new();
        while !read.ends_with(end.as_bytes()) {
            read.push(stream.read_u8().await.expect("the other side is still there"));
        }
        String::from_utf8(read).expect("the test speaks UTF-8")
    }

    #[tokio::test]
    async fn the_key_is_added_and_bodies_flow_as_they_come() {
        let hub = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let forwarder = Forwarder::bind().await.expect("a free port");
        let address = forwarder.address;
        let to = hub.local_addr().expect("it is bound").to_string();
        let _tasks = forwarder.forward(&to, "secret").expect("a valid key");

        let mut client = TcpStream::connect(address).await.expect("it listens");
        for round in ["first", "second on the same connection"] {
            let head = "POST /mcp?x=1 HTTP/1.1\r\nHost: elsewhere:1\r\nOrigin: http://evil\r\nContent-Length: 4\r\n\r\nbody";
            client.write_all(head.as_bytes()).await.expect("it reads");
            let (mut server, _) = hub.accept().await.expect("it forwards");
            let seen = read_to(&mut server, "body").await.to_lowercase();
            for wanted in
                ["post /mcp?x=1 ", "host: elsewhere:1", "origin: http://evil", "authorization: bearer secret"]
            {
                assert!(seen.contains(wanted), "{round}: no {wanted:?} in {seen}");
            }

            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
            server.write_all(format!("{head}5\r\ndata:\r\n").as_bytes()).await.expect("it reads");
            let seen = read_to(&mut client, "data:\r\n").await;
            assert!(seen.starts_with("HTTP/1.1 200 OK"), "{round}: {seen}");
            server.write_all(b"0\r\n\r\n").await.expect("it reads");
            read_to(&mut client, "0\r\n\r\n").await;
        }
    }

    #[tokio::test]
    async fn a_client_that_hangs_up_is_felt_by_the_hub() {
        let hub = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let forwarder = Forwarder::bind().await.expect("a free port");
        let address = forwarder.address;
        let to = hub.local_addr().expect("it is bound").to_string();
        let _tasks = forwarder.forward(&to, "secret").expect("a valid key");

        let mut client = TcpStream::connect(address).await.expect("it listens");
        client.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").await.expect("it reads");
        let (mut server, _) = hub.accept().await.expect("it forwards");
        read_to(&mut server, "\r\n\r\n").await;
        drop(client);
        assert_eq!(server.read(&mut [0]).await.expect("a clean end"), 0);
    }
}
