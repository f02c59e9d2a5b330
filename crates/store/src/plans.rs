//! The table `plans`: graphs of calls, each its owner's.

use serde_json::Value as Json;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::Result;
use crate::{Store, now};

#[derive(Debug, Clone, PartialEq)]
pub struct PlanRow {
    pub id: Uuid,
    pub workspace_id: Uuid,
    pub owner_id: Uuid,
    pub name: String,
    /// `{nodes: [{id, tool, args}], edges: [{from, to}]}`.
    pub graph: Json,
    pub created_at: i64,
    pub updated_at: i64,
}

impl PlanRow {
    pub fn new(workspace_id: Uuid, owner_id: Uuid, name: &str, graph: Json) -> Self {
        let now = now();
        let name = name.to_owned();
        Self { id: Uuid::now_v7(), workspace_id, owner_id, name, graph, created_at: now, updated_at: now }
    }
}

impl Store {
    pub async fn add_plan(&self, plan: &PlanRow) -> Result<()> {
        Sql::new(
            "INSERT INTO plans (id, workspace_id, owner_id, name, graph, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(plan.id)
        .bind(plan.workspace_id)
        .bind(plan.owner_id)
        .bind(&plan.name)
        .bind(&plan.graph)
        .bind(plan.created_at)
        .bind(plan.updated_at)
        .run(&self.db)
        .await?;
        Ok(())
    }

    /// Stores name and graph under the row's id, if it is its owner's. `false`: it is not.
    pub async fn update_plan(&self, plan: &PlanRow) -> Result<bool> {
        let sql = Sql::new(
            "UPDATE plans SET name = $3, graph = $4, updated_at = $5 WHERE id = $1 AND owner_id = $2",
        );
        let sql = sql.bind(plan.id).bind(plan.owner_id).bind(&plan.name).bind(&plan.graph).bind(now());
        Ok(sql.run(&self.db).await? > 0)
    }

    pub async fn remove_plan(&self, owner_id: Uuid, id: Uuid) -> Result<bool> {
        let sql = Sql::new("DELETE FROM plans WHERE id = $1 AND owner_id = $2");
        Ok(sql.bind(id).bind(owner_id).run(&self.db).await? > 0)
    }

    pub async fn plan(&self, owner_id: Uuid, id: Uuid) -> Result<Option<PlanRow>> {
        let sql = Sql::new("SELECT * FROM plans WHERE id = $1 AND owner_id = $2");
        sql.bind(id).bind(owner_id).first(&self.db, read).await
    }

    /// A person's plans, by name.
    pub async fn plans_of(&self, owner_id: Uuid) -> Result<Vec<PlanRow>> {
        let sql = Sql::new("SELECT * FROM plans WHERE owner_id = $1 ORDER BY name, id");
        sql.bind(owner_id).all(&self.db, read).await
    }
}

fn read(row: &Row) -> Result<PlanRow> {
    Ok(PlanRow {
        id: row.id("id")?,
        workspace_id: row.id("workspace_id")?,
        owner_id: row.id("owner_id")?,
        name: row.text("name")?,
        graph: row.json("graph")?,
        created_at: row.int("created_at")?,
        updated_at: row.int("updated_at")?,
    })
}
