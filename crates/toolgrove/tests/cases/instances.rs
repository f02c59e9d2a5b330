//! `instances.json`: servers as a person uses them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Json;
use axum::routing::post;
use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::{Era, Fixture, Options, Running};

use crate::Case;
use crate::hub::{Hub, PATIENCE};
use crate::provider::{Provider, come_back, connect, query, sign_in};
use crate::team::Team;

crate::scenarios! {
    "public-needs-instance" => public_needs_instance,
    "multi-instance" => multi_instance,
    "slug-same-other-user" => same_slug,
    "server-missing" => server_missing,
    "server-disabled" => server_disabled,
    "update-missing" => update_missing,
    "other-users-instance" => other_person,
    "keep-auth-when-omitted" => keep_auth,
    "credentials-absent-vs-empty" => absent_or_given,
    "secrets-never-returned" => never_returned,
    "secrets-encrypted" => encrypted,
    "query-param-auth" => query_auth,
    "list-filter-enabled" => filter_enabled,
    "admin-preview" => preview,
    "no-cap-cache" => no_cache,
    "fresh-session-per-chat" => session_per_chat,
    "builtin-instance" => builtin,
    "session-idle" => session_idle,
    "legacy-client-is-a-chat" => client_is_a_chat,
    "no-cleanup-job" => no_cleanup,
    "live-skipped-with-feed" => skipped_with_feed,
    "preview-partial" => preview_partial,
    "stdio-admin" => stdio_admin,
    "status-after-oauth" => status_after_oauth,
    "reconnect-button" => reconnect,
    "delete-unfinished" => delete_unfinished,
    "mcp-page-own-only" => own_page,
}

/// Registers a server as an admin does; nobody uses it yet.
async fn register(hub: &Hub, name: &str, url: &str, auth: Value) -> Value {
    let workspace = hub.get("/api/workspaces").await[0]["id"].clone();
    let body = json!({ "workspaceId": workspace, "name": name, "endpoint": url, "auth": auth });
    let (status, server) = hub.api(Method::POST, "/api/mcp/servers", body).await;
    assert_eq!(status, 201, "{server}");
    server
}

async fn add(hub: &Hub, body: Value) -> Value {
    let (status, instance) = hub.api(Method::POST, "/api/mcp/instances", body).await;
    assert_eq!(status, 201, "{instance}");
    instance
}

async fn change(hub: &Hub, slug: &str, body: Value) -> Value {
    let (status, instance) = hub.api(Method::PATCH, &format!("/api/mcp/instances/{slug}"), body).await;
    assert_eq!(status, 200, "{instance}");
    instance
}

/// What the case says about status and code.
#[track_caller]
fn check(case: &Case, (status, problem): (u16, Value)) {
    assert_eq!((json!(status), &problem["code"]), (case.expect["status"].clone(), &case.expect["code"]));
}

async fn fixture(options: Options) -> Running {
    Fixture::start(options).await.unwrap()
}

