//! What a pasted or written configuration means: text in, one verdict per server out, in the order of the text.
//!
//! Reads the shapes of every client we know (JSONC; `mcpServers`, `servers`, bare, `bouno_mcp_servers`). Entries
//! stand alone: one that is wrong never spoils its neighbours. Variables stay as they were written; they are
//! resolved when a link opens. Nothing here asks a server anything.

mod entry;
mod header;
mod json;
mod message;
mod socket;
mod variables;

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Map, Value};
use ts_rs::TS;

use crate::instance::EraSetting;
use crate::{Error, Secret};

pub use entry::entry;
pub use header::check_header;
pub use message::{message_error, message_success};
pub use socket::socket;
pub use variables::{resolve, variables};

/// One server as it was written down, in every shape the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub name: String,
    pub transport: EntryTransport,
    pub enabled: bool,
    pub disabled_tools: Vec<String>,
    pub description: Option<String>,
    /// A pinned revision, such as `2025-03-26`.
    pub protocol: Option<String>,
    pub era: EraSetting,
    /// Keys we do not know, kept for export.
    pub extra: Map<String, Value>,
}

/// How the server is reached. Texts may hold `${…}`: see [`resolve`].
#[derive(Debug, Clone, PartialEq)]
pub enum EntryTransport {
    /// Streamable HTTP, falling back to HTTP+SSE as the specification says.
    Http { url: String, headers: Vec<(String, Secret)> },
    /// HTTP+SSE only: deprecated.
    Sse { url: String, headers: Vec<(String, Secret)> },
    Stdio {
        command: String,
        args: Vec<String>,
        env: Vec<(String, Secret)>,
        env_file: Option<String>,
        cwd: Option<String>,
    },
    /// `unix:///path.sock#/sub`: see [`socket`].
    Unix { url: String, headers: Vec<(String, Secret)>, framing: Framing },
    /// `pipe:///…`: say [`PIPE_NEEDS_WINDOWS`] where it is opened on anything else.
    Pipe { url: String, headers: Vec<(String, Secret)>, framing: Framing },
}

/// How messages travel on a socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Framing {
    #[default]
    Http,
    /// One JSON message per line.
    Lines,
}

pub const PIPE_NEEDS_WINDOWS: &str = "a `pipe:` server can be reached on Windows only";

/// A server of the text that was not taken, and why: an item of `failed` in the answer of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
#[ts(rename = "ImportFailed")]
pub struct Failed {
    pub name: String,
    pub error: String,
}

/// Reads a whole text. The outer error is about the text, the inner ones are about single servers.
pub fn read(text: &str) -> Result<Vec<Result<Entry, Failed>>, Error> {
    let found = json::servers(text)?;
    let mut names = HashSet::new();
    Ok(found
        .into_iter()
        .map(|(name, members)| {
            let read = if names.insert(name.clone()) {
                members.and_then(|members| entry(&name, members))
            } else {
                Err(Error::ServerNameTaken.to_string())
            };
            read.map_err(|error| Failed { name, error })
        })
        .collect())
}

#[cfg(test)]
mod tests;
