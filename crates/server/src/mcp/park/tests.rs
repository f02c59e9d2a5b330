//! The lot on a paused clock: what expires, and what is refused. That nothing is left behind shows in `leaks.rs`.

use tokio::sync::{mpsc, oneshot};
use tokio::time::advance;
use toolgrove_core::call::{Caller, Door, Role};
use toolgrove_core::event::{Event, Progress, Question};
use toolgrove_core::name::Profile;
use toolgrove_wire::{Abilities, Id};

use super::super::answer::ClientEra;
use super::super::answering::Answering;
use super::super::bed::app;
use super::super::stream::Frame;
use super::*;

fn client(app: &App) -> Client {
    client_of(app.gate.solo().expect("one person").clone())
}

fn client_of(caller: Arc<Caller>) -> Client {
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
    call_of(app, &client(app), rounds, witness)
}

fn call_of(
    app: &Arc<App>,
    client: &Client,
    rounds: usize,
    witness: &Arc<()>,
) -> (Running, mpsc::UnboundedReceiver<Seen>) {
    let (events, heard) = Events::channel(Progress::Unwanted);
    let parking = Parking::new(app, client, "tools/call", &params(), None, events.clone());
    let (tell, told) = mpsc::unbounded_channel();
    let alive = witness.clone();
    let answer = Answering::new(async move {
        let alive = alive;
        for round in 0..rounds {
            let (reply, answered) = oneshot::channel();
            events.send(Event::Ask(Ask {
                question: Question::Elicit,
                params: Raw::of(&json!({ "message": "?" })),
                key: Some(format!("k{round}")),
                server: "s".into(),
                permission: None,
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
        Ok(Raw::of(&json!({ "content": [] })).into())
    });
    let id = Id::number(1);
    let era = ClientEra::Modern;
    let asker = Asker::Park(Box::new(parking));
    let running = Running { id, era, progress_token: None, events: heard, answer, asker, visits: Vec::new() };
    (running, told)
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
async fn until_result(running: impl Into<Box<Running>>) -> Raw {
    match running.into().advance(Duration::from_secs(60)).await {
        (Frame::Final(Ok(result)), _) => result.raw(),
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
async fn a_caller_may_park_so_many() {
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
async fn all_callers_together_may_park_so_many_and_no_parked_call_makes_room() {
    let app = app().await;
    let witness = Arc::new(());
    let somebody = |it: usize| {
        client_of(Arc::new(Caller::person(Uuid::from_u128(it as u128), Role::Member, Profile::Double)))
    };
    for number in 0..IN_ALL {
        let (running, _) = call_of(&app, &somebody(number / PER_CALLER), 1, &witness);
        until_result(running).await;
    }
    let (running, mut told) = call(&app, 1, &witness);
    let result = until_result(running).await;
    assert!(result.get("content").is_some(), "{}", result.as_str());
    assert_eq!(told.recv().await, Some(Seen::Declined));
    assert_eq!((app.lot.lock().len(), Arc::strong_count(&witness)), (IN_ALL, IN_ALL + 1));
    advance(TTL + Duration::from_millis(5)).await;
    // As many clocks strike as calls were parked.
    for _ in 0..IN_ALL {
        if app.lot.lock().is_empty() {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!((app.lot.lock().len(), Arc::strong_count(&witness)), (0, 1));
}
