//! The tokens of instances that somebody signed in to: in memory while they are used, in the store for good.
//!
//! A token that is about to expire is renewed once, however many calls wait for it, by a task that no caller can
//! cancel. A refresh token is out of the store while it is under way: whoever is killed meanwhile comes back without
//! it, rather than send it twice, which a provider would take for a theft.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;
use toolgrove_core::instance::{Instance, Transport};
use toolgrove_core::{Error, Secret, task};
use toolgrove_store::{NewToken, OauthTokenRow, Store};
use toolgrove_upstream::Fetch;
use toolgrove_upstream::oauth::{self, Challenge, Next, Refusal, TokenFailure, Tokens};
use url::Url;
use uuid::Uuid;

use super::rows;
use crate::problem::store_error;

/// A token with less than this left is renewed before it is used.
const SKEW_MS: i64 = 60_000;
/// A token that was renewed because the server refused the last one is not renewed again within this time.
const SUSPICION_MS: i64 = 60_000;
/// How long another replica may take to renew a token.
const OTHERS_MS: i64 = 60_000;
/// How long a provider that does not answer is left alone while the last token is good.
const REST_MS: i64 = 5_000;
const LOOK_AGAIN: Duration = Duration::from_millis(200);

const NO_REFRESH: &str = "access token expired and no refresh token is stored";
const IN_DOUBT: &str =
    "the hub was stopped while it renewed this sign-in, and a refresh token is not used twice";

/// Whether somebody else may be working on the same rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replicas {
    Alone,
    Several,
}

#[derive(Clone)]
pub struct Keyring(Arc<Inner>);

struct Inner {
    store: Store,
    now: fn() -> i64,
    replicas: Replicas,
    slots: Mutex<HashMap<Uuid, Arc<Slot>>>,
}

/// One instance's place on the ring.
#[derive(Default)]
struct Slot {
    held: Mutex<Held>,
    /// How the last renewal failed, for those who waited for it.
    failed: Mutex<Option<(Instant, Error)>>,
    /// Whoever has this renews the token.
    renewing: Arc<AsyncMutex<()>>,
}

#[derive(Clone, Default)]
enum Held {
    /// The store has not been asked yet.
    #[default]
    Unknown,
    /// Nobody had signed in to this revision of the instance. Another hub may hear of it first, so it holds for a while.
    Nothing { revision: u64, until: i64 },
    Token {
        access: Secret,
        /// The instance it was checked against: a changed one may be another server.
        revision: u64,
        expires_at: Option<i64>,
        /// When it was renewed because the server refused the one before.
        suspected_at: Option<i64>,
        /// Until when the provider, which did not answer, is left alone.
        rests_until: i64,
    },
}

/// Why a token is renewed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    /// It is about to expire.
    Age,
    /// The server refused this one.
    Refused(Secret),
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyring(•••)")
    }
}

impl Tokens for Keyring {
    fn bearer<'a>(
        &'a self,
        fetch: &'a Fetch,
        instance: &'a Instance,
    ) -> BoxFuture<'a, Result<Option<Secret>, Error>> {
        let slot = self.slot(instance.id);
        let held = slot.held().clone();
        match held {
            Held::Nothing { revision, until } if revision == instance.revision && self.now() < until => {
                async { Ok(None) }.boxed()
            }
            Held::Token { access, revision, expires_at, rests_until, .. }
                if revision == instance.revision && !self.is_due(expires_at, rests_until) =>
            {
                async { Ok(Some(access)) }.boxed()
            }
            _ => self.renewed(slot, fetch, instance, Reason::Age).boxed(),
        }
    }

    fn refused<'a>(
        &'a self,
        fetch: &'a Fetch,
        instance: &'a Instance,
        token: &'a Secret,
        refusal: Refusal,
    ) -> BoxFuture<'a, Result<Next, Error>> {
        async move {
            match refusal {
                Refusal::Scope(challenge) => self.step_up(instance, &challenge).await,
                Refusal::Unauthorized => {
                    let reason = Reason::Refused(token.clone());
                    let renewed = self.renewed(self.slot(instance.id), fetch, instance, reason).await?;
                    Ok(renewed.filter(|it| it != token).map_or(Next::SignIn, Next::Again))
                }
            }
        }
        .boxed()
    }
}

impl Keyring {
    pub fn new(store: Store, now: fn() -> i64, replicas: Replicas) -> Self {
        Self(Arc::new(Inner { store, now, replicas, slots: Mutex::default() }))
    }

    /// The store knows better than the ring.
    pub fn forget(&self, instance: Uuid) {
        self.slots().remove(&instance);
    }

    /// The store may know of a sign-in that the ring has not heard of. A token that is held, or on its way, stays.
    pub fn look_again(&self, instance: Uuid) {
        let slot = self.slot(instance);
        let mut held = slot.held();
        if matches!(*held, Held::Nothing { .. }) {
            *held = Held::Unknown;
        }
    }

