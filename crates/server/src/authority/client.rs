//! What a client says of itself, when it registers (RFC 7591) or in the document it publishes.
//!
//! Everything in it is a stranger's word: it is bounded, the name is made harmless to look at, and what we do not know
//! is left out.

use serde::Deserialize;
use serde_json::Value;

use super::redirect::Redirect;

const REDIRECTS: usize = 16;
const NAME: usize = 80;

/// A client's description, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Empty if it gave none.
    pub name: String,
    pub redirects: Vec<Redirect>,
    pub auth: AuthMethod,
    /// Whether it wants refresh tokens.
    pub refreshes: bool,
}

/// How a client shows at the token endpoint that it is itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthMethod {
    /// It has no secret; the proof of the code is all there is.
    None,
    Basic,
    Post,
}

impl AuthMethod {
    pub const ALL: [Self; 3] = [Self::None, Self::Basic, Self::Post];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}

/// Why a description is not accepted; the two codes of RFC 7591.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unacceptable {
    Redirect(String),
    Metadata(String),
}

impl Unacceptable {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Redirect(_) => "invalid_redirect_uri",
            Self::Metadata(_) => "invalid_client_metadata",
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Self::Redirect(text) | Self::Metadata(text) => text,
        }
    }
}

#[derive(Deserialize)]
struct Raw {
    client_id: Option<String>,
    client_name: Option<String>,
    client_secret: Option<Value>,
    client_secret_expires_at: Option<Value>,
    redirect_uris: Option<Vec<String>>,
    token_endpoint_auth_method: Option<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
}

impl Description {
    /// Reads the body of a registration.
    pub fn registered(bytes: &[u8]) -> Result<Self, Unacceptable> {
        let raw = parse(bytes)?;
        let auth = match raw.token_endpoint_auth_method.as_deref() {
            // The default of RFC 7591.
            None => AuthMethod::Basic,
            Some(word) => AuthMethod::parse(word).ok_or_else(|| method(word))?,
        };
        raw.describe(auth)
    }

    /// Reads a document that is published at `url`.
    pub fn published(bytes: &[u8], url: &str) -> Result<Self, Unacceptable> {
        let raw = parse(bytes)?;
        match raw.client_id.as_deref() {
            Some(id) if id == url => {}
            _ => return Err(Unacceptable::Metadata("its `client_id` is not its own address".into())),
        }
        if raw.client_secret.is_some() || raw.client_secret_expires_at.is_some() {
            return Err(Unacceptable::Metadata("it has a secret that everybody can read".into()));
        }
        match raw.token_endpoint_auth_method.as_deref() {
            None | Some("none") => raw.describe(AuthMethod::None),
            Some(word) => Err(method(word)),
        }
    }
}

impl Raw {
    fn describe(self, auth: AuthMethod) -> Result<Description, Unacceptable> {
        let uris = self.redirect_uris.unwrap_or_default();
        if uris.is_empty() || uris.len() > REDIRECTS {
            let text = format!("`redirect_uris` must hold between 1 and {REDIRECTS} addresses");
            return Err(Unacceptable::Redirect(text));
        }
        let redirects: Result<_, _> = uris.iter().map(|it| Redirect::read(it)).collect();
        let has = |list: &Option<Vec<String>>, word: &str| {
            list.as_ref().is_none_or(|it| it.iter().any(|it| it == word))
        };
        if !has(&self.response_types, "code") {
            return Err(Unacceptable::Metadata("`response_types` must hold `code`".into()));
        }
        if !has(&self.grant_types, "authorization_code") {
            return Err(Unacceptable::Metadata("`grant_types` must hold `authorization_code`".into()));
        }
        Ok(Description {
            name: harmless(self.client_name.as_deref().unwrap_or_default()),
            redirects: redirects.map_err(Unacceptable::Redirect)?,
            auth,
            refreshes: has(&self.grant_types, "refresh_token"),
        })
    }
}

fn parse(bytes: &[u8]) -> Result<Raw, Unacceptable> {
    serde_json::from_slice(bytes)
        .map_err(|it| Unacceptable::Metadata(format!("not the description of a client: {it}")))
}

