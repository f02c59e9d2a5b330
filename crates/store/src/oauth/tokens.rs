//! The table `oauth_tokens`: at most one row for each instance.
//!
//! A refresh token is used once. Before it is sent it is taken out ([`Store::take_refresh`]); the answer puts the next
//! one in ([`Store::renew_oauth_token`]), and only a provider that is known not to have used it has it put back
//! ([`Store::return_refresh`]). Killed in between, the hub comes back with a token that nobody may send.

use toolgrove_core::Secret;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::{Sealing, Sql};
use crate::error::Result;
use crate::{SecretBox, Store, now};

/// What an instance has to show to its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OauthTokenRow {
    pub instance_id: Uuid,
    pub issuer: String,
    pub client_id: String,
    pub token_endpoint: String,
    pub resource: String,
    pub access: Secret,
    pub refresh: Option<Secret>,
    /// When a refresh token was sent whose answer is not known.
    pub taken_at: Option<i64>,
    /// Unix milliseconds.
    pub expires_at: Option<i64>,
    pub scope: Option<String>,
    /// Why the provider gives no more tokens, in its words.
    pub problem: Option<String>,
    /// When somebody signed in.
    pub created_at: i64,
    pub updated_at: i64,
}

/// What a provider gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    pub access: Secret,
    pub refresh: Option<Secret>,
    pub expires_at: Option<i64>,
    pub scope: Option<String>,
}

/// A refresh token that is under way.
#[derive(Debug)]
pub struct Taken {
    instance_id: Uuid,
    at: i64,
}

impl Store {
    pub async fn oauth_token_of(&self, instance_id: Uuid) -> Result<Option<OauthTokenRow>> {
        let sql = Sql::new("SELECT * FROM oauth_tokens WHERE instance_id = $1");
        sql.bind(instance_id).first(&self.db, |row| read(&self.secrets, row)).await
    }

