//! A marked secret in every place where one may stand. Afterwards the data folder, the log at its most talkative and
//! every answer are searched for all of them.

use axum::Router;
use axum::http::{HeaderMap, StatusCode, Uri};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::Options;

use crate::authority::walk;
use crate::client::{Client, VERIFIER, with};
use crate::hub::{Answer, Hub, fixture_program};
use crate::provider::{Provider, query};
use crate::team::{HERE, PASSWORD, Team, Visitor, fixture, set_up_link};

/// What must stand nowhere, and everything that was said.
#[derive(Default)]
struct Search {
    secrets: Vec<String>,
    said: Vec<(String, String)>,
}

impl Search {
    fn hide(&mut self, secret: &str) -> String {
        assert!(secret.len() >= 8, "`{secret}` would be found by chance");
        self.secrets.push(secret.to_owned());
        secret.to_owned()
    }

    fn hear(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.said.push((place.into(), text.into()));
    }

    /// Asks and keeps what is answered, headers too.
    async fn ask(&mut self, who: &Visitor, hub: &Hub, method: Method, path: &str, body: Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = [("content-type", "application/json")];
        let answer = who.ask(hub, method.clone(), path, &headers, body).await;
        self.keep(&format!("{method} {path}"), &answer);
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }

    fn keep(&mut self, place: &str, answer: &Answer) {
        self.hear(place, format!("{:?}\n{}", answer.headers, answer.text()));
    }

    fn check(&self) {
        for (place, text) in &self.said {
            for secret in &self.secrets {
                let at = text.find(secret.as_str());
                let around = at.map(|at| text[..at].chars().rev().take(200).collect::<String>());
                let around = around.map(|it| it.chars().rev().collect::<String>());
                assert_eq!(around, None, "{place}: `{secret}` stands after this");
            }
        }
    }
}

/// A server that lets nobody in and repeats whatever it was shown.
async fn parrot() -> String {
    let refuse = |uri: Uri, headers: HeaderMap| async move {
        let shown = headers.get("x-api-key").map(|it| it.to_str().unwrap().to_owned());
        (StatusCode::FORBIDDEN, format!("no entry at {uri} with {shown:?}"))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    #[expect(clippy::disallowed_methods, reason = "a test has no tree of tasks")]
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(refuse)).await.unwrap() });
    url
}

/// Passwords, links, cookies and tokens of people.
async fn people(search: &mut Search, team: &Team) -> Visitor {
    let (hub, admin) = (&team.hub, &team.admin);
    let code = |link: &str| link.split_once("code=").unwrap().1.to_owned();
    search.hide(&code(&set_up_link(hub).await));
    search.hide(PASSWORD);
    let (_, invited) =
        admin.api(hub, Method::POST, "/api/people", json!({ "email": "bob@example.com" })).await;
    let link = invited["invite"]["url"].as_str().unwrap();
    search.hide(&code(link));
    let first = search.hide("bobs-first-s3cret-password");
    let joined = Visitor::default().join(hub, link, &[("name", "Bob"), ("password", &first)]).await;
    let bob = Visitor::default().with_cookie(&joined);
    let wrong = search.hide("a-wrong-s3cret-password");
    let refused = Visitor::default().sign_in(hub, "bob@example.com", &wrong).await;
    search.keep("a wrong password", &refused);
    let second = search.hide("bobs-second-s3cret-password");
    let change = json!({ "current": first, "new": second });
    search.ask(&bob, hub, Method::POST, "/api/password", change).await;
    let bob =
        Visitor::default().with_cookie(&Visitor::default().sign_in(hub, "bob@example.com", &second).await);
    for visitor in [admin, &bob] {
        search.hide(visitor.shows.as_ref().unwrap().1.split_once('=').unwrap().1);
    }
    let (token, _) = bob.token(hub, json!({ "name": "ci" })).await;
    search.hide(token.shows.as_ref().unwrap().1.strip_prefix("Bearer ").unwrap());
    search.ask(&token, hub, Method::GET, "/api/status", Value::Null).await;
    search.ask(&Visitor::default(), hub, Method::GET, "/ui/login/provider", Value::Null).await;
    bob
}

