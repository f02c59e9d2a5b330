//! A client on one channel that carries everything in both directions: stdio, a socket, or HTTP+SSE.
//!
//! Each message says which era it is of. `initialize` sets the legacy state of the channel; modern requests stand
//! alone. Requests run beside each other and answer in the order in which they finish.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_util::task::TaskTracker;
use toolgrove_core::call::{Caller, Door, View};
use toolgrove_core::task;
use toolgrove_wire::envelope::{self, INVALID_REQUEST, NotAMessage};
use toolgrove_wire::legacy::Version;
use toolgrove_wire::modern::RequestMeta;
use toolgrove_wire::{Id, Message, Raw, RpcError};

use super::answer::{Client, ClientEra, Failure, client_name};
use super::legacy;
use super::modern::{self, Started};
use super::notices::{Notices, Wanted};
use super::session::{self, Session};
use super::stream::{Running, unknown_id};
use crate::App;

/// One client on its channel. Dropping it ends everything it started.
pub struct Conversation {
    app: Arc<App>,
    caller: Arc<Caller>,
    view: View,
    door: Door,
    out: mpsc::Sender<Bytes>,
    session: OnceLock<Arc<Session>>,
    /// Modern requests, listens and the legacy ear.
    tasks: Arc<Mutex<HashMap<String, AbortHandle>>>,
    /// Requests without an answer.
    open: TaskTracker,
}

impl Conversation {
    pub fn new(app: Arc<App>, caller: Arc<Caller>, view: View, door: Door, out: mpsc::Sender<Bytes>) -> Self {
        Self {
            app,
            caller,
            view,
            door,
            out,
            session: OnceLock::new(),
            tasks: Arc::default(),
            open: TaskTracker::new(),
        }
    }

    /// Takes one message of the client. Waits only when the client does not read its answers.
    pub async fn take(&self, bytes: Bytes) {
        let body = match Raw::parse(bytes) {
            Ok(body) => body,
            Err(problem) => return self.refuse(None, &NotAMessage::from(problem).rpc()).await,
        };
        if body.is_array() {
            return self.take_batch(&body).await;
        }
        match Message::read(&body) {
            Err(problem) => self.refuse(envelope::id_of(&body).as_ref(), &problem.rpc()).await,
            Ok(Message::Request { id, method, params }) => {
                let meta = RequestMeta::read(params.as_ref());
                if meta.version.is_some() {
                    self.take_modern(id, method, params, meta).await;
                } else if method == "initialize" {
                    self.initialize(&id, params.as_ref()).await;
                } else {
                    self.start(id, method, params);
                }
            }
            Ok(Message::Notification { method, params }) => self.notified(&method, params.as_ref()),
            Ok(Message::Response { id, result }) => {
                if let Some(session) = self.session.get() {
                    session.answered(id.as_ref(), result);
                }
            }
        }
    }

    /// Waits until every request has its answer. A subscription is answered by its end, and is not waited for.
    pub(super) async fn all_answered(&self) {
        self.open.close();
        self.open.wait().await;
    }

    async fn take_modern(&self, id: Id, method: String, params: Option<Raw>, meta: RequestMeta) {
        let version = meta.version.clone().unwrap_or_default();
        let checked = modern::check_meta(&method, &meta)
            .and_then(|()| modern::check_version(&version))
            .and_then(|()| modern::check_method(&method));
        if let Err(failure) = checked {
            return self.refuse(Some(&id), &failure.rpc).await;
        }
        let client = modern::client(self.caller.clone(), self.view.clone(), self.door, &meta);
        self.app.live.meet(client.caller.person, client.name.as_ref());
        if method == "subscriptions/listen" {
            match modern::listen(&self.app, &client, &id, params.as_ref()).await {
                Ok((acknowledged, notices)) => {
                    self.send(acknowledged).await;
                    self.follow(id.key(), notices);
                }
                Err(failure) => self.refuse(Some(&id), &failure.rpc).await,
            }
            return;
        }
        let running = match modern::start(&self.app, client, id.clone(), method, params, meta) {
            Started::Running(running) => running,
            Started::Answered(result) => return self.send(envelope::response(&id, &result)).await,
            Started::Refused(failure) => return self.refuse(Some(&id), &failure.rpc).await,
        };
        let (out, tasks, key) = (self.out.clone(), self.tasks.clone(), id.key());
        let (ended, open) = (key.clone(), self.open.token());
        let mut held = lock(&self.tasks);
        let handle = task::spawn("request", async move {
            running.send_to(&out).await;
            lock(&tasks).remove(&ended);
            drop(open);
        });
        held.insert(key, handle.abort_handle());
    }