    /// Keeps what a sign-in brought, in the place of what there was, and the instance is ready from then on.
    /// `false`: the instance is gone.
    pub async fn put_oauth_token(&self, token: &OauthTokenRow) -> Result<bool> {
        let mut tx = self.begin_sealing().await?;
        let ready = Sql::new(
            "UPDATE mcp_instances SET auth_type = 'oauth', status = 'ready', last_error = NULL, updated_at = $2
             WHERE id = $1",
        );
        if ready.bind(token.instance_id).bind(now()).run(&mut *tx).await? == 0 {
            return Ok(false);
        }
        let sql = Sql::new("DELETE FROM oauth_tokens WHERE instance_id = $1");
        sql.bind(token.instance_id).run(&mut *tx).await?;
        let [access, refresh] = sealed(&tx, token.instance_id, &token.access, token.refresh.as_ref());
        Sql::new(
            "INSERT INTO oauth_tokens (instance_id, issuer, client_id, token_endpoint, resource, access_enc, refresh_enc,
                expires_at, scope, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        )
        .bind(token.instance_id)
        .bind(&token.issuer)
        .bind(&token.client_id)
        .bind(&token.token_endpoint)
        .bind(&token.resource)
        .bind(access)
        .bind(refresh)
        .bind(token.expires_at)
        .bind(&token.scope)
        .bind(token.created_at)
        .bind(token.updated_at)
        .run(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Takes the refresh token out, for sending it. None: somebody else has it.
    pub async fn take_refresh(&self, instance_id: Uuid) -> Result<Option<Taken>> {
        let at = now();
        let sql = Sql::new(
            "UPDATE oauth_tokens SET taken_enc = refresh_enc, refresh_enc = NULL, taken_at = $2
             WHERE instance_id = $1 AND refresh_enc IS NOT NULL",
        );
        // A sealed value moves, so no key may be replaced meanwhile.
        let mut tx = self.begin_sealing().await?;
        let is_ours = sql.bind(instance_id).bind(at).run(&mut *tx).await? > 0;
        tx.commit().await?;
        Ok(is_ours.then_some(Taken { instance_id, at }))
    }

    /// Puts the refresh token back: it was not used.
    pub async fn return_refresh(&self, taken: Taken) -> Result<()> {
        let sql = Sql::new(
            "UPDATE oauth_tokens SET refresh_enc = taken_enc, taken_enc = NULL, taken_at = NULL
             WHERE instance_id = $1 AND taken_at = $2",
        );
        let mut tx = self.begin_sealing().await?;
        sql.bind(taken.instance_id).bind(taken.at).run(&mut *tx).await?;
        tx.commit().await
    }

    /// Keeps what the refresh token brought. A provider that gives no new one lets the old one be used again.
    /// `false`: somebody signed in anew meanwhile, and what is there now counts.
    pub async fn renew_oauth_token(&self, taken: Taken, token: &NewToken) -> Result<bool> {
        let instance_id = taken.instance_id;
        let mut tx = self.begin_sealing().await?;
        let [access, refresh] = sealed(&tx, instance_id, &token.access, token.refresh.as_ref());
        let touched =
        Sql::new(
            "UPDATE oauth_tokens SET access_enc = $2, refresh_enc = coalesce($3, taken_enc), taken_enc = NULL,
                taken_at = NULL, expires_at = $4, scope = coalesce($5, scope), problem = NULL, updated_at = $6
             WHERE instance_id = $1 AND taken_at = $7",
        )
        .bind(instance_id)
        .bind(access)
        .bind(refresh)
        .bind(token.expires_at)
        .bind(&token.scope)
        .bind(now())
        .bind(taken.at)
        .run(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(touched > 0)
    }

    /// The provider gives no more tokens: the refused refresh token is forgotten, its words are kept.
    pub async fn end_oauth_token(&self, taken: Taken, problem: &str) -> Result<()> {
        let sql = Sql::new(
            "UPDATE oauth_tokens SET refresh_enc = NULL, taken_enc = NULL, taken_at = NULL, problem = $2,
                updated_at = $3
             WHERE instance_id = $1 AND taken_at = $4",
        );
        let mut tx = self.begin_sealing().await?;
        sql.bind(taken.instance_id).bind(problem).bind(now()).bind(taken.at).run(&mut *tx).await?;
        tx.commit().await
    }

    /// Signs an instance out on our side. `false`: nobody was signed in.
    pub async fn remove_oauth_token(&self, instance_id: Uuid) -> Result<bool> {
        let sql = Sql::new("DELETE FROM oauth_tokens WHERE instance_id = $1");
        Ok(sql.bind(instance_id).run(&self.db).await? > 0)
    }
}

/// The access token and the refresh token, as they are stored.
fn sealed(tx: &Sealing, instance_id: Uuid, access: &Secret, refresh: Option<&Secret>) -> [Option<String>; 2] {
    let seal = |kind: &str, secret: &Secret| tx.seal(&context(instance_id, kind), secret);
    [Some(seal(ACCESS, access)), refresh.map(|it| seal(REFRESH, it))]
}

const ACCESS: &str = "access";
const REFRESH: &str = "refresh";

fn context(instance_id: Uuid, kind: &str) -> String {
    format!("oauth_tokens/{instance_id}/{kind}")
}

fn read(secrets: &SecretBox, row: &Row) -> Result<OauthTokenRow> {
    let instance_id = row.id("instance_id")?;
    let open = |kind: &str, sealed: &str| secrets.open(&context(instance_id, kind), sealed);
    Ok(OauthTokenRow {
        instance_id,
        issuer: row.text("issuer")?,
        client_id: row.text("client_id")?,
        token_endpoint: row.text("token_endpoint")?,
        resource: row.text("resource")?,
        access: open(ACCESS, &row.text("access_enc")?)?,
        refresh: row.maybe_text("refresh_enc")?.map(|it| open(REFRESH, &it)).transpose()?,
        taken_at: row.maybe_int("taken_at")?,
        expires_at: row.maybe_int("expires_at")?,
        scope: row.maybe_text("scope")?,
        problem: row.maybe_text("problem")?,
        created_at: row.int("created_at")?,
        updated_at: row.int("updated_at")?,
    })
}
