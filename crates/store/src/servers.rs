//! The table `mcp_servers`: the registry.
//!
//! A server with an owner is that person's alone. Its name must differ from every other name its owner sees in the
//! workspace; what others keep to themselves neither blocks nor betrays a name.

use serde_json::Value as Json;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::{On, Sql, Tx};
use crate::error::{Result, StoreError};
use crate::{AuthConfigRow, Store, Switch, auth_configs, now};

/// One entry of the registry.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerRow {
    pub id: Uuid,
    /// Absent: for every workspace.
    pub workspace_id: Option<Uuid>,
    pub bud_id: Option<Uuid>,
    pub endpoint: String,
    /// `{name, description, methods[]}`.
    pub metadata: Json,
    pub rate_limit: Option<Json>,
    pub name: String,
    pub description: String,
    /// Absent: shared.
    pub owner_id: Option<Uuid>,
    /// `admin`, `paste`, `config`, `bundle:<id>`, `bud` or `builtin`.
    pub origin: String,
    /// `streamable_http`, `sse`, `stdio`, `unix`, `pipe`, `bud`, `tab`, `wasm` or `builtin`.
    pub transport: String,
    /// The entry as it was given, unknown keys included.
    pub config: Json,
    pub enabled: bool,
    pub protocol: Option<String>,
    /// `auto`, `modern` or `legacy`, as set by a person.
    pub era: String,
    /// `{era, version, evidence, at}`, as found out.
    pub era_verdict: Option<Json>,
    pub registration: Option<Json>,
    pub duplicate_of: Option<Uuid>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl ServerRow {
    /// A new, enabled server for everybody; everything not named here is empty.
    pub fn new(name: &str, transport: &str, endpoint: &str, origin: &str) -> Self {
        let now = now();
        Self {
            id: Uuid::now_v7(),
            workspace_id: None,
            bud_id: None,
            endpoint: endpoint.to_owned(),
            metadata: Json::Object(serde_json::Map::new()),
            rate_limit: None,
            name: name.to_owned(),
            description: String::new(),
            owner_id: None,
            origin: origin.to_owned(),
            transport: transport.to_owned(),
            config: Json::Object(serde_json::Map::new()),
            enabled: true,
            protocol: None,
            era: "auto".to_owned(),
            era_verdict: None,
            registration: None,
            duplicate_of: None,
            created_at: now,
            updated_at: now,
        }
    }
}

impl Store {
    pub async fn add_server(&self, server: &ServerRow) -> Result<()> {
        let mut tx = self.db.begin().await?;
        insert(&mut tx, server).await?;
        tx.commit().await
    }

    /// Adds a server and the way in which it is shown who asks.
    pub async fn add_server_with(&self, server: &ServerRow, config: &AuthConfigRow) -> Result<()> {
        let mut tx = self.db.begin().await?;
        insert(&mut tx, server).await?;
        auth_configs::put(&mut tx, config).await?;
        tx.commit().await
    }

    /// Stores the whole row under its id. `false`: there is none.
    pub async fn update_server(&self, server: &ServerRow) -> Result<bool> {
        let mut tx = self.db.begin().await?;
        let found = update(&mut tx, server).await?;
        tx.commit().await?;
        Ok(found)
    }

    /// Removes the server with its instances and all they have. `false`: there was none.
    pub async fn remove_server(&self, id: Uuid) -> Result<bool> {
        Ok(Sql::new("DELETE FROM mcp_servers WHERE id = $1").bind(id).run(&self.db).await? > 0)
    }

    /// A server, whoever may see it.
    pub async fn server(&self, id: Uuid) -> Result<Option<ServerRow>> {
        Sql::new("SELECT * FROM mcp_servers WHERE id = $1").bind(id).first(&self.db, read).await
    }

    /// A server, if this person may see it.
    pub async fn visible_server(&self, person_id: Uuid, id: Uuid) -> Result<Option<ServerRow>> {
        visible(person_id).and("id =", id).first(&self.db, read).await
    }

    /// The server of this exact name that a person sees in a workspace, their own before a shared one.
    pub async fn server_named(
        &self,
        person_id: Uuid,
        workspace_id: Option<Uuid>,
        name: &str,
    ) -> Result<Option<ServerRow>> {
        visible(person_id)
            .and("name =", name)
            .and("coalesce(workspace_id, '') =", workspace_text(workspace_id))
            .all(&self.db, read)
            .await
            .map(|rows| rows.into_iter().max_by_key(|it| it.owner_id.is_some()))
    }

    /// Every server a person sees, by name.
    pub async fn servers_of(&self, person_id: Uuid) -> Result<Vec<ServerRow>> {
        let mut rows = visible(person_id).all(&self.db, read).await?;
        rows.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
        Ok(rows)
    }

    /// Every server there is, for start-up.
    pub async fn all_servers(&self) -> Result<Vec<ServerRow>> {
        Sql::new("SELECT * FROM mcp_servers ORDER BY id").all(&self.db, read).await
    }

