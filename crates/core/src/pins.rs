//! What a tool's definition was when somebody approved it, and what has become of it since.
//!
//! A server may say one thing while it is looked at and another afterwards. A pin is the digest of everything a model
//! reads or a client acts on; [`judge`] holds a fresh list against the pins, [`diff`] shows a person what changed and
//! [`flags`] points at what they might not see. What is done about it (served, held back, refused) is decided by the
//! caller.

mod flags;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use toolgrove_wire::Raw;
use ts_rs::TS;

pub use flags::{Flag, FlagKind, flags};

/// What is pinned. Anything else of a definition may change without anybody being asked.
const PARTS: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// What is done when a tool is not what was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PinPolicy {
    /// Nothing, and nothing is remembered.
    #[default]
    Off,
    /// The new definition is served, and the change shown.
    Warn,
    /// The approved definition is served, and calls are refused until somebody has decided.
    Hold,
}

impl PinPolicy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Hold => "hold",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Off, Self::Warn, Self::Hold].into_iter().find(|it| it.as_str() == text)
    }
}

/// What is remembered of one instance's tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pinned {
    pub policy: PinPolicy,
    pub pins: Vec<Pin>,
    /// Tool → digest of a definition that somebody has refused.
    pub rejected: HashMap<String, String>,
}

impl Pinned {
    pub(crate) fn pin(&self, tool: &str) -> Option<&Pin> {
        self.pins.iter().find(|it| it.tool == tool)
    }

    pub(crate) fn rejects(&self, tool: &str, now: &Raw) -> bool {
        self.rejected.get(tool).is_some_and(|it| *it == digest(now))
    }
}

/// How a tool differs from what was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// What was approved. None: nothing like it.
    pub before: Option<Raw>,
    /// What the server says now.
    pub now: Raw,
    /// The name under which it was approved.
    pub renamed_from: Option<String>,
    /// The server lists it under another name now; it is kept to say so.
    pub moved_to: Option<String>,
    /// Somebody has refused the new definition.
    pub rejected: bool,
    /// Calls are refused.
    pub held: bool,
}

/// A definition that was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    pub tool: String,
    pub digest: String,
    pub raw: Raw,
}

impl Pin {
    /// None for a definition without a name.
    pub fn of(raw: &Raw) -> Option<Self> {
        Some(Self { tool: raw.get_text("name")?, digest: digest(raw), raw: raw.clone() })
    }
}

/// What a listed tool is, held against the pins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Verdict {
    Same,
    /// It has the name of an approved tool, but is another one.
    Changed,
    /// It was an approved tool under another name, or says so.
    Renamed {
        from: String,
    },
    /// Nobody has approved anything like it.
    New,
}

/// A list held against the pins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// In the order of the list.
    pub tools: Vec<(String, Verdict)>,
    /// Approved, and not listed any more under that name.
    pub gone: Vec<String>,
}

impl Judgement {
    /// Whether every listed tool is as it was approved.
    pub fn is_clean(&self) -> bool {
        self.tools.iter().all(|(_, verdict)| *verdict == Verdict::Same)
    }
}

/// Judges every tool of a list. Entries without a name are left out.
pub fn judge(pins: &[Pin], listed: &[Raw]) -> Judgement {
    let named: Vec<_> = listed.iter().filter_map(|it| Some((it.get_text("name")?, it))).collect();
    let names: HashSet<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
    let mut gone: Vec<&Pin> = pins.iter().filter(|it| !names.contains(it.tool.as_str())).collect();
    let tools = named
        .iter()
        .map(|(name, raw)| {
            let verdict = match pins.iter().find(|it| it.tool == *name) {
                Some(pin) if pin.digest == digest(raw) => Verdict::Same,
                Some(_) => Verdict::Changed,
                None => match gone.iter().position(|it| is_like(&it.raw, raw)) {
                    Some(place) => Verdict::Renamed { from: gone.remove(place).tool.clone() },
                    None => Verdict::New,
                },
            };
            (name.clone(), verdict)
        })
        .collect();
    let gone = pins.iter().filter(|it| !names.contains(it.tool.as_str())).map(|it| it.tool.clone()).collect();
    Judgement { tools, gone }
}

