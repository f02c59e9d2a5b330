//! Third-party peers for tests: how the installed ones are started.

#![allow(dead_code, clippy::unwrap_used, reason = "each test binary uses a part of it; a test may panic")]

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

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

/// A port for a program that must be told one. It lies below those the system gives away, and each test process has
/// its own few, so nobody takes it before the program does.
pub(crate) fn port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = std::process::id().wrapping_mul(8) + TAKEN.fetch_add(1, Ordering::Relaxed) % 8;
        let port = 20_000 + u16::try_from(next % 12_000).unwrap();
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The reference server over HTTP, once it listens.
pub(crate) async fn everything(transport: &str) -> (Child, String) {
    let port = port();
    let path = if transport == "sse" { "sse" } else { "mcp" };
    let mut command = node(EVERYTHING);
    command.arg(transport).env("PORT", port.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    let listens = async {
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(crate::hub::PATIENCE, listens).await.expect("the reference server listens");
    (child, format!("http://127.0.0.1:{port}/{path}"))
}

/// A server that prints where it listens.
pub(crate) async fn listening(mut command: Command) -> (Child, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().expect("it says where it listens");
    let url = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).to_owned();
    (child, url)
}
