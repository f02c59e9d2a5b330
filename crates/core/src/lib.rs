//! Decides. Knows names, routes, policy and health; opens no socket, file or process and reads no wall clock.

pub mod auth;
pub mod bus;
pub mod call;
pub mod catalog;
pub mod config;
mod drive;
pub mod error;
pub mod event;
pub mod export;
pub mod header;
pub mod health;
pub mod hub;
pub mod import;
pub mod instance;
pub mod meter;
pub mod name;
pub mod net;
pub mod offer;
pub mod pins;
pub mod policy;
pub mod record;
pub mod redact;
pub mod schema;
pub mod secret;
pub mod tabs;
pub mod task;
pub mod text;
pub mod timeline;
mod trace;
pub mod uri;

pub use config::Config;
pub use error::Error;
pub use record::{CallEnd, CallRecord};
pub use secret::Secret;
pub use timeline::Timeline;
