//! What happens while a call runs, and what servers say unasked.

use tokio::sync::mpsc;
use toolgrove_wire::Raw;
use uuid::Uuid;

use crate::Error;
use crate::instance::Verdict;

/// Something a running call wants its caller to know. The parameters are the notification's own, without the
/// progress token, which belongs to the hop.
#[derive(Debug, Clone)]
pub enum Event {
    Progress(Raw),
    Log(Raw),
}

/// Where a call's events go. A caller that wants none costs nothing.
#[derive(Debug, Clone, Default)]
pub struct Events(Option<mpsc::UnboundedSender<Event>>);

impl Events {
    pub fn none() -> Self {
        Self(None)
    }

    pub fn channel() -> (Self, mpsc::UnboundedReceiver<Event>) {
        let (tx, rx) = mpsc::unbounded_channel();
        (Self(Some(tx)), rx)
    }

    pub fn wanted(&self) -> bool {
        self.0.is_some()
    }

    pub fn send(&self, event: Event) {
        if let Some(tx) = &self.0 {
            // A caller that has gone needs no events.
            let _ = tx.send(event);
        }
    }
}

/// What an instance's links report outside any call.
#[derive(Debug, Clone)]
pub struct Report {
    pub instance: Uuid,
    pub news: News,
}

#[derive(Debug, Clone)]
pub enum News {
    /// A list of this kind is no longer what it was.
    ListChanged(ListKind),
    ResourceUpdated {
        uri: String,
    },
    /// The first probe, or a probe that contradicted an earlier verdict.
    Verdict(Verdict),
    /// A link is being opened, is open, or has been lost for this reason.
    Opening,
    Open,
    Lost(Error),
}

/// The four lists a server may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl ListKind {
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The member of the result that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The capability a server declares when it has this list.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }
}
