//! The revisions from 2024-11-05 to 2025-11-25: sessions opened by `initialize`, translated to and from modern.

use serde_json::json;

use crate::modern::{HOP_KEYS, Implementation};
use crate::{Edit, Raw};

/// A legacy revision. They compare by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
}

impl Version {
    pub const LATEST: Self = Self::V2025_11_25;
    pub const ALL: [Self; 4] = [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
        }
    }

    /// Only this revision has JSON-RPC batches.
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// From 2025-06-18 on every request after `initialize` names the revision in a header.
    pub fn sends_version_header(self) -> bool {
        self >= Self::V2025_06_18
    }
}

/// The parameters of `initialize`.
pub fn initialize_params(version: &str, capabilities: &Raw, client: &Implementation) -> Raw {
    let params = Raw::of(&json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": {} }));
    Edit::of(&params).set("capabilities", capabilities.clone()).set("clientInfo", client.raw()).done()
}

/// A result as a legacy client may see it: what only modern peers know is taken off.
pub fn result_for_client(result: &Raw) -> Raw {
    let modern = ["resultType", "ttlMs", "cacheScope"];
    let (mut edit, mut changed) = (Edit::of(result), false);
    let mut meta = None;
    for member in result.members() {
        let key = member.key();
        if let Some(key) = modern.iter().find(|it| **it == key) {
            edit = edit.remove(key);
            changed = true;
        } else if key == "_meta" {
            meta = Some(member.value());
        }
    }
    if let Some(meta) = meta.filter(|it| it.members().any(|it| HOP_KEYS.contains(&&*it.key()))) {
        let kept = HOP_KEYS.iter().fold(Edit::of(&meta), |edit, key| edit.remove(key)).done();
        edit = if kept.members().next().is_none() { edit.remove("_meta") } else { edit.set("_meta", kept) };
        changed = true;
    }
    if changed { edit.done() } else { result.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legacy_client_sees_nothing_modern() {
        let result = Raw::parse(
            r#"{"resultType":"complete","tools":[ ],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{},"k":1}}"#,
        )
        .expect("valid");
        assert_eq!(result_for_client(&result).as_str(), r#"{"tools":[ ],"_meta":{"k":1}}"#);
        let plain = Raw::parse(r#"{"tools":[ ]}"#).expect("valid");
        assert_eq!(result_for_client(&plain), plain);
    }

    #[test]
    fn revisions_compare_by_age() {
        assert!(Version::V2024_11_05 < Version::LATEST);
        assert!(Version::ALL.is_sorted());
        assert_eq!(Version::parse("2025-03-26"), Some(Version::V2025_03_26));
        assert_eq!(Version::parse("2026-07-28"), None);
    }
}
