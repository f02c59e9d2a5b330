//! A client that is known by a document it publishes: its `client_id` is the document's address.
//!
//! The address comes from whoever wrote the link, so it is fetched under the hub's guard, once a person is signed in,
//! from `https` only, and not through redirects: the document speaks for the address it lies at. A good one is kept
//! for as long as HTTP lets it, at most a day; anything else is not kept.

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_cache_semantics::{CacheOptions, CachePolicy};
use toolgrove_store::ClientRow;
use toolgrove_upstream::Fetched;
use url::Url;

use super::client::Description;
use crate::App;
use crate::problem::store_error;

const BYTES: usize = 16 * 1024;
const PATIENCE: Duration = Duration::from_secs(5);
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
const ID: usize = 1024;

/// The address behind a `client_id` that is one: secure, with a path, and spelt as everybody would spell it.
pub fn address(client_id: &str) -> Option<Url> {
    let url = Url::parse(client_id).ok()?;
    let is_one = client_id.len() <= ID
        && url.as_str() == client_id
        && url.scheme() == "https"
        && url.path() != "/"
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    is_one.then_some(url)
}

impl App {
    /// The client behind its document. The sentence says why there is none.
    pub(crate) async fn published_client(&self, client_id: &str, url: &Url) -> Result<ClientRow, String> {
        let now = self.hub.now();
        let known = self.store.client(client_id).await.map_err(|it| store_error(it).to_string())?;
        if let Some(known) = known.as_ref().filter(|it| it.fresh_until.is_some_and(|until| now < until)) {
            return Ok(known.clone());
        }
        let request =
            Request::get(url.as_str()).header(header::ACCEPT, "application/json").body(Bytes::new());
        let request = request.map_err(|it| it.to_string())?;
        let fetched = tokio::time::timeout(PATIENCE, self.hub.links().fetch().send(request)).await;
        let fetched = fetched.map_err(|_| format!("no answer within {} s", PATIENCE.as_secs()))?;
        let fetched = Document::of(fetched.map_err(|it| it.to_string())?);
        let description = fetched.read(client_id)?;
        let name = match description.name.as_str() {
            "" => url.host_str().unwrap_or_default(),
            name => name,
        };
        let redirects = description.redirects.iter().map(|it| it.as_str().to_owned()).collect();
        let row = ClientRow {
            refreshes: description.refreshes,
            fresh_until: Some(now + fetched.freshness(url, now).as_millis() as i64),
            created_at: known.map_or(now, |it| it.created_at),
            ..ClientRow::new(client_id, "document", name, redirects)
        };
        self.keep_client(&row).await.map_err(|it| store_error(it).to_string())?;
        Ok(row)
    }
}

/// What lay at an address.
struct Document {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Document {
    fn of(fetched: Fetched) -> Self {
        Self { status: fetched.status, headers: fetched.headers, body: fetched.body }
    }

    fn read(&self, client_id: &str) -> Result<Description, String> {
        if self.status.is_redirection() {
            return Err("it redirects to another address".into());
        }
        if self.status != StatusCode::OK {
            return Err(format!("it answers with status {}", self.status.as_u16()));
        }
        let kind = self.headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if kind != "application/json" && !(kind.starts_with("application/") && kind.ends_with("+json")) {
            return Err("it is not JSON".into());
        }
        if self.body.len() > BYTES {
            return Err(format!("it is larger than {} KiB", BYTES / 1024));
        }
        Description::published(&self.body, client_id).map_err(|why| why.text().to_owned())
    }

    /// How long HTTP lets us keep it.
    fn freshness(&self, url: &Url, now: i64) -> Duration {
        let asked = Request::get(url.as_str()).body(());
        let mut answered = Response::new(());
        *answered.status_mut() = self.status;
        answered.headers_mut().clone_from(&self.headers);
        let Ok(asked) = asked else { return Duration::ZERO };
        let now = UNIX_EPOCH + Duration::from_millis(now.unsigned_abs());
        let policy = CachePolicy::new_options(&asked, &answered, now, CacheOptions::default());
        if policy.is_storable() { policy.time_to_live(now).min(KEPT) } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://app.example/client.json";

    #[test]
    fn only_a_secure_address_with_a_path_is_a_client_id() {
        for id in [URL, "https://app.example:8443/a/b", "https://app.example/c?v=1"] {
            assert!(address(id).is_some(), "{id}");
        }
        for id in [
            "http://app.example/client.json",
            "http://127.0.0.1/client.json",
            "https://app.example",
            "https://app.example/",
            "https://app.example/a/../client.json",
            "https://app.example/./client.json",
            "https://APP.example/client.json",
            "https://app.example:443/client.json",
            "https://me@app.example/client.json",
            "https://app.example/client.json#x",
            "3f1c9a5e-0000-4000-8000-000000000000",
            "",
        ] {
            assert_eq!(address(id), None, "{id}");
        }
    }

    fn document(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Document {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, http::HeaderValue::from_static(value));
        }
        let status = StatusCode::from_u16(status).expect("a status");
        Document { status, headers: map, body: Bytes::copy_from_slice(body.as_bytes()) }
    }

    #[test]
    fn a_document_is_kept_as_long_as_it_says_and_at_most_a_day() {
        let url = Url::parse(URL).expect("a URL");
        for (headers, seconds) in [
            (&[][..], 0),
            (&[("cache-control", "max-age=600")], 600),
            (&[("cache-control", "public, max-age=99999999")], 24 * 60 * 60),
            (&[("cache-control", "no-store, max-age=600")], 0),
            (&[("cache-control", "no-cache")], 0),
            (&[("cache-control", "private, max-age=600")], 0),
            (&[("cache-control", "max-age=600"), ("age", "100")], 500),
        ] {
            let kept = document(200, headers, "").freshness(&url, 1_800_000_000_000);
            assert_eq!(kept.as_secs(), seconds, "{headers:?}");
        }
    }

    #[test]
    fn what_is_not_a_plain_json_document_is_refused() {
        let good = format!(r#"{{"client_id":"{URL}","redirect_uris":["https://app.example/cb"]}}"#);
        let long = format!("{good}{}", " ".repeat(BYTES));
        let json = &[("content-type", "application/json; charset=utf-8")][..];
        for (status, headers, body, expected) in [
            (200, json, &good, Ok(1)),
            (200, &[("content-type", "application/oauth-client+json")], &good, Ok(1)),
            (404, json, &good, Err("it answers with status 404".to_owned())),
            (302, json, &good, Err("it redirects to another address".to_owned())),
            (200, &[("content-type", "text/html")], &good, Err("it is not JSON".to_owned())),
            (200, json, &long, Err("it is larger than 16 KiB".to_owned())),
        ] {
            let read = document(status, headers, body).read(URL).map(|it| it.redirects.len());
            assert_eq!(read, expected);
        }
    }
}
