//! The whole benchmark, from the first process to the last verdict.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tempfile::TempDir;
use tokio::process::Command;

use crate::bounds::{self, Bound, Direct, Found};
use crate::buds::{self, Buds};
use crate::calls::{self, Measured, SMALL};
use crate::lists::{self, Lists};
use crate::load::{Span, Work};
use crate::machine::{About, Cores, fetch_children, pin, raise_files};
use crate::memory::{self, Memory};
use crate::pipe::Pipe;
use crate::process::{Side, at_home, configure, installed};
use crate::speech::Era;
use crate::stand::Stand;
use crate::{chart, note};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The hub that is measured
    #[arg(long)]
    hub: PathBuf,
    /// Where the figures go: `bench.json` and `bench.svg`
    #[arg(long)]
    out: PathBuf,
    /// Less of everything
    #[arg(long)]
    quick: bool,
    /// Only what has this in its name, of calls, processes and memory, and no verdict: to look at one thing
    #[arg(long)]
    only: Option<String>,
    /// Other gateways, see `bench/README.md`
    #[arg(long)]
    peers: Option<PathBuf>,
    /// A Node.js that runs the server of the TypeScript SDK
    #[arg(long)]
    node: Option<PathBuf>,
    /// That server
    #[arg(long)]
    ts_server: Option<PathBuf>,
}

/// Everything that was found, as it is kept.
#[derive(Serialize)]
struct Report<'a> {
    about: &'a About,
    calls: &'a [Measured],
    lists: &'a Lists,
    memory: &'a Memory,
    direct: &'a Direct,
    buds: &'a Buds,
    bounds: &'a [Bound],
}

pub(crate) async fn run(args: Args) -> Result<()> {
    let (cores, files) = (Cores::find(), raise_files());
    pin(cores.rest);
    let about = About::of(&args.hub, installed("nginx").as_deref(), args.node.as_deref(), cores);
    note(format_args!("{} · {} cores · load {} · {}", about.cpu, about.cores, about.load, about.toolgrove));
    if cores.measured.is_none() {
        note(format_args!("only one core may be used here: nothing is pinned, ratios are rough"));
    }
    let (rounds, span) = if args.quick {
        (3, Span { warm_up: Duration::from_millis(150), measured: Duration::from_millis(350) })
    } else {
        (5, Span { warm_up: Duration::from_millis(300), measured: Duration::from_millis(900) })
    };

    note(format_args!("\ncalls ({rounds} rounds of each column in turn, medians)"));
    let ts = args.node.as_deref().zip(args.ts_server.as_deref()).filter(|it| it.0.exists() && it.1.exists());
    let stand = Stand::start(&args.hub, args.peers.as_deref(), cores).await?;
    let mut plan = calls::plan(args.quick);
    if let Some(only) = &args.only {
        plan.retain(|it| it.name.contains(only.as_str()));
        calls::measure(&stand, &plan, rounds, span).await?;
        if PROCESSES.contains(only.as_str()) {
            direct(&args.hub, ts, cores, (rounds, span)).await?;
        }
        if "memory".contains(only.as_str()) {
            let server = stand.server_address(Era::Modern).to_owned();
            memory::measure(&args.hub, &server, cores, files, args.quick).await?;
        }
        stand.hub.program.stop().await;
        return Ok(());
    }
    let measured = calls::measure(&stand, &plan, rounds, span).await?;
    note(format_args!("\n{PROCESSES}"));
    let direct = direct(&args.hub, ts, cores, (rounds, span)).await?;
    note(format_args!("\nlists and starts"));
    let server = stand.server_address(Era::Modern).to_owned();
    let lists = lists::measure(&args.hub, &server, cores, span, rounds.min(3)).await?;
    note(format_args!("\nbuds"));
    let buds = buds::measure(&args.hub, cores).await?;
    note(format_args!("\nmemory"));
    let memory = memory::measure(&args.hub, &server, cores, files, args.quick).await?;
    stand.hub.program.stop().await;

    let found = Found { calls: &measured, lists: &lists, memory: &memory, direct: &direct, buds: &buds };
    let bounds = bounds::judge(&found);
    std::fs::create_dir_all(&args.out)?;
    let report = Report {
        about: &about,
        calls: &measured,
        lists: &lists,
        memory: &memory,
        direct: &direct,
        buds: &buds,
        bounds: &bounds,
    };
    std::fs::write(args.out.join("bench.json"), serde_json::to_string_pretty(&report)?)?;
    std::fs::write(args.out.join("bench.svg"), chart::draw(&found, &about))?;
    note(format_args!("\n{}", bounds::table(&bounds)));
    note(format_args!("  figures: {}", args.out.join("bench.json").display()));
    note(format_args!("  chart:   {}", args.out.join("bench.svg").display()));
    match bounds.iter().filter(|it| !it.holds).count() {
        0 => Ok(()),
        missed => bail!("{missed} of {} bounds are missed", bounds.len()),
    }
}

