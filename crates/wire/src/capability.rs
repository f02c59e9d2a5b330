//! What a client can do for a server: the part of its capabilities that decides which questions may reach it.

use serde_json::{Map, Value, json};

use crate::Raw;
use crate::legacy::Version;

/// A set of abilities. Small and comparable, because legacy links are kept apart by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Abilities(u8);

impl Abilities {
    pub const NONE: Self = Self(0);
    pub const FORM: Self = Self(1);
    pub const URL: Self = Self(2);
    pub const SAMPLING: Self = Self(4);
    pub const SAMPLING_TOOLS: Self = Self(8);
    pub const SAMPLING_CONTEXT: Self = Self(16);
    pub const ROOTS: Self = Self(32);
    pub const APPS: Self = Self(64);
    pub const TASKS: Self = Self(128);

    /// Everything a legacy server may be told of.
    pub const ALL_LEGACY: Self = Self(127);

    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the client can be asked anything at all.
    pub fn can_be_asked(self) -> bool {
        self.0 & (Self::FORM.0 | Self::URL.0 | Self::SAMPLING.0 | Self::ROOTS.0) != 0
    }

    /// Reads `clientCapabilities` of a modern request.
    pub fn read(capabilities: &Raw) -> Self {
        let mut abilities = Self::NONE;
        if let Some(elicitation) = capabilities.get("elicitation") {
            let (form, url) = (elicitation.get("form").is_some(), elicitation.get("url").is_some());
            // An empty object means forms only.
            if form || !url {
                abilities = abilities.with(Self::FORM);
            }
            if url {
                abilities = abilities.with(Self::URL);
            }
        }
        if let Some(sampling) = capabilities.get("sampling") {
            abilities = abilities.with(Self::SAMPLING);
            if sampling.get("tools").is_some() {
                abilities = abilities.with(Self::SAMPLING_TOOLS);
            }
            if sampling.get("context").is_some() {
                abilities = abilities.with(Self::SAMPLING_CONTEXT);
            }
        }
        if capabilities.get("roots").is_some() {
            abilities = abilities.with(Self::ROOTS);
        }
        if let Some(extensions) = capabilities.get("extensions") {
            if extensions.get(APPS).is_some() {
                abilities = abilities.with(Self::APPS);
            }
            if extensions.get(TASKS).is_some() {
                abilities = abilities.with(Self::TASKS);
            }
        }
        abilities
    }

    /// Reads the capabilities of `initialize`: a revision has only what it knew.
    pub fn read_legacy(capabilities: &Raw, version: Version) -> Self {
        let mut abilities = Self::read(capabilities).without(Self::TASKS);
        if version < Version::V2025_06_18 {
            abilities = abilities.without(Self::FORM).without(Self::URL);
        }
        if version < Version::V2025_11_25 {
            abilities =
                abilities.without(Self::URL).without(Self::SAMPLING_TOOLS).without(Self::SAMPLING_CONTEXT);
        }
        abilities
    }

    /// As the hub declares them to a server of this era.
    pub fn declare(self, era: Declared) -> Raw {
        let mut all = Map::new();
        let mut elicitation = Map::new();
        if self.has(Self::FORM) {
            elicitation.insert("form".into(), json!({}));
        }
        if self.has(Self::URL) {
            elicitation.insert("url".into(), json!({}));
        }
        if !elicitation.is_empty() {
            // Revisions before `url` know no modes.
            let plain = era == Declared::Legacy && !self.has(Self::URL);
            all.insert("elicitation".into(), if plain { json!({}) } else { Value::Object(elicitation) });
        }
        if self.has(Self::SAMPLING) {
            let mut sampling = Map::new();
            if self.has(Self::SAMPLING_TOOLS) {
                sampling.insert("tools".into(), json!({}));
            }
            if self.has(Self::SAMPLING_CONTEXT) {
                sampling.insert("context".into(), json!({}));
            }
            all.insert("sampling".into(), Value::Object(sampling));
        }
        if self.has(Self::ROOTS) {
            let roots = if era == Declared::Legacy { json!({ "listChanged": true }) } else { json!({}) };
            all.insert("roots".into(), roots);
        }
        let mut extensions = Map::new();
        if self.has(Self::APPS) {
            extensions.insert(APPS.into(), json!({ "mimeTypes": ["text/html;profile=mcp-app"] }));
        }
        if self.has(Self::TASKS) && era == Declared::Modern {
            extensions.insert(TASKS.into(), json!({}));
        }
        if !extensions.is_empty() {
            all.insert("extensions".into(), Value::Object(extensions));
        }
        Raw::of(&all)
    }
}

/// For which era capabilities are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    Legacy,
    Modern,
}

pub const APPS: &str = "io.modelcontextprotocol/ui";
pub const TASKS: &str = "io.modelcontextprotocol/tasks";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Abilities {
        Abilities::read(&Raw::parse(text).expect("valid"))
    }

    #[test]
    fn an_empty_elicitation_means_forms_only() {
        assert_eq!(read(r#"{"elicitation":{}}"#), Abilities::FORM);
        assert_eq!(read(r#"{"elicitation":{"url":{}}}"#), Abilities::URL);
        assert_eq!(read(r#"{"elicitation":{"form":{},"url":{}}}"#), Abilities::FORM.with(Abilities::URL));
    }

    #[test]
    fn a_revision_has_only_what_it_knew() {
        let all = Raw::parse(
            r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{}}"#,
        )
        .expect("valid");
        let of = |version| Abilities::read_legacy(&all, version);
        assert_eq!(of(Version::V2025_03_26), Abilities::SAMPLING.with(Abilities::ROOTS));
        assert_eq!(
            of(Version::V2025_06_18),
            Abilities::SAMPLING.with(Abilities::ROOTS).with(Abilities::FORM)
        );
        assert_eq!(of(Version::V2025_11_25), Abilities::read(&all));
    }

    #[test]
    fn what_is_declared_reads_back() {
        for bits in 0..=255_u8 {
            let abilities = Abilities(bits);
            let sensible = abilities.has(Abilities::SAMPLING)
                || (!abilities.has(Abilities::SAMPLING_TOOLS) && !abilities.has(Abilities::SAMPLING_CONTEXT));
            if sensible {
                assert_eq!(Abilities::read(&abilities.declare(Declared::Modern)), abilities);
            }
        }
        assert_eq!(Abilities::FORM.declare(Declared::Legacy).as_str(), r#"{"elicitation":{}}"#);
    }
}
