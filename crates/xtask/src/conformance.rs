//! `cargo xtask conformance`: the MCP conformance suite through the hub, against our fixture server.
//!
//! Suite → forwarder (adds the key) → hub → fixture server. A cell is one revision of the suite with one era of the
//! fixture. `conformance-waiting.txt` names the scenarios that are known to fail; it can only shrink.

mod forwarder;
mod results;

use std::path::Path;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::hub::{self, Era};
use crate::process::Run;
use crate::{peers, tree};
use forwarder::Forwarder;

const WAITING: &str = "crates/xtask/conformance-waiting.txt";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this revision of the suite
    #[arg(long, value_parser = ["2025-11-25", "2026-07-28"])]
    only: Option<String>,
    /// Only this era of the fixture server
    #[arg(long)]
    era: Option<Era>,
    /// Run the suite against an MCP server that needs no key, without hub and forwarder
    #[arg(long, value_name = "URL")]
    direct: Option<String>,
}

/// Runs the cells that were asked for; without a choice, all four.
pub(crate) async fn run(args: Args) -> Result<()> {
    peers::install_npm().await?;
    if let Some(url) = &args.direct {
        return direct(url, args.only.as_deref().unwrap_or("2025-11-25")).await;
    }
    tree::build().await?;
    let mut wrong = Vec::new();
    for revision in ["2025-11-25", "2026-07-28"] {
        for era in [Era::Legacy, Era::Modern] {
            if args.only.as_deref().is_none_or(|it| it == revision) && args.era.is_none_or(|it| it == era) {
                wrong.extend(cell(revision, era).await.err().map(|it| format!("{it:#}")));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n       ")) }
}

/// The cell every test run includes.
pub(crate) async fn required() -> Result<()> {
    cell("2025-11-25", Era::Legacy).await
}

async fn cell(revision: &str, era: Era) -> Result<()> {
    let cell = format!("{revision} {}", era.name());
    println!("  suite {revision}, fixture server {}", era.name());
    let out = empty_folder(&format!("{revision}-{}", era.name()))?;
    let scratch = TempDir::with_prefix("toolgrove-conformance-")?;

    let fixture_binary = tree::debug_binary("toolgrove-fixture");
    let (fixture, fixture_url) = hub::start_fixture(&fixture_binary, era, &out.join("fixture.log")).await?;
    let forwarder = Forwarder::bind().await?;
    let public = forwarder.address.to_string();
    hub::configure(scratch.path(), &fixture_url, Some(&format!("http://{public}")))?;
    let hub_binary = tree::debug_binary("toolgrove");
    let hub = hub::start_hub(&hub_binary, scratch.path(), Some(&public), &out.join("hub.log")).await?;
    let forwarding = forwarder.forward(&hub.address, &hub.key)?;

    let judged = suite(&format!("http://{public}/mcp/i/fixture"), revision, &cell, &out).await;

    drop(forwarding);
    hub.server.stop().await;
    fixture.stop().await;
    judged
}

async fn direct(url: &str, revision: &str) -> Result<()> {
    let out = empty_folder(&format!("{revision}-direct"))?;
    suite(url, revision, &format!("{revision} direct"), &out).await
}

async fn suite(url: &str, revision: &str, cell: &str, out: &Path) -> Result<()> {
    let package = peers::folder().join("node_modules/@modelcontextprotocol/conformance");
    let requirements = package.join("requirements").join(format!("{revision}.yaml"));
    let requirements = std::fs::read_to_string(&requirements)
        .context("the conformance suite is not installed: run `npm ci`")?;
    let list = std::fs::read_to_string(tree::root().join(WAITING))
        .context("cannot read the list of waiting scenarios")?;

    let log = out.join("suite.log");
    let status = Run::new(peers::node(), [peers::folder().join("node_modules/.bin/conformance")])
        .arg("server")
        .arg("--url")
        .arg(url)
        .arg("--requirements")
        .arg(revision)
        .arg("-o")
        .arg(out)
        .status_to(&log)
        .await?;
    println!("  the suite ended with {status}; its log is {}", log.display());
    results::judge(
        cell,
        &results::scored(&requirements),
        &results::waiting(&list, cell),
        &results::read(out)?,
    )
}

fn empty_folder(name: &str) -> Result<std::path::PathBuf> {
    let folder = tree::target().join("conformance").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
