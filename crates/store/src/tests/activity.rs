//! Which calls Activity finds, and how it counts them.

use toolgrove_core::{CallEnd, CallRecord};
use uuid::{NoContext, Timestamp, Uuid};

use super::calls::record;
use super::place::{Place, pair};
use crate::{CallCount, CallFilter, CallLog, Store};

on_both!(
    every_word_of_a_filter_narrows,
    calls_are_counted_by_instance_time_speed_and_end,
    the_last_call_of_each_instance_is_known,
);

/// When the calls of these tests begin.
pub(crate) const START: i64 = 1_700_000_000_000;

/// A call that started this many seconds later.
pub(crate) fn at(person: Uuid, seconds: u32, tool: &str) -> CallRecord {
    let started_at = START + i64::from(seconds) * 1000;
    let time = Timestamp::from_unix(NoContext, (started_at / 1000) as u64, 0);
    CallRecord { id: Uuid::new_v7(time), started_at, ..record(person, tool) }
}

pub(crate) async fn keep(store: &Store, rows: &[CallRecord]) {
    let log = CallLog::start(store);
    for row in rows {
        log.record(row.clone());
    }
    log.close().await;
}

async fn every_word_of_a_filter_narrows(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let token = Uuid::now_v7();
    let mut rows = vec![
        at(pair.owner, 0, "mcp__github__search_code"),
        at(pair.owner, 1, "mcp__github__SEARCH"),
        at(pair.owner, 2, "mcp_github__search"),
        at(pair.owner, 3, "mcp__git_hub__search"),
        at(pair.owner, 4, "github_100%!"),
        at(pair.owner, 5, "mcp__w__rain"),
    ];
    rows[1].outcome = CallEnd::ToolError;
    rows[2].outcome = CallEnd::Failed;
    rows[3].ms = 600.0;
    rows[4].door = "stdio".into();
    rows[5].token_id = Some(token);
    keep(&store, &rows).await;
    keep(&store, &[at(pair.stranger, 2, "mcp__github__search")]).await;

    let check = async |filter: CallFilter, expected: &[usize]| {
        let found = store.calls(pair.owner, &filter).await.unwrap();
        let found: Vec<_> = found.iter().rev().map(|it| it.tool.as_str()).collect();
        let expected: Vec<_> = expected.iter().map(|&n| rows[n].tool.as_str()).collect();
        assert_eq!(found, expected, "{filter:?}");
    };
    let all = CallFilter::default;
    let tool = |glob: &str| CallFilter { tool: Some(glob.into()), ..all() };
    check(tool("github*"), &[0, 1, 2, 4]).await;
    check(tool("GitHub__search*"), &[0, 1, 2]).await;
    check(tool("*search"), &[1, 2, 3]).await;
    check(tool("git_hub*"), &[3]).await;
    check(tool("*%*"), &[4]).await;
    check(tool("*!"), &[4]).await;
    check(tool("mcp__w__rain"), &[5]).await;
    check(tool("w__rain"), &[]).await;
    check(CallFilter { outcomes: vec![CallEnd::Failed, CallEnd::ToolError], ..all() }, &[1, 2]).await;
    check(CallFilter { min_ms: Some(500.0), ..all() }, &[3]).await;
    check(CallFilter { door: Some("stdio".into()), ..all() }, &[4]).await;
    check(CallFilter { token_id: Some(token), ..all() }, &[5]).await;
    check(CallFilter { since: Some(START + 2000), until: Some(START + 4000), ..all() }, &[2, 3]).await;
    check(CallFilter { since: Some(i64::MIN), until: Some(i64::MAX), limit: 1, ..all() }, &[5]).await;
}

async fn calls_are_counted_by_instance_time_speed_and_end(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let instance = Uuid::now_v7();
    let mut rows: Vec<_> = [0, 10, 59, 60, 130].map(|it| at(pair.owner, it, "rain")).into();
    for row in &mut rows[1..] {
        row.instance_id = Some(instance);
    }
    rows[3].outcome = CallEnd::ToolError;
    rows[4].ms = 99_000.0;
    keep(&store, &rows).await;
    keep(&store, &[at(pair.stranger, 0, "rain")]).await;

    let count = async |filter: &CallFilter| {
        let mut counts = store.count_calls(pair.owner, filter, START, 60_000).await.unwrap();
        counts.sort_by_key(|it| (it.slot, it.instance_id));
        counts
    };
    let of =
        |instance_id, slot, latency, failed, calls| CallCount { instance_id, slot, latency, failed, calls };
    assert_eq!(
        count(&CallFilter::default()).await,
        [
            of(None, 0, 1, false, 1),
            of(Some(instance), 0, 1, false, 2),
            of(Some(instance), 1, 1, true, 1),
            of(Some(instance), 2, 15, false, 1),
        ]
    );
    let failed = CallFilter { outcomes: vec![CallEnd::ToolError], ..CallFilter::default() };
    assert_eq!(count(&failed).await, [of(Some(instance), 1, 1, true, 1)]);
}

async fn the_last_call_of_each_instance_is_known(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let server = crate::ServerRow::new("w", "stdio", "w", "paste");
    store.add_server(&server).await.unwrap();
    let instance = crate::InstanceRow::new(pair.owner, server.id, "w");
    store.add_instance(&instance).await.unwrap();
    store.add_instance(&crate::InstanceRow::new(pair.owner, server.id, "idle")).await.unwrap();
    let mut rows = [at(pair.owner, 0, "old"), at(pair.owner, 1, "new"), at(pair.owner, 2, "other")];
    rows[0].instance_id = Some(instance.id);
    rows[1].instance_id = Some(instance.id);
    keep(&store, &rows).await;
    assert_eq!(store.last_calls().await.unwrap(), [rows[1].clone()]);
}
