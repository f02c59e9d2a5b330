//! What no line of a committed file may hold: paths of one machine, registry hosts, untagged TODOs, misspellings.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use crate::tree;

// Written in two parts, so that this file does not hold what it looks for.
const MACHINE_PATHS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
/// Who may live in the home folders of examples.
const EXAMPLE_PEOPLE: [&str; 4] = ["me", "you", "user", "alice"];
const REGISTRY_HOSTS: [&str; 7] = [
    concat!("arti", "factory"),
    concat!("registry.npm", "js.org"),
    concat!("registry.yarn", "pkg.com"),
    concat!("pypi", ".org/simple"),
    concat!("files.python", "hosted.org"),
    concat!("index.cra", "tes.io"),
    concat!("static.cra", "tes.io"),
];
const NPM_DEFAULT: &str = concat!("https://registry.npm", "js.org/");
const TAG: &str = concat!("TO", "DO");

/// Misspelled words and what they should be, from `typos.toml`.
pub(super) struct Words(BTreeMap<String, String>);

impl Words {
    pub(super) fn read() -> Result<Self> {
        let text =
            std::fs::read_to_string(tree::root().join("typos.toml")).context("cannot read `typos.toml`")?;
        let table: toml::Table = toml::from_str(&text).context("`typos.toml`")?;
        let words =
            table.get("default").and_then(|it| it.get("extend-words")).and_then(toml::Value::as_table);
        let pairs = words.into_iter().flatten();
        Ok(Self(
            pairs.filter_map(|(wrong, right)| Some((wrong.clone(), right.as_str()?.to_owned()))).collect(),
        ))
    }
}

pub(super) fn problems(file: &Path, text: &str, words: &Words) -> Vec<String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_lock = name == "Cargo.lock" || name == "package-lock.json";
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut say = |what: String| problems.push(format!("{}:{}: {what}", file.display(), index + 1));
        if let Some(path) = machine_path(line) {
            say(format!("names a folder of one machine, `{path}…`"));
        }
        if is_lock {
            if let Some(url) = foreign_address(line) {
                say(format!("the lock file names a registry of one machine, `{url}`"));
            }
            continue;
        }
        if let Some(host) = REGISTRY_HOSTS.iter().find(|it| line.contains(**it)) {
            say(format!("names a registry host, `{host}`"));
        }
        if has_untagged(line) {
            say(format!("write `{TAG}(tag): sentence`"));
        }
        if name != "typos.toml" {
            for (wrong, right) in misspelled(line, words) {
                say(format!("`{wrong}` is spelled `{right}`"));
            }
        }
    }
    problems
}

/// A path that starts at the root of a machine, not one in the middle of a URL or another path.
fn machine_path(line: &str) -> Option<&'static str> {
    let starts = |before: &str| {
        let last = before.chars().next_back();
        before.ends_with("file://") || last.is_none_or(|it| !it.is_alphanumeric() && !"/._-}>~".contains(it))
    };
    let is_real = |after: &str| {
        let name = after.split(|it: char| !it.is_alphanumeric() && it != '.').next().unwrap_or_default();
        !name.is_empty() && !EXAMPLE_PEOPLE.iter().any(|it| name.starts_with(it))
    };
    MACHINE_PATHS.into_iter().find(|path| {
        line.match_indices(path).any(|(at, _)| starts(&line[..at]) && is_real(&line[at + path.len()..]))
    })
}

fn foreign_address(line: &str) -> Option<&str> {
    let (_, url) = line.trim().split_once("\"resolved\": \"")?;
    let url = url.split('"').next().unwrap_or(url);
    (url.starts_with("http") && !url.starts_with(NPM_DEFAULT)).then_some(url)
}

fn has_untagged(line: &str) -> bool {
    line.match_indices(TAG).any(|(at, _)| {
        let is_word = |it: char| it.is_alphanumeric() || it == '_';
        let rest = &line[at + TAG.len()..];
        let alone = !line[..at].ends_with(is_word) && !rest.starts_with(is_word);
        // In backticks it is spoken about.
        let quoted = line[..at].ends_with('`');
        let tagged = rest
            .strip_prefix('(')
            .and_then(|it| it.split_once("): "))
            .is_some_and(|(tag, _)| !tag.is_empty());
        alone && !quoted && !tagged
    })
}

fn misspelled<'a>(line: &str, words: &'a Words) -> Vec<(&'a str, &'a str)> {
    line.split(|it: char| !it.is_ascii_alphabetic())
        .filter(|it| it.len() > 2)
        .filter_map(|it| words.0.get_key_value(it.to_ascii_lowercase().as_str()))
        .map(|(wrong, right)| (wrong.as_str(), right.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, line: &str, expected: usize) {
        let words = Words(BTreeMap::from([("wrnog".to_owned(), "wrong".to_owned())]));
        let found = problems(Path::new(file), line, &words);
        assert_eq!(found.len(), expected, "{line}: {found:?}");
    }

    #[test]
    fn a_path_of_one_machine_is_found_and_a_url_is_not() {
        check("a.md", &format!("see {}main", MACHINE_PATHS[0]), 1);
        check("a.md", &format!("file://{}x", MACHINE_PATHS[2]), 1);
        check("a.md", &format!("https://example.com{}x", MACHINE_PATHS[0]), 0);
        check("a.md", &format!("`{}<you>`", MACHINE_PATHS[2]), 0);
        check("a.md", &format!("`{}me/x`", MACHINE_PATHS[2]), 0);
    }

    #[test]
    fn registry_hosts_are_found() {
        check(".npmrc", &format!("registry={NPM_DEFAULT}"), 1);
        check("package-lock.json", &format!("  \"resolved\": \"{NPM_DEFAULT}a.tgz\""), 0);
        check("package-lock.json", "  \"resolved\": \"https://mirror.example/a.tgz\"", 1);
    }

    #[test]
    fn a_tag_makes_it_findable() {
        check("a.rs", &format!("// {TAG}(bridge): ask the client"), 0);
        check("a.rs", &format!("// {TAG}: ask the client"), 1);
        check("a.rs", &format!("no `{TAG}` here, and MAS{TAG}N"), 0);
    }

    #[test]
    fn misspelled_words_are_found() {
        check("a.rs", "// This is Wrnog.", 1);
        check("typos.toml", "wrnog = \"wrong\"", 0);
    }
}
