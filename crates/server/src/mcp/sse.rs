//! The door for clients of 2024-11-05: `GET /sse` opens the stream and names where to post.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, body::Bytes};
use futures::stream::{self, StreamExt};
use http::StatusCode;
use serde::Deserialize;
use tokio::sync::mpsc;
use toolgrove_core::call::{Caller, Door, View};
use toolgrove_wire::sse;
use uuid::Uuid;

use super::conversation::Conversation;
use super::stream::event_stream;
use crate::App;

const UNREAD: usize = 256;

/// The open streams, by the id in their post address.
#[derive(Default)]
pub struct Streams(Mutex<HashMap<String, (Uuid, Arc<Conversation>)>>);

impl Streams {
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Uuid, Arc<Conversation>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Streams {
    /// Ends every stream of these callers.
    pub(crate) fn close_all(&self, callers: &HashSet<Uuid>) {
        self.lock().retain(|_, it| !callers.contains(&it.0));
    }
}

/// Ends the conversation when the client's stream does.
struct Ending(Arc<App>, String);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.streams.lock().remove(&self.1);
    }
}

#[derive(Deserialize)]
pub struct Address {
    session: String,
}

pub async fn open(State(app): State<Arc<App>>, Extension(caller): Extension<Arc<Caller>>) -> Response {
    let id = Uuid::new_v4().simple().to_string();
    let (out, answers) = mpsc::channel(UNREAD);
    let conversation = Conversation::new(app.clone(), caller.clone(), View::All, Door::Legacy, out);
    app.streams.lock().insert(id.clone(), (caller.id(), Arc::new(conversation)));
    let endpoint = sse::write(Some("endpoint"), None, format!("/sse/message?session={id}").as_bytes());
    let ending = Ending(app, id);
    let rest = stream::unfold((answers, ending), |(mut answers, ending)| async move {
        match tokio::time::timeout(super::stream::KEEP_ALIVE, answers.recv()).await {
            Err(_) => Some((Bytes::from_static(sse::KEEP_ALIVE), (answers, ending))),
            Ok(message) => message.map(|it| (sse::write(Some("message"), None, &it), (answers, ending))),
        }
    });
    event_stream(stream::once(async { endpoint }).chain(rest))
}

pub async fn post(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(Address { session }): Query<Address>,
    body: Bytes,
) -> Response {
    let found = app.streams.lock().get(&session).filter(|it| it.0 == caller.id()).map(|it| it.1.clone());
    let Some(conversation) = found else { return StatusCode::NOT_FOUND.into_response() };
    conversation.take(body).await;
    StatusCode::ACCEPTED.into_response()
}
