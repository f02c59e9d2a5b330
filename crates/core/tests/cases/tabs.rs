//! `tabs_hub.json` and `tabs_wire.json`, as far as no door is needed: the tab hub on a transport without a browser,
//! under a clock that is told what time it is.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use toolgrove_core::Error;
use toolgrove_core::event::{Event, Events, News, Progress, Report};
use toolgrove_core::offer::Shown;
use toolgrove_core::tabs::relay::FromPage;
use toolgrove_core::tabs::{
    BrowserKind, CachedRow, Note, Origins, Refusal, Registration, TabCall, TabEvent, TabHub, TabKey,
    TabOptions, TabRequest, TabRow, TabTransport, wire,
};
use toolgrove_core::task;
use toolgrove_wire::{Abilities, Raw};
use uuid::Uuid;

use crate::{Case, Ran, text};

type Answers = Box<dyn Fn(&TabKey, &TabRequest) -> Reply + Send>;

/// What a fake tab does with a request.
enum Reply {
    Now(Result<Raw, Refusal>),
    After(Duration, Result<Raw, Refusal>),
    Never,
}

struct Fake {
    events: mpsc::UnboundedSender<TabEvent>,
    heard: Mutex<Option<mpsc::UnboundedReceiver<TabEvent>>>,
    sent: Mutex<Vec<(TabKey, Uuid, TabRequest, Instant)>>,
    disconnected: Mutex<Vec<TabKey>>,
    answers: Mutex<Answers>,
}

impl TabTransport for Fake {
    async fn send_request(&self, tab: &TabKey, id: Uuid, request: TabRequest) -> Result<Raw, Refusal> {
        let reply = (self.answers.lock().expect("unpoisoned"))(tab, &request);
        self.sent.lock().expect("unpoisoned").push((tab.clone(), id, request, Instant::now()));
        match reply {
            Reply::Now(result) => result,
            Reply::After(wait, result) => {
                sleep(wait).await;
                result
            }
            Reply::Never => std::future::pending().await,
        }
    }

    fn events(&self) -> mpsc::UnboundedReceiver<TabEvent> {
        self.heard.lock().expect("unpoisoned").take().expect("taken once")
    }

    fn disconnect(&self, tab: &TabKey) {
        self.disconnected.lock().expect("unpoisoned").push(tab.clone());
    }
}

static NOW: AtomicI64 = AtomicI64::new(1_000_000_000);

fn now() -> i64 {
    NOW.fetch_add(1, Ordering::Relaxed)
}

/// A tab hub, one person, and one browser with the extension.
struct World {
    hub: Arc<TabHub<Fake>>,
    reports: mpsc::UnboundedReceiver<Report>,
    notes: mpsc::UnboundedReceiver<Note>,
    person: Uuid,
    browser: Arc<str>,
}

fn ok() -> Raw {
    Raw::of(&json!({ "success": true, "payload": { "content": [{ "type": "text", "text": "done" }] } }))
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "Create todo", "inputSchema": { "type": "object" } })
}

fn cached(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": { "cache": true } })
}

fn raws(tools: &Value) -> Vec<Raw> {
    tools.as_array().map(|it| it.iter().map(Raw::of).collect()).unwrap_or_default()
}

impl World {
    async fn new() -> Self {
        Self::allowing(Origins::Any).await
    }

    async fn allowing(allowed: Origins) -> Self {
        let (events, heard) = mpsc::unbounded_channel();
        let (report, reports) = mpsc::unbounded_channel();
        let (note, notes) = mpsc::unbounded_channel();
        let fake = Fake {
            events,
            heard: Mutex::new(Some(heard)),
            sent: Mutex::default(),
            disconnected: Mutex::default(),
            answers: Mutex::new(Box::new(|_, request| match request {
                TabRequest::Execute { .. } => Reply::Now(Ok(ok())),
                _ => Reply::Now(Ok(Raw::empty_object())),
            })),
        };
        let options = TabOptions {
            timeout: Duration::from_secs(10),
            relay_timeout: Duration::from_millis(50),
            timeouts: HashMap::default(),
            activate: true,
            allowed,
            now,
            reports: report,
            notes: note,
        };
        let hub = TabHub::new(fake, options);
        task::spawn("tabs", hub.clone().follow());
        let world = Self { hub, reports, notes, person: Uuid::now_v7(), browser: "profile".into() };
        world.hub.introduce(world.person, Uuid::now_v7());
        world.connect(&world.browser.clone(), BrowserKind::Extension).await;
        world
    }

