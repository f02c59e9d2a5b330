//! Memory and open files: idle, under load, after it, and with thousands of sessions that do nothing.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use tempfile::TempDir;

use crate::client::Client;
use crate::load::{Sessions, Span, Work};
use crate::machine::{Cores, open_files, resident};
use crate::process::{Hub, configure};
use crate::speech::Era;
use crate::stand::through;
use crate::{calls, note};

#[derive(Serialize)]
pub(crate) struct Memory {
    /// In MiB.
    pub(crate) idle: f64,
    pub(crate) under_load: f64,
    pub(crate) after: f64,
    pub(crate) files_idle: usize,
    pub(crate) files_under_load: usize,
    pub(crate) files_after: usize,
    pub(crate) sessions: usize,
    /// In KiB, for each session beyond the first thousand.
    pub(crate) per_session: f64,
    pub(crate) streams: usize,
    /// In KiB, for each session with an open stream beyond the first hundred.
    pub(crate) per_stream: f64,
}

/// A hub gives back what it does not need in the first quiet second after a rush, and what a rush leaves open lasts one.
const SETTLED: Duration = Duration::from_secs(5);
const LOAD: usize = 256;

pub(crate) async fn measure(
    binary: &Path,
    server: &str,
    cores: Cores,
    files: u64,
    quick: bool,
) -> Result<Memory> {
    let folder = TempDir::with_prefix("toolgrove-bench-")?;
    configure(folder.path(), &format!("[server.echo]\nurl = \"http://{server}/mcp\"\n"))?;
    let hub = Hub::start(binary, folder.path(), cores).await?;
    let pid = hub.program.pid();
    let (modern, legacy) = (through(&hub, Era::Modern, "echo"), through(&hub, Era::Legacy, "echo"));
    let mut client = Client::open(&modern).await?;
    let mut call = client.prepare_call(&modern.tool, "", 0);
    client.ask(&mut call, 1).await?;
    drop(client);
    tokio::time::sleep(SETTLED).await;
    let (idle, files_idle) = (resident(pid)?, open_files(pid));

    let span = Span {
        warm_up: Duration::from_millis(200),
        measured: Duration::from_secs(if quick { 2 } else { 5 }),
    };
    let mut load =
        Sessions::open(std::slice::from_ref(&modern), LOAD, Work::Call { bytes: calls::SMALL }).await?;
    load.round(Some(pid), span).await?;
    let (under_load, files_under_load) = (resident(pid)?, open_files(pid));
    drop(load);
    tokio::time::sleep(SETTLED).await;
    let (after, files_after) = (resident(pid)?, open_files(pid));

    let (first, all) = if quick { (500, 2_500) } else { (1_000, 10_000) };
    let before = open_sessions(&legacy, first, pid).await?;
    let per_session = (open_sessions(&legacy, all - first, pid).await? - before) / (all - first) as f64;

    // Each stream is two files here and one there.
    let streams = usize::try_from(files.saturating_sub(500)).unwrap_or(usize::MAX).min(if quick {
        600
    } else {
        10_000
    });
    let mut open = Vec::new();
    let mut mark = 0.0;
    for place in 0..streams {
        let mut client = Client::open(&legacy).await?;
        client.hear().await?;
        open.push(client);
        if place + 1 == 100 {
            mark = resident(pid)? as f64;
        }
    }
    let per_stream = (resident(pid)? as f64 - mark) / (streams - 100) as f64;
    drop(open);
    hub.program.stop().await;
    let mib = |kib: u64| kib as f64 / 1024.0;
    let memory = Memory {
        idle: mib(idle),
        under_load: mib(under_load),
        after: mib(after),
        files_idle,
        files_under_load,
        files_after,
        sessions: all,
        per_session,
        streams,
        per_stream,
    };
    note(format_args!(
        "  {:.1} MiB idle, {:.1} at {LOAD} sessions, {:.1} after; {per_session:.2} KiB for a session, {per_stream:.2} with its stream",
        memory.idle, memory.under_load, memory.after
    ));
    Ok(memory)
}

/// Opens so many sessions and leaves them; then how much memory the hub holds, in KiB.
async fn open_sessions(target: &crate::client::Target, count: usize, pid: u32) -> Result<f64> {
    let mut client = Client::open(target).await?;
    for _ in 1..count {
        client.open_another(target).await?;
    }
    Ok(resident(pid)? as f64)
}
