//! `toolgrove stdio` as a client's child process: with a hub running, and being the hub itself.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{OFlags, fcntl_getfl};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::grove::{over_stdio, text};
use crate::hub::{Hub, PATIENCE, command, modern_request};

/// A client and its child.
pub(crate) struct Client {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Client {
    pub(crate) fn start(dir: &Path, args: &[&str]) -> Self {
        let mut command = command(dir);
        command.arg("stdio").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let (input, output) =
            (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
        Self { child, input, output }
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        self.input.flush().await.unwrap();
    }

    /// The next message that is not about a list: those come when they come.
    async fn next(&mut self) -> Value {
        loop {
            let message = self.any().await;
            if !message["method"].as_str().is_some_and(|it| it.ends_with("/list_changed")) {
                return message;
            }
        }
    }

    async fn any(&mut self) -> Value {
        let line =
            tokio::time::timeout(PATIENCE, self.output.next_line()).await.expect("the child says something");
        serde_json::from_str(&line.unwrap().expect("the child goes on")).unwrap()
    }

    /// The answer to this id; what else is said meanwhile is skipped.
    async fn ask(&mut self, message: &Value) -> Value {
        self.send(message).await;
        loop {
            let answer = self.next().await;
            if answer["id"] == message["id"] {
                return answer;
            }
        }
    }

    pub(crate) async fn greet(&mut self) {
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let answer =
            self.ask(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await;
        assert_eq!(answer["result"]["serverInfo"]["name"], "toolgrove", "{answer}");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    }

    pub(crate) async fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        self.ask(&json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })).await
    }

    /// Closes the input and waits for the child to end by itself.
    pub(crate) async fn end(mut self) {
        drop(self.input);
        let status =
            tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("the child ends").unwrap();
        assert!(status.success(), "{status}");
    }
}

/// A whole conversation of both eras over one pipe.
async fn talk(client: &mut Client) {
    client.greet().await;
    let list = client.request("l", "tools/list", json!({})).await;
    assert!(list.to_string().contains("\"mcp__s__echo\""), "{list}");
    let answer = client
        .request(2, "tools/call", json!({ "name": "mcp__s__echo", "arguments": { "era": "legacy" } }))
        .await;
    assert_eq!(text(&answer["result"]), "{\"era\":\"legacy\"}");

    let (_, mut modern) =
        modern_request("tools/call", json!({ "name": "mcp__s__echo", "arguments": { "era": "modern" } }));
    modern["id"] = json!("m");
    let answer = client.ask(&modern).await;
    assert_eq!(
        (text(&answer["result"]), &answer["result"]["resultType"]),
        ("{\"era\":\"modern\"}", &json!("complete"))
    );

    for (line, code) in [
        ("{\"jsonrpc\":", -32700),
        ("[]", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", -32600),
    ] {
        client.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        assert_eq!(client.next().await["error"]["code"], code, "{line}");
    }
    assert_eq!(client.request("p", "ping", json!({})).await["result"], json!({}), "a bad line ends nothing");
    assert_eq!(client.request("u", "no/such", json!({})).await["error"]["code"], -32601);

    // A slow call, cancelled while another one is answered.
    let slow = json!({ "jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": {
        "name": "mcp__s__sleep", "arguments": { "ms": 600_000 }, "_meta": { "progressToken": "tok" } } });
    client.send(&slow).await;
    let note = client.next().await;
    assert_eq!(
        (&note["method"], &note["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("tok")),
        "{note}"
    );
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "slow" } })).await;
    let counted = loop {
        let counted = client.request("n", "tools/call", json!({ "name": "mcp__s__cancelled_count" })).await;
        let count = counted["result"]["structuredContent"]["count"].as_u64().unwrap();
        if count > 0 {
            break count;
        }
    };
    assert_eq!(counted, 1);

    client.send(&json!({ "jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": { "name": "mcp__s__change_tools" } })).await;
    let mut heard = Vec::new();
    while !heard.contains(&"notifications/tools/list_changed".to_owned()) {
        heard.push(client.any().await["method"].as_str().unwrap_or_default().to_owned());
    }
}

#[tokio::test]
async fn a_child_beside_a_running_hub_shares_its_servers() {
    let hub = over_stdio(&[]).await;
    let pid = crate::grove::server_pid(&hub, "s").await;
    let mut client = Client::start(hub.dir.path(), &[]);
    talk(&mut client).await;
    let answer = client.request("pid", "tools/call", json!({ "name": "mcp__s__pid" })).await;
    assert_eq!(answer["result"]["structuredContent"]["pid"], pid, "the same process serves both");
    client.end().await;
    let doors: Vec<Value> = hub
        .get("/api/calls?limit=1000")
        .await
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["door"].clone())
        .collect();
    assert!(doors.contains(&json!("stdio")) && doors.contains(&json!("mcp")), "{doors:?}");
}

