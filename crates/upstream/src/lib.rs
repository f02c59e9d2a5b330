//! Reaches out. Opens links to servers, keeps them, and sends requests over them; decides nothing about tools.
//!
//! [`Pool`] is the door: instance → link. A link is one live connection of one kind; its era is found out once
//! (`era`) and everything a caller sends or gets back stays raw bytes.

mod annotated;
mod context;
mod desk;
pub mod doctor;
mod dotenv;
mod era;
mod failure;
mod feed;
mod link;
mod lists;
mod log_tail;
pub mod model;
mod mux;
pub mod near;
pub mod oauth;
mod own;
mod pool;
pub mod shepherd;
mod speech;
mod tabs;
mod web;

pub use log_tail::LogPiece;
pub use own::{OwnCall, OwnCalls};
pub use pool::{IDLE, Pool, PoolOptions, ShepherdCommand};
pub use tabs::{Browsers, Connection, Tabs, ToBrowser};
pub use web::fetch::{Fetch, Fetched, Unfetched};
