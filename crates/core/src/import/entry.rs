//! One server's members → [`Entry`]. The same for pasted JSON, stored shapes and `[server.<name>]`.

use serde_json::{Map, Value};

use super::{Entry, EntryTransport, Framing, check_header, resolve};
use crate::instance::EraSetting;
use crate::name::{check_description, check_name, check_server_url};
use crate::{Error, Secret};

/// Reads one server. The error is a sentence that names the key.
pub fn entry(name: &str, mut members: Map<String, Value>) -> Result<Entry, String> {
    check_name(name).map_err(sentence)?;
    let members = &mut members;
    let transport = transport(members)?;
    let enabled = flag(members, "enabled")?.unwrap_or(true) && !flag(members, "disabled")?.unwrap_or(false);
    let description = text(members, "description")?;
    check_description(description.as_deref().unwrap_or_default()).map_err(sentence)?;
    Ok(Entry {
        name: name.to_owned(),
        transport,
        enabled,
        disabled_tools: texts(members, "disabledTools")?,
        description,
        protocol: protocol(members)?,
        era: era(members)?,
        extra: std::mem::take(members),
    })
}

fn transport(members: &mut Map<String, Value>) -> Result<EntryTransport, String> {
    let kind = text(members, "type")?;
    let has = |key: &str| members.get(key).is_some_and(|it| !it.is_null());
    let has_url = has("url") || has("serverUrl");
    match kind.as_deref() {
        Some("stdio") => stdio(members),
        Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") => {
            remote(members, Kind::Http)
        }
        Some("sse") => remote(members, Kind::Sse),
        Some("ws") => Err("`ws` servers are not supported; use a server that speaks HTTP".into()),
        Some(other) => Err(format!("`{other}` is not a type; expected `stdio`, `http` or `sse`")),
        None if has_url && has("command") => Err("give `url` or `command`, not both".into()),
        None if has("command") => stdio(members),
        None => remote(members, Kind::Http),
    }
}

#[derive(PartialEq)]
enum Kind {
    Http,
    Sse,
}

fn remote(members: &mut Map<String, Value>, kind: Kind) -> Result<EntryTransport, String> {
    let url = match text(members, "url")? {
        Some(url) => Some(url),
        None => text(members, "serverUrl")?,
    };
    let url = url.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).ok_or(r#"missing "url""#)?;
    let scheme = scheme(&url)?;
    let headers = headers(members)?;
    let socket = scheme == "unix" || scheme == "pipe";
    let framing = if socket { framing(members)? } else { Framing::Http };
    match (scheme.as_str(), kind) {
        ("unix", Kind::Http) => Ok(EntryTransport::Unix { url, headers, framing }),
        ("pipe", Kind::Http) => Ok(EntryTransport::Pipe { url, headers, framing }),
        ("unix" | "pipe", Kind::Sse) => Err("type `sse` needs an http or https URL".into()),
        ("bud" | "wasm", _) => Err(format!("a `{scheme}:` server is not imported; add it in the registry")),
        (_, Kind::Http) => Ok(EntryTransport::Http { url, headers }),
        (_, Kind::Sse) => Ok(EntryTransport::Sse { url, headers }),
    }
}

/// The scheme of a URL that may hold variables: they are read as `0`, which fits a host, a port and a path. A URL
/// that begins with one says nothing yet, and is checked when it is resolved.
fn scheme(url: &str) -> Result<String, String> {
    if url.starts_with("${") {
        return Ok("http".into());
    }
    let guess = resolve(url, |_| Some("0".into())).unwrap_or_else(|_| url.to_owned());
    match check_server_url(&guess) {
        Ok(parsed) => Ok(parsed.scheme().to_owned()),
        Err(_) => Err(sentence(Error::ServerUrl { url: url.chars().take(200).collect() })),
    }
}

fn stdio(members: &mut Map<String, Value>) -> Result<EntryTransport, String> {
    let command =
        text(members, "command")?.filter(|it| !it.trim().is_empty()).ok_or(r#"missing "command""#)?;
    let env = pairs(members, "env")?;
    if let Some((name, _)) = env.iter().find(|(name, _)| name.is_empty() || name.contains(['=', '\0'])) {
        return Err(format!("`{name}` in `env` is not a variable name"));
    }
    Ok(EntryTransport::Stdio {
        command,
        args: texts(members, "args")?,
        env,
        env_file: text(members, "envFile")?,
        cwd: text(members, "cwd")?,
    })
}

fn headers(members: &mut Map<String, Value>) -> Result<Vec<(String, Secret)>, String> {
    let headers = pairs(members, "headers")?;
    let mut seen = std::collections::HashSet::new();
    for (name, value) in &headers {
        check_header(name, value.reveal())?;
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err(format!("header `{name}` is given twice"));
        }
    }
    Ok(headers)
}

fn framing(members: &mut Map<String, Value>) -> Result<Framing, String> {
    match text(members, "framing")?.as_deref() {
        None | Some("http") => Ok(Framing::Http),
        Some("lines") => Ok(Framing::Lines),
        Some(_) => Err("`framing` must be `http` or `lines`".into()),
    }
}

fn protocol(members: &mut Map<String, Value>) -> Result<Option<String>, String> {
    let protocol = text(members, "protocol")?;
    match &protocol {
        Some(it) if !is_date(it) => Err("`protocol` must be a revision such as `2025-03-26`".into()),
        _ => Ok(protocol),
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(
            |(at, it)| {
                if at == 4 || at == 7 { it == b'-' } else { it.is_ascii_digit() }
            },
        )
}

fn era(members: &mut Map<String, Value>) -> Result<EraSetting, String> {
    let (ours, inspector) = (text(members, "era")?, text(members, "protocolEra")?);
    match ours.or(inspector).as_deref() {
        None | Some("auto") => Ok(EraSetting::Auto),
        Some("modern") => Ok(EraSetting::Modern),
        Some("legacy") => Ok(EraSetting::Legacy),
        Some(_) => Err("`era` must be `auto`, `modern` or `legacy`".into()),
    }
}

fn flag(members: &mut Map<String, Value>, key: &str) -> Result<Option<bool>, String> {
    match members.shift_remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(it)) => Ok(Some(it)),
        Some(_) => Err(format!("`{key}` must be true or false")),
    }
}

fn text(members: &mut Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match members.shift_remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(it)) if !it.contains('\0') => Ok(Some(it)),
        Some(_) => Err(format!("`{key}` must be a text")),
    }
}

fn texts(members: &mut Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{key}` must be a list of texts");
    match members.shift_remove(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items.into_iter().map(|it| scalar(it).ok_or_else(wrong)).collect(),
        Some(_) => Err(wrong()),
    }
}

fn pairs(members: &mut Map<String, Value>, key: &str) -> Result<Vec<(String, Secret)>, String> {
    match members.shift_remove(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(items)) => items
            .into_iter()
            .map(|(name, value)| match scalar(value) {
                Some(value) => Ok((name, Secret::new(value))),
                None => Err(format!("`{name}` in `{key}` must be a text")),
            })
            .collect(),
        Some(_) => Err(format!("`{key}` must be an object of texts")),
    }
}

/// People write `"PORT": 3000` and mean the text: numbers and booleans are taken as they print.
fn scalar(value: Value) -> Option<String> {
    match value {
        Value::String(it) if !it.contains('\0') => Some(it),
        Value::Number(it) => Some(it.to_string()),
        Value::Bool(it) => Some(it.to_string()),
        _ => None,
    }
}

fn sentence(error: Error) -> String {
    error.to_string()
}
