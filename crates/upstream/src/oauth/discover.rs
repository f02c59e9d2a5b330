//! Who signs people in for a server: its protected-resource metadata (RFC 9728) names an issuer, the issuer's own
//! metadata (RFC 8414, or OpenID Connect) the endpoints. Nothing is guessed beyond the well-known places.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toolgrove_core::Error;
use url::Url;

use super::{Challenge, is_loopback};
use crate::web::fetch::{Fetch, Fetched};

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const ISSUER: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// Who signs people in for one server, and how they want to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// As the metadata writes it: compared byte for byte.
    pub issuer: String,
    pub authorization_endpoint: Url,
    pub token_endpoint: Url,
    pub registration_endpoint: Option<Url>,
    /// What tokens are asked for, by its own name.
    pub resource: String,
    /// The scopes of the resource.
    pub resource_scopes: Vec<String>,
    /// The scopes of the provider.
    pub scopes: Vec<String>,
    /// None: it does not say.
    pub auth_methods: Option<Vec<String>>,
    pub takes_documents: bool,
    /// Whether it promises to say who it is when it sends somebody back (RFC 9207).
    pub names_itself: bool,
}

#[derive(Deserialize)]
struct ResourceMetadata {
    resource: Option<String>,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

#[derive(Deserialize)]
struct IssuerMetadata {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Finds out who signs people in for a server.
pub async fn discover(fetch: &Fetch, server: &Url, challenge: Option<&Challenge>) -> Result<Provider, Error> {
    let found = resource_metadata(fetch, server, challenge).await?;
    let resource = found.resource.unwrap_or_else(|| canonical(server));
    if !covers(&resource, server) {
        let server = canonical(server);
        return Err(wrong(format!("protected resource metadata is of `{resource}`, not of `{server}`")));
    }
    let Some(issuer) = found.authorization_servers.first() else {
        return Err(wrong("protected resource metadata lists no authorization_servers"));
    };
    let metadata = issuer_metadata(fetch, issuer).await?;
    if !metadata.code_challenge_methods_supported.iter().any(|it| it == "S256") {
        return Err(wrong(format!("`{issuer}` does not say that it takes PKCE with S256")));
    }
    let endpoint = |name: &str, text: Option<&String>| {
        let text = text.ok_or_else(|| wrong(format!("`{issuer}` names no {name}")))?;
        address(name, text, server)
    };
    Ok(Provider {
        authorization_endpoint: endpoint("authorization_endpoint", metadata.authorization_endpoint.as_ref())?,
        token_endpoint: endpoint("token_endpoint", metadata.token_endpoint.as_ref())?,
        registration_endpoint: match &metadata.registration_endpoint {
            Some(text) => Some(address("registration_endpoint", text, server)?),
            None => None,
        },
        issuer: metadata.issuer,
        resource,
        resource_scopes: found.scopes_supported,
        scopes: metadata.scopes_supported,
        auth_methods: metadata.token_endpoint_auth_methods_supported,
        takes_documents: metadata.client_id_metadata_document_supported,
        names_itself: metadata.authorization_response_iss_parameter_supported,
    })
}

impl Provider {
    /// What to ask for: what the server wants, else what an admin wrote, else what the resource knows, else nothing.
    /// A provider that has `offline_access` gives refresh tokens only to those who ask for it.
    pub fn scope(&self, wanted: Option<&str>, told: Option<&str>) -> Option<String> {
        let known = (!self.resource_scopes.is_empty()).then(|| self.resource_scopes.join(" "));
        let is_there = |it: &&str| !it.trim().is_empty();
        let scope = wanted.filter(is_there).or(told.filter(is_there)).map(str::to_owned).or(known)?;
        let offline = self.scopes.iter().any(|it| it == OFFLINE).then_some(OFFLINE);
        super::union(Some(&scope), offline)
    }
}

pub(super) const OFFLINE: &str = "offline_access";

/// Where a server's metadata may be: where its challenge says, at its path, at its root.
pub fn resource_documents(server: &Url, challenge: Option<&Challenge>) -> Vec<Url> {
    let named = challenge.and_then(|it| server.join(it.resource_metadata.as_deref()?).ok());
    let path = server.path().trim_end_matches('/');
    let mut all: Vec<Url> = Vec::new();
    let places = [at(server, &format!("{RESOURCE}{path}")), at(server, RESOURCE)];
    for url in named.into_iter().chain(places) {
        if !all.contains(&url) {
            all.push(url);
        }
    }
    all
}

/// Where an issuer's metadata may be; none if the issuer is no address.
pub fn issuer_documents(issuer: &str) -> Vec<Url> {
    let Ok(url) = Url::parse(issuer) else { return Vec::new() };
    let path = url.path().trim_end_matches('/');
    let mut all = vec![at(&url, &format!("{ISSUER}{path}")), at(&url, &format!("{OPENID}{path}"))];
    if !path.is_empty() {
        all.push(at(&url, &format!("{path}{OPENID}")));
    }
    all
}

/// Another path of the same origin, without query, fragment or credentials.
fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

/// A server's own name as a resource: no query, no fragment, no slash at the end.
fn canonical(server: &Url) -> String {
    let path = server.path().trim_end_matches('/');
    at(server, path).as_str().trim_end_matches('/').to_owned()
}

/// Whether a resource is the server, or all of a place that the server is in.
pub fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let inside = server.path().strip_prefix(resource.path().trim_end_matches('/'));
    resource.origin() == server.origin()
        && resource.query().is_none_or(|it| Some(it) == server.query())
        && inside.is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

async fn resource_metadata(
    fetch: &Fetch,
    server: &Url,
    challenge: Option<&Challenge>,
) -> Result<ResourceMetadata, Error> {
    const ABSENT: &str = "protected resource metadata not available";
    for url in resource_documents(server, challenge) {
        let answer = fetch.document(&url).await.map_err(|it| wrong(format!("{ABSENT}: {it}")))?;
        match read(&answer) {
            Some(metadata) => return Ok(metadata),
            None if is_elsewhere(&answer) => {}
            None => return Err(wrong(format!("{ABSENT}: {}", answer.line()))),
        }
    }
    Err(wrong("this server offers no OAuth discovery"))
}

async fn issuer_metadata(fetch: &Fetch, issuer: &str) -> Result<IssuerMetadata, Error> {
    const ABSENT: &str = "authorization server metadata not available";
    for url in issuer_documents(issuer) {
        let answer = fetch.document(&url).await.map_err(|it| wrong(format!("{ABSENT}: {it}")))?;
        let metadata: IssuerMetadata = match read(&answer) {
            Some(metadata) => metadata,
            None if is_elsewhere(&answer) => continue,
            None => return Err(wrong(format!("{ABSENT}: {}", answer.line()))),
        };
        // The place was found with the slash at the end left out, so either form is the one that was used.
        if metadata.issuer != issuer && metadata.issuer != issuer.trim_end_matches('/') {
            let found = metadata.issuer;
            return Err(wrong(format!("authorization server metadata is of `{found}`, not of `{issuer}`")));
        }
        return Ok(metadata);
    }
    Err(wrong(format!("{ABSENT}: `{issuer}` has none")))
}

fn read<T: DeserializeOwned>(answer: &Fetched) -> Option<T> {
    answer.status.is_success().then(|| serde_json::from_slice(&answer.body).ok()).flatten()
}

/// Whether an answer only says that the document is not here: 4xx, or a page for people.
fn is_elsewhere(answer: &Fetched) -> bool {
    answer.status.is_client_error() || answer.status.is_success()
}

/// An address that secrets go to. It must be secure, unless nothing leaves this machine, or the server itself is not.
fn address(name: &str, text: &str, server: &Url) -> Result<Url, Error> {
    let url = Url::parse(text).map_err(|_| wrong(format!("the {name} `{text}` is not a URL")))?;
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) || server.scheme() == "http" => Ok(url),
        _ => Err(wrong(format!("the {name} `{text}` is not an https address"))),
    }
}

