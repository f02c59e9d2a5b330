//! `cargo xtask ui`: the web UI, built when something in it changed, and its checks.
//!
//! The hub takes `ui/dist` as it is, so the files are compressed here, once.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::process::Run;
use crate::report::Report;
use crate::tree::{self, Stamp};
use crate::{extension, peers};

fn folder() -> PathBuf {
    tree::root().join("ui")
}

fn exists() -> bool {
    folder().join("package.json").exists()
}

pub(crate) async fn run() -> Result<()> {
    install().await?;
    build_if_stale().await
}

/// Before a hub is started: one without its UI is better than none.
pub(crate) async fn build_where_possible() -> Result<()> {
    if Run::new("npm", ["--version"]).output().await.is_err() {
        println!(
            "npm is not there, so the hub gets no new web UI: install Node.js 20.19 or newer (https://nodejs.org)"
        );
        return Ok(());
    }
    run().await
}

/// Everything that can be tested without a hub, in the order in which it fails fastest. True if the UI is built.
pub(crate) async fn test(report: &mut Report) -> bool {
    if !report.step("UI packages", install()).await {
        return false;
    }
    report.step("UI check", npm("check")).await;
    report.step("UI tests", npm("test")).await;
    let built = report.step("UI build", build_if_stale()).await;
    if built {
        report.step("UI size", npm("size")).await;
    }
    built
}

/// Journeys in a real browser on the built hub, and how fast the page is. Expects hub and UI to be built.
pub(crate) async fn journeys() -> Result<()> {
    Run::new("npm", ["run", "--silent", "e2e"]).in_folder(&folder()).envs(&peers::environment()).run().await
}

/// `cargo xtask screenshots`: the pictures of the documents, taken of the demo world.
pub(crate) async fn screenshots() -> Result<()> {
    run().await?;
    Run::new("cargo", ["build", "--package", "toolgrove"]).in_folder(tree::root()).run().await?;
    // Pictures show where programs lie: a plain place, whoever takes them.
    let place = std::env::temp_dir().join("toolgrove");
    std::fs::create_dir_all(&place)?;
    let hub = place.join("toolgrove");
    std::fs::copy(tree::debug_binary("toolgrove"), &hub)?;
    Run::new("npm", ["run", "--silent", "pictures"])
        .in_folder(&folder())
        .envs(&peers::environment())
        .env("TOOLGROVE_BIN", &hub)
        .run()
        .await?;
    extension::pictures().await
}

/// Installs what the lock file names, unless that is there.
async fn install() -> Result<()> {
    if !exists() {
        return Ok(());
    }
    let stamp = Stamp::new("ui-packages", &[&read("package.json")?, &read("package-lock.json")?]);
    if stamp.is_current() && folder().join("node_modules").exists() {
        return Ok(());
    }
    Run::new("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]).in_folder(&folder()).run().await?;
    stamp.set()
}

/// Builds and compresses `ui/dist`, unless nothing has changed since.
async fn build_if_stale() -> Result<()> {
    if !exists() {
        return Ok(());
    }
    let mut sources = vec![include_str!("ui/compress.mjs").to_owned()];
    for file in tree::files().await?.iter().filter(|it| it.starts_with("ui")) {
        sources.push(file.display().to_string());
        sources.push(String::from_utf8_lossy(&std::fs::read(tree::root().join(file))?).into_owned());
    }
    let stamp = Stamp::new("ui-build", &sources.iter().map(String::as_str).collect::<Vec<_>>());
    let dist = folder().join("dist");
    if stamp.is_current() && dist.join("index.html.br").exists() {
        println!("  nothing in `ui/` has changed since it was built");
        return Ok(());
    }
    npm("build").await?;
    let script = tree::root().join("crates/xtask/src/ui/compress.mjs");
    Run::new("node", [script.as_os_str(), dist.as_os_str()]).run().await?;
    if !dist.join("index.html.br").exists() {
        bail!("`npm run build` made no `ui/dist/index.html`");
    }
    stamp.set()
}

async fn npm(script: &str) -> Result<()> {
    Run::new("npm", ["run", "--silent", script]).in_folder(&folder()).run().await
}

fn read(name: &str) -> Result<String> {
    let path = folder().join(name);
    std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))
}
