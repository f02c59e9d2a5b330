//! `toolgrove pins …`: tools that are not what was approved, and what to do about them.

use serde_json::{Value, json};

use super::server::text;
use crate::api::{Api, segment};
use crate::args::Pins;
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::{Mark, Printer};
use crate::table::plain;

pub(crate) async fn run(args: Pins, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    Api::with(paths, async |api| match args {
        Pins::List => list(api, printer).await,
        Pins::Diff { tool } => diff(api, tool.as_deref(), printer).await,
        Pins::Approve { tool } => decide(api, &tool, "approve", printer).await,
        Pins::Reject { tool } => decide(api, &tool, "reject", printer).await,
    })
    .await
}

async fn list(api: &Api, printer: &Printer) -> Result<Exit, Failure> {
    let answer = api.get("/api/pins").await?;
    printer.json_bytes(&answer.bytes);
    let changed: Vec<Value> = answer.read()?;
    if changed.is_empty() {
        printer.line("every tool is as it was approved");
        return Ok(Exit::Done);
    }
    let rows: Vec<_> = changed
        .iter()
        .map(|it| {
            let flags = it["flags"].as_array().map_or(0, Vec::len);
            let is = match it["renamed_from"].as_str() {
                Some(from) => format!("renamed from `{from}`"),
                None => text(it, "is"),
            };
            let calls = match (it["rejected"] == true, it["held"] == true) {
                (true, _) => "rejected",
                (_, true) => "held",
                _ => "served",
            };
            let odd = if flags > 0 { format!("{flags} flagged") } else { String::new() };
            let mark = if it["rejected"] == true { Mark::Off } else { Mark::Attention };
            (mark, vec![text(it, "public_name"), is, calls.to_owned(), odd])
        })
        .collect();
    printer.marked_table(&["TOOL", "IS", "CALLS", "ODD"], &rows);
    Ok(Exit::Done)
}

async fn diff(api: &Api, tool: Option<&str>, printer: &Printer) -> Result<Exit, Failure> {
    let answer = api.get("/api/pins").await?;
    let mut changed: Vec<Value> = answer.read()?;
    if let Some(tool) = tool {
        changed = vec![find(changed, tool)?];
    }
    printer.json(&changed);
    for it in &changed {
        printer.line(format_args!("{} ({})", plain(&text(it, "public_name")), text(it, "is")));
        for part in it["diff"].as_array().into_iter().flatten() {
            printer.line(format_args!("  {}", plain(&text(part, "pointer"))));
            for (sign, key) in [("-", "before"), ("+", "after")] {
                if let Some(value) = part[key].as_str() {
                    printer.line(format_args!("    {sign} {}", plain(value)));
                }
            }
            for flag in part["flags"].as_array().into_iter().flatten() {
                let what = match flag["kind"].as_str() {
                    Some("hidden") => "hidden characters",
                    _ => "speaks to a model",
                };
                printer.line(format_args!("    ! {what}: {}", plain(&text(flag, "excerpt"))));
            }
        }
    }
    Ok(Exit::Done)
}

async fn decide(api: &Api, tool: &str, decision: &str, printer: &Printer) -> Result<Exit, Failure> {
    let changed: Vec<Value> = api.get("/api/pins").await?.read()?;
    let it = find(changed, tool)?;
    let path = format!("/api/pins/{}/{}", text(&it, "instance"), segment(&text(&it, "tool")));
    let answer = api.post(&path, &json!({ "decision": decision, "digest": it["digest"] })).await?;
    printer.json_bytes(&answer.bytes);
    let done = if decision == "approve" { "approved" } else { "rejected" };
    printer.line(format_args!("{done} `{}`", text(&it, "public_name")));
    Ok(Exit::Done)
}

/// One of the changed tools, by its public name or its own.
fn find(changed: Vec<Value>, tool: &str) -> Result<Value, Failure> {
    let is_it = |it: &Value| text(it, "public_name") == tool || text(it, "tool") == tool;
    let mut found: Vec<_> = changed.into_iter().filter(is_it).collect();
    match (found.pop(), found.is_empty()) {
        (Some(it), true) => Ok(it),
        (Some(_), false) => Err(Failure::usage(format!("several servers have `{tool}`"))
            .hint("give its name as `toolgrove pins list` shows it")),
        (None, _) => Err(Failure::new("tool.unknown", format!("no changed tool is called `{tool}`"))
            .hint("run `toolgrove pins list` to see what changed")),
    }
}
