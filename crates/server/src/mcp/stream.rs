//! A request on its way to an answer, and how that leaves: as JSON when the result comes first, as an event stream
//! when something else does.
//!
//! No header is sent before the first frame is known, so an error that comes first keeps its own status. A question
//! of the server goes to a legacy client at once; a modern client gets it as a result, and the call is parked.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, StatusCode, header};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use toolgrove_core::event::{Ask, Event, Heard};
use toolgrove_wire::envelope::{self, UnknownId};
use toolgrove_wire::{Draft, Id, Pieces, Raw, sse};

use super::answer::{ClientEra, Failure, notification};
use super::answering::Answering;
use super::asks;
use super::notices::Notices;
use super::park::Parking;
use super::session::Session;
use super::zipped::{self, Zips};

/// After this long without any frame the stream is opened anyway, so that nobody in between gives up.
const PATIENCE: Duration = Duration::from_secs(5);
/// A comment line this often keeps a quiet stream open.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Questions that come together are asked together.
const SIBLINGS: Duration = Duration::from_millis(25);
const SIBLINGS_AT_MOST: Duration = Duration::from_millis(100);

/// A running request: its future, its events, and how to address the client.
pub struct Running {
    pub id: Id,
    pub era: ClientEra,
    pub progress_token: Option<Raw>,
    pub events: Heard,
    pub answer: Answering,
    pub asker: Asker,
    /// The pages a legacy client was sent to in this request, by the ids the hub gave them.
    pub visits: Vec<String>,
}

/// Who can be asked something while a request runs.
pub enum Asker {
    Nobody,
    /// A legacy client, through its session.
    Session(Arc<Session>),
    /// A modern client, by a result that it answers with its next request.
    Park(Box<Parking>),
}

/// What comes next of a request.
enum Step {
    Note(Bytes),
    Ask(Ask),
    Final(Result<Draft, Failure>),
}

/// What the client gets next.
pub(super) enum Frame {
    Note(Bytes),
    Quiet,
    Final(Result<Draft, Failure>),
}

