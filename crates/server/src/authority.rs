//! The hub as an authorization server of its own, small enough to read: hosted clients sign in to it with nothing
//! else installed. Only where several people share a hub; a solo hub has its key.
//!
//! A client is known by registering itself (RFC 7591) or by a document it publishes. It sends a person's browser to
//! `/oauth/authorize`; the person signs in, sees who asks for what, and allows or denies it. The client gets a code,
//! and for the code a short-lived token and one to renew it. Every one of these is random, kept as a digest, and good
//! for one person, client, resource and set of instances. Renewing one twice ends all.

pub(crate) mod authorize;
pub mod client;
mod consent;
pub mod document;
pub(crate) mod metadata;
pub mod params;
pub mod proof;
mod reach;
pub mod redirect;
mod refusal;
pub(crate) mod register;
mod request;
pub mod resource;
pub mod scope;
pub(crate) mod token;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderValue, Request};
use toolgrove_store::{ClientRow, StoreError};
use url::Url;

pub(crate) use reach::{Asking, Reach};
pub(crate) use token::ACCESS;

use crate::{App, page};

/// So many clients may wait for somebody to let them in; then the oldest go.
const WAITING: i64 = 1000;
/// The largest request to any of these doors.
pub(crate) const BODY: usize = 64 * 1024;

/// Lets requests through where people sign in. Elsewhere there is nothing here.
pub(crate) async fn with_people(State(app): State<Arc<App>>, request: Request<Body>, next: Next) -> Response {
    if app.has_people() { next.run(request).await } else { page::nothing_here(request.uri().clone()).await }
}

impl App {
    /// The hub's address as this client knows it, without a slash at the end. `public_url` counts wherever it is set,
    /// because a proxy may have changed the `Host`; otherwise `Host` does, which was found to be ours.
    pub(crate) fn address(&self, host: Option<&HeaderValue>) -> String {
        let host = host.and_then(|it| it.to_str().ok());
        match host.filter(|_| self.config.public_url.is_none()) {
            Some(host) => format!("http://{}", host.to_ascii_lowercase()),
            None => self.gate.base().to_owned(),
        }
    }

    /// Remembers what a client says of itself, and forgets those that nobody uses.
    pub(crate) async fn keep_client(&self, client: &ClientRow) -> Result<(), StoreError> {
        self.store.put_client(client).await?;
        self.store.sweep_clients().await?;
        self.store.trim_unused_clients(WAITING).await
    }

    /// Every address that [`App::address`] may give.
    fn addresses(&self) -> Vec<Url> {
        match &self.config.public_url {
            Some(url) => vec![url.clone()],
            None => {
                self.gate.hosts().iter().filter_map(|it| Url::parse(&format!("http://{it}")).ok()).collect()
            }
        }
    }
}
