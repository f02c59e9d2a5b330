//! The table `oauth_clients`: who we are at a provider.

use toolgrove_core::Secret;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::Result;
use crate::{SecretBox, Store, now};

/// One client at one issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OauthClientRow {
    pub id: Uuid,
    pub issuer: String,
    /// `dynamic`, `document` or `preregistered`.
    pub registration: String,
    pub client_id: String,
    pub client_secret: Option<Secret>,
    /// How it shows itself at the token endpoint; absent: as the provider takes it.
    pub auth_method: Option<String>,
    /// The one place providers send people back to, of a client that registered itself.
    pub redirect_uri: Option<String>,
    /// When the secret ends, in Unix milliseconds.
    pub expires_at: Option<i64>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl OauthClientRow {
    pub fn new(issuer: &str, registration: &str, client_id: &str) -> Self {
        let now = now();
        Self {
            id: Uuid::now_v7(),
            issuer: issuer.to_owned(),
            registration: registration.to_owned(),
            client_id: client_id.to_owned(),
            client_secret: None,
            auth_method: None,
            redirect_uri: None,
            expires_at: None,
            created_at: now,
            updated_at: now,
        }
    }
}

impl Store {
    /// Remembers a client under its id, new or not.
    pub async fn put_oauth_client(&self, client: &OauthClientRow) -> Result<()> {
        let mut tx = self.begin_sealing().await?;
        let secret = client.client_secret.as_ref().map(|it| tx.seal(&context(client.id), it));
        Sql::new(
            "INSERT INTO oauth_clients (id, issuer, registration, client_id, client_secret_enc, auth_method,
                redirect_uri, expires_at, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             ON CONFLICT (id) DO UPDATE SET issuer = excluded.issuer, registration = excluded.registration,
                client_id = excluded.client_id, client_secret_enc = excluded.client_secret_enc,
                auth_method = excluded.auth_method, redirect_uri = excluded.redirect_uri,
                expires_at = excluded.expires_at, updated_at = excluded.updated_at",
        )
        .bind(client.id)
        .bind(&client.issuer)
        .bind(&client.registration)
        .bind(&client.client_id)
        .bind(&secret)
        .bind(&client.auth_method)
        .bind(&client.redirect_uri)
        .bind(client.expires_at)
        .bind(client.created_at)
        .bind(now())
        .run(&mut *tx)
        .await?;
        tx.commit().await
    }

    /// A client that tokens or a sign-in under way belong to.
    pub async fn oauth_client(&self, issuer: &str, client_id: &str) -> Result<Option<OauthClientRow>> {
        let sql = Sql::new(
            "SELECT * FROM oauth_clients WHERE issuer = $1 AND client_id = $2 ORDER BY id DESC LIMIT 1",
        );
        sql.bind(issuer).bind(client_id).first(&self.db, |row| read(&self.secrets, row)).await
    }

    /// The newest client that an admin entered for an issuer.
    pub async fn entered_oauth_client(&self, issuer: &str) -> Result<Option<OauthClientRow>> {
        let sql = Sql::new(
            "SELECT * FROM oauth_clients WHERE issuer = $1 AND registration = 'preregistered'
             ORDER BY id DESC LIMIT 1",
        );
        sql.bind(issuer).first(&self.db, |row| read(&self.secrets, row)).await
    }

    /// The newest client that registered itself for this return address and whose secret is good.
    pub async fn registered_oauth_client(
        &self,
        issuer: &str,
        redirect_uri: &str,
    ) -> Result<Option<OauthClientRow>> {
        let sql = Sql::new(
            "SELECT * FROM oauth_clients WHERE issuer = $1 AND registration = 'dynamic' AND redirect_uri = $2
             AND (expires_at IS NULL OR expires_at > $3) ORDER BY id DESC LIMIT 1",
        );
        let sql = sql.bind(issuer).bind(redirect_uri).bind(now());
        sql.first(&self.db, |row| read(&self.secrets, row)).await
    }

    /// Every client there is, by issuer.
    pub async fn oauth_clients(&self) -> Result<Vec<OauthClientRow>> {
        let sql = Sql::new("SELECT * FROM oauth_clients ORDER BY issuer, id");
        sql.all(&self.db, |row| read(&self.secrets, row)).await
    }

    /// Forgets a client. `false`: there was none.
    pub async fn remove_oauth_client(&self, id: Uuid) -> Result<bool> {
        Ok(Sql::new("DELETE FROM oauth_clients WHERE id = $1").bind(id).run(&self.db).await? > 0)
    }
}

fn context(id: Uuid) -> String {
    format!("oauth_clients/{id}")
}

fn read(secrets: &SecretBox, row: &Row) -> Result<OauthClientRow> {
    let id = row.id("id")?;
    let secret = row.maybe_text("client_secret_enc")?;
    Ok(OauthClientRow {
        id,
        issuer: row.text("issuer")?,
        registration: row.text("registration")?,
        client_id: row.text("client_id")?,
        client_secret: secret.map(|it| secrets.open(&context(id), &it)).transpose()?,
        auth_method: row.maybe_text("auth_method")?,
        redirect_uri: row.maybe_text("redirect_uri")?,
        expires_at: row.maybe_int("expires_at")?,
        created_at: row.int("created_at")?,
        updated_at: row.int("updated_at")?,
    })
}
