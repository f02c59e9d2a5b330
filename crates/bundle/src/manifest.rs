//! What a bundle says about itself, in four formats read into one shape.
//!
//! `deployment-manifest.yml`, else one `*.collection.yml`, else `manifest.json` of an `.mcpb`, else `server.json` of
//! the registry. Definitions are kept as their author wrote them: variables are put in when a bundle is installed.

mod collection;
mod deployment;
mod fields;
mod mcpb;
pub mod schema;
mod server_json;
mod settings;

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use crate::error::{BundleError, Result};
use crate::places::System;

pub use server_json::Download;
pub(crate) use server_json::is_name as is_registry_name;
pub use settings::{Answers, Setting, SettingKind};

pub const DEPLOYMENT_FILE: &str = "deployment-manifest.yml";
const COLLECTION_SUFFIX: &str = ".collection.yml";
const MCPB_FILE: &str = "manifest.json";
const SERVER_FILE: &str = "server.json";
/// More than any manifest has.
const SIZE_MAX: u64 = 4 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Manifest {
    pub format: Format,
    pub id: String,
    pub version: String,
    pub name: String,
    pub description: String,
    pub author: Option<String>,
    pub items: Vec<Item>,
    /// Server → definition, in order, as far as they are objects.
    pub servers: Map<String, Value>,
    /// What a person is asked before the servers can run.
    pub settings: Vec<Setting>,
    /// A registry entry may be an archive that is still to be fetched.
    pub download: Option<Download>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    Deployment,
    Collection,
    Mcpb,
    ServerJson,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(rename = "BundleItem")]
pub struct Item {
    pub path: String,
    pub kind: String,
}

/// What whoever asked for a bundle expects to find in it.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    pub id: Option<String>,
    /// `latest` is any.
    pub version: Option<String>,
}

impl Manifest {
    /// Reads the manifest of an unpacked bundle and checks it against the files beside it.
    pub fn read(folder: &Path, expected: &Expected, system: System) -> Result<Self> {
        let manifest = Self::find(folder, expected, system)?;
        if manifest.format == Format::Collection {
            for item in &manifest.items {
                if !folder.join(&item.path).exists() {
                    return Err(BundleError::ItemMissing { path: item.path.clone() });
                }
            }
        }
        manifest.check(expected)?;
        Ok(manifest)
    }

    fn find(folder: &Path, expected: &Expected, system: System) -> Result<Self> {
        if let Some(text) = text_of(&folder.join(DEPLOYMENT_FILE))? {
            return deployment::read(&yaml(DEPLOYMENT_FILE, &text)?);
        }
        let collections = collections(folder)?;
        if !collections.is_empty() {
            return one_collection(collections, expected);
        }
        if let Some(text) = text_of(&folder.join(MCPB_FILE))? {
            return Self::from_mcpb(&text, system);
        }
        match text_of(&folder.join(SERVER_FILE))? {
            Some(text) => Self::from_server_json(&text),
            None => Err(BundleError::NoManifest { path: folder.to_owned() }),
        }
    }

    pub fn from_deployment(text: &str) -> Result<Self> {
        deployment::read(&yaml(DEPLOYMENT_FILE, text)?)
    }

    pub fn from_collection(text: &str) -> Result<Self> {
        collection::read(&yaml("the collection", text)?)
    }

    pub fn from_mcpb(text: &str, system: System) -> Result<Self> {
        mcpb::read(&json(MCPB_FILE, text)?, system)
    }

    pub fn from_server_json(text: &str) -> Result<Self> {
        server_json::read(&json(SERVER_FILE, text)?)
    }

