//! The lot on a paused clock: what expires, what is left behind, and that it is nothing.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;

use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::sync::{mpsc, oneshot};
use tokio::time::advance;
use toolgrove_core::Config;
use toolgrove_core::call::{Caller, Door, Role};
use toolgrove_core::event::{Event, Progress, Question};
use toolgrove_core::hub::Hub;
use toolgrove_core::name::Profile;
use toolgrove_core::secret::Secret;
use toolgrove_store::{SecretBox, Store};
use toolgrove_upstream::{Pool, PoolOptions, ShepherdCommand};
use toolgrove_wire::modern::Implementation;
use toolgrove_wire::{Abilities, Id};

use super::super::answer::ClientEra;
use super::super::stream::Frame;
use super::*;
use crate::{Gate, Memory};

thread_local! {
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// A wall clock that goes with the paused one.
fn now() -> i64 {
    let began = BEGAN.get().unwrap_or_else(Instant::now);
    BEGAN.set(Some(began));
    1_000_000_000_000 + began.elapsed().as_millis() as i64
}

/// A hub without servers, whose clock stands still.
async fn app() -> Arc<App> {
    let store = Store::open("sqlite::memory:", SecretBox::in_memory()).await.expect("a store in memory");
    let solo = store.solo_person().await.expect("a person");
    let config = Config::parse("", |_| None).expect("the defaults");
    let pool = Pool::new(PoolOptions {
        shepherd: ShepherdCommand { program: "none".into(), args: Vec::new() },
        client: Implementation { name: "toolgrove".into(), version: "0".into() },
        body_limit: 1024,
        idle: Duration::from_secs(300),
        reports: mpsc::unbounded_channel().0,
        tokens: None,
        now,
        guard: toolgrove_core::net::Guard::Open,
    });
    let owner = Caller::person(solo.person_id, Role::Admin, Profile::Double);
    let gate = Gate::new(Secret::new("key"), Some(owner), 0, &config);
    let app = Arc::new(App {
        hub: Arc::new(Hub::new(pool, Memory::start(&store, Arc::default()), now, config.capabilities)),
        gate,
        keyring: crate::connect::Keyring::new(store.clone(), now, crate::connect::Replicas::Alone),
        sessions: crate::mcp::session::Sessions::default(),
        streams: crate::mcp::sse::Streams::default(),
        live: Arc::default(),
        shelf: crate::api::registry::Shelf::default(),
        lot: Lot::new(Seal::new([("k".to_owned(), [7; 32])])),
        server_info: Raw::empty_object(),
        metrics: PrometheusBuilder::new().build_recorder().handle(),
        env: |_| None,
        started: AtomicBool::new(false),
        store,
        config,
    });
    tokio::time::pause();
    app
}

fn client(app: &App) -> Client {
    let caller: Arc<Caller> = app.gate.solo().expect("one person").clone();
    Client {
        caller,
        view: View::All,
        era: ClientEra::Modern,
        door: Door::Mcp,
        chat: "c".into(),
        log_level: None,
        abilities: Abilities::FORM,
        name: None,
    }
}

fn params() -> Raw {
    Raw::of(&json!({ "name": "t", "arguments": {} }))
}

/// What a scripted server saw of its call.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Answered(String),
    Declined,
}

/// A call whose server asks so often, one question at a time, and remembers what it was told.
fn call(app: &Arc<App>, rounds: usize, witness: &Arc<()>) -> (Running, mpsc::UnboundedReceiver<Seen>) {
    let (events, heard) = Events::channel(Progress::Unwanted);
    let parking = Parking::new(app, &client(app), "tools/call", &params(), None, events.clone());
    let (tell, told) = mpsc::unbounded_channel();
    let alive = witness.clone();
    let answer = Box::pin(async move {
        let alive = alive;
        for round in 0..rounds {
            let (reply, answered) = oneshot::channel();
            events.send(Event::Ask(Ask {
                question: Question::Elicit,
                params: Raw::of(&json!({ "message": "?" })),
                key: Some(format!("k{round}")),
                server: "s".into(),
                reply,
            }));
            let waiting = Waiting { tell: tell.clone(), answered: false };
            let seen = match answered.await {
                Ok(Ok(answer)) => Seen::Answered(answer.get_text("action").unwrap_or_default()),
                _ => Seen::Declined,
            };
            waiting.done(seen);
        }
        drop(alive);
        Ok(Raw::of(&json!({ "content": [] })))
    });
    let id = Id::number(1);
    let era = ClientEra::Modern;
    let asker = Asker::Park(Box::new(parking));
    (Running { id, era, progress_token: None, events: heard, answer, asker, visits: Vec::new() }, told)
}

/// A call that is dropped while it waits has been declined.
struct Waiting {
    tell: mpsc::UnboundedSender<Seen>,
    answered: bool,
}

impl Waiting {
    fn done(mut self, seen: Seen) {
        self.answered = true;
        let _ = self.tell.send(seen);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.answered {
            let _ = self.tell.send(Seen::Declined);
        }
    }
}

/// Runs a call until its client gets something, which must be a result.
async fn until_result(running: Running) -> Raw {
    match running.advance(Duration::from_secs(60)).await {
        (Frame::Final(Ok(result)), _) => result,
        (Frame::Final(Err(failure)), _) => panic!("{failure:?}"),
        _ => panic!("no result"),
    }
}

