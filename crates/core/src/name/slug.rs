//! Slugs: the short word that stands for an instance in tool names. `^[A-Za-z0-9-]{1,24}$`.

use std::collections::HashSet;

use url::{Host, Url};

use crate::Error;

const SLUG_MAX: usize = 24;

pub fn check_slug(slug: &str) -> Result<(), Error> {
    if slug.is_empty() {
        return Err(Error::Slug("slug is required"));
    }
    if !slug.chars().all(is_slug) {
        return Err(Error::Slug("slug may hold only letters, digits and hyphens"));
    }
    if slug.len() > SLUG_MAX {
        return Err(Error::Slug("slug must be at most 24 characters"));
    }
    Ok(())
}

/// The slug of a server that was given by name: always valid, `server` when nothing of the name is left.
pub fn slug_from_name(name: &str) -> String {
    let mut slug = String::new();
    for it in name.chars() {
        match is_slug(it) {
            true if it != '-' => slug.push(it),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    match cut(&slug, SLUG_MAX) {
        "" => "server".to_owned(),
        slug => slug.to_owned(),
    }
}

/// The slug proposed for a URL: the label before the public suffix, or `""` when it is no URL.
pub fn default_slug(url: &str) -> String {
    let Ok(url) = Url::parse(url.trim()) else {
        return String::new();
    };
    let word = match url.scheme() {
        "http" | "https" => host_word(&url),
        "unix" | "pipe" => file_stem(&url),
        "bud" => match file_stem(&url) {
            name if name.is_empty() => url.host_str().unwrap_or_default().to_owned(),
            name => name,
        },
        "wasm" => url.host_str().unwrap_or_default().to_owned(),
        _ => return String::new(),
    };
    let word: String = word.to_lowercase().chars().map(|it| if is_slug(it) { it } else { '-' }).collect();
    cut(word.trim_start_matches('-'), SLUG_MAX).to_owned()
}

/// The first of `slug`, `slug-2`, `slug-3` … that nobody has, whatever the case; never over 24 characters.
pub fn next_free(slug: &str, taken: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let taken: HashSet<String> = taken.into_iter().map(|it| it.as_ref().to_ascii_lowercase()).collect();
    let mut free = slug.to_owned();
    let mut number = 1;
    while taken.contains(&free.to_ascii_lowercase()) {
        number += 1;
        let suffix = format!("-{number}");
        free = format!("{}{suffix}", cut(slug, SLUG_MAX - suffix.len()));
    }
    free
}

fn host_word(url: &Url) -> String {
    let host = match url.host() {
        Some(Host::Domain(host)) => host.trim_end_matches('.'),
        Some(Host::Ipv4(ip)) => return ip.to_string(),
        Some(Host::Ipv6(ip)) => return ip.to_string(),
        None => return String::new(),
    };
    let domain = psl::domain_str(host).unwrap_or(host);
    domain.split('.').next().unwrap_or_default().to_owned()
}

fn file_stem(url: &Url) -> String {
    let file = url.path().rsplit('/').next().unwrap_or_default();
    file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned()
}

/// At most `room` characters without a hyphen at the end. Slugs are ASCII, so bytes are characters.
fn cut(slug: &str, room: usize) -> &str {
    slug.get(..room).unwrap_or(slug).trim_end_matches('-')
}

fn is_slug(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '-'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(cases: &[(&str, &str)], function: fn(&str) -> String) {
        for (input, expected) in cases {
            assert_eq!(function(input), *expected, "for `{input}`");
        }
    }

    #[test]
    fn names_become_slugs() {
        let cases = [
            ("my_server", "my-server"),
            ("  My  Server! ", "My-Server"),
            ("a--b", "a-b"),
            ("日本", "server"),
            ("", "server"),
            ("-x-", "x"),
            ("twenty-three-characters-and-more", "twenty-three-characters"),
        ];
        check(&cases, slug_from_name);
    }

    #[test]
    fn urls_propose_slugs() {
        let cases = [
            ("https://MCP.Example.com.", "example"),
            ("https://github.io/x", "github"),
            ("http://my_host/mcp", "my-host"),
            ("http://[::1]:3000/mcp", "1"),
            ("http://[2001:db8::1]/mcp", "2001-db8--1"),
            ("unix:///run/my.app.sock#/mcp", "my-app"),
            ("pipe:////./pipe/Tools", "tools"),
            ("bud://home/Lawyer", "lawyer"),
            ("bud://0192f0c1", "0192f0c1"),
            ("wasm://abc", "abc"),
            ("ftp://example.com", ""),
        ];
        check(&cases, default_slug);
    }

    #[test]
    fn a_taken_slug_counts_up_without_regard_to_case() {
        assert_eq!(next_free("github", ["GitHub", "github-2"]), "github-3");
        assert_eq!(next_free("github", [""; 0]), "github");
        let long = "a-very-long-company-name";
        assert_eq!(next_free(long, [long]), "a-very-long-company-na-2");
    }

    #[test]
    fn the_three_sentences_of_a_bad_slug() {
        let sentence = |slug: &str| check_slug(slug).unwrap_err().to_string();
        assert_eq!(sentence(""), "slug is required");
        assert_eq!(sentence(&"a".repeat(25)), "slug must be at most 24 characters");
        assert_eq!(sentence("my_mcp"), "slug may hold only letters, digits and hyphens");
    }

    proptest! {
        #[test]
        fn whatever_we_propose_is_a_slug(text in "\\PC{0,60}", host in "[a-zA-Z0-9._-]{1,60}") {
            prop_assert!(check_slug(&slug_from_name(&text)).is_ok());
            for url in [text, format!("http://{host}/"), format!("unix:///{host}")] {
                let slug = default_slug(&url);
                prop_assert!(slug.is_empty() || check_slug(&slug).is_ok(), "{url} gave {slug}");
                prop_assert!(slug.is_empty() || check_slug(&next_free(&slug, [&slug])).is_ok());
            }
        }
    }
}