    pub async fn switch_server(&self, id: Uuid, to: Switch) -> Result<bool> {
        let sql = Sql::new("UPDATE mcp_servers SET enabled = $2, updated_at = $3 WHERE id = $1");
        Ok(sql.bind(id).bind(to.is_on()).bind(now()).run(&self.db).await? > 0)
    }

    /// Remembers which era the server turned out to speak. The row does not count as edited.
    pub async fn set_era_verdict(&self, id: Uuid, verdict: Option<&Json>) -> Result<bool> {
        let sql = Sql::new("UPDATE mcp_servers SET era_verdict = $2 WHERE id = $1");
        Ok(sql.bind(id).bind(&verdict.cloned()).run(&self.db).await? > 0)
    }
}

fn visible(person_id: Uuid) -> Sql {
    Sql::new(
        "SELECT * FROM mcp_servers WHERE (owner_id IS NULL OR owner_id = $1)
         AND (workspace_id IS NULL OR workspace_id IN (SELECT workspace_id FROM members WHERE person_id = $1))",
    )
    .bind(person_id)
}

pub(crate) async fn insert(tx: &mut Tx, server: &ServerRow) -> Result<()> {
    refuse_taken(tx, server).await?;
    let sql = Sql::new(
        "INSERT INTO mcp_servers (id, workspace_id, bud_id, endpoint, metadata, rate_limit, name, description,
            owner_id, origin, transport, config, enabled, protocol, era, era_verdict, registration, duplicate_of,
            updated_at, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)",
    );
    write(sql, server, server.updated_at)
        .bind(server.created_at)
        .run(tx)
        .await
        .map_err(|it| taken(it, server))?;
    Ok(())
}

pub(crate) async fn update(tx: &mut Tx, server: &ServerRow) -> Result<bool> {
    refuse_taken(tx, server).await?;
    let sql = Sql::new(
        "UPDATE mcp_servers SET workspace_id = $2, bud_id = $3, endpoint = $4, metadata = $5, rate_limit = $6,
            name = $7, description = $8, owner_id = $9, origin = $10, transport = $11, config = $12, enabled = $13,
            protocol = $14, era = $15, era_verdict = $16, registration = $17, duplicate_of = $18, updated_at = $19
         WHERE id = $1",
    );
    let touched = write(sql, server, now()).run(On::Tx(tx)).await.map_err(|it| taken(it, server))?;
    Ok(touched > 0)
}

fn write(sql: Sql, server: &ServerRow, updated_at: i64) -> Sql {
    sql.bind(server.id)
        .bind(server.workspace_id)
        .bind(server.bud_id)
        .bind(&server.endpoint)
        .bind(&server.metadata)
        .bind(&server.rate_limit)
        .bind(&server.name)
        .bind(&server.description)
        .bind(server.owner_id)
        .bind(&server.origin)
        .bind(&server.transport)
        .bind(&server.config)
        .bind(server.enabled)
        .bind(&server.protocol)
        .bind(&server.era)
        .bind(&server.era_verdict)
        .bind(&server.registration)
        .bind(server.duplicate_of)
        .bind(updated_at)
}

/// The unique index knows one owner's names; a private server must not take a shared name either.
async fn refuse_taken(tx: &mut Tx, server: &ServerRow) -> Result<()> {
    let found = Sql::new("SELECT id FROM mcp_servers WHERE owner_id IS NULL")
        .and("name =", &server.name)
        .and("coalesce(workspace_id, '') =", workspace_text(server.workspace_id))
        .and("id <>", server.id)
        .first(tx, |row| row.id("id"))
        .await?;
    match found {
        Some(_) => Err(StoreError::NameTaken { name: server.name.clone() }),
        None => Ok(()),
    }
}

fn taken(error: StoreError, server: &ServerRow) -> StoreError {
    error.or_taken("mcp_servers_name", || StoreError::NameTaken { name: server.name.clone() })
}

fn workspace_text(workspace_id: Option<Uuid>) -> String {
    workspace_id.map(|it| it.to_string()).unwrap_or_default()
}

fn read(row: &Row) -> Result<ServerRow> {
    Ok(ServerRow {
        id: row.id("id")?,
        workspace_id: row.maybe_id("workspace_id")?,
        bud_id: row.maybe_id("bud_id")?,
        endpoint: row.text("endpoint")?,
        metadata: row.json("metadata")?,
        rate_limit: row.maybe_json("rate_limit")?,
        name: row.text("name")?,
        description: row.text("description")?,
        owner_id: row.maybe_id("owner_id")?,
        origin: row.text("origin")?,
        transport: row.text("transport")?,
        config: row.json("config")?,
        enabled: row.flag("enabled")?,
        protocol: row.maybe_text("protocol")?,
        era: row.text("era")?,
        era_verdict: row.maybe_json("era_verdict")?,
        registration: row.maybe_json("registration")?,
        duplicate_of: row.maybe_id("duplicate_of")?,
        created_at: row.int("created_at")?,
        updated_at: row.int("updated_at")?,
    })
}
