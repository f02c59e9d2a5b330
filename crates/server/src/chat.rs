//! A chat's turn: what a person says, what a model answers, and the tools between. A turn belongs to the hub, not to
//! the request that began it: whoever comes back hears all of it, and only stopping ends it early.

mod history;
mod turn;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolgrove_core::call::Caller;
use toolgrove_core::{Error, task};
use toolgrove_store::{ChatRow, MessageRow};
use toolgrove_wire::{Raw, RpcError, sse};
use uuid::Uuid;

use crate::App;
use crate::api::chats::{Chat, ChatEvent, Content, Picture};
use crate::problem::store_error;

const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How many turns that are over are kept for those who come back.
const KEPT: usize = 64;

/// What a person sends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sent {
    pub text: String,
    #[serde(default)]
    pub images: Vec<Picture>,
    /// A message of theirs that this takes the place of; what followed it is forgotten.
    pub edit: Option<Uuid>,
}

/// The turns that run, and the last ones that did.
#[derive(Default)]
pub struct Turns(Mutex<HashMap<Uuid, Arc<Turn>>>);

/// One turn, as it is told.
pub(crate) struct Turn {
    id: Uuid,
    frames: Mutex<Vec<Bytes>>,
    /// How many frames there are, and whether there will be more.
    length: watch::Sender<(usize, bool)>,
    stop: CancellationToken,
    asks: Mutex<HashMap<Uuid, Asked>>,
    /// What may be called in this chat without asking.
    allowed: Mutex<HashSet<Permission>>,
}

/// An instance, and what its server calls one of its tools.
pub(crate) type Permission = (Uuid, String);

/// A question that waits for its answer.
struct Asked {
    reply: oneshot::Sender<Result<Raw, RpcError>>,
    /// What it is about, if it is whether a tool may be called.
    permission: Option<Permission>,
}

/// What a legacy server knows a chat by.
pub(crate) fn session(chat: &ChatRow) -> Arc<str> {
    format!("chat:{}", chat.id).into()
}

impl Turns {
    pub(crate) fn is_running(&self, chat: Uuid) -> bool {
        lock(&self.0).get(&chat).is_some_and(|it| !it.length.borrow().1)
    }

    pub(crate) fn of(&self, chat: Uuid) -> Option<Arc<Turn>> {
        lock(&self.0).get(&chat).cloned()
    }

    /// Ends a chat's turn, and forgets it.
    pub(crate) fn forget(&self, chat: Uuid) {
        if let Some(turn) = lock(&self.0).remove(&chat) {
            turn.stop.cancel();
        }
    }

    fn begin(&self, chat: Uuid, allowed: Vec<Permission>) -> Result<Arc<Turn>, Error> {
        let mut turns = lock(&self.0);
        if turns.get(&chat).is_some_and(|it| !it.length.borrow().1) {
            return Err(Error::Request("an answer is on its way; stop it first".into()));
        }
        let turn = Arc::new(Turn {
            id: Uuid::now_v7(),
            frames: Mutex::default(),
            length: watch::Sender::new((0, false)),
            stop: CancellationToken::new(),
            asks: Mutex::default(),
            allowed: Mutex::new(allowed.into_iter().collect()),
        });
        turns.insert(chat, turn.clone());
        while turns.len() > KEPT {
            let over =
                turns.iter().filter(|it| it.1.length.borrow().1).min_by_key(|it| it.1.id).map(|it| *it.0);
            match over {
                Some(oldest) => turns.remove(&oldest),
                None => break,
            };
        }
        Ok(turn)
    }
}

impl Turn {
    pub(crate) fn tell(&self, event: &ChatEvent) {
        let data = serde_json::to_vec(event).unwrap_or_default();
        let mut frames = lock(&self.frames);
        let id = format!("{}-{}", self.id, frames.len() + 1);
        frames.push(sse::write(None, Some(&id), &data));
        self.length.send_replace((frames.len(), false));
    }

    fn end(&self) {
        self.length.send_modify(|it| it.1 = true);
    }

    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Answers a question. `false`: nobody asks that.
    pub(crate) fn answer(&self, ask: Uuid, answer: Raw) -> bool {
        let Some(asked) = lock(&self.asks).remove(&ask) else { return false };
        // Told first: whoever waits for it may end the turn at once.
        self.tell(&ChatEvent::Asked { ask });
        asked.reply.send(Ok(answer)).is_ok()
    }

    /// Which tool a question asks leave for.
    pub(crate) fn permission(&self, ask: Uuid) -> Option<Permission> {
        lock(&self.asks).get(&ask)?.permission.clone()
    }

    fn allows(&self, permission: &Permission) -> bool {
        lock(&self.allowed).contains(permission)
    }

