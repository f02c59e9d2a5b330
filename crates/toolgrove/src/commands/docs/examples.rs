//! One example of every error. The compiler lists what is missing here when a variant is added.

use toolgrove_core::Error;
use toolgrove_wire::Raw;

/// The example that follows another one; the first follows none.
pub(super) fn after(error: Option<&Error>) -> Option<Error> {
    let tool = || "mcp__weather__forecast".to_owned();
    let slug = || "weather".to_owned();
    let url = || "https://weather.example/mcp".to_owned();
    Some(match error {
        None => Error::ToolName { tool: "mcp_weather".into() },
        Some(Error::ToolName { .. }) => Error::UnknownTool { tool: tool() },
        Some(Error::UnknownTool { .. }) => Error::ToolOff { tool: tool() },
        Some(Error::ToolOff { .. }) => {
            Error::TabNone { tool: "website_tool_example_com_tab1_getCart".into(), reason: None }
        }
        Some(Error::TabNone { .. }) => Error::UnknownPrompt { prompt: "mcp__weather__report".into() },
        Some(Error::UnknownPrompt { .. }) => {
            Error::UnknownResource { uri: "mcp+weather:file:///today".into() }
        }
        Some(Error::UnknownResource { .. }) => Error::UnknownServer { server: slug() },
        Some(Error::UnknownServer { .. }) => Error::ServerOff { server: slug() },
        Some(Error::ServerOff { .. }) => Error::ServerNameTaken,
        Some(Error::ServerNameTaken) => Error::ServerUrlTaken { url: url() },
        Some(Error::ServerUrlTaken { .. }) => Error::ServerUrl { url: "weather".into() },
        Some(Error::ServerUrl { .. }) => Error::ServerConfig("missing \"url\"".into()),
        Some(Error::ServerConfig(_)) => Error::UnknownInstance { id: slug() },
        Some(Error::UnknownInstance { .. }) => Error::InstanceOff { slug: slug() },
        Some(Error::InstanceOff { .. }) => Error::InstanceDuplicate { slug: slug(), of: "meteo".into() },
        Some(Error::InstanceDuplicate { .. }) => Error::ToolChanged { tool: tool() },
        Some(Error::ToolChanged { .. }) => {
            Error::BundleChanged { detail: "it is not what was looked at any more".into() }
        }
        Some(Error::BundleChanged { .. }) => Error::Bundle {
            code: "bundle.unknown",
            status: 404,
            detail: "no bundle is called `weather-tools`".into(),
            hint: Some("run `toolgrove bundle list` to see what is installed".into()),
        },
        Some(Error::Bundle { .. }) => Error::InstanceMissing { server: slug() },
        Some(Error::InstanceMissing { .. }) => Error::SlugTaken { slug: slug() },
        Some(Error::SlugTaken { .. }) => Error::InstanceBuiltin { slug: "tabs".into() },
        Some(Error::InstanceBuiltin { .. }) => Error::Slug("slug may hold only letters, digits and hyphens"),
        Some(Error::Slug(_)) => Error::NeedsReauth {
            slug: slug(),
            text: "the token expired".into(),
            status: Some(401),
            body: None,
            challenge: None,
        },
        Some(Error::OauthExchange(_)) => Error::UnknownWorkspace,
        Some(Error::UnknownWorkspace) => Error::TransportOff { kind: "stdio".into() },
        Some(Error::TransportOff { .. }) => Error::GrantMissing { slug: slug() },
        Some(Error::GrantMissing { .. }) => Error::Role { role: "admin" },
        Some(Error::NeedsReauth { .. }) => {
            Error::OauthDiscovery("this server offers no OAuth discovery".into())
        }
        Some(Error::OauthDiscovery(_)) => Error::OauthRegistration("HTTP 403 Forbidden: not here".into()),
        Some(Error::OauthRegistration(_)) => {
            Error::OauthClientMissing { issuer: "https://auth.example.com".into() }
        }
        Some(Error::OauthClientMissing { .. }) => Error::OauthStateUnknown,
        Some(Error::OauthStateUnknown) => Error::OauthStateExpired,
        Some(Error::OauthStateExpired) => Error::OauthRefused("you have not given your consent".into()),
        Some(Error::OauthRefused(_)) => Error::OauthExchange("HTTP 400 Bad Request: {\"error\":…}".into()),
        Some(Error::Role { .. }) => Error::HostNotAllowed { host: "weather.example".into() },
        Some(Error::HostNotAllowed { .. }) => Error::PrivateAddress { host: "weather.example".into() },
        Some(Error::PrivateAddress { .. }) => Error::CallsOff,
        Some(Error::CallsOff) => Error::ExternalOff,
        Some(Error::ExternalOff) => Error::RateLimited { server: slug(), per_second: 5.0, retry_ms: 200 },
        Some(Error::RateLimited { .. }) => Error::BudDepth,
        Some(Error::BudDepth) => Error::BudBusy,
        Some(Error::BudBusy) => Error::ModelMissing("no provider is set up".into()),
        Some(Error::ModelMissing(_)) => {
            Error::Provider { provider: "local".into(), problem: "connection refused".into() }
        }
        Some(Error::Provider { .. }) => Error::ModelOutput("it asked for tools 16 times in a row".into()),
        Some(Error::ModelOutput(_)) => Error::PlanCycle("`a` → `b` → `a`".into()),
        Some(Error::PlanCycle(_)) => {
            Error::PlanReference("`b` uses `{{c}}`, and no node is called `c`".into())
        }
        Some(Error::PlanReference(_)) => Error::ConvertDuplicate { name: "now".into() },
        Some(Error::ConvertDuplicate { .. }) => Error::Denied { tool: tool(), unasked: true },
        Some(Error::Denied { .. }) => Error::Arguments { problem: "/city is not a string".into() },
        Some(Error::Arguments { .. }) => Error::Timeout { slug: slug(), ms: 60_000 },
        Some(Error::Timeout { .. }) => {
            Error::Unreachable { slug: slug(), cause: "connection refused".into() }
        }
        Some(Error::Unreachable { .. }) => {
            Error::Answered { slug: slug(), status: 404, reason: "Not Found".into(), body: String::new() }
        }
        Some(Error::Answered { .. }) => Error::Garbled { slug: slug(), problem: "an HTML page".into() },
        Some(Error::Garbled { .. }) => Error::TooLarge { slug: slug(), limit_mb: 10 },
        Some(Error::TooLarge { .. }) => {
            Error::Server { code: -32_000, message: "no such city".into(), data: Some(Raw::of(&"Atlantis")) }
        }
        Some(Error::Server { .. }) => Error::Cancelled,
        Some(Error::Cancelled) => Error::RequestMissing(vec!["name".into(), "endpoint".into()]),
        Some(Error::RequestMissing(_)) => Error::RequestJson("expected `}` at the end".into()),
        Some(Error::RequestJson(_)) => {
            Error::Request("`yaml` is not a format; expected `mcp` or `openai`".into())
        }
        Some(Error::Request(_)) => Error::NotFound("/api/nothing".into()),
        Some(Error::NotFound(_)) => Error::AuthMissing,
        Some(Error::AuthMissing) => Error::AuthOrigin,
        Some(Error::AuthOrigin) => Error::Scope { scopes: "mcp api".into() },
        Some(Error::Scope { .. }) => Error::SignIn("the e-mail address or the password is wrong".into()),
        Some(Error::SignIn(_)) => Error::Throttled { seconds: 30 },
        Some(Error::Throttled { .. }) => Error::TokenMayNot,
        Some(Error::TokenMayNot) => {
            Error::ActAs("this hub has several admins; say who you are with `--as EMAIL`".into())
        }
        Some(Error::ActAs(_)) => Error::EmailTaken { email: "ada@example.com".into() },
        Some(Error::EmailTaken { .. }) => Error::LastAdmin,
        Some(Error::LastAdmin) => Error::Import("no servers found in this JSON"),
        Some(Error::Import(_)) => {
            Error::Config("line 3, column 1: `lisen` is not a key; did you mean `listen`?".into())
        }
        Some(Error::Config(_)) => Error::Internal("the database refused".into()),
        Some(Error::Internal(_)) => return None,
    })
}

