//! Buds and their server rows, chats, plans, results and files: in step, and each person's own.

use serde_json::{Value, json};
use toolgrove_core::bud::BudPreset;
use uuid::Uuid;

use super::place::{Pair, Place, on_postgres, pair, stored_instance};
use crate::db::Sql;
use crate::{BudRow, ChatRow, InstanceRow, MessageRow, PlanRow, Store, StoreError};

on_both!(
    a_buds_server_follows_it_by_trigger,
    a_buds_name_is_taken_by_any_server_of_the_workspace,
    a_bud_is_found_by_its_words,
    an_edited_message_takes_what_followed_with_it,
    chats_plans_and_results_are_their_persons_own,
    leave_for_a_tool_goes_with_its_chat_and_with_its_instance,
    files_are_found_by_their_words,
);

fn bud(pair: &Pair, name: &str, preset: Value) -> BudRow {
    let preset: BudPreset = serde_json::from_value(preset).unwrap();
    BudRow::new(pair.workspace, Some(pair.owner), name, preset)
}

async fn metadata(store: &Store, id: Uuid) -> Option<Value> {
    store.server(id).await.unwrap().map(|it| it.metadata)
}

async fn a_buds_server_follows_it_by_trigger(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let schema =
        json!({ "type": "object", "properties": { "docA": { "type": "string" } }, "required": ["docA"] });
    let method =
        json!({ "name": "compareClauses", "description": "", "inputSchema": schema, "template": "secret" });
    let mut row =
        bud(&pair, "Compare", json!({ "description": "Compares", "temperature": 0.2, "methods": [method] }));
    store.add_bud(&row).await.unwrap();
    assert_eq!(store.bud(row.id).await.unwrap().as_ref(), Some(&row));
    let server = store.server(row.id).await.unwrap().unwrap();
    assert_eq!(
        (
            server.endpoint.as_str(),
            server.bud_id,
            server.transport.as_str(),
            server.workspace_id,
            server.owner_id
        ),
        (format!("bud://{}", row.id).as_str(), Some(row.id), "bud", Some(pair.workspace), None)
    );
    let methods = json!([{ "name": "compareClauses", "description": "", "inputSchema": schema }]);
    assert_eq!(server.metadata, json!({ "name": "Compare", "description": "Compares", "methods": methods }));

    row.name = "Contrast".into();
    row.preset.methods.clear();
    store.update_bud(&row).await.unwrap();
    let server = store.server(row.id).await.unwrap().unwrap();
    assert_eq!((server.name.as_str(), &server.metadata["name"]), ("Contrast", &json!("Contrast")));
    let ask = serde_json::to_value([toolgrove_core::bud::BudMethod::ask()]).unwrap();
    assert_eq!(server.metadata["methods"], ask, "the trigger knows the same default as the hub");

    let instance = InstanceRow::new(pair.owner, row.id, "contrast");
    store.add_instance(&instance).await.unwrap();
    assert!(store.remove_bud(row.id).await.unwrap());
    assert_eq!(metadata(&store, row.id).await, None);
    assert_eq!(store.instance(pair.owner, instance.id).await.unwrap(), None);
}

async fn a_buds_name_is_taken_by_any_server_of_the_workspace(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let first = bud(&pair, "Compare", json!({}));
    store.add_bud(&first).await.unwrap();
    let mut server = crate::ServerRow::new("taken", "streamable_http", "https://x/mcp", "admin");
    server.workspace_id = Some(pair.workspace);
    store.add_server(&server).await.unwrap();
    for name in ["Compare", "taken"] {
        let second = bud(&pair, name, json!({}));
        let refused = store.add_bud(&second).await;
        assert!(matches!(refused, Err(StoreError::NameTaken { .. })), "{name}: {refused:?}");
        assert_eq!(store.bud(second.id).await.unwrap(), None);
    }
}

async fn a_bud_is_found_by_its_words(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let outside = store.add_workspace("elsewhere", "beta").await.unwrap();
    let row = bud(&pair, "Compare", json!({}));
    let foreign = BudRow::new(outside, None, "Hidden", BudPreset::default());
    for it in [&row, &foreign] {
        store.add_bud(it).await.unwrap();
    }
    let at = async |workspace: &str, name: &str| {
        store.bud_at(pair.stranger, workspace, name).await.unwrap().map(|it| it.id)
    };
    assert_eq!(at("team", "Compare").await, Some(row.id));
    assert_eq!(at("team", "compare").await, None);
    assert_eq!(at("elsewhere", "Hidden").await, None);
    assert_eq!(store.visible_bud(pair.owner, foreign.id).await.unwrap(), None);
    assert_eq!(store.buds_of(pair.stranger).await.unwrap(), [row]);
}

async fn an_edited_message_takes_what_followed_with_it(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let (chat, other) = (ChatRow::new(pair.workspace, pair.owner), ChatRow::new(pair.workspace, pair.owner));
    store.add_chat(&chat).await.unwrap();
    store.add_chat(&other).await.unwrap();
    let mut said = Vec::new();
    for role in ["user", "assistant", "tool", "assistant"] {
        let message = MessageRow::new(chat.id, role, json!({ "text": role }));
        store.put_message(&message).await.unwrap();
        said.push(message);
    }
    said[1].content = json!({ "text": "more" });
    store.put_message(&said[1]).await.unwrap();
    assert_eq!(store.messages(chat.id).await.unwrap(), said);
    assert!(!store.cut_messages(other.id, said[2].id).await.unwrap());
    assert!(store.cut_messages(chat.id, said[2].id).await.unwrap());
    assert_eq!(store.messages(chat.id).await.unwrap(), said[..2]);
    let newest: Vec<_> = store.chats_of(pair.owner).await.unwrap().iter().map(|it| it.id).collect();
    assert_eq!(newest.len(), 2);
}

