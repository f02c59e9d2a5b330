//! The table `calls`: one row per call, written off the hot path. How it is read: `activity.rs`.
//!
//! [`CallLog::record`] only puts the row into a queue. One task writes the queue in batches, each in a transaction
//! of its own. The queue has no hard limit, because a call must neither wait for the log nor go unlogged; a row
//! is a few hundred bytes, and a queue of more than 100 000 rows is reported as a warning.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, timeout_at};
use toolgrove_core::{CallEnd, CallRecord, Timeline, task};
use uuid::Uuid;

use crate::cell::{Row, Value};
use crate::db::{Db, Sql};
use crate::error::{Result, StoreError};
use crate::{CallFilter, Store, now};

/// A batch is written when it has this many rows …
const BATCH: usize = 500;
/// … or when its first row has waited this long …
const WAIT: Duration = Duration::from_millis(50);
/// … in statements of so many rows, each of which is prepared once.
const PIECES: [usize; 4] = [BATCH, 64, 8, 1];
/// A queue this long means that the database cannot keep up.
const LONG_QUEUE: usize = 100_000;
/// Pauses between tries. Each try also waits for a locked database on its own.
const RETRIES: [u64; 5] = [50, 100, 200, 400, 800];

/// The queue of finished calls. Clones share it.
#[derive(Debug, Clone)]
pub struct CallLog {
    orders: mpsc::UnboundedSender<Order>,
    /// Its sender lives as long as the writer.
    writer: watch::Receiver<()>,
}

#[derive(Debug)]
enum Order {
    Row(Box<CallRecord>),
    Flush(oneshot::Sender<()>),
    Close,
}

impl CallLog {
    /// Starts the task that writes. Close the log before the store.
    pub fn start(store: &Store) -> Self {
        let (orders, queue) = mpsc::unbounded_channel();
        let (alive, writer) = watch::channel(());
        let db = store.db.clone();
        task::spawn("call log", async move {
            write_all(&db, queue).await;
            drop(alive);
        });
        Self { orders, writer }
    }

    /// Queues a row. Never waits and never fails.
    pub fn record(&self, record: CallRecord) {
        if let Err(mpsc::error::SendError(Order::Row(record))) =
            self.orders.send(Order::Row(Box::new(record)))
        {
            tracing::error!(call = %record.id, tool = record.tool, "a call ended after its log was closed");
        }
    }

    /// Returns once every row recorded so far is stored.
    pub async fn flush(&self) {
        let (done, stored) = oneshot::channel();
        if self.orders.send(Order::Flush(done)).is_ok() {
            let _ = stored.await;
        }
    }

    /// Returns once every recorded row is stored; the log takes no more.
    pub async fn close(&self) {
        let _ = self.orders.send(Order::Close);
        // The channel never carries a value: it only ends with the writer.
        let _ = self.writer.clone().changed().await;
    }
}

async fn write_all(db: &Db, mut queue: mpsc::UnboundedReceiver<Order>) {
    let mut warned = false;
    while let Some(order) = queue.recv().await {
        let (mut rows, mut flushed) = (Vec::new(), Vec::new());
        let deadline = Instant::now() + WAIT;
        let mut next = Some(order);
        while let Some(order) = next {
            match order {
                Order::Row(row) => rows.push(*row),
                Order::Flush(done) => {
                    flushed.push(done);
                    break;
                }
                // What was queued before the door shut still comes out.
                Order::Close => queue.close(),
            }
            if rows.len() == BATCH {
                break;
            }
            next = timeout_at(deadline, queue.recv()).await.ok().flatten();
        }
        if queue.len() > LONG_QUEUE && !warned {
            tracing::warn!(rows = queue.len(), "the call log cannot keep up with the calls");
        }
        warned = queue.len() > LONG_QUEUE;
        write_batch(db, &rows).await;
        for done in flushed {
            let _ = done.send(());
        }
    }
}

async fn write_batch(db: &Db, rows: &[CallRecord]) {
    if rows.is_empty() {
        return;
    }
    let mut pauses = RETRIES.into_iter();
    while let Err(error) = insert(db, rows).await {
        let Some(pause) = pauses.next() else {
            tracing::error!(rows = rows.len(), error = ?error, "calls could not be logged and are lost");
            return;
        };
        tracing::debug!(rows = rows.len(), error = ?error, "calls could not be logged, trying again");
        sleep(Duration::from_millis(pause)).await;
    }
}

async fn insert(db: &Db, mut rows: &[CallRecord]) -> Result<()> {
    if PIECES.contains(&rows.len()) {
        piece(rows).run(db).await?;
        return Ok(());
    }
    let mut tx = db.begin().await?;
    for size in PIECES {
        while let Some((first, rest)) = rows.split_at_checked(size) {
            piece(first).run(&mut tx).await?;
            rows = rest;
        }
    }
    tx.commit().await
}

