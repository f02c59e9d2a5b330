//! The table `mcp_instances`: servers as people use them.
//!
//! What belongs to a person is asked for with that person's id; for anybody else it is not there.

use serde_json::Value as Json;
use toolgrove_core::Secret;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::{Sql, Tx};
use crate::error::{Result, StoreError};
use crate::{AuthConfigRow, ServerRow, Store, Switch, auth_configs, credentials, now, servers};

/// One server as used by one person.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceRow {
    pub id: Uuid,
    pub person_id: Uuid,
    pub server_id: Uuid,
    /// Unique for its person, case ignored.
    pub slug: String,
    pub name: String,
    pub description: String,
    pub enabled: bool,
    /// `public`, `header` or `oauth`.
    pub auth_type: String,
    pub auth_config_id: Option<Uuid>,
    /// `not_ready`, `ready` or `needs_reauth`.
    pub status: String,
    pub capabilities: Option<Json>,
    pub last_error: Option<String>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl InstanceRow {
    /// A new, enabled, public instance, named after its slug and not ready yet.
    pub fn new(person_id: Uuid, server_id: Uuid, slug: &str) -> Self {
        let now = now();
        Self {
            id: Uuid::now_v7(),
            person_id,
            server_id,
            slug: slug.to_owned(),
            name: slug.to_owned(),
            description: String::new(),
            enabled: true,
            auth_type: "public".to_owned(),
            auth_config_id: None,
            status: "not_ready".to_owned(),
            capabilities: None,
            last_error: None,
            created_at: now,
            updated_at: now,
        }
    }
}

/// What one pasted entry becomes: all of it is stored, or nothing.
#[derive(Debug, Clone)]
pub struct Entry {
    pub server: ServerRow,
    pub auth_config: Option<AuthConfigRow>,
    pub instance: InstanceRow,
    pub credentials: Vec<(String, Secret)>,
}

/// What becomes of an instance's secrets when it is changed.
#[derive(Debug, Clone)]
pub enum Secrets {
    Keep,
    /// These credentials in the place of all others.
    Replace(Vec<(String, Secret)>),
    /// Nothing of before is good any more, a sign-in neither; these credentials are all there is.
    Forget(Vec<(String, Secret)>),
}

impl Store {
    pub async fn add_with_instance(&self, entry: &Entry) -> Result<()> {
        let mut tx = self.begin_sealing().await?;
        servers::insert(&mut tx, &entry.server).await?;
        if let Some(config) = &entry.auth_config {
            auth_configs::put(&mut tx, config).await?;
        }
        insert(&mut tx, &entry.instance).await?;
        credentials::replace(&mut tx, entry.instance.id, &entry.credentials).await?;
        tx.commit().await
    }

