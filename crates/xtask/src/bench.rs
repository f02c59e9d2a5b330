//! `cargo xtask bench --quick`: how long from start to the first answered call, and how much memory an idle hub holds.
//!
//! Figures are printed with their bounds. Only ten times a bound is an error: machines differ, mistakes are larger.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hub::{self, Era, Hub};
use crate::process::Run;
use crate::tree;

const START: Duration = Duration::from_millis(100);
const MEMORY_MIB: f64 = 30.0;
const RESTARTS: usize = 9;
/// How long the hub is left alone before its memory is read.
const IDLE: Duration = Duration::from_secs(3);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Start-up and idle memory only; there is nothing else yet
    #[arg(long)]
    quick: bool,
}

pub(crate) async fn run(args: Args) -> Result<()> {
    if !args.quick {
        bail!("only `cargo xtask bench --quick` exists yet");
    }
    println!("building the release binaries");
    Run::new(
        "cargo",
        ["build", "--release", "--package", "toolgrove", "--package", "toolgrove-fixture", "--bins"],
    )
    .in_folder(tree::root())
    .run()
    .await?;

    let folder = TempDir::with_prefix("toolgrove-bench-")?;
    let fixture_binary = tree::release_binary("toolgrove-fixture");
    let (fixture, url) =
        hub::start_fixture(&fixture_binary, Era::Modern, &folder.path().join("fixture.log")).await?;
    hub::configure(folder.path(), &url, None)?;

    let (first, hub) = start_and_call(folder.path()).await?;
    tokio::time::sleep(IDLE).await;
    let memory = resident_mib(hub.server.pid().context("the hub has ended")?)?;
    hub.server.stop().await;

    let mut restarts = Vec::new();
    for _ in 0..RESTARTS {
        let (took, hub) = start_and_call(folder.path()).await?;
        restarts.push(took);
        hub.server.stop().await;
    }
    fixture.stop().await;
    restarts.sort();
    let median = restarts[RESTARTS / 2];

    println!("\n  {:44} {:>10} {:>10}", "", "measured", "bound");
    line("start to first answered call, empty folder", &millis(first), &millis(START));
    line(&format!("start to first answered call, median of {RESTARTS}"), &millis(median), &millis(START));
    line("resident memory, idle", &format!("{memory:.1} MiB"), &format!("{MEMORY_MIB:.0} MiB"));

    if first > START * 10 || median > START * 10 || memory > MEMORY_MIB * 10.0 {
        bail!("a figure is more than ten times its bound");
    }
    Ok(())
}

fn line(what: &str, measured: &str, bound: &str) {
    println!("  {what:44} {measured:>10} {bound:>10}");
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// From before the process exists to the last byte of a tool's answer.
async fn start_and_call(folder: &Path) -> Result<(Duration, Hub)> {
    let began = Instant::now();
    let binary = tree::release_binary("toolgrove");
    let hub = hub::start_hub(&binary, folder, None, &folder.join("hub.log")).await?;
    call(&hub).await?;
    Ok((began.elapsed(), hub))
}

/// One modern call: it needs no session, so it is one request.
async fn call(hub: &Hub) -> Result<()> {
    const VERSION: &str = "2026-07-28";
    const TOOL: &str = "test_simple_text";
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {
            "name": TOOL, "arguments": {},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": VERSION,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": { "name": "xtask", "version": "0" },
            },
        },
    });
    let request = Request::post(format!("http://{}/mcp/i/fixture", hub.address))
        .header("authorization", format!("Bearer {}", hub.key))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", VERSION)
        .header("mcp-method", "tools/call")
        .header("mcp-name", TOOL)
        .body(Full::<Bytes>::from(body.to_string()))?;
    let client = Client::builder(TokioExecutor::new()).build_http();
    let response = client.request(request).await.context("the hub did not answer")?;
    let status = response.status();
    let answer = response.into_body().collect().await?.to_bytes();
    let answer = String::from_utf8_lossy(&answer);
    // Either one JSON body or an event stream with the answer in its last event.
    let message = answer.lines().rev().find_map(|it| it.strip_prefix("data:")).unwrap_or(&answer);
    let message: Value = serde_json::from_str(message).unwrap_or_default();
    if !status.is_success() || message["result"]["content"].is_null() {
        bail!("the call was answered with {status}: {answer}");
    }
    Ok(())
}

fn resident_mib(pid: u32) -> Result<f64> {
    let status =
        std::fs::read_to_string(format!("/proc/{pid}/status")).context("memory is only read on Linux")?;
    let line =
        status.lines().find_map(|it| it.strip_prefix("VmRSS:")).context("the kernel names no VmRSS")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1024.0)
}
