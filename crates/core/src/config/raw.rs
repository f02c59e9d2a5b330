//! The file as typed: one struct per section, unknown keys refused, places kept for the errors.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use url::Url;

use super::{
    Calls, Capabilities, Config, Limits, Listen, Mode, Net, OauthPrefer, Provider, ProviderKind, SignIn,
    Sources, Tabs, problem,
};
use crate::Secret;
use crate::bud::BudPreset;
use crate::import::{self, Entry, resolve};
use crate::name::Profile;
use crate::net::Exception;

type Text = Option<Spanned<String>>;
/// The longest that a tool of a tab may be given.
const LONGEST_TAB_CALL_MS: u64 = 600_000;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawConfig {
    mode: Mode,
    listen: Text,
    public_url: Text,
    secret_key_file: Text,
    capabilities: Capabilities,
    sources: RawSources,
    net: RawNet,
    store: RawStore,
    cluster: RawCluster,
    names: RawNames,
    oauth: RawOauth,
    limits: RawLimits,
    tabs: RawTabs,
    sign_in: RawSignIn,
    provider: BTreeMap<String, RawProvider>,
    server: BTreeMap<String, Spanned<Value>>,
    bud: BTreeMap<String, Spanned<BudPreset>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawSources {
    registry: Text,
    github: Text,
    ca_file: Text,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawNet {
    allow_private: Vec<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawStore {
    url: Text,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawCluster {
    valkey: Text,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawNames {
    profile: Profile,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawOauth {
    prefer: OauthPrefer,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawLimits {
    body_mb: Option<NonZeroU64>,
    call_timeout_ms: Option<NonZeroU64>,
    result_chars: Option<NonZeroU64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawTabs {
    timeout_ms: Option<NonZeroU64>,
    timeouts: BTreeMap<String, Spanned<u64>>,
    activate: bool,
    allowed_origins: Option<Vec<Spanned<String>>>,
    relay: bool,
    relay_timeout_ms: Option<NonZeroU64>,
    max_payload_mb: Option<NonZeroU64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawSignIn {
    oidc_issuer: Text,
    client_id: Text,
    client_secret: Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProvider {
    kind: ProviderKind,
    url: Text,
    key: Text,
    #[serde(default)]
    calls: Calls,
}

pub(super) fn read(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Config, String> {
    let raw: RawConfig = toml::from_str(text)
        .map_err(|error| problem::at(text, error.span(), &problem::reword(error.message())))?;
    Reader { text, env }.config(raw)
}

/// Turns typed values into meant ones; knows the text only to name places in it.
struct Reader<'a> {
    text: &'a str,
    env: &'a dyn Fn(&str) -> Option<String>,
}

impl Reader<'_> {
    fn config(&self, raw: RawConfig) -> Result<Config, String> {
        let (limits, tabs) = (Limits::default(), Tabs::default());
        let or = |typed: Option<NonZeroU64>, default: u64| typed.map_or(default, NonZeroU64::get);
        let config = Config {
            mode: raw.mode,
            listen: self.listen(raw.mode, raw.listen)?,
            public_url: self.url("public_url", raw.public_url)?,
            secret_key_file: self.path("secret_key_file", raw.secret_key_file)?,
            capabilities: raw.capabilities,
            sources: Sources {
                registry: self.url("sources.registry", raw.sources.registry)?,
                github: self.url("sources.github", raw.sources.github)?,
                ca_file: self.path("sources.ca_file", raw.sources.ca_file)?,
            },
            net: Net { allow_private: self.exceptions(raw.net.allow_private)? },
            store_url: self.with_secrets("store.url", raw.store.url)?,
            valkey: self.with_secrets("cluster.valkey", raw.cluster.valkey)?,
            names: raw.names.profile,
            oauth_prefer: raw.oauth.prefer,
            limits: Limits {
                body_mb: or(raw.limits.body_mb, limits.body_mb),
                call_timeout_ms: or(raw.limits.call_timeout_ms, limits.call_timeout_ms),
                result_chars: or(raw.limits.result_chars, limits.result_chars),
            },
            tabs: Tabs {
                timeout_ms: or(raw.tabs.timeout_ms, tabs.timeout_ms),
                timeouts: self.timeouts(raw.tabs.timeouts)?,
                activate: raw.tabs.activate,
                allowed_origins: match raw.tabs.allowed_origins {
                    Some(typed) => self.texts("tabs.allowed_origins", typed)?,
                    None => tabs.allowed_origins,
                },
                relay: raw.tabs.relay,
                relay_timeout_ms: or(raw.tabs.relay_timeout_ms, tabs.relay_timeout_ms),
                max_payload_mb: or(raw.tabs.max_payload_mb, tabs.max_payload_mb),
            },
            sign_in: SignIn {
                oidc_issuer: self.url_text("sign_in.oidc_issuer", raw.sign_in.oidc_issuer)?,
                client_id: self.plain("sign_in.client_id", raw.sign_in.client_id)?,
                client_secret: self.secret("sign_in.client_secret", raw.sign_in.client_secret)?,
            },
            providers: self.providers(raw.provider)?,
            servers: self.servers(raw.server)?,
            buds: self.buds(raw.bud)?,
        };
        check_cluster(&config)?;
        Ok(config)
    }

    fn listen(&self, mode: Mode, typed: Text) -> Result<Listen, String> {
        let Some(typed) = typed else {
            return Ok(Listen::default());
        };
        let address: SocketAddr = typed
            .get_ref()
            .parse()
            .map_err(|_| self.at(&typed, "`listen` is an address and a port, such as `127.0.0.1:7430`"))?;
        if mode == Mode::Solo && !address.ip().is_loopback() {
            let problem =
                r#"in solo mode `listen` must be a loopback address; set `mode = "team"` to serve others"#;
            return Err(self.at(&typed, problem));
        }
        Ok(Listen(address))
    }

    fn providers(&self, typed: BTreeMap<String, RawProvider>) -> Result<BTreeMap<String, Provider>, String> {
        typed
            .into_iter()
            .map(|(name, raw)| {
                let key = |it: &str| format!("provider.{name}.{it}");
                let provider = Provider {
                    kind: raw.kind,
                    url: self.url(&key("url"), raw.url)?,
                    key: self.secret(&key("key"), raw.key)?,
                    calls: raw.calls,
                };
                Ok((name, provider))
            })
            .collect()
    }

    fn servers(&self, typed: BTreeMap<String, Spanned<Value>>) -> Result<Vec<Entry>, String> {
        typed
            .into_iter()
            .map(|(name, typed)| {
                let wrong = |problem: &str| self.at(&typed, &format!("server `{name}`: {problem}"));
                match typed.get_ref() {
                    Value::Object(members) => import::entry(&name, members.clone()).map_err(|it| wrong(&it)),
                    _ => Err(wrong("expected a table with `url` or `command`")),
                }
            })
            .collect()
    }

    fn buds(
        &self,
        typed: BTreeMap<String, Spanned<BudPreset>>,
    ) -> Result<BTreeMap<String, BudPreset>, String> {
        let read = |(name, typed): (String, Spanned<BudPreset>)| match typed.get_ref().check() {
            Ok(()) => Ok((name, typed.into_inner())),
            Err(problem) => Err(self.at(&typed, &format!("bud `{name}`: {problem}"))),
        };
        typed.into_iter().map(read).collect()
    }

    /// A text that is no secret: what it says stands in the file, not in the environment.
    fn plain(&self, key: &str, typed: Text) -> Result<Option<String>, String> {
        match typed {
            Some(typed) if typed.get_ref().contains("${") => {
                Err(self.at(&typed, &format!("`{key}` is not a secret, so it cannot use `${{env:…}}`")))
            }
            typed => Ok(typed.map(Spanned::into_inner)),
        }
    }

    fn exceptions(&self, typed: Vec<Spanned<String>>) -> Result<Vec<Exception>, String> {
        let read = |it: Spanned<String>| {
            let text = self.plain("net.allow_private", Some(it.clone()))?.unwrap_or_default();
            Exception::parse(&text).ok_or_else(|| {
                let problem = format!(
                    "`{text}` is not a host, a `*.domain`, an address or a network such as `10.0.0.0/8`"
                );
                self.at(&it, &problem)
            })
        };
        typed.into_iter().map(read).collect()
    }

    fn texts(&self, key: &str, typed: Vec<Spanned<String>>) -> Result<Vec<String>, String> {
        let texts: Result<Vec<_>, _> = typed.into_iter().map(|it| self.plain(key, Some(it))).collect();
        Ok(texts?.into_iter().flatten().collect())
    }

    fn timeouts(&self, typed: BTreeMap<String, Spanned<u64>>) -> Result<BTreeMap<String, u64>, String> {
        let read = |(whose, ms): (String, Spanned<u64>)| match *ms.get_ref() {
            it @ 1..=LONGEST_TAB_CALL_MS => Ok((whose, it)),
            it => {
                let problem =
                    format!("`tabs.timeouts` of `{whose}` must be 1 to {LONGEST_TAB_CALL_MS} ms, not {it}");
                Err(self.at(&ms, &problem))
            }
        };
        typed.into_iter().map(read).collect()
    }

    fn path(&self, key: &str, typed: Text) -> Result<Option<PathBuf>, String> {
        Ok(self.plain(key, typed)?.map(PathBuf::from))
    }

    fn url(&self, key: &str, typed: Text) -> Result<Option<Url>, String> {
        let Some(text) = self.plain(key, typed.clone())? else {
            return Ok(None);
        };
        match Url::parse(&text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(Some(url)),
            _ => Err(self.wrong(typed.as_ref(), &format!("`{key}` must be an http or https URL"))),
        }
    }

    /// A URL that counts as it is typed.
    fn url_text(&self, key: &str, typed: Text) -> Result<Option<String>, String> {
        self.url(key, typed.clone())?;
        self.plain(key, typed)
    }

    /// A secret and nothing else: the file may name it, never hold it.
    fn secret(&self, key: &str, typed: Text) -> Result<Option<Secret>, String> {
        match &typed {
            Some(it) if !is_reference(it.get_ref()) => {
                Err(self
                    .at(it, &format!("`{key}` is a secret: write `\"${{env:NAME}}\"` and set that variable")))
            }
            _ => self.with_secrets(key, typed),
        }
    }

    /// A text that may hold secrets, such as a URL with a password.
    fn with_secrets(&self, key: &str, typed: Text) -> Result<Option<Secret>, String> {
        let Some(typed) = typed else { return Ok(None) };
        match resolve(typed.get_ref(), self.env) {
            Ok(value) => Ok(Some(Secret::new(value))),
            Err(missing) => {
                Err(self.at(&typed, &format!("`{key}` needs the variable `{}`", missing.join("`, `"))))
            }
        }
    }

    fn wrong(&self, typed: Option<&Spanned<String>>, problem: &str) -> String {
        problem::at(self.text, typed.map(Spanned::span), problem)
    }

    fn at<T>(&self, typed: &Spanned<T>, problem: &str) -> String {
        problem::at(self.text, Some(typed.span()), problem)
    }
}

fn is_reference(text: &str) -> bool {
    text.starts_with("${env:") && text.ends_with('}') && text.matches("${").count() == 1
}

/// Replicas agree through a database and a store that all of them reach.
fn check_cluster(config: &Config) -> Result<(), String> {
    let postgres = config.store_url.as_ref().is_some_and(|it| it.reveal().starts_with("postgres"));
    match config.mode {
        Mode::Cluster if !postgres => Err("cluster mode needs `store.url` to be a `postgres://` URL".into()),
        Mode::Cluster if config.valkey.is_none() => Err("cluster mode needs `cluster.valkey`".into()),
        _ => Ok(()),
    }
}
