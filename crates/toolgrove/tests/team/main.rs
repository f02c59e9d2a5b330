//! A team's hub: the built binary, people who sign in to it, and what each of them can and cannot see.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod authority;
mod client;
mod connect;
mod documents;
mod hosted;
#[path = "../support/hub.rs"]
mod hub;
mod icons;
mod machine;
mod oidc;
mod parked;
mod people;
#[path = "../support/provider.rs"]
mod provider;
mod secrets;
mod seen;
mod sign_in;
mod team;
#[path = "../support/peers.rs"]
mod third;
mod tokens;
mod walls;
