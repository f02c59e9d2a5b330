//! The limit on standard streams: a process between a client and a server that only copies, and reads nothing.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The server, and what it is started with
    #[arg(trailing_var_arg = true, required = true, allow_hyphen_values = true)]
    server: Vec<String>,
}

/// Copies until one side ends. Each way has a thread that waits for nothing else.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut server = Command::new(&args.server[0]);
    server.args(&args.server[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = server.spawn().with_context(|| format!("cannot start `{}`", args.server[0]))?;
    let to = server.stdin.take().context("standard input was piped")?;
    let from = server.stdout.take().context("standard output was piped")?;
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // The server ends with its input, and what it says with it.
    thread::spawn(move || copy(input, to));
    copy(from, output)?;
    server.wait()?;
    Ok(())
}

fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            length => to.write_all(&buffer[..length])?,
        }
    }
}
