//! A rush of calls: written in pages, and read like any other calls.

use std::collections::{HashMap, HashSet};

use toolgrove_core::timeline::{TabOfCall, Tick, Tokens};
use toolgrove_core::{CallEnd, CallRecord};
use uuid::Uuid;

use super::activity::{START, at, keep};
use super::calls::rows_and_pages;
use super::place::{Pair, Place, pair};
use crate::db::Sql;
use crate::{CallFilter, Store};

on_both!(
    a_rush_is_written_in_pages_and_read_like_rows,
    a_rush_of_many_people_with_few_calls_each_is_written_in_rows,
    a_page_that_is_stored_already_is_not_stored_again,
    a_page_that_cannot_be_read_is_said,
);

/// Calls of all kinds that end in another order than they began in.
fn rush(pair: &Pair, instances: &[Uuid]) -> Vec<CallRecord> {
    let tools =
        ["mcp__github__search_code", "MCP__GitHub__Search", "github_100%!", "mcp__w__rain", "wörter\0"];
    let mut calls: Vec<CallRecord> = Vec::new();
    for n in 0..1300_u32 {
        let k = n as usize;
        let mut call = at(pair.owner, (n + 37 * (n % 101)) % 1300, tools[k % tools.len()]);
        call.outcome = CallEnd::ALL[k % 7 % 5];
        call.error_code = (call.outcome == CallEnd::Failed).then(|| "call.denied".into());
        call.ms = f64::from(n % 700) + 0.1;
        call.bytes = u64::from(n) << 24;
        call.instance_id = (n % 3 > 0).then(|| instances[k % instances.len()]);
        call.door = ["mcp", "legacy", "stdio"][k % 3].into();
        call.token_id = (n % 11 == 0).then(|| instances[0]);
        call.chat_id = (n % 13 == 0).then(|| format!("chat \"{n}\" ☔").into());
        call.client = (n % 2 == 0).then(|| "editor".into());
        call.depth = u8::from(n % 17 == 0);
        call.parent_id = calls.get(k / 2).filter(|_| n % 17 == 0).map(|it| it.id);
        call.timeline.checked = (n % 5 == 0).then_some(20);
        call.timeline.linked = (n % 4 == 0).then_some(40);
        call.timeline.queued = (n % 50 == 0).then_some(5);
        call.timeline.tokens = (n % 70 == 0).then_some(Tokens { input: 11, output: 7 });
        if n % 60 == 0 {
            call.timeline.ticks.push(Tick { at: 50, progress: Some(0.5), total: None });
        }
        if n % 97 == 0 {
            call.tool = "long".repeat(200);
        }
        call.timeline.tab = (n % 500 == 0).then(|| TabOfCall { id: 7, domain: "example.com".into() });
        if n % 19 == 0 {
            call.person_id = pair.stranger;
        }
        calls.push(call);
    }
    calls
}

fn filters(calls: &[CallRecord], instances: &[Uuid]) -> Vec<CallFilter> {
    let all = || CallFilter { limit: 2000, ..CallFilter::default() };
    let tool = |glob: &str| CallFilter { tool: Some(glob.into()), ..all() };
    vec![
        all(),
        CallFilter { limit: 0, ..all() },
        CallFilter { limit: 1, ..all() },
        CallFilter { limit: 300, before: Some(calls[700].id), ..all() },
        CallFilter { since: Some(START + 300_000), until: Some(START + 500_000), ..all() },
        CallFilter { since: Some(START + 2_000_000), ..all() },
        CallFilter { until: Some(START + 10_000), before: Some(calls[900].id), ..all() },
        CallFilter { outcomes: vec![CallEnd::Failed, CallEnd::ToolError], ..all() },
        CallFilter { instance_id: Some(instances[1]), ..all() },
        CallFilter { door: Some("stdio".into()), min_ms: Some(500.0), ..all() },
        CallFilter { token_id: Some(instances[0]), limit: 9, ..all() },
        tool("mcp__w__rain"),
        tool("w__rain"),
        tool("github*"),
        tool("*_SEARCH*"),
        tool("*hub*ear*ch"),
        tool("*100%*"),
        tool("*!"),
        tool("*search*search*"),
        tool("*"),
    ]
}

