//! The table `call_pages`: the calls of a rush.
//!
//! A row in `calls` stands in four trees: under load, writing it takes SQLite a fifth of what its call takes the hub. So
//! when a great many calls wait to be written, they are written in pages: the calls of one person, in one text. Some
//! have a row of their own even then: what is looked for in other ways than by person and time, which is what another
//! call has made, and the last call of each instance; calls with long names; and those of a person with few of them.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use toolgrove_core::{CallEnd, CallRecord, Timeline};
use uuid::Uuid;

use crate::CallFilter;
use crate::cell::Row;
use crate::db::{Db, Sql};
use crate::error::{Result, StoreError};
use crate::now;

/// So many calls that wait at once are a rush.
pub(crate) const RUSH: usize = 256;
/// So many calls of one person are worth a page.
const WORTH: usize = 16;
/// So long are the texts of a call in a page at most, in bytes: callers choose them, and a page is read as a whole.
const LONGEST: usize = 512;
/// So many pages are read at a time.
const READ: i64 = if cfg!(test) { 2 } else { 8 };

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
    Option<Cow<'a, RawValue>>,
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
            (None, None, to_raw_value(times).ok().map(Cow::Owned))
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

    /// The call that a line tells of, beside one of its kind.
    fn record(&self, line: &Line, kind: &CallRecord) -> CallRecord {
        let Line(id, _, started, ms, bytes, checked, linked, timeline) = line;
        // Times are for looking at: a call without them is still a call.
        let timeline = match timeline {
            Some(whole) => serde_json::from_str(whole.get()).unwrap_or_default(),
            None => Timeline { checked: *checked, linked: *linked, ..Timeline::default() },
        };
        let started_at = self.start.saturating_add(*started);
        CallRecord { id: *id, started_at, ms: *ms, bytes: *bytes, timeline, ..kind.clone() }
    }
}

impl Kind<'_> {
    /// A call of this kind, of which nothing else is known.
    fn example(&self, person_id: Uuid) -> CallRecord {
        let text = |it: &Cow<str>| Cow::Owned(it.to_string());
        CallRecord {
            id: Uuid::nil(),
            parent_id: None,
            person_id,
            token_id: self.token,
            chat_id: self.chat.as_deref().map(Into::into),
            door: text(&self.door),
            method: text(&self.method),
            instance_id: self.instance,
            tool: self.tool.to_string(),
            depth: self.depth,
            started_at: 0,
            ms: 0.0,
            outcome: self.outcome,
            error_code: self.error.as_ref().map(Cow::to_string),
            bytes: 0,
            client: self.client.as_deref().map(Into::into),
            timeline: Timeline::default(),
        }
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
    let goes = |it: &mut CallRecord| {
        let texts = [Some(&*it.tool), it.chat_id.as_deref(), it.client.as_deref()];
        it.parent_id.is_none()
            && it.instance_id.is_none_or(|instance| last[&instance] != it.id)
            && texts.into_iter().flatten().map(str::len).sum::<usize>() <= LONGEST
    };
    for call in calls.extract_if(.., goes) {
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

    /// Its calls that are wanted.
    pub(crate) fn select(&self, filter: &CallFilter) -> Result<Vec<CallRecord>> {
        self.read(|kind| filter.takes_kind(kind), |id, ms| filter.takes_call(id, ms))
    }

    pub(crate) fn find(&self, wanted: Uuid) -> Result<Option<CallRecord>> {
        Ok(self.read(|_| true, |id, _| id == wanted)?.pop())
    }

    /// Through which doors its calls came.
    pub(crate) fn doors(&self) -> Result<impl Iterator<Item = String> + use<>> {
        let doors: Vec<String> = self.body()?.kinds.into_iter().map(|it| it.door.into_owned()).collect();
        Ok(doors.into_iter())
    }

    /// Its calls of some kinds, of which some are wanted by their id and how long they took.
    fn read(
        &self,
        takes_kind: impl Fn(&CallRecord) -> bool,
        takes_call: impl Fn(Uuid, f64) -> bool,
    ) -> Result<Vec<CallRecord>> {
        let body = self.body()?;
        let kinds: Vec<CallRecord> = body.kinds.iter().map(|it| it.example(self.person_id)).collect();
        let wanted: Vec<bool> = kinds.iter().map(takes_kind).collect();
        let is_wanted = |it: &&Line| wanted.get(it.1).is_none_or(|it| *it) && takes_call(it.0, it.3);
        let calls = body.calls.iter().filter(is_wanted).map(|it| Some(body.record(it, kinds.get(it.1)?)));
        calls.collect::<Option<_>>().ok_or_else(|| unreadable("a call is of no kind"))
    }

    fn body(&self) -> Result<Body<'_>> {
        serde_json::from_str(&self.body).map_err(|it| unreadable(&it.to_string()))
    }
}

fn unreadable(problem: &str) -> StoreError {
    StoreError::Unreadable { what: "page of calls", problem: problem.into() }
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