/// Code, sentence and hint of the errors that only the store has.
#[rustfmt::skip]
pub(super) const STORE: &[(&str, &str, Option<&str>)] = &[
    ("store.url", "`mysql://x` is not a database address", Some("write `sqlite:<path>` or `postgres://user@host/database`")),
    ("store.open", "cannot open the database", None),
    ("store.newer", "the database has version 9, this Toolgrove knows versions up to 1", Some("start the newer Toolgrove that made it, or choose another `[store] url`")),
    ("store.migration", "cannot bring the database to version 2", None),
    ("store.key-file", "key file `secret.key` is damaged: it holds no key", Some("restore the file from a backup; without it stored secrets cannot be read")),
    ("store.sealed", "the stored secret `credentials/…` does not open with any key of the key file", Some("restore the key file that sealed it, or enter the secret again")),
    ("store.unreadable", "the database holds an unreadable outcome: `?`", None),
    ("store.database", "the database refused", None),
];

/// What the room of bundles says.
pub(super) const BUNDLES: &[(&str, &str)] = &[
    ("bundle.answer", "the answer of the registry cannot be used: it holds no server"),
    ("bundle.archive", "the archive is refused: `../x` leaves the bundle"),
    ("bundle.busy", "somebody else is changing `~/.config/Code/User`"),
    ("bundle.conflict", "already in mcp.json: `prompt-registry:tools:weather`"),
    ("bundle.digest", "the archive has the digest `ab…`, expected `cd…`"),
    ("bundle.file", "mcp.json is not valid: 3:7"),
    ("bundle.manifest", "manifest lacks `version`"),
    ("bundle.read", "cannot read `~/.config/Code/User/mcp.json`: permission denied"),
    ("bundle.rollback", "cannot put `~/.config/Code/User/mcp.json` back after a failure"),
    ("bundle.scope", "bundle `tools` is already installed in scope `user`"),
    ("bundle.setting", "setting `token` is needed"),
    ("bundle.source", "`tools` is not a place to get a bundle from"),
    ("bundle.tracking", "`prompt-registry-mcp-tracking.json` is not a tracking file: expected `{`"),
    ("bundle.unreachable", "`https://registry.example`: connection refused"),
    ("bundle.write", "cannot write `~/.config/Code/User/mcp.json`: permission denied"),
    ("connect.client", "no client is called `emacs`"),
    ("connect.local", "Claude Desktop can only start a local server"),
    ("connect.unsafe", "`config.yaml` is written in a way that cannot be changed safely"),
];

