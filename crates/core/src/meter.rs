//! The numbers `/metrics` shows. One place names them, so that docs and dashboards can rely on it.

use metrics::{counter, histogram};

use crate::record::CallRecord;

pub const CALLS: &str = "toolgrove_calls_total";
pub const ERRORS: &str = "toolgrove_call_errors_total";
pub const SECONDS: &str = "toolgrove_call_seconds";

/// Counts one finished call.
pub fn call(record: &CallRecord, slug: &str, kind: &'static str) {
    counter!(CALLS, "server" => slug.to_owned(), "kind" => kind, "outcome" => record.outcome.as_str())
        .increment(1);
    histogram!(SECONDS, "server" => slug.to_owned(), "kind" => kind).record(record.ms / 1000.0);
    if let Some(code) = &record.error_code {
        counter!(ERRORS, "code" => code.clone()).increment(1);
    }
}
