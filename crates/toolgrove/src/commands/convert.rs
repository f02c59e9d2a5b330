//! `toolgrove convert`: function schemas as the metadata of a server, or as a bud.

use serde_json::{Value, json};
use toolgrove_core::Error;

use super::read_text;
use super::server::text;
use crate::api::Api;
use crate::args::Convert;
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::Printer;

pub(crate) async fn run(args: Convert, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    let given = read_text(&args.file)?;
    let given: Value = serde_json::from_str(&given).map_err(|it| Error::RequestJson(it.to_string()))?;
    // A request of such an API has them under `tools`.
    let functions = match given {
        Value::Object(mut members) if members.contains_key("tools") => members["tools"].take(),
        Value::Array(functions) => Value::Array(functions),
        one => json!([one]),
    };
    Api::with(paths, async |api| {
        let mut body = json!({ "functions": functions });
        if let Some(name) = &args.name {
            body["name"] = name.as_str().into();
        }
        if args.save {
            let workspaces: Vec<Value> = api.get("/api/workspaces").await?.read()?;
            let id = workspaces.first().map(|it| text(it, "id")).unwrap_or_default();
            body["save"] = json!({ "workspaceId": id });
        }
        let answer = api.post("/api/mcp/convert", &body).await?;
        printer.json_bytes(&answer.bytes);
        let made = answer.value()?;
        let methods = made["methods"].as_array().cloned().unwrap_or_default();
        let rows: Vec<_> =
            methods.iter().map(|it| vec![text(it, "signature"), text(it, "description")]).collect();
        printer.table(&["METHOD", "DESCRIPTION"], &rows);
        if args.save {
            printer.note(format_args!("saved as the bud `{}`", text(&made, "name")));
        }
        Ok(Exit::Done)
    })
    .await
}
