//! Installs. Reads bundles, writes their servers into the files where clients look for them, and takes them out again
//! without a trace. Knows neither the store nor links: what the hub itself runs is handed back to whoever asked.

pub mod archive;
pub mod connect;
pub mod duplicates;
mod error;
pub mod files;
pub mod identity;
pub mod install;
pub mod manifest;
pub mod mcp_json;
pub mod places;
pub mod repository;
pub mod servers;
pub mod shelf;
pub mod source;
pub mod variables;

pub use error::BundleError;