    async fn initialize(&self, id: &Id, params: Option<&Raw>) {
        let result = match legacy::negotiate(params) {
            Err(failure) => Err(failure),
            Ok(_) if self.session.get().is_some() => {
                Err(Failure::new(400, INVALID_REQUEST, "this session is already initialized"))
            }
            Ok(version) => {
                if let View::One { slug } = &self.view {
                    self.app.first_listing(&self.caller, slug).await;
                }
                let name = params.and_then(|it| it.get("clientInfo")).as_ref().and_then(client_name);
                self.app.live.meet(self.caller.person, name.as_ref());
                let abilities = legacy::abilities(params, version);
                let view = self.view.clone();
                let session = self.app.sessions.open(&self.caller, view, version, abilities, name);
                let session = self.session.get_or_init(|| session);
                legacy::initialized(&self.app, &session.client(self.caller.clone(), self.door), version)
            }
        };
        match result {
            Ok(result) => {
                self.send(envelope::response(id, &result)).await;
                let bus = self.app.hub.bus().subscribe();
                if let Some(session) = self.session.get() {
                    let wanted = Wanted::session(session.clone());
                    let ear = Notices::new(bus, self.caller.clone(), self.view.clone(), wanted, None);
                    self.follow("legacy ear".into(), ear);
                }
            }
            Err(failure) => self.refuse(Some(id), &failure.rpc).await,
        }
    }

    /// Starts a legacy request and sends what comes of it.
    fn start(&self, id: Id, method: String, params: Option<Raw>) {
        let (running, out, open) = (self.run(id, method, params), self.out.clone(), self.open.token());
        task::spawn("answer", async move {
            running.send_to(&out).await;
            drop(open);
        });
    }

    fn run(&self, id: Id, method: String, params: Option<Raw>) -> Box<Running> {
        let session = self.session.get().cloned().unwrap_or_else(|| {
            // A request before `initialize`: answered in our newest legacy words, remembered nowhere.
            session::unlisted(&self.caller, self.view.clone(), Version::LATEST)
        });
        let client: Client = session.client(self.caller.clone(), self.door);
        let meta = RequestMeta::read(params.as_ref());
        session.start(&self.app, client, id, method, params, meta)
    }

    async fn take_batch(&self, body: &Raw) {
        if !self.session.get().is_some_and(|it| it.version.has_batches()) {
            return self.refuse(None, &NotAMessage::Batch.rpc()).await;
        }
        let mut running = Vec::new();
        for element in body.items() {
            match Message::read(&element) {
                Err(problem) => self.refuse(envelope::id_of(&element).as_ref(), &problem.rpc()).await,
                Ok(Message::Request { id, method, params }) => running.push(self.run(id, method, params)),
                Ok(Message::Notification { method, params }) => self.notified(&method, params.as_ref()),
                Ok(Message::Response { .. }) => {}
            }
        }
        let (out, open) = (self.out.clone(), self.open.token());
        task::spawn("batch", async move {
            let answers = futures::future::join_all(running.into_iter().map(Running::message)).await;
            let answers: Vec<Raw> = answers.into_iter().filter_map(|it| Raw::parse(it).ok()).collect();
            if !answers.is_empty() {
                let _ = out.send(Raw::array(&answers).bytes().clone()).await;
            }
            drop(open);
        });
    }

    fn notified(&self, method: &str, params: Option<&Raw>) {
        if let Some(session) = self.session.get() {
            session.notified(&self.app, method, params);
        }
        if method == "notifications/cancelled"
            && let Some(id) = params.and_then(|it| it.get("requestId")).and_then(Id::new)
            && let Some(running) = lock(&self.tasks).remove(&id.key())
        {
            running.abort();
        }
    }

    fn follow(&self, key: String, mut notices: Notices) {
        let out = self.out.clone();
        let handle = task::spawn("notices", async move {
            while let Some(message) = notices.next().await {
                if out.send(message).await.is_err() {
                    return;
                }
            }
        });
        lock(&self.tasks).insert(key, handle.abort_handle());
    }

    async fn refuse(&self, id: Option<&Id>, problem: &RpcError) {
        let era = match self.session.get() {
            Some(session) => ClientEra::Legacy(session.version),
            None => ClientEra::Modern,
        };
        self.send(envelope::error(id, problem, unknown_id(era))).await;
    }

    async fn send(&self, message: Bytes) {
        // A client that has gone is noticed by its reader.
        let _ = self.out.send(message).await;
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        if let Some(session) = self.session.get() {
            session::close(&self.app, session);
        }
        for (_, running) in lock(&self.tasks).drain() {
            running.abort();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
