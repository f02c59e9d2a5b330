//! What a server says unasked: the GET stream of a legacy session, the subscription of a modern one.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Method, StatusCode};
use tokio::time::sleep;
use toolgrove_wire::{Message, Pieces, Raw};

use super::Wire;
use crate::desk::{Asked, Back, Whose};
use crate::feed::{self, Ack, Pauses, Topic};
use crate::speech::{Ask, Leaving};
use crate::web::{self, EventStream, Head, Kind, Opening};

/// A server that says "come back at once" does not get a busy loop.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// Keeps the GET stream of a session open. A server that has none says so, and that is fine.
pub(super) async fn follow(wire: Arc<Wire>) {
    let headers = wire.stream_head();
    let (mut last_id, mut again, mut pauses) = (None::<String>, false, Pauses::new());
    loop {
        let resume = last_id.as_deref().and_then(|it| HeaderValue::from_str(it).ok());
        let is_gapless = resume.is_some();
        let head = Head::with(&headers, resume.map(|it| (web::LAST_EVENT, it)));
        let mut retry = None;
        let answer = wire.endpoint.send(Method::GET, &head, Pieces::default()).await;
        wire.streaming.send_replace(true);
        match answer {
            Ok(response)
                if response.status().is_success() && web::kind(response.headers()) == Kind::Events =>
            {
                let live = wire.announced.complete.then(|| wire.context.feed_is_live());
                if std::mem::replace(&mut again, true) && !is_gapless {
                    wire.announced.report_all(&wire.context);
                }
                pauses = Pauses::new();
                let mut stream = EventStream::new(&wire.context, response);
                while let Ok(Some(event)) = stream.next(&wire.context).await {
                    if let Ok(raw) = Raw::parse(event.data) {
                        wire.hear(&raw);
                    }
                }
                drop(live);
                last_id = stream.last_id.or(last_id);
                retry = stream.retry_ms.map(Duration::from_millis);
            }
            // A server that had a stream and now knows nothing has lost the session.
            Ok(response) if again && response.status() == StatusCode::NOT_FOUND => {
                wire.over.send_replace(true);
                return;
            }
            Ok(response) if !response.status().is_server_error() => return,
            Err(failure) if failure.is_refusal() => return,
            Ok(_) | Err(_) => {}
        }
        sleep(retry.unwrap_or_else(|| pauses.next()).max(SHORTEST_PAUSE)).await;
    }
}

/// Keeps one `subscriptions/listen` open until the server refuses it.
pub(super) async fn listen(wire: Arc<Wire>, topic: Topic, ack: Ack) {
    let params = topic.params().into();
    let (mut again, mut pauses) = (false, Pauses::new());
    loop {
        let abilities = topic.abilities();
        let ask = Ask { abilities, ..Ask::own(feed::LISTEN, &params, Duration::MAX, Leaving::Silent) };
        let id = wire.next_id();
        let head = Head { base: &wire.opening, own: wire.own_headers(&ask) };
        match wire.endpoint.send(Method::POST, &head, wire.speech.request(id, &ask)).await {
            Ok(response)
                if response.status().is_success() && web::kind(response.headers()) == Kind::Events =>
            {
                let mut live = None;
                let mut stream = EventStream::new(&wire.context, response);
                while let Ok(Some(event)) = stream.next(&wire.context).await {
                    let Ok(raw) = Raw::parse(event.data) else { continue };
                    match Message::read(&raw) {
                        Ok(Message::Notification { method, .. })
                            if method == "notifications/subscriptions/acknowledged" =>
                        {
                            live = topic.is_feed().then(|| wire.context.feed_is_live());
                            pauses = Pauses::new();
                            ack.given();
                            if std::mem::replace(&mut again, true) {
                                topic.report_all(&wire.context);
                            }
                        }
                        Ok(Message::Response { .. }) | Err(_) => break,
                        Ok(_) => wire.hear(&raw),
                    }
                }
                drop(live);
            }
            Ok(response) if !response.status().is_server_error() => {
                return ack.refused(web::refused(&wire.context, response).await.into_error());
            }
            Err(failure) if failure.is_refusal() => return ack.refused(failure.into_error()),
            Ok(_) | Err(_) => {}
        }
        sleep(pauses.next()).await;
    }
}

impl Wire {
    /// The headers of a GET: no body, events only.
    pub(super) fn stream_head(&self) -> Opening {
        let mut headers = self.headers.clone();
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, web::EVENTS);
        Opening::of(&headers)
    }

    /// Takes what arrived on a stream that belongs to no call.
    fn hear(self: &Arc<Self>, raw: &Raw) {
        if raw.is_array() {
            return raw.items().for_each(|it| self.hear(&it));
        }
        match Message::read(raw) {
            Ok(Message::Notification { method, params }) => self.hear_notification(&method, params.as_ref()),
            Ok(Message::Request { id, method, params }) => {
                let whose = self.desk.only();
                if matches!(whose, Whose::Unclear) {
                    // From now on calls that may be asked something have a session each.
                    self.context.asks_beside();
                }
                let asked = Asked { id, method, params };
                self.desk.take(&self.context, asked, whose, Back::Post(self.clone()));
            }
            Ok(Message::Response { .. }) => {}
            Err(problem) => tracing::debug!(server = self.context.slug(), %problem, "not a message"),
        }
    }

    fn hear_notification(&self, method: &str, params: Option<&Raw>) {
        match (method, params) {
            ("notifications/progress", Some(params)) => {
                let token = params.get("progressToken").and_then(|it| it.u64());
                if let Some(watcher) = token.and_then(|it| self.watchers().get(&it).cloned()) {
                    watcher.progress(params);
                }
            }
            // Here the wire does not say whose message it is.
            ("notifications/message", Some(params)) => {
                let watchers = self.watchers();
                if let (1, Some(watcher)) = (watchers.len(), watchers.values().next()) {
                    watcher.log(params);
                }
            }
            ("notifications/elicitation/complete", Some(params)) => self.desk.elicited(params),
            ("notifications/cancelled", Some(params)) => self.desk.withdraw(params),
            _ => feed::report(&self.context, method, params),
        }
    }
}
