//! What a token or a cookie opens, remembered so that a request seldom asks the store. A pass that is ended takes
//! everything with it that still runs for it: requests, streams, sessions and parked calls.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolgrove_core::call::{Caller, Role};
use toolgrove_core::name::Profile;
use toolgrove_core::{Error, task};
use uuid::Uuid;

use super::Gate;
use super::secret::{self, Hash};
use super::session::{self, Session};
use crate::authority::{ACCESS, Reach};
use crate::problem::store_error;
use crate::{App, mcp};

/// After this time the store is asked again: another process may have revoked what was shown.
const BELIEVED: Duration = Duration::from_secs(60);
/// Use is written down at most this often.
const NOTED_MS: i64 = 60_000;
/// How often a lookup is repeated when something was ended meanwhile.
const TRIES: usize = 8;

/// Who came in, and how.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    pub(crate) caller: Arc<Caller>,
    /// The browser session, for callers who came with a cookie.
    pub(crate) session: Option<Arc<Session>>,
    /// What it is good for, if not for everything: the token of a connected client.
    pub(crate) reach: Option<Arc<Reach>>,
    /// Cancelled when the pass is no longer good. Whatever runs for it holds this. None: nobody can end it.
    pub(crate) ended: Option<Arc<CancellationToken>>,
}

impl Pass {
    /// A pass that nobody can end: the hub's own key.
    pub(crate) fn lasting(caller: Arc<Caller>) -> Self {
        Self { caller, session: None, reach: None, ended: None }
    }
}

impl Pass {
    /// Whether anything runs for it besides what remembers it.
    fn runs(&self) -> bool {
        self.ended.as_ref().is_some_and(|it| Arc::strong_count(it) > 1)
    }

    fn end(&self) {
        if let Some(ended) = &self.ended {
            ended.cancel();
        }
    }
}

/// What somebody showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown<'a> {
    Token(&'a str),
    Cookie(&'a str),
}

/// The passes that were good a moment ago.
#[derive(Default)]
pub(crate) struct Passes {
    held: Mutex<HashMap<Hash, Held>>,
    /// Rises when something is ended, so that nothing that was read before is kept after.
    ended: AtomicU64,
}

struct Held {
    pass: Pass,
    checked: Instant,
    /// Unix milliseconds.
    over_at: i64,
}

impl Passes {
    fn lock(&self) -> MutexGuard<'_, HashMap<Hash, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn believed(&self, hash: &Hash, now: i64) -> Option<Pass> {
        let held = self.lock();
        let found = held.get(hash)?;
        (found.checked.elapsed() < BELIEVED && now < found.over_at).then(|| found.pass.clone())
    }

    /// Keeps what the store said at a time when `seen` had been ended. None: look again.
    fn keep(&self, hash: Hash, found: Found, seen: u64, now: i64) -> Option<Pass> {
        let mut held = self.lock();
        if self.ended.load(Ordering::Acquire) != seen {
            return None;
        }
        // What runs for a pass may outlive it, and must still be ended when somebody says so.
        held.retain(|_, it| now < it.over_at || it.pass.runs());
        let (mut caller, mut ended) = (Arc::new(found.caller), Some(Arc::default()));
        if let Some(known) = held.get(&hash) {
            ended.clone_from(&known.pass.ended);
            if known.pass.caller == caller {
                // What hangs on the very same grants need not be made again.
                caller = known.pass.caller.clone();
            }
        }
        let reach = found.reach.map(Arc::new);
        let pass = Pass { caller, session: found.session.map(Arc::new), reach, ended };
        held.insert(hash, Held { pass: pass.clone(), checked: Instant::now(), over_at: found.over_at });
        Some(pass)
    }

    /// Ends a pass that should still be good and is not. One that is merely over leaves what it began alone.
    fn take_back(&self, hash: &Hash, now: i64) {
        let mut held = self.lock();
        if held.get(hash).is_some_and(|it| now < it.over_at) {
            held.remove(hash).inspect(|it| it.pass.end());
        }
    }

    /// Ends every pass that is meant, and everything that runs for it.
    pub(crate) fn end(&self, is_meant: impl Fn(&Pass) -> bool) {
        let mut held = self.lock();
        self.ended.fetch_add(1, Ordering::AcqRel);
        held.retain(|_, it| {
            let ends = is_meant(&it.pass);
            if ends {
                it.pass.end();
            }
            !ends
        });
    }
}

/// What the store knows of something that was shown.
struct Found {
    caller: Caller,
    session: Option<Session>,
    reach: Option<Reach>,
    over_at: i64,
}

