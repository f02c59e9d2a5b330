//! Tabs that sleep, tools that may take longer, and questions that only a person can answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};
use toolgrove_wire::{Abilities, Raw, RpcError};
use uuid::Uuid;

use super::wire::TabFacts;
use super::*;
use crate::event::{Events, Report};
use crate::task;

const SHOP: &str = "https://example.com/shop";
const CART: &str = "website_tool_example_com_getCart";

/// A browser that does what it is asked, and whose pages answer after a while.
struct Fake {
    events: mpsc::UnboundedSender<TabEvent>,
    heard: Mutex<Option<mpsc::UnboundedReceiver<TabEvent>>>,
    asked: Mutex<Vec<(&'static str, Uuid)>>,
    takes: Duration,
    /// How the next attempts in a tab end instead, and what the next tab that is opened registers.
    refuses: Mutex<Vec<Refusal>>,
    opens: Mutex<Option<Registration>>,
    /// The tabs that were asked to run something, and the addresses that were opened.
    ran: Mutex<Vec<i64>>,
    opened: Mutex<Vec<String>>,
}

impl TabTransport for Fake {
    async fn send_request(&self, tab: &TabKey, id: Uuid, request: TabRequest) -> Result<Raw, Refusal> {
        let word = match request {
            TabRequest::Execute { .. } => "execute",
            TabRequest::Open { .. } => "open",
            TabRequest::Reload => "reload",
            TabRequest::Activate => "activate",
            TabRequest::Close => "close",
        };
        self.asked.lock().unwrap().push((word, id));
        match word {
            "open" => {
                let TabRequest::Open { url } = request else { unreachable!() };
                self.opened.lock().unwrap().push(url);
                if let Some(registration) = self.opens.lock().unwrap().take() {
                    let tab = TabKey::new(&tab.browser, 9);
                    self.events.send(TabEvent::Registered { tab, registration }).unwrap();
                }
                Ok(Raw::of(&json!({ "tabId": 9 })))
            }
            "execute" => {
                self.ran.lock().unwrap().push(tab.tab);
                sleep(self.takes).await;
                if let Some(refusal) = self.refuses.lock().unwrap().pop() {
                    return Err(refusal);
                }
                Ok(Raw::of(&json!({ "success": true, "payload": { "content": [] } })))
            }
            "reload" => {
                let registered = TabEvent::Registered { tab: tab.clone(), registration: cart() };
                self.events.send(registered).unwrap();
                Ok(Raw::empty_object())
            }
            _ => Ok(Raw::empty_object()),
        }
    }

    fn events(&self) -> mpsc::UnboundedReceiver<TabEvent> {
        self.heard.lock().unwrap().take().unwrap()
    }

    fn disconnect(&self, _: &TabKey) {}
}

struct World {
    hub: Arc<TabHub<Fake>>,
    person: Uuid,
    browser: Arc<str>,
    told: mpsc::UnboundedReceiver<Report>,
    noted: mpsc::UnboundedReceiver<Note>,
}

fn cart() -> Registration {
    let tool = json!({ "name": "getCart", "inputSchema": {}, "annotations": { "cache": true } });
    Registration { url: Some(SHOP.into()), tools: vec![Raw::of(&tool)], ..Registration::default() }
}

impl World {
    async fn new(takes: Duration, timeouts: &[(&str, u64)]) -> Self {
        let (events, heard) = mpsc::unbounded_channel();
        let (reports, told) = mpsc::unbounded_channel();
        let (notes, noted) = mpsc::unbounded_channel();
        let heard = Mutex::new(Some(heard));
        let fake = Fake {
            events,
            heard,
            takes,
            asked: Mutex::default(),
            refuses: Mutex::default(),
            opens: Mutex::default(),
            ran: Mutex::default(),
            opened: Mutex::default(),
        };
        let seconds = |(whose, it): &(&str, u64)| ((*whose).to_owned(), Duration::from_secs(*it));
        let options = TabOptions {
            timeout: Duration::from_secs(10),
            relay_timeout: Duration::from_secs(10),
            timeouts: timeouts.iter().map(seconds).collect::<HashMap<_, _>>(),
            activate: true,
            allowed: Origins::of(&["https://example.com".into()]),
            now: || 1,
            reports,
            notes,
        };
        let hub = TabHub::new(fake, options);
        task::spawn("tabs", hub.clone().follow());
        let (person, browser): (Uuid, Arc<str>) = (Uuid::now_v7(), "profile".into());
        let world = Self { hub, person, browser: browser.clone(), told, noted };
        world
            .event(TabEvent::Connected {
                browser,
                person,
                kind: BrowserKind::Extension,
                label: String::new(),
            })
            .await;
        world.event(TabEvent::Registered { tab: world.key(), registration: cart() }).await;
        world
    }

