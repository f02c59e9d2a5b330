//! A legacy client between `initialize` and `DELETE`: what it can do, what runs for it, what it was asked.

use std::collections::{HashMap, HashSet};
use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{AbortHandle, AbortRegistration, Abortable};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use toolgrove_core::call::{Caller, Door, Links, View};
use toolgrove_core::event::{Ask, Events, Progress};
use toolgrove_core::hub::Watch;
use toolgrove_core::task;
use toolgrove_upstream::Pool;
use toolgrove_wire::envelope::{INVALID_PARAMS, INVALID_REQUEST};
use toolgrove_wire::legacy::Version;
use toolgrove_wire::modern::RequestMeta;
use toolgrove_wire::{Abilities, Id, Raw, RpcError};
use uuid::Uuid;

use super::answer::{Client, ClientEra, Failure, answer, broken};
use super::answering::Answering;
use super::asks;
use super::replay::Replays;
use super::stream::{Asker, Running};
use crate::{App, Memory};

/// A session nobody has used for this long is forgotten; its client is told to open a new one.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// One legacy client between `initialize` and `DELETE`.
pub struct Session {
    pub id: Arc<str>,
    /// Whose it is: see [`Caller::id`].
    caller: Uuid,
    pub(super) view: View,
    pub version: Version,
    abilities: Abilities,
    /// What the client calls itself.
    name: Option<Arc<str>>,
    log_level: Mutex<&'static str>,
    running: Mutex<HashMap<String, AbortHandle>>,
    asks: asks::Asks,
    pub(super) replays: Arc<Replays>,
    /// Resources this session has subscribed to, by the address it gave.
    watched: Mutex<HashMap<String, Watch<Pool, Memory>>>,
    used: Mutex<Instant>,
    pub(super) closed: Arc<Notify>,
}

/// All open legacy sessions.
#[derive(Default)]
pub struct Sessions {
    open: Arc<Table>,
    /// Whether forgotten ones are being looked for; not before there is one.
    swept: AtomicBool,
}

type Table = Mutex<HashMap<Arc<str>, Arc<Session>>>;

impl Sessions {
    pub fn open(
        &self,
        caller: &Caller,
        view: View,
        version: Version,
        abilities: Abilities,
        name: Option<Arc<str>>,
    ) -> Arc<Session> {
        let id = Uuid::new_v4().simple().to_string().into();
        let session = Arc::new(Session::new(id, caller.id(), view, version, abilities, name));
        lock(&self.open).insert(session.id.clone(), session.clone());
        if !self.swept.swap(true, Ordering::Relaxed) {
            task::spawn("forgotten sessions", forget(Arc::downgrade(&self.open)));
        }
        session
    }

    /// A session of this caller on this endpoint. Anybody else's does not exist.
    pub fn find(&self, id: &str, caller: &Caller, view: &View) -> Option<Arc<Session>> {
        let is_theirs = |it: &&Arc<Session>| it.caller == caller.id() && it.view == *view;
        let session = lock(&self.open).get(id).filter(is_theirs).cloned()?;
        *lock(&session.used) = Instant::now();
        Some(session)
    }

    pub fn close(&self, session: &Session) {
        lock(&self.open).remove(&session.id);
        session.cancel_all();
        session.closed.notify_waiters();
    }

    /// The sessions of these callers.
    pub(crate) fn of(&self, callers: &HashSet<Uuid>) -> Vec<Arc<Session>> {
        lock(&self.open).values().filter(|it| callers.contains(&it.caller)).cloned().collect()
    }

    /// Every session there is.
    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        lock(&self.open).values().cloned().collect()
    }

    /// How many a caller has open.
    pub fn count(&self, caller: &Caller) -> usize {
        lock(&self.open).values().filter(|it| it.caller == caller.id()).count()
    }
}

