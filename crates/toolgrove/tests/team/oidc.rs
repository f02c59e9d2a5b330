//! Sign-in through an OpenID provider: a real one, and everything that must not work with it.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::process::Child;

use crate::hub::{Answer, Hub};
use crate::team::{Team, Visitor, team_config};
use crate::third;

struct Provider {
    _child: Child,
    control: String,
    issuer: String,
}

/// A team that signs in with a provider of its own.
async fn start() -> (Team, Provider) {
    let (child, url) = third::listening(third::node("auth-server.mjs")).await;
    let control = url.replace("/mcp", "/control");
    let dir = tempfile::tempdir().unwrap();
    // Any hub can ask; it only carries the request.
    let asker = Hub::start().await;
    let issuer = order(&asker, &control, json!({})).await["issuer"].as_str().unwrap().to_owned();
    drop(asker);
    let sign_in = format!(
        "[sign_in]\noidc_issuer = \"{issuer}\"\nclient_id = \"sign-in\"\nclient_secret = \"${{env:OIDC_SECRET}}\""
    );
    std::fs::write(dir.path().join("toolgrove.toml"), team_config(&sign_in)).unwrap();
    let hub = Hub::start_as(dir, |command| {
        command.env("OIDC_SECRET", "sign-in-secret-of-the-hub");
    })
    .await;
    (Team::of(hub).await, Provider { _child: child, control, issuer })
}

async fn order(hub: &Hub, control: &str, order: Value) -> Value {
    let request = Request::builder().method(Method::POST).uri(control);
    hub.send(request.body(Full::new(Bytes::from(order.to_string()))).unwrap()).await.json()
}

/// A browser that was sent to the provider: what it holds, and where it was sent.
async fn leave(hub: &Hub) -> (Visitor, String) {
    let visitor = Visitor::default();
    let sent = visitor.ask(hub, Method::GET, "/ui/login/provider?next=%2Fui%2Fmcp", &[], "").await;
    assert_eq!(sent.status, 303, "{}", sent.text());
    let cookie = sent.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("Max-Age=600") && cookie.contains("HttpOnly"), "{cookie}");
    (visitor.with_cookie(&sent), sent.headers["location"].to_str().unwrap().to_owned())
}

impl Provider {
    /// Signs somebody in there, and says where on the hub they are sent back to.
    async fn visit(&self, hub: &Hub, url: &str, login: &str) -> String {
        let visited = order(hub, &self.control, json!({ "visit": url, "login": login })).await;
        let back = visited["location"].as_str().unwrap_or_else(|| panic!("{visited}"));
        back.strip_prefix(&hub.url).unwrap_or_else(|| panic!("{back}")).to_owned()
    }

    /// The whole way of one person.
    async fn sign_in(&self, hub: &Hub, login: &str) -> Answer {
        let (browser, url) = leave(hub).await;
        let back = self.visit(hub, &url, login).await;
        browser.ask(hub, Method::GET, &back, &[], "").await
    }
}

/// The cookie of a session among all that an answer sets.
fn arrived(answer: &Answer) -> Visitor {
    let session = answer.headers.get_all("set-cookie").iter().map(|it| it.to_str().unwrap());
    let mut session =
        session.filter(|it| it.starts_with("toolgrove=")).map(|it| it.split(';').next().unwrap());
    Visitor { shows: Some(("cookie", session.next_back().unwrap().to_owned())), ..Visitor::default() }
}

async fn who(hub: &Hub, answer: &Answer) -> Value {
    assert_eq!(answer.status, 303, "{}", answer.text());
    arrived(answer).get(hub, "/api/status").await["me"].clone()
}

