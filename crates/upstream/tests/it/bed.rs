//! A pool with one instance, and the words to use it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolgrove_core::call::{Discovery, Links, Method, Outgoing};
use toolgrove_core::event::{Ask, Event, Events, News, Progress, Question, Report};
use toolgrove_core::instance::{Command, EraSetting, HttpReach, Instance, Switch, Transport};
use toolgrove_core::net::{Allowlist, Exception, Guard};
use toolgrove_core::{Error, Secret};
use toolgrove_upstream::{Pool, PoolOptions, ShepherdCommand};
use toolgrove_wire::modern::Implementation;
use toolgrove_wire::{Abilities, Raw};
use uuid::Uuid;

use crate::witness::Witness;

pub(crate) struct Bed {
    pub(crate) pool: Pool,
    pub(crate) instance: Arc<Instance>,
    pub(crate) reports: mpsc::UnboundedReceiver<Report>,
}

/// A bed for one instance, changed to taste.
pub(crate) fn bed(transport: Transport, change: impl FnOnce(&mut Instance)) -> Bed {
    bed_with(transport, Duration::from_secs(300), change)
}

pub(crate) fn bed_with(transport: Transport, idle: Duration, change: impl FnOnce(&mut Instance)) -> Bed {
    bed_of(transport, |options| options.idle = idle, change)
}

/// A bed behind a guard that lets these through.
pub(crate) fn guarded(transport: Transport, exceptions: &[&str], change: impl FnOnce(&mut Instance)) -> Bed {
    let exceptions = exceptions.iter().map(|it| Exception::parse(it).expect("an exception")).collect();
    bed_of(transport, |options| options.guard = Guard::Public(exceptions), change)
}

pub(crate) fn bed_of(
    transport: Transport,
    tune: impl FnOnce(&mut PoolOptions),
    change: impl FnOnce(&mut Instance),
) -> Bed {
    let (tx, reports) = mpsc::unbounded_channel();
    let mut options = PoolOptions {
        shepherd: ShepherdCommand {
            program: env!("CARGO_BIN_EXE_upstream-shepherd").into(),
            args: Vec::new(),
        },
        client: Implementation { name: "toolgrove".into(), version: "0.1.0".into() },
        body_limit: 10 << 20,
        idle: Duration::from_secs(300),
        reports: tx,
        tokens: None,
        now: || 1_000,
        guard: Guard::Open,
    };
    tune(&mut options);
    Bed { pool: Pool::new(options), instance: Arc::new(instance(transport, change)), reports }
}

pub(crate) fn instance(transport: Transport, change: impl FnOnce(&mut Instance)) -> Instance {
    let mut instance = Instance {
        id: Uuid::from_u128(1),
        person: Uuid::nil(),
        server: Uuid::nil(),
        slug: "peer".into(),
        server_name: "peer".into(),
        transport,
        hosts: Allowlist::Any,
        era: EraSetting::Auto,
        protocol: None,
        verdict: None,
        timeout: Duration::from_secs(30),
        switch: Switch::On,
        phase: toolgrove_core::policy::Phase::Gamma,
        rate: None,
        revision: 1,
    };
    change(&mut instance);
    instance
}

pub(crate) fn http(url: &str) -> Transport {
    Transport::Http(reach(url))
}

pub(crate) fn reach(url: &str) -> HttpReach {
    let headers = vec![("X-Api-Key".to_owned(), Secret::new("abc123"))];
    HttpReach { url: url.parse().expect("a URL"), headers, query: Vec::new() }
}

/// The scripted server of `tests/bin/peer.rs`.
pub(crate) fn process(witness: &Witness, flags: &[&str]) -> Command {
    let args =
        ["serve".to_owned(), witness.path()].into_iter().chain(flags.iter().map(|it| (*it).to_owned()));
    Command {
        program: env!("CARGO_BIN_EXE_upstream-peer").into(),
        args: args.collect(),
        env: Vec::new(),
        env_file: None,
        directory: None,
    }
}

