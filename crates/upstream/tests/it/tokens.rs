//! Links show the token they are given, with every request, and take a server's no for what it is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use toolgrove_core::instance::{Instance, Transport};
use toolgrove_core::{Error, Secret};
use toolgrove_fixture::{Era, Fixture, Kind, Options, Running};
use toolgrove_upstream::Fetch;
use toolgrove_upstream::oauth::{Next, Refusal, Tokens};

use crate::bed::{Bed, bed_of, http, reach};

/// Gives one token, and says what it was told to say about a refusal.
#[derive(Debug)]
struct Pocket {
    token: Mutex<Option<Secret>>,
    next: Next,
    refusals: AtomicUsize,
}

impl Pocket {
    fn new(token: Option<&str>, next: Next) -> Arc<Self> {
        Arc::new(Self { token: Mutex::new(token.map(Secret::new)), next, refusals: AtomicUsize::new(0) })
    }

    fn refusals(&self) -> usize {
        self.refusals.load(Ordering::Relaxed)
    }
}

impl Tokens for Pocket {
    fn bearer<'a>(&'a self, _: &'a Fetch, _: &'a Instance) -> BoxFuture<'a, Result<Option<Secret>, Error>> {
        let token = self.token.lock().expect("nobody panics").clone();
        async { Ok(token) }.boxed()
    }

    fn refused<'a>(
        &'a self,
        _: &'a Fetch,
        _: &'a Instance,
        _: &'a Secret,
        _: Refusal,
    ) -> BoxFuture<'a, Result<Next, Error>> {
        self.refusals.fetch_add(1, Ordering::Relaxed);
        if let Next::Again(token) = &self.next {
            *self.token.lock().expect("nobody panics") = Some(token.clone());
        }
        async { Ok(self.next.clone()) }.boxed()
    }
}

/// A server that takes the token `right`, and a bed with a pocket.
async fn start(kind: Kind, era: Era, pocket: &Arc<Pocket>) -> (Running, Bed) {
    let require_header = vec!["authorization=Bearer right".parse().expect("a header")];
    let options = Options { kind, era, require_header, ..Options::default() };
    let running = Fixture::start(options).await.expect("a fixture");
    let transport =
        if kind == Kind::Sse { Transport::Sse(reach(&running.url())) } else { http(&running.url()) };
    let tokens = pocket.clone();
    (running, bed_of(transport, |options| options.tokens = Some(tokens), |_| {}))
}

#[tokio::test]
async fn every_request_of_every_kind_shows_the_token() {
    for (kind, era) in [(Kind::Http, Era::Legacy), (Kind::Http, Era::Modern), (Kind::Sse, Era::Legacy)] {
        let pocket = Pocket::new(Some("right"), Next::SignIn);
        let (running, bed) = start(kind, era, &pocket).await;
        bed.discover().await.expect("let in");
        bed.call("echo", json!({ "n": 1 })).await.expect("a result");
        bed.pool.shutdown().await;
        let log = running.log();
        assert!(log.len() > 3, "{kind:?} {era:?}");
        for seen in log {
            assert_eq!(seen.header("authorization"), Some("Bearer right"), "{kind:?} {era:?} {seen:?}");
        }
        assert_eq!(pocket.refusals(), 0);
    }
}

#[tokio::test]
async fn a_refused_token_is_replaced_once_and_the_request_sent_once_more() {
    for era in [Era::Legacy, Era::Modern] {
        let pocket = Pocket::new(Some("old"), Next::Again(Secret::new("right")));
        let (running, bed) = start(Kind::Http, era, &pocket).await;
        let result = bed.call("echo", json!({ "n": 1 })).await.expect("a result");
        assert_eq!(result["content"][0]["text"], "{\"n\":1}");
        assert_eq!(pocket.refusals(), 1, "{era:?}");
        let calls = running.log().into_iter().filter(|it| it.method.as_deref() == Some("tools/call"));
        assert_eq!(calls.count(), 1, "{era:?}: what was refused is not run twice");
    }
}

#[tokio::test]
async fn a_server_that_refuses_the_second_token_too_is_believed() {
    let pocket = Pocket::new(Some("old"), Next::Again(Secret::new("older")));
    let (_running, bed) = start(Kind::Http, Era::Modern, &pocket).await;
    let error = bed.call("echo", json!({})).await.expect_err("not let in");
    assert!(matches!(error, Error::NeedsReauth { status: Some(401), .. }), "{error:?}");
    assert_eq!(pocket.refusals(), 1);
}

#[tokio::test]
async fn what_signing_in_again_would_not_change_is_an_answer_like_any_other() {
    let pocket = Pocket::new(Some("old"), Next::GiveUp);
    let (_running, bed) = start(Kind::Http, Era::Modern, &pocket).await;
    let error = bed.call("echo", json!({})).await.expect_err("not let in");
    assert!(matches!(error, Error::Answered { status: 401, .. }), "{error:?}");
}

#[tokio::test]
async fn without_a_token_nothing_is_shown_and_nobody_is_asked_about_the_refusal() {
    let pocket = Pocket::new(None, Next::SignIn);
    let (running, bed) = start(Kind::Http, Era::Modern, &pocket).await;
    let error = bed.call("echo", json!({})).await.expect_err("not let in");
    assert!(matches!(error, Error::NeedsReauth { .. }), "{error:?}");
    assert_eq!(pocket.refusals(), 0);
    assert!(running.log().iter().all(|it| it.header("authorization").is_none()));
}
