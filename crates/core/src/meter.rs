//! The numbers `/metrics` shows. One place names them, so that docs and dashboards can rely on it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};

use metrics::{Counter, Histogram, counter, histogram};

use crate::instance::Instance;
use crate::record::{CallEnd, CallRecord};

pub const CALLS: &str = "toolgrove_calls_total";
pub const ERRORS: &str = "toolgrove_call_errors_total";
pub const SECONDS: &str = "toolgrove_call_seconds";
pub const TABS_REFUSED: &str = "toolgrove_tabs_refused_total";
pub const TABS_MESSAGES: &str = "toolgrove_tabs_messages_total";
pub const TABS_CAPABILITY: &str = "toolgrove_tabs_capability_changes_total";

/// Counts one finished call.
pub fn call(record: &CallRecord, instance: Option<&Instance>) {
    let server = server(instance);
    server.calls(record.outcome).increment(1);
    server.seconds.record(record.ms / 1000.0);
    if let Some(code) = &record.error_code {
        counter!(ERRORS, "code" => code.clone()).increment(1);
    }
}

/// The numbers of one server, looked up once.
struct Server {
    slug: String,
    kind: &'static str,
    /// By how calls end.
    calls: [OnceLock<Counter>; CallEnd::ALL.len()],
    seconds: Histogram,
}

impl Server {
    fn calls(&self, end: CallEnd) -> &Counter {
        self.calls[end as usize].get_or_init(
            || counter!(CALLS, "server" => self.slug.clone(), "kind" => self.kind, "outcome" => end.as_str()),
        )
    }
}

fn server(instance: Option<&Instance>) -> Arc<Server> {
    static KNOWN: LazyLock<RwLock<HashMap<String, Arc<Server>>>> = LazyLock::new(RwLock::default);
    let (slug, kind) = instance.map_or(("", ""), |it| (it.slug.as_str(), it.transport.kind()));
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(slug).cloned();
    // A slug may have come to name something else.
    if let Some(server) = known.filter(|it| it.kind == kind) {
        return server;
    }
    let seconds = histogram!(SECONDS, "server" => slug.to_owned(), "kind" => kind);
    let server = Arc::new(Server { slug: slug.to_owned(), kind, calls: Default::default(), seconds });
    KNOWN.write().unwrap_or_else(PoisonError::into_inner).insert(slug.to_owned(), server.clone());
    server
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
