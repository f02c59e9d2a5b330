//! The regression guard: instructions and allocations for a fixed script of calls, under callgrind. What else runs on
//! the machine does not move them, so a change that makes calls dearer is seen, however noisy the machine.
//!
//! The hub runs on one core, so that its runtime is one thread, and only that thread counts: what the database does
//! beside it depends on time. So does how many rows of the log are written together; between two calls there is a pause
//! that makes it one. A `GET /healthz` between two parts of the script makes callgrind write one part down.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::process::Command;

use crate::client::{Client, text};
use crate::machine::Cores;
use crate::note;
use crate::process::{Hub, Side, configure};
use crate::speech::Era;
use crate::stand::{serve, through};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The hub that is measured
    #[arg(long)]
    hub: PathBuf,
    /// Where the last values are kept
    #[arg(long)]
    kept: PathBuf,
    /// Write the values down instead of comparing them
    #[arg(long)]
    keep: bool,
    /// Keep callgrind's own files here, to be read with `callgrind_annotate`
    #[arg(long)]
    profile: Option<PathBuf>,
}

/// How much more than the last value is let through, in percent. Two runs differ by one or two; the rest is for other
/// processors, which have other ways to compare and to copy.
const LEEWAY: f64 = 15.0;
const WARM_UP: u64 = 30;
const SETTLED: Duration = Duration::from_millis(500);
/// In it the row of the last call is written: the log waits 100 ms for more rows, and everything is slow here.
const PAUSE: Duration = Duration::from_millis(250);
/// The function whose entry ends a part: the answer to `GET /healthz`.
const MARK: &str = "toolgrove_server::page::healthy";

/// What one call costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Cost {
    instructions: u64,
    allocations: f64,
}

type Kept = std::collections::BTreeMap<String, Cost>;

pub(crate) async fn run(args: Args) -> Result<()> {
    let found = measure(&args.hub, args.profile.as_deref()).await?;
    if args.keep {
        std::fs::write(&args.kept, toml::to_string(&found)?)?;
    }
    let kept: Kept = match std::fs::read_to_string(&args.kept) {
        Ok(text) => toml::from_str(&text).with_context(|| args.kept.display().to_string())?,
        Err(error) => bail!("cannot read `{}`: {error}", args.kept.display()),
    };
    let mut worse = 0;
    for (name, now) in &found {
        let last =
            kept.get(name).with_context(|| format!("`{name}` has no last value; run with `--keep`"))?;
        let more = |now: f64, last: f64| (now / last - 1.0) * 100.0;
        let instructions = more(now.instructions as f64, last.instructions as f64);
        let allocations = more(now.allocations, last.allocations);
        let is_worse = instructions > LEEWAY || allocations > LEEWAY;
        worse += usize::from(is_worse);
        note(format_args!(
            "  {name:16} {:>9} instructions ({instructions:+.1} %)  {:>6.1} allocations ({allocations:+.1} %)  {}",
            now.instructions,
            now.allocations,
            if is_worse { "WORSE" } else { "ok" }
        ));
    }
    if worse > 0 {
        bail!(
            "{worse} of {} cost more than {LEEWAY} % over their last value; if that is worth it, `cargo xtask guard --keep` writes the new ones down",
            found.len()
        );
    }
    Ok(())
}

