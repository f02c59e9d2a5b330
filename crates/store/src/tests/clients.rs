//! Clients that people let in: what they were given is good once, and gone at once.

use std::collections::HashSet;

use tokio::task::JoinSet;
use uuid::Uuid;

use super::place::{Pair, Place, pair, stored_instance};
use crate::db::Sql;
use crate::{ClientRow, ConnectionRow, Given, Store, TokenPair, now};

on_both!(
    a_document_is_replaced_by_its_newer_self,
    a_code_is_traded_once,
    of_ten_who_trade_one_refresh_token_at_once_one_succeeds,
    an_ended_connection_leaves_nothing,
    only_its_person_sees_and_ends_a_connection,
    only_instances_of_the_person_can_be_granted,
    what_is_over_is_forgotten_and_the_rest_stays,
    the_last_choice_is_found_again,
    of_clients_that_nobody_uses_the_newest_stay,
);

const HOUR: i64 = 60 * 60 * 1000;

fn given(hash: &str, in_ms: i64) -> Given {
    Given { hash: hash.into(), expires_at: now() + in_ms }
}

fn tokens(name: &str) -> TokenPair {
    TokenPair {
        access: given(&format!("{name}-a"), HOUR),
        refresh: Some(given(&format!("{name}-r"), 2 * HOUR)),
    }
}

fn client(id: &str) -> ClientRow {
    ClientRow::new(id, "registered", "An editor", vec!["http://127.0.0.1/cb".into()])
}

fn connection(person_id: Uuid, client_id: &str) -> ConnectionRow {
    ConnectionRow {
        id: Uuid::now_v7(),
        person_id,
        client_id: client_id.into(),
        redirect_uri: "http://127.0.0.1:5/cb".into(),
        resource: "/mcp".into(),
        scope: "mcp".into(),
        all_instances: true,
        expires_at: now() + 60_000,
        last_used_at: None,
        created_at: now(),
    }
}

/// A connection of the owner whose code `code` was not traded yet.
async fn connect(store: &Store, pair: &Pair, code: &str) -> ConnectionRow {
    store.put_client(&client("c")).await.unwrap();
    let row = connection(pair.owner, "c");
    store.add_connection(&row, &HashSet::new(), &given(code, 60_000), "challenge").await.unwrap();
    row
}

async fn a_document_is_replaced_by_its_newer_self(place: Place) {
    let store = place.store().await;
    let mut row = ClientRow::new("https://e.com/c", "document", "Old", vec!["https://e.com/1".into()]);
    row.fresh_until = Some(7);
    store.put_client(&row).await.unwrap();
    assert_eq!(store.client(&row.id).await.unwrap(), Some(row.clone()));
    row.name = "New".into();
    row.redirect_uris = vec!["https://e.com/2".into(), "https://e.com/3".into()];
    row.fresh_until = None;
    store.put_client(&row).await.unwrap();
    assert_eq!(store.client(&row.id).await.unwrap(), Some(row));
    assert_eq!(store.client("https://e.com/other").await.unwrap(), None);
}

async fn a_code_is_traded_once(place: Place) {
    let store = place.store().await;
    let row = connect(&store, &pair(&store).await, "code").await;
    let found = store.code("code").await.unwrap().unwrap();
    assert_eq!((found.connection.clone(), found.is_used), (row.clone(), false));
    assert_eq!(found.challenge.as_deref(), Some("challenge"));
    assert!(store.trade_code("code", row.id, &tokens("1")).await.unwrap());
    assert!(!store.trade_code("code", row.id, &tokens("2")).await.unwrap());
    assert!(store.code("code").await.unwrap().unwrap().is_used);
    assert_eq!(store.access_token("2-a").await.unwrap(), None);
    let access = store.access_token("1-a").await.unwrap().unwrap();
    assert_eq!(access.connection.id, row.id);
    assert!(access.connection.last_used_at.is_some());
    assert_eq!(access.connection.expires_at, store.refresh_token("1-r").await.unwrap().unwrap().expires_at);
    assert_eq!(store.refresh_token("1-a").await.unwrap(), None, "an access token is no refresh token");
    assert_eq!(store.access_token("1-r").await.unwrap(), None, "a refresh token is no access token");
    assert!(store.client("c").await.unwrap().unwrap().last_used_at.is_some());
}

async fn of_ten_who_trade_one_refresh_token_at_once_one_succeeds(place: Place) {
    let store = place.store().await;
    let row = connect(&store, &pair(&store).await, "code").await;
    store.trade_code("code", row.id, &tokens("0")).await.unwrap();
    let mut all = JoinSet::new();
    for n in 1..=10 {
        let (store, id) = (store.clone(), row.id);
        all.spawn(
            async move { store.trade_refresh_token("0-r", id, &tokens(&n.to_string())).await.unwrap() },
        );
    }
    assert_eq!(all.join_all().await.iter().filter(|it| **it).count(), 1);
    assert!(store.refresh_token("0-r").await.unwrap().unwrap().is_used);
    assert!(store.access_token("0-a").await.unwrap().is_some(), "an access token lives until its own end");
}

