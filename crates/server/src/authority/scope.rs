//! What a connected client may do. Two words, because a person reads them before they allow anything.

use std::fmt;

use super::resource::Resource;

/// One permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// List and call tools, read resources and prompts: everything behind the MCP doors.
    Mcp,
    /// The hub's own API, as far as a member without roles may use it.
    Api,
}

impl Scope {
    pub const ALL: [Self; 2] = [Self::Mcp, Self::Api];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Api => "api",
        }
    }
}

/// A set of permissions, in the order of [`Scope::ALL`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// What a client gets of what it asks for. Words we do not know are left out, as many clients send the same ones
    /// everywhere; nothing is given if none is left. Who asks for nothing in particular gets `mcp`.
    pub fn of_request(text: Option<&str>, resource: &Resource) -> Option<Self> {
        match text.map(str::trim) {
            None | Some("") => Some(Self(vec![Scope::Mcp])),
            Some(text) => {
                let Self(mut scopes) = Self::stored(text);
                scopes.retain(|it| resource.scopes().contains(it));
                if scopes.is_empty() { None } else { Some(Self(scopes)) }
            }
        }
    }

    /// Reads what [`fmt::Display`] wrote.
    pub fn stored(text: &str) -> Self {
        let asked: Vec<&str> = text.split_ascii_whitespace().collect();
        Self(Scope::ALL.into_iter().filter(|it| asked.contains(&it.as_str())).collect())
    }

    pub fn has(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// These and one more: what a client asks for next when one is missing.
    pub fn with(&self, scope: Scope) -> Self {
        Self(Scope::ALL.into_iter().filter(|it| *it == scope || self.has(*it)).collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = Scope> {
        self.0.iter().copied()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_what_it_asks_for_and_the_place_has() {
        for (asked, resource, expected) in [
            (None, Resource::Mcp, Some("mcp")),
            (Some("  "), Resource::Hub, Some("mcp")),
            (Some("mcp"), Resource::Mcp, Some("mcp")),
            (Some("openid mcp offline_access"), Resource::Mcp, Some("mcp")),
            (Some("api mcp api"), Resource::Hub, Some("mcp api")),
            (Some("api mcp"), Resource::Mcp, Some("mcp")),
            (Some("api"), Resource::Mcp, None),
            (Some("admin"), Resource::Hub, None),
            (Some("MCP"), Resource::Hub, None),
        ] {
            let given = Scopes::of_request(asked, &resource).map(|it| it.to_string());
            assert_eq!(given.as_deref(), expected, "{asked:?}");
        }
    }

    #[test]
    fn the_next_request_keeps_what_was_granted() {
        assert_eq!(Scopes::stored("mcp").with(Scope::Api).to_string(), "mcp api");
        assert_eq!(Scopes::stored("").with(Scope::Mcp).to_string(), "mcp");
    }
}
