//! What a bud adds to its model: the time to the first words through the hub, against the provider asked directly.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use memchr::memmem;
use serde::Serialize;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::machine::{Cores, pin};
use crate::note;
use crate::process::{Hub, Program, Side, configure, listening, ourselves};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The hub that is measured
    #[arg(long)]
    hub: PathBuf,
}

/// Medians in milliseconds, from the request's first byte to the first words of the answer.
#[derive(Serialize)]
pub(crate) struct Buds {
    pub(crate) provider: f64,
    pub(crate) bud: f64,
    /// The hub alone: no more than this lies between the two.
    pub(crate) overhead: f64,
}

const ROUNDS: usize = 500;
const WARM_UP: usize = 50;
const WORDS: &[u8] = b"\"first\"";
const END: &[u8] = b"0\r\n\r\n";

/// Only this, for whoever works on it.
pub(crate) async fn run(args: Args) -> Result<()> {
    let cores = Cores::find();
    pin(cores.rest);
    measure(&args.hub, cores).await.map(drop)
}

pub(crate) async fn measure(binary: &Path, cores: Cores) -> Result<Buds> {
    let (provider, address) =
        Program::start(ourselves(&["provider"])?, (cores, Side::Rest), listening).await?;
    let folder = TempDir::with_prefix("toolgrove-bench-")?;
    let entries = format!(
        "[provider.bench]\nkind = \"openai\"\nurl = \"http://{address}/v1\"\n\n[bud.Speaks]\nmodel = \"m\"\n"
    );
    configure(folder.path(), &entries)?;
    let hub = Hub::start(binary, folder.path(), cores).await?;
    let directly = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    let directly = request(&address, "/v1/chat/completions", "", directly);
    let key = format!("Authorization: Bearer {}\r\n", hub.key);
    let through = r#"{"bud_id":"bud://home/Speaks","args":{"message":"hi"}}"#;
    let through = request(&hub.address, "/bud-run", &key, through);
    let mut sides = [Line::open(&address, directly).await?, Line::open(&hub.address, through).await?];
    // In turn, so that whatever else the machine does disturbs both.
    for round in 0..ROUNDS + WARM_UP {
        for side in &mut sides {
            let took = side.first_words().await?;
            if round >= WARM_UP {
                side.took.push(took);
            }
        }
    }
    hub.program.stop().await;
    provider.stop().await;
    let [provider, bud] = sides.map(Line::median);
    let found = Buds { provider, bud, overhead: bud - provider };
    note(format_args!(
        "  first words of a bud: {:.2} ms, of its provider {:.2} ms: {:.2} ms for the hub (p50 of {ROUNDS})",
        found.bud, found.provider, found.overhead
    ));
    Ok(found)
}

fn request(host: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// One connection on which the same is asked again and again.
struct Line {
    io: TcpStream,
    request: Vec<u8>,
    took: Vec<f64>,
}

impl Line {
    async fn open(address: &str, request: Vec<u8>) -> Result<Self> {
        let io = TcpStream::connect(address).await.with_context(|| format!("connect to {address}"))?;
        io.set_nodelay(true)?;
        Ok(Self { io, request, took: Vec::new() })
    }

    /// Asks, and reads to the end of the answer.
    async fn first_words(&mut self) -> Result<f64> {
        let (began, mut first, mut answer) = (Instant::now(), None, Vec::new());
        self.io.write_all(&self.request).await?;
        while !answer.ends_with(END) {
            if self.io.read_buf(&mut answer).await? == 0 {
                bail!("an answer ended too early: {}", String::from_utf8_lossy(&answer));
            }
            if first.is_none() && memmem::find(&answer, WORDS).is_some() {
                first = Some(began.elapsed().as_secs_f64() * 1000.0);
            }
        }
        first.with_context(|| format!("no words came: {}", String::from_utf8_lossy(&answer)))
    }

    fn median(mut self) -> f64 {
        self.took.sort_by(f64::total_cmp);
        self.took[self.took.len() / 2]
    }
}

/// A provider that answers at once: the first words, and the end in a write of its own.
pub(crate) async fn provide() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    note(format_args!("listening on {}", listener.local_addr()?));
    let mut connections = JoinSet::new();
    loop {
        let (io, _) = listener.accept().await?;
        connections.spawn(async move { answer(io).await });
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(mut io: TcpStream) -> Result<()> {
    io.set_nodelay(true)?;
    let chunk = |data: &str| format!("{:x}\r\n{data}\r\n", data.len());
    let event = |delta: &str, finish: &str| {
        chunk(&format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        ))
    };
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let first = format!("{head}{}", event(r#"{"role":"assistant","content":"first"}"#, "null"));
    let rest = format!("{}{}0\r\n\r\n", event("{}", "\"stop\""), chunk("data: [DONE]\n\n"));
    let mut asked = Vec::new();
    loop {
        while !is_whole(&asked) {
            if io.read_buf(&mut asked).await? == 0 {
                return Ok(());
            }
        }
        asked.clear();
        io.write_all(first.as_bytes()).await?;
        tokio::task::yield_now().await;
        io.write_all(rest.as_bytes()).await?;
    }
}

/// Whether a request is there with all of its body.
fn is_whole(asked: &[u8]) -> bool {
    let Some(end) = memmem::find(asked, b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&asked[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|it| it.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    asked.len() >= end + 4 + length.unwrap_or(0)
}
