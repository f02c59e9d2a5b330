//! `deployment-manifest.yml`: what a finished bundle carries.

use serde_json::{Map, Value};

use super::fields::{author, folder_name, length, object, optional_text, text};
use super::{Format, Item, Manifest};
use crate::error::Result;

pub(super) fn read(value: &Value) -> Result<Manifest> {
    let members = object(value, "the manifest")?;
    let (id, version, name) = (text(members, "id")?, text(members, "version")?, text(members, "name")?);
    folder_name("id", id)?;
    folder_name("version", version)?;
    length("name", name, 100)?;
    let servers = match members.get("mcpServers") {
        None | Some(Value::Null) => Map::new(),
        Some(servers) => object(servers, "`mcpServers`")?.clone(),
    };
    Ok(Manifest {
        format: Format::Deployment,
        id: id.to_owned(),
        version: version.to_owned(),
        name: name.to_owned(),
        description: optional_text(members, "description")?.unwrap_or_default().to_owned(),
        author: author(members),
        items: items(members),
        servers,
        settings: Vec::new(),
        download: None,
        warnings: Vec::new(),
    })
}

/// What is listed under `prompts`, for people to see; nothing depends on it.
fn items(members: &Map<String, Value>) -> Vec<Item> {
    let prompts = members.get("prompts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    prompts
        .iter()
        .filter_map(|it| {
            let kind = it.get("type").and_then(Value::as_str).unwrap_or("prompt");
            Some(Item { path: it.get("file")?.as_str()?.to_owned(), kind: kind.to_owned() })
        })
        .collect()
}
