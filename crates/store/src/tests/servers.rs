//! The registry: what comes back, who sees it, which names are free.

use serde_json::json;
use uuid::Uuid;

use super::place::{Place, entry, pair, stored_instance};
use crate::{ListKind, ServerRow, StoreError, Switch};

on_both!(
    a_server_comes_back_as_it_was_stored,
    unknown_keys_of_an_entry_keep_their_order,
    an_update_replaces_the_whole_row,
    a_name_is_taken_once_per_workspace,
    a_private_name_neither_blocks_nor_betrays,
    a_person_sees_their_own_shared_and_global_servers,
    switching_and_judging_touch_only_their_column,
    removing_a_server_removes_all_that_hangs_on_it,
);

fn full_row(pair: &super::place::Pair) -> ServerRow {
    ServerRow {
        bud_id: Some(Uuid::now_v7()),
        metadata: json!({"name": "Wetter", "description": "☔", "methods": []}),
        rate_limit: Some(json!({"per_minute": 30})),
        description: "it's \"quoted\"; -- really".into(),
        enabled: false,
        protocol: Some("2025-03-26".into()),
        era: "legacy".into(),
        era_verdict: Some(json!({"era": "legacy", "at": 1})),
        registration: Some(json!(null)),
        ..entry(pair, "weather").server
    }
}

async fn a_server_comes_back_as_it_was_stored(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let server = full_row(&pair);
    store.add_server(&server).await.unwrap();
    assert_eq!(store.server(server.id).await.unwrap(), Some(server.clone()));
    let named = store.server_named(pair.owner, server.workspace_id, "weather").await.unwrap();
    assert_eq!(named, Some(server.clone()));
    assert_eq!(store.server_named(pair.owner, server.workspace_id, "Weather").await.unwrap(), None);
    assert_eq!(store.server_named(pair.owner, None, "weather").await.unwrap(), None);
}

async fn unknown_keys_of_an_entry_keep_their_order(place: Place) {
    let store = place.store().await;
    let text = r#"{"zeta":1,"url":"https://x/mcp","alpha":{"b":[1.5,null],"a":"\u0000"},"beta":-0.0}"#;
    let mut server = ServerRow::new("x", "streamable_http", "https://x/mcp", "paste");
    server.config = serde_json::from_str(text).unwrap();
    store.add_server(&server).await.unwrap();
    assert_eq!(store.server(server.id).await.unwrap().unwrap().config.to_string(), text);
}

async fn an_update_replaces_the_whole_row(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let mut server = full_row(&pair);
    store.add_server(&server).await.unwrap();
    let plain = entry(&pair, "plain").server;
    server = ServerRow { id: server.id, created_at: server.created_at, ..plain };
    assert!(store.update_server(&server).await.unwrap());
    let found = store.server(server.id).await.unwrap().unwrap();
    assert!(found.updated_at >= server.updated_at);
    assert_eq!(ServerRow { updated_at: server.updated_at, ..found }, server);
    server.id = Uuid::now_v7();
    server.name = "nobody".into();
    assert!(!store.update_server(&server).await.unwrap());
}

async fn a_name_is_taken_once_per_workspace(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    store.add_server(&entry(&pair, "weather").server).await.unwrap();
    let again = store.add_server(&entry(&pair, "weather").server).await.unwrap_err();
    assert!(matches!(&again, StoreError::NameTaken { name } if name == "weather"), "{again:?}");
    store.add_server(&entry(&pair, "Weather").server).await.unwrap();

    let mut other = entry(&pair, "db").server;
    store.add_server(&other).await.unwrap();
    other.name = "weather".into();
    assert!(matches!(store.update_server(&other).await, Err(StoreError::NameTaken { .. })));

    let global = ServerRow { workspace_id: None, ..entry(&pair, "weather").server };
    store.add_server(&global).await.unwrap();
    let global = ServerRow { id: Uuid::now_v7(), ..global };
    assert!(matches!(store.add_server(&global).await, Err(StoreError::NameTaken { .. })));
}

