//! `GET /tabs`: the one connection of a browser with our extension. Checked before the upgrade, proven right after it,
//! and held to limits for as long as it lasts. What it says wrongly is logged and ignored.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::{IntoResponse, Response};
use futures::stream::FuturesUnordered;
use futures::{SinkExt, StreamExt};
use http::{HeaderMap, header};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout};
use toolgrove_core::tabs::wire::{Challenge, FromHub, Hello, PROTOCOL, SUBPROTOCOL};
use toolgrove_core::tabs::{BrowserKind, Refusal};
use toolgrove_core::{Error, meter};
use toolgrove_upstream::{Connection, ToBrowser};
use toolgrove_wire::Raw;

use super::EXTENSION;
use super::handshake::{self, PING, PROTOCOL_MISMATCH, REFUSED};
use super::words::{self, Heard, Words};
use crate::App;
use crate::problem::Refusal as Problem;

/// A greeting is short and comes soon.
const GREETING: usize = 4 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);
/// Who is silent for this long is gone.
const SILENCE: Duration = Duration::from_secs(45);
/// A browser may send this many messages at once, and this many a second.
pub(super) const MESSAGES: Pace = Pace { burst: 2000.0, each_second: 500.0 };
/// A tab may tell of other tools this often.
pub(super) const UPDATES: Pace = Pace { burst: 10.0, each_second: 5.0 };

const TOO_LARGE: u16 = 1009;
const VIOLATION: u16 = 1008;

pub(crate) async fn open(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if let Err(error) = check(&headers) {
        meter::tab_refused("upgrade");
        return Problem(error).into_response();
    }
    if let Some(wait) = app.tabs.pace.pause() {
        return Problem(Error::Throttled { seconds: wait.as_secs().max(1) }).into_response();
    }
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade.protocols([SUBPROTOCOL]),
        Err(rejection) => return rejection.into_response(),
    };
    let limit = app.tab_limit();
    upgrade
        .max_message_size(limit)
        .max_frame_size(limit)
        .on_upgrade(move |socket| async move { talk(&app, socket).await })
}

/// Only our own extension speaks here, and it names its protocol. `Host` was checked before.
fn check(headers: &HeaderMap) -> Result<(), Error> {
    let origin = headers.get(header::ORIGIN).and_then(|it| it.to_str().ok());
    let is_ours = origin.and_then(|it| it.strip_prefix("chrome-extension://")) == Some(EXTENSION);
    let protocols = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|it| it.to_str().ok());
    let is_spoken = protocols.flat_map(|it| it.split(',')).any(|it| it.trim() == SUBPROTOCOL);
    if is_ours && is_spoken { Ok(()) } else { Err(Error::AuthOrigin) }
}

async fn talk(app: &Arc<App>, mut socket: WebSocket) {
    let admitted = match shake_hands(app, &mut socket).await {
        Ok(admitted) => admitted,
        Err((code, reason)) => return close(&mut socket, code, reason).await,
    };
    let (hello, handshake::Admitted { person, welcome }) = admitted;
    let is_new = welcome.token.is_some();
    if socket.send(Message::Text(words::notice(&FromHub::Welcome(welcome)))).await.is_err() {
        return;
    }
    app.introduce_tabs(person);
    tracing::info!(target: "tabs", browser = hello.browser, profile = hello.profile_id, is_new, "a browser is here");
    let browser: Arc<str> = hello.profile_id.into();
    let transport = app.tabs.hub.transport();
    let (connection, orders) = transport.attach(&browser, person, BrowserKind::Extension, &hello.browser);
    if let Some((code, reason)) = serve(app, &mut socket, &connection, orders).await {
        close(&mut socket, code, reason).await;
    }
    tracing::info!(target: "tabs", profile = &*browser, "a browser is gone");
}

async fn shake_hands(
    app: &App,
    socket: &mut WebSocket,
) -> Result<(Hello, handshake::Admitted), handshake::Turned> {
    let nonce = handshake::nonce();
    let challenge = FromHub::Challenge(Challenge { nonce: nonce.clone(), protocol: PROTOCOL });
    let said = socket.send(Message::Text(words::notice(&challenge))).await;
    said.map_err(|_| (REFUSED, "it is gone"))?;
    let unclear = (REFUSED, "expected `browser/hello`");
    let greeting = timeout(PATIENCE, async {
        loop {
            match socket.recv().await {
                Some(Ok(Message::Text(text))) => return Some(text),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => return None,
            }
        }
    });
    let text = greeting.await.ok().flatten().ok_or(unclear)?;
    if text.len() > GREETING {
        return Err((TOO_LARGE, "a greeting has at most 4 KiB"));
    }
    let raw = Raw::parse(bytes::Bytes::from(text)).map_err(|_| unclear)?;
    let params = raw.get("params").filter(|_| raw.get_text("method").as_deref() == Some("browser/hello"));
    let params = params.ok_or(unclear)?;
    if params.get("protocol").and_then(|it| it.u64()).is_some_and(|it| it != u64::from(PROTOCOL)) {
        return Err((PROTOCOL_MISMATCH, "update the extension"));
    }
    let hello: Hello = params.read().map_err(|_| unclear)?;
    let admitted = app.greet(&hello, &nonce).await?;
    Ok((hello, admitted))
}

