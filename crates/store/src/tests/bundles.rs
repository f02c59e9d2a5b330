//! Bundles with their servers, and pins: whole or not at all, and one person's only.

use serde_json::json;
use toolgrove_core::Secret;

use super::place::{Pair, Place, entry, pair, stored_instance};
use crate::{Arrived, BundleRow, Entry, PinRow, Store, StoreError};

on_both!(
    a_bundle_comes_and_goes_with_its_servers,
    a_bundle_that_cannot_come_whole_leaves_nothing,
    another_version_takes_the_place_of_the_first,
    one_persons_bundle_is_not_anothers,
    a_first_pin_never_overwrites_a_decision,
);

fn bundle(pair: &Pair, version: &str) -> BundleRow {
    BundleRow {
        person_id: pair.owner,
        id: "tools".into(),
        version: version.into(),
        scope: "user".into(),
        target: Some(json!({ "file": "/x/mcp.json" })),
        source: "github:a/b".into(),
        manifest: json!({ "id": "tools" }),
        sha256: None,
        settings: Some(Secret::new(r#"{"token":"s3cret"}"#)),
        installed_at: 7,
    }
}

fn server(pair: &Pair, name: &str) -> Entry {
    let mut entry = entry(pair, name);
    entry.server.origin = "bundle:tools".into();
    entry
}

fn arrived(added: Vec<Entry>) -> Arrived {
    Arrived { added, ..Arrived::default() }
}

async fn names(store: &Store, pair: &Pair) -> Vec<String> {
    store.servers_of(pair.owner).await.unwrap().into_iter().map(|it| it.name).collect()
}

async fn a_bundle_comes_and_goes_with_its_servers(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    stored_instance(&store, &pair, "mine").await;
    let row = bundle(&pair, "1.0.0");
    store.put_bundle(&row, &arrived(vec![server(&pair, "a"), server(&pair, "b")])).await.unwrap();
    assert_eq!(store.bundle(pair.owner, "tools").await.unwrap(), Some(row));
    assert_eq!(names(&store, &pair).await, ["a", "b", "mine"]);
    assert_eq!(store.remove_bundle(pair.owner, "tools").await.unwrap().len(), 2);
    assert_eq!(names(&store, &pair).await, ["mine"]);
    assert_eq!(store.bundles_of(pair.owner).await.unwrap(), []);
    assert!(store.remove_bundle(pair.owner, "tools").await.unwrap().is_empty());
}

async fn a_bundle_that_cannot_come_whole_leaves_nothing(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    stored_instance(&store, &pair, "taken").await;
    let both = arrived(vec![server(&pair, "a"), server(&pair, "taken")]);
    let refused = store.put_bundle(&bundle(&pair, "1.0.0"), &both).await.unwrap_err();
    assert!(matches!(refused, StoreError::NameTaken { .. }), "{refused}");
    assert_eq!(names(&store, &pair).await, ["taken"]);
    assert_eq!(store.bundles_of(pair.owner).await.unwrap(), []);
}

async fn another_version_takes_the_place_of_the_first(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let (mut stays, goes) = (server(&pair, "a"), server(&pair, "b"));
    let first = arrived(vec![stays.clone(), goes.clone()]);
    store.put_bundle(&bundle(&pair, "1.0.0"), &first).await.unwrap();
    store.first_pins(&[pin(&stays, "say", "d1")]).await.unwrap();
    stays.server.endpoint = "https://example.com/2".into();
    let second = Arrived {
        added: vec![server(&pair, "c")],
        changed: vec![stays.clone()],
        removed: vec![goes.server.id],
    };
    store.put_bundle(&bundle(&pair, "2.0.0"), &second).await.unwrap();
    assert_eq!(names(&store, &pair).await, ["a", "c"]);
    assert_eq!(store.bundle(pair.owner, "tools").await.unwrap().unwrap().version, "2.0.0");
    let kept = store.instance(pair.owner, stays.instance.id).await.unwrap();
    assert_eq!(kept.unwrap().slug, "a");
    assert_eq!(store.pins_of_person(pair.owner).await.unwrap(), []);
}

async fn one_persons_bundle_is_not_anothers(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    store.put_bundle(&bundle(&pair, "1.0.0"), &arrived(vec![server(&pair, "a")])).await.unwrap();
    assert_eq!(store.bundle(pair.stranger, "tools").await.unwrap(), None);
    assert!(store.remove_bundle(pair.stranger, "tools").await.unwrap().is_empty());
    assert_eq!(names(&store, &pair).await, ["a"]);
}

fn pin(entry: &Entry, tool: &str, digest: &str) -> PinRow {
    PinRow {
        instance_id: entry.instance.id,
        tool: tool.into(),
        digest: digest.into(),
        raw: "{}".into(),
        state: "approved".into(),
        rejected: None,
        decided_by: None,
        decided_at: None,
    }
}

async fn a_first_pin_never_overwrites_a_decision(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let one = server(&pair, "a");
    store.put_bundle(&bundle(&pair, "1.0.0"), &arrived(vec![one.clone()])).await.unwrap();
    store.first_pins(&[pin(&one, "say", "d1"), pin(&one, "old", "d0")]).await.unwrap();
    let decided = PinRow { decided_by: Some(pair.owner), decided_at: Some(5), ..pin(&one, "say", "d2") };
    store.decide_pin(&decided, Some("old")).await.unwrap();
    store.first_pins(&[pin(&one, "say", "d3")]).await.unwrap();
    assert_eq!(store.pins_of_person(pair.owner).await.unwrap(), [decided]);
    assert_eq!(store.pins_of_person(pair.stranger).await.unwrap(), []);
}
