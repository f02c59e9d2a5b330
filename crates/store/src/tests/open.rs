//! Addresses, and what opening one leaves behind.

use std::error::Error as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::place::on_sqlite;
use crate::{CallFilter, CallLog, SecretBox, Store, StoreError};

async fn open(url: &str) -> Result<Store, StoreError> {
    Store::open(url, SecretBox::in_memory()).await
}

#[tokio::test]
async fn a_store_in_memory_stays_one_store() {
    let store = open("sqlite::memory:").await.unwrap();
    let solo = store.solo_person().await.unwrap();
    let log = CallLog::start(&store);
    log.record(super::calls::record(solo.person_id, "rain"));
    log.close().await;
    let found = store.clone().calls(solo.person_id, &CallFilter::default()).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(open("sqlite::memory:").await.unwrap().all_servers().await.unwrap(), []);
}

#[test]
fn only_its_owner_reads_the_database_file() {
    on_sqlite(async |place| {
        let store = place.store().await;
        store.solo_person().await.unwrap();
        let path = place.url.strip_prefix("sqlite:").unwrap();
        for file in [path.to_owned(), format!("{path}-wal"), format!("{path}-shm")] {
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{file}");
        }
        store.close().await;
        assert!(!fs::exists(format!("{path}-wal")).unwrap());
    });
}

#[tokio::test]
async fn an_address_of_another_kind_is_refused_with_a_hint() {
    let error = open("mysql://root@localhost/x").await.unwrap_err();
    assert_eq!(error.to_string(), "`mysql://root@localhost/x` is not a database address");
    assert_eq!(error.code(), "store.url");
    assert!(error.hint().is_some());
}

#[tokio::test]
async fn an_error_says_why_but_never_the_password() {
    let error = open("postgres://hub:hunter2@127.0.0.1:1/x").await.unwrap_err();
    let shown = format!("{error} {error:?} {:?}", error.source());
    assert_eq!(error.to_string(), "cannot open the database");
    assert!(shown.contains("ConnectionRefused") && !shown.contains("hunter2"), "{shown}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("text.db");
    fs::write(&path, "this is a letter, not a database, and long enough to be read as one".repeat(20))
        .unwrap();
    let error = open(&format!("sqlite:{}", path.display())).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot open the database");
    assert!(fs::read_to_string(&path).unwrap().starts_with("this is a letter"));
}