    async fn connect(&self, browser: &Arc<str>, kind: BrowserKind) {
        let (browser, person) = (browser.clone(), self.person);
        self.event(TabEvent::Connected { browser, person, kind, label: "Chromium/156".into() }).await;
    }

    async fn event(&self, event: TabEvent) {
        self.hub.transport().events.send(event).expect("somebody listens");
        // Lets the hub take it; no time passes.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    fn key(&self, tab: i64) -> TabKey {
        TabKey::new(&self.browser, tab)
    }

    async fn register(&self, tab: i64, url: &str, tools: &Value) {
        self.register_with(
            tab,
            Registration { url: Some(url.into()), tools: raws(tools), ..Default::default() },
        )
        .await;
    }

    async fn register_with(&self, tab: i64, registration: Registration) {
        self.event(TabEvent::Registered { tab: self.key(tab), registration }).await;
    }

    /// A page of the relay: a connection of its own with one tab.
    async fn relay(&self, connection: &str, tab: &str, tools: &Value) {
        let browser: Arc<str> = connection.into();
        self.connect(&browser, BrowserKind::Relay).await;
        let registration = Registration {
            vouched: Some("https://shop.example.com".into()),
            url: Some("https://shop.example.com/x".into()),
            source: Some(tab.into()),
            tools: raws(tools),
            ..Default::default()
        };
        self.event(TabEvent::Registered { tab: TabKey::new(&browser, 0), registration }).await;
    }

    /// What is told within the next seconds: lists, and mere descriptions.
    async fn told(&mut self) -> (usize, usize) {
        sleep(Duration::from_secs(3)).await;
        let (mut lists, mut descriptions) = (0, 0);
        while let Ok(report) = self.reports.try_recv() {
            match report.news {
                News::ListChanged(_) => lists += 1,
                News::Redescribed => descriptions += 1,
                news => panic!("unexpected: {news:?}"),
            }
        }
        (lists, descriptions)
    }

    fn names(&self, shown: Shown) -> Vec<String> {
        let is_meta = |it: &str| toolgrove_core::tabs::META_TOOLS.contains(&it);
        let mut names: Vec<_> = self
            .hub
            .list(self.person)
            .into_iter()
            .filter(|it| it.shown == shown && !is_meta(&it.name))
            .map(|it| it.name)
            .collect();
        names.sort();
        names
    }

    /// The names that a client of everything is shown.
    fn listed(&self) -> Vec<String> {
        self.names(Shown::Together)
    }

    fn description(&self, name: &str) -> String {
        let list = self.hub.list(self.person);
        let entry = list.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("`{name}` is listed"));
        entry.raw.get_text("description").unwrap_or_default()
    }

    fn answer(&self, answers: impl Fn(&TabKey, &TabRequest) -> Reply + Send + 'static) {
        *self.hub.transport().answers.lock().expect("unpoisoned") = Box::new(answers);
    }

    /// The tabs that were asked to run something, with the page's own name of it.
    fn executed(&self) -> Vec<(i64, String)> {
        let sent = self.hub.transport().sent.lock().expect("unpoisoned");
        sent.iter()
            .filter_map(|(key, _, request, _)| match request {
                TabRequest::Execute { tool, .. } => Some((key.tab, tool.clone())),
                _ => None,
            })
            .collect()
    }

    fn opened(&self) -> Vec<String> {
        let sent = self.hub.transport().sent.lock().expect("unpoisoned");
        sent.iter()
            .filter_map(|it| match &it.2 {
                TabRequest::Open { url } => Some(url.clone()),
                _ => None,
            })
            .collect()
    }

    async fn call(&self, name: &str) -> Result<Raw, Error> {
        self.call_with(name, None, Abilities::NONE, &Events::none()).await
    }

    async fn call_with(
        &self,
        name: &str,
        source: Option<&str>,
        abilities: Abilities,
        events: &Events,
    ) -> Result<Raw, Error> {
        let (person, args) = (self.person, Raw::empty_object());
        let source = source.map(str::to_owned);
        self.hub.call(TabCall { person, name, args, source, abilities, events }).await
    }

    fn log(&mut self) -> Vec<(i64, String, &'static str)> {
        let mut log = Vec::new();
        while let Ok(note) = self.notes.try_recv() {
            if let Note::Log { tab, domain, event, .. } = note {
                log.push((tab, domain, event));
            }
        }
        log
    }
}

