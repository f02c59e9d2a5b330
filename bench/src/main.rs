//! The benchmark: an echo server, a bare pass-through, a load generator, and what they say about the hub.
//!
//! `cargo xtask bench` builds and runs it. Nothing here is part of the product.

#![allow(clippy::print_stdout, reason = "a benchmark talks to the person at the terminal")]
#![allow(
    clippy::format_push_string,
    clippy::format_collect,
    reason = "text is made where nothing is measured"
)]

mod bounds;
mod buds;
mod calls;
mod chart;
mod client;
mod echo;
mod guard;
mod lists;
mod load;
mod machine;
mod memory;
mod pipe;
mod process;
mod proxy;
mod relay;
mod run;
mod speech;
mod stand;

use std::fmt::Arguments;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

/// The hub's: what is compared differs in nothing else.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[derive(Parser)]
#[command(about = "Measures Toolgrove against a proxy that only passes on")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// An MCP server whose tool gives back what it is given
    Echo(echo::Args),
    /// A reverse proxy that reads nothing
    Proxy(proxy::Args),
    /// A process between standard streams that reads nothing
    Relay(relay::Args),
    /// The whole benchmark
    Run(run::Args),
    /// A model provider that answers at once
    Provider,
    /// What a bud adds to its model, alone
    Buds(buds::Args),
    /// Instructions and allocations for a call, against their last values
    Guard(guard::Args),
}

fn main() -> ExitCode {
    let args = Args::parse();
    // One thread for load and servers; the pass-through has what the hub has on one core.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(format_args!("error: cannot start the runtime: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let done = runtime.block_on(async {
        match args.command {
            Command::Echo(args) => echo::run(args).await,
            Command::Proxy(args) => proxy::run(args).await,
            Command::Relay(args) => relay::run(&args),
            Command::Run(args) => run::run(args).await,
            Command::Provider => buds::provide().await,
            Command::Buds(args) => buds::run(args).await,
            Command::Guard(args) => guard::run(args).await,
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn say(text: Arguments<'_>) {
    println!("{text}");
}

/// The same, for what is interesting while it runs.
fn note(text: Arguments<'_>) {
    say(text);
}
