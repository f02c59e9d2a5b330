//! A folder in memory: tools that change things, results of every kind of content, and schemas with every shape.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::peer::{Fault, Job, Peer, lock};
use super::{failed, text, word};

/// Files by path.
pub(super) struct Folder(BTreeMap<String, String>);

impl Default for Folder {
    fn default() -> Self {
        let files = [
            ("notes/ideas.md", "# Ideas\n\n- a hub for every tool\n- one name for each thing\n"),
            ("notes/todo.md", "# To do\n\n1. water the plants\n2. write to Ada\n"),
            ("readme.md", "# Files\n\nThis folder lives in memory.\n"),
            ("report.json", "{\"visits\": 1204, \"errors\": 3}\n"),
        ];
        Self(files.map(|(path, text)| (path.to_owned(), text.to_owned())).into())
    }
}

/// One green pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/// A tenth of a second of silence.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

pub(super) fn tools() -> Vec<Value> {
    let path = json!({ "type": "string", "description": "Path of a file", "examples": ["notes/todo.md"] });
    let tool = |name: &str, title: &str, description: &str, hints: Value, schema: Value| {
        let mut annotations = hints;
        annotations["title"] = title.into();
        json!({ "name": name, "title": title, "description": description, "annotations": annotations,
            "inputSchema": schema })
    };
    let only = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required });
    let reads = json!({ "readOnlyHint": true });
    vec![
        tool(
            "list_files",
            "List files",
            "Every file, or those under a path",
            reads.clone(),
            only(json!({ "under": { "type": "string", "default": "" } }), &[]),
        ),
        tool(
            "read_file",
            "Read file",
            "The text of a file",
            reads.clone(),
            only(json!({ "path": path }), &["path"]),
        ),
        tool(
            "search",
            "Search",
            "Lines that hold a word",
            reads.clone(),
            only(
                json!({ "query": { "type": "string", "minLength": 2 }, "limit": { "type": "integer", "default": 20 } }),
                &["query"],
            ),
        ),
        tool(
            "write_file",
            "Write file",
            "Puts a text in the place of a file",
            json!({ "readOnlyHint": false, "destructiveHint": false, "idempotentHint": true }),
            only(json!({ "path": path, "text": { "type": "string" } }), &["path", "text"]),
        ),
        tool(
            "delete_file",
            "Delete file",
            "Removes a file for good",
            json!({ "readOnlyHint": false, "destructiveHint": true }),
            only(json!({ "path": path }), &["path"]),
        ),
        tool(
            "show_kinds",
            "Every kind of content",
            "A result with text, an image, a sound, a link and a file",
            reads,
            only(json!({}), &[]),
        ),
        tool(
            "save_contact",
            "Save contact",
            "A form with every shape a schema has",
            json!({ "readOnlyHint": false, "destructiveHint": false }),
            contact(),
        ),
    ]
}

/// Nullable, enum, union, nested, list, default and file in one form.
fn contact() -> Value {
    json!({ "type": "object", "required": ["name", "reach"], "properties": {
        "name": { "type": "string", "description": "Full name" },
        "age": { "type": ["integer", "null"], "minimum": 0 },
        "level": { "anyOf": [{ "type": "string", "enum": ["friend", "colleague"] }, { "type": "null" }] },
        "reach": { "oneOf": [
            { "title": "Email", "type": "object", "required": ["email"],
                "properties": { "email": { "type": "string", "format": "email" } } },
            { "title": "Phone", "type": "object", "required": ["phone"],
                "properties": { "phone": { "type": "string", "pattern": "^[+0-9 ]+$" } } } ] },
        "address": { "type": "object", "properties": {
            "street": { "type": "string" }, "city": { "type": "string", "default": "Berlin" } } },
        "tags": { "type": "array", "items": { "type": "string" }, "uniqueItems": true, "default": ["new"] },
        "newsletter": { "type": "boolean", "default": false },
        "photo": { "type": "string", "contentEncoding": "base64", "contentMediaType": "image/png" },
        "extra": { "type": "object", "additionalProperties": true, "description": "Anything else, as JSON" } } })
}

