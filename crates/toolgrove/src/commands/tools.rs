//! `toolgrove tools`: every name that can be called.

use serde_json::Value;
use toolgrove_core::name::Profile;
use toolgrove_wire::Raw;

use super::call::pretty;
use super::instance::is_worth_showing;
use crate::api::{Api, with_query};
use crate::args::{Names, Tools, ToolsFormat};
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::Printer;

pub(crate) async fn run(args: Tools, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    let format = match args.format {
        ToolsFormat::Table | ToolsFormat::Mcp => "mcp",
        ToolsFormat::Openai => "openai",
    };
    let names = args.names.map(Names::profile).map(Profile::as_str);
    let query = [("format", Some(format)), ("names", names), ("server", args.server.as_deref())];
    let path = with_query("/api/mcp/tools", &query);
    Api::with(paths, async |api| {
        api.first_listings().await;
        let answer = api.get(&path).await?;
        printer.json_bytes(&answer.bytes);
        let list = answer.raw()?;
        if args.format != ToolsFormat::Table {
            printer.foreign(&pretty(&list));
            return Ok(Exit::Done);
        }
        let tools = list.get("tools");
        let rows: Vec<Vec<String>> = tools
            .iter()
            .flat_map(Raw::items)
            .map(|it| vec![it.get_text("name").unwrap_or_default(), description(&it)])
            .collect();
        if rows.is_empty() {
            printer.line("no tools");
            let instances: Vec<Value> = api.get("/api/mcp/instances").await?.read()?;
            printer.hint(if instances.iter().any(is_worth_showing) {
                "run `toolgrove instance list` to see how each server is doing"
            } else {
                "add servers with `toolgrove import FILE` or `toolgrove server add NAME URL`"
            });
            return Ok(Exit::Done);
        }
        printer.table(&["NAME", "DESCRIPTION"], &rows);
        Ok(Exit::Done)
    })
    .await
}

/// The first line says what a tool does; the rest is for models.
fn description(tool: &Raw) -> String {
    let described =
        tool.get_text("description").filter(|it| !it.trim().is_empty()).or(tool.get_text("title"));
    described.unwrap_or_default().trim().lines().next().unwrap_or_default().to_owned()
}
