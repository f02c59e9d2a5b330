//! Archives and folders, brought into a folder of ours. Nothing in them is trusted.
//!
//! Refused: a path that leaves the folder, links, more than 10 000 files, more than 512 MiB once unpacked — counted
//! while it is written, not as the archive claims.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use zip::ZipArchive;

use crate::error::{BundleError, Result};
use crate::files::sha256_of;
use crate::manifest::is_inside;

/// How much a bundle may bring.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub files: usize,
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { files: 10_000, bytes: 512 * 1024 * 1024 }
    }
}

/// The two lines around the signature that may follow an `.mcpb`.
const SIGNATURE: (&[u8], &[u8]) = (b"MCPB_SIG_V1", b"MCPB_SIG_END");
/// More than a signature with its certificates takes.
const SIGNATURE_MAX: u64 = 1024 * 1024;

/// Unpacks a `.zip` or `.mcpb` into a folder that exists and is empty.
pub fn unpack(archive: &Path, into: &Path, limits: Limits) -> Result<()> {
    let mut file = File::open(archive).map_err(BundleError::read(archive))?;
    let length = unsigned_length(&mut file).map_err(BundleError::read(archive))?;
    let mut zip = ZipArchive::new(Part { file, at: 0, length }).map_err(|it| refused(&it.to_string()))?;
    if zip.len() > limits.files {
        return Err(too_many(limits));
    }
    let mut seen = HashSet::new();
    let mut left = limits.bytes;
    for place in 0..zip.len() {
        let entry = zip.by_index(place).map_err(|it| refused(&it.to_string()))?;
        let name = entry.name().map_err(|it| refused(&it.to_string()))?.into_owned();
        let inner = name.strip_suffix('/').unwrap_or(&name);
        if !is_inside(inner) {
            return Err(refused(&format!("`{}` leaves the folder", name.escape_debug())));
        }
        // On a system that folds case, two names could be one file.
        if !seen.insert(inner.to_lowercase()) {
            return Err(refused(&format!("`{inner}` is there twice")));
        }
        let mode = entry.unix_mode().unwrap_or(0o644);
        let path = into.join(inner);
        match mode & 0o170_000 {
            0 | 0o100_000 | 0o040_000 if entry.is_dir() => {
                fs::create_dir_all(&path).map_err(BundleError::write(&path))?;
            }
            0 | 0o100_000 => {
                let written = write_new(&path, entry.take(left.saturating_add(1)), mode)?;
                left = left.checked_sub(written).ok_or_else(|| too_large(limits))?;
            }
            0o120_000 => return Err(refused(&format!("`{inner}` is a link"))),
            _ => return Err(refused(&format!("`{inner}` is neither file nor folder"))),
        }
    }
    Ok(())
}

/// Copies a folder. Its links must be relative and stay inside; `.git` stays behind.
pub fn copy(from: &Path, into: &Path, limits: Limits) -> Result<()> {
    let mut left = limits;
    copy_folder(from, from, into, &mut left, limits)
}

fn copy_folder(top: &Path, from: &Path, into: &Path, left: &mut Limits, limits: Limits) -> Result<()> {
    let entries = fs::read_dir(from).map_err(BundleError::read(from))?;
    for entry in entries {
        let entry = entry.map_err(BundleError::read(from))?;
        if entry.file_name() == ".git" {
            continue;
        }
        left.files = left.files.checked_sub(1).ok_or_else(|| too_many(limits))?;
        let (path, target) = (entry.path(), into.join(entry.file_name()));
        let kind = entry.file_type().map_err(BundleError::read(&path))?;
        if kind.is_dir() {
            fs::create_dir_all(&target).map_err(BundleError::write(&target))?;
            copy_folder(top, &path, &target, left, limits)?;
        } else if kind.is_symlink() {
            copy_link(top, &path, &target)?;
        } else if kind.is_file() {
            let file = File::open(&path).map_err(BundleError::read(&path))?;
            let mode = mode_of(&file).map_err(BundleError::read(&path))?;
            let written = write_new(&target, file.take(left.bytes.saturating_add(1)), mode)?;
            left.bytes = left.bytes.checked_sub(written).ok_or_else(|| too_large(limits))?;
        } else {
            return Err(refused(&format!("`{}` is neither file nor folder", path.display())));
        }
    }
    Ok(())
}

