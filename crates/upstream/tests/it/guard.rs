//! What may be connected to, and what goes with every request and nowhere else.

use serde_json::json;
use toolgrove_core::instance::{HttpReach, Transport};
use toolgrove_core::net::Allowlist;
use toolgrove_core::{Error, Secret};
use toolgrove_upstream::doctor;

use crate::bed::{Bed, bed, guarded, http, reach};
use crate::peer::{Peer, Reply, Seen, legacy, modern};

const HEADER: &str = "header-value-4711";
const QUERY: &str = "query value/4711";

/// A way to a server with a secret in each place where one may stand.
fn keyed(url: &str) -> HttpReach {
    HttpReach {
        url: url.parse().expect("a URL"),
        headers: vec![("X-API-Key".into(), Secret::new(HEADER))],
        query: vec![("api_key".into(), Secret::new(QUERY))],
    }
}

fn has_both(seen: &Seen) -> bool {
    let pairs = url::form_urlencoded::parse(seen.path.split_once('?').map_or("", |it| it.1).as_bytes());
    let given = pairs.filter(|it| it.0 == "api_key").map(|it| it.1.into_owned()).collect::<Vec<_>>();
    seen.header("x-api-key") == Some(HEADER) && given == [QUERY]
}

/// Case `query-param-auth`.
#[tokio::test]
async fn header_and_query_secrets_go_with_every_request() {
    for script in [legacy, modern] {
        let peer = Peer::start(script).await;
        let url = format!("{}?team=a", peer.url);
        let bed = bed(Transport::Http(keyed(&url)), |_| {});
        bed.discover().await.expect("a server");
        bed.call("echo", json!({})).await.expect("a result");
        bed.pool.shutdown().await;
        let seen = peer.seen.all();
        for one in seen.iter().filter(|it| it.http != "CLOSED") {
            assert!(has_both(one), "{one:?}");
            assert!(one.path.starts_with("/mcp?team=a&"), "{}", one.path);
        }
    }
    let peer = Peer::start(legacy).await;
    let bed = bed(Transport::Http(keyed(&peer.url)), |_| {});
    bed.discover().await.expect("a server");
    bed.pool.shutdown().await;
    for kind in ["POST", "GET", "DELETE"] {
        let one = peer.seen.wait_for(kind, |it| it.http == kind).await;
        assert!(has_both(&one), "{one:?}");
    }
}

#[tokio::test]
async fn a_redirect_keeps_them_and_does_not_double_them() {
    let peer = Peer::start(|seen| match seen.path.split('?').next() {
        Some("/mcp") => {
            let echoed = seen.path.replace("/mcp", "/there");
            let bare = "/there".to_owned();
            let to = if seen.method() == "tools/call" { bare } else { echoed };
            Reply::status("307 Temporary Redirect").with("location", &to)
        }
        _ => legacy(seen),
    })
    .await;
    let bed = bed(Transport::Http(keyed(&peer.url)), |_| {});
    bed.call("echo", json!({})).await.expect("a result");
    let seen = peer.seen.all();
    assert!(seen.iter().any(|it| it.path.starts_with("/there")));
    for one in seen.iter().filter(|it| it.http == "POST") {
        assert!(has_both(one), "{one:?}");
    }
}

#[tokio::test]
async fn the_deprecated_transport_sends_them_to_both_of_its_addresses() {
    let peer = crate::sse::sse_peer("/messages?sessionId=1").await;
    let bed = bed(Transport::Sse(keyed(&peer.url)), |_| {});
    bed.call("echo", json!({})).await.expect("a result");
    for one in peer.seen.all().iter().filter(|it| it.http != "CLOSED") {
        assert!(has_both(one), "{one:?}");
    }
}

#[tokio::test]
async fn a_server_that_repeats_our_secrets_is_quoted_without_them() {
    let peer = Peer::start(|seen| {
        let said = format!("no entry for {:?} at {}", seen.header("x-api-key"), seen.path);
        Reply::json("401 Unauthorized", &json!({ "error_description": said }))
            .with("www-authenticate", &format!("Bearer error_description=\"{HEADER}\""))
    })
    .await;
    let error = bed(Transport::Http(keyed(&peer.url)), |_| {}).call("echo", json!({})).await;
    let error = error.expect_err("a refusal");
    let all = format!("{error} {:?} {error:?}", error.data());
    assert!(all.contains("•••") && !all.contains("4711"), "{all}");
}

fn only(hosts: serde_json::Value) -> Allowlist {
    Allowlist::stored(Some(&hosts))
}

#[tokio::test]
async fn a_host_outside_the_allowlist_is_never_connected_to() {
    let peer = Peer::start(legacy).await;
    for (hosts, expected) in [
        (json!(["127.0.0.1"]), None),
        (json!(["example.com", "*.example.com"]), Some("workspace.host")),
        (json!([]), Some("workspace.host")),
    ] {
        let asked = peer.seen.all().len();
        let bed = bed(http(&peer.url), |it| it.hosts = only(hosts));
        let called = bed.call("echo", json!({})).await;
        assert_eq!(called.as_ref().err().map(Error::code), expected, "{called:?}");
        assert_eq!(bed.discover().await.err().map(|it| it.code()), expected);
        assert_eq!(peer.seen.all().len() == asked, expected.is_some());
        let steps = doctor::way(&bed.pool, &bed.instance).await;
        assert_eq!(steps.iter().all(|it| it.ok), expected.is_none(), "{steps:?}");
    }
}

#[tokio::test]
async fn a_redirect_out_of_the_allowlist_ends_there() {
    let other = Peer::start(legacy).await;
    let to = other.url.replace("127.0.0.1", "localhost");
    let peer = Peer::start(move |_| Reply::status("308 Permanent Redirect").with("location", &to)).await;
    let refused =
        bed(http(&peer.url), |it| it.hosts = only(json!(["127.0.0.1"]))).call("echo", json!({})).await;
    assert_eq!(
        refused.expect_err("refused").to_string(),
        "`localhost` is not on the allowlist of this workspace"
    );
    assert_eq!(other.seen.all().len(), 0);
}

/// The reason a guarded hub gives for not reaching a server, after a call, a discovery and a doctor's visit.
async fn refusals(bed: &Bed) -> Vec<Option<String>> {
    let steps = doctor::way(&bed.pool, &bed.instance).await;
    vec![
        bed.call("echo", json!({})).await.err().map(|it| it.to_string()),
        bed.discover().await.err().map(|it| it.to_string()),
        steps.into_iter().find(|it| !it.ok).map(|it| it.detail),
    ]
}

#[tokio::test]
async fn a_shared_hub_reaches_private_addresses_only_where_an_admin_lets_it() {
    let peer = Peer::start(legacy).await;
    let named = peer.url.replace("127.0.0.1", "localhost");
    for kind in [Transport::Http, Transport::Sse] {
        for (url, host) in [(&peer.url, "127.0.0.1"), (&named, "localhost")] {
            let refused = Some(format!("`{host}` is not at a public address"));
            let bed = guarded(kind(reach(url)), &["10.0.0.0/8", "*.localhost"], |_| {});
            assert_eq!(refusals(&bed).await, [refused.clone(), refused.clone(), refused]);
        }
    }
    assert_eq!(peer.seen.all().len(), 0);
    for exception in ["127.0.0.0/8", "127.0.0.1"] {
        let bed = guarded(http(&peer.url), &[exception], |_| {});
        assert_eq!(refusals(&bed).await, [None, None, None]);
    }
    assert_eq!(refusals(&guarded(http(&named), &["localhost"], |_| {})).await, [None, None, None]);
}
