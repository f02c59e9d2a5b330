//! What is written down of a call while it runs, and leaves a row however it ends.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Log, required};
use crate::call::{Call, Method};
use crate::event::Events;
use crate::instance::Instance;
use crate::record::{CallEnd, CallRecord};
use crate::{Error, Timeline, meter};

/// Leaves a row even when the call's future is dropped.
pub(super) struct Recorder<'a, G: Log> {
    log: &'a G,
    pub(super) record: Option<CallRecord>,
    started: Instant,
    /// Where it goes, once that is known.
    instance: Option<Arc<Instance>>,
    pub(super) is_error: bool,
    events: Events,
}

impl<'a, G: Log> Recorder<'a, G> {
    pub(super) fn new(log: &'a G, call: &Call, started: Instant, events: Events) -> Self {
        Self { log, record: Some(first_row(call)), started, instance: None, is_error: false, events }
    }

    /// The name of the tool that is meant, which the row has already.
    pub(super) fn named(&self, call: &Call) -> Result<String, Error> {
        match &self.record {
            Some(record) if !record.tool.is_empty() => Ok(record.tool.clone()),
            _ => required(&call.params, "name"),
        }
    }

    pub(super) fn target(&mut self, instance: &Arc<Instance>) {
        if let Some(record) = &mut self.record {
            record.instance_id = Some(instance.id);
        }
        self.instance = Some(instance.clone());
    }

    /// Writes the row, once.
    pub(super) fn end(&mut self, outcome: CallEnd, error: Option<&Error>, bytes: u64) {
        let Some(mut record) = self.record.take() else { return };
        record.ms = self.started.elapsed().as_secs_f64() * 1000.0;
        record.outcome = outcome;
        record.error_code = error.map(|it| it.code().to_owned());
        record.bytes = bytes;
        record.timeline = self.events.timeline();
        meter::call(&record, self.instance.as_deref());
        self.log.record(record);
    }
}

impl<G: Log> Drop for Recorder<'_, G> {
    fn drop(&mut self) {
        self.end(CallEnd::Cancelled, Some(&Error::Cancelled), 0);
    }
}

fn first_row(call: &Call) -> CallRecord {
    let name = match call.method {
        Method::CallTool | Method::GetPrompt => call.params.get_text("name"),
        Method::ReadResource => call.params.get_text("uri"),
        Method::GetTask | Method::UpdateTask | Method::CancelTask => call.params.get_text("taskId"),
        Method::Complete => {
            call.params.get("ref").and_then(|it| it.get_text("name").or_else(|| it.get_text("uri")))
        }
    };
    CallRecord {
        id: call.id,
        parent_id: call.parent,
        person_id: call.caller.person,
        token_id: call.caller.token,
        chat_id: Some(call.chat.clone()),
        door: call.door.as_str().into(),
        method: call.method.as_str().into(),
        instance_id: None,
        tool: name.unwrap_or_default(),
        depth: call.depth,
        started_at: call.started_at,
        ms: 0.0,
        outcome: CallEnd::Cancelled,
        error_code: None,
        bytes: 0,
        client: call.client.clone(),
        timeline: Timeline::default(),
    }
}
