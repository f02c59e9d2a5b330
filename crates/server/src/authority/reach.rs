//! What a connected client's token opens, and what a refused one is told (RFC 6750, RFC 9728).

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderValue, Uri, header};
use toolgrove_core::Error;
use toolgrove_core::call::{Caller, Role};
use toolgrove_core::task;
use toolgrove_store::Found;

use super::metadata;
use super::resource::Resource;
use super::scope::Scopes;
use crate::App;
use crate::problem::{Refusal, store_error};

/// The bounds of a token: what it is for, and what it may do there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reach {
    resource: Resource,
    scopes: Scopes,
}

impl Reach {
    pub(crate) fn of(found: &Found) -> Option<Self> {
        let resource = Resource::with_path(&found.connection.resource)?;
        Some(Self { resource, scopes: Scopes::stored(&found.connection.scope) })
    }

    /// Whether a request to this path lies within it. A token for something else is no token here.
    pub(crate) fn check(&self, path: &str) -> Result<(), Error> {
        if !self.resource.covers(&Resource::behind(path)) {
            return Err(Error::AuthMissing);
        }
        let needed = Resource::needs(path);
        if self.scopes.has(needed) {
            return Ok(());
        }
        Err(Error::Scope { scopes: self.scopes.with(needed).to_string() })
    }
}

impl App {
    /// Who a connected client acts for: a member, whatever roles the person has.
    pub(crate) async fn connected(&self, found: &Found) -> Result<Caller, Error> {
        let connection = &found.connection;
        let grants = if connection.all_instances {
            None
        } else {
            Some(Arc::new(self.store.connection_grants(connection.id).await.map_err(store_error)?))
        };
        let (store, used) = (self.store.clone(), connection.clone());
        task::spawn("connection used", async move {
            if let Err(error) = store.touch_connection(&used).await {
                tracing::warn!(?error, "the use of a connection was not written down");
            }
        });
        Ok(Caller {
            person: connection.person_id,
            role: Role::Member,
            token: Some(connection.id),
            profile: self.config.names,
            grants,
        })
    }

    /// A refusal that tells a client where to get what it lacks. A solo hub has nothing to tell.
    pub(crate) fn refused(&self, error: Error, asking: &Asking) -> Response {
        let path = asking.uri.path();
        let challenge = match &error {
            Error::Scope { scopes } => Some((Some("insufficient_scope"), scopes.clone())),
            Error::AuthMissing => {
                let code = asking.has_token.then_some("invalid_token");
                Some((code, Resource::needs(path).as_str().to_owned()))
            }
            _ => None,
        };
        let mut response = Refusal(error).into_response();
        let Some((code, scopes)) = challenge else { return response };
        let mut text = "Bearer".to_owned();
        if self.has_people() {
            let (base, resource) = (self.address(asking.host.as_ref()), Resource::behind(path).path());
            let code = code.map(|it| format!("error=\"{it}\", ")).unwrap_or_default();
            let place = format!("{base}{}{resource}", metadata::OF_RESOURCE);
            text = format!("Bearer {code}resource_metadata=\"{place}\", scope=\"{scopes}\"");
        }
        if let Ok(value) = HeaderValue::from_str(&text) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}

/// What must be known of a request to refuse it well.
pub(crate) struct Asking {
    uri: Uri,
    host: Option<HeaderValue>,
    has_token: bool,
}

impl Asking {
    pub(crate) fn of(parts: &Parts) -> Self {
        Self {
            uri: parts.uri.clone(),
            host: parts.headers.get(header::HOST).cloned(),
            has_token: parts.headers.contains_key(header::AUTHORIZATION),
        }
    }
}
