//! `manifest.json` of an `.mcpb` archive, versions 0.1 to 0.4.

use serde_json::{Map, Value, json};

use super::fields::{author, flag, folder_name, object, optional_text, text, wrong};
use super::{Format, Manifest, Setting, SettingKind, is_inside};
use crate::error::{BundleError, Result};
use crate::places::System;

pub(super) fn read(value: &Value, system: System) -> Result<Manifest> {
    let members = object(value, "the manifest")?;
    let format = match optional_text(members, "manifest_version")? {
        Some(format) => format,
        // What the format was called in its first months.
        None => optional_text(members, "dxt_version")?
            .ok_or_else(|| BundleError::Lacks { key: "manifest_version".into() })?,
    };
    if !["0.1", "0.2", "0.3", "0.4"].iter().any(|it| format == *it || format.starts_with(&format!("{it}."))) {
        return Err(wrong(format!("manifest version `{format}` is not known; 0.1 to 0.4 are")));
    }
    let (name, version) = (text(members, "name")?, text(members, "version")?);
    folder_name("version", version)?;
    let description = text(members, "description")?;
    let author = author(members).ok_or_else(|| BundleError::Lacks { key: "author".into() })?;
    check_platform(members, system)?;
    let server = members.get("server").ok_or_else(|| BundleError::Lacks { key: "server".into() })?;
    let definition = definition(object(server, "`server`")?, system)?;

    let id = id_of(name)?;
    let mut servers = Map::new();
    servers.insert(id.clone(), definition.into());
    Ok(Manifest {
        format: Format::Mcpb,
        id,
        version: version.to_owned(),
        name: optional_text(members, "display_name")?.unwrap_or(name).to_owned(),
        description: description.to_owned(),
        author: Some(author),
        items: Vec::new(),
        servers,
        settings: settings(members)?,
        download: None,
        warnings: Vec::new(),
    })
}

/// A name as an id: small letters, digits and hyphens.
fn id_of(name: &str) -> Result<String> {
    let id: String =
        name.to_lowercase().chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).collect();
    let parts: Vec<_> = id.split('-').filter(|it| !it.is_empty()).collect();
    match parts.join("-") {
        id if id.is_empty() => Err(wrong("`name` holds no letter and no digit")),
        id if id.len() > 100 => Err(wrong("`name` must be at most 100 characters")),
        id => Ok(id),
    }
}

fn check_platform(members: &Map<String, Value>, system: System) -> Result<()> {
    let platforms = members.get("compatibility").and_then(|it| it.get("platforms")).and_then(Value::as_array);
    match platforms {
        Some(platforms) if !platforms.iter().any(|it| it == system.as_str()) => {
            Err(wrong(format!("the bundle does not run on `{}`", system.as_str())))
        }
        _ => Ok(()),
    }
}

fn definition(server: &Map<String, Value>, system: System) -> Result<Map<String, Value>> {
    let kind = text(server, "type")?;
    if !["node", "python", "binary", "uv"].contains(&kind) {
        return Err(wrong(format!("`{kind}` is not a server type; expected node, python, binary or uv")));
    }
    let entry_point = text(server, "entry_point")?;
    if !is_inside(entry_point) {
        return Err(wrong(format!("entry point `{entry_point}` leaves the bundle")));
    }
    let config = match server.get("mcp_config").filter(|it| !it.is_null()) {
        Some(config) => object(config, "`mcp_config`")?.clone(),
        None if kind == "uv" => return Ok(uv(entry_point)),
        None => return Err(BundleError::Lacks { key: "server.mcp_config".into() }),
    };
    let overrides = config.get("platform_overrides").and_then(|it| it.get(system.as_str()));
    let overrides = match overrides {
        Some(overrides) => object(overrides, "`platform_overrides`")?.clone(),
        None => Map::new(),
    };
    let mut definition = Map::new();
    let command = match optional_text(&overrides, "command")? {
        Some(command) => command,
        None => text(&config, "command")?,
    };
    definition.insert("command".into(), command.into());
    if let Some(args) = overrides.get("args").or_else(|| config.get("args")) {
        definition.insert("args".into(), args.clone());
    }
    let mut env = Map::new();
    for it in [&config, &overrides] {
        if let Some(more) = it.get("env").filter(|it| !it.is_null()) {
            env.extend(object(more, "`env`")?.clone());
        }
    }
    if !env.is_empty() {
        definition.insert("env".into(), env.into());
    }
    Ok(definition)
}

/// A `uv` server needs no `mcp_config`: this is what it means.
fn uv(entry_point: &str) -> Map<String, Value> {
    let mut definition = Map::new();
    definition.insert("command".into(), "uv".into());
    definition.insert("args".into(), json!(["run", "--directory", "${__dirname}", entry_point]));
    definition
}

fn settings(members: &Map<String, Value>) -> Result<Vec<Setting>> {
    let Some(config) = members.get("user_config").filter(|it| !it.is_null()) else { return Ok(Vec::new()) };
    object(config, "`user_config`")?.iter().map(|(key, it)| setting(key, it)).collect()
}

fn setting(key: &str, value: &Value) -> Result<Setting> {
    let members = object(value, &format!("setting `{key}`"))?;
    if key.is_empty() || key.contains(['$', '{', '}']) {
        return Err(wrong(format!("`{key}` is not a setting's name")));
    }
    let kind = match text(members, "type")? {
        "string" => SettingKind::String,
        "number" => SettingKind::Number,
        "boolean" => SettingKind::Boolean,
        "directory" => SettingKind::Directory,
        "file" => SettingKind::File,
        other => return Err(wrong(format!("setting `{key}` has the unknown type `{other}`"))),
    };
    Ok(Setting {
        title: optional_text(members, "title")?.unwrap_or(key).to_owned(),
        description: optional_text(members, "description")?.unwrap_or_default().to_owned(),
        required: flag(members, "required")?,
        sensitive: flag(members, "sensitive")?,
        multiple: flag(members, "multiple")?,
        default: members.get("default").filter(|it| !it.is_null()).cloned(),
        min: members.get("min").and_then(Value::as_f64),
        max: members.get("max").and_then(Value::as_f64),
        ..Setting::new(key, kind)
    })
}
