//! Where the hub may connect to on somebody's behalf. Names and addresses in, a verdict out; nothing is looked up here.
//!
//! Two walls, both before a byte is sent. The [`Allowlist`] of a workspace knows names. The [`Guard`] knows addresses: a
//! hub for several people must not be a way into the network it stands in, so it refuses what is not public unless
//! `[net] allow_private` lets it through. Whoever connects asks about the very address they connect to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use ipnet::IpNet;
use serde_json::Value;
use url::Host;

use crate::Error;
use crate::config::{Config, Mode};

/// A host by name, or everything below a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPattern {
    Exact(String),
    /// `*.example.com`: its subdomains at any depth, not itself.
    Below(String),
}

impl HostPattern {
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim().strip_prefix("*.") {
            Some(domain) => match Host::parse(domain).ok()? {
                Host::Domain(domain) => Some(Self::Below(format!(".{}", plain(&domain)))),
                Host::Ipv4(_) | Host::Ipv6(_) => None,
            },
            None => Host::parse(&bracketed(text.trim())).ok().map(|it| Self::Exact(plain(&it.to_string()))),
        }
    }

    fn matches(&self, host: &str) -> bool {
        match self {
            Self::Exact(name) => host == name,
            Self::Below(suffix) => host.len() > suffix.len() && host.ends_with(suffix.as_str()),
        }
    }
}

/// An address of version 6 stands in brackets in a URL, but not where people write one down.
fn bracketed(text: &str) -> String {
    if text.parse::<Ipv6Addr>().is_ok() { format!("[{text}]") } else { text.to_owned() }
}

/// A host as patterns compare it.
fn plain(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

/// The hosts that a workspace's servers may be at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Allowlist {
    #[default]
    Any,
    Only(Vec<HostPattern>),
}

impl Allowlist {
    /// As it is stored. What cannot be read lets nothing through.
    pub fn stored(value: Option<&Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::Any,
            Some(value) => {
                let items = value.as_array().into_iter().flatten();
                Self::Only(items.filter_map(|it| HostPattern::parse(it.as_str()?)).collect())
            }
        }
    }

    /// As somebody enters it: hosts and `*.domains`.
    pub fn read(items: &[String]) -> Result<Self, Error> {
        let pattern = |it: &String| {
            HostPattern::parse(it)
                .ok_or_else(|| Error::Request(format!("`{it}` is not a host, nor `*.` and a domain")))
        };
        items.iter().map(pattern).collect::<Result<_, _>>().map(Self::Only)
    }

    pub fn check(&self, host: &str) -> Result<(), Error> {
        let host = plain(host);
        match self {
            Self::Only(patterns) if !patterns.iter().any(|it| it.matches(&host)) => {
                Err(Error::HostNotAllowed { host })
            }
            _ => Ok(()),
        }
    }
}

/// The domain that somebody registered, for a host below it; the host itself if there is none.
pub fn site(host: &str) -> &str {
    let host = host.trim_end_matches('.');
    match Host::parse(host) {
        Ok(Host::Domain(_)) => psl::domain_str(host).unwrap_or(host),
        _ => host,
    }
}

/// Whether two hosts belong to the same domain. An address belongs to itself.
pub fn is_same_site(one: &str, other: &str) -> bool {
    plain(site(one)) == plain(site(other))
}

/// One item of `[net] allow_private`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exception {
    Host(HostPattern),
    Network(IpNet),
}

impl Exception {
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(network) = text.parse() {
            return Some(Self::Network(network));
        }
        match text.parse::<IpAddr>() {
            Ok(address) => Some(Self::Network(address.to_canonical().into())),
            Err(_) => HostPattern::parse(text).map(Self::Host),
        }
    }
}

/// Which addresses may be connected to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Guard {
    /// All: one person's own machine.
    #[default]
    Open,
    /// Public ones, and these.
    Public(Vec<Exception>),
}

impl Guard {
    pub fn of(config: &Config) -> Self {
        match config.mode {
            Mode::Solo => Self::Open,
            Mode::Team | Mode::Cluster => Self::Public(config.net.allow_private.clone()),
        }
    }

    /// Whether `host`, whose name led to `address`, may be connected to there.
    pub fn admits(&self, host: &str, address: IpAddr) -> bool {
        let Self::Public(exceptions) = self else { return true };
        let (host, address) = (plain(host), address.to_canonical());
        is_public(address)
            || exceptions.iter().any(|it| match it {
                Exception::Host(pattern) => pattern.matches(&host),
                Exception::Network(network) => network.contains(&address),
            })
    }
}

