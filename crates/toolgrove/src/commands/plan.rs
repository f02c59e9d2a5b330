//! `toolgrove plan …`: graphs of calls, listed and run.

use serde_json::{Value, json};

use super::bud::follow;
use super::server::text;
use crate::api::{Api, segment};
use crate::args::Plan;
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::{Mark, Printer};

pub(crate) async fn run(args: Plan, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    Api::with(paths, async |api| match args {
        Plan::List => list(api, printer).await,
        Plan::Run { plan } => go(api, &plan, printer).await,
    })
    .await
}

async fn list(api: &Api, printer: &Printer) -> Result<Exit, Failure> {
    let answer = api.get("/api/plans").await?;
    printer.json_bytes(&answer.bytes);
    let plans: Vec<Value> = answer.read()?;
    if plans.is_empty() {
        printer.line("no plans yet");
        return Ok(Exit::Done);
    }
    let nodes = |it: &Value| it["graph"]["nodes"].as_array().map_or(0, Vec::len).to_string();
    let rows: Vec<_> = plans.iter().map(|it| vec![text(it, "name"), nodes(it), text(it, "id")]).collect();
    printer.table(&["PLAN", "NODES", "ID"], &rows);
    Ok(Exit::Done)
}

async fn go(api: &Api, wanted: &str, printer: &Printer) -> Result<Exit, Failure> {
    let plans: Vec<Value> = api.get("/api/plans").await?.read()?;
    let found = plans.iter().find(|it| text(it, "name") == wanted || text(it, "id") == wanted);
    let plan = found.ok_or_else(|| {
        Failure::new("request.not-found", format!("no plan is called `{wanted}`"))
            .hint("run `toolgrove plan list` to see every plan")
    })?;
    let width = plan["graph"]["nodes"].as_array().into_iter().flatten().map(|it| text(it, "id").len());
    let width = width.max().unwrap_or(0);
    let path = format!("/api/plans/{}/run", segment(&text(plan, "id")));
    let mut exit = Exit::Done;
    follow(api, &path, json!({}), |name, data| {
        if name == "done" {
            printer.json(&data);
            return Ok(());
        }
        let (state, said) = (text(&data, "state"), text(&data, "delta"));
        let mark = match state.as_str() {
            "done" => Mark::Good,
            "failed" => {
                exit = Exit::ToolError;
                Mark::Bad
            }
            "skipped" => Mark::Off,
            _ => return Ok(()),
        };
        let line = said.lines().next().unwrap_or_default();
        printer.marked(mark, &text(&data, "node"), width, &format!("{state} {line}"));
        Ok(())
    })
    .await?;
    Ok(exit)
}
