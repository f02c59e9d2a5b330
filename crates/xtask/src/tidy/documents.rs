//! What the documents must say: every error code, every dependency, and not too much.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process::Run;
use crate::tree;

/// Documents that stay short enough to be read.
const LIMITS: [(&str, usize); 4] =
    [("README.md", 150), ("ARCHITECTURE.md", 300), ("CONTRIBUTING.md", 120), ("STYLE.md", 120)];
const REQUIRED: [&str; 2] = ["README.md", "ARCHITECTURE.md"];

pub(super) async fn problems() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for (name, limit) in LIMITS {
        match read(name) {
            Some(text) if text.lines().count() > limit => {
                problems
                    .push(format!("{name}: has {} lines, at most {limit} are read", text.lines().count()));
            }
            None if REQUIRED.contains(&name) => problems.push(format!("{name}: is missing")),
            _ => {}
        }
    }

    let source = read("crates/core/src/error.rs").context("cannot read `crates/core/src/error.rs`")?;
    let page = read("docs/errors.md").unwrap_or_default();
    let unexplained = error_codes(&source).into_iter().filter(|it| !has_anchor(&page, it));
    problems.extend(unexplained.map(|it| format!("docs/errors.md: has no anchor for `{it}`")));

    let page = read("docs/dependencies.md").unwrap_or_default();
    let unexplained = dependencies().await?.into_iter().filter(|it| !page.contains(&format!("`{it}`")));
    problems.extend(unexplained.map(|it| format!("docs/dependencies.md: does not name `{it}`")));
    Ok(problems)
}

fn read(name: &str) -> Option<String> {
    std::fs::read_to_string(tree::root().join(name)).ok()
}

/// The string literals in the body of `fn code`.
fn error_codes(source: &str) -> Vec<String> {
    source
        .lines()
        .skip_while(|it| !it.contains("fn code("))
        .skip(1)
        .take_while(|it| !it.contains("fn "))
        .filter(|it| !it.trim_start().starts_with("//"))
        .flat_map(|it| it.split('"').skip(1).step_by(2))
        .filter(|it| it.contains('.'))
        .map(str::to_owned)
        .collect()
}

/// A heading that is the code, or an explicit anchor.
fn has_anchor(page: &str, code: &str) -> bool {
    page.contains(&format!("id=\"{code}\""))
        || page
            .lines()
            .any(|it| it.starts_with('#') && it.trim_start_matches('#').trim().trim_matches('`') == code)
}

/// Every crate from outside that one of ours names, sorted.
async fn dependencies() -> Result<Vec<String>> {
    let metadata = Run::new("cargo", ["metadata", "--format-version", "1", "--no-deps"])
        .in_folder(tree::root())
        .output()
        .await?;
    let metadata: Value = serde_json::from_str(&metadata).context("`cargo metadata` printed no JSON")?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let ours = packages.flat_map(|it| it["dependencies"].as_array().into_iter().flatten());
    let mut names: Vec<_> = ours
        .filter(|it| it["path"].is_null())
        .filter_map(|it| Some(it["name"].as_str()?.to_owned()))
        .collect();
    names.extend(fuzz_dependencies());
    names.sort();
    names.dedup();
    Ok(names)
}

/// `fuzz/` is a workspace of its own.
fn fuzz_dependencies() -> Vec<String> {
    let manifest =
        read("fuzz/Cargo.toml").and_then(|it| toml::from_str::<toml::Table>(&it).ok()).unwrap_or_default();
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
    let outside = dependencies.into_iter().flatten().filter(|(_, it)| it.get("path").is_none());
    outside.map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_from_the_source() {
        let source = "fn other() { \"no.code\" }\nfn code(&self) -> &str {\n  A => \"tool.name\",\n  B | C => \"call.x\",\n}\nfn hint() { \"a.b\" }";
        assert_eq!(error_codes(source), ["tool.name", "call.x"]);
    }

    #[test]
    fn an_anchor_is_a_heading_or_an_id() {
        assert!(has_anchor("## `tool.name`\n", "tool.name"));
        assert!(has_anchor("### tool.name\n", "tool.name"));
        assert!(has_anchor("<a id=\"tool.name\"></a>", "tool.name"));
        assert!(!has_anchor("see `tool.name`\n## `tool.name-taken`", "tool.name"));
    }
}
