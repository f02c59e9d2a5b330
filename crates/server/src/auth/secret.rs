//! What people and programs show to be let in: 256 random bits. The store and the caches know its hash only, so
//! that reading them lets nobody in; a secret that long needs no salt.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use toolgrove_core::Secret;

pub(crate) type Hash = [u8; 32];

/// A new secret behind a prefix that says what it is.
pub(crate) fn fresh(prefix: &str) -> Secret {
    Secret::new(format!("{prefix}{}", BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())))
}

pub(crate) fn hash(secret: &str) -> Hash {
    Sha256::digest(secret).into()
}

/// A hash as the store keeps it.
pub(crate) fn stored(hash: &Hash) -> String {
    use std::fmt::Write;
    hash.iter().fold(String::with_capacity(64), |mut text, it| {
        let _ = write!(text, "{it:02x}");
        text
    })
}

pub(crate) fn same(given: &str, secret: &str) -> bool {
    given.as_bytes().ct_eq(secret.as_bytes()).into()
}
