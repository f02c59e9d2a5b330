//! Keys for what clients carry between two requests.

use super::place::Place;

on_both!(keys_are_made_once_and_every_replica_has_the_same);

async fn keys_are_made_once_and_every_replica_has_the_same(place: Place) {
    let first = place.store().await;
    let keys = first.seal_keys().await.unwrap();
    assert_eq!(keys.len(), 1);
    assert_eq!(first.seal_keys().await.unwrap(), keys);
    let plain: String = keys[0].1.iter().map(|it| format!("{it:02x}")).collect::<Vec<_>>().concat();
    let stored = crate::db::Sql::new("SELECT key_enc FROM seal_keys");
    let stored = stored.all(&first.db, |row| row.text("key_enc")).await.unwrap();
    assert!(!stored.concat().contains(&plain), "a key is never stored as it is");
}
