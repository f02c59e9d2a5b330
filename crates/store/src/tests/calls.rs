//! The call log: nothing lost by a clean shutdown, newest first, one's own only.

use toolgrove_core::timeline::{TabOfCall, Tick};
use toolgrove_core::{CallEnd, CallRecord, Timeline};
use uuid::Uuid;

use super::place::{Place, on_postgres, pair};
use crate::db::{Db, Sql};
use crate::{CallFilter, CallLog, Store};

on_both!(
    ten_thousand_rows_are_stored_when_the_log_is_closed,
    rows_recorded_by_many_tasks_all_arrive,
    a_log_that_has_rested_goes_on,
    a_row_comes_back_as_it_was_recorded,
    calls_are_filtered_and_paged_newest_first,
    calls_are_invisible_to_another_person,
    a_nul_in_a_tool_name_does_not_lose_its_batch,
    a_lasting_failure_does_not_end_the_log,
    recording_after_the_end_does_no_harm,
    a_log_that_everybody_has_let_go_of_writes_what_it_has_and_ends,
);

pub(crate) fn record(person_id: Uuid, tool: &str) -> CallRecord {
    CallRecord {
        id: Uuid::now_v7(),
        parent_id: None,
        person_id,
        token_id: None,
        chat_id: None,
        door: "mcp".into(),
        method: "tools/call".into(),
        instance_id: None,
        tool: tool.into(),
        depth: 0,
        started_at: 1_700_000_000_000,
        ms: 1.5,
        outcome: CallEnd::Done,
        error_code: None,
        bytes: 10,
        client: None,
        timeline: Timeline::default(),
    }
}

/// How many calls are stored, in rows and in pages.
async fn count(store: &Store) -> usize {
    let [rows, pages] = rows_and_pages(store).await;
    rows + pages
}

pub(crate) async fn rows_and_pages(store: &Store) -> [usize; 2] {
    let rows = Sql::new("SELECT count(*) AS n FROM calls").first(&store.db, |row| row.int("n"));
    let pages = Sql::new("SELECT calls FROM call_pages").all(&store.db, |row| row.int("calls"));
    let (rows, pages) = (rows.await.unwrap().unwrap(), pages.await.unwrap());
    [rows as usize, pages.into_iter().sum::<i64>() as usize]
}

async fn ten_thousand_rows_are_stored_when_the_log_is_closed(place: Place) {
    let store = place.store().await;
    let (log, person) = (CallLog::start(&store), Uuid::now_v7());
    for _ in 0..10_000 {
        log.record(record(person, "rain"));
    }
    let other_hand = log.clone();
    tokio::join!(log.close(), other_hand.close());
    store.close().await;
    assert_eq!(count(&place.store().await).await, 10_000);
}

