//! The tables `connections`, `connection_grants`, `connection_codes` and `connection_tokens`: whom a person let in.
//!
//! A connection is one answer "Allow". Its code and its tokens are known by their digests; whoever takes one does so
//! in a single statement, so of two at once only one succeeds. Ending a connection ends all it was given.

use std::collections::HashSet;

use uuid::Uuid;

use crate::cell::Row;
use crate::db::{Sql, Tx};
use crate::error::Result;
use crate::{Store, now};

/// How exact the time of the last use is.
const USE_MS: i64 = 60_000;

/// One client that one person let in.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionRow {
    pub id: Uuid,
    pub person_id: Uuid,
    pub client_id: String,
    pub redirect_uri: String,
    /// The path its tokens are for; empty for the whole hub.
    pub resource: String,
    pub scope: String,
    /// Whether it may use every instance of its person. Otherwise the granted ones.
    pub all_instances: bool,
    /// When the last thing it was given ends.
    pub expires_at: i64,
    pub last_used_at: Option<i64>,
    pub created_at: i64,
}

/// A connection with its client's name, as its person sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectedClient {
    pub connection: ConnectionRow,
    pub client_name: String,
    /// The granted instances, unless all are.
    pub grants: HashSet<Uuid>,
}

/// Something a client was given, by its digest.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    pub hash: String,
    pub expires_at: i64,
}

/// The tokens of one answer.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenPair {
    pub access: Given,
    pub refresh: Option<Given>,
}

/// A code or a refresh token that was found, with its connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub connection: ConnectionRow,
    pub expires_at: i64,
    pub is_used: bool,
    /// Of a code: what the verifier must match.
    pub challenge: Option<String>,
}

