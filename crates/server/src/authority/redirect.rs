//! Where an answer is sent: only to an address the client named beforehand.
//!
//! Addresses are compared as text. The one exception is the port of a program on the person's own machine, which it
//! does not know beforehand (RFC 8252, 7.3). Custom schemes are accepted, because editors in wide use have no other
//! way back; where an answer goes is always shown to the person.

use std::net::IpAddr;

use url::{Host, Url};

const MAX: usize = 2048;
/// Schemes that a browser or an operating system gives a meaning of its own.
const NOT_APPS: [&str; 22] = [
    "about",
    "blob",
    "chrome",
    "chrome-extension",
    "content",
    "data",
    "file",
    "filesystem",
    "ftp",
    "intent",
    "jar",
    "javascript",
    "mailto",
    "moz-extension",
    "ms-its",
    "sms",
    "tel",
    "urn",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];

/// An address that answers may be sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    text: String,
    url: Url,
}

/// What stands at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    Site,
    /// A program on the machine that the browser runs on; any program there can listen.
    Loopback,
    /// An app that the machine knows by its scheme; any app can claim one.
    App,
}

impl Redirect {
    /// Reads an address that a client names. The sentence says what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("`{text}` {why}"));
        if text.len() > MAX {
            return Err(format!("a redirect address may have at most {MAX} characters"));
        }
        let Ok(url) = Url::parse(text) else { return wrong("is not an address") };
        if text.chars().any(|it| it.is_control() || it.is_whitespace()) {
            return wrong("has characters that an address cannot have");
        }
        if url.fragment().is_some() {
            return wrong("has a fragment");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return wrong("has a user name");
        }
        let redirect = Self { text: text.to_owned(), url };
        match (redirect.url.scheme(), redirect.destination()) {
            ("http", Destination::Site) => wrong("is neither https nor on the person's own machine"),
            (scheme, Destination::App) if NOT_APPS.contains(&scheme) || redirect.url.cannot_be_a_base() => {
                wrong("is not an address of an app")
            }
            _ => Ok(redirect),
        }
    }

    /// Whether an answer may be sent to `asked`, which a request names, because this was registered.
    pub fn admits(&self, asked: &Self) -> bool {
        self.text == asked.text
            || self.is_loopback()
                && asked.is_loopback()
                && [self.url.scheme(), asked.url.scheme()] == ["http"; 2]
                && self.url.host() == asked.url.host()
                && self.url.path() == asked.url.path()
                && self.url.query() == asked.url.query()
    }

    pub fn destination(&self) -> Destination {
        match self.url.scheme() {
            "http" | "https" if self.is_loopback() => Destination::Loopback,
            "http" | "https" => Destination::Site,
            _ => Destination::App,
        }
    }

    fn is_loopback(&self) -> bool {
        match self.url.host() {
            _ if !matches!(self.url.scheme(), "http" | "https") => false,
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(it)) => IpAddr::from(it).is_loopback(),
            Some(Host::Ipv6(it)) => IpAddr::from(it).is_loopback(),
            None => false,
        }
    }

    /// The name a person knows the other end by.
    pub fn place(&self) -> String {
        match (self.destination(), self.url.host_str()) {
            (Destination::App, _) | (_, None) => format!("{}:", self.url.scheme()),
            (_, Some(host)) => {
                self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
            }
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The address with an answer in its query; what was in it stays.
    pub fn with(&self, answer: &[(&str, &str)]) -> String {
        let mut url = self.url.clone();
        url.query_pairs_mut().extend_pairs(answer);
        url.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_a_client_may_name() {
        for (text, destination, place) in [
            ("https://claude.ai/api/mcp/auth_callback", Destination::Site, "claude.ai"),
            ("https://a.example:8443/cb?x=1", Destination::Site, "a.example:8443"),
            ("http://127.0.0.1:33418/", Destination::Loopback, "127.0.0.1:33418"),
            ("http://127.0.0.1/cb", Destination::Loopback, "127.0.0.1"),
            ("http://[::1]:9/cb", Destination::Loopback, "[::1]:9"),
            ("http://localhost/cb", Destination::Loopback, "localhost"),
            ("cursor://anysphere.cursor-retrieval/oauth/callback", Destination::App, "cursor:"),
            ("com.example.app:/cb", Destination::App, "com.example.app:"),
        ] {
            let redirect = Redirect::read(text).unwrap_or_else(|it| panic!("{text}: {it}"));
            assert_eq!((redirect.destination(), redirect.place().as_str()), (destination, place), "{text}");
        }
    }

    #[test]
    fn addresses_nobody_may_name() {
        for text in [
            "",
            "/cb",
            "http://example.com/cb",
            "http://127.0.0.1.example.com/cb",
            "http://localhost.example.com/cb",
            "https://example.com/cb#x",
            "https://me:secret@example.com/cb",
            "https://example.com/c b",
            "https://example.com/cb\r\nSet-Cookie: x",
            "javascript:alert(1)",
            "javascript://example.com/%0aalert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "mailto:me@example.com",
            "wss://example.com/",
            "app:opaque",
            &format!("https://example.com/{}", "x".repeat(MAX)),
        ] {
            assert!(Redirect::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_the_port_of_the_own_machine_may_differ() {
        for (registered, asked, expected) in [
            ("https://a.example/cb", "https://a.example/cb", true),
            ("https://a.example/cb", "https://a.example/cb/", false),
            ("https://a.example/cb", "https://a.example:443/cb", false),
            ("https://a.example/cb", "https://a.example/cb?x=1", false),
            ("https://a.example/cb", "https://A.example/cb", false),
            ("https://a.example/cb", "https://a.example:8443/cb", false),
            ("https://a.example/cb", "https://a.example.evil/cb", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:51234/cb", true),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", true),
            ("http://localhost:1/cb", "http://localhost:2/cb", true),
            ("http://[::1]/cb", "http://[::1]:2/cb", true),
            ("http://localhost/cb", "http://127.0.0.1/cb", false),
            ("http://127.0.0.1/cb", "http://127.0.0.2/cb", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:2/other", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:2/cb?x=1", false),
            ("http://127.0.0.1/cb", "https://127.0.0.1/cb", false),
            ("https://127.0.0.1:1/cb", "https://127.0.0.1:2/cb", false),
            ("app://a/cb", "app://a/cb", true),
            ("app://a/cb", "app://a:1/cb", false),
        ] {
            let read = |it| Redirect::read(it).unwrap_or_else(|why| panic!("{why}"));
            assert_eq!(read(registered).admits(&read(asked)), expected, "{registered} {asked}");
        }
    }

    #[test]
    fn an_answer_joins_the_query_that_is_there() {
        let with = |text| Redirect::read(text).expect("an address").with(&[("state", "a&b"), ("code", "x")]);
        assert_eq!(with("https://a.example/cb?x=1"), "https://a.example/cb?x=1&state=a%26b&code=x");
        assert_eq!(with("cursor://a/cb"), "cursor://a/cb?state=a%26b&code=x");
        assert_eq!(with("com.example.app:/cb"), "com.example.app:/cb?state=a%26b&code=x");
    }
}
