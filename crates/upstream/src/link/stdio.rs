//! A server that is a process of ours, spoken to in lines over its pipes.
//!
//! It runs under a shepherd (`shepherd.rs`), which ends it and all it started when our end of its stdin closes.
//! So closing stdin is the whole shutdown, whether the hub ends the link or is killed.

use std::process::{ExitStatus, Stdio as Pipe};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdout};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use toolgrove_core::Error;
use toolgrove_core::event::News;
use toolgrove_core::instance::Command;
use toolgrove_core::redact::redact_text;
use toolgrove_core::task::spawn;
use toolgrove_wire::Abilities;

use super::lines::{self, End, Lines};
use super::{Kind, Link};
use crate::context::Context;
use crate::dotenv;
use crate::era::{self, Plan, Trust};
use crate::failure::Failure;
use crate::mux::Mux;

const START: Duration = Duration::from_secs(60);
/// Package runners may have to download first.
const SLOW_START: Duration = Duration::from_secs(300);
/// How long the exit code may come after the last output.
const EXIT_GRACE: Duration = Duration::from_secs(1);
/// The shepherd is through with a stubborn server by then.
const CLOSE_GRACE: Duration = Duration::from_secs(6);
const LONGEST_LINE: usize = 8 * 1024;

#[derive(Debug)]
pub(crate) struct Stdio {
    pub(crate) lines: Lines,
    gone: watch::Receiver<bool>,
}

impl Stdio {
    pub(crate) async fn close(&self) {
        self.lines.close();
        let _ = timeout(CLOSE_GRACE, self.gone.clone().wait_for(|it| *it)).await;
    }
}

pub(crate) async fn open(
    context: &Arc<Context>,
    command: &Command,
    plan: &Plan,
    declared: Abilities,
) -> Result<Link, Error> {
    let start = start_timeout(command);
    let stdio = start_process(context, command, declared).await?;
    let session = era::negotiate(&stdio.lines.mux, plan, start).await;
    let session = match (session, plan) {
        (Err(Failure::Lost(_)), Plan::Probe | Plan::Modern { trust: Trust::Found, .. }) => {
            // Some legacy servers exit on any request before `initialize`.
            drop(stdio);
            let stdio = start_process(context, command, declared).await?;
            let session =
                era::initialize_only(&stdio.lines.mux, plan, start, "exited on server/discover").await;
            let session = session.map_err(|it| explain(context, it, start))?;
            return Ok(Link::new(context, session, plan, Kind::Stdio(stdio)));
        }
        (session, _) => session.map_err(|it| explain(context, it, start))?,
    };
    Ok(Link::new(context, session, plan, Kind::Stdio(stdio)))
}

fn explain(context: &Context, failure: Failure, start: Duration) -> Error {
    match failure.into_error() {
        Error::Timeout { .. } => context
            .unreachable(format!("the process did not answer within {} s of its start", start.as_secs())),
        error => error,
    }
}

fn start_timeout(command: &Command) -> Duration {
    let program = command.program.rsplit(['/', '\\']).next().unwrap_or_default();
    let program = program.split('.').next().unwrap_or_default();
    let first = command.args.first().map_or("", String::as_str);
    match (program, first) {
        ("npx" | "uvx" | "bunx" | "pipx" | "docker" | "podman" | "dnx", _)
        | ("pnpm" | "yarn", "dlx")
        | ("npm", "exec" | "x")
        | ("uv", "run" | "tool" | "x")
        | ("bun", "x") => SLOW_START,
        _ => START,
    }
}