async fn rows_recorded_by_many_tasks_all_arrive(place: Place) {
    let store = place.store().await;
    let (log, person) = (CallLog::start(&store), Uuid::now_v7());
    let writers: Vec<_> = (0..20)
        .map(|_| {
            let log = log.clone();
            toolgrove_core::task::spawn("writer", async move {
                for _ in 0..100 {
                    log.record(record(person, "rain"));
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    log.flush().await;
    assert_eq!(count(&store).await, 2000);
    log.record(record(person, "sun"));
    log.close().await;
    assert_eq!(count(&store).await, 2001);
}

async fn a_log_that_has_rested_goes_on(place: Place) {
    let store = place.store().await;
    let (log, person) = (CallLog::start(&store), Uuid::now_v7());
    for rows in 1..=3 {
        log.record(record(person, "rain"));
        log.rest().await;
        assert_eq!(count(&store).await, rows);
    }
    log.close().await;
    log.rest().await;
}

async fn a_row_comes_back_as_it_was_recorded(place: Place) {
    let store = place.store().await;
    let log = CallLog::start(&store);
    let full = CallRecord {
        parent_id: Some(Uuid::now_v7()),
        token_id: Some(Uuid::now_v7()),
        chat_id: Some("chat ☔".into()),
        instance_id: Some(Uuid::now_v7()),
        depth: 3,
        ms: 0.1 + 0.2,
        outcome: CallEnd::InputRequired,
        error_code: Some("call.denied".into()),
        bytes: u64::from(u32::MAX) * 2,
        client: Some("editor ☔".into()),
        timeline: Timeline {
            checked: Some(20),
            queued: Some(5),
            linked: Some(40),
            tokens: Some(toolgrove_core::timeline::Tokens { input: 11, output: 7 }),
            ticks: vec![Tick { at: 50, progress: Some(0.5), total: None }],
            tab: Some(TabOfCall { id: 7, domain: "example.com".into() }),
        },
        ..record(Uuid::now_v7(), "mcp__w__rain")
    };
    log.record(full.clone());
    log.close().await;
    assert_eq!(store.call(full.person_id, full.id).await.unwrap(), Some(full));
}

async fn calls_are_filtered_and_paged_newest_first(place: Place) {
    let store = place.store().await;
    let (log, person, instance) = (CallLog::start(&store), Uuid::now_v7(), Uuid::now_v7());
    let mut rows: Vec<_> = (0..6).map(|n| record(person, if n % 2 == 0 { "rain" } else { "sun" })).collect();
    rows[1].outcome = CallEnd::Failed;
    rows[4].outcome = CallEnd::Failed;
    rows[5].instance_id = Some(instance);
    for row in &rows {
        log.record(row.clone());
    }
    log.close().await;

    let check = async |filter: CallFilter, expected: &[usize]| {
        let found = store.calls(person, &filter).await.unwrap();
        let expected: Vec<_> = expected.iter().map(|&n| rows[n].clone()).collect();
        assert_eq!(found, expected, "{filter:?}");
    };
    let all = CallFilter::default();
    check(all.clone(), &[5, 4, 3, 2, 1, 0]).await;
    check(CallFilter { limit: 2, ..all.clone() }, &[5, 4]).await;
    check(CallFilter { limit: 2, before: Some(rows[4].id), ..all.clone() }, &[3, 2]).await;
    check(CallFilter { tool: Some("sun".into()), ..all.clone() }, &[5, 3, 1]).await;
    check(CallFilter { outcomes: vec![CallEnd::Failed], ..all.clone() }, &[4, 1]).await;
    check(CallFilter { instance_id: Some(instance), ..all.clone() }, &[5]).await;
    let narrow = CallFilter { tool: Some("rain".into()), outcomes: vec![CallEnd::Failed], ..all };
    check(narrow, &[4]).await;
}

async fn calls_are_invisible_to_another_person(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let (log, row) = (CallLog::start(&store), record(pair.owner, "rain"));
    log.record(row.clone());
    log.close().await;
    assert_eq!(store.call(pair.stranger, row.id).await.unwrap(), None);
    assert_eq!(store.calls(pair.stranger, &CallFilter::default()).await.unwrap(), []);
    assert_eq!(store.call(pair.owner, row.id).await.unwrap(), Some(row));
}

async fn a_nul_in_a_tool_name_does_not_lose_its_batch(place: Place) {
    let store = place.store().await;
    let (log, person) = (CallLog::start(&store), Uuid::now_v7());
    log.record(record(person, "rain"));
    log.record(CallRecord { chat_id: Some("\0".into()), ..record(person, "a\0b") });
    log.close().await;
    let rows = store.calls(person, &CallFilter::default()).await.unwrap();
    assert_eq!(rows.iter().map(|it| it.tool.as_str()).collect::<Vec<_>>(), ["a\u{fffd}b", "rain"]);
}

async fn a_lasting_failure_does_not_end_the_log(place: Place) {
    let store = place.store().await;
    let (log, person) = (CallLog::start(&store), Uuid::now_v7());
    Sql::new("ALTER TABLE calls RENAME TO away").run(&store.db).await.unwrap();
    log.record(record(person, "lost"));
    log.flush().await;
    Sql::new("ALTER TABLE away RENAME TO calls").run(&store.db).await.unwrap();
    log.record(record(person, "kept"));
    log.close().await;
    let rows = store.calls(person, &CallFilter::default()).await.unwrap();
    assert_eq!(rows.iter().map(|it| it.tool.as_str()).collect::<Vec<_>>(), ["kept"]);
}

async fn recording_after_the_end_does_no_harm(place: Place) {
    let store = place.store().await;
    let log = CallLog::start(&store);
    log.close().await;
    log.record(record(Uuid::now_v7(), "late"));
    log.flush().await;
    log.close().await;
    assert_eq!(count(&store).await, 0);
}

async fn a_log_that_everybody_has_let_go_of_writes_what_it_has_and_ends(place: Place) {
    let store = place.store().await;
    let log = CallLog::start(&store);
    let mut writer = log.writer.clone();
    for _ in 0..3 {
        log.record(record(Uuid::now_v7(), "rain"));
    }
    drop(log);
    assert!(writer.changed().await.is_err(), "it ends");
    assert_eq!(count(&store).await, 3);
}

/// A sequence counts tries that are rolled back too, which only PostgreSQL has.
#[test]
fn a_batch_that_is_refused_once_is_written_at_the_second_try() {
    on_postgres(async |place| {
        let store = place.store().await;
        let mut tx = store.db.begin().await.unwrap();
        let refuse_once = "CREATE SEQUENCE tries;
            CREATE FUNCTION refuse_once() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN IF nextval('tries') = 1 THEN RAISE EXCEPTION 'not now'; END IF; RETURN NEW; END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON calls FOR EACH STATEMENT EXECUTE FUNCTION refuse_once();";
        tx.script(refuse_once).await.unwrap();
        tx.commit().await.unwrap();
        let log = CallLog::start(&store);
        log.record(record(Uuid::now_v7(), "rain"));
        log.close().await;
        assert_eq!(count(&store).await, 1);
        let tries = Sql::new("SELECT nextval('tries') AS n").first(&store.db, |row| row.int("n"));
        assert_eq!(tries.await.unwrap(), Some(3));
    });
}

#[test]
fn rows_wait_for_another_writer_of_the_same_file() {
    super::place::on_sqlite(async |place| {
        let (store, other) = (place.store().await, place.store().await);
        let writing = other.db.begin().await.unwrap();
        let log = CallLog::start(&store);
        log.record(record(Uuid::now_v7(), "rain"));
        tokio::join!(log.close(), async {
            tokio::task::yield_now().await;
            writing.commit().await.unwrap();
        });
        assert_eq!(count(&store).await, 1);
        assert!(matches!(store.db, Db::Sqlite(_)));
    });
}
