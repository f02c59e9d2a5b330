//! The spine. Every call from every door runs through [`Hub::call`]: route → policy → arguments → link → record.
//!
//! The hub also keeps each person's catalogue true: it takes lists from links, gives new tools their names, and
//! swaps a new catalogue in. It reads no clock but the one it is given and stores nothing but through [`Log`].

mod listing;
mod recorder;
mod watch;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use watch::Watch;

use arc_swap::ArcSwap;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;
use toolgrove_wire::envelope::INTERNAL_ERROR;
use toolgrove_wire::modern::{HEADER_MISMATCH, ResultHead, ResultKind};
use toolgrove_wire::{Abilities, Draft, Raw};
use uuid::Uuid;

use self::recorder::Recorder;
use crate::bud::{self, DEEPEST};
use crate::bus::Bus;
use crate::call::{
    Asking, Behind, Call, Caller, LegacyTask, Links, Method, Outcome, Outgoing, Subject, View,
};
use crate::catalog::{Catalog, Place, Route, usable};
use crate::config::Capabilities;
use crate::event::{Event, Events, ListKind};
use crate::instance::{Instance, Transport, Verdict};
use crate::limits::{self, Limits, Rate};
use crate::offer::{Offer, Shown};
use crate::pins::PinPolicy;
use crate::policy::Decision;
use crate::record::{CallEnd, CallRecord};
use crate::{Error, drive, policy, tabs, trace, uri};

/// What is remembered. The real one writes to the store.
pub trait Log: Send + Sync + 'static {
    /// Takes one finished call. Must not block.
    fn record(&self, record: CallRecord);
    /// Takes word of a call that goes to an instance now. Must not block.
    fn begun(&self, _record: &CallRecord) {}
    /// Whether somebody watches the calls of a person.
    fn is_watched(&self, _person: Uuid) -> bool {
        false
    }
    /// Takes an event of a call that is watched. Must not block.
    fn went_on(&self, _call: &Running, _event: &Event) {}
    /// Takes word that a server lists something else than before. Must not block.
    fn relisted(&self, _instance: &Instance, _kind: ListKind) {}
    /// Takes word that an instance's process wrote to its log. Must not block.
    fn wrote(&self, _instance: &Instance) {}
    /// Takes word that an instance's links, lists or switches are not what they were. Must not block.
    fn touched(&self, _instance: &Instance) {}
    /// Takes an offer whose lists or names are new. Must not block.
    fn listed(&self, offer: &Arc<Offer>);
    /// Takes word that a server no longer lets this instance in. Must not block.
    fn barred(&self, instance: &Arc<Instance>, error: &Error);
    /// Takes what was found out about a server's era.
    fn judged(&self, instance: &Arc<Instance>, verdict: &Verdict);
    /// Takes a token of a server's bucket where hubs share it, or says how long there will be none. `None`: this hub's
    /// own bucket is the only one.
    fn take(&self, _server: Uuid, _rate: Rate) -> impl Future<Output = Option<Result<(), Duration>>> + Send {
        std::future::ready(None)
    }
}

pub struct Hub<L, G> {
    links: L,
    log: G,
    clock: fn() -> i64,
    capabilities: Capabilities,
    /// Person → catalogue: read without a lock, swapped whole.
    catalogs: ArcSwap<HashMap<Uuid, Arc<Catalog>>>,
    /// What callers with grants see of them, made anew when either changes.
    granted: Mutex<HashMap<Uuid, Granted>>,
    /// The source of the catalogues. Held only while one is rebuilt.
    offers: Mutex<HashMap<Uuid, Arc<Offer>>>,
    states: Mutex<HashMap<Uuid, LinkState>>,
    /// One lock per instance: a list is fetched once, however many calls want it.
    fetching: Mutex<HashMap<Uuid, Arc<AsyncMutex<listing::Fetched>>>>,
    /// How many clients watch a resource or a task of an instance.
    watched: Mutex<HashMap<(Uuid, Subject), watch::Watchers>>,
    limits: Limits,
    bus: Bus,
}

/// What is known of an instance's links right now.
#[derive(Debug, Clone, Default)]
pub enum LinkState {
    #[default]
    Idle,
    Opening,
    Open,
    Failed(Error),
}

