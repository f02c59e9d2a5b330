//! Favicons, each asked for at most once a day, for everybody.
//!
//! What is kept is what one address said: a picture, nothing, or that it is elsewhere. So every step of the way is held
//! against the allowlist of whoever asks, however long ago somebody else went it. The way leads past the hub's guard
//! like any other, and does not leave the site it began at.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use tokio::sync::OnceCell;
use toolgrove_core::net::{Allowlist, is_same_site, site};
use toolgrove_upstream::{Fetch, Fetched};
use url::{Host, Url};

const LARGEST: usize = 64 * 1024;
const DAY: i64 = 24 * 60 * 60 * 1000;
const PATIENCE: Duration = Duration::from_secs(5);
const STEPS: usize = 4;
/// Addresses that are remembered. The oldest goes first.
const ROOM: usize = 512;

/// What addresses of favicons said.
#[derive(Default)]
pub struct Icons(Mutex<HashMap<Url, Arc<Slot>>>);

struct Slot {
    at: i64,
    said: OnceCell<Said>,
}

/// What an address said.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Said {
    Picture(Picture),
    Elsewhere(Url),
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub kind: &'static str,
    pub bytes: Bytes,
}

impl Icons {
    /// The favicon of a server's host, else of its domain.
    pub async fn of(&self, fetch: &Fetch, server: &Url, hosts: &Allowlist, now: i64) -> Option<Picture> {
        for begin in addresses(server) {
            let mut next = Some(begin);
            for _ in 0..STEPS {
                let Some(url) = next.take_if(|it| hosts.check(it.host_str().unwrap_or_default()).is_ok())
                else {
                    break;
                };
                let slot = self.slot(&url, now);
                match slot.said.get_or_init(|| ask(fetch, &url)).await {
                    Said::Picture(it) => return Some(it.clone()),
                    Said::Elsewhere(it) => next = Some(it.clone()),
                    Said::Nothing => {}
                }
            }
        }
        None
    }

    /// What is known of an address, or the place for it.
    fn slot(&self, url: &Url, now: i64) -> Arc<Slot> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(url).filter(|it| now < it.at + DAY) {
            return slot.clone();
        }
        if slots.len() >= ROOM
            && let Some(oldest) = slots.iter().min_by_key(|it| it.1.at).map(|it| it.0.clone())
        {
            slots.remove(&oldest);
        }
        let slot = Arc::new(Slot { at: now, said: OnceCell::new() });
        slots.insert(url.clone(), slot.clone());
        slot
    }
}

/// Where the picture may lie: with the host, or with the domain it belongs to.
fn addresses(server: &Url) -> Vec<Url> {
    let Ok(at_host) = server.join("/favicon.ico") else { return Vec::new() };
    if !matches!(server.scheme(), "http" | "https") {
        return Vec::new();
    }
    let mut at_host = at_host;
    // What a server's address says of its user is for that server.
    let _ = (at_host.set_username(""), at_host.set_password(None));
    let Some(Host::Domain(host)) = server.host() else { return vec![at_host] };
    let mut at_domain = at_host.clone();
    match at_domain.set_host(Some(site(host))) {
        Ok(()) if at_domain != at_host && server.port().is_none() => vec![at_host, at_domain],
        _ => vec![at_host],
    }
}

async fn ask(fetch: &Fetch, url: &Url) -> Said {
    let request = Request::get(url.as_str()).header(header::ACCEPT, "image/*").body(Bytes::new());
    let Ok(request) = request else { return Said::Nothing };
    match tokio::time::timeout(PATIENCE, fetch.up_to(LARGEST).send(request)).await {
        Ok(Ok(answer)) => read(url, answer),
        Ok(Err(why)) => {
            tracing::debug!(%why, "no favicon");
            Said::Nothing
        }
        Err(_) => Said::Nothing,
    }
}

fn read(url: &Url, answer: Fetched) -> Said {
    if answer.status.is_redirection() {
        let location = answer.headers.get(header::LOCATION).and_then(|it| it.to_str().ok());
        let next = location.and_then(|it| url.join(it).ok()).filter(|it| may_follow(url, it));
        return next.map_or(Said::Nothing, Said::Elsewhere);
    }
    match kind(&answer.body) {
        Some(kind) if answer.status == StatusCode::OK => Said::Picture(Picture { kind, bytes: answer.body }),
        _ => Said::Nothing,
    }
}

fn may_follow(from: &Url, to: &Url) -> bool {
    let is_secure = to.scheme() == "https" || (to.scheme() == "http" && from.scheme() == "http");
    is_secure && is_same_site(from.host_str().unwrap_or_default(), to.host_str().unwrap_or_default())
}

/// What a picture is, by how it begins: what a server calls it is not asked. SVG is none, it can hold anything.
fn kind(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0, 0, 1, 0, ..] => "image/x-icon",
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f' | b's', ..] => "image/avif",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
