//! The numbers `/metrics` shows. One place names them, so that docs and dashboards can rely on it.

use metrics::{counter, histogram};

use crate::record::CallRecord;

pub const CALLS: &str = "toolgrove_calls_total";
pub const ERRORS: &str = "toolgrove_call_errors_total";
pub const SECONDS: &str = "toolgrove_call_seconds";
pub const TABS_REFUSED: &str = "toolgrove_tabs_refused_total";
pub const TABS_MESSAGES: &str = "toolgrove_tabs_messages_total";
pub const TABS_CAPABILITY: &str = "toolgrove_tabs_capability_changes_total";

/// Counts one finished call.
pub fn call(record: &CallRecord, slug: &str, kind: &'static str) {
    counter!(CALLS, "server" => slug.to_owned(), "kind" => kind, "outcome" => record.outcome.as_str())
        .increment(1);
    histogram!(SECONDS, "server" => slug.to_owned(), "kind" => kind).record(record.ms / 1000.0);
    if let Some(code) = &record.error_code {
        counter!(ERRORS, "code" => code.clone()).increment(1);
    }
}

/// Counts one message of a browser that was not taken, and why.
pub fn tab_refused(why: &'static str) {
    counter!(TABS_REFUSED, "why" => why).increment(1);
}

/// Counts one message between hub and browser.
pub fn tab_message(direction: &'static str) {
    counter!(TABS_MESSAGES, "direction" => direction).increment(1);
}

pub fn tab_capability_changed() {
    counter!(TABS_CAPABILITY).increment(1);
}
