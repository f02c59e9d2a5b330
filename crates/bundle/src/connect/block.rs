//! TOML and YAML edited by the line: a block goes in, a block comes out, every other byte stays.
//!
//! Such an edit could go wrong in a file that is written in an unusual way. Therefore the result is read and compared
//! with what it has to be; if it is anything else, nothing is changed and the person is shown what to write.

use std::path::Path;

use serde_json::Value;

use super::{NAME, title};
use crate::error::{BundleError, Result};
use crate::manifest::yaml_value;

/// With Codex's table of our own, at the end.
pub(super) fn toml_with(file: &Path, text: &str, block: &[String]) -> Result<String> {
    let mut expected = toml_of(file, text)?;
    let bare = if toml_has(file, text)? { toml_without(file, text)? } else { text.to_owned() };
    let newline = newline(text);
    let gap = match bare.as_str() {
        "" => "",
        it if it.ends_with('\n') => newline,
        _ => &format!("{newline}{newline}"),
    };
    let after = format!("{bare}{gap}{}{newline}", block.join(newline));
    let own: toml::Table = toml::from_str(&block.join("\n")).unwrap_or_default();
    if let (Some(toml::Value::Table(own)), Some(servers)) = (
        own.get("mcp_servers").cloned(),
        expected.entry("mcp_servers").or_insert_with(|| toml::Table::new().into()).as_table_mut(),
    ) {
        servers.extend(own);
    }
    verified(file, after, |it| toml_of(file, it).is_ok_and(|it| it == expected), &block.join("\n"))
}

/// Without it, and without the empty line before it.
pub(super) fn toml_without(file: &Path, text: &str) -> Result<String> {
    let mut expected = toml_of(file, text)?;
    let Some(servers) = expected.get_mut("mcp_servers").and_then(toml::Value::as_table_mut) else {
        return Ok(text.to_owned());
    };
    if servers.remove(NAME).is_none() {
        return Ok(text.to_owned());
    }
    if servers.is_empty() {
        expected.remove("mcp_servers");
    }
    let is_own = |line: &str| {
        let header = line.trim().trim_start_matches('[');
        [format!("mcp_servers.{NAME}]"), format!("mcp_servers.{NAME}.")]
            .iter()
            .any(|it| header.starts_with(it))
    };
    let mut after = String::with_capacity(text.len());
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            if is_own(line) && !inside {
                after.truncate(after.trim_end_matches(['\r', '\n']).len() + first_newline(&after));
            }
            inside = is_own(line);
        }
        if !inside {
            after.push_str(line);
        }
    }
    let same = |it: &str| {
        toml_of(file, it).is_ok_and(|mut it| {
            if it.get("mcp_servers").and_then(toml::Value::as_table).is_some_and(toml::Table::is_empty) {
                it.remove("mcp_servers");
            }
            it == expected
        })
    };
    verified(file, after, same, &format!("(take out `[mcp_servers.{NAME}]`)"))
}

pub(super) fn toml_has(file: &Path, text: &str) -> Result<bool> {
    Ok(toml_of(file, text)?.get("mcp_servers").and_then(|it| it.get(NAME)).is_some())
}

pub(super) fn toml_of(file: &Path, text: &str) -> Result<toml::Table> {
    toml::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        let at = error.span().map_or(0, |it| it.start).min(text.len());
        let before = text.get(..at).unwrap_or_default();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        BundleError::File { file: title(file), line: before.matches('\n').count() + 1, column }
    })
}

/// With Goose's extension of our own, as the first one.
pub(super) fn yaml_with(file: &Path, text: &str, block: &[(usize, String)]) -> Result<String> {
    let mut expected = yaml_of(file, text)?;
    let bare = if yaml_has(file, text)? { yaml_without(file, text)? } else { text.to_owned() };
    let newline = newline(text);
    let lines: Vec<&str> = bare.split_inclusive('\n').collect();
    let key = lines.iter().position(|it| is_key(it, 0, "extensions"));
    let unit = key.and_then(|it| child_indent(&lines[it + 1..])).unwrap_or(2);
    let render = |unit: usize| {
        let line =
            |(depth, text): &(usize, String)| format!("{}{text}{newline}", " ".repeat(unit + depth * 2));
        block.iter().map(line).collect::<String>()
    };
    let after = if let Some(key) = key {
        // `extensions: {}` has to make way for a block.
        let head = lines[key].replacen("{}", "", 1);
        let head = format!("{}{newline}", head.trim_end());
        format!("{}{head}{}{}", lines[..key].concat(), render(unit), lines[key + 1..].concat())
    } else {
        let gap = if bare.is_empty() || bare.ends_with('\n') { "" } else { newline };
        format!("{bare}{gap}extensions:{newline}{}", render(unit))
    };
    let own = yaml_of(file, &render(0))?;
    if !expected.is_object() {
        expected = Value::Object(serde_json::Map::new());
    }
    if !expected["extensions"].is_object() {
        expected["extensions"] = Value::Object(serde_json::Map::new());
    }
    expected["extensions"][NAME] = own[NAME].clone();
    verified(file, after, |it| yaml_of(file, it).is_ok_and(|it| it == expected), &render(2))
}

