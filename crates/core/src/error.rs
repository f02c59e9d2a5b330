//! Why something did not happen: one enum, three faces (JSON-RPC, problem+json, command line).
//!
//! A message is a lowercase sentence without final period, the thing in backticks. Every variant has a stable
//! dotted code, an HTTP status and, where the reader can do something, a hint with the exact command.
//! A tool that ran and failed is a result, not one of these.

use serde::Serialize;
use toolgrove_wire::Raw;
use ts_rs::TS;

/// Everything that can go wrong between a door and a server.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("`{tool}` is not a tool name")]
    ToolName { tool: String },
    #[error("no tool is called `{tool}`")]
    UnknownTool { tool: String },
    #[error("tool `{tool}` is turned off")]
    ToolOff { tool: String },
    #[error("TabNotFound: no open tab offers `{tool}`")]
    TabNone { tool: String, reason: Option<&'static str> },
    #[error("no prompt is called `{prompt}`")]
    UnknownPrompt { prompt: String },
    #[error("no resource has the URI `{uri}`")]
    UnknownResource { uri: String },

    #[error("no server is called `{server}`")]
    UnknownServer { server: String },
    #[error("server `{server}` is turned off")]
    ServerOff { server: String },
    #[error("a server with this name already exists in the workspace")]
    ServerNameTaken,
    #[error("server URL `{url}` is already registered")]
    ServerUrlTaken { url: String },
    #[error("not a server URL: `{url}`")]
    ServerUrl { url: String },
    #[error("{0}")]
    ServerConfig(String),

    #[error("no instance has the id `{id}`")]
    UnknownInstance { id: String },
    #[error("instance `{slug}` is turned off")]
    InstanceOff { slug: String },
    #[error("`{slug}` does the same as `{of}`, which is used in its place")]
    InstanceDuplicate { slug: String, of: String },
    #[error("tool `{tool}` changed since it was approved")]
    ToolChanged { tool: String },
    #[error("nothing was installed or changed: {detail}")]
    BundleChanged { detail: String },
    /// What the room of bundles says, in its words.
    #[error("{detail}")]
    Bundle { code: &'static str, status: u16, detail: String, hint: Option<String> },
    #[error("create an instance of `{server}` first")]
    InstanceMissing { server: String },
    #[error("slug `{slug}` is already in use")]
    SlugTaken { slug: String },
    #[error("instance `{slug}` comes with Toolgrove and stays as it is")]
    InstanceBuiltin { slug: String },
    #[error("{0}")]
    Slug(&'static str),
    #[error("`{slug}` needs you to reconnect: {text}")]
    NeedsReauth {
        slug: String,
        text: String,
        status: Option<u16>,
        body: Option<String>,
        /// The server's `WWW-Authenticate`, which may say where to sign in.
        challenge: Option<String>,
    },

    #[error("no such workspace")]
    UnknownWorkspace,
    #[error("{kind} servers are not allowed in this workspace")]
    TransportOff { kind: String },
    #[error("this token has no grant for `{slug}`")]
    GrantMissing { slug: String },
    #[error("this needs the role `{role}`")]
    Role { role: &'static str },
    #[error("{0}")]
    OauthDiscovery(String),
    #[error("client registration failed: {0}")]
    OauthRegistration(String),
    #[error("enter a client id and secret for {issuer}")]
    OauthClientMissing { issuer: String },
    #[error("this sign-in is unknown or already used; start again")]
    OauthStateUnknown,
    #[error("this sign-in has expired; start again")]
    OauthStateExpired,
    #[error("{0}")]
    OauthRefused(String),
    #[error("token exchange failed: {0}")]
    OauthExchange(String),
    #[error("`{host}` is not on the allowlist of this workspace")]
    HostNotAllowed { host: String },
    #[error("`{host}` is not at a public address")]
    PrivateAddress { host: String },

    #[error("calls are not enabled in this workspace")]
    CallsOff,
    #[error("external servers are not enabled in this workspace")]
    ExternalOff,
    #[error("`{server}` allows {per_second} calls a second")]
    RateLimited { server: String, per_second: f64, retry_ms: u64 },
    #[error("a bud may be called at most 3 deep")]
    BudDepth,
    #[error("too many bud calls are running")]
    BudBusy,
    #[error("no model can be reached: {0}")]
    ModelMissing(String),
    #[error("provider `{provider}` failed: {problem}")]
    Provider { provider: String, problem: String },
    #[error("the model could not be followed: {0}")]
    ModelOutput(String),
    #[error("the plan runs in a circle: {0}")]
    PlanCycle(String),
    #[error("{0}")]
    PlanReference(String),
    #[error("function `{name}` stands there twice")]
    ConvertDuplicate { name: String },

    #[error("you may not call `{tool}`")]
    Denied {
        tool: String,
        /// Somebody would have had to be asked, and nobody can be.
        unasked: bool,
    },
    #[error("arguments do not match: {problem}")]
    Arguments { problem: String },
    #[error("`{slug}` did not answer within {ms} ms")]
    Timeout { slug: String, ms: u64 },
    #[error("cannot reach `{slug}`: {cause}")]
    Unreachable { slug: String, cause: String },
    #[error("server answered {status} {reason}")]
    Answered { slug: String, status: u16, reason: String, body: String },
    #[error("`{slug}` sent something that is not MCP: {problem}")]
    Garbled { slug: String, problem: String },
    #[error("the answer of `{slug}` is larger than {limit_mb} MiB")]
    TooLarge { slug: String, limit_mb: u64 },
    #[error("MCP error {code}: {message}{}", DataSuffix(data.as_ref()))]
    Server { code: i64, message: String, data: Option<Raw> },
    #[error("the call was cancelled")]
    Cancelled,

    #[error("missing: {}", .0.join(", "))]
    RequestMissing(Vec<String>),
    #[error("tool arguments are not valid JSON: {0}")]
    RequestJson(String),
    #[error("{0}")]
    Request(String),
    #[error("there is nothing at `{0}`")]
    NotFound(String),
    #[error("give the key or a token")]
    AuthMissing,
    #[error("this origin may not call the hub")]
    AuthOrigin,
    #[error("this token may not do that; it takes the scopes `{scopes}`")]
    Scope { scopes: String },
    /// Somebody could not be recognised, and why in one sentence.
    #[error("{0}")]
    SignIn(String),
    #[error("too many attempts; try again in {seconds} s")]
    Throttled { seconds: u64 },
    #[error("this cannot be done with a token")]
    TokenMayNot,
    /// A command on the hub's machine does not say for whom it acts.
    #[error("{0}")]
    ActAs(String),
    #[error("somebody here has the address `{email}` already")]
    EmailTaken { email: String },
    #[error("this is the only admin who can sign in")]
    LastAdmin,
    #[error("{0}")]
    Import(&'static str),
    #[error("{0}")]
    Config(String),
    #[error("something broke inside the hub: {0}")]
    Internal(String),
}

/// Appends an error's `data` as JSON, so that nothing a server said is lost.
struct DataSuffix<'a>(Option<&'a Raw>);

impl std::fmt::Display for DataSuffix<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(data) => write!(f, " {}", data.as_str()),
            None => Ok(()),
        }
    }
}

