//! A PostgreSQL of our own for one test run: fresh folder, free port, no password, gone afterwards.

use std::io::{Read, Seek};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use rustix::process::geteuid;
use tempfile::TempDir;

use crate::tree;

/// A running server. Dropping it stops it.
pub(crate) struct Postgres {
    bin: PathBuf,
    data: PathBuf,
    port: u16,
    _folder: TempDir,
}

impl Postgres {
    pub(crate) fn start() -> Result<Self> {
        let bin = binaries().context("PostgreSQL is not installed (Debian: `apt-get install postgresql`)")?;
        stop_leftover(&bin);

        let folder = TempDir::with_prefix("toolgrove-postgres-")?;
        if geteuid().is_root() {
            // PostgreSQL refuses to run as root, so its own user gets the folder.
            command(Command::new("chown").arg("postgres").arg(folder.path()))?;
        }
        let data = folder.path().join("data");
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();

        println!("  initdb in {}", data.display());
        command(
            as_server_user(&bin.join("initdb"))
                .arg("-D")
                .arg(&data)
                .args(["-U", "hub", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"])
                .current_dir(folder.path()),
        )?;
        println!("  PostgreSQL on 127.0.0.1:{port}");
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c fsync=off -c max_connections=300",
            data.display()
        );
        command(
            as_server_user(&bin.join("pg_ctl"))
                .arg("-D")
                .arg(&data)
                .args(["-w", "-l"])
                .arg(folder.path().join("log"))
                .args(["-o", &options, "start"])
                .current_dir(folder.path()),
        )?;
        let postgres = Self { bin, data, port, _folder: folder };
        std::fs::create_dir_all(tree::target())?;
        std::fs::write(record(), postgres.data.as_os_str().as_encoded_bytes())?;
        Ok(postgres)
    }

    /// What tests connect to; each makes its own database.
    pub(crate) fn url(&self) -> String {
        format!("postgres://hub@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Err(error) = stop(&self.bin, &self.data) {
            eprintln!("warning: PostgreSQL in `{}` did not stop: {error:#}", self.data.display());
        }
        let _ = std::fs::remove_file(record());
    }
}

/// The folder with `initdb` and `pg_ctl`, newest version first.
pub(crate) fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<_> = versions.map(|it| it.path().join("bin")).collect();
    folders.sort_by_key(|it| std::cmp::Reverse(version_of(it)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    folders.into_iter().find(|it| it.join("initdb").exists() && it.join("pg_ctl").exists())
}

fn version_of(bin: &Path) -> Option<u32> {
    bin.parent()?.file_name()?.to_str()?.parse().ok()
}

/// Where the data folder of the running server is written down, for the next run to find if this one is killed.
fn record() -> PathBuf {
    tree::target().join("postgres-of-test-run")
}

fn stop_leftover(bin: &Path) {
    let Ok(data) = std::fs::read_to_string(record()) else {
        return;
    };
    let data = PathBuf::from(data);
    if data.join("postmaster.pid").exists() && stop(bin, &data).is_ok() {
        println!("  stopped a PostgreSQL that an interrupted run left behind");
    }
    if let Some(folder) = data.parent() {
        let _ = std::fs::remove_dir_all(folder);
    }
    let _ = std::fs::remove_file(record());
}

/// By the process id in the data folder.
fn stop(bin: &Path, data: &Path) -> Result<()> {
    command(
        as_server_user(&bin.join("pg_ctl"))
            .arg("-D")
            .arg(data)
            .args(["-w", "-m", "immediate", "stop"])
            .current_dir("/"),
    )
}

fn as_server_user(program: &Path) -> Command {
    if !geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program);
    command
}

fn command(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    // Not piped: the server would inherit the pipe and keep it open.
    let quiet = tempfile::tempfile()?;
    let status = command
        .stdin(std::process::Stdio::null())
        .stdout(quiet.try_clone()?)
        .stderr(quiet.try_clone()?)
        .status()
        .with_context(|| format!("cannot start `{name}`"))?;
    if status.success() {
        return Ok(());
    }
    let (mut quiet, mut said) = (quiet, String::new());
    quiet.rewind()?;
    quiet.read_to_string(&mut said)?;
    bail!("`{name}` ended with {status}: {}", said.trim())
}