/// Carries messages until the connection ends. Says with which code, if it is ours to end it.
async fn serve(
    app: &App,
    socket: &mut WebSocket,
    connection: &Connection,
    mut orders: tokio::sync::mpsc::UnboundedReceiver<ToBrowser>,
) -> Option<(u16, &'static str)> {
    let (mut out, mut incoming) = socket.split();
    let mut ping = interval_at(Instant::now() + PING, PING);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard_at = Instant::now();
    let mut words = Words::Rpc;
    let mut flow = Flow::new(&MESSAGES);
    let mut updates: HashMap<i64, Flow> = HashMap::new();
    let mut questions = FuturesUnordered::new();
    loop {
        let message: Utf8Bytes = tokio::select! {
            incoming = incoming.next() => {
                heard_at = Instant::now();
                let text = match incoming {
                    Some(Ok(Message::Text(text))) => text,
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Binary(_))) => {
                        ignored(connection, "a binary message");
                        continue;
                    }
                    Some(Ok(Message::Close(_))) | None => return None,
                    Some(Err(error)) => return ended(app, connection, &error),
                };
                if !flow.take(&MESSAGES) {
                    meter::tab_refused("flood");
                    return Some((VIOLATION, "too many messages"));
                }
                meter::tab_message("in");
                let bytes = text.len();
                let raw = match Raw::parse(bytes::Bytes::from(text)) {
                    Ok(raw) if raw.is_object() => raw,
                    _ => {
                        ignored(connection, "no JSON object");
                        continue;
                    }
                };
                let kind = words::kind(&raw);
                trace(app, "in", connection, bytes, || Some(raw.clone()));
                if let Some(tab) = words::updated(&kind, &raw)
                    && !updates.entry(tab).or_insert_with(|| Flow::new(&UPDATES)).take(&UPDATES)
                {
                    ignored(connection, "a tab tells of its tools more than five times a second");
                    continue;
                }
                match words::hear(&raw, &mut words, connection) {
                    Heard::Taken => continue,
                    // What we asked for is no flood.
                    Heard::Answer => {
                        flow.give_back();
                        continue;
                    }
                    Heard::Question(question) => {
                        questions.push(question.answered());
                        continue;
                    }
                    Heard::Reply(message) => message,
                    Heard::Ignored(problem) => {
                        ignored(connection, &problem);
                        continue;
                    }
                }
            }
            Some(answer) = questions.next() => answer,
            order = orders.recv() => match order {
                Some(ToBrowser::Close { code, reason }) => return Some((code, reason)),
                Some(order) => match words::say(&order, words) {
                    Some(message) => message,
                    None => continue,
                },
                None => return None,
            },
            _ = ping.tick() => words::ping(app.hub.now()),
            () = sleep_until(heard_at + SILENCE) => return Some((1001, "nothing was heard for 45 s")),
        };
        meter::tab_message("out");
        trace(app, "out", connection, message.len(), || Raw::parse(bytes::Bytes::from(message.clone())).ok());
        // A peer that does not read is gone, too.
        if !matches!(timeout(SILENCE, out.send(Message::Text(message))).await, Ok(Ok(()))) {
            return None;
        }
    }
}

/// An error of the connection: calls hear it if an answer was too large.
fn ended(app: &App, connection: &Connection, error: &axum::Error) -> Option<(u16, &'static str)> {
    let text = error.to_string();
    tracing::warn!(target: "tabs", browser = &**connection.browser(), error = text, "the connection broke");
    if !is_too_large(error) {
        return None;
    }
    meter::tab_refused("size");
    connection.fail(&Refusal::TooLarge { limit_mb: app.config.tabs.max_payload_mb });
    Some((TOO_LARGE, "the message is larger than `tabs.max_payload_mb`"))
}

/// Whether a message was over the limit.
pub(super) fn is_too_large(error: &axum::Error) -> bool {
    let text = error.to_string();
    text.contains("too long") || text.contains("too big") || text.contains("Space limit")
}

fn ignored(connection: &Connection, problem: &str) {
    meter::tab_refused("message");
    tracing::warn!(target: "tabs", browser = &**connection.browser(), problem, "a message was ignored");
}

/// What went by, without what was in it.
fn trace(
    app: &App,
    direction: &'static str,
    connection: &Connection,
    bytes: usize,
    message: impl FnOnce() -> Option<Raw>,
) {
    if !tracing::enabled!(target: "tabs", tracing::Level::TRACE) {
        return;
    }
    let Some(message) = message() else { return };
    let kind = words::kind(&message);
    let (tab, url) = words::about(&message);
    let known = tab.and_then(|it| app.tabs.hub.domain(&connection.tab(it)));
    let domain = known.or_else(|| url.map(|it| toolgrove_core::name::domain_of(&it)));
    tracing::trace!(target: "tabs", direction, kind, browser = &**connection.browser(), tab, domain, bytes);
}

pub(super) async fn close(socket: &mut WebSocket, code: u16, reason: &'static str) {
    let frame = CloseFrame { code, reason: reason.into() };
    let _ = timeout(Duration::from_secs(1), socket.send(Message::Close(Some(frame)))).await;
    // Lets the other end read why before the connection goes.
    let _ = timeout(Duration::from_secs(1), async { while let Some(Ok(_)) = socket.recv().await {} }).await;
}

/// So many at once, and then so many a second.
pub(super) struct Pace {
    burst: f64,
    each_second: f64,
}

/// How many messages may still come.
pub(super) struct Flow {
    left: f64,
    at: Instant,
}

impl Flow {
    pub(super) fn new(pace: &Pace) -> Self {
        Self { left: pace.burst, at: Instant::now() }
    }

    pub(super) fn take(&mut self, pace: &Pace) -> bool {
        let now = Instant::now();
        let since = now.duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * pace.each_second).min(pace.burst);
        self.at = now;
        if self.left < 1.0 {
            return false;
        }
        self.left -= 1.0;
        true
    }

    pub(super) fn give_back(&mut self) {
        self.left += 1.0;
    }
}