impl Store {
    /// Stores what a person allowed, and the code the client gets for it.
    pub async fn add_connection(
        &self,
        connection: &ConnectionRow,
        grants: &HashSet<Uuid>,
        code: &Given,
        challenge: &str,
    ) -> Result<()> {
        let mut tx = self.db.begin().await?;
        Sql::new(
            "INSERT INTO connections (id, person_id, client_id, redirect_uri, resource, scope, all_instances,
                expires_at, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(connection.id)
        .bind(connection.person_id)
        .bind(&connection.client_id)
        .bind(&connection.redirect_uri)
        .bind(&connection.resource)
        .bind(&connection.scope)
        .bind(connection.all_instances)
        .bind(connection.expires_at)
        .bind(connection.created_at)
        .run(&mut tx)
        .await?;
        for instance in grants {
            // Only what is the person's own can be granted.
            Sql::new(
                "INSERT INTO connection_grants (connection_id, instance_id, created_at)
                 SELECT $1, id, $4 FROM mcp_instances WHERE id = $2 AND person_id = $3",
            )
            .bind(connection.id)
            .bind(*instance)
            .bind(connection.person_id)
            .bind(connection.created_at)
            .run(&mut tx)
            .await?;
        }
        Sql::new(
            "INSERT INTO connection_codes (hash, connection_id, challenge, expires_at, created_at)
             VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(&code.hash)
        .bind(connection.id)
        .bind(challenge)
        .bind(code.expires_at)
        .bind(connection.created_at)
        .run(&mut tx)
        .await?;
        tx.commit().await
    }

    pub async fn code(&self, hash: &str) -> Result<Option<Found>> {
        Sql::new(
            "SELECT n.*, c.expires_at AS given_until, c.used_at, c.challenge
             FROM connection_codes c JOIN connections n ON n.id = c.connection_id WHERE c.hash = $1",
        )
        .bind(hash)
        .first(&self.db, |row| Ok(Found { challenge: row.maybe_text("challenge")?, ..found(row)? }))
        .await
    }

    pub async fn refresh_token(&self, hash: &str) -> Result<Option<Found>> {
        token("refresh", hash).first(&self.db, found).await
    }

    pub async fn access_token(&self, hash: &str) -> Result<Option<Found>> {
        token("access", hash).first(&self.db, found).await
    }

    /// Trades a code for tokens. `false`: it was used already, and nothing was given.
    pub async fn trade_code(&self, hash: &str, connection_id: Uuid, tokens: &TokenPair) -> Result<bool> {
        let sql = Sql::new("UPDATE connection_codes SET used_at = $2 WHERE hash = $1 AND used_at IS NULL");
        self.trade(sql, hash, connection_id, tokens).await
    }

    /// Trades a refresh token for its successors. `false`: it was used already, and nothing was given.
    pub async fn trade_refresh_token(
        &self,
        hash: &str,
        connection_id: Uuid,
        tokens: &TokenPair,
    ) -> Result<bool> {
        let sql = Sql::new(
            "UPDATE connection_tokens SET used_at = $2 WHERE hash = $1 AND kind = 'refresh' AND used_at IS NULL",
        );
        self.trade(sql, hash, connection_id, tokens).await
    }

    async fn trade(&self, take: Sql, hash: &str, connection_id: Uuid, tokens: &TokenPair) -> Result<bool> {
        let mut tx = self.db.begin().await?;
        let now = now();
        if take.bind(hash).bind(now).run(&mut tx).await? == 0 {
            return Ok(false);
        }
        insert_token(&mut tx, connection_id, "access", &tokens.access).await?;
        if let Some(refresh) = &tokens.refresh {
            insert_token(&mut tx, connection_id, "refresh", refresh).await?;
        }
        let end = tokens.refresh.as_ref().unwrap_or(&tokens.access).expires_at;
        let sql = Sql::new("UPDATE connections SET expires_at = $2, last_used_at = $3 WHERE id = $1");
        if sql.bind(connection_id).bind(end).bind(now).run(&mut tx).await? == 0 {
            return Ok(false);
        }
        Sql::new(
            "UPDATE clients SET last_used_at = $2
             WHERE id = (SELECT client_id FROM connections WHERE id = $1)",
        )
        .bind(connection_id)
        .bind(now)
        .run(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(true)
    }

    /// The instances a connection may use, if not all.
    pub async fn connection_grants(&self, connection_id: Uuid) -> Result<HashSet<Uuid>> {
        let sql = Sql::new("SELECT instance_id FROM connection_grants WHERE connection_id = $1");
        let rows = sql.bind(connection_id).all(&self.db, |row| row.id("instance_id")).await?;
        Ok(rows.into_iter().collect())
    }

    /// Remembers that a connection was used, to the minute.
    pub async fn touch_connection(&self, connection: &ConnectionRow) -> Result<()> {
        let now = now();
        if connection.last_used_at.is_some_and(|it| now - it < USE_MS) {
            return Ok(());
        }
        let sql = Sql::new("UPDATE connections SET last_used_at = $2 WHERE id = $1");
        sql.bind(connection.id).bind(now).run(&self.db).await?;
        Ok(())
    }

    /// Whom a person let in and did not lock out again, the newest first.
    pub async fn connections_of(&self, person_id: Uuid) -> Result<Vec<ConnectedClient>> {
        let mut rows = Sql::new(
            "SELECT n.*, c.name AS client_name FROM connections n JOIN clients c ON c.id = n.client_id
             WHERE n.person_id = $1 AND n.expires_at > $2 AND n.last_used_at IS NOT NULL
             ORDER BY n.created_at DESC, n.id",
        )
        .bind(person_id)
        .bind(now())
        .all(&self.db, |row| {
            Ok(ConnectedClient {
                connection: read(row)?,
                client_name: row.text("client_name")?,
                grants: HashSet::new(),
            })
        })
        .await?;
        for row in rows.iter_mut().filter(|it| !it.connection.all_instances) {
            row.grants = self.connection_grants(row.connection.id).await?;
        }
        Ok(rows)
    }

    /// What a person chose when they last let this client in for this place, to be offered again.
    pub async fn last_connection(
        &self,
        person_id: Uuid,
        client_id: &str,
        resource: &str,
    ) -> Result<Option<ConnectionRow>> {
        Sql::new(
            "SELECT * FROM connections WHERE person_id = $1 AND client_id = $2 AND resource = $3
                AND last_used_at IS NOT NULL
             ORDER BY created_at DESC, id DESC LIMIT 1",
        )
        .bind(person_id)
        .bind(client_id)
        .bind(resource)
        .first(&self.db, read)
        .await
    }

    /// The ids of a client's connections, whoever let it in.
    pub async fn connections_with(&self, client_id: &str) -> Result<Vec<Uuid>> {
        let sql = Sql::new("SELECT id FROM connections WHERE client_id = $1");
        sql.bind(client_id).all(&self.db, |row| row.id("id")).await
    }

    /// Ends a connection of a person. `false`: it is not theirs.
    pub async fn remove_connection_of(&self, person_id: Uuid, id: Uuid) -> Result<bool> {
        let sql = Sql::new("DELETE FROM connections WHERE id = $1 AND person_id = $2");
        Ok(sql.bind(id).bind(person_id).run(&self.db).await? > 0)
    }

    /// Ends a connection, whoever it belongs to.
    pub async fn remove_connection(&self, id: Uuid) -> Result<bool> {
        Ok(Sql::new("DELETE FROM connections WHERE id = $1").bind(id).run(&self.db).await? > 0)
    }
}

async fn insert_token(tx: &mut Tx, connection_id: Uuid, kind: &str, given: &Given) -> Result<()> {
    Sql::new(
        "INSERT INTO connection_tokens (hash, connection_id, kind, expires_at, created_at)
         VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(&given.hash)
    .bind(connection_id)
    .bind(kind)
    .bind(given.expires_at)
    .bind(now())
    .run(tx)
    .await?;
    Ok(())
}

fn token(kind: &str, hash: &str) -> Sql {
    Sql::new(
        "SELECT n.*, t.expires_at AS given_until, t.used_at
         FROM connection_tokens t JOIN connections n ON n.id = t.connection_id
         WHERE t.hash = $1 AND t.kind = $2",
    )
    .bind(hash)
    .bind(kind)
}

fn found(row: &Row) -> Result<Found> {
    Ok(Found {
        connection: read(row)?,
        expires_at: row.int("given_until")?,
        is_used: row.maybe_int("used_at")?.is_some(),
        challenge: None,
    })
}

fn read(row: &Row) -> Result<ConnectionRow> {
    Ok(ConnectionRow {
        id: row.id("id")?,
        person_id: row.id("person_id")?,
        client_id: row.text("client_id")?,
        redirect_uri: row.text("redirect_uri")?,
        resource: row.text("resource")?,
        scope: row.text("scope")?,
        all_instances: row.flag("all_instances")?,
        expires_at: row.int("expires_at")?,
        last_used_at: row.maybe_int("last_used_at")?,
        created_at: row.int("created_at")?,
    })
}
