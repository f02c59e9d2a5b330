//! `cargo xtask fuzz`: every target in `fuzz/` for a bounded time.
//!
//! With `--sanitizer none` cargo-fuzz needs no nightly: the coverage pass it asks for (`-Cpasses=sancov-module` and
//! LLVM arguments) is accepted by the pinned stable compiler, and libFuzzer reports the counters it found. Seeds are
//! committed in `fuzz/seeds/<target>`; what a run finds on its way is kept under `target/`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::process::Run;
use crate::tree;

/// How long each target runs in a test run.
pub(crate) const SECONDS: u32 = 20;

/// The newest that is known to work; about a minute to compile, once.
const VERSION: &str = "0.13.2";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds per target
    #[arg(long, default_value_t = SECONDS)]
    seconds: u32,
}

pub(crate) async fn run(args: Args) -> Result<()> {
    run_all(args.seconds).await
}

pub(crate) async fn run_all(seconds: u32) -> Result<()> {
    let targets = targets()?;
    if targets.is_empty() {
        println!("  there is no target in fuzz/fuzz_targets");
        return Ok(());
    }
    install().await?;
    let mut failed = Vec::new();
    for target in &targets {
        println!("  {target}: {seconds} s");
        if let Err(error) = run_one(target, seconds).await {
            println!("  {error:#}");
            failed.push(target.as_str());
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("fuzz target {} failed; the input is in target/fuzz/artifacts", failed.join(", "))
}

async fn run_one(target: &str, seconds: u32) -> Result<()> {
    let folder = tree::target().join("fuzz");
    let (corpus, artifacts) = (folder.join("corpus").join(target), folder.join("artifacts").join(target));
    std::fs::create_dir_all(&corpus)?;
    std::fs::create_dir_all(&artifacts)?;
    let log = folder.join(format!("{target}.log"));

    let seeds = tree::root().join("fuzz/seeds").join(target);
    // libFuzzer writes what it finds to the first folder and only reads the others.
    let mut command = cargo_fuzz("run")
        .arg("--sanitizer")
        .arg("none")
        .arg("--target-dir")
        .arg(folder.join("build"))
        .arg(target)
        .arg(&corpus);
    if seeds.is_dir() {
        command = command.arg(seeds);
    }
    let status = command
        .arg("--")
        .arg(format!("-max_total_time={seconds}"))
        .arg("-timeout=10")
        .arg("-print_final_stats=1")
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .env("RUST_BACKTRACE", "0")
        .status_to(&log)
        .await?;

    let said = std::fs::read_to_string(&log).unwrap_or_default();
    if !status.success() {
        let tail: Vec<_> = said.lines().rev().take(15).collect();
        tail.into_iter().rev().for_each(|it| println!("    {it}"));
        bail!("`{target}` ended with {status}; all it said is in `{}`", log.display());
    }
    // Without counters it would only throw random bytes.
    if !said.contains("inline 8-bit counters") {
        bail!("`{target}` ran without coverage; all it said is in `{}`", log.display());
    }
    said.lines().filter(|it| it.starts_with("Done ")).for_each(|it| println!("    {it}"));
    Ok(())
}

fn cargo_fuzz(verb: &str) -> Run {
    Run::new(binary(), ["fuzz", verb]).in_folder(tree::root())
}

fn binary() -> PathBuf {
    tree::target().join("tools/bin/cargo-fuzz")
}

async fn install() -> Result<()> {
    let present = Run::new(binary(), ["fuzz", "--version"]).output().await;
    if present.is_ok_and(|it| it.contains(VERSION)) {
        return Ok(());
    }
    println!("  compiling cargo-fuzz into target/tools, about a minute, once");
    let tools = tree::target().join("tools");
    let build = tools.join("build");
    Run::new("cargo", ["install", "cargo-fuzz", "--version", VERSION, "--locked", "--quiet", "--force"])
        .arg("--root")
        .arg(tools)
        .arg("--target-dir")
        .arg(&build)
        .run()
        .await?;
    Ok(std::fs::remove_dir_all(build)?)
}

fn targets() -> Result<Vec<String>> {
    let folder = tree::root().join("fuzz/fuzz_targets");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "rs") {
            names.push(path.file_stem().context("a file has a name")?.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
