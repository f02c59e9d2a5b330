//! Where the time of a call went, and what is asked of the log.

use toolgrove_core::Timeline;

use super::*;

fn record(ms: f64, timeline: Timeline) -> CallRecord {
    CallRecord {
        id: Uuid::nil(),
        parent_id: None,
        person_id: Uuid::nil(),
        token_id: None,
        chat_id: None,
        door: "mcp".into(),
        method: "tools/call".into(),
        instance_id: None,
        tool: "t".into(),
        depth: 0,
        started_at: 0,
        ms,
        outcome: CallEnd::Done,
        error_code: None,
        bytes: 0,
        client: None,
        timeline,
    }
}

#[track_caller]
fn check(ms: f64, timeline: Timeline, expected: &[(PartName, f64, f64)]) {
    let found: Vec<_> =
        parts(&record(ms, timeline)).into_iter().map(|it| (it.name, it.start_ms, it.ms)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_call_is_cut_where_it_was_checked_and_where_its_link_was_there() {
    use PartName::{Link, Policy, Queue, Server};
    let whole =
        Timeline { checked: Some(500), queued: Some(1000), linked: Some(4500), ..Timeline::default() };
    check(
        10.0,
        whole.clone(),
        &[(Policy, 0.0, 0.5), (Queue, 0.5, 1.0), (Link, 1.5, 3.0), (Server, 4.5, 5.5)],
    );
    check(
        10.0,
        Timeline { queued: None, ..whole },
        &[(Policy, 0.0, 0.5), (Link, 0.5, 4.0), (Server, 4.5, 5.5)],
    );
}

#[test]
fn a_call_that_ended_early_has_no_later_parts() {
    use PartName::{Link, Policy};
    check(2.0, Timeline::default(), &[(Policy, 0.0, 2.0)]);
    let unlinked = Timeline { checked: Some(500), ..Timeline::default() };
    check(2.0, unlinked, &[(Policy, 0.0, 0.5), (Link, 0.5, 1.5)]);
}

#[test]
fn parts_never_leave_the_call() {
    let odd = Timeline { checked: Some(9000), queued: Some(9000), linked: Some(1), ..Timeline::default() };
    for part in parts(&record(3.0, odd)) {
        assert!(part.start_ms >= 0.0 && part.start_ms + part.ms <= 3.0, "{part:?}");
    }
}
