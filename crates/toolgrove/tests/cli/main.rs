//! The binary as a person uses it: what is typed, what is printed, what is left on disk.

#![allow(clippy::unwrap_used, reason = "in a test it is an assertion")]

mod buds;
mod bundle;
mod bundle_docs;
mod commands;
mod connect;
mod files;
mod home;
mod looks;
mod mistakes;
#[path = "../support/model.rs"]
mod model;
mod pins;
mod serve;
mod site;
mod start;
mod stdio;
#[allow(dead_code, reason = "of what searches for secrets, commands use a part")]
#[path = "../support/watch.rs"]
mod watch;
