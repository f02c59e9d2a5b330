//! A call of a tab's tool: which tab, its clock, what happens when the tab goes away, and the opening of tabs.
//!
//! A call that may have begun is never sent again, unless the tool says that it does no harm.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout_at};
use toolgrove_wire::{Abilities, Edit, Raw};
use url::Url;
use uuid::Uuid;

use super::hub::{TabHub, lock};
use super::listing::{Aim, Target};
use super::table::{BrowserKind, Table};
use super::tool::{failed, origin_of, with_untrusted};
use super::transport::{Refusal, TabKey, TabRequest, TabTransport};
use super::{SLUG, meta};
use crate::Error;
use crate::event::{Event, Events};

/// How long a new tab may take to register its tool.
const OPENING: Duration = Duration::from_secs(2);
/// A tab that did not load is looked at again this often, with this pause.
const RETRIES: u32 = 3;
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// One call of a tool, as a link has it.
#[derive(Debug)]
pub struct TabCall<'a> {
    pub person: Uuid,
    /// Any name of the list.
    pub name: &'a str,
    pub args: Raw,
    /// Only the tab of this connection, or with this id. Strict.
    pub source: Option<String>,
    /// What the client can be asked.
    pub abilities: Abilities,
    pub events: &'a Events,
}

/// A request that a tab is working on.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) key: TabKey,
    pub(super) id: Uuid,
    pub(super) person: Uuid,
    pub(super) domain: String,
    pub(super) tool: String,
    pub(super) events: Events,
    pub(super) abilities: Abilities,
    /// Rung when the clock is to start anew.
    pub(super) heard: Notify,
    left: Notify,
    is_left: AtomicBool,
    /// Questions without an answer: the clock stands still.
    pub(super) asking: AtomicUsize,
}

impl Running {
    pub(super) fn start(&self) {
        self.heard.notify_one();
    }

    pub(super) fn progress(&self, params: &Raw) {
        self.heard.notify_one();
        self.events.send(Event::Progress(Edit::of(params).remove("progressToken").done()));
    }
}

/// How one attempt ended without a result.
#[derive(Debug)]
enum Stop {
    TimedOut(Duration),
    Refused(Refusal),
}

impl<T: TabTransport> TabHub<T> {
    /// Runs one call.
    pub async fn call(self: &Arc<Self>, call: TabCall<'_>) -> Result<Raw, Error> {
        if let Some(result) = self.meta(&call).await {
            return result;
        }
        let none = || Error::TabNone { tool: call.name.to_owned(), reason: None };
        let (mut aim, tool) = self.read(call.person, |it| it.aim(call.name)).ok_or_else(none)?;
        if let Some(source) = &call.source {
            aim = self.strict(call.person, source, &tool).ok_or_else(none)?;
        }
        let (mut tried, mut retries, mut lost) = (Vec::new(), 0, None);
        loop {
            let target = match (self.read(call.person, |it| it.best(&aim, &tool, &tried)), &aim) {
                (Some(target), _) => target,
                (None, Aim::Origin(origin)) => self.open(&call, origin, &tool, lost).await?,
                (None, _) => return Err(Error::TabNone { tool: call.name.to_owned(), reason: lost }),
            };
            let stop = match self.run(&target, &call).await {
                Ok(result) => {
                    self.note_call(&call, &target, "ok");
                    return Ok(finish(&target, &result));
                }
                Err(stop) => stop,
            };
            let refusal = match stop {
                Stop::TimedOut(after) => {
                    self.note_call(&call, &target, "timeout");
                    return Err(Error::Timeout { slug: SLUG.to_owned(), ms: after.as_millis() as u64 });
                }
                Stop::Refused(refusal) => refusal,
            };
            self.note_call(&call, &target, refusal.word());
            match refusal {
                Refusal::TooLarge { limit_mb } => {
                    return Err(Error::TooLarge { slug: SLUG.to_owned(), limit_mb });
                }
                Refusal::Refused(message) => return Ok(failed(&message)),
                // It has not begun: the page may just be loading.
                Refusal::Absent if retries < RETRIES => {
                    retries += 1;
                    self.pause(&call, &aim, &tool, &target).await;
                }
                Refusal::Absent | Refusal::Closed => {
                    let (reason, is_harmless) = match refusal {
                        Refusal::Closed => ("TabClosed", target.tool.repeatable),
                        _ => ("TabNotFound", true),
                    };
                    // What has not begun, or does no harm if it has, goes elsewhere, once.
                    if !is_harmless || target.incognito || lost.is_some() {
                        return Err(Error::TabNone { tool: call.name.to_owned(), reason: Some(reason) });
                    }
                    lost = Some(reason);
                    tried.push(target.key);
                }
            }
        }
    }

