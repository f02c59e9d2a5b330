//! The limit: a bare hyper pass-through that reads no JSON, with the hub's runtime and allocator.

use anyhow::Result;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::say;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// `HOST:PORT` of the server behind
    to: String,
}

pub(crate) async fn run(args: Args) -> Result<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Incoming> =
        Client::builder(TokioExecutor::new()).pool_max_idle_per_host(2048).build(connector);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    say(format_args!("listening on {}", listener.local_addr()?));
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (client, to) = (client.clone(), args.to.clone());
        connections.spawn(async move {
            let service = service_fn(|request| pass(&client, &to, request));
            // A client that goes away ends its connection, nothing else.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn pass(
    client: &Client<HttpConnector, Incoming>,
    to: &str,
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>, legacy::Error> {
    let path = request.uri().path_and_query().cloned();
    let mut parts = hyper::http::uri::Parts::default();
    parts.scheme = Some(hyper::http::uri::Scheme::HTTP);
    parts.authority = to.parse().ok();
    parts.path_and_query = path;
    if let (Ok(uri), Ok(host)) = (Uri::from_parts(parts), HeaderValue::from_str(to)) {
        *request.uri_mut() = uri;
        request.headers_mut().insert(HOST, host);
    }
    request.headers_mut().remove(CONNECTION);
    client.request(request).await
}