/// Headers, query parameters and variables, shown to servers that behave and to some that do not.
async fn credentials(search: &mut Search, team: &Team, bob: &Visitor) {
    let (hub, admin) = (&team.hub, &team.admin);
    let server = fixture(Options::default()).await;
    let entries = json!([{ "in": "header", "key": "X-API-Key" }, { "in": "query", "key": "api_key" }]);
    let workspace =
        search.ask(admin, hub, Method::GET, "/api/workspaces", Value::Null).await[0]["id"].clone();
    for (name, url) in [("good", server.url()), ("parrot", parrot().await)] {
        let auth = json!({ "type": "header", "entries": entries });
        let body = json!({ "workspaceId": workspace, "name": name, "endpoint": url, "auth": auth });
        search.ask(admin, hub, Method::POST, "/api/mcp/servers", body).await;
        let values = json!({
            "X-API-Key": search.hide(&format!("header-s3cret-{name}")),
            "api_key": search.hide(&format!("query-s3cret-{name}")),
        });
        let body = json!({ "server_id": name, "slug": name, "credentials": values });
        let made = search.ask(bob, hub, Method::POST, "/api/mcp/instances", body).await;
        assert_eq!(made["slug"], name, "{made}");
        let change = json!({ "credentials": values, "name": "changed" });
        search.ask(bob, hub, Method::PATCH, &format!("/api/mcp/instances/{name}"), change).await;
    }
    let pasted = search.hide("pasted-s3cret");
    let variable = search.hide("variable-s3cret");
    let script =
        format!("echo started with $API_KEY >&2; echo hello $API_KEY; exec '{}' stdio", fixture_program());
    let text = json!({
        "pasted": { "url": server.url(), "headers": { "Authorization": format!("Bearer {pasted}") } },
        "process": { "command": "sh", "args": ["-c", script], "env": { "API_KEY": variable } },
        "broken": { "command": "sh", "args": ["-c", "echo no $API_KEY >&2; exit 3"], "env": { "API_KEY": variable } },
    });
    let body = json!({ "text": text.to_string(), "save_anyway": true });
    search.ask(admin, hub, Method::POST, "/api/mcp/import", body).await;
    for (who, tool) in [(bob, "mcp__good__echo"), (bob, "mcp__parrot__echo"), (admin, "mcp__process__echo")] {
        let argument = search.hide("argument-s3cret");
        let call = json!({ "tool": tool, "arguments": { "note": argument } });
        // What a tool answers is its caller's.
        let (_, answer) = who.api(hub, Method::POST, "/api/mcp/call", call).await;
        let is_done = answer.to_string().contains("argument-s3cret");
        assert_eq!(is_done, tool != "mcp__parrot__echo", "{tool}: {answer}");
        search.hear(format!("call of {tool}"), answer.to_string().replace("argument-s3cret", ""));
    }
}

/// Signing in to a server, with a client that an admin entered.
async fn sign_in(search: &mut Search, team: &Team, bob: &Visitor) {
    let provider = Provider::start().await;
    let (hub, admin) = (&team.hub, &team.admin);
    let grant = |n: u8, expires_in: u32| {
        json!({ "access_token": format!("access-s3cret-{n}"), "refresh_token": format!("refresh-s3cret-{n}"),
            "expires_in": expires_in })
    };
    provider.set(|it| {
        it.good = vec!["access-s3cret-1".into(), "access-s3cret-2".into()];
        it.tokens = [(200, grant(1, 0)), (200, grant(2, 3600))].into();
    });
    for n in [1, 2] {
        search.hide(&format!("access-s3cret-{n}"));
        search.hide(&format!("refresh-s3cret-{n}"));
    }
    let workspace =
        search.ask(admin, hub, Method::GET, "/api/workspaces", Value::Null).await[0]["id"].clone();
    let secret = search.hide("entered-s3cret");
    search.hide(&BASE64_STANDARD.encode(format!("entered:{secret}")));
    let auth =
        json!({ "type": "oauth", "issuer": provider.base, "client_id": "entered", "client_secret": secret });
    let body = json!({ "workspaceId": workspace, "name": "w", "endpoint": provider.mcp(), "auth": auth });
    search.ask(admin, hub, Method::POST, "/api/mcp/servers", body).await;
    search.ask(bob, hub, Method::POST, "/api/mcp/instances", json!({ "server_id": "w", "slug": "w" })).await;
    let begun = search.ask(bob, hub, Method::POST, "/api/mcp/instances/w/connect", json!({})).await;
    let state = query(begun["url"].as_str().unwrap_or_else(|| panic!("{begun}")))["state"].clone();
    let code = search.hide("code-s3cret");
    let back = format!("/ui/auth/mcp/callback?state={state}&code={code}");
    let back = bob.ask(hub, Method::GET, &back, &[], "").await;
    assert_eq!(back.status, 303, "{}", back.text());
    search.keep("the return", &back);
    let (_, called) = bob.api(hub, Method::POST, "/api/mcp/call", json!({ "tool": "mcp__w__whoami" })).await;
    assert!(called.to_string().contains("access-s3cret-2"), "it was renewed: {called}");
    search.hide(&provider.grants("authorization_code")[0]["code_verifier"]);
}

/// A client that somebody lets in to the hub.
async fn let_in(search: &mut Search, team: &Team, bob: &Visitor) {
    let hub = &team.hub;
    let client = Client::with(hub, json!({ "token_endpoint_auth_method": "client_secret_post" })).await;
    search.hide(client.secret.as_ref().unwrap());
    search.hide(VERIFIER);
    let code = client.code(hub, bob, &[]).await;
    search.hide(&code);
    let (_, first) = client.trade_code(hub, &code).await;
    let (_, second) = client.refresh(hub, &first).await;
    for (tokens, key) in [&first, &second].iter().flat_map(|it| [(it, "access_token"), (it, "refresh_token")])
    {
        search.hide(tokens[key].as_str().unwrap());
    }
    let listed = with(hub, &second).modern(hub, "/mcp", "tools/list", json!({})).await;
    search.keep("tools of a client", &listed);
    search.keep("a used code", &crate::client::post(hub, "/oauth/token", &[], &[("code", &code)]).await);
}

