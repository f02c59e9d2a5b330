//! `cargo xtask guard`: what a call costs in instructions and allocations, against the last values in the repository.

use anyhow::Result;

use crate::process::Run;
use crate::tree;

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Write the values down instead of comparing them
    #[arg(long)]
    keep: bool,
}

/// Measures the build the tests share; it has to be there.
pub(crate) async fn check(args: Args) -> Result<()> {
    let mut guard = Run::new(tree::debug_binary("toolgrove-bench"), ["guard", "--hub"])
        .arg(tree::debug_binary("toolgrove"))
        .arg("--kept")
        .arg(tree::root().join("bench/guard.toml"));
    if args.keep {
        guard = guard.arg("--keep");
    }
    guard.run().await
}

pub(crate) async fn run(args: Args) -> Result<()> {
    tree::build().await?;
    check(args).await
}