impl Running {
    async fn step(&mut self) -> Step {
        loop {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => {
                    if let Some(step) = self.took(event) {
                        return step;
                    }
                }
                result = &mut self.answer => {
                    // What was said before the end comes before it.
                    if let Some(event) = self.events.try_recv() {
                        self.answer.put_back(result);
                        match self.took(event) {
                            Some(step) => return step,
                            None => continue,
                        }
                    }
                    let Some(visit) = self.visits.pop() else { return Step::Final(result) };
                    // The call is done, so whatever a person was sent away for is too.
                    self.answer.put_back(result);
                    let params = Raw::of(&serde_json::json!({ "elicitationId": visit }));
                    return Step::Note(envelope::notification("notifications/elicitation/complete", Some(&params)));
                }
            }
        }
    }

    /// What an event is to the client, if it is anything.
    fn took(&mut self, event: Event) -> Option<Step> {
        match (event, &self.asker) {
            (Event::Ask(ask), Asker::Session(session)) => {
                let asks::Put { request, visit } = session.ask(ask)?;
                self.visits.extend(visit);
                Some(Step::Note(request))
            }
            (Event::Ask(ask), Asker::Park(_)) => Some(Step::Ask(ask)),
            // Dropping a question declines it.
            (Event::Ask(_), Asker::Nobody) => None,
            (event, _) => notification(event, self.era, self.progress_token.as_ref()).map(Step::Note),
        }
    }

    /// Runs until there is something for the client, or nothing for so long. Only a final frame ends the request.
    pub(super) async fn advance(mut self: Box<Self>, patience: Duration) -> (Frame, Option<Box<Self>>) {
        let quiet = sleep(patience);
        tokio::pin!(quiet);
        loop {
            let step = tokio::select! {
                biased;
                step = self.step() => step,
                () = &mut quiet => return (Frame::Quiet, Some(self)),
            };
            match step {
                Step::Note(note) => return (Frame::Note(note), Some(self)),
                Step::Final(result) => return (Frame::Final(result), None),
                Step::Ask(ask) => match Box::pin(self.put(ask)).await {
                    Put::Answered(running) => self = running,
                    Put::Ended(result) => return (Frame::Final(result), None),
                },
            }
        }
    }

    /// Puts a question to a modern client: answered already, or gathered with its siblings and parked.
    async fn put(mut self: Box<Self>, ask: Ask) -> Put {
        let Asker::Park(parking) = &mut self.asker else { return Put::Answered(self) };
        let Some(ask) = parking.answer_early(ask) else { return Put::Answered(self) };
        let mut asks = vec![ask];
        let gathered = timeout(SIBLINGS_AT_MOST, async {
            while let Ok(step) = timeout(SIBLINGS, self.step()).await {
                match step {
                    Step::Ask(ask) => asks.push(ask),
                    // Nobody is there to hear it.
                    Step::Note(_) => {}
                    Step::Final(result) => return Some(result),
                }
            }
            None
        });
        // The server went on without an answer: then so do we.
        if let Ok(Some(result)) = gathered.await {
            return Put::Ended(result);
        }
        super::park::park(self, asks)
    }

    fn last(id: &Id, era: ClientEra, result: &Result<Draft, Failure>) -> Pieces {
        match result {
            Ok(result) => envelope::response_in_pieces(id, result),
            Err(failure) => envelope::error(Some(id), &failure.rpc, unknown_id(era)).into(),
        }
    }

    pub(super) fn final_bytes(id: &Id, era: ClientEra, result: &Result<Draft, Failure>) -> Bytes {
        Self::last(id, era, result).into_bytes()
    }

    /// The HTTP answer. Dropping it drops the request, which cancels it.
    pub async fn respond(self: Box<Self>, takes: Takes) -> Response {
        let (id, era) = (self.id.clone(), self.era);
        let whole = |result: &Result<Draft, Failure>| {
            let status = result.as_ref().err().map_or(200, |it| it.status);
            let body = Self::last(&id, era, result);
            match takes.zips.as_ref().and_then(|it| it.zip(&body)) {
                Some(zipped) => zipped::marked(json(status, zipped)),
                None => json(status, body),
            }
        };
        if takes.streams == Streams::Refused {
            return whole(&Box::pin(self.finish()).await);
        }
        let (first, rest) = match self.advance(PATIENCE).await {
            (Frame::Final(result), _) => return whole(&result),
            (Frame::Note(note), Some(rest)) => match rest.session() {
                Some(session) => {
                    return event_stream(session.replays.record(rest, Some(&note), session.version));
                }
                None => (sse::write(None, None, &note), Some(rest)),
            },
            (Frame::Note(note), None) => (sse::write(None, None, &note), None),
            (Frame::Quiet, rest) => {
                let first = Bytes::from_static(sse::KEEP_ALIVE);
                match rest.map(|it| (it.session(), it)) {
                    Some((Some(session), rest)) => {
                        let recorded = session.replays.record(rest, None, session.version);
                        return event_stream(stream::StreamExt::chain(
                            stream::once(async { first }),
                            recorded,
                        ));
                    }
                    rest => (first, rest.map(|it| it.1)),
                }
            }
        };
        let rest = stream::unfold((rest, id), move |(running, id)| async move {
            match running?.advance(KEEP_ALIVE).await {
                (Frame::Quiet, rest) => Some((Bytes::from_static(sse::KEEP_ALIVE), (rest, id))),
                (Frame::Note(note), rest) => Some((sse::write(None, None, &note), (rest, id))),
                (Frame::Final(result), _) => {
                    Some((sse::write(None, None, &Self::final_bytes(&id, era, &result)), (None, id)))
                }
            }
        });
        event_stream(stream::StreamExt::chain(stream::once(async { first }), rest))
    }

    /// The session whose client can come back for what it missed.
    fn session(&self) -> Option<Arc<Session>> {
        match &self.asker {
            Asker::Session(session) => Some(session.clone()),
            Asker::Nobody | Asker::Park(_) => None,
        }
    }

    /// The result alone, for a client that cannot be told anything else.
    pub(super) async fn finish(self: Box<Self>) -> Result<Draft, Failure> {
        let mut running = self;
        loop {
            match running.advance(KEEP_ALIVE).await {
                (Frame::Final(result), _) => return result,
                (_, Some(rest)) => running = rest,
                (_, None) => return Err(super::answer::broken("a request ended without an answer")),
            }
        }
    }

    /// The whole answer message, for a batch.
    pub async fn message(self: Box<Self>) -> Bytes {
        let (id, era) = (self.id.clone(), self.era);
        Self::final_bytes(&id, era, &self.finish().await)
    }

    /// Sends everything that comes of the request into a channel that carries other things too.
    pub async fn send_to(self: Box<Self>, out: &mpsc::Sender<Bytes>) {
        let (id, era, mut running) = (self.id.clone(), self.era, self);
        loop {
            // A client that has gone needs no answer.
            match running.advance(KEEP_ALIVE).await {
                (Frame::Note(note), rest) => {
                    drop(out.send(note).await);
                    let Some(rest) = rest else { return };
                    running = rest;
                }
                (Frame::Final(result), _) => {
                    return drop(out.send(Self::final_bytes(&id, era, &result)).await);
                }
                (Frame::Quiet, Some(rest)) => running = rest,
                (Frame::Quiet, None) => return,
            }
        }
    }
}

/// What became of a question to a modern client.
pub(super) enum Put {
    Answered(Box<Running>),
    Ended(Result<Draft, Failure>),
}

/// What the client can read.
#[derive(Debug)]
pub struct Takes {
    pub streams: Streams,
    /// What was compressed for others, if it takes that.
    pub zips: Option<Arc<Zips>>,
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

pub(super) fn json(status: u16, body: Pieces) -> Response {
    let mut response = Response::new(Body::new(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// A failure before anything ran.
pub(super) fn refuse(id: Option<&Id>, era: ClientEra, failure: &Failure) -> Response {
    json(failure.status, envelope::error(id, &failure.rpc, unknown_id(era)).into())
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
        match timeout(KEEP_ALIVE, notices.next()).await {
            Err(_) => Some((Bytes::from_static(sse::KEEP_ALIVE), notices)),
            Ok(message) => message.map(|it| (sse::write(None, None, &it), notices)),
        }
    })
}
