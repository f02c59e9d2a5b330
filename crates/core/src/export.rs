//! Servers → the texts that [`crate::import`] reads back: `mcp.json` and the stored `bouno` shape.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::Secret;
use crate::import::{Entry, EntryTransport, Framing};
use crate::instance::EraSetting;

/// Whether values that may be secret (headers, environment, keys that say so) leave with the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    Included,
    /// Left out without a placeholder: an empty header would be sent.
    LeftOut,
}

/// A server of the `bouno` shape: what was typed, its id, and its tools as last seen.
#[derive(Debug, Clone)]
pub struct Stored<'a> {
    pub id: Uuid,
    pub entry: &'a Entry,
    /// Raw tools of the catalogue; none leaves `cachedTools` out.
    pub cached_tools: Vec<Value>,
}

/// `{"servers": {<name>: {…}}}`
pub fn mcp_json<'a>(entries: impl IntoIterator<Item = &'a Entry>, secrets: Secrets) -> Value {
    let servers: Map<_, _> = entries
        .into_iter()
        .map(|entry| {
            let mut server = members(entry, secrets);
            if !entry.enabled {
                server.insert("disabled".into(), true.into());
            }
            (entry.name.clone(), Value::Object(server))
        })
        .collect();
    json!({ "servers": servers })
}

/// `{"bouno_mcp_servers": [{id, name, url, enabled, headers?, disabledTools?, cachedTools?}]}`
pub fn bouno<'a>(servers: impl IntoIterator<Item = Stored<'a>>, secrets: Secrets) -> Value {
    let servers: Vec<_> = servers
        .into_iter()
        .map(|Stored { id, entry, cached_tools }| {
            let mut server = Map::new();
            server.insert("id".into(), id.to_string().into());
            server.insert("name".into(), entry.name.clone().into());
            for (key, value) in members(entry, secrets) {
                server.entry(key).or_insert(value);
            }
            server.insert("enabled".into(), entry.enabled.into());
            if !cached_tools.is_empty() {
                server.insert("cachedTools".into(), cached_tools.into());
            }
            Value::Object(server)
        })
        .collect();
    json!({ "bouno_mcp_servers": servers })
}

/// Everything but the name and whether it is on.
fn members(entry: &Entry, secrets: Secrets) -> Map<String, Value> {
    let mut members = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            members.insert(key.to_owned(), value);
        }
    };
    let text = |text: &Option<String>| text.clone().map(Value::from);
    let list = |texts: &[String]| (!texts.is_empty()).then(|| texts.into());
    let pairs = |pairs: &[(String, Secret)]| {
        let leave = secrets == Secrets::Included && !pairs.is_empty();
        leave.then(|| pairs.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect::<Value>())
    };
    match &entry.transport {
        EntryTransport::Stdio { command, args, env, env_file, cwd } => {
            put("type", Some("stdio".into()));
            put("command", Some(command.as_str().into()));
            put("args", list(args));
            put("env", pairs(env));
            put("envFile", text(env_file));
            put("cwd", text(cwd));
        }
        EntryTransport::Http { url, headers }
        | EntryTransport::Sse { url, headers }
        | EntryTransport::Unix { url, headers, .. }
        | EntryTransport::Pipe { url, headers, .. } => {
            put("type", Some(kind(&entry.transport).into()));
            put("url", Some(url.as_str().into()));
            put("headers", pairs(headers));
            put("framing", framing(&entry.transport).map(Value::from));
        }
    }
    put("disabledTools", list(&entry.disabled_tools));
    put("description", text(&entry.description));
    put("protocol", text(&entry.protocol));
    put("era", era(entry.era).map(Value::from));
    for (key, value) in &entry.extra {
        if let Some(value) = open(key, value, secrets) {
            members.entry(key).or_insert(value);
        }
    }
    members
}

fn kind(transport: &EntryTransport) -> &'static str {
    if matches!(transport, EntryTransport::Sse { .. }) { "sse" } else { "http" }
}

fn framing(transport: &EntryTransport) -> Option<&'static str> {
    match transport {
        EntryTransport::Unix { framing: Framing::Lines, .. }
        | EntryTransport::Pipe { framing: Framing::Lines, .. } => Some("lines"),
        _ => None,
    }
}

fn era(era: EraSetting) -> Option<&'static str> {
    match era {
        EraSetting::Auto => None,
        EraSetting::Modern => Some("modern"),
        EraSetting::Legacy => Some("legacy"),
    }
}

/// A member we do not know, without what its key calls a secret.
fn open(key: &str, value: &Value, secrets: Secrets) -> Option<Value> {
    if secrets == Secrets::Included {
        return Some(value.clone());
    }
    let key = key.to_ascii_lowercase().replace(['_', '-'], "");
    let hidden = ["secret", "token", "password", "apikey", "authorization", "headers", "env"];
    if hidden.iter().any(|it| key.contains(it)) {
        return None;
    }
    Some(match value {
        Value::Object(members) => {
            members.iter().filter_map(|(key, it)| Some((key.clone(), open(key, it, secrets)?))).collect()
        }
        Value::Array(items) => items.iter().filter_map(|it| open("", it, secrets)).collect(),
        value => value.clone(),
    })
}

#[cfg(test)]
mod tests;