/// A link is copied as a link: it means the same in the copy, because it leads to somewhere inside.
fn copy_link(top: &Path, path: &Path, target: &Path) -> Result<()> {
    let leaves = || refused(&format!("link `{}` leaves the folder", path.display()));
    let to = fs::read_link(path).map_err(BundleError::read(path))?;
    let top = fs::canonicalize(top).map_err(BundleError::read(top))?;
    let real = fs::canonicalize(path).map_err(|_| leaves())?;
    if to.is_absolute() || !real.starts_with(&top) {
        return Err(leaves());
    }
    #[cfg(unix)]
    return std::os::unix::fs::symlink(&to, target).map_err(BundleError::write(target));
    #[cfg(not(unix))]
    return fs::copy(&real, target).map(drop).map_err(BundleError::write(target));
}

/// Every file of an unpacked bundle, with its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    pub path: String,
    pub sha256: String,
}

/// Sorted by path; links are not followed.
pub fn digests(folder: &Path) -> Result<Vec<FileDigest>> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next).map_err(BundleError::read(&next))? {
            let path = entry.map_err(BundleError::read(&next))?.path();
            let kind = fs::symlink_metadata(&path).map_err(BundleError::read(&path))?;
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_file() {
                let inner = path.strip_prefix(folder).unwrap_or(&path);
                let parts: Vec<_> = inner.iter().map(|it| it.to_string_lossy()).collect();
                found.push(FileDigest { path: parts.join("/"), sha256: sha256_of(&path)? });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Refuses a file whose digest is another one.
pub fn check_digest(path: &Path, expected: &str) -> Result<()> {
    let found = sha256_of(path)?;
    if found.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    Err(BundleError::Digest { found, expected: expected.to_owned() })
}

/// The number of bytes that were in it.
fn write_new(path: &Path, mut from: impl Read, mode: u32) -> Result<u64> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(BundleError::write(path))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Of an archive's modes only "can be run" means anything here.
        options.mode(if mode & 0o100 == 0 { 0o644 } else { 0o755 });
    }
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(path).map_err(BundleError::write(path))?;
    let mut buffer = vec![0; 64 * 1024];
    let mut written = 0;
    loop {
        // Reading fails for what is in the archive, writing for the disk.
        let length = from.read(&mut buffer).map_err(|it| refused(&it.to_string()))?;
        if length == 0 {
            return Ok(written);
        }
        file.write_all(&buffer[..length]).map_err(BundleError::write(path))?;
        written += length as u64;
    }
}

#[cfg(unix)]
fn mode_of(file: &File) -> io::Result<u32> {
    use std::os::unix::fs::PermissionsExt;
    Ok(file.metadata()?.permissions().mode())
}

#[cfg(not(unix))]
fn mode_of(_file: &File) -> io::Result<u32> {
    Ok(0o644)
}

/// The length of an archive without the signature that may follow it.
fn unsigned_length(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let start = length.saturating_sub(SIGNATURE_MAX);
    file.seek(SeekFrom::Start(start))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    if !end.ends_with(SIGNATURE.1) {
        return Ok(length);
    }
    let signature = end.windows(SIGNATURE.0.len()).rposition(|it| it == SIGNATURE.0);
    Ok(signature.map_or(length, |at| start + at as u64))
}

/// The first `length` bytes of a file.
struct Part {
    file: File,
    at: u64,
    length: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.seek(SeekFrom::Start(self.at))?;
        let room =
            usize::try_from(self.length.saturating_sub(self.at)).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read(&mut buffer[..room])?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Part {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

fn refused(problem: &str) -> BundleError {
    BundleError::Archive(problem.to_owned())
}

fn too_many(limits: Limits) -> BundleError {
    refused(&format!("it holds more than {} files", limits.files))
}

fn too_large(limits: Limits) -> BundleError {
    refused(&format!("it holds more than {} MiB", limits.bytes >> 20))
}

#[cfg(test)]
mod tests;
