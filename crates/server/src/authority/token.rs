//! `/oauth/token` and `/oauth/revoke`: a code or a refresh token becomes tokens, and tokens become nothing.
//!
//! A code is good for one try by its client. Both are traded in one statement of the store, so of two tries at once
//! only one succeeds; the other shows that somebody has what they should not have, and ends the connection.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use toolgrove_core::Secret;
use toolgrove_store::{ClientRow, ConnectionRow, Given, TokenPair};
use url::form_urlencoded;
use uuid::Uuid;

use super::params::Params;
use super::proof::Challenge;
use super::refusal::Refused;
use super::resource::Resource;
use crate::App;
use crate::auth;

/// What access tokens begin with.
pub(crate) const ACCESS: &str = "tgo_";
const REFRESH: &str = "tgr_";
const ACCESS_SECONDS: i64 = 60 * 60;
/// A connection that is not used for this long is over.
const REFRESH_SECONDS: i64 = 30 * 24 * 60 * 60;

/// `POST /oauth/token`.
pub(crate) async fn token(State(app): State<Arc<App>>, headers: HeaderMap, bytes: Bytes) -> Response {
    match trade(&app, &headers, &bytes).await {
        Ok(body) => {
            ([(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(body)).into_response()
        }
        Err(refused) => refused.into_response(),
    }
}

async fn trade(app: &Arc<App>, headers: &HeaderMap, bytes: &[u8]) -> Result<Value, Refused> {
    let params = form(bytes)?;
    let client = app.client_itself(headers, &params).await?;
    match params.get("grant_type") {
        Some("authorization_code") => with_code(app, &client, &params).await,
        Some("refresh_token") => with_refresh_token(app, &client, &params).await,
        Some(other) => {
            Err(Refused::new("unsupported_grant_type", format!("`{other}` is not a grant type known here")))
        }
        None => Err(Refused::request("`grant_type` is missing")),
    }
}

async fn with_code(app: &Arc<App>, client: &ClientRow, params: &Params) -> Result<Value, Refused> {
    let (code, verifier) = (required(params, "code")?, required(params, "code_verifier")?);
    let hash = digest(code);
    let found = app.store.code(&hash).await?.filter(|it| it.connection.client_id == client.id);
    let found = found.ok_or_else(Refused::grant)?;
    let connection = &found.connection;
    let is_met = found.challenge.is_some_and(|it| Challenge::stored(it).is_met_by(verifier));
    let is_back = params.get("redirect_uri").is_none_or(|it| it == connection.redirect_uri);
    if found.is_used || found.expires_at <= app.hub.now() || !is_met || !is_back {
        app.disconnect(connection.id).await?;
        return Err(Refused::grant());
    }
    check_resource(app, connection, params)?;
    let issued = Issued::new(app.hub.now(), client);
    if !app.store.trade_code(&hash, connection.id, &issued.pair()).await? {
        app.disconnect(connection.id).await?;
        return Err(Refused::grant());
    }
    Ok(issued.answer(connection))
}

async fn with_refresh_token(app: &Arc<App>, client: &ClientRow, params: &Params) -> Result<Value, Refused> {
    let hash = digest(required(params, "refresh_token")?);
    let found = app.store.refresh_token(&hash).await?.filter(|it| it.connection.client_id == client.id);
    let found = found.ok_or_else(Refused::grant)?;
    let connection = &found.connection;
    if !found.is_used && found.expires_at <= app.hub.now() {
        return Err(Refused::grant());
    }
    if !found.is_used {
        check_resource(app, connection, params)?;
        let issued = Issued::new(app.hub.now(), client);
        if app.store.trade_refresh_token(&hash, connection.id, &issued.pair()).await? {
            return Ok(issued.answer(connection));
        }
    }
    tracing::warn!(connection = %connection.id, "a refresh token was used twice; the connection is ended");
    app.disconnect(connection.id).await?;
    Err(Refused::grant())
}

/// A token is for what the person allowed; another resource needs another answer.
fn check_resource(app: &App, connection: &ConnectionRow, params: &Params) -> Result<(), Refused> {
    let Some(uri) = params.get("resource") else { return Ok(()) };
    let asked = app.resource(uri)?;
    let allowed = Resource::with_path(&connection.resource);
    if allowed.is_some_and(|it| it.covers(&asked) && asked.covers(&it)) {
        return Ok(());
    }
    Err(Refused::new("invalid_target", "`resource` is not the one that was allowed"))
}

/// New tokens, before anybody has them.
struct Issued {
    access: Secret,
    refresh: Option<Secret>,
    at: i64,
}

impl Issued {
    fn new(at: i64, client: &ClientRow) -> Self {
        Self { access: auth::fresh(ACCESS), refresh: client.refreshes.then(|| auth::fresh(REFRESH)), at }
    }

    fn pair(&self) -> TokenPair {
        let given = |token: &Secret, seconds: i64| Given {
            hash: digest(token.reveal()),
            expires_at: self.at + seconds * 1000,
        };
        TokenPair {
            access: given(&self.access, ACCESS_SECONDS),
            refresh: self.refresh.as_ref().map(|it| given(it, REFRESH_SECONDS)),
        }
    }

    fn answer(&self, connection: &ConnectionRow) -> Value {
        let mut body = json!({
            "access_token": self.access.reveal(),
            // With a capital: some clients compare it so.
            "token_type": "Bearer",
            "expires_in": ACCESS_SECONDS,
            "scope": connection.scope,
        });
        if let Some(refresh) = &self.refresh {
            body["refresh_token"] = refresh.reveal().into();
        }
        body
    }
}

/// `POST /oauth/revoke` (RFC 7009): ends the connection that a token belongs to. A token that is nobody's, or another
/// client's, changes nothing and is not told apart.
pub(crate) async fn revoke(State(app): State<Arc<App>>, headers: HeaderMap, bytes: Bytes) -> Response {
    match end(&app, &headers, &bytes).await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(refused) => refused.into_response(),
    }
}

async fn end(app: &Arc<App>, headers: &HeaderMap, bytes: &[u8]) -> Result<(), Refused> {
    let params = form(bytes)?;
    let client = app.client_itself(headers, &params).await?;
    let hash = digest(required(&params, "token")?);
    let found = match app.store.refresh_token(&hash).await? {
        Some(found) => Some(found),
        None => app.store.access_token(&hash).await?,
    };
    if let Some(found) = found.filter(|it| it.connection.client_id == client.id) {
        app.disconnect(found.connection.id).await?;
    }
    Ok(())
}

impl App {
    /// The client that calls us, which has shown what it can: its secret, if it has one.
    async fn client_itself(&self, headers: &HeaderMap, params: &Params) -> Result<ClientRow, Refused> {
        let (id, secret) = if let Some(value) = headers.get(header::AUTHORIZATION) {
            let unreadable = || Refused::client("the `Authorization` header cannot be read");
            let (id, secret) = basic(value).ok_or_else(unreadable)?;
            if params.get("client_id").is_some_and(|it| it != id) {
                return Err(Refused::request("`client_id` is not the one in the `Authorization` header"));
            }
            (id, Some(secret))
        } else {
            let secret = params.get("client_secret").map(Secret::new);
            (required(params, "client_id")?.to_owned(), secret)
        };
        let unknown = || Refused::client("no client is known by this `client_id` and secret");
        let client = self.store.client(&id).await?.ok_or_else(unknown)?;
        let shown = secret.as_ref().map(|it| digest(it.reveal())).unwrap_or_default();
        match &client.secret_hash {
            Some(hash) if !bool::from(hash.as_bytes().ct_eq(shown.as_bytes())) => Err(unknown()),
            _ => Ok(client),
        }
    }

    /// Ends a connection and everything that still runs for it.
    pub(crate) async fn disconnect(self: &Arc<Self>, connection: Uuid) -> Result<(), Refused> {
        self.store.remove_connection(connection).await?;
        self.end(&HashSet::from([connection]));
        Ok(())
    }
}

fn form(bytes: &[u8]) -> Result<Params, Refused> {
    Params::read(bytes).map_err(|name| Refused::request(format!("`{name}` stands twice")))
}

fn required<'a>(params: &'a Params, name: &str) -> Result<&'a str, Refused> {
    params.get(name).ok_or_else(|| Refused::request(format!("`{name}` is missing")))
}