/// SHA-256 over the pinned parts in one fixed form: neither white space nor the order of keys counts.
pub fn digest(raw: &Raw) -> String {
    let mut text = String::new();
    for part in PARTS {
        if let Some(value) = raw.get(part) {
            text.push_str(part);
            text.push(':');
            canonical(&value, &mut text);
            text.push('\n');
        }
    }
    let digit = |it: u8| char::from_digit(it.into(), 16).unwrap_or_default();
    Sha256::digest(text).iter().flat_map(|it| [digit(it >> 4), digit(it & 15)]).collect()
}

/// One place where two definitions differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub struct Difference {
    /// A JSON pointer such as `/inputSchema/properties/city`.
    pub pointer: String,
    /// Texts as they read, anything else as JSON. None: it was not there.
    pub before: Option<String>,
    pub after: Option<String>,
    /// What is odd about the new text.
    pub flags: Vec<Flag>,
}

/// Every difference between the pinned parts of two definitions, in a fixed order.
pub fn diff(before: &Raw, after: &Raw) -> Vec<Difference> {
    let mut differences = Vec::new();
    for part in PARTS {
        compare(&format!("/{part}"), before.get(part), after.get(part), &mut differences);
    }
    differences
}

fn compare(pointer: &str, before: Option<Raw>, after: Option<Raw>, differences: &mut Vec<Difference>) {
    match (&before, &after) {
        (Some(old), Some(new)) if fixed(old) == fixed(new) => return,
        (Some(old), Some(new)) if old.is_object() && new.is_object() => {
            let (old, new) = (members(old), members(new));
            let mut keys: Vec<_> = old.iter().chain(&new).map(|(key, _)| key).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let find = |members: &[(String, Raw)]| {
                    members.iter().find(|(it, _)| it == key).map(|(_, value)| value.clone())
                };
                let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                compare(&pointer, find(&old), find(&new), differences);
            }
            return;
        }
        (None, None) => return,
        _ => {}
    }
    let readable = |it: &Raw| it.text().map_or_else(|| fixed(it), Cow::into_owned);
    differences.push(Difference {
        pointer: pointer.to_owned(),
        before: before.as_ref().map(readable),
        after: after.as_ref().map(readable),
        flags: after.iter().flat_map(texts).flat_map(|it| flags(&it)).collect(),
    });
}

/// The same tool by all but its name: equal definition, equal schema with something in it, or equal description.
fn is_like(old: &Raw, new: &Raw) -> bool {
    let part = |raw: &Raw, key: &str| raw.get(key).map(|it| fixed(&it));
    if PARTS.iter().skip(1).all(|it| part(old, it) == part(new, it)) {
        return true;
    }
    let says = |key: &str, empty: &[&str]| {
        let (old, new) = (part(old, key), part(new, key));
        old.is_some() && old == new && !empty.contains(&old.as_deref().unwrap_or_default())
    };
    let plain = [r#"{"type":"object"}"#, r#"{"properties":{},"type":"object"}"#, "{}"];
    says("inputSchema", &plain) || says("description", &[r#""""#])
}

fn members(raw: &Raw) -> Vec<(String, Raw)> {
    let mut members: Vec<_> = raw.members().map(|it| (it.key().into_owned(), it.value())).collect();
    members.sort_by(|a, b| a.0.cmp(&b.0));
    members
}

fn fixed(raw: &Raw) -> String {
    let mut text = String::new();
    canonical(raw, &mut text);
    text
}

/// JSON with sorted keys and without white space. Numbers keep their text: no reading of them can lose anything.
fn canonical(raw: &Raw, out: &mut String) {
    if raw.is_object() {
        out.push('{');
        for (place, (key, value)) in members(raw).iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            out.push_str(&Value::from(key.as_str()).to_string());
            out.push(':');
            canonical(value, out);
        }
        out.push('}');
    } else if raw.is_array() {
        out.push('[');
        for (place, item) in raw.items().enumerate() {
            if place > 0 {
                out.push(',');
            }
            canonical(&item, out);
        }
        out.push(']');
    } else {
        match raw.text() {
            Some(text) => out.push_str(&Value::from(text.as_ref()).to_string()),
            None => out.push_str(raw.as_str()),
        }
    }
}

/// Every text in a value, keys too: models read them all.
fn texts(raw: &Raw) -> Vec<String> {
    if raw.is_object() {
        return members(raw)
            .iter()
            .flat_map(|(key, value)| [vec![key.clone()], texts(value)].concat())
            .collect();
    }
    if raw.is_array() {
        return raw.items().flat_map(|it| texts(&it)).collect();
    }
    raw.text().map(Cow::into_owned).into_iter().collect()
}

#[cfg(test)]
mod tests;
