//! Seals secrets with AES-256-GCM before they are stored, and opens them again.
//!
//! The key file holds one line `kid:hexkey` per key. The first seals; all open, so a rotation may keep old keys. A
//! sealed value reads `v1.<kid>.<base64 of nonce and ciphertext>` and is bound to its context: moved to another
//! row, it does not open. The file may change under a running hub: before something is sealed it is read again, and so
//! it is when a value names a key that is not known yet.

use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use toolgrove_core::Secret;
use zeroize::Zeroizing;

use crate::error::{Result, StoreError};

const NONCE_BYTES: usize = 12;

/// The keys that secrets are sealed with.
pub struct SecretBox {
    /// Absent: the keys are gone with the process.
    file: Option<PathBuf>,
    keys: RwLock<Keys>,
}

/// Never empty; the first seals.
type Keys = Arc<Vec<SealingKey>>;

#[derive(Clone)]
struct SealingKey {
    kid: String,
    cipher: Aes256Gcm,
}

/// The cipher holds the key, and is wiped with it.
const _: () = {
    const fn is_wiped<T: zeroize::ZeroizeOnDrop>() {}
    is_wiped::<Aes256Gcm>();
};

impl fmt::Debug for SecretBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretBox(•••)")
    }
}

impl SecretBox {
    /// Reads the key file, or makes it with one new key. Only its owner can read the file afterwards.
    pub fn load_or_create(path: &Path) -> Result<Self> {
        let access = |source| StoreError::KeyFileAccess { path: path.to_owned(), source };
        if !path.try_exists().map_err(access)? {
            create_key_file(path).map_err(access)?;
        }
        tighten(path).map_err(access)?;
        let (_, keys) = read(path)?;
        Ok(Self { file: Some(path.to_owned()), keys: RwLock::new(Arc::new(keys)) })
    }

    /// A key that is gone with the process, for a store that lives in memory.
    pub fn in_memory() -> Self {
        let keys = parse(&new_key_line()).expect("a line we made is a line we read");
        Self { file: None, keys: RwLock::new(Arc::new(keys)) }
    }

    /// Seals a secret for one place, such as `credentials/<instance>/<key>`. What is stored goes through
    /// [`crate::db::Sealing`], which knows that no other key is being put first meanwhile.
    pub(crate) fn seal(&self, context: &str, secret: &Secret) -> String {
        let key = &self.keys()[0];
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let payload = Payload { msg: secret.reveal().as_bytes(), aad: context.as_bytes() };
        let sealed = key
            .cipher
            .encrypt(&Nonce::from(nonce), payload)
            .expect("a secret is far smaller than the 64 GiB that AES-GCM can seal");
        format!("v1.{}.{}", key.kid, BASE64.encode([&nonce[..], &sealed].concat()))
    }

    /// Opens what [`SecretBox::seal`] made for the same place.
    pub fn open(&self, context: &str, sealed: &str) -> Result<Secret> {
        self.try_open(context, sealed).ok_or_else(|| StoreError::Sealed { context: context.to_owned() })
    }

    fn try_open(&self, context: &str, sealed: &str) -> Option<Secret> {
        let (kid, body) = sealed.strip_prefix("v1.")?.split_once('.')?;
        let key = self.key(kid).or_else(|| {
            self.reread().ok()?;
            self.key(kid)
        })?;
        let bytes = BASE64.decode(body).ok()?;
        let (nonce, msg) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg, aad: context.as_bytes() };
        let opened = key.cipher.decrypt(&Nonce::from(*nonce), payload).ok()?;
        String::from_utf8(opened).ok().map(Secret::new)
    }

    /// How everything begins that the present key has sealed.
    pub(crate) fn prefix(&self) -> String {
        format!("v1.{}.", self.keys()[0].kid)
    }

    /// Takes over what the file says now. Keys it no longer has still open what was read a moment ago.
    pub(crate) fn reread(&self) -> Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        self.learn(read(path)?.1);
        Ok(())
    }

    /// Puts a new key in front, on disk before anything is sealed with it.
    pub(crate) fn renew(&self) -> Result<()> {
        let line = new_key_line();
        match &self.file {
            None => self.learn(parse(&line).expect("a line we made is a line we read")),
            Some(path) => {
                let (text, _) = read(path)?;
                write(path, &Zeroizing::new(format!("{}\n{}", *line, *text)))?;
                self.reread()?;
            }
        }
        Ok(())
    }

    /// Drops from the file every key but the first and those that these values need.
    pub(crate) fn retire(&self, values: &[String]) -> Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let (text, _) = read(path)?;
        let is_needed = |line: &str| {
            let kid = line.trim().split(':').next().unwrap_or_default();
            values.iter().any(|it| it.strip_prefix("v1.").and_then(|it| it.split('.').next()) == Some(kid))
        };
        let lines = text.lines().filter(|it| !it.trim().is_empty()).enumerate();
        let mut kept = Zeroizing::new(String::with_capacity(text.len() + 1));
        for (_, line) in lines.filter(|(place, line)| *place == 0 || is_needed(line)) {
            kept.push_str(line);
            kept.push('\n');
        }
        write(path, &kept)
    }

    /// How many keys the file has.
    pub(crate) fn count(&self) -> Result<usize> {
        self.file.as_ref().map_or(Ok(1), |path| Ok(read(path)?.1.len()))
    }

    fn learn(&self, mut keys: Vec<SealingKey>) {
        let mut known = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        for key in known.iter() {
            if !keys.iter().any(|it| it.kid == key.kid) {
                keys.push(key.clone());
            }
        }
        *known = Arc::new(keys);
    }

    fn keys(&self) -> Keys {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn key(&self, kid: &str) -> Option<SealingKey> {
        self.keys().iter().find(|it| it.kid == kid).cloned()
    }
}

