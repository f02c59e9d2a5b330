//! Who may come in: `Host` and `Origin` on every door, then a token, the local key, or the cookie of a browser in
//! which somebody signed in. Whoever is let in becomes a [`Caller`]; the doors know nothing else of them.

mod forms;
mod key;
mod link;
mod oidc;
mod pass;
mod password;
mod secret;
mod session;
mod throttle;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use http::request::Parts;
use http::{HeaderMap, Method, Request, header};
use toolgrove_core::call::Caller;
use toolgrove_core::config::Mode;
use toolgrove_core::{Config, Error, Secret};

pub(crate) use forms::{Peer, check_email, join, join_form, sign_in, sign_in_form, sign_out, sign_out_form};
pub use key::{AS, Local};
pub use link::Welcome;
pub(crate) use oidc::{back as provider_return, go as to_provider};
pub(crate) use pass::Pass;
pub(crate) use secret::{fresh, hash, stored};
pub(crate) use session::Session;

use self::oidc::Oidc;
use self::pass::{Passes, Shown};
use self::password::Passwords;
use self::session::Cookies;
use self::throttle::Throttle;
use crate::App;
use crate::authority::Asking;
use crate::problem::Refusal;

/// What API tokens begin with.
pub(crate) const TOKEN: &str = "tgt_";

/// What the doors check a request against.
pub struct Gate {
    key: Secret,
    /// The one person of a solo hub; in a team people sign in.
    solo: Option<Arc<Caller>>,
    /// `host[:port]` under which the hub may be asked.
    hosts: Vec<String>,
    /// Where people and providers reach the hub, without a slash at the end.
    base: String,
    cookies: Cookies,
    passes: Passes,
    pub(crate) throttle: Throttle,
    pub(crate) passwords: Passwords,
    oidc: Option<Oidc>,
}

impl Gate {
    /// The gate of a hub that listens on `port`. `solo` is its one person, if there is only one.
    pub fn new(key: Secret, solo: Option<Caller>, port: u16, config: &Config) -> Self {
        let public_url = config.public_url.as_ref();
        let mut hosts: Vec<String> =
            ["127.0.0.1", "localhost", "[::1]"].iter().map(|host| format!("{host}:{port}")).collect();
        if let Some(url) = public_url
            && let Some(host) = url.host_str()
        {
            hosts.push(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")));
        }
        let base = public_url.map(|it| it.as_str().trim_end_matches('/').to_owned());
        let base = base.unwrap_or_else(|| format!("http://127.0.0.1:{port}"));
        let is_secure = public_url.is_some_and(|it| it.scheme() == "https");
        Self {
            key,
            solo: solo.map(Arc::new),
            hosts,
            oidc: Oidc::new(&config.sign_in, &base),
            base,
            cookies: if is_secure { Cookies::Secure } else { Cookies::Plain },
            passes: Passes::default(),
            throttle: Throttle::default(),
            passwords: Passwords::default(),
        }
    }

    /// The one person of a solo hub.
    pub fn solo(&self) -> Option<&Arc<Caller>> {
        self.solo.as_ref()
    }

    /// Where people and providers reach the hub: `public_url`, else this machine. Without a slash at the end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// A page in a browser must not reach the hub under a name that is not the hub's, nor from another origin.
    pub(crate) fn check_origin(&self, request: &Request<Body>) -> Result<(), Error> {
        let headers = request.headers();
        let host = headers.get(header::HOST).and_then(|it| it.to_str().ok());
        let host = host.or_else(|| request.uri().authority().map(http::uri::Authority::as_str));
        if !host.is_some_and(|it| self.is_ours(it)) {
            return Err(Error::AuthOrigin);
        }
        match headers.get(header::ORIGIN) {
            // The door of the extension, which has an origin of its own, looks for itself.
            _ if request.uri().path() == "/tabs" => Ok(()),
            None => Ok(()),
            Some(origin) => {
                let origin = origin.to_str().ok().and_then(|it| it.split_once("://"));
                match origin {
                    Some(("http" | "https", host)) if self.is_ours(host) => Ok(()),
                    _ => Err(Error::AuthOrigin),
                }
            }
        }
    }

    /// Every `host[:port]` of the hub.
    pub(crate) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    fn is_ours(&self, host: &str) -> bool {
        self.hosts.iter().any(|it| it.eq_ignore_ascii_case(host))
    }
}

/// A cookie travels by itself, and so does a form: a change must show that our own page asked for it. Its `Origin`,
/// if there is one, was found to be ours.
pub(crate) fn check_own_page(method: &Method, headers: &HeaderMap) -> Result<(), Error> {
    let is_ours = headers.contains_key(header::ORIGIN)
        || headers.get("sec-fetch-site").is_some_and(|it| it == "same-origin");
    if is_ours || matches!(*method, Method::GET | Method::HEAD) { Ok(()) } else { Err(Error::AuthOrigin) }
}

/// What a request shows as `Authorization: Bearer`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, given) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| given.trim())
}

