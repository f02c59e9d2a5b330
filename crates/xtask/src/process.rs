//! Running other programs: to the end, for their output, or beside us.
//!
//! Every child leads its own process group, and the group is ended when its owner is dropped, so an interrupted run
//! leaves nothing behind.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How much of a failed program's output stands under the summary.
const LAST_LINES: usize = 40;

/// One program with its arguments, folder and environment.
pub(crate) struct Run {
    program: PathBuf,
    args: Vec<OsString>,
    folder: Option<PathBuf>,
    env: Vec<(String, OsString)>,
}

impl Run {
    pub(crate) fn new<S: AsRef<OsStr>>(
        program: impl Into<PathBuf>,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        let args = args.into_iter().map(|it| it.as_ref().to_owned()).collect();
        Self { program: program.into(), args, folder: None, env: Vec::new() }
    }

    pub(crate) fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    pub(crate) fn env(mut self, key: &str, value: impl Into<OsString>) -> Self {
        self.env.push((key.to_owned(), value.into()));
        self
    }

    pub(crate) fn envs(mut self, vars: &[(String, OsString)]) -> Self {
        self.env.extend_from_slice(vars);
        self
    }

    /// What a person would type.
    fn line(&self) -> String {
        let mut line = self.program.display().to_string();
        for arg in &self.args {
            line.push(' ');
            line.push_str(&arg.to_string_lossy());
        }
        line
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(Stdio::null()).process_group(0).kill_on_drop(true);
        // Where cargo says who we are: build scripts that look at it would run again, and ring is compiled anew.
        for (key, _) in std::env::vars_os() {
            let name = key.to_string_lossy();
            if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&key);
            }
        }
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    fn spawn(&self, mut command: Command) -> Result<Group> {
        let child = command.spawn().with_context(|| format!("cannot start `{}`", self.line()))?;
        let pid = child.id().and_then(|it| Pid::from_raw(it.cast_signed()));
        Ok(Group { child, pid })
    }

    /// Runs to the end with its output shown; an exit code other than 0 is an error.
    ///
    /// Where nobody watches, the error ends with the last lines, so that a long log says at its end what went wrong.
    pub(crate) async fn run(self) -> Result<()> {
        println!("  $ {}", self.line());
        let mut last = VecDeque::new();
        let status = if std::io::stdout().is_terminal() {
            self.status().await?
        } else {
            self.status_and_last(&mut last).await?
        };
        if status.success() {
            return Ok(());
        }
        let mut why = vec![format!("`{}` ended with {status}", self.line())];
        why.extend(last);
        bail!(why.join("\n"))
    }

    /// Runs to the end with its output copied to ours and its last lines kept.
    async fn status_and_last(&self, last: &mut VecDeque<String>) -> Result<ExitStatus> {
        let (read, write) = std::io::pipe()?;
        let mut command = self.command();
        command.stdout(write.try_clone()?).stderr(write);
        let mut group = self.spawn(command)?;
        let mut lines = BufReader::new(Receiver::from_owned_fd(read.into())?).split(b'\n');
        let mut status = None;
        loop {
            // What it left running may hold the pipe open for ever.
            let patience = if status.is_some() { Duration::from_secs(1) } else { Duration::MAX };
            let line = tokio::select! {
                biased;
                line = timeout(patience, lines.next_segment()) => line,
                ended = group.child.wait(), if status.is_none() => {
                    status = Some(ended?);
                    continue;
                }
            };
            let Ok(Some(line)) = line.unwrap_or(Ok(None)) else { break };
            let line = String::from_utf8_lossy(&line).into_owned();
            println!("{line}");
            if last.len() == LAST_LINES {
                last.pop_front();
            }
            last.push_back(line);
        }
        match status {
            Some(status) => Ok(status),
            None => Ok(group.child.wait().await?),
        }
    }

    /// Runs to the end with its output shown.
    pub(crate) async fn status(&self) -> Result<ExitStatus> {
        let mut group = self.spawn(self.command())?;
        Ok(group.child.wait().await?)
    }

    /// Runs to the end and writes all output to a file, for programs that say a lot.
    pub(crate) async fn status_to(&self, log: &Path) -> Result<ExitStatus> {
        let file = File::create(log).with_context(|| format!("cannot write `{}`", log.display()))?;
        let mut command = self.command();
        command.stdout(file.try_clone()?).stderr(file);
        let mut group = self.spawn(command)?;
        Ok(group.child.wait().await?)
    }

    /// Runs to the end and returns standard output; standard error is part of the error.
    pub(crate) async fn output(&self) -> Result<String> {
        let mut command = self.command();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = command.output().await.with_context(|| format!("cannot start `{}`", self.line()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`{}` ended with {}: {}", self.line(), output.status, said.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Starts a server and waits until `ready` finds what it looks for in a line of its output.
    ///
    /// Everything the server says goes to `log`.
    pub(crate) async fn serve<T>(
        self,
        log: &Path,
        patience: Duration,
        mut ready: impl FnMut(&str) -> Option<T>,
    ) -> Result<(Server, T)> {
        let said = || format!("what it said is in `{}`", log.display());
        let file = File::create(log).with_context(|| format!("cannot write `{}`", log.display()))?;
        let mut command = self.command();
        command.stdout(Stdio::piped()).stderr(file.try_clone()?);
        let mut group = self.spawn(command)?;
        let stdout = group.child.stdout.take().context("standard output was piped")?;
        let mut lines = BufReader::new(stdout).lines();
        let mut copy = tokio::fs::File::from_std(file);

        let first = async {
            while let Some(line) = lines.next_line().await? {
                copy.write_all(format!("{line}\n").as_bytes()).await?;
                if let Some(found) = ready(&line) {
                    copy.flush().await?;
                    return Ok(found);
                }
            }
            bail!("`{}` ended before it was ready; {}", self.line(), said())
        };
        let found = timeout(patience, first).await.map_err(|_| {
            anyhow::anyhow!("`{}` was not ready after {patience:?}; {}", self.line(), said())
        })??;

        let mut drain = JoinSet::new();
        drain.spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let _ = copy.write_all(format!("{line}\n").as_bytes()).await;
                let _ = copy.flush().await;
            }
        });
        Ok((Server { group, _drain: drain }, found))
    }
}

/// A server that runs beside us until it is stopped or dropped.
pub(crate) struct Server {
    group: Group,
    _drain: JoinSet<()>,
}

impl Server {
    /// Asks it to end and waits; a server that does not listen is killed.
    pub(crate) async fn stop(mut self) {
        self.group.signal(Signal::TERM);
        if timeout(Duration::from_secs(5), self.group.child.wait()).await.is_err() {
            self.group.signal(Signal::KILL);
        }
    }
}

/// A child and everything it started.
struct Group {
    child: Child,
    pid: Option<Pid>,
}

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid {
            // Fails only when the group is already gone.
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A child that was waited for has no id any more, and its number may belong to someone else.
        if self.child.id().is_some() {
            self.signal(Signal::TERM);
        }
    }
}
