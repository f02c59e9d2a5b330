//! The table `auth_configs`: how a server wants to be shown credentials. Names of places only, never values.

use serde_json::Value as Json;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::{Sql, Tx};
use crate::error::Result;
use crate::{Store, now};

/// One way to sign in to one server.
#[derive(Debug, Clone, PartialEq)]
pub struct AuthConfigRow {
    pub id: Uuid,
    pub server_id: Uuid,
    /// `public`, `header` or `oauth`.
    pub kind: String,
    pub name: String,
    /// `[{"in": "header" | "query", "key": …}]`.
    pub entries: Json,
    pub scopes: Option<Json>,
    pub endpoints: Option<Json>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl AuthConfigRow {
    pub fn new(server_id: Uuid, kind: &str, name: &str, entries: Json) -> Self {
        let now = now();
        Self {
            id: Uuid::now_v7(),
            server_id,
            kind: kind.to_owned(),
            name: name.to_owned(),
            entries,
            scopes: None,
            endpoints: None,
            created_at: now,
            updated_at: now,
        }
    }
}

impl Store {
    pub async fn add_auth_config(&self, config: &AuthConfigRow) -> Result<()> {
        let mut tx = self.db.begin().await?;
        put(&mut tx, config).await?;
        tx.commit().await
    }

    pub async fn auth_configs_of(&self, server_id: Uuid) -> Result<Vec<AuthConfigRow>> {
        let sql = Sql::new("SELECT * FROM auth_configs WHERE server_id = $1 ORDER BY id");
        sql.bind(server_id).all(&self.db, read).await
    }

    pub async fn auth_config(&self, id: Uuid) -> Result<Option<AuthConfigRow>> {
        Sql::new("SELECT * FROM auth_configs WHERE id = $1").bind(id).first(&self.db, read).await
    }

    /// Removes a way to sign in. Instances that used it stay, without what they have shown that way. `false`: there was
    /// none.
    pub async fn remove_auth_config(&self, id: Uuid) -> Result<bool> {
        let mut tx = self.db.begin().await?;
        Sql::new(
            "DELETE FROM credentials WHERE instance_id IN (SELECT id FROM mcp_instances WHERE auth_config_id = $1)",
        )
        .bind(id)
        .run(&mut tx)
        .await?;
        let sql = Sql::new(
            "UPDATE mcp_instances SET status = 'not_ready', updated_at = $2 WHERE auth_config_id = $1",
        );
        sql.bind(id).bind(now()).run(&mut tx).await?;
        let removed = Sql::new("DELETE FROM auth_configs WHERE id = $1").bind(id).run(&mut tx).await?;
        tx.commit().await?;
        Ok(removed > 0)
    }
}

/// Makes this the only config of a server.
pub(crate) async fn keep_only(tx: &mut Tx, server_id: Uuid, config: Option<&AuthConfigRow>) -> Result<()> {
    let others = Sql::new("DELETE FROM auth_configs WHERE server_id = $1").bind(server_id);
    match config {
        None => others.run(tx).await.map(drop),
        Some(config) => {
            others.and("id <>", config.id).run(&mut *tx).await?;
            put(tx, config).await
        }
    }
}

/// Stores a config under its id, new or not.
pub(crate) async fn put(tx: &mut Tx, config: &AuthConfigRow) -> Result<()> {
    Sql::new(
        "INSERT INTO auth_configs (id, server_id, type, name, entries, scopes, endpoints, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (id) DO UPDATE SET type = excluded.type, name = excluded.name, entries = excluded.entries,
            scopes = excluded.scopes, endpoints = excluded.endpoints, updated_at = excluded.updated_at",
    )
    .bind(config.id)
    .bind(config.server_id)
    .bind(&config.kind)
    .bind(&config.name)
    .bind(&config.entries)
    .bind(&config.scopes)
    .bind(&config.endpoints)
    .bind(config.created_at)
    .bind(config.updated_at)
    .run(tx)
    .await?;
    Ok(())
}

fn read(row: &Row) -> Result<AuthConfigRow> {
    Ok(AuthConfigRow {
        id: row.id("id")?,
        server_id: row.id("server_id")?,
        kind: row.text("type")?,
        name: row.text("name")?,
        entries: row.json("entries")?,
        scopes: row.maybe_json("scopes")?,
        endpoints: row.maybe_json("endpoints")?,
        created_at: row.int("created_at")?,
        updated_at: row.int("updated_at")?,
    })
}
