//! Speaks. JSON-RPC and both eras of MCP on raw bytes; knows no other crate of ours.

pub mod capability;
pub mod digest;
pub mod envelope;
mod inside;
pub mod legacy;
mod long;
pub mod modern;
mod pieces;
mod raw;
pub mod scan;
pub mod seal;
mod splice;
pub mod sse;

pub use capability::Abilities;
pub use envelope::{Id, Message, RpcError};
pub use pieces::{Gathered, Pieces, Writing, put_number, read_behind};
pub use raw::{Items, Member, Members, Raw};
pub use scan::Malformed;
pub use seal::Seal;
pub use splice::{Draft, Edit};
