//! Reads answers: a body within its limit, a stream of events, or the words of a refusal.

use std::collections::VecDeque;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, Response, StatusCode};
use toolgrove_core::Error;
use toolgrove_wire::sse::{self, Event};
use toolgrove_wire::{Message, Raw};

use crate::context::Context;
use crate::failure::Failure;
use crate::mux::server_error;
use crate::oauth::{Challenge, Refusal};
use crate::web::line::Reason;
use crate::web::{Broken, Inflow};

/// How much of a refusal's text is kept.
const KEPT_TEXT: usize = 64 * 1024;

/// What the headers say a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Json,
    Events,
    Html,
    Other,
}

impl Kind {
    /// What a `Content-Type` says.
    pub(super) fn of(said: &[u8]) -> Self {
        let said = said.split(|it| *it == b';').next().unwrap_or_default().trim_ascii();
        let is = |kind: &str| said.eq_ignore_ascii_case(kind.as_bytes());
        if is("application/json") {
            Self::Json
        } else if is("text/event-stream") {
            Self::Events
        } else if is("text/html") {
            Self::Html
        } else {
            Self::Other
        }
    }
}

pub(crate) fn kind(headers: &HeaderMap) -> Kind {
    headers.get(CONTENT_TYPE).map_or(Kind::Other, |it| Kind::of(it.as_bytes()))
}

/// The whole body, or why it is too much.
pub(crate) async fn collect(context: &Context, response: Response<Inflow>) -> Result<Bytes, Failure> {
    response.into_body().whole(context.options.body_limit).await.map_err(|it| match it {
        Broken::TooLong => context.too_large().into(),
        Broken::Lost(error) => Failure::Lost(context.unreachable(format!("the answer broke off: {error}"))),
    })
}

/// The beginning of a body as text, for people.
pub(crate) async fn collect_text(response: Response<Inflow>) -> String {
    let mut body = response.into_body();
    let mut text = Vec::new();
    while let Some(Ok(piece)) = body.piece().await {
        text.extend_from_slice(&piece[..piece.len().min(KEPT_TEXT - text.len())]);
        if text.len() == KEPT_TEXT {
            break;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// What a status outside 2xx means.
pub(crate) async fn refused(context: &Context, response: Response<Inflow>) -> Failure {
    let (status, reason) = (response.status(), reason(&response));
    let challenge = challenge(response.headers());
    let body = collect_text(response).await;
    let spoken = Raw::parse(body.clone()).ok();
    let challenged = status == StatusCode::FORBIDDEN && challenge.is_some();
    let error = if status == StatusCode::UNAUTHORIZED || challenged {
        let text = words(spoken.as_ref(), challenge.as_deref())
            .unwrap_or_else(|| format!("the server answered {} {reason}", status.as_u16()));
        let (slug, status) = (context.slug().to_owned(), Some(status.as_u16()));
        Error::NeedsReauth { slug, text, status, body: Some(body), challenge }
    } else {
        match spoken.as_ref().and_then(|it| Message::read(it).ok()) {
            Some(Message::Response { result: Err(error), .. }) => server_error(error),
            _ => Error::Answered { slug: context.slug().to_owned(), status: status.as_u16(), reason, body },
        }
    };
    Failure::Refused { status: status.as_u16(), error }
}

/// What a server holds against the token it was sent, if that is why it refuses.
pub(super) fn refusal(response: &Response<Inflow>) -> Option<Refusal> {
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(Refusal::Unauthorized),
        StatusCode::FORBIDDEN => {
            let challenge = Challenge::parse(&challenge(response.headers())?)?;
            challenge.wants_scope().then_some(Refusal::Scope(challenge))
        }
        _ => None,
    }
}

/// A refusal that signing in again would not change.
pub(super) fn plain(failure: Failure) -> Failure {
    match failure {
        Failure::Refused { status, error: Error::NeedsReauth { slug, text, body, .. } } => {
            let (reason, body) = (text, body.unwrap_or_default());
            Failure::Refused { status, error: Error::Answered { slug, status, reason, body } }
        }
        failure => failure,
    }
}

/// The error, with what the server said when it refused.
pub(super) fn because(failure: Failure, error: Error) -> Failure {
    match (failure, error) {
        (
            Failure::Refused { status, error: Error::NeedsReauth { body, challenge, .. } },
            Error::NeedsReauth { slug, text, .. },
        ) => {
            let error = Error::NeedsReauth { slug, text, status: Some(status), body, challenge };
            Failure::Refused { status, error }
        }
        (_, error) => Failure::Final(error),
    }
}

/// All challenges of an answer, in one line.
fn challenge(headers: &HeaderMap) -> Option<String> {
    let all: Vec<_> = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|it| it.to_str().ok()).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The server's own phrase, else the standard one. 418 has none: it is not in use.
pub(super) fn reason(response: &Response<Inflow>) -> String {
    let standard = || response.status().canonical_reason().unwrap_or("Error").to_owned();
    match response.extensions().get::<Reason>() {
        Some(Reason(own)) if !own.is_empty() => own.to_string(),
        Some(_) if response.status() == StatusCode::IM_A_TEAPOT => "Error".to_owned(),
        _ => standard(),
    }
}

/// What a server says about refused credentials, wherever it says it.
fn words(body: Option<&Raw>, challenge: Option<&str>) -> Option<String> {
    let said = |raw: &Raw| {
        let error = raw.get("error");
        raw.get_text("error_description")
            .or_else(|| error.as_ref()?.get_text("message"))
            .or_else(|| raw.get_text("message"))
            .or_else(|| error.as_ref()?.text().map(Into::into))
    };
    let challenged = || Challenge::parse(challenge?)?.error_description;
    body.and_then(said).or_else(challenged).filter(|it| !it.trim().is_empty())
}

/// A body read event by event.
#[derive(Debug)]
pub(crate) struct EventStream {
    body: Inflow,
    reader: sse::Reader,
    ready: VecDeque<Event>,
    /// Where to go on after a break, if the server said.
    pub(crate) last_id: Option<String>,
    pub(crate) retry_ms: Option<u64>,
}

impl EventStream {
    pub(crate) fn new(context: &Context, response: Response<Inflow>) -> Self {
        Self {
            body: response.into_body(),
            // An event is a message and a few bytes of framing.
            reader: sse::Reader::new(context.options.body_limit + 4096),
            ready: VecDeque::new(),
            last_id: None,
            retry_ms: None,
        }
    }

    /// The next event that has data; none at the end of the stream, however it ended.
    pub(crate) async fn next(&mut self, context: &Context) -> Result<Option<Event>, Failure> {
        loop {
            while let Some(event) = self.ready.pop_front() {
                self.retry_ms = event.retry_ms.or(self.retry_ms);
                if event.id.is_some() {
                    self.last_id.clone_from(&event.id);
                }
                if !event.data.is_empty() {
                    return Ok(Some(event));
                }
            }
            let piece = match self.body.piece().await {
                Some(Ok(piece)) => piece,
                Some(Err(error)) => {
                    tracing::debug!(server = context.slug(), error = %error, "an event stream broke off");
                    return Ok(None);
                }
                None => return Ok(None),
            };
            let events = self.reader.push(&piece).map_err(|_| context.too_large())?;
            self.ready.extend(events);
        }
    }
}