#[cfg(test)]
mod tests {
    use toolgrove_store::StoreError;

    use super::*;

    /// Never called: it stops compiling when the store learns a new error, which then belongs into [`STORE`].
    fn _every_error_of_the_store_is_known(error: &StoreError) {
        match error {
            StoreError::NameTaken { .. }
            | StoreError::SlugTaken { .. }
            | StoreError::EmailTaken { .. }
            | StoreError::LastAdmin
            | StoreError::Url { .. }
            | StoreError::Open(_)
            | StoreError::Newer { .. }
            | StoreError::Migration { .. }
            | StoreError::KeyFile { .. }
            | StoreError::KeyFileAccess { .. }
            | StoreError::Sealed { .. }
            | StoreError::Unreadable { .. }
            | StoreError::Database(_) => {}
        }
    }

    #[test]
    fn the_store_speaks_as_documented() {
        let url = StoreError::Url { url: "mysql://x".into() };
        let newer = StoreError::Newer { found: 9, known: 1 };
        for error in [url, newer] {
            let row = STORE.iter().find(|it| it.0 == error.code()).expect("documented");
            assert_eq!((row.1, row.2), (error.to_string().as_str(), error.hint()));
        }
    }

    #[test]
    fn the_examples_end() {
        assert!(std::iter::successors(after(None), |it| after(Some(it))).take(1000).count() < 1000);
    }
}
