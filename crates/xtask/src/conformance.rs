//! `cargo xtask conformance`: the MCP conformance suite against the hub as a server and against its links as a client.
//!
//! Server leg: suite → forwarder (adds the key) → hub → fixture server. Client leg: the `conformance-client` example,
//! which is the hub's own links, → servers of the suite. Each revision of the suite has three runs: the server leg
//! with either era of the fixture, and the client leg.

mod forwarder;
mod results;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::hub::{self, Era};
use crate::process::Run;
use crate::{peers, tree};
use forwarder::Forwarder;
use results::Outcome;
pub(crate) use table::Table;

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
const CLIENT: &str = "conformance-client";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this revision of the suite
    #[arg(long, value_parser = REVISIONS)]
    only: Option<String>,
    /// Only this leg
    #[arg(long)]
    leg: Option<Leg>,
    /// Only this era of the fixture server
    #[arg(long)]
    era: Option<Era>,
    /// Run the suite against an MCP server that needs no key, without hub and forwarder
    #[arg(long, value_name = "URL")]
    direct: Option<String>,
}

/// The side of the protocol that is tested. The suite uses the same words.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Leg {
    Server,
    Client,
}

impl Leg {
    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// What is on the other side of the hub.
#[derive(Clone, Copy)]
enum Against<'a> {
    Fixture(Era),
    Suite,
    Direct(&'a str),
}

impl Against<'_> {
    fn leg(self) -> Leg {
        match self {
            Self::Fixture(_) | Self::Direct(_) => Leg::Server,
            Self::Suite => Leg::Client,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Fixture(Era::Legacy) => "fixture, legacy",
            Self::Fixture(Era::Modern) => "fixture, modern",
            Self::Suite => "suite",
            Self::Direct(_) => "no hub",
        }
    }
}

/// Makes the runs that were asked for; without a choice, all six.
pub(crate) async fn run(args: Args) -> Result<()> {
    peers::install_npm().await?;
    let is_wanted = |revision: &str| args.only.as_deref().is_none_or(|it| it == revision);
    let mut table = Table::default();
    let ended = if let Some(url) = &args.direct {
        let revision = args.only.as_deref().unwrap_or(REVISIONS[0]);
        runs(&mut table, vec![(revision, Against::Direct(url))]).await
    } else {
        tree::build().await?;
        let is_wanted = |(revision, against): &(&str, Against<'_>)| {
            is_wanted(revision)
                && args.leg.is_none_or(|it| it == against.leg())
                && args.era.is_none_or(|it| matches!(against, Against::Fixture(era) if *era == it))
        };
        runs(&mut table, six().into_iter().filter(is_wanted).collect()).await
    };
    table.print();
    ended
}

/// All six runs, for the test command. The rows of those that were made are in the table, however they ended.
pub(crate) async fn all(table: &mut Table) -> Result<()> {
    runs(table, six()).await
}

fn six() -> Vec<(&'static str, Against<'static>)> {
    let each = [Against::Fixture(Era::Legacy), Against::Fixture(Era::Modern), Against::Suite];
    REVISIONS.into_iter().flat_map(|revision| each.map(|against| (revision, against))).collect()
}

