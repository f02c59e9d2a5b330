//! How often a favicon is asked for, by whom, and what is not one.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use http::{Response, Uri};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use toolgrove_core::net::Guard;
use toolgrove_core::task;
use toolgrove_upstream::{Pool, PoolOptions, ShepherdCommand};
use toolgrove_wire::modern::Implementation;

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n the rest of a picture";
const NOON: i64 = 1_800_000_000_000;

/// What lies at `/favicon.ico`.
#[derive(Clone)]
enum There {
    Bytes(Vec<u8>),
    Status(u16),
    /// At another path of this server, or at another address.
    Redirect(String),
}

/// A web server and how often it was asked.
struct Site {
    url: Url,
    asked: Arc<AtomicUsize>,
}

impl Site {
    async fn with(there: There) -> Self {
        let asked = Arc::new(AtomicUsize::new(0));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://127.0.0.1:{}/mcp", listener.local_addr().unwrap().port());
        let app = Router::new().fallback(answer).with_state((there, asked.clone()));
        task::spawn("site", async move { axum::serve(listener, app).await.unwrap() });
        Self { url: url.parse().unwrap(), asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn answer(State((there, asked)): State<(There, Arc<AtomicUsize>)>, uri: Uri) -> Response<Body> {
    asked.fetch_add(1, Ordering::SeqCst);
    let answer = Response::builder();
    match there {
        There::Redirect(to) if uri.path() == "/favicon.ico" => {
            answer.status(302).header("location", to).body(Body::empty()).unwrap()
        }
        There::Redirect(_) => answer.body(Body::from(PNG)).unwrap(),
        There::Bytes(bytes) => answer.header("content-type", "image/png").body(Body::from(bytes)).unwrap(),
        There::Status(status) => answer.status(status).body(Body::from(PNG)).unwrap(),
    }
}

fn fetch(guard: Guard) -> Fetch {
    let pool = Pool::new(PoolOptions {
        shepherd: ShepherdCommand { program: "none".into(), args: Vec::new() },
        client: Implementation { name: "toolgrove".into(), version: "0".into() },
        body_limit: 1024,
        idle: Duration::from_secs(300),
        reports: mpsc::unbounded_channel().0,
        tokens: None,
        now: || NOON,
        guard,
    });
    pool.fetch().clone()
}

/// Asks once: whether there was a picture, and how often its server was asked.
async fn check(there: There, expected: (bool, usize)) {
    let site = Site::with(there).await;
    let found = Icons::default().of(&fetch(Guard::Open), &site.url, &Allowlist::Any, NOON).await;
    assert_eq!((found.is_some(), site.asked()), expected);
}

#[tokio::test]
async fn two_people_on_one_day_make_one_request_and_the_next_day_another() {
    for there in [There::Bytes(PNG.into()), There::Status(404)] {
        let (site, icons, fetch) = (Site::with(there).await, Icons::default(), fetch(Guard::Open));
        let ask = async |now| icons.of(&fetch, &site.url, &Allowlist::Any, now).await;
        let (one, other) = tokio::join!(ask(NOON), ask(NOON + 1));
        assert_eq!((one == other, site.asked()), (true, 1), "at once");
        ask(NOON + DAY - 1).await;
        assert_eq!(site.asked(), 1, "on the same day");
        ask(NOON + DAY + 1).await;
        assert_eq!(site.asked(), 2, "on the next day");
    }
}

#[tokio::test]
async fn what_is_too_large_or_no_picture_is_none() {
    let padded = |length| {
        let mut bytes = PNG.to_vec();
        bytes.resize(length, 0);
        There::Bytes(bytes)
    };
    check(padded(LARGEST), (true, 1)).await;
    check(padded(LARGEST + 1), (false, 1)).await;
    check(There::Bytes(b"<html><script>".to_vec()), (false, 1)).await;
    check(There::Bytes(b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec()), (false, 1)).await;
    check(There::Bytes(Vec::new()), (false, 1)).await;
    check(There::Status(500), (false, 1)).await;
}

#[tokio::test]
async fn a_redirect_is_followed_inside_the_site_only() {
    check(There::Redirect("/picture.png".into()), (true, 2)).await;
    check(There::Redirect("/favicon.ico".into()), (false, 1)).await;
    let evil = Site::with(There::Bytes(PNG.into())).await;
    let elsewhere = format!("http://localhost:{}/favicon.ico", evil.url.port().unwrap());
    check(There::Redirect(elsewhere), (false, 1)).await;
    check(There::Redirect("file:///etc/passwd".into()), (false, 1)).await;
    assert_eq!(evil.asked(), 0);
}

#[tokio::test]
async fn a_private_address_is_not_asked_on_a_hub_for_several_people() {
    let site = Site::with(There::Bytes(PNG.into())).await;
    let fetch = fetch(Guard::Public(Vec::new()));
    let by_name = Url::parse(&site.url.as_str().replace("127.0.0.1", "localhost")).unwrap();
    for url in [&site.url, &by_name] {
        assert_eq!(Icons::default().of(&fetch, url, &Allowlist::Any, NOON).await, None);
    }
    assert_eq!(site.asked(), 0);
}

#[tokio::test]
async fn an_allowlist_holds_for_who_asks_and_for_nobody_else() {
    let (site, icons, fetch) =
        (Site::with(There::Bytes(PNG.into())).await, Icons::default(), fetch(Guard::Open));
    let elsewhere = Allowlist::stored(Some(&json!(["example.com"])));
    assert_eq!(icons.of(&fetch, &site.url, &elsewhere, NOON).await, None);
    assert_eq!(site.asked(), 0, "nothing was sent");
    assert!(icons.of(&fetch, &site.url, &Allowlist::Any, NOON).await.is_some());
    assert_eq!(icons.of(&fetch, &site.url, &elsewhere, NOON).await, None, "what is kept is held back too");
}

#[tokio::test]
async fn only_so_many_addresses_are_remembered() {
    let icons = Icons::default();
    for number in 0..ROOM + 10 {
        icons.slot(
            &Url::parse(&format!("https://{number}.example/favicon.ico")).unwrap(),
            NOON + number as i64,
        );
    }
    let slots = icons.0.lock().unwrap();
    assert_eq!(slots.len(), ROOM);
    assert!(!slots.contains_key(&Url::parse("https://9.example/favicon.ico").unwrap()), "the oldest went");
}

#[test]
fn a_picture_is_looked_for_with_the_host_and_then_with_its_domain() {
    for (server, expected) in [
        (
            "https://user:pw@api.example.co.uk/mcp?key=x",
            &["https://api.example.co.uk/favicon.ico", "https://example.co.uk/favicon.ico"][..],
        ),
        ("https://example.com/mcp", &["https://example.com/favicon.ico"]),
        ("http://localhost:8080/mcp", &["http://localhost:8080/favicon.ico"]),
        ("http://10.0.0.1/", &["http://10.0.0.1/favicon.ico"]),
        ("http://[::1]:1/x", &["http://[::1]:1/favicon.ico"]),
        ("bud://legal/Compare", &[]),
    ] {
        let found = addresses(&server.parse().unwrap());
        assert_eq!(found.iter().map(Url::as_str).collect::<Vec<_>>(), expected, "{server}");
    }
}
