//! Sign-in through an OpenID provider: authorization code with PKCE and nonce.
//!
//! A person is known by the provider's issuer and its `sub` for them. The first time, an admin's invitation decides:
//! the provider must say that the address the admin invited is theirs, and from then on the `sub` alone counts. A
//! browser that is sent away holds the code verifier in a cookie; the store knows its hash and the state's, for ten
//! minutes and one return.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::HeaderMap;
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreIdTokenClaims, CoreProviderMetadata, CoreUserInfoClaims,
};
use openidconnect::{
    AsyncHttpClient, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointMaybeSet, EndpointNotSet,
    EndpointSet, HttpRequest, HttpResponse, IssuerUrl, Nonce, OAuth2TokenResponse, PkceCodeChallenge,
    PkceCodeVerifier, RedirectUrl, Scope, TokenResponse,
};
use serde::Deserialize;
use tokio::time::Instant;
use toolgrove_core::Error;
use toolgrove_core::config::SignIn;
use toolgrove_store::PersonRow;
use toolgrove_upstream::{Fetch, Unfetched};

use super::forms::{arrive, onward, sign_in_page};
use super::secret;
use crate::App;
use crate::problem::{Refusal, store_error};

/// The cookie that a browser takes along.
const COOKIE: &str = "-sign-in";
const PENDING_MS: i64 = 600_000;
/// How long what a provider says about itself is believed.
const BELIEVED: Duration = Duration::from_secs(300);

type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// The provider people sign in with.
pub(crate) struct Oidc {
    issuer: IssuerUrl,
    client_id: ClientId,
    client_secret: Option<ClientSecret>,
    redirect: RedirectUrl,
    said: Mutex<Option<(Instant, CoreProviderMetadata)>>,
}

/// Who somebody is at the provider.
struct Identity {
    /// `<issuer> <sub>`.
    subject: String,
    /// An address the provider has checked.
    email: Option<String>,
}

impl Oidc {
    /// The provider of a configuration that names one.
    pub(super) fn new(sign_in: &SignIn, base: &str) -> Option<Self> {
        let issuer = IssuerUrl::new(sign_in.oidc_issuer.clone()?).ok()?;
        let secret = sign_in.client_secret.as_ref().map(|it| ClientSecret::new(it.reveal().to_owned()));
        Some(Self {
            issuer,
            client_id: ClientId::new(sign_in.client_id.clone()?),
            client_secret: secret,
            redirect: RedirectUrl::new(format!("{base}/ui/login/return")).ok()?,
            said: Mutex::default(),
        })
    }

    /// What people read on the button.
    pub(super) fn name(&self) -> &str {
        self.issuer.url().host_str().unwrap_or_default()
    }

    async fn client(&self, way: &Way) -> Result<Client, Error> {
        let known = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let metadata = match known {
            Some((at, metadata)) if at.elapsed() < BELIEVED => metadata,
            _ => {
                let metadata = CoreProviderMetadata::discover_async(self.issuer.clone(), way).await;
                let metadata = metadata.map_err(|it| failed("the provider cannot be asked", &it))?;
                let now = (Instant::now(), metadata.clone());
                *self.said.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
                metadata
            }
        };
        let client =
            CoreClient::from_provider_metadata(metadata, self.client_id.clone(), self.client_secret.clone());
        Ok(client.set_redirect_uri(self.redirect.clone()))
    }

    /// Trades a code for who came. Keys that changed since they were read are read again.
    async fn identify(&self, way: &Way, code: &str, verifier: &str, nonce: &str) -> Result<Identity, Error> {
        let client = self.client(way).await?;
        let answer = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .map_err(|it| failed("the provider has no token endpoint", &it))?
            .set_pkce_verifier(PkceCodeVerifier::new(verifier.to_owned()))
            .request_async(way)
            .await
            .map_err(|it| failed("the provider did not take its code back", &it))?;
        let token = answer.id_token().ok_or_else(|| refused("the provider sent no ID token"))?;
        let nonce = Nonce::new(nonce.to_owned());
        let claims = if let Ok(claims) = token.claims(&client.id_token_verifier(), &nonce) {
            claims.clone()
        } else {
            *self.said.lock().unwrap_or_else(PoisonError::into_inner) = None;
            let client = self.client(way).await?;
            let claims = token.claims(&client.id_token_verifier(), &nonce);
            claims.map_err(|it| failed("the provider's ID token is not good", &it))?.clone()
        };
        let subject = format!("{} {}", self.issuer.as_str(), claims.subject().as_str());
        let mut email = checked_email(&claims);
        if email.is_none()
            && let Ok(request) =
                client.user_info(answer.access_token().to_owned(), Some(claims.subject().clone()))
        {
            let info: Result<CoreUserInfoClaims, _> = request.request_async(way).await;
            let info = info.map_err(|it| failed("the provider does not say who this is", &it))?;
            email = info.email().filter(|_| info.email_verified() == Some(true)).map(|it| it.to_string());
        }
        Ok(Identity { subject, email })
    }
}

fn checked_email(claims: &CoreIdTokenClaims) -> Option<String> {
    claims.email().filter(|_| claims.email_verified() == Some(true)).map(|it| it.to_string())
}

/// The hub's own way out, as the library wants it.
struct Way(Fetch);

impl<'c> AsyncHttpClient<'c> for Way {
    type Error = Unfetched;
    type Future = BoxFuture<'c, Result<HttpResponse, Unfetched>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let answer = self.0.send(request.map(Bytes::from)).await?;
            let mut response = HttpResponse::new(answer.body.to_vec());
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            Ok(response)
        })
    }
}