async fn start_process(
    context: &Arc<Context>,
    command: &Command,
    declared: Abilities,
) -> Result<Stdio, Error> {
    let shepherd = &context.options.shepherd;
    let mut process = tokio::process::Command::new(&shepherd.program);
    process.args(&shepherd.args).arg("--").arg(&command.program).args(&command.args);
    if let Some(path) = &command.env_file {
        let text = tokio::fs::read_to_string(path).await;
        let text =
            text.map_err(|it| context.unreachable(format!("the env file `{}`: {it}", path.display())))?;
        process.envs(dotenv::parse(&text));
    }
    process.envs(command.env.iter().map(|(key, value)| (key, value.reveal())));
    if let Some(directory) = &command.directory {
        process.current_dir(directory);
    }
    process.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::piped());
    let mut child = process.spawn().map_err(|it| {
        let directory = command.directory.as_ref().filter(|it| !it.is_dir());
        match directory {
            Some(directory) => context.unreachable(format!("its directory `{}`: {it}", directory.display())),
            None => context.unreachable(format!("`{}`: {it}", shepherd.program.display())),
        }
    })?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(Error::Internal("a process without pipes".into()));
    };
    let lines = Lines::start(context, declared, stdin);
    let last_line = Arc::new(Mutex::new(None));
    let errors = spawn("stdio-stderr", read_stderr(context.clone(), stderr, last_line.clone()));
    let (gone_tx, gone) = watch::channel(false);
    let mux = lines.mux.clone();
    spawn("stdio", async move {
        watch_over(child, stdout, errors, &mux, &last_line).await;
        gone_tx.send_replace(true);
    });
    Ok(Stdio { lines, gone })
}

/// Reads until the process has ended, says why, and sees it buried.
async fn watch_over(
    mut child: Child,
    stdout: ChildStdout,
    mut errors: JoinHandle<()>,
    mux: &Mux,
    last_line: &Mutex<Option<String>>,
) {
    let ended = tokio::select! {
        end = lines::read(stdout, mux) => end,
        () = async { let _ = child.wait().await; sleep(EXIT_GRACE).await } => End::Closed,
    };
    let error = match ended {
        End::Refused(error) => error,
        End::Broken(error) => mux.context.unreachable(error.to_string()),
        End::Closed => {
            let status = timeout(EXIT_GRACE, child.wait()).await;
            let _ = timeout(EXIT_GRACE, &mut errors).await;
            let last_line = last_line.lock().unwrap_or_else(PoisonError::into_inner).take();
            mux.context.unreachable(last_words(status.ok().and_then(Result::ok), last_line))
        }
    };
    if mux.end(&error) {
        mux.context.report(News::Lost(error));
    }
    let _ = child.wait().await;
}

fn last_words(status: Option<ExitStatus>, last_line: Option<String>) -> String {
    let how = match status.map(|it| it.code()) {
        Some(Some(code)) => format!("the process exited with code {code}"),
        Some(None) => "the process was killed".to_owned(),
        None => "the process closed its output".to_owned(),
    };
    match last_line {
        Some(line) => format!("{how}: {line}"),
        None => how,
    }
}

async fn read_stderr(
    context: Arc<Context>,
    mut stderr: impl AsyncRead + Unpin,
    last: Arc<Mutex<Option<String>>>,
) {
    let mut buffer = BytesMut::with_capacity(1024);
    loop {
        let ended = !matches!(stderr.read_buf(&mut buffer).await, Ok(1..));
        while let Some(end) = memchr::memchr(b'\n', &buffer) {
            let line = buffer.split_to(end);
            buffer.advance(1);
            keep_line(&context, &line, &last);
        }
        if ended || buffer.len() > LONGEST_LINE {
            keep_line(&context, &buffer.split(), &last);
        }
        if ended {
            return;
        }
    }
}

fn keep_line(context: &Context, line: &[u8], last: &Mutex<Option<String>>) {
    let line = String::from_utf8_lossy(line).trim_end().to_owned();
    if line.trim().is_empty() {
        return;
    }
    let line = redact_text(line, &context.instance);
    tracing::info!(target: "server", server = context.slug(), "{line}");
    // Node ends every crash with its version, which explains nothing.
    if !line.starts_with("Node.js v") {
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(line.clone());
    }
    context.note(line);
}
