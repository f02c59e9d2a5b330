//! Names: how a tool is called in public, and which slugs, names and URLs we accept.
//!
//! A public name is looked up in the catalogue, never parsed apart; [`decode`] serves error texts and tests.
//! Slugs are in `slug.rs`, names of tab tools in `tab.rs`, server URLs in `url.rs`.

mod slug;
mod tab;
mod url;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use slug::{check_slug, default_slug, next_free, slug_from_name};
pub use tab::{cached_tab_name, domain_of, sanitize, sanitized_domain, tab_name};
pub use url::{check_description, check_name, check_server_url};

/// The longest public name that every client accepts.
pub const NAME_MAX: usize = 64;

/// Which public form a list shows. Calls accept both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// `mcp__<slug>__<tool>`
    #[default]
    Double,
    /// `mcp_<slug>__<tool>`
    Single,
}

impl Profile {
    pub const ALL: [Self; 2] = [Self::Double, Self::Single];

    /// Reads `double` or `single`, as in `?names=` and `names.profile`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Double => "double",
            Self::Single => "single",
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Double => "mcp__",
            Self::Single => "mcp_",
        }
    }
}

/// The public name of a tool: at most 64 characters of `[A-Za-z0-9_-]`.
pub fn encode(profile: Profile, slug: &str, tool: &str) -> String {
    shorten(&format!("{}{slug}__{tool}", profile.prefix()))
}

/// Slug and tool of a public name, or nothing when prefix, slug or tool is missing.
pub fn decode(profile: Profile, name: &str) -> Option<(&str, &str)> {
    let (slug, tool) = name.strip_prefix(profile.prefix())?.split_once("__")?;
    (check_slug(slug).is_ok() && !tool.is_empty()).then_some((slug, tool))
}

/// The first of `wanted`, `wanted_2`, `wanted_3` … that is not taken, still at most 64 characters.
pub fn free_name(wanted: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = wanted.to_owned();
    let mut number = 1;
    while is_taken(&name) {
        number += 1;
        let suffix = format!("_{number}");
        let room = NAME_MAX.saturating_sub(suffix.len());
        name = wanted.chars().take(room).collect::<String>() + &suffix;
    }
    name
}

/// Sanitises, and ends what is too long with a hash of the whole. The hash reads the name as it was, so that
/// two tools that differ only in characters we replace stay apart.
fn shorten(full: &str) -> String {
    let mut name: String = full.chars().map(|it| if is_public(it) { it } else { '_' }).collect();
    if name.len() > NAME_MAX {
        let digest = Sha256::digest(full.as_bytes());
        name.truncate(NAME_MAX - 7);
        name.push('_');
        name.extend(digest.iter().take(3).map(|byte| format!("{byte:02x}")));
    }
    name
}

fn is_public(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_' || it == '-'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn foreign_characters_become_underscores() {
        assert_eq!(encode(Profile::Double, "a", "files/read now.é"), "mcp__a__files_read_now__");
    }

    #[test]
    fn long_names_that_differ_only_in_replaced_characters_stay_apart() {
        let tool = |it: char| it.to_string().repeat(80);
        let [dot, slash] = ['.', '/'].map(|it| encode(Profile::Single, "a", &tool(it)));
        assert_ne!(dot, slash);
        assert_eq!((dot.len(), slash.len()), (64, 64));
    }

    #[test]
    fn a_clash_counts_up_and_stays_short() {
        let wanted = "x".repeat(64);
        let taken = [wanted.clone(), format!("{}_2", "x".repeat(62))];
        let name = free_name(&wanted, |it| taken.iter().any(|taken| taken == it));
        assert_eq!(name, format!("{}_3", "x".repeat(62)));
        assert_eq!(free_name("a", |_| false), "a");
    }

    #[test]
    fn profiles_are_read_by_word() {
        assert_eq!(Profile::parse("single"), Some(Profile::Single));
        assert_eq!(Profile::parse("Double"), None);
    }

    proptest! {
        #[test]
        fn every_public_name_is_short_and_plain(slug in "[A-Za-z0-9-]{1,24}", tool in "\\PC{1,200}") {
            for profile in Profile::ALL {
                let name = encode(profile, &slug, &tool);
                prop_assert!(name.len() <= NAME_MAX && name.chars().all(is_public));
            }
        }
    }
}
