//! `/api/workspaces`: the boundaries of sharing. Members see theirs; workspace admins change them and their members,
//! admins all of them.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use toolgrove_core::call::{Caller, Role};
use toolgrove_core::net::Allowlist;
use toolgrove_core::pins::PinPolicy;
use toolgrove_core::{Error, name};
use toolgrove_store::{MemberRow, Membership, WorkspaceRow};
use ts_rs::TS;
use uuid::Uuid;

use super::{Said, body};
use crate::App;
use crate::problem::Answer;

const PHASES: [&str; 3] = ["alpha", "beta", "gamma"];
/// Transports that only admins may add, unless a workspace lets its members.
pub(crate) const GUARDED: [&str; 3] = ["stdio", "unix", "pipe"];

/// A workspace as the API shows it.
#[derive(Debug, Serialize, TS)]
pub struct Workspace {
    pub id: Uuid,
    pub name: String,
    #[ts(type = "\"alpha\" | \"beta\" | \"gamma\"")]
    pub phase: String,
    /// Hosts that servers may be at; null means any.
    #[ts(type = "Array<string> | null")]
    pub allowlist: Option<Value>,
    /// Which of `stdio`, `unix` and `pipe` members may add.
    #[ts(type = "Array<string>")]
    pub allowed_transports: Value,
    /// `off`, `warn` or `hold`; null holds what bundles bring and warns of the rest.
    pub pins: Option<String>,
    /// What the caller is in it; null for an admin who is no member.
    pub role: Option<Role>,
}

