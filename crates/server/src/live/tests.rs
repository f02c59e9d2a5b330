//! Who hears of what, in which order, and what a slow listener misses.

use serde_json::{Value, json};
use toolgrove_core::call::Role;
use toolgrove_core::name::Profile;

use super::*;

fn person(number: u128) -> Arc<Caller> {
    Arc::new(Caller::person(Uuid::from_u128(number), Role::Member, Profile::Double))
}

/// A token of that person that was granted these instances.
fn token(number: u128, grants: &[Uuid]) -> Arc<Caller> {
    let grants = Some(Arc::new(grants.iter().copied().collect()));
    Arc::new(Caller { token: Some(Uuid::from_u128(99)), grants, ..Caller::clone(&person(number)) })
}

fn progress(number: u32) -> LiveEvent {
    LiveEvent::Progress { id: Uuid::nil(), ms: 1.0, progress: number.into(), total: None, message: None }
}

/// What is there for a listener now.
async fn all(listener: &mut Listener) -> Vec<Value> {
    let mut all = Vec::new();
    while let Ok(heard) = tokio::time::timeout(Duration::from_millis(1), listener.next()).await {
        all.push(match heard {
            Heard::Frame(frame) => {
                let text = String::from_utf8(frame.to_vec()).unwrap();
                serde_json::from_str(text.strip_prefix("data: ").unwrap()).unwrap()
            }
            Heard::Lag => "lag".into(),
        });
    }
    all
}

#[tokio::test(start_paused = true)]
async fn nobody_hears_of_anybody_else() {
    let live = Arc::new(Live::default());
    let (mut owner, mut stranger) = (live.listen(person(1)), live.listen(person(2)));
    live.tell_call(Uuid::from_u128(1), None, &progress(1));
    live.tell(Uuid::from_u128(1), About::Everything, &LiveEvent::Registry { rows: Raw::empty_object() });
    live.meet(Uuid::from_u128(1), None);
    assert_eq!(all(&mut owner).await.len(), 3);
    assert_eq!(all(&mut stranger).await, [] as [Value; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_token_hears_of_what_it_was_granted_and_of_its_own_calls() {
    let live = Arc::new(Live::default());
    let (granted, other) = (Uuid::from_u128(5), Uuid::from_u128(6));
    let mut listener = live.listen(token(1, &[granted]));
    let me = Uuid::from_u128(1);
    for id in [other, granted] {
        live.tell(me, About::Instance(id), &LiveEvent::InstanceRemoved { id });
    }
    live.tell(me, About::Everything, &LiveEvent::Registry { rows: Raw::empty_object() });
    live.tell_call(me, None, &progress(1));
    live.tell_call(me, Some(Uuid::from_u128(98)), &progress(2));
    live.tell_call(me, Some(Uuid::from_u128(99)), &progress(3));
    let heard = all(&mut listener).await;
    assert_eq!(heard[0], json!({ "type": "instance_removed", "id": granted }));
    assert_eq!(heard[1]["progress"], json!(3.0));
    assert_eq!(heard.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_told_once_and_goes_on_with_the_newest() {
    let live = Arc::new(Live::default());
    let mut slow = live.listen(person(1));
    for number in 0..1000 {
        live.tell_call(Uuid::from_u128(1), None, &progress(number));
    }
    let heard = all(&mut slow).await;
    assert_eq!(heard[0], "lag");
    assert_eq!(heard.len(), LINE + 1);
    assert_eq!(heard[LINE]["progress"], json!(999.0));
}

#[tokio::test(start_paused = true)]
async fn a_line_ends_with_its_last_listener() {
    let live = Arc::new(Live::default());
    let me = Uuid::from_u128(1);
    assert!(!live.is_watched(me));
    let (first, second) = (live.listen(person(1)), live.listen(person(1)));
    assert!(live.is_watched(me) && !live.is_watched(Uuid::from_u128(2)));
    drop(first);
    assert!(live.is_watched(me));
    drop(second);
    assert!(!live.is_watched(me) && lock(&live.lines).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_client_is_announced_once() {
    let live = Arc::new(Live::default());
    let mut listener = live.listen(person(1));
    let name: Arc<str> = "cursor".into();
    for _ in 0..3 {
        live.meet(Uuid::from_u128(1), Some(&name));
    }
    assert_eq!(all(&mut listener).await, [json!({ "type": "client", "name": "cursor" })]);
    assert!(live.has_met(Uuid::from_u128(1)) && !live.has_met(Uuid::from_u128(2)));
}
