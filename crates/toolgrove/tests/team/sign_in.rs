//! How people come in, and how they do not.

use http::Method;
use serde_json::{Value, json};
use toolgrove_fixture::Options;

use crate::hub::Hub;
use crate::team::{PASSWORD, Team, Visitor, fixture, set_up_link};

async fn who(visitor: &Visitor, hub: &Hub) -> Value {
    visitor.get(hub, "/api/status").await["me"].clone()
}

#[tokio::test]
async fn the_first_start_prints_a_link_that_makes_the_first_admin_once() {
    let hub = Hub::start_with("mode = \"team\"").await;
    let link = set_up_link(&hub).await;
    let visitor = Visitor::default();
    let path = link.strip_prefix(&hub.url).unwrap();
    let page = visitor.ask(&hub, Method::GET, path, &[], "").await;
    assert_eq!(page.status, 200, "looking at it uses nothing up");
    assert!(page.text().contains("Set up Toolgrove") && !page.text().contains("<script"), "{}", page.text());

    for (fields, sentence) in [
        (
            vec![("name", "Ada"), ("email", "ada"), ("password", PASSWORD)],
            "<code>ada</code> is not an e-mail",
        ),
        (vec![("name", "Ada"), ("email", "a@b"), ("password", "short")], "A password needs at least 12"),
        (vec![("name", ""), ("email", "a@b"), ("password", PASSWORD)], "role=\"alert\""),
    ] {
        let refused = visitor.join(&hub, &link, &fields).await;
        assert_eq!(refused.status, 400);
        assert!(refused.text().contains(sentence), "{sentence}: {}", refused.text());
        assert!(!refused.text().contains(PASSWORD), "a password is never sent back");
    }
    let fields = [("name", "Ada <b>"), ("email", "ada@example.com"), ("password", PASSWORD)];
    let joined = visitor.join(&hub, &link, &fields).await;
    assert_eq!((joined.status, joined.headers["location"].to_str().unwrap()), (303, "/ui/"));
    let cookie = joined.headers["set-cookie"].to_str().unwrap();
    for part in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age="] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let ada = visitor.with_cookie(&joined);
    assert_eq!(who(&ada, &hub).await["role"], "admin");

    let again = visitor.join(&hub, &link, &fields).await;
    assert_eq!(again.status, 404, "{}", again.text());
    assert_eq!(ada.get(&hub, "/api/people").await.as_array().unwrap().len(), 1);
    let dir = hub.stop().await;
    let hub = Hub::start_in(dir).await;
    assert_eq!(who(&ada, &hub).await["email"], "ada@example.com", "a session outlives the hub");
    assert!(!hub.output().contains("/ui/join"), "{}", hub.output());
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_address_are_told_in_the_same_words() {
    let Team { hub, .. } = Team::start().await;
    let visitor = Visitor::default();
    let mut pages = Vec::new();
    for email in ["ada@example.com", "nobody@example.com"] {
        let refused = visitor.sign_in(&hub, email, "wrong password here").await;
        assert_eq!(refused.status, 401);
        assert!(refused.headers.get("set-cookie").is_none());
        pages.push(refused.text().replace(email, ""));
    }
    assert_eq!(pages[0], pages[1]);
    assert!(pages[0].contains("The e-mail address or the password is wrong."));
    let welcome = visitor.form(
        &hub,
        "/ui/login",
        &[("email", "ADA@example.com"), ("password", PASSWORD), ("next", "/ui/mcp")],
    );
    let welcome = welcome.await;
    assert_eq!((welcome.status, welcome.headers["location"].to_str().unwrap()), (303, "/ui/mcp"));
    assert_eq!(who(&visitor.with_cookie(&welcome), &hub).await["name"], "Ada");
    let away = [("email", "ada@example.com"), ("password", PASSWORD), ("next", "https://evil.example/")];
    assert_eq!(visitor.form(&hub, "/ui/login", &away).await.headers["location"], "/ui/");
}

#[tokio::test]
async fn guessing_is_slowed_down_even_for_the_right_password() {
    let Team { hub, .. } = Team::start().await;
    let visitor = Visitor::default();
    for (email, tries) in [("ada@example.com", 10), ("nobody@example.com", 10)] {
        for _ in 0..tries {
            assert_eq!(visitor.sign_in(&hub, email, "wrong password here").await.status, 401);
        }
        let refused = visitor.sign_in(&hub, email, PASSWORD).await;
        assert_eq!(refused.status, 429);
        assert!(refused.text().contains("Too many attempts; try again in"), "{}", refused.text());
        let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=30).contains(&wait), "{wait}");
    }
}

#[tokio::test]
async fn a_form_of_another_site_signs_nobody_in_or_out() {
    let Team { hub, admin } = Team::start().await;
    let fields = [("email", "ada@example.com"), ("password", PASSWORD)];
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let kind = ("content-type", "application/x-www-form-urlencoded");
    for headers in [
        vec![kind, ("origin", "https://evil.example")],
        vec![kind, ("sec-fetch-site", "cross-site")],
        vec![kind],
    ] {
        let mut request = http::Request::builder().method(Method::POST).uri(format!("{}/ui/login", hub.url));
        for (name, value) in &headers {
            request = request.header(*name, *value);
        }
        let request = request.body(http_body_util::Full::new(body.clone().into())).unwrap();
        let answer = hub.send(request).await;
        assert_eq!((answer.status, &answer.json()["code"]), (403, &json!("auth.origin")), "{headers:?}");
    }
    let out = admin.form(&hub, "/ui/logout", &[("token", "guessed")]).await;
    assert_eq!(out.status, 403, "a form of ours has a token");
    assert_eq!(who(&admin, &hub).await["name"], "Ada");
}

