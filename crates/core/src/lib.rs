//! Decides. Knows names, routes, policy and health; opens no socket, file or process and reads no wall clock.

pub mod error;
pub mod record;
pub mod secret;

pub use error::Error;
pub use record::{CallEnd, CallRecord};
pub use secret::Secret;
