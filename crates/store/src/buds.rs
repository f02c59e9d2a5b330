//! The table `buds`. A bud is shared with its workspace; its row in the registry follows by triggers.

use toolgrove_core::bud::{Bud, BudPreset};
use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::{Result, StoreError};
use crate::{Store, now};

/// A bud as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct BudRow {
    /// Also the id of its server.
    pub id: Uuid,
    pub workspace_id: Uuid,
    /// Who made it; absent if they are gone, or if a file declares it.
    pub owner_id: Option<Uuid>,
    pub name: String,
    pub preset: BudPreset,
    /// `person` or `config`.
    pub origin: String,
    pub created_at: i64,
    pub updated_at: i64,
}

impl BudRow {
    pub fn new(workspace_id: Uuid, owner_id: Option<Uuid>, name: &str, preset: BudPreset) -> Self {
        let now = now();
        Self {
            id: Uuid::now_v7(),
            workspace_id,
            owner_id,
            name: name.to_owned(),
            preset,
            origin: "person".into(),
            created_at: now,
            updated_at: now,
        }
    }

    pub fn bud(&self) -> Bud {
        Bud { id: self.id, name: self.name.clone(), preset: self.preset.clone() }
    }
}

impl Store {
    pub async fn add_bud(&self, bud: &BudRow) -> Result<()> {
        let sql = Sql::new(
            "INSERT INTO buds (id, workspace_id, owner_id, name, description, avatar, system_prompt, model,
                temperature, max_tokens, methods, mcp_config, updated_at, origin, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
        );
        let sql = write(sql, bud, bud.updated_at).bind(&bud.origin).bind(bud.created_at);
        sql.run(&self.db).await.map_err(|it| taken(it, bud))?;
        Ok(())
    }

    /// Stores the whole row under its id. `false`: there is none.
    pub async fn update_bud(&self, bud: &BudRow) -> Result<bool> {
        let sql = Sql::new(
            "UPDATE buds SET workspace_id = $2, owner_id = $3, name = $4, description = $5, avatar = $6,
                system_prompt = $7, model = $8, temperature = $9, max_tokens = $10, methods = $11, mcp_config = $12,
                updated_at = $13
             WHERE id = $1",
        );
        Ok(write(sql, bud, now()).run(&self.db).await.map_err(|it| taken(it, bud))? > 0)
    }

    /// Removes a bud with its server and all instances. `false`: there was none.
    pub async fn remove_bud(&self, id: Uuid) -> Result<bool> {
        Ok(Sql::new("DELETE FROM buds WHERE id = $1").bind(id).run(&self.db).await? > 0)
    }

    /// A bud, whoever may see it.
    pub async fn bud(&self, id: Uuid) -> Result<Option<BudRow>> {
        Sql::new("SELECT * FROM buds WHERE id = $1").bind(id).first(&self.db, read).await
    }

    /// A bud of a workspace that this person is in.
    pub async fn visible_bud(&self, person_id: Uuid, id: Uuid) -> Result<Option<BudRow>> {
        visible(person_id).and("id =", id).first(&self.db, read).await
    }

    /// Every bud a person sees, by name.
    pub async fn buds_of(&self, person_id: Uuid) -> Result<Vec<BudRow>> {
        let mut rows = visible(person_id).all(&self.db, read).await?;
        rows.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
        Ok(rows)
    }

    /// The bud at `bud://<workspace>/<name>`, both words exact.
    pub async fn bud_at(&self, person_id: Uuid, workspace: &str, name: &str) -> Result<Option<BudRow>> {
        visible(person_id)
            .and("name =", name)
            .and("workspace_id IN (SELECT id FROM workspaces WHERE name =", workspace)
            .more(")")
            .first(&self.db, read)
            .await
    }

    /// The buds that a file declares.
    pub async fn declared_buds(&self) -> Result<Vec<BudRow>> {
        Sql::new("SELECT * FROM buds WHERE origin = 'config' ORDER BY id").all(&self.db, read).await
    }
}

fn visible(person_id: Uuid) -> Sql {
    Sql::new(
        "SELECT * FROM buds WHERE workspace_id IN (SELECT workspace_id FROM members WHERE person_id = $1)",
    )
    .bind(person_id)
}

fn write(sql: Sql, bud: &BudRow, updated_at: i64) -> Sql {
    let preset = &bud.preset;
    sql.bind(bud.id)
        .bind(bud.workspace_id)
        .bind(bud.owner_id)
        .bind(&bud.name)
        .bind(&preset.description)
        .bind(&preset.avatar)
        .bind(&preset.system_prompt)
        .bind(&preset.model)
        .bind(preset.temperature)
        .bind(preset.max_tokens.map(i64::from))
        .bind(&serde_json::to_value(&preset.methods).unwrap_or_default())
        .bind(&serde_json::to_value(&preset.mcp_config).unwrap_or_default())
        .bind(updated_at)
}

/// The trigger writes into the registry, where the name may be another server's.
fn taken(error: StoreError, bud: &BudRow) -> StoreError {
    let name = || StoreError::NameTaken { name: bud.name.clone() };
    // SQLite names the columns of an index, and only the expression's index by its own name.
    ["buds_name", "buds.name", "mcp_servers_name"]
        .iter()
        .fold(error, |error, index| error.or_taken(index, name))
}

fn read(row: &Row) -> Result<BudRow> {
    let unreadable = |it: serde_json::Error| StoreError::Unreadable { what: "bud", problem: it.to_string() };
    Ok(BudRow {
        id: row.id("id")?,
        workspace_id: row.id("workspace_id")?,
        owner_id: row.maybe_id("owner_id")?,
        name: row.text("name")?,
        preset: BudPreset {
            description: row.text("description")?,
            avatar: row.maybe_text("avatar")?,
            system_prompt: row.text("system_prompt")?,
            model: row.maybe_text("model")?,
            temperature: row.maybe_float("temperature")?,
            max_tokens: row.maybe_int("max_tokens")?.and_then(|it| u32::try_from(it).ok()),
            methods: serde_json::from_value(row.json("methods")?).map_err(unreadable)?,
            mcp_config: serde_json::from_value(row.json("mcp_config")?).map_err(unreadable)?,
        },
        origin: row.text("origin")?,
        created_at: row.int("created_at")?,
        updated_at: row.int("updated_at")?,
    })
}
