//! Asking for tokens: the address a person is sent to, what comes back from there, and the token endpoint. How
//! requests are put together, PKCE included, is the `oauth2` crate's; how they travel is ours.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use oauth2::basic::{BasicClient, BasicRequestTokenError, BasicTokenResponse};
use oauth2::{
    AsyncHttpClient, AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet,
    EndpointSet, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, Scope, TokenResponse,
    TokenUrl,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use toolgrove_core::{Error, Secret};
use url::Url;

use super::discover::OFFLINE;
use super::{AuthMethod, Client, Provider};
use crate::web::fetch::{Fetch, Fetched};

/// What a provider gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub access: Secret,
    pub refresh: Option<Secret>,
    pub expires_in: Option<Duration>,
    /// None: what was asked for.
    pub scope: Option<String>,
}

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenFailure {
    /// The provider has said no, and would again.
    #[error("{whole}")]
    Refused {
        /// The provider's `error`.
        code: Option<String>,
        /// The provider's words.
        text: String,
        /// Status line and body.
        whole: String,
    },
    /// It could not be asked, or not now. Nobody knows whether it heard.
    #[error("{0}")]
    Away(String),
}

/// A secret for one sign-in, and what may be known of it.
#[derive(Debug)]
pub struct Pkce {
    pub verifier: Secret,
    pub challenge: String,
}

impl Pkce {
    pub fn random() -> Self {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        Self { verifier: Secret::new(verifier.into_secret()), challenge: challenge.as_str().to_owned() }
    }

    pub fn of(verifier: Secret) -> Self {
        let challenge = challenge(&verifier).as_str().to_owned();
        Self { verifier, challenge }
    }
}

fn challenge(verifier: &Secret) -> PkceCodeChallenge {
    PkceCodeChallenge::from_code_verifier_sha256(&PkceCodeVerifier::new(verifier.reveal().to_owned()))
}

/// Where a person goes to sign in.
pub fn authorization_url(
    provider: &Provider,
    client: &Client,
    redirect_uri: &str,
    scope: Option<&str>,
    state: &str,
    pkce: &Pkce,
) -> Result<Url, Error> {
    let redirect = redirect(redirect_uri)?;
    let oauth = BasicClient::new(ClientId::new(client.id.clone()))
        .set_auth_uri(AuthUrl::from_url(provider.authorization_endpoint.clone()))
        .set_redirect_uri(redirect);
    let scopes = scope.into_iter().flat_map(str::split_whitespace).map(|it| Scope::new(it.to_owned()));
    let mut request = oauth
        .authorize_url(|| CsrfToken::new(state.to_owned()))
        .set_pkce_challenge(challenge(&pkce.verifier))
        .add_scopes(scopes)
        .add_extra_param("resource", provider.resource.as_str());
    if scope.is_some_and(|it| it.split_whitespace().any(|it| it == OFFLINE)) {
        // OpenID providers forget the scope unless the person is asked.
        request = request.add_extra_param("prompt", "consent");
    }
    Ok(request.url().0)
}

/// What a provider sent a person back with.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Callback {
    pub state: Option<String>,
    pub code: Option<String>,
    pub iss: Option<String>,
    pub error: Option<String>,
    pub error_description: Option<String>,
}

impl Callback {
    /// The code, if this really comes from the provider that was asked. Nothing of an answer from elsewhere is shown.
    pub fn code(&self, issuer: &str, names_itself: bool) -> Result<Secret, Error> {
        let refused = |text: &str| Err(Error::OauthRefused(text.to_owned()));
        match &self.iss {
            Some(iss) if iss != issuer => {
                return refused("the answer is from another provider than the one asked");
            }
            None if names_itself => return refused("the provider did not say who it is"),
            _ => {}
        }
        if let Some(error) =
            self.error_description.as_ref().filter(|it| !it.is_empty()).or(self.error.as_ref())
        {
            return refused(error);
        }
        match self.code.as_deref().filter(|it| !it.is_empty()) {
            Some(code) => Ok(Secret::new(code)),
            None => refused("the provider sent no authorization code"),
        }
    }
}

/// Trades a code for tokens.
pub async fn exchange(
    fetch: &Fetch,
    endpoint: &Url,
    client: &Client,
    redirect_uri: &str,
    code: &Secret,
    verifier: &Secret,
    resource: &str,
) -> Result<Grant, TokenFailure> {
    let redirect = redirect(redirect_uri).map_err(|it| TokenFailure::Away(it.to_string()))?;
    let answer = oauth(endpoint, client)
        .exchange_code(AuthorizationCode::new(code.reveal().to_owned()))
        .set_pkce_verifier(PkceCodeVerifier::new(verifier.reveal().to_owned()))
        .set_redirect_uri(Cow::Owned(redirect))
        .add_extra_param("resource", resource)
        .request_async(&Way(fetch.clone()))
        .await;
    grant(answer)
}

