//! `/api/people`: who may use the hub. Admins only.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolgrove_core::call::{Caller, Role};
use toolgrove_core::{Error, name};
use toolgrove_store::{AdminNote, LinkPurpose, PersonRow};
use ts_rs::TS;
use uuid::Uuid;

use super::body;
use crate::App;
use crate::auth::{self, check_email};
use crate::problem::{Answer, store_error};

/// How long an invitation is good.
const INVITE_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// A person as admins see them.
#[derive(Debug, Serialize, TS)]
pub struct Person {
    pub id: Uuid,
    pub name: String,
    pub email: Option<String>,
    pub role: Role,
    pub sign_in: SignIn,
    pub last_seen_at: Option<i64>,
    pub created_at: i64,
}

/// How a person comes in.
#[derive(Debug, Serialize, TS)]
#[serde(rename_all = "lowercase")]
#[ts(rename = "SignInKind")]
pub enum SignIn {
    Password,
    Oidc,
    /// With the key of the machine: the one person of a solo hub.
    Local,
    /// Not yet: they were invited.
    Invited,
}

/// A link that lets somebody choose a password. It works once.
#[derive(Debug, Serialize, TS)]
pub struct Invite {
    pub url: String,
    pub expires_at: i64,
}

#[derive(Debug, Serialize, TS)]
#[ts(rename = "InvitedPerson")]
pub struct Invited {
    #[serde(flatten)]
    pub person: Person,
    pub invite: Invite,
}

impl Person {
    fn of(row: PersonRow) -> Self {
        let sign_in = match (&row.oidc_subject, row.has_password, &row.email) {
            (Some(_), ..) => SignIn::Oidc,
            (None, true, _) => SignIn::Password,
            (None, false, None) => SignIn::Local,
            (None, false, Some(_)) => SignIn::Invited,
        };
        Self {
            id: row.id,
            name: row.name,
            email: row.email,
            role: row.role,
            sign_in,
            last_seen_at: row.last_seen_at,
            created_at: row.created_at,
        }
    }
}

pub(crate) async fn find(app: &App, caller: &Caller, id: &str) -> Result<PersonRow, Error> {
    caller.require_admin()?;
    let unknown = || Error::NotFound(format!("person {id}"));
    let id = Uuid::parse_str(id).map_err(|_| unknown())?;
    app.store.person(id).await.map_err(store_error)?.ok_or_else(unknown)
}

async fn invite(app: &App, person: Uuid) -> Result<Invite, Error> {
    let (code, expires_at) = (auth::fresh(""), app.hub.now() + INVITE_MS);
    let hash = auth::stored(&auth::hash(code.reveal()));
    app.store.add_link(&hash, LinkPurpose::Invite, Some(person), expires_at).await.map_err(store_error)?;
    Ok(Invite { url: format!("{}/ui/join?code={}", app.gate.base(), code.reveal()), expires_at })
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<Vec<Person>>> {
    caller.require_admin()?;
    Ok(Json(app.store.people().await?.into_iter().map(Person::of).collect()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    email: Option<String>,
    name: Option<String>,
    role: Option<Role>,
    /// Absent: the first workspace.
    workspaces: Option<Vec<String>>,
}

/// Adds somebody and makes the link by which they come in.
pub async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    bytes: Bytes,
) -> Answer<(StatusCode, Json<Invited>)> {
    caller.require_admin()?;
    let new: New = body(&bytes)?;
    if !app.has_people() {
        return Err(Error::Request("a solo hub has one person; set `mode = \"team\"`".into()).into());
    }
    let email = new.email.ok_or_else(|| Error::RequestMissing(vec!["email".into()]))?.trim().to_owned();
    check_email(&email)?;
    let wanted = new.name.unwrap_or_else(|| email.split('@').next().unwrap_or_default().to_owned());
    name::check_name(&wanted)?;
    let workspaces = match new.workspaces {
        None => vec![app.store.first_workspace().await?],
        Some(words) => {
            let mut found = Vec::new();
            for word in words {
                found.push(app.workspace(&caller, &word).await?.workspace.id);
            }
            found
        }
    };
    let role = new.role.unwrap_or(Role::Member);
    let id = app.store.add_person(Some(&email), &wanted, role, &workspaces).await?;
    app.give_builtins().await?;
    let invite = invite(&app, id).await?;
    app.note_by(caller.person, "people.invite", &email, Some(&json!({ "role": role }))).await;
    let person = Person::of(find(&app, &caller, &id.to_string()).await?);
    Ok((StatusCode::CREATED, Json(Invited { person, invite })))
}

pub async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Person>> {
    Ok(Json(Person::of(find(&app, &caller, &id).await?)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    name: Option<String>,
    email: Option<String>,
    role: Option<Role>,
}

pub async fn change(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<Json<Person>> {
    caller.require_admin()?;
    let change: Change = body(&bytes)?;
    let row = find(&app, &caller, &id).await?;
    let wanted = change.name.unwrap_or_else(|| row.name.clone());
    name::check_name(&wanted)?;
    let email = change.email.map(|it| it.trim().to_owned()).or_else(|| row.email.clone());
    if let Some(email) = &email {
        check_email(email)?;
    }
    let role = change.role.unwrap_or(row.role);
    app.store.update_person(row.id, &wanted, email.as_deref(), role).await?;
    if role != row.role {
        app.end(&app.ways_in(row.id).await?);
    }
    let subject = email.as_deref().unwrap_or(&wanted);
    app.note_by(caller.person, "people.change", subject, Some(&json!({ "role": role }))).await;
    Ok(Json(Person::of(find(&app, &caller, &id).await?)))
}

/// Removes somebody with everything they own, and ends whatever runs for them.
pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    let row = find(&app, &caller, &id).await?;
    let instances = app.store.instances_of(row.id).await?;
    let ways_in = app.ways_in(row.id).await?;
    app.store.remove_person(row.id).await?;
    app.end(&ways_in);
    app.close_browsers(row.id);
    for instance in instances {
        app.hub.remove(instance.id).await;
    }
    app.note_admin(&caller, "people.remove", row.email.as_deref().unwrap_or(&row.name)).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Another link for somebody who lost the first, or their password.
pub async fn invite_again(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<Invite>> {
    let row = find(&app, &caller, &id).await?;
    let Some(email) = &row.email else {
        return Err(Error::Request("this person has no e-mail address".into()).into());
    };
    let invite = invite(&app, row.id).await?;
    app.note_admin(&caller, "people.invite", email).await;
    Ok(Json(invite))
}

#[derive(Deserialize)]
pub struct Wanted {
    limit: Option<u32>,
    before: Option<Uuid>,
}

/// `GET /api/admin/log`: who changed what, the latest first.
pub async fn log(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(wanted): Query<Wanted>,
) -> Answer<Json<Vec<AdminNote>>> {
    caller.require_admin()?;
    Ok(Json(app.store.notes(wanted.before, wanted.limit.unwrap_or(50).min(1000)).await?))
}