fn piece(rows: &[CallRecord]) -> Sql {
    let now = now();
    let rows = rows.iter().map(|it| {
        [
            it.id.into(),
            it.parent_id.into(),
            it.person_id.into(),
            it.token_id.into(),
            it.chat_id.as_deref().map_or(Value::Text(None), storable),
            storable(&it.door),
            storable(&it.method),
            it.instance_id.into(),
            storable(&it.tool),
            i64::from(it.depth).into(),
            it.started_at.into(),
            it.ms.into(),
            it.outcome.as_str().into(),
            (&it.error_code).into(),
            i64::try_from(it.bytes).unwrap_or(i64::MAX).into(),
            now.into(),
            it.client.as_deref().map_or(Value::Text(None), storable),
            (it.timeline != Timeline::default())
                .then(|| serde_json::to_string(&it.timeline).unwrap_or_default())
                .into(),
        ]
    });
    // A try whose answer was lost may have stored the rows already.
    Sql::insert(
        "INSERT INTO calls (id, parent_id, person_id, token_id, chat_id, door, method, instance_id, tool, depth,
            started_at, ms, outcome, error_code, bytes, created_at, client, timeline)",
        rows,
        "ON CONFLICT (id) DO NOTHING",
    )
    .kept()
}

/// Callers choose these texts, and PostgreSQL refuses a text with a NUL: one such row would take its batch along.
fn storable(text: &str) -> Value {
    text.replace('\0', "\u{fffd}").into()
}

impl Store {
    /// A person's calls, newest first.
    pub async fn calls(&self, person_id: Uuid, filter: &CallFilter) -> Result<Vec<CallRecord>> {
        let sql = Sql::new("SELECT * FROM calls WHERE person_id = $1").bind(person_id);
        let sql = filter.narrow(sql);
        sql.then("ORDER BY id DESC LIMIT", i64::from(filter.limit)).all(&self.db, read).await
    }

    pub async fn call(&self, person_id: Uuid, id: Uuid) -> Result<Option<CallRecord>> {
        let sql = Sql::new("SELECT * FROM calls WHERE id = $1 AND person_id = $2");
        sql.bind(id).bind(person_id).first(&self.db, read).await
    }

    /// The calls that one call has made, and those that they have made, in their order.
    pub async fn nested_calls(&self, person_id: Uuid, parent_id: Uuid) -> Result<Vec<CallRecord>> {
        let sql = Sql::new(
            "WITH RECURSIVE tree (id) AS (
                SELECT id FROM calls WHERE parent_id = $1 AND person_id = $2
                UNION
                SELECT calls.id FROM calls JOIN tree ON calls.parent_id = tree.id WHERE calls.person_id = $2
             )
             SELECT * FROM calls WHERE id IN (SELECT id FROM tree) ORDER BY id",
        );
        sql.bind(parent_id).bind(person_id).all(&self.db, read).await
    }

    /// The last call of every instance, for start-up.
    pub async fn last_calls(&self) -> Result<Vec<CallRecord>> {
        let sql = "SELECT * FROM calls WHERE id IN (SELECT (SELECT id FROM calls WHERE instance_id = mcp_instances.id
            ORDER BY id DESC LIMIT 1) FROM mcp_instances)";
        Sql::new(sql).all(&self.db, read).await
    }
}

fn read(row: &Row) -> Result<CallRecord> {
    Ok(CallRecord {
        id: row.id("id")?,
        parent_id: row.maybe_id("parent_id")?,
        person_id: row.id("person_id")?,
        token_id: row.maybe_id("token_id")?,
        chat_id: row.maybe_text("chat_id")?.map(Into::into),
        door: row.text("door")?.into(),
        method: row.text("method")?.into(),
        instance_id: row.maybe_id("instance_id")?,
        tool: row.text("tool")?,
        depth: u8::try_from(row.int("depth")?).unwrap_or(u8::MAX),
        started_at: row.int("started_at")?,
        ms: row.float("ms")?,
        outcome: parse_end(&row.text("outcome")?)?,
        error_code: row.maybe_text("error_code")?,
        bytes: row.int("bytes")?.unsigned_abs(),
        client: row.maybe_text("client")?.map(Into::into),
        // Times are for looking at: a row without them is still a row.
        timeline: row
            .maybe_text("timeline")?
            .and_then(|it| serde_json::from_str(&it).ok())
            .unwrap_or_default(),
    })
}

fn parse_end(text: &str) -> Result<CallEnd> {
    CallEnd::parse(text)
        .ok_or_else(|| StoreError::Unreadable { what: "outcome", problem: format!("`{text}`") })
}
