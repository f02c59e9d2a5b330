//! Signing in to servers of other people, in a person's name. [`App::connect`] sends them to the provider, what comes
//! back ends in [`App::finish_sign_in`]; everything in between is in the store, so a restart loses nothing and any
//! replica can go on. The [`Keyring`] keeps what was given.

mod keyring;
mod pages;
mod rows;

use std::sync::Arc;
use std::time::Duration;

use toolgrove_core::call::Caller;
use toolgrove_core::instance::{HttpReach, Transport};
use toolgrove_core::offer::Offer;
use toolgrove_core::{Error, Secret};
use toolgrove_store::{AuthConfigRow, InstanceRow, OauthClientRow, OauthTokenRow, PendingRow, Wants};
use toolgrove_upstream::Fetch;
use toolgrove_upstream::oauth::{
    self, Callback, Challenge, Client, Pkce, Provider, Registrar, Registration, TokenFailure,
};
use url::Url;
use uuid::Uuid;

pub use keyring::{Keyring, Replicas};
pub(crate) use pages::{button, callback, document, go, on_own_host, start};

use crate::App;
use crate::problem::store_error;

/// Where providers send people back to.
const CALLBACK: &str = "/ui/auth/mcp/callback";
/// The document about us, for providers that read it.
const DOCUMENT: &str = "/oauth/client.json";
/// How long a sign-in may take.
const GOOD_MS: i64 = 600_000;
/// How long somebody who comes back waits for the first list of tools.
const FIRST_LISTING: Duration = Duration::from_secs(10);

/// A sign-in that was begun.
pub(crate) struct Begun {
    /// Where the provider wants to see the person.
    pub(crate) url: Url,
    pub(crate) state: String,
}

/// A sign-in that did not come to its end, and whose it was, if that is known.
pub(crate) struct Unfinished {
    pub(crate) instance: Option<Uuid>,
    pub(crate) error: Error,
}

impl From<Error> for Unfinished {
    fn from(error: Error) -> Self {
        Self { instance: None, error }
    }
}

impl App {
    /// Begins to sign a person in to the server of their instance.
    pub(crate) async fn connect(
        self: &Arc<Self>,
        caller: &Caller,
        row: &InstanceRow,
        offer: &Offer,
    ) -> Result<Begun, Error> {
        let reach = reach(row, offer)?;
        if self.gate.base().ends_with(":0") {
            let problem = "providers send people back to the hub, so start it with `toolgrove serve` first";
            return Err(Error::Request(problem.into()));
        }
        let demand = self.demand(row, offer).await?;
        let fetch = self.hub.links().fetch().within(&offer.instance.hosts);
        let provider = oauth::discover(&fetch, &reach.url, Some(&demand.challenge())).await?;
        let told = self.told_scope(row).await?;
        let scope = provider.scope(demand.scope.as_deref(), told.as_deref());
        let client = self.client(&fetch, row, &provider, scope.as_deref()).await?;
        let (pkce, state) = (Pkce::random(), Uuid::new_v4().to_string());
        let redirect_uri = self.redirect_uri();
        let url =
            oauth::authorization_url(&provider, &client, &redirect_uri, scope.as_deref(), &state, &pkce)?;
        let pending = PendingRow {
            state: state.clone(),
            instance_id: row.id,
            person_id: caller.person,
            verifier: pkce.verifier,
            redirect_uri,
            issuer: provider.issuer,
            names_itself: provider.names_itself,
            token_endpoint: provider.token_endpoint.into(),
            client_id: client.id,
            resource: provider.resource,
            scope,
            url: url.clone().into(),
            created_at: self.hub.now(),
        };
        self.store.add_pending(&pending).await.map_err(store_error)?;
        Ok(Begun { url, state })
    }

    /// What the server wants. One that has not been asked yet is asked now.
    async fn demand(self: &Arc<Self>, row: &InstanceRow, offer: &Offer) -> Result<oauth::Demand, Error> {
        if self.store.demand_of(row.id).await.map_err(store_error)?.is_none() {
            let _ = self.refresh(&offer.instance).await;
        }
        rows::demand(&self.store, row.id).await
    }

    /// What an admin wrote down for this server.
    async fn told_scope(&self, row: &InstanceRow) -> Result<Option<String>, Error> {
        let configs = self.store.auth_configs_of(row.server_id).await.map_err(store_error)?;
        let config =
            configs.iter().rfind(|it| it.kind == "oauth" && row.auth_config_id.is_none_or(|id| id == it.id));
        Ok(config.and_then(|it| it.scopes.as_ref()).and_then(|it| match it {
            serde_json::Value::Array(scopes) => {
                Some(scopes.iter().filter_map(|it| it.as_str()).collect::<Vec<_>>().join(" "))
            }
            other => other.as_str().map(str::to_owned),
        }))
    }

