//! A server as it was written down ⇄ the rows it is kept in ⇄ the instance links work with.
//!
//! Values that may be secret (headers, environment) never stand in a server's row: its `config` holds their names,
//! the instance's credentials hold the values.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use toolgrove_core::auth::{AuthType, Place};
use toolgrove_core::bud::Bud;
use toolgrove_core::import::{self, Entry, EntryTransport, Framing, PIPE_NEEDS_WINDOWS};
use toolgrove_core::instance::{
    Command, HttpReach, Instance, Switch, Transport, UnixFraming, UnixReach, Verdict,
};
use toolgrove_core::limits::Rate;
use toolgrove_core::net::Allowlist;
use toolgrove_core::policy::Phase;
use toolgrove_core::{Secret, name};
use toolgrove_store::{AuthConfigRow, InstanceRow, ServerRow};
use uuid::Uuid;

use super::auth;
use super::builtin::BUILTIN;
use crate::bundles::ORIGIN;

/// In whose name and from where an entry comes.
#[derive(Debug, Clone)]
pub struct Owner {
    pub person: Uuid,
    pub workspace: Uuid,
    /// `paste`, `config`, …: the registry's `origin`.
    pub origin: String,
}

/// The rows of an entry that is new.
pub fn rows(entry: &Entry, owner: &Owner, slug: &str) -> toolgrove_store::Entry {
    let mut server = ServerRow::new(&entry.name, "", "", &owner.origin);
    server.workspace_id = Some(owner.workspace);
    server.owner_id = Some(owner.person);
    let mut instance = InstanceRow::new(owner.person, server.id, slug);
    instance.name.clone_from(&entry.name);
    instance.status = "ready".into();
    let mut rows = toolgrove_store::Entry { server, auth_config: None, instance, credentials: Vec::new() };
    write(entry, &mut rows);
    rows
}

/// Puts an entry into rows that may be there already; ids, slug and origin stay, that of an auth config too.
pub fn write(entry: &Entry, rows: &mut toolgrove_store::Entry) {
    let (config, credentials) = config(entry);
    rows.server.name.clone_from(&entry.name);
    rows.server.transport = transport_kind(&entry.transport).into();
    rows.server.endpoint = endpoint(&entry.transport);
    rows.server.description = entry.description.clone().unwrap_or_default();
    rows.server.enabled = entry.enabled;
    rows.server.protocol.clone_from(&entry.protocol);
    rows.server.era =
        serde_json::to_value(entry.era).ok().and_then(|it| it.as_str().map(Into::into)).unwrap_or_default();
    rows.server.config = Value::Object(config);
    rows.server.metadata =
        json!({ "name": entry.name, "description": rows.server.description, "methods": [] });
    // Another address may be another server.
    rows.server.era_verdict = None;
    rows.auth_config = match headers(&entry.transport) {
        [] => None,
        headers => {
            let entries = headers.iter().map(|(key, _)| json!({ "in": "header", "key": key })).collect();
            let mut config = AuthConfigRow::new(rows.server.id, "header", &entry.name, Value::Array(entries));
            // Other instances of the server may use the one there is.
            if let Some(known) = rows.auth_config.take() {
                (config.id, config.created_at) = (known.id, known.created_at);
            }
            Some(config)
        }
    };
    rows.instance.auth_type = match (&rows.auth_config, rows.instance.auth_type.as_str()) {
        (Some(_), _) => "header",
        // A sign-in outlives a new description of its server; whether it still fits is looked at when it is used.
        (None, "oauth") => "oauth",
        (None, _) => "public",
    }
    .into();
    rows.instance.auth_config_id = rows.auth_config.as_ref().map(|it| it.id);
    rows.credentials = credentials;
}

/// The entry behind stored rows.
pub fn entry(server: &ServerRow, credentials: &[(String, Secret)]) -> Result<Entry, String> {
    let mut members = server.config.as_object().cloned().unwrap_or_default();
    for (group, prefix) in [("headers", ""), ("env", "env:")] {
        let Some(Value::Object(values)) = members.get_mut(group) else { continue };
        for (key, value) in values.iter_mut() {
            let stored = credentials.iter().find(|it| it.0.strip_prefix(prefix) == Some(key));
            *value = stored.map_or("", |it| it.1.reveal()).into();
        }
    }
    let mut entry = import::entry(&server.name, members)?;
    entry.enabled = server.enabled;
    entry.description = Some(server.description.clone()).filter(|it| !it.is_empty());
    Ok(entry)
}

