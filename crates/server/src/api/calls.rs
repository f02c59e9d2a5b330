//! `/api/calls`: what was called, by whom, how long it took and how it ended. A caller sees their own calls only.

mod stats;

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use toolgrove_core::call::Caller;
use toolgrove_core::{CallEnd, CallRecord, Error, TabOfCall};
use toolgrove_store::CallFilter;
use ts_rs::TS;
use uuid::Uuid;

pub use stats::{CallStats, ServerCalls, Slot, stats};

use super::instances;
use crate::App;
use crate::problem::Answer;

/// One call as the API shows it.
#[derive(Debug, Clone, Serialize, TS)]
pub struct Call {
    pub id: Uuid,
    pub parent_id: Option<Uuid>,
    pub person_id: Uuid,
    pub token_id: Option<Uuid>,
    pub chat_id: Option<String>,
    /// `mcp`, `legacy`, `stdio`, `api`, `cli`, `xml`.
    pub door: String,
    /// The MCP method.
    pub method: String,
    pub instance_id: Option<Uuid>,
    /// The name as the caller gave it.
    pub tool: String,
    pub depth: u8,
    /// Unix milliseconds.
    pub started_at: i64,
    pub ms: f64,
    /// Null while it runs.
    pub outcome: Option<CallEnd>,
    pub error_code: Option<String>,
    /// Size of the result.
    pub bytes: u64,
    /// What the client calls itself.
    pub client: Option<String>,
    /// The browser tab it went to.
    pub tab: Option<TabOfCall>,
}

impl Call {
    pub(crate) fn ended(record: &CallRecord) -> Self {
        Self { outcome: Some(record.outcome), ..Self::running(record) }
    }

    pub(crate) fn running(record: &CallRecord) -> Self {
        Self {
            id: record.id,
            parent_id: record.parent_id,
            person_id: record.person_id,
            token_id: record.token_id,
            chat_id: record.chat_id.as_deref().map(Into::into),
            door: record.door.clone().into_owned(),
            method: record.method.clone().into_owned(),
            instance_id: record.instance_id,
            tool: record.tool.clone(),
            depth: record.depth,
            started_at: record.started_at,
            ms: record.ms,
            outcome: None,
            error_code: record.error_code.clone(),
            bytes: record.bytes,
            client: record.client.as_deref().map(Into::into),
            tab: record.timeline.tab.clone(),
        }
    }
}

/// A call with everything that is known of it.
#[derive(Debug, Serialize, TS)]
pub struct CallDetail {
    #[serde(flatten)]
    pub call: Call,
    /// Where the time went, in order.
    pub parts: Vec<Part>,
    pub ticks: Vec<CallTick>,
    /// Calls that this one has made, and those that they have made.
    pub nested: Vec<Call>,
    pub arguments: Withheld,
    pub result: Withheld,
}

/// A stretch of a call's time, in milliseconds after it came in.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
#[ts(rename = "CallPart")]
pub struct Part {
    pub name: PartName,
    pub start_ms: f64,
    pub ms: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "lowercase")]
#[ts(rename = "CallPartName")]
pub enum PartName {
    /// Finding the tool, asking the policy, checking the arguments.
    Policy,
    /// Waiting for its turn.
    Queue,
    /// Opening the link.
    Link,
    /// Waiting for the server's answer.
    Server,
}

/// Something the server let hear before its answer.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
pub struct CallTick {
    pub at_ms: f64,
    /// Null: it asked something.
    pub progress: Option<f64>,
    pub total: Option<f64>,
}

/// Something that is not shown, and why.
#[derive(Debug, Serialize, TS)]
pub struct Withheld {
    pub withheld: bool,
    pub reason: &'static str,
}

impl CallDetail {
    fn of(record: &CallRecord, nested: &[CallRecord]) -> Self {
        let ticks = record.timeline.ticks.iter();
        Self {
            call: Call::ended(record),
            parts: parts(record),
            ticks: ticks
                .map(|it| CallTick { at_ms: ms(it.at), progress: it.progress, total: it.total })
                .collect(),
            nested: nested.iter().map(Call::ended).collect(),
            arguments: Withheld { withheld: true, reason: "arguments are passed on and not kept" },
            result: Withheld { withheld: true, reason: "results are passed on and not kept" },
        }
    }
}