/// A failed run does not stop the others.
async fn runs(table: &mut Table, wanted: Vec<(&str, Against<'_>)>) -> Result<()> {
    let mut wrong = Vec::new();
    for (revision, against) in wanted {
        let name = format!("{revision} {}, {}", against.leg().name(), against.name());
        println!("  suite {name}");
        let began = Instant::now();
        let judged = match outcomes(revision, against).await {
            Ok(Found { scored, outcomes, complaint }) => {
                let verdict = results::judge(&scored, &outcomes);
                wrong.extend(verdict.red.iter().map(|it| format!("{name}: `{it}` is red")));
                // The suite's own word counts too: it may know more than its checks say.
                wrong.extend(complaint.filter(|_| verdict.red.is_empty()).map(|it| format!("{name}: {it}")));
                Some(verdict)
            }
            Err(error) => {
                wrong.push(format!("{name}: {error:#}"));
                None
            }
        };
        table.add(revision, against.leg().name(), against.name(), judged, began.elapsed());
    }
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n       ")) }
}

/// What a run left behind.
struct Found {
    scored: Vec<String>,
    outcomes: BTreeMap<String, Outcome>,
    /// What the suite said at the end about the run as a whole, if that was not good.
    complaint: Option<String>,
}

async fn outcomes(revision: &str, against: Against<'_>) -> Result<Found> {
    let package = peers::folder().join("node_modules/@modelcontextprotocol/conformance");
    let requirements = std::fs::read_to_string(package.join("requirements").join(format!("{revision}.yaml")))
        .context("the conformance suite is not installed: run `npm ci`")?;
    let leg = against.leg();
    let scored = results::scored(&requirements, leg);
    let folder = |name: &str| empty_folder(&format!("{revision}-{name}"));
    match against {
        Against::Fixture(era) => {
            let out = folder(era.name())?;
            let complaint = through_hub(revision, era, &out).await?;
            Ok(Found { scored, outcomes: results::read(&out, leg)?, complaint })
        }
        Against::Direct(url) => {
            let out = folder("direct")?;
            let complaint = server(url, revision, &out).await?;
            Ok(Found { scored, outcomes: results::read(&out, leg)?, complaint })
        }
        Against::Suite => {
            let out = folder("client")?;
            let beside = results::unscored(&requirements, leg);
            let mut unhappy = Vec::new();
            for scenario in scored.iter().chain(&beside) {
                if !client(scenario, revision, &out).await?.success() {
                    unhappy.push(scenario.clone());
                }
            }
            let mut outcomes = results::read(&out, leg)?;
            for scenario in unhappy {
                // Warnings, a client that failed or did not end: no check says so.
                let outcome = outcomes.entry(scenario.clone()).or_default();
                if outcome.failures.is_empty() {
                    let log = log(&out, &scenario);
                    outcome.failures.push(format!("the suite is not content, see `{}`", log.display()));
                }
            }
            Ok(Found { scored, outcomes, complaint: None })
        }
    }
}

async fn through_hub(revision: &str, era: Era, out: &Path) -> Result<Option<String>> {
    let scratch = TempDir::with_prefix("toolgrove-conformance-")?;
    let fixture_binary = tree::debug_binary("toolgrove-fixture");
    let (fixture, fixture_url) = hub::start_fixture(&fixture_binary, era, &out.join("fixture.log")).await?;
    let forwarder = Forwarder::bind().await?;
    let public = forwarder.address.to_string();
    hub::configure(scratch.path(), &fixture_url, Some(&format!("http://{public}")))?;
    let hub_binary = tree::debug_binary("toolgrove");
    let hub = hub::start_hub(&hub_binary, scratch.path(), Some(&public), &out.join("hub.log")).await?;
    let forwarding = forwarder.forward(&hub.address, &hub.key)?;

    let ended = server(&format!("http://{public}/mcp/i/fixture"), revision, out).await;

    drop(forwarding);
    hub.server.stop().await;
    fixture.stop().await;
    ended
}

/// Runs the whole server leg against one address. Returns what the suite has to complain about.
async fn server(url: &str, revision: &str, out: &Path) -> Result<Option<String>> {
    let log = out.join("suite.log");
    let suite = suite(Leg::Server, out).arg("--url").arg(url).arg("--requirements").arg(revision);
    let status = suite.status_to(&log).await?;
    Ok((!status.success()).then(|| format!("the suite ended with {status}; its log is `{}`", log.display())))
}

/// Runs one scenario of the client leg. The suite takes no choice among the scenarios of a requirement set.
async fn client(scenario: &str, revision: &str, out: &Path) -> Result<ExitStatus> {
    // The suite splits the command at spaces; this one has none, wherever the folder is.
    let command = format!("./{CLIENT}");
    let suite = suite(Leg::Client, out).arg("--command").arg(command).arg("--scenario").arg(scenario);
    let suite = suite.arg("--spec-version").arg(revision).in_folder(&tree::target().join("debug/examples"));
    suite.status_to(&log(out, scenario)).await
}

fn log(out: &Path, scenario: &str) -> PathBuf {
    out.join(format!("{}.log", scenario.replace('/', "-")))
}

fn suite(leg: Leg, out: &Path) -> Run {
    let program = peers::folder().join("node_modules/.bin/conformance");
    Run::new(peers::node(), [program]).arg(leg.name()).arg("-o").arg(out)
}

fn empty_folder(name: &str) -> Result<PathBuf> {
    let folder = tree::target().join("conformance").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
