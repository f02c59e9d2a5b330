//! `oauth.json`: signing in to servers. Addresses are compared as the cases write them; whatever happens over HTTP
//! happens here too, with a scripted provider on this machine.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use sqlx::SqlitePool;
use toolgrove_core::Secret;
use toolgrove_upstream::oauth::{self, Challenge, Pkce};
use toolgrove_upstream::{Pool, PoolOptions, ShepherdCommand};
use toolgrove_wire::modern::Implementation;
use url::Url;

use crate::Case;
use crate::hub::Hub;
use crate::provider::{self, ISSUER, Provider, RESOURCE, come_back, connect, query, sign_in, try_connect};

crate::scenarios! {
    "prm-fallback-root" => fallback_root,
    "prm-root-url" => resource_addresses,
    "prm-trailing-slash" => trailing_slash,
    "prm-port-kept" => first_address,
    "prm-deep-path" => resource_addresses,
    "prm-www-authenticate-first" => challenge_first,
    "prm-no-as" => no_authorization_servers,
    "as-no-path" => issuer_addresses,
    "as-with-path" => issuer_addresses,
    "as-issuer-mismatch" => issuer_mismatch,
    "as-result" => discovery_result,
    "dcr-body" => registration_body,
    "order-cimd" => document_only,
    "creds-bound-to-issuer" => new_issuer,
    "authz-url-params" => authorization_parameters,
    "authz-no-scope" => no_scope,
    "authz-existing-query" => existing_query,
    "pkce-vector" => pkce_vector,
    "pkce-two-flows" => two_flows,
    "state-single-use" => single_use,
    "state-ttl" => time_to_live,
    "callback-no-state" => no_state,
    "redirect-0000" => redirect_host,
    "exchange-form" => exchange_form,
    "exchange-no-token" => exchange_no_token,
    "refresh-skew" => refresh_skew,
    "refresh-no-expiry" => refresh_no_expiry,
    "refresh-form" => refresh_form,
    "refresh-keeps-old" => refresh_keeps_old,
    "refresh-rotates" => refresh_rotates,
    "refresh-fails" => refresh_fails,
    "order-both" => order_both,
    "order-dcr-fails" => order_dcr_fails,
    "connect-navigates" => connect_navigates,
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("`{key}` is not a text in {value}"))
}

/// A hub with the provider's server under the name `w`, which nobody signed in to yet.
async fn pair_with(config: &str) -> (Hub, Provider) {
    let provider = Provider::start().await;
    let hub = Hub::start_with(config).await;
    add(&hub, "w", &provider).await;
    (hub, provider)
}

async fn pair() -> (Hub, Provider) {
    pair_with("").await
}

async fn add(hub: &Hub, name: &str, provider: &Provider) {
    let imported = hub.import(json!({ name: { "url": provider.mcp() } })).await;
    assert_eq!(imported["message_success"], format!("Added: {name} (sign in to use)"), "{imported}");
}

async fn call(hub: &Hub) -> Value {
    hub.call("mcp__w__whoami", json!({})).await
}