#[tokio::test]
async fn a_child_without_a_hub_is_the_hub() {
    let dir = over_stdio(&[]).await.stop().await;
    let mut client = Client::start(dir.path(), &[]);
    talk(&mut client).await;
    // Whoever comes meanwhile shares it.
    let mut second = Client::start(dir.path(), &["--instance", "s"]);
    second.greet().await;
    let pids = [
        client.request("pid", "tools/call", json!({ "name": "mcp__s__pid" })).await,
        second.request("pid", "tools/call", json!({ "name": "pid" })).await,
    ];
    assert_eq!(pids[0]["result"]["structuredContent"], pids[1]["result"]["structuredContent"], "{pids:?}");
    second.end().await;
    client.end().await;

    let hub = Hub::start_in(dir).await;
    let calls = hub.get("/api/calls?limit=1000").await;
    let cancelled: Vec<_> =
        calls.as_array().unwrap().iter().filter(|it| it["outcome"] == "cancelled").collect();
    assert_eq!(cancelled.len(), 1, "every call has its row: {calls}");
}

#[tokio::test]
async fn a_child_outlives_the_hub_it_forwards_to() {
    let hub = over_stdio(&[]).await;
    let mut client = Client::start(hub.dir.path(), &[]);
    client.greet().await;
    client.request(1, "tools/call", json!({ "name": "mcp__s__echo" })).await;
    let dir = hub.stop().await;
    let answer = client
        .request(2, "tools/call", json!({ "name": "mcp__s__echo", "arguments": { "still": true } }))
        .await;
    assert_eq!(text(&answer["result"]), "{\"still\":true}", "{answer}");
    client.end().await;
    drop(dir);
}

#[tokio::test]
async fn nine_mebibytes_pass_through_the_pipe() {
    let hub = over_stdio(&[]).await;
    let mut client = Client::start(hub.dir.path(), &["--instance", "s"]);
    client.greet().await;
    let bytes = 9 * 1024 * 1024;
    let answer =
        client.request(1, "tools/call", json!({ "name": "big", "arguments": { "bytes": bytes } })).await;
    assert_eq!(text(&answer["result"]).len(), bytes);
    assert_eq!(client.request(3, "ping", json!({})).await["result"], json!({}));
    client.end().await;
}

#[tokio::test]
async fn a_line_that_is_refused_whole_is_answered_and_does_not_keep_the_child_from_ending() {
    let hub = over_stdio(&[]).await;
    let echo = |argument: &str| json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "mcp__s__echo", "arguments": { "a": argument } } });
    for line in [echo(&"x".repeat(11 * 1024 * 1024)), json!([echo("in a batch")])] {
        let mut client = Client::start(hub.dir.path(), &[]);
        client.greet().await;
        client.send(&line).await;
        let refused = client.next().await;
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
        assert_eq!(client.request(3, "ping", json!({})).await["result"], json!({}));
        client.end().await;
    }
}

/// One request over such streams, of which the child gets one end each, and perhaps its errors the same as its answers.
async fn ask_over(dir: &Path, mut input: impl Write, theirs: (OwnedFd, OwnedFd), errors: Stdio) {
    let (_, mut request) = modern_request("tools/list", json!({}));
    request["id"] = json!("asked");
    let mut command = command(dir);
    command
        .arg("stdio")
        .stdin(theirs.0.try_clone().unwrap())
        .stdout(theirs.1.try_clone().unwrap())
        .stderr(errors);
    input.write_all(format!("{request}\n").as_bytes()).unwrap();
    drop(input);
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    let status = tokio::time::timeout(PATIENCE, child.wait()).await.expect("the child ends").unwrap();
    assert!(status.success(), "{status}");
    for stream in [theirs.0, theirs.1] {
        assert!(!fcntl_getfl(&stream).unwrap().contains(OFlags::NONBLOCK), "it is left as it was");
    }
}

#[tokio::test]
async fn pipes_sockets_and_files_are_served_and_left_as_they_were() {
    let hub = over_stdio(&[]).await;
    let dir = hub.dir.path();
    let said = |mut output: Box<dyn Read>| {
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        let answer: Value = serde_json::from_str(text.lines().next().unwrap_or_default()).unwrap();
        assert_eq!(answer["id"], "asked", "{text}");
    };

    let ((read, write), (output, answers)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
    ask_over(dir, write, (read.into(), answers.into()), Stdio::null()).await;
    said(Box::new(output));

    let ((read, write), (output, answers)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
    let errors = answers.try_clone().unwrap();
    ask_over(dir, write, (read.into(), answers.into()), errors.into()).await;
    said(Box::new(output));

    let ((read, write), (output, answers)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
    ask_over(dir, write, (read.into(), answers.into()), Stdio::null()).await;
    said(Box::new(output));

    let (asked, answers) = (dir.join("asked"), dir.join("answers"));
    let write = File::create(&asked).unwrap();
    let output = File::create(&answers).unwrap();
    let read = File::open(&asked).unwrap();
    ask_over(dir, write, (read.into(), output.into()), Stdio::null()).await;
    said(Box::new(File::open(&answers).unwrap()));
}
