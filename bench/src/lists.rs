//! Long lists and many servers: what `tools/list` costs, and whether a call still costs the same.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use memchr::memmem;
use serde::Serialize;
use tempfile::TempDir;

use crate::client::{Client, Target};
use crate::load::{Round, Sessions, Span, Work, median};
use crate::machine::Cores;
use crate::process::{Hub, configure};
use crate::speech::Era;
use crate::stand::through;
use crate::{calls, note};

#[derive(Serialize)]
pub(crate) struct Lists {
    /// By number of tools.
    pub(crate) lists: Vec<(usize, Round)>,
    /// Calls at 64 sessions that go round so many servers, each alone.
    pub(crate) servers: Vec<(usize, Round)>,
    /// The same where calls to one server may go together: the fewer servers there are, the more of them do.
    pub(crate) together: Vec<(usize, Round)>,
    /// With one and with fifty servers, in milliseconds: the first time, and the median of later times.
    pub(crate) start: Vec<(usize, f64, f64)>,
}

/// How many servers have how many tools each.
const SHAPES: [(usize, usize); 5] = [(1, 10), (10, 10), (50, 10), (50, 20), (50, 200)];

pub(crate) async fn measure(
    binary: &Path,
    server: &str,
    cores: Cores,
    span: Span,
    rounds: usize,
) -> Result<Lists> {
    let mut found = Lists { lists: Vec::new(), servers: Vec::new(), together: Vec::new(), start: Vec::new() };
    for (servers, tools) in SHAPES {
        let folder = TempDir::with_prefix("toolgrove-bench-")?;
        let entries: String = (0..servers)
            .map(|it| format!("[server.s{it:02}]\nurl = \"http://{server}/s{it:02}/{tools}\"\n\n"))
            .collect();
        configure(folder.path(), &entries)?;
        let (first, mut hub) = start(binary, &folder, cores).await?;
        wait_for(&hub, servers * tools).await?;
        if tools == 10 && servers != 10 {
            let mut later = Vec::new();
            for _ in 0..5 {
                hub.program.stop().await;
                let (took, again) = start(binary, &folder, cores).await?;
                later.push(took);
                hub = again;
            }
            later.sort_by(f64::total_cmp);
            note(format_args!(
                "  start to first call, {servers} servers: {first:.1} ms, later {:.1} ms",
                later[2]
            ));
            found.start.push((servers, first, later[2]));
            wait_for(&hub, servers * tools).await?;
        }
        if tools == 10 {
            let targets: Vec<Target> =
                (0..servers).map(|it| through(&hub, Era::Modern, &format!("s{it:02}"))).collect();
            let bytes = calls::SMALL;
            let alone = rounds_of(&hub, &targets, 64, Work::Unmarked { bytes }, span, rounds).await?;
            note(format_args!("  calls to {servers} servers, each alone: {}", words(&alone)));
            found.servers.push((servers, alone));
            let together = rounds_of(&hub, &targets, 64, Work::Call { bytes }, span, rounds).await?;
            note(format_args!("  calls to {servers} servers, which may go together: {}", words(&together)));
            found.together.push((servers, together));
        }
        if servers * tools != 500 {
            let target = through(&hub, Era::Modern, "s00");
            let round = rounds_of(&hub, &[target], 1, Work::List, span, rounds).await?;
            note(format_args!("  list of {} tools: {}", servers * tools, words(&round)));
            found.lists.push((servers * tools, round));
        }
        hub.program.stop().await;
    }
    Ok(found)
}

fn words(round: &Round) -> String {
    let cpu = round.cpu_us.unwrap_or_default();
    format!(
        "{:.0}/s, {cpu:.1} µs of processor time, p50 {:.0} µs, p99 {:.0} µs",
        round.per_second, round.p50, round.p99
    )
}

async fn rounds_of(
    hub: &Hub,
    targets: &[Target],
    count: usize,
    work: Work,
    span: Span,
    rounds: usize,
) -> Result<Round> {
    let mut sessions = Sessions::open(targets, count, work).await?;
    let mut all = Vec::new();
    for _ in 0..rounds {
        all.push(sessions.round(Some(hub.program.pid()), span).await?);
    }
    Ok(median(&all))
}

/// From before the process exists to the last byte of a tool's answer, in milliseconds.
async fn start(binary: &Path, folder: &TempDir, cores: Cores) -> Result<(f64, Hub)> {
    let began = Instant::now();
    let hub = Hub::start(binary, folder.path(), cores).await?;
    let target = through(&hub, Era::Modern, "s00");
    let mut client = Client::open(&target).await?;
    let mut call = client.prepare_call(&target.tool, "", 0);
    client.ask(&mut call, 1).await?;
    Ok((began.elapsed().as_secs_f64() * 1000.0, hub))
}

/// Until the hub knows all its tools.
async fn wait_for(hub: &Hub, tools: usize) -> Result<()> {
    let target = through(hub, Era::Modern, "s00");
    let mut client = Client::open(&target).await?;
    let mut list = client.prepare_list();
    for number in 1..600 {
        let answer = client.ask(&mut list, number).await?;
        if memmem::find_iter(answer, br#""inputSchema""#).count() == tools {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("the hub does not list {tools} tools")
}
