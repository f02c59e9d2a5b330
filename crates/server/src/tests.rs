//! The whole app without a socket: requests go to the router, servers are made up.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bundles;
mod isolation;
mod tabs;
mod world;
