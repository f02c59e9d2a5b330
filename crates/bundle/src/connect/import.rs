//! The servers that a person already has in a client, in the words of `import`.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{NAME, block, document, text_of};
use crate::error::Result;
use crate::files::Disk;
use crate::places::{Client, Language};

/// `{"mcpServers": {…}}` without the hub itself, ready for [`toolgrove_core::import::read`]. A missing file has none.
pub fn servers(disk: &Disk, client: Client, file: &Path) -> Result<Value> {
    let bytes = disk.read(file)?;
    let text = text_of(file, bytes.as_deref())?;
    let mut servers: Map<String, Value> = match client.language() {
        Language::Json(form) => document(file, form, bytes.as_deref())?
            .entries()?
            .into_iter()
            .filter_map(|(name, it)| Some((name, zed(client, it)?)))
            .collect(),
        Language::Toml => {
            let table = block::toml_of(file, text)?;
            let servers =
                table.get("mcp_servers").and_then(toml::Value::as_table).cloned().unwrap_or_default();
            servers.into_iter().filter_map(|(name, it)| Some((name, codex(json_of(it))?))).collect()
        }
        Language::Yaml => {
            let extensions =
                block::yaml_of(file, text)?["extensions"].as_object().cloned().unwrap_or_default();
            extensions.into_iter().filter_map(|(name, it)| Some((name, goose(&it)?))).collect()
        }
    };
    servers.shift_remove(NAME);
    Ok(json!({"mcpServers": servers}))
}

/// Zed keeps the settings of extensions in the same place, and once wrote `command` as an object.
fn zed(client: Client, entry: Value) -> Option<Value> {
    if client != Client::Zed {
        return Some(entry);
    }
    let mut entry = entry.as_object()?.clone();
    entry.shift_remove("source");
    if let Some(Value::Object(command)) = entry.get("command").cloned() {
        entry.insert("command".into(), command.get("path")?.clone());
        for key in ["args", "env"] {
            entry.extend(command.get(key).map(|it| (key.to_owned(), it.clone())));
        }
    }
    (entry.contains_key("command") || entry.contains_key("url")).then_some(Value::Object(entry))
}

/// Codex names the variable that holds a token, where we put the variable itself.
fn codex(entry: Value) -> Option<Value> {
    let mut entry = entry.as_object()?.clone();
    let mut headers = Map::new();
    if let Some(Value::Object(given)) = entry.shift_remove("http_headers") {
        headers.extend(given);
    }
    if let Some(Value::Object(given)) = entry.shift_remove("env_http_headers") {
        let filled = |it: &Value| Some(Value::from(format!("${{env:{}}}", it.as_str()?)));
        headers.extend(given.iter().filter_map(|(name, it)| Some((name.clone(), filled(it)?))));
    }
    if let Some(Value::String(variable)) = entry.shift_remove("bearer_token_env_var") {
        headers.insert("Authorization".into(), format!("Bearer ${{env:{variable}}}").into());
    }
    if !headers.is_empty() {
        entry.insert("headers".into(), headers.into());
    }
    Some(entry.into())
}

/// Goose's own extensions are no servers.
fn goose(entry: &Value) -> Option<Value> {
    let given = entry.get("config").unwrap_or(entry);
    let mut server = Map::new();
    match given.get("type")?.as_str()? {
        "stdio" => {
            server.insert("command".into(), given.get("cmd")?.clone());
            server.extend(given.get("args").map(|it| ("args".to_owned(), it.clone())));
            let mut env = given.get("envs").and_then(Value::as_object).cloned().unwrap_or_default();
            // These are in the person's keyring: we can only name them.
            let keys = given.get("env_keys").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            for key in keys.iter().filter_map(Value::as_str) {
                env.entry(key).or_insert_with(|| format!("${{env:{key}}}").into());
            }
            if !env.is_empty() {
                server.insert("env".into(), env.into());
            }
        }
        kind @ ("streamable_http" | "sse") => {
            server.insert("type".into(), if kind == "sse" { "sse" } else { "http" }.into());
            server.insert("url".into(), given.get("uri")?.clone());
            let headers = given.get("headers").and_then(Value::as_object).filter(|it| !it.is_empty());
            server.extend(headers.map(|it| ("headers".to_owned(), it.clone().into())));
        }
        _ => return None,
    }
    for key in ["enabled", "description"] {
        server.extend(entry.get(key).filter(|it| **it != "").map(|it| (key.to_owned(), it.clone())));
    }
    Some(server.into())
}

fn json_of(value: toml::Value) -> Value {
    match value {
        toml::Value::String(it) => it.into(),
        toml::Value::Integer(it) => it.into(),
        toml::Value::Float(it) => it.into(),
        toml::Value::Boolean(it) => it.into(),
        toml::Value::Datetime(it) => it.to_string().into(),
        toml::Value::Array(it) => it.into_iter().map(json_of).collect(),
        toml::Value::Table(it) => it.into_iter().map(|(key, value)| (key, json_of(value))).collect(),
    }
}
