//! The echo server's transports: Streamable HTTP over TCP and over a unix socket, and lines on standard input.
//!
//! The path says how many tools a server has, so that one process can be many servers: `/mcp/20`.

use std::convert::Infallible;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;

use crate::say;
use crate::speech::{Era, Reply, answer};

const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long, value_enum, default_value = "modern")]
    era: Era,
    /// Speak lines on standard input and output
    #[arg(long)]
    stdio: bool,
    /// Listen on this socket instead of a port
    #[arg(long)]
    socket: Option<PathBuf>,
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

pub(crate) async fn run(args: Args) -> Result<()> {
    if args.stdio {
        return lines(args.era);
    }
    let mut connections = JoinSet::new();
    if let Some(path) = args.socket {
        let listener = UnixListener::bind(&path)?;
        say(format_args!("listening on {}", path.display()));
        loop {
            let (stream, _) = listener.accept().await?;
            connections.spawn(serve(args.era, stream));
            while connections.try_join_next().is_some() {}
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    say(format_args!("listening on {}", listener.local_addr()?));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        connections.spawn(serve(args.era, stream));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(era: Era, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let service = service_fn(move |request| respond(era, request));
    // A client that goes away ends its connection, nothing else.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn respond(era: Era, request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
    let tools = request.uri().path().rsplit('/').next().and_then(|it| it.parse().ok()).unwrap_or(10);
    match *request.method() {
        Method::POST => {}
        Method::GET if era == Era::Legacy => return Ok(events(stream::empty().boxed(), End::Never)),
        Method::DELETE => return Ok(empty(StatusCode::OK)),
        _ => return Ok(empty(StatusCode::METHOD_NOT_ALLOWED)),
    }
    let body = request.into_body().collect().await?.to_bytes();
    let mut response = match answer(era, tools, &body) {
        Reply::Silence => empty(StatusCode::ACCEPTED),
        Reply::Message(status, message) => {
            let mut response = Response::new(Full::new(message).boxed_unsync());
            *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Reply::Stream(messages) => events(stream::iter(messages).boxed(), End::WithLast),
        Reply::Open(first) => events(stream::iter([first]).boxed(), End::Never),
    };
    if era == Era::Legacy {
        response.headers_mut().insert("mcp-session-id", HeaderValue::from_static("echo"));
    }
    Ok(response)
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Full::default().boxed_unsync());
    *response.status_mut() = status;
    response
}

#[derive(PartialEq, Eq)]
enum End {
    WithLast,
    Never,
}

fn events(messages: stream::BoxStream<'static, Bytes>, end: End) -> Response<Body> {
    let framed = messages.map(|it| Bytes::from([b"data: ", &it[..], b"\n\n"].concat()));
    let comments = stream::unfold((), |()| async {
        tokio::time::sleep(KEEP_ALIVE).await;
        Some((Bytes::from_static(b": still here\n\n"), ()))
    });
    let all = match end {
        End::WithLast => framed.boxed(),
        End::Never => stream::iter([Bytes::from_static(b": open\n\n")]).chain(framed).chain(comments).boxed(),
    };
    let body = StreamBody::new(all.map(|it| Ok::<_, Infallible>(Frame::data(it))));
    let mut response = Response::new(body.boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

/// One answer after the other, as most servers do it.
fn lines(era: Era) -> Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, std::io::stdin().lock());
    let mut output = std::io::stdout().lock();
    let (mut line, mut out) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let messages = match answer(era, 10, &line) {
            Reply::Silence => continue,
            Reply::Message(_, message) | Reply::Open(message) => vec![message],
            Reply::Stream(messages) => messages,
        };
        out.clear();
        for message in messages {
            out.extend_from_slice(&message);
            out.push(b'\n');
        }
        output.write_all(&out)?;
        output.flush()?;
    }
}
