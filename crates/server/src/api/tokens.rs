//! `/api/tokens`: what a person's programs show to be let in. A token cannot make or see tokens.

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolgrove_core::call::Caller;
use toolgrove_core::name::{self, Profile};
use toolgrove_core::{Error, Secret};
use toolgrove_store::{InstanceRow, TokenRow};
use ts_rs::TS;
use uuid::Uuid;

use super::{body, instances};
use crate::App;
use crate::auth;
use crate::problem::Answer;

/// A token as the API shows it.
#[derive(Debug, Serialize, TS)]
pub struct Token {
    pub id: Uuid,
    pub name: String,
    /// `double` or `single`.
    pub names_profile: String,
    /// The instances it may use; null means all of its person.
    pub grants: Option<Vec<Grant>>,
    pub last_used_at: Option<i64>,
    pub created_at: i64,
}

#[derive(Debug, Serialize, TS)]
#[ts(rename = "TokenGrant")]
pub struct Grant {
    pub instance_id: Uuid,
    pub slug: String,
}

impl Grant {
    pub(super) fn of(instance: &InstanceRow) -> Self {
        Self { instance_id: instance.id, slug: instance.slug.clone() }
    }
}

impl Token {
    /// The tokens of a person that are good.
    pub(super) async fn all_of(app: &App, person: Uuid) -> Answer<Vec<Self>> {
        let instances = app.store.instances_of(person).await?;
        let rows = app.store.tokens_of(person).await?;
        Ok(rows.into_iter().map(|it| Self::of(it, &instances)).collect())
    }

    fn of(row: TokenRow, instances: &[InstanceRow]) -> Self {
        let granted = |ids: HashSet<Uuid>| {
            let them = instances.iter().filter(|it| ids.contains(&it.id));
            them.map(Grant::of).collect()
        };
        Self {
            id: row.id,
            name: row.name,
            names_profile: row.names_profile,
            grants: row.grants.map(granted),
            last_used_at: row.last_used_at,
            created_at: row.created_at,
        }
    }
}

/// The only time anybody sees what opens the doors.
#[derive(Debug, Serialize, TS)]
#[ts(rename = "NewToken")]
pub struct Made {
    pub token: String,
    #[serde(flatten)]
    pub row: Token,
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<Vec<Token>>> {
    caller.require_person()?;
    Ok(Json(Token::all_of(&app, caller.person).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    name: Option<String>,
    names_profile: Option<String>,
    /// Instances by id or slug; absent means all.
    grants: Option<Vec<String>>,
}

pub async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    bytes: Bytes,
) -> Answer<(StatusCode, Json<Made>)> {
    caller.require_person()?;
    let new: New = body(&bytes)?;
    let wanted = new.name.ok_or_else(|| Error::RequestMissing(vec!["name".into()]))?;
    name::check_name(&wanted)?;
    let profile = match new.names_profile {
        None => caller.profile,
        Some(word) => Profile::parse(&word).ok_or_else(|| {
            Error::Request(format!("`{word}` is not a name profile; expected `double` or `single`"))
        })?,
    };
    let grants = match new.grants {
        None => None,
        Some(words) => {
            let mut granted = HashSet::new();
            for word in words {
                granted.insert(instances::find(&app, &caller, &word).await?.0.id);
            }
            Some(granted)
        }
    };
    let secret: Secret = auth::fresh(auth::TOKEN);
    let row = TokenRow::new(caller.person, &wanted, profile.as_str(), grants);
    app.store.add_token(&row, &auth::stored(&auth::hash(secret.reveal()))).await?;
    let instances = app.store.instances_of(caller.person).await?;
    let made = Made { token: secret.reveal().to_owned(), row: Token::of(row, &instances) };
    Ok((StatusCode::CREATED, Json(made)))
}

pub async fn revoke(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    caller.require_person()?;
    let unknown = || Error::NotFound(format!("token {id}"));
    let token = Uuid::parse_str(&id).map_err(|_| unknown())?;
    if !app.store.revoke_token(caller.person, token).await? {
        return Err(unknown().into());
    }
    app.end(&HashSet::from([token]));
    Ok(StatusCode::NO_CONTENT)
}
