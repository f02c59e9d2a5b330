//! How an instance shows a server who it is. The admin of a server names the places, each person gives the values.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::import::check_header;
use crate::{Error, Secret};

/// The three ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum AuthType {
    #[default]
    Public,
    Header,
    Oauth,
}

impl AuthType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Header => "header",
            Self::Oauth => "oauth",
        }
    }

    /// As it is stored; what is not known is shown nothing.
    pub fn parse(word: &str) -> Self {
        [Self::Header, Self::Oauth].into_iter().find(|it| it.as_str() == word).unwrap_or_default()
    }
}

/// Where a value stands in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
#[ts(rename = "AuthPlace")]
pub enum Place {
    Header,
    Query,
}

/// One named place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct AuthEntry {
    #[serde(rename = "in")]
    pub place: Place,
    pub key: String,
}

impl AuthEntry {
    /// Whether two names mean the same place. One name stands for one value, wherever that goes.
    fn is(&self, other: &Self) -> bool {
        self.key.eq_ignore_ascii_case(&other.key)
    }
}

const MOST: usize = 8;
const LONGEST: usize = 100;

/// Whether an admin may name these.
pub fn check_entries(entries: &[AuthEntry]) -> Result<(), Error> {
    if entries.is_empty() || entries.len() > MOST {
        return Err(Error::Request(format!("name 1 to {MOST} headers or query parameters")));
    }
    for (n, entry) in entries.iter().enumerate() {
        let AuthEntry { place, key } = entry;
        let length = key.chars().count();
        if length == 0 || length > LONGEST {
            return Err(Error::Request(format!("a key has 1 to {LONGEST} characters")));
        }
        match place {
            Place::Header => check_header(key, "").map_err(Error::ServerConfig)?,
            Place::Query if key.chars().any(|it| it.is_control() || it.is_whitespace()) => {
                return Err(Error::Request(format!("`{key}` is not a query parameter")));
            }
            Place::Query => {}
        }
        if entries[..n].iter().any(|it| it.is(entry)) {
            return Err(Error::Request(format!("`{key}` is named twice")));
        }
    }
    Ok(())
}

/// Whether a person may give this value for that place.
pub fn check_value(entry: &AuthEntry, value: &Secret) -> Result<(), Error> {
    match entry.place {
        Place::Header => check_header(&entry.key, value.reveal()).map_err(Error::ServerConfig),
        Place::Query => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> AuthEntry {
        let (place, key) = text.split_once(' ').expect("a place and a key");
        let place = if place == "header" { Place::Header } else { Place::Query };
        AuthEntry { place, key: key.to_owned() }
    }

    #[track_caller]
    fn check(entries: &[&str], expected: &str) {
        let entries: Vec<_> = entries.iter().map(|it| entry(it)).collect();
        let said = check_entries(&entries).map_or_else(|it| it.to_string(), |()| "accepted".into());
        assert_eq!(said, expected, "{entries:?}");
    }

    #[test]
    fn an_admin_names_one_to_eight_places() {
        check(&["header X-API-Key"], "accepted");
        check(&["header Authorization", "query api_key"], "accepted");
        check(&[], "name 1 to 8 headers or query parameters");
        let nine: Vec<_> = (0..9).map(|n| format!("query k{n}")).collect();
        check(
            &nine.iter().map(String::as_str).collect::<Vec<_>>(),
            "name 1 to 8 headers or query parameters",
        );
    }

    #[test]
    fn what_is_ours_and_what_is_no_name_is_refused() {
        for name in ["Host", "content-type", "ACCEPT", "Connection", "Mcp-Session-Id", "MCP-Protocol-Version"]
        {
            check(&[&format!("header {name}")], &format!("header `{name}` is set by Toolgrove"));
        }
        check(&["header a b"], "`a b` is not a header name");
        check(&["query a b"], "`a b` is not a query parameter");
        check(&["query "], "a key has 1 to 100 characters");
        check(&["header X-Key", "header x-key"], "`x-key` is named twice");
        check(&["header key", "query key"], "`key` is named twice");
    }

    #[test]
    fn a_header_value_is_one_line() {
        let (header, query) = (entry("header X-Key"), entry("query k"));
        assert!(check_value(&header, &Secret::new("Bearer x")).is_ok());
        assert!(check_value(&query, &Secret::new("a\nb")).is_ok());
        let refused = check_value(&header, &Secret::new("a\r\nHost: b")).expect_err("two lines");
        assert_eq!(refused.to_string(), "the value of header `X-Key` holds a control character");
    }
}
