//! How the extension and the hub prove to each other that they know the same secret. Neither says it.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use tokio::time::Instant;
use toolgrove_core::Secret;
use toolgrove_core::tabs::wire::{Hello, PROTOCOL, Welcome};
use uuid::Uuid;

use super::EXTENSION;
use crate::App;

pub(super) const PING: Duration = Duration::from_secs(20);
/// So many failures within the pause, and nobody is let in for as long.
const FAILURES: usize = 5;
const PAUSE: Duration = Duration::from_secs(30);

/// Close codes.
pub(super) const PROTOCOL_MISMATCH: u16 = 4002;
pub(super) const REFUSED: u16 = 4003;

/// Slows down whoever guesses.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<Vec<Instant>>);

impl Pace {
    /// How long everybody has to wait, if so.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|it| it.elapsed() < PAUSE);
        let last = failures.last().filter(|_| failures.len() >= FAILURES)?;
        Some(PAUSE.saturating_sub(last.elapsed()))
    }

    fn failed(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
    }
}

/// A browser that was let in.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) person: Uuid,
    pub(super) welcome: Welcome,
}

/// Why a browser is not let in: a close code and a reason.
pub(super) type Turned = (u16, &'static str);

impl App {
    /// Looks at what a browser says of itself and shows.
    pub(super) async fn greet(&self, hello: &Hello, hub_nonce: &str) -> Result<Admitted, Turned> {
        if hello.protocol != PROTOCOL {
            return Err((PROTOCOL_MISMATCH, "update the extension"));
        }
        let is_sound = hello.extension_id == EXTENSION
            && (1..=128).contains(&hello.profile_id.len())
            && (16..=256).contains(&hello.nonce.len());
        let shown = format!("ext|{hub_nonce}|{}", hello.nonce);
        let fits = |secret: &str| same(&mac(secret, &shown), &hello.mac);
        let found = if is_sound { self.whose_browser(hello, fits).await } else { None };
        let Some((person, secret, token)) = found else {
            self.tabs.pace.failed();
            toolgrove_core::meter::tab_refused("mac");
            return Err((REFUSED, "this browser is not paired"));
        };
        let welcome = Welcome {
            mac: mac(secret.reveal(), &format!("hub|{}|{hub_nonce}", hello.nonce)),
            ping_seconds: PING.as_secs(),
            max_message_bytes: self.tab_limit() as u64,
            token: token.map(|it| it.reveal().to_owned()),
        };
        Ok(Admitted { person, welcome })
    }

    /// Whose browser it is, the secret it showed, and a token if it has paired just now.
    async fn whose_browser(
        &self,
        hello: &Hello,
        fits: impl Fn(&str) -> bool,
    ) -> Option<(Uuid, Secret, Option<Secret>)> {
        if hello.pairing == Some(true) {
            let (code, person) = self.tabs.redeem(fits)?;
            let token = Secret::new(hex(&rand::random::<[u8; 32]>()));
            self.keep_browser(hello, person, &token).await?;
            return Some((person, Secret::new(code), Some(token)));
        }
        let known = self.store.pairing(&hello.profile_id).await.inspect_err(log).ok()?;
        if let Some(row) = &known {
            if row.revoked_at.is_some() {
                return None;
            }
            if let Some(token) = row.token.clone().filter(|it| fits(it.reveal())) {
                self.store.saw_browser(&hello.profile_id, &hello.browser).await.inspect_err(log).ok()?;
                return Some((row.person_id, token, None));
            }
        }
        // A browser on this machine, whose owner could read the store anyway.
        let token = self.tabs.endpoint.get().filter(|it| fits(it.reveal()))?;
        let person = self.gate.solo()?.person;
        self.keep_browser(hello, person, token).await?;
        Some((person, token.clone(), None))
    }

    async fn keep_browser(&self, hello: &Hello, person: Uuid, token: &Secret) -> Option<()> {
        let label: String = hello.browser.chars().filter(|it| !it.is_control()).take(100).collect();
        self.store.put_pairing(&hello.profile_id, person, token, &label).await.inspect_err(log).ok()
    }

    /// The largest message of a tab, in bytes.
    pub(super) fn tab_limit(&self) -> usize {
        usize::try_from(self.config.tabs.max_payload_mb).unwrap_or(usize::MAX).saturating_mul(1_000_000)
    }
}

fn log(error: &toolgrove_store::StoreError) {
    tracing::error!(target: "tabs", ?error, "a browser could not be looked up");
}

/// A code that a person may have to copy by hand.
pub(crate) fn pairing_code() -> String {
    BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; 16]>())
}

pub(super) fn nonce() -> String {
    hex(&rand::random::<[u8; 32]>())
}

fn mac(secret: &str, text: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key will do");
    mac.update(text.as_bytes());
    hex(&mac.finalize().into_bytes())
}

fn same(left: &str, right: &str) -> bool {
    left.as_bytes().ct_eq(right.as_bytes()).into()
}

/// Bytes in lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, it| {
        let _ = write!(text, "{it:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_is_what_the_extension_makes_of_it() {
        // `echo -n 'ext|a|b' | openssl dgst -sha256 -hmac secret`
        assert_eq!(
            mac("secret", "ext|a|b"),
            "9481b72a17b9e9905eee484754681086c0201bbdfd60bbd97ad164d2dbadffb7"
        );
        assert!(same(&mac("k", "x"), &mac("k", "x")) && !same(&mac("k", "x"), &mac("l", "x")));
    }

    #[tokio::test(start_paused = true)]
    async fn five_failures_are_a_pause_of_half_a_minute() {
        let pace = Pace::default();
        for _ in 0..4 {
            pace.failed();
        }
        assert_eq!(pace.pause(), None);
        pace.failed();
        assert_eq!(pace.pause(), Some(PAUSE));
        tokio::time::sleep(PAUSE).await;
        assert_eq!(pace.pause(), None);
    }
}
