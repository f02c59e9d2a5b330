//! `cargo xtask`: everything a contributor runs, one file per command.
//!
//! Nothing here is part of the product. A command says what it does while it does it, and what to install when
//! something is missing. Ctrl-C drops the running command, and dropping ends every process it started.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "xtask talks to the person at the terminal")]

mod bench;
mod conformance;
mod docs;
mod extension;
mod fuzz;
mod guard;
mod hub;
mod licences;
mod packages;
mod peers;
mod postgres;
mod prerequisites;
mod process;
mod report;
mod run;
mod test;
mod tidy;
mod tree;
mod ui;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Builds, starts and tests Toolgrove")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build what is missing and start the hub
    Run(run::Args),
    /// Install what the tests need and run every test there is
    Test(test::Args),
    /// Build the web UI, if something in it changed
    Ui,
    /// Package the browser extension: a zip, and the folder that a packer turns into a crx
    Extension,
    /// Take the pictures of the documents
    Screenshots,
    /// Run the MCP conformance suite through the hub
    Conformance(conformance::Args),
    /// Run every fuzz target for a bounded time
    Fuzz(fuzz::Args),
    /// Check what the compiler does not: documents, paths, module docs, spelling
    Tidy,
    /// Check licences and sources of every dependency against deny.toml
    Deny,
    /// Write the generated pages in docs/
    Docs,
    /// Write the types of the UI and the extension from the hub's own
    Types,
    /// Measure the release build against a bare proxy: calls, lists, start-up, memory
    Bench(bench::Args),
    /// Count what a call costs in instructions and allocations
    Guard(guard::Args),
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let work = async {
        match args.command {
            Command::Run(args) => run::run(args).await,
            Command::Test(args) => test::run(args).await,
            Command::Ui => ui::run().await,
            Command::Extension => extension::run().await,
            Command::Screenshots => ui::screenshots().await,
            Command::Conformance(args) => conformance::run(args).await,
            Command::Fuzz(args) => fuzz::run(args).await,
            Command::Tidy => tidy::run().await,
            Command::Deny => licences::run().await,
            Command::Docs => docs::run().await,
            Command::Types => docs::types().await,
            Command::Bench(args) => bench::run(args).await,
            Command::Guard(args) => guard::run(args).await,
        }
    };
    tokio::select! {
        ended = work => match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error:#}");
                ExitCode::FAILURE
            }
        },
        () = interrupted() => {
            eprintln!("\ninterrupted: stopping what was started");
            ExitCode::from(130)
        }
    }
}

/// Returns when the person or the machine wants us to stop.
async fn interrupted() {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
