//! The disk: read, replaced whole, locked, and changed in several files as if they were one.
//!
//! A file is replaced by writing a temporary one beside it, syncing it and renaming it: whoever looks, and whenever the
//! machine stops, sees the old bytes or the new. [`Disk`] is the one seam of this crate: a test may look at every step
//! before it is taken, and refuse it or end the process.

pub(crate) mod commit;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::error::{BundleError, Result};

/// How long somebody else may hold a folder.
const LOCK_WAIT: Duration = Duration::from_secs(30);
const LOCK_TRY: Duration = Duration::from_millis(5);
/// How the names of temporary files begin and end.
const TEMPORARY: (&str, &str) = (".toolgrove-", ".tmp");

/// One thing that is about to happen on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    MakeFolder(&'a Path),
    /// A temporary file beside this one is filled.
    Fill(&'a Path),
    Sync(&'a Path),
    /// The temporary file takes this one's place.
    Replace(&'a Path),
    SyncFolder(&'a Path),
    Remove(&'a Path),
}

type Watch = Arc<dyn Fn(Step<'_>) -> io::Result<()> + Send + Sync>;

/// The one way to the disk.
#[derive(Clone, Default)]
pub struct Disk {
    watch: Option<Watch>,
}

/// Who may read a file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Readers {
    /// As it was; for a new file whoever the system lets.
    #[default]
    Unchanged,
    /// It holds secrets.
    OwnerOnly,
}

impl Disk {
    /// A disk whose every step is shown to `watch` first, which may refuse it.
    pub fn watched(watch: impl Fn(Step<'_>) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self { watch: Some(Arc::new(watch)) }
    }

    fn step(&self, step: Step<'_>) -> io::Result<()> {
        self.watch.as_ref().map_or(Ok(()), |watch| watch(step))
    }

    /// None when there is no such file.
    pub fn read(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        match fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(BundleError::Read { path: path.to_owned(), source: error }),
        }
    }

    /// Puts the bytes in place as a whole. A link stays one: the file it names is replaced.
    pub fn replace(&self, path: &Path, bytes: &[u8], readers: Readers) -> Result<()> {
        let path = &real(path)?;
        self.replace_plainly(path, bytes, readers).map_err(BundleError::write(path))
    }

    fn replace_plainly(&self, path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
        let folder = folder_of(path);
        self.step(Step::Fill(path))?;
        let mut file = temporary(folder, readers)?;
        file.write_all(bytes)?;
        if let (Readers::Unchanged, Ok(existing)) = (readers, fs::metadata(path)) {
            file.as_file().set_permissions(existing.permissions())?;
        }
        self.step(Step::Sync(path))?;
        file.as_file().sync_all()?;
        self.step(Step::Replace(path))?;
        file.persist(path).map_err(|it| it.error)?;
        self.step(Step::SyncFolder(folder))?;
        sync_folder(folder)
    }

    /// It is fine when there is no such file.
    pub fn remove(&self, path: &Path) -> Result<()> {
        let remove = || {
            self.step(Step::Remove(path))?;
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => sync_folder(folder_of(path)),
            }
        };
        remove().map_err(BundleError::write(path))
    }

    /// True when the folder was not there.
    pub fn make_folder(&self, path: &Path) -> Result<bool> {
        if path.is_dir() {
            return Ok(false);
        }
        self.step(Step::MakeFolder(path))
            .and_then(|()| fs::create_dir_all(path))
            .map_err(BundleError::write(path))?;
        Ok(true)
    }
}

/// Who holds it is alone with a folder, among all processes that ask. Let go when dropped, or when the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the folder that really holds `path`, which must exist.
    pub fn take(path: &Path) -> Result<Self> {
        let real = real(path)?;
        let folder = folder_of(&real);
        let file = lock_file(folder).map_err(BundleError::read(folder))?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(fs::TryLockError::WouldBlock) if started.elapsed() < LOCK_WAIT => {
                    std::thread::park_timeout(LOCK_TRY);
                }
                Err(fs::TryLockError::WouldBlock) => {
                    return Err(BundleError::Busy { folder: folder.to_owned() });
                }
                Err(fs::TryLockError::Error(error)) => return Err(BundleError::read(folder)(error)),
            }
        }
    }
}

/// The folder itself is locked, so that no lock file is left behind.
#[cfg(unix)]
fn lock_file(folder: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(folder)
}

/// Folders cannot be locked here.
#[cfg(not(unix))]
fn lock_file(folder: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(".toolgrove.lock"))
}

/// The file that a path names, links followed. It need not exist, but a link must lead somewhere.
pub(crate) fn real(path: &Path) -> Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            fs::canonicalize(path).map_err(|_| BundleError::DeadLink { path: path.to_owned() })
        }
        _ => Ok(path.to_owned()),
    }
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn temporary(folder: &Path, readers: Readers) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY.0).suffix(TEMPORARY.1);
    #[cfg(unix)]
    if readers == Readers::Unchanged {
        use std::os::unix::fs::PermissionsExt;
        // What the process may create at all is still up to its mask.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = readers;
    builder.tempfile_in(folder)
}

/// Takes away what a process that was killed has left in a folder that is now locked.
pub(crate) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|it| it.starts_with(TEMPORARY.0) && it.ends_with(TEMPORARY.1)) {
            // What cannot be removed now will be next time.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The digest of a whole file, read piece by piece.
pub fn sha256_of(path: &Path) -> Result<String> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path).map_err(BundleError::read(path))?;
    io::copy(&mut file, &mut HashWriter(&mut hasher)).map_err(BundleError::read(path))?;
    Ok(hex(&hasher.finalize()))
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |it: u8| char::from_digit(it.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|it| [digit(it >> 4), digit(it & 15)]).collect()
}
