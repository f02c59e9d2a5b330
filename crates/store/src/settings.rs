//! The table `tool_settings`: what a person changed about a tool. A tool without a row is on and allowed.

use uuid::Uuid;

use crate::cell::{Row, Value};
use crate::db::Sql;
use crate::error::Result;
use crate::{Store, Switch, now};

/// What holds for one tool of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSetting {
    pub instance_id: Uuid,
    /// As its server calls it.
    pub tool: String,
    pub enabled: bool,
    /// `allow`, `ask` or `block`.
    pub permission: String,
}

impl Store {
    /// The changed tools of all instances of a person.
    pub async fn tool_settings(&self, person_id: Uuid) -> Result<Vec<ToolSetting>> {
        let mut rows = Sql::new(
            "SELECT tool_settings.* FROM tool_settings
             JOIN mcp_instances ON mcp_instances.id = tool_settings.instance_id
             WHERE mcp_instances.person_id = $1",
        )
        .bind(person_id)
        .all(&self.db, read)
        .await?;
        rows.sort_by(|a, b| (a.instance_id, &a.tool).cmp(&(b.instance_id, &b.tool)));
        Ok(rows)
    }

    pub async fn switch_tool(&self, instance_id: Uuid, tool: &str, to: Switch) -> Result<()> {
        let sql = Sql::new(
            "INSERT INTO tool_settings (instance_id, tool, enabled, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $4) ON CONFLICT (instance_id, tool)
             DO UPDATE SET enabled = excluded.enabled, updated_at = excluded.updated_at",
        );
        self.change(sql, instance_id, tool, to.is_on().into()).await
    }

    pub async fn set_tool_permission(&self, instance_id: Uuid, tool: &str, permission: &str) -> Result<()> {
        let sql = Sql::new(
            "INSERT INTO tool_settings (instance_id, tool, permission, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $4) ON CONFLICT (instance_id, tool)
             DO UPDATE SET permission = excluded.permission, updated_at = excluded.updated_at",
        );
        self.change(sql, instance_id, tool, permission.into()).await
    }

    async fn change(&self, sql: Sql, instance_id: Uuid, tool: &str, value: Value) -> Result<()> {
        sql.bind(instance_id).bind(tool).bind(value).bind(now()).run(&self.db).await?;
        Ok(())
    }
}

fn read(row: &Row) -> Result<ToolSetting> {
    Ok(ToolSetting {
        instance_id: row.id("instance_id")?,
        tool: row.text("tool")?,
        enabled: row.flag("enabled")?,
        permission: row.text("permission")?,
    })
}
