//! What is kept of a call once it has ended: one record, whatever the end was.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ts_rs::TS;
use uuid::Uuid;

use crate::timeline::Timeline;

/// One finished call, as the audit log keeps it. Never holds arguments or results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRecord {
    pub id: Uuid,
    pub parent_id: Option<Uuid>,
    pub person_id: Uuid,
    pub token_id: Option<Uuid>,
    pub chat_id: Option<Arc<str>>,
    /// Through which door the call came: `mcp`, `legacy`, `stdio`, `api`, …
    pub door: Cow<'static, str>,
    /// The MCP method: `tools/call`, `prompts/get`, `resources/read`, `completion/complete`; or `plans/run`.
    pub method: Cow<'static, str>,
    pub instance_id: Option<Uuid>,
    /// The name as the caller gave it (tool or prompt name, resource URI).
    pub tool: String,
    pub depth: u8,
    /// Unix milliseconds.
    pub started_at: i64,
    pub ms: f64,
    pub outcome: CallEnd,
    pub error_code: Option<String>,
    /// Size of the result in bytes.
    pub bytes: u64,
    /// What the client calls itself.
    pub client: Option<Arc<str>>,
    /// Where the time went.
    #[serde(skip)]
    pub timeline: Timeline,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// A result without `isError`.
    Done,
    /// The tool ran and said `isError`.
    ToolError,
    /// No result: see the error code.
    Failed,
    /// The caller went away or cancelled.
    Cancelled,
    /// The call waits for input; the retry is a call of its own.
    InputRequired,
}

impl CallEnd {
    pub const ALL: [Self; 5] =
        [Self::Done, Self::ToolError, Self::Failed, Self::Cancelled, Self::InputRequired];

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::ToolError => "tool_error",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::InputRequired => "input_required",
        }
    }
}