    /// Waits for tokens that are being renewed: what a provider has given must be written down.
    pub async fn close(&self) {
        let slots: Vec<_> = self.slots().values().cloned().collect();
        for slot in slots {
            let _ = slot.renewing.lock().await;
        }
    }

    /// A token with time left, renewed if need be; once, however many ask.
    async fn renewed(
        &self,
        slot: Arc<Slot>,
        fetch: &Fetch,
        instance: &Instance,
        reason: Reason,
    ) -> Result<Option<Secret>, Error> {
        let came = Instant::now();
        let turn = slot.renewing.clone().lock_owned().await;
        if let Some((_, error)) = slot.failed().as_ref().filter(|it| it.0 >= came) {
            return Err(error.clone());
        }
        if let Turn::Over(token) = self.settled(&slot, instance.revision, &reason) {
            return Ok(token);
        }
        let (ring, fetch) = (self.clone(), fetch.clone());
        let job = Job::new(slot, instance, reason);
        let renewing = task::spawn("renew-token", async move {
            let renewed = ring.renew(&job, &fetch).await;
            if let Err(error) = &renewed {
                *job.slot.failed() = Some((Instant::now(), error.clone()));
            }
            drop(turn);
            renewed
        });
        renewing.await.unwrap_or_else(|_| Err(Error::Internal("renewing a token was given up".into())))
    }

    /// What somebody else has found out while we waited for our turn.
    fn settled(&self, slot: &Slot, wanted: u64, reason: &Reason) -> Turn {
        let held = slot.held().clone();
        let (access, expires_at, suspected_at, rests_until) = match held {
            Held::Nothing { revision, until } if revision == wanted && self.now() < until => {
                return Turn::Over(None);
            }
            Held::Token { access, revision, expires_at, suspected_at, rests_until } if revision == wanted => {
                (access, expires_at, suspected_at, rests_until)
            }
            _ => return Turn::Ours,
        };
        let is_over = match reason {
            Reason::Age => !self.is_due(expires_at, rests_until),
            Reason::Refused(refused) => {
                access != *refused || suspected_at.is_some_and(|it| self.now() - it < SUSPICION_MS)
            }
        };
        if is_over { Turn::Over(Some(access)) } else { Turn::Ours }
    }

    async fn renew(&self, job: &Job, fetch: &Fetch) -> Result<Option<Secret>, Error> {
        // A token is for one resource: a server that moved elsewhere is not shown it.
        let row = self.row(job.instance).await?.filter(|it| job.is_for(&it.resource));
        let Some(row) = row else {
            let until = match self.0.replicas {
                Replicas::Alone => i64::MAX,
                Replicas::Several => self.now() + OTHERS_MS,
            };
            *job.slot.held() = Held::Nothing { revision: job.revision, until };
            return Ok(None);
        };
        let is_fresh = match &job.reason {
            Reason::Age => !self.is_due(row.expires_at, 0),
            Reason::Refused(refused) => row.access != *refused,
        };
        if is_fresh {
            return Ok(Some(job.hold(row.access, row.expires_at, None, 0)));
        }
        let is_good = row.expires_at.is_none_or(|it| it > self.now());
        let is_refused = job.reason != Reason::Age;
        match self.ask(job, &row, fetch).await? {
            Asked::Renewed(access, expires_at) => {
                let suspected_at = is_refused.then(|| self.now());
                Ok(Some(job.hold(access, expires_at, suspected_at, 0)))
            }
            // What is there is used as long as it is good.
            Asked::Ended(_) | Asked::Away(_) if is_good && !is_refused => {
                Ok(Some(job.hold(row.access, row.expires_at, None, self.now() + REST_MS)))
            }
            // Why it is not good any more is the server's to say.
            Asked::Never(_) if is_good => {
                Ok(Some(job.hold(row.access, row.expires_at, None, row.expires_at.unwrap_or(0))))
            }
            Asked::Never(text) | Asked::Ended(text) => {
                let (slug, status, body, challenge) = (job.slug.clone(), None, None, None);
                Err(Error::NeedsReauth { slug, text, status, body, challenge })
            }
            Asked::Away(cause) => {
                let cause = format!("its sign-in could not be renewed: {cause}");
                Err(Error::Unreachable { slug: job.slug.clone(), cause })
            }
        }
    }

