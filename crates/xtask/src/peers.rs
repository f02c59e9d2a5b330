//! The independent MCP programs the hub is tested against: npm and Python packages in folders of the project.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::process::Run;
use crate::tree::{self, Stamp};

/// The folder with the peer scripts and their lock files.
pub(crate) fn folder() -> PathBuf {
    tree::root().join("crates/toolgrove/tests/peers")
}

/// Node 22 from npm: the conformance suite and the Inspector need it, whatever is on the machine.
pub(crate) fn node() -> PathBuf {
    folder().join("node_modules/.bin/node")
}

/// The Python that has `mcp` installed.
pub(crate) fn python() -> PathBuf {
    tree::target().join("peers/python/bin/python")
}

/// The browser, by any of the names it is installed under.
pub(crate) fn chromium() -> Option<PathBuf> {
    let folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.iter().flat_map(|name| folders.iter().map(move |it| it.join(name))).find(|it| it.is_file())
}

/// How tests find the peers.
pub(crate) fn environment() -> Vec<(String, OsString)> {
    let mut all = vec![
        ("TOOLGROVE_TEST_PEERS".into(), folder().into()),
        ("TOOLGROVE_TEST_NODE".into(), node().into()),
        ("TOOLGROVE_TEST_PYTHON".into(), python().into()),
    ];
    all.extend(chromium().map(|it| ("TOOLGROVE_TEST_CHROMIUM".to_owned(), it.into())));
    all
}

pub(crate) async fn install_npm() -> Result<()> {
    let stamp = Stamp::new("npm-peers", &[&read("package.json")?, &read("package-lock.json")?]);
    if stamp.is_current() && node().exists() {
        println!("  the lock file did not change since the last installation");
        return Ok(());
    }
    println!("  about 350 MB, half a minute");
    // Some of these packages want Node 22, which is itself one of them; npm's warnings about it mean nothing.
    Run::new("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]).in_folder(&folder()).run().await?;
    Run::new(node(), ["--version"]).output().await.context("npm did not install a Node that works")?;
    stamp.set()
}

pub(crate) async fn install_python() -> Result<()> {
    let version = Run::new("python3", ["--version"]).output().await?;
    let stamp = Stamp::new("python-peers", &[&read("requirements.txt")?, &version]);
    if stamp.is_current() && python().exists() {
        println!("  the requirements did not change since the last installation");
        return Ok(());
    }
    let venv = tree::target().join("peers/python");
    Run::new("python3", ["-m", "venv", "--clear"])
        .arg(venv)
        .run()
        .await
        .context("cannot make a virtual environment (Debian: `apt-get install python3-venv`)")?;
    Run::new(python(), ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(folder().join("requirements.txt"))
        .run()
        .await?;
    stamp.set()
}

fn read(name: &str) -> Result<String> {
    let file = folder().join(name);
    std::fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))
}
