//! A database of a test's own, gone when the test ends.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use toolgrove_core::call::Role;
use uuid::Uuid;

use crate::{Entry, InstanceRow, SecretBox, ServerRow, Store};

pub(crate) struct Place {
    pub(crate) url: String,
    folder: TempDir,
}

impl Place {
    /// Opens the store. A second one shares database and key file, as after a restart.
    pub(crate) async fn store(&self) -> Store {
        self.try_store().await.unwrap()
    }

    pub(crate) async fn try_store(&self) -> Result<Store, crate::StoreError> {
        Store::open(&self.url, SecretBox::load_or_create(&self.key_file())?).await
    }

    pub(crate) fn key_file(&self) -> PathBuf {
        self.folder.path().join("secret.key")
    }

    /// Another key file, with this text.
    pub(crate) fn write_key(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

pub(crate) fn on_sqlite<F: Future<Output = ()>>(body: impl FnOnce(Place) -> F) {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite:{}", folder.path().join("data/toolgrove.db").display());
    runtime().block_on(body(Place { url, folder }));
}

pub(crate) fn on_postgres<F: Future<Output = ()>>(body: impl FnOnce(Place) -> F) {
    let Ok(address) = env::var("TOOLGROVE_TEST_POSTGRES") else {
        panic!("these tests need PostgreSQL: run them with `cargo xtask test`");
    };
    let schema = format!("t_{}", Uuid::now_v7().simple());
    let separator = if address.contains('?') { '&' } else { '?' };
    let url = format!("{address}{separator}options=-csearch_path%3D{schema}");
    let runtime = runtime();
    runtime.block_on(administer(&address, format!("CREATE SCHEMA {schema}")));
    let place = Place { url, folder: TempDir::new().unwrap() };
    let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(body(place))));
    runtime.block_on(administer(&address, format!("DROP SCHEMA {schema} CASCADE")));
    if let Err(panic) = outcome {
        resume_unwind(panic);
    }
}

async fn administer(address: &str, statement: String) {
    let mut connection = PgConnection::connect(address).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Two people who share a workspace.
pub(crate) struct Pair {
    pub(crate) owner: Uuid,
    pub(crate) stranger: Uuid,
    pub(crate) workspace: Uuid,
}

pub(crate) async fn pair(store: &Store) -> Pair {
    let workspace = store.add_workspace("team", "beta").await.unwrap();
    let owner = store.add_person(None, "owner", Role::Member, &[workspace]).await.unwrap();
    let stranger = store.add_person(None, "stranger", Role::Member, &[workspace]).await.unwrap();
    Pair { owner, stranger, workspace }
}

/// A private server of `owner` with one instance, not stored yet.
pub(crate) fn entry(pair: &Pair, name: &str) -> Entry {
    let mut server = ServerRow::new(name, "streamable_http", "https://example.com/mcp", "paste");
    server.workspace_id = Some(pair.workspace);
    server.owner_id = Some(pair.owner);
    let instance = InstanceRow::new(pair.owner, server.id, name);
    Entry { server, auth_config: None, instance, credentials: Vec::new() }
}

/// The same, stored; the instance comes back.
pub(crate) async fn stored_instance(store: &Store, pair: &Pair, name: &str) -> InstanceRow {
    let entry = entry(pair, name);
    store.add_with_instance(&entry).await.unwrap();
    entry.instance
}