async fn measure(hub: &Path, profile: Option<&Path>) -> Result<Kept> {
    let cores = Cores::find();
    let (_legacy, legacy) = serve(&["echo", "--era", "legacy"], (cores, Side::Rest)).await?;
    let (_modern, modern) = serve(&["echo", "--era", "modern"], (cores, Side::Rest)).await?;
    let folder = TempDir::with_prefix("toolgrove-guard-")?;
    configure(
        folder.path(),
        &format!(
            "[server.legacy]\nurl = \"http://{legacy}/10\"\n\n[server.modern]\nurl = \"http://{modern}/10\"\n"
        ),
    )?;
    let out = profile.map_or_else(|| folder.path().join("callgrind"), |it| it.join("callgrind"));
    let mut command = Command::new("taskset");
    command
        .args(["-c", &cores.measured.unwrap_or_default().to_string()])
        .args(["valgrind", "--quiet", "--tool=callgrind", "--separate-threads=yes", "--trace-children=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(format!("--dump-before={MARK}"))
        .arg(hub);
    let hub = Hub::start_as(command, folder.path(), cores).await.context("is `valgrind` installed?")?;

    let mut script = Script {
        marks: 0,
        health: Client::connect(&through(&hub, Era::Modern, "x")).await?,
        parts: HashMap::new(),
    };
    for era in Era::BOTH {
        let target = through(&hub, era, era.name());
        let mut client = Client::open(&target).await?;
        for (part, count, bytes) in [("0.3 KB", 20, 300), ("64 KB", 5, 64 * 1024)] {
            let mut call = client.prepare_call(&target.tool, &text(bytes), 0);
            script.part(&mut client, &mut call, &format!("{} {part}", era.name()), count).await?;
        }
    }
    hub.program.stop().await;
    script.read(&out)
}

struct Script {
    marks: usize,
    health: Client,
    /// Name → (number of the part, calls in it).
    parts: HashMap<String, (usize, u64)>,
}

impl Script {
    /// Calls until everything is warm, then so often between two marks.
    async fn part(
        &mut self,
        client: &mut Client,
        call: &mut crate::client::Prepared,
        name: &str,
        count: u64,
    ) -> Result<()> {
        let first = 1_000 * (self.marks as u64 + 1);
        for number in 0..WARM_UP.min(count) {
            client.ask(call, first + number).await?;
        }
        // The rows of the calls so far are written by then.
        tokio::time::sleep(SETTLED).await;
        self.mark().await?;
        for number in 0..count {
            client.ask(call, first + WARM_UP + number).await?;
            tokio::time::sleep(PAUSE).await;
        }
        self.mark().await?;
        self.parts.insert(name.to_owned(), (self.marks, count));
        Ok(())
    }

    async fn mark(&mut self) -> Result<()> {
        self.health.health().await?;
        // What the hub does after its answer belongs to the part before.
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.marks += 1;
        Ok(())
    }

    fn read(&self, out: &Path) -> Result<Kept> {
        let cost = |part: usize, count: u64| {
            let file = format!("{}.{part}-01", out.display());
            let text =
                std::fs::read_to_string(&file).with_context(|| format!("callgrind wrote no `{file}`"))?;
            let Profile { instructions, allocations } = Profile::read(&text);
            let allocations = allocations as f64 / count as f64;
            Ok::<_, anyhow::Error>(Cost {
                instructions: instructions / count,
                allocations: (allocations * 10.0).round() / 10.0,
            })
        };
        self.parts.iter().map(|(name, (part, count))| Ok((name.clone(), cost(*part, *count)?))).collect()
    }
}

/// What one file of callgrind says.
struct Profile {
    instructions: u64,
    allocations: u64,
}

impl Profile {
    fn read(text: &str) -> Self {
        const ALLOCATES: [&str; 3] = ["__rust_alloc", "__rust_alloc_zeroed", "__rust_realloc"];
        let mut names: HashMap<&str, &str> = HashMap::new();
        let (mut instructions, mut allocations, mut allocates) = (0, 0, false);
        for line in text.lines() {
            if let Some(total) = line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")) {
                instructions = total.trim().parse().unwrap_or(instructions);
            } else if let Some(named) = line.strip_prefix("cfn=").or_else(|| line.strip_prefix("fn=")) {
                // `(12) name` the first time, `(12)` from then on.
                let (id, name) = named.split_once(' ').unwrap_or((named, ""));
                if !name.is_empty() {
                    names.insert(id, name);
                }
                let name = names.get(id).copied().unwrap_or_default();
                let plain = name.rsplit("::").next().unwrap_or(name);
                allocates = line.starts_with("cfn=") && ALLOCATES.contains(&plain);
            } else if let Some(calls) = line.strip_prefix("calls=").filter(|_| allocates) {
                allocations +=
                    calls.split(' ').next().and_then(|it| it.parse::<u64>().ok()).unwrap_or_default();
            }
        }
        Self { instructions, allocations }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_allocator_are_counted_by_name_and_by_number() {
        let text = "fn=(1) door\n5 10\ncfn=(2) __rustc::__rust_alloc\ncalls=3 7\n5 90\ncfn=(3) other\ncalls=9 1\n5 1\nfn=(3)\n1 1\ncfn=(2)\ncalls=2 7\n5 60\ntotals: 162\n";
        let Profile { instructions, allocations } = Profile::read(text);
        assert_eq!((instructions, allocations), (162, 5));
    }
}