    /// One attempt in one tab.
    async fn run(&self, target: &Target, call: &TabCall<'_>) -> Result<Raw, Stop> {
        let id = Uuid::new_v4();
        let running = Arc::new(Running {
            key: target.key.clone(),
            id,
            person: call.person,
            domain: target.domain.clone(),
            tool: target.tool.name.clone(),
            events: call.events.clone(),
            abilities: call.abilities,
            heard: Notify::new(),
            left: Notify::new(),
            is_left: AtomicBool::new(false),
            asking: AtomicUsize::new(0),
        });
        lock(&self.running).insert(id, running.clone());
        let _registered = Registered { hub: self, id };
        let request = TabRequest::Execute {
            tool: target.tool.name.clone(),
            args: call.args.clone(),
            document: target.document.clone(),
        };
        let after = self.patience(target);
        call.events.went_to(target.key.tab, &target.domain);
        if target.frozen && self.options.activate {
            self.ask_browser(&target.key, TabRequest::Activate).await;
        }
        let answer = self.transport.send_request(&target.key, id, request);
        tokio::pin!(answer);
        let mut end = Instant::now() + after;
        loop {
            let is_asking = running.asking.load(Ordering::Relaxed) > 0;
            tokio::select! {
                biased;
                answer = &mut answer => return answer.map_err(Stop::Refused),
                () = running.left.notified() => {
                    if running.is_left.load(Ordering::Relaxed) {
                        return Err(Stop::Refused(Refusal::Closed));
                    }
                }
                () = running.heard.notified() => end = Instant::now() + after,
                () = sleep_until(end), if !is_asking => return Err(Stop::TimedOut(after)),
            }
        }
    }

    /// How long a tool may be silent.
    fn patience(&self, target: &Target) -> Duration {
        let given = &self.options.timeouts;
        let own = given.get(&format!("{}/{}", target.domain, target.tool.name));
        let usual = if target.relay { self.options.relay_timeout } else { self.options.timeout };
        own.or_else(|| given.get(&target.domain)).copied().unwrap_or(usual)
    }

    /// Has the browser do something with a tab. Says whether it did.
    async fn ask_browser(&self, tab: &TabKey, request: TabRequest) -> bool {
        let asked = self.transport.send_request(tab, Uuid::new_v4(), request);
        matches!(tokio::time::timeout(OPENING, asked).await, Ok(Ok(_)))
    }

    /// Opens a tab for a tool that is only remembered, or whose tab was lost on the way, or loads one again that its
    /// browser has put out of memory, and waits until the tool is there.
    async fn open(
        self: &Arc<Self>,
        call: &TabCall<'_>,
        origin: &str,
        tool: &str,
        lost: Option<&'static str>,
    ) -> Result<Target, Error> {
        let none = |reason| Error::TabNone { tool: call.name.to_owned(), reason };
        let url = self.read(call.person, |it| {
            it.cached.get(&(origin.to_owned(), tool.to_owned())).map(|it| it.url.clone())
        });
        if url.is_none() && lost.is_none() {
            return Err(none(None));
        }
        let url = url.flatten().unwrap_or_else(|| origin.to_owned());
        let discarded = self.read(call.person, |it| it.discarded(origin));
        let key = match discarded {
            Some(key) if self.ask_browser(&key, TabRequest::Reload).await => key,
            _ => {
                self.open_tab(call.person, &url).await.map_err(|_| none(Some("the browser opened no tab")))?
            }
        };
        let aim = Aim::Tab(key.clone());
        let mut wait = OPENING;
        for retry in 0..=RETRIES {
            if let Some(target) = self.wait_for(call.person, &aim, tool, wait).await {
                return Ok(target);
            }
            tracing::debug!(target: "tabs", tab = %key, retry, "the tool is not there yet");
            wait = RETRY_AFTER;
        }
        // The page is there and has no such tool any more.
        if self.read(call.person, |it| it.tab_view(&key).is_some_and(|it| !it.tools.is_empty())) {
            self.with(call.person, |table| table.forget(call.name));
        }
        Err(none(Some("the page that was opened does not offer it")))
    }

