//! `cargo xtask bench`: builds the hub and the benchmark as they are released, and lets the one measure the other.
//!
//! What is measured, and how, is told in `docs/performance.md`; the benchmark itself is `bench/`.

use anyhow::Result;

use crate::process::Run;
use crate::{peers, tree};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Less of everything, within two minutes
    #[arg(long)]
    quick: bool,
    /// Also draw the chart of docs/performance.md anew
    #[arg(long)]
    publish: bool,
}

pub(crate) async fn run(args: Args) -> Result<()> {
    println!("building the release binaries");
    Run::new(
        "cargo",
        ["build", "--release", "--package", "toolgrove", "--package", "toolgrove-bench", "--bins"],
    )
    .in_folder(tree::root())
    .run()
    .await?;

    let out = tree::target().join("bench");
    let mut bench = Run::new(tree::release_binary("toolgrove-bench"), ["run", "--hub"])
        .arg(tree::release_binary("toolgrove"))
        .arg("--out")
        .arg(&out)
        .envs(&peers::environment());
    if args.quick {
        bench = bench.arg("--quick");
    }
    let others = tree::root().join("bench/peers.toml");
    if others.exists() {
        bench = bench.arg("--peers").arg(others);
    }
    if peers::node().exists() {
        let server = tree::root().join("bench/ts-server.mjs");
        bench = bench.arg("--node").arg(peers::node()).arg("--ts-server").arg(server);
    } else {
        println!(
            "  the TypeScript SDK is not installed (`cargo xtask test` does it): two bounds are left out"
        );
    }
    let measured = bench.run().await;
    if args.publish {
        std::fs::copy(out.join("bench.svg"), tree::root().join("docs/pictures/performance.svg"))?;
    }
    measured
}
