//! What a token is for: the whole hub, or one of its MCP endpoints (RFC 8707, RFC 9728).
//!
//! A hub may be reached under several addresses that mean the same, so what is kept of a resource is its path. Whether
//! an instance exists is not asked here: to somebody who is not signed in every slug looks alike.

use toolgrove_core::name::check_slug;
use url::Url;

use super::scope::Scope;

/// Something that tokens can be for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    Hub,
    Mcp,
    /// One instance's endpoint, by the slug as it was written.
    One(String),
    Sse,
}

impl Resource {
    /// The resource with this path; a slash at the end does not count.
    pub fn with_path(path: &str) -> Option<Self> {
        match path.strip_suffix('/').unwrap_or(path) {
            "" => Some(Self::Hub),
            "/mcp" => Some(Self::Mcp),
            "/sse" => Some(Self::Sse),
            path => {
                let slug = path.strip_prefix("/mcp/i/")?;
                check_slug(slug).ok().map(|()| Self::One(slug.to_owned()))
            }
        }
    }

    /// The resource that a request to this path needs a token for.
    pub fn behind(path: &str) -> Self {
        match path {
            "/sse/message" => Self::Sse,
            path => Self::with_path(path).unwrap_or(Self::Hub),
        }
    }

    /// Reads a `resource` parameter: an address below the hub's own, `base`, that leads to something tokens can be for.
    pub fn named(uri: &str, base: &Url) -> Option<Self> {
        let url = Url::parse(uri).ok()?;
        let is_plain = url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        let path = url.path().strip_prefix(base.path().trim_end_matches('/'))?;
        if is_plain && url.origin() == base.origin() { Self::with_path(path) } else { None }
    }

    /// As it is kept, and as it follows the hub's address.
    pub fn path(&self) -> String {
        match self {
            Self::Hub => String::new(),
            Self::Mcp => "/mcp".into(),
            Self::One(slug) => format!("/mcp/i/{slug}"),
            Self::Sse => "/sse".into(),
        }
    }

    /// Whether a token for this opens the other too.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Hub, _) | (Self::Mcp, Self::Mcp | Self::One(_) | Self::Sse) | (Self::Sse, Self::Sse) => {
                true
            }
            (Self::One(ours), Self::One(theirs)) => ours.eq_ignore_ascii_case(theirs),
            _ => false,
        }
    }

    /// What a client may ask for here.
    pub fn scopes(&self) -> &'static [Scope] {
        match self {
            Self::Hub => &[Scope::Mcp, Scope::Api],
            Self::Mcp | Self::One(_) | Self::Sse => &[Scope::Mcp],
        }
    }

    /// What a request to this path must be allowed to.
    pub fn needs(path: &str) -> Scope {
        if Self::behind(path) == Self::Hub { Scope::Api } else { Scope::Mcp }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_parameter_is_read_with_or_without_its_last_slash() {
        let base = Url::parse("https://hub.example").expect("a URL");
        for (uri, expected) in [
            ("https://hub.example", Some(Resource::Hub)),
            ("https://hub.example/", Some(Resource::Hub)),
            ("https://hub.example/mcp", Some(Resource::Mcp)),
            ("HTTPS://HUB.example/mcp/", Some(Resource::Mcp)),
            ("https://hub.example/sse", Some(Resource::Sse)),
            ("https://hub.example/mcp/i/my-github", Some(Resource::One("my-github".into()))),
            ("https://hub.example/mcp//", None),
            ("https://hub.example/mcp/i/", None),
            ("https://hub.example/mcp/i/a/b", None),
            ("https://hub.example/mcp/i/%61%2F", None),
            ("https://hub.example/api", None),
            ("https://hub.example/mcp?names=single", None),
            ("https://hub.example/mcp#x", None),
            ("https://me@hub.example/mcp", None),
            ("http://hub.example/mcp", None),
            ("https://other.example/mcp", None),
            ("/mcp", None),
            ("", None),
        ] {
            assert_eq!(Resource::named(uri, &base), expected, "{uri}");
        }
        let below = Url::parse("https://hub.example/grove/").expect("a URL");
        assert_eq!(Resource::named("https://hub.example/grove/mcp", &below), Some(Resource::Mcp));
        assert_eq!(Resource::named("https://hub.example/grove", &below), Some(Resource::Hub));
        assert_eq!(Resource::named("https://hub.example/groves/mcp", &below), None);
        assert_eq!(Resource::named("https://hub.example/mcp", &below), None);
    }

    #[test]
    fn a_token_opens_what_lies_below_it_and_nothing_beside_it() {
        let one = |slug: &str| Resource::One(slug.into());
        for (token, opens, shut) in [
            (Resource::Hub, vec![Resource::Hub, Resource::Mcp, one("a"), Resource::Sse], vec![]),
            (Resource::Mcp, vec![Resource::Mcp, one("a"), Resource::Sse], vec![Resource::Hub]),
            (one("a"), vec![one("a"), one("A")], vec![Resource::Hub, Resource::Mcp, one("b"), Resource::Sse]),
            (Resource::Sse, vec![Resource::Sse], vec![Resource::Hub, Resource::Mcp, one("a")]),
        ] {
            assert!(opens.iter().all(|it| token.covers(it)), "{token:?}");
            assert!(!shut.iter().any(|it| token.covers(it)), "{token:?}");
        }
    }

    #[test]
    fn every_path_lies_behind_a_resource_and_needs_a_scope() {
        for (path, resource, scope) in [
            ("/mcp", Resource::Mcp, Scope::Mcp),
            ("/mcp/i/a", Resource::One("a".into()), Scope::Mcp),
            ("/sse", Resource::Sse, Scope::Mcp),
            ("/sse/message", Resource::Sse, Scope::Mcp),
            ("/mcp/i/no such slug", Resource::Hub, Scope::Api),
            ("/api/mcp/tools", Resource::Hub, Scope::Api),
            ("/metrics", Resource::Hub, Scope::Api),
        ] {
            assert_eq!((Resource::behind(path), Resource::needs(path)), (resource, scope), "{path}");
        }
    }
}
