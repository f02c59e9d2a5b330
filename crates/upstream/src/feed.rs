//! The change feed: what servers say about their lists, and the subscription that makes modern ones say it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use toolgrove_core::Error;
use toolgrove_core::call::Subject;
use toolgrove_core::event::{ListKind, News};
use toolgrove_wire::modern::{KEY_SUBSCRIPTION, RequestMeta, without_hop_keys};
use toolgrove_wire::{Abilities, Raw};

use crate::context::Context;
use crate::failure::Failure;
use crate::mux::Mux;
use crate::speech::{Ask, Leaving, Speech};

pub(crate) const LISTEN: &str = "subscriptions/listen";

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Which lists a server promises to announce changes of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Announced {
    kinds: Vec<ListKind>,
    /// Whether every list it has is among them, so that asking again would tell nothing new.
    pub(crate) complete: bool,
}

impl Announced {
    pub(crate) fn read(capabilities: &Raw) -> Self {
        let (mut kinds, mut complete) = (Vec::new(), true);
        for kind in ListKind::ALL {
            let Some(capability) = capabilities.get(kind.capability()) else { continue };
            match capability.get("listChanged").and_then(|it| it.bool()) {
                Some(true) => kinds.push(kind),
                _ => complete = false,
            }
        }
        complete &= kinds.contains(&ListKind::Tools);
        Self { kinds, complete }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// What `subscriptions/listen` asks for.
    fn wanted(&self) -> Value {
        let mut wanted = serde_json::Map::new();
        for (kind, member) in [
            (ListKind::Tools, "toolsListChanged"),
            (ListKind::Prompts, "promptsListChanged"),
            (ListKind::Resources, "resourcesListChanged"),
        ] {
            if self.kinds.contains(&kind) {
                wanted.insert(member.into(), true.into());
            }
        }
        wanted.into()
    }

    /// After a gap nobody knows what was missed.
    pub(crate) fn report_all(&self, context: &Context) {
        for kind in &self.kinds {
            context.report(News::ListChanged(*kind));
        }
    }
}

/// What one `subscriptions/listen` is about.
#[derive(Debug, Clone)]
pub(crate) enum Topic {
    Lists(Announced),
    Subjects(Vec<Subject>),
}

impl Topic {
    pub(crate) fn params(&self) -> Raw {
        let wanted = match self {
            Self::Lists(announced) => announced.wanted(),
            Self::Subjects(subjects) => {
                let (mut uris, mut tasks) = (Vec::new(), Vec::new());
                for subject in subjects {
                    match subject {
                        Subject::Resource(uri) => uris.push(uri),
                        Subject::Task(id) => tasks.push(id),
                    }
                }
                let members = [("resourceSubscriptions", uris), ("taskIds", tasks)];
                members.into_iter().filter(|it| !it.1.is_empty()).map(|(key, it)| (key, json!(it))).collect()
            }
        };
        Raw::of(&json!({ "notifications": wanted }))
    }

    /// What the hub has to be able to do to be told of it.
    pub(crate) fn abilities(&self) -> Abilities {
        match self {
            Self::Subjects(subjects) if subjects.iter().any(|it| matches!(it, Subject::Task(_))) => {
                Abilities::TASKS
            }
            _ => Abilities::NONE,
        }
    }

    /// Whether it tells of every change of every list.
    pub(crate) fn is_feed(&self) -> bool {
        matches!(self, Self::Lists(announced) if announced.complete)
    }

    /// After a gap nobody knows what was missed.
    pub(crate) fn report_all(&self, context: &Context) {
        match self {
            Self::Lists(announced) => announced.report_all(context),
            Self::Subjects(subjects) => {
                for subject in subjects {
                    if let Subject::Resource(uri) = subject {
                        context.report(News::ResourceUpdated { uri: uri.clone() });
                    }
                }
            }
        }
    }
}

/// Tells who waits for it how a server took a subscription. The first word stands.
#[derive(Debug)]
pub(crate) struct Ack(watch::Sender<Option<Result<(), Error>>>);

/// Waits for an [`Ack`].
pub(crate) type Acked = watch::Receiver<Option<Result<(), Error>>>;

impl Ack {
    pub(crate) fn new() -> (Self, Acked) {
        let (tx, rx) = watch::channel(None);
        (Self(tx), rx)
    }

