//! Servers behind a unix socket, in lines and over HTTP.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixListener;
use toolgrove_core::instance::{Transport, UnixFraming, UnixReach};
use toolgrove_core::task::spawn;

use crate::bed::bed;
use crate::peer::{Peer, legacy, modern};
use crate::witness::Record;

fn unix(folder: &tempfile::TempDir, framing: UnixFraming) -> (Transport, UnixListener) {
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).expect("a socket");
    (Transport::Unix(UnixReach { path, framing, headers: Vec::new() }), listener)
}

#[tokio::test]
async fn http_over_a_socket_works_in_both_eras() {
    for script in [legacy, modern] {
        let folder = tempfile::tempdir().expect("a folder");
        let (transport, listener) = unix(&folder, UnixFraming::Http { path: "/sub".into() });
        let peer = Peer::start_unix(listener, script);
        let bed = bed(transport, |_| {});
        bed.discover().await.expect("a server");
        bed.call("echo", json!({})).await.expect("a result");
        assert!(peer.seen.all().iter().all(|it| it.path == "/sub"));
    }
}

#[tokio::test]
async fn lines_over_a_socket_work_and_a_message_never_spans_two() {
    let folder = tempfile::tempdir().expect("a folder");
    let (transport, listener) = unix(&folder, UnixFraming::Lines);
    let lines = Record::new();
    let record = lines.clone();
    spawn("socket-peer", async move {
        let (stream, _) = listener.accept().await.expect("a client");
        let (reader, mut writer) = stream.into_split();
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).expect("JSON");
            record.push(line);
            if message["id"].is_null() {
                continue;
            }
            let answer = match message["method"].as_str() {
                Some("server/discover") => json!({ "error": { "code": -32601, "message": "no" } }),
                Some("initialize") => {
                    json!({ "result": { "protocolVersion": "2025-06-18", "capabilities": {} } })
                }
                _ => json!({ "result": { "echo": message["params"]["arguments"] } }),
            };
            let mut answer = answer;
            answer["jsonrpc"] = json!("2.0");
            answer["id"] = message["id"].clone();
            writer.write_all(format!("{answer}\n").as_bytes()).await.expect("a client");
        }
    });
    let bed = bed(transport, |_| {});
    let mut outgoing = crate::bed::call("echo", json!({}));
    outgoing.params =
        toolgrove_wire::Raw::parse("{\n \"name\": \"echo\",\r\n \"arguments\": {\"a\": \"x\\ny\"}\n}")
            .expect("JSON")
            .into();
    assert_eq!(bed.request(outgoing).await.expect("a result")["echo"]["a"], "x\ny");
    assert_eq!(lines.all().len(), 4);
}

#[tokio::test]
async fn a_socket_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (transport, listener) = unix(&folder, UnixFraming::Lines);
    drop(listener);
    std::fs::remove_file(folder.path().join("s")).expect("a socket");
    let error = bed(transport, |_| {}).call("echo", json!({})).await.expect_err("nobody there").to_string();
    assert!(error.ends_with("/s`: No such file or directory (os error 2)"), "{error}");
}
