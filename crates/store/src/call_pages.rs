//! The table `call_pages`: the calls of a rush.
//!
//! A row in `calls` stands in four trees: under load, writing it takes SQLite a fifth of what its call takes the hub. So
//! when a great many calls wait to be written, they are written in pages: the calls of one person, in one text. Two
//! kinds of calls are looked for in other ways than by person and time, and have a row of their own even then: what
//! another call has made, and the last call of each instance.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::mem;

use serde::{Deserialize, Serialize};
use toolgrove_core::{CallEnd, CallRecord, Timeline};
use uuid::Uuid;

use crate::cell::Row;
use crate::db::{Db, Sql};
use crate::error::{Result, StoreError};
use crate::now;

/// So many calls that wait at once are a rush.
pub(crate) const RUSH: usize = 256;
/// So many calls of one person are worth a page.
const WORTH: usize = 16;
/// So many pages are read at a time.
const READ: i64 = 8;

/// What a page says: short, because what is long in it stands there once.
#[derive(Serialize, Deserialize)]
struct Body<'a> {
    /// The calls' times are counted from here.
    start: i64,
    #[serde(borrow)]
    kinds: Vec<Kind<'a>>,
    calls: Vec<Line<'a>>,
}

/// What many calls have in common.
#[derive(PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Kind<'a> {
    #[serde(borrow)]
    door: Cow<'a, str>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    tool: Cow<'a, str>,
    outcome: CallEnd,
    depth: u8,
    instance: Option<Uuid>,
    token: Option<Uuid>,
    chat: Option<Cow<'a, str>>,
    client: Option<Cow<'a, str>>,
    error: Option<Cow<'a, str>>,
}

/// A call: its id, which of the kinds it is of, when it started, how many milliseconds it took, and the bytes of its
/// result; then what its timeline says if that is not more than two times, or the timeline.
#[derive(Serialize, Deserialize)]
struct Line<'a>(
    #[serde(with = "uuid::serde::simple")] Uuid,
    usize,
    i64,
    f64,
    u64,
    Option<u64>,
    Option<u64>,
    Option<Cow<'a, Timeline>>,
);

impl<'a> Kind<'a> {
    fn of(it: &'a CallRecord) -> Self {
        Self {
            door: without_nul(&it.door),
            method: without_nul(&it.method),
            tool: without_nul(&it.tool),
            outcome: it.outcome,
            depth: it.depth,
            instance: it.instance_id,
            token: it.token_id,
            chat: it.chat_id.as_deref().map(without_nul),
            client: it.client.as_deref().map(without_nul),
            error: it.error_code.as_deref().map(without_nul),
        }
    }
}

impl<'a> Line<'a> {
    fn of(it: &'a CallRecord, kind: usize, start: i64) -> Self {
        let times = &it.timeline;
        let is_short =
            times.queued.is_none() && times.ticks.is_empty() && times.tab.is_none() && times.tokens.is_none();
        let (checked, linked, whole) = if is_short {
            (times.checked, times.linked, None)
        } else {
            (None, None, Some(Cow::Borrowed(times)))
        };
        Self(it.id, kind, it.started_at.saturating_sub(start), it.ms, it.bytes, checked, linked, whole)
    }
}

impl<'a> Body<'a> {
    fn of(calls: &'a [CallRecord]) -> Self {
        let start = calls.first().map_or(0, |it| it.started_at);
        let mut kinds: HashMap<Kind, usize> = HashMap::new();
        let mut last: Option<(&CallRecord, usize)> = None;
        let lines = calls.iter().map(|it| {
            let (kind, next) = (Kind::of(it), kinds.len());
            let number = match last {
                // The next call is likely to be of the same kind.
                Some((last, number)) if Kind::of(last) == kind => number,
                _ => *kinds.entry(kind).or_insert(next),
            };
            last = Some((it, number));
            Line::of(it, number, start)
        });
        let calls = lines.collect();
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_unstable_by_key(|it| it.1);
        Self { start, kinds: kinds.into_iter().map(|it| it.0).collect(), calls }
    }

    fn record(&self, line: Line, person_id: Uuid) -> Option<CallRecord> {
        let Line(id, kind, started, ms, bytes, checked, linked, timeline) = line;
        let kind = self.kinds.get(kind)?;
        let text = |it: &Cow<str>| Cow::Owned(it.to_string());
        Some(CallRecord {
            id,
            parent_id: None,
            person_id,
            token_id: kind.token,
            chat_id: kind.chat.as_deref().map(Into::into),
            door: text(&kind.door),
            method: text(&kind.method),
            instance_id: kind.instance,
            tool: kind.tool.to_string(),
            depth: kind.depth,
            started_at: self.start.saturating_add(started),
            ms,
            outcome: kind.outcome,
            error_code: kind.error.as_ref().map(Cow::to_string),
            bytes,
            client: kind.client.as_deref().map(Into::into),
            timeline: timeline.map_or(Timeline { checked, linked, ..Timeline::default() }, Cow::into_owned),
        })
    }
}

