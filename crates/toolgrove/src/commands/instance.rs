//! `toolgrove instance …`: servers as this person uses them.

use http::Method;
use serde_json::{Map, Value, json};

use super::server::{Wanted, confirm, count, number, text};
use crate::api::{Answer, Api, segment};
use crate::args::{Auth, Instance, InstanceAdd, InstanceSet};
use crate::failure::{Exit, Failure};
use crate::given::{self, Given};
use crate::paths::Paths;
use crate::printer::{Mark, Printer};

pub(crate) async fn run(args: Instance, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    Api::with(paths, async |api| match args {
        Instance::Add(args) => add(api, args, printer).await,
        Instance::Set(args) => set(api, args, printer).await,
        Instance::List => list(api, printer).await,
        Instance::On { slug, tool } => switch(api, &slug, tool.as_deref(), Wanted::On, printer).await,
        Instance::Off { slug, tool } => switch(api, &slug, tool.as_deref(), Wanted::Off, printer).await,
        Instance::Refresh { slug } => refresh(api, &slug, printer).await,
        Instance::Remove { slug, yes } => {
            api.get(&path(&slug)).await?;
            if !yes {
                confirm(printer, &format!("Remove instance \"{slug}\"?"))?;
            }
            let answer = api.send(Method::DELETE, &path(&slug), None).await?;
            printer.json_bytes(&answer.bytes);
            printer.line(format_args!("removed instance `{slug}`"));
            Ok(Exit::Done)
        }
    })
    .await
}

fn path(slug: &str) -> String {
    format!("/api/mcp/instances/{}", segment(slug))
}

async fn add(api: &Api, args: InstanceAdd, printer: &Printer) -> Result<Exit, Failure> {
    let mut body = Map::new();
    body.insert("server_id".into(), args.server.into());
    for (key, value) in [("slug", args.slug), ("name", args.name)] {
        if let Some(value) = value {
            body.insert(key.into(), value.into());
        }
    }
    show(&mut body, args.auth, args.credentials)?;
    let progress = printer.progress("asking the server for its tools".into());
    let answer = api.post("/api/mcp/instances", &Value::Object(body)).await?;
    drop(progress);
    report("added", &answer, printer)
}

async fn set(api: &Api, args: InstanceSet, printer: &Printer) -> Result<Exit, Failure> {
    let mut body = Map::new();
    for (key, value) in [("slug", args.new_slug), ("name", args.name), ("description", args.description)] {
        if let Some(value) = value {
            body.insert(key.into(), value.into());
        }
    }
    show(&mut body, args.auth, args.credentials)?;
    if body.is_empty() {
        return Err(Failure::usage("nothing is to be changed").hint("say what, such as `--credential KEY`"));
    }
    let body = Value::Object(body).to_string();
    let answer = api.send(Method::PATCH, &path(&args.slug), Some(body)).await?;
    report("changed", &answer, printer)
}

/// How the instance shows who it is, as far as that was typed.
fn show(body: &mut Map<String, Value>, auth: Option<Auth>, credentials: Vec<Given>) -> Result<(), Failure> {
    if let Some(auth) = auth {
        body.insert("auth_type".into(), auth.word().into());
    }
    if !credentials.is_empty() {
        let pairs = given::read_all(credentials)?;
        let credentials: Map<String, Value> =
            pairs.into_iter().map(|(key, value)| (key, value.into())).collect();
        body.insert("credentials".into(), credentials.into());
    }
    Ok(())
}

fn report(done: &str, answer: &Answer, printer: &Printer) -> Result<Exit, Failure> {
    printer.json_bytes(&answer.bytes);
    let it = answer.value()?;
    let slug = text(&it, "slug");
    printer.line(format_args!("{done} instance `{slug}`: {}", text(&it["health"], "summary")));
    let wanted = it["credentials"].as_array().into_iter().flatten().filter(|it| it["has_value"] == false);
    let wanted: Vec<_> = wanted.map(|it| format!("--credential {}", text(it, "key"))).collect();
    if !wanted.is_empty() {
        printer.hint(format_args!("run `toolgrove instance set {slug} {}`", wanted.join(" ")));
    } else if let Some(error) = it["last_error"].as_str() {
        printer.warning(error);
    }
    Ok(Exit::Done)
}

