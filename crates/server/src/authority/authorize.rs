//! `/oauth/authorize`: a client sends a person here; the person decides, and goes back to the client.
//!
//! The page is shown every time. Who else could have sent the person, and who listens where the answer goes, is not
//! known: a program on the same machine can use the address of any other. What was chosen last time is chosen again.

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use toolgrove_core::Error;
use toolgrove_store::{ConnectionRow, Given, InstanceRow};
use url::form_urlencoded;
use uuid::Uuid;

use super::consent::{self, Choice};
use super::refusal::Refused;
use super::request::{Asked, Wrong};
use super::resource::Resource;
use crate::App;
use crate::auth::{self, Pass, Session, check_own_page};
use crate::plain::{Page, problem};
use crate::problem::{Answer, Refusal, store_error};

const PATH: &str = "/oauth/authorize";
/// How long a code is good.
const CODE_MS: i64 = 60_000;

/// `GET`: shows who asks for what. Who is not signed in does that first, before anything is looked up.
pub(crate) async fn ask(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap) -> Answer<Response> {
    let query = uri.query().unwrap_or_default();
    let Some((pass, session)) = app.signed_in(&headers).await? else { return Ok(to_sign_in(query)) };
    match app.read_request(query, app.gate.base()).await {
        Ok(asked) => show(&app, &pass, &session, &asked, query, None).await,
        Err(wrong) => Ok(turned_down(wrong)),
    }
}

/// `POST`: what the person decided. The request is read again: the page could have been open for long.
pub(crate) async fn decide(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer<Response> {
    check_own_page(&Method::POST, &headers)?;
    let form = Form::read(&bytes);
    let Some((pass, session)) = app.signed_in(&headers).await? else { return Ok(to_sign_in(&form.request)) };
    session.check_form(&form.token)?;
    let asked = match app.read_request(&form.request, app.gate.base()).await {
        Ok(asked) => asked,
        Err(wrong) => return Ok(turned_down(wrong)),
    };
    if !form.is_allowed {
        return Ok(go(&asked.back.refusing(&Refused::new("access_denied", "the person said no"))));
    }
    let instances = app.store.instances_of(pass.caller.person).await?;
    let choice = match form.choice(&asked.resource, &instances) {
        Ok(choice) => choice,
        Err(why) => return show(&app, &pass, &session, &asked, &form.request, Some(why)).await,
    };
    let code = app.let_in(&pass, &asked, &choice).await?;
    Ok(go(&asked.back.with(&[("code", code.reveal())])))
}

async fn show(
    app: &App,
    pass: &Pass,
    session: &Session,
    asked: &Asked,
    query: &str,
    wrong: Option<&str>,
) -> Answer<Response> {
    let person = app.store.person(pass.caller.person).await?.ok_or(Error::AuthMissing)?;
    let instances = app.store.instances_of(person.id).await?;
    let path = asked.resource.path();
    let before = match app.store.last_connection(person.id, &asked.client.id, &path).await? {
        Some(it) if !it.all_instances => Choice::These(app.store.connection_grants(it.id).await?),
        _ => Choice::All,
    };
    let offer = consent::Offer { asked, person: &person, instances: &instances, before: &before, wrong };
    Ok(offer.page(query, &session.form_token).into_response())
}

impl App {
    /// Remembers what a person allowed. The code is what the client gets for it.
    async fn let_in(
        &self,
        pass: &Pass,
        asked: &Asked,
        choice: &Choice,
    ) -> Result<toolgrove_core::Secret, Error> {
        let (code, now) = (auth::fresh(""), self.hub.now());
        let (all_instances, grants) = match choice {
            Choice::All => (true, &HashSet::new()),
            Choice::These(grants) => (false, grants),
        };
        let row = ConnectionRow {
            id: Uuid::now_v7(),
            person_id: pass.caller.person,
            client_id: asked.client.id.clone(),
            redirect_uri: asked.back.redirect.as_str().to_owned(),
            resource: asked.resource.path(),
            scope: asked.scopes.to_string(),
            all_instances,
            expires_at: now + CODE_MS,
            last_used_at: None,
            created_at: now,
        };
        let given = Given { hash: auth::stored(&auth::hash(code.reveal())), expires_at: row.expires_at };
        self.store.sweep_clients().await.map_err(store_error)?;
        let added = self.store.add_connection(&row, grants, &given, asked.challenge.as_str()).await;
        added.map_err(store_error)?;
        Ok(code)
    }
}

/// What the form of the page sends.
#[derive(Default)]
struct Form {
    token: String,
    request: String,
    is_allowed: bool,
    is_all: bool,
    instances: HashSet<Uuid>,
}

impl Form {
    fn read(bytes: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in form_urlencoded::parse(bytes) {
            match &*name {
                "token" => form.token = value.into_owned(),
                "request" => form.request = value.into_owned(),
                "decision" => form.is_allowed = value == "allow",
                "which" => form.is_all = value == "all",
                "instance" => form.instances.extend(Uuid::parse_str(&value)),
                _ => {}
            }
        }
        form
    }

    /// What was chosen, of what there is.
    fn choice(&self, resource: &Resource, instances: &[InstanceRow]) -> Result<Choice, &'static str> {
        let mut chosen = HashSet::new();
        match resource {
            Resource::One(slug) => {
                chosen.extend(instances.iter().find(|it| it.slug.eq_ignore_ascii_case(slug)).map(|it| it.id));
            }
            _ if self.is_all => return Ok(Choice::All),
            _ => chosen.extend(instances.iter().map(|it| it.id).filter(|it| self.instances.contains(it))),
        }
        if chosen.is_empty() {
            Err("choose at least one instance, or all")
        } else {
            Ok(Choice::These(chosen))
        }
    }
}

/// Sends a browser on. The address is the client's business alone.
fn go(address: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(address) else {
        return Refusal(Error::Request("the client's address cannot be sent on".into())).into_response();
    };
    let headers = [
        (header::LOCATION, location),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}

fn to_sign_in(query: &str) -> Response {
    let next: String = form_urlencoded::byte_serialize(format!("{PATH}?{query}").as_bytes()).collect();
    Redirect::to(&format!("/ui/login?next={next}")).into_response()
}

fn turned_down(wrong: Wrong) -> Response {
    match wrong {
        Wrong::There(address) => go(&address),
        Wrong::Here(text) => Page::new("This client cannot be connected", problem(&text))
            .with_status(StatusCode::BAD_REQUEST)
            .into_response(),
    }
}