/// Trades a refresh token for new tokens.
pub async fn refresh(
    fetch: &Fetch,
    endpoint: &Url,
    client: &Client,
    refresh: &Secret,
    resource: &str,
) -> Result<Grant, TokenFailure> {
    let refresh = RefreshToken::new(refresh.reveal().to_owned());
    let answer = oauth(endpoint, client)
        .exchange_refresh_token(&refresh)
        .add_extra_param("resource", resource)
        .request_async(&Way(fetch.clone()))
        .await;
    grant(answer)
}

type Oauth = BasicClient<EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

fn oauth(endpoint: &Url, client: &Client) -> Oauth {
    let oauth = BasicClient::new(ClientId::new(client.id.clone()))
        .set_token_uri(TokenUrl::from_url(endpoint.clone()))
        .set_auth_type(match client.method {
            AuthMethod::Basic => AuthType::BasicAuth,
            AuthMethod::Post | AuthMethod::None => AuthType::RequestBody,
        });
    match (&client.secret, client.method) {
        (Some(secret), AuthMethod::Basic | AuthMethod::Post) => {
            oauth.set_client_secret(ClientSecret::new(secret.reveal().to_owned()))
        }
        _ => oauth,
    }
}

fn redirect(uri: &str) -> Result<RedirectUrl, Error> {
    RedirectUrl::new(uri.to_owned()).map_err(|it| Error::Internal(format!("`{uri}` is not a URL: {it}")))
}

fn grant(
    answer: Result<BasicTokenResponse, BasicRequestTokenError<TokenFailure>>,
) -> Result<Grant, TokenFailure> {
    match answer {
        Ok(answer) => Ok(Grant {
            access: Secret::new(answer.access_token().secret().as_str()),
            refresh: answer.refresh_token().map(|it| Secret::new(it.secret().as_str())),
            expires_in: answer.expires_in(),
            scope: answer.scopes().map(|it| it.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(" ")),
        }),
        Err(BasicRequestTokenError::Request(failure)) => Err(failure),
        Err(BasicRequestTokenError::Parse(problem, _)) => {
            Err(unusable(&format!("its answer cannot be read: {problem}")))
        }
        Err(BasicRequestTokenError::ServerResponse(said)) => Err(unusable(&said.to_string())),
        Err(BasicRequestTokenError::Other(problem)) => Err(unusable(&problem)),
    }
}

/// How `oauth2` reaches a provider.
struct Way(Fetch);

impl<'c> AsyncHttpClient<'c> for Way {
    type Error = TokenFailure;
    type Future = BoxFuture<'c, Result<oauth2::HttpResponse, TokenFailure>>;

    fn call(&'c self, request: oauth2::HttpRequest) -> Self::Future {
        send(&self.0, request).boxed()
    }
}

async fn send(fetch: &Fetch, request: oauth2::HttpRequest) -> Result<oauth2::HttpResponse, TokenFailure> {
    let answer = fetch.send(request.map(Bytes::from)).await;
    let answer = answer.map_err(|it| TokenFailure::Away(it.to_string()))?;
    let body: Option<Map<String, Value>> = serde_json::from_slice(&answer.body).ok();
    let says_no = body.as_ref().is_some_and(|it| it.contains_key("error"));
    if !answer.status.is_success() || says_no {
        return Err(refused(&answer, body.as_ref()));
    }
    let tidy = tidy(body.unwrap_or_default())?;
    Ok(http::Response::new(tidy.to_string().into_bytes()))
}

/// What a refusal means. Only a provider that answers as one has refused: whatever stands before it may say
/// anything, and says nothing about the token.
fn refused(answer: &Fetched, body: Option<&Map<String, Value>>) -> TokenFailure {
    let member =
        |key: &str| body.and_then(|it| it.get(key)?.as_str()).filter(|it| !it.is_empty()).map(str::to_owned);
    let code = member("error");
    let is_passing =
        matches!(code.as_deref(), Some("temporarily_unavailable" | "server_error" | "slow_down"))
            || matches!(answer.status.as_u16(), 408 | 425 | 429)
            || answer.status.is_server_error();
    let is_final = code.is_some() || matches!(answer.status.as_u16(), 400 | 401);
    if is_passing || !is_final {
        return TokenFailure::Away(answer.whole());
    }
    let text = member("error_description").or_else(|| code.clone()).unwrap_or_else(|| answer.whole());
    TokenFailure::Refused { code, text, whole: answer.whole() }
}

