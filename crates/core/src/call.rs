//! One call: what is asked, by whom, through which door, and what came of it.

use std::future::Future;
use std::sync::Arc;

use toolgrove_wire::Raw;
use uuid::Uuid;

use crate::Error;
use crate::event::{Events, ListKind};
use crate::instance::{Instance, Verdict};
use crate::name::Profile;

/// The authenticated person behind a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub person: Uuid,
    pub token: Option<Uuid>,
    pub profile: Profile,
}

/// Through which door a call came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    Mcp,
    Legacy,
    Stdio,
    Api,
    Cli,
    Xml,
}

impl Door {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Legacy => "legacy",
            Self::Stdio => "stdio",
            Self::Api => "api",
            Self::Cli => "cli",
            Self::Xml => "xml",
        }
    }
}

/// What a caller sees: everything under public names, or one instance under its own names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    All,
    One { slug: String },
}

/// The requests that go to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    CallTool,
    GetPrompt,
    ReadResource,
    Complete,
}

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::GetPrompt => "prompts/get",
            Self::ReadResource => "resources/read",
            Self::Complete => "completion/complete",
        }
    }

    pub fn parse(method: &str) -> Option<Self> {
        [Self::CallTool, Self::GetPrompt, Self::ReadResource, Self::Complete]
            .into_iter()
            .find(|it| it.as_str() == method)
    }
}

/// One call as a door hands it to the hub. `params` are the client's own bytes without the keys of its hop.
#[derive(Debug, Clone)]
pub struct Call {
    pub id: Uuid,
    pub parent: Option<Uuid>,
    pub caller: Arc<Caller>,
    pub door: Door,
    pub view: View,
    pub method: Method,
    pub params: Raw,
    /// The conversation this call belongs to: a legacy client's session, else the caller.
    pub chat: Arc<str>,
    pub depth: u8,
    /// The least severe log message the client wants to see; none if it did not ask.
    pub log_level: Option<String>,
    /// Unix milliseconds.
    pub started_at: i64,
}

/// What came of a call that did not fail on the way.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The server's result; a missing `resultType` means complete.
    Complete { result: Raw, instance: Arc<Instance> },
}

/// A request on its way to a link: names are the server's own, the keys of the client's hop are gone.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub method: Method,
    pub params: Raw,
    pub chat: Arc<str>,
    pub log_level: Option<String>,
    /// Whether sending it twice does no harm (`readOnlyHint` or `idempotentHint`).
    pub repeatable: bool,
}

/// Everything a server says about itself. A list it does not have is empty; one that failed carries its error.
#[derive(Debug, Clone)]
pub struct Discovery {
    pub verdict: Verdict,
    pub server_info: Option<Raw>,
    pub capabilities: Raw,
    pub instructions: Option<String>,
    pub lists: Vec<(ListKind, Result<Vec<Raw>, Error>)>,
}

/// The live connections. The real one is `upstream::Pool`.
pub trait Links: Send + Sync + 'static {
    /// Sends one request and waits for its result. Dropping the future cancels the request at the server.
    fn request(
        &self,
        instance: &Arc<Instance>,
        outgoing: Outgoing,
        events: Events,
    ) -> impl Future<Output = Result<Raw, Error>> + Send;

    /// Fetches one list, all its pages.
    fn list(
        &self,
        instance: &Arc<Instance>,
        kind: ListKind,
    ) -> impl Future<Output = Result<Vec<Raw>, Error>> + Send;

    /// Opens a link if none is open and reads everything the server offers.
    fn discover(&self, instance: &Arc<Instance>) -> impl Future<Output = Result<Discovery, Error>> + Send;

    /// Whether changes of the server's lists are being reported, so that asking again would tell nothing new.
    fn has_feed(&self, instance: Uuid) -> bool;

    /// Ends all links of an instance that was changed, turned off or removed.
    fn close(&self, instance: Uuid) -> impl Future<Output = ()> + Send;
}
