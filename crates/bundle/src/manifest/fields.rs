//! Members of a manifest, each missing or wrong one with its sentence.

use serde_json::{Map, Value};

use crate::error::{BundleError, Result};

pub(super) fn wrong(sentence: impl Into<String>) -> BundleError {
    BundleError::Manifest(sentence.into())
}

pub(super) fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| wrong(format!("{what} must be an object")))
}

/// A text that must be there.
pub(super) fn text<'a>(members: &'a Map<String, Value>, key: &str) -> Result<&'a str> {
    optional_text(members, key)?.ok_or_else(|| BundleError::Lacks { key: key.to_owned() })
}

pub(super) fn optional_text<'a>(members: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.contains('\0') => Ok(Some(text)),
        Some(_) => Err(wrong(format!("`{key}` must be a text"))),
    }
}

pub(super) fn flag(members: &Map<String, Value>, key: &str) -> Result<bool> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(it)) => Ok(*it),
        Some(_) => Err(wrong(format!("`{key}` must be true or false"))),
    }
}

/// The objects of a list that may be missing.
pub(super) fn objects<'a>(members: &'a Map<String, Value>, key: &str) -> Result<Vec<&'a Map<String, Value>>> {
    let wrong = || wrong(format!("`{key}` must be a list of objects"));
    match members.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items.iter().map(|it| it.as_object().ok_or_else(wrong)).collect(),
        Some(_) => Err(wrong()),
    }
}

pub(super) fn length(key: &str, text: &str, max: usize) -> Result<()> {
    match text.chars().count() {
        0 => Err(wrong(format!("`{key}` is empty"))),
        length if length > max => Err(wrong(format!("`{key}` must be at most {max} characters"))),
        _ => Ok(()),
    }
}

pub(super) fn folder_name(key: &str, text: &str) -> Result<()> {
    if super::is_folder_name(text) {
        return Ok(());
    }
    Err(wrong(format!(
        "`{key}` may hold only letters, digits, `.`, `_`, `+` and `-`, and not start with a dot"
    )))
}

pub(super) fn known(members: &Map<String, Value>, keys: &[&str], what: &str) -> Result<()> {
    match members.keys().find(|it| !keys.contains(&it.as_str())) {
        Some(key) => Err(wrong(format!("{what} has no key `{key}`"))),
        None => Ok(()),
    }
}

/// Author as a text, or as an object with a name.
pub(super) fn author(members: &Map<String, Value>) -> Option<String> {
    let author = members.get("author")?;
    author.as_str().or_else(|| author.get("name")?.as_str()).map(str::to_owned)
}
