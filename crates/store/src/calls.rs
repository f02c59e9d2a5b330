//! The table `calls`: one row per call, written off the hot path; of a rush, see `call_pages.rs`. How calls are looked
//! for and counted: `activity.rs`.
//!
//! [`CallLog::record`] only puts the row into a queue. One task writes the queue in batches, each in a transaction
//! of its own: after a while, or at once when there are many. The queue has no hard limit, because a call must neither
//! wait for the log nor go unlogged; a row is a few hundred bytes, and a queue of more than 100 000 rows is reported as
//! a warning.

use std::cmp::Reverse;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until};
use toolgrove_core::{CallEnd, CallRecord, Timeline, task};
use uuid::Uuid;

use crate::call_pages::{self, Page, Pages, RUSH, without_nul};
use crate::cell::{Row, Value};
use crate::db::{Db, Sql};
use crate::error::{Result, StoreError};
use crate::{CallFilter, Store, now};

/// They are written in statements of so many rows, each of which is prepared once.
const PIECES: [usize; 4] = [128, 32, 8, 1];
/// So many rows at most are written in a transaction. A call that shares its core with the database waits for it: few
/// calls should, and none for long.
const BATCH: usize = 512;
/// What is not a rush waits this long for more.
const WAIT: Duration = Duration::from_millis(100);
/// A queue this long means that the database cannot keep up.
const LONG_QUEUE: usize = 100_000;
/// Pauses between tries. Each try also waits for a locked database on its own.
const RETRIES: [u64; 5] = [50, 100, 200, 400, 800];

/// The queue of finished calls. Clones share it.
#[derive(Debug, Clone)]
pub struct CallLog {
    queue: Arc<Queue>,
    orders: mpsc::UnboundedSender<Order>,
    /// Its sender lives as long as the writer.
    pub(crate) writer: watch::Receiver<()>,
}

#[derive(Debug)]
enum Order {
    Flush(oneshot::Sender<()>),
    Rest(oneshot::Sender<()>),
    Close,
}

#[derive(Debug, Default)]
struct Queue {
    gathered: Mutex<Gathered>,
    /// Rung for the first row, and when they are many.
    bell: Notify,
}

#[derive(Debug, Default)]
struct Gathered {
    rows: Vec<CallRecord>,
    is_closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, row: CallRecord) {
        let mut gathered = self.lock();
        if gathered.is_closed {
            drop(gathered);
            tracing::error!(call = %row.id, tool = row.tool, "a call ended after its log was closed");
            return;
        }
        gathered.rows.push(row);
        let many = gathered.rows.len();
        drop(gathered);
        if many == 1 || many == RUSH {
            self.bell.notify_one();
        }
    }

    fn len(&self) -> usize {
        self.lock().rows.len()
    }

    fn take(&self) -> Vec<CallRecord> {
        let mut gathered = self.lock();
        // After many come many.
        let room = if gathered.rows.len() < RUSH { 0 } else { BATCH };
        mem::replace(&mut gathered.rows, Vec::with_capacity(room))
    }

    fn close(&self) {
        self.lock().is_closed = true;
    }
}

impl CallLog {
    /// Starts the task that writes. Close the log before the store.
    pub fn start(store: &Store) -> Self {
        let (queue, (orders, ordered)) = (Arc::<Queue>::default(), mpsc::unbounded_channel());
        let (alive, writer) = watch::channel(());
        let (db, own, rows) = (store.db.clone(), store.db.apart(), queue.clone());
        task::spawn("call log", async move {
            write_all(own.as_ref().unwrap_or(&db), &rows, ordered).await;
            if let Some(own) = own {
                own.close().await;
            }
            drop(alive);
        });
        Self { queue, orders, writer }
    }

    /// Queues a row. Never waits and never fails.
    pub fn record(&self, record: CallRecord) {
        self.queue.put(record);
    }

    /// Returns once every row recorded so far is stored.
    pub async fn flush(&self) {
        let (done, stored) = oneshot::channel();
        if self.orders.send(Order::Flush(done)).is_ok() {
            let _ = stored.await;
        }
    }

    /// Lets go of what a rush has left: room for its rows, and what the log knows of the file.
    pub async fn rest(&self) {
        let (done, rested) = oneshot::channel();
        if self.orders.send(Order::Rest(done)).is_ok() {
            let _ = rested.await;
        }
    }

    /// Returns once every recorded row is stored; the log takes no more.
    pub async fn close(&self) {
        let _ = self.orders.send(Order::Close);
        // The channel never carries a value: it only ends with the writer.
        let _ = self.writer.clone().changed().await;
    }
}

