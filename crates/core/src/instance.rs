//! A server as one person uses it: how it is reached, in which era, and whether it is on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use ts_rs::TS;
use url::Url;
use uuid::Uuid;

use crate::Secret;
use crate::bud::Bud;
use crate::limits::Rate;
use crate::net::Allowlist;
use crate::policy::Phase;

/// Everything a link needs to know. Immutable: a change makes a new one, and links of the old one are closed.
#[derive(Debug, Clone)]
pub struct Instance {
    pub id: Uuid,
    pub person: Uuid,
    pub server: Uuid,
    pub slug: String,
    /// The server's name, which may also stand in the slug's place in a tool name.
    pub server_name: String,
    pub transport: Transport,
    /// Where its server may be: the allowlist of the workspace.
    pub hosts: Allowlist,
    pub era: EraSetting,
    /// A pinned revision: sent as it is, without a probe.
    pub protocol: Option<String>,
    pub verdict: Option<Verdict>,
    /// How long a call may take; progress restarts the clock.
    pub timeout: Duration,
    pub switch: Switch,
    /// What its workspace lets be called.
    pub phase: Phase,
    /// How often its server may be called.
    pub rate: Option<Rate>,
    /// Rises with every change, so that a pool knows which links are stale.
    pub revision: u64,
}

impl Instance {
    /// Whether it is the hub's own small tools.
    pub fn is_own(&self) -> bool {
        self.transport == Transport::Builtin && self.slug == crate::builtin::SLUG
    }

    /// Whether it is a person's browser tabs.
    pub fn is_tabs(&self) -> bool {
        self.transport == Transport::Builtin && self.slug == crate::tabs::SLUG
    }
}

/// Where a server is and how it is spoken to. A new kind is one variant here and one file in `upstream/link`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    Http(HttpReach),
    /// HTTP+SSE of 2024-11-05, deprecated.
    Sse(HttpReach),
    Stdio(Command),
    Unix(UnixReach),
    /// Part of the hub.
    Builtin,
    /// A model that acts as this bud.
    Bud(Arc<Bud>),
    /// Cannot be reached from here, and why in one sentence: a Windows pipe elsewhere, an unset variable.
    Impossible {
        kind: &'static str,
        problem: String,
    },
}

impl Transport {
    /// The word of the registry's `transport` column.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Http(_) => "streamable_http",
            Self::Sse(_) => "sse",
            Self::Stdio(_) => "stdio",
            Self::Unix(_) => "unix",
            Self::Builtin => "builtin",
            Self::Bud(_) => "bud",
            Self::Impossible { kind, .. } => kind,
        }
    }

    /// Everything a link sends in confidence.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let (first, second): (&[_], &[_]) = match self {
            Self::Http(reach) | Self::Sse(reach) => (&reach.headers, &reach.query),
            Self::Stdio(command) => (&command.env, &[]),
            Self::Unix(reach) => (&reach.headers, &[]),
            Self::Builtin | Self::Bud(_) | Self::Impossible { .. } => (&[], &[]),
        };
        first.iter().chain(second).map(|it| &it.1)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpReach {
    pub url: Url,
    /// Sent with every request: POST, GET stream and DELETE.
    pub headers: Vec<(String, Secret)>,
    /// Appended to the URL of every request.
    pub query: Vec<(String, Secret)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub program: String,
    pub args: Vec<String>,
    pub env: Vec<(String, Secret)>,
    /// A dotenv file read at each start; `env` wins.
    pub env_file: Option<PathBuf>,
    pub directory: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixReach {
    pub path: PathBuf,
    pub framing: UnixFraming,
    pub headers: Vec<(String, Secret)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnixFraming {
    /// HTTP over the socket, at this path.
    Http { path: String },
    /// One JSON message per line.
    Lines,
}

/// What a person has said about a server's era.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EraSetting {
    #[default]
    Auto,
    Modern,
    Legacy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    Modern,
    Legacy,
}

/// What was found out about a server's era, and from what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Verdict {
    pub era: Era,
    /// The revision agreed on.
    pub version: String,
    pub evidence: String,
    /// Unix milliseconds.
    pub at: i64,
}

impl Verdict {
    /// A legacy verdict is looked at again after a day: a stale one would work silently for ever.
    pub fn holds(&self, now_ms: i64) -> bool {
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        self.era == Era::Modern || now_ms - self.at < DAY_MS
    }
}

/// Whether an instance may be used, and if not, what is off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Switch {
    On,
    ServerOff,
    InstanceOff,
    /// The server of this name does the same, and stays.
    Duplicate {
        of: String,
    },
}
