//! `toolgrove tools`: every name that can be called.

use serde_json::Value;
use toolgrove_core::name::Profile;

use super::server::text;
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
        let value = answer.value()?;
        if args.format != ToolsFormat::Table {
            printer.line(serde_json::to_string_pretty(&value).unwrap_or_default());
            return Ok(Exit::Done);
        }
        let tools = value["tools"].as_array().map_or(&[][..], Vec::as_slice);
        if tools.is_empty() {
            printer.line("no tools");
            printer.hint("run `toolgrove instance list` to see how each server is doing");
            return Ok(Exit::Done);
        }
        let rows: Vec<Vec<String>> = tools.iter().map(|it| vec![text(it, "name"), description(it)]).collect();
        printer.table(&["NAME", "DESCRIPTION"], &rows);
        Ok(Exit::Done)
    })
    .await
}

/// The first line says what a tool does; the rest is for models.
fn description(tool: &Value) -> String {
    let described = tool["description"].as_str().filter(|it| !it.trim().is_empty()).or(tool["title"].as_str());
    described.unwrap_or_default().trim().lines().next().unwrap_or_default().to_owned()
}
