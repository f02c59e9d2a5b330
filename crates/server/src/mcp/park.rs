//! Parked calls: a legacy server asks in the middle of a call, and its client is modern.
//!
//! The client gets the questions as a result, with a sealed state, and its connection ends. The call itself stays
//! open at the server, unpolled, in the [`Lot`]. The retry brings the answers and the state: it takes the very call
//! that waits out of the lot and goes on with it. A state is good once, for its caller, its method and its arguments,
//! for ten minutes. A client that never comes back costs nothing after that: the call is dropped, which answers the
//! server's questions as a person who walked away would, and cancels it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use toolgrove_core::call::{Caller, View};
use toolgrove_core::event::{Ask, Events, LONGEST_ASK, MOST_ASKS};
use toolgrove_core::task;
use toolgrove_wire::envelope::INVALID_PARAMS;
use toolgrove_wire::modern::KEY_SERVER;
use toolgrove_wire::{Edit, Raw, RpcError, Seal, digest};
use uuid::Uuid;

use super::answer::{Client, Failure};
use super::stream::{Asker, Put, Running};
use crate::App;

/// How long a state is good.
const TTL: Duration = Duration::from_secs(10 * 60);
/// How long a state that is the server's own business is good.
const RELAY_TTL: Duration = Duration::from_secs(60 * 60);
const CALL_LIFE: Duration = Duration::from_secs(60 * 60);
const ROUNDS: u32 = 10;
const PER_CALLER: usize = 32;
const IN_ALL: usize = 10_000;

/// The parked calls of this replica, and the keys that seal their states.
pub struct Lot {
    seal: Seal,
    /// Names this process, so that a state of another one is told from a used one.
    replica: String,
    parked: Mutex<HashMap<Uuid, Parked>>,
}

struct Parked {
    running: Box<Running>,
    asks: Vec<(String, Ask)>,
    caller: Uuid,
    expiry: AbortHandle,
}

/// What a running modern request needs to be parked.
pub struct Parking {
    app: Arc<App>,
    call: Uuid,
    round: u32,
    born: Instant,
    client: Client,
    method: String,
    params: Raw,
    /// Answers that came before their questions.
    early: HashMap<String, Raw>,
    /// Keys that were given out in this call.
    used: Vec<String>,
    /// The call's own, to be silent while nobody is there.
    events: Events,
}

/// What a state is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    pub caller: Uuid,
    pub method: String,
    pub digest: String,
    #[serde(skip)]
    pub endpoint: String,
}

/// The inside of a sealed state.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum State {
    /// A parked call of a replica.
    Park { replica: String, call: Uuid, round: u32, exp: i64, binding: Binding },
    /// A modern server's own state.
    Relay { state: Option<String>, exp: i64, binding: Binding },
}

impl Lot {
    pub fn new(seal: Seal) -> Self {
        Self { seal, replica: Uuid::new_v4().simple().to_string(), parked: Mutex::default() }
    }

    /// How many calls of a caller are parked.
    pub fn count(&self, caller: &Caller) -> usize {
        self.lock().values().filter(|it| it.caller == caller.id()).count()
    }

    pub fn seal(&self) -> &Seal {
        &self.seal
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Parked>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops every call of these callers, which declines what it asks and cancels it.
    pub(crate) fn drop_all(&self, callers: &HashSet<Uuid>) {
        self.lock().retain(|_, it| !callers.contains(&it.caller));
    }

    fn has_room(&self, caller: Uuid) -> bool {
        let parked = self.lock();
        parked.len() < IN_ALL && parked.values().filter(|it| it.caller == caller).count() < PER_CALLER
    }
}

impl Binding {
    pub fn of(client: &Client, method: &str, params: &Raw) -> Self {
        let endpoint = match &client.view {
            View::All => "/mcp".to_owned(),
            View::One { slug } => format!("/mcp/i/{}", slug.to_ascii_lowercase()),
        };
        let digest = digest::of_request(method, &endpoint, params);
        let digest = BASE64_URL_SAFE_NO_PAD.encode(digest);
        Self { caller: client.caller.id(), method: method.to_owned(), digest, endpoint }
    }
}

impl Parking {
    pub fn new(
        app: &Arc<App>,
        client: &Client,
        method: &str,
        params: &Raw,
        early: Option<&Raw>,
        events: Events,
    ) -> Self {
        let early = early.map(|it| it.members().map(|it| (it.key().into_owned(), it.value())).collect());
        Self {
            app: app.clone(),
            call: Uuid::now_v7(),
            round: 0,
            born: Instant::now(),
            client: client.clone(),
            method: method.to_owned(),
            params: params.clone(),
            early: early.unwrap_or_default(),
            used: Vec::new(),
            events,
        }
    }

