//! The door for pages that embed `webmcp-local-relay`: no extension, no token, one socket per page. Any page of the
//! machine's browsers may knock, so it is off unless the one person of a hub wants it, and origins should be listed.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt as _;
use http::{HeaderMap, header};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use toolgrove_core::tabs::relay::{
    self, FromPage, Greeting, PORTS, RELAY_SUBPROTOCOL, SUBPROTOCOL, accepted, executed, rejected,
    server_hello,
};
use toolgrove_core::tabs::{BrowserKind, Refusal, Registration, TabEvent, TabRequest};
use toolgrove_core::{Error, meter};
use toolgrove_upstream::{Connection, ToBrowser};
use toolgrove_wire::Raw;
use uuid::Uuid;

use super::socket::{Flow, MESSAGES, UPDATES};
use crate::App;
use crate::problem::Refusal as Problem;

const PING: Duration = Duration::from_secs(15);
const PONG_WITHIN: Duration = Duration::from_secs(25);
const VIOLATION: u16 = 1008;
const TOO_LARGE: u16 = 1009;
const GOING_AWAY: u16 = 1001;

/// What the connections of this door share.
struct Shared {
    app: Arc<App>,
    port: u16,
    id: String,
    /// Origins that were turned away, so that each is logged once.
    turned: Mutex<HashSet<String>>,
}

/// The first free port of the range, on this machine only.
pub async fn bind() -> Result<TcpListener, String> {
    for port in PORTS {
        if let Ok(listener) = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await {
            return Ok(listener);
        }
    }
    Err(format!("every port from {} to {} is in use", PORTS.start(), PORTS.end()))
}

/// What to say of a port that is not the first: pages try that one before.
pub fn elsewhere(port: u16) -> Option<String> {
    let first = *PORTS.start();
    (port != first).then(|| format!("port {first} is taken, perhaps by a relay; pages may attach to that"))
}

/// Serves pages until the hub stops.
pub async fn serve(app: Arc<App>, listener: TcpListener, stop: CancellationToken) {
    let port = listener.local_addr().map_or(0, |it| it.port());
    let shared = Shared { app, port, id: Uuid::new_v4().to_string(), turned: Mutex::default() };
    let doors = Router::new().route("/", get(open)).with_state(Arc::new(shared));
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    if let Err(error) = axum::serve(listener, doors).with_graceful_shutdown(stop.cancelled_owned()).await {
        tracing::error!(target: "tabs", %error, "the relay's port is no longer served");
    }
}

/// Where pages' own tools look for the port.
pub fn note(home: &Path, port: u16, now_ms: i64) -> std::io::Result<PathBuf> {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    let folder = home.join(".webmcp");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("relay-port.json");
    let text = json!({
        "host": "127.0.0.1", "port": port, "pid": std::process::id(), "timestamp": now_ms, "expiresAt": now_ms + DAY_MS,
    });
    std::fs::write(&file, format!("{text}\n"))?;
    Ok(file)
}

async fn open(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let host = headers.get(header::HOST).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let is_ours = ["127.0.0.1", "localhost"].iter().any(|it| host == format!("{it}:{}", shared.port));
    if !is_ours {
        meter::tab_refused("upgrade");
        return Problem(Error::AuthOrigin).into_response();
    }
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade.protocols([SUBPROTOCOL, RELAY_SUBPROTOCOL]),
        Err(rejection) => return rejection.into_response(),
    };
    let is_relay = upgrade.selected_protocol().is_some_and(|it| it == RELAY_SUBPROTOCOL);
    let origin = headers.get(header::ORIGIN).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let limit = shared.app.tab_limit();
    upgrade.max_message_size(limit).max_frame_size(limit).on_upgrade(move |mut socket| async move {
        if is_relay {
            return close(&mut socket, VIOLATION, "browsers do not speak this protocol").await;
        }
        if let Some((code, reason)) = talk(&shared, &mut socket, origin).await {
            close(&mut socket, code, reason).await;
        }
    })
}

