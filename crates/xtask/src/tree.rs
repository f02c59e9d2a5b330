//! Where things are in the source tree, and whether they changed since last time.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::process::Run;

/// The top of the checkout.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("this crate lies two levels below the root")
}

pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |it| root().join(it))
}

/// A binary of ours in the profile the tests use.
pub(crate) fn debug_binary(name: &str) -> PathBuf {
    target().join("debug").join(name)
}

pub(crate) fn release_binary(name: &str) -> PathBuf {
    target().join("release").join(name)
}

/// Every file that is committed or would be, relative to the root, sorted.
pub(crate) async fn files() -> Result<Vec<PathBuf>> {
    let listed = Run::new("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .in_folder(root())
        .output()
        .await?;
    let mut files: Vec<_> = listed.split('\0').filter(|it| !it.is_empty()).map(PathBuf::from).collect();
    files.retain(|it| root().join(it).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

/// Builds all binaries, tests and examples in the profile the whole test run shares.
///
/// Tests are part of it although only the binaries may be wanted: with them, cargo settles on one set of dependency
/// features, so nothing is compiled twice.
pub(crate) async fn build() -> Result<()> {
    Run::new("cargo", ["build", "--workspace", "--bins", "--tests", "--examples"])
        .in_folder(root())
        .run()
        .await
}

/// Remembers what an installation was made from, so it is only made again when that changed.
pub(crate) struct Stamp {
    file: PathBuf,
    wanted: String,
}

impl Stamp {
    /// `parts` is everything the installation depends on: file contents, versions.
    pub(crate) fn new(name: &str, parts: &[&str]) -> Self {
        let mut hasher = DefaultHasher::new();
        parts.hash(&mut hasher);
        let file = target().join("stamps").join(name);
        Self { file, wanted: format!("{:016x}", hasher.finish()) }
    }

    pub(crate) fn is_current(&self) -> bool {
        std::fs::read_to_string(&self.file).is_ok_and(|it| it == self.wanted)
    }

    pub(crate) fn set(&self) -> Result<()> {
        let folder = self.file.parent().context("a stamp lies in a folder")?;
        std::fs::create_dir_all(folder)?;
        Ok(std::fs::write(&self.file, &self.wanted)?)
    }
}