async fn list(api: &Api, printer: &Printer) -> Result<Exit, Failure> {
    let answer = api.get("/api/mcp/instances").await?;
    printer.json_bytes(&answer.bytes);
    let mut instances: Vec<Value> = answer.read()?;
    instances.retain(is_worth_showing);
    if instances.is_empty() {
        printer.line("no instances yet");
        printer.hint("add some with `toolgrove import FILE` or `toolgrove server add NAME URL`");
        return Ok(Exit::Done);
    }
    let rows: Vec<_> = instances
        .iter()
        .map(|it| {
            let (tools, off) = (number(it, "tools"), number(it, "tools_off"));
            let cells = vec![
                text(it, "slug"),
                text(it, "server_name"),
                text(it, "transport"),
                if off == 0 { tools.to_string() } else { format!("{tools} ({off} off)") },
                it["age_s"].as_i64().map_or_else(|| "never".into(), age),
                text(&it["health"], "summary"),
            ];
            (Mark::of(&text(&it["health"], "level")), cells)
        })
        .collect();
    printer.marked_table(&["SLUG", "SERVER", "KIND", "TOOLS", "LISTED", "STATUS"], &rows);
    Ok(Exit::Done)
}

/// What is built in and has no tools would only puzzle people.
pub(super) fn is_worth_showing(instance: &Value) -> bool {
    instance["kind"] != "builtin" || number(instance, "tools") > 0
}

/// How old something is, in the largest unit that fits.
fn age(seconds: i64) -> String {
    match seconds.max(0) {
        it @ 0..=59 => format!("{it} s ago"),
        it @ 60..=3599 => format!("{} min ago", it / 60),
        it @ 3600..=86_399 => format!("{} h ago", it / 3600),
        it => format!("{} d ago", it / 86_400),
    }
}

async fn switch(
    api: &Api,
    slug: &str,
    tool: Option<&str>,
    wanted: Wanted,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let body = json!({ "enabled": wanted.is_on() }).to_string();
    let Some(tool) = tool else {
        let answer = api.send(Method::PATCH, &path(slug), Some(body)).await?;
        printer.json_bytes(&answer.bytes);
        printer.line(format_args!("instance `{slug}` is {}", wanted.word()));
        return Ok(Exit::Done);
    };
    let instance = api.get(&path(slug)).await?.value()?;
    // A tool may be given as the server calls it, or as lists show it.
    let known = instance["tool_list"].as_array().into_iter().flatten();
    let shown = known.clone().find(|it| it["public_name"] == tool).and_then(|it| it["name"].as_str());
    let name = shown.unwrap_or(tool);
    let answer =
        api.send(Method::PATCH, &format!("{}/tools/{}", path(slug), segment(name)), Some(body)).await;
    let answer = answer.map_err(|failure| {
        let names: Vec<String> = known.map(|it| text(it, "name")).collect();
        match crate::near::hint(tool, &names) {
            Some(hint) if failure.problem.code == "tool.unknown" => {
                // Its code would have every tool of every server suggested.
                Failure::new("instance.tool-unknown", format!("`{slug}` has no tool called `{tool}`"))
                    .hint(hint)
            }
            _ if failure.problem.code == "tool.unknown" => {
                Failure::new("instance.tool-unknown", format!("`{slug}` has no tool called `{tool}`"))
                    .hint(format!("run `toolgrove tools --server {slug}` to see every name"))
            }
            _ => failure,
        }
    })?;
    printer.json_bytes(&answer.bytes);
    printer.line(format_args!("tool `{name}` of `{slug}` is {}", wanted.word()));
    Ok(Exit::Done)
}

async fn refresh(api: &Api, slug: &str, printer: &Printer) -> Result<Exit, Failure> {
    let progress = printer.progress(format!("asking `{slug}` for its tools"));
    let answer = api.post(&format!("{}/refresh", path(slug)), &json!({})).await?;
    drop(progress);
    printer.json_bytes(&answer.bytes);
    let it = answer.value()?;
    printer.line(format_args!("`{slug}` has {}", count(number(&it, "tools") as usize)));
    for problem in it["problems"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        printer.warning(problem);
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        for (seconds, expected) in
            [(-1, "0 s ago"), (59, "59 s ago"), (61, "1 min ago"), (7200, "2 h ago"), (200_000, "2 d ago")]
        {
            assert_eq!(age(seconds), expected);
        }
    }
}
