//! Where installed bundles stand: `<data>/bundles/<id>/<version>`. A bundle is staged beside them first, read and
//! checked there, and put in its place in one step that can be taken back.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::archive::{self, Limits};
use crate::error::{BundleError, Result};
use crate::files::sha256_of;
use crate::manifest::{self, Expected, Manifest, is_folder_name};
use crate::places::System;

const STAGING: &str = ".staging-";
/// A staged bundle this old belongs to a process that was killed.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Clone)]
pub struct Shelf {
    root: PathBuf,
}

/// A bundle that was read and checked, but stands nowhere yet. Gone when dropped.
#[derive(Debug)]
pub struct Staged {
    pub manifest: Manifest,
    /// The digest of the archive it came in.
    pub sha256: Option<String>,
    _staging: TempDir,
    root: PathBuf,
}

impl Shelf {
    /// Bundles are told their folder, so it is made absolute.
    pub fn new(data: &Path) -> Self {
        let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
        Self { root: data.join("bundles") }
    }

    pub fn folder(&self, id: &str, version: &str) -> PathBuf {
        self.root.join(id).join(version)
    }

    /// A bundle that lies in a folder.
    pub fn stage_folder(&self, from: &Path, expected: &Expected, system: System) -> Result<Staged> {
        let staging = self.staging()?;
        archive::copy(from, staging.path(), Limits::default())?;
        Staged::read(staging, None, expected, system)
    }

    /// A bundle in a `.zip` or `.mcpb`. With a digest, nothing of another archive is looked at.
    pub fn stage_archive(
        &self,
        from: &Path,
        digest: Option<&str>,
        expected: &Expected,
        system: System,
    ) -> Result<Staged> {
        if let Some(digest) = digest {
            archive::check_digest(from, digest)?;
        }
        let staging = self.staging()?;
        archive::unpack(from, staging.path(), Limits::default())?;
        Staged::read(staging, Some(sha256_of(from)?), expected, system)
    }

    /// A registry entry that needs no files: its `server.json` is all there is.
    pub fn stage_server_json(&self, text: &str, expected: &Expected, system: System) -> Result<Staged> {
        let staging = self.staging()?;
        let path = staging.path().join("server.json");
        fs::write(&path, text).map_err(BundleError::write(&path))?;
        Staged::read(staging, None, expected, system)
    }

    /// Puts a staged bundle in its place. Until [`Kept::done`] it can be, and if dropped is, taken back.
    pub fn keep(&self, staged: Staged) -> Result<Kept> {
        let folder = self.folder(&staged.manifest.id, &staged.manifest.version);
        let parent = folder.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent).map_err(BundleError::write(parent))?;
        let aside = if folder.exists() {
            let aside = self.staging()?;
            fs::rename(&folder, aside.path().join("old")).map_err(BundleError::write(&folder))?;
            Some(aside)
        } else {
            None
        };
        let mut kept = Kept { folder: folder.clone(), aside, done: false };
        if let Err(error) = fs::rename(&staged.root, &folder) {
            kept.take_back();
            return Err(BundleError::write(&folder)(error));
        }
        Ok(kept)
    }

    /// Removes a bundle's folder, and the one above when it was the last version.
    pub fn remove(&self, id: &str, version: &str) -> Result<()> {
        // What no manifest could be called has no folder.
        if !is_folder_name(id) || !is_folder_name(version) {
            return Ok(());
        }
        let folder = self.folder(id, version);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(BundleError::write(&folder)(error));
            }
            _ => {}
        }
        // Fails while another version is there, and that is right.
        let _ = folder.parent().map(fs::remove_dir);
        Ok(())
    }

    fn staging(&self) -> Result<TempDir> {
        fs::create_dir_all(&self.root).map_err(BundleError::write(&self.root))?;
        self.sweep();
        tempfile::Builder::new()
            .prefix(STAGING)
            .tempdir_in(&self.root)
            .map_err(BundleError::write(&self.root))
    }

    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.root) else { return };
        for entry in entries.flatten() {
            let is_staging = entry.file_name().to_str().is_some_and(|it| it.starts_with(STAGING));
            let age =
                entry.metadata().and_then(|it| it.modified()).map(|it| SystemTime::now().duration_since(it));
            if is_staging && matches!(age, Ok(Ok(age)) if age > STALE) {
                // What cannot be removed now will be next time.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl Staged {
    fn read(staging: TempDir, sha256: Option<String>, expected: &Expected, system: System) -> Result<Self> {
        let root = manifest::root_of(staging.path());
        let manifest = Manifest::read(&root, expected, system)?;
        Ok(Self { manifest, sha256, _staging: staging, root })
    }

    /// Where its files are for now.
    pub fn folder(&self) -> &Path {
        &self.root
    }
}

/// A bundle in its place, until its servers are in theirs.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
    /// What stood there before.
    aside: Option<TempDir>,
    done: bool,
}

impl Kept {
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn done(mut self) {
        self.done = true;
    }

    fn take_back(&mut self) {
        // The best that can be done: it is called because something has already failed.
        let _ = fs::remove_dir_all(&self.folder);
        match self.aside.take() {
            Some(aside) => drop(fs::rename(aside.path().join("old"), &self.folder)),
            None => drop(self.folder.parent().map(fs::remove_dir)),
        }
        self.done = true;
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !self.done {
            self.take_back();
        }
    }
}