fn token_shown(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

/// `GET <address>` lines as addresses; an ellipsis stands for the origin.
fn addresses(expect: &Value) -> Vec<String> {
    let lines = expect.as_array().unwrap().iter().map(|it| it.as_str().unwrap());
    lines.map(|it| it.trim_start_matches("GET ").trim_start_matches("...").to_owned()).collect()
}

fn resource_documents(url: &str) -> Vec<String> {
    oauth::resource_documents(&url.parse().unwrap(), None).into_iter().map(Into::into).collect()
}

async fn resource_addresses(case: Case) {
    assert_eq!(resource_documents(text(&case.given, "mcp_url")), addresses(&case.expect));
}

async fn first_address(case: Case) {
    assert_eq!(resource_documents(text(&case.given, "mcp_url"))[..1], addresses(&case.expect));
}

async fn trailing_slash(case: Case) {
    let url = text(&case.given, "mcp_url");
    assert_eq!(resource_documents(url), resource_documents(url.trim_end_matches('/')));
    assert!(case.expect.as_str().unwrap().contains("/mcp"));
}

async fn fallback_root(case: Case) {
    let (hub, provider) = pair().await;
    let wanted = addresses(&case.expect);
    let given = resource_documents(text(&case.given, "mcp_url"));
    assert!(given.iter().zip(&wanted).all(|(url, end)| url.ends_with(end)), "{given:?}");
    provider.set(|it| {
        it.challenge = "Bearer".into();
        let document = it.documents.remove(RESOURCE).unwrap();
        it.documents.insert("/.well-known/oauth-protected-resource".into(), document);
    });
    // The server is asked anew, and no longer says where its metadata is.
    hub.api(Method::POST, "/api/mcp/instances/w/refresh", json!({})).await;
    connect(&hub, "w").await;
    assert_eq!(provider.read()[..2], wanted);
}

async fn challenge_first(case: Case) {
    let header = text(&case.given, "401 header");
    let challenge = Challenge::parse(header).unwrap();
    let server: Url = "https://s.example/mcp".parse().unwrap();
    assert_eq!(oauth::resource_documents(&server, Some(&challenge))[0].as_str(), addresses(&case.expect)[0]);
    let provider = Provider::start().await;
    provider.set(|it| {
        it.challenge = header.replace("https://s.example", &provider.base);
        let document = it.documents.remove(RESOURCE).unwrap();
        it.documents.insert("/meta/prm.json".into(), document);
    });
    let hub = Hub::start().await;
    add(&hub, "w", &provider).await;
    connect(&hub, "w").await;
    assert_eq!(provider.read(), ["/meta/prm.json", ISSUER]);
}

async fn no_authorization_servers(case: Case) {
    let (hub, provider) = pair().await;
    provider.resource_with("authorization_servers", json!([]));
    let (status, problem) = try_connect(&hub, "w").await;
    assert_eq!((status, &problem["detail"]), (502, &case.expect), "{problem}");
    assert_eq!(hub.get("/api/mcp/instances/w").await["status"], "not_ready", "nothing is lost");
}

async fn issuer_addresses(case: Case) {
    let found = oauth::issuer_documents(text(&case.given, "issuer"));
    let found: Vec<String> = found.into_iter().map(Into::into).collect();
    assert_eq!(found, addresses(&case.expect));
    // The last place of the list is enough.
    let (hub, provider) = pair().await;
    let last: Url = addresses(&case.expect).last().unwrap().parse().unwrap();
    let path = Url::parse(text(&case.given, "issuer")).unwrap().path().trim_end_matches('/').to_owned();
    let issuer = format!("{}{path}", provider.base);
    provider.resource_with("authorization_servers", json!([issuer]));
    provider.set(|it| {
        it.documents.remove(ISSUER);
        it.documents.insert(last.path().into(), (200, provider::issuer(&issuer, &provider.base)));
    });
    connect(&hub, "w").await;
    let read: Vec<_> = found.iter().map(|it| Url::parse(it).unwrap().path().to_owned()).collect();
    assert_eq!(provider.read()[1..], read);
}

async fn issuer_mismatch(case: Case) {
    let (hub, provider) = pair().await;
    provider.issuer_with("issuer", case.given["issuer in document"].clone());
    let (status, problem) = try_connect(&hub, "w").await;
    assert_eq!((status, &problem["code"]), (502, &json!("oauth.discovery")), "{problem}");
    assert!(provider.seen("/register").is_empty(), "nothing of the document is used");
}

async fn discovery_result(case: Case) {
    let provider = Provider::start().await;
    let fetch = pool();
    let (document, resource) = (&case.given["as document"], text(&case.given, "prm.resource"));
    for (key, value) in document.as_object().unwrap() {
        provider.issuer_with(key, value.clone());
    }
    provider.resource_with("resource", json!(resource.replace("https://s.example", &provider.base)));
    let server: Url = provider.mcp().parse().unwrap();
    let found = oauth::discover(fetch.fetch(), &server, None).await.unwrap();
    let found = json!({
        "authorization_endpoint": found.authorization_endpoint,
        "token_endpoint": found.token_endpoint,
        "resource": found.resource.replace(&provider.base, "https://s.example"),
        "authorization_server_url": found.issuer.replace(&provider.base, "<issuer>"),
    });
    assert_eq!(found, case.expect);
}

fn pool() -> Pool {
    Pool::new(PoolOptions {
        shepherd: ShepherdCommand { program: "none".into(), args: Vec::new() },
        client: Implementation { name: "t".into(), version: "1".into() },
        body_limit: 1 << 20,
        idle: Duration::from_secs(1),
        reports: tokio::sync::mpsc::unbounded_channel().0,
        tokens: None,
        now: || 0,
        guard: toolgrove_core::net::Guard::Open,
    })
}

async fn registration_body(case: Case) {
    let redirect = text(&case.given, "redirect");
    let public = redirect.strip_suffix("/ui/auth/mcp/callback").unwrap();
    let (hub, provider) = pair_with(&format!("public_url = \"{public}\"")).await;
    connect(&hub, "w").await;
    assert_eq!(provider.seen("/register")[0].json(), case.expect);
    // On this machine it is a native application, and it says what it wants.
    let (hub, provider) = pair().await;
    provider.resource_with("scopes_supported", json!(["read", "write"]));
    connect(&hub, "w").await;
    let mut wanted = case.expect;
    wanted["redirect_uris"] = json!([format!("{}/ui/auth/mcp/callback", hub.url)]);
    wanted["application_type"] = "native".into();
    wanted["scope"] = "read write".into();
    assert_eq!(provider.seen("/register")[0].json(), wanted);
}

/// `public_url` of a case as a configuration.
fn public(case: &Case) -> String {
    format!("public_url = \"{}\"\n", text(&case.given, "public_url"))
}

async fn document_only(case: Case) {
    let (hub, provider) = pair_with(&public(&case)).await;
    provider.issuer_with("registration_endpoint", Value::Null);
    provider.issuer_with("client_id_metadata_document_supported", json!(true));
    let id = query(&connect(&hub, "w").await)["client_id"].clone();
    assert!(case.expect.as_str().unwrap().contains(&id), "{id}");
    let request = http::Request::get(format!("{}/oauth/client.json", hub.url)).body("".into()).unwrap();
    let answer = hub.send(request).await;
    let document = answer.json();
    assert_eq!((answer.status, document["client_id"].as_str()), (200, Some(id.as_str())), "without a key");
    let callback = format!("{}/ui/auth/mcp/callback", text(&case.given, "public_url"));
    assert_eq!(document["redirect_uris"], json!([callback]));
    // A hub that providers cannot reach has no document.
    let (hub, provider) = pair().await;
    provider.issuer_with("registration_endpoint", Value::Null);
    provider.issuer_with("client_id_metadata_document_supported", json!(true));
    let (status, problem) = try_connect(&hub, "w").await;
    let wanted = format!("enter a client id and secret for {}", provider.base);
    assert_eq!((status, problem["detail"].as_str()), (409, Some(wanted.as_str())));
    assert_eq!(hub.api(Method::GET, "/oauth/client.json", Value::Null).await.0, 404);
}

async fn new_issuer(_: Case) {
    let (hub, provider) = pair().await;
    sign_in(&hub, "w").await;
    let moved = format!("{}/b", provider.base);
    provider.resource_with("authorization_servers", json!([moved]));
    provider.set(|it| {
        it.documents.insert(format!("{ISSUER}/b"), (200, provider::issuer(&moved, &moved)));
        it.registration.1 = json!({ "client_id": "c2" });
        it.seen.clear();
    });
    let url = connect(&hub, "w").await;
    assert_eq!(provider.seen("/b/register").len(), 1, "it registers again");
    assert_eq!(query(&url)["client_id"], "c2");
    let state = query(&url)["state"].clone();
    assert_eq!(come_back(&hub, &[("state", &state), ("code", "x")]).await.status, 303);
    assert_eq!(provider.seen("/b/token")[0].form()["client_id"], "c2");
    let sign_in = hub.get("/api/mcp/instances/w/connect").await;
    assert_eq!((&sign_in["issuer"], &sign_in["client_id"]), (&json!(moved), &json!("c2")));
}

async fn authorization_parameters(case: Case) {
    let (hub, provider) = pair().await;
    provider
        .resource_with("scopes_supported", json!(text(&case.given, "scopes").split(' ').collect::<Vec<_>>()));
    provider.set(|it| it.registration.1 = json!({ "client_id": case.given["client_id"] }));
    let (one, other) = (query(&connect(&hub, "w").await), query(&connect(&hub, "w").await));
    let wanted = case.expect.as_object().unwrap();
    let mut keys: Vec<_> = one.keys().map(String::as_str).collect();
    keys.sort_unstable();
    let mut wanted_keys: Vec<_> = wanted.keys().map(String::as_str).collect();
    wanted_keys.sort_unstable();
    assert_eq!(keys, wanted_keys);
    for (key, value) in wanted {
        match value.as_str().unwrap() {
            "<callback>" => assert_eq!(one[key], format!("{}/ui/auth/mcp/callback", hub.url)),
            "<43 chars base64url>" => assert_eq!(one[key].len(), 43),
            "<unique>" => assert_ne!(one[key], other[key]),
            "https://mcp.example.com/mcp" => assert_eq!(one[key], provider.mcp()),
            value => assert_eq!(one[key], value, "{key}"),
        }
    }
}

async fn no_scope(_: Case) {
    let (hub, _provider) = pair().await;
    assert!(!query(&connect(&hub, "w").await).contains_key("scope"));
}

async fn existing_query(case: Case) {
    let (hub, provider) = pair().await;
    let path = Url::parse(text(&case.given, "authorization_endpoint")).unwrap();
    let endpoint = format!("{}{}?{}", provider.base, path.path(), path.query().unwrap());
    provider.issuer_with("authorization_endpoint", json!(endpoint));
    let query = query(&connect(&hub, "w").await);
    assert_eq!((query["tenant"].as_str(), query["response_type"].as_str()), ("1", "code"));
}

async fn pkce_vector(case: Case) {
    let pkce = Pkce::of(Secret::new(text(&case.given, "verifier")));
    assert_eq!(pkce.challenge, case.expect.as_str().unwrap());
}

async fn two_flows(_: Case) {
    let (hub, provider) = pair().await;
    let server = hub.get("/api/mcp/instances/w").await["server_id"].clone();
    let (status, other) =
        hub.api(Method::POST, "/api/mcp/instances", json!({ "server_id": server, "slug": "other" })).await;
    assert_eq!(status, 201, "{other}");
    let (one, two) = (query(&connect(&hub, "w").await), query(&connect(&hub, "other").await));
    // They come back in the other order.
    for (flow, code) in [(&two, "second"), (&one, "first")] {
        assert_eq!(come_back(&hub, &[("state", &flow["state"]), ("code", code)]).await.status, 303);
    }
    for form in provider.grants("authorization_code") {
        let flow = if form["code"] == "first" { &one } else { &two };
        assert_eq!(Pkce::of(Secret::new(form["code_verifier"].as_str())).challenge, flow["code_challenge"]);
    }
    for slug in ["w", "other"] {
        assert_eq!(hub.get(&format!("/api/mcp/instances/{slug}")).await["status"], "ready");
    }
}

async fn single_use(case: Case) {
    let (hub, provider) = pair().await;
    let state = query(&connect(&hub, "w").await)["state"].clone();
    assert_eq!(come_back(&hub, &[("state", &state), ("code", "x")]).await.status, 303);
    let again = come_back(&hub, &[("state", &state), ("code", "x")]).await;
    assert_eq!(again.status, 400);
    assert!(again.text().contains("oauth.state-unknown"), "{}", again.text());
    assert!(case.expect.as_str().unwrap().contains("oauth.state-unknown"));
    assert_eq!(provider.seen("/token").len(), 1);
    assert_eq!(hub.get("/api/mcp/instances/w").await["status"], "ready", "the first one stands");
}

async fn time_to_live(case: Case) {
    let (hub, provider) = pair().await;
    let database =
        SqlitePool::connect(&format!("sqlite:{}", hub.data().join("toolgrove.db").display())).await.unwrap();
    let age = async |seconds: i64| {
        let state = query(&connect(&hub, "w").await)["state"].clone();
        let older = sqlx::query("UPDATE oauth_pending SET created_at = created_at - $1 WHERE state = $2");
        older.bind(seconds * 1000).bind(&state).execute(&database).await.unwrap();
        come_back(&hub, &[("state", &state), ("code", "x")]).await
    };
    let late = age(case.given["age_seconds"].as_i64().unwrap()).await;
    assert_eq!(json!(late.status), case.expect["status"]);
    for words in [text(&case.expect, "code"), text(&case.expect, "message")] {
        assert!(late.text().contains(words), "{}", late.text());
    }
    assert!(provider.seen("/token").is_empty());
    assert_eq!(hub.get("/api/mcp/instances/w").await["status"], "not_ready", "the instance row stays");
    assert_eq!(age(595).await.status, 303);
}

async fn no_state(case: Case) {
    let (hub, _provider) = pair().await;
    let (key, value) = text(&case.given, "query").split_once('=').unwrap();
    let answer = come_back(&hub, &[(key, value)]).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains(case.expect.as_str().unwrap()), "{}", answer.text());
}

