//! `cargo xtask extension`: the browser extension as it is handed out, and its checks.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::peers;
use crate::process::Run;
use crate::report::Report;
use crate::tree::{self, Stamp};

fn folder() -> PathBuf {
    tree::root().join("extension")
}

/// Makes `extension/package/`: a zip, and the folder that a browser loads and a packer turns into a crx.
pub(crate) async fn run() -> Result<()> {
    install().await?;
    npm("package").await
}

/// Everything that needs neither browser nor hub, and the package. True if its packages are there.
pub(crate) async fn test(report: &mut Report) -> bool {
    if !report.step("extension packages", install()).await {
        return false;
    }
    report.step("extension check", npm("check")).await;
    report.step("extension tests", npm("test")).await;
    report.step("extension package", npm("package")).await;
    true
}

/// The extension in a real browser, with the built hub. Expects hub and npm peers, whose MCP client it uses.
pub(crate) async fn journeys() -> Result<()> {
    Run::new("npm", ["run", "--silent", "e2e"]).in_folder(&folder()).envs(&peers::environment()).run().await
}

/// The pictures of popup and pairing page.
pub(crate) async fn pictures() -> Result<()> {
    install().await?;
    npm("pictures").await
}

/// Installs what the lock file names, unless that is there.
async fn install() -> Result<()> {
    let stamp = Stamp::new("extension-packages", &[&read("package.json")?, &read("package-lock.json")?]);
    if stamp.is_current() && folder().join("node_modules").exists() {
        return Ok(());
    }
    Run::new("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]).in_folder(&folder()).run().await?;
    stamp.set()
}

async fn npm(script: &str) -> Result<()> {
    Run::new("npm", ["run", "--silent", script]).in_folder(&folder()).run().await
}

fn read(name: &str) -> Result<String> {
    let path = folder().join(name);
    std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))
}
