//! The load's side of a connection: requests are written once and only their numbers change, answers are read with as
//! little work as it takes to be sure of them.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use memchr::memmem;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::speech::{Era, LEGACY, MODERN};

/// Where calls go, and as whom.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) place: Place,
    pub(crate) path: String,
    /// `Name: value` lines.
    pub(crate) headers: Vec<String>,
    pub(crate) tool: String,
    /// The era the client speaks.
    pub(crate) era: Era,
}

#[derive(Debug, Clone)]
pub(crate) enum Place {
    Tcp(String),
    Unix(PathBuf),
}

trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// One connection, and the legacy session on it.
pub(crate) struct Client {
    io: Box<dyn Io>,
    /// Everything of a request's head but the length of its body.
    head: String,
    era: Era,
    buffer: Vec<u8>,
    body: Body,
}

/// Where the body of the last answer is.
enum Body {
    /// In the buffer, behind the head.
    Behind(usize),
    /// Put together from chunks.
    Gathered(Vec<u8>),
}

/// A request whose id and nonce are filled in for each call.
pub(crate) struct Prepared {
    bytes: Vec<u8>,
    id_at: usize,
    nonce_at: Option<usize>,
    /// What must stand in the answer: the text, whose nonce is filled in too.
    expected: Vec<u8>,
    steps: u32,
}

/// Ids and nonces have this many digits, so that a request is as long as the last.
const FIRST: u64 = 100_000_000_000;
const DIGITS: usize = 12;
const EXPECTED_NONCE: usize = r#""text":""#.len();

/// Text of this many bytes as JSON has it: lines of usual length, whose ends are escaped.
pub(crate) fn text(bytes: usize) -> String {
    const LINE: &str = r"The quick brown fox jumps over the lazy dog, and then it goes on and on.\n";
    [LINE.repeat(bytes / LINE.len()), "x".repeat(bytes % LINE.len())].concat()
}

impl Client {
    /// Connects; a legacy client also opens its session.
    pub(crate) async fn open(target: &Target) -> Result<Self> {
        let mut client = Self::connect(target).await?;
        if target.era == Era::Legacy {
            client.open_session().await?;
        }
        Ok(client)
    }

    pub(crate) async fn connect(target: &Target) -> Result<Self> {
        let (io, host): (Box<dyn Io>, &str) = match &target.place {
            Place::Tcp(address) => {
                let stream =
                    TcpStream::connect(address).await.with_context(|| format!("connect to {address}"))?;
                stream.set_nodelay(true)?;
                (Box::new(stream), address)
            }
            Place::Unix(path) => (Box::new(UnixStream::connect(path).await?), "localhost"),
        };
        let mut head = format!(
            "POST {} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n",
            target.path
        );
        for line in &target.headers {
            head.push_str(line);
            head.push_str("\r\n");
        }
        let mut client = Self { io, head, era: target.era, buffer: Vec::new(), body: Body::Behind(0) };
        if target.era == Era::Modern {
            client.head.push_str(&format!("MCP-Protocol-Version: {MODERN}\r\n"));
        }
        Ok(client)
    }