/// A legacy server that answers as the function says: `{result}` or `{error}`.
async fn scripted(reply: impl Fn(&Value) -> Value + Clone + Send + Sync + 'static) -> String {
    let answer = move |Json(message): Json<Value>| {
        let mut answer = reply(&message);
        async move {
            answer["jsonrpc"] = "2.0".into();
            answer["id"] = message["id"].clone();
            Json(answer)
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    #[expect(clippy::disallowed_methods, reason = "a test server")]
    tokio::spawn(async move {
        axum::serve(listener, axum::Router::new().route("/mcp", post(answer))).await.unwrap();
    });
    url
}

/// What such a server says to everything that is not its point.
fn usual(message: &Value) -> Value {
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({ "result": { "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {}, "prompts": {}, "resources": {} },
            "serverInfo": { "name": "scripted", "version": "1" } } }),
        "tools/list" => {
            json!({ "result": { "tools": [{ "name": "one", "inputSchema": { "type": "object" } }] } })
        }
        "resources/list" => json!({ "result": { "resources": [{ "uri": "a:b", "name": "b" }] } }),
        "resources/templates/list" => json!({ "result": { "resourceTemplates": [] } }),
        "prompts/list" => json!({ "result": { "prompts": [{ "name": "hello" }] } }),
        "tools/call" => {
            json!({ "result": { "content": [{ "type": "text", "text": message["params"]["name"] }] } })
        }
        _ => json!({ "error": { "code": -32601, "message": "no" } }),
    }
}

async fn public_needs_instance(_: Case) {
    let server = fixture(Options::default()).await;
    let hub = Hub::start().await;
    let row = register(&hub, "s", &server.url(), Value::Null).await;
    assert_eq!(server.log().len(), 0, "nothing is asked of a server that is only registered");
    assert_eq!(hub.tools().await, [""; 0]);
    assert_eq!(hub.call("mcp__s__echo", json!({})).await["data"]["code"], "server.unknown");
    let instance = add(&hub, json!({ "server_id": row["id"], "slug": "mine" })).await;
    assert_eq!((&instance["auth_type"], &instance["status"]), (&json!("public"), &json!("ready")));
    assert!(hub.tools().await.contains(&"mcp__mine__echo".to_owned()));
    assert_eq!(hub.call("mcp__mine__echo", json!({ "a": 1 })).await["content"][0]["text"], "{\"a\":1}");
}

async fn multi_instance(case: Case) {
    let server = fixture(Options::default()).await;
    let hub = Hub::start().await;
    let name = case.given["server"].as_str().unwrap();
    let auth = json!({ "type": "header", "entries": [{ "in": "header", "key": "X-Own" }] });
    register(&hub, name, &server.url(), auth).await;
    let slugs: Vec<_> =
        case.given["slugs"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    for slug in &slugs {
        let credentials = json!({ "X-Own": format!("value-of-{slug}") });
        add(&hub, json!({ "server_id": name, "slug": slug, "credentials": credentials })).await;
    }
    let list = hub.modern("/mcp?names=single", "tools/list", json!({})).await.json().to_string();
    for slug in &slugs {
        assert!(list.contains(&format!("\"mcp_{slug}__echo\"")), "{list}");
        let seen = hub.call(&format!("mcp_{slug}__seen_headers"), json!({})).await;
        assert_eq!(seen["structuredContent"]["x-own"], format!("value-of-{slug}"), "{seen}");
    }
    let (status, taken) = hub
        .api(
            Method::POST,
            "/api/mcp/instances",
            json!({ "server_id": name, "slug": slugs[0].to_uppercase() }),
        )
        .await;
    assert_eq!((status, &taken["code"]), (409, &json!("instance.slug-taken")), "case is ignored");
    // Without a slug the server's address proposes one, and a second one counts up.
    let first = add(&hub, json!({ "server_id": name })).await;
    let second = add(&hub, json!({ "server_id": name })).await;
    assert_eq!((&first["slug"], &second["slug"]), (&json!("127-0-0-1"), &json!("127-0-0-1-2")));
}

async fn same_slug(case: Case) {
    let server = fixture(Options::default()).await;
    let team = Team::start().await;
    let hub = &team.hub;
    for (person, slug) in case.given.as_object().unwrap() {
        let visitor = team.invite(person, "member").await;
        visitor.add(hub, slug.as_str().unwrap(), &server.url()).await;
        let instances = visitor.get(hub, "/api/mcp/instances").await;
        let slugs: Vec<_> = instances.as_array().unwrap().iter().map(|it| it["slug"].clone()).collect();
        assert_eq!(
            slugs,
            [slug.clone(), json!("builtin"), json!("tabs")],
            "their own, and what everybody has"
        );
    }
}

async fn other_person(case: Case) {
    let server = fixture(Options::default()).await;
    let team = Team::start().await;
    let hub = &team.hub;
    let name = |key: &str| case.given[key].as_str().unwrap().to_owned();
    let (owner, reader) =
        (team.invite(&name("owner"), "member").await, team.invite(&name("reader"), "member").await);
    let id = owner.add(hub, "mine", &server.url()).await;
    let before = owner.get(hub, &format!("/api/mcp/instances/{id}")).await;
    for word in [id.as_str(), "mine"] {
        let path = format!("/api/mcp/instances/{word}");
        for (method, path, body) in [
            (Method::GET, path.clone(), Value::Null),
            (Method::PATCH, path.clone(), json!({ "name": "stolen", "enabled": false })),
            (Method::PATCH, path.clone(), json!({ "auth_type": "public", "credentials": {} })),
            (Method::DELETE, path.clone(), Value::Null),
            (Method::POST, format!("{path}/refresh"), Value::Null),
            (Method::POST, format!("{path}/doctor"), Value::Null),
            (Method::GET, format!("{path}/log"), Value::Null),
            (Method::PATCH, format!("{path}/tools/echo"), json!({ "enabled": false })),
        ] {
            for visitor in [&reader, &team.admin] {
                let (status, problem) = visitor.api(hub, method.clone(), &path, body.clone()).await;
                assert_eq!((status, &problem["code"]), (404, &json!("instance.unknown")), "{method} {path}");
            }
        }
    }
    let after = owner.get(hub, &format!("/api/mcp/instances/{id}")).await;
    for key in ["name", "enabled", "status", "tools", "tools_off", "credentials"] {
        assert_eq!(after[key], before[key]);
    }
}

async fn server_missing(case: Case) {
    let hub = Hub::start().await;
    let body = json!({ "server_id": case.given["server_id"], "slug": "s" });
    check(&case, hub.api(Method::POST, "/api/mcp/instances", body).await);
}

async fn server_disabled(case: Case) {
    let hub = Hub::start().await;
    register(&hub, "s", "https://s.invalid/mcp", Value::Null).await;
    hub.api(Method::PATCH, "/api/mcp/servers/s", json!({ "enabled": case.given["server.enabled"] })).await;
    check(&case, hub.api(Method::POST, "/api/mcp/instances", json!({ "server_id": "s" })).await);
}

async fn update_missing(case: Case) {
    let hub = Hub::start().await;
    let id = case.given["id"].as_str().unwrap();
    for (method, body) in
        [(Method::PATCH, json!({ "name": "x" })), (Method::GET, Value::Null), (Method::DELETE, Value::Null)]
    {
        check(&case, hub.api(method, &format!("/api/mcp/instances/{id}"), body).await);
    }
}

/// A hub with one server that takes a header and a query parameter or nothing, and an instance `s` that shows both.
async fn keyed() -> (Hub, Running, Value) {
    let server = fixture(Options::default()).await;
    let hub = Hub::start().await;
    let entries = json!([{ "in": "header", "key": "X-API-Key" }, { "in": "query", "key": "api_key" }]);
    register(&hub, "s", &server.url(), json!({ "type": "header", "entries": entries })).await;
    let (status, public) =
        hub.api(Method::POST, "/api/mcp/servers/s/auth-configs", json!({ "type": "public" })).await;
    assert_eq!(status, 201, "{public}");
    let values = json!({ "X-API-Key": "k-4711-secret", "api_key": "q-4711-secret" });
    let instance = add(&hub, json!({ "server_id": "s", "slug": "s", "credentials": values })).await;
    (hub, server, instance)
}

/// Header and query parameter of the latest request.
async fn sent(hub: &Hub, server: &Running) -> (Option<String>, bool) {
    server.clear_log();
    hub.call("mcp__s__echo", json!({})).await;
    let last = server.log().into_iter().rfind(|it| it.method.as_deref() == Some("tools/call")).unwrap();
    (last.header("x-api-key").map(Into::into), last.path.unwrap().contains("api_key=q-4711-secret"))
}

async fn keep_auth(_: Case) {
    let (hub, server, before) = keyed().await;
    assert!(before["auth_config_id"].is_string(), "{before}");
    for body in [json!({ "name": "other" }), json!({ "name": "third", "auth_type": "header" })] {
        let after = change(&hub, "s", body.clone()).await;
        for key in ["auth_config_id", "auth_type", "credentials", "status", "id", "slug"] {
            assert_eq!(after[key], before[key], "{body}");
        }
        assert_eq!(after["name"], body["name"]);
        assert_eq!(sent(&hub, &server).await, (Some("k-4711-secret".into()), true));
    }
    // Another type forgets what was shown before, and so does the way back.
    let public = change(&hub, "s", json!({ "auth_type": "public" })).await;
    assert_eq!((&public["status"], &public["credentials"]), (&json!("ready"), &json!([])));
    assert_eq!(sent(&hub, &server).await, (None, false));
    let back = change(&hub, "s", json!({ "auth_type": "header" })).await;
    assert_eq!(back["status"], "not_ready", "{back}");
    assert!(back["credentials"].as_array().unwrap().iter().all(|it| it["has_value"] == false), "{back}");
}

async fn absent_or_given(case: Case) {
    let (hub, server, _) = keyed().await;
    let kept = change(&hub, "s", json!({ "credentials": case.given["credentials"], "name": "n" })).await;
    assert_eq!(kept["status"], "ready");
    assert_eq!(sent(&hub, &server).await, (Some("k-4711-secret".into()), true));
    let has = |instance: &Value| -> Vec<bool> {
        instance["credentials"].as_array().unwrap().iter().map(|it| it["has_value"] == true).collect()
    };
    // A list replaces all: what it does not name is gone, and without it the instance cannot be used.
    let half =
        change(&hub, "s", json!({ "credentials": [{ "key": "X-API-Key", "value": "new-4711" }] })).await;
    assert_eq!((has(&half), &half["status"]), (vec![true, false], &json!("not_ready")));
    server.clear_log();
    let refused = hub.call("mcp__s__echo", json!({})).await;
    assert!(refused["message"].as_str().unwrap().contains("not set: `api_key`"), "{refused}");
    assert!(
        server.log().iter().all(|it| it.http.as_deref() == Some("DELETE")),
        "nothing is sent half-dressed"
    );
    let whole = json!({ "credentials": { "x-api-key": "new-4711", "api_key": "q-4711-secret" } });
    let whole = change(&hub, "s", whole).await;
    assert_eq!((has(&whole), &whole["status"]), (vec![true, true], &json!("ready")));
    assert_eq!(sent(&hub, &server).await, (Some("new-4711".into()), true));
    let none = change(&hub, "s", json!({ "credentials": [] })).await;
    assert_eq!((has(&none), &none["status"]), (vec![false, false], &json!("not_ready")));
    for wrong in [
        json!({ "X-Other": "v" }),
        json!([{ "value": "v" }]),
        json!("v"),
        json!({ "api_key": {} }),
        json!({ "X-API-Key": "a\r\nb" }),
    ] {
        let (status, problem) =
            hub.api(Method::PATCH, "/api/mcp/instances/s", json!({ "credentials": wrong })).await;
        assert_eq!(status, 400, "{wrong}: {problem}");
    }
}

async fn never_returned(_: Case) {
    let (hub, server, instance) = keyed().await;
    let mut answers = vec![instance.to_string()];
    answers.push(change(&hub, "s", json!({ "name": "n" })).await.to_string());
    for path in [
        "/api/mcp/instances",
        "/api/mcp/instances/s",
        "/api/mcp/servers",
        "/api/mcp/servers/s",
        "/api/mcp/servers/s/auth-configs",
        "/api/mcp/servers/s/preview",
        "/api/mcp/export",
        "/api/calls",
    ] {
        answers.push(hub.get(path).await.to_string());
    }
    server.change(|it| it.status = Some("401:No".parse().unwrap()));
    for path in ["instances/s/refresh", "instances/s/doctor", "servers/s/test"] {
        answers.push(hub.api(Method::POST, &format!("/api/mcp/{path}"), json!({})).await.1.to_string());
    }
    for answer in &answers {
        assert!(!answer.contains("4711-secret"), "{answer}");
    }
    let named = &hub.get("/api/mcp/instances/s").await["credentials"];
    let expected = json!([
        { "in": "header", "key": "X-API-Key", "has_value": true },
        { "in": "query", "key": "api_key", "has_value": true },
    ]);
    assert_eq!(*named, expected);
}

async fn encrypted(case: Case) {
    let given = case.given.as_object().unwrap().keys().next().unwrap();
    let secret = given.split('\'').nth(1).unwrap();
    let server = fixture(Options::default()).await;
    let hub = Hub::start().await;
    let auth = json!({ "type": "header", "entries": [{ "in": "header", "key": "Authorization" }] });
    register(&hub, "s", &server.url(), auth).await;
    add(&hub, json!({ "server_id": "s", "slug": "s", "credentials": { "Authorization": secret } })).await;
    let seen = hub.call("mcp__s__seen_headers", json!({})).await;
    assert_eq!(seen["structuredContent"]["authorization"], secret);
    let dir = hub.stop().await;
    for file in std::fs::read_dir(dir.path().join("data")).unwrap().flatten() {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        assert!(!bytes.windows(secret.len()).any(|it| it == secret.as_bytes()), "{}", file.path().display());
    }
}

async fn query_auth(case: Case) {
    let server = fixture(Options::default()).await;
    let hub = Hub::start().await;
    let auth = json!({ "type": "header", "entries": case.given["entries"] });
    register(&hub, "s", &server.url(), auth).await;
    add(&hub, json!({ "server_id": "s", "slug": "s", "credentials": case.given["values"] })).await;
    hub.call("mcp__s__echo", json!({})).await;
    hub.stop().await;
    let query = case.expect.as_str().unwrap().split("/mcp").nth(1).unwrap();
    for verb in ["POST", "GET", "DELETE"] {
        let seen: Vec<_> = server.log().into_iter().filter(|it| it.http.as_deref() == Some(verb)).collect();
        assert!(!seen.is_empty(), "no {verb}");
        for one in seen {
            assert_eq!(one.path.as_deref(), Some(format!("/mcp{query}").as_str()), "{verb}");
            assert_eq!(one.header("x-api-key"), case.given["values"]["X-API-Key"].as_str(), "{verb}");
        }
    }
}

async fn filter_enabled(case: Case) {
    let hub = Hub::start().await;
    for (name, enabled) in case.given["servers"].as_object().unwrap() {
        register(&hub, name, &format!("https://{name}.invalid/mcp"), Value::Null).await;
        hub.api(Method::PATCH, &format!("/api/mcp/servers/{name}"), json!({ "enabled": enabled })).await;
    }
    for (filter, expected) in case.expect.as_object().unwrap() {
        let query = if filter == "none" { "" } else { filter };
        let rows = hub.get(&format!("/api/mcp/servers?{query}")).await;
        let names: Vec<_> = rows.as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
        assert_eq!(json!(names), *expected, "{filter}");
        assert!(rows.as_array().unwrap().iter().all(|it| it["enabled_instances"] == 0));
    }
}

async fn preview(_: Case) {
    for era in [Era::Legacy, Era::Modern] {
        let server = fixture(Options { era, ..Options::default() }).await;
        let hub = Hub::start().await;
        register(&hub, "s", &server.url(), Value::Null).await;
        let seen = hub.get("/api/mcp/servers/s/preview").await;
        assert_eq!(seen["ok"], true, "{seen}");
        let names = |list: &str, key: &str| {
            seen[list]["items"].as_array().unwrap().iter().any(|it| it[key].is_string())
        };
        assert!(names("tools", "name") && names("resources", "uri") && names("prompts", "name"), "{seen}");
        assert!(seen["capabilities"]["tools"].is_object(), "{seen}");
        assert_eq!(seen["era"]["era"], if era == Era::Legacy { "legacy" } else { "modern" });
        let echo = seen["names"].as_array().unwrap().iter().find(|it| it["tool"] == "echo").unwrap();
        assert_eq!(echo["public_name"], "mcp__127-0-0-1__echo");
        assert!(seen["tokens"].as_u64().unwrap() > 100);
        let (_, edited) = hub
            .api(Method::POST, "/api/mcp/servers/s/preview", json!({ "endpoint": "http://127.0.0.1:1/mcp" }))
            .await;
        assert_eq!((&edited["ok"], &edited["error"]["code"]), (&json!(false), &json!("link.unreachable")));
        assert_eq!(hub.get("/api/mcp/servers/s").await["endpoint"], server.url(), "a dry run saves nothing");
    }
    let hub = Hub::start().await;
    register(&hub, "away", "http://127.0.0.1:1/mcp", Value::Null).await;
    let seen = hub.get("/api/mcp/servers/away/preview").await;
    assert_eq!((&seen["ok"], &seen["error"]["code"]), (&json!(false), &json!("link.unreachable")), "{seen}");
    assert!(seen["error"]["detail"].as_str().unwrap().contains("Connection refused"), "{seen}");
    assert_eq!(hub.get("/api/mcp/servers").await[0]["name"], "away", "it stays saved");
}

async fn preview_partial(_: Case) {
    let url = scripted(|message| match message["method"].as_str() {
        Some("prompts/list") => {
            json!({ "error": { "code": -32603, "message": "no prompts today", "data": { "why": "rain" } } })
        }
        _ => usual(message),
    })
    .await;
    let hub = Hub::start().await;
    register(&hub, "s", &url, Value::Null).await;
    let seen = hub.get("/api/mcp/servers/s/preview").await;
    assert_eq!(seen["tools"]["items"][0]["name"], "one", "{seen}");
    assert_eq!(seen["resources"]["items"][0]["uri"], "a:b", "{seen}");
    assert_eq!(seen["prompts"]["items"], json!([]));
    let detail = "MCP error -32603: no prompts today {\"why\":\"rain\"}";
    assert_eq!(seen["prompts"]["error"]["detail"], detail, "{seen}");
    assert_eq!(hub.get("/api/mcp/servers").await[0]["name"], "s", "it stays saved");
}

async fn no_cache(_: Case) {
    let tools = Arc::new(Mutex::new(vec!["one"]));
    let listed = tools.clone();
    let url = scripted(move |message| match message["method"].as_str() {
        Some("tools/list") => {
            let tools: Vec<_> =
                listed.lock().unwrap().iter().map(|it| json!({ "name": it, "inputSchema": {} })).collect();
            json!({ "result": { "tools": tools } })
        }
        _ => usual(message),
    })
    .await;
    let hub = Hub::start_with("capabilities = \"always\"").await;
    hub.import(json!({ "s": { "url": url } })).await;
    assert_eq!(hub.call("mcp__s__one", json!({})).await["content"][0]["text"], "one");
    tools.lock().unwrap().push("two");
    assert_eq!(
        hub.call("mcp__s__two", json!({})).await["content"][0]["text"],
        "two",
        "nobody has refreshed anything"
    );
}

async fn skipped_with_feed(_: Case) {
    let fed = fixture(Options { era: Era::Modern, ..Options::default() }).await;
    let unfed = fixture(Options { no_get: true, ..Options::default() }).await;
    let hub = Hub::start().await;
    hub.import(json!({ "fed": { "url": fed.url() }, "unfed": { "url": unfed.url() } })).await;
    let has = |server: &Running, method: &str| server.methods().iter().any(|it| it == method);
    eventually("the feed is open", async || has(&fed, "subscriptions/listen")).await;
    hub.call("mcp__fed__echo", json!({})).await;
    for server in [&fed, &unfed] {
        server.clear_log();
    }
    // As soon as a list is old enough to be asked for again beside a call, one of the two is.
    eventually("the other list is asked for", async || {
        hub.call("mcp__unfed__echo", json!({})).await;
        hub.call("mcp__fed__echo", json!({})).await;
        has(&unfed, "tools/list")
    })
    .await;
    hub.call("mcp__fed__echo", json!({})).await;
    assert!(!has(&fed, "tools/list"), "{:?}", fed.methods());
}

async fn eventually(what: &str, mut look: impl AsyncFnMut() -> bool) {
    let began = tokio::time::Instant::now();
    while !look().await {
        assert!(began.elapsed() < PATIENCE, "it did not happen: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The sessions in which a server was called, in the order of their first call, and those that were deleted.
fn sessions(server: &Running) -> (Vec<String>, Vec<String>) {
    let (mut called, mut deleted) = (Vec::new(), Vec::new());
    for seen in server.log() {
        let Some(session) = seen.header("mcp-session-id").map(str::to_owned) else { continue };
        if seen.method.as_deref() == Some("tools/call") && !called.contains(&session) {
            called.push(session);
        } else if seen.http.as_deref() == Some("DELETE") {
            deleted.push(session);
        }
    }
    (called, deleted)
}

async fn session_per_chat(case: Case) {
    let server = fixture(Options::default()).await;
    let hub = Hub::start().await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let chats: Vec<_> =
        case.given["chats"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    let call = async |chat: &str| {
        let params =
            json!({ "name": "mcp__s__echo", "arguments": {}, "_meta": { "dev.toolgrove/chat": chat } });
        let answer = hub.modern("/mcp", "tools/call", params).await;
        assert!(answer.json()["result"].is_object(), "{}", answer.text());
    };
    for chat in [chats[0], chats[1], chats[0], chats[1]] {
        call(chat).await;
    }
    assert_eq!(sessions(&server).0.len(), 2, "one session each, kept for the whole chat");
    // A legacy client's session is a chat too; when it ends, so does its own at the server, and none is used again.
    for _ in 0..2 {
        let client = hub.legacy("/mcp").await;
        client.call("mcp__s__echo", json!({})).await;
        let headers = [("mcp-session-id", client.session.as_str())];
        assert_eq!(hub.ask(Method::DELETE, "/mcp", &headers, "").await.status, 204);
    }
    let (called, _) = sessions(&server);
    assert_eq!(called.len(), 4, "{called:?}");
    eventually("both are deleted", async || called[2..].iter().all(|it| sessions(&server).1.contains(it)))
        .await;
    hub.stop().await;
    let (called, deleted) = sessions(&server);
    assert!(called.iter().all(|it| deleted.contains(it)), "{called:?} {deleted:?}");
}

async fn client_is_a_chat(_: Case) {
    let server = fixture(Options::default()).await;
    let hub = Hub::start().await;
    hub.import(json!({ "s": { "url": server.url() } })).await;
    let (one, two) = (hub.legacy("/mcp").await, hub.legacy("/mcp/i/s").await);
    for _ in 0..2 {
        one.call("mcp__s__echo", json!({})).await;
        two.call("echo", json!({})).await;
    }
    assert_eq!(sessions(&server).0.len(), 2);
}

/// The hub waits five minutes; the same pool is told to wait less here.
async fn session_idle(_: Case) {
    use toolgrove_core::call::{LegacyTask, Links, Outgoing};
    use toolgrove_core::event::Events;
    use toolgrove_core::instance::{EraSetting, HttpReach, Instance, Switch, Transport};
    use toolgrove_core::net::{Allowlist, Guard};
    use toolgrove_upstream::{IDLE, Pool, PoolOptions, ShepherdCommand};

    assert_eq!(IDLE, Duration::from_secs(5 * 60));
    let server = fixture(Options::default()).await;
    let pool = Pool::new(PoolOptions {
        shepherd: ShepherdCommand { program: "none".into(), args: Vec::new() },
        client: toolgrove_wire::modern::Implementation { name: "t".into(), version: "1".into() },
        body_limit: 1 << 20,
        idle: Duration::from_millis(100),
        reports: tokio::sync::mpsc::unbounded_channel().0,
        tokens: None,
        now: || 0,
        guard: Guard::Open,
    });
    let reach = HttpReach { url: server.url().parse().unwrap(), headers: Vec::new(), query: Vec::new() };
    let instance = Arc::new(Instance {
        id: uuid::Uuid::nil(),
        person: uuid::Uuid::nil(),
        server: uuid::Uuid::nil(),
        slug: "s".into(),
        server_name: "s".into(),
        transport: Transport::Http(reach),
        hosts: Allowlist::Any,
        era: EraSetting::Legacy,
        protocol: None,
        verdict: None,
        timeout: PATIENCE,
        switch: Switch::On,
        phase: toolgrove_core::policy::Phase::Gamma,
        rate: None,
        revision: 1,
    });
    let call = async || {
        let outgoing = Outgoing {
            method: toolgrove_core::call::Method::CallTool,
            params: toolgrove_wire::Raw::of(&json!({ "name": "echo" })).into(),
            chat: "chat".into(),
            log_level: None,
            abilities: toolgrove_wire::Abilities::NONE,
            headers: Vec::new(),
            repeatable: false,
            legacy_task: LegacyTask::No,
            behind: None,
        };
        pool.request(&instance, &outgoing, &Events::none()).await.unwrap();
    };
    call().await;
    eventually("the session is deleted", async || !sessions(&server).1.is_empty()).await;
    call().await;
    let (called, deleted) = sessions(&server);
    assert_eq!((called.len(), &deleted[0]), (2, &called[0]), "the next call opens a new one");
}

async fn builtin(_: Case) {
    let hub = Hub::start().await;
    let instances = hub.get("/api/mcp/instances").await;
    let seen: Vec<_> =
        instances.as_array().unwrap().iter().map(|it| (it["slug"].clone(), it["kind"].clone())).collect();
    assert_eq!(seen, [(json!("builtin"), json!("builtin")), (json!("tabs"), json!("builtin"))]);
    assert_eq!(hub.get("/api/mcp/servers").await, json!([]), "they are not the registry's");
    assert_eq!(hub.get("/api/status").await["instances"], 0, "and nothing a newcomer has to understand");
    register(&hub, "s", "https://s.invalid/mcp", Value::Null).await;
    add(&hub, json!({ "server_id": "s", "slug": "mine" })).await;
    for slug in ["builtin", "tabs"] {
        for taken in [slug.to_owned(), slug.to_uppercase()] {
            let (status, problem) =
                hub.api(Method::POST, "/api/mcp/instances", json!({ "server_id": "s", "slug": taken })).await;
            assert_eq!((status, &problem["code"]), (409, &json!("instance.slug-taken")), "{problem}");
            let (status, problem) =
                hub.api(Method::PATCH, "/api/mcp/instances/mine", json!({ "slug": taken })).await;
            assert_eq!((status, &problem["code"]), (409, &json!("instance.slug-taken")), "{problem}");
        }
        let path = format!("/api/mcp/instances/{slug}");
        for (method, body) in [(Method::PATCH, json!({ "slug": "other" })), (Method::DELETE, Value::Null)] {
            let (status, problem) = hub.api(method, &path, body).await;
            assert_eq!((status, &problem["code"]), (403, &json!("instance.builtin")), "{problem}");
        }
        assert_eq!(hub.get(&path).await["status"], "ready");
        let (status, refreshed) = hub.api(Method::POST, &format!("{path}/refresh"), Value::Null).await;
        assert_eq!((status, &refreshed["tools"]), (200, &json!(0)), "{refreshed}");
    }
    let imported = hub
        .api(
            Method::POST,
            "/api/mcp/import",
            json!({ "text": "{\"tabs\":{\"url\":\"http://127.0.0.1:1/\"}}", "save_anyway": true }),
        )
        .await
        .1;
    assert_eq!(imported["added"][0]["slug"], "tabs-2", "{imported}");
    let hub = Hub::start_in(hub.stop().await).await;
    assert_eq!(hub.get("/api/mcp/instances").await.as_array().unwrap().len(), 4, "a restart makes no others");
}

async fn no_cleanup(_: Case) {
    let hub = Hub::start().await;
    let auth = json!({ "type": "header", "entries": [{ "in": "header", "key": "X-Key" }] });
    register(&hub, "s", "http://127.0.0.1:1/mcp", auth).await;
    let made = add(&hub, json!({ "server_id": "s", "slug": "unfinished" })).await;
    assert_eq!(made["status"], "not_ready", "{made}");
    let dir = hub.stop().await;
    // A month goes by.
    let url = format!("sqlite:{}", dir.path().join("data/toolgrove.db").display());
    let pool = sqlx::SqlitePool::connect(&url).await.unwrap();
    let month = 30 * 24 * 60 * 60 * 1000_i64;
    sqlx::query("UPDATE mcp_instances SET created_at = created_at - $1, updated_at = updated_at - $1")
        .bind(month)
        .execute(&pool)
        .await
        .unwrap();
    pool.close().await;
    let hub = Hub::start_in(dir).await;
    let still = hub.get("/api/mcp/instances/unfinished").await;
    assert_eq!((&still["id"], &still["status"]), (&made["id"], &json!("not_ready")));
}

async fn stdio_admin(case: Case) {
    let hub = Hub::start().await;
    let body = json!({ "text": case.given["paste"], "save_anyway": true });
    // The command is not there to be started in a test; the entry is taken all the same.
    let (status, answer) = hub.api(Method::POST, "/api/mcp/import", body).await;
    assert_eq!((status, &answer["failed"]), (200, &json!([])), "{answer}");
    assert_eq!(hub.get("/api/mcp/servers").await[0]["transport"], "stdio");
}

/// A server that people sign in to, with the instance `w`, and how its row looks.
async fn guarded() -> (Hub, Provider) {
    let provider = Provider::start().await;
    let hub = Hub::start().await;
    register(&hub, "w", &provider.mcp(), json!({ "type": "oauth" })).await;
    let instance = add(&hub, json!({ "server_id": "w", "slug": "w" })).await;
    assert_eq!((&instance["auth_type"], &instance["status"]), (&json!("oauth"), &json!("not_ready")));
    (hub, provider)
}

/// The words of a row on `/ui/mcp`: pages draw them as they are, which a browser shows in `oauth/browser.rs`.
async fn row(hub: &Hub, slug: &str) -> (Value, Value) {
    let health = hub.get(&format!("/api/mcp/instances/{slug}")).await["health"].clone();
    (health["summary"].clone(), health["action"]["label"].clone())
}

async fn status_after_oauth(_: Case) {
    let (hub, _provider) = guarded().await;
    assert_eq!(row(&hub, "w").await, (json!("Sign in to use"), json!("Sign in")));
    // Ends with a 303 to `/ui/mcp`.
    sign_in(&hub, "w").await;
    assert_eq!(row(&hub, "w").await, (json!("Ready · 1 tool"), Value::Null));
    assert_eq!(hub.get("/api/mcp/instances/w").await["status"], "ready");
}

async fn reconnect(case: Case) {
    let (hub, provider) = guarded().await;
    sign_in(&hub, "w").await;
    let before = hub.get("/api/mcp/instances/w").await;
    provider.set(|it| {
        it.good.clear();
        it.tokens =
            [(400, json!({ "error": "invalid_grant", "error_description": "it was revoked" }))].into();
    });
    let refused = hub.call("mcp__w__whoami", json!({})).await;
    assert_eq!(refused["message"], "`w` needs you to reconnect: it was revoked", "{refused}");
    assert_eq!(hub.get("/api/mcp/instances/w").await["status"], case.given["status"]);
    assert_eq!(row(&hub, "w").await, (json!("Sign-in expired"), json!("Reconnect")));
    sign_in(&hub, "w").await;
    let after = hub.get("/api/mcp/instances/w").await;
    assert_eq!((&after["id"], &after["slug"]), (&before["id"], &before["slug"]));
    assert_eq!((&after["status"], row(&hub, "w").await.0), (&json!("ready"), json!("Ready · 1 tool")));
    assert!(hub.call("mcp__w__whoami", json!({})).await["content"][0]["text"].is_string());
}

async fn delete_unfinished(_: Case) {
    let (hub, provider) = guarded().await;
    let state = query(&connect(&hub, "w").await)["state"].clone();
    // Nobody but its owner ends it, and a restart does not.
    let hub = Hub::start_in(hub.stop().await).await;
    assert_eq!(row(&hub, "w").await.1, "Sign in");
    let (status, _) = hub.api(Method::DELETE, "/api/mcp/instances/w", Value::Null).await;
    assert_eq!(status, 204);
    let late = come_back(&hub, &[("state", &state), ("code", "a-code")]).await;
    assert_eq!(late.status, 400);
    assert!(late.text().contains("oauth.state-unknown"), "{}", late.text());
    assert_eq!(provider.grants("authorization_code").len(), 0, "the code goes nowhere");
}

async fn own_page(_: Case) {
    let server = fixture(Options::default()).await;
    let team = Team::start().await;
    let hub = &team.hub;
    let people = [team.invite("zoe", "member").await, team.invite("yan", "member").await];
    for (person, slug) in people.iter().zip(["zoes-own", "yans-own"]) {
        person.add(hub, slug, &server.url()).await;
    }
    for (person, own, others) in [(&people[0], "zoes-own", "yans-own"), (&people[1], "yans-own", "zoes-own")]
    {
        assert_eq!(person.slugs(hub).await, [own]);
        let page = person.ask(hub, Method::GET, "/ui/mcp", &[], "").await;
        assert_eq!(page.status, 200);
        // With the UI the page is the same for everybody and reads the list above.
        let is_plain = page.text().contains("built without its web UI");
        assert_eq!(page.text().contains(own), is_plain);
        assert!(!page.text().contains(others));
    }
    assert_eq!(team.admin.slugs(hub).await, [""; 0]);
}
