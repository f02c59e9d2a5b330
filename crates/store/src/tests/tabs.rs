//! Pairings end and stay ended; tabs and cached tools come back as they were.

use toolgrove_core::Secret;
use toolgrove_core::tabs::{CachedRow, TabKey, TabRow};
use uuid::Uuid;

use super::place::Place;
use crate::TabLogRow;

on_both!(a_pairing_is_one_persons_and_ends_for_good, tabs_come_back_as_they_were);

async fn a_pairing_is_one_persons_and_ends_for_good(place: Place) {
    let store = place.store().await;
    let person = store.solo_person().await.unwrap().person_id;
    store.put_pairing("p", person, &Secret::new("t1"), "Chromium/156").await.unwrap();
    let row = store.pairing("p").await.unwrap().unwrap();
    assert_eq!((row.token.as_ref().map(Secret::reveal), row.revoked_at), (Some("t1"), None));
    assert!(!store.end_pairing(Uuid::now_v7(), "p").await.unwrap(), "not somebody else's");
    assert!(store.end_pairing(person, "p").await.unwrap());
    let row = store.pairing("p").await.unwrap().unwrap();
    assert!(row.token.is_none() && row.revoked_at.is_some());
    assert!(store.pairings_of(person).await.unwrap().is_empty());
    store.put_pairing("p", person, &Secret::new("t2"), "Chromium/157").await.unwrap();
    let rows = store.pairings_of(person).await.unwrap();
    assert_eq!((rows.len(), rows[0].label.as_str()), (1, "Chromium/157"));
}

async fn tabs_come_back_as_they_were(place: Place) {
    let store = place.store().await;
    let person = store.solo_person().await.unwrap().person_id;
    let tab = TabRow {
        key: TabKey { browser: "p".into(), tab: 7 },
        domain: "example.com".into(),
        origin: "https://example.com".into(),
        slot: 2,
        url: Some("https://example.com/x".into()),
        title: None,
        active: true,
        last_updated: 5,
    };
    let cached = CachedRow {
        domain: "example.com".into(),
        origin: "https://example.com".into(),
        name: "getCart".into(),
        public_name: "website_tool_example_com_getCart".into(),
        raw: r#"{"name":"getCart", "x": 1e400}"#.into(),
        url: None,
    };
    for _ in 0..2 {
        store.put_tabs(person, std::slice::from_ref(&tab), std::slice::from_ref(&cached)).await.unwrap();
        assert_eq!(store.tabs_of(person).await.unwrap(), (vec![tab.clone()], vec![cached.clone()]));
    }
    store.put_tabs(person, &[], &[]).await.unwrap();
    assert_eq!(store.tabs_of(person).await.unwrap(), (vec![], vec![]));
    let line = TabLogRow {
        id: Uuid::now_v7(),
        person_id: person,
        profile_id: "p".into(),
        tab_id: 7,
        domain: "example.com".into(),
        origin: "https://example.com".into(),
        event: "called".into(),
        tool: Some("getCart".into()),
        outcome: "ok".into(),
        created_at: 1,
    };
    store.add_tab_log(&line).await.unwrap();
    store.prune_tab_log(person).await.unwrap();
    assert_eq!(store.tab_log(person, 10).await.unwrap(), [line]);
}
