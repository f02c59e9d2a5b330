//! `cargo xtask tidy`: what the compiler does not check, as one list of problems with file and line.
//!
//! File lengths are reported, not judged.

mod documents;
mod lines;

use std::path::Path;

use anyhow::{Result, bail};

use crate::{docs, tree};

pub(crate) async fn run() -> Result<()> {
    tree::build().await?;
    check().await
}

/// Expects the binaries to be built.
pub(crate) async fn check() -> Result<()> {
    let words = lines::Words::read()?;
    let mut problems = Vec::new();
    let mut lengths = Vec::new();
    for file in tree::files().await? {
        let Ok(text) = std::fs::read_to_string(tree::root().join(&file)) else {
            continue;
        };
        if file.extension().is_some_and(|it| it == "rs") {
            lengths.push((text.lines().count(), file.display().to_string()));
            if !has_module_docs(&text) {
                problems.push(format!("{}: has no `//!` that says what it is for", file.display()));
            }
        }
        if !is_given(&file) {
            problems.extend(lines::problems(&file, &text, &words));
        }
    }
    problems.extend(documents::problems().await?);
    problems.extend(docs::stale().await);

    report(lengths);
    for it in &problems {
        println!("  {it}");
    }
    match problems.len() {
        0 => Ok(()),
        1 => bail!("{}", problems[0]),
        several => bail!("{several} problems, the first: {}", problems[0]),
    }
}

/// Test data we were given and keep as it came.
fn is_given(file: &Path) -> bool {
    file.starts_with("spec") || file.starts_with("cases")
}

/// `//!` before the first item; attributes and plain comments may come earlier.
fn has_module_docs(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .find(|it| {
            !it.is_empty() && !it.starts_with("#!") && (!it.starts_with("//") || it.starts_with("//!"))
        })
        .is_some_and(|it| it.starts_with("//!"))
}

fn report(mut lengths: Vec<(usize, String)>) {
    lengths.sort();
    let Some((longest, _)) = lengths.last() else {
        return;
    };
    let at = |percent: usize| lengths[(lengths.len() - 1) * percent / 100].0;
    println!("  {} Rust files: median {} lines, p90 {}, longest {longest}", lengths.len(), at(50), at(90));
    for (lines, file) in lengths.iter().rev().filter(|(lines, _)| *lines > 400) {
        println!("  {lines:5} lines  {file}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_docs_come_before_the_first_item() {
        assert!(has_module_docs("#![no_main]\n\n//! Why.\nfn main() {}\n"));
        assert!(!has_module_docs("// Why.\nfn main() {}\n//! Late.\n"));
        assert!(!has_module_docs(""));
    }
}
