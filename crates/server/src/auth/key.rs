//! The local key: a file in the data folder that only the hub's owner can read.
//!
//! On a solo hub it opens every door for the one person. On a team's hub it opens them only to those who come over
//! the hub's socket or are the hub's own process: commands on the same machine, run by whoever owns the data folder
//! and could read the store anyway. They act as an admin of the team, named with [`AS`], so that what they do has
//! a name in the log. Over the network the key is worth nothing there.

use std::sync::Arc;

use http::HeaderMap;
use http::request::Parts;
use toolgrove_core::Error;
use toolgrove_core::call::{Caller, Role};

use super::{bearer, secret};
use crate::App;
use crate::problem::store_error;

/// Names the admin for whom a command on the hub's machine acts.
pub const AS: &str = "toolgrove-as";

/// Marks a request that did not come over the network.
#[derive(Debug, Clone, Copy)]
pub struct Local;

impl App {
    /// The one person of a solo hub, if they came with the key: nobody else is known without asking anybody.
    pub(crate) fn owner(&self, headers: &HeaderMap) -> Option<Arc<Caller>> {
        let solo = self.gate.solo.as_ref()?;
        let has_key = secret::same(bearer(headers)?, self.gate.key.reveal());
        (has_key && !headers.contains_key(AS)).then(|| solo.clone())
    }

    /// Whoever came with the key; none if it is not the key, or not good there.
    pub(super) async fn keyholder(&self, given: &str, request: &Parts) -> Result<Option<Arc<Caller>>, Error> {
        let is_local = request.extensions.get::<Local>().is_some();
        if !secret::same(given, self.gate.key.reveal()) || (self.has_people() && !is_local) {
            return Ok(None);
        }
        let named = request.headers.get(AS).and_then(|it| it.to_str().ok());
        self.local_caller(named).await.map(Some)
    }

    /// For whom something on the hub's own machine acts: the one person, or the admin who is named or is the only one.
    pub async fn local_caller(&self, named: Option<&str>) -> Result<Arc<Caller>, Error> {
        if let Some(solo) = &self.gate.solo {
            return match named {
                None => Ok(solo.clone()),
                Some(_) => Err(Error::ActAs("a solo hub has one person; leave out `--as`".into())),
            };
        }
        let admins = self.store.admins().await.map_err(store_error)?;
        let has_address = |it: &str, wanted: &str| it.to_lowercase() == wanted.to_lowercase();
        let admin = match (named, &admins[..]) {
            (Some(email), all) => all
                .iter()
                .find(|it| it.email.as_deref().is_some_and(|it| has_address(it, email)))
                .ok_or_else(|| Error::ActAs(format!("no admin of this hub has the address `{email}`")))?,
            (None, [one]) => one,
            (None, []) => {
                return Err(Error::ActAs("this hub has no admin yet; open its set-up link first".into()));
            }
            (None, _) => {
                return Err(Error::ActAs(
                    "this hub has several admins; say who you are with `--as EMAIL`".into(),
                ));
            }
        };
        Ok(Arc::new(Caller::person(admin.id, Role::Admin, self.config.names)))
    }
}
