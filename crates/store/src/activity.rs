//! Which calls are wanted, and how many there were: the tables `calls` and `call_pages` as Activity reads them.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use toolgrove_core::{CallEnd, CallRecord};
use uuid::Uuid;

use crate::Store;
use crate::call_pages::Pages;
use crate::cell::{Row, Value};
use crate::db::{Db, Sql};
use crate::error::Result;

/// The upper edges of the latency classes in milliseconds; what took longer is in one more class.
pub const LATENCY_MS: [u32; 15] =
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/// Which calls to read. Everything that is said must hold.
#[derive(Debug, Clone)]
pub struct CallFilter {
    pub limit: u32,
    /// Only calls older than this one.
    pub before: Option<Uuid>,
    /// A name; `*` in it stands for anything. `mcp__` before it may be left out then.
    pub tool: Option<String>,
    /// One of these; empty means any.
    pub outcomes: Vec<CallEnd>,
    pub instance_id: Option<Uuid>,
    pub door: Option<String>,
    pub token_id: Option<Uuid>,
    pub min_ms: Option<f64>,
    /// Started at this time or later, in Unix milliseconds.
    pub since: Option<i64>,
    /// Started before this time.
    pub until: Option<i64>,
}

impl Default for CallFilter {
    fn default() -> Self {
        Self {
            limit: 50,
            before: None,
            tool: None,
            outcomes: Vec::new(),
            instance_id: None,
            door: None,
            token_id: None,
            min_ms: None,
            since: None,
            until: None,
        }
    }
}

impl CallFilter {
    pub(crate) fn narrow(&self, mut sql: Sql) -> Sql {
        if let Some(before) = self.before {
            sql = sql.and("id <", before);
        }
        // Ids begin with the time, and the index is over them.
        if let Some(since) = self.since {
            sql = sql.and("id >=", first_id_at(since));
        }
        if let Some(until) = self.until {
            sql = sql.and("id <", first_id_at(until));
        }
        match &self.tool {
            Some(glob) if glob.contains('*') => {
                let pattern = like(glob);
                let forms = ["", "mcp!_!_", "mcp!_"];
                sql = sql.and_any(forms.map(|prefix| {
                    ("lower(tool) LIKE ? ESCAPE '!'", Value::from(format!("{prefix}{pattern}")))
                }));
            }
            Some(name) => sql = sql.and("tool =", name),
            None => {}
        }
        if !self.outcomes.is_empty() {
            sql = sql.and_any(self.outcomes.iter().map(|it| ("outcome = ?", it.as_str().into())));
        }
        if let Some(instance_id) = self.instance_id {
            sql = sql.and("instance_id =", instance_id);
        }
        if let Some(door) = &self.door {
            sql = sql.and("door =", door);
        }
        if let Some(token_id) = self.token_id {
            sql = sql.and("token_id =", token_id);
        }
        if let Some(ms) = self.min_ms {
            sql = sql.and("ms >=", ms);
        }
        sql
    }
    /// The pages that may hold calls which are wanted.
    pub(crate) fn pages<'a>(&self, db: &'a Db, person_id: Uuid) -> Pages<'a> {
        let until = self.until.map(first_id_at);
        let before = self.before.into_iter().chain(until).min();
        Pages::new(db, person_id, self.since.map(first_id_at), before)
    }

    /// With [`takes_call`](Self::takes_call) what [`narrow`](Self::narrow) asks of a row, asked of a call from a page.
    pub(crate) fn takes_kind(&self, it: &CallRecord) -> bool {
        self.tool.as_ref().is_none_or(|tool| is_called(&it.tool, tool))
            && (self.outcomes.is_empty() || self.outcomes.contains(&it.outcome))
            && self.instance_id.is_none_or(|id| it.instance_id == Some(id))
            && self.door.as_ref().is_none_or(|door| it.door == *door)
            && self.token_id.is_none_or(|id| it.token_id == Some(id))
    }

    pub(crate) fn takes_call(&self, id: Uuid, ms: f64) -> bool {
        self.before.is_none_or(|before| id < before)
            && self.since.is_none_or(|since| id >= first_id_at(since))
            && self.until.is_none_or(|until| id < first_id_at(until))
            && self.min_ms.is_none_or(|least| ms >= least)
    }
}

/// Whether a tool has this name, in which `*` stands for anything and capitals are like small letters: all of them here
/// and in PostgreSQL, in SQLite those of ASCII.
fn is_called(tool: &str, glob: &str) -> bool {
    if !glob.contains('*') {
        return tool == glob;
    }
    let (tool, glob) = (tool.to_lowercase(), glob.to_lowercase());
    ["", "mcp__", "mcp_"].iter().any(|prefix| tool.strip_prefix(prefix).is_some_and(|it| fits(it, &glob)))
}