impl Error {
    /// The stable, dotted name of this error. Documented in `docs/errors.md`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ToolName { .. } => "tool.name",
            Self::UnknownTool { .. } => "tool.unknown",
            Self::ToolOff { .. } => "tool.off",
            Self::TabNone { .. } => "tab.none",
            Self::UnknownPrompt { .. } => "prompt.unknown",
            Self::UnknownResource { .. } => "resource.unknown",
            Self::UnknownServer { .. } => "server.unknown",
            Self::ServerOff { .. } => "server.off",
            Self::ServerNameTaken => "server.name-taken",
            Self::ServerUrlTaken { .. } => "server.url-taken",
            Self::ServerUrl { .. } => "server.url",
            Self::ServerConfig(_) => "server.config",
            Self::UnknownInstance { .. } => "instance.unknown",
            Self::InstanceOff { .. } => "instance.off",
            Self::InstanceDuplicate { .. } => "instance.duplicate",
            Self::ToolChanged { .. } => "tool.changed",
            Self::BundleChanged { .. } => "bundle.changed",
            Self::Bundle { code, .. } => code,
            Self::InstanceMissing { .. } => "instance.missing",
            Self::SlugTaken { .. } => "instance.slug-taken",
            Self::InstanceBuiltin { .. } => "instance.builtin",
            Self::Slug(_) => "instance.slug",
            Self::NeedsReauth { .. } => "instance.needs-reauth",
            Self::UnknownWorkspace => "workspace.unknown",
            Self::TransportOff { .. } => "workspace.transport",
            Self::GrantMissing { .. } => "grant.missing",
            Self::Role { .. } => "auth.role",
            Self::OauthDiscovery(_) => "oauth.discovery",
            Self::OauthRegistration(_) => "oauth.registration",
            Self::OauthClientMissing { .. } => "oauth.client-missing",
            Self::OauthStateUnknown => "oauth.state-unknown",
            Self::OauthStateExpired => "oauth.state-expired",
            Self::OauthRefused(_) => "oauth.refused",
            Self::OauthExchange(_) => "oauth.exchange",
            Self::HostNotAllowed { .. } => "workspace.host",
            Self::PrivateAddress { .. } => "net.private",
            Self::CallsOff => "workspace.calls-off",
            Self::ExternalOff => "workspace.external-off",
            Self::RateLimited { .. } => "rate.limited",
            Self::BudDepth => "bud.depth",
            Self::BudBusy => "bud.busy",
            Self::ModelMissing(_) => "model.missing",
            Self::Provider { .. } => "model.provider",
            Self::ModelOutput(_) => "model.output",
            Self::PlanCycle(_) => "plan.cycle",
            Self::PlanReference(_) => "plan.reference",
            Self::ConvertDuplicate { .. } => "convert.duplicate",
            Self::Denied { .. } => "call.denied",
            Self::Arguments { .. } => "call.arguments",
            Self::Timeout { .. } => "call.timeout",
            Self::Unreachable { .. } => "link.unreachable",
            Self::Answered { .. } => "link.answered",
            Self::Garbled { .. } => "link.garbled",
            Self::TooLarge { .. } => "link.too-large",
            Self::Server { .. } => "server.error",
            Self::Cancelled => "call.cancelled",
            Self::RequestMissing(_) => "request.missing",
            Self::RequestJson(_) => "request.json",
            Self::Request(_) => "request.invalid",
            Self::NotFound(_) => "request.not-found",
            Self::AuthMissing => "auth.missing",
            Self::AuthOrigin => "auth.origin",
            Self::Scope { .. } => "auth.scope",
            Self::SignIn(_) => "auth.sign-in",
            Self::Throttled { .. } => "auth.throttled",
            Self::TokenMayNot => "auth.token",
            Self::ActAs(_) => "auth.as",
            Self::EmailTaken { .. } => "people.email-taken",
            Self::LastAdmin => "people.last-admin",
            Self::Import(_) => "import.text",
            Self::Config(_) => "config.invalid",
            Self::Internal(_) => "hub.internal",
        }
    }

    /// What the reader can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownTool { .. } | Self::ToolName { .. } => {
                "run `toolgrove tools` to see every name".into()
            }
            Self::TabNone { .. } => {
                "open the page in a browser that is paired; `toolgrove tabs list` shows them".into()
            }
            Self::ToolOff { tool } => format!("turn it on with `toolgrove instance on SLUG --tool {tool}`"),
            Self::ServerOff { server } => format!("turn it on with `toolgrove server on {server}`"),
            Self::InstanceBuiltin { slug } => format!("turn it off with `toolgrove instance off {slug}`"),
            Self::InstanceDuplicate { of, .. } => format!("use `{of}`, or remove it"),
            Self::ToolChanged { .. } => {
                "see what changed with `toolgrove pins diff`, then approve or reject it".into()
            }
            Self::BundleChanged { .. } => "look at it again, then install it".into(),
            Self::Bundle { hint, .. } => return hint.clone(),
            Self::InstanceOff { slug } => format!("turn it on with `toolgrove instance on {slug}`"),
            Self::UnknownServer { .. } => "run `toolgrove server list` to see every server".into(),
            Self::UnknownInstance { .. } => "run `toolgrove instance list` to see every instance".into(),
            Self::ServerNameTaken => "choose another name, or import with `--replace`".into(),
            Self::InstanceMissing { server } => format!("run `toolgrove instance add {server}`"),
            Self::NeedsReauth { slug, .. } if self.wants_sign_in() => {
                format!("run `toolgrove login {slug}`, or press Reconnect")
            }
            Self::NeedsReauth { .. } | Self::Answered { status: 401, .. } => {
                "check the credentials of this instance".into()
            }
            Self::OauthRegistration(_) | Self::OauthClientMissing { .. } => {
                "register Toolgrove with the provider by hand, and have an admin enter the client".into()
            }
            Self::Answered { status: 404, .. } => "check the URL".into(),
            Self::TransportOff { .. } => "ask an admin to add it, or to allow it in the workspace".into(),
            Self::GrantMissing { .. } => "use a token with a grant for it, or one without grants".into(),
            Self::Role { .. } => "ask an admin".into(),
            Self::HostNotAllowed { .. } => "ask an admin to add it to the allowlist".into(),
            Self::PrivateAddress { .. } => "an admin can let it through with `[net] allow_private`".into(),
            Self::CallsOff | Self::ExternalOff => "ask a workspace admin to open the next phase".into(),
            Self::Denied { unasked: true, .. } => {
                "it asks each time, and you cannot be asked this way: call it in the chat or with a client that can be asked, or set its permission to `allow`".into()
            }
            Self::ModelMissing(_) => {
                "add a `[provider.<name>]` with `kind`, `url` and `key` to `toolgrove.toml`; see `docs/buds.md`".into()
            }
            Self::TokenMayNot => "sign in to the hub's page, or use `toolgrove` on its machine".into(),
            Self::LastAdmin => "make somebody else an admin first".into(),
            Self::Timeout { slug, .. } | Self::Unreachable { slug, .. } | Self::Garbled { slug, .. } => {
                format!("run `toolgrove doctor {slug}`")
            }
            Self::AuthMissing => {
                "send `Authorization: Bearer <key>`; the key is in the file `key` of the data folder".into()
            }
            _ => return None,
        })
    }

    /// The status of the problem+json face.
    pub fn status(&self) -> u16 {
        match self {
            Self::ToolName { .. }
            | Self::ServerUrl { .. }
            | Self::ServerConfig(_)
            | Self::Slug(_)
            | Self::RequestMissing(_)
            | Self::RequestJson(_)
            | Self::Request(_)
            | Self::Import(_)
            | Self::Config(_)
            | Self::PlanCycle(_)
            | Self::PlanReference(_)
            | Self::ConvertDuplicate { .. }
            | Self::OauthStateUnknown
            | Self::OauthStateExpired
            | Self::OauthRefused(_) => 400,
            Self::Bundle { status, .. } => *status,
            Self::AuthMissing | Self::SignIn(_) => 401,
            Self::ToolOff { .. }
            | Self::ServerOff { .. }
            | Self::InstanceOff { .. }
            | Self::InstanceBuiltin { .. }
            | Self::ToolChanged { .. }
            | Self::TransportOff { .. }
            | Self::GrantMissing { .. }
            | Self::Role { .. }
            | Self::HostNotAllowed { .. }
            | Self::PrivateAddress { .. }
            | Self::TokenMayNot
            | Self::CallsOff
            | Self::ExternalOff
            | Self::BudDepth
            | Self::ActAs(_)
            | Self::Denied { .. }
            | Self::AuthOrigin
            | Self::Scope { .. } => 403,
            Self::UnknownTool { .. }
            | Self::TabNone { .. }
            | Self::UnknownPrompt { .. }
            | Self::UnknownResource { .. }
            | Self::UnknownServer { .. }
            | Self::UnknownInstance { .. }
            | Self::UnknownWorkspace
            | Self::NotFound(_) => 404,
            Self::ServerNameTaken
            | Self::ServerUrlTaken { .. }
            | Self::InstanceMissing { .. }
            | Self::InstanceDuplicate { .. }
            | Self::BundleChanged { .. }
            | Self::SlugTaken { .. }
            | Self::OauthClientMissing { .. }
            | Self::EmailTaken { .. }
            | Self::LastAdmin
            | Self::ModelMissing(_)
            | Self::NeedsReauth { .. } => 409,
            Self::Arguments { .. } => 422,
            Self::Throttled { .. } | Self::RateLimited { .. } | Self::BudBusy => 429,
            Self::Cancelled => 499,
            Self::Internal(_) => 500,
            Self::Unreachable { .. }
            | Self::Answered { .. }
            | Self::Garbled { .. }
            | Self::TooLarge { .. }
            | Self::OauthDiscovery(_)
            | Self::OauthRegistration(_)
            | Self::OauthExchange(_)
            | Self::Provider { .. }
            | Self::ModelOutput(_)
            | Self::Server { .. } => 502,
            Self::Timeout { .. } => 504,
        }
    }

    /// The number of the JSON-RPC face: a server's own number is kept.
    pub fn rpc_code(&self) -> i64 {
        match self {
            Self::Server { code, .. } => *code,
            Self::TabNone { .. } => -32001,
            _ if self.is_failed_hop() || matches!(self, Self::Internal(_)) => -32603,
            _ => -32602,
        }
    }

    /// Whether a server could not be reached or did not answer properly, as opposed to a refusal of ours.
    pub fn is_failed_hop(&self) -> bool {
        matches!(
            self,
            Self::Timeout { .. }
                | Self::Unreachable { .. }
                | Self::Answered { .. }
                | Self::Garbled { .. }
                | Self::TooLarge { .. }
                | Self::NeedsReauth { .. }
                | Self::Provider { .. }
                | Self::ModelOutput(_)
                | Self::Cancelled
        )
    }

    /// Whether somebody has to sign in with a provider, as opposed to entering a key: the server names its metadata,
    /// or a sign-in of ours has ended without the server being asked.
    pub fn wants_sign_in(&self) -> bool {
        match self {
            Self::NeedsReauth { status, challenge, .. } => match challenge {
                Some(challenge) => challenge.contains("resource_metadata"),
                None => status.is_none(),
            },
            _ => false,
        }
    }

    /// Facts for a program: the server's status and body, or its own error whole.
    pub fn data(&self) -> Option<serde_json::Value> {
        match self {
            Self::Answered { status, body, .. } => {
                Some(serde_json::json!({ "status": status, "body": body }))
            }
            Self::NeedsReauth { status: Some(status), body, .. } => {
                Some(serde_json::json!({ "status": status, "body": body }))
            }
            Self::RateLimited { retry_ms, .. } => Some(serde_json::json!({ "retry_after_ms": retry_ms })),
            Self::TabNone { reason: Some(reason), .. } => Some(serde_json::json!({ "reason": reason })),
            Self::Server { code, message, data } => Some(serde_json::json!({
                "code": code,
                "message": message,
                "data": data.as_ref().map(Raw::to_value),
            })),
            _ => None,
        }
    }

    /// The problem+json face.
    pub fn problem(&self) -> Problem {
        Problem {
            status: self.status(),
            code: self.code(),
            detail: self.to_string(),
            hint: self.hint(),
            data: self.data(),
        }
    }
}

/// `application/problem+json`, the face of an [`Error`] on `/api`.
#[derive(Debug, Serialize, TS)]
pub struct Problem {
    pub status: u16,
    pub code: &'static str,
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "Json")]
    pub data: Option<serde_json::Value>,
}