async fn write_all(db: &Db, queue: &Queue, mut orders: mpsc::UnboundedReceiver<Order>) {
    let (mut rows, mut warned, mut since) = (Vec::new(), false, Instant::now());
    loop {
        let order = loop {
            let waiting = queue.len();
            if waiting >= RUSH {
                break None;
            }
            let is_idle = waiting == 0 && rows.is_empty();
            tokio::select! {
                biased;
                // A log that everybody has let go of is closed.
                it = orders.recv() => break Some(it.unwrap_or(Order::Close)),
                () = sleep_until(since + WAIT), if !is_idle => break None,
                () = queue.bell.notified() => if is_idle {
                    since = Instant::now();
                }
            }
        };
        if let Some(Order::Close) = order {
            // What was queued before the door shut still comes out.
            queue.close();
        }
        // What comes while this is written waits for its own turn, so that a flush has an end.
        let mut waiting = queue.take().into_iter();
        if waiting.len() > LONG_QUEUE && !warned {
            tracing::warn!(rows = waiting.len(), "the call log cannot keep up with the calls");
        }
        warned = waiting.len() > LONG_QUEUE;
        loop {
            rows.extend(waiting.by_ref().take(BATCH - rows.len()));
            let pages = call_pages::take(&mut rows);
            for page in &pages {
                write(db, Batch::Page(page)).await;
            }
            let is_time = order.is_some() || since.elapsed() >= WAIT;
            if rows.len() >= RUSH || is_time && !rows.is_empty() {
                write(db, Batch::Rows(&rows)).await;
                rows.clear();
                since = Instant::now();
            } else if pages.is_empty() {
                break;
            }
        }
        match order {
            Some(Order::Flush(done)) => drop(done.send(())),
            Some(Order::Rest(done)) => {
                // Room for many is for a rush.
                rows = Vec::new();
                if let Err(error) = db.shrink().await {
                    tracing::debug!(error = ?error, "the log's connection could not be made small");
                }
                let _ = done.send(());
            }
            Some(Order::Close) => return,
            None => {}
        }
    }
}

/// What is written at once.
#[derive(Clone, Copy)]
enum Batch<'a> {
    Page(&'a Page),
    Rows(&'a [CallRecord]),
}

async fn write(db: &Db, batch: Batch<'_>) {
    let calls = match batch {
        Batch::Page(page) => page.len(),
        Batch::Rows(rows) => rows.len(),
    };
    let mut pauses = RETRIES.into_iter();
    while let Err(error) = insert(db, batch).await {
        let Some(pause) = pauses.next() else {
            tracing::error!(calls, error = ?error, "calls could not be logged and are lost");
            return;
        };
        tracing::debug!(calls, error = ?error, "calls could not be logged, trying again");
        sleep(Duration::from_millis(pause)).await;
    }
}

async fn insert(db: &Db, batch: Batch<'_>) -> Result<()> {
    let mut rows = match batch {
        Batch::Page(page) => return page.insert().run(db).await.map(drop),
        Batch::Rows(rows) => rows,
    };
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
    let (mut person, mut chat, mut instance, mut tool, mut client) =
        <(Last, Last, Last, Last, Last)>::default();
    let (mut door, mut method, mut outcome) = <(Last, Last, Last)>::default();
    let rows = rows.iter().map(|it| {
        [
            it.id.into(),
            it.parent_id.into(),
            person.id(Some(it.person_id)),
            it.token_id.into(),
            chat.text(it.chat_id.as_deref()),
            door.text(Some(&it.door)),
            method.text(Some(&it.method)),
            instance.id(it.instance_id),
            tool.text(Some(&it.tool)),
            i64::from(it.depth).into(),
            it.started_at.into(),
            it.ms.into(),
            outcome.text(Some(it.outcome.as_str())),
            (&it.error_code).into(),
            i64::try_from(it.bytes).unwrap_or(i64::MAX).into(),
            now.into(),
            client.text(it.client.as_deref()),
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

/// The last text of a column, which the next row is likely to have as well.
#[derive(Default)]
struct Last(Option<Arc<str>>);

impl Last {
    fn text(&mut self, text: Option<&str>) -> Value {
        let Some(text) = text else { return Value::Text(None) };
        if let Some(last) = self.0.as_ref().filter(|it| ***it == *text) {
            return last.clone().into();
        }
        let text: Arc<str> = without_nul(text).into();
        self.0 = Some(text.clone());
        text.into()
    }

    fn id(&mut self, id: Option<Uuid>) -> Value {
        let mut buffer = Uuid::encode_buffer();
        self.text(id.map(|it| &*it.hyphenated().encode_lower(&mut buffer)))
    }
}

impl Store {
    /// A person's calls, newest first.
    pub async fn calls(&self, person_id: Uuid, filter: &CallFilter) -> Result<Vec<CallRecord>> {
        let sql = Sql::new("SELECT * FROM calls WHERE person_id = $1").bind(person_id);
        let sql = filter.narrow(sql).then("ORDER BY id DESC LIMIT", i64::from(filter.limit));
        let mut calls = sql.all(&self.db, read).await?;
        let (limit, mut pages) = (filter.limit as usize, filter.pages(&self.db, person_id));
        while let Some(page) = pages.next().await? {
            if calls.len() == limit && calls.last().is_none_or(|it| it.id > page.last()) {
                break;
            }
            calls.extend(page.select(filter)?);
            calls.sort_unstable_by_key(|it| Reverse(it.id));
            calls.truncate(limit);
        }
        Ok(calls)
    }

    pub async fn call(&self, person_id: Uuid, id: Uuid) -> Result<Option<CallRecord>> {
        self.call_if(person_id, id, |_| true).await
    }

    /// The same if it may be seen. One that may not is looked for as long as one that never was.
    pub async fn call_if(
        &self,
        person_id: Uuid,
        id: Uuid,
        may_see: impl Fn(&CallRecord) -> bool,
    ) -> Result<Option<CallRecord>> {
        let sql = Sql::new("SELECT * FROM calls WHERE id = $1 AND person_id = $2");
        let call = sql.bind(id).bind(person_id).first(&self.db, read).await?;
        if let Some(call) = call.filter(&may_see) {
            return Ok(Some(call));
        }
        let after = Uuid::from_u128(id.as_u128().saturating_add(1));
        let mut pages = Pages::new(&self.db, person_id, Some(id), Some(after));
        while let Some(page) = pages.next().await? {
            if let Some(call) = page.find(id)?.filter(&may_see) {
                return Ok(Some(call));
            }
        }
        Ok(None)
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
