//! New keys: every secret gets one, nothing is lost on the way, wherever the way ends.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _, stdout};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::{env, iter};

use tempfile::TempDir;
use toolgrove_core::{Secret, task};
use uuid::Uuid;

use super::place::{Place, entry, pair, stored_instance};
use crate::db::Sql;
use crate::schema::MIGRATIONS;
use crate::sealed::{Moment, OldKeys, SEALED};
use crate::{SecretBox, Store, StoreError};

on_both!(
    a_rotation_gives_every_secret_a_new_key_and_drops_the_old_one,
    a_rotation_cut_short_anywhere_loses_nothing_and_the_next_one_finishes_it,
    a_rotation_leaves_what_it_cannot_read_and_says_so,
    a_store_that_did_not_rotate_goes_on_reading_and_writing,
    secrets_stored_while_keys_are_rotated_stay_readable,
    a_key_that_a_row_still_needs_is_not_dropped,
);

/// A few secrets in each sealed column.
struct Kept {
    instances: Vec<Uuid>,
    seal_keys: Vec<(String, [u8; 32])>,
}

async fn keep(store: &Store) -> Kept {
    let pair = pair(store).await;
    let mut instances = Vec::new();
    for name in ["a", "b"] {
        let id = stored_instance(store, &pair, name).await.id;
        store.put_credentials(id, credentials(id)).await.unwrap();
        instances.push(id);
    }
    Kept { instances, seal_keys: store.seal_keys().await.unwrap() }
}

fn credentials(id: Uuid) -> Vec<(String, Secret)> {
    vec![("X-Key".into(), Secret::new(format!("one-{id}"))), ("k".into(), Secret::new(format!("two-{id}")))]
}

impl Kept {
    async fn check(&self, store: &Store) {
        for id in &self.instances {
            assert_eq!(store.credentials_of(*id).await.unwrap(), credentials(*id));
        }
        assert_eq!(store.seal_keys().await.unwrap(), self.seal_keys);
    }
}

async fn stored(store: &Store) -> Vec<String> {
    let mut values = Vec::new();
    for it in SEALED {
        let sql = Sql::made(format!("SELECT {0} FROM {1} WHERE {0} IS NOT NULL", it.column, it.table));
        values.extend(sql.all(&store.db, |row| row.text(it.column)).await.unwrap());
    }
    values
}

async fn a_rotation_gives_every_secret_a_new_key_and_drops_the_old_one(place: Place) {
    let store = place.store().await;
    let kept = keep(&store).await;
    let (before, file) = (stored(&store).await, fs::read_to_string(place.key_file()).unwrap());
    let rotated = store.rotate_key().await.unwrap();
    assert_eq!((rotated.resealed, rotated.unreadable, rotated.old_keys), (5, 0, OldKeys::Gone));
    assert!(!store.has_old_keys().unwrap());
    kept.check(&store).await;
    kept.check(&place.store().await).await;
    let after = fs::read_to_string(place.key_file()).unwrap();
    assert_eq!(after.lines().count(), 1);
    assert_ne!(after, file);
    let values = stored(&store).await;
    assert!(values.iter().all(|it| !before.contains(it)));
    let old = Store::open(&place.url, SecretBox::load_or_create(&place.write_key("old", &file)).unwrap());
    let lost = old.await.unwrap().credentials_of(kept.instances[0]).await.unwrap_err();
    assert!(matches!(lost, StoreError::Sealed { .. }), "the old key opens nothing any more: {lost}");
}

async fn a_rotation_cut_short_anywhere_loses_nothing_and_the_next_one_finishes_it(place: Place) {
    let kept = keep(&place.store().await).await;
    for end in [Moment::NewKeyWritten, Moment::RowsSealed, Moment::RowsCommitted, Moment::OldKeysGone] {
        let store = place.store().await;
        let cut = store.rotate_key_watched(|at| {
            if at == end { Err(StoreError::SlugTaken { slug: "-".into() }) } else { Ok(()) }
        });
        cut.await.unwrap_err();
        kept.check(&store).await;
        let store = place.store().await;
        assert_eq!(store.has_old_keys().unwrap(), end != Moment::OldKeysGone, "{end:?}");
        kept.check(&store).await;
        let rotated = store.rotate_key().await.unwrap();
        assert_eq!((rotated.resealed, rotated.old_keys), (5, OldKeys::Gone), "{end:?}");
        kept.check(&place.store().await).await;
    }
}

async fn a_rotation_leaves_what_it_cannot_read_and_says_so(place: Place) {
    let store = place.store().await;
    let kept = keep(&store).await;
    let other = SecretBox::in_memory().seal("elsewhere", &Secret::new("x"));
    let sql = Sql::new("UPDATE credentials SET value_enc = $1 WHERE instance_id = $2 AND key = 'k'");
    sql.bind(&other).bind(kept.instances[0]).run(&store.db).await.unwrap();
    let rotated = store.rotate_key().await.unwrap();
    assert_eq!((rotated.resealed, rotated.unreadable, rotated.old_keys), (4, 1, OldKeys::Gone));
    assert!(stored(&store).await.contains(&other));
    assert_eq!(store.credentials_of(kept.instances[1]).await.unwrap(), credentials(kept.instances[1]));
}