impl App {
    /// The pass behind a token or a cookie. What is unknown, revoked or over is refused in one and the same sentence.
    pub(crate) async fn pass(&self, shown: Shown<'_>) -> Result<Pass, Error> {
        let (passes, now) = (&self.gate.passes, self.hub.now());
        let hash = match shown {
            Shown::Token(it) | Shown::Cookie(it) => secret::hash(it),
        };
        if let Some(pass) = passes.believed(&hash, now) {
            return Ok(pass);
        }
        for _ in 0..TRIES {
            let seen = passes.ended.load(Ordering::Acquire);
            let found = match shown {
                Shown::Token(it) if it.starts_with(ACCESS) => self.connection(&hash, now).await?,
                Shown::Token(_) => self.token(&hash, now).await?,
                Shown::Cookie(it) => self.session(&hash, it, now).await?,
            };
            let Some(found) = found else {
                passes.take_back(&hash, now);
                return Err(Error::AuthMissing);
            };
            if let Some(pass) = passes.keep(hash, found, seen, now) {
                return Ok(pass);
            }
        }
        Err(Error::AuthMissing)
    }

    async fn token(&self, hash: &Hash, now: i64) -> Result<Option<Found>, Error> {
        let found = self.store.token_by_hash(&secret::stored(hash)).await.map_err(store_error)?;
        let Some((token, role)) = found else { return Ok(None) };
        if token.last_used_at.is_none_or(|it| now - it > NOTED_MS) {
            let store = self.store.clone();
            task::spawn("token used", async move {
                if let Err(error) = store.token_used(token.id).await {
                    tracing::warn!(?error, "the use of a token was not written down");
                }
            });
        }
        let caller = Caller {
            person: token.person_id,
            // A token for some instances is for using them, not for keeping the hub.
            role: if token.grants.is_some() { Role::Member } else { role },
            token: Some(token.id),
            profile: Profile::parse(&token.names_profile).unwrap_or(self.config.names),
            grants: token.grants.map(Arc::new),
        };
        Ok(Some(Found { caller, session: None, reach: None, over_at: i64::MAX }))
    }

    async fn connection(&self, hash: &Hash, now: i64) -> Result<Option<Found>, Error> {
        let found = self.store.access_token(&secret::stored(hash)).await.map_err(store_error)?;
        let Some(found) = found.filter(|it| now < it.expires_at) else { return Ok(None) };
        let Some(reach) = Reach::of(&found) else { return Ok(None) };
        let caller = self.connected(&found).await?;
        Ok(Some(Found { caller, session: None, reach: Some(reach), over_at: found.expires_at }))
    }

    async fn session(&self, hash: &Hash, cookie: &str, now: i64) -> Result<Option<Found>, Error> {
        let found = self.store.session_by_hash(&secret::stored(hash)).await.map_err(store_error)?;
        let Some((row, role)) = found else { return Ok(None) };
        let over_at = session::over_at(&row);
        if now >= over_at {
            return Ok(None);
        }
        if now - row.last_seen_at > NOTED_MS {
            let store = self.store.clone();
            task::spawn("session seen", async move {
                if let Err(error) = store.session_seen(row.id).await {
                    tracing::warn!(?error, "the use of a session was not written down");
                }
            });
        }
        let caller = Caller::person(row.person_id, role, self.config.names);
        Ok(Some(Found { caller, session: Some(Session::new(row.id, cookie)), reach: None, over_at }))
    }

    /// Everybody a person may be: themselves, and each of their tokens.
    pub(crate) async fn ways_in(&self, person: Uuid) -> Result<HashSet<Uuid>, Error> {
        let tokens = self.store.tokens_of(person).await.map_err(store_error)?;
        let held = self.gate.passes.lock();
        let seen = held.values().filter(|it| it.pass.caller.person == person).map(|it| it.pass.caller.id());
        Ok(seen.chain(tokens.iter().map(|it| it.id)).chain([person]).collect())
    }

    /// Ends whatever runs for these callers. Whether they may come again is for the store to say.
    pub(crate) fn end(self: &Arc<Self>, callers: &HashSet<Uuid>) {
        self.gate.passes.end(|it| callers.contains(&it.caller.id()));
        for session in self.sessions.of(callers) {
            mcp::session::close(self, &session);
        }
        self.streams.close_all(callers);
        self.lot.drop_all(callers);
        for caller in callers {
            self.hub.forget(*caller);
        }
    }
}

impl Gate {
    /// Has the store asked again what a person may do. Nothing that runs is ended.
    pub(crate) fn forget(&self, person: Uuid) {
        let mut held = self.passes.lock();
        self.passes.ended.fetch_add(1, Ordering::AcqRel);
        held.retain(|_, it| it.pass.caller.person != person);
    }
}
