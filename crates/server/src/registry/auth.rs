//! What an instance has to show its server: the places its admin has named, the values its person has given.

use serde::Serialize;
use serde_json::Value;
use toolgrove_core::auth::{AuthEntry, AuthType, Place, check_value};
use toolgrove_core::instance::Transport;
use toolgrove_core::{Error, Secret};
use toolgrove_store::{AuthConfigRow, InstanceRow, ServerRow};
use ts_rs::TS;
use uuid::Uuid;

/// One value that an instance needs, by the key under which it is given and kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub key: String,
    entry: Option<AuthEntry>,
}

/// The same as the API shows it: whether there is a value, never which.
#[derive(Debug, Serialize, TS)]
pub struct NamedValue {
    /// `header`, `query` or `env`.
    #[serde(rename = "in")]
    pub place: &'static str,
    pub key: String,
    pub has_value: bool,
}

impl Named {
    pub fn shown(&self, given: &[String]) -> NamedValue {
        let place = match self.entry.as_ref().map(|it| it.place) {
            Some(Place::Header) => "header",
            Some(Place::Query) => "query",
            None => "env",
        };
        NamedValue { place, key: self.key.clone(), has_value: given.contains(&self.key) }
    }
}

/// Everything an instance needs: what its auth config names, and the variables of a process.
pub fn named(server: &ServerRow, auth_type: AuthType, config: Option<&AuthConfigRow>) -> Vec<Named> {
    let config = config.filter(|_| auth_type == AuthType::Header);
    let entries = config.map(entries).unwrap_or_default();
    let entries = entries.into_iter().map(|it| Named { key: it.key.clone(), entry: Some(it) });
    let variables = server.config.get("env").and_then(Value::as_object).into_iter().flatten();
    let variables = variables.map(|(name, _)| Named { key: format!("env:{name}"), entry: None });
    entries.chain(variables).collect()
}

/// What a config names.
pub fn entries(config: &AuthConfigRow) -> Vec<AuthEntry> {
    serde_json::from_value(config.entries.clone()).unwrap_or_default()
}

/// Why an instance cannot be used yet, if so.
pub fn missing(
    server: &ServerRow,
    row: &InstanceRow,
    config: Option<&AuthConfigRow>,
    has: impl Fn(&str) -> bool,
) -> Option<String> {
    let auth_type = AuthType::parse(&row.auth_type);
    if auth_type == AuthType::Header && config.is_none() {
        return Some("not set: its auth config was removed; choose another one".into());
    }
    let named = named(server, auth_type, config);
    let names: Vec<_> = named.iter().filter(|it| !has(&it.key)).map(|it| format!("`{}`", it.key)).collect();
    (!names.is_empty()).then(|| {
        let slug = &row.slug;
        format!(
            "not set: {}; give it with `toolgrove instance set {slug} --credential KEY`",
            names.join(", ")
        )
    })
}

/// Takes what a person gives, if the server asks for it. An empty value is none.
pub fn accept(
    server: &ServerRow,
    named: &[Named],
    given: Vec<(String, Secret)>,
) -> Result<Vec<(String, Secret)>, Error> {
    let mut kept = Vec::with_capacity(given.len());
    for (key, value) in given {
        let Some(wanted) = named.iter().find(|it| it.key.eq_ignore_ascii_case(&key)) else {
            let names: Vec<_> = named.iter().map(|it| format!("`{}`", it.key)).collect();
            let asks = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
            return Err(Error::Request(format!(
                "`{}` does not ask for `{key}`; it asks for {asks}",
                server.name
            )));
        };
        if let Some(entry) = &wanted.entry {
            check_value(entry, &value)?;
        }
        if !value.reveal().is_empty() {
            kept.push((wanted.key.clone(), value));
        }
    }
    Ok(kept)
}

/// Puts what is to be shown into a way to a server; nothing else goes with its requests.
pub fn show(
    transport: &mut Transport,
    auth_type: AuthType,
    config: Option<&AuthConfigRow>,
    resolved: &[(String, Secret)],
) {
    let entries = config.filter(|_| auth_type == AuthType::Header).map(entries).unwrap_or_default();
    let of = |place: Place| -> Vec<(String, Secret)> {
        let here = entries.iter().filter(|it| it.place == place);
        here.filter_map(|it| resolved.iter().find(|given| given.0 == it.key)).cloned().collect()
    };
    match transport {
        Transport::Http(reach) | Transport::Sse(reach) => {
            reach.headers = of(Place::Header);
            reach.query = of(Place::Query);
        }
        Transport::Unix(reach) => reach.headers = of(Place::Header),
        Transport::Stdio(_) | Transport::Builtin | Transport::Bud(_) | Transport::Impossible { .. } => {}
    }
}

/// The way in which an instance is to show who it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub auth_type: AuthType,
    pub config: Option<AuthConfigRow>,
}

impl Choice {
    /// The choice among what a server takes. Nothing wanted means its first way.
    pub fn among(
        server: &ServerRow,
        configs: Vec<AuthConfigRow>,
        wanted: Option<AuthType>,
        id: Option<Uuid>,
    ) -> Result<Self, Error> {
        let refused = |what: String| Err(Error::Request(format!("server `{}` has no {what}", server.name)));
        let is_wanted = |it: &AuthConfigRow| wanted.is_none_or(|wanted| wanted == AuthType::parse(&it.kind));
        let found = configs.into_iter().find(|it| id.is_none_or(|id| id == it.id) && is_wanted(it));
        match (found, id, wanted) {
            (Some(config), _, _) => {
                Ok(Self { auth_type: AuthType::parse(&config.kind), config: Some(config) })
            }
            (None, Some(id), None) => refused(format!("auth config `{id}`")),
            (None, Some(id), Some(wanted)) => {
                refused(format!("auth config `{id}` of type `{}`", wanted.as_str()))
            }
            (None, None, Some(AuthType::Header)) => refused("auth config of type `header`".into()),
            (None, None, wanted) => Ok(Self { auth_type: wanted.unwrap_or_default(), config: None }),
        }
    }

    /// Writes the choice down.
    pub fn put(&self, row: &mut InstanceRow) {
        row.auth_type = self.auth_type.as_str().into();
        row.auth_config_id = self.config.as_ref().map(|it| it.id);
    }

    pub fn named(&self, server: &ServerRow) -> Vec<Named> {
        named(server, self.auth_type, self.config.as_ref())
    }

    /// What the status of an instance is that has just been given these values.
    pub fn status(&self, server: &ServerRow, given: &[(String, Secret)]) -> &'static str {
        let has_all = self.named(server).iter().all(|it| given.iter().any(|given| given.0 == it.key));
        // With OAuth somebody has to sign in first.
        if has_all && self.auth_type != AuthType::Oauth { "ready" } else { "not_ready" }
    }
}
