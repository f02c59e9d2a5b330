//! What is said outside of calls: changed lists and updated resources, in all four cells.

use std::time::Duration;

use serde_json::{Value, json};
use toolgrove_fixture::{Era, Options, Running};

use crate::grove::{ERAS, add, eventually, fixture, over_http, text};
use crate::hub::{Hub, Stream};
use crate::talk::{DOORS, Door, LATEST, Legacy, Modern, obliging};

const WATCHED: &str = "toolgrove://s/test://watched-resource";
const OTHER: &str = "toolgrove://s/test://static-text";

async fn touch(hub: &Hub, uri: &str) {
    assert_eq!(text(&hub.call("mcp__s__touch", json!({ "uri": uri })).await), "announced");
}

async fn subscribe(client: &mut Legacy<'_>, uri: &str) {
    let heard = client.request("resources/subscribe", json!({ "uri": uri })).await;
    assert_eq!(*heard.outcome(), json!({}), "{heard:?}");
}

/// A listen for these resources; the acknowledgement says that they were taken.
async fn listen(hub: &Hub, path: &str, uris: &[&str]) -> Stream {
    let client = Modern::at(hub, path, json!({}));
    let mut stream = client
        .open("subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": uris } }))
        .await;
    let first = stream.next().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    assert_eq!(first["params"]["notifications"], json!({ "resourceSubscriptions": uris }), "{first}");
    stream
}

const UPDATED: &str = "notifications/resources/updated";

/// The next message with this method; lists may change at any time.
async fn wait_for(stream: &mut Stream, method: &str) -> Value {
    loop {
        let message = stream.next().await.unwrap_or_else(|| panic!("the stream ended before {method}"));
        if message["method"] == method {
            return message;
        }
    }
}

fn count(server: &Running, method: &str) -> usize {
    server.methods().iter().filter(|it| *it == method).count()
}

const CHANGES: [(&str, &str); 3] = [
    ("mcp__s__change_tools", "notifications/tools/list_changed"),
    ("mcp__s__test_trigger_prompt_change", "notifications/prompts/list_changed"),
    ("mcp__s__change_resources", "notifications/resources/list_changed"),
];

#[tokio::test]
async fn changed_lists_are_heard_in_all_four_cells() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        let mut modern = hub.listen("/mcp").await;
        let mut one = hub.listen("/mcp/i/s").await;
        let mut legacy = Vec::new();
        for door in DOORS {
            let mut client = Legacy::open(&hub, door, LATEST, json!({}), obliging).await;
            client.hear().await;
            legacy.push((door, client));
        }
        for (tool, notification) in CHANGES {
            hub.call(tool, json!({})).await;
            for stream in [&mut modern, &mut one] {
                let message = wait_for(stream, notification).await;
                assert_eq!(
                    message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1,
                    "{message}"
                );
            }
            for (door, client) in &mut legacy {
                let message = client.wait_for(notification).await;
                assert_eq!(message, json!({ "jsonrpc": "2.0", "method": notification }), "{era:?} {door:?}");
            }
        }
    }
}

#[tokio::test]
async fn updated_resources_are_heard_by_those_who_asked_in_all_four_cells() {
    for era in ERAS {
        let (hub, _server) = over_http(Options { era, ..Options::default() }).await;
        let mut modern = listen(&hub, "/mcp", &[WATCHED]).await;
        let mut one = listen(&hub, "/mcp/i/s", &["test://watched-resource"]).await;
        let mut legacy = Vec::new();
        for door in DOORS {
            let mut client = Legacy::open(&hub, door, LATEST, json!({}), obliging).await;
            client.hear().await;
            subscribe(&mut client, WATCHED).await;
            legacy.push((door, client));
        }
        let mut stranger = Legacy::open(&hub, Door::Http, LATEST, json!({}), obliging).await;
        stranger.hear().await;
        subscribe(&mut stranger, OTHER).await;

        touch(&hub, "test://watched-resource").await;
        assert_eq!(wait_for(&mut modern, UPDATED).await["params"]["uri"], WATCHED, "{era:?}");
        assert_eq!(wait_for(&mut one, UPDATED).await["params"]["uri"], "test://watched-resource", "{era:?}");
        for (door, client) in &mut legacy {
            assert_eq!(
                client.wait_for(UPDATED).await["params"],
                json!({ "uri": WATCHED }),
                "{era:?} {door:?}"
            );
        }
        touch(&hub, "test://static-text").await;
        assert_eq!(
            stranger.wait_for(UPDATED).await["params"]["uri"],
            OTHER,
            "{era:?}: its own comes first, so the other never came"
        );

        for (door, client) in &mut legacy {
            let heard = client.request("resources/unsubscribe", json!({ "uri": WATCHED })).await;
            assert_eq!(*heard.outcome(), json!({}), "{era:?} {door:?}");
        }
        touch(&hub, "test://watched-resource").await;
        assert_eq!(
            wait_for(&mut modern, UPDATED).await["params"]["uri"],
            WATCHED,
            "{era:?}: the others still hear"
        );
        for (door, client) in &mut legacy {
            let more = client.next_within(Duration::from_millis(200)).await;
            assert_eq!(more, None, "{era:?} {door:?}");
        }
    }
}

