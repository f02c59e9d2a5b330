//! `/api/workspaces/:id/files`: texts that members add to a workspace, for `file_search` to look in.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolgrove_core::call::Caller;
use toolgrove_core::{Error, name};
use toolgrove_store::{FileRow, Membership};
use ts_rs::TS;
use uuid::Uuid;

use super::body;
use crate::App;
use crate::problem::{Answer, store_error};

/// What both databases can index, whatever the words are.
const LARGEST: usize = 512 * 1024;
/// How many files a workspace has at most.
const MOST: i64 = 1000;

/// A file without its text.
#[derive(Debug, Serialize, TS)]
#[ts(rename = "WorkspaceFile")]
pub struct File {
    pub id: Uuid,
    pub name: String,
    pub mime_type: String,
    /// How long the text is, in characters.
    pub chars: i64,
    /// Whether the caller added it.
    pub is_own: bool,
    /// Whether the caller may remove it.
    pub removable: bool,
    pub created_at: i64,
}

impl File {
    fn of(row: FileRow, caller: &Caller, workspace: &Membership) -> Self {
        let is_own = row.person_id == Some(caller.person);
        Self {
            id: row.id,
            name: row.name,
            mime_type: row.mime_type,
            chars: row.chars,
            is_own,
            removable: is_own || caller.keeps(Some(workspace.role)),
            created_at: row.created_at,
        }
    }
}

/// Files are for members: an admin who is none does not see them, nor does a token for some instances.
async fn workspace(app: &App, caller: &Caller, id: &str) -> Result<Membership, Error> {
    if caller.grants.is_some() {
        return Err(Error::TokenMayNot);
    }
    app.workspace(caller, id).await
}

async fn find(app: &App, caller: &Caller, workspace: Uuid, id: &str) -> Result<FileRow, Error> {
    let unknown = || Error::NotFound(format!("file {id}"));
    let parsed = Uuid::parse_str(id).map_err(|_| unknown())?;
    let found = app.store.file(caller.person, parsed).await.map_err(store_error)?;
    found.filter(|it| it.workspace_id == workspace).ok_or_else(unknown)
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Vec<File>>> {
    let member = workspace(&app, &caller, &id).await?;
    let rows = app.store.files_in(member.workspace.id).await?;
    Ok(Json(rows.into_iter().map(|it| File::of(it, &caller, &member)).collect()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    name: Option<String>,
    text: Option<String>,
    mime_type: Option<String>,
}

/// A file of the same name is another file.
pub async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<(StatusCode, Json<File>)> {
    let given: New = body(&bytes)?;
    let missing = [("name", given.name.is_none()), ("text", given.text.is_none())];
    let missing: Vec<_> = missing.iter().filter(|it| it.1).map(|it| it.0.to_owned()).collect();
    let (Some(file), Some(text)) = (given.name, given.text) else {
        return Err(Error::RequestMissing(missing).into());
    };
    name::check_name(&file)?;
    if text.len() > LARGEST {
        return Err(Error::Request(format!("a file has at most {} KiB", LARGEST / 1024)).into());
    }
    if text.contains('\0') {
        return Err(Error::Request("a file is a text; this one holds a NUL".into()).into());
    }
    let member = workspace(&app, &caller, &id).await?;
    let workspace = member.workspace.id;
    if app.store.count_files(workspace).await? >= MOST {
        return Err(Error::Request(format!("a workspace has at most {MOST} files; remove one first")).into());
    }
    let kind = given.mime_type.unwrap_or_else(|| "text/plain".into());
    let row = app.store.add_file(workspace, caller.person, &file, &kind, &text).await?;
    Ok((StatusCode::CREATED, Json(File::of(row, &caller, &member))))
}

/// Its text.
pub async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path((id, file)): Path<(String, String)>,
) -> Answer<String> {
    let member = workspace(&app, &caller, &id).await?;
    let file = find(&app, &caller, member.workspace.id, &file).await?;
    Ok(app.store.file_text(file.id).await?)
}

/// By whoever added it, or who keeps the workspace.
pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path((id, file)): Path<(String, String)>,
) -> Answer<StatusCode> {
    let member = workspace(&app, &caller, &id).await?;
    let file = find(&app, &caller, member.workspace.id, &file).await?;
    if file.person_id != Some(caller.person) {
        app.kept_workspace(&caller, &id).await?;
    }
    app.store.remove_file(file.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