    /// Who we are at a provider: a client that was entered, else one that we register.
    async fn client(
        &self,
        fetch: &Fetch,
        row: &InstanceRow,
        provider: &Provider,
        scope: Option<&str>,
    ) -> Result<Client, Error> {
        let (store, issuer) = (&self.store, provider.issuer.as_str());
        if let Some(mut entered) = self.entered_client(row, issuer).await? {
            let client = rows::of_row(&entered, Some(provider));
            if entered.auth_method.is_none() {
                entered.auth_method = Some(client.method.as_str().into());
                store.put_oauth_client(&entered).await.map_err(store_error)?;
            }
            return Ok(client);
        }
        let registrar = self.registrar();
        let known =
            store.registered_oauth_client(issuer, &registrar.redirect_uri).await.map_err(store_error)?;
        let known = match known {
            // Whoever was sent there and did not come back may have been told that the client is unknown.
            Some(it) if store.is_pending(row.id, issuer, &it.client_id).await.map_err(store_error)? => None,
            known => known.map(|it| rows::of_row(&it, Some(provider))),
        };
        let was_known = known.as_ref().map(|it| it.id.clone());
        let client = oauth::register(fetch, provider, &registrar, scope, known).await?;
        if was_known.as_ref() != Some(&client.id) {
            let is_new = client.registration == Registration::Dynamic
                || store.oauth_client(issuer, &client.id).await.map_err(store_error)?.is_none();
            if is_new {
                rows::keep_client(store, issuer, &client, &registrar.redirect_uri).await?;
            }
        }
        Ok(client)
    }

    /// The client that an admin entered: the one of the instance's own way to sign in, else any of the issuer.
    async fn entered_client(&self, row: &InstanceRow, issuer: &str) -> Result<Option<OauthClientRow>, Error> {
        let config = self.auth_config(row).await.map_err(store_error)?;
        let own = match config {
            Some(config) => self.client_of(&config).await?.filter(|it| it.issuer == issuer),
            None => None,
        };
        match own {
            Some(own) => Ok(Some(own)),
            None => self.store.entered_oauth_client(issuer).await.map_err(store_error),
        }
    }

    /// The client that was entered with a way to sign in.
    pub(crate) async fn client_of(&self, config: &AuthConfigRow) -> Result<Option<OauthClientRow>, Error> {
        let text = |key: &str| config.endpoints.as_ref().and_then(|it| it[key].as_str());
        match (text("issuer"), text("client_id")) {
            (Some(issuer), Some(id)) => self.store.oauth_client(issuer, id).await.map_err(store_error),
            _ => Ok(None),
        }
    }

    fn registrar(&self) -> Registrar {
        let document = self.document_url().and_then(|it| it.parse().ok());
        Registrar { redirect_uri: self.redirect_uri(), document, prefer: self.config.oauth_prefer }
    }

    /// The address of the document about us, if providers can reach it.
    fn document_url(&self) -> Option<String> {
        let is_public = self.config.public_url.as_ref().is_some_and(|it| it.scheme() == "https");
        is_public.then(|| format!("{}{DOCUMENT}", self.gate.base()))
    }

    fn redirect_uri(&self) -> String {
        format!("{}{CALLBACK}", self.gate.base())
    }

    /// Takes what a provider sent a person back with, and trades it for tokens.
    pub(crate) async fn finish_sign_in(
        self: &Arc<Self>,
        caller: &Caller,
        callback: &Callback,
    ) -> Result<(), Unfinished> {
        let Some(state) = callback.state.as_deref().filter(|it| !it.is_empty()) else {
            return Err(Error::OauthRefused("the provider sent no state; start again".into()).into());
        };
        let pending = self.store.take_pending(caller.person, state).await.map_err(store_error)?;
        let pending = pending.filter(|it| caller.may_use(it.instance_id)).ok_or(Error::OauthStateUnknown)?;
        let unfinished = |error| Unfinished { instance: Some(pending.instance_id), error };
        if self.hub.now() - pending.created_at > GOOD_MS {
            return Err(unfinished(Error::OauthStateExpired));
        }
        let code = match callback.code(&pending.issuer, pending.names_itself) {
            Ok(code) => code,
            Err(error) => {
                self.forget_refused_scope(&pending, callback).await;
                return Err(unfinished(error));
            }
        };
        self.exchange(&pending, &code).await.map_err(unfinished)?;
        self.keyring.forget(pending.instance_id);
        let offer = self.reload(caller.person, pending.instance_id).await.map_err(unfinished)?;
        // A server that is slow, or away, is listed later.
        let _ = tokio::time::timeout(FIRST_LISTING, self.refresh(&offer.instance)).await;
        Ok(())
    }

