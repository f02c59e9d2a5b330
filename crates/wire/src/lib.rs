//! Speaks. JSON-RPC and both eras of MCP on raw bytes; knows no other crate of ours.

mod raw;

pub use raw::Raw;
