//! Instances: whole entries or nothing, slugs, and what belongs to whom.

use serde_json::json;
use toolgrove_core::Secret;
use uuid::Uuid;

use super::place::{Place, entry, pair, stored_instance};
use crate::{AuthConfigRow, InstanceRow, StoreError, Switch};

on_both!(
    an_entry_is_stored_whole,
    a_refused_entry_leaves_nothing,
    an_entry_is_replaced_in_place,
    a_slug_is_taken_once_per_person_whatever_its_case,
    an_instance_is_invisible_to_another_person,
    an_instance_remembers_how_it_does,
    removing_an_auth_config_keeps_its_instances,
);

async fn an_entry_is_stored_whole(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let mut entry = entry(&pair, "weather");
    let places = json!([{"in": "header", "key": "Authorization"}]);
    let config = AuthConfigRow::new(entry.server.id, "header", "pasted", places);
    entry.instance.auth_type = "header".into();
    entry.instance.auth_config_id = Some(config.id);
    entry.auth_config = Some(config.clone());
    entry.credentials = vec![("Authorization".into(), Secret::new("Bearer x"))];
    store.add_with_instance(&entry).await.unwrap();

    let instance = &entry.instance;
    assert_eq!(store.server(entry.server.id).await.unwrap().as_ref(), Some(&entry.server));
    assert_eq!(store.instance(pair.owner, instance.id).await.unwrap().as_ref(), Some(instance));
    assert_eq!(store.instance_by_slug(pair.owner, "WEATHER").await.unwrap().as_ref(), Some(instance));
    assert_eq!(store.auth_configs_of(entry.server.id).await.unwrap(), std::slice::from_ref(&config));
    assert_eq!(store.auth_config(config.id).await.unwrap(), Some(config));
    assert_eq!(store.credentials_of(instance.id).await.unwrap(), entry.credentials);
    assert_eq!(store.all_instances().await.unwrap(), std::slice::from_ref(instance));
}

async fn a_refused_entry_leaves_nothing(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    stored_instance(&store, &pair, "weather").await;
    let mut second = entry(&pair, "other");
    second.instance.slug = "weather".into();
    let refused = store.add_with_instance(&second).await.unwrap_err();
    assert!(matches!(&refused, StoreError::SlugTaken { slug } if slug == "weather"), "{refused:?}");
    assert_eq!(store.server(second.server.id).await.unwrap(), None);
    // The connection is free again.
    stored_instance(&store, &pair, "other").await;
}

async fn an_entry_is_replaced_in_place(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let mut entry = entry(&pair, "weather");
    entry.credentials = vec![("A".into(), Secret::new("1")), ("B".into(), Secret::new("2"))];
    store.add_with_instance(&entry).await.unwrap();
    entry.server.endpoint = "https://new.example/mcp".into();
    entry.credentials = vec![("C".into(), Secret::new("3"))];
    assert!(store.update_with_instance(&entry).await.unwrap());
    assert_eq!(store.server(entry.server.id).await.unwrap().unwrap().endpoint, "https://new.example/mcp");
    assert_eq!(store.credentials_of(entry.instance.id).await.unwrap(), entry.credentials);

    let mut foreign = entry.clone();
    foreign.instance.person_id = pair.stranger;
    foreign.server.endpoint = "https://stolen.example/mcp".into();
    assert!(!store.update_with_instance(&foreign).await.unwrap());
    assert_eq!(store.server(entry.server.id).await.unwrap().unwrap().endpoint, "https://new.example/mcp");
}

async fn a_slug_is_taken_once_per_person_whatever_its_case(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let first = stored_instance(&store, &pair, "GitHub").await;
    let again = InstanceRow::new(pair.owner, first.server_id, "github");
    assert!(matches!(store.add_instance(&again).await, Err(StoreError::SlugTaken { .. })));
    let theirs = InstanceRow::new(pair.stranger, first.server_id, "github");
    store.add_instance(&theirs).await.unwrap();

    let mut second = InstanceRow::new(pair.owner, first.server_id, "github-2");
    store.add_instance(&second).await.unwrap();
    let slugs: Vec<_> = store.instances_of(pair.owner).await.unwrap().into_iter().map(|it| it.slug).collect();
    assert_eq!(slugs, ["GitHub", "github-2"]);
    second.slug = "GITHUB".into();
    assert!(matches!(store.update_instance(&second).await, Err(StoreError::SlugTaken { .. })));
}

async fn an_instance_is_invisible_to_another_person(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let mine = stored_instance(&store, &pair, "mine").await;
    let id = mine.id;
    assert_eq!(store.instance(pair.stranger, id).await.unwrap(), None);
    assert_eq!(store.instance_by_slug(pair.stranger, "mine").await.unwrap(), None);
    assert_eq!(store.instances_of(pair.stranger).await.unwrap(), []);
    assert!(!store.remove_instance(pair.stranger, id).await.unwrap());
    assert!(!store.switch_instance(pair.stranger, id, Switch::Off).await.unwrap());
    let taken_over = InstanceRow { person_id: pair.stranger, name: "theirs".into(), ..mine.clone() };
    assert!(!store.update_instance(&taken_over).await.unwrap());
    assert_eq!(store.instance(pair.owner, id).await.unwrap(), Some(mine));

    assert!(store.switch_instance(pair.owner, id, Switch::Off).await.unwrap());
    assert!(!store.instance(pair.owner, id).await.unwrap().unwrap().enabled);
    assert!(store.remove_instance(pair.owner, id).await.unwrap());
    assert_eq!(store.instance(pair.owner, id).await.unwrap(), None);
}

async fn an_instance_remembers_how_it_does(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let mut mine = stored_instance(&store, &pair, "mine").await;
    assert!(store.set_status(mine.id, "needs_reauth", Some("expired")).await.unwrap());
    assert!(store.set_capabilities(mine.id, &json!({"tools": {}})).await.unwrap());
    mine.status = "needs_reauth".into();
    mine.last_error = Some("expired".into());
    mine.capabilities = Some(json!({"tools": {}}));
    assert_eq!(store.instance(pair.owner, mine.id).await.unwrap(), Some(mine.clone()));
    assert!(store.set_status(mine.id, "ready", None).await.unwrap());
    assert_eq!(store.instance(pair.owner, mine.id).await.unwrap().unwrap().last_error, None);
    assert!(!store.set_status(Uuid::now_v7(), "ready", None).await.unwrap());
}

async fn removing_an_auth_config_keeps_its_instances(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let mut mine = stored_instance(&store, &pair, "mine").await;
    let config = AuthConfigRow::new(mine.server_id, "header", "key", json!([{"in": "query", "key": "k"}]));
    store.add_auth_config(&config).await.unwrap();
    mine.auth_config_id = Some(config.id);
    assert!(store.update_instance(&mine).await.unwrap());
    assert!(store.remove_auth_config(config.id).await.unwrap());
    assert!(!store.remove_auth_config(config.id).await.unwrap());
    assert_eq!(store.instance(pair.owner, mine.id).await.unwrap().unwrap().auth_config_id, None);
}
