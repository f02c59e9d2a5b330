//! A person's home for one test: folders of its own, commands run in it, servers to talk to.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::Value;
use tempfile::TempDir;

use crate::watch;

/// Longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Options whose values are secrets.
const SECRETS: [&str; 4] = ["--credential", "--env", "--header", "--set"];

pub(crate) struct Home {
    folder: TempDir,
}

/// What it kept and said must hold no secret that it was given.
impl Drop for Home {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        for name in ["key", "secret.key"] {
            if let Ok(secret) = fs::read_to_string(self.data(name)) {
                watch::hide(secret.trim());
            }
        }
        watch::left_behind(self.folder.path());
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Everything a person sees.
    pub(crate) fn all(&self) -> String {
        format!("{}{}exit {}", self.out, self.err, self.code)
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert!(self.code == 0, "{self:?}");
        assert_eq!(self.out.lines().count(), 1, "one document on one line: {self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert!(self.code == 0, "{self:?}");
        self.out
    }
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::with_prefix("tg-").unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn data(&self, name: &str) -> PathBuf {
        self.path("data").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolgrove"));
        command.args(args);
        let args: Vec<_> = command.get_args().filter_map(OsStr::to_str).collect();
        for given in args.windows(2).filter(|it| SECRETS.contains(&it[0])) {
            // A file is named with `@`; what is in it is found where it is read.
            if let Some((_, value)) = given[1].split_once('=').filter(|it| !it.1.starts_with('@')) {
                watch::hide(value);
            }
        }
        command
            .env("TOOLGROVE_DATA", self.path("data"))
            .env("TOOLGROVE_CONFIG", self.path("toolgrove.toml"))
            .env("HOME", self.path("home"))
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("TOOLGROVE_LOG")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        self.finish(&mut self.command(args))
    }

    /// A command as it would be typed, without quoting.
    pub(crate) fn type_(&self, line: &str) -> Ran {
        self.run(line.split_whitespace())
    }

    pub(crate) fn finish(&self, command: &mut Command) -> Ran {
        let output = command.output().unwrap();
        for said in [&output.stdout, &output.stderr] {
            watch::search("what a command says", &String::from_utf8_lossy(said));
        }
        let text = |bytes: Vec<u8>| self.tidy(&String::from_utf8(bytes).unwrap());
        Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    pub(crate) fn run_with_input(&self, line: &str, input: &str) -> Ran {
        let mut child = self
            .command(line.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| self.tidy(&String::from_utf8(bytes).unwrap());
        Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The test's own folder reads `~`.
    fn tidy(&self, text: &str) -> String {
        text.replace(&self.folder.path().display().to_string(), "~")
    }

    /// A hub on a free port that logs all it can: its log is searched for secrets.
    pub(crate) fn serve(&self) -> Hub {
        let mut command = self.command("serve --listen 127.0.0.1:0 --json".split_whitespace());
        self.start(command.env("TOOLGROVE_LOG", "trace"))
    }

    pub(crate) fn serve_with(&self, line: &str) -> Hub {
        self.start(&mut self.command(line.split_whitespace()))
    }

    /// A hub on a free port, whose command is changed before it runs.
    pub(crate) fn serve_as(&self, change: impl FnOnce(&mut Command)) -> Hub {
        let mut command = self.command("serve --listen 127.0.0.1:0 --json".split_whitespace());
        change(&mut command);
        self.start(&mut command)
    }

    fn start(&self, command: &mut Command) -> Hub {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::from(fs::File::create(self.path("hub.log")).unwrap()))
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        assert!(
            !first.is_empty(),
            "the hub did not start: {}",
            fs::read_to_string(self.path("hub.log")).unwrap()
        );
        Hub { child, first, out, log: self.path("hub.log") }
    }

    /// A bundle in a folder, whose server is the fixture unless `servers` says otherwise.
    pub(crate) fn bundle(&self, id: &str, version: &str, servers: &Value) -> String {
        let folder = self.path(&format!("src-{id}"));
        fs::create_dir_all(&folder).unwrap();
        let manifest = serde_json::json!({ "id": id, "version": version, "name": format!("The {id}"), "mcpServers": servers });
        // JSON is YAML too.
        fs::write(folder.join("deployment-manifest.yml"), manifest.to_string()).unwrap();
        folder.display().to_string()
    }

    /// The person's `mcp.json`, which most tests look at.
    pub(crate) fn mcp_json(&self) -> PathBuf {
        self.path("home/.config/Code/User/mcp.json")
    }

    pub(crate) fn read(&self, path: &Path) -> Option<String> {
        fs::read_to_string(path).ok().map(|it| self.tidy(&it))
    }

    /// Adds the fixture as the process server `fix`.
    #[track_caller]
    pub(crate) fn with_fixture(self) -> Self {
        let fixture = fixture().display().to_string();
        self.run(["server", "add", "fix", "--", &fixture, "stdio"]).ok();
        self
    }
}

/// A running `toolgrove serve`. Killed when dropped.
pub(crate) struct Hub {
    child: Child,
    pub(crate) first: String,
    out: BufReader<ChildStdout>,
    log: PathBuf,
}

impl Hub {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32).unwrap()
    }

    /// Waits for the end; the exit code, and what it had to say.
    pub(crate) fn wait(mut self) -> (Option<i32>, String, String) {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        let code = self.child.wait().unwrap().code();
        (code, rest, fs::read_to_string(&self.log).unwrap())
    }

    pub(crate) fn stop(self) {
        self.signal(Signal::TERM);
        assert_eq!(self.wait().0, Some(0));
    }

    /// `http://127.0.0.1:PORT/mcp`
    pub(crate) fn url(&self) -> String {
        let first: Value = serde_json::from_str(&self.first).unwrap();
        first["url"].as_str().unwrap().to_owned()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// One request, as a script would send it; the whole answer.
    pub(crate) fn ask(&self, home: &Home, method: &str, path: &str, body: &Value) -> String {
        let url = self.url();
        let host = url.split('/').nth(2).unwrap();
        let key = fs::read_to_string(home.data("key")).unwrap();
        let (key, body) = (key.trim(), body.to_string());
        let mut stream = std::net::TcpStream::connect(host).unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        // At once: a hub that has answered and closed resets whatever comes later.
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A `toolgrove stdio` that a client talks to.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Client {
    pub(crate) fn start(home: &Home, line: &str) -> Self {
        let mut child = home
            .command(line.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The next message that answers something.
    pub(crate) fn answer(&mut self) -> Value {
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            assert!(!line.is_empty(), "stdio ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message.get("id").is_some() {
                return message;
            }
        }
    }

    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.answer()
    }

    pub(crate) fn greet(&mut self) {
        let answer = self.ask(&initialize());
        assert_eq!(answer["result"]["serverInfo"]["name"], "toolgrove", "{answer}");
        self.send(&serde_json::json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    pub(crate) fn call(&mut self, id: u64, tool: &str) -> Value {
        self.ask(&serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": {} } }))
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes the input; returns the rest of the output and the exit code.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (rest, self.child.wait().unwrap().code())
    }
}

pub(crate) fn initialize() -> Value {
    serde_json::json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } })
}

/// The fixture's binary, which lies beside ours.
#[track_caller]
pub(crate) fn fixture() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_toolgrove")).with_file_name("toolgrove-fixture");
    assert!(path.exists(), "the fixture is missing: run `cargo build -p toolgrove-fixture`");
    path
}

/// The fixture as an HTTP server; ends with this value.
pub(crate) struct HttpFixture {
    child: Child,
    pub(crate) url: String,
}

impl HttpFixture {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child = Command::new(fixture())
            .arg("http")
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url =
            line.trim().strip_prefix("listening on ").expect("the fixture says where it listens").to_owned();
        Self { child, url }
    }
}

impl Drop for HttpFixture {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a process that is not ours to wait for is gone.
#[track_caller]
pub(crate) fn wait_until_gone(pid: i32) {
    let Ok(handle) = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()) else { return };
    let mut fds = [PollFd::new(&handle, PollFlags::IN)];
    let limit = PATIENCE.try_into().unwrap();
    assert!(poll(&mut fds, Some(&limit)).unwrap() > 0, "process {pid} is still there");
}

/// Looks again and again until something is so.
#[track_caller]
pub(crate) fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "it did not happen");
        std::thread::yield_now();
    }
}
