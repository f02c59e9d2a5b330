//! Servers that are processes of ours.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use toolgrove_core::Secret;
use toolgrove_core::call::Links;
use toolgrove_core::event::{ListKind, News};
use toolgrove_core::instance::{Era, Transport};

use crate::bed::{bed, call, is_alive, process};
use crate::witness::Witness;

fn stdio(witness: &Witness, flags: &[&str]) -> Transport {
    Transport::Stdio(process(witness, flags))
}

async fn wait_until_gone(pids: &[&str]) {
    let gone = async {
        while pids.iter().any(|it| is_alive(it)) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap_or_else(|_| panic!("{pids:?} live on"));
}

#[tokio::test]
async fn a_legacy_process_is_probed_initialized_and_called() {
    let witness = Witness::new();
    let mut bed = bed(stdio(&witness, &[]), |_| {});
    let discovery = bed.discover().await.expect("a server");
    assert_eq!((discovery.verdict.era, discovery.lists.len()), (Era::Legacy, 1));
    assert_eq!(bed.call("echo", json!({ "a": 1 })).await.expect("a result")["echo"], json!({ "a": 1 }));
    let listed = ["initialize", "notifications/initialized", "tools/list"];
    // The second look is a process of its own.
    let methods = [&["server/discover"][..], &listed, &listed, &["tools/call"]].concat();
    assert_eq!((witness.methods(), witness.starts()), (methods.iter().map(ToString::to_string).collect(), 2));
    assert!(bed.pool.has_feed(bed.instance.id));
    bed.call("change", json!({})).await.expect("a result");
    bed.news(|it| matches!(it, News::ListChanged(ListKind::Tools)).then_some(())).await;
}

#[tokio::test]
async fn a_modern_process_is_called_without_initialize_and_listened_to() {
    let witness = Witness::new();
    let mut bed = bed(stdio(&witness, &["--modern"]), |_| {});
    bed.call("echo", json!({})).await.expect("a result");
    witness.lines.wait_for("a listen", |it| it.contains("subscriptions/listen")).await;
    bed.call("change", json!({})).await.expect("a result");
    bed.news(|it| matches!(it, News::ListChanged(ListKind::Tools)).then_some(())).await;
    assert!(bed.pool.has_feed(bed.instance.id));
    assert!(!witness.methods().contains(&"initialize".to_owned()));
}

#[tokio::test]
async fn a_server_that_exits_on_the_probe_is_started_again_once_and_remembered() {
    let witness = Witness::new();
    let mut bed = bed(stdio(&witness, &["--exit-on-probe"]), |_| {});
    bed.call("echo", json!({})).await.expect("a result");
    assert_eq!(witness.starts(), 2);
    let verdict = bed.news(|it| if let News::Verdict(verdict) = it { Some(verdict) } else { None }).await;
    assert_eq!((verdict.era, verdict.evidence.as_str()), (Era::Legacy, "exited on server/discover"));
}

#[tokio::test]
async fn a_silent_server_is_asked_the_legacy_way_too() {
    let witness = Witness::new();
    let bed = bed(stdio(&witness, &["--silent-probe"]), |_| {});
    bed.call("echo", json!({})).await.expect("a result");
    assert_eq!(witness.methods()[..3], ["server/discover", "initialize", "notifications/initialized"]);
}

#[tokio::test]
async fn lines_that_are_no_messages_are_skipped_until_there_are_too_many() {
    let witness = Witness::new();
    let bed_little = bed(stdio(&witness, &["--garbage"]), |_| {});
    bed_little.call("echo", json!({})).await.expect("a result");
    assert_eq!(bed_little.pool.log_tail(bed_little.instance.id).lines[0], "stdout: Listening on stdio");

    let bed_much = bed(stdio(&witness, &["--endless-garbage"]), |_| {});
    let error = bed_much.call("echo", json!({})).await.expect_err("garbage");
    assert_eq!(
        error.to_string(),
        "`peer` sent something that is not MCP: 100 lines of its output are no messages"
    );
}

#[tokio::test]
async fn a_crash_fails_the_call_with_the_last_words_and_the_next_call_restarts() {
    let witness = Witness::new();
    let mut bed = bed(stdio(&witness, &[]), |_| {});
    let error = bed.call("crash", json!({})).await.expect_err("a crash");
    assert_eq!(error.to_string(), "cannot reach `peer`: the process exited with code 3: boom: out of cheese");
    bed.news(|it| matches!(it, News::Lost(_)).then_some(())).await;
    assert!(!bed.pool.has_feed(bed.instance.id));
    bed.call("echo", json!({})).await.expect("a fresh process");
    assert_eq!(witness.starts(), 2);
    assert_eq!(bed.pool.log_tail(bed.instance.id).lines, ["first line", "boom: out of cheese"]);
    assert_eq!(
        witness.methods().iter().filter(|it| *it == "tools/call").count(),
        2,
        "the crash was not repeated"
    );
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let witness = Witness::new();
    let mut command = process(&witness, &[]);
    command.program = "no-such-program".into();
    let error = bed(Transport::Stdio(command), |_| {}).discover().await.expect_err("nothing to run");
    assert_eq!(
        error.to_string(),
        "cannot reach `peer`: the process exited with code 127: \
         cannot start `no-such-program`: No such file or directory (os error 2)"
    );
}

#[tokio::test]
async fn the_environment_is_ours_then_the_files_then_the_servers() {
    let witness = Witness::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(".env");
    std::fs::write(&file, "FROM_FILE=file\nexport BOTH='file'\n").expect("a file");
    let mut command = process(&witness, &[]);
    command.env = vec![("BOTH".into(), Secret::new("env"))];
    command.env_file = Some(file.clone());
    let here = bed(Transport::Stdio(command.clone()), |_| {});
    for (name, value) in [("FROM_FILE", json!("file")), ("BOTH", json!("env")), ("NOT_SET", json!(null))] {
        assert_eq!(
            here.call("env", json!({ "name": name })).await.expect("a result")["value"],
            value,
            "{name}"
        );
    }
    assert_ne!(here.call("env", json!({ "name": "PATH" })).await.expect("a result")["value"], json!(null));

    std::fs::remove_file(&file).expect("a file");
    let error = bed(Transport::Stdio(command), |_| {}).discover().await.expect_err("no file");
    let expected = format!(
        "cannot reach `peer`: the env file `{}`: No such file or directory (os error 2)",
        file.display()
    );
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_by_name() {
    let witness = Witness::new();
    let bed = bed(stdio(&witness, &[]), |_| {});
    tokio::select! {
        result = bed.call("hang", json!({})) => panic!("{result:?}"),
        _ = witness.lines.wait_for("the call", |it| it.contains("tools/call")) => {}
    }
    let cancelled =
        witness.lines.wait_for("a cancellation", |it| it.contains("notifications/cancelled")).await;
    assert!(cancelled.contains("\"requestId\":3"), "{cancelled}");
    bed.call("echo", json!({})).await.expect("the link works on");
}

#[tokio::test]
async fn progress_logs_and_questions_find_their_way() {
    let witness = Witness::new();
    let bed = bed(stdio(&witness, &[]), |_| {});
    let mut outgoing = call("talk", json!({}));
    outgoing.log_level = Some("info");
    let (result, heard) = bed.listen(outgoing).await;
    result.expect("a result");
    assert_eq!(heard, [r#"progress {"progress":1,"total":2}"#, r#"log {"level":"warning","data":"loud"}"#]);
    let pong = witness.lines.wait_for("a pong", |it| it.contains("\"id\":\"p\"")).await;
    assert_eq!(pong, r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
    let refusal = witness.lines.wait_for("a refusal", |it| it.contains("\"id\":\"r\"")).await;
    assert!(refusal.contains("-32601"), "{refusal}");
    assert!(witness.methods().contains(&"logging/setLevel".to_owned()));
}

#[tokio::test]
async fn a_hundred_first_calls_share_one_process() {
    let witness = Witness::new();
    let bed = bed(stdio(&witness, &[]), |_| {});
    let calls = (0..100).map(|n| {
        let bed = &bed;
        async move {
            let mut outgoing = call("echo", json!({ "n": n }));
            outgoing.chat = format!("chat {n}").into();
            assert_eq!(bed.request(outgoing).await.expect("a result")["echo"]["n"], n);
        }
    });
    futures::future::join_all(calls).await;
    assert_eq!(witness.starts(), 1);
    assert_eq!(witness.methods().iter().filter(|it| *it == "initialize").count(), 1);
}

#[tokio::test]
async fn a_nine_mebibyte_result_arrives_and_an_eleven_mebibyte_one_is_refused() {
    let witness = Witness::new();
    let bed = bed(stdio(&witness, &[]), |_| {});
    let result = bed.call("big", json!({ "bytes": 9 << 20 })).await.expect("a result");
    assert_eq!(result["text"].as_str().map(str::len), Some(9 << 20));
    let error = bed.call("big", json!({ "bytes": 11 << 20 })).await.expect_err("too large");
    assert_eq!(error.code(), "link.too-large");
    bed.call("echo", json!({})).await.expect("the link works on");
    assert_eq!(witness.starts(), 1);
}

#[tokio::test]
async fn closing_a_link_ends_the_process_and_what_it_started() {
    let witness = Witness::new();
    let bed = bed(stdio(&witness, &[]), |_| {});
    let grandchild = bed.call("spawn", json!({})).await.expect("a result")["pid"].to_string();
    assert!(is_alive(&grandchild));
    bed.pool.close(bed.instance.id).await;
    assert!(!is_alive(&grandchild), "close waits until all is over");
    assert!(witness.lines.all().contains(&"eof".to_owned()), "the server could leave by itself");
}

#[tokio::test]
async fn nothing_survives_a_hub_that_is_killed() {
    let witness = Witness::new();
    let mut hub = tokio::process::Command::new(env!("CARGO_BIN_EXE_upstream-peer"))
        .args(["hub", &witness.path(), env!("CARGO_BIN_EXE_upstream-shepherd")])
        .stdin(Stdio::null())
        .spawn()
        .expect("a hub");
    let told = witness.lines.wait_for("the hub", |it| it.starts_with("hub ")).await;
    let server = witness.lines.wait_for("a server", |it| it.starts_with("start ")).await;
    let pids = [&told["hub ".len()..], &server["start ".len()..]];
    assert!(pids.iter().all(|it| is_alive(it)));
    // SIGKILL: no chance to clean up.
    hub.kill().await.expect("a hub");
    wait_until_gone(&pids).await;
}

#[tokio::test]
async fn a_process_that_will_not_leave_is_made_to() {
    let witness = Witness::new();
    let bed = bed(stdio(&witness, &["--stubborn"]), |_| {});
    tokio::select! {
        result = bed.call("echo", json!({})) => panic!("{result:?}"),
        _ = witness.lines.wait_for("a server", |it| it.starts_with("start ")) => {}
    }
    let server = witness.lines.wait_for("a server", |it| it.starts_with("start ")).await;
    // It ignores the end of its stdin and SIGTERM; the opening that waits for it ends with the pool.
    drop(bed);
    witness.lines.wait_for("the end", |it| it == "gone").await;
    wait_until_gone(&[&server["start ".len()..]]).await;
}