/// Forgets sessions that nobody uses and nothing runs for, until the table is gone.
async fn forget(table: Weak<Table>) {
    loop {
        sleep(FORGOTTEN_AFTER / 24).await;
        let Some(table) = table.upgrade() else { return };
        let is_forgotten =
            |it: &Arc<Session>| Arc::strong_count(it) == 1 && lock(&it.used).elapsed() >= FORGOTTEN_AFTER;
        let forgotten: Vec<_> = lock(&table).extract_if(|_, it| is_forgotten(it)).collect();
        drop(forgotten);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    fn new(
        id: Arc<str>,
        caller: Uuid,
        view: View,
        version: Version,
        abilities: Abilities,
        name: Option<Arc<str>>,
    ) -> Self {
        Self {
            id,
            caller,
            view,
            version,
            abilities,
            name,
            log_level: Mutex::new("info"),
            running: Mutex::default(),
            asks: asks::Asks::default(),
            replays: Arc::default(),
            watched: Mutex::default(),
            used: Mutex::new(Instant::now()),
            closed: Arc::default(),
        }
    }

    pub fn client(&self, caller: Arc<Caller>, door: Door) -> Client {
        Client {
            caller,
            view: self.view.clone(),
            era: ClientEra::Legacy(self.version),
            door,
            chat: self.id.clone(),
            log_level: Some(*lock(&self.log_level)),
            abilities: self.abilities,
            name: self.name.clone(),
        }
    }

    fn cancel_all(&self) {
        for running in lock(&self.running).values() {
            running.abort();
        }
    }

    /// Takes a notification of the client.
    pub fn notified(&self, app: &Arc<App>, method: &str, params: Option<&Raw>) {
        if method == "notifications/cancelled"
            && let Some(id) = params.and_then(|it| it.get("requestId")).and_then(Id::new)
            && let Some(running) = lock(&self.running).get(&id.key())
        {
            running.abort();
        }
        if method == "notifications/roots/list_changed" {
            self.asks.forget_roots();
            let (app, chat) = (app.clone(), self.id.clone());
            task::spawn("roots changed", async move { app.hub.links().roots_changed(&chat).await });
        }
    }

    pub fn set_log_level(&self, params: Option<&Raw>) -> Result<Raw, Failure> {
        let level = params.and_then(|it| it.get_text("level")).unwrap_or_default();
        *lock(&self.log_level) = super::log_level(&level)
            .ok_or_else(|| Failure::new(200, INVALID_PARAMS, format!("`{level}` is not a log level")))?;
        Ok(Raw::empty_object())
    }

    /// Starts a request that outlives the connection it came over.
    pub fn start(
        self: &Arc<Self>,
        app: &Arc<App>,
        client: Client,
        id: Id,
        method: String,
        params: Option<Raw>,
        meta: RequestMeta,
    ) -> Box<Running> {
        let progress_token = meta.progress_token.clone();
        let progress = if progress_token.is_some() { Progress::Wanted } else { Progress::Unwanted };
        let (events, heard) = Events::channel(progress);
        let era = client.era;
        let (asker, answer) = if let Some((listed, aborted)) = self.enlist(&id) {
            let app = app.clone();
            let answer = async move {
                let session = &listed.session;
                let own = match method.as_str() {
                    "logging/setLevel" => session.set_log_level(params.as_ref()),
                    "resources/subscribe" => session.subscribe(&app, &client.caller, params.as_ref()).await,
                    "resources/unsubscribe" => session.unsubscribe(params.as_ref()),
                    _ => return answer(&app, &client, &method, params, &meta, events).await,
                };
                own.map(Into::into)
            };
            let answer = Abortable::new(answer, aborted)
                .map(|it| it.unwrap_or_else(|_| Err(broken("the call was cancelled"))));
            (Asker::Session(self.clone()), Answering::lasting(answer))
        } else {
            let failure = Failure::new(400, INVALID_REQUEST, "a request with this id is already running");
            (Asker::Nobody, Answering::new(ready(Err(failure))))
        };
        Box::new(Running { id, era, progress_token, events: heard, answer, asker, visits: Vec::new() })
    }

    /// Puts a request on the list of those that run; none if its id is there already.
    fn enlist(self: &Arc<Self>, id: &Id) -> Option<(Listed, AbortRegistration)> {
        let (handle, aborted) = AbortHandle::new_pair();
        let key = id.key();
        let mut running = lock(&self.running);
        if running.contains_key(&key) {
            return None;
        }
        running.insert(key.clone(), handle);
        Some((Listed { session: self.clone(), key }, aborted))
    }

    /// A question as the request this client gets; none when it cannot be put to it.
    pub(super) fn ask(&self, ask: Ask) -> Option<asks::Put> {
        if !ask.question.fits(&ask.params, self.abilities) {
            return None;
        }
        self.asks.put(ask, self.version)
    }

    /// Takes the client's answer to a question.
    pub(super) fn answered(&self, id: Option<&Id>, result: Result<Raw, RpcError>) {
        if let Some(id) = id {
            self.asks.answered(id, result);
        }
    }

    async fn subscribe(&self, app: &Arc<App>, caller: &Caller, params: Option<&Raw>) -> Result<Raw, Failure> {
        let uri = address(params)?;
        let watch =
            app.hub.watch(caller, &self.view, &uri).await.map_err(|it| Failure::of(&it, &self.view))?;
        lock(&self.watched).insert(uri, watch);
        Ok(Raw::empty_object())
    }

    fn unsubscribe(&self, params: Option<&Raw>) -> Result<Raw, Failure> {
        let uri = address(params)?;
        lock(&self.watched).remove(&uri);
        Ok(Raw::empty_object())
    }

    /// Whether this session has subscribed to an address, in the form it gave.
    pub(super) fn watches(&self, uri: &str) -> bool {
        lock(&self.watched).contains_key(uri)
    }
}

/// A request in the table of those that run, until it ends in whatever way.
struct Listed {
    session: Arc<Session>,
    key: String,
}

impl Drop for Listed {
    fn drop(&mut self) {
        lock(&self.session.running).remove(&self.key);
    }
}

fn address(params: Option<&Raw>) -> Result<String, Failure> {
    params.and_then(|it| it.get_text("uri")).ok_or_else(|| Failure::new(200, INVALID_PARAMS, "missing: uri"))
}

/// A session that is in no table.
pub fn unlisted(caller: &Caller, view: View, version: Version) -> Arc<Session> {
    Arc::new(Session::new(caller.chat(), caller.id(), view, version, Abilities::NONE, None))
}

/// Ends a session and the links that were opened for it.
pub(crate) fn close(app: &Arc<App>, session: &Session) {
    app.sessions.close(session);
    let (app, chat) = (app.clone(), session.id.clone());
    task::spawn("end of a session", async move { app.hub.links().end_chat(&chat).await });
}