async fn a_private_name_neither_blocks_nor_betrays(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let mine = entry(&pair, "weather").server;
    let theirs = ServerRow { owner_id: Some(pair.stranger), ..entry(&pair, "weather").server };
    store.add_server(&mine).await.unwrap();
    store.add_server(&theirs).await.unwrap();
    let named = store.server_named(pair.stranger, Some(pair.workspace), "weather").await.unwrap();
    assert_eq!(named, Some(theirs));

    let shared = ServerRow { owner_id: None, ..entry(&pair, "shared").server };
    store.add_server(&shared).await.unwrap();
    let copy = store.add_server(&entry(&pair, "shared").server).await;
    assert!(matches!(copy, Err(StoreError::NameTaken { .. })));
}

async fn a_person_sees_their_own_shared_and_global_servers(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let elsewhere = store.add_workspace("elsewhere", "beta").await.unwrap();
    let mine = entry(&pair, "mine").server;
    let shared = ServerRow { owner_id: None, ..entry(&pair, "shared").server };
    let global = ServerRow::new("global", "stdio", "", "config");
    let foreign = ServerRow { workspace_id: Some(elsewhere), ..ServerRow::new("far", "stdio", "", "admin") };
    for server in [&shared, &mine, &global, &foreign] {
        store.add_server(server).await.unwrap();
    }
    let names = async |person| {
        let rows = store.servers_of(person).await.unwrap();
        rows.into_iter().map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(names(pair.owner).await, ["global", "mine", "shared"]);
    assert_eq!(names(pair.stranger).await, ["global", "shared"]);
    assert_eq!(store.visible_server(pair.stranger, mine.id).await.unwrap(), None);
    assert_eq!(store.visible_server(pair.owner, foreign.id).await.unwrap(), None);
    assert_eq!(store.visible_server(pair.owner, mine.id).await.unwrap(), Some(mine));
    assert_eq!(store.all_servers().await.unwrap().len(), 4);
}

async fn switching_and_judging_touch_only_their_column(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let server = full_row(&pair);
    store.add_server(&server).await.unwrap();
    assert!(store.switch_server(server.id, Switch::On).await.unwrap());
    assert!(store.set_era_verdict(server.id, Some(&json!({"era": "modern"}))).await.unwrap());
    let found = store.server(server.id).await.unwrap().unwrap();
    assert_eq!((found.enabled, found.era_verdict.clone()), (true, Some(json!({"era": "modern"}))));
    let put_back = ServerRow {
        enabled: false,
        era_verdict: server.era_verdict.clone(),
        updated_at: server.updated_at,
        ..found
    };
    assert_eq!(put_back, server);
    assert!(store.set_era_verdict(server.id, None).await.unwrap());
    assert_eq!(store.server(server.id).await.unwrap().unwrap().era_verdict, None);
    assert!(!store.switch_server(Uuid::now_v7(), Switch::Off).await.unwrap());
}

async fn removing_a_server_removes_all_that_hangs_on_it(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let instance = stored_instance(&store, &pair, "weather").await;
    let kept = stored_instance(&store, &pair, "kept").await;
    for id in [instance.id, kept.id] {
        store.replace_tools(id, &[super::tools::tool(id, "rain", 0)]).await.unwrap();
        store.put_list(id, ListKind::Prompts, "[]", 1).await.unwrap();
        store.switch_tool(id, "rain", Switch::Off).await.unwrap();
        store.put_credentials(id, vec![("X-Key".into(), toolgrove_core::Secret::new("s"))]).await.unwrap();
    }
    let copy = ServerRow { duplicate_of: Some(instance.server_id), ..entry(&pair, "copy").server };
    store.add_server(&copy).await.unwrap();

    assert!(store.remove_server(instance.server_id).await.unwrap());
    assert!(!store.remove_server(instance.server_id).await.unwrap());
    assert_eq!(store.instances_of(pair.owner).await.unwrap(), std::slice::from_ref(&kept));
    assert_eq!(store.tools_of(instance.id).await.unwrap(), []);
    assert_eq!(store.credentials_of(instance.id).await.unwrap(), []);
    assert_eq!(store.all_tools_of_person(pair.owner).await.unwrap().len(), 1);
    assert_eq!(store.lists_of_person(pair.owner).await.unwrap().len(), 1);
    assert_eq!(store.tool_settings(pair.owner).await.unwrap().len(), 1);
    assert_eq!(store.credentials_of(kept.id).await.unwrap().len(), 1);
    assert_eq!(store.server(copy.id).await.unwrap().unwrap().duplicate_of, None);
}
