//! The forms by which people come in: sign-in, set-up, invitation. All of them work without scripts.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Extension, Form, FromRequestParts, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use maud::{Markup, html};
use serde::Deserialize;
use toolgrove_core::{Error, Secret, name};
use toolgrove_store::LinkPurpose;
use uuid::Uuid;

use super::{Pass, check_own_page, secret};
use crate::App;
use crate::plain::{Field, Forms, Page, problem, sentence};
use crate::problem::{Refusal, store_error};

const HOME: &str = "/ui/";
const USED: &str = "this link was used already or has expired";
const WRONG: &str = "the e-mail address or the password is wrong";

/// Where a request came from, if it came over the network.
pub(crate) struct Peer(pub(crate) Option<IpAddr>);

impl<S: Sync> FromRequestParts<S> for Peer {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|it| it.0.ip())))
    }
}

/// A path of ours to go on to; anything else is home.
pub(super) fn onward(next: &str) -> &str {
    let is_path =
        next.starts_with('/') && !next.starts_with("//") && !next.contains(['\\', '\r', '\n', '\t']);
    if is_path { next } else { HOME }
}

#[derive(Deserialize)]
pub(crate) struct Arriving {
    #[serde(default)]
    code: String,
    #[serde(default)]
    next: String,
}

/// `GET /ui/login`: the form; with the code of a link that works once, the session itself.
pub(crate) async fn sign_in_form(
    State(app): State<Arc<App>>,
    Query(Arriving { code, next }): Query<Arriving>,
    headers: HeaderMap,
) -> Response {
    if code.is_empty() {
        return if app.has_people() { sign_in_page(&app, &next, "", None) } else { solo_page(None) };
    }
    let person = app.store.use_sign_in_link(&secret::stored(&secret::hash(&code))).await;
    match person.map_err(store_error) {
        Ok(Some(person)) => arrive(&app, person, &next, &headers).await,
        Ok(None) => solo_page(Some(USED)),
        Err(error) => Refusal(error).into_response(),
    }
}

fn solo_page(what: Option<&str>) -> Response {
    let body = html! {
        @if let Some(what) = what { (problem(what)) }
        p { (sentence("open the link that `toolgrove serve` prints; it works once, and the next start prints another")) }
    };
    Page::new("Sign in", body).with_status(StatusCode::UNAUTHORIZED).into_response()
}

pub(super) fn sign_in_page(
    app: &App,
    next: &str,
    email: &str,
    refusal: Option<(StatusCode, &str)>,
) -> Response {
    let body = html! {
        @if let Some((_, text)) = refusal { (problem(text)) }
        form method="post" action="/ui/login" {
            input type="hidden" name="next" value=(onward(next));
            (Field { label: "E-mail", name: "email", kind: "email", value: email, autocomplete: "username", hint: "" }.show())
            (Field { label: "Password", name: "password", kind: "password", value: "", autocomplete: "current-password", hint: "" }.show())
            button { "Sign in" }
        }
        @if let Some(oidc) = &app.gate.oidc {
            p.or { "or" }
            form method="get" action="/ui/login/provider" {
                input type="hidden" name="next" value=(onward(next));
                button.second { "Sign in with " (oidc.name()) }
            }
        }
    };
    let status = refusal.map_or(StatusCode::OK, |it| it.0);
    // From here people go on to a provider, or to the client that sent them.
    Page { forms: Forms::Onward, ..Page::new("Sign in", body) }.with_status(status).into_response()
}

#[derive(Deserialize)]
pub(crate) struct Given {
    #[serde(default)]
    email: String,
    #[serde(default)]
    password: Secret,
    #[serde(default)]
    next: String,
}

/// `POST /ui/login`.
pub(crate) async fn sign_in(
    State(app): State<Arc<App>>,
    Peer(address): Peer,
    headers: HeaderMap,
    Form(Given { email, password, next }): Form<Given>,
) -> Response {
    if let Err(error) = check_own_page(&Method::POST, &headers) {
        return Refusal(error).into_response();
    }
    match app.recognise(&email, password, address).await {
        Ok(person) => arrive(&app, person, &next, &headers).await,
        Err(error @ Error::Throttled { seconds }) => {
            let refusal = Some((StatusCode::TOO_MANY_REQUESTS, &*error.to_string()));
            let mut response = sign_in_page(&app, &next, &email, refusal);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            response
        }
        Err(Error::SignIn(text)) => {
            sign_in_page(&app, &next, &email, Some((StatusCode::UNAUTHORIZED, &text)))
        }
        Err(error) => Refusal(error).into_response(),
    }
}

