//! `*.collection.yml`: what an author writes. Strict, because it is where typos are made.

use serde_json::{Map, Value};

use super::fields::{flag, known, length, object, objects, optional_text, text, wrong};
use super::{Format, Item, Manifest, is_inside};
use crate::error::{BundleError, Result};
use crate::{identity, servers};

pub(super) const NAME_MAX: usize = 100;
pub(super) const DESCRIPTION_MAX: usize = 500;
pub(super) const ITEMS_MAX: usize = 50;
/// From here on a collection is hard to take in.
const DESCRIPTION_LONG: usize = 300;
const ITEMS_MANY: usize = 30;
const KEYS: [&str; 10] =
    ["id", "name", "description", "version", "author", "tags", "items", "mcp", "mcpServers", "display"];
const ITEM_KEYS: [&str; 5] = ["path", "kind", "title", "description", "tags"];
pub(super) const KINDS: [&str; 5] = ["prompt", "instruction", "chat-mode", "agent", "skill"];
/// The version of a collection that names none.
const FIRST_VERSION: &str = "1.0.0";

pub(super) fn read(value: &Value) -> Result<Manifest> {
    let members = object(value, "the collection")?;
    let id = text(members, "id")?;
    if id.is_empty() || !id.bytes().all(|it| matches!(it, b'a'..=b'z' | b'0'..=b'9' | b'-')) {
        return Err(wrong("`id` may hold only small letters, digits and hyphens"));
    }
    length("id", id, NAME_MAX)?;
    let name = text(members, "name")?;
    length("name", name, NAME_MAX)?;
    let description = text(members, "description")?;
    length("description", description, DESCRIPTION_MAX)?;
    let version = optional_text(members, "version")?;
    if version.is_some_and(|it| !is_version(it)) {
        return Err(wrong("`version` must be like `1.0.0`"));
    }
    let author = optional_text(members, "author")?;
    let items = items(members)?;
    known(members, &KEYS, "a collection")?;
    let servers = definitions(members)?;
    for (key, definition) in &servers {
        check_server(key, definition)?;
    }

    let warnings = [
        (items.is_empty(), "the collection has no items"),
        (items.len() > ITEMS_MANY, "the collection has more than 30 items"),
        (description.chars().count() > DESCRIPTION_LONG, "the description is longer than 300 characters"),
        (version.is_none(), "the collection has no version"),
        (author.is_none(), "the collection names no author"),
    ];
    Ok(Manifest {
        format: Format::Collection,
        id: id.to_owned(),
        version: version.unwrap_or(FIRST_VERSION).to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        author: author.map(str::to_owned),
        items,
        servers,
        settings: Vec::new(),
        download: None,
        warnings: warnings.into_iter().filter(|(holds, _)| *holds).map(|(_, it)| it.to_owned()).collect(),
    })
}

fn items(members: &Map<String, Value>) -> Result<Vec<Item>> {
    if !members.contains_key("items") {
        return Err(BundleError::Lacks { key: "items".into() });
    }
    let items = objects(members, "items")?;
    if items.len() > ITEMS_MAX {
        return Err(wrong(format!("a collection has at most {ITEMS_MAX} items")));
    }
    items
        .into_iter()
        .map(|item| {
            let (path, kind) = (text(item, "path")?, text(item, "kind")?);
            if !is_inside(path) {
                return Err(wrong(format!("item path `{path}` leaves the bundle")));
            }
            if !KINDS.contains(&kind) {
                return Err(wrong(format!("`{kind}` is not a kind; expected one of {}", KINDS.join(", "))));
            }
            known(item, &ITEM_KEYS, "an item")?;
            Ok(Item { path: path.to_owned(), kind: kind.to_owned() })
        })
        .collect()
}

/// `mcpServers`, else `mcp.items`.
fn definitions(members: &Map<String, Value>) -> Result<Map<String, Value>> {
    if let Some(servers) = members.get("mcpServers").filter(|it| !it.is_null()) {
        return object(servers, "`mcpServers`").cloned();
    }
    let Some(mcp) = members.get("mcp").filter(|it| !it.is_null()) else { return Ok(Map::new()) };
    let mcp = object(mcp, "`mcp`")?;
    known(mcp, &["items"], "`mcp`")?;
    match mcp.get("items").filter(|it| !it.is_null()) {
        Some(items) => object(items, "`mcp.items`").cloned(),
        None => Ok(Map::new()),
    }
}

fn check_server(key: &str, definition: &Value) -> Result<()> {
    servers::check_key(key).map_err(wrong)?;
    let definition = object(definition, &format!("server `{key}`"))?;
    identity::check(key, definition).map_err(wrong)?;
    flag(definition, "disabled")?;
    Ok(())
}

/// `x.y.z`
fn is_version(text: &str) -> bool {
    let parts: Vec<_> = text.split('.').collect();
    parts.len() == 3 && parts.iter().all(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
}
