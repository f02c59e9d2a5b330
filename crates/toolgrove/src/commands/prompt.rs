//! `toolgrove prompt`: the `## MCP Tools` section of a system prompt.

use serde_json::json;
use toolgrove_core::name::Profile;

use crate::api::{Api, with_query};
use crate::args::{Names, Prompt};
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::{Printer, Reader};

pub(crate) async fn run(args: Prompt, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    let names = args.names.map(Names::profile).map(Profile::as_str);
    let path = with_query("/api/mcp/prompt", &[("names", names)]);
    Api::with(paths, async |api| {
        api.first_listings().await;
        let answer = api.get(&path).await?;
        let prompt = String::from_utf8_lossy(&answer.bytes);
        match printer.reader() {
            // The API answers with Markdown, which is no JSON.
            Reader::Program => printer.json(&json!({ "prompt": prompt })),
            Reader::Person if prompt.is_empty() => printer.note("no tools, so no section"),
            Reader::Person => printer.foreign(prompt.trim_end()),
        }
        Ok(Exit::Done)
    })
    .await
}