impl App {
    /// Who has this address and this password. An address nobody has is refused in the same words after the same work.
    pub(crate) async fn recognise(
        &self,
        email: &str,
        password: Secret,
        address: Option<IpAddr>,
    ) -> Result<Uuid, Error> {
        let email = email.trim();
        let wait = |it: Duration| Error::Throttled { seconds: it.as_secs().max(1) };
        self.gate.throttle.attempt(email, address).map_err(wait)?;
        let found = self.store.password_of(email).await.map_err(store_error)?;
        let (person, stored) = found.map_or((None, None), |(person, stored)| (Some(person), stored));
        match (self.gate.passwords.verify(password, stored).await?, person) {
            (true, Some(person)) => {
                self.gate.throttle.succeeded(email, address);
                Ok(person)
            }
            _ => Err(Error::SignIn(WRONG.into())),
        }
    }
}

pub(super) async fn arrive(app: &App, person: Uuid, next: &str, headers: &HeaderMap) -> Response {
    let response = Redirect::to(onward(next)).into_response();
    app.open_session(person, headers, response).await.unwrap_or_else(|it| Refusal(it).into_response())
}

#[derive(Deserialize)]
pub(crate) struct Leaving {
    #[serde(default)]
    token: String,
}

/// `GET /ui/logout`: asks before it happens.
pub(crate) async fn sign_out_form(Extension(pass): Extension<Pass>) -> Response {
    let token = pass.session.as_ref().map(|it| it.form_token.clone()).unwrap_or_default();
    let body = html! {
        form method="post" action="/ui/logout" {
            input type="hidden" name="token" value=(token);
            button { "Sign out" }
        }
        a.button.second href=(HOME) { "Stay" }
    };
    Page::new("Sign out", body).into_response()
}

/// `POST /ui/logout`: ends the browser's session.
pub(crate) async fn sign_out(
    State(app): State<Arc<App>>,
    Extension(pass): Extension<Pass>,
    Form(Leaving { token }): Form<Leaving>,
) -> Response {
    let mut response = Redirect::to("/ui/login").into_response();
    if let Some(session) = &pass.session {
        let closed = match session.check_form(&token) {
            Ok(()) => app.close_session(pass.caller.person, session.id).await,
            Err(error) => Err(error),
        };
        if let Err(error) = closed {
            return Refusal(error).into_response();
        }
        app.gate.cookies.set(&mut response, "", "", 0);
    }
    response
}

/// What a person says of themselves when they come for the first time.
#[derive(Deserialize, Default)]
pub(crate) struct Joining {
    #[serde(default)]
    code: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    email: String,
    #[serde(default)]
    password: Secret,
}

/// What a link to join is for.
enum Link {
    SetUp,
    Invite { name: String, email: String },
}

impl App {
    async fn link(&self, code: &str) -> Result<Option<Link>, Error> {
        let hash = secret::stored(&secret::hash(code));
        Ok(match self.store.link(&hash).await.map_err(store_error)? {
            Some((LinkPurpose::SetUp, _)) => Some(Link::SetUp),
            Some((LinkPurpose::Invite, Some(person))) => {
                let person = self.store.person(person).await.map_err(store_error)?;
                person.map(|it| Link::Invite { name: it.name, email: it.email.unwrap_or_default() })
            }
            _ => None,
        })
    }

    /// Makes the person behind a link able to sign in. None: the link is no longer good.
    async fn take_in(self: &Arc<Self>, link: &Link, joining: &Joining) -> Result<Option<Uuid>, Error> {
        let (given_name, email) = (joining.name.trim(), joining.email.trim());
        name::check_name(given_name)?;
        if matches!(link, Link::SetUp) {
            check_email(email)?;
        }
        let password = self.gate.passwords.hash(joining.password.clone()).await?;
        let hash = secret::stored(&secret::hash(&joining.code));
        let person = match link {
            Link::SetUp => {
                let workspace = self.store.first_workspace().await.map_err(store_error)?;
                self.store.set_up(&hash, (given_name, email), &password, workspace).await
            }
            Link::Invite { .. } => self.store.accept_invite(&hash, given_name, &password).await,
        };
        let person = person.map_err(store_error)?;
        if let Some(person) = person {
            self.give_builtins().await?;
            // Whoever knew another password before is out.
            self.store.remove_sessions_of(person).await.map_err(store_error)?;
            self.gate.passes.end(|it| it.caller.person == person && it.session.is_some());
            let action = if matches!(link, Link::SetUp) { "people.set-up" } else { "people.join" };
            self.note_by(person, action, email, None).await;
        }
        Ok(person)
    }
}

