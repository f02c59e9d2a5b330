//! What is accepted as a server's URL, name and description. Nothing is asked over the network.

use url::Url;

use crate::Error;

const SCHEMES: [&str; 6] = ["http", "https", "unix", "pipe", "bud", "wasm"];
const URL_MAX: usize = 2048;

/// Trims and parses. Any address of a scheme that some link speaks will do; whether it answers is not asked.
pub fn check_server_url(url: &str) -> Result<Url, Error> {
    let url = url.trim();
    let refused = || Error::ServerUrl { url: url.chars().take(200).collect() };
    if url.is_empty() || url.len() > URL_MAX {
        return Err(refused());
    }
    let parsed = Url::parse(url).map_err(|_| refused())?;
    let has_place = match parsed.scheme() {
        "unix" | "pipe" => !parsed.path().trim_matches('/').is_empty(),
        _ => parsed.host_str().is_some_and(|it| !it.is_empty()),
    };
    if SCHEMES.contains(&parsed.scheme()) && has_place { Ok(parsed) } else { Err(refused()) }
}

pub fn check_name(name: &str) -> Result<(), Error> {
    match name.chars().count() {
        1..=100 => Ok(()),
        _ => Err(Error::Request("a name has 1 to 100 characters".into())),
    }
}

pub fn check_description(description: &str) -> Result<(), Error> {
    match description.chars().count() {
        0..=255 => Ok(()),
        _ => Err(Error::Request("a description has at most 255 characters".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_every_link_kind_are_accepted_and_trimmed() {
        for url in [
            " https://mcp.deepwiki.com/mcp ",
            "http://does-not-resolve.invalid",
            "unix:///run/x.sock#/mcp",
            "pipe:////./pipe/x",
            "bud://home/lawyer",
            "wasm://abc",
        ] {
            assert!(check_server_url(url).is_ok(), "`{url}`");
        }
    }

    #[test]
    fn what_is_no_server_url_is_named() {
        let long = format!("http://x/{}", "a".repeat(2048));
        for url in ["", "  ", "unix:///", "bud:", "http://", "data:text/plain,x", &long] {
            let error = check_server_url(url).unwrap_err();
            assert_eq!(error.code(), "server.url", "`{url}`");
        }
        let error = check_server_url(" file:///etc/passwd ").unwrap_err();
        assert_eq!(error.to_string(), "not a server URL: `file:///etc/passwd`");
    }

    #[test]
    fn names_and_descriptions_have_limits() {
        assert!(check_name("").is_err() && check_name(&"é".repeat(100)).is_ok());
        assert!(check_name(&"é".repeat(101)).is_err());
        assert!(check_description("").is_ok() && check_description(&"x".repeat(256)).is_err());
    }
}