async fn chats_plans_and_results_are_their_persons_own(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let chat = ChatRow { title: "mine".into(), ..ChatRow::new(pair.workspace, pair.owner) };
    store.add_chat(&chat).await.unwrap();
    let plan = PlanRow::new(pair.workspace, pair.owner, "mine", json!({ "nodes": [], "edges": [] }));
    store.add_plan(&plan).await.unwrap();
    let result = store.add_result(pair.owner, Uuid::now_v7(), "long").await.unwrap();
    assert_eq!(store.chat(pair.owner, chat.id).await.unwrap(), Some(chat.clone()));
    assert_eq!(store.plan(pair.owner, plan.id).await.unwrap(), Some(plan.clone()));
    assert_eq!(store.result(pair.owner, result).await.unwrap().as_deref(), Some("long"));
    assert_eq!(store.chat(pair.stranger, chat.id).await.unwrap(), None);
    assert_eq!(store.plan(pair.stranger, plan.id).await.unwrap(), None);
    assert_eq!(store.result(pair.stranger, result).await.unwrap(), None);
    assert!(!store.remove_chat(pair.stranger, chat.id).await.unwrap());
    assert!(!store.remove_plan(pair.stranger, plan.id).await.unwrap());
    assert!(!store.update_plan(&PlanRow { owner_id: pair.stranger, ..plan }).await.unwrap());
    assert!(store.remove_chat(pair.owner, chat.id).await.unwrap());
}

async fn leave_for_a_tool_goes_with_its_chat_and_with_its_instance(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let [one, other] = [(); 2].map(|()| ChatRow::new(pair.workspace, pair.owner));
    let [oak, elm] =
        [stored_instance(&store, &pair, "oak").await, stored_instance(&store, &pair, "elm").await];
    for chat in [&one, &other] {
        store.add_chat(chat).await.unwrap();
        for instance in [&oak, &oak, &elm] {
            store.allow_in_chat(chat.id, instance.id, "grow").await.unwrap();
        }
    }
    let allowed = async |chat: &ChatRow| {
        let mut allowed = store.allowed_in_chat(chat.id).await.unwrap();
        allowed.sort_unstable();
        allowed
    };
    let grow = |it: &InstanceRow| (it.id, "grow".to_owned());
    assert_eq!(allowed(&one).await, [grow(&oak), grow(&elm)]);
    assert!(store.remove_chat(pair.owner, one.id).await.unwrap());
    assert_eq!(allowed(&one).await, []);
    store.remove_server(elm.server_id).await.unwrap();
    assert_eq!(allowed(&other).await, [grow(&oak)]);
}

#[test]
fn a_bucket_in_the_database_is_emptied_by_all_together_and_fills_again() {
    on_postgres(async |place| {
        let [one, other] = [place.store().await, place.store().await];
        let pair = pair(&one).await;
        let server = stored_instance(&one, &pair, "oak").await.server_id;
        let take = async |store: &Store| {
            let mut waits = Vec::new();
            for _ in 0..10 {
                waits.push(store.take_token(server, 0.001, 5.0).await.unwrap());
            }
            waits
        };
        let both = async || {
            let (mut waits, more) = tokio::join!(take(&one), take(&other));
            waits.extend(more);
            waits
        };
        let taken = both().await;
        assert_eq!(taken.iter().filter(|it| it.is_none()).count(), 5, "{taken:?}");
        for wait in taken.into_iter().flatten() {
            assert!((900.0..=1000.0).contains(&wait.as_secs_f64()), "{wait:?}");
        }
        // What has come since is there at once, and never more than the burst.
        let sql = Sql::new("UPDATE rate_buckets SET filled_at = filled_at - 1000000 WHERE server_id = $1");
        sql.bind(server).run(&one.db).await.unwrap();
        let taken = both().await;
        assert_eq!(taken.iter().filter(|it| it.is_none()).count(), 5, "{taken:?}");
    });
}

async fn files_are_found_by_their_words(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let outside = store.add_workspace("elsewhere", "beta").await.unwrap();
    let oak = store
        .add_file(pair.workspace, pair.owner, "oak.md", "text/markdown", "The oak is old")
        .await
        .unwrap();
    store
        .add_file(pair.workspace, pair.owner, "elm.md", "text/markdown", "An elm AND \"a\" leaf")
        .await
        .unwrap();
    store.add_file(outside, pair.owner, "hidden.md", "text/plain", "oak").await.unwrap();
    let find = async |words: &[&str]| {
        let words: Vec<_> = words.iter().map(|it| (*it).to_owned()).collect();
        let hits = store.search_files(pair.stranger, &words, 10).await.unwrap();
        hits.into_iter().map(|it| (it.name, it.passage)).collect::<Vec<_>>()
    };
    assert_eq!(find(&["OAK", "old"]).await, [("oak.md".to_owned(), "The oak is old".to_owned())]);
    assert_eq!(find(&["and", "leaf"]).await.len(), 1);
    assert_eq!(find(&["oak", "elm"]).await, []);
    assert_eq!(find(&["'", "\"", "NEAR("]).await, []);
    assert!(store.remove_file(oak.id).await.unwrap());
    assert_eq!(find(&["oak"]).await, []);
    assert_eq!(store.files_of(pair.stranger).await.unwrap().len(), 1);
}
