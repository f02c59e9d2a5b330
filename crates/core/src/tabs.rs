//! Pages that are open in a person's browser, as tools: which tab offers what, under which name, and where a call
//! goes.
//!
//! [`TabHub`] is the whole of it. It hears of tabs from a [`TabTransport`] and asks tabs through it; which browser,
//! which socket and which words those are, it never learns. `table.rs` is its memory, `names.rs` gives names,
//! `listing.rs` makes the list, `hub.rs` takes events, `run.rs` runs calls, `questions.rs` has what pages ask, `meta.rs` the fixed tools.

mod hub;
mod listing;
mod meta;
mod names;
mod questions;
pub mod relay;
mod run;
mod table;
#[cfg(test)]
mod tests;
mod tool;
mod transport;
pub mod wire;

pub use hub::{Note, TabHub, TabOptions};
pub use listing::{Entry, PageOf};
pub use meta::{CALL_TOOL, META_TOOLS};
pub use questions::TabQuestion;
pub use run::TabCall;
pub use table::{BrowserKind, BrowserView, CachedRow, Registration, TabRow, TabView, Table};
pub use tool::{KEY_UNTRUSTED, Origins, PageTool};
pub use transport::{Refusal, TabEvent, TabKey, TabRequest, TabTransport};

/// The slug of the instance that has a person's tabs.
pub const SLUG: &str = "tabs";
/// What the names of all tab tools begin with.
pub const PREFIX: &str = "website_tool_";
/// The capability of the hub that tells of tabs, as a modern client reads it.
pub const CAPABILITY: &str = "dev.toolgrove/browser";
/// Under this key of `_meta` a list entry says where it is shown. It never reaches a client.
pub(crate) const KEY_LISTING: &str = "dev.toolgrove/listing";
