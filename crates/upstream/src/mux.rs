//! Many requests on one connection: our ids, who waits for which, and what the server says in between.
//!
//! Used wherever answers do not come back on the request's own stream: lines on a pipe or socket, and HTTP+SSE.
//! Whoever reads the connection calls [`Mux::receive`]; whoever writes it takes from the outbox.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot, watch};
use toolgrove_core::Error;
use toolgrove_wire::{Abilities, Edit, Message, Raw, RpcError, envelope};

use crate::context::{Context, LiveFeed};
use crate::desk::{Asked, Back, Clock, Desk, Stop, Watcher};
use crate::failure::Failure;
use crate::feed;
use crate::speech::{Ask, Leaving, Speech};

/// How many messages may wait to be written before callers have to wait too.
const OUTBOX: usize = 256;

#[derive(Debug)]
pub(crate) struct Mux {
    pub(crate) context: Arc<Context>,
    pub(crate) desk: Arc<Desk>,
    next: AtomicU64,
    state: Mutex<State>,
    over: watch::Sender<bool>,
}

#[derive(Debug)]
struct State {
    waiting: HashMap<u64, Waiter>,
    /// Gone once the link is closed, which ends the writer.
    outbox: Option<Outbox>,
    ended: Option<Error>,
    /// There while the connection itself is a change feed.
    live: Option<LiveFeed>,
}

/// A message on its way out. `id` is there if somebody waits for its answer.
#[derive(Debug)]
pub(crate) struct Outbound {
    pub(crate) id: Option<u64>,
    pub(crate) body: Bytes,
}

/// Where messages to the server are put.
#[derive(Debug, Clone)]
pub(crate) struct Outbox(mpsc::Sender<Outbound>);

impl Outbox {
    /// Puts a message in. One for a link that has ended is lost with it.
    pub(crate) async fn send(&self, body: Bytes) {
        let _ = self.0.send(Outbound { id: None, body }).await;
    }

    pub(crate) fn send_all_soon(&self, messages: Vec<Bytes>) {
        for message in messages {
            self.send_soon(message);
        }
    }

    /// Puts a message in from where nothing may wait.
    pub(crate) fn send_soon(&self, body: Bytes) {
        let Err(mpsc::error::TrySendError::Full(outbound)) = self.0.try_send(Outbound { id: None, body })
        else {
            return;
        };
        if tokio::runtime::Handle::try_current().is_ok() {
            let outbox = self.clone();
            toolgrove_core::task::spawn("outbox", async move { outbox.send(outbound.body).await });
        }
    }
}

#[derive(Debug)]
struct Waiter {
    done: oneshot::Sender<Result<Raw, Failure>>,
    watcher: Arc<Watcher>,
    is_call: bool,
}

impl State {
    /// The one call in flight, if there is just one. A standing subscription is no call.
    fn only_call(&self) -> Option<u64> {
        let mut calls = self.waiting.iter().filter(|it| it.1.is_call).map(|it| *it.0);
        calls.next().filter(|_| calls.next().is_none())
    }
}

impl Mux {
    /// A connection whose server is told that it may ask for `declared`.
    pub(crate) fn new(context: Arc<Context>, declared: Abilities) -> (Arc<Self>, mpsc::Receiver<Outbound>) {
        let (tx, rx) = mpsc::channel(OUTBOX);
        let state = State { waiting: HashMap::new(), outbox: Some(Outbox(tx)), ended: None, live: None };
        let mux = Self {
            context,
            desk: Desk::new(declared),
            next: AtomicU64::new(1),
            state: Mutex::new(state),
            over: watch::channel(false).0,
        };
        (Arc::new(mux), rx)
    }

    /// Sends one request and waits for its answer. Dropping the future tells the server, unless `ask` says not to.
    pub(crate) async fn ask(self: &Arc<Self>, speech: &Speech, ask: &Ask<'_>) -> Result<Raw, Failure> {
        let mut ticket = self.enter(ask)?;
        let body = speech.request(ticket.id, ask).into_bytes();
        ticket.send(body, ask).await?;
        ticket.wait(ask.timeout).await
    }