    pub(crate) fn given(&self) {
        self.say(Ok(()));
    }

    pub(crate) fn refused(&self, error: Error) {
        self.say(Err(error));
    }

    fn say(&self, how: Result<(), Error>) {
        self.0.send_if_modified(|it| it.is_none() && it.replace(how).is_none());
    }
}

/// Passes a notification that belongs to no call on as news.
pub(crate) fn report(context: &Context, method: &str, params: Option<&Raw>) {
    match method {
        "notifications/tools/list_changed" => context.report(News::ListChanged(ListKind::Tools)),
        "notifications/prompts/list_changed" => context.report(News::ListChanged(ListKind::Prompts)),
        "notifications/resources/list_changed" => {
            context.report(News::ListChanged(ListKind::Resources));
            context.report(News::ListChanged(ListKind::Templates));
        }
        "notifications/resources/updated" => {
            if let Some(uri) = params.and_then(|it| it.get_text("uri")) {
                context.report(News::ResourceUpdated { uri });
            }
        }
        "notifications/tasks" => {
            if let Some((params, id)) = params.and_then(|it| Some((it, it.get_text("taskId")?))) {
                let params = without_hop_keys(params.clone(), &RequestMeta::read(Some(params))).raw();
                context.report(News::TaskChanged { id, params });
            }
        }
        _ => {}
    }
}

/// The listen request a notification belongs to.
pub(crate) fn subscription(params: &Raw) -> Option<u64> {
    params.get("_meta")?.get(KEY_SUBSCRIPTION)?.u64()
}

/// How long to wait before the next try.
#[derive(Debug)]
pub(crate) struct Pauses(Duration);

impl Pauses {
    pub(crate) fn new() -> Self {
        Self(FIRST_PAUSE)
    }

    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (self.0 * 2).min(LONGEST_PAUSE);
        pause
    }
}

/// Keeps one `subscriptions/listen` open on a multiplexed link until the link ends or the server refuses it.
pub(crate) async fn listen(mux: Arc<Mux>, speech: Speech, topic: Topic, ack: Ack) {
    let params = topic.params().into();
    let (mut pauses, mut again) = (Pauses::new(), false);
    loop {
        let abilities = topic.abilities();
        let ask = Ask { abilities, ..Ask::own(LISTEN, &params, LONGEST_PAUSE, Leaving::Cancel) };
        let Ok(mut ticket) = mux.enter(&ask) else { return };
        let body = speech.request(ticket.id, &ask).into_bytes();
        if ticket.send(body, &ask).await.is_err() {
            return;
        }
        let mut live = None;
        let mut is_heard = false;
        let end = loop {
            if let Some(end) = ticket.hear().await {
                break end;
            }
            if !std::mem::replace(&mut is_heard, true) {
                live = topic.is_feed().then(|| mux.context.feed_is_live());
                pauses = Pauses::new();
                ack.given();
                if std::mem::replace(&mut again, true) {
                    topic.report_all(&mux.context);
                }
            }
        };
        drop(live);
        match end {
            Ok(_) => tokio::time::sleep(pauses.next()).await,
            Err(Failure::Lost(_) | Failure::Untaken(_)) => return,
            Err(failure) => {
                tracing::debug!(server = mux.context.slug(), error = %failure.error(), "no change feed");
                return ack.refused(failure.into_error());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_is_complete_when_every_list_is_announced() {
        let read = |it: &'static str| Announced::read(&Raw::parse(it).expect("valid"));
        assert!(read(r#"{"tools":{"listChanged":true}}"#).complete);
        assert!(!read(r#"{"tools":{"listChanged":true},"prompts":{}}"#).complete);
        assert!(!read(r#"{"prompts":{"listChanged":true}}"#).complete);
        assert!(read("{}").is_empty());
        assert_eq!(
            read(r#"{"tools":{"listChanged":true},"resources":{"listChanged":true}}"#).wanted().to_string(),
            r#"{"toolsListChanged":true,"resourcesListChanged":true}"#
        );
    }
}