#[tokio::test]
async fn signing_out_ends_one_browser_and_what_it_hears() {
    let Team { hub, admin } = Team::start().await;
    let elsewhere = admin.with_cookie(&admin.sign_in(&hub, "ada@example.com", PASSWORD).await);
    let list = elsewhere.get(&hub, "/api/sessions").await;
    assert_eq!(list.as_array().unwrap().len(), 2);
    let current = list.as_array().unwrap().iter().find(|it| it["current"] == true).unwrap();
    let other = list.as_array().unwrap().iter().find(|it| it["current"] == false).unwrap();
    let stream = listen(&hub, &admin).await;
    let path = format!("/api/sessions/{}", other["id"].as_str().unwrap());
    assert_eq!(elsewhere.api(&hub, Method::DELETE, &path, Value::Null).await.0, 204);
    stream.ends().await;
    assert_eq!(admin.api(&hub, Method::GET, "/api/status", Value::Null).await.0, 401);
    assert_eq!(elsewhere.api(&hub, Method::DELETE, &path, Value::Null).await.0, 404);

    let page = elsewhere.ask(&hub, Method::GET, "/ui/", &[("accept", "text/html")], "").await;
    assert_eq!(page.status, 200);
    let ended = elsewhere.api(&hub, Method::DELETE, "/api/sessions/current", Value::Null).await;
    assert_eq!(ended.0, 204, "{current}");
    assert_eq!(elsewhere.api(&hub, Method::GET, "/api/status", Value::Null).await.0, 401);
}

async fn listen(hub: &Hub, visitor: &Visitor) -> crate::hub::Stream {
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let (own, body) = crate::hub::modern_request("subscriptions/listen", wanted);
    let mut request = http::Request::builder().method(Method::POST).uri(format!("{}/mcp", hub.url));
    for (name, value) in visitor.headers(hub) {
        request = request.header(name, value);
    }
    for (name, value) in &own {
        request = request.header(*name, value);
    }
    let request = request.body(http_body_util::Full::new(body.to_string().into())).unwrap();
    let mut stream = hub.open_as(request).await;
    let first = stream.next().await.expect("an acknowledgement");
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    stream
}

#[tokio::test]
async fn a_new_password_ends_every_other_browser() {
    let Team { hub, admin } = Team::start().await;
    let elsewhere = admin.with_cookie(&admin.sign_in(&hub, "ada@example.com", PASSWORD).await);
    let change = |current: &str, new: &str| json!({ "current": current, "new": new });
    for (body, status, code) in [
        (change("wrong password here", "another long password"), 401, "auth.sign-in"),
        (change(PASSWORD, "short"), 400, "request.invalid"),
    ] {
        let (found, problem) = admin.api(&hub, Method::POST, "/api/password", body).await;
        assert_eq!((found, &problem["code"]), (status, &json!(code)));
    }
    let changed = admin.api(&hub, Method::POST, "/api/password", change(PASSWORD, "another long password"));
    assert_eq!(changed.await.0, 204);
    assert_eq!(admin.api(&hub, Method::GET, "/api/status", Value::Null).await.0, 200);
    assert_eq!(elsewhere.api(&hub, Method::GET, "/api/status", Value::Null).await.0, 401);
    assert_eq!(admin.sign_in(&hub, "ada@example.com", PASSWORD).await.status, 401);
    assert_eq!(admin.sign_in(&hub, "ada@example.com", "another long password").await.status, 303);
}

#[tokio::test]
async fn over_tls_the_cookie_is_for_tls_only() {
    let config = "mode = \"team\"\npublic_url = \"https://hub.example.com\"";
    let hub = Hub::start_with(config).await;
    let link = set_up_link(&hub).await;
    assert!(link.starts_with("https://hub.example.com/ui/join?code="), "{link}");
    let visitor = Visitor { origin: Some("https://hub.example.com".into()), shows: None };
    let fields = [("name", "Ada"), ("email", "a@b"), ("password", PASSWORD)];
    let joined = visitor.join(&hub, &link, &fields).await;
    let cookie = joined.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.starts_with("__Host-toolgrove=") && cookie.contains("; Secure"), "{cookie}");
    assert!(cookie.contains("Path=/;") && !cookie.contains("Domain"), "{cookie}");
    assert_eq!(who(&visitor.with_cookie(&joined), &hub).await["name"], "Ada");
    let unprefixed = Visitor { shows: Some(("cookie", cookie.replace("__Host-", ""))), ..visitor };
    assert_eq!(unprefixed.api(&hub, Method::GET, "/api/status", Value::Null).await.0, 401);
}

#[tokio::test]
async fn the_key_of_the_machine_opens_nothing_over_the_network() {
    let Team { hub, .. } = Team::start().await;
    let server = fixture(Options::default()).await;
    let thief = Visitor::default().with_token(&hub.key.clone());
    for path in ["/api/status", "/mcp", "/api/people", "/metrics"] {
        let answer = thief.ask(&hub, Method::GET, path, &[("toolgrove-as", "ada@example.com")], "").await;
        assert_eq!(answer.status, 401, "{path}");
    }
    drop(server);
}
