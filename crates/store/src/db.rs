//! The one place that knows there are two databases.
//!
//! A [`Sql`] is a text with its values; it runs on a pool or inside a transaction of either database. Rows come
//! back as [`Row`], read by column name. Every other file writes one SQL text that both understand.

use std::cell::Cell;
use std::fmt::Write as _;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use sqlx::{AssertSqlSafe, PgPool, Postgres, Sqlite, SqlitePool, Transaction};
use toolgrove_core::Secret;

use crate::SecretBox;
use crate::cell::{self, Row, Value};
use crate::error::Result;

tokio::task_local! {
    static QUERIES: Cell<usize>;
}

/// Does some work and counts the statements it runs: for tests of what an answer gives away.
pub async fn counted<T>(work: impl Future<Output = T>) -> (T, usize) {
    QUERIES.scope(Cell::new(0), async { (work.await, QUERIES.with(Cell::get)) }).await
}

/// An open database.
#[derive(Debug, Clone)]
pub(crate) enum Db {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// A transaction. Dropped without [`Tx::commit`], it leaves nothing behind.
pub(crate) enum Tx {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

impl Db {
    /// The same file over one connection of its own, opened when it is first needed. What a connection knows of a file
    /// is worth nothing once another has written to it: whoever writes all the time should write over the same.
    pub(crate) fn apart(&self) -> Option<Self> {
        let Self::Sqlite(pool) = self else { return None };
        // A database in memory has one connection and is gone with it.
        let options = pool.options().clone();
        (options.get_max_connections() > 1).then(|| {
            // Whoever only adds needs little of the file at hand, in KiB.
            let connect = (*pool.connect_options()).clone().pragma("cache_size", "-512");
            // Calls that share a core with it wait while what it has written is moved to its place: 16 MB at a time, so
            // that few of them do.
            let connect = connect.pragma("wal_autocheckpoint", "4000");
            Self::Sqlite(options.max_connections(1).connect_lazy_with(connect))
        })
    }

    /// Has a connection forget what it knows of the file. With several, only one of them does.
    pub(crate) async fn shrink(&self) -> Result<()> {
        match self {
            Self::Sqlite(_) => Sql::new("PRAGMA shrink_memory").run(self).await.map(drop),
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Waits for running statements and closes every connection.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }

    /// Starts a transaction that is going to write.
    pub(crate) async fn begin(&self) -> Result<Tx> {
        Ok(match self {
            // Taking the write lock at once lets SQLite wait its turn; a transaction that reads first and then
            // wants to write would be refused instead.
            Self::Sqlite(pool) => Tx::Sqlite(pool.begin_with("BEGIN IMMEDIATE").await?),
            Self::Postgres(pool) => Tx::Postgres(pool.begin().await?),
        })
    }
}

impl Tx {
    pub(crate) async fn commit(self) -> Result<()> {
        match self {
            Self::Sqlite(tx) => tx.commit().await?,
            Self::Postgres(tx) => tx.commit().await?,
        }
        Ok(())
    }

    /// Keeps other processes out of set-up until this transaction ends. SQLite writers exclude each other anyway.
    pub(crate) async fn lock_setup(&mut self) -> Result<()> {
        if let Self::Postgres(tx) = self {
            sqlx::query("SELECT pg_advisory_xact_lock(7430)").execute(&mut **tx).await?;
        }
        Ok(())
    }

    /// Lets several store secrets at once and one replace the key, never both. SQLite writers exclude each other anyway.
    async fn lock_key(&mut self, lock: &'static str) -> Result<()> {
        if let Self::Postgres(tx) = self {
            sqlx::query(lock).execute(&mut **tx).await?;
        }
        Ok(())
    }

    /// Runs a script of several statements. What follows a line `-- only sqlite` or `-- only postgres`, up to the next
    /// such line or `-- both`, is run by that database alone.
    pub(crate) async fn script(&mut self, text: &'static str) -> std::result::Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(tx) => sqlx::raw_sql(part(text, "sqlite")).execute(&mut **tx).await.map(|_| ()),
            Self::Postgres(tx) => sqlx::raw_sql(part(text, "postgres")).execute(&mut **tx).await.map(|_| ()),
        }
    }
}

/// What of a script is for one database.
fn part(text: &str, database: &str) -> AssertSqlSafe<String> {
    let mut of = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("-- only "), line) {
            (Some(named), _) => of = Some(named.trim()),
            (None, "-- both") => of = None,
            _ if of.is_none_or(|it| it == database) => lines.push(line),
            _ => {}
        }
    }
    AssertSqlSafe(lines.join("\n"))
}

