//! How an instance is doing: facts in, one state with its words and at most one action out.
//!
//! Computed here and nowhere else; the command line, the API and the UI draw what they are given.

use serde::Serialize;
use ts_rs::TS;

use crate::record::{CallEnd, CallRecord};

/// The verdict, as every face shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub struct Health {
    pub level: Level,
    pub state: State,
    pub summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub action: Option<Action>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[ts(rename = "HealthLevel")]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Ok,
    Info,
    Warn,
    Bad,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[ts(rename = "HealthState")]
#[serde(rename_all = "snake_case")]
pub enum State {
    Ready,
    Idle,
    Starting,
    SignIn,
    Reauth,
    Setup,
    Changed,
    Slow,
    Failed,
    Duplicate,
    Closed,
    Disabled,
}

/// What a person can do about it, with the words of the button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
#[ts(rename = "HealthAction")]
pub struct Action {
    pub kind: ActionKind,
    pub label: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[ts(rename = "HealthActionKind")]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    Cancel,
    SignIn,
    Reconnect,
    SetUp,
    Review,
    ShowLog,
    Restart,
    ShowOther,
    OpenTab,
    TurnOn,
}

/// What is known about an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Server and instance are on, and no bundle has turned the server off.
    pub enabled: bool,
    /// The server that does the same and stays.
    pub duplicate_of: Option<String>,
    pub access: Access,
    pub link: LinkState,
    /// All tools, those that are off included.
    pub tools: usize,
    pub tools_off: usize,
    /// Tools that differ from what was approved.
    pub tools_changed: usize,
    pub last_call: Option<LastCall>,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            enabled: true,
            duplicate_of: None,
            access: Access::Granted,
            link: LinkState::Open,
            tools: 0,
            tools_off: 0,
            tools_changed: 0,
            last_call: None,
        }
    }
}

/// Whether the server lets this person in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    #[default]
    Granted,
    /// Nobody has signed in yet.
    SignIn,
    /// The sign-in no longer holds.
    Reauth,
    /// A key or another value is missing.
    Setup,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkState {
    /// Reachable, as far as is known. Also right for servers that need no lasting connection.
    Open,
    /// A process that is not running and starts with the next call.
    Idle,
    Starting,
    /// A tab that is closed and whose tools are cached.
    TabClosed,
    Failed {
        why: String,
    },
}

/// How the last call that a server answered went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
pub struct LastCall {
    pub took_ms: u64,
    /// Unix milliseconds.
    pub at_ms: i64,
    pub outcome: CallEnd,
}

impl LastCall {
    /// What a call says about its server; none if it did not get there.
    pub fn of(record: &CallRecord) -> Option<Self> {
        let got_there = matches!(record.outcome, CallEnd::Done | CallEnd::ToolError | CallEnd::InputRequired)
            || matches!(record.error_code.as_deref(), Some("call.timeout" | "server.error"));
        // Somebody who was asked may have taken any time.
        let was_asked = record.timeline.ticks.iter().any(|it| it.progress.is_none());
        let opening = record.timeline.linked.unwrap_or_default() as f64 / 1000.0;
        (got_there && !was_asked).then_some(Self {
            took_ms: (record.ms - opening).max(0.0) as u64,
            at_ms: record.started_at.saturating_add(record.ms as i64),
            outcome: record.outcome,
        })
    }

    pub fn is_slow(&self) -> bool {
        self.took_ms >= SLOW_MS
    }
}

const SLOW_MS: u64 = 3_000;
/// After this, an old slow call says nothing any more.
const SLOW_MEMORY_MS: i64 = 5 * 60 * 1_000;

/// First hit wins: the order is the order of what matters to a person.
pub fn health(facts: &Facts, now_ms: i64) -> Health {
    if !facts.enabled {
        return say(Level::Off, State::Disabled, "Off", (ActionKind::TurnOn, "Turn on"));
    }
    if let Some(other) = &facts.duplicate_of {
        let label = format!("Show {other}");
        return say(
            Level::Off,
            State::Duplicate,
            format!("Duplicate of {other}"),
            (ActionKind::ShowOther, label),
        );
    }
    match facts.access {
        Access::SignIn => {
            return say(Level::Warn, State::SignIn, "Sign in to use", (ActionKind::SignIn, "Sign in"));
        }
        Access::Reauth => {
            return say(Level::Warn, State::Reauth, "Sign-in expired", (ActionKind::Reconnect, "Reconnect"));
        }
        Access::Setup => {
            return say(Level::Warn, State::Setup, "Needs an API key", (ActionKind::SetUp, "Set up"));
        }
        Access::Granted => {}
    }
    match &facts.link {
        LinkState::Starting => {
            return say(Level::Info, State::Starting, "Starting…", (ActionKind::Cancel, "Cancel"));
        }
        LinkState::Failed { why } => {
            return say(Level::Bad, State::Failed, headline(why), (ActionKind::Restart, "Restart"));
        }
        _ => {}
    }
    if facts.tools_changed > 0 {
        let summary = format!("{} changed", count(facts.tools_changed));
        return say(Level::Warn, State::Changed, summary, (ActionKind::Review, "Review"));
    }
    match (&facts.link, slow(facts, now_ms)) {
        (LinkState::TabClosed, _) => {
            say(Level::Ok, State::Closed, "Tab closed · opens on call", (ActionKind::OpenTab, "Open tab"))
        }
        (_, Some(ms)) => {
            let summary = format!("Slow: {:.1} s", ms as f64 / 1_000.0);
            say(Level::Warn, State::Slow, summary, (ActionKind::ShowLog, "Show log"))
        }
        (LinkState::Idle, None) => quiet(State::Idle, "Starts on demand".into()),
        (_, None) if facts.tools_off > 0 => {
            quiet(State::Ready, format!("{} ({} off)", count(facts.tools), facts.tools_off))
        }
        (_, None) => quiet(State::Ready, format!("Ready · {}", count(facts.tools))),
    }
}

/// The three words that the API's `status` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[ts(rename = "InstanceStatus")]
#[serde(rename_all = "snake_case")]
pub enum Status {
    NotReady,
    Ready,
    NeedsReauth,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotReady => "not_ready",
            Self::Ready => "ready",
            Self::NeedsReauth => "needs_reauth",
        }
    }
}

impl Health {
    pub fn status(&self) -> Status {
        match self.state {
            State::SignIn | State::Setup => Status::NotReady,
            State::Reauth => Status::NeedsReauth,
            _ => Status::Ready,
        }
    }
}

fn slow(facts: &Facts, now_ms: i64) -> Option<u64> {
    let last = facts.last_call?;
    let recent = now_ms.saturating_sub(last.at_ms) < SLOW_MEMORY_MS;
    (recent && last.is_slow()).then_some(last.took_ms)
}

fn count(tools: usize) -> String {
    if tools == 1 { "1 tool".into() } else { format!("{tools} tools") }
}

/// The first line of a cause, as the beginning of a sentence.
fn headline(why: &str) -> String {
    let mut characters = why.lines().next().unwrap_or_default().trim().chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).take(200).collect(),
        None => "Failed".into(),
    }
}

fn say(
    level: Level,
    state: State,
    summary: impl Into<String>,
    (kind, label): (ActionKind, impl Into<String>),
) -> Health {
    Health { level, state, summary: summary.into(), action: Some(Action { kind, label: label.into() }) }
}

fn quiet(state: State, summary: String) -> Health {
    Health { level: Level::Ok, state, summary, action: None }
}

#[cfg(test)]
mod tests;
