//! When a token is renewed, to the millisecond, and who hears of it when that fails.

use std::cell::Cell;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use futures::future::join_all;
use http::StatusCode;
use tokio::sync::mpsc;
use toolgrove_core::instance::{EraSetting, HttpReach, Switch};
use toolgrove_core::net::{Allowlist, Guard};
use toolgrove_store::{InstanceRow, OauthClientRow, OauthTokenRow, SecretBox, ServerRow};
use toolgrove_upstream::{Pool, PoolOptions, ShepherdCommand};
use toolgrove_wire::modern::Implementation;

use super::*;

const START: i64 = 1_000_000_000_000;

thread_local! {
    static NOW: Cell<i64> = const { Cell::new(START) };
}

fn now() -> i64 {
    NOW.get()
}

fn pass(ms: i64) {
    NOW.set(now() + ms);
}

struct Bench {
    ring: Keyring,
    pool: Pool,
    instance: Instance,
    store: Store,
    provider: Arc<Provider>,
}

/// A token endpoint that gives a good token, or answers with another status.
struct Provider {
    asked: AtomicUsize,
    status: AtomicU16,
}

impl Bench {
    /// An instance whose token has so long to live.
    async fn with(left: Option<i64>) -> Self {
        NOW.set(START);
        let provider = Arc::new(Provider { asked: AtomicUsize::new(0), status: AtomicU16::new(200) });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let app = Router::new().route("/token", post(token)).with_state(provider.clone());
        task::spawn("provider", async move { axum::serve(listener, app).await });
        let store = Store::open("sqlite::memory:", SecretBox::in_memory()).await.expect("a store");
        let person = store.solo_person().await.expect("a person").person_id;
        let server = ServerRow::new("w", "streamable_http", "https://s/mcp", "admin");
        store.add_server(&server).await.expect("a server");
        let row = InstanceRow::new(person, server.id, "w");
        store.add_instance(&row).await.expect("an instance");
        store.put_oauth_client(&OauthClientRow::new("https://a", "dynamic", "c")).await.expect("a client");
        let token = OauthTokenRow {
            instance_id: row.id,
            issuer: "https://a".into(),
            client_id: "c".into(),
            token_endpoint: format!("{base}/token"),
            resource: "https://s/mcp".into(),
            access: Secret::new("old"),
            refresh: Some(Secret::new("refresh")),
            taken_at: None,
            expires_at: left.map(|it| START + it),
            scope: None,
            problem: None,
            created_at: START,
            updated_at: START,
        };
        assert!(store.put_oauth_token(&token).await.expect("a token"));
        let pool = Pool::new(PoolOptions {
            shepherd: ShepherdCommand { program: "none".into(), args: Vec::new() },
            client: Implementation { name: "t".into(), version: "1".into() },
            body_limit: 1024,
            idle: Duration::from_secs(1),
            reports: mpsc::unbounded_channel().0,
            tokens: None,
            now,
            guard: Guard::Open,
        });
        let url = "https://s/mcp".parse().expect("a URL");
        let instance = Instance {
            id: row.id,
            person,
            server: server.id,
            slug: "w".into(),
            server_name: "w".into(),
            transport: Transport::Http(HttpReach { url, headers: Vec::new(), query: Vec::new() }),
            era: EraSetting::Auto,
            protocol: None,
            verdict: None,
            timeout: Duration::from_secs(1),
            switch: Switch::On,
            phase: toolgrove_core::policy::Phase::Gamma,
            rate: None,
            hosts: Allowlist::Any,
            revision: 1,
        };
        let ring = Keyring::new(store.clone(), now, Replicas::Alone);
        Self { ring, pool, instance, store, provider }
    }

    async fn bearer(&self) -> Result<Option<String>, String> {
        let token = self.ring.bearer(self.pool.fetch(), &self.instance).await;
        token.map(|it| it.map(|it| it.reveal().to_owned())).map_err(|it| it.to_string())
    }

