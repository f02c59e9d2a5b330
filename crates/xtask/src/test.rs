//! `cargo xtask test`: install what the tests need, run every test there is, and say at the end what failed.
//!
//! A failed step does not stop the later ones, so one run shows everything that is wrong.

use anyhow::{Result, bail};

use crate::postgres::Postgres;
use crate::process::Run;
use crate::report::Report;
use crate::{conformance, extension, fuzz, guard, licences, packages, peers, prerequisites, tidy, tree, ui};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only formatting, lints, unit tests and the cases of `core`: the inner loop
    #[arg(long)]
    quick: bool,
}

pub(crate) async fn run(args: Args) -> Result<()> {
    if args.quick { quick().await } else { full().await }
}

async fn quick() -> Result<()> {
    let mut report = Report::new();
    report.step("format", format()).await;
    report.step("clippy", clippy()).await;
    let runner = Runner::find().await;
    report.step("unit tests", on_postgres(runner.run(&["--workspace", "--lib", "--bins"]))).await;
    report.step("cases of core", runner.run(&["--package", "toolgrove-core", "--tests"]).run()).await;
    report.finish()
}

async fn full() -> Result<()> {
    let mut report = Report::new();
    report.step("system packages", packages::install()).await;
    report.step("prerequisites", prerequisites::check_to_test()).await;
    // What npm does waits for the network and for one core, and needs nothing of what cargo does.
    let mut rust = report.beside();
    let pages = async {
        let npm = report.step("npm peers", peers::install_npm()).await;
        report.step("Python peers", peers::install_python()).await;
        (npm, ui::test(&mut report).await, extension::test(&mut report).await)
    };
    let crates = async {
        rust.step("format", format()).await;
        rust.step("clippy", clippy()).await;
        rust.step("build", tree::build()).await
    };
    let ((npm, ui, extension), built) = tokio::join!(Box::pin(pages), Box::pin(crates));
    report.take(rust);
    report.step("tests", needs(built, "build", tests())).await;
    report.step("UI journeys", needs(built && ui, "build and UI build", ui::journeys())).await;
    let ready = built && npm && extension;
    let tabs = needs(ready, "build, npm peers and extension packages", extension::journeys());
    // Tabs wait for pages and for time to pass, and the suite for its own clocks.
    let mut suites = report.beside();
    let mut table = conformance::Table::default();
    let six = conformance::all(&mut table);
    let suite = Box::pin(needs(built && npm, "build and npm peers", six));
    let beside = suites.both(("conformance", suite), ("fuzz", fuzz::run_all(fuzz::SECONDS)));
    tokio::join!(report.step("extension in a browser", tabs), Box::pin(beside));
    report.take(suites);
    report.step("guard", needs(built, "build", guard::check(guard::Args::default()))).await;
    report.step("doc tests", needs(built, "build", doc_tests())).await;
    report.step("tidy", needs(built, "build", tidy::check())).await;
    report.step("deny", licences::run()).await;
    table.print();
    report.finish()
}

/// A step that makes no sense when an earlier one failed.
async fn needs(ready: bool, what: &str, work: impl Future<Output = Result<()>>) -> Result<()> {
    if !ready {
        bail!("not run: it needs {what}");
    }
    work.await
}

async fn format() -> Result<()> {
    Run::new("cargo", ["fmt", "--all", "--check"]).in_folder(tree::root()).run().await
}

async fn clippy() -> Result<()> {
    Run::new("cargo", ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
        .in_folder(tree::root())
        .run()
        .await
}

async fn tests() -> Result<()> {
    let all = Runner::find().await.run(&["--workspace", "--tests", "--no-fail-fast"]);
    on_postgres(all.envs(&peers::environment())).await
}

/// Some tests of the store want a database of both kinds.
async fn on_postgres(tests: Run) -> Result<()> {
    let postgres = Postgres::start()?;
    tests.env("TOOLGROVE_TEST_POSTGRES", postgres.url()).run().await
}

/// nextest runs none of these.
async fn doc_tests() -> Result<()> {
    Run::new("cargo", ["test", "--workspace", "--doc", "--quiet"]).in_folder(tree::root()).run().await
}

/// The same tests pass under both.
enum Runner {
    Nextest,
    CargoTest,
}

impl Runner {
    async fn find() -> Self {
        match Run::new("cargo", ["nextest", "--version"]).in_folder(tree::root()).output().await {
            Ok(_) => Self::Nextest,
            Err(_) => Self::CargoTest,
        }
    }

    fn run(&self, args: &[&str]) -> Run {
        let mut all = match self {
            Self::Nextest => vec!["nextest", "run", "--no-tests=pass"],
            Self::CargoTest => vec!["test"],
        };
        all.extend(args);
        Run::new("cargo", all).in_folder(tree::root())
    }
}
