//! What the store keeps of sign-ins ⇄ what the steps of a sign-in work with.

use toolgrove_core::Error;
use toolgrove_store::{DemandRow, OauthClientRow, Store};
use toolgrove_upstream::oauth::{AuthMethod, Client, Demand, Grant, Provider, Registration};
use uuid::Uuid;

use crate::problem::store_error;

/// A client that tokens or a sign-in under way belong to.
pub(crate) async fn client(store: &Store, issuer: &str, client_id: &str) -> Result<Option<Client>, Error> {
    let row = store.oauth_client(issuer, client_id).await.map_err(store_error)?;
    Ok(row.map(|it| of_row(&it, None)))
}

/// A stored client as this provider wants to be shown it.
pub(crate) fn of_row(row: &OauthClientRow, provider: Option<&Provider>) -> Client {
    let supported = provider.and_then(|it| it.auth_methods.as_deref());
    Client {
        id: row.client_id.clone(),
        secret: row.client_secret.clone(),
        method: AuthMethod::of(row.auth_method.as_deref(), row.client_secret.as_ref(), supported),
        registration: Registration::parse(&row.registration).unwrap_or(Registration::Preregistered),
        expires_at: row.expires_at.map(|it| it / 1000),
    }
}

/// Remembers a client that became known to an issuer.
pub(crate) async fn keep_client(
    store: &Store,
    issuer: &str,
    client: &Client,
    redirect_uri: &str,
) -> Result<(), Error> {
    let mut row = OauthClientRow::new(issuer, client.registration.as_str(), &client.id);
    row.client_secret.clone_from(&client.secret);
    row.auth_method = Some(client.method.as_str().into());
    row.redirect_uri = Some(redirect_uri.into());
    row.expires_at = client.expires_at.map(|it| it.saturating_mul(1000));
    store.put_oauth_client(&row).await.map_err(store_error)
}

/// A client that registered itself and that its provider no longer knows is registered again next time.
pub(crate) async fn drop_refused_client(store: &Store, issuer: &str, client_id: &str, code: Option<&str>) {
    if !matches!(code, Some("invalid_client" | "unauthorized_client")) {
        return;
    }
    let dropped = async {
        match store.oauth_client(issuer, client_id).await? {
            Some(row) if row.registration == Registration::Dynamic.as_str() => {
                store.remove_oauth_client(row.id).await
            }
            _ => Ok(false),
        }
    };
    if let Err(error) = dropped.await {
        tracing::warn!(?error, issuer, "a client that is no longer known was not forgotten");
    }
}

pub(crate) async fn demand(store: &Store, instance: Uuid) -> Result<Demand, Error> {
    let row = store.demand_of(instance).await.map_err(store_error)?.unwrap_or_default();
    Ok(Demand {
        resource_metadata: row.resource_metadata,
        scope: row.scope,
        rounds: u32::try_from(row.rounds).unwrap_or(u32::MAX),
    })
}

pub(crate) async fn put_demand(store: &Store, instance: Uuid, demand: &Demand) -> Result<(), Error> {
    let row = DemandRow {
        resource_metadata: demand.resource_metadata.clone(),
        scope: demand.scope.clone(),
        rounds: demand.rounds.into(),
    };
    store.put_demand(instance, &row).await.map_err(store_error)
}

/// When a token that was asked for at this time ends, in Unix milliseconds.
pub(crate) fn expires_at(asked_at: i64, grant: &Grant) -> Option<i64> {
    let lasts = i64::try_from(grant.expires_in?.as_millis()).unwrap_or(i64::MAX);
    Some(asked_at.saturating_add(lasts))
}