async fn exchange_form(case: Case) {
    for secret in [None, Some("s3cr3t")] {
        let (hub, provider) = pair().await;
        provider.set(|it| {
            it.registration.1 = json!({ "client_id": "c1", "client_secret": secret });
            it.registration.1["token_endpoint_auth_method"] = "client_secret_post".into();
        });
        let url = query(&connect(&hub, "w").await);
        assert_eq!(come_back(&hub, &[("state", &url["state"]), ("code", "a-code")]).await.status, 303);
        let seen = &provider.seen("/token")[0];
        let form = seen.form();
        for (key, value) in case.expect.as_object().unwrap() {
            match (key.as_str(), value.as_str().unwrap()) {
                ("redirect_uri", _) => assert_eq!(form[key], url["redirect_uri"]),
                ("resource", _) => assert_eq!(form[key], provider.mcp()),
                ("client_secret", _) => assert_eq!(form.get(key).map(String::as_str), secret),
                ("code", _) => assert_eq!(form[key], "a-code"),
                (_, "..") => assert!(!form[key].is_empty()),
                (_, value) => assert_eq!(form[key], value),
            }
        }
        assert_eq!(seen.headers["accept"], "application/json");
        assert_eq!(seen.headers["content-type"], "application/x-www-form-urlencoded");
    }
}

