//! `toolgrove import`: every server of a pasted configuration, asked for its tools before it is kept.

use serde_json::json;

use super::read_text;
use crate::api::{Answer, Api};
use crate::args::Import;
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::Printer;

pub(crate) async fn run(args: Import, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    let text = match args.from {
        Some(client) => super::connect::servers_of(client)?,
        None => read_text(args.file.as_deref().unwrap_or("-"))?,
    };
    let body = json!({ "text": text, "save_anyway": args.save_anyway, "replace": args.replace });
    Api::with(paths, async |api| {
        let progress = printer.progress("asking the servers for their tools".into());
        let answer = api.post("/api/mcp/import", &body).await?;
        drop(progress);
        report(&answer, printer)
    })
    .await
}

/// What became of the servers; one that was not taken fails the command.
pub(super) fn report(answer: &Answer, printer: &Printer) -> Result<Exit, Failure> {
    printer.json_bytes(&answer.bytes);
    let imported = answer.value()?;
    if let Some(message) = imported["message_success"].as_str() {
        printer.line(message);
    }
    for added in imported["added"].as_array().into_iter().flatten() {
        if let Some(warning) = added["warning"].as_str() {
            printer.warning(format_args!("`{}`: {warning}", added["slug"].as_str().unwrap_or_default()));
        }
    }
    let failed = imported["failed"].as_array().map_or(&[][..], Vec::as_slice);
    for it in failed {
        let text = |key: &str| it[key].as_str().unwrap_or_default();
        printer.error(&format!("`{}` was not added: {}", text("name"), text("error")));
    }
    if failed.is_empty() {
        return Ok(Exit::Done);
    }
    let is_taken =
        |it: &serde_json::Value| it["error"].as_str().is_some_and(|it| it.contains("already exists"));
    if failed.iter().all(is_taken) {
        printer.hint("update it in place with `--replace`");
    } else {
        printer.hint("keep servers that do not answer with `--save-anyway`");
    }
    Ok(Exit::Failed)
}
