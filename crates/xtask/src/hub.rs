//! Starting the hub and the fixture server for a measurement or a suite, in a folder of their own.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process::{Run, Server};

const PATIENCE: Duration = Duration::from_secs(20);

/// The revision of MCP the fixture server speaks.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

impl Era {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// Starts `toolgrove-fixture` and returns the address of its MCP endpoint.
pub(crate) async fn start_fixture(binary: &Path, era: Era, log: &Path) -> Result<(Server, String)> {
    Run::new(binary, ["http", "--era", era.name()])
        .serve(log, PATIENCE, |line| line.split_once("listening on ").map(|(_, url)| url.trim().to_owned()))
        .await
}

/// A hub with one server called `fixture`.
pub(crate) struct Hub {
    pub(crate) server: Server,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    pub(crate) key: String,
}

/// Writes the configuration of a hub whose data lies in `folder`; a hub can be started on it more than once.
pub(crate) fn configure(folder: &Path, fixture_url: &str, public_url: Option<&str>) -> Result<()> {
    let public_url = public_url.map(|it| format!("public_url = \"{it}\"\n")).unwrap_or_default();
    let config =
        format!("listen = \"127.0.0.1:0\"\n{public_url}\n[server.fixture]\nurl = \"{fixture_url}\"\n");
    Ok(std::fs::write(folder.join("toolgrove.toml"), config)?)
}

/// Starts `toolgrove serve` in a configured folder. `public` is an address it may print that is not its own.
pub(crate) async fn start_hub(binary: &Path, folder: &Path, public: Option<&str>, log: &Path) -> Result<Hub> {
    let data = folder.join("data");
    std::fs::create_dir_all(&data)?;
    let (server, address) = Run::new(binary, ["serve"])
        .env("TOOLGROVE_CONFIG", folder.join("toolgrove.toml"))
        .env("TOOLGROVE_DATA", &data)
        .env("NO_COLOR", "1")
        .serve(log, PATIENCE, |line| loopback_address(line, public))
        .await?;
    let key =
        std::fs::read_to_string(data.join("key")).context("the hub made no file `key` in its data folder")?;
    Ok(Hub { server, address, key: key.trim().to_owned() })
}

/// The first `127.0.0.1:PORT` after `http://` in a line, other than `except`.
fn loopback_address(line: &str, except: Option<&str>) -> Option<String> {
    line.split("http://").skip(1).find_map(|rest| {
        let port = rest.strip_prefix("127.0.0.1:")?;
        let end = port.find(|it: char| !it.is_ascii_digit()).unwrap_or(port.len());
        let address = format!("127.0.0.1:{}", &port[..end]);
        (end > 0 && Some(address.as_str()) != except).then_some(address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_a_printed_line() {
        let line = "page http://127.0.0.1:7430/ui, public http://127.0.0.1:9999/";
        assert_eq!(loopback_address(line, None).as_deref(), Some("127.0.0.1:7430"));
        assert_eq!(loopback_address(line, Some("127.0.0.1:7430")).as_deref(), Some("127.0.0.1:9999"));
        assert_eq!(loopback_address("listening", None), None);
    }
}
