//! `GET /api/events`: what happens, as it happens. The door ends the stream when its caller is no longer let in.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use tokio::time::timeout;
use toolgrove_core::call::Caller;
use toolgrove_wire::sse;

use crate::App;
use crate::live::Heard;
use crate::mcp::event_stream;

/// A silent connection is forgotten by what lies between.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How soon a browser comes back after it was cut off.
const RETRY: &[u8] = b"retry: 1000\n\n";

pub async fn stream(State(app): State<Arc<App>>, Extension(caller): Extension<Arc<Caller>>) -> Response {
    let greeting = stream::once(async { Bytes::from_static(RETRY) });
    let person = caller.person;
    let listener = app.live.listen(caller);
    // Whoever comes while a page asks hears of it, too.
    match app.tabs.hub.questions(person).len() {
        0 => {}
        questions => app.live.tell_tabs(person, questions),
    }
    let news = stream::unfold(listener, |mut listener| async move {
        let piece = match timeout(KEEP_ALIVE, listener.next()).await {
            Ok(Heard::Frame(frame)) => frame,
            Ok(Heard::Lag) => sse::write(Some("lag"), None, br#"{"type":"lag"}"#),
            Err(_) => Bytes::from_static(sse::KEEP_ALIVE),
        };
        Some((piece, listener))
    });
    event_stream(greeting.chain(news))
}