async fn exchange_no_token(case: Case) {
    let (hub, provider) = pair().await;
    provider.set(|it| it.tokens = [(200, json!(text(&case.given, "body")))].into());
    let state = query(&connect(&hub, "w").await)["state"].clone();
    let answer = come_back(&hub, &[("state", &state), ("code", "x")]).await;
    assert_eq!(answer.status, 502);
    assert!(answer.text().contains(case.expect.as_str().unwrap()), "{}", answer.text());
}

async fn refresh_skew(case: Case) {
    let left: i64 =
        text(&case.given, "expires_at").trim_matches(|it: char| !it.is_ascii_digit()).parse().unwrap();
    let (hub, provider) = pair().await;
    provider.set(|it| it.expires_in = json!(left));
    sign_in(&hub, "w").await;
    let shown = token_shown(&call(&hub).await).to_owned();
    assert_ne!(shown, "access-1", "a token with {left} s left is renewed before it is used");
    assert!(provider.seen("/mcp").iter().all(|it| it.bearer() != Some("access-1")));
    // A little more than a minute, so that a slow machine does not use it up on the way.
    let (hub, provider) = pair().await;
    provider.set(|it| it.expires_in = json!(61 + 9));
    sign_in(&hub, "w").await;
    assert_eq!(token_shown(&call(&hub).await), "access-1");
    assert!(provider.grants("refresh_token").is_empty());
}