/// A transaction that stores secrets. While a key is replaced there is none, so nothing is sealed with an old key once
/// every row has the new one.
pub(crate) struct Sealing {
    tx: Tx,
    secrets: Arc<SecretBox>,
}

impl Sealing {
    pub(crate) async fn begin(db: &Db, secrets: &Arc<SecretBox>) -> Result<Self> {
        let mut tx = db.begin().await?;
        tx.lock_key("SELECT pg_advisory_xact_lock_shared(7431)").await?;
        // Another process may have put a new key first.
        secrets.reread()?;
        Ok(Self { tx, secrets: secrets.clone() })
    }

    /// While it lasts, nobody else seals anything.
    pub(crate) async fn alone(db: &Db, secrets: &Arc<SecretBox>) -> Result<Self> {
        let mut tx = db.begin().await?;
        tx.lock_key("SELECT pg_advisory_xact_lock(7431)").await?;
        secrets.reread()?;
        Ok(Self { tx, secrets: secrets.clone() })
    }

    /// Seals a secret for one place, such as `credentials/<instance>/<key>`.
    pub(crate) fn seal(&self, context: &str, secret: &Secret) -> String {
        self.secrets.seal(context, secret)
    }

    pub(crate) async fn commit(self) -> Result<()> {
        self.tx.commit().await
    }
}

impl Deref for Sealing {
    type Target = Tx;

    fn deref(&self) -> &Tx {
        &self.tx
    }
}

impl DerefMut for Sealing {
    fn deref_mut(&mut self) -> &mut Tx {
        &mut self.tx
    }
}

/// Where a statement runs.
pub(crate) enum On<'a> {
    Db(&'a Db),
    Tx(&'a mut Tx),
}

impl<'a> From<&'a Db> for On<'a> {
    fn from(db: &'a Db) -> Self {
        Self::Db(db)
    }
}

impl<'a> From<&'a mut Tx> for On<'a> {
    fn from(tx: &'a mut Tx) -> Self {
        Self::Tx(tx)
    }
}

/// A statement with its values, `$1` being the first.
pub(crate) struct Sql {
    text: Text,
    values: Vec<Value>,
    /// Whether it comes again often enough to be worth preparing once.
    keep: bool,
}

enum Text {
    Whole(String),
    /// `INSERT` of as many rows as there are values for.
    Rows {
        head: &'static str,
        columns: usize,
        tail: &'static str,
    },
}

/// Runs `$body` with `$query` and `$place` of the database at hand: the one match over databases and places.
macro_rules! run {
    ($sql:expr, $on:expr, |$query:ident, $place:ident| $body:expr) => {{
        let Sql { text, values, keep } = $sql;
        let _ = QUERIES.try_with(|it| it.set(it.get() + 1));
        match $on.into() {
            On::Db(Db::Sqlite($place)) => {
                let text = text.for_sqlite(values.len());
                let $query = sqlx::query_with(text, cell::sqlite(values)?).persistent(keep);
                $body
            }
            On::Db(Db::Postgres($place)) => {
                let text = text.for_postgres(values.len());
                let $query = sqlx::query_with(text, cell::postgres(values)?).persistent(keep);
                $body
            }
            On::Tx(Tx::Sqlite(tx)) => {
                let ($place, text) = (&mut **tx, text.for_sqlite(values.len()));
                let $query = sqlx::query_with(text, cell::sqlite(values)?).persistent(keep);
                $body
            }
            On::Tx(Tx::Postgres(tx)) => {
                let ($place, text) = (&mut **tx, text.for_postgres(values.len()));
                let $query = sqlx::query_with(text, cell::postgres(values)?).persistent(keep);
                $body
            }
        }
    }};
}

impl Sql {
    pub(crate) fn new(text: &'static str) -> Self {
        Self::made(text.to_owned())
    }

    /// One statement in the words of each database, with the same values.
    pub(crate) fn either(db: &Db, sqlite: &'static str, postgres: &'static str) -> Self {
        match db {
            Db::Sqlite(_) => Self::new(sqlite),
            Db::Postgres(_) => Self::new(postgres),
        }
    }