    /// From now on a tool is not asked about; what is asked already is answered.
    pub(crate) fn allow(&self, permission: &Permission) {
        lock(&self.allowed).insert(permission.clone());
        let asked: Vec<Uuid> = lock(&self.asks)
            .iter()
            .filter(|it| it.1.permission.as_ref() == Some(permission))
            .map(|it| *it.0)
            .collect();
        for ask in asked {
            self.answer(ask, yes());
        }
    }

    /// Takes back what nobody waits for any more.
    fn take_back(&self) {
        let gone: Vec<Uuid> =
            lock(&self.asks).extract_if(|_, it| it.reply.is_closed()).map(|it| it.0).collect();
        for ask in gone {
            self.tell(&ChatEvent::Asked { ask });
        }
    }

    /// Everything after the event with this id; everything there is if it is none of this turn's.
    pub(crate) fn stream(
        self: Arc<Self>,
        after: Option<&str>,
    ) -> impl stream::Stream<Item = Bytes> + Send + use<> {
        let known = after.and_then(|it| it.strip_prefix(&format!("{}-", self.id))?.parse().ok());
        let length = self.length.subscribe();
        stream::unfold((self, length, known.unwrap_or(0_usize)), |(turn, mut length, mut at)| async move {
            loop {
                let (there, is_over) = *length.borrow_and_update();
                if at < there {
                    let frames = lock(&turn.frames)[at..there].concat();
                    at = there;
                    return Some((frames.into(), (turn, length, at)));
                }
                if is_over {
                    return None;
                }
                match timeout(KEEP_ALIVE, length.changed()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return None,
                    Err(_) => return Some((Bytes::from_static(sse::KEEP_ALIVE), (turn, length, at))),
                }
            }
        })
    }
}

impl App {
    /// Begins a turn: what was sent is stored, and everything else happens beside whoever sent it.
    pub(crate) async fn begin_turn(
        self: &Arc<Self>,
        caller: &Arc<Caller>,
        mut chat: ChatRow,
        sent: Sent,
    ) -> Result<Arc<Turn>, Error> {
        if sent.text.trim().is_empty() && sent.images.is_empty() {
            return Err(Error::RequestMissing(vec!["text".into()]));
        }
        let allowed = self.store.allowed_in_chat(chat.id).await.map_err(store_error)?;
        let turn = self.turns.begin(chat.id, allowed)?;
        let begun = self.receive(&turn, &mut chat, sent).await;
        match begun {
            Ok(message) => {
                let (app, caller, told) = (self.clone(), caller.clone(), turn.clone());
                task::spawn("chat turn", async move {
                    turn::run(&app, &caller, &told, &chat, &message).await;
                    told.end();
                    app.tell_chat(&chat).await;
                });
                Ok(turn)
            }
            Err(error) => {
                self.turns.forget(chat.id);
                Err(error)
            }
        }
    }

    /// Tells its person's pages how a chat is now, if it is still there.
    pub(crate) async fn tell_chat(&self, chat: &ChatRow) {
        if !self.live.is_watched(chat.person_id) {
            return;
        }
        match self.store.chat(chat.person_id, chat.id).await {
            Ok(Some(now)) => self.live.tell_chat(chat.person_id, Chat::of(self, now)),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "a change of a chat was not told"),
        }
    }

    async fn receive(&self, turn: &Turn, chat: &mut ChatRow, sent: Sent) -> Result<MessageRow, Error> {
        if let Some(from) = sent.edit {
            if !self.store.cut_messages(chat.id, from).await.map_err(store_error)? {
                return Err(Error::NotFound(format!("message {from}")));
            }
            turn.tell(&ChatEvent::Cut { from });
        }
        if chat.title.is_empty() {
            chat.title =
                sent.text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
            self.store.update_chat(chat).await.map_err(store_error)?;
        }
        turn.tell(&ChatEvent::Chat { chat: Box::new(Chat::of(self, chat.clone())) });
        let content = Content { text: sent.text, images: sent.images, ..Content::default() };
        let message = MessageRow::new(chat.id, "user", serde_json::to_value(content).unwrap_or_default());
        self.put(turn, &message).await?;
        self.tell_chat(chat).await;
        Ok(message)
    }

    /// Stores a message and tells of it.
    async fn put(&self, turn: &Turn, message: &MessageRow) -> Result<(), Error> {
        self.store.put_message(message).await.map_err(store_error)?;
        turn.tell(&ChatEvent::Message { message: Box::new(message.clone().into()) });
        Ok(())
    }
}

/// The answer to a question that is not asked again.
fn yes() -> Raw {
    Raw::of(&json!({ "action": "accept", "content": {} }))
}

fn content(message: &MessageRow) -> Content {
    serde_json::from_value(message.content.clone()).unwrap_or_default()
}

fn stored(content: &Content) -> Value {
    serde_json::to_value(content).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
