//! The whole hub, as its users meet it: the built binary between real clients and real servers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bad_messages;
mod bad_servers;
#[path = "../support/browser.rs"]
mod browser;
mod buds;
mod builtin;
mod chats;
mod doors;
mod files;
mod grove;
#[path = "../support/hub.rs"]
mod hub;
mod links;
mod live;
#[path = "../support/model.rs"]
mod model;
mod names;
mod pasted;
mod peers;
mod phases;
mod processes;
mod providers;
mod records;
mod safety;
mod sidebar;
mod stdio;
mod store;
mod tab_pins;
mod tabs;
#[path = "../support/peers.rs"]
mod third;
mod through;
