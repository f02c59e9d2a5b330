//! What a client hears outside its calls: changed lists and updated resources, filtered to what it asked for.

use bytes::Bytes;
use serde_json::json;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use toolgrove_core::bus::{Change, Notice};
use toolgrove_core::call::View;
use toolgrove_core::event::ListKind;
use toolgrove_wire::modern::KEY_SUBSCRIPTION;
use toolgrove_wire::{Id, Raw, envelope};
use uuid::Uuid;

/// What one stream wants to hear.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub tools: bool,
    pub prompts: bool,
    pub resources: bool,
}

impl Wanted {
    /// A legacy session hears of every list.
    pub fn lists() -> Self {
        Self { tools: true, prompts: true, resources: true }
    }

    /// Reads the filter of `subscriptions/listen`.
    pub fn read(filter: &Raw) -> Self {
        let on = |key| filter.get(key).and_then(|it| it.bool()) == Some(true);
        Self {
            tools: on("toolsListChanged"),
            prompts: on("promptsListChanged"),
            resources: on("resourcesListChanged"),
        }
    }

    /// What was accepted, as the acknowledgement says it.
    pub fn accepted(&self) -> Raw {
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
        Raw::of(&json!({ "notifications": accepted }))
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
pub struct Notices {
    bus: Receiver<Notice>,
    person: Uuid,
    view: View,
    wanted: Wanted,
    /// Modern notifications carry the id of the request that asked for them.
    subscription: Option<Id>,
}

impl Notices {
    pub fn new(
        bus: Receiver<Notice>,
        person: Uuid,
        view: View,
        wanted: Wanted,
        subscription: Option<Id>,
    ) -> Self {
        Self { bus, person, view, wanted, subscription }
    }

    /// The next notification for this client; none when the hub stops.
    pub async fn next(&mut self) -> Option<Bytes> {
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
        if notice.person != self.person {
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
            Change::List(_) | Change::Resource { .. } => None,
        }
    }

    /// A notification of this stream. Without a subscription it has no parameters at all.
    pub fn tagged(&self, method: &str, params: Raw) -> Bytes {
        match &self.subscription {
            None => envelope::notification(method, None),
            Some(id) => {
                let params =
                    toolgrove_wire::modern::with_meta(&params, &[(KEY_SUBSCRIPTION, id.raw().clone())]);
                envelope::notification(method, Some(&params))
            }
        }
    }
}