impl Workspace {
    fn of(row: WorkspaceRow, role: Option<Role>) -> Self {
        Self {
            id: row.id,
            name: row.name,
            phase: row.phase,
            allowlist: row.allowlist,
            allowed_transports: row.allowed_transports.unwrap_or_else(|| json!([])),
            pins: row.pins.and_then(|it| it.as_str().map(str::to_owned)),
            role,
        }
    }
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<Vec<Workspace>>> {
    let mine = app.store.workspaces_of(caller.person).await?;
    let role = |id| mine.iter().find(|it| it.workspace.id == id).map(|it| it.role);
    let others = match caller.role {
        Role::Admin => app.store.all_workspaces().await?,
        Role::WorkspaceAdmin | Role::Member => Vec::new(),
    };
    let others: Vec<_> = others.into_iter().filter(|it| role(it.id).is_none()).collect();
    let mine = mine.into_iter().map(|it| Workspace::of(it.workspace, Some(it.role)));
    Ok(Json(mine.chain(others.into_iter().map(|it| Workspace::of(it, None))).collect()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    name: Option<String>,
    phase: Option<String>,
}

pub async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    bytes: Bytes,
) -> Answer<(StatusCode, Json<Workspace>)> {
    caller.require_admin()?;
    let new: New = body(&bytes)?;
    let wanted = new.name.ok_or_else(|| Error::RequestMissing(vec!["name".into()]))?;
    name::check_name(&wanted)?;
    let phase = new.phase.unwrap_or_else(|| "beta".into());
    check_phase(&phase)?;
    let id = app.store.add_workspace(&wanted, &phase).await?;
    app.store.put_member(id, caller.person, Role::WorkspaceAdmin).await?;
    app.note_admin(&caller, "workspace.add", &wanted).await;
    let Membership { workspace, role } = app.workspace(&caller, &id.to_string()).await?;
    Ok((StatusCode::CREATED, Json(Workspace::of(workspace, Some(role)))))
}

pub async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Workspace>> {
    let (row, role) = app.any_workspace(&caller, &id).await?;
    Ok(Json(Workspace::of(row, role)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    name: Option<String>,
    phase: Option<String>,
    #[serde(default)]
    allowlist: Words,
    #[serde(default)]
    allowed_transports: Words,
    #[serde(default)]
    pins: Said,
}

/// A list that is to stay, to go, or to be another.
#[derive(Default)]
enum Words {
    #[default]
    Absent,
    Null,
    Given(Vec<String>),
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        Option::deserialize(value).map(|it| it.map_or(Self::Null, Self::Given))
    }
}

impl Words {
    /// Writes the list over another one, if every word of it is right.
    fn put(self, place: &mut Option<Value>, check: impl Fn(&str) -> Result<(), Error>) -> Result<(), Error> {
        match self {
            Self::Absent => {}
            Self::Null => *place = None,
            Self::Given(words) => {
                words.iter().try_for_each(|it| check(it))?;
                *place = Some(json!(words));
            }
        }
        Ok(())
    }
}

fn check_phase(phase: &str) -> Result<(), Error> {
    if PHASES.contains(&phase) {
        return Ok(());
    }
    Err(Error::Request(format!("`{phase}` is not a phase; expected `alpha`, `beta` or `gamma`")))
}

pub async fn change(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<Json<Workspace>> {
    let (mut row, role) = app.kept_workspace(&caller, &id).await?;
    let change: Change = body(&bytes)?;
    let detail: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if let Some(wanted) = change.name {
        name::check_name(&wanted)?;
        row.name = wanted;
    }
    if let Some(phase) = change.phase {
        check_phase(&phase)?;
        row.phase = phase;
    }
    change.allowlist.put(&mut row.allowlist, |it| Allowlist::read(&[it.to_owned()]).map(drop))?;
    change.allowed_transports.put(&mut row.allowed_transports, check_transport)?;
    match change.pins {
        Said::Absent => {}
        Said::Null => row.pins = None,
        Said::Word(word) => {
            let policy = PinPolicy::parse(&word);
            let wrong = || Error::Request(format!("`{word}` is not one of `off`, `warn` and `hold`"));
            row.pins = Some(json!(policy.ok_or_else(wrong)?));
        }
    }
    app.store.update_workspace(&row).await?;
    app.reload_workspace(row.id).await?;
    app.note_by(caller.person, "workspace.change", &row.name, Some(&detail)).await;
    Ok(Json(Workspace::of(row, role)))
}

fn check_transport(kind: &str) -> Result<(), Error> {
    if GUARDED.contains(&kind) {
        return Ok(());
    }
    Err(Error::Request(format!("`{kind}` is always allowed or unknown; expected `stdio`, `unix` or `pipe`")))
}

pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    caller.require_admin()?;
    let (row, _) = app.any_workspace(&caller, &id).await?;
    if app.store.all_workspaces().await?.len() < 2 {
        return Err(Error::Request("a hub needs a workspace".into()).into());
    }
    let instances = app.instances_in(row.id).await?;
    app.store.remove_workspace(row.id).await?;
    for instance in instances {
        app.hub.remove(instance.id).await;
    }
    app.note_admin(&caller, "workspace.remove", &row.name).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Somebody in a workspace.
#[derive(Debug, Serialize, TS)]
pub struct Member {
    pub person_id: Uuid,
    pub name: String,
    pub email: Option<String>,
    pub role: Role,
}

impl From<MemberRow> for Member {
    fn from(row: MemberRow) -> Self {
        Self { person_id: row.person_id, name: row.name, email: row.email, role: row.role }
    }
}

pub async fn members(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Vec<Member>>> {
    let (row, _) = app.kept_workspace(&caller, &id).await?;
    Ok(Json(app.store.members(row.id).await?.into_iter().map(Into::into).collect()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewMember {
    email: Option<String>,
    person_id: Option<Uuid>,
    role: Option<Role>,
}

/// Makes somebody a member, or changes what they are.
pub async fn put_member(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<Json<Vec<Member>>> {
    let (row, _) = app.kept_workspace(&caller, &id).await?;
    let new: NewMember = body(&bytes)?;
    let person = match (&new.email, new.person_id) {
        (Some(email), _) => app.store.person_by_email(email.trim()).await?,
        (None, Some(id)) => app.store.person(id).await?,
        (None, None) => return Err(Error::RequestMissing(vec!["email".into()]).into()),
    };
    let person = person.ok_or_else(|| Error::NotFound("such a person".into()))?;
    let role = match new.role.unwrap_or(Role::Member) {
        Role::Admin => return Err(Error::Request("a member is `workspace-admin` or `member`".into()).into()),
        role => role,
    };
    app.store.put_member(row.id, person.id, role).await?;
    app.follow_membership(person.id, row.id).await?;
    let detail = json!({ "person": person.email, "role": role });
    app.note_by(caller.person, "workspace.member", &row.name, Some(&detail)).await;
    Ok(Json(app.store.members(row.id).await?.into_iter().map(Into::into).collect()))
}

pub async fn remove_member(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path((id, person)): Path<(String, String)>,
) -> Answer<StatusCode> {
    let (row, _) = app.kept_workspace(&caller, &id).await?;
    let unknown = || Error::NotFound(format!("member {person}"));
    let person = Uuid::parse_str(&person).map_err(|_| unknown())?;
    if !app.store.remove_member(row.id, person).await? {
        return Err(unknown().into());
    }
    app.follow_membership(person, row.id).await?;
    let detail = json!({ "removed": person });
    app.note_by(caller.person, "workspace.member", &row.name, Some(&detail)).await;
    Ok(StatusCode::NO_CONTENT)
}