const SHOP: &str = "https://example.com/shop";
const CART_1: &str = "website_tool_example_com_tab1_getCart";
const CART_2: &str = "website_tool_example_com_tab2_getCart";
const CART: &str = "website_tool_example_com_getCart";

#[track_caller]
fn assert_none(result: Result<Raw, Error>) {
    let error = result.expect_err("no tab");
    assert_eq!((error.code(), error.rpc_code()), ("tab.none", -32001), "{error}");
}

pub(crate) fn run(case: &Case) -> Ran {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(play(case))
}

async fn play(case: &Case) -> Ran {
    let given = &case.given;
    let mut world = World::new().await;
    match case.id.as_str() {
        "reg-basic" => {
            world.told().await;
            world
                .register(
                    given["tab"]["id"].as_i64().expect("an id"),
                    text(&given["tab"], "url"),
                    &given["registerTools"],
                )
                .await;
            assert_eq!(world.listed(), [CART_1]);
            assert_eq!(world.told().await, (1, 0));
        }
        "reg-idempotent" => {
            world.told().await;
            for _ in 0..2 {
                world.register(1, SHOP, &json!([tool("a")])).await;
            }
            assert_eq!((world.listed().len(), world.told().await), (1, (1, 0)));
            world.register(1, SHOP, &json!([tool("a")])).await;
            assert_eq!(world.told().await, (0, 0));
        }
        "reg-invalid-tool" => {
            world.register(1, SHOP, &given["tools"]).await;
            assert_eq!(world.listed(), ["website_tool_example_com_tab1_ok"]);
            assert!(world.hub.browsers(world.person)[0].connected);
        }
        "reg-empty" => {
            world.register(1, SHOP, &given["tools"]).await;
            assert!(world.listed().is_empty());
            assert!(world.log().iter().any(|it| it.2 == "registered"));
            world.register(1, SHOP, &json!([tool("late")])).await;
            assert_eq!(world.listed(), ["website_tool_example_com_tab1_late"]);
        }
        "upd-add-remove" => {
            let tools = |key: &str| -> Value {
                given[key]
                    .as_array()
                    .expect("a list")
                    .iter()
                    .map(|it| tool(it.as_str().expect("a name")))
                    .collect()
            };
            world.register(1, SHOP, &tools("had")).await;
            world.register(1, SHOP, &tools("updateTools")).await;
            assert_eq!(
                world.listed(),
                ["website_tool_example_com_tab1_b", "website_tool_example_com_tab1_c"]
            );
            assert_eq!(world.told().await.0, 1, "one burst, one notice");
        }
        "upd-remove-cached" => {
            let mut had = given["had"].clone();
            had[0]["inputSchema"] = json!({ "type": "object" });
            world.register(1, SHOP, &had).await;
            world.register(1, SHOP, &given["updateTools"]).await;
            assert_eq!(world.listed(), ["website_tool_example_com_a"]);
        }
        // The extension polls; here is what its reports come to.
        "upd-poll" => {
            world.register(1, SHOP, &json!([tool("a")])).await;
            world.told().await;
            for (minute, told) in [(1, 0), (2, 0), (3, 1)] {
                sleep(Duration::from_secs(60)).await;
                let list = if minute < 3 { json!([tool("a")]) } else { json!([tool("a"), tool("b")]) };
                world.register(1, SHOP, &list).await;
                assert_eq!(world.told().await, (told, 0), "minute {minute}");
            }
        }
        "disc-noncached" => {
            world.register(1, SHOP, &json!([tool("getCart")])).await;
            world.register(2, "https://other.example.org", &json!([tool("x")])).await;
            world.event(TabEvent::Removed { tab: world.key(1) }).await;
            assert_eq!(world.listed(), ["website_tool_other_example_org_tab1_x"]);
        }
        "disc-cached" => {
            world.register(1, SHOP, &json!([cached("getCart")])).await;
            assert_eq!(world.listed(), [CART_1], "the domain form is not listed while a tab offers it");
            world.event(TabEvent::Removed { tab: world.key(1) }).await;
            assert_eq!(world.listed(), [CART]);
            assert_eq!(world.hub.with(world.person, |it| it.forget("example.com")), 1);
            assert!(world.listed().is_empty());
            let mut lax = cached("getCart");
            lax["annotations"]["cache"] = json!("yes");
            world.register(1, SHOP, &json!([lax])).await;
            world.event(TabEvent::Removed { tab: world.key(1) }).await;
            assert!(world.listed().is_empty(), "only `true` is true");
        }
        "disc-two-tabs-one-closes" => {
            for tab in [1, 2] {
                world.register(tab, SHOP, &json!([tool("getCart")])).await;
            }
            assert_eq!(world.description(CART_2), "[example.com - 2 tabs] Create todo");
            world.event(TabEvent::Removed { tab: world.key(1) }).await;
            assert_eq!(world.listed(), [CART_2]);
            assert_eq!(world.description(CART_2), "[example.com] Create todo");
        }
        "persist-prune" => return prune(world).await,
        "desc-single" | "desc-single-active" | "desc-multi-none-active" => {
            for tab in 1..=given["tabs"].as_i64().expect("a number") {
                let mut registration = Registration {
                    url: Some(format!("https://{}/", text(given, "domain"))),
                    ..Default::default()
                };
                registration.active = given["active"].as_bool();
                registration.tools = raws(&json!([tool("create_todo")]));
                world.register_with(tab, registration).await;
            }
            assert_eq!(json!(world.description("website_tool_github_com_tab1_create_todo")), case.expect);
        }
        "desc-on-activate" => {
            for tab in [1, 2, 3] {
                world.register(tab, "https://github.com", &json!([tool("x")])).await;
            }
            world.event(TabEvent::Activated { tab: world.key(1), window: None }).await;
            let before = world.listed();
            world.told().await;
            world.event(TabEvent::Activated { tab: world.key(2), window: None }).await;
            assert_eq!(world.listed(), before);
            let name = "website_tool_github_com_tab1_x";
            assert_eq!(world.description(name), "[github.com - 3 tabs • Tab 2 Active] Create todo");
            assert_eq!(world.told().await, (0, 1), "described anew, and no client hears of it");
        }
        "route-explicit-tab" => {
            for tab in [1, 2] {
                world.register(tab, SHOP, &json!([tool("getCart")])).await;
            }
            world.event(TabEvent::Activated { tab: world.key(1), window: None }).await;
            world.call(text(given, "call")).await.expect("a result");
            assert_eq!(world.executed(), [(2, "getCart".to_owned())]);
            world.event(TabEvent::Removed { tab: world.key(2) }).await;
            assert_none(world.call(text(given, "call")).await);
        }
        "route-domain-active" | "route-domain-recent" => {
            let mut tabs = given["tabs"].as_array().expect("tabs").clone();
            tabs.sort_by_key(|it| it["lastUpdated"].as_i64());
            for tab in &tabs {
                let registration = Registration {
                    url: Some(SHOP.into()),
                    active: tab["active"].as_bool(),
                    tools: raws(&json!([tool("getCart")])),
                    ..Default::default()
                };
                world.register_with(tab["id"].as_i64().expect("an id"), registration).await;
            }
            world.call(text(given, "call")).await.expect("a result");
            let expected = if case.id == "route-domain-active" { 2 } else { 1 };
            assert_eq!(world.executed(), [(expected, "getCart".to_owned())]);
        }
        "route-open-new" => return open_new(world).await,
        "exec-retry" => return retry(world).await,
        "exec-failure-shape" => {
            world.register(1, SHOP, &json!([tool("getCart")])).await;
            let result = Raw::of(&given["result"]);
            world.answer(move |_, _| Reply::Now(Ok(result.clone())));
            let result = world.call(CART_1).await.expect("a result").to_value();
            assert_eq!((&result["isError"], &result["content"][0]["text"]), (&json!(true), &json!("boom")));
        }
        "exec-concurrent" => return concurrent(world).await,
        "origin-mismatch" => {
            let registration = Registration {
                vouched: Some(text(given, "connection Origin").to_owned()),
                url: Some(text(given, "claimed tabUrl").to_owned()),
                tools: raws(&json!([tool("pay")])),
                ..Default::default()
            };
            world.register_with(1, registration).await;
            assert_eq!(world.listed(), ["website_tool_evil_com_tab1_pay"]);
            assert_eq!(world.hub.tabs(world.person)[0].claims.as_deref(), Some("https://bank.com"));
        }
        "audit" => {
            world.register(1, SHOP, &json!([tool("getCart")])).await;
            world.call(CART_1).await.expect("a result");
            let example = || "example.com".to_owned();
            assert_eq!(world.log(), [(1, example(), "registered"), (1, example(), "called")]);
        }
        "extensions-ignored" => {
            let params = Raw::of(
                &json!({ "tools": [tool("a")], "tabUrl": SHOP, "extensions": given["params.extensions"] }),
            );
            let Some(Ok(wire::ToHub::Register(list))) = wire::ToHub::read("browser/registerTools", &params)
            else {
                panic!("accepted");
            };
            world
                .register_with(
                    list.extensions.tab_id,
                    Registration { tools: list.tools, url: list.tab_url, ..Default::default() },
                )
                .await;
            assert_eq!(world.listed(), ["website_tool_example_com_tab1_a"]);
        }
        "transport-fake" => return on_a_fake(world).await,
        "caps-none" => {
            assert_eq!(json!({ "browser": world.hub.capability(world.person) }), case.expect);
            let sources = BTreeMap::from([("getCart".to_owned(), wire::Source::Channel)]);
            let registration = Registration {
                url: Some(SHOP.into()),
                sources,
                tools: raws(&json!([cached("getCart")])),
                ..Default::default()
            };
            world.register_with(1, registration).await;
            let expected = json!({ "multiTabSupport": true, "cacheSupported": true, "elicitation": true });
            assert_eq!(world.hub.capability(world.person), expected);
        }
        "same-host-two-ports" => {
            world.register(1, "http://localhost:3000", &json!([tool("search")])).await;
            world.register(2, "http://localhost:4000", &json!([tool("search")])).await;
            assert_eq!(
                world.listed(),
                ["website_tool_localhost_3000_tab1_search", "website_tool_localhost_4000_tab1_search"]
            );
        }
        "unique-after-close" => {
            for tab in [1, 2] {
                world.register(tab, SHOP, &json!([tool("getCart")])).await;
            }
            assert_eq!(world.listed(), [CART_1, CART_2]);
            world.event(TabEvent::Removed { tab: world.key(1) }).await;
            assert_eq!(world.listed(), [CART_2]);
        }
        "closed-not-rerun" => {
            for tab in [1, 2] {
                world.register(tab, SHOP, &json!([tool("getCart")])).await;
            }
            world.event(TabEvent::Activated { tab: world.key(1), window: None }).await;
            world.answer(|_, _| Reply::Never);
            let closing = async {
                sleep(Duration::from_secs(1)).await;
                world.event(TabEvent::Removed { tab: world.key(1) }).await;
            };
            let (result, ()) = tokio::join!(world.call(CART), closing);
            assert_none(result);
            assert_eq!(world.executed(), [(1, "getCart".to_owned())]);
        }
        "late-disconnect" => {
            for document in ["old", "new"] {
                let registration = Registration {
                    url: Some(SHOP.into()),
                    document: Some(document.into()),
                    tools: raws(&json!([tool("getCart")])),
                    ..Default::default()
                };
                world.register_with(1, registration).await;
            }
            let left = |document: &str| TabEvent::Left { tab: world.key(1), document: Some(document.into()) };
            world.event(left("old")).await;
            assert_eq!(world.listed(), [CART_1]);
            world.event(left("new")).await;
            assert!(world.listed().is_empty());
        }
        "reload-keeps-slot" => {
            for tab in [1, 2] {
                world.register(tab, SHOP, &json!([tool("getCart")])).await;
            }
            world.event(TabEvent::Left { tab: world.key(1), document: None }).await;
            assert_eq!(world.listed(), [CART_2]);
            world.register(1, SHOP, &json!([tool("getCart")])).await;
            assert_eq!(world.listed(), [CART_1, CART_2]);
            assert_eq!(
                world.hub.tabs(world.person).iter().find(|it| it.key.tab == 1).map(|it| it.slot),
                Some(1)
            );
        }
        "elicit-clock" => return elicit_clock(world).await,
        _ => return relay(case, world).await,
    }
    true
}

