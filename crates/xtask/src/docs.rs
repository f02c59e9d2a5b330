//! `cargo xtask docs` and `cargo xtask types`: what the hub writes about itself. `tidy` compares it.

use anyhow::{Context, Result};

use crate::process::Run;
use crate::tree;

/// What `toolgrove __docs PAGE` can print.
const PAGES: [&str; 5] = ["errors", "config", "cli", "manifest", "collection"];
/// The API's answers, for the UI, and the messages of tabs, for the extension.
const TYPES: [&str; 3] = ["types", "tab-types", "tab-schema"];

pub(crate) async fn run() -> Result<()> {
    tree::build().await?;
    for page in PAGES {
        write(page).await?;
    }
    Ok(())
}

pub(crate) async fn types() -> Result<()> {
    tree::build().await?;
    for page in TYPES {
        write(page).await?;
    }
    Ok(())
}

async fn write(page: &str) -> Result<()> {
    let file = tree::root().join(file(page));
    let text = print(page).await?;
    std::fs::write(&file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
    println!("  wrote {}", self::file(page));
    Ok(())
}

/// What is not as the binary would write it.
pub(crate) async fn stale() -> Vec<String> {
    let mut stale = Vec::new();
    for page in PAGES.into_iter().chain(TYPES) {
        let (file, command) = (file(page), if TYPES.contains(&page) { "types" } else { "docs" });
        match print(page).await {
            Err(error) => {
                stale.push(format!("{file}: {}", format!("{error:#}").lines().next().unwrap_or_default()));
            }
            Ok(wanted) if std::fs::read_to_string(tree::root().join(&file)).is_ok_and(|it| it == wanted) => {}
            Ok(_) => stale.push(format!("{file}: is not current, run `cargo xtask {command}`")),
        }
    }
    stale
}

fn file(page: &str) -> String {
    match page {
        "types" => "ui/src/api/types.gen.ts".into(),
        "manifest" | "collection" => format!("docs/schemas/{page}.schema.json"),
        "tab-types" => "extension/src/wire.gen.ts".into(),
        "tab-schema" => "docs/schemas/tabs.schema.json".into(),
        page => format!("docs/{page}.md"),
    }
}

async fn print(page: &str) -> Result<String> {
    Run::new(tree::debug_binary("toolgrove"), ["__docs", page]).env("NO_COLOR", "1").output().await
}
