//! Questions that are out to a legacy client, by the id of the request that carries them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::oneshot;
use toolgrove_core::event::{Ask, Question};
use toolgrove_wire::legacy::{self, Version};
use toolgrove_wire::{Edit, Id, Raw, RpcError, envelope};
use uuid::Uuid;

#[derive(Default)]
pub(super) struct Asks {
    next: AtomicU64,
    open: Mutex<HashMap<String, Open>>,
    /// What the client last said its roots are.
    roots: Mutex<Option<Raw>>,
}

struct Open {
    question: Question,
    reply: oneshot::Sender<Result<Raw, RpcError>>,
}

/// A question on its way to a client.
pub(super) struct Put {
    pub(super) request: Bytes,
    /// The id the hub has given to a page the client is sent to.
    pub(super) visit: Option<String>,
}

impl Asks {
    /// The request that puts a question to the client. None when it is answered already, or has no form there.
    pub(super) fn put(&self, ask: Ask, version: Version) -> Option<Put> {
        if ask.question == Question::Roots
            && let Some(roots) = lock(&self.roots).clone()
        {
            let _ = ask.reply.send(Ok(roots));
            return None;
        }
        let is_page =
            ask.question == Question::Elicit && ask.params.get_text("mode").as_deref() == Some("url");
        let visit =
            (is_page && ask.params.get("elicitationId").is_none()).then(|| Uuid::now_v7().to_string());
        let params = match ask.question {
            Question::Elicit if is_page => match &visit {
                Some(id) => Edit::of(&ask.signed()).set_text("elicitationId", id).done(),
                None => ask.signed(),
            },
            Question::Elicit => form(&ask.signed(), version)?,
            Question::Sample => ask.params.clone(),
            Question::Roots => Raw::empty_object(),
        };
        let id = Id::number(self.next.fetch_add(1, Ordering::Relaxed) + 1);
        let params = (ask.question != Question::Roots).then_some(params);
        let request = envelope::request(&id, ask.question.method(), params.as_ref());
        let mut open = lock(&self.open);
        // Questions of calls that have ended get no answer any more.
        open.retain(|_, it| !it.reply.is_closed());
        open.insert(id.key(), Open { question: ask.question, reply: ask.reply });
        Some(Put { request, visit })
    }

    pub(super) fn answered(&self, id: &Id, result: Result<Raw, RpcError>) {
        let Some(open) = lock(&self.open).remove(&id.key()) else { return };
        if let (Question::Roots, Ok(roots)) = (open.question, &result) {
            *lock(&self.roots) = Some(roots.clone());
        }
        // A call that has ended meanwhile needs no answer.
        let _ = open.reply.send(result);
    }

    pub(super) fn forget_roots(&self) {
        *lock(&self.roots) = None;
    }
}

/// A form as this revision knows it.
fn form(params: &Raw, version: Version) -> Option<Raw> {
    if version >= Version::V2025_11_25 {
        return Some(params.clone());
    }
    let schema = legacy::form_for_client(&params.get("requestedSchema")?)?;
    Some(Edit::of(params).remove("mode").set("requestedSchema", schema).done())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
