//! Driving one process over its standard streams: a server, for what it can answer at best, or a hub in front of it.

use std::collections::VecDeque;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use memchr::memmem;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};

use crate::client::text;
use crate::load::Work;
use crate::machine::Cores;
use crate::process::Side;
use crate::speech::LEGACY;

pub(crate) struct Pipe {
    child: tokio::process::Child,
    /// What it calls the tool.
    tool: String,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Pipe {
    /// Starts a legacy server on a core, and opens its session.
    pub(crate) async fn open(mut command: Command, (cores, side): (Cores, Side), tool: &str) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = side.of(cores, || command.spawn())?;
        let input = child.stdin.take().context("standard input was piped")?;
        let output = child.stdout.take().context("standard output was piped")?;
        let mut pipe = Self {
            child,
            tool: tool.into(),
            input,
            output: BufReader::with_capacity(1 << 16, output),
            next: 1,
        };
        let hello = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{LEGACY}","capabilities":{{}},"clientInfo":{{"name":"toolgrove-bench","version":"0"}}}}}}"#
        );
        pipe.input.write_all(format!("{hello}\n").as_bytes()).await?;
        let answer = pipe.line().await?;
        if memmem::find(&answer, b"protocolVersion").is_none() {
            bail!("the server did not take `initialize`: {}", String::from_utf8_lossy(&answer));
        }
        pipe.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await?;
        Ok(pipe)
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    async fn line(&mut self) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        if self.output.read_until(b'\n', &mut line).await? == 0 {
            bail!("the server process has ended");
        }
        Ok(line)
    }

    /// Requests answered in a second, with so many always under way. Answers may come in any order.
    pub(crate) async fn rate(&mut self, work: Work, under_way: usize, span: Duration) -> Result<f64> {
        let text = match work {
            Work::Call { bytes } | Work::Unmarked { bytes } => text(bytes),
            Work::Progress { .. } | Work::List => String::new(),
        };
        let (mut open, tool) = (VecDeque::new(), self.tool.clone());
        let (began, mut answered) = (Instant::now(), 0_u64);
        while began.elapsed() < span || !open.is_empty() {
            if open.len() < under_way && began.elapsed() < span {
                let mut requests = String::new();
                while open.len() < under_way {
                    let id = self.next;
                    self.next += 1;
                    open.push_back(id);
                    requests.push_str(&match work {
                        Work::List => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#),
                        _ => format!(
                            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"{id}{text}"}}}}}}"#
                        ),
                    });
                    requests.push('\n');
                }
                self.input.write_all(requests.as_bytes()).await?;
            }
            let line = self.line().await?;
            if memmem::find(&line, b"\"method\":\"notifications/").is_some() {
                continue;
            }
            let place =
                open.iter().position(|id| memmem::find(&line, format!("\"id\":{id}").as_bytes()).is_some());
            let Some(id) = place.and_then(|it| open.remove(it)) else {
                bail!("an answer that nobody waits for");
            };
            let is_right = match work {
                Work::List => memmem::find(&line, b"\"inputSchema\"").is_some(),
                _ => memmem::find(&line, format!(r#""text":"{id}"#).as_bytes()).is_some(),
            };
            if !is_right {
                bail!("a wrong answer of the server process");
            }
            answered += 1;
        }
        Ok(answered as f64 / began.elapsed().as_secs_f64())
    }
}