    /// The row as it is when nobody else is working on it.
    async fn row(&self, instance: Uuid) -> Result<Option<OauthTokenRow>, Error> {
        loop {
            let row = self.0.store.oauth_token_of(instance).await.map_err(store_error)?;
            let taken_at = row.as_ref().and_then(|it| it.taken_at);
            let is_theirs = self.0.replicas == Replicas::Several
                && taken_at.is_some_and(|it| self.now() - it < OTHERS_MS);
            if !is_theirs {
                return Ok(row);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Spends the refresh token.
    async fn ask(&self, job: &Job, row: &OauthTokenRow, fetch: &Fetch) -> Result<Asked, Error> {
        let store = &self.0.store;
        let Some(refresh) = &row.refresh else {
            return Ok(match (&row.problem, row.taken_at) {
                (Some(problem), _) => Asked::Ended(problem.clone()),
                (None, Some(_)) => Asked::Never(IN_DOUBT.into()),
                (None, None) => Asked::Never(NO_REFRESH.into()),
            });
        };
        let Some((client, endpoint)) = self.client(row).await? else {
            return Ok(Asked::Ended(format!("the client for {} is no longer there", row.issuer)));
        };
        let Some(taken) = store.take_refresh(job.instance).await.map_err(store_error)? else {
            return Ok(Asked::Away("somebody else is renewing it".into()));
        };
        let asked_at = self.now();
        match oauth::refresh(fetch, &endpoint, &client, refresh, &row.resource).await {
            Ok(grant) => {
                let expires_at = rows::expires_at(asked_at, &grant);
                let access = grant.access.clone();
                let token =
                    NewToken { access: grant.access, refresh: grant.refresh, expires_at, scope: grant.scope };
                if store.renew_oauth_token(taken, &token).await.map_err(store_error)? {
                    Ok(Asked::Renewed(access, expires_at))
                } else {
                    Ok(Asked::Away("somebody signed in anew".into()))
                }
            }
            Err(TokenFailure::Refused { code, text, .. }) => {
                tracing::info!(server = job.slug, text, "the provider gives no more tokens");
                store.end_oauth_token(taken, &text).await.map_err(store_error)?;
                rows::drop_refused_client(store, &row.issuer, &row.client_id, code.as_deref()).await;
                Ok(Asked::Ended(text))
            }
            Err(TokenFailure::Away(cause)) => {
                store.return_refresh(taken).await.map_err(store_error)?;
                Ok(Asked::Away(cause))
            }
        }
    }

    async fn client(&self, row: &OauthTokenRow) -> Result<Option<(oauth::Client, Url)>, Error> {
        let client = rows::client(&self.0.store, &row.issuer, &row.client_id).await?;
        Ok(client.zip(row.token_endpoint.parse().ok()))
    }

    /// Remembers what the server wants on top, so that the next sign-in asks for all of it.
    async fn step_up(&self, instance: &Instance, challenge: &Challenge) -> Result<Next, Error> {
        let store = &self.0.store;
        let mut demand = rows::demand(store, instance.id).await?;
        let granted = store.oauth_token_of(instance.id).await.map_err(store_error)?.and_then(|it| it.scope);
        let helps = demand.step_up(granted.as_deref(), challenge);
        rows::put_demand(store, instance.id, &demand).await?;
        Ok(if helps { Next::SignIn } else { Next::GiveUp })
    }

    fn is_due(&self, expires_at: Option<i64>, rests_until: i64) -> bool {
        let now = self.now();
        expires_at.is_some_and(|it| it - now < SKEW_MS && (it <= now || rests_until <= now))
    }

    fn now(&self) -> i64 {
        (self.0.now)()
    }

    fn slot(&self, instance: Uuid) -> Arc<Slot> {
        self.slots().entry(instance).or_default().clone()
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<Slot>>> {
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn failed(&self) -> MutexGuard<'_, Option<(Instant, Error)>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a token has to be renewed by whoever's turn it is.
enum Turn {
    Ours,
    /// Somebody else has done it.
    Over(Option<Secret>),
}

/// One renewal.
struct Job {
    slot: Arc<Slot>,
    instance: Uuid,
    revision: u64,
    slug: String,
    /// Where the server is.
    url: Option<Url>,
    reason: Reason,
}

impl Job {
    fn new(slot: Arc<Slot>, instance: &Instance, reason: Reason) -> Self {
        let url = match &instance.transport {
            Transport::Http(reach) | Transport::Sse(reach) => Some(reach.url.clone()),
            Transport::Stdio(_)
            | Transport::Unix(_)
            | Transport::Builtin
            | Transport::Bud(_)
            | Transport::Impossible { .. } => None,
        };
        Self {
            slot,
            instance: instance.id,
            revision: instance.revision,
            slug: instance.slug.clone(),
            url,
            reason,
        }
    }

    fn is_for(&self, resource: &str) -> bool {
        self.url.as_ref().is_some_and(|it| oauth::covers(resource, it))
    }

    fn hold(
        &self,
        access: Secret,
        expires_at: Option<i64>,
        suspected_at: Option<i64>,
        rests_until: i64,
    ) -> Secret {
        let revision = self.revision;
        let held = Held::Token { access: access.clone(), revision, expires_at, suspected_at, rests_until };
        *self.slot.held() = held;
        access
    }
}

/// What came of asking the provider.
enum Asked {
    Renewed(Secret, Option<i64>),
    /// The provider gives no more tokens, and why.
    Ended(String),
    /// There is nothing to ask it with, and why.
    Never(String),
    /// Not now, and why.
    Away(String),
}

#[cfg(test)]
mod tests;