/// One page, from its greeting to its end.
async fn talk(
    shared: &Shared,
    socket: &mut WebSocket,
    origin: Option<String>,
) -> Option<(u16, &'static str)> {
    let app = &shared.app;
    send(socket, &server_hello(&shared.id, shared.port)).await?;
    let browser: Arc<str> = format!("relay:{}", Uuid::new_v4()).into();
    let mut page: Option<(Greeting, Connection)> = None;
    let (idle, mut orders) = tokio::sync::mpsc::unbounded_channel();
    let mut idle = Some(idle);
    let mut ping = interval_at(Instant::now() + PING, PING);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard_at = Instant::now();
    let (mut flow, mut updates) = (Flow::new(&MESSAGES), Flow::new(&UPDATES));
    loop {
        let message = tokio::select! {
            incoming = socket.recv() => match incoming {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(_))) | None => return None,
                Some(Ok(_)) => continue,
                Some(Err(error)) => return ended(app, page.as_ref(), &error),
            },
            order = orders.recv() => {
                match order {
                    Some(ToBrowser::Request { id, request: TabRequest::Execute { tool, args, .. }, .. }) => {
                        send(socket, &relay::invoke(&id.to_string(), &tool, &args)).await?;
                    }
                    Some(ToBrowser::Request { id, request, .. }) => {
                        if matches!(request, TabRequest::Reload) {
                            send(socket, &json!({ "type": "reload" })).await?;
                        }
                        if let Some((_, connection)) = &page {
                            let refused = Refusal::Refused("a page of the relay cannot do that".into());
                            connection.answer(id, Err(refused));
                        }
                    }
                    // There is no word for it: the entry is gone, and a late answer finds nobody.
                    Some(ToBrowser::Cancel { .. }) => {}
                    Some(ToBrowser::Close { code, reason }) => return Some((code, reason)),
                    None => return None,
                }
                continue;
            }
            _ = ping.tick() => {
                send(socket, &json!({ "type": "ping" })).await?;
                continue;
            }
            () = sleep_until(heard_at + PONG_WITHIN) => return Some((GOING_AWAY, "no pong for 25 s")),
        };
        if !flow.take(&MESSAGES) {
            meter::tab_refused("flood");
            return Some((VIOLATION, "too many messages"));
        }
        meter::tab_message("in");
        let bytes = message.len();
        let read = Raw::parse(bytes::Bytes::from(message)).map_err(|it| it.to_string());
        let kind = read.as_ref().ok().and_then(|it| it.get_text("type"));
        tracing::trace!(target: "tabs", direction = "in", kind, browser = &*browser, domain = origin, bytes);
        let read = read.and_then(|it| FromPage::read(&it));
        match (read, &mut page) {
            (Err(problem), _) => ignored(&browser, &problem),
            (Ok(FromPage::Pong), _) => heard_at = Instant::now(),
            (Ok(FromPage::Hello(greeting)), Some((known, _))) => {
                known.origin = greeting.origin.or(known.origin.take());
                known.url = greeting.url.or(known.url.take());
                known.title = greeting.title.or(known.title.take());
                known.tab = greeting.tab;
                send(socket, &accepted()).await?;
            }
            (Ok(FromPage::Hello(greeting)), none) => {
                if !app.tabs.hub.allowed().permit(origin.as_deref()) {
                    let origin = origin.as_deref().unwrap_or("a page without an origin");
                    shared.turn_away(origin);
                    send(socket, &rejected(origin)).await?;
                    return Some((VIOLATION, "this origin is not allowed"));
                }
                let Some(solo) = app.gate.solo() else {
                    return Some((VIOLATION, "this hub has several people"));
                };
                app.introduce_tabs(solo.person);
                let label = origin.clone().or_else(|| greeting.origin.clone()).unwrap_or_default();
                let transport = app.tabs.hub.transport();
                let (connection, real) = transport.attach(&browser, solo.person, BrowserKind::Relay, &label);
                (orders, idle) = (real, None);
                *none = Some((greeting, connection));
                send(socket, &accepted()).await?;
            }
            (Ok(_), None) => ignored(&browser, "something came before `hello`"),
            (Ok(FromPage::Tools(_)), _) if !updates.take(&UPDATES) => {
                ignored(&browser, "a page tells of its tools more than five times a second");
            }
            (Ok(FromPage::Tools(tools)), Some((greeting, connection))) => {
                connection.report(TabEvent::Registered {
                    tab: connection.tab(0),
                    registration: Registration {
                        tools,
                        url: greeting.url.clone().or_else(|| greeting.origin.clone()),
                        vouched: origin.clone(),
                        title: greeting.title.clone(),
                        source: Some(greeting.tab.clone()),
                        ..Registration::default()
                    },
                });
            }
            (Ok(FromPage::Result { call, result }), Some((_, connection))) => {
                let is_taken =
                    Uuid::parse_str(&call).is_ok_and(|it| connection.answer(it, Ok(executed(&result))));
                // What we asked for is no flood.
                if is_taken {
                    flow.give_back();
                } else {
                    ignored(&browser, "nobody waits for this result");
                }
            }
        }
        debug_assert!(idle.is_some() != page.is_some());
    }
}

impl Shared {
    /// Pages come back every half second, so each origin is logged once.
    fn turn_away(&self, origin: &str) {
        meter::tab_refused("origin");
        let mut turned = self.turned.lock().unwrap_or_else(PoisonError::into_inner);
        if turned.len() < 1000 && turned.insert(origin.to_owned()) {
            tracing::warn!(target: "tabs", origin, "a page is not among `tabs.allowed_origins`");
        }
    }
}

fn ended(
    app: &App,
    page: Option<&(Greeting, Connection)>,
    error: &axum::Error,
) -> Option<(u16, &'static str)> {
    if !super::socket::is_too_large(error) {
        return None;
    }
    if let Some((_, connection)) = page {
        connection.fail(&Refusal::TooLarge { limit_mb: app.config.tabs.max_payload_mb });
    }
    meter::tab_refused("size");
    Some((TOO_LARGE, "the message is larger than `tabs.max_payload_mb`"))
}

fn ignored(browser: &str, problem: &str) {
    meter::tab_refused("message");
    tracing::warn!(target: "tabs", browser, problem, "a message was ignored");
}

/// Nothing once the page is gone.
async fn send(socket: &mut WebSocket, message: &Value) -> Option<()> {
    meter::tab_message("out");
    let text = message.to_string();
    tracing::trace!(target: "tabs", direction = "out", kind = message["type"].as_str(), bytes = text.len());
    let sent = timeout(PONG_WITHIN, socket.send(Message::Text(text.into()))).await;
    matches!(sent, Ok(Ok(()))).then_some(())
}

async fn close(socket: &mut WebSocket, code: u16, reason: &'static str) {
    super::socket::close(socket, code, reason).await;
}
