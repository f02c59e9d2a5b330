//! Why a command did not do what was asked, and the exit code that says so to a script.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgrove_bundle::BundleError;
use toolgrove_core::Error;
use toolgrove_store::StoreError;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    /// What was typed, or a file it names, cannot be understood.
    Usage,
    /// The tool ran and said `isError`.
    ToolError,
    /// A server wants somebody to sign in first.
    SignIn,
    /// Ctrl-C or SIGTERM.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::ToolError => 3,
            Exit::SignIn => 4,
            Exit::Interrupted => 130,
        })
    }
}

/// An error on its way to a person. Its JSON is the API's problem.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) problem: Box<Problem>,
}

/// The API's `application/problem+json`, and ours.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Problem {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    #[serde(default)]
    pub(crate) code: String,
    #[serde(default)]
    pub(crate) detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Value>,
}

/// The codes of this room, for `docs/errors.md`.
pub(crate) const OWN_CODES: &[(&str, &str)] = &[
    ("cli.usage", "what was typed, or a file it names, cannot be understood"),
    ("cli.io", "a file, folder or stream cannot be used"),
    ("cli.interrupted", "the command was stopped with Ctrl-C"),
    ("hub.running", "a hub is already running at `http://127.0.0.1:7430/mcp` (process 4711)"),
    ("hub.busy", "another command (process 4711) has been using the data folder for 30 s"),
    ("hub.port", "cannot listen on `127.0.0.1:7430`: it is in use"),
    ("hub.gone", "the hub went away"),
    ("hub.none", "there is no running hub to follow"),
    ("hub.mode", "mode `cluster` is not there yet"),
    ("tabs.no-browser", "no browser was found that takes the extension"),
    ("instance.tool-unknown", "`weather` has no tool called `forcast`"),
];

impl Failure {
    pub(crate) fn new(code: &str, detail: impl Into<String>) -> Self {
        let problem =
            Problem { status: None, code: code.into(), detail: detail.into(), hint: None, data: None };
        Self { exit: Exit::Failed, problem: Box::new(problem) }
    }

    pub(crate) fn usage(detail: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, ..Self::new("cli.usage", detail) }
    }

    pub(crate) fn io(what: impl Display, error: &io::Error) -> Self {
        Self::new("cli.io", format!("{what}: {}", reason(error)))
    }

    pub(crate) fn interrupted() -> Self {
        Self { exit: Exit::Interrupted, ..Self::new("cli.interrupted", "stopped") }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.problem.hint = Some(hint.into());
        self
    }

    /// What an answer with an error status said.
    pub(crate) fn answered(status: u16, body: &[u8]) -> Self {
        let read = serde_json::from_slice::<Problem>(body).ok().filter(|it| !it.code.is_empty());
        let problem = read.unwrap_or_else(|| {
            let detail = format!("the hub answered {status}: {}", String::from_utf8_lossy(body).trim());
            Problem { status: Some(status), code: "hub.internal".into(), detail, hint: None, data: None }
        });
        Self::from(problem)
    }
}

impl From<BundleError> for Failure {
    fn from(error: BundleError) -> Self {
        let mut detail = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(it) = source {
            detail = format!("{detail}: {it}");
            source = it.source();
        }
        let status = Some(error.status());
        Self::from(Problem { status, code: error.code().into(), detail, hint: error.hint(), data: None })
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let exit = match (problem.code.as_str(), problem.status) {
            ("instance.needs-reauth", _) => Exit::SignIn,
            (_, Some(400 | 422)) => Exit::Usage,
            _ => Exit::Failed,
        };
        Self { exit, problem: Box::new(problem) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let it = error.problem();
        let code = it.code.to_owned();
        Self::from(Problem { status: Some(it.status), code, detail: it.detail, hint: it.hint, data: it.data })
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let mut detail = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(it) = cause {
            detail = format!("{detail}: {it}");
            cause = it.source();
        }
        let mut failure = Self::new(error.code(), detail.replace('\n', " "));
        failure.problem.hint = error.hint().map(Into::into);
        failure
    }
}

/// An operating system's word as part of a sentence of ours.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".into(),
        io::ErrorKind::PermissionDenied => "you may not".into(),
        io::ErrorKind::IsADirectory => "it is a folder".into(),
        io::ErrorKind::NotADirectory => "a part of its path is not a folder".into(),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".into(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_owned()
        }
    }
}