    fn asked(&self) -> usize {
        self.provider.asked.load(Ordering::Relaxed)
    }

    fn answers(&self, status: u16) {
        self.provider.status.store(status, Ordering::Relaxed);
    }
}

async fn token(
    axum::extract::State(provider): axum::extract::State<Arc<Provider>>,
) -> (StatusCode, &'static str) {
    provider.asked.fetch_add(1, Ordering::Relaxed);
    match provider.status.load(Ordering::Relaxed) {
        200 => (StatusCode::OK, r#"{"access_token":"new","token_type":"bearer","expires_in":3600}"#),
        status => (StatusCode::from_u16(status).expect("a status"), r#"{"error":"invalid_grant"}"#),
    }
}

fn some(token: &str) -> Result<Option<String>, String> {
    Ok(Some(token.to_owned()))
}

#[tokio::test]
async fn a_token_is_renewed_when_less_than_a_minute_is_left() {
    for (left, expected) in
        [(Some(59_999), "new"), (Some(60_000), "old"), (Some(61_000), "old"), (Some(0), "new"), (None, "old")]
    {
        let bench = Bench::with(left).await;
        assert_eq!(bench.bearer().await, some(expected), "{left:?}");
        assert_eq!(bench.asked(), usize::from(expected == "new"), "{left:?}");
    }
    let bench = Bench::with(Some(61_000)).await;
    assert_eq!(bench.bearer().await, some("old"));
    pass(1_001);
    assert_eq!(bench.bearer().await, some("new"), "time passes");
}

#[tokio::test]
async fn a_good_token_outlives_a_provider_that_is_away_and_who_is_then_left_alone() {
    let bench = Bench::with(Some(30_000)).await;
    bench.answers(503);
    for _ in 0..3 {
        assert_eq!(bench.bearer().await, some("old"));
    }
    assert_eq!(bench.asked(), 1);
    pass(REST_MS);
    assert_eq!(bench.bearer().await, some("old"));
    assert_eq!(bench.asked(), 2);
    pass(30_000);
    let away = bench.bearer().await.expect_err("it has ended");
    assert!(away.starts_with("cannot reach `w`: its sign-in could not be renewed: HTTP 503"), "{away}");
    bench.answers(200);
    assert_eq!(bench.bearer().await, some("new"));
}

#[tokio::test]
async fn everybody_who_waited_hears_of_the_same_failure() {
    let bench = Bench::with(Some(0)).await;
    bench.answers(503);
    let all = join_all((0..20).map(|_| bench.bearer())).await;
    assert!(all.iter().all(Result::is_err));
    assert_eq!(bench.asked(), 1);
}

#[tokio::test]
async fn a_refusal_waits_until_the_token_has_ended_and_is_then_final() {
    let bench = Bench::with(Some(30_000)).await;
    bench.answers(400);
    assert_eq!(bench.bearer().await, some("old"));
    pass(30_000);
    for _ in 0..2 {
        let ended = bench.bearer().await.expect_err("it has ended");
        assert_eq!(ended, "`w` needs you to reconnect: invalid_grant");
    }
    assert_eq!(bench.asked(), 1);
}

#[tokio::test]
async fn an_instance_that_nobody_signed_in_to_is_looked_up_once() {
    let bench = Bench::with(None).await;
    bench.store.remove_oauth_token(bench.instance.id).await.expect("a store");
    assert_eq!(bench.bearer().await, Ok(None));
    bench.store.close().await;
    assert_eq!(bench.bearer().await, Ok(None), "the store is not asked again");
}

#[tokio::test]
async fn a_changed_instance_is_another_server_until_the_resource_says_otherwise() {
    let mut bench = Bench::with(None).await;
    assert_eq!(bench.bearer().await, some("old"));
    let url = "https://elsewhere/mcp".parse().expect("a URL");
    bench.instance.transport = Transport::Http(HttpReach { url, headers: Vec::new(), query: Vec::new() });
    bench.instance.revision = 2;
    assert_eq!(bench.bearer().await, Ok(None));
}