fn refused(text: &str) -> Error {
    Error::SignIn(text.to_owned())
}

/// What went wrong, down to its cause.
fn failed(what: &str, error: &dyn std::error::Error) -> Error {
    let mut text = format!("{what}: {error}");
    let mut source = error.source();
    while let Some(it) = source {
        text = format!("{text}: {it}");
        source = it.source();
    }
    Error::SignIn(text)
}

#[derive(Deserialize)]
pub(crate) struct Leaving {
    #[serde(default)]
    next: String,
}

/// `GET /ui/login/provider`: sends the browser to the provider.
pub(crate) async fn go(State(app): State<Arc<App>>, Query(Leaving { next }): Query<Leaving>) -> Response {
    let Some(oidc) = &app.gate.oidc else {
        return Refusal(Error::NotFound("/ui/login/provider".into())).into_response();
    };
    match start(&app, oidc, onward(&next)).await {
        Ok(response) => response,
        Err(error) => shown(&app, &next, &error),
    }
}

async fn start(app: &App, oidc: &Oidc, next: &str) -> Result<Response, Error> {
    let client = oidc.client(&Way(app.hub.links().fetch().clone())).await?;
    let (state, nonce, verifier) = (secret::fresh(""), secret::fresh(""), secret::fresh(""));
    let challenge = PkceCodeVerifier::new(verifier.reveal().to_owned());
    let challenge = PkceCodeChallenge::from_code_verifier_sha256(&challenge);
    let hash = |it: &str| secret::stored(&secret::hash(it));
    let kept =
        app.store.add_oidc(&hash(state.reveal()), &hash(verifier.reveal()), nonce.reveal(), next).await;
    kept.map_err(store_error)?;
    let (url, _, _) = client
        .authorize_url(
            CoreAuthenticationFlow::AuthorizationCode,
            move || CsrfToken::new(state.reveal().to_owned()),
            move || Nonce::new(nonce.reveal().to_owned()),
        )
        .add_scope(Scope::new("email".into()))
        .set_pkce_challenge(challenge)
        .url();
    let mut response = Redirect::to(url.as_str()).into_response();
    app.gate.cookies.set(&mut response, COOKIE, verifier.reveal(), PENDING_MS / 1000);
    Ok(response)
}

#[derive(Deserialize)]
pub(crate) struct Returning {
    state: Option<String>,
    code: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

/// `GET /ui/login/return`: where the provider sends the browser back to.
pub(crate) async fn back(
    State(app): State<Arc<App>>,
    Query(returning): Query<Returning>,
    headers: HeaderMap,
) -> Response {
    let mut response = match finish(&app, returning, &headers).await {
        Ok((person, next)) => arrive(&app, person.id, &next, &headers).await,
        Err(error) => shown(&app, "", &error),
    };
    app.gate.cookies.set(&mut response, COOKIE, "", 0);
    response
}

async fn finish(app: &App, returning: Returning, headers: &HeaderMap) -> Result<(PersonRow, String), Error> {
    const UNKNOWN: &str = "this sign-in is unknown or already used; start again";
    let oidc = app.gate.oidc.as_ref().ok_or_else(|| refused(UNKNOWN))?;
    let state = returning.state.ok_or_else(|| refused(UNKNOWN))?;
    let pending = app.store.take_oidc(&secret::stored(&secret::hash(&state))).await.map_err(store_error)?;
    let pending = pending.ok_or_else(|| refused(UNKNOWN))?;
    let verifier = app.gate.cookies.read(headers, COOKIE).unwrap_or_default();
    if !secret::same(&secret::stored(&secret::hash(verifier)), &pending.browser_hash) {
        return Err(refused(UNKNOWN));
    }
    if app.hub.now() - pending.created_at > PENDING_MS {
        return Err(refused("this sign-in has expired; start again"));
    }
    if returning.iss.is_some_and(|it| it != oidc.issuer.as_str()) {
        return Err(refused("another provider answered than the one that was asked"));
    }
    if let Some(error) = returning.error {
        let text = returning.error_description.unwrap_or(error);
        return Err(Error::SignIn(format!("the provider refused: {text}")));
    }
    let code = returning.code.ok_or_else(|| refused("the provider sent no authorization code"))?;
    let way = Way(app.hub.links().fetch().clone());
    let identity = oidc.identify(&way, &code, verifier, &pending.nonce).await?;
    Ok((app.person_of(&identity).await?, pending.next))
}

impl App {
    /// The person behind an identity: the one it is bound to, or the one who was invited by its address.
    async fn person_of(&self, identity: &Identity) -> Result<PersonRow, Error> {
        if let Some(person) = self.store.person_by_subject(&identity.subject).await.map_err(store_error)? {
            return Ok(person);
        }
        let Some(email) = &identity.email else {
            return Err(refused("the provider does not vouch for an e-mail address of yours"));
        };
        if let Some(person) = self.store.person_by_email(email).await.map_err(store_error)?
            && self.store.bind_subject(person.id, &identity.subject).await.map_err(store_error)?
        {
            self.note_by(person.id, "people.join", email, None).await;
            return Ok(person);
        }
        Err(Error::SignIn(format!("nobody here has this sign-in; ask an admin to invite `{email}`")))
    }
}

fn shown(app: &App, next: &str, error: &Error) -> Response {
    match error {
        Error::SignIn(text) => {
            tracing::info!("a sign-in through the provider failed: {text}");
            sign_in_page(app, next, "", Some((http::StatusCode::UNAUTHORIZED, text)))
        }
        error => Refusal(error.clone()).into_response(),
    }
}
