//! A hub with people, and requests in the name of each.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use toolgrove_fixture::{Fixture, Options, Running};

use crate::hub::{Answer, Hub, modern_request};

pub(crate) const PASSWORD: &str = "correct horse battery staple";

pub(crate) struct Team {
    pub(crate) hub: Hub,
    /// Whoever set the hub up.
    pub(crate) admin: Visitor,
}

/// Somebody at the door, with what they show.
#[derive(Clone, Default)]
pub(crate) struct Visitor {
    /// The origin of the page they are on, if it is not the hub's own address.
    pub(crate) origin: Option<String>,
    /// A header of its own: `cookie` or `authorization`.
    pub(crate) shows: Option<(&'static str, String)>,
}

pub(crate) async fn fixture(options: Options) -> Running {
    Fixture::start(options).await.unwrap()
}

impl Team {
    /// A team whose first admin is `ada@example.com`.
    pub(crate) async fn start() -> Self {
        Self::start_with("").await
    }

    pub(crate) async fn start_with(config: &str) -> Self {
        Self::of(Hub::start_with(&team_config(config)).await).await
    }

    /// Sets a hub up that has no admin yet.
    pub(crate) async fn of(hub: Hub) -> Self {
        let admin = Self::set_up(&hub).await;
        Self { hub, admin }
    }

    /// The same for a hub whose command is changed before it runs.
    pub(crate) async fn start_as(config: &str, change: impl FnOnce(&mut Command)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("toolgrove.toml"), format!("mode = \"team\"\n{config}")).unwrap();
        let hub = Hub::start_as(dir, change).await;
        let admin = Self::set_up(&hub).await;
        Self { hub, admin }
    }

    pub(crate) async fn start_in(dir: TempDir, admin: Visitor) -> Self {
        let hub = Hub::start_in(dir).await;
        Self { hub, admin }
    }

    async fn set_up(hub: &Hub) -> Visitor {
        let link = set_up_link(hub).await;
        let visitor = Visitor::default();
        let fields = [("name", "Ada"), ("email", "ada@example.com"), ("password", PASSWORD)];
        let joined = visitor.join(hub, &link, &fields).await;
        assert_eq!(joined.status, 303, "{}", joined.text());
        let admin = visitor.with_cookie(&joined);
        // A team begins with buds alone.
        let (_, workspaces) = admin.api(hub, Method::GET, "/api/workspaces", Value::Null).await;
        let path = format!("/api/workspaces/{}", workspaces[0]["id"].as_str().unwrap());
        let (status, opened) = admin.api(hub, Method::PATCH, &path, json!({ "phase": "gamma" })).await;
        assert_eq!(status, 200, "{opened}");
        admin
    }

    /// Invites somebody and lets them in.
    pub(crate) async fn invite(&self, name: &str, role: &str) -> Visitor {
        let email = format!("{name}@example.com");
        let body = json!({ "email": email, "name": name, "role": role });
        let (status, invited) = self.admin.api(&self.hub, Method::POST, "/api/people", body).await;
        assert_eq!(status, 201, "{invited}");
        let link = invited["invite"]["url"].as_str().unwrap();
        let visitor = Visitor::default();
        let joined = visitor.join(&self.hub, link, &[("name", name), ("password", PASSWORD)]).await;
        assert_eq!(joined.status, 303, "{}", joined.text());
        visitor.with_cookie(&joined)
    }
}

/// Lets a team use servers on this machine.
pub(crate) const HERE: &str = "[net]\nallow_private = [\"127.0.0.1\", \"localhost\"]\n";

/// A team's configuration with that. Tables come last.
pub(crate) fn team_config(settings: &str) -> String {
    format!("mode = \"team\"\n{settings}\n{HERE}")
}