fn method(word: &str) -> Unacceptable {
    let known: Vec<_> = AuthMethod::ALL.iter().map(|it| format!("`{}`", it.as_str())).collect();
    let word = harmless(word);
    let known = known.join(", ");
    Unacceptable::Metadata(format!("`token_endpoint_auth_method` is `{word}`; known here are {known}"))
}

/// A text without characters that nobody sees or that turn the ones around them, on one line and not long.
fn harmless(text: &str) -> String {
    let is_hidden = |it: char| {
        it.is_control()
            || matches!(it, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(it, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..)
    };
    let plain: String = text.chars().map(|it| if is_hidden(it) { ' ' } else { it }).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.join(" ").chars().take(NAME).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const URL: &str = "https://app.example/client.json";

    fn registered(value: Value) -> Result<Description, Unacceptable> {
        Description::registered(value.to_string().as_bytes())
    }

    fn published(value: Value) -> Result<Description, Unacceptable> {
        Description::published(value.to_string().as_bytes(), URL)
    }

    #[test]
    fn what_is_left_out_gets_the_usual_value() {
        let it = registered(json!({ "redirect_uris": ["https://app.example/cb"] })).expect("a client");
        assert_eq!((it.name.as_str(), it.auth, it.refreshes), ("", AuthMethod::Basic, true));
        let it = published(json!({ "client_id": URL, "redirect_uris": ["https://app.example/cb"] }));
        let it = it.expect("a client");
        assert_eq!((it.auth, it.refreshes, it.redirects.len()), (AuthMethod::None, true, 1));
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let it = registered(json!({
            "redirect_uris": ["http://127.0.0.1/cb", "cursor://x/cb"],
            "client_name": "  An\u{202e} editor\n ",
            "grant_types": ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"],
            "response_types": ["code", "token"],
            "token_endpoint_auth_method": "client_secret_post",
            "logo_uri": 7, "software_statement": "x", "scope": "mcp",
        }));
        let it = it.expect("a client");
        assert_eq!((it.name.as_str(), it.auth, it.refreshes), ("An editor", AuthMethod::Post, false));
    }

    #[test]
    fn descriptions_that_are_refused() {
        let good = json!(["https://app.example/cb"]);
        for (value, code) in [
            (json!({}), "invalid_redirect_uri"),
            (json!({ "redirect_uris": [] }), "invalid_redirect_uri"),
            (json!({ "redirect_uris": vec!["https://a.example/cb"; REDIRECTS + 1] }), "invalid_redirect_uri"),
            (json!({ "redirect_uris": ["http://app.example/cb"] }), "invalid_redirect_uri"),
            (json!({ "redirect_uris": ["https://app.example/cb", "javascript:x"] }), "invalid_redirect_uri"),
            (json!({ "redirect_uris": "https://app.example/cb" }), "invalid_client_metadata"),
            (json!({ "redirect_uris": good, "response_types": ["token"] }), "invalid_client_metadata"),
            (json!({ "redirect_uris": good, "grant_types": ["implicit"] }), "invalid_client_metadata"),
            (
                json!({ "redirect_uris": good, "token_endpoint_auth_method": "private_key_jwt" }),
                "invalid_client_metadata",
            ),
            (json!([]), "invalid_client_metadata"),
        ] {
            assert_eq!(registered(value.clone()).expect_err("refused").code(), code, "{value}");
        }
    }

    #[test]
    fn a_document_speaks_for_its_own_address_only_and_has_no_secret() {
        let uris = json!(["https://app.example/cb"]);
        for value in [
            json!({ "redirect_uris": uris }),
            json!({ "client_id": "https://app.example/other.json", "redirect_uris": uris }),
            json!({ "client_id": format!("{URL}/"), "redirect_uris": uris }),
            json!({ "client_id": URL, "redirect_uris": uris, "client_secret": "x" }),
            json!({ "client_id": URL, "redirect_uris": uris, "client_secret_expires_at": 0 }),
            json!({ "client_id": URL, "redirect_uris": uris, "token_endpoint_auth_method": "client_secret_basic" }),
            json!({ "client_id": URL, "redirect_uris": uris, "token_endpoint_auth_method": "private_key_jwt" }),
        ] {
            assert_eq!(
                published(value.clone()).expect_err("refused").code(),
                "invalid_client_metadata",
                "{value}"
            );
        }
    }
}
