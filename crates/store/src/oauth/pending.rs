//! The table `oauth_pending`: sign-ins that were begun. Each is good once, for the person who began it.

use toolgrove_core::Secret;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::Result;
use crate::{SecretBox, Store, now};

/// What is left of the sign-ins of a day ago is of no use to anybody.
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;

/// A sign-in under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingRow {
    pub state: String,
    pub instance_id: Uuid,
    pub person_id: Uuid,
    pub verifier: Secret,
    pub redirect_uri: String,
    pub issuer: String,
    /// Whether the provider promised to say who it is when it sends somebody back.
    pub names_itself: bool,
    pub token_endpoint: String,
    pub client_id: String,
    pub resource: String,
    pub scope: Option<String>,
    /// Where the person was sent.
    pub url: String,
    pub created_at: i64,
}

impl Store {
    pub async fn add_pending(&self, pending: &PendingRow) -> Result<()> {
        let mut tx = self.begin_sealing().await?;
        let sql = Sql::new("DELETE FROM oauth_pending WHERE created_at < $1");
        sql.bind(now() - KEPT_MS).run(&mut *tx).await?;
        let verifier = tx.seal(&context(&pending.state), &pending.verifier);
        Sql::new(
            "INSERT INTO oauth_pending (state, instance_id, person_id, verifier_enc, redirect_uri, issuer, names_itself,
                token_endpoint, client_id, resource, scope, url, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        )
        .bind(&pending.state)
        .bind(pending.instance_id)
        .bind(pending.person_id)
        .bind(verifier)
        .bind(&pending.redirect_uri)
        .bind(&pending.issuer)
        .bind(pending.names_itself)
        .bind(&pending.token_endpoint)
        .bind(&pending.client_id)
        .bind(&pending.resource)
        .bind(&pending.scope)
        .bind(&pending.url)
        .bind(pending.created_at)
        .run(&mut *tx)
        .await?;
        tx.commit().await
    }

    /// Takes a person's sign-in out, once: whoever comes second, or is somebody else, finds nothing.
    pub async fn take_pending(&self, person_id: Uuid, state: &str) -> Result<Option<PendingRow>> {
        let sql = Sql::new(
            "UPDATE oauth_pending SET used_at = $3 WHERE state = $1 AND person_id = $2 AND used_at IS NULL
             RETURNING *",
        );
        let sql = sql.bind(state).bind(person_id).bind(now());
        sql.first(&self.db, |row| read(&self.secrets, row)).await
    }

    /// A person's sign-in that nobody came back from yet.
    pub async fn pending(&self, person_id: Uuid, state: &str) -> Result<Option<PendingRow>> {
        let sql =
            Sql::new("SELECT * FROM oauth_pending WHERE state = $1 AND person_id = $2 AND used_at IS NULL");
        sql.bind(state).bind(person_id).first(&self.db, |row| read(&self.secrets, row)).await
    }

    /// Whether somebody was sent to a provider as this client, for this instance, and did not come back.
    pub async fn is_pending(&self, instance_id: Uuid, issuer: &str, client_id: &str) -> Result<bool> {
        let sql = Sql::new(
            "SELECT state FROM oauth_pending WHERE instance_id = $1 AND issuer = $2 AND client_id = $3
             AND used_at IS NULL LIMIT 1",
        );
        let sql = sql.bind(instance_id).bind(issuer).bind(client_id);
        Ok(sql.first(&self.db, |row| row.text("state")).await?.is_some())
    }
}

fn context(state: &str) -> String {
    format!("oauth_pending/{state}")
}

fn read(secrets: &SecretBox, row: &Row) -> Result<PendingRow> {
    let state = row.text("state")?;
    Ok(PendingRow {
        verifier: secrets.open(&context(&state), &row.text("verifier_enc")?)?,
        state,
        instance_id: row.id("instance_id")?,
        person_id: row.id("person_id")?,
        redirect_uri: row.text("redirect_uri")?,
        issuer: row.text("issuer")?,
        names_itself: row.flag("names_itself")?,
        token_endpoint: row.text("token_endpoint")?,
        client_id: row.text("client_id")?,
        resource: row.text("resource")?,
        scope: row.maybe_text("scope")?,
        url: row.text("url")?,
        created_at: row.int("created_at")?,
    })
}