/// `tabs_wire.json`.
async fn relay(case: &Case, world: World) -> Ran {
    let given = &case.given;
    let search = json!([tool("search")]);
    match case.id.as_str() {
        "no-collision" => {
            world.relay("conn-1", text(given, "one tab"), &json!([tool(text(given, "tool"))])).await;
            assert_eq!(world.names(Shown::Alone), ["get_user_profile"]);
            assert_eq!(world.listed(), ["website_tool_shop_example_com_tab1_get_user_profile"]);
        }
        "collision-two-tabs" | "suffix-collision" => {
            for (at, tab) in given["tabs"].as_array().expect("tabs").iter().enumerate() {
                world.relay(&format!("conn-{at}"), tab.as_str().expect("an id"), &search).await;
            }
            assert_eq!(json!(world.names(Shown::Alone)), case.expect);
        }
        "collision-resolves" => {
            for (at, tab) in given["tabs"].as_array().expect("tabs").iter().enumerate() {
                world.relay(&format!("conn-{at}"), tab.as_str().expect("an id"), &search).await;
            }
            world.event(TabEvent::Lost { browser: "conn-0".into() }).await;
            assert_eq!(world.names(Shown::Alone), ["search"]);
        }
        "tab-suffix-sanitized" => {
            world.relay("conn-1", text(given, "tab"), &search).await;
            world.relay("conn-2", "other", &search).await;
            assert!(world.names(Shown::Alone).iter().any(|it| json!(it) == case.expect));
        }
        "default-most-recent" => {
            world.relay("conn-1", "aaaa", &search).await;
            world.relay("conn-2", "bbbb", &search).await;
            world.call("search").await.expect("a result");
            let sent = world.hub.transport().sent.lock().expect("unpoisoned");
            assert_eq!(&*sent[0].0.browser, "conn-2");
        }
        "by-source-unknown" | "by-tab-strict" => {
            world.relay("conn-1", "aaaa", &search).await;
            let source = given["sourceId"].as_str().or(given["requestTabId"].as_str()).expect("an id");
            assert_none(world.call_with("search", Some(source), Abilities::NONE, &Events::none()).await);
            for right in ["conn-1", "aaaa"] {
                let result = world.call_with("search", Some(right), Abilities::NONE, &Events::none()).await;
                result.expect("a result");
            }
        }
        "unknown-tool" => {
            let error = world.call(text(given, "tool")).await.expect_err("no tab");
            assert_eq!(
                json!({ "error": { "code": error.rpc_code(), "message": error.to_string() } }),
                case.expect
            );
        }
        "sort-sources" => {
            for connection in ["conn-1", "conn-2"] {
                world.relay(connection, connection, &search).await;
            }
            world.relay("conn-3", "empty", &json!([])).await;
            let result = world.call("webmcp_list_sources").await.expect("a result").to_value();
            let ids: Vec<_> = result["structuredContent"]["sources"]
                .as_array()
                .expect("sources")
                .iter()
                .map(|it| &it["tabId"])
                .collect();
            assert_eq!(json!(ids), case.expect);
        }
        id if id.starts_with("msg-") => {
            let read = FromPage::read(&Raw::of(given));
            assert_eq!(
                if read.is_ok() { "valid" } else { "invalid (logged, ignored)" },
                case.expect,
                "{read:?}"
            );
        }
        "default-schema" => {
            let message = Raw::of(&json!({ "type": "tools/list", "tools": [given["tool"]] }));
            let Ok(FromPage::Tools(tools)) = FromPage::read(&message) else { panic!("valid") };
            assert_eq!(tools[0].to_value()["inputSchema"], case.expect["inputSchema"]);
        }
        "bad-result" | "null-result" => {
            world.relay("conn-1", "aaaa", &search).await;
            let answer = toolgrove_core::tabs::relay::executed(&Raw::of(&given["result"]));
            world.answer(move |_, _| Reply::Now(Ok(answer.clone())));
            let result = world.call("search").await.expect("a result").to_value();
            let said = format!("isError, text `{}`", result["content"][0]["text"].as_str().expect("a text"));
            assert_eq!((&result["isError"], json!(said)), (&json!(true), case.expect.clone()));
        }
        "timeout-text" => {
            world.relay("conn-1", "aaaa", &json!([tool(text(given, "tool"))])).await;
            world.answer(|_, _| Reply::Never);
            let error = world.call(text(given, "tool")).await.expect_err("too slow");
            assert_eq!(error.code(), "call.timeout");
            assert!(error.to_string().contains("50 ms"), "{error}");
        }
        "ports" => {
            let ports = toolgrove_core::tabs::relay::PORTS;
            assert_eq!(
                (json!(ports.start()), json!(ports.end())),
                (case.expect["first"].clone(), case.expect["last"].clone())
            );
        }
        _ => return false,
    }
    true
}