/// The link that a team's hub without an admin prints.
pub(crate) async fn set_up_link(hub: &Hub) -> String {
    let began = std::time::Instant::now();
    loop {
        let output = hub.output();
        if let Some(link) = output.lines().find(|it| it.contains("/ui/join?code=")) {
            return link.trim().to_owned();
        }
        assert!(began.elapsed() < crate::hub::PATIENCE, "no set-up link: {output}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

impl Visitor {
    pub(crate) fn with_cookie(&self, answer: &Answer) -> Self {
        let cookie = answer.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        Self { shows: Some(("cookie", cookie)), ..self.clone() }
    }

    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { shows: Some(("authorization", format!("Bearer {token}"))), ..self.clone() }
    }

    pub(crate) fn headers<'a>(&'a self, hub: &'a Hub) -> Vec<(&'a str, &'a str)> {
        let own = self.shows.iter().map(|(name, value)| (*name, value.as_str()));
        own.chain([("origin", self.origin.as_ref().unwrap_or(&hub.url).as_str())]).collect()
    }

    /// A request of a page of the hub in this visitor's browser, or of their program.
    pub(crate) async fn ask(
        &self,
        hub: &Hub,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", hub.url));
        for (name, value) in self.headers(hub).iter().chain(headers) {
            request = request.header(*name, *value);
        }
        hub.send(request.body(Full::new(body.into())).unwrap()).await
    }

    pub(crate) async fn api(&self, hub: &Hub, method: Method, path: &str, body: Value) -> (u16, Value) {
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let answer = self.ask(hub, method, path, &[("content-type", "application/json")], body).await;
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or(Value::Null))
    }

    pub(crate) async fn get(&self, hub: &Hub, path: &str) -> Value {
        let (status, body) = self.api(hub, Method::GET, path, Value::Null).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Sends a form as a browser would.
    pub(crate) async fn form(&self, hub: &Hub, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(fields);
        let kind = [("content-type", "application/x-www-form-urlencoded")];
        self.ask(hub, Method::POST, path, &kind, body.finish()).await
    }

    /// Opens a link to join and fills in its form.
    pub(crate) async fn join(&self, hub: &Hub, link: &str, fields: &[(&str, &str)]) -> Answer {
        let code = link.split_once("code=").unwrap().1;
        let mut all = vec![("code", code)];
        all.extend_from_slice(fields);
        self.form(hub, "/ui/join", &all).await
    }

    pub(crate) async fn sign_in(&self, hub: &Hub, email: &str, password: &str) -> Answer {
        self.form(hub, "/ui/login", &[("email", email), ("password", password)]).await
    }

    /// Pastes a server and gives the id of its instance.
    pub(crate) async fn add(&self, hub: &Hub, name: &str, url: &str) -> String {
        let text = json!({ name: { "url": url } }).to_string();
        let (status, body) = self.api(hub, Method::POST, "/api/mcp/import", json!({ "text": text })).await;
        assert_eq!((status, &body["failed"]), (200, &json!([])), "{body}");
        body["added"][0]["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn modern(&self, hub: &Hub, path: &str, method: &str, params: Value) -> Answer {
        let (own, body) = modern_request(method, params);
        let headers: Vec<_> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.ask(hub, Method::POST, path, &headers, body.to_string()).await
    }

    /// The names in the tool list.
    pub(crate) async fn tools(&self, hub: &Hub) -> Vec<String> {
        let answer = self.modern(hub, "/mcp", "tools/list", json!({})).await.json();
        let tools = answer["result"]["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The slugs of their instances, without what everybody has.
    pub(crate) async fn slugs(&self, hub: &Hub) -> Vec<String> {
        let list = self.get(hub, "/api/mcp/instances").await;
        let own = list.as_array().unwrap().iter().filter(|it| it["kind"] != "builtin");
        own.map(|it| it["slug"].as_str().unwrap().to_owned()).collect()
    }

    /// Makes a token and gives it with its id.
    pub(crate) async fn token(&self, hub: &Hub, body: Value) -> (Self, String) {
        let (status, made) = self.api(hub, Method::POST, "/api/tokens", body).await;
        assert_eq!(status, 201, "{made}");
        (self.with_token(made["token"].as_str().unwrap()), made["id"].as_str().unwrap().to_owned())
    }
}
