//! `toolgrove call`: one call, its progress, and its result as text.

use std::collections::HashSet;

use http::Method;
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};
use toolgrove_core::Error;
use toolgrove_core::tabs::KEY_UNTRUSTED;
use toolgrove_core::text::xml::coerce;
use toolgrove_wire::{Edit, Raw, sse};

use super::read_text;
use crate::api::{Answer, Api, with_query};
use crate::args::Call;
use crate::failure::{Exit, Failure, Problem};
use crate::paths::Paths;
use crate::printer::{Printer, Reader};

const PATH: &str = "/api/mcp/call";

pub(crate) async fn run(args: Call, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    check_keys(&args.arguments)?;
    let given = args.json_args.as_deref().map(whole).transpose()?;
    Api::with(paths, async |api| {
        let arguments = match given {
            Some(arguments) => arguments,
            None => typed(api, &args).await?,
        };
        let body = Raw::of(&json!({ "tool": args.tool, "door": "cli" }));
        let body = Edit::of(&body).set("arguments", arguments).done();
        let answer = match printer.reader() {
            Reader::Program => api.send(Method::POST, PATH, Some(body.as_str().to_owned())).await?,
            Reader::Person => stream(api, &args.tool, body.as_str().to_owned(), printer).await?,
        };
        printer.json_bytes(&answer.bytes);
        let answered = answer.raw()?;
        let output = answered.get("raw").map(|it| shown(&it)).unwrap_or_default();
        if answered.get("success").and_then(|it| it.bool()) == Some(true) {
            printer.foreign(&output);
            Ok(Exit::Done)
        } else {
            printer.error(if output.is_empty() { "the tool failed without a message" } else { &output });
            Ok(Exit::ToolError)
        }
    })
    .await
}

fn check_keys(arguments: &[(String, String)]) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    match arguments.iter().find(|it| !seen.insert(&it.0)) {
        Some((key, _)) => Err(Failure::usage(format!("argument `{key}` is given twice"))),
        None => Ok(()),
    }
}

/// `--json-args`: its bytes go to the server as they are.
fn whole(given: &str) -> Result<Raw, Failure> {
    let text = if given == "-" { read_text("-")? } else { given.to_owned() };
    let raw = Raw::parse(text).map_err(|problem| Error::RequestJson(problem.to_string()))?;
    if raw.is_object() {
        Ok(raw)
    } else {
        Err(Failure::usage("`--json-args` must be a JSON object, such as `{\"a\": 1}`"))
    }
}

/// `key=value…`, each as the tool's schema wants it.
async fn typed(api: &Api, args: &Call) -> Result<Raw, Failure> {
    let mut schema = schema(api, &args.tool).await?;
    if schema.is_none() {
        // Perhaps a server that was never asked.
        api.first_listings().await;
        schema = self::schema(api, &args.tool).await?;
    }
    let properties = schema.and_then(|it| it.get("properties"));
    let kind = |key: &str| Some(properties.as_ref()?.get(key)?.get("type")?.to_value());
    let arguments: Map<String, Value> =
        args.arguments.iter().map(|(key, value)| (key.clone(), coerce(value, kind(key).as_ref()))).collect();
    Ok(Raw::of(&arguments))
}

/// The schema of a tool's arguments, whichever form its name is given in.
async fn schema(api: &Api, tool: &str) -> Result<Option<Raw>, Failure> {
    for names in ["double", "single"] {
        let list = api.get(&with_query("/api/mcp/tools", &[("names", Some(names))])).await?.raw()?;
        let tools = list.get("tools");
        let found = tools.iter().flat_map(Raw::items).find(|it| it.get_text("name").as_deref() == Some(tool));
        if let Some(found) = found {
            return Ok(found.get("inputSchema"));
        }
    }
    Ok(None)
}

