//! Seals secrets with AES-256-GCM before they are stored, and opens them again.
//!
//! The key file holds one line `kid:hexkey` per key. The first seals; all open, so a rotation may keep old keys. A
//! sealed value reads `v1.<kid>.<base64 of nonce and ciphertext>` and is bound to its context: moved to another
//! row, it does not open.

use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

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
    /// Never empty; the first seals.
    keys: Vec<SealingKey>,
}

struct SealingKey {
    kid: String,
    cipher: Aes256Gcm,
}

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
        let text = Zeroizing::new(fs::read_to_string(path).map_err(access)?);
        Self::parse(&text).map_err(|problem| StoreError::KeyFile { path: path.to_owned(), problem })
    }

    /// A key that is gone with the process, for a store that lives in memory.
    pub fn in_memory() -> Self {
        Self::parse(&new_key_line()).expect("a line we made is a line we read")
    }

    /// Seals a secret for one place, such as `credentials/<instance>/<key>`.
    pub fn seal(&self, context: &str, secret: &Secret) -> String {
        let key = &self.keys[0];
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
        let key = self.keys.iter().find(|it| it.kid == kid)?;
        let bytes = BASE64.decode(body).ok()?;
        let (nonce, msg) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg, aad: context.as_bytes() };
        let opened = key.cipher.decrypt(&Nonce::from(*nonce), payload).ok()?;
        String::from_utf8(opened).ok().map(Secret::new)
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
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
        if keys.is_empty() { Err("it holds no key".into()) } else { Ok(Self { keys }) }
    }
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
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    writeln!(file, "{}", *new_key_line())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => {}
        Err(it) if it.error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(it) => return Err(it.error),
    }
    // A key that a power cut takes away takes every stored secret with it.
    #[cfg(unix)]
    fs::File::open(folder)?.sync_all()?;
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