async fn prune(world: World) -> Ran {
    let row = |tab: i64, slot: u32, age_ms: i64| TabRow {
        key: world.key(tab),
        domain: "example.com".into(),
        origin: "https://example.com".into(),
        slot,
        url: None,
        title: None,
        active: false,
        last_updated: now() - age_ms,
    };
    let hour = 60 * 60 * 1000;
    let cached = CachedRow {
        domain: "example.com".into(),
        origin: "https://example.com".into(),
        name: "getCart".into(),
        public_name: CART.into(),
        raw: cached("getCart").to_string(),
        url: Some(SHOP.into()),
    };
    world.hub.restore(
        world.person,
        true,
        vec![row(7, 1, hour + 60_000), row(8, 2, hour - 60_000)],
        vec![cached],
    );
    assert_eq!(world.listed(), [CART], "cached tools stay");
    // The old one's number is free again, the young one's is not.
    world.register(20, SHOP, &json!([tool("a")])).await;
    world.register(8, SHOP, &json!([tool("a")])).await;
    world.register(21, SHOP, &json!([tool("a")])).await;
    let slots: BTreeMap<i64, u32> =
        world.hub.tabs(world.person).iter().map(|it| (it.key.tab, it.slot)).collect();
    assert_eq!(slots, BTreeMap::from([(20, 1), (8, 2), (21, 3)]));
    true
}