pub(super) fn call(job: &Job, tool: &str, args: &Value) -> Result<Value, Fault> {
    let path = word(args, "path");
    let mut folder = lock(&job.peer.folder);
    let files = &mut folder.0;
    let missing = || failed(format!("there is no file `{path}`"));
    Ok(match tool {
        "list_files" => {
            let under = word(args, "under");
            let found: Vec<&str> =
                files.keys().map(String::as_str).filter(|it| it.starts_with(under)).collect();
            text(if found.is_empty() { "nothing here".to_owned() } else { found.join("\n") })
        }
        "read_file" => files.get(path).map_or_else(missing, |it| text(it.clone())),
        "search" => {
            let (query, limit) = (word(args, "query"), args["limit"].as_u64().unwrap_or(20) as usize);
            let lines =
                files.iter().flat_map(|(path, text)| text.lines().map(move |it| format!("{path}: {it}")));
            let found: Vec<String> = lines.filter(|it| it.contains(query)).take(limit).collect();
            text(if found.is_empty() { format!("`{query}` is nowhere") } else { found.join("\n") })
        }
        "write_file" => {
            let is_new = files.insert(path.to_owned(), word(args, "text").to_owned()).is_none();
            if is_new {
                job.peer.notify("notifications/resources/list_changed", &json!({}));
            }
            text(format!("{} `{path}`", if is_new { "created" } else { "replaced" }))
        }
        "delete_file" => match files.remove(path) {
            Some(_) => {
                job.peer.notify("notifications/resources/list_changed", &json!({}));
                text(format!("deleted `{path}`"))
            }
            None => missing(),
        },
        "show_kinds" => json!({ "content": [
            { "type": "text", "text": "**Everything** a result may hold." },
            { "type": "image", "data": PNG, "mimeType": "image/png" },
            { "type": "audio", "data": WAV, "mimeType": "audio/wav" },
            { "type": "resource_link", "uri": "file:///readme.md", "name": "readme.md", "mimeType": "text/markdown" },
            { "type": "resource", "resource": { "uri": "file:///report.json", "mimeType": "application/json",
                "text": files.get("report.json").cloned().unwrap_or_default() } } ] }),
        "save_contact" => {
            json!({ "content": [{ "type": "text", "text": format!("saved {}", word(args, "name")) }],
            "structuredContent": args })
        }
        other => return Err(Fault::unknown("tool", other)),
    })
}

pub(super) fn prompts() -> Vec<Value> {
    vec![
        json!({ "name": "summarise", "title": "Summarise a file", "description": "Asks for the gist of a file",
        "arguments": [{ "name": "path", "description": "Path of the file", "required": true }] }),
    ]
}

pub(super) fn prompt(name: &str, args: &Value) -> Result<Value, Fault> {
    if name != "summarise" {
        return Err(Fault::unknown("prompt", name));
    }
    let ask = format!("Read `{}` and tell me in one sentence what it says.", word(args, "path"));
    Ok(json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": ask } }] }))
}

pub(super) fn resources(peer: &Peer) -> Vec<Value> {
    let shown = |(path, text): (&String, &String)| json!({ "uri": format!("file:///{path}"), "name": path, "mimeType": kind(path), "size": text.len() });
    lock(&peer.folder).0.iter().map(shown).collect()
}

pub(super) fn resource(peer: &Peer, uri: &str) -> Result<Value, Fault> {
    let folder = lock(&peer.folder);
    let found = uri.strip_prefix("file:///").and_then(|it| folder.0.get_key_value(it));
    let (path, text) = found.ok_or_else(|| Fault {
        code: -32002,
        message: "Resource not found".into(),
        data: Some(json!({ "uri": uri })),
    })?;
    Ok(json!({ "contents": [{ "uri": uri, "mimeType": kind(path), "text": text }] }))
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.') {
        Some((_, "md")) => "text/markdown",
        Some((_, "json")) => "application/json",
        _ => "text/plain",
    }
}
