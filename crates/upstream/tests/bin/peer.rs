//! A scripted server on stdin and stdout, and a hub to be killed, for the tests of this crate.
//!
//! `upstream-peer serve WITNESS FLAGS…` tells the socket WITNESS what it gets, one line each, after `start PID`.
//! `upstream-peer hub WITNESS SHEPHERD` is a hub whose one server has started a process of its own.

use std::env;
use std::io::{BufRead, Write, stderr, stdin, stdout};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio, exit};

use serde_json::{Value, json};

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    match args[0].as_str() {
        "serve" => Server::new(&args[1..]).run(),
        "hub" => hub(&args[1], &args[2]),
        other => panic!("`{other}` is nothing a peer does"),
    }
}

struct Server {
    flags: Vec<String>,
    witness: UnixStream,
    initialized: bool,
    /// The call that waits for answers, what it asked, and what it was told.
    asking: Option<(Value, usize, Vec<Value>)>,
}

impl Server {
    fn new(args: &[String]) -> Self {
        let mut witness = UnixStream::connect(&args[0]).expect("a witness");
        writeln!(witness, "start {}", std::process::id()).expect("a witness");
        Self { flags: args[1..].to_vec(), witness, initialized: false, asking: None }
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|it| it == flag)
    }

    fn run(mut self) {
        if self.has("--stubborn") {
            // Outlives its stdin and a polite request.
            let status = Command::new("sh")
                .args(["-c", "trap '' TERM; while :; do read x || sleep 1000; done"])
                .status();
            exit(status.map_or(1, |it| it.code().unwrap_or(1)));
        }
        if self.has("--garbage") {
            say("Listening on stdio");
            say("{\"level\":30}");
        }
        if self.has("--endless-garbage") {
            (0..100).for_each(|_| say("hello"));
        }
        for line in stdin().lock().lines() {
            let line = line.expect("text");
            writeln!(self.witness, "{line}").expect("a witness");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            self.take(&message);
        }
        writeln!(self.witness, "eof").expect("a witness");
    }

    fn take(&mut self, message: &Value) {
        let (id, method) = (&message["id"], message["method"].as_str().unwrap_or_default());
        if message.get("method").is_none() {
            return self.hear(message);
        }
        if id.is_null() {
            return;
        }
        if method == "tools/call" && message["params"]["name"] == "ask" {
            return self.ask(id, &message["params"]["arguments"]);
        }
        if self.has("--exit-on-probe") && !self.initialized && method != "initialize" {
            exit(1);
        }
        let result = match method {
            "server/discover" if self.has("--silent-probe") => return,
            "server/discover" if self.has("--modern") => Ok(json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": { "listChanged": true } },
            })),
            "initialize" if !self.has("--modern") => {
                self.initialized = true;
                Ok(json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": { "tools": { "listChanged": true }, "logging": {} },
                    "serverInfo": { "name": "peer", "version": "1" },
                }))
            }
            "subscriptions/listen" => {
                let params =
                    json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": id }, "notifications": {} });
                notify("notifications/subscriptions/acknowledged", params);
                return;
            }
            "logging/setLevel" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] })),
            "tools/call" => match call(id, &message["params"]) {
                Some(result) => Ok(result),
                None => return,
            },
            _ => Err(json!({ "code": -32601, "message": "no such method" })),
        };
        let answer = match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        };
        say(&answer.to_string());
    }
}

impl Server {
    /// Asks all of `asks`, each a method and its parameters, and ends when all are answered.
    fn ask(&mut self, id: &Value, arguments: &Value) {
        let asks = arguments["asks"].as_array().cloned().unwrap_or_default();
        for (place, ask) in asks.iter().enumerate() {
            let ask = json!({ "jsonrpc": "2.0", "id": place, "method": ask[0], "params": ask[1] });
            say(&ask.to_string());
        }
        self.asking = Some((id.clone(), asks.len(), Vec::new()));
    }

    fn hear(&mut self, message: &Value) {
        let Some((call, expected, answers)) = &mut self.asking else { return };
        let mut answer = message.clone();
        answer.as_object_mut().expect("a message").remove("jsonrpc");
        answers.push(answer);
        if answers.len() == *expected {
            say(&json!({ "jsonrpc": "2.0", "id": call, "result": { "answers": answers } }).to_string());
            self.asking = None;
        }
    }
}

