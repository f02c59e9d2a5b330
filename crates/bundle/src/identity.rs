//! What a server definition is, and when two of them are the same server.

use std::fmt;

use serde_json::{Map, Value};

/// A server as it stands in a manifest or in `mcp.json`: its members, in order.
pub type Definition = Map<String, Value>;

/// `command` and no `url`.
pub fn is_stdio(definition: &Definition) -> bool {
    text(definition, "command").is_some() && !has(definition, "url")
}

/// `url`, and a type that says how it is spoken.
pub fn is_remote(definition: &Definition) -> bool {
    text(definition, "url").is_some() && is_type(definition, &[Some("http"), Some("sse")])
}

/// What makes two definitions the same server: neither `env` nor `headers` count.
///
/// Shown with the arguments joined by `|`, compared as a list: `["a|b"]` is not `["a", "b"]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Identity {
    Stdio { command: String, args: Vec<String> },
    Remote { url: String },
}

impl Identity {
    /// None for a definition that is neither stdio nor remote.
    pub fn of(definition: &Definition) -> Option<Self> {
        if is_remote(definition) {
            return text(definition, "url").map(|url| Self::Remote { url: url.to_owned() });
        }
        is_stdio(definition).then(|| Self::stdio(definition)).flatten()
    }

    /// The same for an entry that somebody else wrote: clients leave `type` out, or write `serverUrl`.
    pub fn of_foreign(definition: &Definition) -> Option<Self> {
        let url = text(definition, "url").or_else(|| text(definition, "serverUrl"));
        match url {
            Some(url) => Some(Self::Remote { url: url.to_owned() }),
            None => Self::stdio(definition),
        }
    }

    fn stdio(definition: &Definition) -> Option<Self> {
        let args = match definition.get("args") {
            Some(Value::Array(args)) => args.iter().map(plain).collect(),
            _ => Vec::new(),
        };
        Some(Self::Stdio { command: text(definition, "command")?.to_owned(), args })
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args } => write!(f, "stdio:{command}:{}", args.join("|")),
            Self::Remote { url } => write!(f, "remote:{url}"),
        }
    }
}

/// Refuses a definition that is neither, in the words of the guard.
pub fn check(name: &str, definition: &Definition) -> Result<(), String> {
    let stdio = is_stdio(definition) && is_type(definition, &[None, Some("stdio")]);
    if stdio || is_remote(definition) {
        return Ok(());
    }
    Err(format!("server `{name}`: give `command`, or `url` with `type: http` or `sse`"))
}

fn has(definition: &Definition, key: &str) -> bool {
    definition.get(key).is_some_and(|it| !it.is_null())
}

fn text<'a>(definition: &'a Definition, key: &str) -> Option<&'a str> {
    definition.get(key).and_then(Value::as_str).filter(|it| !it.is_empty())
}

fn is_type(definition: &Definition, wanted: &[Option<&str>]) -> bool {
    match definition.get("type") {
        None | Some(Value::Null) => wanted.contains(&None),
        Some(kind) => kind.as_str().is_some_and(|it| wanted.contains(&Some(it))),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
