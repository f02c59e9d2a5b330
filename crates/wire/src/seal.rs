//! Tokens that only a hub can write and read: `tg1.<kid>.<base64url(nonce ‖ ciphertext ‖ tag)>`.
//!
//! XChaCha20-Poly1305; the key's id and the endpoint it is for are bound to it. Whatever a client returns is hostile:
//! a token opens whole or not at all, and says nothing about why it did not.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use serde::Serialize;
use serde::de::DeserializeOwned;

const PREFIX: &str = "tg1";
const NONCE: usize = 24;
/// A longer token is not ours.
const MAX: usize = 512 * 1024;

/// The keys of a hub: the first seals, all open.
pub struct Seal {
    keys: Vec<(String, XChaCha20Poly1305)>,
}

impl Seal {
    /// Takes `(kid, key)` pairs, the current one first.
    pub fn new(keys: impl IntoIterator<Item = (String, [u8; 32])>) -> Self {
        let keys = keys.into_iter().map(|(kid, key)| (kid, XChaCha20Poly1305::new(&Key::from(key))));
        Self { keys: keys.collect() }
    }

    /// Writes a token for one endpoint. None without a key.
    pub fn close(&self, endpoint: &str, payload: &impl Serialize) -> Option<String> {
        let (kid, cipher) = self.keys.first()?;
        let nonce = XNonce::from(rand::random::<[u8; NONCE]>());
        let text = serde_json::to_vec(payload).ok()?;
        let aad = aad(kid, endpoint);
        let sealed = cipher.encrypt(&nonce, Payload { msg: &text, aad: aad.as_bytes() }).ok()?;
        let bytes = [nonce.as_slice(), &sealed].concat();
        Some(format!("{PREFIX}.{kid}.{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Reads a token of one endpoint. None for anything that was not written by [`Seal::close`] for it.
    pub fn open<T: DeserializeOwned>(&self, endpoint: &str, token: &str) -> Option<T> {
        if token.len() > MAX {
            return None;
        }
        let mut parts = token.splitn(3, '.');
        let (prefix, kid, body) = (parts.next()?, parts.next()?, parts.next()?);
        let (_, cipher) = self.keys.iter().find(|it| prefix == PREFIX && it.0 == kid)?;
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(body).ok().filter(|it| it.len() > NONCE)?;
        let (nonce, sealed) = bytes.split_at(NONCE);
        let nonce = XNonce::try_from(nonce).ok()?;
        let aad = aad(kid, endpoint);
        let text = cipher.decrypt(&nonce, Payload { msg: sealed, aad: aad.as_bytes() }).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Seal({} keys)", self.keys.len())
    }
}

fn aad(kid: &str, endpoint: &str) -> String {
    format!("toolgrove/state/1 {kid} {endpoint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(kids: &[(&str, u8)]) -> Seal {
        Seal::new(kids.iter().map(|(kid, byte)| ((*kid).to_owned(), [*byte; 32])))
    }

    #[test]
    fn a_token_opens_with_the_key_and_the_endpoint_it_was_made_for() {
        let token = seal(&[("a", 1)]).close("/mcp", &vec![7]).expect("a key");
        assert!(token.starts_with("tg1.a.") && token.is_ascii());
        assert_eq!(seal(&[("b", 2), ("a", 1)]).open::<Vec<i32>>("/mcp", &token), Some(vec![7]));
        assert_eq!(seal(&[("a", 1)]).open::<Vec<i32>>("/mcp/i/x", &token), None);
        assert_eq!(seal(&[("a", 2)]).open::<Vec<i32>>("/mcp", &token), None);
        assert_eq!(seal(&[("b", 1)]).open::<Vec<i32>>("/mcp", &token), None);
    }

    #[test]
    fn a_token_that_was_touched_anywhere_does_not_open() {
        let seal = seal(&[("a", 1)]);
        let token = seal.close("/mcp", &"secret").expect("a key");
        for place in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
            let touched = String::from_utf8(bytes).expect("ascii");
            assert_eq!(seal.open::<String>("/mcp", &touched), None, "{place}");
        }
        for other in ["", "tg1", "tg1.a", "tg1.a.", "tg1.a.AAAA", "x.y.z", &"A".repeat(MAX + 1)] {
            assert_eq!(seal.open::<String>("/mcp", other), None);
        }
    }
}
