//! The table `oauth_demands`: what a server has asked for so far.

use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::Result;
use crate::{Store, now};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DemandRow {
    pub resource_metadata: Option<String>,
    pub scope: Option<String>,
    pub rounds: i64,
}

/// What a server that lets nobody in wants instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// Other credentials, as far as it says.
    Credentials,
    /// That somebody signs in with a provider.
    SignIn,
}

impl Store {
    /// Nothing, for a server that has not asked yet.
    pub async fn demand_of(&self, instance_id: Uuid) -> Result<Option<DemandRow>> {
        let sql = Sql::new("SELECT * FROM oauth_demands WHERE instance_id = $1");
        sql.bind(instance_id).first(&self.db, read).await
    }

    pub async fn put_demand(&self, instance_id: Uuid, demand: &DemandRow) -> Result<()> {
        Sql::new(
            "INSERT INTO oauth_demands (instance_id, resource_metadata, scope, rounds, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $5)
             ON CONFLICT (instance_id) DO UPDATE SET resource_metadata = excluded.resource_metadata,
                scope = excluded.scope, rounds = excluded.rounds, updated_at = excluded.updated_at",
        )
        .bind(instance_id)
        .bind(&demand.resource_metadata)
        .bind(&demand.scope)
        .bind(demand.rounds)
        .bind(now())
        .run(&self.db)
        .await?;
        Ok(())
    }

    /// Remembers that a server let nobody in. Whoever has never signed in has to, whoever has must again.
    pub async fn bar_instance(&self, id: Uuid, why: &str, wants: Wants) -> Result<bool> {
        let sql = Sql::new(
            "UPDATE mcp_instances SET last_error = $2, status = CASE
                WHEN (auth_type = 'oauth' OR (auth_type <> 'header' AND $3))
                    AND NOT EXISTS (SELECT 1 FROM oauth_tokens WHERE instance_id = $1)
                THEN 'not_ready' ELSE 'needs_reauth' END
             WHERE id = $1",
        );
        Ok(sql.bind(id).bind(why).bind(wants == Wants::SignIn).run(&self.db).await? > 0)
    }

    pub async fn remove_demand(&self, instance_id: Uuid) -> Result<()> {
        Sql::new("DELETE FROM oauth_demands WHERE instance_id = $1").bind(instance_id).run(&self.db).await?;
        Ok(())
    }
}

fn read(row: &Row) -> Result<DemandRow> {
    Ok(DemandRow {
        resource_metadata: row.maybe_text("resource_metadata")?,
        scope: row.maybe_text("scope")?,
        rounds: row.int("rounds")?,
    })
}
