//! The first start and the ones after it.

use toolgrove_core::call::Role;

use super::place::Place;

on_both!(
    the_first_start_makes_one_person_and_one_workspace,
    a_restart_finds_the_same_person,
    two_processes_that_start_at_once_agree_on_the_person,
);

async fn the_first_start_makes_one_person_and_one_workspace(place: Place) {
    let store = place.store().await;
    let solo = store.solo_person().await.unwrap();
    let person = store.person(solo.person_id).await.unwrap().unwrap();
    let workspace = store.workspace(solo.workspace_id).await.unwrap().unwrap();
    assert_eq!(person.role, Role::Admin);
    assert_eq!((workspace.name.as_str(), workspace.phase.as_str()), ("home", "gamma"));
    assert_eq!(workspace.allowlist, None);
}

async fn a_restart_finds_the_same_person(place: Place) {
    let store = place.store().await;
    let solo = store.solo_person().await.unwrap();
    store.close().await;
    assert_eq!(place.store().await.solo_person().await.unwrap(), solo);
}

async fn two_processes_that_start_at_once_agree_on_the_person(place: Place) {
    let start = async || {
        let store = place.store().await;
        store.solo_person().await.unwrap()
    };
    let (a, b, c) = tokio::join!(start(), start(), start());
    assert_eq!((a, b), (b, c));
}