fn call(id: &Value, params: &Value) -> Option<Value> {
    let arguments = &params["arguments"];
    Some(match params["name"].as_str().unwrap_or_default() {
        "echo" => json!({ "content": [], "echo": arguments }),
        "env" => json!({ "value": env::var(arguments["name"].as_str().unwrap_or_default()).ok() }),
        "big" => json!({ "text": "x".repeat(arguments["bytes"].as_u64().unwrap_or_default() as usize) }),
        "hang" => return None,
        "crash" => {
            writeln!(stderr(), "first line\nboom: out of cheese").expect("stderr");
            exit(3);
        }
        "change" => {
            notify("notifications/tools/list_changed", json!({}));
            json!({})
        }
        "talk" => {
            let token = &params["_meta"]["progressToken"];
            notify("notifications/progress", json!({ "progressToken": token, "progress": 1, "total": 2 }));
            notify("notifications/message", json!({ "level": "debug", "data": "quiet" }));
            notify("notifications/message", json!({ "level": "warning", "data": "loud" }));
            say(&json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" }).to_string());
            say(&json!({ "jsonrpc": "2.0", "id": "r", "method": "roots/list" }).to_string());
            json!({ "asked": id })
        }
        "spawn" => {
            // Away from our process group, as a daemon would be.
            let mut sleep = Command::new("sleep");
            sleep
                .arg("1000")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .process_group(0);
            json!({ "pid": sleep.spawn().expect("sleep").id() })
        }
        _ => json!({ "isError": true }),
    })
}

fn notify(method: &str, params: Value) {
    say(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
}

fn say(line: &str) {
    let mut out = stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).expect("stdout");
}

/// A hub with one running server, waiting to be killed.
#[tokio::main(flavor = "current_thread")]
async fn hub(witness: &str, shepherd: &str) {
    use std::sync::Arc;
    use toolgrove_core::call::{Links, Method, Outgoing};
    use toolgrove_core::event::Events;
    use toolgrove_core::instance::{self, EraSetting, Instance, Switch, Transport};
    use toolgrove_wire::modern::Implementation;

    let pool = toolgrove_upstream::Pool::new(toolgrove_upstream::PoolOptions {
        shepherd: toolgrove_upstream::ShepherdCommand { program: shepherd.into(), args: Vec::new() },
        client: Implementation { name: "toolgrove".into(), version: "0.0.0".into() },
        body_limit: 1 << 20,
        idle: std::time::Duration::from_secs(300),
        reports: tokio::sync::mpsc::unbounded_channel().0,
        tokens: None,
        now: || 0,
        guard: toolgrove_core::net::Guard::Open,
    });
    let instance = Arc::new(Instance {
        id: uuid::Uuid::from_u128(1),
        person: uuid::Uuid::nil(),
        server: uuid::Uuid::nil(),
        slug: "peer".into(),
        server_name: "peer".into(),
        transport: Transport::Stdio(instance::Command {
            program: env::current_exe().expect("our own path").to_string_lossy().into_owned(),
            args: vec!["serve".into(), witness.into()],
            env: Vec::new(),
            env_file: None,
            directory: None,
        }),
        hosts: toolgrove_core::net::Allowlist::Any,
        era: EraSetting::Auto,
        protocol: None,
        verdict: None,
        timeout: std::time::Duration::from_secs(60),
        switch: Switch::On,
        phase: toolgrove_core::policy::Phase::Gamma,
        rate: None,
        revision: 1,
    });
    let outgoing = Outgoing {
        method: Method::CallTool,
        params: toolgrove_wire::Raw::of(&json!({ "name": "spawn" })).into(),
        chat: "chat".into(),
        log_level: None,
        abilities: toolgrove_wire::Abilities::NONE,
        headers: Vec::new(),
        repeatable: false,
        legacy_task: toolgrove_core::call::LegacyTask::No,
        behind: None,
    };
    let result = pool.request(&instance, &outgoing, &Events::none()).await.expect("a server");
    let mut told = UnixStream::connect(witness).expect("a witness");
    writeln!(told, "hub {}", result.get("pid").expect("a pid").as_str()).expect("a witness");
    std::future::pending::<()>().await;
}