    /// Takes a place among the waiting. Nothing is sent yet.
    pub(crate) fn enter(self: &Arc<Self>, ask: &Ask<'_>) -> Result<Ticket, Failure> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (done, answer) = oneshot::channel();
        let watcher = ask.watcher();
        let is_call = ask.method != feed::LISTEN;
        let waiter = Waiter { done, watcher: watcher.clone(), is_call };
        let mut state = self.lock();
        if let Some(error) = &state.ended {
            return Err(Failure::Untaken(error.clone()));
        }
        let Some(outbox) = state.outbox.clone() else {
            return Err(Failure::Untaken(self.context.unreachable("the link was closed")));
        };
        state.waiting.insert(id, waiter);
        Ok(Ticket { mux: self.clone(), id, answer, watcher, outbox, on_drop: OnDrop::Forget })
    }

    /// Sends a message that has no answer.
    pub(crate) async fn notify(&self, method: &str, params: Option<&Raw>) -> Result<(), Error> {
        let outbox = self.lock().outbox.clone();
        let closed = || self.context.unreachable("the link was closed");
        let body = envelope::notification(method, params);
        outbox.ok_or_else(closed)?.0.send(Outbound { id: None, body }).await.map_err(|_| closed())
    }

    /// Sends a request whose answer nobody waits for.
    pub(crate) fn send_beside(&self, speech: &Speech, ask: &Ask<'_>) {
        let Some(outbox) = self.lock().outbox.clone() else { return };
        outbox.send_soon(speech.request(self.next.fetch_add(1, Ordering::Relaxed), ask).into_bytes());
    }

    /// Takes one JSON text that arrived; 2025-03-26 allows several messages in one.
    pub(crate) fn receive(&self, raw: &Raw) -> Result<(), envelope::NotAMessage> {
        if raw.is_array() {
            return raw.items().try_for_each(|it| Message::read(&it).map(|it| self.take(it)));
        }
        Message::read(raw).map(|it| self.take(it))
    }

    fn take(&self, message: Message) {
        match message {
            Message::Response { id, result } => {
                let result = result.map_err(|it| Failure::Final(server_error(it)));
                match id {
                    Some(id) => self.finish(id.as_number(), result),
                    // A server that could not read an id can only mean the one request there is.
                    None => drop(self.finish_only(result)),
                }
            }
            Message::Notification { method, params } => self.take_notification(&method, params.as_ref()),
            Message::Request { id, method, params } => {
                let Some(outbox) = self.lock().outbox.clone() else { return };
                let asked = Asked { id, method, params };
                self.desk.take(&self.context, asked, self.desk.only(), Back::Outbox(outbox));
            }
        }
    }

    fn take_notification(&self, method: &str, params: Option<&Raw>) {
        match (method, params) {
            ("notifications/progress", Some(params)) => {
                let token = params.get("progressToken").and_then(|it| it.u64());
                if let Some(waiter) = token.and_then(|it| self.watcher(it)) {
                    waiter.progress(params);
                }
            }
            // Here the wire does not say whose message it is.
            ("notifications/message", Some(params)) => {
                let state = self.lock();
                if let Some(waiter) = state.only_call().and_then(|it| state.waiting.get(&it)) {
                    waiter.watcher.log(params);
                }
            }
            ("notifications/subscriptions/acknowledged", Some(params)) => {
                if let Some(watcher) = feed::subscription(params).and_then(|it| self.watcher(it)) {
                    watcher.hear();
                }
            }
            ("notifications/elicitation/complete", Some(params)) => self.desk.elicited(params),
            ("notifications/cancelled", Some(params)) => self.desk.withdraw(params),
            _ => feed::report(&self.context, method, params),
        }
    }

    fn watcher(&self, id: u64) -> Option<Arc<Watcher>> {
        self.lock().waiting.get(&id).map(|it| it.watcher.clone())
    }

    fn finish(&self, id: Option<u64>, result: Result<Raw, Failure>) {
        // A late answer finds nobody waiting.
        if let Some(waiter) = id.and_then(|it| self.lock().waiting.remove(&it)) {
            let _ = waiter.done.send(result);
        }
    }

    /// Ends the only call in flight, if there is just one.
    pub(crate) fn finish_only(&self, result: Result<Raw, Failure>) -> bool {
        let id = self.lock().only_call();
        self.finish(id, result);
        id.is_some()
    }

    pub(crate) fn fail(&self, id: u64, failure: Failure) {
        self.finish(Some(id), Err(failure));
    }

