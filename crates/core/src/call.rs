//! One call: what is asked, by whom, through which door, and what came of it.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolgrove_wire::modern::ResultKind;
use toolgrove_wire::{Abilities, Draft, Raw};
use ts_rs::TS;
use uuid::Uuid;

use crate::Error;
use crate::event::{Events, ListKind};
use crate::instance::{Instance, Verdict};
use crate::name::Profile;

/// The authenticated person or token behind a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub person: Uuid,
    pub role: Role,
    /// The token the person came with: an API token, or an OAuth connection.
    pub token: Option<Uuid>,
    pub profile: Profile,
    /// The instances this caller may use; none means all that the person has.
    pub grants: Option<Arc<HashSet<Uuid>>>,
}

impl Caller {
    /// A person without a token, who may use everything they have.
    pub fn person(person: Uuid, role: Role, profile: Profile) -> Self {
        Self { person, role, token: None, profile, grants: None }
    }

    /// What sessions, parked calls and conversations are bound to: two tokens of one person are two callers.
    pub fn id(&self) -> Uuid {
        self.token.unwrap_or(self.person)
    }

    /// The conversation of a client that has no session.
    pub fn chat(&self) -> Arc<str> {
        let mut spelt = [0; uuid::fmt::Hyphenated::LENGTH];
        ["caller:", self.id().hyphenated().encode_lower(&mut spelt)].concat().into()
    }

    /// Whether an instance of this person exists for this caller.
    pub fn may_use(&self, instance: Uuid) -> bool {
        self.grants.as_ref().is_none_or(|it| it.contains(&instance))
    }

    /// Lets people through, but no token: a way in is not made or ended by another.
    pub fn require_person(&self) -> Result<(), Error> {
        if self.token.is_some() { Err(Error::TokenMayNot) } else { Ok(()) }
    }

    /// Lets those through who keep the registry and the people.
    pub fn require_admin(&self) -> Result<(), Error> {
        match self.role {
            Role::Admin => Ok(()),
            Role::WorkspaceAdmin | Role::Member => Err(Error::Role { role: Role::Admin.as_str() }),
        }
    }

    /// Whether they keep a workspace in which they are this, or nobody.
    pub fn keeps(&self, member: Option<Role>) -> bool {
        match self.role {
            Role::Admin => true,
            Role::WorkspaceAdmin => member.is_some_and(|it| it != Role::Member),
            Role::Member => false,
        }
    }
}

/// What a person may change beyond their own things: the highest role they hold anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Member,
    /// Keeps at least one workspace; which ones is in the memberships.
    WorkspaceAdmin,
    Admin,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Member, Self::WorkspaceAdmin, Self::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::WorkspaceAdmin => "workspace-admin",
            Self::Admin => "admin",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
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
    /// A model of the hub's own chat asked for it, or its person did.
    Chat,
    /// A bud's model asked for it.
    Bud,
    Plan,
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
            Self::Chat => "chat",
            Self::Bud => "bud",
            Self::Plan => "plan",
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
    /// The Tasks extension; its ids are sealed and name the instance.
    GetTask,
    UpdateTask,
    CancelTask,
}

impl Method {
    pub const ALL: [Self; 7] = [
        Self::CallTool,
        Self::GetPrompt,
        Self::ReadResource,
        Self::Complete,
        Self::GetTask,
        Self::UpdateTask,
        Self::CancelTask,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::GetPrompt => "prompts/get",
            Self::ReadResource => "resources/read",
            Self::Complete => "completion/complete",
            Self::GetTask => "tasks/get",
            Self::UpdateTask => "tasks/update",
            Self::CancelTask => "tasks/cancel",
        }
    }

    pub fn parse(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == method)
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
    pub params: Draft,
    /// The conversation this call belongs to: a legacy client's session, else the caller.
    pub chat: Arc<str>,
    pub depth: u8,
    /// What the client can be asked.
    pub abilities: Abilities,
    pub asking: Asking,
    /// The least severe log message the client wants to see; none if it did not ask.
    pub log_level: Option<&'static str>,
    /// What the client calls itself.
    pub client: Option<Arc<str>>,
    /// Unix milliseconds.
    pub started_at: i64,
}