    /// Refuses a bundle that is another one than was asked for.
    pub fn check(&self, expected: &Expected) -> Result<()> {
        let (id, version) = (&self.id, &self.version);
        if let Some(wanted) = &expected.id {
            // Sources name a release `owner-repo-<id>-[v]<version>`.
            let release = wanted
                .strip_suffix(version.as_str())
                .map(|it| it.strip_suffix('v').unwrap_or(it))
                .and_then(|it| it.strip_suffix('-'))
                .is_some_and(|it| it == id || it.ends_with(&format!("-{id}")));
            if wanted != id && !release {
                return Err(BundleError::OtherId { found: id.clone(), expected: wanted.clone() });
            }
        }
        match &expected.version {
            Some(wanted) if wanted != "latest" && wanted != version => {
                Err(BundleError::OtherVersion { found: version.clone(), expected: wanted.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// The folder inside an unpacked archive that holds the manifest: many archives wrap all they have in one folder.
pub fn root_of(folder: &Path) -> PathBuf {
    let has_manifest = [DEPLOYMENT_FILE, MCPB_FILE, SERVER_FILE].iter().any(|it| folder.join(it).is_file())
        || collections(folder).is_ok_and(|it| !it.is_empty());
    let entries: Vec<_> = std::fs::read_dir(folder).map(|it| it.flatten().collect()).unwrap_or_default();
    match entries.as_slice() {
        [only] if !has_manifest && only.path().is_dir() => only.path(),
        _ => folder.to_owned(),
    }
}

fn one_collection(mut read: Vec<(String, Result<Manifest>)>, expected: &Expected) -> Result<Manifest> {
    if read.len() > 1
        && let Some(wanted) = &expected.id
    {
        read.retain(|(_, it)| it.as_ref().is_ok_and(|it| it.id == *wanted));
    }
    match read.pop() {
        Some((_, manifest)) if read.is_empty() => manifest,
        Some((last, _)) => {
            let names: Vec<_> =
                read.iter().map(|(name, _)| name).chain([&last]).map(|it| format!("`{it}`")).collect();
            Err(BundleError::Manifest(format!(
                "several collections: {}; say which by its id",
                names.join(", ")
            )))
        }
        None => Err(BundleError::Manifest(format!(
            "no collection has the id `{}`",
            expected.id.as_deref().unwrap_or_default()
        ))),
    }
}

/// The collections at the top of a bundle, else those in its folder `collections`, sorted by name.
fn collections(folder: &Path) -> Result<Vec<(String, Result<Manifest>)>> {
    for place in [folder.to_owned(), folder.join("collections")] {
        let Ok(entries) = std::fs::read_dir(&place) else { continue };
        let mut names: Vec<_> = entries
            .flatten()
            .filter_map(|it| it.file_name().into_string().ok())
            .filter(|it| it.ends_with(COLLECTION_SUFFIX))
            .collect();
        names.sort();
        let mut found = Vec::new();
        for name in names {
            if let Some(text) = text_of(&place.join(&name))? {
                let manifest = yaml(&name, &text).and_then(|it| collection::read(&it));
                found.push((name, manifest));
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

fn text_of(path: &Path) -> Result<Option<String>> {
    let Ok(found) = std::fs::metadata(path) else { return Ok(None) };
    if !found.is_file() {
        return Ok(None);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if found.len() > SIZE_MAX {
        return Err(BundleError::Manifest(format!("{name} is larger than {} MiB", SIZE_MAX >> 20)));
    }
    let bytes = std::fs::read(path).map_err(BundleError::read(path))?;
    String::from_utf8(bytes).map(Some).map_err(|_| BundleError::Manifest(format!("{name} is not UTF-8 text")))
}

fn yaml(name: &str, text: &str) -> Result<Value> {
    yaml_value(text).map_err(|error| {
        let place =
            error.location().map(|it| format!(" at {}:{}", it.line(), it.column())).unwrap_or_default();
        BundleError::Manifest(format!("{name} is not valid YAML{place}"))
    })
}

/// YAML as its version 1.2 means it: `yes` is a text. Depth and size are bounded, aliases may repeat far more than a
/// manifest has, and a key that stands twice is an error.
pub(crate) fn yaml_value(text: &str) -> std::result::Result<Value, serde_saphyr::Error> {
    let limits = serde_saphyr::alias_limits! { max_total_replayed_events: 20_000 };
    serde_saphyr::from_str_with_options(
        text,
        serde_saphyr::options! { strict_booleans: true, alias_limits: limits },
    )
}

fn json(name: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        BundleError::Manifest(format!("{name} is not valid JSON at {}:{}", error.line(), error.column()))
    })
}

/// A path that stays inside the bundle, whatever the system.
pub(crate) fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.contains(['\\', '\0', ':'])
        && Path::new(path).components().all(|it| matches!(it, Component::Normal(_) | Component::CurDir))
}

/// Ids and versions name folders, so they must be nothing but a name.
pub(crate) fn is_folder_name(text: &str) -> bool {
    let fits = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_' | b'-' | b'+');
    !text.is_empty() && text.len() <= 200 && !text.starts_with('.') && text.bytes().all(fits)
}

#[cfg(test)]
mod tests;