    /// What the states of this call are bound to. Most calls are never parked, so it is made when one is.
    fn binding(&self) -> Binding {
        Binding::of(&self.client, &self.method, &self.params)
    }

    /// Answers a question whose answer is already there.
    pub(super) fn answer_early(&mut self, ask: Ask) -> Option<Ask> {
        let Some(key) = &ask.key else { return Some(ask) };
        match self.early.remove(key) {
            Some(answer) if ask.question.accepts(&answer) => {
                self.used.push(key.clone());
                let _ = ask.reply.send(Ok(answer));
                None
            }
            _ => Some(ask),
        }
    }

    /// A key nobody else in this call has.
    fn key(&mut self, ask: &Ask) -> String {
        let wanted = ask.key.clone().filter(|it| !it.is_empty() && !self.used.contains(it));
        let key = wanted.unwrap_or_else(|| {
            let mut number = self.used.len() + 1;
            while self.used.contains(&format!("ask-{number}")) {
                number += 1;
            }
            format!("ask-{number}")
        });
        self.used.push(key.clone());
        key
    }
}

/// Parks a call that asks, and makes the result its client gets. Over a limit the questions are declined instead.
pub(super) fn park(mut running: Box<Running>, asks: Vec<Ask>) -> Put {
    let Asker::Park(parking) = &mut running.asker else { return Put::Answered(running) };
    let (app, over) = (parking.app.clone(), parking.round >= ROUNDS || parking.born.elapsed() > CALL_LIFE);
    let asks: Vec<(String, Ask)> = asks
        .into_iter()
        .filter(|it| it.params.bytes().len() <= LONGEST_ASK)
        .take(MOST_ASKS)
        .map(|ask| (parking.key(&ask), ask))
        .collect();
    if asks.is_empty() || over || !app.lot.has_room(parking.client.caller.id()) {
        tracing::warn!(call = %parking.call, "a question was declined: too many are open");
        return Put::Answered(running);
    }
    Put::Ended(Ok(keep(running, asks).into()))
}

/// Puts a call into the lot under its next round.
fn keep(mut running: Box<Running>, asks: Vec<(String, Ask)>) -> Raw {
    let Asker::Park(parking) = &mut running.asker else { return Raw::empty_object() };
    parking.round += 1;
    parking.events.pause();
    let (app, call, caller) = (parking.app.clone(), parking.call, parking.client.caller.id());
    let binding = parking.binding();
    let endpoint = binding.endpoint.clone();
    let state = State::Park {
        replica: app.lot.replica.clone(),
        call,
        round: parking.round,
        exp: app.hub.now() + TTL.as_millis() as i64,
        binding,
    };
    let state = app.lot.seal.close(&endpoint, &state).unwrap_or_default();
    let requests = asks.iter().map(|(key, ask)| {
        let params = Edit::of(&ask.signed()).remove("elicitationId").done();
        let request = Raw::of(&json!({ "method": ask.question.method() }));
        let request = match params.members().next() {
            Some(_) => Edit::of(&request).set("params", params).done(),
            None => request,
        };
        (key.clone(), request)
    });
    let result = input_required(&app, requests, Some(&state));
    let expiring = app.clone();
    let expiry = task::spawn("parked call", async move {
        tokio::time::sleep(TTL).await;
        if expiring.lot.lock().remove(&call).is_some() {
            tracing::info!(%call, "a parked call expired");
        }
    });
    tracing::info!(%call, round = parking.round, asks = asks.len(), "parked");
    let parked = Parked { running, asks, caller, expiry: expiry.abort_handle() };
    app.lot.lock().insert(call, parked);
    result
}

/// A result that wants input.
pub fn input_required(
    app: &App,
    requests: impl IntoIterator<Item = (String, Raw)>,
    state: Option<&str>,
) -> Raw {
    let requests: Vec<_> = requests.into_iter().collect();
    let object = Raw::empty_object();
    let requests =
        requests.iter().fold(Edit::of(&object), |edit, (key, value)| edit.set(key, value.clone())).done();
    let result = Raw::of(&json!({ "resultType": "input_required" }));
    let mut edit = Edit::of(&result)
        .set("inputRequests", requests)
        .set("_meta", Raw::object(KEY_SERVER, &app.server_info));
    if let Some(state) = state {
        edit = edit.set_text("requestState", state);
    }
    edit.done()
}

/// What a returning client's state turns out to be.
pub enum Returned {
    /// Its call, taken out of the lot, with what is still to be answered.
    Parked(Box<Resumed>),
    /// A modern server's own state, to be passed on.
    Relay(Option<String>),
}

pub struct Resumed {
    running: Box<Running>,
    asks: Vec<(String, Ask)>,
}

/// Opens a state. What is forged, foreign or for another request is refused in one and the same sentence.
pub fn returned(
    app: &App,
    binding: &Binding,
    state: &Raw,
    responses: Option<&Raw>,
) -> Result<Returned, Failure> {
    if responses.is_some_and(|it| !it.is_object()) {
        return Err(Failure::new(200, INVALID_PARAMS, "inputResponses must be an object"));
    }
    let opened = state.text().and_then(|it| app.lot.seal.open::<State>(&binding.endpoint, &it));
    let same = |other: &Binding| Binding { endpoint: binding.endpoint.clone(), ..other.clone() } == *binding;
    let now = app.hub.now();
    match opened {
        Some(State::Relay { state, exp, binding }) if same(&binding) => {
            if exp < now {
                Err(refused("expired"))
            } else {
                Ok(Returned::Relay(state))
            }
        }
        Some(State::Park { replica, call, round, exp, binding }) if same(&binding) => {
            if exp < now {
                return Err(refused("expired"));
            }
            if replica != app.lot.replica {
                return Err(refused("lost"));
            }
            let mut parked = app.lot.lock();
            match parked.remove(&call) {
                Some(found) if found.round() == round => {
                    found.expiry.abort();
                    Ok(Returned::Parked(Box::new(Resumed { running: found.running, asks: found.asks })))
                }
                Some(found) => {
                    parked.insert(call, found);
                    Err(refused("consumed"))
                }
                None => Err(refused("consumed")),
            }
        }
        _ => {
            tracing::warn!("a requestState was refused: forged, foreign or for another request");
            Err(Failure::new(200, INVALID_PARAMS, "requestState is not valid for this request"))
        }
    }
}

impl Parked {
    fn round(&self) -> u32 {
        match &self.running.asker {
            Asker::Park(parking) => parking.round,
            _ => 0,
        }
    }
}

/// A state that was ours but is no longer good, and why.
fn refused(reason: &str) -> Failure {
    let message = match reason {
        "expired" => "the question has expired; call again",
        "lost" => "the call was lost with the hub that held it; it may have had effects",
        _ => "this requestState was used already",
    };
    Failure {
        rpc: RpcError::new(INVALID_PARAMS, message).with_data(&json!({ "reason": reason })),
        status: 200,
    }
}

impl Resumed {
    /// Delivers the answers. What is missing or of the wrong shape is asked again; else the call goes on.
    pub fn answer(self, id: toolgrove_wire::Id, progress_token: Option<Raw>, responses: Option<&Raw>) -> Go {
        let Self { mut running, asks } = self;
        running.id = id;
        running.progress_token = progress_token;
        if let Asker::Park(parking) = &running.asker {
            parking.events.next_round();
        }
        let mut open = Vec::new();
        for (key, ask) in asks {
            match responses.and_then(|it| it.get(&key)).filter(|it| ask.question.accepts(it)) {
                // A server that no longer waits needs no answer.
                Some(answer) => drop(ask.reply.send(Ok(answer))),
                None => open.push((key, ask)),
            }
        }
        if open.is_empty() { Go::On(running) } else { Go::AskAgain(keep(running, open)) }
    }
}

pub enum Go {
    On(Box<Running>),
    AskAgain(Raw),
}

/// A modern server's own request for input, for a modern client: its state sealed, its questions signed.
pub fn relay(app: &App, binding: &Binding, server: &str, result: &Raw) -> Raw {
    let state = State::Relay {
        // An empty state is our own: the server gave none.
        state: result.get_text("requestState").filter(|it| !it.is_empty()),
        exp: app.hub.now() + RELAY_TTL.as_millis() as i64,
        binding: binding.clone(),
    };
    let mut edit = Edit::of(result);
    if result.get("requestState").is_some() {
        edit =
            edit.set_text("requestState", &app.lot.seal.close(&binding.endpoint, &state).unwrap_or_default());
    }
    if let Some(requests) = result.get("inputRequests") {
        let signed: Vec<(String, Raw)> =
            requests.members().map(|it| (it.key().into_owned(), sign(&it.value(), server))).collect();
        let signed =
            signed.iter().fold(Edit::of(&requests), |edit, (key, value)| edit.set(key, value.clone())).done();
        edit = edit.set("inputRequests", signed);
    }
    let meta = result.get("_meta").filter(Raw::is_object).unwrap_or_else(Raw::empty_object);
    edit.set("_meta", Edit::of(&meta).set(KEY_SERVER, app.server_info.clone()).done()).done()
}

fn sign(request: &Raw, server: &str) -> Raw {
    let Some(params) = request.get("params") else { return request.clone() };
    let Some(message) = params.get_text("message") else { return request.clone() };
    let params = Edit::of(&params).set_text("message", &format!("[{server}] {message}")).done();
    Edit::of(request).set("params", params).done()
}

#[cfg(test)]
mod tests;
