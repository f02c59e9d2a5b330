//! How we are known to a provider: by a client that an admin entered, by registering ourselves (RFC 7591), or by a
//! document about us that the provider reads.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use toolgrove_core::config::OauthPrefer;
use toolgrove_core::{Error, Secret};
use url::Url;

use super::{Provider, is_loopback};
use crate::web::JSON;
use crate::web::fetch::{Fetch, Fetched, request};

/// Who we are at one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    pub id: String,
    pub secret: Option<Secret>,
    pub method: AuthMethod,
    pub registration: Registration,
    /// When the secret ends, in Unix seconds.
    pub expires_at: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    Dynamic,
    Document,
    Preregistered,
}

impl Registration {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dynamic => "dynamic",
            Self::Document => "document",
            Self::Preregistered => "preregistered",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        [Self::Dynamic, Self::Document, Self::Preregistered].into_iter().find(|it| it.as_str() == word)
    }
}

/// How a client shows who it is at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthMethod {
    None,
    Basic,
    Post,
}

impl AuthMethod {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        [Self::None, Self::Basic, Self::Post].into_iter().find(|it| it.as_str() == word)
    }

    /// As it was registered, else as the provider takes it.
    pub fn of(registered: Option<&str>, secret: Option<&Secret>, supported: Option<&[String]>) -> Self {
        if secret.is_none() {
            return Self::None;
        }
        let takes = |method: Self| supported.is_some_and(|it| it.iter().any(|it| it == method.as_str()));
        let by_metadata = || [Self::Basic, Self::Post, Self::None].into_iter().find(|it| takes(*it));
        registered.and_then(Self::parse).or_else(by_metadata).unwrap_or(Self::Basic)
    }
}

/// What one hub says about itself wherever it registers.
#[derive(Debug, Clone)]
pub struct Registrar {
    pub redirect_uri: String,
    /// The address of the document about us, if providers can read it.
    pub document: Option<Url>,
    pub prefer: OauthPrefer,
}

impl Registrar {
    /// The ways to become known to a provider, in the order they are tried.
    pub fn ways(&self, provider: &Provider) -> Vec<Registration> {
        let dynamic = provider.registration_endpoint.is_some().then_some(Registration::Dynamic);
        let document =
            (provider.takes_documents && self.document.is_some()).then_some(Registration::Document);
        let both = match self.prefer {
            OauthPrefer::Dynamic => [dynamic, document],
            OauthPrefer::Document => [document, dynamic],
        };
        both.into_iter().flatten().collect()
    }
}

/// What we say about ourselves, to a registration endpoint or in the document.
pub fn metadata(redirect_uri: &str, scope: Option<&str>) -> Value {
    let is_local = Url::parse(redirect_uri).is_ok_and(|it| is_loopback(&it));
    let mut body = json!({
        "client_name": "Toolgrove",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": AuthMethod::None.as_str(),
        "application_type": if is_local { "native" } else { "web" },
    });
    if let Some(scope) = scope {
        body["scope"] = scope.into();
    }
    body
}

/// Becomes known to a provider in the first way that works. A client that `registered` before is not registered again.
pub async fn register(
    fetch: &Fetch,
    provider: &Provider,
    registrar: &Registrar,
    scope: Option<&str>,
    mut registered: Option<Client>,
) -> Result<Client, Error> {
    let mut failure = None;
    for way in registrar.ways(provider) {
        let client = match (way, &registrar.document, &provider.registration_endpoint) {
            (Registration::Document, Some(document), _) => Ok(Client {
                id: document.to_string(),
                secret: None,
                method: AuthMethod::None,
                registration: way,
                expires_at: None,
            }),
            (Registration::Dynamic, _, Some(endpoint)) => match registered.take() {
                Some(client) => Ok(client),
                None => ask(fetch, endpoint, provider, &registrar.redirect_uri, scope).await,
            },
            _ => continue,
        };
        match client {
            Ok(client) => return Ok(client),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    Err(failure.unwrap_or_else(|| Error::OauthClientMissing { issuer: provider.issuer.clone() }))
}

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
    client_secret_expires_at: Option<i64>,
}

async fn ask(
    fetch: &Fetch,
    endpoint: &Url,
    provider: &Provider,
    redirect_uri: &str,
    scope: Option<&str>,
) -> Result<Client, Error> {
    let mut body = metadata(redirect_uri, scope);
    // A provider that says it does not take clients without a secret gets the first way it does take.
    if let Some(methods) = provider.auth_methods.as_ref().filter(|it| !it.iter().any(|it| it == "none"))
        && let Some(method) = methods.iter().find_map(|it| AuthMethod::parse(it))
    {
        body["token_endpoint_auth_method"] = method.as_str().into();
    }
    let mut answer = post(fetch, endpoint, &body).await?;
    // Some providers refuse a client for a scope they would have granted it.
    if answer.status == StatusCode::BAD_REQUEST
        && body.as_object_mut().is_some_and(|it| it.remove("scope").is_some())
    {
        let second = post(fetch, endpoint, &body).await?;
        if second.status.is_success() {
            answer = second;
        }
    }
    if !answer.status.is_success() {
        return Err(Error::OauthRegistration(answer.whole()));
    }
    let registered: Registered = serde_json::from_slice(&answer.body)
        .map_err(|_| Error::OauthRegistration("no client_id in the answer".into()))?;
    let secret = registered.client_secret.filter(|it| !it.is_empty()).map(Secret::new);
    let method = AuthMethod::of(
        registered.token_endpoint_auth_method.as_deref(),
        secret.as_ref(),
        provider.auth_methods.as_deref(),
    );
    Ok(Client {
        id: registered.client_id,
        secret,
        method,
        registration: Registration::Dynamic,
        expires_at: registered.client_secret_expires_at.filter(|it| *it > 0),
    })
}

async fn post(fetch: &Fetch, endpoint: &Url, body: &Value) -> Result<Fetched, Error> {
    let failed = |cause: crate::web::fetch::Unfetched| Error::OauthRegistration(cause.to_string());
    let mut request = request(Method::POST, endpoint, body.to_string()).map_err(failed)?;
    request.headers_mut().insert(CONTENT_TYPE, JSON);
    request.headers_mut().insert(ACCEPT, JSON);
    fetch.send(request).await.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        registered: Option<&str>,
        secret: Option<&str>,
        supported: Option<&[&str]>,
        expected: AuthMethod,
    ) {
        let supported = supported.map(|it| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        let found = AuthMethod::of(registered, secret.map(Secret::new).as_ref(), supported.as_deref());
        assert_eq!(found, expected, "{registered:?} {secret:?} {supported:?}");
    }

    #[test]
    fn a_client_shows_itself_as_registered_else_as_the_provider_takes_it() {
        let (basic, post) = ("client_secret_basic", "client_secret_post");
        check(None, None, Some(&[basic]), AuthMethod::None);
        check(Some(post), Some("s"), Some(&[basic]), AuthMethod::Post);
        check(Some("none"), Some("s"), Some(&[basic]), AuthMethod::None);
        check(None, Some("s"), None, AuthMethod::Basic);
        check(None, Some("s"), Some(&[post, "none"]), AuthMethod::Post);
        check(None, Some("s"), Some(&["none"]), AuthMethod::None);
        check(Some("private_key_jwt"), Some("s"), Some(&[post]), AuthMethod::Post);
    }
}
