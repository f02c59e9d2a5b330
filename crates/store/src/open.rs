//! Opening and closing the database behind a [`Store`].

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use crate::SecretBox;
use crate::db::{Db, Sealing, Sql};
use crate::error::{Result, StoreError};
use crate::schema::{MIGRATIONS, migrate};

/// How long a write waits for the others. Whoever waits longest has no right to be next: among many, that takes a while.
const PATIENCE: Duration = Duration::from_secs(20);

/// The hub's memory. Cloning shares the same connections.
#[derive(Clone)]
pub struct Store {
    pub(crate) db: Db,
    pub(crate) secrets: Arc<SecretBox>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.db {
            Db::Sqlite(_) => "Store(SQLite)",
            Db::Postgres(_) => "Store(PostgreSQL)",
        })
    }
}

impl Store {
    /// Opens `sqlite:<path>`, `sqlite::memory:` or `postgres://…`, making or upgrading the tables.
    pub async fn open(url: &str, secrets: SecretBox) -> Result<Self> {
        let db = connect(url).await?;
        migrate(&db, MIGRATIONS).await?;
        Ok(Self { db, secrets: Arc::new(secrets) })
    }

    /// Whether other machines may use the same database.
    pub fn is_shared(&self) -> bool {
        matches!(self.db, Db::Postgres(_))
    }

    /// A transaction that is going to store secrets.
    pub(crate) async fn begin_sealing(&self) -> Result<Sealing> {
        Sealing::begin(&self.db, &self.secrets).await
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        Sql::new("SELECT 1 AS one").first(&self.db, |_| Ok(())).await.map(|_| ())
    }

    /// Makes sure that everything committed outlives a power cut. `false`: somebody was reading, so it may not yet.
    pub(crate) async fn settle(&self) -> Result<bool> {
        if matches!(self.db, Db::Postgres(_)) {
            return Ok(true);
        }
        let folded =
            Sql::new("PRAGMA wal_checkpoint(TRUNCATE)").first(&self.db, |row| row.int("busy")).await?;
        Ok(folded == Some(0))
    }

    /// Waits for running statements, folds SQLite's log into its file and closes every connection.
    pub async fn close(&self) {
        if let Err(error) = self.settle().await {
            tracing::warn!(?error, "could not fold the log into the database file");
        }
        self.db.close().await;
    }
}

/// Opens the database as it is.
pub(crate) async fn connect(url: &str) -> Result<Db> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        return connect_sqlite(path.strip_prefix("//").unwrap_or(path)).await.map_err(StoreError::Open);
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return connect_postgres(url).await.map_err(StoreError::Open);
    }
    Err(StoreError::Url { url: url.to_owned() })
}

async fn connect_postgres(url: &str) -> std::result::Result<Db, sqlx::Error> {
    let options = PgConnectOptions::from_str(url)?;
    // A pool would try again until its time is up and then only say that it was; a single connection says why.
    PgConnection::connect_with(&options).await?.close().await?;
    let pool = PgPoolOptions::new().acquire_timeout(Duration::from_secs(10));
    Ok(Db::Postgres(pool.connect_with(options).await?))
}

async fn connect_sqlite(path: &str) -> std::result::Result<Db, sqlx::Error> {
    let options = SqliteConnectOptions::new()
        .create_if_missing(true)
        .foreign_keys(true)
        .busy_timeout(PATIENCE)
        .synchronous(SqliteSynchronous::Normal);
    let pool = SqlitePoolOptions::new().test_before_acquire(false).idle_timeout(None).max_lifetime(None);
    if path == ":memory:" {
        // Every connection to memory is a database of its own: there must be exactly one, and it must stay.
        return Ok(Db::Sqlite(pool.max_connections(1).connect_with(options.in_memory(true)).await?));
    }
    if let Some(folder) = Path::new(path).parent() {
        tokio::fs::create_dir_all(folder).await?;
    }
    // SQLite gives its log files the permissions of the database.
    let mut file = tokio::fs::OpenOptions::new();
    file.create(true).append(true);
    #[cfg(unix)]
    file.mode(0o600);
    file.open(path).await?;
    let options = options.filename(path).journal_mode(SqliteJournalMode::Wal);
    Ok(Db::Sqlite(pool.max_connections(4).connect_with(options).await?))
}
