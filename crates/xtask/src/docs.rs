//! `cargo xtask docs`: the pages the hub writes about itself. `tidy` compares them.

use anyhow::{Context, Result};

use crate::process::Run;
use crate::tree;

/// What `toolgrove __docs PAGE` can print, and `docs/PAGE.md` holds.
const PAGES: [&str; 3] = ["errors", "config", "cli"];

pub(crate) async fn run() -> Result<()> {
    tree::build().await?;
    for page in PAGES {
        let file = tree::root().join(file(page));
        std::fs::write(&file, print(page).await?)
            .with_context(|| format!("cannot write `{}`", file.display()))?;
        println!("  wrote {}", self::file(page));
    }
    Ok(())
}

/// The pages that are not what the binary would write.
pub(crate) async fn stale() -> Vec<String> {
    let mut stale = Vec::new();
    for page in PAGES {
        let file = file(page);
        match print(page).await {
            Err(error) => {
                stale.push(format!("{file}: {}", format!("{error:#}").lines().next().unwrap_or_default()));
            }
            Ok(wanted) if std::fs::read_to_string(tree::root().join(&file)).is_ok_and(|it| it == wanted) => {}
            Ok(_) => stale.push(format!("{file}: is not current, run `cargo xtask docs`")),
        }
    }
    stale
}

fn file(page: &str) -> String {
    format!("docs/{page}.md")
}

async fn print(page: &str) -> Result<String> {
    Run::new(tree::debug_binary("toolgrove"), ["__docs", page]).env("NO_COLOR", "1").output().await
}