/// Networks that are not the public Internet's, after the registries of special-purpose addresses.
static SPECIAL: LazyLock<Vec<IpNet>> = LazyLock::new(|| {
    #[rustfmt::skip]
    let networks = [
        // This network, private use, shared by carriers, loopback, link-local, protocol assignments.
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        // Documentation, an old relay, private use, benchmarks, multicast, reserved and broadcast.
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        // Protocol assignments and documentation inside what is otherwise public.
        "2001::/23", "2001:db8::/32", "3fff::/20",
    ];
    networks.iter().map(|it| it.parse().expect("a network of the table")).collect()
});

fn is_public(address: IpAddr) -> bool {
    let listed = || SPECIAL.iter().any(|it| it.contains(&address));
    match address {
        IpAddr::V4(_) => !listed(),
        IpAddr::V6(it) => match embedded(it) {
            Some(inner) => is_public(inner.into()),
            // Only this eighth is given out for hosts.
            None => it.segments()[0] & 0xe000 == 0x2000 && !listed(),
        },
    }
}

/// The address of version 4 that a translator on the way would connect to: NAT64 and 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_site_is_what_somebody_registered() {
        for (one, other, expected) in [
            ("example.com", "www.example.com", true),
            ("a.example.co.uk", "EXAMPLE.co.uk.", true),
            ("a.co.uk", "b.co.uk", false),
            ("example.com", "example.com.evil.net", false),
            ("me.github.io", "you.github.io", false),
            ("localhost", "localhost", true),
            ("10.0.0.1", "10.1.0.1", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("[::1]", "[::2]", false),
            ("com", "net", false),
        ] {
            assert_eq!(is_same_site(one, other), expected, "{one} {other}");
        }
    }

    fn guard(exceptions: &[&str]) -> Guard {
        Guard::Public(exceptions.iter().map(|it| Exception::parse(it).expect(it)).collect())
    }

    #[track_caller]
    fn check(guard: &Guard, host: &str, address: &str, expected: bool) {
        assert_eq!(guard.admits(host, address.parse().expect(address)), expected, "{host} at {address}");
    }

    #[test]
    fn only_public_addresses_pass_the_guard() {
        for address in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1"]
        {
            check(&guard(&[]), "x", address, true);
        }
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.31.255.255",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::1",
            "2001:db8::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
        ] {
            check(&guard(&[]), "x", address, false);
            check(&Guard::Open, "x", address, true);
        }
        check(&guard(&[]), "x", "::ffff:1.1.1.1", true);
        check(&guard(&[]), "x", "64:ff9b::101:101", true);
    }

    #[test]
    fn exceptions_are_hosts_domains_addresses_and_networks() {
        let guard = guard(&["10.0.0.0/8", "127.0.0.1", "db.Internal", "*.corp.example", "::1", "fd00::/8"]);
        for (host, address, expected) in [
            ("x", "10.200.0.1", true),
            ("x", "::ffff:10.200.0.1", true),
            ("x", "127.0.0.1", true),
            ("x", "127.0.0.2", false),
            ("DB.internal.", "192.168.0.1", true),
            ("a.db.internal", "192.168.0.1", false),
            ("a.b.corp.example", "192.168.0.1", true),
            ("corp.example", "192.168.0.1", false),
            ("evilcorp.example", "192.168.0.1", false),
            ("x", "::1", true),
            ("x", "fd00::9", true),
            ("x", "fe80::9", false),
        ] {
            check(&guard, host, address, expected);
        }
        for wrong in ["", "*.", "*.10.0.0.1", "a b", "http://x", "10.0.0.0/40"] {
            assert_eq!(Exception::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_allowlist_knows_hosts_and_domains() {
        let list = Allowlist::stored(Some(&json!(["Example.com", "*.example.org", "::1", "bücher.example"])));
        for (host, expected) in [
            ("example.com", true),
            ("EXAMPLE.com.", true),
            ("a.example.com", false),
            ("a.example.org", true),
            ("example.org", false),
            ("badexample.org", false),
            ("[::1]", true),
            ("xn--bcher-kva.example", true),
        ] {
            assert_eq!(list.check(host).is_ok(), expected, "{host}");
        }
        let refused = list.check("a.example.com").expect_err("it is not on the list");
        assert_eq!(refused.to_string(), "`a.example.com` is not on the allowlist of this workspace");
    }

    #[test]
    fn no_allowlist_means_any_host_and_an_unreadable_one_none() {
        for any in [None, Some(&Value::Null)] {
            assert_eq!(Allowlist::stored(any), Allowlist::Any);
        }
        for none in [json!([]), json!("example.com"), json!([1, "http://example.com"])] {
            assert!(Allowlist::stored(Some(&none)).check("example.com").is_err(), "{none}");
        }
        assert!(Allowlist::read(&["https://x".into()]).is_err());
    }
}