    /// Asks the browser that was heard of last to open an address.
    pub(super) async fn open_tab(&self, person: Uuid, url: &str) -> Result<TabKey, Error> {
        check_url(url)?;
        let origin = origin_of(url);
        if !self.options.allowed.permit(origin.as_deref()) {
            let origin = origin.unwrap_or_default();
            return Err(Error::Request(format!("`{origin}` is not among `tabs.allowed_origins`")));
        }
        let browser = self.read(person, |table| {
            let able =
                table.browsers.iter().filter(|it| it.1.connected && it.1.kind == BrowserKind::Extension);
            able.max_by_key(|it| it.1.seen).map(|it| it.0.clone())
        });
        let Some(browser) = browser else {
            return Err(Error::TabNone { tool: url.to_owned(), reason: Some("no browser is connected") });
        };
        let request = TabRequest::Open { url: url.to_owned() };
        let anywhere = TabKey::new(&browser, 0);
        let asked = self.transport.send_request(&anywhere, Uuid::new_v4(), request);
        let answer = tokio::time::timeout(self.options.timeout, asked).await;
        match answer {
            Ok(Ok(answer)) => match answer.get("tabId").and_then(|it| it.as_str().parse().ok()) {
                Some(tab) => Ok(TabKey::new(&browser, tab)),
                None => Err(Error::Request("the browser did not say which tab it opened".into())),
            },
            Ok(Err(Refusal::Refused(message))) => Err(Error::Request(message)),
            Ok(Err(_)) | Err(_) => {
                Err(Error::TabNone { tool: url.to_owned(), reason: Some("the browser opened no tab") })
            }
        }
    }

    /// A tab that has the tool, as soon as there is one.
    async fn wait_for(&self, person: Uuid, aim: &Aim, tool: &str, wait: Duration) -> Option<Target> {
        let end = Instant::now() + wait;
        let mut taken = self.taken.subscribe();
        loop {
            if let Some(target) = self.read(person, |it| it.best(aim, tool, &[])) {
                return Some(target);
            }
            timeout_at(end, taken.changed()).await.ok()?.ok()?;
        }
    }

    /// Waits for a page that is loading, at most a second.
    async fn pause(&self, call: &TabCall<'_>, aim: &Aim, tool: &str, before: &Target) {
        let end = Instant::now() + RETRY_AFTER;
        let mut taken = self.taken.subscribe();
        loop {
            let now = self.read(call.person, |it| it.best(aim, tool, &[]));
            if now.is_some_and(|it| it.key != before.key || it.document != before.document) {
                return;
            }
            if timeout_at(end, taken.changed()).await.is_err() {
                return;
            }
        }
    }

    fn strict(&self, person: Uuid, source: &str, tool: &str) -> Option<Aim> {
        let is_it =
            |key: &TabKey, id: &str| id == source || *key.browser == *source || key.to_string() == source;
        self.read(person, |table| {
            let mut tabs: Vec<_> = table
                .offering()
                .filter(|(key, tab)| is_it(key, &tab.source) && tab.tool(tool).is_some())
                .collect();
            tabs.sort_by_key(|it| it.1.last_updated);
            tabs.last().map(|it| Aim::Tab(it.0.clone()))
        })
    }

    /// The fixed tools, if it is one of them.
    async fn meta(self: &Arc<Self>, call: &TabCall<'_>) -> Option<Result<Raw, Error>> {
        Some(match call.name {
            meta::LIST_TOOLS => {
                Ok(meta::told(&self.read(call.person, |it| meta::tabs_and_tools(it, &call.args))))
            }
            meta::LIST_SOURCES => Ok(meta::told(&self.read(call.person, meta::sources))),
            meta::RELAY_TOOLS => Ok(meta::told(&self.read(call.person, meta::relay_tools))),
            meta::OPEN_TAB | meta::OPEN_PAGE => {
                let url = call.args.get_text("url").unwrap_or_default();
                match self.open_tab(call.person, &url).await {
                    Ok(key) => {
                        self.wait_until_there(call.person, &key).await;
                        let tab = |it: &Table| it.tab_view(&key).map(|view| meta::tab(it, &view));
                        let view = self.read(call.person, tab);
                        Ok(meta::told(&view.unwrap_or_else(|| json!({ "url": url, "tools": [] }))))
                    }
                    Err(Error::Request(problem)) => Ok(failed(&problem)),
                    Err(error) => Err(error),
                }
            }
            // The hub puts the call it carries in its place; nobody else has a use for it.
            meta::CALL_TOOL => Err(Error::RequestMissing(vec!["name".into()])),
            _ => return None,
        })
    }

