//! Which calls are wanted, and how many there were: the table `calls` as Activity reads it.

use std::collections::HashSet;
use std::fmt::Write as _;

use toolgrove_core::CallEnd;
use uuid::Uuid;

use crate::Store;
use crate::cell::{Row, Value};
use crate::db::Sql;
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
        Ok(doors.into_iter().collect())
    }

    /// Counts a person's calls from `from` on in stretches of `step_ms`.
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
        let sql = Sql::new("").more(&head).bind(person_id).bind(from).bind(step_ms.max(1));
        filter.narrow(sql).more("GROUP BY 1, 2, 3, 4").all(&self.db, read).await
    }
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
