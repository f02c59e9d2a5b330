//! Starts the hub, and talks to people: the binary `toolgrove`.

mod api;
mod args;
mod commands;
mod declared;
mod demo;
mod endpoint;
mod failure;
mod forward;
mod given;
mod lock;
mod near;
mod paths;
mod printer;
mod socket;
mod start;
mod streams;
mod table;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use tracing_subscriber::EnvFilter;

use self::args::{Args, Command};
use self::failure::{Exit, Failure};
use self::paths::Paths;
use self::printer::Printer;

/// The system's gives large pieces back at once and has to ask for them again (`docs/performance.md`).
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // A shepherd is started once per server: it must cost nothing, so it comes before everything else.
    let mut argv = std::env::args_os().skip(1);
    match argv.next() {
        Some(it) if it == start::SHEPHERD => {
            return toolgrove_upstream::shepherd::run(argv.collect::<Vec<OsString>>());
        }
        Some(it) if it == demo::SERVER => return demo::run(&argv.collect::<Vec<OsString>>()),
        _ => {}
    }
    // A browser names the extension that asks.
    let first = std::env::args_os().nth(1).and_then(|it| it.into_string().ok());
    if let Some(origin) = first.filter(|it| it.starts_with("chrome-extension://")) {
        return endpoint::answer_browser(&origin);
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return Printer::usage(&error),
    };
    let printer = Printer::new(args.json);
    match run(args.command, args.acting_as, &printer) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            printer.failure(&failure);
            failure.exit.into()
        }
    }
}

fn run(command: Command, acting_as: Option<String>, printer: &Printer) -> Result<Exit, Failure> {
    start_log(&command)?;
    let paths = Paths::find(acting_as)?;
    // With one core there is nobody to share work with: one thread needs no locks to wake another.
    let mut runtime = match std::thread::available_parallelism() {
        Ok(cores) if cores.get() == 1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime =
        runtime.enable_all().build().map_err(|error| Failure::io("cannot start the runtime", &error))?;
    let done = runtime.block_on(commands::run(command, &paths, printer));
    // A thread may still sit on stdin.
    runtime.shutdown_background();
    done
}

/// The log goes to stderr: what is asked for with `TOOLGROVE_LOG`, else what such a command should say.
fn start_log(command: &Command) -> Result<(), Failure> {
    let default = match command {
        Command::Serve(_) => "info,sqlx=warn",
        _ => "warn",
    };
    let wanted = std::env::var("TOOLGROVE_LOG").ok().filter(|it| !it.trim().is_empty());
    let filter = EnvFilter::try_new(wanted.as_deref().unwrap_or(default))
        .map_err(|error| Failure::usage(format!("`TOOLGROVE_LOG` cannot be read: {error}")))?;
    let coloured =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(coloured)
        .with_target(false)
        .init();
    Ok(())
}