async fn an_ended_connection_leaves_nothing(place: Place) {
    let store = place.store().await;
    let row = connect(&store, &pair(&store).await, "code").await;
    store.trade_code("code", row.id, &tokens("1")).await.unwrap();
    assert!(store.remove_connection(row.id).await.unwrap());
    assert!(!store.remove_connection(row.id).await.unwrap());
    assert_eq!(store.code("code").await.unwrap(), None);
    assert_eq!(store.access_token("1-a").await.unwrap(), None);
    assert_eq!(store.refresh_token("1-r").await.unwrap(), None);
    assert!(!store.trade_refresh_token("1-r", row.id, &tokens("2")).await.unwrap());
}

async fn only_its_person_sees_and_ends_a_connection(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let row = connect(&store, &pair, "code").await;
    assert_eq!(
        store.connections_of(pair.owner).await.unwrap(),
        [],
        "a code that was not traded is no connection"
    );
    store.trade_code("code", row.id, &tokens("1")).await.unwrap();
    let seen = store.connections_of(pair.owner).await.unwrap();
    assert_eq!((seen.len(), seen[0].client_name.as_str()), (1, "An editor"));
    assert_eq!(store.connections_of(pair.stranger).await.unwrap(), []);
    assert!(!store.remove_connection_of(pair.stranger, row.id).await.unwrap());
    assert_eq!(store.clients().await.unwrap()[0].1, 1);
    assert!(store.remove_connection_of(pair.owner, row.id).await.unwrap());
    assert_eq!(store.clients().await.unwrap()[0].1, 0);
}

async fn only_instances_of_the_person_can_be_granted(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let mine = stored_instance(&store, &pair, "mine").await;
    store.put_client(&client("c")).await.unwrap();
    for (person, expected) in [(pair.owner, vec![mine.id]), (pair.stranger, vec![])] {
        let row = ConnectionRow { all_instances: false, ..connection(person, "c") };
        let grants = HashSet::from([mine.id, Uuid::now_v7()]);
        store.add_connection(&row, &grants, &given(&row.id.to_string(), 60_000), "x").await.unwrap();
        assert_eq!(store.connection_grants(row.id).await.unwrap(), expected.into_iter().collect());
    }
}

async fn what_is_over_is_forgotten_and_the_rest_stays(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let live = connect(&store, &pair, "live").await;
    store.trade_code("live", live.id, &tokens("live")).await.unwrap();
    let over = connection(pair.owner, "c");
    store.add_connection(&over, &HashSet::new(), &given("over", 60_000), "x").await.unwrap();
    for (id, days, used) in
        [("new", 0, None), ("never", 2, None), ("old", 200, Some(91)), ("rare", 200, Some(80))]
    {
        let mut row = client(id);
        row.updated_at = now() - days * 24 * HOUR;
        row.last_used_at = used.map(|it: i64| now() - it * 24 * HOUR);
        store.put_client(&row).await.unwrap();
    }
    let past = Sql::new("UPDATE connections SET expires_at = 1 WHERE id = $1");
    past.bind(over.id).run(&store.db).await.unwrap();
    let past = Sql::new("UPDATE connection_tokens SET expires_at = 1 WHERE hash = 'live-a'");
    past.run(&store.db).await.unwrap();

    store.sweep_clients().await.unwrap();
    assert_eq!(store.code("over").await.unwrap(), None);
    assert_eq!(store.access_token("live-a").await.unwrap(), None);
    assert!(store.refresh_token("live-r").await.unwrap().is_some());
    assert!(store.code("live").await.unwrap().is_some_and(|it| it.is_used));
    let mut left: Vec<_> = store.clients().await.unwrap().into_iter().map(|it| it.0.id).collect();
    left.sort();
    assert_eq!(left, ["c", "new", "rare"]);
}

async fn the_last_choice_is_found_again(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let row = connect(&store, &pair, "code").await;
    assert_eq!(store.last_connection(pair.owner, "c", "/mcp").await.unwrap(), None);
    store.trade_code("code", row.id, &tokens("1")).await.unwrap();
    assert_eq!(store.last_connection(pair.owner, "c", "/mcp").await.unwrap().unwrap().id, row.id);
    assert_eq!(store.last_connection(pair.owner, "c", "").await.unwrap(), None);
    assert_eq!(store.last_connection(pair.stranger, "c", "/mcp").await.unwrap(), None);
    assert_eq!(store.connections_with("c").await.unwrap(), [row.id]);
    assert!(store.remove_client("c").await.unwrap());
    assert_eq!(store.connections_with("c").await.unwrap(), [] as [Uuid; 0]);
}

async fn of_clients_that_nobody_uses_the_newest_stay(place: Place) {
    let store = place.store().await;
    let row = connect(&store, &pair(&store).await, "code").await;
    store.trade_code("code", row.id, &tokens("1")).await.unwrap();
    for n in 1..=5 {
        let row = ClientRow { updated_at: now() + n, ..client(&format!("new-{n}")) };
        store.put_client(&row).await.unwrap();
    }
    store.trim_unused_clients(2).await.unwrap();
    let mut left: Vec<_> = store.clients().await.unwrap().into_iter().map(|it| it.0.id).collect();
    left.sort();
    assert_eq!(left, ["c", "new-4", "new-5"]);
}
