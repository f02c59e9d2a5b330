//! One verb, one file, one function that ends in an exit status.

mod bud;
mod bundle;
mod call;
mod connect;
mod convert;
mod docs;
mod doctor;
mod export;
mod files;
mod import;
mod instance;
mod key;
mod login;
mod logs;
mod pins;
mod plan;
mod prompt;
mod serve;
mod server;
mod stdio;
mod tabs;
mod token;
mod tools;

use std::io::Read;

use clap::CommandFactory;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::{Args, Command};
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::Printer;

pub(crate) async fn run(command: Command, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        Command::Serve(args) => serve::run(args, paths, printer).await,
        Command::Stdio(args) => stdio::run(args, paths).await,
        Command::Import(args) => import::run(args, paths, printer).await,
        Command::Export(args) => export::run(args, paths, printer).await,
        Command::Server(args) => server::run(args, paths, printer).await,
        Command::Instance(args) => instance::run(args, paths, printer).await,
        Command::Bundle(args) => bundle::run(args, paths, printer).await,
        Command::Pins(args) => pins::run(args, paths, printer).await,
        Command::Connect(args) => connect::run(&args, paths, printer).await,
        Command::Tabs(args) => tabs::run(args, paths, printer).await,
        Command::Token(args) => token::run(args, paths, printer).await,
        Command::Login(args) => login::run(args, paths, printer).await,
        Command::Key(args) => key::run(args, paths, printer).await,
        Command::Tools(args) => tools::run(args, paths, printer).await,
        Command::Call(args) => call::run(args, paths, printer).await,
        Command::Prompt(args) => prompt::run(args, paths, printer).await,
        Command::Convert(args) => convert::run(args, paths, printer).await,
        Command::Bud(args) => bud::run(args, paths, printer).await,
        Command::Plan(args) => plan::run(args, paths, printer).await,
        Command::Files(args) => files::run(args, paths, printer).await,
        Command::Logs(args) => logs::run(args, paths, printer).await,
        Command::Doctor(args) => doctor::run(args, paths, printer).await,
        Command::Completions(args) => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut Args::command(), "toolgrove", &mut script);
            printer.text(&String::from_utf8_lossy(&script));
            Ok(Exit::Done)
        }
        Command::Docs(args) => {
            printer.text(&docs::page(args.page));
            Ok(Exit::Done)
        }
    }
}

/// Hears when somebody wants this process to end, from the moment it is made.
pub(crate) struct Stop(Option<(Signal, Signal)>);

impl Stop {
    pub(crate) fn new() -> Self {
        Self(signal(SignalKind::interrupt()).ok().zip(signal(SignalKind::terminate()).ok()))
    }

    /// Returns once for every Ctrl-C or SIGTERM.
    pub(crate) async fn told(&mut self) {
        let Some((interrupt, terminate)) = &mut self.0 else { return std::future::pending().await };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

/// The text of a file, or of stdin for `-`.
fn read_text(file: &str) -> Result<String, Failure> {
    if file == "-" {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        return match read {
            Ok(_) => Ok(text),
            Err(error) => Err(unreadable("stdin", &error)),
        };
    }
    std::fs::read_to_string(file).map_err(|error| unreadable(&format!("`{file}`"), &error))
}

fn unreadable(what: &str, error: &std::io::Error) -> Failure {
    Failure { exit: Exit::Usage, ..Failure::io(format_args!("cannot read {what}"), error) }
}