    /// Ends the connection for this reason. The first reason stands; true if this was it.
    pub(crate) fn end(&self, error: &Error) -> bool {
        let waiting = {
            let mut state = self.lock();
            state.outbox = None;
            state.live = None;
            if state.ended.is_some() {
                return false;
            }
            state.ended = Some(error.clone());
            std::mem::take(&mut state.waiting)
        };
        self.over.send_replace(true);
        for waiter in waiting.into_values() {
            let _ = waiter.done.send(Err(Failure::Lost(error.clone())));
        }
        true
    }

    /// The server announces changes of all its lists on this connection.
    pub(crate) fn is_feed(&self) {
        let live = self.context.feed_is_live();
        let mut state = self.lock();
        if state.ended.is_none() {
            state.live = Some(live);
        }
    }

    pub(crate) fn ended(&self) -> Option<Error> {
        self.lock().ended.clone()
    }

    /// Waits until the connection has ended.
    pub(crate) async fn over(&self) {
        let _ = self.over.subscribe().wait_for(|it| *it).await;
    }

    /// How many requests wait for an answer.
    pub(crate) fn pending(&self) -> usize {
        self.lock().waiting.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the waiting. Dropping it gives the place up and, once sent, tells the server.
#[derive(Debug)]
pub(crate) struct Ticket {
    mux: Arc<Mux>,
    pub(crate) id: u64,
    answer: oneshot::Receiver<Result<Raw, Failure>>,
    watcher: Arc<Watcher>,
    outbox: Outbox,
    on_drop: OnDrop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnDrop {
    Forget,
    Cancel(&'static str),
}

impl Ticket {
    pub(crate) async fn send(&mut self, body: Bytes, ask: &Ask<'_>) -> Result<(), Failure> {
        let outbound = Outbound { id: Some(self.id), body };
        match tokio::time::timeout(ask.timeout, self.outbox.0.send(outbound)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => {
                // The writer has gone; the reader, which knows why, may come a moment later.
                let error =
                    self.mux.ended().unwrap_or_else(|| self.mux.context.unreachable("the link was closed"));
                return Err(Failure::Untaken(error));
            }
            Err(_) => return Err(self.mux.context.timeout(ask.timeout).into()),
        }
        if ask.leaving == Leaving::Cancel {
            self.on_drop = OnDrop::Cancel("nobody waits for the answer any more");
        }
        Ok(())
    }

    /// Waits for the answer. Progress restarts the clock, and it stands still while the server waits for one.
    pub(crate) async fn wait(mut self, timeout: Duration) -> Result<Raw, Failure> {
        let mut clock = Clock::start(timeout);
        let stop = match self.watcher.within(&mut clock, &mut self.answer).await {
            Ok(answer) => {
                self.on_drop = OnDrop::Forget;
                let closed = || Err(Failure::Lost(self.mux.context.unreachable("the link was closed")));
                return answer.unwrap_or_else(|_| closed());
            }
            Err(stop) => stop,
        };
        Err(match stop {
            Stop::Broken(error) => Failure::Lost(error),
            Stop::TimedOut => {
                if self.on_drop != OnDrop::Forget {
                    self.on_drop = OnDrop::Cancel("the call timed out");
                }
                self.mux.context.timeout(timeout).into()
            }
        })
    }

    /// Waits for the answer or until something is heard about the request.
    pub(crate) async fn hear(&mut self) -> Option<Result<Raw, Failure>> {
        tokio::select! {
            biased;
            answer = &mut self.answer => {
                self.on_drop = OnDrop::Forget;
                Some(answer.unwrap_or_else(|_| Err(Failure::Lost(self.mux.context.unreachable("the link was closed")))))
            }
            () = self.watcher.heard() => None,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let waited = self.mux.lock().waiting.remove(&self.id).is_some();
        if let (true, OnDrop::Cancel(reason)) = (waited, self.on_drop) {
            let mut last_words = self.watcher.decline_all();
            last_words.push(cancelled(self.id, reason));
            self.outbox.send_all_soon(last_words);
        }
    }
}

pub(crate) fn cancelled(id: u64, reason: &str) -> Bytes {
    let params = Raw::empty_object();
    let params = Edit::of(&params).set("requestId", Raw::number(id)).set_text("reason", reason).done();
    envelope::notification("notifications/cancelled", Some(&params))
}

pub(crate) fn server_error(error: RpcError) -> Error {
    Error::Server { code: error.code, message: error.message, data: error.data }
}

#[cfg(test)]
mod tests;
