//! The clock of a call, frozen, and what finds its way to whom.

use tokio::time::{advance, timeout};
use toolgrove_core::event::{Event, Events, Progress};
use toolgrove_wire::Draft;

use super::*;
use crate::context::tests::context;

const SECOND: Duration = Duration::from_secs(1);

fn ask<'a>(params: &'a Draft, events: &'a Events) -> Ask<'a> {
    let own = Ask::own("tools/call", params, SECOND, Leaving::Cancel);
    Ask { events, log_level: Some("info"), ..own }
}

fn say(mux: &Mux, text: &'static str) {
    mux.receive(&Raw::parse(text).expect("JSON")).expect("a message");
}

async fn sent(outbox: &mut mpsc::Receiver<Outbound>) -> String {
    let outbound = timeout(SECOND, outbox.recv()).await.expect("something").expect("open");
    String::from_utf8(outbound.body.to_vec()).expect("text")
}

#[tokio::test(start_paused = true)]
async fn progress_restarts_the_clock_and_silence_runs_it_down() {
    let (mux, mut outbox) = Mux::new(context(), Abilities::NONE);
    let (params, (events, mut heard)) = (Raw::empty_object().into(), Events::channel(Progress::Wanted));
    let request = ask(&params, &events);
    let call = mux.ask(&Speech::Legacy, &request);
    tokio::pin!(call);
    assert!(futures::poll!(&mut call).is_pending());
    for _ in 0..3 {
        advance(SECOND * 9 / 10).await;
        say(
            &mux,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
        );
        assert!(futures::poll!(&mut call).is_pending());
        assert!(matches!(heard.try_recv(), Some(Event::Progress(_))));
    }
    advance(SECOND).await;
    let error = call.await.expect_err("silence").into_error();
    assert_eq!(error.to_string(), "`s` did not answer within 1000 ms");
    assert!(sent(&mut outbox).await.contains("tools/call"));
    let told = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"the call timed out"}}"#;
    assert_eq!(sent(&mut outbox).await, told);
    // The late answer finds nobody and hurts nobody.
    say(&mux, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}

#[tokio::test(start_paused = true)]
async fn a_log_message_goes_to_the_only_call_and_to_nobody_when_there_are_two() {
    let (mux, _outbox) = Mux::new(context(), Abilities::NONE);
    let (params, (events, mut heard)) = (Raw::empty_object().into(), Events::channel(Progress::Wanted));
    let message = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error"}}"#;
    let first = mux.enter(&ask(&params, &events)).expect("open");
    say(&mux, message);
    assert!(heard.try_recv().is_some());
    let second = mux.enter(&ask(&params, &events)).expect("open");
    say(&mux, message);
    assert!(heard.try_recv().is_none());
    drop((first, second));
}

#[tokio::test(start_paused = true)]
async fn an_end_fails_who_waits_as_lost_and_who_comes_later_as_not_taken() {
    let (mux, _outbox) = Mux::new(context(), Abilities::NONE);
    let (params, events) = (Raw::empty_object().into(), Events::none());
    let request = ask(&params, &events);
    let call = mux.ask(&Speech::Legacy, &request);
    tokio::pin!(call);
    assert!(futures::poll!(&mut call).is_pending());
    assert!(mux.end(&mux.context.unreachable("gone")));
    assert!(!mux.end(&mux.context.unreachable("again")));
    assert!(matches!(call.await, Err(Failure::Lost(_))));
    let late = mux.ask(&Speech::Legacy, &request).await.expect_err("closed");
    assert!(matches!(&late, Failure::Untaken(_)));
    assert_eq!(late.into_error().to_string(), "cannot reach `s`: gone");
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_taken_apart() {
    let (mux, _outbox) = Mux::new(context(), Abilities::NONE);
    let (params, events) = (Raw::empty_object().into(), Events::none());
    let request = ask(&params, &events);
    let first = mux.ask(&Speech::Legacy, &request);
    let second = mux.ask(&Speech::Legacy, &request);
    tokio::pin!(first, second);
    assert!(futures::poll!(&mut first).is_pending());
    assert!(futures::poll!(&mut second).is_pending());
    say(&mux, r#"[{"jsonrpc":"2.0","id":2,"result":{"n":2}},{"jsonrpc":"2.0","id":1,"result":{"n":1}}]"#);
    assert_eq!(first.await.expect("a result").as_str(), r#"{"n":1}"#);
    assert_eq!(second.await.expect("a result").as_str(), r#"{"n":2}"#);
}