impl LinkState {
    /// What tells one state from another.
    fn word(&self) -> (u8, Option<String>) {
        match self {
            Self::Idle => (0, None),
            Self::Opening => (1, None),
            Self::Open => (2, None),
            Self::Failed(error) => (3, Some(error.to_string())),
        }
    }
}

/// A person's catalogue, and what one caller's grants leave of it.
struct Granted {
    whole: Arc<Catalog>,
    grants: Arc<HashSet<Uuid>>,
    part: Arc<Catalog>,
}

/// A call that somebody watches.
#[derive(Debug, Clone)]
pub struct Running {
    pub id: Uuid,
    pub person: Uuid,
    pub token: Option<Uuid>,
    started: Instant,
}

impl Running {
    fn of(call: &Call, started: Instant) -> Self {
        Self { id: call.id, person: call.caller.person, token: call.caller.token, started }
    }

    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Where a checked request goes, in the server's own words.
struct Target {
    instance: Arc<Instance>,
    params: Draft,
    repeatable: bool,
    headers: Vec<(String, String)>,
    legacy_task: LegacyTask,
    decision: Decision,
}

impl Target {
    /// A request that changes nothing.
    fn reading(instance: Arc<Instance>, params: Draft) -> Self {
        Self {
            instance,
            params,
            repeatable: true,
            headers: Vec::new(),
            legacy_task: LegacyTask::No,
            decision: Decision::Allow,
        }
    }
}

impl<L: Links, G: Log> Hub<L, G> {
    pub fn new(links: L, log: G, clock: fn() -> i64, capabilities: Capabilities) -> Self {
        Self {
            links,
            log,
            clock,
            capabilities,
            catalogs: ArcSwap::default(),
            granted: Mutex::default(),
            offers: Mutex::default(),
            states: Mutex::default(),
            fetching: Mutex::default(),
            watched: Mutex::default(),
            limits: Limits::default(),
            bus: Bus::default(),
        }
    }

    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    pub fn links(&self) -> &L {
        &self.links
    }

    pub fn log(&self) -> &G {
        &self.log
    }

    pub fn now(&self) -> i64 {
        (self.clock)()
    }

    /// Everything that exists for a caller: the one place where grants take effect.
    pub fn catalog(&self, caller: &Caller) -> Arc<Catalog> {
        let whole = self.whole_catalog(caller.person);
        let Some(grants) = &caller.grants else { return whole };
        let mut granted = lock(&self.granted);
        if let Some(known) = granted.get(&caller.id())
            && Arc::ptr_eq(&known.whole, &whole)
            && Arc::ptr_eq(&known.grants, grants)
        {
            return known.part.clone();
        }
        let part = Arc::new(whole.granted(grants));
        granted.insert(caller.id(), Granted { whole, grants: grants.clone(), part: part.clone() });
        part
    }

    /// Everything a person has, whoever asks for it.
    fn whole_catalog(&self, person: Uuid) -> Arc<Catalog> {
        self.catalogs.load().get(&person).cloned().unwrap_or_default()
    }

    /// Forgets what was kept for a caller who will not come again.
    pub fn forget(&self, caller: Uuid) {
        lock(&self.granted).remove(&caller);
    }

    /// Runs one call from its first check to its last line in the log.
    pub fn call(
        self: &Arc<Self>,
        call: Call,
        mut events: Events,
    ) -> impl Future<Output = Result<Outcome, Error>> + Send {
        let started = Instant::now();
        events.start(started);
        if self.log.is_watched(call.caller.person) {
            let (hub, running) = (self.clone(), Running::of(&call, started));
            events.witnessed_by(move |event| hub.log.went_on(&running, event));
        }
        // A block has what it takes once, an `async fn` twice.
        async move {
            let mut recorder = Recorder::new(&self.log, &call, started, events.clone());
            let result = self.run(&call, &events, &mut recorder).await;
            match &result {
                Ok(Outcome { result, kind, .. }) => {
                    let end = match kind {
                        ResultKind::InputRequired => CallEnd::InputRequired,
                        _ if recorder.is_error => CallEnd::ToolError,
                        _ => CallEnd::Done,
                    };
                    recorder.end(end, None, result.bytes().len() as u64);
                }
                Err(Error::Cancelled) => recorder.end(CallEnd::Cancelled, Some(&Error::Cancelled), 0),
                Err(error) => recorder.end(CallEnd::Failed, Some(error), 0),
            }
            result
        }
    }