/// An address mail could go to. Whether it does is for the one who invites to know.
pub(crate) fn check_email(email: &str) -> Result<(), Error> {
    let is_one = email.len() <= 254
        && email.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
        && !email.contains(|it: char| it.is_whitespace() || it.is_control());
    if is_one { Ok(()) } else { Err(Error::Request(format!("`{email}` is not an e-mail address"))) }
}

/// `GET /ui/join`: the form of a set-up link or an invitation. Looking at it uses nothing up.
pub(crate) async fn join_form(
    State(app): State<Arc<App>>,
    Query(Arriving { code, .. }): Query<Arriving>,
) -> Response {
    match app.link(&code).await {
        Ok(Some(link)) => {
            let joining = match &link {
                Link::SetUp => Joining { code, ..Joining::default() },
                Link::Invite { name, email } => {
                    Joining { code, name: name.clone(), email: email.clone(), ..Joining::default() }
                }
            };
            join_page(&link, &joining, None)
        }
        Ok(None) => gone(),
        Err(error) => Refusal(error).into_response(),
    }
}

/// `POST /ui/join`.
pub(crate) async fn join(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Form(mut joining): Form<Joining>,
) -> Response {
    if let Err(error) = check_own_page(&Method::POST, &headers) {
        return Refusal(error).into_response();
    }
    let link = match app.link(&joining.code).await {
        Ok(Some(link)) => link,
        Ok(None) => return gone(),
        Err(error) => return Refusal(error).into_response(),
    };
    if let Link::Invite { email, .. } = &link {
        joining.email.clone_from(email);
    }
    match app.take_in(&link, &joining).await {
        Ok(Some(person)) => arrive(&app, person, HOME, &headers).await,
        Ok(None) => gone(),
        Err(error @ Error::Internal(_)) => Refusal(error).into_response(),
        Err(error) => join_page(&link, &joining, Some(&error.to_string())),
    }
}

fn gone() -> Response {
    let body = html! {
        (problem(USED))
        p { (sentence("ask an admin of this hub for another; a hub without any prints one when it starts")) }
    };
    Page::new("Nothing here", body).with_status(StatusCode::NOT_FOUND).into_response()
}

fn join_page(link: &Link, joining: &Joining, what: Option<&str>) -> Response {
    let (title, email): (_, Markup) = match link {
        Link::SetUp => {
            let hint = "You become the first admin of this hub.";
            let field = Field {
                label: "E-mail",
                name: "email",
                kind: "email",
                value: &joining.email,
                autocomplete: "username",
                hint,
            };
            ("Set up Toolgrove", field.show())
        }
        Link::Invite { email, .. } => (
            "Join Toolgrove",
            html! {
                label for="email" { "E-mail" }
                input #email type="email" value=(email) readonly autocomplete="username";
            },
        ),
    };
    let body = html! {
        @if let Some(what) = what { (problem(what)) }
        form method="post" action="/ui/join" {
            input type="hidden" name="code" value=(joining.code);
            (Field { label: "Name", name: "name", kind: "text", value: &joining.name, autocomplete: "name", hint: "" }.show())
            (email)
            (Field { label: "Password", name: "password", kind: "password", value: "", autocomplete: "new-password", hint: "At least 12 characters." }.show())
            button { "Continue" }
        }
    };
    let status = if what.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    Page::new(title, body).with_status(status).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_goes_on_to_our_own_pages_only() {
        for (next, expected) in [
            ("/ui/mcp?x=1", "/ui/mcp?x=1"),
            ("", HOME),
            ("https://evil.example/", HOME),
            ("//evil.example/", HOME),
            ("/\\evil.example", HOME),
            ("/\t/evil.example", HOME),
            ("ui/", HOME),
        ] {
            assert_eq!(onward(next), expected, "{next:?}");
        }
    }

    #[test]
    fn an_address_has_two_parts_and_no_blanks() {
        for (email, expected) in [
            ("a@b", true),
            ("a.b+c@d.example", true),
            ("a", false),
            ("@b", false),
            ("a@", false),
            ("a b@c", false),
        ] {
            assert_eq!(check_email(email).is_ok(), expected, "{email}");
        }
    }
}
