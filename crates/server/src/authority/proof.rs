//! PKCE (RFC 7636): whoever trades a code must know what only the one who asked for it can know.
//!
//! Only `S256`: with `plain` the challenge in the address bar would be the verifier.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The digest of a verifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge(String);

impl Challenge {
    /// Reads the two parameters of a request. The sentence says what is wrong with them.
    pub fn read(challenge: Option<&str>, method: Option<&str>) -> Result<Self, &'static str> {
        let Some(challenge) = challenge else { return Err("`code_challenge` is missing: PKCE is required") };
        if method != Some("S256") {
            return Err("`code_challenge_method` must be `S256`");
        }
        match BASE64_URL_SAFE_NO_PAD.decode(challenge) {
            Ok(digest) if digest.len() == 32 => Ok(Self(challenge.to_owned())),
            _ => Err("`code_challenge` is not a SHA-256 digest in base64url"),
        }
    }

    /// As it was kept.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_met_by(&self, verifier: &str) -> bool {
        let is_verifier = (43..=128).contains(&verifier.len())
            && verifier.bytes().all(|it| it.is_ascii_alphanumeric() || b"-._~".contains(&it));
        let digest = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
        is_verifier & bool::from(digest.as_bytes().ct_eq(self.0.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn the_verifier_that_was_digested_meets_the_challenge_and_no_other_does() {
        let challenge = Challenge::read(Some(CHALLENGE), Some("S256")).expect("a challenge");
        assert!(challenge.is_met_by(VERIFIER));
        for other in ["", CHALLENGE, &VERIFIER[1..], &format!("{VERIFIER}x"), &VERIFIER.to_lowercase()] {
            assert!(!challenge.is_met_by(other), "{other}");
        }
    }

    #[test]
    fn a_request_without_a_proper_challenge_is_refused() {
        for (challenge, method) in [
            (None, None),
            (None, Some("S256")),
            (Some(CHALLENGE), None),
            (Some(CHALLENGE), Some("plain")),
            (Some(CHALLENGE), Some("s256")),
            (Some(VERIFIER), Some("plain")),
            (Some("short"), Some("S256")),
            (Some(&CHALLENGE[1..]), Some("S256")),
        ] {
            assert!(Challenge::read(challenge, method).is_err(), "{challenge:?} {method:?}");
        }
    }
}
