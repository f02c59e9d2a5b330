//! HTTP+SSE of 2024-11-05, deprecated: one GET stream brings everything in, POSTs to the URL it names take it out.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::CONTENT_TYPE;
use tokio::sync::mpsc;
use tokio::time::timeout;
use toolgrove_core::event::News;
use toolgrove_wire::{Abilities, Pieces, Raw};

use super::http::HTTP_SSE;
use super::{Kind, Link, Task};
use crate::context::Context;
use crate::era::{self, Plan};
use crate::failure::Failure;
use crate::mux::{Mux, Outbound};
use crate::web::{self, Endpoint, EventStream, Head, Opening};

/// How long the server may take to name its endpoint.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);
const START_TIMEOUT: Duration = Duration::from_secs(60);
const POST_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Sse {
    pub(crate) mux: Arc<Mux>,
    _reader: Task,
    _poster: Task,
}

impl Sse {
    pub(crate) fn close(&self) {
        self.mux.end(&self.mux.context.unreachable("the link was closed"));
    }
}

pub(crate) async fn open(
    context: &Arc<Context>,
    endpoint: Endpoint,
    plan: &Plan,
    declared: Abilities,
) -> Result<Link, Failure> {
    let opened = timeout(ENDPOINT_TIMEOUT, listen(context, &endpoint)).await;
    let late = || Failure::Final(context.unreachable("the event stream did not name an endpoint"));
    let (stream, reference) = opened.map_err(|_| late())??;
    let target = endpoint.join(&reference)?;
    let (mux, inbox) = Mux::new(context.clone(), declared);
    let sse = Sse {
        _reader: Task::spawn("sse-reader", read(mux.clone(), stream)),
        _poster: Task::spawn("sse-poster", post_all(mux.clone(), target, inbox)),
        mux,
    };
    let session = era::initialize_only(&sse.mux, plan, START_TIMEOUT, HTTP_SSE).await?;
    Ok(Link::new(context, session, plan, Kind::Sse(sse)))
}

/// Opens the stream and waits for the URL to post to.
async fn listen(context: &Arc<Context>, endpoint: &Endpoint) -> Result<(EventStream, String), Failure> {
    let opening = Opening::of(&endpoint.headers(web::EVENTS));
    let response = endpoint.send(Method::GET, &Head::plain(&opening), Pieces::default()).await?;
    if !response.status().is_success() {
        return Err(web::refused(context, response).await);
    }
    if web::kind(response.headers()) != web::Kind::Events {
        return Err(context.garbled("it answered GET with something that is no event stream").into());
    }
    let mut stream = EventStream::new(context, response);
    match stream.next(context).await? {
        Some(event) if event.name == "endpoint" => {
            Ok((stream, String::from_utf8_lossy(&event.data).trim().to_owned()))
        }
        _ => Err(context.garbled("its event stream does not begin with an endpoint").into()),
    }
}

async fn read(mux: Arc<Mux>, mut stream: EventStream) {
    let error = loop {
        match stream.next(&mux.context).await {
            Ok(Some(event)) if event.name == "message" => {
                let problem = match Raw::parse(event.data) {
                    Ok(raw) => mux.receive(&raw).err().map(|it| it.to_string()),
                    Err(problem) => Some(problem.to_string()),
                };
                if let Some(problem) = problem {
                    tracing::warn!(target: "server", server = mux.context.slug(), problem, "not a message");
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => break mux.context.unreachable("the event stream ended"),
            Err(failure) => break failure.into_error(),
        }
    };
    if mux.end(&error) {
        mux.context.report(News::Lost(error));
    }
}

/// Posts requests side by side, and the rest in order.
async fn post_all(mux: Arc<Mux>, target: Endpoint, mut inbox: mpsc::Receiver<Outbound>) {
    let mut headers = target.headers(web::JSON_OR_EVENTS);
    headers.insert(CONTENT_TYPE, web::JSON);
    let (target, opening) = (Arc::new(target), Arc::new(Opening::of(&headers)));
    while let Some(outbound) = inbox.recv().await {
        let posted = post(mux.clone(), target.clone(), opening.clone(), outbound.body);
        match outbound.id {
            None => drop(posted.await),
            Some(id) => {
                let mux = mux.clone();
                toolgrove_core::task::spawn("sse-post", async move {
                    if let Err(failure) = posted.await {
                        mux.fail(id, failure);
                    }
                });
            }
        }
    }
}

async fn post(
    mux: Arc<Mux>,
    target: Arc<Endpoint>,
    opening: Arc<Opening>,
    body: Bytes,
) -> Result<(), Failure> {
    let head = Head::plain(&opening);
    let sent = timeout(POST_TIMEOUT, target.send(Method::POST, &head, body.into())).await;
    let response = sent.map_err(|_| Failure::Lost(mux.context.timeout(POST_TIMEOUT)))??;
    if !response.status().is_success() {
        return Err(match web::refused(&mux.context, response).await {
            // The session lives in the stream, which a server that restarted no longer knows.
            Failure::Refused { status: 404, error } => {
                mux.end(&error);
                Failure::Untaken(error)
            }
            failure => failure,
        });
    }
    let _ = web::collect_text(response).await;
    Ok(())
}