    /// Replaces an entry in place; ids and slug are those of the rows given. `false`: it is not there.
    pub async fn update_with_instance(&self, entry: &Entry) -> Result<bool> {
        let mut tx = self.begin_sealing().await?;
        if !servers::update(&mut tx, &entry.server).await? {
            return Ok(false);
        }
        match &entry.auth_config {
            config if entry.server.owner_id.is_some() => {
                auth_configs::keep_only(&mut tx, entry.server.id, config.as_ref()).await?;
            }
            Some(config) => auth_configs::put(&mut tx, config).await?,
            None => {}
        }
        if !update(&mut tx, &entry.instance).await? {
            return Ok(false);
        }
        credentials::replace(&mut tx, entry.instance.id, &entry.credentials).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Adds an instance with what its person has to show.
    pub async fn add_instance_with(
        &self,
        instance: &InstanceRow,
        credentials: &[(String, Secret)],
    ) -> Result<()> {
        let mut tx = self.begin_sealing().await?;
        insert(&mut tx, instance).await?;
        credentials::replace(&mut tx, instance.id, credentials).await?;
        tx.commit().await
    }

    /// Stores the whole row under its id, if it is this person's, together with what becomes of its secrets.
    /// `false`: it is not theirs, and nothing changed.
    pub async fn change_instance(&self, instance: &InstanceRow, secrets: Secrets) -> Result<bool> {
        let mut tx = self.begin_sealing().await?;
        if !update(&mut tx, instance).await? {
            return Ok(false);
        }
        match secrets {
            Secrets::Keep => {}
            Secrets::Replace(values) => credentials::replace(&mut tx, instance.id, &values).await?,
            Secrets::Forget(values) => {
                credentials::replace(&mut tx, instance.id, &values).await?;
                forget_sign_in(&mut tx, instance.id).await?;
            }
        }
        tx.commit().await?;
        Ok(true)
    }

    pub async fn add_instance(&self, instance: &InstanceRow) -> Result<()> {
        let mut tx = self.db.begin().await?;
        insert(&mut tx, instance).await?;
        tx.commit().await
    }

    /// Stores the whole row under its id, if it is this person's. `false`: it is not.
    pub async fn update_instance(&self, instance: &InstanceRow) -> Result<bool> {
        let mut tx = self.db.begin().await?;
        let found = update(&mut tx, instance).await?;
        tx.commit().await?;
        Ok(found)
    }

    /// Removes a person's instance with its tools, settings and credentials. `false`: it is not theirs.
    pub async fn remove_instance(&self, person_id: Uuid, id: Uuid) -> Result<bool> {
        let sql = Sql::new("DELETE FROM mcp_instances WHERE id = $1 AND person_id = $2");
        Ok(sql.bind(id).bind(person_id).run(&self.db).await? > 0)
    }

    pub async fn instance(&self, person_id: Uuid, id: Uuid) -> Result<Option<InstanceRow>> {
        let sql = Sql::new("SELECT * FROM mcp_instances WHERE id = $1 AND person_id = $2");
        sql.bind(id).bind(person_id).first(&self.db, read).await
    }

    /// A person's instance by its slug, case ignored.
    pub async fn instance_by_slug(&self, person_id: Uuid, slug: &str) -> Result<Option<InstanceRow>> {
        let sql = Sql::new("SELECT * FROM mcp_instances WHERE person_id = $1 AND lower(slug) = $2");
        sql.bind(person_id).bind(slug.to_ascii_lowercase()).first(&self.db, read).await
    }

    /// A person's instances, by slug.
    pub async fn instances_of(&self, person_id: Uuid) -> Result<Vec<InstanceRow>> {
        let sql = Sql::new("SELECT * FROM mcp_instances WHERE person_id = $1");
        let mut rows = sql.bind(person_id).all(&self.db, read).await?;
        rows.sort_by(|a, b| a.slug.cmp(&b.slug));
        Ok(rows)
    }

    /// Everybody's instances of the servers in a workspace.
    pub async fn instances_in(&self, workspace_id: Uuid) -> Result<Vec<InstanceRow>> {
        Sql::new(
            "SELECT * FROM mcp_instances
             WHERE server_id IN (SELECT id FROM mcp_servers WHERE workspace_id = $1) ORDER BY id",
        )
        .bind(workspace_id)
        .all(&self.db, read)
        .await
    }

    /// Every instance of everybody, for start-up.
    pub async fn all_instances(&self) -> Result<Vec<InstanceRow>> {
        Sql::new("SELECT * FROM mcp_instances ORDER BY id").all(&self.db, read).await
    }

    pub async fn switch_instance(&self, person_id: Uuid, id: Uuid, to: Switch) -> Result<bool> {
        let sql = Sql::new(
            "UPDATE mcp_instances SET enabled = $3, updated_at = $4 WHERE id = $1 AND person_id = $2",
        );
        Ok(sql.bind(id).bind(person_id).bind(to.is_on()).bind(now()).run(&self.db).await? > 0)
    }

    /// Remembers how the instance is doing. The row does not count as edited.
    pub async fn set_status(&self, id: Uuid, status: &str, last_error: Option<&str>) -> Result<bool> {
        let sql = Sql::new("UPDATE mcp_instances SET status = $2, last_error = $3 WHERE id = $1");
        Ok(sql.bind(id).bind(status).bind(last_error).run(&self.db).await? > 0)
    }

    /// Remembers what the server said it can do. The row does not count as edited.
    pub async fn set_capabilities(&self, id: Uuid, capabilities: &Json) -> Result<bool> {
        let sql = Sql::new("UPDATE mcp_instances SET capabilities = $2 WHERE id = $1");
        Ok(sql.bind(id).bind(capabilities).run(&self.db).await? > 0)
    }
}

/// What a sign-in to another server, or in another way, has left.
async fn forget_sign_in(tx: &mut Tx, instance_id: Uuid) -> Result<()> {
    for text in [
        "DELETE FROM oauth_tokens WHERE instance_id = $1",
        "DELETE FROM oauth_pending WHERE instance_id = $1",
        "DELETE FROM oauth_demands WHERE instance_id = $1",
    ] {
        Sql::new(text).bind(instance_id).run(&mut *tx).await?;
    }
    Ok(())
}

pub(crate) async fn insert(tx: &mut Tx, instance: &InstanceRow) -> Result<()> {
    let sql = Sql::new(
        "INSERT INTO mcp_instances (id, person_id, server_id, slug, name, description, enabled, auth_type,
            auth_config_id, status, capabilities, last_error, updated_at, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    );
    write(sql, instance, instance.updated_at)
        .bind(instance.created_at)
        .run(tx)
        .await
        .map_err(|it| taken(it, instance))?;
    Ok(())
}

pub(crate) async fn update(tx: &mut Tx, instance: &InstanceRow) -> Result<bool> {
    let sql = Sql::new(
        "UPDATE mcp_instances SET server_id = $3, slug = $4, name = $5, description = $6, enabled = $7,
            auth_type = $8, auth_config_id = $9, status = $10, capabilities = $11, last_error = $12,
            updated_at = $13
         WHERE id = $1 AND person_id = $2",
    );
    Ok(write(sql, instance, now()).run(tx).await.map_err(|it| taken(it, instance))? > 0)
}

fn write(sql: Sql, instance: &InstanceRow, updated_at: i64) -> Sql {
    sql.bind(instance.id)
        .bind(instance.person_id)
        .bind(instance.server_id)
        .bind(&instance.slug)
        .bind(&instance.name)
        .bind(&instance.description)
        .bind(instance.enabled)
        .bind(&instance.auth_type)
        .bind(instance.auth_config_id)
        .bind(&instance.status)
        .bind(&instance.capabilities)
        .bind(&instance.last_error)
        .bind(updated_at)
}

fn taken(error: StoreError, instance: &InstanceRow) -> StoreError {
    error.or_taken("mcp_instances_slug", || StoreError::SlugTaken { slug: instance.slug.clone() })
}

fn read(row: &Row) -> Result<InstanceRow> {
    Ok(InstanceRow {
        id: row.id("id")?,
        person_id: row.id("person_id")?,
        server_id: row.id("server_id")?,
        slug: row.text("slug")?,
        name: row.text("name")?,
        description: row.text("description")?,
        enabled: row.flag("enabled")?,
        auth_type: row.text("auth_type")?,
        auth_config_id: row.maybe_id("auth_config_id")?,
        status: row.text("status")?,
        capabilities: row.maybe_json("capabilities")?,
        last_error: row.maybe_text("last_error")?,
        created_at: row.int("created_at")?,
        updated_at: row.int("updated_at")?,
    })
}