async fn open_new(world: World) -> Ran {
    world.register(1, SHOP, &json!([cached("getCart")])).await;
    world.event(TabEvent::Removed { tab: world.key(1) }).await;
    let (events, browser) = (world.hub.transport().events.clone(), world.browser.clone());
    world.answer(move |_, request| match request {
        TabRequest::Open { .. } => {
            let (events, tab) = (events.clone(), TabKey::new(&browser, 9));
            task::spawn("page", async move {
                sleep(Duration::from_millis(300)).await;
                let registration = Registration {
                    url: Some(SHOP.into()),
                    tools: raws(&json!([cached("getCart")])),
                    ..Default::default()
                };
                events.send(TabEvent::Registered { tab, registration }).expect("somebody listens");
            });
            Reply::Now(Ok(Raw::of(&json!({ "tabId": 9 }))))
        }
        _ => Reply::Now(Ok(ok())),
    });
    let started = Instant::now();
    world.call(CART).await.expect("a result");
    assert!(started.elapsed() < Duration::from_millis(400), "the wait ends at registration");
    assert_eq!((world.opened(), world.executed()), (vec![SHOP.to_owned()], vec![(9, "getCart".to_owned())]));

    // A page that never registers: two seconds, and three more looks a second apart.
    world.event(TabEvent::Removed { tab: world.key(9) }).await;
    world.answer(|_, _| Reply::Now(Ok(Raw::of(&json!({ "tabId": 10 })))));
    let started = Instant::now();
    assert_none(world.call(CART).await);
    assert_eq!(started.elapsed().as_secs(), 5);

    // Without a browser there is nothing to open it in.
    world.event(TabEvent::Lost { browser: world.browser.clone() }).await;
    assert_none(world.call(CART).await);
    true
}