async fn invite(team: &Team, email: &str) -> String {
    let (status, invited) =
        team.admin.api(&team.hub, Method::POST, "/api/people", json!({ "email": email })).await;
    assert_eq!(status, 201, "{invited}");
    invited["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn check_refused(answer: &Answer, sentence: &str) {
    assert_eq!(answer.status, 401, "{}", answer.text());
    assert!(answer.text().contains(sentence), "{sentence}: {}", answer.text());
    let mut cookies = answer.headers.get_all("set-cookie").iter();
    assert!(!cookies.any(|it| it.as_bytes().starts_with(b"toolgrove=")), "no session");
}

#[tokio::test]
async fn an_invited_person_comes_in_by_their_address_once_and_by_their_subject_ever_after() {
    let (team, provider) = start().await;
    let hub = &team.hub;
    let page = Visitor::default().ask(hub, Method::GET, "/ui/login", &[], "").await.text();
    assert!(page.contains("Sign in with 127.0.0.1"), "{page}");

    let id = invite(&team, "bob@example.com").await;
    let answer = provider.sign_in(hub, "bob").await;
    assert_eq!(answer.headers["location"], "/ui/mcp");
    assert_eq!(who(hub, &answer).await["id"], id.as_str());
    let path = format!("/api/people/{id}");
    assert_eq!(team.admin.get(hub, &path).await["sign_in"], "oidc");

    // Another address here changes nothing for bob, and does not make eve be bob.
    team.admin.api(hub, Method::PATCH, &path, json!({ "email": "eve@example.com" })).await;
    assert_eq!(who(hub, &provider.sign_in(hub, "bob").await).await["id"], id.as_str());
    check_refused(&provider.sign_in(hub, "eve").await, "Nobody here has this sign-in");
}

#[tokio::test]
async fn who_was_not_invited_or_is_not_vouched_for_stays_out() {
    let (team, provider) = start().await;
    let hub = &team.hub;
    check_refused(
        &provider.sign_in(hub, "carol").await,
        "Nobody here has this sign-in; ask an admin to invite <code>carol@example.com</code>",
    );
    invite(&team, "unchecked-dan@example.com").await;
    check_refused(
        &provider.sign_in(hub, "unchecked-dan").await,
        "The provider does not vouch for an e-mail address of yours",
    );
}

#[tokio::test]
async fn a_return_is_good_once_for_the_browser_that_left_and_from_the_provider_that_was_asked() {
    let (team, provider) = start().await;
    let hub = &team.hub;
    invite(&team, "bob@example.com").await;
    let unknown = "This sign-in is unknown or already used; start again";

    let (browser, url) = leave(hub).await;
    let back = provider.visit(hub, &url, "bob").await;
    let stranger = Visitor::default().ask(hub, Method::GET, &back, &[], "").await;
    check_refused(&stranger, unknown);
    check_refused(&browser.ask(hub, Method::GET, &back, &[], "").await, unknown);

    let (browser, url) = leave(hub).await;
    let back = provider.visit(hub, &url, "bob").await;
    let (first, second) = tokio::join!(
        browser.ask(hub, Method::GET, &back, &[], ""),
        browser.ask(hub, Method::GET, &back, &[], "")
    );
    let (good, used) = if first.status == 303 { (first, second) } else { (second, first) };
    assert_eq!(who(hub, &good).await["email"], "bob@example.com");
    check_refused(&used, unknown);

    let (browser, url) = leave(hub).await;
    let state = url.split("state=").nth(1).unwrap().split('&').next().unwrap();
    for (rest, sentence) in [
        ("code=x&iss=https%3A%2F%2Fevil.example", "Another provider answered than the one that was asked"),
        ("code=x", unknown),
    ] {
        let path = format!("/ui/login/return?state={state}&{rest}");
        check_refused(&browser.ask(hub, Method::GET, &path, &[], "").await, sentence);
    }
    for (query, sentence) in [
        ("error=access_denied", "The provider refused: access_denied"),
        ("code=made-up", "The provider did not take its code back"),
        ("", "The provider sent no authorization code"),
    ] {
        let (browser, url) = leave(hub).await;
        let state = url.split("state=").nth(1).unwrap().split('&').next().unwrap();
        let path = format!("/ui/login/return?state={state}&{query}");
        check_refused(&browser.ask(hub, Method::GET, &path, &[], "").await, sentence);
    }
    for path in ["/ui/login/return", "/ui/login/return?state=never-given&code=x"] {
        check_refused(&Visitor::default().ask(hub, Method::GET, path, &[], "").await, unknown);
    }
}

#[tokio::test]
async fn the_way_to_the_provider_is_guarded_by_challenge_state_and_nonce() {
    let (team, provider) = start().await;
    let (_, url) = leave(&team.hub).await;
    let url = url::Url::parse(&url).unwrap();
    assert!(url.as_str().starts_with(&provider.issuer), "{url}");
    let query: std::collections::HashMap<_, _> = url.query_pairs().into_owned().collect();
    assert_eq!(query["response_type"], "code");
    assert_eq!(query["code_challenge_method"], "S256");
    assert_eq!(query["redirect_uri"], format!("{}/ui/login/return", team.hub.url));
    for key in ["state", "nonce", "code_challenge"] {
        assert_eq!(query[key].len(), 43, "{key} has 256 bits");
    }
    let (_, again) = leave(&team.hub).await;
    assert!(!again.contains(&query["state"]) && !again.contains(&query["nonce"]));
}

#[tokio::test]
async fn a_provider_that_is_away_or_another_is_named() {
    for (issuer, sentence) in [
        ("http://127.0.0.1:1", "The provider cannot be asked"),
        ("http://127.0.0.1:1/", "The provider cannot be asked"),
    ] {
        let sign_in = format!("[sign_in]\noidc_issuer = \"{issuer}\"\nclient_id = \"x\"");
        let hub = Hub::start_with(&team_config(&sign_in)).await;
        let answer = Visitor::default().ask(&hub, Method::GET, "/ui/login/provider", &[], "").await;
        check_refused(&answer, sentence);
    }
    let hub = Hub::start_with(&team_config("")).await;
    let answer = Visitor::default().ask(&hub, Method::GET, "/ui/login/provider", &[], "").await;
    assert_eq!(answer.status, 404, "{}", answer.text());
}
