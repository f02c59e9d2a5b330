//! What goes with a bundle in a repository: the lockfile, and the lines that keep local files out of commits.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::archive::FileDigest;
use crate::error::Result;
use crate::files::commit::Write;
use crate::files::{Disk, Readers};
use crate::mcp_json::{Document, Edit};
use crate::places::{CommitMode, Repository};

const HEADER: &str = "# Prompt Registry (local)";
/// Under the header, in this order.
const LINES: [&str; 4] = [
    ".vscode/mcp.json",
    ".vscode/mcp.json.backup",
    ".vscode/prompt-registry-mcp-tracking.json",
    "prompt-registry.local.lock.json",
];
const FORMAT: &str = "2.0.0";

/// Where a bundle came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Names the source, such as `github:owner/repo`.
    pub id: String,
    /// `local`, `github`, `url`, `registry` or `skills`.
    pub kind: String,
}

/// What the lockfile says of one bundle.
pub(crate) struct Locked<'a> {
    pub(crate) bundle: &'a str,
    pub(crate) version: &'a str,
    pub(crate) origin: &'a Origin,
    pub(crate) installed_at: &'a str,
    pub(crate) files: Vec<FileDigest>,
}

impl Repository {
    pub fn lockfile(&self) -> PathBuf {
        self.root.join(lockfile_name(self.mode))
    }

    /// The lockfile with this bundle in it.
    pub(crate) fn lock(&self, disk: &Disk, locked: &Locked<'_>) -> Result<Write> {
        let path = self.lockfile();
        let before = disk.read(&path)?;
        let origin = locked.origin;
        let entry = json!({
            "version": locked.version,
            "sourceId": origin.id,
            "sourceType": origin.kind,
            "installedAt": locked.installed_at,
            "files": locked.files,
        });
        let title = lockfile_name(self.mode);
        let text = match before.as_deref() {
            Some(bytes) if !bytes.trim_ascii().is_empty() => {
                let document = Document::parse(title, "bundles", Some(bytes))?;
                document.edit(&[(locked.bundle.to_owned(), Edit::Set(entry))])?
            }
            _ => {
                let mut bundles = Map::new();
                bundles.insert(locked.bundle.to_owned(), entry);
                let generator = concat!("toolgrove@", env!("CARGO_PKG_VERSION"));
                let lockfile = json!({
                    "version": FORMAT,
                    "generatedAt": locked.installed_at,
                    "generatedBy": generator,
                    "bundles": bundles,
                });
                format!("{lockfile:#}\n")
            }
        };
        Ok(Write { path, before, after: Some(text.into_bytes()), readers: Readers::Unchanged })
    }

    /// Both lockfiles without this bundle. One that we made goes with its last bundle.
    pub(crate) fn unlock(&self, disk: &Disk, bundle: &str) -> Result<Vec<Write>> {
        let mut writes = Vec::new();
        for mode in [CommitMode::Commit, CommitMode::LocalOnly] {
            let title = lockfile_name(mode);
            let path = self.root.join(title);
            let Some(before) = disk.read(&path)? else { continue };
            let document = Document::parse(title, "bundles", Some(&before))?;
            let text = document.edit(&[(bundle.to_owned(), Edit::Remove)])?;
            let is_empty = Document::parse(title, "bundles", Some(text.as_bytes()))?.entries()?.is_empty();
            let is_ours = serde_json::from_str::<Value>(&text)
                .is_ok_and(|it| it["generatedBy"].as_str().is_some_and(|it| it.starts_with("toolgrove@")));
            let after = (!is_empty || !is_ours).then(|| text.into_bytes());
            writes.push(Write { path, before: Some(before), after, readers: Readers::Unchanged });
        }
        Ok(writes)
    }

    /// The exclude file with our lines in it, or without them. None: there is no `.git`.
    pub(crate) fn exclude(&self, disk: &Disk, wanted: Exclude) -> Result<Option<Write>> {
        let Some(git) = git_folder(&self.root) else { return Ok(None) };
        let path = git.join("info").join("exclude");
        let before = disk.read(&path)?;
        let bytes = before.as_deref().unwrap_or_default();
        let after = match wanted {
            Exclude::In => Some(with_lines(bytes)),
            Exclude::Out => before.is_some().then(|| without_lines(bytes)),
        };
        Ok(Some(Write { path, before, after, readers: Readers::Unchanged }))
    }
}

/// Whether local files are to be kept out of commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exclude {
    In,
    Out,
}

fn lockfile_name(mode: CommitMode) -> &'static str {
    match mode {
        CommitMode::Commit => "prompt-registry.lock.json",
        CommitMode::LocalOnly => "prompt-registry.local.lock.json",
    }
}

/// The folder that holds `info/exclude`. In a linked work tree `.git` is a file that leads there.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = std::fs::read_to_string(&git).ok()?;
    let folder = root.join(text.strip_prefix("gitdir:")?.trim());
    match std::fs::read_to_string(folder.join("commondir")) {
        Ok(common) => Some(folder.join(common.trim())),
        Err(_) => folder.is_dir().then_some(folder),
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|it| *it == b'\n')
}

fn is(line: &[u8], text: &str) -> bool {
    line.trim_ascii() == text.as_bytes()
}

fn with_lines(bytes: &[u8]) -> Vec<u8> {
    if LINES.iter().all(|it| lines(bytes).any(|line| is(line, it))) {
        return bytes.to_vec();
    }
    let foreign = without_lines(bytes);
    let mut after = foreign.clone();
    if !after.is_empty() && !after.ends_with(b"\n") {
        after.push(b'\n');
    }
    let missing = LINES.into_iter().filter(|it| !lines(&foreign).any(|line| is(line, it)));
    for line in [HEADER].into_iter().chain(missing) {
        after.extend_from_slice(line.as_bytes());
        after.push(b'\n');
    }
    after
}

/// Our header goes with those of our lines that follow it; a line that somebody else wrote stays.
fn without_lines(bytes: &[u8]) -> Vec<u8> {
    let mut after = Vec::with_capacity(bytes.len());
    let mut ours = false;
    for line in lines(bytes) {
        ours = is(line, HEADER) || (ours && LINES.iter().any(|it| is(line, it)));
        if !ours {
            after.extend_from_slice(line);
        }
    }
    after
}