    async fn exchange(self: &Arc<Self>, pending: &PendingRow, code: &Secret) -> Result<(), Error> {
        let (store, gone) = (&self.store, || Error::OauthStateUnknown);
        let client = rows::client(store, &pending.issuer, &pending.client_id).await?.ok_or_else(gone)?;
        let endpoint: Url = pending.token_endpoint.parse().map_err(|_| gone())?;
        let asked_at = self.hub.now();
        let offer = match self.hub.offer(pending.instance_id) {
            Some(offer) => offer,
            // Another hub on the same store began this, and made the instance.
            None => self.reload(pending.person_id, pending.instance_id).await?,
        };
        let fetch = self.hub.links().fetch().within(&offer.instance.hosts);
        let (redirect_uri, verifier) = (&pending.redirect_uri, &pending.verifier);
        let grant =
            oauth::exchange(&fetch, &endpoint, &client, redirect_uri, code, verifier, &pending.resource)
                .await;
        let grant = match grant {
            Ok(grant) => grant,
            Err(failure) => {
                if let TokenFailure::Refused { code, .. } = &failure {
                    rows::drop_refused_client(store, &pending.issuer, &pending.client_id, code.as_deref())
                        .await;
                }
                return Err(Error::OauthExchange(failure.to_string()));
            }
        };
        let token = OauthTokenRow {
            instance_id: pending.instance_id,
            issuer: pending.issuer.clone(),
            client_id: pending.client_id.clone(),
            token_endpoint: pending.token_endpoint.clone(),
            resource: pending.resource.clone(),
            expires_at: rows::expires_at(asked_at, &grant),
            access: grant.access,
            refresh: grant.refresh,
            taken_at: None,
            scope: grant.scope.or_else(|| pending.scope.clone()),
            problem: None,
            created_at: asked_at,
            updated_at: asked_at,
        };
        if store.put_oauth_token(&token).await.map_err(store_error)? {
            Ok(())
        } else {
            Err(Error::UnknownInstance { id: pending.instance_id.to_string() })
        }
    }

    /// Scopes that a provider does not know are not asked for again, whoever wanted them.
    async fn forget_refused_scope(&self, pending: &PendingRow, callback: &Callback) {
        if callback.error.as_deref() == Some("invalid_scope")
            && let Err(error) = self.store.remove_demand(pending.instance_id).await
        {
            tracing::warn!(?error, "a refused scope was not forgotten");
        }
    }
}

/// Remembers that a server let nobody in, and what it wants instead.
pub(crate) async fn barred(
    store: &toolgrove_store::Store,
    instance: Uuid,
    error: &Error,
) -> Result<(), Error> {
    if let Error::NeedsReauth { status: Some(401), challenge: Some(challenge), .. } = error
        && let Some(challenge) = Challenge::parse(challenge)
    {
        let mut demand = rows::demand(store, instance).await?;
        demand.hear(&challenge);
        rows::put_demand(store, instance, &demand).await?;
    }
    let wants = if error.wants_sign_in() { Wants::SignIn } else { Wants::Credentials };
    store.bar_instance(instance, &error.to_string(), wants).await.map_err(store_error)?;
    Ok(())
}

/// Where the server is, if it is one that people sign in to.
fn reach<'a>(row: &InstanceRow, offer: &'a Offer) -> Result<&'a HttpReach, Error> {
    let slug = &row.slug;
    if row.auth_type == "header" {
        return Err(Error::Request(format!(
            "`{slug}` uses credentials of its own; set its `auth_type` to `oauth` first"
        )));
    }
    match &offer.instance.transport {
        Transport::Http(reach) | Transport::Sse(reach) => Ok(reach),
        Transport::Impossible { problem, .. } => Err(Error::Request(problem.clone())),
        Transport::Stdio(_) | Transport::Unix(_) | Transport::Builtin | Transport::Bud(_) => {
            Err(Error::Request(format!("`{slug}` has no URL, so there is nothing to sign in to")))
        }
    }
}