/// The entry as its person would write it: with the headers that it shows.
pub fn shown_entry(
    server: &ServerRow,
    auth: Option<&AuthConfigRow>,
    credentials: &[(String, Secret)],
) -> Result<Entry, String> {
    let mut entry = entry(server, credentials)?;
    let headers = auth.map(auth::entries).unwrap_or_default().into_iter();
    let headers = headers.filter(|it| it.place == Place::Header).map(|it| {
        let given = credentials.iter().find(|given| given.0 == it.key).map(|given| given.1.clone());
        (it.key, given.unwrap_or_default())
    });
    match &mut entry.transport {
        EntryTransport::Http { headers: shown, .. }
        | EntryTransport::Sse { headers: shown, .. }
        | EntryTransport::Unix { headers: shown, .. }
        | EntryTransport::Pipe { headers: shown, .. } => *shown = headers.collect(),
        EntryTransport::Stdio { .. } => {}
    }
    Ok(entry)
}

/// What an instance gets from the hub it is in.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Looks up variables.
    pub env: fn(&str) -> Option<String>,
    pub hosts: Allowlist,
    pub timeout: Duration,
    pub revision: u64,
    /// The server that does the same, by name.
    pub duplicate_of: Option<String>,
    /// What its workspace lets be called.
    pub phase: Phase,
    /// The bud that it is, if it is one.
    pub bud: Option<Bud>,
}

/// The instance links work with. Variables are resolved now; one that is not set makes it unreachable, by name, and so
/// does a value that its person has not given.
pub fn instance(
    server: &ServerRow,
    row: &InstanceRow,
    auth: Option<&AuthConfigRow>,
    credentials: &[(String, Secret)],
    around: Surroundings,
) -> Instance {
    let Surroundings { env, hosts, timeout, revision, duplicate_of, phase, bud } = around;
    let resolved = match bud {
        Some(bud) => Ok(Transport::Bud(Arc::new(bud))),
        None => reached(server, row, auth, credentials, env),
    };
    let transport = resolved
        .unwrap_or_else(|problem| Transport::Impossible { kind: kind_word(&server.transport), problem });
    Instance {
        id: row.id,
        person: row.person_id,
        server: server.id,
        slug: row.slug.clone(),
        server_name: server.name.clone(),
        transport,
        hosts,
        era: serde_json::from_value(server.era.clone().into()).unwrap_or_default(),
        protocol: server.protocol.clone(),
        verdict: server.era_verdict.clone().and_then(|it| serde_json::from_value::<Verdict>(it).ok()),
        timeout,
        switch: match (server.enabled, row.enabled) {
            (false, _) => Switch::ServerOff,
            (_, false) => Switch::InstanceOff,
            _ => duplicate_of.map_or(Switch::On, |of| Switch::Duplicate { of }),
        },
        phase,
        // What is written there was checked when it was written.
        rate: server.rate_limit.as_ref().and_then(|it| Rate::read(it).ok()),
        revision,
    }
}

fn reached(
    server: &ServerRow,
    row: &InstanceRow,
    auth: Option<&AuthConfigRow>,
    credentials: &[(String, Secret)],
    env: fn(&str) -> Option<String>,
) -> Result<Transport, String> {
    if server.transport == BUILTIN {
        return Ok(Transport::Builtin);
    }
    let of_bundle = server.origin.starts_with(ORIGIN);
    // What a bundle finds unset is empty, in the hub as in the file; its installation said so.
    let env = |name: &str| env(name).or_else(|| of_bundle.then(String::new));
    if let Some(problem) = auth::missing(server, row, auth, |key| credentials.iter().any(|it| it.0 == key)) {
        return Err(problem);
    }
    let mut transport = transport(&entry(server, credentials)?.transport, &env)?;
    auth::show(&mut transport, AuthType::parse(&row.auth_type), auth, &resolve(credentials, &env)?);
    Ok(transport)
}

fn resolve(
    pairs: &[(String, Secret)],
    env: &impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, Secret)>, String> {
    pairs.iter().map(|(key, value)| Ok((key.clone(), Secret::new(text(value.reveal(), env)?)))).collect()
}

/// A text with its variables filled in.
fn text(it: &str, env: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    import::resolve(it, env).map_err(|missing| {
        let names: Vec<_> = missing.iter().map(|it| format!("`{it}`")).collect();
        format!("not set: {}; set it in the hub's environment and start again", names.join(", "))
    })
}

