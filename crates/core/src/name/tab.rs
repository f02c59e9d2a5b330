//! Names of tools that live in browser tabs: `website_tool_<domain>_tab<N>_<tool>`, without `_tab<N>` once the
//! tab is closed and only the cache knows the tool.

use url::{Host, Url};

use super::shorten;

pub fn tab_name(domain: &str, slot: u32, tool: &str) -> String {
    shorten(&format!("website_tool_{}_tab{slot}_{}", sanitize(domain), sanitize(tool)))
}

pub fn cached_tab_name(domain: &str, tool: &str) -> String {
    shorten(&format!("website_tool_{}_{}", sanitize(domain), sanitize(tool)))
}

/// Every character outside `[A-Za-z0-9_]` becomes `_`.
pub fn sanitize(value: &str) -> String {
    value.chars().map(|it| if it.is_ascii_alphanumeric() || it == '_' { it } else { '_' }).collect()
}

pub fn sanitized_domain(url: &str) -> String {
    sanitize(&domain_of(url))
}

/// The host of a page. Pages of this machine are told apart by port, so theirs is written out.
pub fn domain_of(url: &str) -> String {
    let unknown = || "unknown".to_owned();
    let Ok(url) = Url::parse(url.trim()) else {
        return unknown();
    };
    if url.scheme() == "file" {
        return "file".to_owned();
    }
    let local = match url.host() {
        Some(Host::Domain(host)) => host == "localhost",
        Some(Host::Ipv4(ip)) => ip == std::net::Ipv4Addr::LOCALHOST,
        Some(Host::Ipv6(ip)) => ip == std::net::Ipv6Addr::LOCALHOST,
        None => return unknown(),
    };
    match (local, url.port_or_known_default(), url.host_str()) {
        (true, Some(port), _) => format!("localhost:{port}"),
        (_, _, Some(host)) if !host.is_empty() => host.to_owned(),
        _ => unknown(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_domain_is_the_host_except_on_this_machine() {
        let cases = [
            ("https://Example.COM:8443/x", "example.com"),
            ("https://localhost", "localhost:443"),
            ("http://127.0.0.1:8080/x", "localhost:8080"),
            ("file:///home/me/x.html", "file"),
            ("about:blank", "unknown"),
        ];
        for (url, domain) in cases {
            assert_eq!(domain_of(url), domain, "for `{url}`");
        }
    }

    #[test]
    fn names_of_tab_tools_are_plain_and_short() {
        assert_eq!(tab_name("a.b", 2, "get-cart"), "website_tool_a_b_tab2_get_cart");
        assert_eq!(cached_tab_name("a.b", &"x".repeat(99)).len(), 64);
    }
}