/// The text of a key file, and its keys.
fn read(path: &Path) -> Result<(Zeroizing<String>, Vec<SealingKey>)> {
    let access = |source| StoreError::KeyFileAccess { path: path.to_owned(), source };
    let text = Zeroizing::new(fs::read_to_string(path).map_err(access)?);
    let keys = parse(&text).map_err(|problem| StoreError::KeyFile { path: path.to_owned(), problem })?;
    Ok((text, keys))
}

fn parse(text: &str) -> std::result::Result<Vec<SealingKey>, String> {
    let mut keys: Vec<SealingKey> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let key = SealingKey::parse(line.trim())
            .ok_or_else(|| format!("line {number} is not `kid:key` with 64 hexadecimal digits"))?;
        if keys.iter().any(|it| it.kid == key.kid) {
            return Err(format!("line {number} repeats the key id `{}`", key.kid));
        }
        keys.push(key);
    }
    if keys.is_empty() { Err("it holds no key".into()) } else { Ok(keys) }
}

impl SealingKey {
    fn parse(line: &str) -> Option<Self> {
        let (kid, digits) = line.split_once(':')?;
        if kid.is_empty() || !kid.bytes().all(|it| it.is_ascii_alphanumeric()) {
            return None;
        }
        let bytes = from_hex(digits)?;
        Some(Self { kid: kid.to_owned(), cipher: Aes256Gcm::new(&Key::<Aes256Gcm>::from(*bytes)) })
    }
}

/// A complete file appears under `path` or none; when two processes start at once, the first one's key stays.
fn create_key_file(path: &Path) -> io::Result<()> {
    let folder = folder(path);
    fs::create_dir_all(folder)?;
    let file = draft(folder, &format!("{}\n", *new_key_line()))?;
    match file.persist_noclobber(path) {
        Ok(_) => sync(folder),
        Err(it) if it.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(it) => Err(it.error),
    }
}

/// Replaces a key file: whatever happens, it is the old one or the new one.
fn write(path: &Path, text: &str) -> Result<()> {
    let replace = || {
        // A link to a file elsewhere stays a link.
        let path = fs::canonicalize(path)?;
        draft(folder(&path), text)?.persist(&path).map_err(|it| it.error)?;
        sync(folder(&path))
    };
    replace().map_err(|source| StoreError::KeyFileAccess { path: path.to_owned(), source })
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file that is complete on disk and has no name yet that counts. Only its owner can read it.
fn draft(folder: &Path, text: &str) -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// A key that a power cut takes away takes every stored secret with it.
#[cfg(unix)]
fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn tighten(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "others could read the key file; now only its owner can");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn tighten(_: &Path) -> io::Result<()> {
    Ok(())
}

fn new_key_line() -> Zeroizing<String> {
    let kid: u32 = rand::random();
    let key = Zeroizing::new(rand::random::<[u8; 32]>());
    let mut line = Zeroizing::new(format!("{kid:08x}:"));
    line.reserve(64);
    for byte in *key {
        line.push(char::from_digit(u32::from(byte >> 4), 16).expect("four bits are one digit"));
        line.push(char::from_digit(u32::from(byte & 15), 16).expect("four bits are one digit"));
    }
    line
}

fn from_hex(digits: &str) -> Option<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0; 32]);
    if digits.len() != 64 || !digits.bytes().all(|it| it.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}