async fn retry(world: World) -> Ran {
    world.register(1, SHOP, &json!([tool("getCart")])).await;
    for (failures, tries) in [(2, 3), (9, 4)] {
        let left = std::sync::atomic::AtomicUsize::new(failures);
        world.hub.transport().sent.lock().expect("unpoisoned").clear();
        world.answer(move |_, _| {
            let failed =
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1)).is_ok();
            Reply::Now(if failed { Err(Refusal::Absent) } else { Ok(ok()) })
        });
        let result = world.call(CART_1).await;
        let sent = world.hub.transport().sent.lock().expect("unpoisoned");
        assert_eq!((result.is_ok(), sent.len()), (failures == 2, tries));
        let gaps = sent.windows(2).map(|it| it[1].3 - it[0].3);
        assert!(gaps.into_iter().all(|it| it == Duration::from_secs(1)));
    }
    world.hub.transport().sent.lock().expect("unpoisoned").clear();
    world.answer(|_, _| Reply::Now(Err(Refusal::Closed)));
    assert_none(world.call(CART_1).await);
    assert_eq!(world.executed().len(), 1, "never again once it was delivered");
    true
}

async fn concurrent(world: World) -> Ran {
    for tab in [1, 2] {
        world.register(tab, SHOP, &json!([tool("getCart")])).await;
    }
    world.answer(|_, request| {
        let TabRequest::Execute { args, .. } = request else { return Reply::Never };
        let number = args.get("n").and_then(|it| it.u64()).expect("a number");
        let answer = json!({ "success": true, "payload": { "content": [{ "type": "text", "text": number.to_string() }] } });
        // The later they were asked, the sooner they answer.
        Reply::After(Duration::from_millis(100 - number), Ok(Raw::of(&answer)))
    });
    let (world, none) = (&world, &Events::none());
    let calls = (0..50_u64).map(|n| async move {
        let name = if n % 2 == 0 { CART_1 } else { CART_2 };
        let args = Raw::of(&json!({ "n": n }));
        let call = TabCall {
            person: world.person,
            name,
            args,
            source: None,
            abilities: Abilities::NONE,
            events: none,
        };
        let result = world.hub.call(call).await.expect("a result").to_value();
        assert_eq!(result["content"][0]["text"], json!(n.to_string()));
    });
    futures::future::join_all(calls).await;
    true
}

