//! What a client hears outside its calls: changed lists and updated resources, filtered to what it asked for.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use toolgrove_core::bus::{Change, Notice};
use toolgrove_core::call::{Caller, Subject, View};
use toolgrove_core::event::ListKind;
use toolgrove_core::hub::Watch;
use toolgrove_core::uri;
use toolgrove_upstream::Pool;
use toolgrove_wire::modern::KEY_SUBSCRIPTION;
use toolgrove_wire::{Abilities, Edit, Id, Raw, envelope};
use uuid::Uuid;

use super::answer::Client;
use super::session::Session;
use super::task;
use crate::{App, Memory};

/// What one stream wants to hear.
#[derive(Default)]
pub(super) struct Wanted {
    tools: bool,
    prompts: bool,
    resources: bool,
    updates: Updates,
}

/// Which updated resources a stream hears of.
#[derive(Default)]
enum Updates {
    #[default]
    None,
    /// Those a legacy session has subscribed to.
    Session(Arc<Session>),
    /// Those of one listen, watched for as long as it lives, by the address the client gave; and its tasks, by the id
    /// the client knows.
    Listen(Vec<(String, Watch<Pool, Memory>)>),
}

impl Wanted {
    /// A legacy session hears of every list.
    pub(super) fn session(session: Arc<Session>) -> Self {
        Self { tools: true, prompts: true, resources: true, updates: Updates::Session(session) }
    }

    /// Reads the filter of `subscriptions/listen` and watches what can be watched.
    pub(super) async fn read(app: &Arc<App>, client: &Client, filter: &Raw) -> Self {
        let on = |key| filter.get(key).and_then(|it| it.bool()) == Some(true);
        let mut watched = Vec::new();
        if let Some(uris) = filter.get("resourceSubscriptions") {
            for uri in uris.items().filter_map(|it| it.text().map(std::borrow::Cow::into_owned)) {
                match app.hub.watch(&client.caller, &client.view, &uri).await {
                    Ok(watch) => watched.push((uri, watch)),
                    Err(error) => tracing::debug!(uri, %error, "not watched"),
                }
            }
        }
        if client.abilities.has(Abilities::TASKS)
            && let Some(ids) = filter.get("taskIds")
        {
            for token in ids.items().filter_map(|it| it.text().map(std::borrow::Cow::into_owned)) {
                let Some((instance, id)) = task::watched(app, client, &token) else { continue };
                match app.hub.watch_task(&client.caller, instance, &id).await {
                    Ok(watch) => watched.push((token, watch)),
                    Err(error) => tracing::debug!(%error, "a task is not watched"),
                }
            }
        }
        Self {
            tools: on("toolsListChanged"),
            prompts: on("promptsListChanged"),
            resources: on("resourcesListChanged"),
            updates: Updates::Listen(watched),
        }
    }

    /// What was accepted, as the acknowledgement says it.
    pub(super) fn accepted(&self) -> Raw {
        let mut accepted = serde_json::Map::new();
        for (on, key) in [
            (self.tools, "toolsListChanged"),
            (self.prompts, "promptsListChanged"),
            (self.resources, "resourcesListChanged"),
        ] {
            if on {
                accepted.insert(key.into(), true.into());
            }
        }
        if let Updates::Listen(watched) = &self.updates {
            let is_task = |it: &&(String, Watch<Pool, Memory>)| matches!(it.1.subject(), Subject::Task(_));
            let (tasks, uris): (Vec<_>, Vec<_>) = watched.iter().partition(is_task);
            for (key, all) in [("resourceSubscriptions", uris), ("taskIds", tasks)] {
                if !all.is_empty() {
                    let names: Vec<_> = all.iter().map(|it| it.0.clone()).collect();
                    accepted.insert(key.into(), names.into());
                }
            }
        }
        Raw::of(&json!({ "notifications": accepted }))
    }

