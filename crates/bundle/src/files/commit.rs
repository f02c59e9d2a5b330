//! Several files changed as one.
//!
//! The tracking file carries the journal. It is written first, with the member `pending`: what the others were, and
//! what `mcp.json` is going to be. Then the others, `mcp.json` last, and the tracking file again without `pending`.
//! Whether the change took place is therefore one question: does `mcp.json` hold its new bytes? [`recover`] asks it
//! when an earlier process did not come to the end.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::{Disk, Readers, folder_of, sha256};
use crate::error::{BundleError, Result};
use crate::servers::Tracking;

/// One file of a change. None: there is no file.
pub(crate) struct Write {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Option<Vec<u8>>,
    pub(crate) readers: Readers,
}

impl Write {
    fn is_change(&self) -> bool {
        self.before != self.after || self.readers == Readers::OwnerOnly
    }

    fn put(&self, disk: &Disk, bytes: Option<&[u8]>) -> Result<()> {
        match bytes {
            Some(bytes) => {
                disk.make_folder(folder_of(&self.path))?;
                disk.replace(&self.path, bytes, self.readers)
            }
            None => disk.remove(&self.path),
        }
    }
}

/// A change of `mcp.json`, what is remembered about it, and what goes with it.
pub(crate) struct Commit {
    pub(crate) config: Write,
    pub(crate) tracking_path: PathBuf,
    pub(crate) tracking_before: Tracking,
    pub(crate) tracking_bytes: Option<Vec<u8>>,
    pub(crate) tracking_after: Tracking,
    pub(crate) others: Vec<Write>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Journal {
    before: Option<String>,
    after: Option<String>,
    tracking: Option<Tracking>,
    files: Vec<Other>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Other {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

impl Commit {
    /// Does it all, or nothing.
    pub(crate) fn run(&self, disk: &Disk) -> Result<()> {
        if let Some(before) = &self.config.before
            && self.config.is_change()
        {
            let backup = backup_of(&self.config.path);
            let readers = if self.config.readers == Readers::OwnerOnly || is_private(&self.config.path) {
                Readers::OwnerOnly
            } else {
                Readers::Unchanged
            };
            disk.replace(&backup, before, readers)?;
        }
        let mut written = self.write(disk);
        if written.is_ok() {
            let settled = self.settle(disk);
            // With `mcp.json` the change has taken place: a journal left behind says so to whoever comes next. Where
            // `mcp.json` stays the same, nothing but this step tells before from after.
            if self.config.before == self.config.after {
                written = settled;
            }
        }
        written.or_else(|error| self.roll_back(disk).and(Err(error)))
    }

    fn write(&self, disk: &Disk) -> Result<()> {
        let mut journalled = self.tracking_after.clone();
        journalled.pending = serde_json::to_value(self.journal()).ok();
        disk.replace(&self.tracking_path, &journalled.to_bytes(), Readers::Unchanged)?;
        self.others
            .iter()
            .chain([&self.config])
            .filter(|it| it.is_change())
            .try_for_each(|it| it.put(disk, it.after.as_deref()))
    }

    fn settle(&self, disk: &Disk) -> Result<()> {
        if self.tracking_after.managed_servers.is_empty() {
            disk.remove(&self.tracking_path)
        } else {
            disk.replace(&self.tracking_path, &self.tracking_after.to_bytes(), Readers::Unchanged)
        }
    }

    /// Puts back whatever holds its new bytes: a rename that is followed by a failed sync has happened all the same.
    /// What other hands have written since is left alone.
    pub(crate) fn roll_back(&self, disk: &Disk) -> Result<()> {
        let back = || {
            for it in [&self.config].into_iter().chain(self.others.iter().rev()) {
                if it.before != it.after && disk.read(&it.path)? == it.after {
                    it.put(disk, it.before.as_deref())?;
                }
            }
            match &self.tracking_bytes {
                Some(bytes) => disk.replace(&self.tracking_path, bytes, Readers::Unchanged),
                None => disk.remove(&self.tracking_path),
            }
        };
        back().map_err(|error| match error {
            BundleError::Write { path, source } => BundleError::RollBack { path, source },
            other => other,
        })
    }

    fn journal(&self) -> Journal {
        let digest = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(sha256);
        Journal {
            before: digest(&self.config.before),
            after: digest(&self.config.after),
            tracking: self.tracking_bytes.is_some().then(|| self.tracking_before.clone()),
            files: self
                .others
                .iter()
                .map(|it| Other {
                    path: it.path.clone(),
                    before: it.before.as_deref().map(|it| BASE64.encode(it)),
                    after: digest(&it.after),
                })
                .collect(),
        }
    }
}

/// What an interrupted change has left: the tracking that is true of `mcp.json` as it is, and files to put back.
pub(crate) fn recover(
    tracking: Tracking,
    config: Option<&[u8]>,
    names: &[String],
) -> (Tracking, Vec<PutBack>) {
    let mut after = tracking;
    let Some(journal) = after.pending.take().and_then(|it| serde_json::from_value::<Journal>(it).ok()) else {
        return (after, Vec::new());
    };
    let found = config.map(sha256);
    if found == journal.before {
        return (journal.tracking.unwrap_or_default(), journal.files.into_iter().map(PutBack).collect());
    }
    if found == journal.after {
        return (after, Vec::new());
    }
    let before = journal.tracking.unwrap_or_default();
    // Edited since by hand: what either tracking knows and the file still holds is ours.
    let created = before.created.or(after.created);
    for (name, managed) in before.managed_servers {
        after.managed_servers.entry(name).or_insert(managed);
    }
    after.managed_servers.retain(|name, _| names.contains(name));
    (Tracking { created, ..after }, Vec::new())
}

/// A file that an interrupted change had already written.
pub(crate) struct PutBack(Other);

impl PutBack {
    /// Only while it is still what the change made of it.
    pub(crate) fn run(&self, disk: &Disk) -> Result<()> {
        let Other { path, before, after } = &self.0;
        if disk.read(path)?.as_deref().map(sha256) != *after {
            return Ok(());
        }
        match before.as_ref().map(|it| BASE64.decode(it)) {
            Some(Ok(bytes)) => disk.replace(path, &bytes, Readers::Unchanged),
            Some(Err(_)) => Ok(()),
            None => disk.remove(path),
        }
    }
}

pub(crate) fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".backup");
    name.into()
}

/// Whether nobody but its owner may read a file.
#[cfg(unix)]
fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|it| it.permissions().mode().trailing_zeros() >= 6)
}

#[cfg(not(unix))]
fn is_private(_path: &Path) -> bool {
    false
}
