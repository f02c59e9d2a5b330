//! Adding and changing instances: names, slugs, and what they show their server.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use toolgrove_core::auth::AuthType;
use toolgrove_core::call::Caller;
use toolgrove_core::catalog::usable;
use toolgrove_core::instance::Transport;
use toolgrove_core::offer::Offer;
use toolgrove_core::{Error, Secret, name};
use toolgrove_store::{InstanceRow, Secrets, ServerRow};
use uuid::Uuid;

use super::{Whole, find, whole};
use crate::App;
use crate::api::{body, servers};
use crate::problem::{Answer, store_error};
use crate::registry::auth::{self, Choice};
use crate::registry::builtin::is_reserved;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    server_id: Option<String>,
    slug: Option<String>,
    name: Option<String>,
    #[serde(default)]
    description: String,
    auth_type: Option<AuthType>,
    auth_config_id: Option<Uuid>,
    /// Values for what the server's admin has named, by key.
    credentials: Option<Value>,
}

pub async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    bytes: Bytes,
) -> Answer<(StatusCode, Json<Whole>)> {
    let new: New = body(&bytes)?;
    let word = new.server_id.ok_or_else(|| Error::RequestMissing(vec!["server_id".into()]))?;
    let server = servers::find(&app, &caller, &word).await?;
    if !server.enabled {
        return Err(Error::ServerOff { server: server.name }.into());
    }
    let slug = if let Some(slug) = new.slug {
        slug
    } else {
        let wanted = name::default_slug(&server.endpoint);
        let wanted = if wanted.is_empty() { name::slug_from_name(&server.name) } else { wanted };
        app.free_slug(caller.person, &wanted).await?
    };
    check_slug(&slug)?;
    let mut row = InstanceRow::new(caller.person, server.id, &slug);
    row.name = new.name.unwrap_or_else(|| server.name.clone());
    name::check_name(&row.name)?;
    name::check_description(&new.description)?;
    row.description = new.description;
    let configs = app.store.auth_configs_of(server.id).await?;
    let choice = Choice::among(&server, configs, new.auth_type, new.auth_config_id)?;
    let given = auth::accept(&server, &choice.named(&server), pairs(new.credentials)?.unwrap_or_default())?;
    choice.put(&mut row);
    row.status = choice.status(&server, &given).into();
    app.store.add_instance_with(&row, &given).await?;
    let row = follow(&app, &caller, &row).await?;
    Ok((StatusCode::CREATED, Json(row)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceChange {
    enabled: Option<bool>,
    slug: Option<String>,
    name: Option<String>,
    description: Option<String>,
    auth_type: Option<AuthType>,
    auth_config_id: Option<Uuid>,
    /// All values from now on; absent: those that are there stay.
    credentials: Option<Value>,
}

impl InstanceChange {
    fn is_about_auth(&self) -> bool {
        self.auth_type.is_some() || self.auth_config_id.is_some() || self.credentials.is_some()
    }
}

pub async fn change(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<Json<Whole>> {
    let change: InstanceChange = body(&bytes)?;
    let (mut row, offer) = find(&app, &caller, &id).await?;
    if change.slug.as_ref().is_some_and(|it| *it != row.slug) || change.is_about_auth() {
        check_own(&offer)?;
    }
    let about_auth = change.is_about_auth();
    if let Some(slug) = change.slug.filter(|it| *it != row.slug) {
        check_slug(&slug)?;
        row.slug = slug;
    }
    if let Some(wanted) = change.name {
        name::check_name(&wanted)?;
        row.name = wanted;
    }
    if let Some(wanted) = change.description {
        name::check_description(&wanted)?;
        row.description = wanted;
    }
    if let Some(wanted) = change.enabled {
        row.enabled = wanted;
    }
    let secrets = if about_auth {
        let wanted = (change.auth_type, change.auth_config_id);
        change_auth(&app, &mut row, wanted, pairs(change.credentials)?).await?
    } else {
        Secrets::Keep
    };
    let forgets = matches!(secrets, Secrets::Forget(_));
    app.store.change_instance(&row, secrets).await?;
    if forgets {
        app.keyring.forget(row.id);
    }
    if about_auth {
        return Ok(Json(follow(&app, &caller, &row).await?));
    }
    let offer = app.reload(caller.person, row.id).await?;
    Ok(Json(whole(&app, &caller, row, &offer, None).await?))
}

/// What comes with the hub is neither renamed, nor removed, nor shown anything.
pub(super) fn check_own(offer: &Offer) -> Result<(), Error> {
    match offer.instance.transport {
        Transport::Builtin => Err(Error::InstanceBuiltin { slug: offer.instance.slug.clone() }),
        _ => Ok(()),
    }
}

/// Another way to show who one is makes worthless what was shown before; other values take the place of all.
async fn change_auth(
    app: &App,
    row: &mut InstanceRow,
    (auth_type, config): (Option<AuthType>, Option<Uuid>),
    given: Option<Vec<(String, Secret)>>,
) -> Result<Secrets, Error> {
    let server = server_of(app, row).await?;
    let before = Choice {
        auth_type: AuthType::parse(&row.auth_type),
        config: app.auth_config(row).await.map_err(store_error)?,
    };
    let stays = config.is_none() && auth_type.is_none_or(|it| it == before.auth_type);
    let choice = if stays {
        before.clone()
    } else {
        let configs = app.store.auth_configs_of(server.id).await.map_err(store_error)?;
        Choice::among(&server, configs, auth_type, config)?
    };
    if choice == before && given.is_none() {
        return Ok(Secrets::Keep);
    }
    let given = auth::accept(&server, &choice.named(&server), given.unwrap_or_default())?;
    choice.put(row);
    if choice == before {
        if choice.auth_type != AuthType::Oauth {
            row.status = choice.status(&server, &given).into();
            row.last_error = None;
        }
        return Ok(Secrets::Replace(given));
    }
    row.status = choice.status(&server, &given).into();
    row.last_error = None;
    Ok(Secrets::Forget(given))
}

async fn server_of(app: &App, row: &InstanceRow) -> Result<ServerRow, Error> {
    let server = app.store.server(row.server_id).await.map_err(store_error)?;
    server.ok_or_else(|| Error::UnknownInstance { id: row.id.to_string() })
}

/// Brings the hub in step and asks the server. One that is away does not keep anybody from having an instance of it.
async fn follow(app: &Arc<App>, caller: &Caller, row: &InstanceRow) -> Result<Whole, Error> {
    let offer = app.reload(caller.person, row.id).await?;
    if usable(&offer.instance).is_ok() {
        let _ = app.refresh(&offer.instance).await;
    }
    let (row, offer) = find(app, caller, &row.id.to_string()).await?;
    whole(app, caller, row, &offer, None).await
}

fn check_slug(slug: &str) -> Result<(), Error> {
    name::check_slug(slug)?;
    if is_reserved(slug) {
        return Err(Error::SlugTaken { slug: slug.to_owned() });
    }
    Ok(())
}

/// Credentials as an object, or as a list of `{key, value}`. None and null mean that nothing is said about them.
fn pairs(given: Option<Value>) -> Result<Option<Vec<(String, Secret)>>, Error> {
    let wrong = || Error::Request("`credentials` must be an object, or a list of `{key, value}`".into());
    let text = |value: Value| match value {
        Value::String(text) => Ok(Secret::new(text)),
        Value::Number(number) => Ok(Secret::new(number.to_string())),
        _ => Err(Error::Request("a credential must be a text".into())),
    };
    match given {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(map)) => {
            map.into_iter().map(|(key, value)| Ok((key, text(value)?))).collect::<Result<_, _>>().map(Some)
        }
        Some(Value::Array(list)) => list
            .into_iter()
            .map(|mut it| match it["key"].as_str().map(str::to_owned) {
                Some(key) => Ok((key, text(it["value"].take())?)),
                None => Err(wrong()),
            })
            .collect::<Result<_, _>>()
            .map(Some),
        Some(_) => Err(wrong()),
    }
}
