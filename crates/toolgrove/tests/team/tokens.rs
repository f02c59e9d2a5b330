//! Tokens: made, shown once, granted some instances, used, revoked.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::{Era, Options};

use crate::hub::{Hub, modern_request};
use crate::team::{Team, Visitor, fixture};

async fn status(visitor: &Visitor, hub: &Hub, method: Method, path: &str) -> (u16, Value) {
    let (status, body) = visitor.api(hub, method, path, Value::Null).await;
    (status, body["code"].clone())
}

#[tokio::test]
async fn a_token_sees_what_it_was_granted_and_nothing_else() {
    let Team { hub, admin } = Team::start().await;
    let (one, two) = (fixture(Options::default()).await, fixture(Options::default()).await);
    let granted = admin.add(&hub, "one", &one.url()).await;
    let withheld = admin.add(&hub, "secrets", &two.url()).await;
    let (token, _) = admin.token(&hub, json!({ "name": "ci", "grants": ["one"] })).await;
    let (all, _) = admin.token(&hub, json!({ "name": "all", "names_profile": "single" })).await;
    let (none, _) = admin.token(&hub, json!({ "name": "none", "grants": [] })).await;

    let names = token.tools(&hub).await;
    assert!(!names.is_empty() && names.iter().all(|it| it.starts_with("mcp__one__")), "{names:?}");
    assert!(all.tools(&hub).await.iter().any(|it| it.starts_with("mcp_secrets__")));
    assert!(none.tools(&hub).await.is_empty());

    let call = async |visitor: &Visitor, path: &str, tool: &str| {
        let answer = visitor.modern(&hub, path, "tools/call", json!({ "name": tool, "arguments": {} })).await;
        (answer.status, answer.json()["error"]["data"]["code"].clone())
    };
    assert_eq!(call(&token, "/mcp", "mcp__one__echo").await, (200, Value::Null));
    assert_eq!(call(&token, "/mcp", "mcp__secrets__echo").await, (200, json!("server.unknown")));
    assert_eq!(call(&token, "/mcp/i/one", "echo").await, (200, Value::Null));
    assert_eq!(call(&token, "/mcp/i/secrets", "echo").await, (403, json!("grant.missing")));
    assert_eq!(call(&token, "/mcp/i/three", "echo").await, (404, json!("server.unknown")));
    let refused = token.modern(&hub, "/mcp/i/secrets", "tools/list", json!({})).await.json();
    assert_eq!(refused["error"]["message"], "this token has no grant for `secrets`");

    let slugs = |list: Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|it| it["slug"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(slugs(token.get(&hub, "/api/mcp/instances").await), ["one"]);
    assert_eq!(status(&token, &hub, Method::GET, &format!("/api/mcp/instances/{granted}")).await.0, 200);
    for path in [format!("/api/mcp/instances/{withheld}"), "/api/mcp/instances/secrets".into()] {
        assert_eq!(status(&token, &hub, Method::GET, &path).await, (404, json!("instance.unknown")));
        assert_eq!(status(&token, &hub, Method::DELETE, &path).await, (404, json!("instance.unknown")));
    }
    for path in ["/api/mcp/servers", "/api/mcp/tools", "/api/mcp/export", "/api/mcp/prompt", "/ui/"] {
        let text = token.ask(&hub, Method::GET, path, &[], "").await.text();
        assert!(!text.contains("secrets") && !text.contains(&two.url()), "{path}: {text}");
    }
    assert_eq!(status(&token, &hub, Method::GET, "/api/mcp/servers/secrets").await.0, 404);
    assert_eq!(token.get(&hub, "/api/status").await["instances"], 1);
}

#[tokio::test]
async fn a_token_for_some_instances_keeps_nothing_and_gets_no_others() {
    let Team { hub, admin } = Team::start().await;
    let server = fixture(Options::default()).await;
    let shared = json!({ "workspaceId": admin.get(&hub, "/api/workspaces").await[0]["id"], "name": "shared", "endpoint": server.url() });
    let (made, shared) = admin.api(&hub, Method::POST, "/api/mcp/servers", shared).await;
    assert_eq!(made, 201, "{shared}");
    admin.add(&hub, "one", &server.url()).await;
    let (limited, _) = admin.token(&hub, json!({ "name": "ci", "grants": ["one"] })).await;
    let (whole, _) = admin.token(&hub, json!({ "name": "ci" })).await;
    let paste = json!({ "text": json!({ "x": { "url": server.url() } }).to_string() });
    let pasted = limited.api(&hub, Method::POST, "/api/mcp/import", paste).await.1;
    assert_eq!(pasted["failed"][0]["error"], "this token has no grant for `x`");
    let new = json!({ "server_id": shared["id"], "slug": "more" });
    assert_ne!(limited.api(&hub, Method::POST, "/api/mcp/instances", new).await.0, 201);
    assert_eq!(status(&limited, &hub, Method::GET, "/api/people").await, (403, json!("auth.role")));
    assert_eq!(status(&limited, &hub, Method::GET, "/metrics").await, (403, json!("auth.role")));
    assert_eq!(status(&whole, &hub, Method::GET, "/api/people").await.0, 200);
    for token in [&limited, &whole] {
        for (method, path) in [
            (Method::GET, "/api/tokens"),
            (Method::POST, "/api/tokens"),
            (Method::DELETE, "/api/tokens/x"),
            (Method::GET, "/api/sessions"),
            (Method::POST, "/api/password"),
        ] {
            let found = status(token, &hub, method.clone(), path).await;
            assert_eq!(found, (403, json!("auth.token")), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_revoked_token_ends_at_once_with_everything_it_runs() {
    let Team { hub, admin } = Team::start().await;
    let server = fixture(Options { era: Era::Legacy, ..Options::default() }).await;
    admin.add(&hub, "s", &server.url()).await;
    let (token, id) = admin.token(&hub, json!({ "name": "ci" })).await;
    let shown: Vec<(&'static str, String)> = token.shows.clone().into_iter().collect();

    // A session with its stream, a listen, an event stream of the oldest revision, and a call that hangs.
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let kind = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    let opened = token.ask(&hub, Method::POST, "/mcp", &kind, initialize.to_string()).await;
    let session = opened.headers["mcp-session-id"].to_str().unwrap().to_owned();
    let open = async |method: Method, path: &str, headers: &[(&str, &str)], body: String| {
        let mut request = http::Request::builder().method(method).uri(format!("{}{path}", hub.url));
        for (name, value) in shown.iter().map(|it| (it.0, it.1.as_str())).chain(headers.iter().copied()) {
            request = request.header(name, value);
        }
        hub.open_as(request.body(http_body_util::Full::new(body.into())).unwrap()).await
    };
    let mut heard = open(Method::GET, "/mcp", &[("mcp-session-id", &session)], String::new()).await;
    let mut sse = open(Method::GET, "/sse", &[], String::new()).await;
    let endpoint = sse.next_data().await.unwrap();
    let (own, body) =
        modern_request("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let own: Vec<_> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut listen = open(Method::POST, "/mcp", &own, body.to_string()).await;
    listen.next().await.unwrap();
    assert_eq!(token.get(&hub, "/api/status").await["sessions"], 1);
    let hanging = {
        let (hub_url, shows) = (hub.url.clone(), token.clone());
        let params = json!({ "name": "mcp__s__sleep", "arguments": { "ms": 600_000 } });
        let (own, body) = modern_request("tools/call", params);
        let mut request = http::Request::builder().method(Method::POST).uri(format!("{hub_url}/mcp"));
        for (name, value) in shows.headers(&hub) {
            request = request.header(name, value);
        }
        for (name, value) in &own {
            request = request.header(*name, value);
        }
        hub.open_as(request.body(http_body_util::Full::new(body.to_string().into())).unwrap())
    };
    let revoke = async {
        // The call has reached its server before its caller is sent away.
        let began = std::time::Instant::now();
        while !server.log().iter().any(|it| it.body.contains("\"sleep\"")) {
            assert!(began.elapsed() < crate::hub::PATIENCE);
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        admin.api(&hub, Method::DELETE, &format!("/api/tokens/{id}"), Value::Null).await
    };
    let (hung, revoked) = tokio::join!(hanging, revoke);
    assert_eq!((revoked.0, hung.status), (204, 401), "the call's answer is not theirs any more");
    for stream in [&mut heard, &mut sse, &mut listen] {
        while stream.next_data().await.is_some() {}
    }
    for (method, path) in [(Method::GET, "/api/status"), (Method::POST, "/mcp"), (Method::POST, &*endpoint)] {
        assert_eq!(token.ask(&hub, method, path, &[], "{}").await.status, 401, "{path}");
    }
    let again = admin.api(&hub, Method::DELETE, &format!("/api/tokens/{id}"), Value::Null).await;
    assert_eq!(again.0, 404);
    assert_eq!(admin.get(&hub, "/api/tokens").await, json!([]));
}

#[tokio::test]
async fn a_token_is_shown_once_and_kept_as_a_hash() {
    let Team { hub, admin } = Team::start().await;
    let (token, _) = admin.token(&hub, json!({ "name": "ci" })).await;
    let secret = token.shows.clone().unwrap().1.strip_prefix("Bearer ").unwrap().to_owned();
    assert!(secret.starts_with("tgt_") && secret.len() == 4 + 43, "{secret}");
    assert_eq!(admin.get(&hub, "/api/tokens").await[0]["last_used_at"], Value::Null);
    token.get(&hub, "/api/status").await;
    let began = std::time::Instant::now();
    while admin.get(&hub, "/api/tokens").await[0]["last_used_at"].is_null() {
        assert!(began.elapsed() < crate::hub::PATIENCE);
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let list = admin.get(&hub, "/api/tokens").await;
    assert_eq!((&list[0]["grants"], &list[0]["names_profile"]), (&Value::Null, &json!("double")));
    assert!(!list.to_string().contains(&secret[4..]));
    let dir = hub.stop().await;
    for file in std::fs::read_dir(dir.path().join("data")).unwrap().flatten() {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        let found = bytes.windows(secret.len()).any(|it| it == secret.as_bytes());
        assert!(!found, "the token is in {}", file.path().display());
    }
    let team = Team::start_in(dir, admin).await;
    assert_eq!(token.get(&team.hub, "/api/status").await["me"]["name"], "Ada", "it outlives the hub");
}

#[tokio::test]
async fn a_grant_ends_with_its_instance_and_grants_nothing_then() {
    let Team { hub, admin } = Team::start().await;
    let server = fixture(Options::default()).await;
    let id = admin.add(&hub, "one", &server.url()).await;
    admin.add(&hub, "two", &server.url()).await;
    let (token, _) = admin.token(&hub, json!({ "name": "ci", "grants": [id] })).await;
    assert!(!token.tools(&hub).await.is_empty());
    admin.api(&hub, Method::DELETE, &format!("/api/mcp/instances/{id}"), Value::Null).await;
    assert!(token.tools(&hub).await.is_empty());
    let dir = hub.stop().await;
    let Team { hub, admin } = Team::start_in(dir, admin).await;
    assert!(token.tools(&hub).await.is_empty(), "a token without grants left is not one for everything");
    assert_eq!(admin.get(&hub, "/api/tokens").await[0]["grants"], json!([]));
}

#[tokio::test]
async fn what_is_asked_wrongly_is_refused_in_one_sentence() {
    let Team { hub, admin } = Team::start().await;
    for (body, code) in [
        (json!({}), "request.missing"),
        (json!({ "name": "" }), "request.invalid"),
        (json!({ "name": "x", "names_profile": "triple" }), "request.invalid"),
        (json!({ "name": "x", "grants": ["nothing"] }), "instance.unknown"),
        (json!({ "name": "x", "typo": 1 }), "request.invalid"),
    ] {
        let (_, problem) = admin.api(&hub, Method::POST, "/api/tokens", body.clone()).await;
        assert_eq!(problem["code"], code, "{body}");
    }
    assert_eq!(admin.get(&hub, "/api/tokens").await, json!([]));
}