pub(super) fn yaml_without(file: &Path, text: &str) -> Result<String> {
    let mut expected = yaml_of(file, text)?;
    let Some(extensions) = expected.get_mut("extensions").and_then(Value::as_object_mut) else {
        return Ok(text.to_owned());
    };
    if extensions.shift_remove(NAME).is_none() {
        return Ok(text.to_owned());
    }
    let is_last = extensions.is_empty();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let snippet = format!("(take out `{NAME}:` under `extensions:`)");
    let unsafe_edit = || BundleError::Unsafe { path: file.to_owned(), snippet: snippet.clone() };
    let key = lines.iter().position(|it| is_key(it, 0, "extensions")).ok_or_else(unsafe_edit)?;
    let unit = child_indent(&lines[key + 1..]).ok_or_else(unsafe_edit)?;
    let start = lines.iter().skip(key).position(|it| is_key(it, unit, NAME)).ok_or_else(unsafe_edit)? + key;
    let more = lines[start + 1..].iter().take_while(|it| indent(it) > unit && !it.trim().is_empty()).count();
    let (before, after) = (&lines[..start], &lines[start + 1 + more..]);
    let bare = if is_last {
        // An extension-less `extensions:` would be null.
        let line = before[key].trim_end();
        let end = &before[key][line.len()..];
        format!("{}{line} {{}}{end}{}{}", before[..key].concat(), before[key + 1..].concat(), after.concat())
    } else {
        format!("{}{}", before.concat(), after.concat())
    };
    verified(file, bare, |it| yaml_of(file, it).is_ok_and(|it| it == expected), &snippet)
}

/// Writes an empty `extensions` the way it stood in `kept`: perhaps not at all.
pub(super) fn yaml_empty_as(text: &str, kept: &str) -> String {
    let was = kept.split_inclusive('\n').find(|it| is_key(it, 0, "extensions")).unwrap_or_default();
    let line = |line| match line {
        "extensions: {}\n" | "extensions: {}\r\n" => was,
        other => other,
    };
    text.split_inclusive('\n').map(line).collect()
}

pub(super) fn yaml_has(file: &Path, text: &str) -> Result<bool> {
    Ok(yaml_of(file, text)?["extensions"].get(NAME).is_some())
}

pub(super) fn yaml_of(file: &Path, text: &str) -> Result<Value> {
    if text.lines().all(|it| it.trim().is_empty() || it.trim_start().starts_with('#')) {
        return Ok(Value::Null);
    }
    yaml_value(text).map_err(|error| {
        let place = error.location().map_or((1, 1), |it| (it.line(), it.column()));
        BundleError::File { file: title(file), line: place.0 as usize, column: place.1 as usize }
    })
}

/// The edited text, if it means what it has to mean.
fn verified(file: &Path, text: String, is_right: impl FnOnce(&str) -> bool, snippet: &str) -> Result<String> {
    if is_right(&text) {
        return Ok(text);
    }
    Err(BundleError::Unsafe { path: file.to_owned(), snippet: snippet.to_owned() })
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The length of the line end that the text before a block keeps.
fn first_newline(text: &str) -> usize {
    let trimmed = text.trim_end_matches(['\r', '\n']);
    match &text.as_bytes()[trimmed.len()..] {
        _ if trimmed.is_empty() => 0,
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        _ => 0,
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_key(line: &str, at: usize, key: &str) -> bool {
    indent(line) == at && line.trim_start().strip_prefix(key).is_some_and(|it| it.starts_with(':'))
}

/// How far the first child of a mapping is indented.
fn child_indent(lines: &[&str]) -> Option<usize> {
    let first = lines.iter().find(|it| !it.trim().is_empty() && !it.trim_start().starts_with('#'))?;
    Some(indent(first)).filter(|it| *it > 0)
}
