//! System packages: installed where we may, named where we may not.
//!
//! `lld` is not among them: the pinned toolchain brings its own and uses it by default on x86-64 Linux.

use std::path::Path;

use anyhow::{Result, bail};
use rustix::process::geteuid;

use crate::process::Run;
use crate::{peers, postgres};

/// Debian's name, what it is for, and whether it is there.
async fn wanted() -> [(&'static str, &'static str, bool); 7] {
    [
        ("postgresql", "the store tests run against a real PostgreSQL", postgres::binaries().is_some()),
        ("g++", "the fuzz targets are linked with a C++ library", runs("c++", &["--version"]).await),
        ("python3", "some of the peers are Python programs", runs("python3", &["--version"]).await),
        (
            "python3-venv",
            "they get a folder of their own",
            runs("python3", &["-c", "import ensurepip"]).await,
        ),
        ("curl", "the documents' examples use it", runs("curl", &["--version"]).await),
        ("valgrind", "counts what a call costs", runs("valgrind", &["--version"]).await),
        ("chromium", "pages are tested in a real browser", peers::chromium().is_some()),
    ]
}

async fn runs(program: &str, args: &[&str]) -> bool {
    Run::new(program, args).output().await.is_ok()
}

pub(crate) async fn install() -> Result<()> {
    let missing: Vec<_> = wanted().await.into_iter().filter(|(.., present)| !present).collect();
    if missing.is_empty() {
        println!("  nothing is missing");
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|(name, ..)| *name).collect();
    if !geteuid().is_root() || !Path::new("/etc/debian_version").exists() {
        for (name, purpose, _) in &missing {
            println!("  install the package `{name}`: {purpose}");
        }
        bail!(
            "install {} with your package manager (Debian: `apt-get install {}`)",
            names.join(", "),
            names.join(" ")
        )
    }
    apt_get(&["update", "--quiet"]).await?;
    let mut install = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    install.extend(names);
    apt_get(&install).await
}

async fn apt_get(args: &[&str]) -> Result<()> {
    Run::new("apt-get", args).env("DEBIAN_FRONTEND", "noninteractive").run().await
}
