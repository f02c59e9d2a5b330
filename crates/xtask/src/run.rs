//! `cargo xtask run`: build what is missing, then become the hub.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::Run;
use crate::{prerequisites, tree, ui};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build with optimisations: slower to build, what people should use
    #[arg(long)]
    release: bool,
    /// Arguments for `toolgrove serve`
    #[arg(last = true)]
    args: Vec<String>,
}

pub(crate) async fn run(args: Args) -> Result<()> {
    prerequisites::check_to_build().await?;
    ui::build_where_possible().await?;

    println!("building the hub ({})", if args.release { "release" } else { "debug" });
    let build =
        Run::new("cargo", ["build", "--package", "toolgrove", "--bin", "toolgrove"]).in_folder(tree::root());
    let (build, binary) = if args.release {
        (build.arg("--release"), tree::release_binary("toolgrove"))
    } else {
        (build, tree::debug_binary("toolgrove"))
    };
    build.run().await?;

    println!("starting `toolgrove serve {}`", args.args.join(" "));
    // The hub takes our place, so signals and the terminal are its own.
    let error = Command::new(&binary).arg("serve").args(&args.args).exec();
    Err(error).with_context(|| format!("cannot start `{}`", binary.display()))
}