/// Everything that can be asked about calls, with the answers.
async fn answers(store: &Store, pair: &Pair, calls: &[CallRecord], instances: &[Uuid]) -> Vec<String> {
    let mut said = Vec::new();
    for filter in filters(calls, instances) {
        for person in [pair.owner, pair.stranger] {
            let found = store.calls(person, &filter).await.unwrap();
            said.push(format!("{filter:?}: {found:#?}"));
            let mut counts: HashMap<_, u64> = HashMap::new();
            for it in store.count_calls(person, &filter, START + 5000, 60_000).await.unwrap() {
                *counts.entry((it.instance_id, it.slot, it.latency, it.failed)).or_default() += it.calls;
            }
            let mut counts: Vec<_> = counts.into_iter().collect();
            counts.sort();
            said.push(format!("{filter:?}: {counts:?}"));
        }
    }
    let mut filter = CallFilter { limit: 7, ..CallFilter::default() };
    loop {
        let found = store.calls(pair.owner, &filter).await.unwrap();
        said.push(format!(
            "before {:?}: {:?}",
            filter.before,
            found.iter().map(|it| it.id).collect::<Vec<_>>()
        ));
        let Some(last) = found.last() else { break };
        filter.before = Some(last.id);
    }
    for call in calls.iter().step_by(9) {
        said.push(format!("{:?}", store.call(pair.owner, call.id).await.unwrap()));
        said.push(format!("{:?}", store.call(pair.stranger, call.id).await.unwrap().map(|it| it.person_id)));
        said.push(format!("{:?}", store.nested_calls(pair.owner, call.id).await.unwrap()));
    }
    said.push(format!("{:?}", store.last_calls().await.unwrap()));
    let mut doors: Vec<_> = store.newest_doors(pair.owner).await.unwrap().into_iter().collect();
    doors.sort();
    said.push(format!("{doors:?}"));
    said
}

async fn clear(store: &Store) {
    for table in ["DELETE FROM calls", "DELETE FROM call_pages"] {
        Sql::new(table).run(&store.db).await.unwrap();
    }
}

async fn a_rush_is_written_in_pages_and_read_like_rows(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let server = crate::ServerRow::new("w", "stdio", "w", "paste");
    store.add_server(&server).await.unwrap();
    let mut instances = Vec::new();
    for slug in ["a", "b", "c"] {
        let instance = crate::InstanceRow::new(pair.owner, server.id, slug);
        store.add_instance(&instance).await.unwrap();
        instances.push(instance.id);
    }
    let calls = rush(&pair, &instances);

    for few in calls.chunks(100) {
        keep(&store, few).await;
    }
    assert_eq!(rows_and_pages(&store).await, [1300, 0], "a hundred calls are not a rush");
    let rows = answers(&store, &pair, &calls, &instances).await;
    let seen: HashSet<_> = rows.iter().collect();
    assert!(seen.len() > 300, "the questions have different answers: {}", seen.len());

    clear(&store).await;
    keep(&store, &calls).await;
    let [single, paged] = rows_and_pages(&store).await;
    assert_eq!(single + paged, 1300);
    assert!(paged > 900, "{paged} calls are in pages");
    let pages = Sql::new("SELECT person_id FROM call_pages").all(&store.db, |row| row.id("person_id"));
    let of_owner = pages.await.unwrap().into_iter().filter(|it| *it == pair.owner).count();
    assert!(of_owner > 2, "more pages than are read at a time: {of_owner}");
    let long = Sql::new("SELECT body FROM call_pages").all(&store.db, |row| row.text("body"));
    assert!(long.await.unwrap().iter().all(|it| !it.contains("longlong")), "a long name is in a page");
    let pages = answers(&store, &pair, &calls, &instances).await;
    for (row, page) in rows.iter().zip(&pages) {
        assert_eq!(row, page);
    }
    assert_eq!(rows.len(), pages.len());
}

async fn a_rush_of_many_people_with_few_calls_each_is_written_in_rows(place: Place) {
    let store = place.store().await;
    let people: Vec<_> = (0..60).map(|_| Uuid::now_v7()).collect();
    let calls: Vec<_> = (0..300).map(|n| at(people[n as usize % 60], n, "rain")).collect();
    keep(&store, &calls).await;
    assert_eq!(rows_and_pages(&store).await, [300, 0]);
}

async fn a_page_that_is_stored_already_is_not_stored_again(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let calls: Vec<_> = (0..400).map(|n| at(pair.owner, n, "rain")).collect();
    keep(&store, &calls).await;
    keep(&store, &calls).await;
    assert_eq!(rows_and_pages(&store).await, [0, 400]);
    let found = store.calls(pair.owner, &CallFilter { limit: 900, ..CallFilter::default() }).await.unwrap();
    assert_eq!(found, calls.into_iter().rev().collect::<Vec<_>>());
}

async fn a_page_that_cannot_be_read_is_said(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let calls: Vec<_> = (0..400).map(|n| at(pair.owner, n, "rain")).collect();
    keep(&store, &calls).await;
    Sql::new("UPDATE call_pages SET body = '[[7]]'").run(&store.db).await.unwrap();
    let error = store.calls(pair.owner, &CallFilter::default()).await.unwrap_err().to_string();
    assert!(error.contains("page of calls"), "{error}");
}
