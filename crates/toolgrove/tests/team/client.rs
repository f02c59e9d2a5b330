//! An OAuth client that is spoken by hand, and a person who answers its questions in a browser.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use crate::hub::{Answer, Hub};
use crate::team::Visitor;

/// Where nobody listens: the browser of these tests only reads where it is sent.
pub(crate) const BACK: &str = "http://127.0.0.1:1/back";
pub(crate) const VERIFIER: &str = "a-verifier-that-is-long-enough-for-everybody-0123";

pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: Option<String>,
    hub_url: String,
}

/// A visitor who shows nothing.
pub(crate) fn nobody(hub: &Hub) -> Visitor {
    Visitor { origin: Some(hub.url.clone()), shows: None }
}

/// Registers a client as it describes itself.
pub(crate) async fn register(hub: &Hub, description: Value) -> Answer {
    let request = http::Request::post(format!("{}/oauth/register", hub.url))
        .header("content-type", "application/json")
        .body(description.to_string().into())
        .unwrap();
    hub.send(request).await
}

/// Sends a form as a program does: without a browser's headers.
pub(crate) async fn post(hub: &Hub, path: &str, headers: &[(&str, &str)], fields: &[(&str, &str)]) -> Answer {
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(fields.iter().filter(|it| !it.1.is_empty()));
    let mut request = http::Request::post(format!("{}{path}", hub.url))
        .header("content-type", "application/x-www-form-urlencoded");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    hub.send(request.body(body.finish().into()).unwrap()).await
}

/// What an answer's `Location` says: the address without its query, and the query.
pub(crate) fn sent_to(answer: &Answer) -> (String, Value) {
    let location = answer.headers.get("location").unwrap_or_else(|| panic!("{}", answer.text()));
    let mut url = Url::parse(location.to_str().unwrap()).unwrap();
    let query: serde_json::Map<_, _> =
        url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned().into())).collect();
    url.set_query(None);
    (url.into(), query.into())
}

impl Client {
    /// A public client that gets its answers at [`BACK`].
    pub(crate) async fn registered(hub: &Hub) -> Self {
        Self::with(hub, json!({ "client_name": "A client", "token_endpoint_auth_method": "none" })).await
    }

    pub(crate) async fn with(hub: &Hub, mut description: Value) -> Self {
        if description.get("redirect_uris").is_none() {
            description["redirect_uris"] = json!([BACK]);
        }
        let answer = register(hub, description).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        let body = answer.json();
        let secret = body["client_secret"].as_str().map(str::to_owned);
        Self { id: body["client_id"].as_str().unwrap().to_owned(), secret, hub_url: hub.url.clone() }
    }

    /// One that is known by the document at this address.
    pub(crate) fn published(hub: &Hub, id: &str) -> Self {
        Self { id: id.to_owned(), secret: None, hub_url: hub.url.clone() }
    }

    /// The path a browser is sent to; a changed parameter without a value is left out.
    pub(crate) fn request(&self, changes: &[(&str, &str)]) -> String {
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
        let resource = format!("{}/mcp", self.hub_url);
        let mut all = vec![
            ("response_type", "code"),
            ("client_id", &self.id),
            ("redirect_uri", BACK),
            ("state", "s t&a=te"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", &resource),
        ];
        all.retain(|it| !changes.iter().any(|change| change.0 == it.0));
        all.extend(changes.iter().filter(|it| !it.1.is_empty()));
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        format!("/oauth/authorize?{}", query.extend_pairs(all).finish())
    }

    /// A person looks at the page and presses a button.
    pub(crate) async fn decided(
        &self,
        hub: &Hub,
        person: &Visitor,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Answer {
        let page = person.ask(hub, Method::GET, path, &[], "").await;
        assert_eq!(
            page.status,
            200,
            "{} {}",
            page.text(),
            page.headers.get("location").map_or("", |it| it.to_str().unwrap())
        );
        let (token, request) = (hidden(&page, "token"), hidden(&page, "request"));
        let mut all = vec![("token", token.as_str()), ("request", request.as_str())];
        all.extend_from_slice(fields);
        person.form(hub, "/oauth/authorize", &all).await
    }

    /// The code for a request that the person allows, with all their instances.
    pub(crate) async fn code(&self, hub: &Hub, person: &Visitor, changes: &[(&str, &str)]) -> String {
        let allow = [("which", "all"), ("decision", "allow")];
        let answer = self.decided(hub, person, &self.request(changes), &allow).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        let code = sent_to(&answer).1["code"].clone();
        code.as_str().unwrap_or_else(|| panic!("{:?}", answer.headers)).to_owned()
    }

    /// Asks for tokens; a changed field without a value is left out.
    pub(crate) async fn trade(&self, hub: &Hub, grant: &[(&str, &str)]) -> (u16, Value) {
        let mut all = vec![("client_id", self.id.as_str())];
        if let Some(secret) = &self.secret {
            all.push(("client_secret", secret));
        }
        all.retain(|it| !grant.iter().any(|change| change.0 == it.0));
        all.extend_from_slice(grant);
        let answer = post(hub, "/oauth/token", &[], &all).await;
        assert_eq!(answer.headers["cache-control"], "no-store");
        (answer.status, answer.json())
    }

    pub(crate) async fn trade_code(&self, hub: &Hub, code: &str) -> (u16, Value) {
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", VERIFIER),
            ("redirect_uri", BACK),
        ];
        self.trade(hub, &grant).await
    }

    pub(crate) async fn refresh(&self, hub: &Hub, tokens: &Value) -> (u16, Value) {
        let token = tokens["refresh_token"].as_str().unwrap();
        self.trade(hub, &[("grant_type", "refresh_token"), ("refresh_token", token)]).await
    }

    /// The whole way: allowed, traded.
    pub(crate) async fn tokens(&self, hub: &Hub, person: &Visitor, changes: &[(&str, &str)]) -> Value {
        let code = self.code(hub, person, changes).await;
        let (status, tokens) = self.trade_code(hub, &code).await;
        assert_eq!(status, 200, "{tokens}");
        tokens
    }
}

/// What shows an access token.
pub(crate) fn with(hub: &Hub, tokens: &Value) -> Visitor {
    nobody(hub).with_token(tokens["access_token"].as_str().unwrap())
}

/// The value of a hidden field of a page.
pub(crate) fn hidden(page: &Answer, name: &str) -> String {
    let text = page.text();
    let start = format!("name=\"{name}\" value=\"");
    let rest = text.split_once(&start).unwrap_or_else(|| panic!("no `{name}` in {text}")).1;
    let value = rest.split('"').next().unwrap();
    value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
