//! Listings: names that stay, tools that go, settings that survive.

use uuid::Uuid;

use super::place::{Place, pair, stored_instance};
use crate::{ListKind, Switch, ToolRow};

on_both!(
    a_name_once_given_stays_with_its_tool,
    a_thousand_tools_are_stored_and_replaced,
    a_tool_listed_twice_counts_once,
    raw_tools_come_back_byte_for_byte,
    a_list_is_replaced_by_the_next_one,
    settings_survive_a_new_listing,
    tools_lists_and_settings_are_invisible_to_another_person,
);

pub(crate) fn tool(instance_id: Uuid, name: &str, position: i64) -> ToolRow {
    ToolRow {
        instance_id,
        name: name.into(),
        public_name: format!("mcp__w__{name}"),
        single_name: format!("mcp_w__{name}"),
        position,
        raw: format!(r#"{{"name":"{name}"}}"#),
        fetched_at: 1,
        gone: false,
    }
}

async fn a_name_once_given_stays_with_its_tool(place: Place) {
    let store = place.store().await;
    let id = stored_instance(&store, &pair(&store).await, "w").await.id;
    let (rain, sun) = (tool(id, "rain", 0), tool(id, "sun", 1));
    store.replace_tools(id, &[sun.clone(), rain.clone()]).await.unwrap();
    assert_eq!(store.tools_of(id).await.unwrap(), [rain.clone(), sun.clone()]);

    let snow = tool(id, "snow", 2);
    let renamed = ToolRow {
        public_name: "other".into(),
        single_name: "other".into(),
        position: 7,
        raw: "{}".into(),
        fetched_at: 2,
        ..sun.clone()
    };
    store.replace_tools(id, &[renamed, snow.clone()]).await.unwrap();
    let gone = ToolRow { gone: true, ..rain.clone() };
    let kept = ToolRow { raw: "{}".into(), fetched_at: 2, ..sun };
    assert_eq!(store.tools_of(id).await.unwrap(), [gone, kept, snow]);

    let back = ToolRow { public_name: "mcp__w__rain_2".into(), ..rain.clone() };
    store.replace_tools(id, &[back]).await.unwrap();
    let tools = store.tools_of(id).await.unwrap();
    assert_eq!(tools[0], rain);
    assert!(tools[1].gone && tools[2].gone);
}

async fn a_thousand_tools_are_stored_and_replaced(place: Place) {
    let store = place.store().await;
    let id = stored_instance(&store, &pair(&store).await, "w").await.id;
    let tools: Vec<_> = (0..1001).map(|n| tool(id, &format!("t{n}"), n)).collect();
    store.replace_tools(id, &tools).await.unwrap();
    assert_eq!(store.tools_of(id).await.unwrap(), tools);
    store.replace_tools(id, &tools[500..]).await.unwrap();
    let gone = store.tools_of(id).await.unwrap().into_iter().filter(|it| it.gone).count();
    assert_eq!(gone, 500);
    store.replace_tools(id, &[]).await.unwrap();
    assert!(store.tools_of(id).await.unwrap().iter().all(|it| it.gone));
}

async fn a_tool_listed_twice_counts_once(place: Place) {
    let store = place.store().await;
    let id = stored_instance(&store, &pair(&store).await, "w").await.id;
    let (first, second) = (tool(id, "rain", 0), ToolRow { raw: "{}".into(), ..tool(id, "rain", 1) });
    store.replace_tools(id, &[first.clone(), second]).await.unwrap();
    assert_eq!(store.tools_of(id).await.unwrap(), [first]);
}

async fn raw_tools_come_back_byte_for_byte(place: Place) {
    let store = place.store().await;
    let id = stored_instance(&store, &pair(&store).await, "w").await.id;
    let raw = "{ \"name\" :\"é☔\\u0000\",\r\n\t\"x\": 1e400, \"x\": [ ] }";
    let tools =
        [ToolRow { name: "é'; DROP TABLE mcp_tools; --".into(), raw: raw.into(), ..tool(id, "", 0) }];
    store.replace_tools(id, &tools).await.unwrap();
    assert_eq!(store.tools_of(id).await.unwrap(), tools);
}

async fn a_list_is_replaced_by_the_next_one(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let id = stored_instance(&store, &pair, "w").await.id;
    store.put_list(id, ListKind::Prompts, "[ 1 ]", 1).await.unwrap();
    store.put_list(id, ListKind::Prompts, "[ 2 ]", 2).await.unwrap();
    store.put_list(id, ListKind::Templates, "[]", 3).await.unwrap();
    store.put_list(id, ListKind::Resources, "[]", 3).await.unwrap();
    let lists = store.lists_of_person(pair.owner).await.unwrap();
    let found: Vec<_> = lists.iter().map(|it| (it.kind, it.items.as_str(), it.fetched_at)).collect();
    assert_eq!(
        found,
        [(ListKind::Prompts, "[ 2 ]", 2), (ListKind::Resources, "[]", 3), (ListKind::Templates, "[]", 3)]
    );
}

async fn settings_survive_a_new_listing(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let id = stored_instance(&store, &pair, "w").await.id;
    store.replace_tools(id, &[tool(id, "rain", 0)]).await.unwrap();
    store.switch_tool(id, "rain", Switch::Off).await.unwrap();
    store.set_tool_permission(id, "rain", "ask").await.unwrap();
    store.set_tool_permission(id, "sun", "block").await.unwrap();
    store.replace_tools(id, &[]).await.unwrap();
    store.replace_tools(id, &[tool(id, "rain", 0)]).await.unwrap();
    let settings = store.tool_settings(pair.owner).await.unwrap();
    let found: Vec<_> =
        settings.iter().map(|it| (it.tool.as_str(), it.enabled, it.permission.as_str())).collect();
    assert_eq!(found, [("rain", false, "ask"), ("sun", true, "block")]);
    store.switch_tool(id, "rain", Switch::On).await.unwrap();
    assert!(store.tool_settings(pair.owner).await.unwrap()[0].enabled);
}

async fn tools_lists_and_settings_are_invisible_to_another_person(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let id = stored_instance(&store, &pair, "w").await.id;
    store.replace_tools(id, &[tool(id, "rain", 0)]).await.unwrap();
    store.put_list(id, ListKind::Resources, "[]", 1).await.unwrap();
    store.switch_tool(id, "rain", Switch::Off).await.unwrap();
    assert_eq!(store.all_tools_of_person(pair.owner).await.unwrap().len(), 1);
    assert_eq!(store.all_tools_of_person(pair.stranger).await.unwrap(), []);
    assert_eq!(store.lists_of_person(pair.stranger).await.unwrap(), []);
    assert_eq!(store.tool_settings(pair.stranger).await.unwrap(), []);
}
