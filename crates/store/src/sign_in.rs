//! The tables `browser_sessions`, `sign_in_links` and `oidc_pending`: ways in, as hashes.

use toolgrove_core::call::Role;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::{Sql, Tx};
use crate::error::Result;
use crate::people::{self, role, role_of_p};
use crate::workspaces::insert_member;
use crate::{Store, now};

/// A browser in which somebody is signed in.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    pub id: Uuid,
    pub person_id: Uuid,
    /// How the browser called itself.
    pub agent: String,
    pub last_seen_at: i64,
    pub expires_at: i64,
    pub created_at: i64,
}

/// What a link that works once is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPurpose {
    /// Makes the first admin.
    SetUp,
    /// Lets an invited person choose a password.
    Invite,
    /// Opens a session.
    SignIn,
}

impl LinkPurpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::SetUp => "set-up",
            Self::Invite => "invite",
            Self::SignIn => "sign-in",
        }
    }
}

/// A sign-in at the OpenID provider that has come back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcReturn {
    pub browser_hash: String,
    pub nonce: String,
    pub next: String,
    pub created_at: i64,
}

impl Store {
    /// Opens a session and forgets those that are over.
    pub async fn add_session(&self, session: &SessionRow, hash: &str) -> Result<()> {
        Sql::new("DELETE FROM browser_sessions WHERE expires_at < $1").bind(now()).run(&self.db).await?;
        Sql::new(
            "INSERT INTO browser_sessions (id, person_id, hash, agent, last_seen_at, expires_at, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(session.id)
        .bind(session.person_id)
        .bind(hash)
        .bind(&session.agent)
        .bind(session.last_seen_at)
        .bind(session.expires_at)
        .bind(session.created_at)
        .run(&self.db)
        .await?;
        Ok(())
    }

    /// The session behind a hash, with its person's role. Whether it is over is the caller's to see.
    pub async fn session_by_hash(&self, hash: &str) -> Result<Option<(SessionRow, Role)>> {
        Sql::new(concat!(
            "SELECT s.*, ",
            role_of_p!(),
            " FROM browser_sessions s JOIN people p ON p.id = s.person_id WHERE s.hash = $1"
        ))
        .bind(hash)
        .first(&self.db, |row| Ok((read_session(row)?, role(row)?)))
        .await
    }

    /// A person's sessions, the last used first.
    pub async fn sessions_of(&self, person_id: Uuid) -> Result<Vec<SessionRow>> {
        Sql::new("SELECT * FROM browser_sessions WHERE person_id = $1 ORDER BY last_seen_at DESC, id")
            .bind(person_id)
            .all(&self.db, read_session)
            .await
    }

    pub async fn session_seen(&self, id: Uuid) -> Result<()> {
        let sql = Sql::new("UPDATE browser_sessions SET last_seen_at = $2 WHERE id = $1");
        sql.bind(id).bind(now()).run(&self.db).await?;
        Ok(())
    }

    /// `false`: it is not theirs.
    pub async fn remove_session(&self, person_id: Uuid, id: Uuid) -> Result<bool> {
        let sql = Sql::new("DELETE FROM browser_sessions WHERE id = $1 AND person_id = $2");
        Ok(sql.bind(id).bind(person_id).run(&self.db).await? > 0)
    }

    /// Signs somebody out everywhere.
    pub async fn remove_sessions_of(&self, person_id: Uuid) -> Result<()> {
        let sql = Sql::new("DELETE FROM browser_sessions WHERE person_id = $1");
        sql.bind(person_id).run(&self.db).await?;
        Ok(())
    }

    /// Makes a link good. Of one purpose for one person only the newest is.
    pub async fn add_link(
        &self,
        hash: &str,
        purpose: LinkPurpose,
        person_id: Option<Uuid>,
        expires_at: i64,
    ) -> Result<()> {
        let mut tx = self.db.begin().await?;
        Sql::new("DELETE FROM sign_in_links WHERE purpose = $1 AND coalesce(person_id, '') = $2")
            .bind(purpose.as_str())
            .bind(person_id.map(|it| it.to_string()).unwrap_or_default())
            .run(&mut tx)
            .await?;
        Sql::new(
            "INSERT INTO sign_in_links (hash, purpose, person_id, expires_at, created_at)
             VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(hash)
        .bind(purpose.as_str())
        .bind(person_id)
        .bind(expires_at)
        .bind(now())
        .run(&mut tx)
        .await?;
        tx.commit().await
    }

    /// What a link that is still good is for, and for whom.
    pub async fn link(&self, hash: &str) -> Result<Option<(LinkPurpose, Option<Uuid>)>> {
        good_link(hash).first(&self.db, read_link).await
    }

    /// Uses up a sign-in link and says whose it was.
    pub async fn use_sign_in_link(&self, hash: &str) -> Result<Option<Uuid>> {
        let mut tx = self.db.begin().await?;
        let Some((LinkPurpose::SignIn, Some(person))) = use_link(&mut tx, hash).await? else {
            return Ok(None);
        };
        tx.commit().await?;
        Ok(Some(person))
    }

    /// Uses up an invitation: its person can sign in with this password from now on.
    pub async fn accept_invite(&self, hash: &str, name: &str, password_hash: &str) -> Result<Option<Uuid>> {
        let mut tx = self.db.begin().await?;
        let Some((LinkPurpose::Invite, Some(person))) = use_link(&mut tx, hash).await? else {
            return Ok(None);
        };
        let sql = Sql::new("UPDATE people SET name = $2 WHERE id = $1");
        sql.bind(person).bind(name).run(&mut tx).await?;
        people::set_password(person, password_hash).run(&mut tx).await?;
        tx.commit().await?;
        Ok(Some(person))
    }

    /// Uses up the set-up link and makes the first admin: the one person of a hub that was solo, or a new one.
    pub async fn set_up(
        &self,
        hash: &str,
        (name, email): (&str, &str),
        password_hash: &str,
        workspace: Uuid,
    ) -> Result<Option<Uuid>> {
        let mut tx = self.db.begin().await?;
        tx.lock_setup().await?;
        let Some((LinkPurpose::SetUp, None)) = use_link(&mut tx, hash).await? else { return Ok(None) };
        if people::has_admin(&mut tx).await? {
            return Ok(None);
        }
        let solo = Sql::new("SELECT id FROM people WHERE role = 'admin' AND email IS NULL LIMIT 1")
            .first(&mut tx, |row| row.id("id"))
            .await?;
        let person = if let Some(person) = solo {
            let sql = Sql::new("UPDATE people SET name = $2, email = $3, updated_at = $4 WHERE id = $1");
            let sql = sql.bind(person).bind(name).bind(email).bind(now());
            sql.run(&mut tx).await.map_err(|it| people::taken(it, Some(email)))?;
            person
        } else {
            let person = Uuid::now_v7();
            people::insert(&mut tx, person, Some(email), name, Role::Admin).await?;
            insert_member(workspace, person, Role::Admin).run(&mut tx).await?;
            person
        };
        people::set_password(person, password_hash).run(&mut tx).await?;
        tx.commit().await?;
        Ok(Some(person))
    }

    /// Whether a team still needs its first admin.
    pub async fn needs_set_up(&self) -> Result<bool> {
        let mut tx = self.db.begin().await?;
        Ok(!people::has_admin(&mut tx).await?)
    }

    /// Remembers that a browser was sent to the provider, and forgets those that never came back.
    pub async fn add_oidc(
        &self,
        state_hash: &str,
        browser_hash: &str,
        nonce: &str,
        next: &str,
    ) -> Result<()> {
        const FORGOTTEN_MS: i64 = 24 * 60 * 60 * 1000;
        let old = Sql::new("DELETE FROM oidc_pending WHERE created_at < $1");
        old.bind(now() - FORGOTTEN_MS).run(&self.db).await?;
        Sql::new(
            "INSERT INTO oidc_pending (state_hash, browser_hash, nonce, next, created_at)
             VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(state_hash)
        .bind(browser_hash)
        .bind(nonce)
        .bind(next)
        .bind(now())
        .run(&self.db)
        .await?;
        Ok(())
    }

    /// Uses up the state a browser came back with. None when it is unknown or was used before.
    pub async fn take_oidc(&self, state_hash: &str) -> Result<Option<OidcReturn>> {
        let mut tx = self.db.begin().await?;
        let used = Sql::new("UPDATE oidc_pending SET used_at = $2 WHERE state_hash = $1 AND used_at IS NULL");
        if used.bind(state_hash).bind(now()).run(&mut tx).await? == 0 {
            return Ok(None);
        }
        let found = Sql::new("SELECT * FROM oidc_pending WHERE state_hash = $1")
            .bind(state_hash)
            .first(&mut tx, |row| {
                Ok(OidcReturn {
                    browser_hash: row.text("browser_hash")?,
                    nonce: row.text("nonce")?,
                    next: row.text("next")?,
                    created_at: row.int("created_at")?,
                })
            })
            .await?;
        tx.commit().await?;
        Ok(found)
    }
}

fn good_link(hash: &str) -> Sql {
    Sql::new("SELECT * FROM sign_in_links WHERE hash = $1 AND expires_at > $2 AND used_at IS NULL")
        .bind(hash)
        .bind(now())
}

/// Of two that use a link at once, one gets it.
async fn use_link(tx: &mut Tx, hash: &str) -> Result<Option<(LinkPurpose, Option<Uuid>)>> {
    let Some(link) = good_link(hash).first(&mut *tx, read_link).await? else { return Ok(None) };
    let sql = Sql::new("UPDATE sign_in_links SET used_at = $2 WHERE hash = $1 AND used_at IS NULL");
    let used = sql.bind(hash).bind(now()).run(&mut *tx).await?;
    Ok((used > 0).then_some(link))
}

fn read_link(row: &Row) -> Result<(LinkPurpose, Option<Uuid>)> {
    let purpose = match row.text("purpose")?.as_str() {
        "set-up" => LinkPurpose::SetUp,
        "invite" => LinkPurpose::Invite,
        _ => LinkPurpose::SignIn,
    };
    Ok((purpose, row.maybe_id("person_id")?))
}

fn read_session(row: &Row) -> Result<SessionRow> {
    Ok(SessionRow {
        id: row.id("id")?,
        person_id: row.id("person_id")?,
        agent: row.text("agent")?,
        last_seen_at: row.int("last_seen_at")?,
        expires_at: row.int("expires_at")?,
        created_at: row.int("created_at")?,
    })
}
