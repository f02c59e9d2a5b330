//! The hub as an authorization server: whom it lets in, and everybody whom it does not.

use http::Method;
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};
use toolgrove_fixture::{Era, Options};

use crate::client::{BACK, Client, VERIFIER, hidden, nobody, post, register, sent_to, with};
use crate::hub::{Hub, modern_request};
use crate::team::{HERE, PASSWORD, Team, Visitor, fixture};

async fn status(visitor: &Visitor, hub: &Hub, path: &str) -> u16 {
    match path {
        "/mcp" => visitor.modern(hub, path, "tools/list", json!({})).await.status,
        _ if path.starts_with("/mcp/") => visitor.modern(hub, path, "tools/list", json!({})).await.status,
        _ => visitor.ask(hub, Method::GET, path, &[], "").await.status,
    }
}

/// Changes the hub's memory behind its back.
async fn change(hub: &Hub, sql: &'static str) {
    let url = format!("sqlite:{}", hub.data().join("toolgrove.db").display());
    let mut database = SqliteConnection::connect(&url).await.unwrap();
    let changed = sqlx::query(sql).execute(&mut database).await.unwrap().rows_affected();
    assert!(changed > 0, "{sql}");
    database.close().await.unwrap();
}

fn challenge(answer: &crate::hub::Answer) -> String {
    answer.headers["www-authenticate"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_metadata_says_where_to_go_and_not_what_is_there() {
    let Team { hub, admin } = Team::start().await;
    let server = fixture(Options::default()).await;
    admin.add(&hub, "mine", &server.url()).await;
    let base = &hub.url;
    let document = async |path: &str| {
        nobody(&hub).get(&hub, &format!("/.well-known/oauth-protected-resource{path}")).await
    };
    for (path, scopes) in [
        ("", json!(["mcp", "api"])),
        ("/mcp", json!(["mcp"])),
        ("/sse", json!(["mcp"])),
        ("/mcp/i/mine", json!(["mcp"])),
        ("/mcp/i/nobodys", json!(["mcp"])),
    ] {
        let expected = json!({
            "resource": format!("{base}{path}"),
            "authorization_servers": [base],
            "scopes_supported": scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "Toolgrove",
        });
        assert_eq!(document(path).await, expected);
    }
    let authority = nobody(&hub).get(&hub, "/.well-known/oauth-authorization-server").await;
    assert_eq!(authority["issuer"], json!(base));
    assert_eq!(authority["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(authority["authorization_response_iss_parameter_supported"], true);
    assert_eq!(authority["client_id_metadata_document_supported"], true);
    assert!(!authority["scopes_supported"].as_array().unwrap().contains(&json!("offline_access")));
    for path in
        ["/.well-known/oauth-protected-resource/api", "/.well-known/oauth-protected-resource/mcp/i/a/b"]
    {
        assert_eq!(status(&nobody(&hub), &hub, path).await, 404, "{path}");
    }
    // Clients compare the resource with the address they were given; the authority has one name.
    let local = base.replace("127.0.0.1", "localhost");
    let host = local.strip_prefix("http://").unwrap();
    for (path, member, expected) in [
        ("/.well-known/oauth-protected-resource/mcp", "resource", json!(format!("{local}/mcp"))),
        ("/.well-known/oauth-protected-resource/mcp", "authorization_servers", json!([base])),
        ("/.well-known/oauth-authorization-server", "issuer", json!(base)),
    ] {
        let request = http::Request::get(format!("{base}{path}")).header("host", host);
        let answer = hub.send(request.body(http_body_util::Full::default()).unwrap()).await;
        assert_eq!(answer.json()[member], expected, "{path}");
    }
}

#[tokio::test]
async fn with_a_public_address_the_metadata_names_it_whatever_the_proxy_says() {
    let hub = Team::start_with("public_url = \"https://hub.example/\"").await.hub;
    let document = nobody(&hub).get(&hub, "/.well-known/oauth-protected-resource/mcp").await;
    assert_eq!(document["resource"], "https://hub.example/mcp");
    assert_eq!(document["authorization_servers"], json!(["https://hub.example"]));
    let refused = nobody(&hub).modern(&hub, "/mcp", "tools/list", json!({})).await;
    assert_eq!(
        challenge(&refused),
        "Bearer resource_metadata=\"https://hub.example/.well-known/oauth-protected-resource/mcp\", scope=\"mcp\""
    );
}

#[tokio::test]
async fn a_solo_hub_has_no_authorization_server() {
    let hub = Hub::start().await;
    for (method, path) in [
        (Method::GET, "/.well-known/oauth-protected-resource"),
        (Method::GET, "/.well-known/oauth-protected-resource/mcp"),
        (Method::GET, "/.well-known/oauth-authorization-server"),
        (Method::GET, "/oauth/authorize?client_id=x"),
        (Method::POST, "/oauth/token"),
        (Method::POST, "/oauth/register"),
        (Method::POST, "/oauth/revoke"),
        (Method::POST, "/token"),
    ] {
        let answer = nobody(&hub).ask(&hub, method, path, &[], "").await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.json()["code"], "request.not-found", "{path}");
    }
    let refused = nobody(&hub).modern(&hub, "/mcp", "tools/list", json!({})).await;
    assert_eq!((refused.status, challenge(&refused).as_str()), (401, "Bearer"));
}

#[tokio::test]
async fn who_is_refused_is_told_where_to_sign_in() {
    let Team { hub, admin } = Team::start().await;
    let server = fixture(Options::default()).await;
    admin.add(&hub, "mine", &server.url()).await;
    let document = |path: &str| format!("{}/.well-known/oauth-protected-resource{path}", hub.url);
    for (path, resource, scope) in [
        ("/mcp", "/mcp", "mcp"),
        ("/mcp/i/mine", "/mcp/i/mine", "mcp"),
        ("/mcp/i/nobodys", "/mcp/i/nobodys", "mcp"),
        ("/sse", "/sse", "mcp"),
        ("/api/status", "", "api"),
    ] {
        let expected = format!("resource_metadata=\"{}\", scope=\"{scope}\"", document(resource));
        for method in [Method::GET, Method::POST] {
            let refused = nobody(&hub).ask(&hub, method, path, &[], "").await;
            assert_eq!((refused.status, challenge(&refused)), (401, format!("Bearer {expected}")), "{path}");
        }
        let wrong = nobody(&hub).with_token("tgo_unknown").ask(&hub, Method::GET, path, &[], "").await;
        let expected = format!("Bearer error=\"invalid_token\", {expected}");
        assert_eq!((wrong.status, challenge(&wrong)), (401, expected), "{path}");
    }
}

#[tokio::test]
async fn a_person_allows_a_client_and_it_calls_their_tools() {
    let Team { hub, admin } = Team::start().await;
    let server = fixture(Options::default()).await;
    admin.add(&hub, "mine", &server.url()).await;
    let client =
        Client::with(&hub, json!({ "client_name": "<b>Ed</b>", "token_endpoint_auth_method": "none" })).await;
    let path = client.request(&[("scope", "mcp offline_access")]);

    let page = admin.ask(&hub, Method::GET, &path, &[], "").await;
    let text = page.text();
    assert!(!text.contains("<script") && !text.contains("<b>Ed"), "{text}");
    for part in [
        "&lt;b&gt;Ed&lt;/b&gt;",
        "127.0.0.1:1",
        "a program on this computer",
        "ada@example.com",
        "mine",
        "Allow",
        "Deny",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("default-src 'none'"), "{policy}");
    assert_eq!(
        (&page.headers["x-frame-options"], &page.headers["cache-control"]),
        (&"DENY".parse().unwrap(), &"no-store".parse().unwrap())
    );

    let answer = client.decided(&hub, &admin, &path, &[("which", "all"), ("decision", "allow")]).await;
    let (place, query) = sent_to(&answer);
    assert_eq!((answer.status, place.as_str()), (303, BACK));
    assert_eq!((&query["state"], &query["iss"]), (&json!("s t&a=te"), &json!(hub.url)));
    assert_eq!(admin.get(&hub, "/api/oauth/clients").await, json!([]), "nothing was given yet");

    let (status, tokens) = client.trade_code(&hub, query["code"].as_str().unwrap()).await;
    assert_eq!(status, 200, "{tokens}");
    assert_eq!(
        (&tokens["token_type"], &tokens["expires_in"], &tokens["scope"]),
        (&json!("Bearer"), &json!(3600), &json!("mcp"))
    );
    let connected = with(&hub, &tokens);
    assert!(connected.tools(&hub).await.contains(&"mcp__mine__echo".to_owned()));
    let call = json!({ "name": "echo", "arguments": { "text": "hi" } });
    let called = connected.modern(&hub, "/mcp/i/mine", "tools/call", call).await;
    assert_eq!(called.status, 200, "{}", called.text());

    let seen = admin.get(&hub, "/api/oauth/clients").await;
    assert_eq!(
        (&seen[0]["name"], &seen[0]["place"], &seen[0]["resource"]),
        (&json!("<b>Ed</b>"), &json!("127.0.0.1:1"), &json!("/mcp"))
    );
    assert_eq!(
        (&seen[0]["scope"], &seen[0]["grants"], seen.as_array().unwrap().len()),
        (&json!("mcp"), &Value::Null, 1)
    );
    let calls = admin.get(&hub, "/api/calls").await;
    assert!(calls.to_string().contains(seen[0]["id"].as_str().unwrap()), "the log says who called: {calls}");
}

#[tokio::test]
async fn a_person_may_say_no() {
    let Team { hub, admin } = Team::start().await;
    let client = Client::registered(&hub).await;
    let answer =
        client.decided(&hub, &admin, &client.request(&[]), &[("decision", "deny"), ("which", "all")]).await;
    let (place, query) = sent_to(&answer);
    assert_eq!((answer.status, place.as_str(), &query["error"]), (303, BACK, &json!("access_denied")));
    assert_eq!(
        (&query["state"], &query["iss"], &query["code"]),
        (&json!("s t&a=te"), &json!(hub.url), &Value::Null)
    );
}

#[tokio::test]
async fn who_is_not_signed_in_does_that_first_and_comes_back() {
    let Team { hub, .. } = Team::start().await;
    let client = Client::registered(&hub).await;
    let path = client.request(&[]);
    let sent = nobody(&hub).ask(&hub, Method::GET, &path, &[], "").await;
    let location = sent.headers["location"].to_str().unwrap();
    let next = location.strip_prefix("/ui/login?next=").unwrap();
    let form = nobody(&hub).ask(&hub, Method::GET, location, &[], "").await;
    assert_eq!((sent.status, form.status), (303, 200));
    let next_field = hidden(&form, "next");
    assert_eq!(next_field, path);
    assert!(!next.contains('&'), "{next}");
    let fields = [("email", "ada@example.com"), ("password", PASSWORD), ("next", next_field.as_str())];
    let signed_in = nobody(&hub).form(&hub, "/ui/login", &fields).await;
    assert_eq!((signed_in.status, signed_in.headers["location"].to_str().unwrap()), (303, path.as_str()));
    let person = nobody(&hub).with_cookie(&signed_in);
    assert_eq!(person.ask(&hub, Method::GET, &path, &[], "").await.status, 200);
    let (token, _) = person.token(&hub, json!({ "name": "ci" })).await;
    assert_eq!(token.ask(&hub, Method::GET, &path, &[], "").await.status, 303, "a token signs nobody in");
}

#[tokio::test]
async fn a_request_that_names_no_known_client_or_address_goes_nowhere() {
    let Team { hub, admin } = Team::start().await;
    let client = Client::registered(&hub).await;
    let site = Client::with(&hub, json!({ "redirect_uris": ["https://app.example/cb"] })).await;
    for (path, sentence) in [
        ("/oauth/authorize".to_owned(), "This request has no"),
        (client.request(&[("client_id", "nobody")]), "No client is known by this"),
        (client.request(&[("client_id", "http://127.0.0.1/c.json")]), "No client is known by this"),
        (client.request(&[("redirect_uri", "")]), "This request has no <code>redirect_uri</code>"),
        (
            client.request(&[("redirect_uri", "https://evil.example/")]),
            "is not an address that this client named",
        ),
        (
            client.request(&[("redirect_uri", "http://127.0.0.1:1/other")]),
            "is not an address that this client named",
        ),
        (
            client.request(&[("redirect_uri", "http://localhost:1/back")]),
            "is not an address that this client named",
        ),
        (client.request(&[("redirect_uri", "javascript:alert(1)")]), "is not an address of an app"),
        (
            site.request(&[("redirect_uri", "https://app.example/cb/../x")]),
            "is not an address that this client named",
        ),
        (
            site.request(&[("redirect_uri", "https://app.example.evil/cb")]),
            "is not an address that this client named",
        ),
        (format!("{}&client_id=other", client.request(&[])), "stands twice"),
        (format!("{}&redirect_uri=https://evil.example", client.request(&[])), "stands twice"),
    ] {
        let answer = admin.ask(&hub, Method::GET, &path, &[], "").await;
        assert_eq!((answer.status, answer.headers.get("location")), (400, None), "{path}");
        assert!(answer.text().contains(sentence), "{path}: {}", answer.text());
        let (token, query) =
            (hidden_token(&hub, &admin, &client).await, path.split_once('?').map_or("", |it| it.1));
        let fields = [("token", token.as_str()), ("request", query), ("which", "all"), ("decision", "allow")];
        let decided = admin.form(&hub, "/oauth/authorize", &fields).await;
        assert_eq!((decided.status, decided.headers.get("location")), (400, None), "{path}");
    }
    let other_port = client.request(&[("redirect_uri", "http://127.0.0.1:54321/back")]);
    assert_eq!(status(&admin, &hub, &other_port).await, 200, "a program on this machine may listen anywhere");
}

async fn hidden_token(hub: &Hub, person: &Visitor, client: &Client) -> String {
    hidden(&person.ask(hub, Method::GET, &client.request(&[]), &[], "").await, "token")
}

#[tokio::test]
async fn what_is_wrong_with_a_known_clients_request_is_told_to_the_client() {
    let Team { hub, admin } = Team::start().await;
    let client = Client::registered(&hub).await;
    let other = "https://other.example/mcp";
    let api = format!("{}/api", hub.url);
    for (changes, code) in [
        (&[("response_type", "token")][..], "unsupported_response_type"),
        (&[("response_type", "")], "unsupported_response_type"),
        (&[("response_mode", "fragment")], "invalid_request"),
        (&[("request", "x.y.z")], "request_not_supported"),
        (&[("code_challenge", ""), ("code_challenge_method", "")], "invalid_request"),
        (&[("code_challenge_method", "plain")], "invalid_request"),
        (&[("code_challenge_method", "")], "invalid_request"),
        (&[("code_challenge", "short")], "invalid_request"),
        (&[("resource", other)], "invalid_target"),
        (&[("resource", &api)], "invalid_target"),
        (&[("scope", "admin")], "invalid_scope"),
        (&[("scope", "api")], "invalid_scope"),
    ] {
        let answer = admin.ask(&hub, Method::GET, &client.request(changes), &[], "").await;
        let (place, query) = sent_to(&answer);
        assert_eq!(
            (answer.status, place.as_str(), &query["error"]),
            (303, BACK, &json!(code)),
            "{changes:?}"
        );
        assert_eq!((&query["state"], &query["iss"]), (&json!("s t&a=te"), &json!(hub.url)), "{changes:?}");
        assert!(query["error_description"].as_str().is_some_and(|it| !it.is_empty()));
    }
}

#[tokio::test]
async fn a_code_is_good_once_for_its_client_its_address_and_its_verifier() {
    let Team { hub, admin } = Team::start().await;
    let (client, other) = (Client::registered(&hub).await, Client::registered(&hub).await);
    let wrong_verifier = "another-verifier-that-is-long-enough-for-everybody";
    let foreign = format!("{}/mcp/i/other", hub.url);
    for (changes, code, good_after) in [
        (&[("code_verifier", wrong_verifier)][..], "invalid_grant", false),
        (&[("code_verifier", "")], "invalid_request", true),
        (&[("redirect_uri", "http://127.0.0.1:2/back")], "invalid_grant", false),
        (&[("client_id", &other.id)], "invalid_grant", true),
        (&[("client_id", "nobody")], "invalid_client", true),
        (&[("client_id", "")], "invalid_request", true),
        (&[("code", "unknown")], "invalid_grant", true),
        (&[("resource", &foreign)], "invalid_target", true),
        (&[("resource", "https://other.example/mcp")], "invalid_target", true),
        (&[("grant_type", "password")], "unsupported_grant_type", true),
        (&[("grant_type", "")], "invalid_request", true),
    ] {
        let given = client.code(&hub, &admin, &[]).await;
        let mut grant = vec![
            ("grant_type", "authorization_code"),
            ("code", &given),
            ("code_verifier", VERIFIER),
            ("redirect_uri", BACK),
        ];
        grant.retain(|it| !changes.iter().any(|change| change.0 == it.0));
        grant.extend_from_slice(changes);
        let (status, body) = client.trade(&hub, &grant).await;
        let expected = if code == "invalid_client" { 401 } else { 400 };
        assert_eq!((status, &body["error"]), (expected, &json!(code)), "{changes:?}: {body}");
        let (status, body) = client.trade_code(&hub, &given).await;
        assert_eq!(status == 200, good_after, "{changes:?}: {body}");
    }
    let given = client.code(&hub, &admin, &[]).await;
    change(&hub, "UPDATE connection_codes SET expires_at = 1 WHERE used_at IS NULL").await;
    let (status, body) = client.trade_code(&hub, &given).await;
    assert_eq!((status, &body["error"]), (400, &json!("invalid_grant")), "over");
}

#[tokio::test]
async fn a_code_that_comes_twice_ends_what_it_gave() {
    let Team { hub, admin } = Team::start().await;
    let client = Client::registered(&hub).await;
    let given = client.code(&hub, &admin, &[]).await;
    let (_, tokens) = client.trade_code(&hub, &given).await;
    let connected = with(&hub, &tokens);
    assert_eq!(status(&connected, &hub, "/mcp").await, 200);
    let (again, body) = client.trade_code(&hub, &given).await;
    assert_eq!((again, &body["error"]), (400, &json!("invalid_grant")));
    assert_eq!(status(&connected, &hub, "/mcp").await, 401);
    assert_eq!(client.refresh(&hub, &tokens).await.0, 400);
    assert_eq!(admin.get(&hub, "/api/oauth/clients").await, json!([]));
}

#[tokio::test]
async fn of_ten_who_trade_one_code_at_once_nobody_keeps_anything() {
    let Team { hub, admin } = Team::start().await;
    let client = Client::registered(&hub).await;
    let given = client.code(&hub, &admin, &[]).await;
    let all = futures::future::join_all((0..10).map(|_| client.trade_code(&hub, &given))).await;
    assert!(all.iter().filter(|it| it.0 == 200).count() <= 1, "{all:?}");
    for (_, tokens) in all.iter().filter(|it| it.0 == 200) {
        assert_eq!(status(&with(&hub, tokens), &hub, "/mcp").await, 401);
    }
}

#[tokio::test]
async fn a_refresh_token_is_good_once_and_ends_everything_when_it_comes_again() {
    let Team { hub, admin } = Team::start().await;
    let (client, other) = (Client::registered(&hub).await, Client::registered(&hub).await);
    let first = client.tokens(&hub, &admin, &[]).await;
    assert_eq!(other.refresh(&hub, &first).await.1["error"], "invalid_grant", "another client's");
    let token = first["refresh_token"].as_str().unwrap();
    for resource in ["https://other.example/mcp".to_owned(), hub.url.clone()] {
        let grant =
            [("grant_type", "refresh_token"), ("refresh_token", token), ("resource", resource.as_str())];
        assert_eq!(client.trade(&hub, &grant).await.1["error"], "invalid_target", "{resource}");
    }
    let slashed = format!("{}/mcp/", hub.url);
    let grant = [("grant_type", "refresh_token"), ("refresh_token", token), ("resource", slashed.as_str())];
    let (renewed, second) = client.trade(&hub, &grant).await;
    assert_eq!(renewed, 200, "{second}");
    assert_ne!(
        (&first["access_token"], &first["refresh_token"]),
        (&second["access_token"], &second["refresh_token"])
    );
    for tokens in [&first, &second] {
        assert_eq!(status(&with(&hub, tokens), &hub, "/mcp").await, 200, "an access token lives its hour");
    }
    assert_eq!(client.refresh(&hub, &first).await.1["error"], "invalid_grant");
    for tokens in [&first, &second] {
        assert_eq!(status(&with(&hub, tokens), &hub, "/mcp").await, 401);
    }
    assert_eq!(client.refresh(&hub, &second).await.1["error"], "invalid_grant");

    let third = client.tokens(&hub, &admin, &[]).await;
    change(&hub, "UPDATE connection_tokens SET expires_at = 1 WHERE kind = 'access'").await;
    assert_eq!(status(&with(&hub, &third), &hub, "/mcp").await, 401, "its hour is over");
    let (renewed, fourth) = client.refresh(&hub, &third).await;
    assert_eq!((renewed, status(&with(&hub, &fourth), &hub, "/mcp").await), (200, 200));
    change(&hub, "UPDATE connection_tokens SET expires_at = 1 WHERE kind = 'refresh'").await;
    assert_eq!(client.refresh(&hub, &fourth).await.1["error"], "invalid_grant", "its month is over");
    let plain = Client::with(
        &hub,
        json!({ "token_endpoint_auth_method": "none", "grant_types": ["authorization_code"] }),
    )
    .await;
    assert_eq!(plain.tokens(&hub, &admin, &[]).await["refresh_token"], Value::Null, "it did not ask for one");
}

#[tokio::test]
async fn a_token_opens_the_resource_it_is_for_and_is_read_from_its_header_only() {
    let Team { hub, admin } = Team::start().await;
    let server = fixture(Options::default()).await;
    for slug in ["one", "two"] {
        admin.add(&hub, slug, &server.url()).await;
    }
    let client = Client::registered(&hub).await;
    let paths = ["/mcp", "/mcp/i/one", "/mcp/i/two", "/api/mcp/tools"];
    for (resource, statuses) in
        [("/mcp", [200, 200, 200, 401]), ("/mcp/i/one", [401, 200, 401, 401]), ("", [200, 200, 200, 403])]
    {
        let resource = format!("{}{resource}", hub.url);
        let tokens = client.tokens(&hub, &admin, &[("resource", &resource)]).await;
        let connected = with(&hub, &tokens);
        let mut found = Vec::new();
        for path in paths {
            found.push(status(&connected, &hub, path).await);
        }
        assert_eq!(found, statuses, "{resource}");
    }
    let unnamed = client.tokens(&hub, &admin, &[("resource", "")]).await;
    assert_eq!(
        status(&with(&hub, &unnamed), &hub, "/sse/message?session=x").await,
        405,
        "older clients name none"
    );
    let token = unnamed["access_token"].as_str().unwrap();
    for path in [format!("/mcp?access_token={token}"), format!("/api/status?access_token={token}")] {
        assert_eq!(nobody(&hub).ask(&hub, Method::GET, &path, &[], "").await.status, 401, "{path}");
    }
    let form = format!("access_token={token}");
    let kind = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(nobody(&hub).ask(&hub, Method::POST, "/mcp", &kind, form).await.status, 401);
    let basic = [("authorization", &*format!("Basic {token}"))];
    assert_eq!(nobody(&hub).ask(&hub, Method::GET, "/mcp", &basic, "").await.status, 401);
    let refresh = nobody(&hub).with_token(unnamed["refresh_token"].as_str().unwrap());
    assert_eq!(status(&refresh, &hub, "/mcp").await, 401, "a refresh token opens nothing");
}

#[tokio::test]
async fn a_client_that_lacks_a_scope_is_told_all_it_needs_and_never_has_a_persons_role() {
    let Team { hub, admin } = Team::start().await;
    let client = Client::registered(&hub).await;
    let whole = [("resource", hub.url.as_str())];
    let tokens = client.tokens(&hub, &admin, &whole).await;
    let refused = with(&hub, &tokens).ask(&hub, Method::GET, "/api/status", &[], "").await;
    assert_eq!((refused.status, refused.json()["code"].as_str()), (403, Some("auth.scope")));
    assert_eq!(
        challenge(&refused),
        format!(
            "Bearer error=\"insufficient_scope\", \
             resource_metadata=\"{}/.well-known/oauth-protected-resource\", scope=\"mcp api\"",
            hub.url
        )
    );
    let only_api = client.tokens(&hub, &admin, &[whole[0], ("scope", "api")]).await;
    let refused = with(&hub, &only_api).modern(&hub, "/mcp", "tools/list", json!({})).await;
    assert_eq!(refused.status, 403);
    assert!(challenge(&refused).contains("scope=\"mcp api\""), "{}", challenge(&refused));

    let tokens = client.tokens(&hub, &admin, &[whole[0], ("scope", "mcp api")]).await;
    let connected = with(&hub, &tokens);
    assert_eq!(connected.get(&hub, "/api/status").await["me"]["role"], "member");
    for (method, path, status, code) in [
        (Method::GET, "/api/people", 403, "auth.role"),
        (Method::GET, "/api/tokens", 403, "auth.token"),
        (Method::POST, "/api/tokens", 403, "auth.token"),
        (Method::GET, "/api/oauth/clients", 403, "auth.token"),
        (Method::DELETE, "/api/oauth/clients/x", 403, "auth.token"),
        (Method::GET, "/api/oauth/known", 403, "auth.role"),
    ] {
        let (found, body) = connected.api(&hub, method, path, Value::Null).await;
        assert_eq!((found, &body["code"]), (status, &json!(code)), "{path}");
    }
}

#[tokio::test]
async fn a_client_uses_the_instances_it_was_granted_and_the_choice_is_offered_again() {
    let team = Team::start().await;
    let (hub, admin, ben) = (&team.hub, &team.admin, team.invite("ben", "member").await);
    let server = fixture(Options::default()).await;
    let one = admin.add(hub, "one", &server.url()).await;
    let two = admin.add(hub, "two", &server.url()).await;
    let foreign = ben.add(hub, "three", &server.url()).await;
    let client = Client::registered(hub).await;
    let path = client.request(&[]);

    let none = client.decided(hub, admin, &path, &[("which", "these"), ("decision", "allow")]).await;
    assert_eq!((none.status, none.text().contains("Choose at least one")), (200, true));
    let theirs = [("which", "these"), ("instance", foreign.as_str()), ("decision", "allow")];
    assert_eq!(
        client.decided(hub, admin, &path, &theirs).await.status,
        200,
        "nobody grants what is not theirs"
    );
    assert!(!none.text().contains("three"), "{}", none.text());

    let chosen = [
        ("which", "these"),
        ("instance", one.as_str()),
        ("instance", foreign.as_str()),
        ("decision", "allow"),
    ];
    let answer = client.decided(hub, admin, &path, &chosen).await;
    let (_, tokens) = client.trade_code(hub, sent_to(&answer).1["code"].as_str().unwrap()).await;
    let connected = with(hub, &tokens);
    let names = connected.tools(hub).await;
    assert!(!names.is_empty() && names.iter().all(|it| it.starts_with("mcp__one__")), "{names:?}");
    assert_eq!(status(&connected, hub, "/mcp/i/two").await, 403);
    assert_eq!(status(&connected, hub, "/mcp/i/three").await, 404);
    let seen = admin.get(hub, "/api/oauth/clients").await;
    assert_eq!(seen[0]["grants"], json!([{ "instance_id": one, "slug": "one" }]));

    let page = admin.ask(hub, Method::GET, &path, &[], "").await.text();
    assert!(page.contains(&format!("value=\"{one}\" checked")), "{page}");
    assert!(page.contains(&format!("value=\"{two}\">")), "{page}");
    let page = ben.ask(hub, Method::GET, &path, &[], "").await.text();
    assert!(
        page.contains("value=\"all\" checked") && !page.contains(&one),
        "somebody else's choice is theirs"
    );

    let narrow = client.request(&[("resource", &format!("{}/mcp/i/TWO", hub.url))]);
    let page = admin.ask(hub, Method::GET, &narrow, &[], "").await.text();
    assert!(
        page.contains("Only with your instance <code>two</code>") && !page.contains("type=\"checkbox\""),
        "{page}"
    );
    let answer = client.decided(hub, admin, &narrow, &[("decision", "allow")]).await;
    let (_, tokens) = client.trade_code(hub, sent_to(&answer).1["code"].as_str().unwrap()).await;
    assert_eq!(status(&with(hub, &tokens), hub, "/mcp/i/two").await, 200);
    let nothing = ben.ask(hub, Method::GET, &narrow, &[], "").await.text();
    assert!(
        nothing.contains("You have no instance called <code>TWO</code>")
            && !nothing.contains("value=\"allow\""),
        "{nothing}"
    );
}

#[tokio::test]
async fn only_the_persons_own_page_decides() {
    let team = Team::start().await;
    let (hub, admin, ben) = (&team.hub, &team.admin, team.invite("ben", "member").await);
    let client = Client::registered(hub).await;
    let page = admin.ask(hub, Method::GET, &client.request(&[]), &[], "").await;
    let bens = hidden(&ben.ask(hub, Method::GET, &client.request(&[]), &[], "").await, "token");
    let (token, request) = (hidden(&page, "token"), hidden(&page, "request"));
    let form = |token: &str| {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs([("token", token), ("request", &request), ("which", "all"), ("decision", "allow")]);
        body.finish()
    };
    let (_, cookie) = admin.shows.clone().unwrap();
    let send = async |headers: &[(&str, &str)], body: String| {
        let mut request = http::Request::post(format!("{}/oauth/authorize", hub.url));
        for (name, value) in headers.iter().chain(&[("content-type", "application/x-www-form-urlencoded")]) {
            request = request.header(*name, *value);
        }
        hub.send(request.body(body.into()).unwrap()).await
    };
    let own = hub.url.as_str();
    for (what, headers, body) in [
        (
            "another origin",
            vec![("cookie", cookie.as_str()), ("origin", "https://evil.example")],
            form(&token),
        ),
        ("no origin", vec![("cookie", &cookie)], form(&token)),
        ("a hidden origin", vec![("cookie", &cookie), ("origin", "null")], form(&token)),
        ("no token", vec![("cookie", &cookie), ("origin", own)], form("")),
        ("another person's token", vec![("cookie", &cookie), ("origin", own)], form(&bens)),
    ] {
        let answer = send(&headers, body).await;
        assert_eq!((answer.status, answer.headers.get("location")), (403, None), "{what}");
    }
    let nobody = send(&[("origin", own)], form(&token)).await;
    assert!(nobody.headers["location"].to_str().unwrap().starts_with("/ui/login?next="));
    let good = send(&[("cookie", &cookie), ("origin", own)], form(&token)).await;
    assert!(good.headers["location"].to_str().unwrap().starts_with(BACK));
}

#[tokio::test]
async fn clients_register_within_bounds_and_prove_themselves_as_they_said() {
    let Team { hub, admin } = Team::start().await;
    let answer = register(
        &hub,
        json!({ "redirect_uris": [BACK, "cursor://x/cb"], "client_name": "Ed", "logo_uri": "https://x/y" }),
    )
    .await;
    let body = answer.json();
    assert_eq!((answer.status, &answer.headers["cache-control"]), (201, &"no-store".parse().unwrap()));
    assert_eq!(body["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(body["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!((&body["client_secret_expires_at"], &body["logo_uri"]), (&json!(0), &Value::Null));
    for (description, code) in [
        (json!({}), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["http://evil.example/"] }), "invalid_redirect_uri"),
        (
            json!({ "redirect_uris": [BACK], "token_endpoint_auth_method": "private_key_jwt" }),
            "invalid_client_metadata",
        ),
        (json!("x"), "invalid_client_metadata"),
    ] {
        let refused = register(&hub, description.clone()).await;
        assert_eq!((refused.status, &refused.json()["error"]), (400, &json!(code)), "{description}");
    }
    let long = register(&hub, json!({ "redirect_uris": [BACK], "x": "y".repeat(100_000) })).await;
    assert_eq!(long.status, 413);

    let confidential = Client::with(
        &hub,
        json!({ "client_name": "Ed", "token_endpoint_auth_method": "client_secret_post" }),
    )
    .await;
    let (id, secret) = (confidential.id.as_str(), confidential.secret.as_deref().unwrap());
    let code = confidential.code(&hub, &admin, &[]).await;
    let grant = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
    for (what, headers, fields) in [
        ("no secret", vec![], vec![("client_id", id)]),
        ("a wrong secret", vec![], vec![("client_id", id), ("client_secret", "tgs_x")]),
        ("a wrong secret in the header", vec![("authorization", basic(id, "tgs_x"))], vec![]),
        ("two ids", vec![("authorization", basic(id, secret))], vec![("client_id", "other")]),
        ("no id", vec![], vec![("client_secret", secret)]),
        ("a bearer", vec![("authorization", format!("Bearer {secret}"))], vec![("client_id", id)]),
    ] {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let refused = post(&hub, "/oauth/token", &headers, &[&fields[..], &grant].concat()).await;
        assert!([400, 401].contains(&refused.status), "{what}: {}", refused.text());
    }
    let header = basic(id, secret);
    let given = post(&hub, "/oauth/token", &[("authorization", &header)], &grant).await;
    assert_eq!(given.status, 200, "either way of sending it will do: {}", given.text());

    let mut statuses = Vec::new();
    for _ in 0..40 {
        statuses.push(register(&hub, json!({ "redirect_uris": [BACK] })).await.status);
    }
    assert!(statuses.contains(&429) && statuses.first() == Some(&201), "{statuses:?}");
}

fn basic(id: &str, secret: &str) -> String {
    use base64::Engine;
    format!("Basic {}", base64::prelude::BASE64_STANDARD.encode(format!("{id}:{secret}")))
}

#[tokio::test]
async fn a_client_that_is_locked_out_ends_at_once_with_everything_it_runs() {
    let team = Team::start().await;
    let (hub, admin, ben) = (&team.hub, &team.admin, team.invite("ben", "member").await);
    let server = fixture(Options { era: Era::Legacy, ..Options::default() }).await;
    admin.add(hub, "s", &server.url()).await;
    let client = Client::registered(hub).await;
    let tokens = client.tokens(hub, admin, &[]).await;
    let connected = with(hub, &tokens);
    let id = admin.get(hub, "/api/oauth/clients").await[0]["id"].as_str().unwrap().to_owned();

    let (headers, body) =
        modern_request("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let mut request = http::Request::post(format!("{}/mcp", hub.url));
    for (name, value) in headers.iter().map(|it| (it.0, it.1.as_str())).chain(connected.headers(hub)) {
        request = request.header(name, value);
    }
    let mut stream = hub.open_as(request.body(body.to_string().into()).unwrap()).await;
    stream.next().await.unwrap();
    // The token that opened the stream is over, another one is in use: the stream goes on, and must still be ended.
    change(hub, "UPDATE connection_tokens SET expires_at = 1 WHERE kind = 'access'").await;
    let (_, renewed) = client.refresh(hub, &tokens).await;
    assert_eq!(status(&with(hub, &renewed), hub, "/mcp").await, 200);

    for (visitor, expected) in
        [(&ben, 404), (&nobody(hub), 401), (&with(hub, &renewed), 401), (admin, 204), (admin, 404)]
    {
        let path = format!("/api/oauth/clients/{id}");
        assert_eq!(visitor.api(hub, Method::DELETE, &path, Value::Null).await.0, expected);
    }
    assert_eq!(ben.get(hub, "/api/oauth/clients").await, json!([]));
    stream.ends().await;
    assert_eq!(status(&with(hub, &renewed), hub, "/mcp").await, 401);
    assert_eq!(client.refresh(hub, &renewed).await.1["error"], "invalid_grant");
}

#[tokio::test]
async fn a_client_may_leave_by_itself() {
    let Team { hub, admin } = Team::start().await;
    let (client, other) = (Client::registered(&hub).await, Client::registered(&hub).await);
    for kind in ["access_token", "refresh_token"] {
        let tokens = client.tokens(&hub, &admin, &[]).await;
        let token = tokens[kind].as_str().unwrap();
        let foreign = post(&hub, "/oauth/revoke", &[], &[("client_id", &other.id), ("token", token)]).await;
        let unknown = post(&hub, "/oauth/revoke", &[], &[("client_id", &client.id), ("token", "x")]).await;
        assert_eq!((foreign.status, unknown.status), (200, 200), "neither is told apart");
        assert_eq!(status(&with(&hub, &tokens), &hub, "/mcp").await, 200);
        let none = post(&hub, "/oauth/revoke", &[], &[("client_id", &client.id)]).await;
        assert_eq!(none.status, 400);
        let own = post(&hub, "/oauth/revoke", &[], &[("client_id", &client.id), ("token", token)]).await;
        assert_eq!((own.status, status(&with(&hub, &tokens), &hub, "/mcp").await), (200, 401));
        assert_eq!(client.refresh(&hub, &tokens).await.0, 400);
    }
}

#[tokio::test]
async fn admins_see_the_clients_and_remove_one_with_all_its_connections() {
    let team = Team::start().await;
    let (hub, admin, ben) = (&team.hub, &team.admin, team.invite("ben", "member").await);
    let client = Client::registered(hub).await;
    let tokens = client.tokens(hub, &ben, &[]).await;
    let known = admin.get(hub, "/api/oauth/known").await;
    assert_eq!((&known[0]["client_id"], &known[0]["connections"]), (&json!(client.id), &json!(1)));
    let path = format!("/api/oauth/known?client_id={}", client.id);
    assert_eq!(ben.api(hub, Method::GET, "/api/oauth/known", Value::Null).await.0, 403);
    assert_eq!(ben.api(hub, Method::DELETE, &path, Value::Null).await.0, 403);
    assert_eq!(status(&with(hub, &tokens), hub, "/mcp").await, 200);
    assert_eq!(admin.api(hub, Method::DELETE, &path, Value::Null).await.0, 204);
    assert_eq!(admin.api(hub, Method::DELETE, &path, Value::Null).await.0, 404);
    assert_eq!(status(&with(hub, &tokens), hub, "/mcp").await, 401);
    let log = admin.get(hub, "/api/admin/log").await;
    assert!(log.to_string().contains("client.remove"), "{log}");
    assert_eq!(client.refresh(hub, &tokens).await.1["error"], "invalid_client");
}

#[tokio::test]
async fn a_clients_token_goes_to_no_server_and_no_secret_is_kept_or_logged() {
    let Team { hub, admin } = Team::start_as(HERE, |command| {
        command.env("TOOLGROVE_LOG", "trace");
    })
    .await;
    let server = fixture(Options::default()).await;
    admin.add(&hub, "mine", &server.url()).await;
    let client = Client::with(&hub, json!({ "token_endpoint_auth_method": "client_secret_post" })).await;
    let code = client.code(&hub, &admin, &[]).await;
    let (_, first) = client.trade_code(&hub, &code).await;
    let (_, second) = client.refresh(&hub, &first).await;
    let call = json!({ "name": "mcp__mine__seen_headers", "arguments": {} });
    let called = with(&hub, &second).modern(&hub, "/mcp", "tools/call", call).await.text();
    assert!(called.contains("user-agent"), "{called}");
    assert!(!called.contains("tgo_"), "{called}");
    let secrets = [
        &code,
        client.secret.as_ref().unwrap(),
        first["access_token"].as_str().unwrap(),
        first["refresh_token"].as_str().unwrap(),
        second["access_token"].as_str().unwrap(),
        second["refresh_token"].as_str().unwrap(),
        VERIFIER,
    ];
    let dir = hub.stop().await;
    for entry in walk(dir.path()) {
        let bytes = std::fs::read(&entry).unwrap_or_default();
        for secret in secrets {
            let found = bytes.windows(secret.len()).any(|it| it == secret.as_bytes());
            assert!(!found, "{} holds {secret}", entry.display());
        }
    }
}

pub(crate) fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|it| it.unwrap().path());
    entries.flat_map(|it| if it.is_dir() { walk(&it) } else { vec![it] }).collect()
}
