//! The demo world of `toolgrove serve --demo`: ordinary servers with something to see, and one that has a bad day.
//!
//! They are processes of this very program, and one HTTP server beside the hub. The hub is told of them as a person
//! would, by a paste; nothing else knows that they are not real.

mod bad_day;
mod files;
mod notes;
mod peer;
mod weather;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use toolgrove_core::Error;
use toolgrove_core::call::Caller;
use toolgrove_server::App;
use toolgrove_server::registry::Paste;

use self::peer::{Fault, Job, Peer};
use crate::failure::Failure;

/// The hidden subcommand that is one of these servers.
pub(crate) const SERVER: &str = "demo-server";

/// One server of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Show {
    Weather,
    Files,
    BadDay,
    /// Takes its time to start.
    Sleepy,
    /// Ends before it has said anything.
    Broken,
}

impl Show {
    const ALL: [Self; 5] = [Self::Weather, Self::Files, Self::BadDay, Self::Sleepy, Self::Broken];

    fn name(self) -> &'static str {
        match self {
            Self::Weather => "weather",
            Self::Files => "files",
            Self::BadDay => "bad-day",
            Self::Sleepy => "sleepy",
            Self::Broken => "broken",
        }
    }

    /// `serverInfo` and `instructions`.
    fn about(self) -> (Value, &'static str) {
        let (title, colour, instructions) = match self {
            Self::Weather => {
                ("Weather", "#2b7bb9", "Forecasts for any city. They are invented, and always the same.")
            }
            Self::Files => ("Files", "#7a5af5", "A small folder that lives as long as this process."),
            Self::BadDay => ("Bad day", "#c2410c", "Everything a server can do to you, on purpose."),
            Self::Sleepy | Self::Broken => ("Sleepy", "#64748b", "Slow to get up."),
        };
        (
            json!({ "name": self.name(), "title": title, "version": "1.0.0", "icons": [icon(title, colour)] }),
            instructions,
        )
    }

    fn tools(self, peer: &Peer) -> Vec<Value> {
        match self {
            Self::Weather => weather::tools(),
            Self::Files => files::tools(),
            Self::BadDay => bad_day::tools(peer),
            Self::Sleepy | Self::Broken => weather::tools().into_iter().take(1).collect(),
        }
    }

    async fn call(self, job: &Job, tool: &str, args: &Value) -> Result<Value, Fault> {
        match self {
            Self::Weather | Self::Sleepy | Self::Broken => weather::call(tool, args),
            Self::Files => files::call(job, tool, args),
            Self::BadDay => bad_day::call(job, tool, args).await,
        }
    }

    fn prompts(self) -> Vec<Value> {
        match self {
            Self::Weather => weather::prompts(),
            Self::Files => files::prompts(),
            Self::BadDay | Self::Sleepy | Self::Broken => Vec::new(),
        }
    }

    fn prompt(self, name: &str, args: &Value) -> Result<Value, Fault> {
        match self {
            Self::Weather => weather::prompt(name, args),
            Self::Files => files::prompt(name, args),
            Self::BadDay | Self::Sleepy | Self::Broken => Err(Fault::unknown("prompt", name)),
        }
    }

    fn resources(self, peer: &Peer) -> Vec<Value> {
        match self {
            Self::Weather => weather::resources(),
            Self::Files => files::resources(peer),
            Self::BadDay | Self::Sleepy | Self::Broken => Vec::new(),
        }
    }

    fn templates(self) -> Vec<Value> {
        match self {
            Self::Weather => weather::templates(),
            _ => Vec::new(),
        }
    }

    fn resource(self, peer: &Peer, uri: &str) -> Result<Value, Fault> {
        match self {
            Self::Weather => weather::resource(uri),
            Self::Files => files::resource(peer, uri),
            Self::BadDay | Self::Sleepy | Self::Broken => Err(Fault::unknown("resource", uri)),
        }
    }
}

/// A coloured square with the first letter, as a server would send its icon.
fn icon(title: &str, colour: &str) -> Value {
    let letter = title.chars().next().unwrap_or('?');
    let svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='7' \
         fill='{colour}'/><text x='16' y='22' font-family='sans-serif' font-size='18' fill='white' \
         text-anchor='middle'>{letter}</text></svg>"
    );
    let data = svg.replace('#', "%23").replace('<', "%3C").replace('>', "%3E").replace(' ', "%20");
    json!({ "src": format!("data:image/svg+xml,{data}"), "mimeType": "image/svg+xml", "sizes": ["any"] })
}

/// Is one of the servers, until stdin ends.
pub(crate) fn run(args: &[OsString]) -> ExitCode {
    let name = args.first().and_then(|it| it.to_str()).unwrap_or_default();
    let Some(show) = Show::ALL.into_iter().find(|it| it.name() == name) else { return ExitCode::from(2) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return ExitCode::FAILURE };
    let code = runtime.block_on(peer::serve(show));
    // A thread may still sit on stdin.
    runtime.shutdown_background();
    code
}

/// Adds whatever of the demo is not there. What a person has changed since stays as it is.
pub(crate) async fn seed(app: &Arc<App>) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::io("cannot find this program", &error))?;
    let Some(owner) = app.gate.solo() else {
        return Err(Failure::usage("`--demo` is for a hub with one person")
            .hint("set `mode = \"solo\"`, or try it in an empty folder with `TOOLGROVE_CONFIG` and `TOOLGROVE_DATA`"));
    };
    let entry = |args: &[&str]| json!({ "command": program, "args": args });
    let mut servers = serde_json::Map::new();
    for show in Show::ALL {
        servers.insert(show.name().into(), entry(&[SERVER, show.name()]));
    }
    let mut keyed = entry(&[SERVER, "weather"]);
    keyed["env"] = json!({ "WEATHER_KEY": "${env:TOOLGROVE_DEMO_KEY}" });
    keyed["description"] = "Wants a key that nobody has set".into();
    servers.insert("keyed".into(), keyed);
    let mut off = entry(&[SERVER, "files"]);
    off["disabled"] = true.into();
    servers.insert("archive".into(), off);
    add(app, owner, servers, Known::Stays).await?;

    // Its port is another one each time.
    let url = notes::start().await.map_err(|error| Failure::io("cannot start the demo's server", &error))?;
    let servers = serde_json::Map::from_iter([("notes".to_owned(), json!({ "url": url }))]);
    add(app, owner, servers, Known::IsUpdated).await
}

/// What becomes of a server that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Stays,
    IsUpdated,
}

async fn add(
    app: &Arc<App>,
    owner: &Caller,
    mut servers: serde_json::Map<String, Value>,
    known: Known,
) -> Result<(), Failure> {
    if known == Known::Stays {
        let there = app.store.servers_of(owner.person).await?;
        servers.retain(|name, _| !there.iter().any(|it| it.name == *name));
    }
    if servers.is_empty() {
        return Ok(());
    }
    let text = Value::Object(servers).to_string();
    let paste = Paste { text, save_anyway: true, replace: known == Known::IsUpdated };
    let workspace = app.home(owner).await?;
    let imported = app.import(owner, &workspace, &paste, None).await?;
    match imported.message_error {
        Some(problem) => Err(Error::Internal(problem).into()),
        None => Ok(()),
    }
}

/// The result of a tool that worked.
fn text(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}

/// The result of a tool that ran and failed.
fn failed(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }], "isError": true })
}

/// A text argument; empty if there is none.
fn word<'a>(args: &'a Value, name: &str) -> &'a str {
    args.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
