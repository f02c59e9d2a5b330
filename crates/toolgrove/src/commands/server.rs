//! `toolgrove server …`: the registry.

use http::Method;
use serde_json::{Map, Value, json};

use super::import;
use crate::api::{Api, segment};
use crate::args::{Server, ServerAdd};
use crate::failure::{Exit, Failure};
use crate::given::{self, Given};
use crate::paths::Paths;
use crate::printer::{Answer, Mark, Printer};

pub(crate) async fn run(args: Server, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    match args {
        Server::Add(args) => add(args, paths, printer).await,
        Server::List => Api::with(paths, async |api| list(api, printer).await).await,
        Server::Show { server } => Api::with(paths, async |api| show(api, &server, printer).await).await,
        Server::Test { server } => Api::with(paths, async |api| test(api, &server, printer).await).await,
        Server::On { server } => {
            Api::with(paths, async |api| switch(api, &server, Wanted::On, printer).await).await
        }
        Server::Off { server } => {
            Api::with(paths, async |api| switch(api, &server, Wanted::Off, printer).await).await
        }
        Server::Remove { server, yes } => {
            Api::with(paths, async |api| {
                // Asked only about a server that is there.
                api.get(&path(&server)).await?;
                if !yes {
                    confirm(printer, &format!("Remove server \"{server}\"?"))?;
                }
                let answer = api.send(Method::DELETE, &path(&server), None).await?;
                printer.json_bytes(&answer.bytes);
                printer.line(format_args!("removed server `{server}`"));
                Ok(Exit::Done)
            })
            .await
        }
    }
}

/// The state that something shall have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    On,
    Off,
}

impl Wanted {
    pub(super) fn is_on(self) -> bool {
        self == Self::On
    }

    pub(super) fn word(self) -> &'static str {
        if self.is_on() { "on" } else { "off" }
    }
}

/// Asks before something is gone for good.
pub(super) fn confirm(printer: &Printer, question: &str) -> Result<(), Failure> {
    match printer.ask(question) {
        Answer::Yes => Ok(()),
        Answer::No => Err(Failure::interrupted()),
        Answer::Nobody => {
            Err(Failure::usage("nobody is there to be asked").hint("say `--yes` to remove it unasked"))
        }
    }
}

fn path(server: &str) -> String {
    format!("/api/mcp/servers/{}", segment(server))
}

async fn add(mut args: ServerAdd, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    let entry = entry(&mut args)?;
    Api::with(paths, async |api| {
        if args.no_instance {
            let workspaces = api.get("/api/workspaces").await?.value()?;
            let mut body = entry;
            if let Some(url) = body.remove("url") {
                body.insert("endpoint".into(), url);
            }
            body.insert("workspaceId".into(), workspaces[0]["id"].clone());
            body.insert("name".into(), args.name.clone().into());
            if let Some(auth) = auth(&args.auth)? {
                body.insert("auth".into(), auth);
            }
            let answer = api.post("/api/mcp/servers", &Value::Object(body)).await?;
            printer.json_bytes(&answer.bytes);
            printer.line(format_args!("registered server `{}`", args.name));
            printer.hint(format_args!("use it with `toolgrove instance add {}`", args.name));
            return Ok(Exit::Done);
        }
        // The import route reads text; this way a name such as `servers` cannot be taken for a wrapper.
        let text = json!({ "mcpServers": { args.name.clone(): entry } }).to_string();
        let body = json!({ "text": text, "save_anyway": args.save_anyway, "replace": args.replace });
        let progress = printer.progress(format!("asking `{}` for its tools", args.name));
        let answer = api.post("/api/mcp/import", &body).await?;
        drop(progress);
        import::report(&answer, printer)
    })
    .await
}

/// What each person has to show, as the API takes it.
fn auth(typed: &[String]) -> Result<Option<Value>, Failure> {
    match typed {
        [] => Ok(None),
        [one] if matches!(one.as_str(), "oauth" | "public") => Ok(Some(json!({ "type": one }))),
        several => {
            let entries = several.iter().map(|it| match it.split_once(':') {
                Some((place @ ("header" | "query"), key)) => Ok(json!({ "in": place, "key": key })),
                _ => Err(Failure::usage(format!("`--auth {it}` cannot be understood"))
                    .hint("say `header:NAME`, `query:NAME`, `oauth` or `public`")),
            });
            let entries = entries.collect::<Result<Vec<_>, _>>()?;
            Ok(Some(json!({ "type": "header", "entries": entries })))
        }
    }
}