    async fn run(
        self: &Arc<Self>,
        call: &Call,
        events: &Events,
        recorder: &mut Recorder<'_, G>,
    ) -> Result<Outcome, Error> {
        // What few calls need is kept on the heap, so that every call is a smaller future to move about.
        let may_carry = recorder.record.as_ref().is_some_and(|it| it.tool.ends_with(tabs::CALL_TOOL));
        let carried = if may_carry { Box::pin(self.carried(call, recorder)).await? } else { None };
        let meant = carried.as_ref().unwrap_or(call);
        let Target { instance, params, repeatable, headers, legacy_task, decision } = match call.method {
            Method::CallTool => self.check_tool(meant, recorder).await?,
            Method::GetPrompt => self.place_prompt(call)?,
            Method::ReadResource => self.place_resource(call)?,
            Method::Complete => self.place_completion(call)?,
            Method::GetTask | Method::UpdateTask | Method::CancelTask => self.place_task(call)?,
        };
        recorder.target(&instance);
        let (depth, _running) = self.admit(meant, &instance, &params, decision, events).await?;
        if let Some(record) = &mut recorder.record {
            record.depth = depth;
        }
        events.checked();
        if let Some(record) = &recorder.record {
            self.log.begun(record);
        }
        let outgoing = Outgoing {
            method: call.method,
            params: bud::with_depth(trace::step(params, call.id), depth),
            chat: call.chat.clone(),
            log_level: call.log_level,
            // Whoever waits here waits for tasks too; the client need not know of them.
            abilities: match call.asking {
                Asking::Live => call.abilities.with(Abilities::TASKS),
                Asking::ByRetry => call.abilities,
            },
            headers,
            repeatable,
            legacy_task,
            behind: Some(Behind { call: call.id, caller: call.caller.clone(), depth }),
        };
        let mut result = self.send(call, &instance, &outgoing, events).await;
        if is_header_mismatch(&result) && call.method == Method::CallTool {
            // It was refused unread. Which arguments are headers may have changed since the last listing.
            Box::pin(self.freshen(&instance)).await;
            let Target { headers, .. } = Box::pin(self.check_tool(call, recorder)).await?;
            if headers != outgoing.headers {
                let again = Outgoing { headers, ..outgoing };
                result = Box::pin(self.send(call, &instance, &again, events)).await;
            }
        }
        if let Err(error) = &result {
            self.note_failure(&instance, error);
        }
        let result = result.map_err(without_hop_code);
        let result = match call.view {
            View::All => {
                let result = result.map_err(|it| uri::wrap_error(&instance.slug, it))?;
                uri::wrap_result(&instance.slug, &result)
            }
            View::One { .. } => result?,
        };
        let head = ResultHead::read(&result);
        recorder.is_error = head.is_error;
        Ok(Outcome { result, kind: head.kind, instance })
    }

    /// What a checked call waits for before it goes out: limits, and somebody's word. Gives its depth in buds.
    async fn admit(
        &self,
        call: &Call,
        instance: &Instance,
        params: &Draft,
        decision: Decision,
        events: &Events,
    ) -> Result<(u8, Option<limits::Running>), Error> {
        policy::is_open(instance)?;
        let (depth, running) = match instance.transport {
            Transport::Bud(_) if call.depth >= DEEPEST => return Err(Error::BudDepth),
            Transport::Bud(_) => (call.depth + 1, Some(self.limits.enter(call.caller.id())?)),
            _ => (call.depth, None),
        };
        if let Some(rate) = instance.rate {
            let shared = Box::pin(self.log.take(instance.server, rate)).await;
            let taken = shared.unwrap_or_else(|| self.limits.take(instance.server, rate));
            taken.map_err(|wait| Error::RateLimited {
                server: instance.server_name.clone(),
                per_second: rate.per_second,
                retry_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1),
            })?;
        }
        if decision == Decision::Ask {
            let own = params.get_text("name").unwrap_or_default();
            policy::ask(call, own, instance, events).await?;
        }
        Ok((depth, running))
    }

    async fn send(
        &self,
        call: &Call,
        instance: &Arc<Instance>,
        outgoing: &Outgoing,
        events: &Events,
    ) -> Result<Raw, Error> {
        match call.asking {
            Asking::ByRetry => self.links.request(instance, outgoing, events).await,
            Asking::Live => drive::request(&self.links, instance, outgoing, events).await,
        }
    }