/// Makes an answer what the standard says, where providers commonly fall short of it.
fn tidy(mut body: Map<String, Value>) -> Result<Value, TokenFailure> {
    let is_empty = |it: Option<&Value>| it.and_then(Value::as_str).is_none_or(str::is_empty);
    if is_empty(body.get("access_token")) {
        return Err(unusable("no access_token in the answer"));
    }
    match body.get("token_type").and_then(Value::as_str) {
        None => {
            body.insert("token_type".into(), "bearer".into());
        }
        Some(kind) if !kind.eq_ignore_ascii_case("bearer") => {
            return Err(unusable(&format!("tokens of the type `{kind}` are not supported")));
        }
        Some(_) => {}
    }
    match body.get("expires_in") {
        Some(Value::String(text)) => {
            let seconds = text.trim().parse::<u64>().map_or(Value::Null, Into::into);
            body.insert("expires_in".into(), seconds);
        }
        Some(Value::Number(number)) if number.as_u64().is_none() => {
            let seconds =
                number.as_f64().filter(|it| *it >= 0.0).map_or(Value::Null, |it| (it as u64).into());
            body.insert("expires_in".into(), seconds);
        }
        _ => {}
    }
    if let Some(Value::Array(scopes)) = body.get("scope") {
        let scopes: Vec<_> = scopes.iter().filter_map(Value::as_str).collect();
        body.insert("scope".into(), scopes.join(" ").into());
    }
    if is_empty(body.get("refresh_token")) {
        body.remove("refresh_token");
    }
    Ok(Value::Object(body))
}

fn unusable(text: &str) -> TokenFailure {
    TokenFailure::Refused { code: None, text: text.to_owned(), whole: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_code(callback: Value, names_itself: bool, expected: Result<&str, &str>) {
        let callback: Callback = serde_json::from_value(callback).unwrap();
        let found = callback.code("https://a", names_itself).map_err(|it| it.to_string());
        assert_eq!(found.as_ref().map(Secret::reveal).map_err(String::as_str), expected);
    }

    #[test]
    fn an_answer_counts_only_if_it_is_from_the_provider_that_was_asked() {
        let other = Err("the answer is from another provider than the one asked");
        check_code(json!({ "code": "c" }), false, Ok("c"));
        check_code(json!({ "code": "c", "iss": "https://a" }), true, Ok("c"));
        check_code(json!({ "code": "c" }), true, Err("the provider did not say who it is"));
        check_code(json!({ "code": "c", "iss": "https://a/" }), false, other);
        check_code(json!({ "error": "shown to nobody", "iss": "https://evil" }), false, other);
        check_code(
            json!({ "error": "access_denied", "error_description": "not you" }),
            false,
            Err("not you"),
        );
        check_code(json!({ "error": "access_denied", "error_description": "" }), false, Err("access_denied"));
        check_code(json!({ "code": "" }), false, Err("the provider sent no authorization code"));
    }

    #[track_caller]
    fn check_refusal(status: u16, body: &str, expected: Result<&str, &str>) {
        let status = http::StatusCode::from_u16(status).unwrap();
        let reason = status.canonical_reason().unwrap().to_owned();
        let answer =
            Fetched { status, reason, headers: http::HeaderMap::new(), body: body.to_owned().into() };
        let body: Option<Map<String, Value>> = serde_json::from_str(body).ok();
        let found = match refused(&answer, body.as_ref()) {
            TokenFailure::Refused { text, .. } => Ok(text),
            TokenFailure::Away(text) => Err(text),
        };
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn only_a_provider_that_answers_as_one_has_refused() {
        check_refusal(
            400,
            r#"{"error":"invalid_grant","error_description":"it was revoked"}"#,
            Ok("it was revoked"),
        );
        check_refusal(400, r#"{"error":"invalid_grant"}"#, Ok("invalid_grant"));
        check_refusal(401, "", Ok("HTTP 401 Unauthorized"));
        check_refusal(403, r#"{"error":"unauthorized_client"}"#, Ok("unauthorized_client"));
        check_refusal(403, "<h1>blocked</h1>", Err("HTTP 403 Forbidden: <h1>blocked</h1>"));
        check_refusal(404, "", Err("HTTP 404 Not Found"));
        check_refusal(
            429,
            r#"{"error":"slow_down"}"#,
            Err(r#"HTTP 429 Too Many Requests: {"error":"slow_down"}"#),
        );
        check_refusal(
            503,
            r#"{"error":"invalid_grant"}"#,
            Err(r#"HTTP 503 Service Unavailable: {"error":"invalid_grant"}"#),
        );
        check_refusal(
            400,
            r#"{"error":"temporarily_unavailable"}"#,
            Err(r#"HTTP 400 Bad Request: {"error":"temporarily_unavailable"}"#),
        );
    }

    #[test]
    fn answers_that_fall_short_of_the_standard_are_understood() {
        let body =
            json!({ "access_token": "a", "expires_in": "3600", "scope": ["x", "y"], "refresh_token": null });
        let tidied = tidy(body.as_object().unwrap().clone()).unwrap();
        let expected =
            json!({ "access_token": "a", "expires_in": 3600, "scope": "x y", "token_type": "bearer" });
        assert_eq!(tidied, expected);
        for (body, problem) in [
            (json!({}), "no access_token in the answer"),
            (json!({ "access_token": "" }), "no access_token in the answer"),
            (
                json!({ "access_token": "a", "token_type": "DPoP" }),
                "tokens of the type `DPoP` are not supported",
            ),
        ] {
            assert_eq!(tidy(body.as_object().unwrap().clone()).unwrap_err().to_string(), problem);
        }
    }
}