/// Hears of progress while the call runs.
async fn stream(api: &Api, tool: &str, body: String, printer: &Printer) -> Result<Answer, Failure> {
    let progress = printer.progress(format!("calling `{tool}`"));
    let mut answer = api.request(Method::POST, PATH, "text/event-stream", Some(body)).await?.into_body();
    let mut reader = sse::Reader::new(usize::MAX);
    while let Some(Ok(frame)) = answer.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        for event in reader.push(&data).into_iter().flatten() {
            match event.name.as_str() {
                "progress" => {
                    let it: Value = serde_json::from_slice(&event.data).unwrap_or_default();
                    progress.set(
                        it["progress"].as_f64().unwrap_or(0.0),
                        it["total"].as_f64(),
                        it["message"].as_str(),
                    );
                }
                "done" => return Ok(Answer { bytes: event.data.to_vec() }),
                "error" => {
                    let problem: Problem = Answer { bytes: event.data.to_vec() }.read()?;
                    return Err(problem.into());
                }
                _ => {}
            }
        }
    }
    Err(Failure::new("hub.gone", "the hub went away before the call ended"))
}

/// A result as text: its parts in their order, what is no text in brackets; what is not to be trusted in a fence.
fn shown(result: &Raw) -> String {
    let parts: Vec<String> =
        result.get("content").iter().flat_map(|it| it.items().map(|it| part(&it))).collect();
    let text = match result.get("structuredContent") {
        Some(structured) if parts.is_empty() => pretty(&structured),
        _ => parts.join("\n"),
    };
    let untrusted = result.get("_meta").and_then(|it| it.get(KEY_UNTRUSTED)).and_then(|it| it.bool());
    if untrusted == Some(true) {
        format!("--- not to be trusted ---\n{text}\n--- end of it ---")
    } else {
        text
    }
}

fn part(part: &Raw) -> String {
    let text = |key: &str| part.get_text(key).unwrap_or_default();
    let resource = |key: &str| part.get("resource").and_then(|it| it.get_text(key));
    match text("type").as_str() {
        "text" => text("text"),
        kind @ ("image" | "audio") => {
            format!("[{kind} {}, {} bytes]", text("mimeType"), decoded_size(&text("data")))
        }
        "resource_link" => format!("[resource {}]", text("uri")),
        "resource" => resource("text").unwrap_or_else(|| {
            let size = decoded_size(&resource("blob").unwrap_or_default());
            format!("[resource {}, {size} bytes]", resource("uri").unwrap_or_default())
        }),
        _ => part.as_str().to_owned(),
    }
}

/// Indented, unless it holds what cannot be read as a value of ours.
pub(super) fn pretty(json: &Raw) -> String {
    let read: Result<Value, _> = serde_json::from_str(json.as_str());
    read.and_then(|it| serde_json::to_string_pretty(&it)).unwrap_or_else(|_| json.as_str().to_owned())
}

/// How many bytes a base64 text stands for.
fn decoded_size(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(result: Value, expected: &str) {
        assert_eq!(shown(&Raw::of(&result)), expected);
    }

    #[test]
    fn a_result_is_shown_part_by_part() {
        check(
            json!({ "content": [
                { "type": "text", "text": "a\nb" },
                { "type": "image", "mimeType": "image/png", "data": "AAAA" },
                { "type": "audio", "mimeType": "audio/wav", "data": "AA==" },
                { "type": "resource_link", "uri": "file:///x" },
                { "type": "resource", "resource": { "uri": "a:b", "text": "inside" } },
                { "type": "resource", "resource": { "uri": "a:c", "blob": "AAA=" } },
                { "type": "new" },
            ] }),
            "a\nb\n[image image/png, 3 bytes]\n[audio audio/wav, 1 bytes]\n[resource file:///x]\ninside\n\
             [resource a:c, 2 bytes]\n{\"type\":\"new\"}",
        );
        check(json!({ "content": [], "structuredContent": { "n": 1 } }), "{\n  \"n\": 1\n}");
        check(json!({}), "");
        check(
            json!({ "content": [{ "type": "text", "text": "a" }], "_meta": { "dev.toolgrove/untrusted": true } }),
            "--- not to be trusted ---\na\n--- end of it ---",
        );
    }

    #[test]
    fn an_argument_given_twice_is_refused() {
        let pair = |key: &str| (key.to_owned(), String::new());
        assert!(check_keys(&[pair("a"), pair("b")]).is_ok());
        assert!(check_keys(&[pair("a"), pair("a")]).is_err());
    }
}