fn wrong(text: impl Into<String>) -> Error {
    Error::OauthDiscovery(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_the_server_or_a_place_it_is_in() {
        let server: Url = "https://s.example/a/mcp".parse().unwrap();
        for (resource, expected) in [
            ("https://s.example/a/mcp", true),
            ("https://s.example/a/mcp/", true),
            ("https://S.example:443/a", true),
            ("https://s.example", true),
            ("https://s.example/", true),
            ("https://s.example/a/m", false),
            ("https://s.example/b", false),
            ("http://s.example/a/mcp", false),
            ("https://s.example:444/a/mcp", false),
            ("https://evil.example/a/mcp", false),
            ("https://s.example/a/mcp?tenant=1", false),
            ("not a url", false),
        ] {
            assert_eq!(covers(resource, &server), expected, "{resource}");
        }
    }

    #[test]
    fn secrets_go_to_secure_places_only() {
        let (secure, open) = ("https://s/mcp".parse().unwrap(), "http://s/mcp".parse().unwrap());
        for (text, beside_secure, beside_open) in [
            ("https://a/token", true, true),
            ("http://127.0.0.1:9/token", true, true),
            ("http://localhost/token", true, true),
            ("http://[::1]/token", true, true),
            ("http://a/token", false, true),
            ("javascript:alert(1)", false, false),
            ("file:///etc/passwd", false, false),
        ] {
            assert_eq!(address("x", text, &secure).is_ok(), beside_secure, "{text}");
            assert_eq!(address("x", text, &open).is_ok(), beside_open, "{text}");
        }
    }

    #[test]
    fn neither_query_nor_credentials_of_a_server_become_part_of_another_address() {
        let server: Url = "https://me:secret@s.example/mcp/?key=secret#f".parse().unwrap();
        assert_eq!(canonical(&server), "https://s.example/mcp");
        let all = format!("{:?}", resource_documents(&server, None));
        assert!(!all.contains("secret"), "{all}");
    }
}
