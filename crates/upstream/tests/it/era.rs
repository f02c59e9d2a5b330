//! What a server speaks is found out once, from what it does and never from one error code.

use serde_json::json;
use toolgrove_core::Error;
use toolgrove_core::event::News;
use toolgrove_core::instance::{Era, Verdict};

use crate::bed::{bed, http};
use crate::peer::{Peer, Reply, legacy, modern};

fn verdict(era: Era) -> Verdict {
    let version = match era {
        Era::Modern => "2026-07-28",
        Era::Legacy => "2025-11-25",
    };
    Verdict { era, version: version.into(), evidence: "earlier".into(), at: 0 }
}

/// Cases `handshake-order` and `initialize-params`.
#[tokio::test]
async fn a_pinned_revision_is_sent_as_it_is_and_without_a_probe() {
    let peer = Peer::start(legacy).await;
    let bed = bed(http(&peer.url), |it| it.protocol = Some("2025-03-26".into()));
    bed.discover().await.expect("a server");
    bed.call("echo", json!({})).await.expect("a result");
    let all = peer.seen.all();
    let posted: Vec<_> = all.iter().filter(|it| it.http == "POST").map(super::peer::Seen::method).collect();
    let sessions: Vec<_> = posted.chunks(3).collect();
    let listed = ["initialize", "notifications/initialized", "tools/list"];
    // The hub looks twice, and a chat has a session of its own.
    assert_eq!(sessions, [listed, listed, ["initialize", "notifications/initialized", "tools/call"]]);
    let params = json!({
        "protocolVersion": "2025-03-26",
        "capabilities": {},
        "clientInfo": { "name": "toolgrove", "version": "0.1.0" },
    });
    assert_eq!(all[0].body["params"], params);
    // This revision has no version header.
    assert!(all.iter().all(|it| it.header("mcp-protocol-version").is_none()));
    assert_eq!(all[1].header("mcp-session-id"), Some("s1"));
}

