//! `/api`: what the command line, the page and scripts use. Every answer carries all its caller needs.

pub mod account;
pub mod auth_configs;
pub mod buds;
pub mod bundles;
pub mod call;
pub mod calls;
pub mod chats;
pub mod connect;
pub mod convert;
pub mod events;
pub mod files;
pub mod icons;
pub mod instances;
pub mod invoke;
pub mod key;
pub mod models;
pub mod oauth;
pub mod people;
pub mod pins;
pub mod plans;
pub mod preview;
pub mod registry;
pub mod seen;
pub mod servers;
pub mod status;
pub mod tabs;
pub mod text;
pub mod tokens;
pub mod turns;
pub mod workspaces;

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use serde::de::DeserializeOwned;
use toolgrove_core::Error;
use toolgrove_core::call::Caller;
use toolgrove_core::health::{Access, Facts, Health, LinkState};
use toolgrove_core::hub;
use toolgrove_core::instance::{Switch, Transport};
use toolgrove_core::offer::Offer;

use crate::App;
use crate::problem::Answer;

/// Prometheus text. It speaks of everybody's servers, so it is for admins.
pub async fn metrics(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<String> {
    caller.require_admin()?;
    Ok(app.metrics.render())
}

/// Reads a JSON body; what is wrong with it is said in one sentence.
pub fn body<T: DeserializeOwned>(bytes: &Bytes) -> Result<T, Error> {
    serde_json::from_slice(bytes)
        .map_err(|problem| Error::Request(format!("the body cannot be read: {problem}")))
}

/// How an instance is doing, computed by the one function that knows. `status` is what the store last heard.
pub fn health(app: &App, offer: &Offer, status: &str) -> Health {
    let state = app.hub.state(offer.instance.id);
    let access = match (&offer.instance.transport, status) {
        (Transport::Impossible { problem, .. }, _) if problem.starts_with("not set") => Access::Setup,
        (_, "not_ready") => Access::SignIn,
        (_, "needs_reauth") => Access::Reauth,
        _ => Access::Granted,
    };
    let is_process = matches!(offer.instance.transport, Transport::Stdio(_));
    let link = match state {
        // Whose link it is stands beside it.
        hub::LinkState::Failed(Error::Unreachable { cause, .. }) => LinkState::Failed { why: cause },
        hub::LinkState::Failed(error) => LinkState::Failed { why: error.to_string() },
        hub::LinkState::Opening => LinkState::Starting,
        hub::LinkState::Idle if is_process => LinkState::Idle,
        hub::LinkState::Idle | hub::LinkState::Open => LinkState::Open,
    };
    let link = match (&offer.instance.transport, link) {
        (Transport::Impossible { problem, .. }, _) => LinkState::Failed { why: problem.clone() },
        (_, link) => link,
    };
    let facts = Facts {
        enabled: matches!(offer.instance.switch, Switch::On | Switch::Duplicate { .. }),
        duplicate_of: match &offer.instance.switch {
            Switch::Duplicate { of } => Some(of.clone()),
            _ => None,
        },
        access,
        link,
        tools: offer.listed().count(),
        tools_off: offer.listed().filter(|it| !it.enabled).count(),
        tools_changed: offer.drifted().count(),
        last_call: app.hub.log().last_call(offer.instance.id),
    };
    toolgrove_core::health::health(&facts, app.hub.now())
}

/// A word that is to stay, to go, or to be another.
#[derive(Default)]
pub(crate) enum Said {
    #[default]
    Absent,
    Null,
    Word(String),
}

impl<'de> serde::Deserialize<'de> for Said {
    fn deserialize<D: serde::Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        <Option<String> as serde::Deserialize>::deserialize(value).map(|it| it.map_or(Self::Null, Self::Word))
    }
}
