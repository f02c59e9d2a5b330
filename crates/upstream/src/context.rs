//! What every link of one instance knows: whom it serves, its limits, and where its news go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use toolgrove_core::Error;
use toolgrove_core::event::{News, Report};
use toolgrove_core::instance::Instance;
use toolgrove_core::redact::redact;

use crate::log_tail::LogTail;
use crate::own::OwnCalls;
use crate::pool::PoolOptions;
use crate::tabs::Tabs;
use crate::web::Dial;
use crate::web::fetch::Fetch;
use crate::web::pipeline::Pipeline;

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) instance: Arc<Instance>,
    pub(crate) options: Arc<PoolOptions>,
    pub(crate) dial: Arc<Dial>,
    pub(crate) fetch: Fetch,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) tail: Arc<LogTail>,
    /// The tabs of everybody, where browsers may connect.
    pub(crate) tabs: Option<Arc<Tabs>>,
    /// Who runs what is part of the hub.
    pub(crate) own: Option<OwnCalls>,
    /// How many change feeds are live.
    pub(crate) feeds: AtomicUsize,
    /// Whether the server asks questions beside its calls' streams.
    pub(crate) beside: AtomicBool,
    /// Whether its link is only passing through and waits for nothing.
    pub(crate) passing: bool,
}

impl Context {
    pub(crate) fn slug(&self) -> &str {
        &self.instance.slug
    }

    /// For a link that comes and goes unnoticed: nothing it brings is news.
    pub(crate) fn aside(&self) -> Self {
        let reports = tokio::sync::mpsc::unbounded_channel().0;
        Self {
            instance: self.instance.clone(),
            options: Arc::new(PoolOptions { reports, ..PoolOptions::clone(&self.options) }),
            dial: self.dial.clone(),
            fetch: self.fetch.clone(),
            pipeline: Arc::default(),
            tail: Arc::default(),
            tabs: self.tabs.clone(),
            own: self.own.clone(),
            feeds: AtomicUsize::new(0),
            beside: AtomicBool::new(false),
            passing: true,
        }
    }

    /// Keeps a line that the server's process wrote. It holds no secret of the instance any more.
    pub(crate) fn note(&self, line: String) {
        self.tail.push(line);
        self.report(News::Wrote);
    }

    pub(crate) fn report(&self, news: News) {
        // A hub that is shutting down reads no reports.
        let news = match news {
            News::Lost(error) => News::Lost(redact(error, &self.instance)),
            news => news,
        };
        let _ = self.options.reports.send(Report { instance: self.instance.id, news });
    }

    pub(crate) fn unreachable(&self, cause: impl Into<String>) -> Error {
        Error::Unreachable { slug: self.instance.slug.clone(), cause: cause.into() }
    }

    /// A call that ended with its connection after it had asked something: it had begun.
    pub(crate) fn lost(&self, error: Error) -> Error {
        match error {
            Error::Unreachable { cause, .. } => {
                self.unreachable(format!("{cause}; the call may have had effects"))
            }
            error => error,
        }
    }

    pub(crate) fn garbled(&self, problem: impl Into<String>) -> Error {
        Error::Garbled { slug: self.instance.slug.clone(), problem: problem.into() }
    }

    pub(crate) fn timeout(&self, after: Duration) -> Error {
        Error::Timeout { slug: self.instance.slug.clone(), ms: after.as_millis() as u64 }
    }

    /// When a clock started now runs out.
    pub(crate) fn deadline(after: Duration) -> Instant {
        const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);
        Instant::now() + after.min(FAR)
    }

    pub(crate) fn too_large(&self) -> Error {
        let limit_mb = (self.options.body_limit as u64).div_ceil(1024 * 1024);
        Error::TooLarge { slug: self.instance.slug.clone(), limit_mb }
    }

    pub(crate) fn has_feed(&self) -> bool {
        self.feeds.load(Ordering::Relaxed) > 0
    }

    /// The server has asked something that could have belonged to several calls.
    pub(crate) fn asks_beside(&self) {
        self.beside.store(true, Ordering::Relaxed);
    }

    pub(crate) fn does_ask_beside(&self) -> bool {
        self.beside.load(Ordering::Relaxed)
    }

    /// Counts a change feed as live for as long as the guard is kept.
    pub(crate) fn feed_is_live(self: &Arc<Self>) -> LiveFeed {
        self.feeds.fetch_add(1, Ordering::Relaxed);
        LiveFeed(self.clone())
    }
}

#[derive(Debug)]
pub(crate) struct LiveFeed(Arc<Context>);

impl Drop for LiveFeed {
    fn drop(&mut self) {
        self.0.feeds.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use toolgrove_core::instance::{EraSetting, Switch, Transport};
    use toolgrove_core::net::{Allowlist, Guard};
    use toolgrove_wire::modern::Implementation;
    use uuid::Uuid;

    use super::*;
    use crate::pool::ShepherdCommand;

    /// For what needs to know whom it serves, and nothing else.
    pub(crate) fn context() -> Arc<Context> {
        let options = PoolOptions {
            shepherd: ShepherdCommand { program: "none".into(), args: Vec::new() },
            client: Implementation { name: "t".into(), version: "1".into() },
            body_limit: 1 << 20,
            idle: Duration::from_secs(1),
            reports: tokio::sync::mpsc::unbounded_channel().0,
            tokens: None,
            now: || 0,
            guard: Guard::Open,
        };
        let instance = Instance {
            id: Uuid::nil(),
            person: Uuid::nil(),
            server: Uuid::nil(),
            slug: "s".into(),
            server_name: "s".into(),
            transport: Transport::Impossible { kind: "test", problem: String::new() },
            hosts: Allowlist::Any,
            era: EraSetting::Auto,
            protocol: None,
            verdict: None,
            timeout: Duration::from_secs(1),
            switch: Switch::On,
            phase: toolgrove_core::policy::Phase::Gamma,
            rate: None,
            revision: 1,
        };
        let dial = Arc::new(Dial::new(Guard::Open));
        Arc::new(Context {
            instance: Arc::new(instance),
            options: Arc::new(options),
            fetch: Fetch::new(dial.clone(), "t/1"),
            pipeline: Arc::default(),
            dial,
            tail: Arc::default(),
            tabs: None,
            own: None,
            feeds: AtomicUsize::new(0),
            beside: AtomicBool::new(false),
            passing: false,
        })
    }
}
