//! What a client asks a person for. Until the client and the address for the answer are known to belong together,
//! whatever is wrong is told to the person; after that, to the client.

use toolgrove_store::ClientRow;

use super::document;
use super::params::Params;
use super::proof::Challenge;
use super::redirect::Redirect;
use super::refusal::Refused;
use super::resource::Resource;
use super::scope::Scopes;
use crate::App;
use crate::problem::store_error;

/// A request that a person can decide on.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) client: ClientRow,
    pub(crate) back: Back,
    pub(crate) resource: Resource,
    pub(crate) scopes: Scopes,
    pub(crate) challenge: Challenge,
}

/// Where an answer goes, and what it must carry.
#[derive(Debug)]
pub(crate) struct Back {
    pub(crate) redirect: Redirect,
    state: Option<String>,
    issuer: String,
}

impl Back {
    /// The address of an answer: what is in it, the client's own word, and who gives it (RFC 9207).
    pub(crate) fn with(&self, answer: &[(&str, &str)]) -> String {
        let state = self.state.as_deref().map(|it| ("state", it));
        let all: Vec<_> =
            answer.iter().copied().chain(state).chain([("iss", self.issuer.as_str())]).collect();
        self.redirect.with(&all)
    }

    pub(crate) fn refusing(&self, refused: &Refused) -> String {
        self.with(&[("error", refused.code), ("error_description", &refused.text)])
    }
}

/// Why nobody can decide.
#[derive(Debug)]
pub(crate) enum Wrong {
    /// Told to the person, because nothing else can be trusted.
    Here(String),
    /// Told to the client: the address of that answer.
    There(String),
}

impl App {
    /// Reads a request from the query of its address. `issuer` is the hub as the client knows it.
    pub(crate) async fn read_request(&self, query: &str, issuer: &str) -> Result<Asked, Wrong> {
        let params = Params::read(query.as_bytes())
            .map_err(|name| Wrong::Here(format!("`{name}` stands twice in this request")))?;
        let required =
            |name: &str| params.get(name).ok_or_else(|| Wrong::Here(format!("this request has no `{name}`")));
        let client = self.asking_client(required("client_id")?).await.map_err(Wrong::Here)?;
        let redirect = Redirect::read(required("redirect_uri")?).map_err(Wrong::Here)?;
        let registered = client.redirect_uris.iter().filter_map(|it| Redirect::read(it).ok());
        if !registered.into_iter().any(|it| it.admits(&redirect)) {
            let text =
                format!("`{}` is not an address that this client named for answers", redirect.as_str());
            return Err(Wrong::Here(text));
        }
        let state = params.get("state").map(str::to_owned);
        let back = Back { redirect, state, issuer: issuer.to_owned() };
        match self.read_rest(&params) {
            Ok((resource, scopes, challenge)) => Ok(Asked { client, back, resource, scopes, challenge }),
            Err(refused) => Err(Wrong::There(back.refusing(&refused))),
        }
    }

    /// The client that asks. The sentence says why there is none.
    async fn asking_client(&self, id: &str) -> Result<ClientRow, String> {
        if let Some(url) = document::address(id) {
            let found = self.published_client(id, &url).await;
            return found
                .map_err(|why| format!("the client's own description at `{id}` cannot be used: {why}"));
        }
        let found = self.store.client(id).await.map_err(|it| store_error(it).to_string())?;
        found.ok_or_else(|| {
            "no client is known by this `client_id`; remove the connection in the client and add it again"
                .into()
        })
    }

    fn read_rest(&self, params: &Params) -> Result<(Resource, Scopes, Challenge), Refused> {
        if params.get("response_type") != Some("code") {
            return Err(Refused::new("unsupported_response_type", "`response_type` must be `code`"));
        }
        if params.get("response_mode").is_some_and(|it| it != "query") {
            return Err(Refused::request("`response_mode` must be `query`"));
        }
        if params.get("request").is_some() || params.get("request_uri").is_some() {
            return Err(Refused::new("request_not_supported", "send the parameters as they are"));
        }
        let challenge = Challenge::read(params.get("code_challenge"), params.get("code_challenge_method"))
            .map_err(Refused::request)?;
        let resource = match params.get("resource") {
            None => Resource::Hub,
            Some(uri) => self.resource(uri)?,
        };
        let scopes = Scopes::of_request(params.get("scope"), &resource).ok_or_else(|| {
            let known: Vec<_> = resource.scopes().iter().map(|it| format!("`{}`", it.as_str())).collect();
            Refused::new("invalid_scope", format!("known here: {}", known.join(", ")))
        })?;
        Ok((resource, scopes, challenge))
    }

    /// Reads a `resource` parameter.
    pub(crate) fn resource(&self, uri: &str) -> Result<Resource, Refused> {
        let found = self.addresses().iter().find_map(|base| Resource::named(uri, base));
        found.ok_or_else(|| Refused::new("invalid_target", "`resource` is not an MCP endpoint of this hub"))
    }
}