/// A server as a configuration would have it.
fn entry(args: &mut ServerAdd) -> Result<Map<String, Value>, Failure> {
    let pairs = |them: &mut Vec<Given>| {
        let pairs = given::read_all(std::mem::take(them))?;
        Ok::<_, Failure>(Value::Object(pairs.into_iter().map(|(key, value)| (key, value.into())).collect()))
    };
    let mut entry = Map::new();
    match (&args.url, args.command.split_first()) {
        (Some(url), None) => {
            if !args.env.is_empty() {
                return Err(Failure::usage("`--env` is for a server that is a command"));
            }
            entry.insert("url".into(), url.clone().into());
            if !args.headers.is_empty() {
                entry.insert("headers".into(), pairs(&mut args.headers)?);
            }
        }
        (None, Some((program, rest))) => {
            if !args.headers.is_empty() {
                return Err(Failure::usage("`--header` is for a server that has a URL"));
            }
            if args.no_instance {
                return Err(Failure::usage("`--no-instance` is for a server that has a URL"));
            }
            entry.insert("command".into(), program.clone().into());
            entry.insert("args".into(), rest.to_vec().into());
            if !args.env.is_empty() {
                entry.insert("env".into(), pairs(&mut args.env)?);
            }
        }
        _ => {
            return Err(Failure::usage("give either a URL, or `--` and a command")
                .hint(format!("for instance `toolgrove server add {} -- npx some-server`", args.name)));
        }
    }
    Ok(entry)
}

async fn list(api: &Api, printer: &Printer) -> Result<Exit, Failure> {
    let answer = api.get("/api/mcp/servers").await?;
    printer.json_bytes(&answer.bytes);
    let servers: Vec<Value> = answer.read()?;
    if servers.is_empty() {
        printer.line("no servers yet");
        printer.hint("add some with `toolgrove import FILE` or `toolgrove server add NAME URL`");
        return Ok(Exit::Done);
    }
    let rows: Vec<_> = servers
        .iter()
        .map(|it| {
            let on = it["enabled"] == true;
            let cells = vec![
                text(it, "name"),
                if on { "on" } else { "off" }.to_owned(),
                text(it, "transport"),
                text(it, "origin"),
                (number(it, "enabled_instances") + number(it, "disabled_instances")).to_string(),
                text(it, "endpoint"),
            ];
            (if on { Mark::Good } else { Mark::Off }, cells)
        })
        .collect();
    printer.marked_table(&["NAME", "IS", "KIND", "FROM", "INSTANCES", "ENDPOINT"], &rows);
    Ok(Exit::Done)
}

async fn show(api: &Api, server: &str, printer: &Printer) -> Result<Exit, Failure> {
    let answer = api.get(&path(server)).await?;
    printer.json_bytes(&answer.bytes);
    let it = answer.value()?;
    let era = match it["era_verdict"].as_object() {
        Some(_) => format!(
            "{} {} ({})",
            text(&it["era_verdict"], "era"),
            text(&it["era_verdict"], "version"),
            text(&it["era_verdict"], "evidence")
        ),
        None => "not known yet".into(),
    };
    let instances: Vec<Value> = api.get("/api/mcp/instances").await?.read()?;
    let mine = instances.iter().filter(|instance| instance["server_id"] == it["id"]);
    let slugs: Vec<String> =
        mine.map(|it| format!("{} ({})", text(it, "slug"), text(&it["health"], "summary"))).collect();
    let is = if it["enabled"] == true { "on" } else { "off" };
    for (key, value) in [
        ("name", text(&it, "name")),
        ("is", is.into()),
        ("id", text(&it, "id")),
        ("endpoint", text(&it, "endpoint")),
        ("kind", text(&it, "transport")),
        ("from", text(&it, "origin")),
        ("description", text(&it, "description")),
        ("era", era),
        ("protocol", text(&it, "protocol")),
        ("instances", slugs.join(", ")),
    ] {
        if !value.is_empty() {
            printer.line(format_args!("{key:11}  {}", crate::table::plain(&value)));
        }
    }
    Ok(Exit::Done)
}

async fn test(api: &Api, server: &str, printer: &Printer) -> Result<Exit, Failure> {
    let progress = printer.progress(format!("asking `{server}`"));
    let answer = api.post(&format!("{}/test", path(server)), &json!({})).await?;
    drop(progress);
    printer.json_bytes(&answer.bytes);
    let data = &answer.value()?["data"];
    if data["success"] != true {
        printer.error(&format!("`{server}`: {}", text(data, "message")));
        if let Some(hint) = data["hint"].as_str() {
            printer.hint(hint);
        }
        return Ok(Exit::Failed);
    }
    let tools: Vec<&str> = data["tools"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    printer.line(format_args!("`{server}` is connected and has {}", count(tools.len())));
    for tool in tools {
        printer.line(format_args!("  {}", crate::table::plain(tool)));
    }
    Ok(Exit::Done)
}

async fn switch(api: &Api, server: &str, wanted: Wanted, printer: &Printer) -> Result<Exit, Failure> {
    let body = json!({ "enabled": wanted.is_on() }).to_string();
    let answer = api.send(Method::PATCH, &path(server), Some(body)).await?;
    printer.json_bytes(&answer.bytes);
    printer.line(format_args!("server `{server}` is {}", wanted.word()));
    Ok(Exit::Done)
}

pub(super) fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

pub(super) fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_default()
}

pub(super) fn count(tools: usize) -> String {
    if tools == 1 { "1 tool".into() } else { format!("{tools} tools") }
}