/// How a client answers questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// While the call runs: through the call's events.
    Live,
    /// By calling again: a result that wants input is given to it as it is.
    ByRetry,
}

/// What came of a call that did not fail on the way.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub result: Raw,
    /// A missing `resultType` means complete.
    pub kind: ResultKind,
    pub instance: Arc<Instance>,
}

/// A request on its way to a link: names are the server's own, the keys of the client's hop are gone.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub method: Method,
    pub params: Draft,
    pub chat: Arc<str>,
    pub log_level: Option<&'static str>,
    /// What the client behind this request can be asked. A legacy link is opened with exactly these.
    pub abilities: Abilities,
    /// Arguments that the tool wants repeated as `Mcp-Param-*` headers, for modern HTTP links.
    pub headers: Vec<(String, String)>,
    /// Whether sending it twice does no harm (`readOnlyHint` or `idempotentHint`).
    pub repeatable: bool,
    pub legacy_task: LegacyTask,
    /// In whose name it is sent; none for the hub's own.
    pub behind: Option<Behind>,
}

/// The call behind a request: what somebody needs who goes on in its name.
#[derive(Debug, Clone)]
pub struct Behind {
    pub call: Uuid,
    pub caller: Arc<Caller>,
    /// How deep in buds it is.
    pub depth: u8,
}

/// Whether a 2025-11-25 server runs the tool only as a task (`execution.taskSupport` is `required`). Its link then
/// starts the task, waits and fetches the result; links of other revisions take no notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LegacyTask {
    No,
    Required,
}

/// Something of a server that can be watched, by the name its server gave it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    Resource(String),
    /// A task of the extension; its status is reported.
    Task(String),
}

/// Whether something is to be watched from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watching {
    Start,
    Stop,
}

/// Everything a server says about itself. A list it does not have is empty; one that failed carries its error.
#[derive(Debug, Clone)]
pub struct Discovery {
    pub verdict: Verdict,
    pub server_info: Option<Raw>,
    pub capabilities: Raw,
    pub instructions: Option<String>,
    pub lists: Vec<(ListKind, Result<Vec<Raw>, Error>)>,
    /// For how long the server says that its tools hold.
    pub tools_hold: Duration,
}

/// A list, and for how long its server says that it holds. Only a modern one says so.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    pub items: Vec<Raw>,
    pub holds: Duration,
}

/// The live connections. The real one is `upstream::Pool`.
pub trait Links: Send + Sync + 'static {
    /// Sends one request and waits for its result. Dropping the future cancels the request at the server.
    fn request(
        &self,
        instance: &Arc<Instance>,
        outgoing: &Outgoing,
        events: &Events,
    ) -> impl Future<Output = Result<Raw, Error>> + Send;

    /// Sends one request for which nobody waits.
    fn request_beside(&self, instance: &Arc<Instance>, outgoing: Outgoing);

    /// Fetches one list, all its pages.
    fn list(
        &self,
        instance: &Arc<Instance>,
        kind: ListKind,
    ) -> impl Future<Output = Result<Listing, Error>> + Send;

    /// Opens a link if none is open and reads everything the server offers.
    fn discover(&self, instance: &Arc<Instance>) -> impl Future<Output = Result<Discovery, Error>> + Send;

    /// Whether changes of the server's lists are being reported, so that asking again would tell nothing new.
    fn has_feed(&self, instance: Uuid) -> bool;

    /// Whether it is a modern server that does so, whose lists a client may keep for a while.
    fn has_modern_feed(&self, instance: Uuid) -> bool;

    /// Has updates of a resource or a task reported, or no longer. The hub counts who wants them; links only hear of the first
    /// and the last.
    fn watch(
        &self,
        instance: &Arc<Instance>,
        subject: &Subject,
        watching: Watching,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Tells every server that one conversation's client has other roots now.
    fn roots_changed(&self, chat: &str) -> impl Future<Output = ()> + Send;

    /// Ends the links of one conversation, on every instance.
    fn end_chat(&self, chat: &str) -> impl Future<Output = ()> + Send;

    /// Ends all links of an instance that was changed, turned off or removed.
    fn close(&self, instance: Uuid) -> impl Future<Output = ()> + Send;
}