async fn on_a_fake(world: World) -> Ran {
    world.register(1, SHOP, &json!([tool("getCart")])).await;
    world.call(CART).await.expect("routed");
    world.answer(|_, _| Reply::Never);
    let started = Instant::now();
    let error = world.call(CART).await.expect_err("a timeout");
    assert_eq!((error.code(), started.elapsed()), ("call.timeout", Duration::from_secs(10)));
    // A report of the start, and progress, start the clock anew.
    let started = Instant::now();
    let reports = async {
        for _ in 0..3 {
            sleep(Duration::from_secs(8)).await;
            let request = world.hub.transport().sent.lock().expect("unpoisoned").last().expect("sent").1;
            world.event(TabEvent::Started { browser: world.browser.clone(), request }).await;
        }
    };
    let (result, ()) = tokio::join!(world.call(CART), reports);
    assert_eq!((result.expect_err("a timeout").code(), started.elapsed().as_secs()), ("call.timeout", 34));
    world.hub.transport().disconnect(&world.key(1));
    assert_eq!(world.hub.transport().disconnected.lock().expect("unpoisoned").len(), 1);
    world.event(TabEvent::Lost { browser: world.browser.clone() }).await;
    assert!(world.listed().is_empty());
    assert_none(world.call(CART).await);
    true
}

async fn elicit_clock(world: World) -> Ran {
    world.register(1, SHOP, &json!([tool("getCart")])).await;
    world.answer(|_, _| Reply::After(Duration::from_secs(95), Ok(ok())));
    let (events, mut heard) = Events::channel(Progress::Unwanted);
    let (reply, replied) = tokio::sync::oneshot::channel();
    let asking = async {
        sleep(Duration::from_secs(3)).await;
        let request = world.hub.transport().sent.lock().expect("unpoisoned").last().map(|it| it.1);
        let params = Raw::of(&json!({ "message": "Really?", "extensions": { "tabId": 1 } }));
        world.event(TabEvent::Asked { tab: world.key(1), request, params, reply }).await;
        let Some(Event::Ask(ask)) = heard.recv().await else { panic!("a question") };
        assert_eq!(ask.signed().get_text("message").as_deref(), Some("[example.com] Really?"));
        sleep(Duration::from_secs(90)).await;
        ask.reply.send(Ok(Raw::of(&json!({ "action": "accept" })))).expect("wanted");
        let answer = replied.await.expect("an answer").expect("no refusal");
        assert_eq!(answer.get_text("action").as_deref(), Some("accept"));
    };
    let call = world.call_with(CART_1, None, Abilities::FORM, &events);
    let (result, ()) = tokio::join!(call, asking);
    result.expect("no timeout");
    // Whoever asks without a running call is told so.
    let (reply, replied) = tokio::sync::oneshot::channel();
    world
        .event(TabEvent::Asked { tab: world.key(1), request: None, params: Raw::empty_object(), reply })
        .await;
    assert_eq!(replied.await.expect("an answer").expect_err("a refusal").code, -32600);
    true
}
