//! `cargo xtask deny`: every dependency has a licence we allow and comes from where we allow.
//!
//! It reads the same `deny.toml` as cargo-deny, which is not used because compiling it takes more than three minutes.
//! Known vulnerabilities are not looked up: that needs a host that may be out of reach.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::Run;
use crate::tree;

pub(crate) async fn run() -> Result<()> {
    let rules = Rules::read()?;
    let metadata = Run::new("cargo", ["metadata", "--format-version", "1", "--locked"])
        .in_folder(tree::root())
        .output()
        .await?;
    let metadata: Value = serde_json::from_str(&metadata).context("`cargo metadata` printed no JSON")?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` listed no packages")?;
    let problems: Vec<_> = packages.iter().flat_map(|it| rules.problems(it)).collect();
    for it in &problems {
        println!("  {it}");
    }
    println!("  {} packages, {} problems", packages.len(), problems.len());
    if problems.is_empty() { Ok(()) } else { bail!("{}", problems.join("; ")) }
}

struct Rules {
    licences: BTreeSet<String>,
    banned: BTreeSet<String>,
    sources: BTreeSet<String>,
}

impl Rules {
    fn read() -> Result<Self> {
        let text =
            std::fs::read_to_string(tree::root().join("deny.toml")).context("cannot read `deny.toml`")?;
        let rules: toml::Table = toml::from_str(&text).context("`deny.toml`")?;
        let list = |section: &str, key: &str| {
            let values = rules.get(section).and_then(|it| it.get(key)).and_then(toml::Value::as_array);
            values
                .into_iter()
                .flatten()
                .filter_map(|it| it.as_str().or_else(|| it.get("crate")?.as_str()).map(str::to_owned))
                .collect()
        };
        Ok(Self {
            licences: list("licenses", "allow"),
            banned: list("bans", "deny"),
            sources: list("sources", "allow-registry"),
        })
    }

    fn problems(&self, package: &Value) -> Vec<String> {
        let name = package["name"].as_str().unwrap_or("?");
        let mut problems = Vec::new();
        match package["license"].as_str() {
            None => problems.push(format!("`{name}` names no licence")),
            Some(licence) if !allowed(licence, &self.licences) => {
                problems.push(format!("`{name}` is under `{licence}`, which `deny.toml` does not allow"));
            }
            Some(_) => {}
        }
        if self.banned.contains(name) {
            problems.push(format!("`{name}` is banned by `deny.toml`"));
        }
        // A package without a source is a folder of ours.
        if let Some(source) = package["source"].as_str()
            && !source.strip_prefix("registry+").is_some_and(|it| self.sources.contains(it))
        {
            problems.push(format!("`{name}` comes from `{source}`, which `deny.toml` does not allow"));
        }
        problems
    }
}

/// Whether an SPDX expression can be satisfied with the allowed licences. Old crates write `/` for `OR`.
fn allowed(expression: &str, licences: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any(&mut rest, licences) && rest.is_empty()
}

/// `a OR b`: binds weaker than `AND`.
fn any(words: &mut &[&str], licences: &BTreeSet<String>) -> bool {
    let mut holds = all(words, licences);
    while let ["OR", rest @ ..] = words {
        *words = rest;
        holds |= all(words, licences);
    }
    holds
}

fn all(words: &mut &[&str], licences: &BTreeSet<String>) -> bool {
    let mut holds = one(words, licences);
    while let ["AND", rest @ ..] = words {
        *words = rest;
        holds &= one(words, licences);
    }
    holds
}

fn one(words: &mut &[&str], licences: &BTreeSet<String>) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let holds = any(words, licences);
            if let [")", rest @ ..] = words {
                *words = rest;
            }
            holds
        }
        [licence, "WITH", exception, rest @ ..] => {
            *words = rest;
            licences.contains(&format!("{licence} WITH {exception}"))
        }
        [licence, rest @ ..] => {
            *words = rest;
            licences.contains(*licence)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, expected: bool) {
        let licences = ["MIT", "Apache-2.0", "Unicode-3.0"].map(str::to_owned).into();
        assert_eq!(allowed(expression, &licences), expected, "{expression}");
    }

    #[test]
    fn one_choice_is_enough_and_every_part_is_needed() {
        check("MIT", true);
        check("GPL-3.0", false);
        check("GPL-3.0 OR MIT", true);
        check("MIT/GPL-3.0", true);
        check("MIT AND GPL-3.0", false);
        check("(MIT OR GPL-3.0) AND Unicode-3.0", true);
        check("GPL-3.0 AND MIT OR Apache-2.0", true);
        check("Apache-2.0 WITH LLVM-exception", false);
        check("", false);
    }
}
