//! Every secret that a test shows to a hub, or gets from one, is remembered. Each answer is searched for those that were
//! known before it; when a hub is gone, so are its data folder, its log and what it printed.
//!
//! A secret may stand in the answer that first shows it, in what a tool says to its caller, in an export that asks for
//! it, and in the three files that are made for it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE, LOCATION, SET_COOKIE};
use serde_json::Value;

/// Shorter ones would be found by chance.
const SHORTEST: usize = 8;
/// The files whose purpose is a secret.
const KEYS: [&str; 3] = ["key", "secret.key", "tabs.json"];
/// Members that hold a secret wherever they stand.
const MEMBERS: [&str; 4] = ["access_token", "client_secret", "refresh_token", "token"];
/// Members that hold one in what is sent.
const SENT: [&str; 4] = ["code_verifier", "current", "new", "password"];
/// Members all of whose values are secrets.
const MAPS: [&str; 3] = ["credentials", "env", "headers"];

static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// From now on this stands nowhere.
pub(crate) fn hide(secret: &str) {
    let secret = secret.strip_prefix("Bearer ").unwrap_or(secret);
    if secret.len() >= SHORTEST && !secret.contains("${") {
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(secret.to_owned());
    }
}

/// Fails if one of them stands in a text. What somebody wrote into an address themselves may come back to them.
pub(crate) fn search(place: &str, text: &str) {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for secret in known.iter().filter(|it| !place.contains(it.as_str())) {
        if let Some(at) = text.find(secret.as_str()) {
            let before: Vec<char> = text[..at].chars().rev().take(200).collect();
            let before: String = before.into_iter().rev().collect();
            panic!("{place}: `{secret}` stands after this: {before}");
        }
    }
}

/// Remembers what a request shows.
pub(crate) fn sent(path: &str, headers: &HeaderMap, body: &[u8]) {
    learn_link(path);
    for value in [AUTHORIZATION, COOKIE].iter().filter_map(|it| headers.get(it)?.to_str().ok()) {
        hide(value.split_once('=').map_or(value, |it| it.1));
    }
    match serde_json::from_slice(body) {
        Ok(json) => learn(&json, From::Us),
        Err(_) => url::form_urlencoded::parse(body).for_each(|(name, value)| {
            // A form's own token stands in every page that has the form.
            if name == "code" || (MEMBERS.contains(&&*name) && name != "token") || SENT.contains(&&*name) {
                hide(&value);
            }
        }),
    }
}

/// Searches an answer, and remembers what it shows for the first time.
pub(crate) fn answered(path: &str, headers: &HeaderMap, body: &[u8]) {
    let place = path.split('?').next().unwrap_or_default();
    let is_tool = ["/mcp", "/sse", "/api/mcp/call", "/api/mcp/xml"].iter().any(|it| place.starts_with(it));
    let location = headers.get(LOCATION).and_then(|it| it.to_str().ok()).unwrap_or_default();
    if !is_tool && place != "/ui/join" && !path.contains("secrets=true") {
        search(path, location);
        search(path, &String::from_utf8_lossy(body));
    }
    for cookie in headers.get_all(SET_COOKIE).iter().filter_map(|it| it.to_str().ok()) {
        let value = cookie.split(';').next().unwrap_or_default();
        hide(value.split_once('=').map_or("", |it| it.1));
    }
    learn_link(location);
    if let (false, Ok(json)) = (is_tool, serde_json::from_slice(body)) {
        learn(&json, From::Hub);
    }
}

/// Searches one event of a stream.
pub(crate) fn heard(place: &str, event: &str) {
    search(place, event);
}

#[derive(Clone, Copy, PartialEq)]
enum From {
    Us,
    Hub,
}

fn learn(json: &Value, from: From) {
    match json {
        Value::Array(items) => items.iter().for_each(|it| learn(it, from)),
        Value::Object(members) => members.iter().for_each(|(name, value)| match (from, value) {
            (_, Value::String(text)) if MEMBERS.contains(&name.as_str()) => hide(text),
            (From::Us, Value::String(text)) if SENT.contains(&name.as_str()) => hide(text),
            (From::Us, Value::String(text)) if name == "text" => {
                if let Ok(inner) = serde_json::from_str(text) {
                    learn(&inner, from);
                }
            }
            (From::Hub, Value::String(text)) if name == "url" => learn_link(text),
            (From::Us, Value::Object(inner)) if MAPS.contains(&name.as_str()) => {
                inner.values().filter_map(Value::as_str).for_each(hide);
            }
            (_, other) => learn(other, from),
        }),
        _ => {}
    }
}

fn learn_link(link: &str) {
    if let Some((_, query)) = link.split_once('?') {
        url::form_urlencoded::parse(query.as_bytes()).filter(|it| it.0 == "code").for_each(|it| hide(&it.1));
    }
}

/// Searches what a hub leaves behind, when it is dropped.
pub(crate) struct Watch(pub(crate) PathBuf);

impl Drop for Watch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        left_behind(&self.0);
        let printed = read(&self.0.join("hub.out"));
        // A link is printed to be opened, and what a client is to show to be copied.
        let is_meant = |it: &&str| it.contains("code=") || it.contains("Authorization");
        printed.lines().filter(|it| !is_meant(it)).for_each(|it| search("what it printed", it));
    }
}

/// Searches the data folder of a hub and its log.
pub(crate) fn left_behind(place: &Path) {
    for file in files(&place.join("data")) {
        let name = file.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        if KEYS.contains(&name) {
            let mode = fs::metadata(&file).map_or(0o600, |it| it.permissions().mode() & 0o777);
            assert_eq!(mode, 0o600, "{}", file.display());
        } else {
            search(name, &read(&file));
        }
    }
    search("the log", &read(&place.join("hub.log")));
}

fn read(file: &Path) -> String {
    fs::read(file).map(|it| String::from_utf8_lossy(&it).into_owned()).unwrap_or_default()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = |it: fs::DirEntry| match it.file_type() {
        Ok(kind) if kind.is_dir() => files(&it.path()),
        Ok(kind) if kind.is_file() => vec![it.path()],
        _ => Vec::new(),
    };
    entries.flat_map(below).collect()
}