fn ms(micros: u64) -> f64 {
    micros as f64 / 1000.0
}

/// A call that ended early has no later parts.
fn parts(record: &CallRecord) -> Vec<Part> {
    let timeline = &record.timeline;
    let end = record.ms;
    let checked = timeline.checked.map_or(end, ms).min(end);
    let linked = timeline.linked.map_or(end, ms).clamp(checked, end);
    let queued = (checked + timeline.queued.map_or(0.0, ms)).min(linked);
    let edges = [
        (PartName::Policy, 0.0, checked),
        (PartName::Queue, checked, queued),
        (PartName::Link, queued, linked),
        (PartName::Server, linked, end),
    ];
    let part = |(name, start, end): (PartName, f64, f64)| Part { name, start_ms: start, ms: end - start };
    edges.into_iter().map(part).filter(|it| it.ms > 0.0).collect()
}

/// What is asked for, as it stands in the address.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    limit: Option<u32>,
    before: Option<Uuid>,
    /// A name, or a pattern with `*`.
    tool: Option<String>,
    /// How it ended: one word or several, with commas. `end` is the same.
    outcome: Option<String>,
    end: Option<String>,
    /// An id or a slug.
    instance: Option<String>,
    door: Option<String>,
    /// `me`, or the id of a token.
    by: Option<String>,
    min_ms: Option<f64>,
    since: Option<i64>,
    until: Option<i64>,
    /// How many stretches of time to count in.
    slots: Option<u32>,
}

impl Wanted {
    async fn filter(&self, app: &App, caller: &Caller) -> Result<CallFilter, Error> {
        let words = self.outcome.iter().chain(&self.end).flat_map(|it| it.split(','));
        let outcomes = words.map(|it| {
            CallEnd::parse(it.trim()).ok_or_else(|| Error::Request(format!("`{it}` is not an outcome")))
        });
        let by = match self.by.as_deref() {
            None | Some("me") => None,
            Some(word) => {
                let wrong = |_| Error::Request(format!("`by` is `me` or the id of a token, not `{word}`"));
                Some(Uuid::parse_str(word).map_err(wrong)?)
            }
        };
        let instance_id = match &self.instance {
            None => None,
            Some(word) => match Uuid::parse_str(word) {
                Ok(id) => Some(id),
                // A slug may be gone while its calls are not; one nobody has finds nothing.
                Err(_) => Some(instances::id_of(app, caller, word).await?.unwrap_or_default()),
            },
        };
        Ok(CallFilter {
            limit: self.limit.unwrap_or(50).min(1000),
            before: self.before,
            tool: self.tool.clone(),
            outcomes: outcomes.collect::<Result<_, _>>()?,
            instance_id,
            door: self.door.clone(),
            // A token that was not granted everything knows of its own calls only.
            token_id: if caller.grants.is_some() { caller.token } else { by },
            min_ms: self.min_ms,
            since: self.since,
            until: self.until,
        })
    }
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(wanted): Query<Wanted>,
) -> Answer<Json<Vec<Call>>> {
    let filter = wanted.filter(&app, &caller).await?;
    // A call that has just ended is part of the answer.
    app.hub.log().flush().await;
    let rows = app.store.calls(caller.person, &filter).await?;
    Ok(Json(rows.iter().map(Call::ended).collect()))
}

pub async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Json<CallDetail>> {
    let unknown = || Error::NotFound(format!("call {id}"));
    let id = Uuid::parse_str(&id).map_err(|_| unknown())?;
    app.hub.log().flush().await;
    // A token for some instances knows its own calls only.
    let is_theirs = |it: &CallRecord| caller.grants.is_none() || it.token_id == caller.token;
    let call = app.store.call_if(caller.person, id, is_theirs).await?.ok_or_else(unknown)?;
    let nested = app.store.nested_calls(caller.person, id).await?;
    Ok(Json(CallDetail::of(&call, &nested)))
}

#[cfg(test)]
mod tests;