async fn refresh_no_expiry(_: Case) {
    let (hub, provider) = pair().await;
    provider.set(|it| it.expires_in = Value::Null);
    sign_in(&hub, "w").await;
    assert_eq!(token_shown(&call(&hub).await), "access-1");
    assert!(provider.grants("refresh_token").is_empty());
}

/// Signs in with a token that has to be renewed before each use.
async fn short_lived() -> (Hub, Provider) {
    let (hub, provider) = pair().await;
    provider.set(|it| it.expires_in = json!(30));
    (hub, provider)
}

async fn refresh_form(case: Case) {
    let (hub, provider) = short_lived().await;
    sign_in(&hub, "w").await;
    let form = &provider.grants("refresh_token")[0];
    let mut keys: Vec<_> = form.keys().cloned().collect();
    keys.sort_unstable();
    let mut wanted: Vec<_> = case.expect.as_object().unwrap().keys().cloned().collect();
    wanted.sort_unstable();
    assert_eq!(keys, wanted);
    assert_eq!((form["refresh_token"].as_str(), form["client_id"].as_str()), ("refresh-1", "c1"));
    assert_eq!(form["resource"], provider.mcp());
}

async fn refresh_keeps_old(_: Case) {
    let (hub, provider) = short_lived().await;
    provider.set(|it| it.rotates = false);
    sign_in(&hub, "w").await;
    call(&hub).await;
    call(&hub).await;
    let sent: Vec<_> =
        provider.grants("refresh_token").iter().map(|it| it["refresh_token"].clone()).collect();
    assert!(sent.len() >= 2 && sent.iter().all(|it| it == "refresh-1"), "{sent:?}");
}

async fn refresh_rotates(_: Case) {
    let (hub, provider) = short_lived().await;
    sign_in(&hub, "w").await;
    call(&hub).await;
    call(&hub).await;
    let mut sent: Vec<_> =
        provider.grants("refresh_token").iter().map(|it| it["refresh_token"].clone()).collect();
    let all = sent.len();
    assert!(all >= 2, "{sent:?}");
    sent.dedup();
    assert_eq!(sent.len(), all, "none is used twice: {sent:?}");
    assert_eq!(sent[0], "refresh-1");
}

