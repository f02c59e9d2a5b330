//! The table `tool_pins`: what each tool of an instance was when somebody approved it.

use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::Result;
use crate::{Store, now};

/// Rows per statement: far below what either database can bind.
const CHUNK: usize = 200;

/// One definition that was decided on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinRow {
    pub instance_id: Uuid,
    pub tool: String,
    pub digest: String,
    pub raw: String,
    /// `approved`, or `rejected` for a tool that never was approved.
    pub state: String,
    /// The digest of a later definition that was rejected.
    pub rejected: Option<String>,
    /// Absent: it was there when the server was first seen.
    pub decided_by: Option<Uuid>,
    pub decided_at: Option<i64>,
}

impl Store {
    /// Stores pins of an instance that nobody has decided on. What is known stays as it is.
    pub async fn first_pins(&self, pins: &[PinRow]) -> Result<()> {
        let mut tx = self.db.begin().await?;
        for chunk in pins.chunks(CHUNK) {
            insert(chunk, "ON CONFLICT (instance_id, tool) DO NOTHING").run(&mut tx).await?;
        }
        tx.commit().await
    }

    /// Stores what a person decided, and forgets the pin of a tool that has another name now.
    pub async fn decide_pin(&self, pin: &PinRow, renamed_from: Option<&str>) -> Result<()> {
        let mut tx = self.db.begin().await?;
        if let Some(from) = renamed_from {
            Sql::new("DELETE FROM tool_pins WHERE instance_id = $1 AND tool = $2")
                .bind(pin.instance_id)
                .bind(from)
                .run(&mut tx)
                .await?;
        }
        insert(
            std::slice::from_ref(pin),
            "ON CONFLICT (instance_id, tool) DO UPDATE SET digest = excluded.digest, raw = excluded.raw,
                state = excluded.state, rejected = excluded.rejected, decided_by = excluded.decided_by,
                decided_at = excluded.decided_at, updated_at = excluded.updated_at",
        )
        .run(&mut tx)
        .await?;
        tx.commit().await
    }

    /// The pins of all instances of a person.
    pub async fn pins_of_person(&self, person_id: Uuid) -> Result<Vec<PinRow>> {
        Sql::new(
            "SELECT tool_pins.* FROM tool_pins JOIN mcp_instances ON mcp_instances.id = tool_pins.instance_id
             WHERE mcp_instances.person_id = $1 ORDER BY tool_pins.instance_id, tool_pins.tool",
        )
        .bind(person_id)
        .all(&self.db, read)
        .await
    }
}

fn insert(pins: &[PinRow], otherwise: &'static str) -> Sql {
    let now = now();
    let rows = pins.iter().map(|pin| {
        [
            pin.instance_id.into(),
            (&pin.tool).into(),
            (&pin.digest).into(),
            (&pin.raw).into(),
            (&pin.state).into(),
            (&pin.rejected).into(),
            pin.decided_by.into(),
            pin.decided_at.into(),
            now.into(),
            now.into(),
        ]
    });
    Sql::insert(
        "INSERT INTO tool_pins (instance_id, tool, digest, raw, state, rejected, decided_by, decided_at, created_at,
            updated_at)",
        rows,
        otherwise,
    )
}

fn read(row: &Row) -> Result<PinRow> {
    Ok(PinRow {
        instance_id: row.id("instance_id")?,
        tool: row.text("tool")?,
        digest: row.text("digest")?,
        raw: row.text("raw")?,
        state: row.text("state")?,
        rejected: row.maybe_text("rejected")?,
        decided_by: row.maybe_id("decided_by")?,
        decided_at: row.maybe_int("decided_at")?,
    })
}
