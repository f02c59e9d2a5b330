//! The programs that are measured, each on its core, ended when their owner lets go of them.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::machine::{Cores, pin};

/// Long enough for a hub under callgrind on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(300);

/// On which core a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Measured,
    Rest,
}

impl Side {
    /// Starts something there: it inherits the core of the thread that starts it.
    pub(crate) fn of<T>(self, cores: Cores, start: impl FnOnce() -> T) -> T {
        pin(if self == Self::Measured { cores.measured } else { cores.rest });
        let started = start();
        pin(cores.rest);
        started
    }
}

pub(crate) struct Program {
    child: Child,
    pid: u32,
    drain: JoinSet<()>,
}

impl Program {
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Starts a program and waits until a line it prints holds what is looked for.
    pub(crate) async fn start<T>(
        mut command: Command,
        (cores, side): (Cores, Side),
        mut ready: impl FnMut(&str) -> Option<T>,
    ) -> Result<(Self, T)> {
        command.stdout(Stdio::piped());
        let (mut program, stdout) = Self::spawn(command, cores, side)?;
        let mut lines = BufReader::new(stdout.context("standard output was piped")?).lines();
        let first = async {
            while let Some(line) = lines.next_line().await? {
                if let Some(found) = ready(&line) {
                    return Ok(found);
                }
            }
            bail!("a program that was started has ended before it was ready")
        };
        let found = timeout(PATIENCE, first).await.context("a program was not ready in time")??;
        program.drain.spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok((program, found))
    }

    /// Starts a program that says nothing.
    pub(crate) fn silent(mut command: Command, cores: Cores, side: Side) -> Result<Self> {
        command.stdout(Stdio::null());
        Ok(Self::spawn(command, cores, side)?.0)
    }

    fn spawn(
        mut command: Command,
        cores: Cores,
        side: Side,
    ) -> Result<(Self, Option<tokio::process::ChildStdout>)> {
        command.stdin(Stdio::null()).process_group(0).kill_on_drop(true);
        let named = command.as_std().get_program().display().to_string();
        let spawned = side.of(cores, || command.spawn());
        let mut child = spawned.with_context(|| format!("cannot start `{named}`"))?;
        let pid = child.id().context("a program has ended at once")?;
        let stdout = child.stdout.take();
        Ok((Self { child, pid, drain: JoinSet::new() }, stdout))
    }

    pub(crate) async fn stop(mut self) {
        self.signal(Signal::TERM);
        if timeout(Duration::from_secs(10), self.child.wait()).await.is_err() {
            self.signal(Signal::KILL);
        }
    }

    fn signal(&self, signal: Signal) {
        if let (Some(_), Some(pid)) = (self.child.id(), Pid::from_raw(self.pid.cast_signed())) {
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal(Signal::TERM);
    }
}

/// The address in a line `listening on …`.
pub(crate) fn listening(line: &str) -> Option<String> {
    line.split_once("listening on ").map(|it| it.1.trim().to_owned())
}

/// This very program, as another one.
pub(crate) fn ourselves(args: &[&str]) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(args);
    Ok(command)
}

/// A program by its name, if it is installed.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let more = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&folders).chain(more).map(|it| it.join(name)).find(|it| it.is_file())
}

/// A hub on a folder of its own.
pub(crate) struct Hub {
    pub(crate) program: Program,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    pub(crate) key: String,
}

/// Writes the configuration of a hub: what is written down is asked for, nothing is switched off.
pub(crate) fn configure(folder: &Path, servers: &str) -> Result<()> {
    let text = format!("listen = \"127.0.0.1:0\"\ncapabilities = \"live\"\n\n{servers}");
    Ok(std::fs::write(folder.join("toolgrove.toml"), text)?)
}

/// A command of a hub that has its configuration and everything else in a folder.
pub(crate) fn at_home<'a>(command: &'a mut Command, folder: &Path) -> Result<&'a mut Command> {
    let data = folder.join("data");
    std::fs::create_dir_all(&data)?;
    Ok(command
        .env("TOOLGROVE_CONFIG", folder.join("toolgrove.toml"))
        .env("TOOLGROVE_DATA", data)
        .env("TOOLGROVE_LOG", "warn")
        .env("HOME", folder)
        .env("NO_COLOR", "1"))
}

impl Hub {
    pub(crate) async fn start(binary: &Path, folder: &Path, cores: Cores) -> Result<Self> {
        Self::start_as(Command::new(binary), folder, cores).await
    }

    /// Starts a hub by a command that ends where its arguments begin.
    pub(crate) async fn start_as(mut command: Command, folder: &Path, cores: Cores) -> Result<Self> {
        let (data, log) = (folder.join("data"), folder.join("hub.log"));
        at_home(&mut command, folder)?.arg("serve").stderr(std::fs::File::create(&log)?);
        let found = Program::start(command, (cores, Side::Measured), |line| {
            let rest = line.split_once("listens at http://")?.1;
            Some(rest.split('/').next()?.to_owned())
        })
        .await;
        let (program, address) = found.with_context(|| {
            format!("the hub did not start: {}", std::fs::read_to_string(&log).unwrap_or_default())
        })?;
        let key = std::fs::read_to_string(data.join("key")).context("the hub made no key")?;
        Ok(Self { program, address, key: key.trim().to_owned() })
    }
}