/// The retry of a call that was parked with this result.
fn again(app: &App, parked: &Raw, key: &str) -> Result<Running, Failure> {
    let binding = Binding::of(&client(app), "tools/call", &params());
    let answers = Raw::of(&json!({ key: { "action": "accept" } }));
    let state = parked.get("requestState").expect("a state");
    match returned(app, &binding, &state, Some(&answers))? {
        Returned::Parked(resumed) => match resumed.answer(Id::number(2), None, Some(&answers)) {
            Go::On(running) => Ok(*running),
            Go::AskAgain(_) => panic!("everything was answered"),
        },
        Returned::Relay(_) => panic!("this is nobody else's state"),
    }
}

#[track_caller]
fn check_reason(failed: Result<Running, Failure>, reason: &str) {
    let Err(failure) = failed else { panic!("it went on") };
    let said = failure.rpc.data.and_then(|it| it.get_text("reason"));
    assert_eq!((failure.rpc.code, said.as_deref()), (INVALID_PARAMS, Some(reason)));
}

#[tokio::test]
async fn a_state_is_good_for_ten_minutes_and_then_the_call_is_declined_and_dropped() {
    let app = app().await;
    let witness = Arc::new(());
    let (running, mut told) = call(&app, 1, &witness);
    let parked = until_result(running).await;
    advance(TTL.checked_sub(Duration::from_secs(1)).expect("more than a second")).await;
    assert_eq!(app.lot.count(app.gate.solo().expect("one person")), 1);
    let result = until_result(again(&app, &parked, "k0").unwrap_or_else(|it| panic!("{it:?}"))).await;
    assert_eq!(result.get("content").map(|it| it.as_str().to_owned()).as_deref(), Some("[]"));
    assert_eq!(told.recv().await, Some(Seen::Answered("accept".into())));

    let (running, mut told) = call(&app, 1, &witness);
    let parked = until_result(running).await;
    advance(TTL + Duration::from_millis(5)).await;
    assert_eq!(told.recv().await, Some(Seen::Declined));
    assert_eq!(app.lot.count(app.gate.solo().expect("one person")), 0);
    assert_eq!(Arc::strong_count(&witness), 1);
    check_reason(again(&app, &parked, "k0"), "expired");
}

#[tokio::test]
async fn every_round_has_ten_minutes_of_its_own_and_the_call_has_an_hour() {
    let app = app().await;
    let witness = Arc::new(());
    let (running, mut told) = call(&app, 9, &witness);
    let mut result = until_result(running).await;
    let mut rounds = 0;
    while result.get_text("resultType").as_deref() == Some("input_required") {
        advance(Duration::from_secs(9 * 60)).await;
        let running = again(&app, &result, &format!("k{rounds}")).unwrap_or_else(|it| panic!("{it:?}"));
        result = until_result(running).await;
        rounds += 1;
    }
    // After 63 minutes nobody is asked any more.
    assert_eq!(rounds, 7);
    for _ in 0..7 {
        assert_eq!(told.recv().await, Some(Seen::Answered("accept".into())));
    }
    assert_eq!(told.recv().await, Some(Seen::Declined));
    assert_eq!(app.lot.count(app.gate.solo().expect("one person")), 0);
}

#[tokio::test]
async fn a_caller_may_park_so_many_and_a_replica_so_many() {
    let app = app().await;
    let witness = Arc::new(());
    for _ in 0..PER_CALLER {
        let (running, _) = call(&app, 1, &witness);
        until_result(running).await;
    }
    assert_eq!(app.lot.count(app.gate.solo().expect("one person")), PER_CALLER);
    let (running, mut told) = call(&app, 1, &witness);
    let result = until_result(running).await;
    assert!(result.get("content").is_some(), "{}", result.as_str());
    assert_eq!(told.recv().await, Some(Seen::Declined));
    assert_eq!(app.lot.count(app.gate.solo().expect("one person")), PER_CALLER);
    advance(TTL + Duration::from_millis(5)).await;
    tokio::task::yield_now().await;
    assert_eq!((app.lot.count(app.gate.solo().expect("one person")), Arc::strong_count(&witness)), (0, 1));
}

#[tokio::test]
async fn ten_thousand_rounds_leave_nothing_behind() {
    let app = app().await;
    let witness = Arc::new(());
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = (tasks(), Arc::strong_count(&app));
    for round in 0..10_000 {
        let (running, mut told) = call(&app, 1 + round % 2, &witness);
        let parked = until_result(running).await;
        match round % 4 {
            // Answered to its end.
            0 | 1 => {
                let mut result = parked;
                for key in ["k0", "k1"].iter().take(1 + round % 2) {
                    result =
                        until_result(again(&app, &result, key).unwrap_or_else(|it| panic!("{it:?}"))).await;
                }
                assert!(result.get("content").is_some(), "{}", result.as_str());
                assert_eq!(told.recv().await, Some(Seen::Answered("accept".into())));
            }
            // Never come back to.
            2 => {
                advance(TTL + Duration::from_millis(5)).await;
                assert_eq!(told.recv().await, Some(Seen::Declined));
                check_reason(again(&app, &parked, "k0"), "expired");
            }
            // Come back to, and then the client closes its stream before the end.
            _ => {
                drop(again(&app, &parked, "k0"));
                assert_eq!(told.recv().await, Some(Seen::Declined));
                check_reason(again(&app, &parked, "k0"), "consumed");
            }
        }
        assert_eq!(app.lot.count(app.gate.solo().expect("one person")), 0, "round {round}");
    }
    // Aborted tasks are gone once the runtime has seen them.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(Arc::strong_count(&witness), 1);
    assert_eq!(Arc::strong_count(&app), before.1);
    assert!(tasks() <= before.0, "{} tasks, {} before", tasks(), before.0);
}