fn transport(written: &EntryTransport, env: &impl Fn(&str) -> Option<String>) -> Result<Transport, String> {
    let text = |it: &str| text(it, env);
    let http = |url: &str| {
        let url = name::check_server_url(&text(url)?).map_err(|it| it.to_string())?;
        Ok::<_, String>(HttpReach { url, headers: Vec::new(), query: Vec::new() })
    };
    Ok(match written {
        EntryTransport::Http { url, .. } => Transport::Http(http(url)?),
        EntryTransport::Sse { url, .. } => Transport::Sse(http(url)?),
        EntryTransport::Stdio { command, args, env: variables, env_file, cwd } => Transport::Stdio(Command {
            program: text(command)?,
            args: args.iter().map(|it| text(it)).collect::<Result<_, _>>()?,
            env: resolve(variables, env)?,
            env_file: env_file.as_deref().map(text).transpose()?.map(Into::into),
            directory: cwd.as_deref().map(text).transpose()?.map(Into::into),
        }),
        EntryTransport::Unix { url, framing, .. } => {
            let (path, sub) = import::socket(&text(url)?);
            let framing = match framing {
                Framing::Http => UnixFraming::Http { path: sub },
                Framing::Lines => UnixFraming::Lines,
            };
            Transport::Unix(UnixReach { path: path.into(), framing, headers: Vec::new() })
        }
        EntryTransport::Pipe { .. } => return Err(PIPE_NEEDS_WINDOWS.into()),
    })
}

/// An entry's members without secret values, and those values.
fn config(entry: &Entry) -> (Map<String, Value>, Vec<(String, Secret)>) {
    let mut config = Map::new();
    let mut credentials = Vec::new();
    let mut keep =
        |config: &mut Map<String, Value>, group: &str, prefix: &str, pairs: &[(String, Secret)]| {
            if !pairs.is_empty() {
                let names = pairs.iter().map(|(key, _)| (key.clone(), Value::Null)).collect();
                config.insert(group.into(), Value::Object(names));
                credentials
                    .extend(pairs.iter().map(|(key, value)| (format!("{prefix}{key}"), value.clone())));
            }
        };
    match &entry.transport {
        EntryTransport::Http { url, headers } | EntryTransport::Sse { url, headers } => {
            let kind = if matches!(entry.transport, EntryTransport::Http { .. }) { "http" } else { "sse" };
            config.insert("type".into(), kind.into());
            config.insert("url".into(), url.clone().into());
            keep(&mut config, "headers", "", headers);
        }
        EntryTransport::Stdio { command, args, env, env_file, cwd } => {
            config.insert("type".into(), "stdio".into());
            config.insert("command".into(), command.clone().into());
            config.insert("args".into(), args.clone().into());
            keep(&mut config, "env", "env:", env);
            for (key, value) in [("envFile", env_file), ("cwd", cwd)] {
                if let Some(value) = value {
                    config.insert(key.into(), value.clone().into());
                }
            }
        }
        EntryTransport::Unix { url, headers, framing } | EntryTransport::Pipe { url, headers, framing } => {
            config.insert("type".into(), "http".into());
            config.insert("url".into(), url.clone().into());
            keep(&mut config, "headers", "", headers);
            if *framing == Framing::Lines {
                config.insert("framing".into(), "lines".into());
            }
        }
    }
    if let Some(protocol) = &entry.protocol {
        config.insert("protocol".into(), protocol.clone().into());
    }
    if entry.era != toolgrove_core::instance::EraSetting::Auto {
        config.insert("era".into(), serde_json::to_value(entry.era).unwrap_or_default());
    }
    config.extend(entry.extra.clone());
    (config, credentials)
}

fn headers(transport: &EntryTransport) -> &[(String, Secret)] {
    match transport {
        EntryTransport::Http { headers, .. }
        | EntryTransport::Sse { headers, .. }
        | EntryTransport::Unix { headers, .. }
        | EntryTransport::Pipe { headers, .. } => headers,
        EntryTransport::Stdio { .. } => &[],
    }
}

pub fn transport_kind(transport: &EntryTransport) -> &'static str {
    match transport {
        EntryTransport::Http { .. } => "streamable_http",
        EntryTransport::Sse { .. } => "sse",
        EntryTransport::Stdio { .. } => "stdio",
        EntryTransport::Unix { .. } => "unix",
        EntryTransport::Pipe { .. } => "pipe",
    }
}

/// A stored word as one of ours.
fn kind_word(stored: &str) -> &'static str {
    ["streamable_http", "sse", "stdio", "unix", "pipe", "bud"]
        .into_iter()
        .find(|it| *it == stored)
        .unwrap_or("unknown")
}

/// What a person reads as the server's address: a URL, or the command line.
fn endpoint(transport: &EntryTransport) -> String {
    match transport {
        EntryTransport::Http { url, .. }
        | EntryTransport::Sse { url, .. }
        | EntryTransport::Unix { url, .. }
        | EntryTransport::Pipe { url, .. } => url.clone(),
        EntryTransport::Stdio { command, args, .. } => {
            std::iter::once(command).chain(args).cloned().collect::<Vec<_>>().join(" ")
        }
    }
}
