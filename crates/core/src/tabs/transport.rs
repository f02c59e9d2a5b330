//! The seam between the tab hub and whatever carries its messages.

use std::fmt;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use toolgrove_wire::{Raw, RpcError};
use uuid::Uuid;

use super::table::{BrowserKind, Registration};
use super::wire::TabFacts;

/// One tab of one browser. The ids of two browsers may be the same, so neither half means anything alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TabKey {
    pub browser: Arc<str>,
    pub tab: i64,
}

impl TabKey {
    pub fn new(browser: &Arc<str>, tab: i64) -> Self {
        Self { browser: browser.clone(), tab }
    }
}

impl fmt::Display for TabKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.browser, self.tab)
    }
}

/// What is asked of a tab, or of its browser.
#[derive(Debug, Clone)]
pub enum TabRequest {
    Execute {
        tool: String,
        args: Raw,
        document: Option<String>,
    },
    /// Answered with `{tabId}`. The tab it is sent to only names the browser.
    Open {
        url: String,
    },
    Reload,
    Activate,
    Close,
}

/// Why a tab gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is not there, or shows another document; the request has not begun.
    Absent,
    /// It went away, or its browser did, and the request may have begun.
    Closed,
    /// An answer larger than this many MiB ended the connection.
    TooLarge { limit_mb: u64 },
    /// The browser would not, and says why.
    Refused(String),
}

/// What a browser reports.
#[derive(Debug)]
pub enum TabEvent {
    /// A browser is there. Whatever was known of an earlier connection of it is over.
    Connected {
        browser: Arc<str>,
        person: Uuid,
        kind: BrowserKind,
        label: String,
    },
    Lost {
        browser: Arc<str>,
    },
    Tabs {
        browser: Arc<str>,
        tabs: Vec<TabFacts>,
    },
    Registered {
        tab: TabKey,
        registration: Registration,
    },
    /// A document is gone; none means whatever the tab shows.
    Left {
        tab: TabKey,
        document: Option<String>,
    },
    Activated {
        tab: TabKey,
        window: Option<i64>,
    },
    Focused {
        browser: Arc<str>,
        window: i64,
    },
    Replaced {
        tab: TabKey,
        old: i64,
    },
    Removed {
        tab: TabKey,
    },
    /// The request has begun in the page.
    Started {
        browser: Arc<str>,
        request: Uuid,
    },
    Progress {
        browser: Arc<str>,
        request: Uuid,
        params: Raw,
    },
    /// A request is answered. It goes the way of everything else, so that nothing that was said before it comes after.
    Answered {
        to: oneshot::Sender<Result<Raw, Refusal>>,
        answer: Result<Raw, Refusal>,
    },
    /// A page asks in the middle of a call.
    Asked {
        tab: TabKey,
        request: Option<Uuid>,
        params: Raw,
        reply: oneshot::Sender<Result<Raw, RpcError>>,
    },
}

/// Carries messages to tabs and back. Real ones speak with the extension and with pages that embed the relay; tests
/// have one that needs no browser.
pub trait TabTransport: Send + Sync + 'static {
    /// Asks a tab and waits for its answer, as the result of the request. Dropping the future cancels the request.
    fn send_request(
        &self,
        tab: &TabKey,
        id: Uuid,
        request: TabRequest,
    ) -> impl Future<Output = Result<Raw, Refusal>> + Send;

    /// Messages and disconnects as they come. Taken once.
    fn events(&self) -> mpsc::UnboundedReceiver<TabEvent>;

    /// Lets go of a tab's connection.
    fn disconnect(&self, tab: &TabKey);
}
