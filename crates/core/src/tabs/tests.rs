//! Tabs that sleep, tools that may take longer, and questions that only a person can answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
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
            "execute" => {
                sleep(self.takes).await;
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
    _noted: mpsc::UnboundedReceiver<Note>,
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
        let fake = Fake { events, heard, asked: Mutex::default(), takes };
        let seconds = |(whose, it): &(&str, u64)| ((*whose).to_owned(), Duration::from_secs(*it));
        let options = TabOptions {
            timeout: Duration::from_secs(10),
            relay_timeout: Duration::from_secs(10),
            timeouts: timeouts.iter().map(seconds).collect::<HashMap<_, _>>(),
            activate: true,
            allowed: Origins::Any,
            now: || 1,
            reports,
            notes,
        };
        let hub = TabHub::new(fake, options);
        task::spawn("tabs", hub.clone().follow());
        let (person, browser): (Uuid, Arc<str>) = (Uuid::now_v7(), "profile".into());
        let world = Self { hub, person, browser: browser.clone(), told, _noted: noted };
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
        let (args, events) = (Raw::empty_object(), Events::none());
        let abilities = Abilities::NONE;
        let call =
            TabCall { person: self.person, name: CART, args, source: None, abilities, events: &events };
        self.hub.call(call).await
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
