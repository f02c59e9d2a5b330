//! Third-party peers for tests: how the installed ones are started.

#![allow(dead_code, clippy::unwrap_used, reason = "each test binary uses a part of it; a test may panic")]

use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

pub(crate) fn variable(name: &str) -> PathBuf {
    std::env::var_os(name)
        .unwrap_or_else(|| panic!("{name} is not set: run `cargo xtask test`, which installs the peers"))
        .into()
}

pub(crate) fn script(name: &str) -> PathBuf {
    variable("TOOLGROVE_TEST_PEERS").join(name)
}

pub(crate) fn node(file: &str) -> Command {
    let mut command = Command::new(variable("TOOLGROVE_TEST_NODE"));
    command.arg(script(file)).kill_on_drop(true);
    command
}

pub(crate) fn python(file: &str) -> Command {
    let mut command = Command::new(variable("TOOLGROVE_TEST_PYTHON"));
    command.arg(script(file)).kill_on_drop(true);
    command
}

pub(crate) const EVERYTHING: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";

/// A server that prints where it listens.
pub(crate) async fn listening(mut command: Command) -> (Child, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().expect("it says where it listens");
    let url = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).to_owned();
    (child, url)
}
