//! Browser sessions: a cookie whose hash is a row. It ends when it is not used, when it is old, or when it is ended.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use toolgrove_core::{Error, Secret};
use toolgrove_store::SessionRow;
use uuid::Uuid;

use super::secret;
use crate::App;
use crate::problem::store_error;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const IDLE_MS: i64 = 14 * DAY_MS;
const LIFE_MS: i64 = 90 * DAY_MS;
/// How much of a browser's name is kept.
const AGENT: usize = 200;

/// A browser in which somebody is signed in.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) id: Uuid,
    /// Stands in every form of this session; a page of another origin cannot know it.
    pub(crate) form_token: String,
}

impl Session {
    pub(super) fn new(id: Uuid, cookie: &str) -> Self {
        Self { id, form_token: secret::stored(&secret::hash(&format!("form {cookie}"))) }
    }

    pub(crate) fn check_form(&self, given: &str) -> Result<(), Error> {
        if secret::same(given, &self.form_token) { Ok(()) } else { Err(Error::AuthOrigin) }
    }
}

/// When a session ends if nobody uses it from now on.
pub(super) fn over_at(row: &SessionRow) -> i64 {
    row.expires_at.min(row.last_seen_at + IDLE_MS)
}

/// What cookies are called and how they are guarded: by TLS wherever the hub is reached by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cookies {
    Plain,
    Secure,
}

impl Cookies {
    fn name(self, kind: &str) -> String {
        match self {
            Self::Plain => format!("toolgrove{kind}"),
            Self::Secure => format!("__Host-toolgrove{kind}"),
        }
    }

    /// The value of one of our cookies. `kind` is empty for the session's.
    pub(crate) fn read<'a>(self, headers: &'a HeaderMap, kind: &str) -> Option<&'a str> {
        let name = self.name(kind);
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|it| it.to_str().ok())
            .flat_map(|it| it.split(';'))
            .find_map(|it| it.trim().strip_prefix(name.as_str())?.strip_prefix('='))
    }

    /// Hands a cookie to the browser for so many seconds; none take it back.
    pub(crate) fn set(self, response: &mut Response, kind: &str, value: &str, seconds: i64) {
        let secure = match self {
            Self::Plain => "",
            Self::Secure => "; Secure",
        };
        let name = self.name(kind);
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
        if let Ok(value) = HeaderValue::from_str(&text) {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
}

impl App {
    /// Signs a person in to the browser that gets this answer.
    pub(crate) async fn open_session(
        &self,
        person: Uuid,
        headers: &HeaderMap,
        mut response: Response,
    ) -> Result<Response, Error> {
        let cookie: Secret = secret::fresh("");
        let agent = headers.get(header::USER_AGENT).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let now = self.hub.now();
        let row = SessionRow {
            id: Uuid::now_v7(),
            person_id: person,
            agent: agent.chars().take(AGENT).collect(),
            last_seen_at: now,
            expires_at: now + LIFE_MS,
            created_at: now,
        };
        let hash = secret::stored(&secret::hash(cookie.reveal()));
        self.store.add_session(&row, &hash).await.map_err(store_error)?;
        self.gate.cookies.set(&mut response, "", cookie.reveal(), LIFE_MS / 1000);
        Ok(response)
    }

    /// Signs one browser out. `false`: it is not this person's.
    pub(crate) async fn close_session(&self, person: Uuid, id: Uuid) -> Result<bool, Error> {
        let found = self.store.remove_session(person, id).await.map_err(store_error)?;
        self.gate.passes.end(|it| it.session.as_ref().is_some_and(|it| it.id == id));
        Ok(found)
    }
}
