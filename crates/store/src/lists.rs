//! The table `mcp_lists`: what an instance last listed besides tools, as raw JSON arrays.

use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::{Result, StoreError};
use crate::{Store, now};

/// What is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    Prompts,
    Resources,
    Templates,
}

/// One list of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRow {
    pub instance_id: Uuid,
    pub kind: ListKind,
    /// A JSON array as its server sent it, byte for byte.
    pub items: String,
    pub fetched_at: i64,
}

impl ListKind {
    const ALL: [Self; 3] = [Self::Prompts, Self::Resources, Self::Templates];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "templates",
        }
    }

    fn parse(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|it| it.as_str() == text)
            .ok_or_else(|| StoreError::Unreadable { what: "kind of list", problem: format!("`{text}`") })
    }
}

impl Store {
    /// Replaces one list of an instance.
    pub async fn put_list(
        &self,
        instance_id: Uuid,
        kind: ListKind,
        items: &str,
        fetched_at: i64,
    ) -> Result<()> {
        Sql::new(
            "INSERT INTO mcp_lists (instance_id, kind, items, fetched_at, created_at) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (instance_id, kind)
             DO UPDATE SET items = excluded.items, fetched_at = excluded.fetched_at",
        )
        .bind(instance_id)
        .bind(kind.as_str())
        .bind(items)
        .bind(fetched_at)
        .bind(now())
        .run(&self.db)
        .await?;
        Ok(())
    }

    /// The lists of all instances of a person.
    pub async fn lists_of_person(&self, person_id: Uuid) -> Result<Vec<ListRow>> {
        Sql::new(
            "SELECT mcp_lists.* FROM mcp_lists JOIN mcp_instances ON mcp_instances.id = mcp_lists.instance_id
             WHERE mcp_instances.person_id = $1 ORDER BY mcp_lists.instance_id, mcp_lists.kind",
        )
        .bind(person_id)
        .all(&self.db, read)
        .await
    }
}

fn read(row: &Row) -> Result<ListRow> {
    Ok(ListRow {
        instance_id: row.id("instance_id")?,
        kind: ListKind::parse(&row.text("kind")?)?,
        items: row.text("items")?,
        fetched_at: row.int("fetched_at")?,
    })
}