    /// Under which id a task is heard of, if it is.
    fn task(&self, instance: Uuid, own: &str) -> Option<&str> {
        let Updates::Listen(watched) = &self.updates else { return None };
        let is_it = |it: &Watch<Pool, Memory>| {
            it.instance().id == instance && matches!(it.subject(), Subject::Task(id) if id == own)
        };
        watched.iter().find(|it| is_it(&it.1)).map(|it| it.0.as_str())
    }

    /// Whether an update is heard, and under which address.
    fn update(&self, view: &View, slug: &str, own: &str) -> Option<String> {
        match &self.updates {
            Updates::None => None,
            Updates::Session(session) => {
                let shown = match view {
                    View::All => uri::wrap(slug, own),
                    View::One { .. } => own.to_owned(),
                };
                session.watches(&shown).then_some(shown)
            }
            Updates::Listen(watched) => {
                let is_it = |it: &Watch<Pool, Memory>| {
                    it.instance().slug == slug && matches!(it.subject(), Subject::Resource(uri) if uri == own)
                };
                watched.iter().find(|it| is_it(&it.1)).map(|it| it.0.clone())
            }
        }
    }

    fn wants(&self, kind: ListKind) -> bool {
        match kind {
            ListKind::Tools => self.tools,
            ListKind::Prompts => self.prompts,
            ListKind::Resources | ListKind::Templates => self.resources,
        }
    }
}

/// One client's ear on the bus.
pub(super) struct Notices {
    bus: Receiver<Notice>,
    caller: Arc<Caller>,
    view: View,
    wanted: Wanted,
    /// Modern notifications carry the id of the request that asked for them.
    subscription: Option<Id>,
}

impl Notices {
    pub(super) fn new(
        bus: Receiver<Notice>,
        caller: Arc<Caller>,
        view: View,
        wanted: Wanted,
        subscription: Option<Id>,
    ) -> Self {
        Self { bus, caller, view, wanted, subscription }
    }

    /// The next notification for this client; none when the hub stops.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.bus.recv().await {
                Ok(notice) => {
                    if let Some(message) = self.message(&notice) {
                        return Some(message);
                    }
                }
                // Whoever falls behind is told that everything may have changed.
                Err(RecvError::Lagged(_)) if self.wanted.tools => {
                    return Some(self.tagged("notifications/tools/list_changed", Raw::empty_object()));
                }
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }

    fn message(&self, notice: &Notice) -> Option<Bytes> {
        if notice.person != self.caller.person || !self.caller.may_use(notice.instance) {
            return None;
        }
        if let View::One { slug } = &self.view
            && !slug.eq_ignore_ascii_case(&notice.slug)
        {
            return None;
        }
        match &notice.what {
            Change::List(kind) if self.wanted.wants(*kind) => {
                let method = match kind {
                    ListKind::Tools => "notifications/tools/list_changed",
                    ListKind::Prompts => "notifications/prompts/list_changed",
                    ListKind::Resources | ListKind::Templates => "notifications/resources/list_changed",
                };
                Some(self.tagged(method, Raw::empty_object()))
            }
            Change::List(_) => None,
            Change::Resource { uri } => {
                let shown = self.wanted.update(&self.view, &notice.slug, uri)?;
                let params = Raw::of(&json!({ "uri": shown }));
                Some(self.tagged("notifications/resources/updated", params))
            }
            Change::Task { id, params } => {
                let token = self.wanted.task(notice.instance, id)?;
                let params = match &self.view {
                    View::All => uri::wrap_result(&notice.slug, params),
                    View::One { .. } => params.clone(),
                };
                Some(self.tagged("notifications/tasks", Edit::of(&params).set_text("taskId", token).done()))
            }
        }
    }

    /// A notification of this stream.
    pub(super) fn tagged(&self, method: &str, params: Raw) -> Bytes {
        match &self.subscription {
            None => envelope::notification(method, Some(&params).filter(|it| it.members().next().is_some())),
            Some(id) => {
                let params =
                    toolgrove_wire::modern::with_meta(&params, &[(KEY_SUBSCRIPTION, id.raw().clone())]);
                envelope::notification(method, Some(&params))
            }
        }
    }
}
