//! The hub in the configuration of a client: written in, taken out, and what else is there.
//!
//! A change is shown before it is made. What was there before is kept beside the file as `<file>.before-toolgrove`
//! until the hub is taken out again; then the very bytes come back, unless somebody has edited the file since. In that
//! case only our entry goes.

mod block;
mod entry;
mod import;

use std::path::{Path, PathBuf};

use similar::TextDiff;
use toolgrove_core::Secret;

use crate::error::{BundleError, Result};
use crate::files::{Disk, Lock, Readers, folder_of, sweep};
use crate::mcp_json::{Created, Document, Edit};
use crate::places::{Client, Form, Language};

pub use import::servers;

/// What the hub is called in every client.
pub const NAME: &str = "toolgrove";

/// How a client reaches the hub.
#[derive(Debug, Clone)]
pub enum Door {
    Http { url: String, key: Option<Secret> },
    Stdio { command: String, args: Vec<String> },
}

/// A change of one file that has not been made yet.
#[derive(Debug)]
pub struct FileChange {
    pub path: PathBuf,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    backup: Backup,
    /// Not to be shown.
    key: Option<Secret>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backup {
    Write,
    Keep,
    Remove,
}

/// What it takes to write the hub into `file`.
pub fn connect(disk: &Disk, client: Client, file: &Path, door: &Door) -> Result<FileChange> {
    let before = disk.read(file)?;
    let text = text_of(file, before.as_deref())?;
    let after = match client.language() {
        Language::Json(form) => {
            let entry = entry::json(client, form, door)?;
            document(file, form, before.as_deref())?.edit(&[(NAME.to_owned(), Edit::Set(entry))])?
        }
        Language::Toml => block::toml_with(file, text, &entry::toml(door))?,
        Language::Yaml => block::yaml_with(file, text, &entry::yaml(door))?,
    };
    let is_connected = has_entry(client, file, before.as_deref())?;
    let backup = match (&before, is_connected && backup_of(file).exists()) {
        (None, _) | (_, true) => Backup::Keep,
        (Some(_), false) => Backup::Write,
    };
    let key = match door {
        Door::Http { key, .. } => key.clone(),
        Door::Stdio { .. } => None,
    };
    Ok(FileChange { path: file.to_owned(), before, after: Some(after.into_bytes()), backup, key })
}

/// What it takes to get the hub out of `file`. Nothing, when it is not in there.
pub fn disconnect(disk: &Disk, client: Client, file: &Path) -> Result<FileChange> {
    let before = disk.read(file)?;
    // A copy that holds the hub is none of the file before it.
    let kept = match disk.read(&backup_of(file))? {
        Some(kept) if !has_entry(client, file, Some(&kept))? => Some(kept),
        _ => None,
    };
    let after = match &before {
        Some(bytes) if has_entry(client, file, Some(bytes))? => {
            let bare = without(client, file, bytes, kept.as_deref())?;
            match kept {
                Some(kept) if is_same(without(client, file, &kept, Some(&kept))?.as_ref(), bare.as_ref()) => {
                    Some(kept)
                }
                _ => bare.map(String::into_bytes),
            }
        }
        _ => before.clone(),
    };
    Ok(FileChange { path: file.to_owned(), before, after, backup: Backup::Remove, key: None })
}

impl FileChange {
    pub fn is_needed(&self) -> bool {
        self.before != self.after
    }

    /// The exact change, line by line, with the key hidden.
    pub fn diff(&self) -> String {
        let text = |bytes: &Option<Vec<u8>>| {
            let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
            match &self.key {
                Some(key) => text.replace(key.reveal(), "•••"),
                None => text,
            }
        };
        let (before, after) = (text(&self.before), text(&self.after));
        TextDiff::from_lines(&before, &after).unified_diff().context_radius(3).to_string()
    }

    /// Makes it. Refused when the file has changed since it was looked at.
    pub fn apply(self, disk: &Disk) -> Result<()> {
        if !self.is_needed() {
            return Ok(());
        }
        disk.make_folder(folder_of(&self.path))?;
        let _lock = Lock::take(&self.path)?;
        sweep(folder_of(&self.path));
        if disk.read(&self.path)? != self.before {
            return Err(BundleError::Busy { folder: self.path });
        }
        let backup = backup_of(&self.path);
        if let (Backup::Write, Some(before)) = (self.backup, &self.before) {
            disk.replace(&backup, before, Readers::OwnerOnly)?;
        }
        // A key is in there.
        let readers = if self.key.is_some() { Readers::OwnerOnly } else { Readers::Unchanged };
        match &self.after {
            Some(after) => disk.replace(&self.path, after, readers)?,
            None => disk.remove(&self.path)?,
        }
        match self.backup {
            Backup::Remove => disk.remove(&backup),
            Backup::Write | Backup::Keep => Ok(()),
        }
    }
}

fn backup_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".before-toolgrove");
    name.into()
}

fn is_same(a: Option<&String>, b: Option<&String>) -> bool {
    let trimmed = |it: Option<&String>| it.map(|it| it.trim_end().to_owned()).unwrap_or_default();
    trimmed(a) == trimmed(b)
}

/// The text without our entry. None: nothing is left that anybody wrote. `kept` is what the file was before us.
fn without(client: Client, file: &Path, bytes: &[u8], kept: Option<&[u8]>) -> Result<Option<String>> {
    match client.language() {
        Language::Json(form) => {
            let bare = document(file, form, Some(bytes))?.edit(&[(NAME.to_owned(), Edit::Remove)])?;
            let created = match kept {
                None => Some(Created::File),
                Some(kept) => document(file, form, Some(kept))?.created(),
            };
            match created {
                Some(created) => document(file, form, Some(bare.as_bytes()))?.retract(created),
                None => Ok(Some(bare)),
            }
        }
        Language::Toml => {
            block::toml_without(file, text_of(file, Some(bytes))?).map(|it| or_nothing(it, kept))
        }
        Language::Yaml => {
            let bare = block::yaml_without(file, text_of(file, Some(bytes))?)?;
            Ok(or_nothing(block::yaml_empty_as(&bare, text_of(file, kept)?), kept))
        }
    }
}

/// A file that we made goes when nothing else is in it.
fn or_nothing(text: String, kept: Option<&[u8]>) -> Option<String> {
    (kept.is_some() || !text.trim().is_empty()).then_some(text)
}

fn has_entry(client: Client, file: &Path, bytes: Option<&[u8]>) -> Result<bool> {
    Ok(match client.language() {
        Language::Json(form) => document(file, form, bytes)?.entries()?.iter().any(|(name, _)| name == NAME),
        Language::Toml => block::toml_has(file, text_of(file, bytes)?)?,
        Language::Yaml => block::yaml_has(file, text_of(file, bytes)?)?,
    })
}

fn document(file: &Path, form: Form, bytes: Option<&[u8]>) -> Result<Document> {
    Document::parse(&title(file), form.key, bytes)
}

fn text_of<'a>(file: &Path, bytes: Option<&'a [u8]>) -> Result<&'a str> {
    std::str::from_utf8(bytes.unwrap_or_default()).map_err(|_| BundleError::File {
        file: title(file),
        line: 1,
        column: 1,
    })
}

fn title(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