pub(crate) fn is_alive(pid: &str) -> bool {
    // A zombie is gone as far as anybody cares.
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|it| !it.1.starts_with('Z'))
}

pub(crate) fn call(tool: &str, arguments: Value) -> Outgoing {
    Outgoing {
        method: Method::CallTool,
        params: Raw::of(&json!({ "name": tool, "arguments": arguments })).into(),
        chat: "chat".into(),
        log_level: None,
        abilities: Abilities::NONE,
        headers: Vec::new(),
        repeatable: false,
        legacy_task: toolgrove_core::call::LegacyTask::No,
        behind: None,
    }
}

/// A call of a client that can be asked everything.
pub(crate) fn asked(tool: &str, arguments: Value) -> Outgoing {
    let all = Abilities::FORM.with(Abilities::URL).with(Abilities::SAMPLING).with(Abilities::ROOTS);
    Outgoing { abilities: all, ..call(tool, arguments) }
}

/// Answers a question as a friendly person would.
pub(crate) fn answer(ask: Ask) {
    let answer = match ask.question {
        Question::Elicit => json!({ "action": "accept", "content": { "name": "Ada" } }),
        Question::Sample => {
            json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "Paris" } })
        }
        Question::Roots => json!({ "roots": [{ "uri": "file:///a" }] }),
    };
    ask.reply.send(Ok(Raw::of(&answer))).expect("the server waits");
}

/// Stops the clock for the rest of the test: it moves only when told to, also while sockets are waited for.
pub(crate) fn freeze() -> std::sync::mpsc::Sender<()> {
    let (tx, rx) = std::sync::mpsc::channel();
    tokio::time::pause();
    // The clock never runs ahead while such a task is running.
    tokio::task::spawn_blocking(move || rx.recv());
    tx
}

impl Bed {
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, Error> {
        self.request(call(tool, arguments)).await
    }

    pub(crate) async fn request(&self, outgoing: Outgoing) -> Result<Value, Error> {
        self.pool.request(&self.instance, &outgoing, &Events::none()).await.map(|it| it.to_value())
    }

    /// A call with everything that was heard while it ran.
    pub(crate) async fn listen(&self, outgoing: Outgoing) -> (Result<Value, Error>, Vec<String>) {
        let (events, mut rx) = Events::channel(Progress::Wanted);
        let result = self.pool.request(&self.instance, &outgoing, &events).await.map(|it| it.to_value());
        let mut heard = Vec::new();
        while let Some(event) = rx.try_recv() {
            heard.push(match event {
                Event::Progress(raw) => format!("progress {}", raw.as_str()),
                Event::Log(raw) => format!("log {}", raw.as_str()),
                Event::Ask(ask) => format!("ask {} {}", ask.question.method(), ask.params.as_str()),
                Event::Elicited(raw) => format!("elicited {}", raw.as_str()),
            });
        }
        (result, heard)
    }

    /// A call whose questions are answered as they come.
    pub(crate) async fn converse(
        &self,
        outgoing: Outgoing,
        mut answer: impl FnMut(Ask),
    ) -> Result<Value, Error> {
        let (events, mut rx) = Events::channel(Progress::Unwanted);
        let call = self.pool.request(&self.instance, &outgoing, &events);
        tokio::pin!(call);
        loop {
            tokio::select! {
                result = &mut call => return result.map(|it| it.to_value()),
                Some(event) = rx.recv() => if let Event::Ask(ask) = event { answer(ask) },
            }
        }
    }

    pub(crate) async fn discover(&self) -> Result<Discovery, Error> {
        self.pool.discover(&self.instance).await
    }

    /// The next report that is looked for; others are passed over.
    pub(crate) async fn news<T>(&mut self, mut look: impl FnMut(News) -> Option<T>) -> T {
        let found = async {
            loop {
                let report = self.reports.recv().await.expect("the pool is there");
                if let Some(found) = look(report.news) {
                    return found;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), found).await.expect("news within 20 s")
    }
}