    /// Route, policy and arguments of a tool call.
    async fn check_tool(
        self: &Arc<Self>,
        call: &Call,
        recorder: &mut Recorder<'_, G>,
    ) -> Result<Target, Error> {
        let name = recorder.named(call)?;
        let mut route = self.route(call, &name).await?;
        recorder.target(&route.instance);
        if self.looks_first(&route.instance).await {
            route = self.route(call, &name).await?;
        }
        let decision = policy::decide(&route, &name)?;
        let arguments = call.params.get("arguments").filter(|it| !it.is_null());
        let arguments = arguments.unwrap_or_else(Raw::empty_object);
        if !arguments.is_object() {
            return Err(Error::Arguments { problem: "/ is not an object".into() });
        }
        if let Err(problem) = route.tool.check(&arguments) {
            // The schema may be an old one: look once before refusing.
            if Box::pin(self.freshen(&route.instance)).await {
                route = self.route(call, &name).await?;
                route.tool.check(&arguments).map_err(|problem| Error::Arguments { problem })?;
            } else {
                return Err(Error::Arguments { problem });
            }
        } else {
            self.freshen_beside(&route.instance);
        }
        Ok(Target {
            params: rename(&call.params, "name", &name, &route.tool.name),
            repeatable: route.tool.repeatable(),
            headers: route.tool.param_headers(&arguments),
            legacy_task: route.tool.legacy_task(),
            decision,
            instance: route.instance,
        })
    }

    /// Looks at an instance's tools before a call where a change holds it back and no feed tells in time. Says
    /// whether it did. What pages offer is known to the hub, and only told a moment later.
    async fn looks_first(self: &Arc<Self>, instance: &Arc<Instance>) -> bool {
        if self.offer(instance.id).is_none_or(|it| it.pinned.policy != PinPolicy::Hold) {
            return false;
        }
        if instance.is_tabs() {
            Box::pin(self.fetch_tools(instance)).await;
            return true;
        }
        !self.links.has_feed(instance.id) && Box::pin(self.freshen(instance)).await
    }

    /// The call that a call of `browser_call_tool` stands for. Everything that is asked of a call is asked of it.
    async fn carried(
        self: &Arc<Self>,
        call: &Call,
        recorder: &mut Recorder<'_, G>,
    ) -> Result<Option<Call>, Error> {
        let name = call.params.get_text("name").filter(|it| it.ends_with(tabs::CALL_TOOL));
        let (Method::CallTool, Some(name)) = (call.method, name) else { return Ok(None) };
        let Ok(route) = self.catalog(&call.caller).tool(&call.view, &name) else { return Ok(None) };
        if !route.instance.is_tabs() {
            return Ok(None);
        }
        recorder.target(&route.instance);
        policy::decide(&route, &name)?;
        let given = call.params.get("arguments").unwrap_or_else(Raw::empty_object);
        route.tool.check(&given).map_err(|problem| Error::Arguments { problem })?;
        let wanted = given.get_text("name").unwrap_or_default();
        let tool = self.tab_tool(&route.instance, &wanted).await?;
        if let Some(record) = &mut recorder.record {
            record.tool.clone_from(&tool);
        }
        let arguments = given.get("arguments").unwrap_or_else(Raw::empty_object);
        let params = call.params.clone().set_text("name", &tool).set("arguments", arguments);
        Ok(Some(Call { params, view: View::One { slug: route.instance.slug.clone() }, ..call.clone() }))
    }

    /// A tab tool by its name, or by the page's own if one tab alone has it.
    async fn tab_tool(self: &Arc<Self>, instance: &Arc<Instance>, wanted: &str) -> Result<String, Error> {
        let none = || Error::TabNone { tool: wanted.to_owned(), reason: None };
        if tabs::META_TOOLS.contains(&wanted) {
            return Err(none());
        }
        let find = || self.offer(instance.id).and_then(|it| it.tool(wanted).cloned());
        let found = match find() {
            Some(tool) => Some(tool),
            None if self.freshen(instance).await => find(),
            None => None,
        };
        match found.ok_or_else(none)? {
            tool if tool.shown == Shown::Never && !tool.name.starts_with(tabs::PREFIX) => {
                Err(Error::Request(format!(
                    "several tabs have `{wanted}`; use a name that `browser_list_tools` gives"
                )))
            }
            tool => Ok(tool.name.clone()),
        }
    }

