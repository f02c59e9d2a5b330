//! Signing in to servers, with an authorization server that others wrote: `oidc-provider`, and behind it a server of
//! the TypeScript SDK. What is odd on purpose is scripted.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod browser;
mod crash;
mod entered;
mod flow;
mod guarded;
#[path = "../support/hub.rs"]
mod hub;
#[path = "../support/provider.rs"]
mod provider;
mod refresh;
mod replicas;
mod secrets;
mod terminal;
#[path = "../support/peers.rs"]
mod third;
