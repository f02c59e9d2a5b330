//! What servers of bundles are called, and the file that remembers which of them we wrote.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{BundleError, Result};
use crate::identity::Definition;
use crate::mcp_json::Created;

pub const TRACKING_FILE: &str = "prompt-registry-mcp-tracking.json";
const FORMAT: &str = "1.0.0";

/// `prompt-registry:<bundleId>:<server>`
pub fn name(bundle: &str, server: &str) -> String {
    format!("prompt-registry:{bundle}:{server}")
}

/// Refuses a key that is no server's: it becomes part of a name, and of nothing else.
pub fn check_key(key: &str) -> std::result::Result<(), String> {
    let fits = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-');
    if !key.is_empty() && key.bytes().all(fits) {
        return Ok(());
    }
    Err(format!("server `{key}`: a server's key may hold only letters, digits, `_` and `-`"))
}

/// Where a bundle is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    User,
    Workspace,
    Repository,
}

impl Scope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Workspace => "workspace",
            Self::Repository => "repository",
        }
    }
}

/// The tracking file beside an `mcp.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tracking {
    #[serde(default)]
    pub managed_servers: BTreeMap<String, Managed>,
    #[serde(default)]
    pub last_updated: String,
    #[serde(default)]
    pub version: String,
    /// What we had to create, and take away with the last server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Created>,
    /// A change whose last step is not known to be done: see [`crate::files`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Value>,
    /// What we do not know stays.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One server that we wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Managed {
    pub bundle_id: String,
    pub bundle_version: String,
    pub original_name: String,
    /// The author's definition, its variables untouched.
    pub original_config: Definition,
    pub installed_at: String,
    pub scope: Scope,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Default for Tracking {
    fn default() -> Self {
        Self {
            managed_servers: BTreeMap::new(),
            last_updated: String::new(),
            version: FORMAT.to_owned(),
            created: None,
            pending: None,
            extra: Map::new(),
        }
    }
}

impl Tracking {
    /// No bytes, or an empty file: nothing is tracked.
    pub fn parse(path: &Path, bytes: Option<&[u8]>) -> Result<Self> {
        match bytes {
            Some(bytes) if !bytes.trim_ascii().is_empty() => serde_json::from_slice(bytes)
                .map_err(|it| BundleError::Tracking { path: path.to_owned(), problem: it.to_string() }),
            _ => Ok(Self::default()),
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        // The keys of every map are texts, so this cannot fail.
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// The names of a bundle's servers.
    pub fn of_bundle<'a>(&'a self, bundle: &'a str) -> impl Iterator<Item = &'a str> {
        self.managed_servers
            .iter()
            .filter(move |(_, it)| it.bundle_id == bundle)
            .map(|(name, _)| name.as_str())
    }
}

/// `2026-11-15T09:30:00.000Z`
pub fn iso(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