    /// The tool behind a name. A name that is new may have come since the last listing: that is waited for.
    async fn route(self: &Arc<Self>, call: &Call, name: &str) -> Result<Route, Error> {
        let catalog = self.catalog(&call.caller);
        match catalog.tool(&call.view, name) {
            Err(error @ (Error::UnknownTool { .. } | Error::TabNone { .. })) => {
                if call.abilities.has(Abilities::APPS)
                    && let Some(found) = catalog.tool_of_app(name)
                {
                    return found;
                }
                let Some(owner) = catalog.owner(&call.view, name) else { return Err(error) };
                if usable(&owner.instance).is_ok() && Box::pin(self.freshen_for_a_miss(&owner.instance)).await
                {
                    return self.catalog(&call.caller).tool(&call.view, name);
                }
                Err(error)
            }
            found => found,
        }
    }

    fn place_prompt(&self, call: &Call) -> Result<Target, Error> {
        let name = required(&call.params, "name")?;
        let Place { instance, name: own } = self.catalog(&call.caller).prompt(&call.view, &name)?;
        Ok(Target::reading(instance, rename(&call.params, "name", &name, &own)))
    }

    fn place_resource(&self, call: &Call) -> Result<Target, Error> {
        let uri = required(&call.params, "uri")?;
        let Place { instance, name: own } = self.catalog(&call.caller).resource(&call.view, &uri)?;
        Ok(Target::reading(instance, rename(&call.params, "uri", &uri, &own)))
    }

    /// Completion names a prompt or a resource template in `ref`.
    fn place_completion(&self, call: &Call) -> Result<Target, Error> {
        let reference = call.params.get("ref").ok_or_else(|| Error::RequestMissing(vec!["ref".into()]))?;
        let reference = Draft::from(reference);
        let catalog = self.catalog(&call.caller);
        let (place, member, name) = match reference.get_text("type").as_deref() {
            Some("ref/prompt") => {
                let name = required(&reference, "name")?;
                (catalog.prompt(&call.view, &name)?, "name", name)
            }
            Some("ref/resource") => {
                let uri = required(&reference, "uri")?;
                (catalog.resource(&call.view, &uri)?, "uri", uri)
            }
            _ => return Err(Error::Request("`ref.type` must be `ref/prompt` or `ref/resource`".into())),
        };
        let reference = rename(&reference, member, &name, &place.name).raw();
        Ok(Target::reading(place.instance, call.params.clone().set("ref", reference)))
    }

    /// Inside the hub a task's id is `<instance>/<the server's own>`.
    fn place_task(&self, call: &Call) -> Result<Target, Error> {
        let id = required(&call.params, "taskId")?;
        let unknown = || Error::Request("no such task".into());
        let (instance, own) = id.split_once('/').ok_or_else(unknown)?;
        let instance = Uuid::parse_str(instance).ok().and_then(|it| self.offer(it)).ok_or_else(unknown)?;
        if instance.instance.person != call.caller.person || !call.caller.may_use(instance.instance.id) {
            return Err(unknown());
        }
        usable(&instance.instance)?;
        let params = call.params.clone().set_text("taskId", own);
        Ok(Target {
            repeatable: call.method == Method::GetTask,
            ..Target::reading(instance.instance.clone(), params)
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_header_mismatch(result: &Result<Raw, Error>) -> bool {
    matches!(result, Err(Error::Server { code: HEADER_MISMATCH, .. }))
}

/// A code that belongs to our own hop is not passed on to a client.
fn without_hop_code(error: Error) -> Error {
    match error {
        Error::Server { code: HEADER_MISMATCH, message, data } => {
            Error::Server { code: INTERNAL_ERROR, message, data }
        }
        error => error,
    }
}

fn required(object: &Draft, member: &str) -> Result<String, Error> {
    object.get_text(member).ok_or_else(|| Error::RequestMissing(vec![member.to_owned()]))
}

/// Puts the server's own name in the place of ours. Equal names cost nothing.
fn rename(params: &Draft, member: &'static str, from: &str, to: &str) -> Draft {
    let params = params.clone();
    if from == to { params } else { params.set_text(member, to) }
}