const PROCESSES: &str = "processes on their standard streams, driven directly and by a hub";
const UNDER_WAY: usize = 16;

/// What single processes answer without a hub, and when a hub is the process that their client starts instead, or one that
/// only copies: in turn, round after round.
async fn direct(
    hub: &Path,
    ts: Option<(&Path, &Path)>,
    cores: Cores,
    (rounds, span): (usize, Span),
) -> Result<Direct> {
    let ourselves = std::env::current_exe()?;
    let args = ["echo", "--era", "legacy", "--stdio"].map(String::from);
    let echo = Server { program: text(&ourselves)?, args: &args, peers: "" };
    let [echo_stdio, hub_over_echo, relay_over_echo] = echo.in_turn(hub, cores, rounds, span).await?;
    note(format_args!(
        "  echo: {echo_stdio:.0} calls/s, through the hub {hub_over_echo:.0}, through a bare relay {relay_over_echo:.0}"
    ));
    let mut found = Direct { echo_stdio, hub_over_echo, relay_over_echo, ..Direct::default() };
    let Some((node, script)) = ts else { return Ok(found) };
    let peers = std::env::var("TOOLGROVE_TEST_PEERS").unwrap_or_default();
    let args = |tools: &str| Ok::<_, anyhow::Error>([text(script)?.to_owned(), tools.to_owned()]);
    let few = Server { program: text(node)?, args: &args("10")?, peers: &peers };
    let [rate, through_hub, through_relay] = few.in_turn(hub, cores, rounds, span).await?;
    let many = Server { program: text(node)?, args: &args("1000")?, peers: &peers };
    let mut many = many.alone(cores).await?;
    many.rate(Work::List, 1, span.measured * 4).await?;
    let lists = many.rate(Work::List, 1, span.measured * 2).await?;
    note(format_args!(
        "  TypeScript SDK: {rate:.0} calls/s, through the hub {through_hub:.0}, through a bare relay {through_relay:.0}; {lists:.1} lists of 1 000 tools/s"
    ));
    found.ts_stdio = Some(rate);
    found.hub_over_ts = Some(through_hub);
    found.relay_over_ts = Some(through_relay);
    found.ts_list_1000 = Some(lists);
    Ok(found)
}

/// A server that is a process.
struct Server<'a> {
    program: &'a str,
    args: &'a [String],
    /// Where it finds its libraries.
    peers: &'a str,
}

impl Server<'_> {
    async fn alone(&self, cores: Cores) -> Result<Pipe> {
        let mut command = Command::new(self.program);
        command.args(self.args);
        Pipe::open(command, (cores, Side::Rest), "echo").await
    }

    /// Behind a hub that is itself a process of its client.
    async fn behind(&self, hub: &Path, folder: &Path, cores: Cores) -> Result<Pipe> {
        let Self { program, args, peers } = self;
        let entry =
            format!("command = {program:?}\nargs = {args:?}\nenv = {{ TOOLGROVE_TEST_PEERS = {peers:?} }}\n");
        configure(folder, &format!("[server.echo]\n{entry}"))?;
        let mut command = Command::new(hub);
        at_home(&mut command, folder)?.arg("stdio");
        Pipe::open(command, (cores, Side::Measured), "mcp__echo__echo").await
    }

    /// Behind a process that only copies, in the hub's place.
    async fn relayed(&self, cores: Cores) -> Result<Pipe> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["relay", "--", self.program]).args(self.args);
        Pipe::open(command, (cores, Side::Measured), "echo").await
    }

    /// Calls in a second, driven directly, through a hub, and through a bare relay.
    async fn in_turn(&self, hub: &Path, cores: Cores, rounds: usize, span: Span) -> Result<[f64; 3]> {
        let call = Work::Call { bytes: SMALL };
        let folder = TempDir::with_prefix("toolgrove-bench-")?;
        let behind = self.behind(hub, folder.path(), cores).await?;
        let mut pipes = [self.alone(cores).await?, behind, self.relayed(cores).await?];
        for pipe in &mut pipes {
            pipe.rate(call, UNDER_WAY, span.measured * 4).await?;
        }
        for pipe in &pipes[1..] {
            pipe.pid().inspect(|it| fetch_children(*it));
        }
        let mut rates = [const { Vec::new() }; 3];
        for _ in 0..rounds {
            for (pipe, rates) in pipes.iter_mut().zip(&mut rates) {
                pipe.rate(call, UNDER_WAY, span.warm_up).await?;
                rates.push(pipe.rate(call, UNDER_WAY, span.measured * 2).await?);
            }
        }
        Ok(rates.map(|mut all| {
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        }))
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path that can be written down")
}