fn fits(text: &str, glob: &str) -> bool {
    let Some((start, rest)) = glob.split_once('*') else { return text == glob };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts = rest.split('*');
    let end = parts.next_back().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(end)
}

/// The smallest id that a call started at this time can have.
fn first_id_at(ms: i64) -> Uuid {
    const LAST: i64 = (1 << 48) - 1;
    Uuid::from_u128((ms.clamp(0, LAST) as u128) << 80)
}

/// A glob as a pattern for `LIKE`, in lower case.
fn like(glob: &str) -> String {
    let mut pattern = String::new();
    for it in glob.to_lowercase().chars() {
        match it {
            '*' => pattern.push('%'),
            '%' | '_' | '!' => {
                pattern.push('!');
                pattern.push(it);
            }
            it => pattern.push(it),
        }
    }
    pattern
}

/// How many calls of one kind there were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallCount {
    pub instance_id: Option<Uuid>,
    /// Which stretch of time, counted from the first.
    pub slot: usize,
    /// Which class of [`LATENCY_MS`].
    pub latency: usize,
    /// The tool failed, or there was no result.
    pub failed: bool,
    pub calls: u64,
}

impl Store {
    /// Through which doors a person's newest calls came; each door once.
    pub async fn newest_doors(&self, person_id: Uuid) -> Result<HashSet<String>> {
        let sql = "SELECT DISTINCT door FROM
            (SELECT door FROM calls WHERE person_id = $1 ORDER BY id DESC LIMIT 500) AS newest";
        let doors = Sql::new(sql).bind(person_id).all(&self.db, |row| row.text("door")).await?;
        let mut doors: HashSet<String> = doors.into_iter().collect();
        let (mut pages, mut seen) = (Pages::new(&self.db, person_id, None, None), 0);
        while seen < 500
            && let Some(page) = pages.next().await?
        {
            seen += page.len();
            doors.extend(page.doors()?);
        }
        Ok(doors)
    }

    /// Counts a person's calls from `from` on in stretches of `step_ms`. A kind may come twice: from rows and from pages.
    pub async fn count_calls(
        &self,
        person_id: Uuid,
        filter: &CallFilter,
        from: i64,
        step_ms: i64,
    ) -> Result<Vec<CallCount>> {
        let mut latency = String::from("CASE");
        for (class, edge) in LATENCY_MS.iter().enumerate() {
            let _ = write!(latency, " WHEN ms < {edge} THEN {class}");
        }
        let _ = write!(latency, " ELSE {} END", LATENCY_MS.len());
        let head = format!(
            "SELECT instance_id, (started_at - $2) / $3 AS slot, CAST({latency} AS BIGINT) AS latency,
                CAST(CASE WHEN outcome IN ('failed', 'tool_error') THEN 1 ELSE 0 END AS BIGINT) AS failed,
                count(*) AS calls
             FROM calls WHERE person_id = $1 AND started_at >= $2"
        );
        let step_ms = step_ms.max(1);
        let sql = Sql::new("").more(&head).bind(person_id).bind(from).bind(step_ms);
        let mut counts = filter.narrow(sql).more("GROUP BY 1, 2, 3, 4").all(&self.db, read).await?;

        let (mut paged, mut pages) = (HashMap::new(), filter.pages(&self.db, person_id));
        while let Some(page) = pages.next().await? {
            for it in page.select(filter)?.into_iter().filter(|it| it.started_at >= from) {
                *paged.entry(kind(&it, from, step_ms)).or_insert(0) += 1;
            }
        }
        let paged = paged.into_iter();
        counts.extend(paged.map(|((instance_id, slot, latency, failed), calls)| CallCount {
            instance_id,
            slot,
            latency,
            failed,
            calls,
        }));
        Ok(counts)
    }
}

/// As what a call from a page is counted: instance, stretch of time, class of latency, whether it failed.
fn kind(it: &CallRecord, from: i64, step_ms: i64) -> (Option<Uuid>, usize, usize, bool) {
    let slot = usize::try_from((it.started_at - from) / step_ms).unwrap_or_default();
    let latency = LATENCY_MS.iter().position(|&edge| it.ms < f64::from(edge)).unwrap_or(LATENCY_MS.len());
    (it.instance_id, slot, latency, matches!(it.outcome, CallEnd::Failed | CallEnd::ToolError))
}

fn read(row: &Row) -> Result<CallCount> {
    Ok(CallCount {
        instance_id: row.maybe_id("instance_id")?,
        slot: usize::try_from(row.int("slot")?).unwrap_or_default(),
        latency: usize::try_from(row.int("latency")?).unwrap_or_default(),
        failed: row.int("failed")? != 0,
        calls: row.int("calls")?.unsigned_abs(),
    })
}