#[tokio::test]
async fn an_unknown_server_is_probed_then_offered_the_last_legacy_revision() {
    let peer = Peer::start(legacy).await;
    let mut bed = bed(http(&peer.url), |_| {});
    let discovery = bed.discover().await.expect("a server");
    assert_eq!(peer.methods()[..3], ["server/discover", "initialize", "notifications/initialized"]);
    let all = peer.seen.all();
    assert_eq!(all[1].body["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(all[2].header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!((discovery.verdict.era, discovery.verdict.version.as_str()), (Era::Legacy, "2025-11-25"));
    assert_eq!(discovery.instructions.as_deref(), Some("be kind"));
    let found = bed.news(|it| if let News::Verdict(verdict) = it { Some(verdict) } else { None }).await;
    assert_eq!((found.era, found.at), (Era::Legacy, 1_000));
}

#[tokio::test]
async fn an_older_revision_is_accepted_and_an_unknown_one_is_not() {
    async fn answer_with(version: &'static str) -> Result<String, Error> {
        let peer = Peer::start(move |seen| match seen.method() {
            "initialize" => Reply::result(seen, json!({ "protocolVersion": version, "capabilities": {} })),
            _ => legacy(seen),
        })
        .await;
        bed(http(&peer.url), |_| {}).discover().await.map(|it| it.verdict.version)
    }
    assert_eq!(answer_with("2024-11-05").await.expect("accepted"), "2024-11-05");
    assert_eq!(
        answer_with("1999-01-01").await.expect_err("refused").to_string(),
        "`peer` sent something that is not MCP: it answered with the protocol revision `1999-01-01`, \
         which Toolgrove does not know"
    );
}

/// Case `era-probe`.
#[tokio::test]
async fn a_modern_server_is_used_without_a_session() {
    let peer = Peer::start(modern).await;
    let bed = bed(http(&peer.url), |_| {});
    let discovery = bed.discover().await.expect("a server");
    assert_eq!(discovery.verdict.era, Era::Modern);
    assert_eq!(discovery.server_info.expect("named").as_str(), r#"{"name":"modern","version":"1"}"#);
    assert_eq!(bed.call("echo", json!({ "a": 1 })).await.expect("a result")["echo"], json!({ "a": 1 }));
    let seen = peer.wait_for("tools/call").await;
    assert_eq!(seen.header("mcp-name"), Some("echo"));
    assert_eq!(seen.header("mcp-session-id"), None);
    let meta = &seen.body["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "toolgrove");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
    assert_eq!(peer.count("initialize"), 0);
}

/// Case `era-probe`: these three codes are never taken as legacy.
#[tokio::test]
async fn the_three_modern_codes_prove_a_modern_server() {
    for code in [-32020, -32021, -32022] {
        let peer = Peer::start(move |seen| match seen.method() {
            "server/discover" => Reply::error("400 Bad Request", seen, code, "not like this"),
            _ => modern(seen),
        })
        .await;
        let bed = bed(http(&peer.url), |_| {});
        bed.call("echo", json!({})).await.expect("a result");
        assert_eq!(peer.methods(), ["server/discover", "tools/call"], "{code}");
    }
}

#[tokio::test]
async fn a_stored_verdict_saves_the_probe() {
    let peer = Peer::start(modern).await;
    let bed_modern = bed(http(&peer.url), |it| it.verdict = Some(verdict(Era::Modern)));
    bed_modern.call("echo", json!({})).await.expect("a result");
    assert_eq!(peer.methods(), ["tools/call"]);

    let peer = Peer::start(legacy).await;
    let bed_legacy = bed(http(&peer.url), |it| it.verdict = Some(verdict(Era::Legacy)));
    bed_legacy.call("echo", json!({})).await.expect("a result");
    assert_eq!(peer.methods(), ["initialize", "notifications/initialized", "tools/call"]);
}

#[tokio::test]
async fn a_server_that_changed_its_era_is_probed_again_and_the_call_goes_through() {
    let peer = Peer::start(|seen| match seen.header("mcp-session-id") {
        None if seen.method() == "tools/call" => {
            Reply::error("400 Bad Request", seen, -32000, "not initialized")
        }
        _ => legacy(seen),
    })
    .await;
    let mut bed_old = bed(http(&peer.url), |it| it.verdict = Some(verdict(Era::Modern)));
    bed_old.call("echo", json!({})).await.expect("a result");
    let found = bed_old.news(|it| if let News::Verdict(verdict) = it { Some(verdict) } else { None }).await;
    assert_eq!(found.era, Era::Legacy);
    assert_eq!(peer.count("tools/call"), 2, "{:?}", peer.methods());

    let peer = Peer::start(modern).await;
    let mut bed_new = bed(http(&peer.url), |it| it.verdict = Some(verdict(Era::Legacy)));
    bed_new.call("echo", json!({})).await.expect("a result");
    let found = bed_new.news(|it| if let News::Verdict(verdict) = it { Some(verdict) } else { None }).await;
    assert_eq!(found.era, Era::Modern);
    assert_eq!(peer.methods(), ["initialize", "server/discover", "tools/call"]);
}

#[tokio::test]
async fn outages_and_refused_credentials_prove_nothing() {
    for status in [
        "401 Unauthorized",
        "403 Forbidden",
        "500 Internal Server Error",
        "503 Service Unavailable",
        "429 Slow",
    ] {
        let peer = Peer::start(move |_| Reply::status(status)).await;
        let mut bed = bed(http(&peer.url), |_| {});
        bed.discover().await.expect_err("an outage");
        assert_eq!(peer.methods(), ["server/discover"], "{status}");
        let verdict = bed.news(|it| match it {
            News::Verdict(_) => Some(true),
            News::Lost(_) => Some(false),
            _ => None,
        });
        assert!(!verdict.await, "{status}");
    }
}