    /// `initialize` and what belongs to it.
    pub(crate) async fn open_session(&mut self) -> Result<()> {
        let hello = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{LEGACY}","capabilities":{{}},"clientInfo":{{"name":"toolgrove-bench","version":"0"}}}}}}"#
        );
        let bare = self.head.clone();
        let (status, headers) = self.post(&hello).await?;
        let session = headers.lines().find_map(|it| {
            let (name, value) = it.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
        });
        if status != 200 {
            bail!("initialize was answered with {status}: {}", String::from_utf8_lossy(self.body()));
        }
        self.head = format!("{bare}MCP-Protocol-Version: {LEGACY}\r\n");
        if let Some(session) = session {
            self.head.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        }
        let (status, _) = self.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;
        if status != 202 {
            bail!("notifications/initialized was answered with {status}");
        }
        Ok(())
    }

    /// The next session on the same connection.
    pub(crate) async fn open_another(&mut self, target: &Target) -> Result<()> {
        let kept = self.head.split("MCP-Protocol-Version").next().unwrap_or_default().to_owned();
        debug_assert!(kept.starts_with(&format!("POST {}", target.path)));
        self.head = kept;
        self.open_session().await
    }

    async fn post(&mut self, body: &str) -> Result<(u16, String)> {
        let request = format!("{}Content-Length: {}\r\n\r\n{body}", self.head, body.len());
        self.io.write_all(request.as_bytes()).await?;
        self.read().await
    }

    /// Whether the hub is there.
    pub(crate) async fn health(&mut self) -> Result<()> {
        let host = self.head.lines().nth(1).unwrap_or_default();
        let request = format!("GET /healthz HTTP/1.1\r\n{host}\r\n\r\n");
        self.io.write_all(request.as_bytes()).await?;
        match self.read().await? {
            (200, _) => Ok(()),
            (status, _) => bail!("`/healthz` was answered with {status}"),
        }
    }

    /// Opens the stream of a legacy session and leaves it open.
    pub(crate) async fn hear(&mut self) -> Result<()> {
        let head = self.head.replacen("POST", "GET", 1);
        self.buffer.clear();
        self.io.write_all(format!("{head}\r\n").as_bytes()).await?;
        loop {
            if self.io.read_buf(&mut self.buffer).await? == 0 {
                bail!("the stream ended");
            }
            if memmem::find(&self.buffer, b"\r\n\r\n").is_some() {
                break;
            }
        }
        if !self.buffer.starts_with(b"HTTP/1.1 200") {
            bail!("the stream was refused");
        }
        Ok(())
    }

    pub(crate) fn prepare_call(&self, tool: &str, text: &str, steps: u32) -> Prepared {
        let token = if steps > 0 { format!(r#""progressToken":{FIRST}"#) } else { String::new() };
        let arguments = match steps {
            0 => format!(r#"{{"text":"{FIRST}{text}"}}"#),
            _ => format!(r#"{{"steps":{steps},"text":"{FIRST}{text}"}}"#),
        };
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}{}}}"#, self.meta(&token));
        let mut prepared = self.prepare("tools/call", &params, Some(tool));
        prepared.nonce_at = memmem::rfind(&prepared.bytes, format!(r#""text":"{FIRST}"#).as_bytes())
            .map(|it| it + EXPECTED_NONCE);
        prepared.expected = format!(r#""text":"{FIRST}{text}""#).into_bytes();
        prepared.steps = steps;
        prepared
    }

    /// A list whose answer holds so many tools.
    pub(crate) fn prepare_list(&self) -> Prepared {
        let meta = self.meta("");
        let params = format!("{{{}}}", meta.trim_start_matches(','));
        self.prepare("tools/list", &params, None)
    }

    fn meta(&self, token: &str) -> String {
        let own = match self.era {
            Era::Legacy => "",
            Era::Modern => {
                r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"toolgrove-bench","version":"0"}"#
            }
        };
        match (own, token) {
            ("", "") => String::new(),
            ("", it) | (it, "") => format!(r#","_meta":{{{it}}}"#),
            (own, token) => format!(r#","_meta":{{{own},{token}}}"#),
        }
    }

    fn prepare(&self, method: &str, params: &str, name: Option<&str>) -> Prepared {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{FIRST},"method":"{method}","params":{params}}}"#);
        let mut head = self.head.clone();
        if self.era == Era::Modern {
            head.push_str(&format!("Mcp-Method: {method}\r\n"));
            if let Some(name) = name {
                head.push_str(&format!("Mcp-Name: {name}\r\n"));
            }
        }
        let bytes = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
        let id_at = bytes.len() - body.len() + r#"{"jsonrpc":"2.0","id":"#.len();
        Prepared { bytes, id_at, nonce_at: None, expected: Vec::new(), steps: 0 }
    }

    /// Sends one request and checks its answer. `number` must not be used twice on one connection.
    pub(crate) async fn ask(&mut self, prepared: &mut Prepared, number: u64) -> Result<&[u8]> {
        let digits = (FIRST + number).to_string();
        prepared.bytes[prepared.id_at..prepared.id_at + DIGITS].copy_from_slice(digits.as_bytes());
        if let Some(at) = prepared.nonce_at {
            prepared.bytes[at..at + DIGITS].copy_from_slice(digits.as_bytes());
            prepared.expected[EXPECTED_NONCE..EXPECTED_NONCE + DIGITS].copy_from_slice(digits.as_bytes());
        }
        self.io.write_all(&prepared.bytes).await?;
        let (status, _) = self.read_quick().await?;
        let body = self.body();
        let wrong = |why: &str| {
            let start: String = String::from_utf8_lossy(body).chars().take(400).collect();
            anyhow::anyhow!("a wrong answer ({why}, HTTP {status}): {start}")
        };
        if status != 200 {
            return Err(wrong("status"));
        }
        // Found by its first words, so that what is measured does not wait for a search for a megabyte.
        let expected = &prepared.expected;
        let first = &expected[..expected.len().min(EXPECTED_NONCE + DIGITS)];
        let text = memmem::find(body, first).filter(|at| body[*at..].starts_with(expected));
        let Some(text) = text else { return Err(wrong("text")) };
        let around = [&body[..text], &body[text + expected.len()..]];
        let has = |what: &[u8]| around.iter().any(|it| memmem::find(it, what).is_some());
        if !has(format!(r#""id":{digits}"#).as_bytes()) {
            return Err(wrong("id"));
        }
        if has(br#""isError":true"#) {
            return Err(wrong("isError"));
        }
        let progress: usize =
            around.iter().map(|it| memmem::find_iter(it, b"notifications/progress").count()).sum();
        if prepared.steps > 0 && progress != prepared.steps as usize {
            return Err(wrong("progress"));
        }
        Ok(body)
    }

    fn body(&self) -> &[u8] {
        match &self.body {
            Body::Behind(head) => &self.buffer[*head..],
            Body::Gathered(body) => body,
        }
    }

    async fn read_quick(&mut self) -> Result<(u16, usize)> {
        self.buffer.clear();
        let end = loop {
            if self.io.read_buf(&mut self.buffer).await? == 0 {
                bail!("the connection was closed");
            }
            if let Some(end) = memmem::find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
        };
        let status = std::str::from_utf8(&self.buffer[9..12])?.parse()?;
        let length = header(&self.buffer[..end], b"content-length").map(str::parse::<usize>).transpose()?;
        match length {
            Some(length) => {
                self.buffer.reserve((end + length).saturating_sub(self.buffer.len()));
                while self.buffer.len() < end + length {
                    if self.io.read_buf(&mut self.buffer).await? == 0 {
                        bail!("the answer broke off");
                    }
                }
                self.buffer.truncate(end + length);
                self.body = Body::Behind(end);
            }
            None if header(&self.buffer[..end], b"transfer-encoding").is_some() => {
                self.body = Body::Gathered(self.read_chunks(end).await?);
            }
            None => {
                self.buffer.truncate(end);
                self.body = Body::Behind(end);
            }
        }
        Ok((status, end))
    }

    async fn read(&mut self) -> Result<(u16, String)> {
        let (status, end) = self.read_quick().await?;
        Ok((status, String::from_utf8_lossy(&self.buffer[..end]).into_owned()))
    }

    async fn read_chunks(&mut self, mut at: usize) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = loop {
                match memmem::find(&self.buffer[at..], b"\r\n") {
                    Some(end) => break at + end,
                    None if self.io.read_buf(&mut self.buffer).await? == 0 => bail!("the answer broke off"),
                    None => {}
                }
            };
            let size = usize::from_str_radix(std::str::from_utf8(&self.buffer[at..line])?.trim(), 16)?;
            let start = line + 2;
            while self.buffer.len() < start + size + 2 {
                if self.io.read_buf(&mut self.buffer).await? == 0 {
                    bail!("the answer broke off");
                }
            }
            if size == 0 {
                return Ok(body);
            }
            body.extend_from_slice(&self.buffer[start..start + size]);
            at = start + size + 2;
        }
    }
}

/// The value of a header, whose name is given in lower case.
fn header<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a str> {
    head.split(|it| *it == b'\n').find_map(|line| {
        let (given, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?;
        given.eq_ignore_ascii_case(name).then(|| std::str::from_utf8(value).unwrap_or_default().trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_found_whatever_its_case() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: x\r\ncontent-LENGTH:  12\r\n\r\n";
        assert_eq!(header(head, b"content-length"), Some("12"));
        assert_eq!(header(head, b"transfer-encoding"), None);
    }

    #[test]
    fn a_text_is_as_long_as_wanted_and_valid() {
        for bytes in [0, 10, 300, 8192] {
            assert_eq!(text(bytes).len(), bytes);
            assert!(serde_json::from_str::<String>(&format!("\"{}\"", text(bytes))).is_ok());
        }
    }
}