impl App {
    /// Whoever a request comes from.
    async fn admit(&self, request: &Parts) -> Result<Pass, Error> {
        let headers = &request.headers;
        if headers.contains_key(header::AUTHORIZATION) {
            let given = bearer(headers).ok_or(Error::AuthMissing)?;
            if let Some(caller) = self.keyholder(given, request).await? {
                return Ok(Pass::lasting(caller));
            }
            let pass = self.pass(Shown::Token(given)).await?;
            if let Some(reach) = &pass.reach {
                reach.check(request.uri.path())?;
            }
            return Ok(pass);
        }
        let cookie = self.gate.cookies.read(headers, "").ok_or(Error::AuthMissing)?;
        let pass = self.pass(Shown::Cookie(cookie)).await?;
        check_own_page(&request.method, headers)?;
        Ok(pass)
    }

    /// Who is signed in to the browser that asks. A token is not asked for: it signs nobody in.
    pub(crate) async fn signed_in(&self, headers: &HeaderMap) -> Result<Option<(Pass, Arc<Session>)>, Error> {
        let Some(cookie) = self.gate.cookies.read(headers, "") else { return Ok(None) };
        match self.pass(Shown::Cookie(cookie)).await {
            Ok(pass) => Ok(pass.session.clone().map(|session| (pass, session))),
            Err(Error::AuthMissing) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether people sign in, as opposed to one person who owns the machine.
    pub(crate) fn has_people(&self) -> bool {
        self.config.mode != Mode::Solo
    }
}

/// Lets a request through to a door that needs nobody to be known.
pub(crate) async fn origin(State(app): State<Arc<App>>, request: Request<Body>, next: Next) -> Response {
    match app.gate.check_origin(&request) {
        Ok(()) => next.run(request).await,
        Err(error) => Refusal(error).into_response(),
    }
}

/// Lets a request of a known caller through and tells the door who it is.
pub(crate) async fn known(State(app): State<Arc<App>>, request: Request<Body>, next: Next) -> Response {
    let_in(&app, request, |pass, mut request| {
        request.extensions_mut().insert(pass.caller.clone());
        request.extensions_mut().insert(pass);
        next.run(request)
    })
    .await
}

/// Has a request of a known caller answered. Whoever loses the right to be here while it runs loses the answer, too.
pub(crate) async fn let_in<F: Future<Output = Response>>(
    app: &App,
    request: Request<Body>,
    answer: impl FnOnce(Pass, Request<Body>) -> F,
) -> Response {
    let (parts, body) = request.into_parts();
    let pass = match app.admit(&parts).await {
        Ok(pass) => pass,
        Err(error) => return app.refused(error, &Asking::of(&parts)),
    };
    let Some(ended) = pass.ended.clone() else {
        return answer(pass, Request::from_parts(parts, body)).await;
    };
    let asking = Asking::of(&parts);
    // Apart from the path of those whom nobody can turn out.
    Box::pin(async {
        tokio::select! {
            biased;
            () = ended.cancelled() => app.refused(Error::AuthMissing, &asking),
            response = answer(pass, Request::from_parts(parts, body)) => {
                let ended = ended.clone();
                until(response, async move { ended.cancelled().await })
            }
        }
    })
    .await
}

/// A stream ends when it is over for whoever hears it; any other answer is whole.
pub(crate) fn until(response: Response, over: impl Future<Output = ()> + Send + 'static) -> Response {
    let is_stream = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|it| it.as_bytes().starts_with(b"text/event-stream"));
    if !is_stream {
        return response;
    }
    let (parts, body) = response.into_parts();
    let body = body.into_data_stream().take_until(over);
    Response::from_parts(parts, Body::from_stream(body))
}
