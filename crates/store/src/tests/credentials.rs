//! Credentials are sealed where they lie, and open only where they belong.

use serde_json::json;
use toolgrove_core::Secret;
use uuid::Uuid;

use super::place::{Place, pair, stored_instance};
use crate::db::Sql;
use crate::{SecretBox, Store, StoreError};

on_both!(
    credentials_replace_each_other_and_survive_a_restart,
    the_database_never_holds_a_plain_secret,
    a_sealed_value_moved_to_another_row_does_not_open,
    a_store_with_another_key_file_says_which_secret_is_lost,
    notes_come_back_newest_first,
);

fn secrets(of: &[(&str, &str)]) -> Vec<(String, Secret)> {
    of.iter().map(|(key, value)| ((*key).to_owned(), Secret::new(*value))).collect()
}

async fn credentials_replace_each_other_and_survive_a_restart(place: Place) {
    let store = place.store().await;
    let id = stored_instance(&store, &pair(&store).await, "w").await.id;
    store.put_credentials(id, secrets(&[("b", "1"), ("a", "2")])).await.unwrap();
    store.put_credentials(id, secrets(&[("z", "x"), ("a", "ü☔"), ("z", "")])).await.unwrap();
    store.close().await;
    let store = place.store().await;
    assert_eq!(store.credentials_of(id).await.unwrap(), secrets(&[("z", ""), ("a", "ü☔")]));
    assert_eq!(store.credential_keys(id).await.unwrap(), ["z", "a"]);
    assert_eq!(store.credentials_of(Uuid::now_v7()).await.unwrap(), []);
}

async fn the_database_never_holds_a_plain_secret(place: Place) {
    let store = place.store().await;
    let id = stored_instance(&store, &pair(&store).await, "w").await.id;
    store.put_credentials(id, secrets(&[("a", "hunter2-hunter2")])).await.unwrap();
    let stored = Sql::new("SELECT value_enc FROM credentials").first(&store.db, |row| row.text("value_enc"));
    let stored = stored.await.unwrap().unwrap();
    assert!(stored.starts_with("v1.") && !stored.contains("hunter2"), "{stored}");
    let Some(path) = place.url.strip_prefix("sqlite:") else {
        return;
    };
    store.close().await;
    let bytes = std::fs::read(path).unwrap();
    assert!(!bytes.windows(7).any(|it| it == b"hunter2"));
}

async fn a_sealed_value_moved_to_another_row_does_not_open(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let mine = stored_instance(&store, &pair, "mine").await.id;
    let other = stored_instance(&store, &pair, "other").await.id;
    store.put_credentials(mine, secrets(&[("a", "1")])).await.unwrap();
    Sql::new("UPDATE credentials SET instance_id = $1").bind(other).run(&store.db).await.unwrap();
    let refused = store.credentials_of(other).await.unwrap_err();
    assert!(matches!(refused, StoreError::Sealed { .. }), "{refused:?}");
}

async fn a_store_with_another_key_file_says_which_secret_is_lost(place: Place) {
    let store = place.store().await;
    let id = stored_instance(&store, &pair(&store).await, "w").await.id;
    store.put_credentials(id, secrets(&[("a", "1")])).await.unwrap();
    let other = Store::open(&place.url, SecretBox::in_memory()).await.unwrap();
    assert_eq!(
        other.credentials_of(id).await.unwrap_err().to_string(),
        format!("the stored secret `credentials/{id}/a` does not open with any key of the key file")
    );
}

async fn notes_come_back_newest_first(place: Place) {
    let store = place.store().await;
    let person = Uuid::now_v7();
    store.note(person, "server.add", "weather", None).await.unwrap();
    store.note(person, "server.remove", "weather", Some(&json!({"tools": 2}))).await.unwrap();
    let notes = store.notes(None, 10).await.unwrap();
    let found: Vec<_> = notes.iter().map(|it| (it.action.as_str(), it.detail.clone())).collect();
    assert_eq!(found, [("server.remove", Some(json!({"tools": 2}))), ("server.add", None)]);
    assert_eq!(store.notes(None, 1).await.unwrap().len(), 1);
}
