//! The table `clients`: programs that may ask people to let them in.
//!
//! One that registered itself is known by an id of ours, one that publishes a document by that document's address.
//! Both are forgotten when nobody uses them.

use serde_json::json;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::{Result, StoreError};
use crate::{Store, now};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How long one stays that nobody ever let in.
const NEVER_USED_MS: i64 = DAY_MS;
/// How long one stays after its last connection ended.
const UNUSED_MS: i64 = 90 * DAY_MS;

/// A program, as it described itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientRow {
    /// What it calls itself towards us: the `client_id`.
    pub id: String,
    /// `registered` or `document`.
    pub kind: String,
    pub name: String,
    pub redirect_uris: Vec<String>,
    /// `none`, `client_secret_basic` or `client_secret_post`.
    pub auth_method: String,
    pub secret_hash: Option<String>,
    /// Whether it wants refresh tokens.
    pub refreshes: bool,
    /// Until when the copy of its document is good.
    pub fresh_until: Option<i64>,
    pub last_used_at: Option<i64>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl ClientRow {
    /// A public client that wants refresh tokens, as most are.
    pub fn new(id: &str, kind: &str, name: &str, redirect_uris: Vec<String>) -> Self {
        let now = now();
        Self {
            id: id.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            redirect_uris,
            auth_method: "none".to_owned(),
            secret_hash: None,
            refreshes: true,
            fresh_until: None,
            last_used_at: None,
            created_at: now,
            updated_at: now,
        }
    }
}

impl Store {
    /// Stores a client, or what it says of itself now.
    pub async fn put_client(&self, client: &ClientRow) -> Result<()> {
        Sql::new(
            "INSERT INTO clients (id, kind, name, redirect_uris, auth_method, secret_hash, refreshes, fresh_until,
                last_used_at, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
             ON CONFLICT (id) DO UPDATE SET name = excluded.name, redirect_uris = excluded.redirect_uris,
                auth_method = excluded.auth_method, refreshes = excluded.refreshes,
                fresh_until = excluded.fresh_until, updated_at = excluded.updated_at",
        )
        .bind(&client.id)
        .bind(&client.kind)
        .bind(&client.name)
        .bind(&json!(client.redirect_uris))
        .bind(&client.auth_method)
        .bind(&client.secret_hash)
        .bind(client.refreshes)
        .bind(client.fresh_until)
        .bind(client.last_used_at)
        .bind(client.created_at)
        .bind(client.updated_at)
        .run(&self.db)
        .await?;
        Ok(())
    }

    pub async fn client(&self, id: &str) -> Result<Option<ClientRow>> {
        Sql::new("SELECT * FROM clients WHERE id = $1").bind(id).first(&self.db, read).await
    }

    /// Every client with the number of its connections, the newest first.
    pub async fn clients(&self) -> Result<Vec<(ClientRow, i64)>> {
        Sql::new(
            "SELECT c.*, (SELECT count(*) FROM connections n WHERE n.client_id = c.id AND n.expires_at > $1)
                AS connections
             FROM clients c ORDER BY c.created_at DESC, c.id",
        )
        .bind(now())
        .all(&self.db, |row| Ok((read(row)?, row.int("connections")?)))
        .await
    }

    /// Removes a client with all its connections. `false`: there is none.
    pub async fn remove_client(&self, id: &str) -> Result<bool> {
        Ok(Sql::new("DELETE FROM clients WHERE id = $1").bind(id).run(&self.db).await? > 0)
    }

    /// Leaves the newest `most` of those that were never let in by anybody.
    pub async fn trim_unused_clients(&self, most: i64) -> Result<()> {
        Sql::new(
            "DELETE FROM clients WHERE last_used_at IS NULL
               AND NOT EXISTS (SELECT 1 FROM connections n WHERE n.client_id = clients.id)
               AND id NOT IN (SELECT id FROM clients WHERE last_used_at IS NULL
                              ORDER BY updated_at DESC, id LIMIT $1)",
        )
        .bind(most)
        .run(&self.db)
        .await?;
        Ok(())
    }

    /// Forgets what is over: connections, codes and tokens past their end, and clients that nobody uses.
    pub async fn sweep_clients(&self) -> Result<()> {
        let now = now();
        let mut tx = self.db.begin().await?;
        Sql::new("DELETE FROM connections WHERE expires_at <= $1").bind(now).run(&mut tx).await?;
        Sql::new("DELETE FROM connection_tokens WHERE expires_at <= $1").bind(now).run(&mut tx).await?;
        // A used code stays for a while: that it comes a second time is news.
        Sql::new("DELETE FROM connection_codes WHERE expires_at <= $1")
            .bind(now - DAY_MS)
            .run(&mut tx)
            .await?;
        Sql::new(
            "DELETE FROM clients
             WHERE (last_used_at IS NULL AND updated_at <= $1 OR last_used_at <= $2)
               AND NOT EXISTS (SELECT 1 FROM connections n WHERE n.client_id = clients.id)",
        )
        .bind(now - NEVER_USED_MS)
        .bind(now - UNUSED_MS)
        .run(&mut tx)
        .await?;
        tx.commit().await
    }
}

fn read(row: &Row) -> Result<ClientRow> {
    let uris = serde_json::from_value(row.json("redirect_uris")?)
        .map_err(|it| StoreError::Unreadable { what: "redirect URIs", problem: it.to_string() })?;
    Ok(ClientRow {
        id: row.text("id")?,
        kind: row.text("kind")?,
        name: row.text("name")?,
        redirect_uris: uris,
        auth_method: row.text("auth_method")?,
        secret_hash: row.maybe_text("secret_hash")?,
        refreshes: row.flag("refreshes")?,
        fresh_until: row.maybe_int("fresh_until")?,
        last_used_at: row.maybe_int("last_used_at")?,
        created_at: row.int("created_at")?,
        updated_at: row.int("updated_at")?,
    })
}