#[tokio::test]
async fn a_legacy_server_hears_of_the_first_who_watches_and_of_the_last() {
    let (hub, server) = over_http(Options::default()).await;
    let mut first = Legacy::open(&hub, Door::Http, LATEST, json!({}), obliging).await;
    let mut second = Legacy::open(&hub, Door::Sse, LATEST, json!({}), obliging).await;
    let mut third = Legacy::open(&hub, Door::Stdio, LATEST, json!({}), obliging).await;
    for client in [&mut first, &mut second, &mut third] {
        subscribe(client, WATCHED).await;
    }
    subscribe(&mut third, WATCHED).await;
    let modern = listen(&hub, "/mcp", &[WATCHED]).await;
    assert_eq!(count(&server, "resources/subscribe"), 1);

    first.request("resources/unsubscribe", json!({ "uri": WATCHED })).await;
    drop(second);
    drop(modern);
    subscribe(&mut first, OTHER).await;
    assert_eq!(count(&server, "resources/unsubscribe"), 0, "one is still there");
    drop(third);
    eventually("the last has left", async || (count(&server, "resources/unsubscribe") == 1).then_some(()))
        .await;
    subscribe(&mut first, WATCHED).await;
    assert_eq!(count(&server, "resources/subscribe"), 3, "and a new one is a first one again");
    let session = first.session().to_owned();
    let ended = hub.ask(http::Method::DELETE, "/mcp", &[("mcp-session-id", &session)], "").await;
    assert_eq!(ended.status, 204);
    eventually("a session that ends leaves both", async || {
        (count(&server, "resources/unsubscribe") == 3).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_modern_server_is_listened_to_for_as_long_as_somebody_watches() {
    let (hub, server) = over_http(Options { era: Era::Modern, ..Options::default() }).await;
    let before = count(&server, "subscriptions/listen");
    let mut legacy = Legacy::open(&hub, Door::Sse, LATEST, json!({}), obliging).await;
    subscribe(&mut legacy, WATCHED).await;
    let mut modern = listen(&hub, "/mcp", &[WATCHED]).await;
    let after = count(&server, "subscriptions/listen");
    assert_eq!(after, before + 1, "one listen serves both");
    drop(legacy);
    touch(&hub, "test://watched-resource").await;
    assert_eq!(modern.next().await.unwrap()["params"]["uri"], WATCHED);
    drop(modern);
    // Once nobody watches, the next one is a first one again.
    eventually("a new listen is opened", async || {
        drop(listen(&hub, "/mcp", &[WATCHED]).await);
        (count(&server, "subscriptions/listen") > after).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_watched_is_left_out_of_the_acknowledgement() {
    let (hub, _server) = over_http(Options::default()).await;
    let client = Modern::new(&hub, json!({}));
    let wanted =
        json!({ "resourceSubscriptions": [WATCHED, "toolgrove://nobody/x://y"], "toolsListChanged": true });
    let mut stream = client.open("subscriptions/listen", json!({ "notifications": wanted })).await;
    let first = stream.next().await.unwrap();
    let accepted = json!({ "resourceSubscriptions": [WATCHED], "toolsListChanged": true });
    assert_eq!(first["params"]["notifications"], accepted, "{first}");
}

#[tokio::test]
async fn a_watch_outlives_a_server_that_starts_anew() {
    for era in ERAS {
        let (hub, mut server) = over_http(Options { era, ..Options::default() }).await;
        let mut modern = listen(&hub, "/mcp", &[WATCHED]).await;
        server.restart().await.unwrap();
        // Whatever is touched before the hub has subscribed again is nobody's to hear.
        let heard = eventually(&format!("{era:?}: it is watched again"), async || {
            let _ = hub.call("mcp__s__touch", json!({ "uri": "test://watched-resource" })).await;
            tokio::time::timeout(Duration::from_millis(100), modern.next()).await.ok().flatten()
        })
        .await;
        assert_eq!(heard["params"]["uri"], WATCHED, "{era:?}: {heard}");
    }
}

/// How long a modern client may keep the tools it sees.
async fn kept_ms(hub: &Hub, path: &str) -> u64 {
    let listed = Modern::at(hub, path, json!({})).ask("tools/list", json!({})).await;
    assert_eq!(listed["cacheScope"], "private", "{listed:.300}");
    listed["ttlMs"].as_u64().unwrap()
}

#[tokio::test]
async fn lists_may_be_kept_while_every_server_behind_them_is_heard_announcing_changes() {
    let (hub, mut server) = over_http(Options { era: Era::Modern, ..Options::default() }).await;
    for path in ["/mcp", "/mcp/i/s"] {
        eventually("the server is listened to", async || (kept_ms(&hub, path).await == 60_000).then_some(()))
            .await;
    }
    let legacy = fixture(Options { era: Era::Legacy, ..Options::default() }).await;
    add(&hub, json!({ "old": { "url": legacy.url() } })).await;
    assert_eq!((kept_ms(&hub, "/mcp").await, kept_ms(&hub, "/mcp/i/old").await), (0, 0));
    assert_eq!(kept_ms(&hub, "/mcp/i/s").await, 60_000);
    server.stop().await;
    eventually("nobody is heard any more", async || (kept_ms(&hub, "/mcp/i/s").await == 0).then_some(()))
        .await;
}

#[tokio::test]
async fn a_modern_server_says_how_long_its_contents_may_be_kept() {
    let options = Options { era: Era::Modern, ttl_ms: 600_000, ..Options::default() };
    let (hub, _server) = over_http(options).await;
    let read = async |uri: &str, path: &str| {
        Modern::at(&hub, path, json!({})).ask("resources/read", json!({ "uri": uri })).await
    };
    for (uri, path) in [(OTHER, "/mcp"), ("test://static-text", "/mcp/i/s")] {
        let contents = read(uri, path).await;
        assert_eq!((&contents["ttlMs"], &contents["cacheScope"]), (&json!(600_000), &json!("private")));
    }
}

const TASKS: &str = "io.modelcontextprotocol/tasks";

#[tokio::test]
async fn a_task_is_heard_of_under_the_id_its_client_knows() {
    let (hub, _server) = over_http(Options { era: Era::Modern, ..Options::default() }).await;
    for (path, name) in [("/mcp", "mcp__s__confirm_delete"), ("/mcp/i/s", "confirm_delete")] {
        let client = Modern::at(&hub, path, json!({ "extensions": { TASKS: {} }, "elicitation": {} }));
        let created = client.call(name, json!({ "filename": "a" })).await;
        assert_eq!(created["resultType"], "task", "{created}");
        let id = created["taskId"].clone();
        let wanted = json!({ "notifications": { "taskIds": [id, "nobody's"] } });
        let mut stream = client.open("subscriptions/listen", wanted.clone()).await;
        let first = stream.next().await.unwrap();
        assert_eq!(first["params"]["notifications"], json!({ "taskIds": [id] }), "{first}");

        let stranger = Modern::at(&hub, path, json!({}));
        let first = stranger.open("subscriptions/listen", wanted).await.next().await.unwrap();
        assert_eq!(first["params"]["notifications"], json!({}), "it does not know tasks: {first}");

        let asked = eventually("it asks", async || {
            let task = client.ask("tasks/get", json!({ "taskId": id })).await;
            (task["status"] == "input_required").then_some(task)
        })
        .await;
        assert_eq!(asked["taskId"], id);
        let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        let answers = json!({ key: { "action": "accept", "content": { "confirm": true } } });
        let taken = client.ask("tasks/update", json!({ "taskId": id, "inputResponses": answers })).await;
        assert_eq!(taken["resultType"], "complete", "{taken}");
        let done = loop {
            let message = wait_for(&mut stream, "notifications/tasks").await;
            assert_eq!(message["params"]["taskId"], id, "{message}");
            assert!(
                message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].is_u64(),
                "{message}"
            );
            if message["params"]["status"] == "completed" {
                break message;
            }
        };
        assert!(done["params"]["result"]["content"].is_array(), "{done}");
    }
}
