//! From every earlier version to the present one, with nothing lost.

use std::fs;
use std::path::Path;

use sqlx::{Column as _, Row as _};

use super::place::Place;
use crate::cell::Row;
use crate::db::{Db, Sql};
use crate::open::connect;
use crate::schema::{MIGRATIONS, migrate};
use crate::{SecretBox, Store};

on_both!(
    every_earlier_version_keeps_its_rows,
    a_database_from_the_future_is_refused,
    a_failed_upgrade_leaves_the_database_as_it_was,
    opening_twice_changes_nothing,
);

/// Rows for the tables that each version brought, in the words of that version. A new migration adds its own.
const ROWS: &[&str] = &[
    include_str!("rows/0001.sql"),
    include_str!("rows/0002.sql"),
    include_str!("rows/0003.sql"),
    include_str!("rows/0004.sql"),
    include_str!("rows/0005.sql"),
    include_str!("rows/0006.sql"),
    include_str!("rows/0007.sql"),
    include_str!("rows/0008.sql"),
    include_str!("rows/0009.sql"),
    include_str!("rows/0010.sql"),
    include_str!("rows/0011.sql"),
];

async fn every_earlier_version_keeps_its_rows(place: Place) {
    assert_eq!(ROWS.len(), MIGRATIONS.len(), "a migration brings rows for its test");
    for version in 0..=MIGRATIONS.len() {
        let url = fresh(&place, version).await;
        let db = connect(&url).await.unwrap();
        migrate(&db, &MIGRATIONS[..version]).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        for rows in &ROWS[..version] {
            tx.script(rows).await.unwrap();
        }
        tx.commit().await.unwrap();
        let tables: Vec<&str> = MIGRATIONS[..version].iter().flat_map(|text| tables(text)).collect();
        let mut before = Vec::new();
        for table in &tables {
            let columns = columns(&db, table).await;
            before.push((table, dump(&db, table, &columns).await, columns));
        }
        close(db).await;

        let store = Store::open(&url, SecretBox::in_memory()).await.unwrap();
        for (table, rows, columns) in before {
            assert!(!rows.is_empty(), "no row for `{table}`");
            assert_eq!(dump(&store.db, table, &columns).await, rows, "`{table}` since version {version}");
        }
        store.solo_person().await.unwrap();
        store.close().await;
    }
}

async fn a_database_from_the_future_is_refused(place: Place) {
    let store = place.store().await;
    let next = MIGRATIONS.len() as i64 + 1;
    let sql = Sql::new("INSERT INTO schema_versions (version, created_at) VALUES ($1, 0)");
    sql.bind(next).run(&store.db).await.unwrap();
    let known = MIGRATIONS.len();
    assert_eq!(
        place.try_store().await.unwrap_err().to_string(),
        format!("the database has version {next}, this Toolgrove knows versions up to {known}")
    );
}

async fn a_failed_upgrade_leaves_the_database_as_it_was(place: Place) {
    let broken: &[&str] = Box::leak(Box::new([MIGRATIONS[0], "CREATE TABLE half (id TEXT); CREATE TABEL x"]));
    let db = connect(&place.url).await.unwrap();
    let error = migrate(&db, broken).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot bring the database to version 2");
    assert!(Sql::new("SELECT * FROM half").run(&db).await.is_err());
    close(db).await;
    place.store().await.solo_person().await.unwrap();
}

async fn opening_twice_changes_nothing(place: Place) {
    let solo = place.store().await.solo_person().await.unwrap();
    let store = place.store().await;
    store.ping().await.unwrap();
    assert_eq!(store.solo_person().await.unwrap(), solo);
}

#[test]
fn migrations_only_add() {
    for text in MIGRATIONS {
        // What a trigger does later is not what the migration does.
        let triggers = |line: &&str| line.starts_with("-- only ");
        let end = text.lines().position(|it| triggers(&it)).unwrap_or(usize::MAX);
        let lines = text.lines().enumerate().filter(|(at, _)| *at < end).map(|it| it.1);
        let code: String = lines.filter(|it| !it.trim_start().starts_with("--")).collect();
        let code = code.to_uppercase();
        for taking in ["DROP", "ALTER COLUMN", "RENAME", "TRUNCATE", "DELETE FROM"] {
            assert!(!code.contains(taking), "a migration must not {taking}");
        }
    }
}

#[test]
fn every_migration_file_is_built_in_and_numbered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), MIGRATIONS.len());
    for (number, (file, text)) in files.iter().zip(MIGRATIONS).enumerate() {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&format!("{:04}_", number + 1)), "`{name}` is not number {}", number + 1);
        assert_eq!(fs::read_to_string(file).unwrap(), *text, "`{name}` is not in its place");
    }
}

/// An address of its own for each version: another file, or the schema made empty again.
async fn fresh(place: &Place, version: usize) -> String {
    if place.url.starts_with("sqlite:") {
        return format!("{}-{version}", place.url);
    }
    let db = connect(&place.url).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let empty = "DO $$ DECLARE it text := current_schema();
        BEGIN EXECUTE format('DROP SCHEMA %I CASCADE', it); EXECUTE format('CREATE SCHEMA %I', it); END $$";
    tx.script(empty).await.unwrap();
    tx.commit().await.unwrap();
    close(db).await;
    place.url.clone()
}

fn tables(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter_map(|it| it.strip_prefix("CREATE TABLE ")?.split([' ', '(']).next())
}

async fn columns(db: &Db, table: &str) -> Vec<String> {
    let sql = Sql::new(String::leak(format!("SELECT * FROM {table}")));
    let names = sql.first(db, |row| {
        Ok(match row {
            Row::Sqlite(row) => row.columns().iter().map(|it| it.name().to_owned()).collect(),
            Row::Postgres(row) => row.columns().iter().map(|it| it.name().to_owned()).collect(),
        })
    });
    names.await.unwrap().unwrap_or_default()
}

async fn dump(db: &Db, table: &str, columns: &[String]) -> Vec<Vec<Option<String>>> {
    let list: Vec<_> = columns.iter().map(|it| format!("CAST({it} AS TEXT) AS {it}")).collect();
    let sql = Sql::new(String::leak(format!("SELECT {} FROM {table}", list.join(", "))));
    let mut rows = sql.all(db, |row| columns.iter().map(|it| row.maybe_text(it)).collect()).await.unwrap();
    rows.sort();
    rows
}

async fn close(db: Db) {
    match db {
        Db::Sqlite(pool) => pool.close().await,
        Db::Postgres(pool) => pool.close().await,
    }
}
