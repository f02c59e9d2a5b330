//! A hub that is killed while it writes.

use std::env;
use std::io::{BufRead as _, BufReader, Write as _, stdout};
use std::process::{Command, Stdio};

use sqlx::sqlite::SqlitePool;
use tempfile::TempDir;
use uuid::Uuid;

use super::place::{entry, pair};
use crate::{CallLog, SecretBox, Store};

/// Set in the child only: the database to write to.
const DATABASE: &str = "TOOLGROVE_TEST_CRASH";

/// The test starts itself as the child that is killed, so that no helper program is needed.
#[test]
fn a_killed_writer_leaves_a_sound_database_with_every_acknowledged_row() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match env::var(DATABASE) {
        Ok(url) => runtime.block_on(write_until_killed(&url)),
        Err(_) => runtime.block_on(kill_and_look()),
    }
}

async fn write_until_killed(url: &str) {
    let store = Store::open(url, SecretBox::in_memory()).await.unwrap();
    let (pair, log) = (pair(&store).await, CallLog::start(&store));
    for n in 0.. {
        let entry = entry(&pair, &format!("server-{n}"));
        store.add_with_instance(&entry).await.unwrap();
        store.replace_tools(entry.instance.id, &tools(entry.instance.id)).await.unwrap();
        let call = super::calls::record(pair.owner, "rain");
        let line = format!("\nstored {} {} {}\n", pair.owner, entry.instance.id, call.id);
        log.record(call);
        log.flush().await;
        stdout().write_all(line.as_bytes()).unwrap();
        stdout().flush().unwrap();
    }
}

fn tools(instance_id: Uuid) -> Vec<crate::ToolRow> {
    (0..20).map(|n| super::tools::tool(instance_id, &format!("t{n}"), n)).collect()
}

async fn kill_and_look() {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite:{}", folder.path().join("toolgrove.db").display());
    let (_, room) = module_path!().split_once("::").unwrap();
    let name = format!("{room}::a_killed_writer_leaves_a_sound_database_with_every_acknowledged_row");
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(DATABASE, &url)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut stored: Vec<[Uuid; 3]> = Vec::new();
    while stored.len() < 40 {
        stored.extend(acknowledged(&lines.next().expect("the writer ended by itself").unwrap()));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    stored.extend(lines.map_while(Result::ok).filter_map(|it| acknowledged(&it)));

    let store = Store::open(&url, SecretBox::in_memory()).await.unwrap();
    for [owner, instance, call] in stored {
        assert!(store.instance(owner, instance).await.unwrap().is_some());
        assert_eq!(store.tools_of(instance).await.unwrap().len(), 20);
        assert!(store.call(owner, call).await.unwrap().is_some());
    }
    for instance in store.all_instances().await.unwrap() {
        let tools = store.tools_of(instance.id).await.unwrap().len();
        assert!(tools == 0 || tools == 20, "half a listing: {tools}");
    }
    store.close().await;
    let pool = SqlitePool::connect(&url).await.unwrap();
    let verdict: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&pool).await.unwrap();
    assert_eq!(verdict, "ok");
}

fn acknowledged(line: &str) -> Option<[Uuid; 3]> {
    let ids = line.strip_prefix("stored ")?;
    let ids: Vec<_> = ids.split(' ').filter_map(|it| Uuid::parse_str(it).ok()).collect();
    ids.try_into().ok()
}
