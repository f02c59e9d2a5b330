//! The table `mcp_tools`: the last listing of every instance, kept for when its server is away.
//!
//! A name once given stays with its (instance, tool): tools that vanish from a listing are only marked as gone.

use std::collections::HashSet;

use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::Result;
use crate::{Store, now};

/// One tool of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRow {
    pub instance_id: Uuid,
    /// As its server calls it.
    pub name: String,
    /// As clients see it in the profile `double`.
    pub public_name: String,
    /// As clients see it in the profile `single`.
    pub single_name: String,
    /// The order of first listing, by which a clash of names is settled.
    pub position: i64,
    /// The tool as its server described it, byte for byte.
    pub raw: String,
    pub fetched_at: i64,
    /// No longer listed: not to be shown, but its names stay taken.
    pub gone: bool,
}

/// Rows per statement: far below what either database can bind.
const CHUNK: usize = 500;

impl Store {
    /// The tools of an instance in order of first listing, those that are gone included.
    pub async fn tools_of(&self, instance_id: Uuid) -> Result<Vec<ToolRow>> {
        let sql = Sql::new("SELECT * FROM mcp_tools WHERE instance_id = $1 ORDER BY position, name");
        sql.bind(instance_id).all(&self.db, read).await
    }

    /// The tools of all instances of a person, those that are gone included.
    pub async fn all_tools_of_person(&self, person_id: Uuid) -> Result<Vec<ToolRow>> {
        Sql::new(
            "SELECT mcp_tools.* FROM mcp_tools JOIN mcp_instances ON mcp_instances.id = mcp_tools.instance_id
             WHERE mcp_instances.person_id = $1 ORDER BY mcp_tools.instance_id, mcp_tools.position, mcp_tools.name",
        )
        .bind(person_id)
        .all(&self.db, read)
        .await
    }

    /// Stores a new listing. Known tools keep their names and position, tools not in it are marked as gone; of two
    /// rows with one name the first counts.
    pub async fn replace_tools(&self, instance_id: Uuid, tools: &[ToolRow]) -> Result<()> {
        let (mut seen, now) = (HashSet::new(), now());
        let tools: Vec<&ToolRow> = tools.iter().filter(|it| seen.insert(&it.name)).collect();
        let mut tx = self.db.begin().await?;
        Sql::new("UPDATE mcp_tools SET gone = true WHERE instance_id = $1 AND gone = false")
            .bind(instance_id)
            .run(&mut tx)
            .await?;
        for chunk in tools.chunks(CHUNK) {
            let rows = chunk.iter().map(|tool| {
                [
                    instance_id.into(),
                    (&tool.name).into(),
                    (&tool.public_name).into(),
                    (&tool.single_name).into(),
                    tool.position.into(),
                    (&tool.raw).into(),
                    tool.fetched_at.into(),
                    now.into(),
                ]
            });
            Sql::insert(
                "INSERT INTO mcp_tools
                    (instance_id, name, public_name, single_name, position, raw, fetched_at, created_at)",
                rows,
                "ON CONFLICT (instance_id, name)
                 DO UPDATE SET raw = excluded.raw, fetched_at = excluded.fetched_at, gone = false",
            )
            .run(&mut tx)
            .await?;
        }
        tx.commit().await
    }
}

fn read(row: &Row) -> Result<ToolRow> {
    Ok(ToolRow {
        instance_id: row.id("instance_id")?,
        name: row.text("name")?,
        public_name: row.text("public_name")?,
        single_name: row.text("single_name")?,
        position: row.int("position")?,
        raw: row.text("raw")?,
        fetched_at: row.int("fetched_at")?,
        gone: row.flag("gone")?,
    })
}