async fn a_store_that_did_not_rotate_goes_on_reading_and_writing(place: Place) {
    let (here, there) = (place.store().await, place.store().await);
    let kept = keep(&there).await;
    here.rotate_key().await.unwrap();
    kept.check(&there).await;
    here.rotate_key().await.unwrap();
    let id = kept.instances[0];
    there.put_credentials(id, credentials(id)).await.unwrap();
    kept.check(&here).await;
    kept.check(&place.store().await).await;
}

async fn secrets_stored_while_keys_are_rotated_stay_readable(place: Place) {
    let (here, there) = (place.store().await, place.store().await);
    let kept = keep(&here).await;
    let ids = kept.instances.clone();
    let writer = task::spawn("writer", async move {
        for id in iter::repeat_n(ids, 20).flatten() {
            there.put_credentials(id, credentials(id)).await.unwrap();
        }
    });
    while !writer.is_finished() {
        here.rotate_key().await.unwrap();
        tokio::task::yield_now().await;
    }
    writer.await.unwrap();
    kept.check(&here).await;
    kept.check(&place.store().await).await;
}

/// Another process may be killed in its rotation between our last row and our last look at the file.
async fn a_key_that_a_row_still_needs_is_not_dropped(place: Place) {
    let (here, there) = (place.store().await, place.store().await);
    let kept = keep(&here).await;
    let other = Mutex::new(Some(there));
    here.rotate_key_watched(|at| {
        if at == Moment::RowsCommitted {
            other.lock().unwrap().take().unwrap().secrets.renew().unwrap();
        }
        Ok(())
    })
    .await
    .unwrap();
    assert!(here.has_old_keys().unwrap());
    kept.check(&place.store().await).await;
}

#[test]
fn every_sealed_column_of_the_schema_is_in_the_list() {
    let mut found = Vec::new();
    let mut table = "";
    for line in MIGRATIONS.iter().flat_map(|it| it.lines()).map(str::trim) {
        for head in ["CREATE TABLE ", "ALTER TABLE "] {
            if let Some(rest) = line.strip_prefix(head) {
                table = rest.split([' ', '(']).next().unwrap();
            }
        }
        if !line.starts_with("--") {
            let columns =
                line.split(|it: char| !it.is_alphanumeric() && it != '_').filter(|it| it.ends_with("_enc"));
            found.extend(columns.map(|it| (table, it)));
        }
    }
    let mut listed: Vec<_> = SEALED.iter().map(|it| (it.table, it.column)).collect();
    found.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, found);
}

/// Set in the child only: the folder to work in.
const FOLDER: &str = "TOOLGROVE_TEST_ROTATION";

/// The test starts itself as the child that is killed, again and again on the same files.
#[test]
fn a_process_killed_while_it_rotates_leaves_every_secret_readable() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match env::var(FOLDER) {
        Ok(folder) => runtime.block_on(rotate_until_killed(&folder)),
        Err(_) => runtime.block_on(kill_and_look()),
    }
}

async fn open(folder: &str) -> Store {
    let secrets = SecretBox::load_or_create(format!("{folder}/secret.key").as_ref()).unwrap();
    Store::open(&format!("sqlite:{folder}/toolgrove.db"), secrets).await.unwrap()
}

async fn rotate_until_killed(folder: &str) {
    let store = open(folder).await;
    loop {
        store.rotate_key().await.unwrap();
        stdout().write_all(b"\nrotated\n").unwrap();
        stdout().flush().unwrap();
    }
}

async fn kill_and_look() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().to_str().unwrap();
    let store = open(path).await;
    let pair = pair(&store).await;
    let mut kept = Kept { instances: Vec::new(), seal_keys: store.seal_keys().await.unwrap() };
    for n in 0..20 {
        let entry = entry(&pair, &format!("s{n}"));
        store.add_with_instance(&entry).await.unwrap();
        store.put_credentials(entry.instance.id, credentials(entry.instance.id)).await.unwrap();
        kept.instances.push(entry.instance.id);
    }
    store.close().await;
    let (_, room) = module_path!().split_once("::").unwrap();
    let name = format!("{room}::a_process_killed_while_it_rotates_leaves_every_secret_readable");
    for round in 0..6 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", &name, "--nocapture"])
            .env(FOLDER, path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        lines.by_ref().map_while(Result::ok).find(|it| it == "rotated").expect("the child rotates");
        // Each round ends at another point of a rotation. Whenever somebody looks, the key file is whole.
        for _ in 0..round * 200 {
            SecretBox::load_or_create(&folder.path().join("secret.key")).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let store = open(path).await;
        kept.check(&store).await;
        store.close().await;
    }
}