async fn refresh_fails(_: Case) {
    let (hub, provider) = pair().await;
    // Every token is too old as soon as it is given.
    provider.set(|it| it.expires_in = json!(0));
    sign_in(&hub, "w").await;
    token_shown(&call(&hub).await);
    let refused = json!({ "error": "invalid_grant", "error_description": "it was revoked by its owner" });
    provider.set(|it| it.tokens = [(400, refused)].into());
    let before = provider.grants("refresh_token").len();
    for _ in 0..2 {
        let error = call(&hub).await;
        assert_eq!(error["data"]["code"], "instance.needs-reauth", "{error}");
        assert_eq!(error["message"], "`w` needs you to reconnect: it was revoked by its owner");
        assert_eq!(error["data"]["hint"], "run `toolgrove login w`, or press Reconnect");
    }
    assert_eq!(provider.grants("refresh_token").len(), before + 1, "a refused token is not tried again");
    let instance = hub.get("/api/mcp/instances/w").await;
    assert_eq!(instance["status"], "needs_reauth", "{instance}");
    assert_eq!(instance["health"]["action"]["label"], "Reconnect");
    // The chat goes on: whatever else there is works as before, and so does this after a new sign-in.
    assert_eq!(hub.tools().await, ["mcp__w__whoami"]);
    sign_in(&hub, "w").await;
    token_shown(&call(&hub).await);
    assert_eq!(hub.get("/api/mcp/instances/w").await["id"], instance["id"]);
}

async fn order_both(case: Case) {
    let (hub, provider) = pair_with(&public(&case)).await;
    provider.issuer_with("client_id_metadata_document_supported", json!(true));
    assert_eq!(query(&connect(&hub, "w").await)["client_id"], "c1", "dynamic registration");
    let config = format!("{}[oauth]\nprefer = \"document\"\n", public(&case));
    let (hub, provider) = pair_with(&config).await;
    provider.issuer_with("client_id_metadata_document_supported", json!(true));
    let id = query(&connect(&hub, "w").await)["client_id"].clone();
    assert!(case.expect.as_str().unwrap().ends_with(&id), "{id}");
    assert!(provider.seen("/register").is_empty());
}

async fn order_dcr_fails(case: Case) {
    let (hub, provider) = pair_with(&public(&case)).await;
    provider.issuer_with("client_id_metadata_document_supported", json!(true));
    provider.set(|it| it.registration = (403, json!("not here")));
    let id = query(&connect(&hub, "w").await)["client_id"].clone();
    assert_eq!(id, format!("{}/oauth/client.json", text(&case.given, "public_url")));
    // Where there is no other way, the refusal is passed on whole.
    provider.issuer_with("client_id_metadata_document_supported", Value::Null);
    let (_, problem) = try_connect(&hub, "w").await;
    assert_eq!(problem["detail"], "client registration failed: HTTP 403 Forbidden: not here");
}

async fn connect_navigates(_: Case) {
    let (hub, provider) = pair().await;
    let url = connect(&hub, "w").await;
    assert!(url.starts_with(&format!("{}/authorize?", provider.base)), "{url}");
    // The page without scripts does the same: its button leads to a page that leads to the provider.
    let page = hub.ask(Method::GET, "/ui/mcp", &[], "").await.text();
    let id = hub.get("/api/mcp/instances/w").await["id"].as_str().unwrap().to_owned();
    if page.contains("/ui/auth/mcp/start") {
        assert!(page.contains(&id) && page.contains("Sign in"), "{page}");
    }
    let kind = [("content-type", "application/x-www-form-urlencoded")];
    let onward = hub.ask(Method::POST, "/ui/auth/mcp/start", &kind, format!("instance={id}")).await;
    assert_eq!(onward.status, 200);
    assert!(onward.text().contains(&format!("0;url={}/authorize?", provider.base)), "{}", onward.text());
    assert!(!onward.text().contains("window.open") && !onward.text().contains("target="));
}

async fn redirect_host(case: Case) {
    let port: u16 = text(&case.given, "bind").rsplit(':').next().unwrap().parse().unwrap();
    let gate =
        toolgrove_server::Gate::new(Secret::new("key"), None, port, &toolgrove_core::Config::default());
    let redirect = format!("{}/ui/auth/mcp/callback", gate.base());
    assert!(case.expect.as_str().unwrap().contains(&redirect), "{redirect}");
}