    async fn event(&self, event: TabEvent) {
        self.hub.transport().events.send(event).unwrap();
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    fn key(&self) -> TabKey {
        TabKey::new(&self.browser, 1)
    }

    async fn report(&self, facts: TabFacts) {
        let tabs = vec![TabFacts { tab_id: 1, ..facts }];
        self.event(TabEvent::Tabs { browser: self.browser.clone(), tabs }).await;
    }

    async fn call(&self) -> Result<Raw, crate::Error> {
        self.call_with(CART, &json!({})).await
    }

    async fn call_with(&self, name: &str, args: &Value) -> Result<Raw, crate::Error> {
        let (args, events) = (Raw::of(args), Events::none());
        let abilities = Abilities::NONE;
        let call = TabCall { person: self.person, name, args, source: None, abilities, events: &events };
        self.hub.call(call).await
    }

    async fn register(&self, tab: i64, registration: Registration) {
        self.event(TabEvent::Registered { tab: TabKey::new(&self.browser, tab), registration }).await;
    }

    fn asked(&self) -> Vec<&'static str> {
        self.hub.transport().asked.lock().unwrap().iter().map(|it| it.0).collect()
    }

    /// The page asks on behalf of the call that runs.
    async fn ask(&self) -> oneshot::Receiver<Result<Raw, RpcError>> {
        let (reply, replied) = oneshot::channel();
        let request = self.hub.transport().asked.lock().unwrap().last().map(|it| it.1);
        let params = Raw::of(&json!({ "message": "Really?" }));
        self.event(TabEvent::Asked { tab: self.key(), request, params, reply }).await;
        replied
    }
}

async fn action(replied: oneshot::Receiver<Result<Raw, RpcError>>) -> String {
    replied.await.unwrap().unwrap().get_text("action").unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_discarded_tab_is_loaded_again_and_no_other_is_opened() {
    let world = World::new(Duration::ZERO, &[]).await;
    world.event(TabEvent::Left { tab: world.key(), document: None }).await;
    world.report(TabFacts { discarded: true, ..TabFacts::default() }).await;
    world.call().await.unwrap();
    assert_eq!(world.asked(), ["reload", "execute"]);
}

#[tokio::test(start_paused = true)]
async fn a_frozen_tab_is_brought_to_the_front_once() {
    let world = World::new(Duration::ZERO, &[]).await;
    world.report(TabFacts { frozen: true, ..TabFacts::default() }).await;
    world.call().await.unwrap();
    assert_eq!(world.asked(), ["activate", "execute"]);
    world.report(TabFacts::default()).await;
    world.call().await.unwrap();
    assert_eq!(world.asked(), ["activate", "execute", "execute"]);
}

#[tokio::test(start_paused = true)]
async fn a_domain_or_a_tool_may_be_given_more_time_and_the_tool_counts_more() {
    for (timeouts, after) in [
        (&[][..], Some(10)),
        (&[("example.com", 15)], Some(15)),
        (&[("example.com", 15), ("example.com/getCart", 20)], Some(20)),
        (&[("example.com/getCart", 40)], None),
        (&[("example.com/other", 40), ("example.org", 40)], Some(10)),
    ] {
        let world = World::new(Duration::from_secs(30), timeouts).await;
        let started = Instant::now();
        let result = world.call().await;
        match after {
            Some(seconds) => {
                assert_eq!(result.unwrap_err().code(), "call.timeout");
                assert_eq!(started.elapsed().as_secs(), seconds, "{timeouts:?}");
            }
            None => assert!(result.is_ok(), "{timeouts:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_the_client_cannot_be_asked_waits_for_the_person_and_stops_the_clock() {
    let world = World::new(Duration::from_secs(60), &[]).await;
    let person = async {
        let replied = world.ask().await;
        let questions = world.hub.questions(world.person);
        let [question] = &questions[..] else { panic!("one question: {questions:?}") };
        assert_eq!((question.domain.as_str(), question.message.as_str()), ("example.com", "Really?"));
        assert!(world.hub.questions(Uuid::now_v7()).is_empty());
        sleep(Duration::from_secs(59)).await;
        let accept = Raw::of(&json!({ "action": "accept" }));
        assert!(!world.hub.answer(Uuid::now_v7(), question.id, accept.clone()), "somebody else's");
        assert!(world.hub.answer(world.person, question.id, accept.clone()));
        assert!(!world.hub.answer(world.person, question.id, accept), "once");
        assert_eq!(action(replied).await, "accept");
    };
    let (result, ()) = tokio::join!(world.call(), person);
    result.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_is_cancelled_after_two_minutes() {
    let world = World::new(Duration::from_secs(125), &[]).await;
    let waiting = async {
        let started = Instant::now();
        assert_eq!(action(world.ask().await).await, "cancel");
        assert_eq!(started.elapsed().as_secs(), 120);
        assert!(world.hub.questions(world.person).is_empty());
    };
    let (result, ()) = tokio::join!(world.call(), waiting);
    result.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_its_call() {
    let world = World::new(Duration::from_secs(60), &[]).await;
    let leaving = async {
        let replied = world.ask().await;
        world.event(TabEvent::Left { tab: world.key(), document: None }).await;
        assert_eq!(action(replied).await, "cancel");
        assert!(world.hub.questions(world.person).is_empty());
    };
    let (result, ()) = tokio::join!(world.call(), leaving);
    assert_eq!(result.unwrap_err().code(), "tab.none");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_was_read_between_two_changes_is_told_again() {
    let mut world = World::new(Duration::ZERO, &[]).await;
    world.hub.introduce(world.person, Uuid::now_v7());
    sleep(Duration::from_secs(1)).await;
    assert!(world.told.try_recv().is_ok());
    world.event(TabEvent::Left { tab: world.key(), document: None }).await;
    // Somebody did not find a name and reads the list before the change is told.
    world.hub.hand_out(world.person);
    world.event(TabEvent::Registered { tab: world.key(), registration: cart() }).await;
    sleep(Duration::from_secs(1)).await;
    assert!(world.told.try_recv().is_ok(), "the catalogue has the list without the tab");
}

fn offers(tool: &Value) -> Registration {
    Registration { url: Some(SHOP.into()), tools: vec![Raw::of(tool)], ..Registration::default() }
}

fn reads(annotations: &Value) -> Registration {
    offers(&json!({ "name": "getCart", "inputSchema": {}, "annotations": annotations }))
}

#[tokio::test(start_paused = true)]
async fn what_did_not_begin_or_does_no_harm_goes_once_to_another_tab_or_one_that_is_opened() {
    let (reads_only, acts) = (json!({ "readOnlyHint": true }), json!({}));
    let undelivered = [(); 4].map(|()| Refusal::Absent).to_vec();
    let closed = || vec![Refusal::Closed];
    // What it says of itself, how its tab fails, whether another has it, where it runs, and whether that ends well.
    for (annotations, fails, has_other, ran, ends) in [
        (&reads_only, closed(), true, &[1, 2][..], Ok(())),
        (&json!({ "idempotentHint": true }), closed(), true, &[1, 2], Ok(())),
        (&reads_only, closed(), false, &[1, 9], Ok(())),
        (&reads_only, vec![Refusal::Closed, Refusal::Closed], true, &[1, 2], Err("TabClosed")),
        (&acts, closed(), true, &[1], Err("TabClosed")),
        (&acts, undelivered.clone(), true, &[1, 1, 1, 1, 2], Ok(())),
        (&acts, undelivered, false, &[1, 1, 1, 1, 9], Ok(())),
    ] {
        let world = World::new(Duration::ZERO, &[]).await;
        world.hub.with(world.person, |it| it.forget(CART));
        if has_other {
            world.register(2, reads(annotations)).await;
        }
        world.register(1, Registration { active: Some(true), ..reads(annotations) }).await;
        let fake = world.hub.transport();
        *fake.refuses.lock().unwrap() = fails.clone();
        *fake.opens.lock().unwrap() = Some(reads(annotations));
        let result = world.call().await.map(|_| ()).map_err(|it| match it {
            crate::Error::TabNone { reason, .. } => reason.unwrap_or_default(),
            other => panic!("{other}"),
        });
        let what = format!("{annotations} {fails:?} {has_other}");
        assert_eq!((&fake.ran.lock().unwrap()[..], result), (ran, ends), "{what}");
        let opened: &[&str] = if ran.contains(&9) { &["https://example.com"] } else { &[] };
        assert_eq!(*fake.opened.lock().unwrap(), opened, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_private_window_is_written_down_remembered_or_done_elsewhere() {
    let mut world = World::new(Duration::ZERO, &[]).await;
    world.event(TabEvent::Removed { tab: world.key() }).await;
    world.hub.with(world.person, |it| it.forget(CART));
    while world.noted.try_recv().is_ok() {}
    let private = reads(&json!({ "cache": true, "readOnlyHint": true }));
    world.register(3, Registration { incognito: true, ..private }).await;
    world.call().await.unwrap();
    world.event(TabEvent::Left { tab: TabKey::new(&world.browser, 3), document: None }).await;
    world.register(3, Registration { incognito: true, ..reads(&json!({ "readOnlyHint": true })) }).await;
    world.hub.transport().refuses.lock().unwrap().push(Refusal::Closed);
    world.call().await.unwrap_err();
    assert!(world.hub.transport().opened.lock().unwrap().is_empty());
    while let Ok(note) = world.noted.try_recv() {
        match note {
            Note::Log { tab, event, .. } => panic!("{event} of tab {tab} is logged"),
            Note::Table { tabs, cached, .. } => assert!(tabs.is_empty() && cached.is_empty()),
            Note::Touched { .. } => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_is_opened_by_its_address_if_its_origin_is_allowed_and_tools_are_listed_by_tab_and_domain() {
    let world = World::new(Duration::ZERO, &[]).await;
    let fake = world.hub.transport();
    let wishes = offers(&json!({ "name": "wish", "inputSchema": {} }));
    *fake.opens.lock().unwrap() = Some(wishes);
    let opened = world.call_with("browser_open_tab", &json!({ "url": "https://example.com/wishes" })).await;
    let opened = opened.unwrap().to_value()["structuredContent"].clone();
    assert_eq!(*fake.opened.lock().unwrap(), ["https://example.com/wishes"]);
    let name = "website_tool_example_com_tab2_wish";
    assert_eq!((&opened["tab"], &opened["tools"][0]["name"]), (&json!(2), &json!(name)), "{opened}");

    let refused = world.call_with("browser_open_tab", &json!({ "url": "https://example.org/" })).await;
    let refused = refused.unwrap().to_value();
    assert_eq!(
        (&refused["isError"], &refused["content"][0]["text"]),
        (&json!(true), &json!("`https://example.org` is not among `tabs.allowed_origins`"))
    );
    assert_eq!(fake.opened.lock().unwrap().len(), 1);

    for (args, tabs, remembered) in [
        (json!({}), &[1, 2][..], 1),
        (json!({ "tab": 2 }), &[2], 0),
        (json!({ "domain": "example.com" }), &[1, 2], 1),
        (json!({ "domain": "example.org" }), &[], 0),
    ] {
        let listed = world.call_with("browser_list_tools", &args).await.unwrap().to_value();
        let listed = &listed["structuredContent"];
        let mut found: Vec<_> =
            listed["tabs"].as_array().unwrap().iter().map(|it| it["tab"].as_u64().unwrap()).collect();
        found.sort_unstable();
        assert_eq!(found, tabs, "{args}");
        assert_eq!(listed["remembered"].as_array().unwrap().len(), remembered, "{args}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_remembered_tool_that_its_page_no_longer_has_is_forgotten() {
    let world = World::new(Duration::ZERO, &[]).await;
    world.event(TabEvent::Removed { tab: world.key() }).await;
    *world.hub.transport().opens.lock().unwrap() =
        Some(offers(&json!({ "name": "wish", "inputSchema": {} })));
    assert_eq!(world.call().await.unwrap_err().code(), "tab.none");
    assert_eq!(*world.hub.transport().opened.lock().unwrap(), [SHOP]);
    assert!(world.hub.list(world.person).iter().all(|it| it.name != CART));
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_takes_the_place_of_another_has_its_number_and_the_window_in_front_is_called() {
    let world = World::new(Duration::ZERO, &[]).await;
    let in_window = |window| Registration { window: Some(window), active: Some(true), ..cart() };
    world.register(1, in_window(10)).await;
    world.register(2, in_window(20)).await;
    for (window, tab) in [(10, 1), (20, 2)] {
        world.event(TabEvent::Focused { browser: world.browser.clone(), window }).await;
        world.call().await.unwrap();
        assert_eq!(world.hub.transport().ran.lock().unwrap().last(), Some(&tab));
    }
    world.event(TabEvent::Replaced { tab: TabKey::new(&world.browser, 7), old: 2 }).await;
    world.register(7, in_window(20)).await;
    let slots: Vec<_> = world.hub.tabs(world.person).iter().map(|it| (it.key.tab, it.slot)).collect();
    assert!(slots.contains(&(7, 2)) && slots.contains(&(1, 1)) && slots.len() == 2, "{slots:?}");
}

#[test]
fn a_page_may_say_so_much_of_itself_and_its_hints_become_those_of_mcp() {
    let read = |tool: &Value| PageTool::read(&Raw::of(tool));
    let of = |name: &str, more: &Value| {
        let mut tool = json!({ "name": name, "inputSchema": {} });
        tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tool
    };
    let long = "d".repeat(9_000);
    assert_eq!(read(&of("a", &json!({ "description": long }))).unwrap().description.len(), 8 * 1024);
    assert_eq!(read(&of("a", &json!({ "description": "a\u{202e}b\u{7}c" }))).unwrap().description, "abc");
    let wide = json!({ "inputSchema": { "title": "x".repeat(64 * 1024) } });
    assert!(read(&of("a", &wide)).unwrap_err().contains("larger than 64 KiB"));
    for name in ["", "a\u{202e}b", &"n".repeat(129)] {
        assert!(read(&of(name, &json!({}))).is_err(), "{name}");
    }
    let many: Vec<_> = (0..300).map(|it| Raw::of(&of(&format!("t{it}"), &json!({})))).collect();
    let (tools, problems) = PageTool::read_all(&many);
    assert_eq!((tools.len(), problems.len()), (256, 44));

    let hinted = |hint: &str| read(&of("a", &json!({ "annotations": { hint: true } }))).unwrap();
    assert_eq!(hinted("consequentialHint").raw.to_value()["annotations"]["destructiveHint"], true);
    let untrusted = hinted("untrustedContentHint");
    assert!(untrusted.untrusted);
    assert_eq!(untrusted.raw.to_value()["_meta"]["dev.toolgrove/untrusted"], true);
    assert!(hinted("debugging").debugging && !hinted("readOnlyHint").debugging);
}

#[tokio::test(start_paused = true)]
async fn a_tool_with_a_new_schema_keeps_its_name_and_is_told_once_and_not_again_without_a_change() {
    let mut world = World::new(Duration::ZERO, &[]).await;
    world.hub.introduce(world.person, Uuid::now_v7());
    sleep(Duration::from_secs(1)).await;
    while world.told.try_recv().is_ok() {}
    let with = |kind: &str| offers(&json!({ "name": "getCart", "inputSchema": { "type": kind } }));
    let schema = |world: &World| {
        let list = world.hub.list(world.person);
        let tool = list.iter().find(|it| it.name == "website_tool_example_com_tab1_getCart").unwrap();
        tool.raw.to_value()["inputSchema"]["type"].clone()
    };
    for (kind, told) in [("object", 1), ("object", 0), ("array", 1)] {
        world.register(1, with(kind)).await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(schema(&world), kind);
        let mut reports = 0;
        while world.told.try_recv().is_ok() {
            reports += 1;
        }
        assert_eq!(reports, told, "{kind}");
    }
}
