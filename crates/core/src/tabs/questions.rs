//! What a page asks in the middle of a call. The client of the call is asked, or, where it cannot be, the person in the
//! hub's own page; who has not answered in two minutes has cancelled.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::timeout;
use toolgrove_wire::envelope::INVALID_REQUEST;
use toolgrove_wire::{Edit, Raw, RpcError};
use uuid::Uuid;

use super::hub::{TabHub, lock};
use super::run::Running;
use super::transport::{TabKey, TabTransport};
use crate::event::{Ask, Event, Question};
use crate::task;

const PATIENCE: Duration = Duration::from_secs(120);

/// A question that waits for its person.
#[derive(Debug, Clone)]
pub struct TabQuestion {
    pub id: Uuid,
    pub domain: String,
    /// The page's own name of the tool that asks.
    pub tool: String,
    pub message: String,
    pub schema: Raw,
    /// Unix milliseconds.
    pub asked_at: i64,
}

#[derive(Debug)]
pub(super) struct Waiting {
    person: Uuid,
    pub(super) call: Uuid,
    question: TabQuestion,
    reply: Replying,
}

type Replying = oneshot::Sender<Result<Raw, RpcError>>;

impl<T: TabTransport> TabHub<T> {
    /// What waits for a person, the oldest first.
    pub fn questions(&self, person: Uuid) -> Vec<TabQuestion> {
        let waiting = lock(&self.waiting);
        let mut all: Vec<_> =
            waiting.values().filter(|it| it.person == person).map(|it| it.question.clone()).collect();
        all.sort_by_key(|it| (it.asked_at, it.id));
        all
    }

    /// Takes a person's answer. `false`: nobody waits for it.
    pub fn answer(&self, person: Uuid, id: Uuid, answer: Raw) -> bool {
        let mut waiting = lock(&self.waiting);
        if waiting.get(&id).is_none_or(|it| it.person != person) {
            return false;
        }
        waiting.remove(&id).is_some_and(|it| it.reply.send(Ok(answer)).is_ok())
    }

    /// A page asks something, on behalf of one of its running calls.
    pub(super) fn ask(
        self: &Arc<Self>,
        tab: &TabKey,
        request: Option<Uuid>,
        params: Raw,
        reply: oneshot::Sender<Result<Raw, RpcError>>,
    ) {
        let running = if let Some(request) = request {
            self.run_of(&tab.browser, request).filter(|it| it.key == *tab)
        } else {
            let running = lock(&self.running);
            let mut of_tab = running.values().filter(|it| it.key == *tab);
            of_tab.next().filter(|_| of_tab.next().is_none()).cloned()
        };
        let Some(running) = running else {
            let _ = reply.send(Err(RpcError::new(INVALID_REQUEST, "no call is running in this tab")));
            return;
        };
        let params = Edit::of(&params).remove("extensions").remove("_meta").done();
        let params = if params.get("requestedSchema").is_some() {
            params
        } else {
            let nothing = Raw::of(&json!({ "type": "object", "properties": {} }));
            Edit::of(&params).set("requestedSchema", nothing).done()
        };
        let (answer, answered) = oneshot::channel();
        running.asking.fetch_add(1, Ordering::Relaxed);
        running.heard.notify_one();
        if Question::Elicit.fits(&params, running.abilities) {
            running.events.send(Event::Ask(Ask {
                question: Question::Elicit,
                params,
                key: None,
                server: running.domain.clone(),
                permission: None,
                reply: answer,
            }));
        } else {
            self.wait_for_person(&running, &params, answer);
        }
        let hub = self.clone();
        task::spawn("tab-answer", async move {
            let answer = timeout(PATIENCE, answered).await;
            let answer = answer.ok().and_then(Result::ok).unwrap_or_else(|| Ok(cancelled()));
            running.asking.fetch_sub(1, Ordering::Relaxed);
            running.heard.notify_one();
            let _ = reply.send(answer);
            lock(&hub.waiting).retain(|_, it| !it.reply.is_closed());
            hub.touched(running.person);
        });
    }

    fn wait_for_person(&self, running: &Running, params: &Raw, reply: Replying) {
        let question = TabQuestion {
            id: Uuid::now_v7(),
            domain: running.domain.clone(),
            tool: running.tool.clone(),
            message: params.get_text("message").unwrap_or_default(),
            schema: params.get("requestedSchema").unwrap_or_else(Raw::empty_object),
            asked_at: (self.options.now)(),
        };
        self.put(running.person, running.id, question, reply);
    }

    /// Has a question of a call wait for a person.
    pub fn put(
        &self,
        person: Uuid,
        call: Uuid,
        question: TabQuestion,
        reply: oneshot::Sender<Result<Raw, RpcError>>,
    ) {
        lock(&self.waiting).insert(question.id, Waiting { person, call, question, reply });
        self.touched(person);
    }
}

fn cancelled() -> Raw {
    Raw::of(&json!({ "action": "cancel" }))
}
