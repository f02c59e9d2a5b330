//! The hub's own small tools, run for whoever called them.

use serde_json::{Value, json};
use toolgrove_core::call::Caller;
use toolgrove_core::{Error, builtin};
use toolgrove_wire::Raw;
use uuid::Uuid;

use crate::App;
use crate::problem::store_error;

/// More words than that only make a search slower.
const MOST_WORDS: usize = 20;

/// Arguments are checked by now. What cannot be done is told in the result, so that a model can try again.
pub(super) async fn answer(app: &App, caller: &Caller, tool: &str, arguments: &Value) -> Result<Raw, Error> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = |key: &str| arguments.get(key).and_then(Value::as_i64);
    match tool {
        builtin::CALCULATOR => Ok(said(builtin::calculate(text("expression")))),
        builtin::FILE_SEARCH => {
            let limit = number("limit").unwrap_or(builtin::USUAL_HITS).clamp(1, builtin::MOST_HITS);
            search(app, caller, text("query"), limit).await
        }
        builtin::READ_RESULT => {
            let (offset, length) = (number("offset"), number("length"));
            read(app, caller, text("id"), offset, length).await
        }
        _ => Err(Error::UnknownTool { tool: tool.to_owned() }),
    }
}

fn said(text: Result<String, String>) -> Raw {
    let (text, is_error) = match text {
        Ok(text) => (text, false),
        Err(problem) => (problem, true),
    };
    Raw::of(&json!({ "content": [{ "type": "text", "text": text }], "isError": is_error }))
}

/// In the files of the caller's workspaces.
async fn search(app: &App, caller: &Caller, query: &str, limit: i64) -> Result<Raw, Error> {
    let words: Vec<String> = query.split_whitespace().take(MOST_WORDS).map(str::to_owned).collect();
    if words.is_empty() {
        return Ok(said(Err("say what to look for".into())));
    }
    let hits = app.store.search_files(caller.person, &words, limit).await.map_err(store_error)?;
    let mut texts: Vec<_> = hits.iter().map(|it| format!("{}: {}", it.name, it.passage)).collect();
    if texts.is_empty() {
        texts.push("no file holds all of these words".into());
    }
    let files: Vec<_> =
        hits.iter().map(|it| json!({ "id": it.id, "name": it.name, "passage": it.passage })).collect();
    Ok(Raw::of(&json!({
        "content": [{ "type": "text", "text": texts.join("\n\n") }],
        "structuredContent": { "files": files },
    })))
}

/// In a result of the caller's own. A token for some instances has none: it may be of any.
async fn read(
    app: &App,
    caller: &Caller,
    id: &str,
    offset: Option<i64>,
    length: Option<i64>,
) -> Result<Raw, Error> {
    let found = match Uuid::parse_str(id) {
        Ok(id) if caller.grants.is_none() => {
            app.store.result(caller.person, id).await.map_err(store_error)?
        }
        _ => None,
    };
    let size = |it: Option<i64>| it.map(|it| usize::try_from(it).unwrap_or(0));
    let most = usize::try_from(app.config.limits.result_chars).unwrap_or(usize::MAX);
    let length = size(length).unwrap_or(most).min(most);
    let part = found.map(|it| builtin::part(&it, size(offset).unwrap_or(0), length));
    Ok(said(part.ok_or_else(|| format!("no result has the id `{id}`"))))
}