    /// A statement put together from names of our own schema.
    pub(crate) fn made(text: String) -> Self {
        Self { text: Text::Whole(text), values: Vec::new(), keep: true }
    }

    /// `INSERT` of several rows at once: `head` up to the column list, `tail` after the rows.
    pub(crate) fn insert<const N: usize>(
        head: &'static str,
        rows: impl IntoIterator<Item = [Value; N]>,
        tail: &'static str,
    ) -> Self {
        let values = rows.into_iter().flatten().collect();
        // Statements of varying length would push the others out of the cache.
        Self { text: Text::Rows { head, columns: N, tail }, values, keep: false }
    }

    /// Has an `INSERT` of several rows prepared once: for numbers of rows that come again.
    pub(crate) fn kept(self) -> Self {
        Self { keep: true, ..self }
    }

    pub(crate) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Appends ` AND <condition> $n`.
    pub(crate) fn and(self, condition: &'static str, value: impl Into<Value>) -> Self {
        self.append("AND ", condition, value.into())
    }

    /// Appends ` AND (<condition> OR …)`; in each condition `?` stands for its value.
    pub(crate) fn and_any(mut self, conditions: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let mut parts = Vec::new();
        for (condition, value) in conditions {
            self.values.push(value);
            parts.push(condition.replace('?', &format!("${}", self.values.len())));
        }
        if let Text::Whole(text) = &mut self.text {
            let _ = write!(text, " AND ({})", parts.join(" OR "));
        }
        self
    }

    /// Appends more of the text, without a value.
    pub(crate) fn more(mut self, clause: &str) -> Self {
        if let Text::Whole(text) = &mut self.text {
            let _ = write!(text, " {clause}");
        }
        self
    }

    /// Appends ` <clause> $n`.
    pub(crate) fn then(self, clause: &'static str, value: impl Into<Value>) -> Self {
        self.append("", clause, value.into())
    }

    fn append(mut self, joint: &str, clause: &str, value: Value) -> Self {
        self.values.push(value);
        if let Text::Whole(text) = &mut self.text {
            let _ = write!(text, " {joint}{clause} ${}", self.values.len());
        }
        self
    }

    /// Runs the statement and says how many rows it touched.
    pub(crate) async fn run(self, on: impl Into<On<'_>>) -> Result<u64> {
        Ok(run!(self, on, |query, place| query.execute(place).await?.rows_affected()))
    }

    pub(crate) async fn all<T>(
        self,
        on: impl Into<On<'_>>,
        read: impl Fn(&Row) -> Result<T>,
    ) -> Result<Vec<T>> {
        let rows: Vec<Row> = run!(self, on, |query, place| {
            query.fetch_all(place).await?.into_iter().map(Row::from).collect()
        });
        rows.iter().map(read).collect()
    }

    pub(crate) async fn first<T>(
        self,
        on: impl Into<On<'_>>,
        read: impl FnOnce(&Row) -> Result<T>,
    ) -> Result<Option<T>> {
        let row = run!(self, on, |query, place| query.fetch_optional(place).await?.map(Row::from));
        row.as_ref().map(read).transpose()
    }
}

impl Text {
    fn for_sqlite(self, values: usize) -> AssertSqlSafe<String> {
        // SQLite looks up every `$n` in a list of all before it, which a thousand rows would feel.
        self.write(values, |text, _| text.push('?'))
    }

    fn for_postgres(self, values: usize) -> AssertSqlSafe<String> {
        self.write(values, |text, n| {
            let _ = write!(text, "${n}");
        })
    }

    fn write(self, values: usize, place: impl Fn(&mut String, usize)) -> AssertSqlSafe<String> {
        let (head, columns, tail) = match self {
            Self::Whole(text) => return AssertSqlSafe(text),
            Self::Rows { head, columns, tail } => (head, columns, tail),
        };
        let mut text = format!("{head} VALUES ");
        for n in 0..values {
            text.push_str(match (n, n % columns) {
                (0, _) => "(",
                (_, 0) => "), (",
                _ => ", ",
            });
            place(&mut text, n + 1);
        }
        text.push_str(") ");
        text.push_str(tail);
        AssertSqlSafe(text)
    }
}
