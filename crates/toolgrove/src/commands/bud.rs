//! `toolgrove bud …`: model presets, listed and asked.

use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use toolgrove_wire::sse;

use super::server::text;
use crate::api::{Answer, Api};
use crate::args::Bud;
use crate::failure::{Exit, Failure, Problem};
use crate::paths::Paths;
use crate::printer::Printer;

pub(crate) async fn run(args: Bud, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    Api::with(paths, async |api| match args {
        Bud::List => list(api, printer).await,
        Bud::Run { bud, message } => ask(api, &bud, &message.join(" "), printer).await,
    })
    .await
}

async fn list(api: &Api, printer: &Printer) -> Result<Exit, Failure> {
    let answer = api.get("/api/buds").await?;
    printer.json_bytes(&answer.bytes);
    let buds: Vec<Value> = answer.read()?;
    let rows: Vec<_> = buds
        .iter()
        .map(|it| vec![text(it, "name"), text(it, "address"), text(it, "model"), text(it, "description")])
        .collect();
    if rows.is_empty() {
        printer.line("no buds yet");
        return Ok(Exit::Done);
    }
    printer.table(&["BUD", "ADDRESS", "MODEL", "WHAT IT IS FOR"], &rows);
    Ok(Exit::Done)
}

/// A bud by name, id or address; its first method gets the message where it wants a text.
async fn ask(api: &Api, wanted: &str, message: &str, printer: &Printer) -> Result<Exit, Failure> {
    let buds: Vec<Value> = api.get("/api/buds").await?.read()?;
    let named = |it: &&Value| {
        [text(it, "name"), text(it, "id"), text(it, "address")].iter().any(|word| word == wanted)
            || format!("bud://{}", text(it, "id")) == wanted
    };
    let bud = buds.iter().find(named).ok_or_else(|| {
        Failure::new("server.unknown", format!("no bud is called `{wanted}`"))
            .hint("run `toolgrove bud list` to see every bud")
    })?;
    let schema = &bud["methods"][0]["inputSchema"];
    let key = schema["required"][0].as_str().unwrap_or("message");
    // A message that is an object is all the arguments.
    let args = match serde_json::from_str::<Value>(message) {
        Ok(given @ Value::Object(_)) => given,
        _ => json!({ key: message }),
    };
    let body = json!({ "bud_id": bud["id"], "args": args });
    let mut whole = String::new();
    let mut exit = Exit::Done;
    follow(api, "/bud-run", body, |name, data| {
        match name {
            "" => whole.push_str(data["delta"].as_str().unwrap_or_default()),
            "done" => {
                printer.json(&data);
                if data["result"]["isError"] == true {
                    exit = Exit::ToolError;
                }
            }
            _ => {}
        }
        Ok(())
    })
    .await?;
    printer.foreign(&whole);
    Ok(exit)
}

/// Hears a stream to its end. An `error` event is a failure.
pub(super) async fn follow(
    api: &Api,
    path: &str,
    body: Value,
    mut hear: impl FnMut(&str, Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let answer = api.request(Method::POST, path, "text/event-stream", Some(body.to_string())).await?;
    let mut answer = answer.into_body();
    let mut reader = sse::Reader::new(usize::MAX);
    while let Some(Ok(frame)) = answer.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        for event in reader.push(&data).into_iter().flatten() {
            let data: Value = serde_json::from_slice(&event.data).unwrap_or_default();
            match event.name.as_str() {
                "error" => {
                    let mut error = data["error"].clone();
                    error["status"] = json!(502);
                    let problem: Problem = Answer { bytes: error.to_string().into() }.read()?;
                    return Err(problem.into());
                }
                name => hear(if name == "message" { "" } else { name }, data)?,
            }
            if event.name == "done" {
                return Ok(());
            }
        }
    }
    Err(Failure::new("hub.gone", "the hub went away before the call ended"))
}
