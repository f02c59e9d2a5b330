//! The bridge between the eras: clients and servers of both, in all four cells, asked, cut off and coming back.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod carried;
mod driven;
mod garbled;
#[allow(dead_code, reason = "a part of it is used here")]
#[path = "../it/grove.rs"]
mod grove;
mod heard;
#[path = "../support/hub.rs"]
mod hub;
mod leaks;
mod lost;
mod parked;
mod peers;
mod resumed;
mod schemas;
mod scripted;
mod spec;
mod talk;
#[path = "../support/peers.rs"]
mod third;