fn digest(secret: &str) -> String {
    auth::stored(&auth::hash(secret))
}

/// Reads `Basic`, in which both parts are written as in a form (RFC 6749, 2.3.1).
fn basic(value: &HeaderValue) -> Option<(String, Secret)> {
    let (scheme, rest) = value.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(BASE64_STANDARD.decode(rest.trim()).ok()?).ok()?;
    let (id, secret) = text.split_once(':')?;
    Some((plain(id)?, Secret::new(plain(secret)?)))
}

fn plain(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some(String::new());
    }
    // A name without a value reads back as it was written.
    match form_urlencoded::parse(text.as_bytes()).next() {
        Some((name, value)) if value.is_empty() => Some(name.into_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_credentials_are_read_as_they_are_written_in_forms() {
        let read = |text: &str| {
            let value = HeaderValue::from_str(text).expect("a header");
            basic(&value).map(|(id, secret)| (id, secret.reveal().to_owned()))
        };
        let basic = |text: &str| format!("Basic {}", BASE64_STANDARD.encode(text));
        assert_eq!(read(&basic("a-1:tgs_x")), Some(("a-1".into(), "tgs_x".into())));
        let url = "https%3A%2F%2Fapp.example%2Fc.json:a%2Bb%20c";
        assert_eq!(read(&basic(url)), Some(("https://app.example/c.json".into(), "a+b c".into())));
        for wrong in ["Basic", "Basic !!!", "Bearer x", &basic("no colon"), &basic("a=b:c")] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