/// Everything there is to read, for everybody.
async fn read(search: &mut Search, team: &Team, bob: &Visitor) {
    let hub = &team.hub;
    let call = search.ask(bob, hub, Method::GET, "/api/calls", Value::Null).await[0]["id"].clone();
    let call = format!("/api/calls/{}", call.as_str().unwrap());
    let mut paths: Vec<String> = [
        "/metrics",
        "/api/status",
        "/api/workspaces",
        "/api/people",
        "/api/admin/log",
        "/api/tokens",
        "/api/oauth/clients",
        "/api/oauth/known",
        "/api/sessions",
        "/api/calls",
        "/api/calls/stats",
        "/api/mcp/registry",
        "/api/mcp/export",
        "/api/mcp/export?format=bouno",
        "/api/mcp/tools",
        "/api/mcp/prompt",
        "/api/mcp/servers",
        "/api/mcp/instances",
        "/ui/",
        "/ui/mcp",
        "/oauth/client.json",
        "/.well-known/oauth-authorization-server",
        &call,
    ]
    .map(Into::into)
    .into();
    for slug in ["good", "parrot", "pasted", "process", "broken", "w"] {
        let row = search.ask(bob, hub, Method::GET, &format!("/api/mcp/instances/{slug}"), Value::Null).await;
        for path in ["", "/connect", "/log"] {
            paths.push(format!("/api/mcp/instances/{slug}{path}"));
        }
        for path in ["", "/auth-configs", "/preview"] {
            paths.push(format!("/api/mcp/servers/{slug}{path}"));
        }
        paths.extend(row["id"].as_str().map(|id| format!("/api/mcp/meta/{id}")));
    }
    for who in [bob, &team.admin] {
        for path in &paths {
            search.ask(who, hub, Method::GET, path, Value::Null).await;
        }
        for slug in ["good", "parrot", "process", "broken", "w"] {
            for path in [format!("instances/{slug}/refresh"), format!("instances/{slug}/doctor")] {
                search.ask(who, hub, Method::POST, &format!("/api/mcp/{path}"), json!({})).await;
            }
            search.ask(who, hub, Method::POST, &format!("/api/mcp/servers/{slug}/test"), json!({})).await;
        }
    }
}

#[tokio::test]
async fn a_secret_stands_in_no_file_no_line_of_the_log_and_no_answer() {
    let mut search = Search::default();
    let oidc = search.hide("oidc-s3cret");
    let sign_in_config = "[sign_in]\noidc_issuer = \"http://127.0.0.1:9\"\nclient_id = \"hub\"\nclient_secret = \"${env:OIDC}\"\n";
    let team = Team::start_as(&format!("{HERE}{sign_in_config}"), |command| {
        command.env("TOOLGROVE_LOG", "trace").env("OIDC", oidc);
    })
    .await;
    let keys = |search: &mut Search, hub: &Hub| {
        let key = std::fs::read_to_string(hub.data().join("key")).unwrap();
        let sealing = std::fs::read_to_string(hub.data().join("secret.key")).unwrap();
        search.hide(key.trim());
        for line in sealing.lines() {
            search.hide(line.split_once(':').unwrap().1.trim());
        }
    };
    keys(&mut search, &team.hub);
    let bob = people(&mut search, &team).await;
    credentials(&mut search, &team, &bob).await;
    sign_in(&mut search, &team, &bob).await;
    let_in(&mut search, &team, &bob).await;
    read(&mut search, &team, &bob).await;
    let rotated = search.ask(&team.admin, &team.hub, Method::POST, "/api/key/rotate", Value::Null).await;
    assert!(rotated["resealed"].as_u64() > Some(5), "{rotated}");
    keys(&mut search, &team.hub);
    assert!(team.hub.log().contains("TRACE"), "the log is at its most talkative");
    search.hear("the log", team.hub.log());
    let dir = team.hub.stop().await;
    search.hear("the rest of the log", std::fs::read_to_string(dir.path().join("hub.log")).unwrap());
    for file in walk(&dir.path().join("data")) {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        if name == "key" || name == "secret.key" {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
            continue;
        }
        search.hear(name, String::from_utf8_lossy(&std::fs::read(&file).unwrap()));
    }
    for word in ["no entry at", "started with"] {
        assert!(search.said.iter().any(|it| it.1.contains(word)), "what servers repeat is quoted: {word}");
    }
    assert!(search.secrets.len() > 30, "{}", search.secrets.len());
    search.check();
}
