//! `toolgrove.toml`: what was typed → what it means.
//!
//! Every key the product knows is here and in [`KEYS`], so that a misspelt one is always an error. The file is
//! read by whoever starts the hub; this room gets its text and a way to look up environment variables, which are
//! asked for only where a secret may stand.

mod keys;
mod problem;
mod raw;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use ts_rs::TS;
use url::Url;

use crate::bud::BudPreset;
use crate::import::Entry;
use crate::name::Profile;
use crate::net::Exception;
use crate::{Error, Secret};

pub use keys::{KEYS, Key};
pub use problem::nearest;

/// What the file means. A missing file means the same as an empty one: [`Config::default`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    pub mode: Mode,
    pub listen: Listen,
    pub public_url: Option<Url>,
    /// `<data>/secret.key` when absent.
    pub secret_key_file: Option<PathBuf>,
    pub capabilities: Capabilities,
    pub sources: Sources,
    pub net: Net,
    /// A SQLite file in the data folder when absent.
    pub store_url: Option<Secret>,
    pub valkey: Option<Secret>,
    pub names: Profile,
    pub oauth_prefer: OauthPrefer,
    pub limits: Limits,
    pub tabs: Tabs,
    pub sign_in: SignIn,
    pub providers: BTreeMap<String, Provider>,
    pub servers: Vec<Entry>,
    pub buds: BTreeMap<String, BudPreset>,
}

impl Config {
    /// Reads the text of a `toolgrove.toml`. Errors begin with line and column.
    pub fn parse(text: &str, env: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        raw::read(text, &env).map_err(Error::Config)
    }
}

/// Who the hub is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One person on one machine, who holds every role.
    #[default]
    Solo,
    Team,
    Cluster,
}

/// How fresh a server's lists must be when a tool is called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capabilities {
    /// Asked beside each call, at most once a second, and not while a change feed is open.
    #[default]
    Live,
    /// Asked with every call.
    Always,
    /// The catalogue is believed.
    Cached,
}

/// Which way of registering an OAuth client is tried first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OauthPrefer {
    #[default]
    Dynamic,
    Document,
}

/// The address the hub listens on; in solo mode always a loopback one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen(pub SocketAddr);

impl Default for Listen {
    fn default() -> Self {
        Self(SocketAddr::from((Ipv4Addr::LOCALHOST, 7430)))
    }
}

/// Where the outside world is looked up; the public places when absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    pub registry: Option<Url>,
    pub github: Option<Url>,
    pub ca_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Net {
    /// What the hub may connect to although it is not public; asked only where several people share a hub.
    pub allow_private: Vec<Exception>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Largest request or answer body, in MiB.
    pub body_mb: u64,
    /// How long a call may be silent; progress restarts it.
    pub call_timeout_ms: u64,
    /// Longer results are cut in text views, and kept whole under `results/:id`.
    pub result_chars: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body_mb: 10, call_timeout_ms: 60_000, result_chars: 50_000 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tabs {
    pub timeout_ms: u64,
    /// By domain, or by domain and tool: `github.com`, `github.com/search`.
    pub timeouts: BTreeMap<String, u64>,
    /// Whether a frozen tab may be brought to the front for a call.
    pub activate: bool,
    pub allowed_origins: Vec<String>,
    pub relay: bool,
    pub relay_timeout_ms: u64,
    pub max_payload_mb: u64,
}

impl Default for Tabs {
    fn default() -> Self {
        Self {
            timeout_ms: 10_000,
            timeouts: BTreeMap::new(),
            activate: false,
            allowed_origins: vec!["*".into()],
            relay: false,
            relay_timeout_ms: 65_000,
            max_payload_mb: 10,
        }
    }
}

/// Sign-in through an OpenID provider, beside passwords.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignIn {
    /// As typed: a provider is known by the exact text.
    pub oidc_issuer: Option<String>,
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
}

/// A place where models run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    pub kind: ProviderKind,
    pub url: Option<Url>,
    pub key: Option<Secret>,
    pub calls: Calls,
}

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    Openai,
    Anthropic,
}

/// How a model asks for tools: its own function calls, or XML in its text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Calls {
    #[default]
    Native,
    Xml,
}

#[cfg(test)]
mod tests;
