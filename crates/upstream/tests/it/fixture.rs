//! The fixture server, which reads the specification by itself: every HTTP kind and era as a caller sees them.

use serde_json::{Value, json};
use toolgrove_core::call::Links;
use toolgrove_core::event::{ListKind, News};
use toolgrove_core::instance::{self, Transport, UnixFraming, UnixReach};
use toolgrove_fixture::{Era, Fixture, Kind, Options, Running};

use crate::bed::{Bed, bed, call, http, reach};

async fn start(
    kind: Kind,
    era: Era,
    change: impl FnOnce(&mut Options),
) -> (Running, Bed, Option<tempfile::TempDir>) {
    let mut options = Options { kind, era, ..Options::default() };
    let folder = (kind == Kind::UnixHttp).then(|| tempfile::tempdir().expect("a folder"));
    options.path = folder.as_ref().map(|it| it.path().join("s"));
    change(&mut options);
    let running = Fixture::start(options).await.expect("a fixture");
    let transport = match kind {
        Kind::Sse => Transport::Sse(reach(&running.url())),
        Kind::UnixHttp => Transport::Unix(UnixReach {
            path: running.url().into(),
            framing: UnixFraming::Http { path: "/mcp".into() },
            headers: Vec::new(),
        }),
        _ => http(&running.url()),
    };
    (running, bed(transport, |_| {}), folder)
}

#[tokio::test]
async fn every_kind_in_every_era_is_listed_and_called() {
    for (kind, era, found) in [
        (Kind::Http, Era::Legacy, instance::Era::Legacy),
        (Kind::Http, Era::Modern, instance::Era::Modern),
        (Kind::Http, Era::Dual, instance::Era::Modern),
        (Kind::Sse, Era::Legacy, instance::Era::Legacy),
        (Kind::UnixHttp, Era::Legacy, instance::Era::Legacy),
        (Kind::UnixHttp, Era::Modern, instance::Era::Modern),
    ] {
        let (_running, bed, _folder) = start(kind, era, |it| it.page_size = Some(3)).await;
        let discovery = bed.discover().await.expect("a server");
        assert_eq!(discovery.verdict.era, found, "{kind:?} {era:?}");
        for (list, items) in &discovery.lists {
            let items = items.as_ref().expect("a list");
            assert!(!items.is_empty(), "{kind:?} {era:?} {list:?}");
        }
        let (result, heard) = bed.listen(call("test_tool_with_progress", json!({}))).await;
        result.expect("a result");
        assert_eq!(heard.len(), 3, "{kind:?} {era:?}: {heard:?}");
        let mut outgoing = call("test_tool_with_logging", json!({}));
        outgoing.log_level = Some("info");
        let (result, heard) = bed.listen(outgoing).await;
        result.expect("a result");
        assert_eq!(heard.len(), 3, "{kind:?} {era:?}: {heard:?}");
    }
}

#[tokio::test]
async fn a_server_that_restarted_is_used_as_if_nothing_had_happened() {
    for era in [Era::Legacy, Era::Modern] {
        let (mut running, bed, _) = start(Kind::Http, era, |_| {}).await;
        bed.call("test_simple_text", json!({})).await.expect("a result");
        running.restart().await.expect("the same port");
        bed.call("test_simple_text", json!({})).await.expect("a result");
    }
}

#[tokio::test]
async fn a_stream_the_server_cuts_on_purpose_is_resumed() {
    let (running, bed, _) = start(Kind::Http, Era::Legacy, |_| {}).await;
    bed.call("test_reconnection", json!({})).await.expect("a result");
    assert_eq!(running.methods().iter().filter(|it| *it == "tools/call").count(), 1);
}

#[tokio::test]
async fn a_changed_list_is_heard_of_in_both_eras() {
    for era in [Era::Legacy, Era::Modern] {
        let (_running, mut bed, _) = start(Kind::Http, era, |it| it.late_list_changed = Some(50)).await;
        bed.discover().await.expect("a server");
        bed.news(|it| matches!(it, News::ListChanged(ListKind::Tools)).then_some(())).await;
        assert!(bed.pool.has_feed(bed.instance.id), "{era:?}");
    }
}

#[tokio::test]
async fn a_missing_header_asks_for_a_reconnect_in_both_eras() {
    for era in [Era::Legacy, Era::Modern] {
        let required = "x-api-key=other".parse().expect("a header");
        let (_running, bed, _) = start(Kind::Http, era, |it| it.require_header = vec![required]).await;
        assert_eq!(bed.discover().await.expect_err("refused").code(), "instance.needs-reauth", "{era:?}");
    }
}

#[tokio::test]
async fn arguments_arrive_and_results_return_byte_for_byte() {
    let (running, bed, _) = start(Kind::Http, Era::Modern, |_| {}).await;
    let mut outgoing = call("test_simple_text", Value::Null);
    let params =
        "{\"name\": \"test_simple_text\", \"arguments\":{ \"n\":12345678901234567890123,  \"e\":1e400 }}";
    outgoing.params = toolgrove_wire::Raw::parse(params).expect("JSON").into();
    bed.request(outgoing).await.expect("a result");
    let sent = running.log().pop().expect("a call").body;
    assert!(sent.contains("\"arguments\":{ \"n\":12345678901234567890123,  \"e\":1e400 },"), "{sent}");
}