/// Callers choose these texts, and PostgreSQL refuses a text with a NUL: one such call would take the others along.
pub(crate) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// Takes the calls of a rush that go into pages; the others stay.
pub(crate) fn take(calls: &mut Vec<CallRecord>) -> Vec<Page> {
    if calls.len() < RUSH {
        return Vec::new();
    }
    let mut last: HashMap<Uuid, Uuid> = HashMap::new();
    for call in &*calls {
        if let Some(instance) = call.instance_id {
            let id = last.entry(instance).or_insert(call.id);
            *id = call.id.max(*id);
        }
    }
    let mut people: HashMap<Uuid, Vec<CallRecord>> = HashMap::new();
    for call in calls.extract_if(.., |it| {
        it.parent_id.is_none() && it.instance_id.is_none_or(|instance| last[&instance] != it.id)
    }) {
        people.entry(call.person_id).or_default().push(call);
    }
    let mut pages = Vec::new();
    for paged in people.into_values() {
        match Page::of(&paged) {
            Some(page) => pages.push(page),
            None => calls.extend(paged),
        }
    }
    pages
}

/// Calls of one person.
pub(crate) struct Page {
    person_id: Uuid,
    first: Uuid,
    last: Uuid,
    calls: i64,
    body: String,
}

impl Page {
    /// A page of these calls, if they are worth one.
    fn of(calls: &[CallRecord]) -> Option<Self> {
        let ids = || calls.iter().map(|it| it.id);
        let (first, last) = (ids().min()?, ids().max()?);
        if calls.len() < WORTH {
            return None;
        }
        let body = serde_json::to_string(&Body::of(calls)).ok()?;
        Some(Self { person_id: calls[0].person_id, first, last, calls: calls.len() as i64, body })
    }

    pub(crate) fn insert(&self) -> Sql {
        // A try whose answer was lost may have stored the page already.
        let sql = "INSERT INTO call_pages (first_id, last_id, person_id, calls, body, created_at)
            VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (first_id) DO NOTHING";
        let sql = Sql::new(sql).bind(self.first).bind(self.last).bind(self.person_id);
        sql.bind(self.calls).bind(&self.body).bind(now())
    }

    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.calls).unwrap_or_default()
    }

    /// No call in it is newer than this one.
    pub(crate) fn last(&self) -> Uuid {
        self.last
    }

    pub(crate) fn read(&self) -> Result<Vec<CallRecord>> {
        let unreadable = |problem| StoreError::Unreadable { what: "page of calls", problem };
        let mut body: Body = serde_json::from_str(&self.body).map_err(|it| unreadable(it.to_string()))?;
        let lines = mem::take(&mut body.calls).into_iter();
        let calls = lines.map(|it| body.record(it, self.person_id)).collect::<Option<_>>();
        calls.ok_or_else(|| unreadable("a call is of no kind".into()))
    }
}

/// A person's pages, newest first.
pub(crate) struct Pages<'a> {
    db: &'a Db,
    person_id: Uuid,
    /// Pages that may hold calls from this one on, and before that one.
    from: Option<Uuid>,
    before: Option<Uuid>,
    read: VecDeque<Page>,
    /// The last page that was read.
    after: Option<Uuid>,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(db: &'a Db, person_id: Uuid, from: Option<Uuid>, before: Option<Uuid>) -> Self {
        Self { db, person_id, from, before, read: VecDeque::new(), after: None }
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Page>> {
        // Whoever goes through many pages lets others go first now and then.
        tokio::task::yield_now().await;
        if self.read.is_empty() {
            self.read = self.more().await?.into();
        }
        let page = self.read.pop_front();
        self.after = page.as_ref().map(Page::last).or(self.after);
        Ok(page)
    }

    async fn more(&self) -> Result<Vec<Page>> {
        let mut sql = Sql::new("SELECT * FROM call_pages WHERE person_id = $1").bind(self.person_id);
        if let Some(after) = self.after {
            sql = sql.and("last_id <", after);
        }
        if let Some(from) = self.from {
            sql = sql.and("last_id >=", from);
        }
        if let Some(before) = self.before {
            sql = sql.and("first_id <", before);
        }
        let sql = sql.then("ORDER BY last_id DESC LIMIT", READ);
        let page = |row: &Row| {
            Ok(Page {
                person_id: row.id("person_id")?,
                first: row.id("first_id")?,
                last: row.id("last_id")?,
                calls: row.int("calls")?,
                body: row.text("body")?,
            })
        };
        sql.all(self.db, page).await
    }
}
