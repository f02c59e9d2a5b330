//! `toolgrove files …`: the texts of workspaces that `file_search` looks in.

use std::path::Path;

use http::Method;
use serde_json::{Value, json};

use super::server::text;
use super::unreadable;
use crate::api::{Api, segment};
use crate::args::Files;
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::Printer;

pub(crate) async fn run(args: Files, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    match args {
        Files::Add { files, workspace } => {
            // Nothing is sent unless everything can be read.
            let texts = files.iter().map(|it| read(it)).collect::<Result<Vec<_>, _>>()?;
            Api::with(paths, async |api| add(api, &texts, workspace.as_deref(), printer).await).await
        }
        Files::List => Api::with(paths, async |api| list(api, printer).await).await,
        Files::Remove { file } => Api::with(paths, async |api| remove(api, &file, printer).await).await,
    }
}

/// A file's name and its text.
fn read(file: &Path) -> Result<(String, String), Failure> {
    let shown = format!("`{}`", file.display());
    let content = std::fs::read_to_string(file).map_err(|error| unreadable(&shown, &error))?;
    let name = file.file_name().ok_or_else(|| Failure::usage(format!("{shown} is not a file")))?;
    Ok((name.to_string_lossy().into_owned(), content))
}

async fn add(
    api: &Api,
    texts: &[(String, String)],
    wanted: Option<&str>,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let workspace = chosen(api, wanted).await?;
    let path = format!("/api/workspaces/{}/files", segment(&text(&workspace, "id")));
    let mut added = Vec::new();
    for (name, content) in texts {
        let answer = api.post(&path, &json!({ "name": name, "text": content })).await;
        let answer = answer.map_err(|mut failure| {
            failure.problem.detail = format!("`{name}`: {}", failure.problem.detail);
            failure
        })?;
        added.push(answer.value()?);
        printer.line(format_args!("added `{name}` to `{}`", text(&workspace, "name")));
    }
    printer.json(&added);
    Ok(Exit::Done)
}

/// The workspace that was named, or the only one.
async fn chosen(api: &Api, wanted: Option<&str>) -> Result<Value, Failure> {
    let mut all = workspaces(api).await?;
    if let Some(wanted) = wanted {
        all.retain(|it| it["name"] == wanted || it["id"] == wanted);
    }
    let names = all.iter().map(|it| format!("`{}`", text(it, "name"))).collect::<Vec<_>>().join(", ");
    match (all.len(), wanted) {
        (1, _) => Ok(all.swap_remove(0)),
        (0, Some(wanted)) => {
            Err(Failure::new("request.not-found", format!("you are in no workspace called `{wanted}`")))
        }
        (0, None) => Err(Failure::new("request.not-found", "you are in no workspace")),
        (_, Some(wanted)) => {
            Err(Failure::usage(format!("several workspaces are called `{wanted}`")).hint("give its id"))
        }
        (_, None) => Err(Failure::usage(format!("you are in several workspaces: {names}"))
            .hint("say which one with `--workspace NAME`")),
    }
}

/// Those the person is in: files are for members.
async fn workspaces(api: &Api) -> Result<Vec<Value>, Failure> {
    let mut all: Vec<Value> = api.get("/api/workspaces").await?.read()?;
    all.retain(|it| !it["role"].is_null());
    Ok(all)
}

/// Every file, with the name and the id of its workspace.
async fn all(api: &Api) -> Result<Vec<Value>, Failure> {
    let mut files = Vec::new();
    for workspace in workspaces(api).await? {
        let path = format!("/api/workspaces/{}/files", segment(&text(&workspace, "id")));
        for mut file in api.get(&path).await?.read::<Vec<Value>>()? {
            file["workspace"] = workspace["name"].clone();
            file["workspace_id"] = workspace["id"].clone();
            files.push(file);
        }
    }
    Ok(files)
}

async fn list(api: &Api, printer: &Printer) -> Result<Exit, Failure> {
    let files = all(api).await?;
    printer.json(&files);
    if files.is_empty() {
        printer.line("no files yet");
        printer.hint("add one with `toolgrove files add FILE`");
        return Ok(Exit::Done);
    }
    let row =
        |it: &Value| vec![text(it, "name"), text(it, "workspace"), it["chars"].to_string(), text(it, "id")];
    printer.table(&["FILE", "WORKSPACE", "CHARACTERS", "ID"], &files.iter().map(row).collect::<Vec<_>>());
    Ok(Exit::Done)
}

async fn remove(api: &Api, wanted: &str, printer: &Printer) -> Result<Exit, Failure> {
    let files = all(api).await?;
    let meant: Vec<_> = files.iter().filter(|it| it["name"] == wanted || it["id"] == wanted).collect();
    let path = match meant[..] {
        [one] => {
            let (workspace, id) = (text(one, "workspace_id"), text(one, "id"));
            format!("/api/workspaces/{}/files/{}", segment(&workspace), segment(&id))
        }
        [] => {
            return Err(Failure::new("request.not-found", format!("no file is called `{wanted}`"))
                .hint("run `toolgrove files list` to see every file"));
        }
        _ => {
            return Err(Failure::new("request.invalid", format!("several files are called `{wanted}`"))
                .hint("give the id that `toolgrove files list` shows"));
        }
    };
    let answer = api.send(Method::DELETE, &path, None).await?;
    printer.json_bytes(&answer.bytes);
    printer.line(format_args!("removed file `{wanted}`"));
    Ok(Exit::Done)
}