    async fn wait_until_there(&self, person: Uuid, key: &TabKey) {
        let end = Instant::now() + OPENING;
        let mut taken = self.taken.subscribe();
        while !self.read(person, |it| it.tab_view(key).is_some_and(|it| !it.tools.is_empty())) {
            if timeout_at(end, taken.changed()).await.is_err() {
                return;
            }
        }
    }

    /// The call a browser speaks of, if it was that browser that was asked.
    pub(super) fn run_of(&self, browser: &str, request: Uuid) -> Option<Arc<Running>> {
        lock(&self.running).get(&request).filter(|it| *it.key.browser == *browser).cloned()
    }

    /// Ends calls whose tab is gone.
    pub(super) fn end_running(&self, is_over: impl Fn(&Running) -> bool) {
        for running in lock(&self.running).values().filter(|it| is_over(it)) {
            running.is_left.store(true, Ordering::Relaxed);
            running.left.notify_one();
        }
    }

    fn note_call(&self, call: &TabCall<'_>, target: &Target, outcome: &str) {
        let view = self.read(call.person, |it| it.tab_view(&target.key));
        tracing::info!(target: "tabs", tab = %target.key, domain = target.domain, tool = target.tool.name, outcome, "called");
        let gone = || super::TabView {
            key: target.key.clone(),
            domain: target.domain.clone(),
            origin: target.origin.clone(),
            slot: 0,
            url: None,
            title: None,
            active: false,
            incognito: target.incognito,
            claims: None,
            source: String::new(),
            last_updated: 0,
            tools: Vec::new(),
        };
        let view = view.unwrap_or_else(gone);
        self.log(call.person, &target.key, Some(&view), "called", Some(&target.tool.name), outcome);
    }
}

/// A running call is known for as long as this is kept.
struct Registered<'a, T> {
    hub: &'a TabHub<T>,
    id: Uuid,
}

impl<T> Drop for Registered<'_, T> {
    fn drop(&mut self) {
        lock(&self.hub.running).remove(&self.id);
        lock(&self.hub.waiting).retain(|_, it| it.call != self.id);
    }
}

impl Refusal {
    fn word(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Closed => "closed",
            Self::TooLarge { .. } => "too large",
            Self::Refused(_) => "refused",
        }
    }
}

/// What a page answered, as the result of a tool call.
fn finish(target: &Target, answer: &Raw) -> Raw {
    const INVALID: &str = "the tool returned an invalid result";
    let payload = answer.get("payload");
    let result = match (answer.get("success").and_then(|it| it.bool()), payload) {
        (Some(true), Some(payload)) if is_result(&payload) => payload,
        (Some(false), Some(payload)) => {
            failed(&payload.text().map_or_else(|| payload.as_str().to_owned(), std::borrow::Cow::into_owned))
        }
        _ => failed(INVALID),
    };
    if target.tool.untrusted { with_untrusted(&result) } else { result }
}

/// Whether it has the shape of a `CallToolResult`.
fn is_result(payload: &Raw) -> bool {
    let is_block = |it: Raw| it.is_object() && it.get("type").is_some_and(|it| it.is_string());
    payload.is_object() && payload.get("content").is_some_and(|it| it.is_array() && it.items().all(is_block))
}

fn check_url(url: &str) -> Result<(), Error> {
    match Url::parse(url.trim()) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(()),
        Ok(url) => {
            Err(Error::Request(format!("only http: and https: URLs can be opened, got `{}:`", url.scheme())))
        }
        Err(_) => Err(Error::Request(format!("only http: and https: URLs can be opened, got `{url}`"))),
    }
}
