//! Links that work once, printed when a hub starts or when somebody signs in from a terminal.

use toolgrove_core::Error;
use toolgrove_core::call::Caller;
use toolgrove_store::LinkPurpose;

use super::secret;
use crate::App;
use crate::problem::store_error;

/// How long a printed link is good.
const GOOD_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// How a person comes to the hub's page from the terminal it was started in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Welcome {
    /// Signs the one person of a solo hub in.
    SignIn(String),
    /// Makes the first admin of a team.
    SetUp(String),
    /// People sign in by themselves.
    Page(String),
}

impl App {
    /// The way in that is printed at a start. Earlier links of its kind are no longer good.
    pub async fn welcome(&self) -> Result<Welcome, Error> {
        let base = self.gate.base();
        if let Some(solo) = &self.gate.solo {
            let code = self.link_for(LinkPurpose::SignIn, Some(solo.person)).await?;
            return Ok(Welcome::SignIn(format!("{base}/ui/login?code={code}")));
        }
        if self.store.needs_set_up().await.map_err(store_error)? {
            let code = self.link_for(LinkPurpose::SetUp, None).await?;
            return Ok(Welcome::SetUp(format!("{base}/ui/join?code={code}")));
        }
        Ok(Welcome::Page(format!("{base}/ui/")))
    }

    /// The address of a page of ours for a browser that may not know this caller yet. Whoever holds the key of a solo
    /// hub gets one that signs them in on the way; earlier links that do are no longer good.
    pub(crate) async fn way_to(&self, caller: &Caller, path: &str) -> Result<String, Error> {
        let base = self.gate.base();
        let is_solo = self.gate.solo.as_ref().is_some_and(|it| it.person == caller.person);
        if !is_solo || caller.token.is_some() {
            return Ok(format!("{base}{path}"));
        }
        let code = self.link_for(LinkPurpose::SignIn, Some(caller.person)).await?;
        let next: String = url::form_urlencoded::byte_serialize(path.as_bytes()).collect();
        Ok(format!("{base}/ui/login?code={code}&next={next}"))
    }

    async fn link_for(&self, purpose: LinkPurpose, person: Option<uuid::Uuid>) -> Result<String, Error> {
        let code = secret::fresh("");
        let hash = secret::stored(&secret::hash(code.reveal()));
        let expires_at = self.hub.now() + GOOD_MS;
        self.store.add_link(&hash, purpose, person, expires_at).await.map_err(store_error)?;
        Ok(code.reveal().to_owned())
    }
}
