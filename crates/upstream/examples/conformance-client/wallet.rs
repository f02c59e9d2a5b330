//! Tokens in memory, and a person who signs in wherever they are sent.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::Request;
use http::header::LOCATION;
use serde_json::Value;
use toolgrove_core::config::OauthPrefer;
use toolgrove_core::instance::Instance;
use toolgrove_core::{Error, Secret};
use toolgrove_upstream::Fetch;
use toolgrove_upstream::oauth::{
    self, AuthMethod, Callback, Challenge, Client, Demand, Grant, Next, Pkce, Provider, Refusal, Registrar,
    Registration, Tokens,
};
use url::Url;

/// The document that the suite expects.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const CALLBACK: &str = "http://127.0.0.1:7430/ui/auth/mcp/callback";
const STATE: &str = "conformance";

#[derive(Debug, Default)]
pub(crate) struct Wallet(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    grant: Option<Grant>,
    demand: Demand,
    /// By issuer.
    clients: Vec<(String, Client)>,
}

impl Tokens for Wallet {
    fn bearer<'a>(&'a self, _: &'a Fetch, _: &'a Instance) -> BoxFuture<'a, Result<Option<Secret>, Error>> {
        let token = self.held().grant.as_ref().map(|it| it.access.clone());
        async { Ok(token) }.boxed()
    }

    fn refused<'a>(
        &'a self,
        _: &'a Fetch,
        _: &'a Instance,
        _: &'a Secret,
        refusal: Refusal,
    ) -> BoxFuture<'a, Result<Next, Error>> {
        let mut held = self.held();
        let granted = held.grant.as_ref().and_then(|it| it.scope.clone());
        let next = match refusal {
            Refusal::Unauthorized => Next::SignIn,
            Refusal::Scope(challenge) if held.demand.step_up(granted.as_deref(), &challenge) => Next::SignIn,
            Refusal::Scope(_) => Next::GiveUp,
        };
        async { Ok(next) }.boxed()
    }
}

impl Wallet {
    /// A client that somebody entered beforehand, as the suite hands it over.
    pub(crate) fn enter(&self, context: &str) {
        let context: Value = serde_json::from_str(context).unwrap_or_default();
        let text = |key: &str| context[key].as_str().map(str::to_owned);
        if let (Some(issuer), Some(id)) = (text("issuer"), text("client_id")) {
            let (secret, registration) =
                (text("client_secret").map(Secret::new), Registration::Preregistered);
            let method = AuthMethod::of(None, secret.as_ref(), None);
            self.held().clients.push((issuer, Client { id, secret, method, registration, expires_at: None }));
        }
    }

    /// Signs in as the server's challenge says.
    pub(crate) async fn sign_in(&self, fetch: &Fetch, server: &Url, challenge: &str) -> Result<(), Error> {
        if let Some(challenge) = Challenge::parse(challenge).filter(|it| !it.wants_scope()) {
            self.held().demand.hear(&challenge);
        }
        let demand = self.held().demand.clone();
        let provider = oauth::discover(fetch, server, Some(&demand.challenge())).await?;
        let scope = provider.scope(demand.scope.as_deref(), None);
        let client = self.client(fetch, &provider, scope.as_deref()).await?;
        let pkce = Pkce::random();
        let url = oauth::authorization_url(&provider, &client, CALLBACK, scope.as_deref(), STATE, &pkce)?;
        let callback = visit(fetch, &url).await?;
        if callback.state.as_deref() != Some(STATE) {
            return Err(Error::OauthStateUnknown);
        }
        let code = callback.code(&provider.issuer, provider.names_itself)?;
        let (endpoint, resource) = (&provider.token_endpoint, &provider.resource);
        let mut grant = oauth::exchange(fetch, endpoint, &client, CALLBACK, &code, &pkce.verifier, resource)
            .await
            .map_err(|it| Error::OauthExchange(it.to_string()))?;
        grant.scope = grant.scope.or(scope);
        self.held().grant = Some(grant);
        Ok(())
    }

    async fn client(&self, fetch: &Fetch, provider: &Provider, scope: Option<&str>) -> Result<Client, Error> {
        let known = self.held().clients.iter().find(|it| it.0 == provider.issuer).map(|it| it.1.clone());
        if let Some(client) = known {
            return Ok(client);
        }
        let document = DOCUMENT.parse().ok();
        let registrar = Registrar { redirect_uri: CALLBACK.into(), document, prefer: OauthPrefer::Document };
        let client = oauth::register(fetch, provider, &registrar, scope, None).await?;
        self.held().clients.push((provider.issuer.clone(), client.clone()));
        Ok(client)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Goes to the provider, whose page sends everybody straight back.
async fn visit(fetch: &Fetch, url: &Url) -> Result<Callback, Error> {
    let nowhere = || Error::OauthRefused("the provider sends nobody back".into());
    let request = Request::get(url.as_str()).body(Bytes::new()).map_err(|_| nowhere())?;
    let answer = fetch.send(request).await.map_err(|it| Error::OauthRefused(it.to_string()))?;
    let location = answer.headers.get(LOCATION).and_then(|it| it.to_str().ok());
    let location = location.and_then(|it| Url::parse(it).ok()).ok_or_else(nowhere)?;
    let mut callback = Callback::default();
    for (key, value) in location.query_pairs() {
        let place = match &*key {
            "state" => &mut callback.state,
            "code" => &mut callback.code,
            "iss" => &mut callback.iss,
            "error" => &mut callback.error,
            _ => continue,
        };
        *place = Some(value.into_owned());
    }
    Ok(callback)
}
