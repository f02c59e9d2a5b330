//! Signing in to servers of other people: OAuth 2.1 as a client, step by step. Nothing is remembered here.
//!
//! [`discover`] finds out who signs people in for a server, [`register`] how we are known there, [`token`] asks for
//! tokens. Whoever keeps them is a [`Tokens`]: links ask it for the token of each request, and tell it when a server
//! refused one.

mod challenge;
mod demand;
mod discover;
mod register;
mod token;

use std::fmt;

use futures::future::BoxFuture;
use toolgrove_core::instance::Instance;
use toolgrove_core::{Error, Secret};
use url::{Host, Url};

pub use challenge::{Challenge, union};
pub use demand::Demand;
pub use discover::{Provider, covers, discover, issuer_documents, resource_documents};
pub use register::{AuthMethod, Client, Registrar, Registration, metadata, register};
pub use token::{Callback, Grant, Pkce, TokenFailure, authorization_url, exchange, refresh};

use crate::web::fetch::Fetch;

/// Who keeps the tokens of instances. The way out is lent by the pool.
pub trait Tokens: fmt::Debug + Send + Sync + 'static {
    /// The token for the next request, renewed if it is about to expire. None: nobody signed in to this instance.
    fn bearer<'a>(
        &'a self,
        fetch: &'a Fetch,
        instance: &'a Instance,
    ) -> BoxFuture<'a, Result<Option<Secret>, Error>>;

    /// What to do about a server that refused this token.
    fn refused<'a>(
        &'a self,
        fetch: &'a Fetch,
        instance: &'a Instance,
        token: &'a Secret,
        refusal: Refusal,
    ) -> BoxFuture<'a, Result<Next, Error>>;
}

/// Whether an address is on this very machine.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(host)) => host == "localhost" || host.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// What a server said about a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// 401.
    Unauthorized,
    /// 403: the token is good, but not for this.
    Scope(Challenge),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Send the request once more, with this token.
    Again(Secret),
    /// Somebody has to sign in again.
    SignIn,
    /// Signing in again would not help: the refusal is an answer like any other.
    GiveUp,
}
