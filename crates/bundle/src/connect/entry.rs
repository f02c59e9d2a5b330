//! The hub as each client writes a server down.

use serde_json::{Map, Value, json};
use toolgrove_core::Secret;

use super::{Door, NAME};
use crate::error::{BundleError, Result};
use crate::places::{Client, Form};

const DESCRIPTION: &str = "Every tool, through one hub";
/// Goose gives up after this many seconds.
const GOOSE_TIMEOUT: u32 = 300;

pub(super) fn json(client: Client, form: Form, door: &Door) -> Result<Value> {
    let typed = matches!(client, Client::VsCode | Client::VsCodeInsiders | Client::ClaudeCode);
    let mut entry = Map::new();
    match door {
        Door::Http { .. } if !form.remote => {
            return Err(BundleError::LocalOnly { client: client.title() });
        }
        Door::Http { url, key } => {
            if typed {
                entry.insert("type".into(), "http".into());
            }
            entry.insert(form.url_key.into(), url.as_str().into());
            if let Some(key) = key {
                entry.insert("headers".into(), json!({"Authorization": bearer(key)}));
            }
        }
        Door::Stdio { command, args } => {
            if typed {
                entry.insert("type".into(), "stdio".into());
            }
            entry.insert("command".into(), command.as_str().into());
            entry.insert("args".into(), args.as_slice().into());
        }
    }
    Ok(entry.into())
}

/// The lines of Codex's table. A JSON text is a TOML text too.
pub(super) fn toml(door: &Door) -> Vec<String> {
    let mut lines = vec![format!("[mcp_servers.{NAME}]")];
    match door {
        Door::Http { url, key } => {
            lines.push(format!("url = {}", quoted(url)));
            lines.extend(
                key.iter().map(|it| format!("http_headers = {{ Authorization = {} }}", quoted(&bearer(it)))),
            );
        }
        Door::Stdio { command, args } => {
            lines.push(format!("command = {}", quoted(command)));
            lines.push(format!("args = [{}]", list(args)));
        }
    }
    lines
}

/// The lines of Goose's extension, each with its depth. A JSON text is a YAML text too.
pub(super) fn yaml(door: &Door) -> Vec<(usize, String)> {
    let mut lines = vec![
        (0, format!("{NAME}:")),
        (1, "enabled: true".to_owned()),
        (1, format!("name: {NAME}")),
        (1, format!("description: {}", quoted(DESCRIPTION))),
        (1, format!("timeout: {GOOSE_TIMEOUT}")),
    ];
    match door {
        Door::Http { url, key } => {
            lines.push((1, "type: streamable_http".into()));
            lines.push((1, format!("uri: {}", quoted(url))));
            if let Some(key) = key {
                lines.push((1, "headers:".into()));
                lines.push((2, format!("Authorization: {}", quoted(&bearer(key)))));
            }
        }
        Door::Stdio { command, args } => {
            lines.push((1, "type: stdio".into()));
            lines.push((1, format!("cmd: {}", quoted(command))));
            lines.push((1, format!("args: [{}]", list(args))));
            lines.push((1, "envs: {}".into()));
        }
    }
    lines
}

fn bearer(key: &Secret) -> String {
    format!("Bearer {}", key.reveal())
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn list(texts: &[String]) -> String {
    texts.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(", ")
}
