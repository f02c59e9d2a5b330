//! How an answer leaves over HTTP: as JSON when the result comes first, as an event stream when something else does.
//!
//! No header is sent before the first frame is known, so an error that comes first keeps its own status.

use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, StatusCode, header};
use tokio::sync::mpsc;
use toolgrove_core::event::Event;
use toolgrove_wire::envelope::{self, UnknownId};
use toolgrove_wire::{Id, Raw, sse};

use super::answer::{ClientEra, Failure, notification};
use super::notices::Notices;

/// After this long without any frame the stream is opened anyway, so that nobody in between gives up.
const PATIENCE: Duration = Duration::from_secs(5);
/// A comment line this often keeps a quiet stream open.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) type Answering = Pin<Box<dyn Future<Output = Result<Raw, Failure>> + Send>>;

/// A running request: its future, its events, and how to address the client.
pub struct Running {
    pub id: Id,
    pub era: ClientEra,
    pub progress_token: Option<Raw>,
    pub events: mpsc::UnboundedReceiver<Event>,
    pub answer: Answering,
}

enum Frame {
    Note(Bytes),
    Final(Result<Raw, Failure>),
}

impl Running {
    async fn next(&mut self) -> Frame {
        loop {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => {
                    if let Some(note) = notification(event, self.progress_token.as_ref()) {
                        return Frame::Note(note);
                    }
                }
                result = &mut self.answer => return Frame::Final(result),
            }
        }
    }

    fn final_bytes(&self, result: &Result<Raw, Failure>) -> Bytes {
        match result {
            Ok(result) => envelope::response(&self.id, result),
            Err(failure) => envelope::error(Some(&self.id), &failure.rpc, unknown_id(self.era)),
        }
    }

    /// The HTTP answer. Dropping it drops the request, which cancels it.
    pub async fn respond(mut self, streams: Streams) -> Response {
        let first = match streams {
            Streams::Accepted => tokio::time::timeout(PATIENCE, self.next()).await.ok(),
            Streams::Refused => loop {
                if let frame @ Frame::Final(_) = self.next().await {
                    break Some(frame);
                }
            },
        };
        match first {
            Some(Frame::Final(result)) => {
                let status = result.as_ref().err().map_or(200, |it| it.status);
                json(status, self.final_bytes(&result))
            }
            Some(Frame::Note(note)) => self.stream(sse::write(None, None, &note)),
            None => self.stream(Bytes::from_static(sse::KEEP_ALIVE)),
        }
    }

    /// The answer alone, for a client that cannot be told anything else.
    pub async fn finish(mut self) -> Bytes {
        loop {
            if let Frame::Final(result) = self.next().await {
                return self.final_bytes(&result);
            }
        }
    }

    /// Sends everything that comes of the request into a channel that carries other things too.
    pub async fn send_to(mut self, out: &mpsc::Sender<Bytes>) {
        loop {
            // A client that has gone needs no answer.
            match self.next().await {
                Frame::Note(note) => drop(out.send(note).await),
                Frame::Final(result) => return drop(out.send(self.final_bytes(&result)).await),
            }
        }
    }

    fn stream(self, first: Bytes) -> Response {
        let rest = stream::unfold(Some(self), |running| async move {
            let mut running = running?;
            match tokio::time::timeout(KEEP_ALIVE, running.next()).await {
                Err(_) => Some((Bytes::from_static(sse::KEEP_ALIVE), Some(running))),
                Ok(Frame::Note(note)) => Some((sse::write(None, None, &note), Some(running))),
                Ok(Frame::Final(result)) => {
                    Some((sse::write(None, None, &running.final_bytes(&result)), None))
                }
            }
        });
        event_stream(stream::StreamExt::chain(stream::once(async { first }), rest))
    }
}

/// Whether the client can read an event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    Accepted,
    Refused,
}

pub(super) fn unknown_id(era: ClientEra) -> UnknownId {
    match era {
        ClientEra::Modern => UnknownId::Absent,
        ClientEra::Legacy(_) => UnknownId::Null,
    }
}

pub(super) fn json(status: u16, body: Bytes) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

/// A failure before anything ran.
pub(super) fn refuse(id: Option<&Id>, era: ClientEra, failure: &Failure) -> Response {
    json(failure.status, envelope::error(id, &failure.rpc, unknown_id(era)))
}

pub fn event_stream(pieces: impl stream::Stream<Item = Bytes> + Send + 'static) -> Response {
    let body = Body::from_stream(stream::StreamExt::map(pieces, Ok::<_, std::convert::Infallible>));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, body).into_response()
}

/// The notifications of one ear as events.
pub(super) fn notice_stream(notices: Notices) -> impl stream::Stream<Item = Bytes> + Send {
    stream::unfold(notices, |mut notices| async move {
        match tokio::time::timeout(KEEP_ALIVE, notices.next()).await {
            Err(_) => Some((Bytes::from_static(sse::KEEP_ALIVE), notices)),
            Ok(message) => message.map(|it| (sse::write(None, None, &it), notices)),
        }
    })
}
