//! The table `people`.

use toolgrove_core::call::Role;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::{Sql, Tx};
use crate::error::{Result, StoreError};
use crate::workspaces::{insert_member, insert_workspace};
use crate::{Store, now};

/// The role of `people p`, as a column.
macro_rules! role_of_p {
    () => {
        "CASE WHEN p.role = 'admin' THEN 'admin'
            WHEN EXISTS (SELECT 1 FROM members m WHERE m.person_id = p.id AND m.role <> 'member')
            THEN 'workspace-admin' ELSE 'member' END AS person_role"
    };
}
pub(crate) use role_of_p;

macro_rules! select {
    ($clause:literal) => {
        Sql::new(concat!(
            "SELECT p.*, ",
            role_of_p!(),
            ", (SELECT max(s.last_seen_at) FROM browser_sessions s WHERE s.person_id = p.id) AS last_seen_at
             FROM people p ",
            $clause
        ))
    };
}

/// Somebody who uses the hub.
#[derive(Debug, Clone, PartialEq)]
pub struct PersonRow {
    pub id: Uuid,
    pub email: Option<String>,
    pub name: String,
    /// The highest role they hold anywhere.
    pub role: Role,
    /// Whether they can sign in with a password.
    pub has_password: bool,
    /// Who they are at the OpenID provider: `<issuer> <subject>`.
    pub oidc_subject: Option<String>,
    /// When they last used a browser in which they are signed in.
    pub last_seen_at: Option<i64>,
    pub created_at: i64,
    pub updated_at: i64,
}

/// Who and where, when there is only one person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoloIds {
    pub person_id: Uuid,
    pub workspace_id: Uuid,
}

impl Store {
    /// The one person and the one workspace of a solo hub, made at the first start.
    pub async fn solo_person(&self) -> Result<SoloIds> {
        let mut tx = self.db.begin().await?;
        tx.lock_setup().await?;
        let found = Sql::new(
            "SELECT person_id, workspace_id FROM members ORDER BY created_at, workspace_id, person_id LIMIT 1",
        )
        .first(&mut tx, |row| {
            Ok(SoloIds { person_id: row.id("person_id")?, workspace_id: row.id("workspace_id")? })
        })
        .await?;
        if let Some(ids) = found {
            return Ok(ids);
        }
        let ids = SoloIds { person_id: Uuid::now_v7(), workspace_id: Uuid::now_v7() };
        insert(&mut tx, ids.person_id, None, "me", Role::Admin).await?;
        insert_workspace(ids.workspace_id, "home", "gamma").run(&mut tx).await?;
        insert_member(ids.workspace_id, ids.person_id, Role::Admin).run(&mut tx).await?;
        tx.commit().await?;
        Ok(ids)
    }

    /// Adds a person as a member of these workspaces. Their own role is admin or member; a workspace admin is one in
    /// the memberships.
    pub async fn add_person(
        &self,
        email: Option<&str>,
        name: &str,
        role: Role,
        workspaces: &[Uuid],
    ) -> Result<Uuid> {
        let id = Uuid::now_v7();
        let mut tx = self.db.begin().await?;
        insert(&mut tx, id, email, name, role).await?;
        for workspace in workspaces {
            insert_member(*workspace, id, role).run(&mut tx).await?;
        }
        tx.commit().await?;
        Ok(id)
    }

    pub async fn person(&self, id: Uuid) -> Result<Option<PersonRow>> {
        select!("WHERE p.id = $1").bind(id).first(&self.db, read).await
    }

    pub async fn people(&self) -> Result<Vec<PersonRow>> {
        select!("ORDER BY p.name, p.id").all(&self.db, read).await
    }

    pub async fn person_by_email(&self, email: &str) -> Result<Option<PersonRow>> {
        select!("WHERE lower(p.email) = $1").bind(email.to_lowercase()).first(&self.db, read).await
    }

    pub async fn person_by_subject(&self, subject: &str) -> Result<Option<PersonRow>> {
        select!("WHERE p.oidc_subject = $1").bind(subject).first(&self.db, read).await
    }

    /// Everybody who may change everything, the first of them in front.
    pub async fn admins(&self) -> Result<Vec<PersonRow>> {
        select!("WHERE p.role = 'admin' ORDER BY p.created_at, p.id").all(&self.db, read).await
    }

    /// A person's stored password, by the address they typed.
    pub async fn password_of(&self, email: &str) -> Result<Option<(Uuid, Option<String>)>> {
        Sql::new("SELECT id, password_hash FROM people WHERE lower(email) = $1")
            .bind(email.to_lowercase())
            .first(&self.db, |row| Ok((row.id("id")?, row.maybe_text("password_hash")?)))
            .await
    }

    pub async fn set_password(&self, id: Uuid, hash: &str) -> Result<bool> {
        set_password(id, hash).run(&self.db).await.map(|it| it > 0)
    }

    /// Binds a person to who they are at the OpenID provider, unless they are somebody there already.
    pub async fn bind_subject(&self, id: Uuid, subject: &str) -> Result<bool> {
        let sql = Sql::new(
            "UPDATE people SET oidc_subject = $2, updated_at = $3 WHERE id = $1 AND oidc_subject IS NULL",
        );
        Ok(sql.bind(id).bind(subject).bind(now()).run(&self.db).await? > 0)
    }

    /// Changes what people know of somebody. Refused when no admin would be left. `false`: there is nobody.
    pub async fn update_person(&self, id: Uuid, name: &str, email: Option<&str>, role: Role) -> Result<bool> {
        let mut tx = self.db.begin().await?;
        tx.lock_setup().await?;
        let had_admin = has_admin(&mut tx).await?;
        let found =
            Sql::new("UPDATE people SET name = $2, email = $3, role = $4, updated_at = $5 WHERE id = $1")
                .bind(id)
                .bind(name)
                .bind(email)
                .bind(own_role(role))
                .bind(now())
                .run(&mut tx)
                .await
                .map_err(|it| taken(it, email))?;
        keep_an_admin(&mut tx, had_admin).await?;
        tx.commit().await?;
        Ok(found > 0)
    }

    /// Removes somebody with everything they own. Refused when no admin would be left.
    pub async fn remove_person(&self, id: Uuid) -> Result<bool> {
        let mut tx = self.db.begin().await?;
        tx.lock_setup().await?;
        let had_admin = has_admin(&mut tx).await?;
        let found = Sql::new("DELETE FROM people WHERE id = $1").bind(id).run(&mut tx).await?;
        keep_an_admin(&mut tx, had_admin).await?;
        tx.commit().await?;
        Ok(found > 0)
    }
}

/// Whether somebody who keeps the hub has a way in.
pub(crate) async fn has_admin(tx: &mut Tx) -> Result<bool> {
    let sql = Sql::new(
        "SELECT id FROM people WHERE role = 'admin'
         AND (password_hash IS NOT NULL OR oidc_subject IS NOT NULL) LIMIT 1",
    );
    Ok(sql.first(tx, |row| row.id("id")).await?.is_some())
}

/// Nobody may lock everybody out. Where no admin had a way in (a solo hub needs none), one must still be there.
async fn keep_an_admin(tx: &mut Tx, had_admin: bool) -> Result<()> {
    let admins = Sql::new("SELECT id FROM people WHERE role = 'admin' LIMIT 1");
    let is_kept =
        if had_admin { has_admin(tx).await? } else { admins.first(tx, |row| row.id("id")).await?.is_some() };
    if is_kept { Ok(()) } else { Err(StoreError::LastAdmin) }
}

pub(crate) async fn insert(tx: &mut Tx, id: Uuid, email: Option<&str>, name: &str, role: Role) -> Result<()> {
    Sql::new(
        "INSERT INTO people (id, email, name, role, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)",
    )
    .bind(id)
    .bind(email)
    .bind(name)
    .bind(own_role(role))
    .bind(now())
    .run(tx)
    .await
    .map_err(|it| taken(it, email))?;
    Ok(())
}

pub(crate) fn set_password(id: Uuid, hash: &str) -> Sql {
    Sql::new("UPDATE people SET password_hash = $2, updated_at = $3 WHERE id = $1")
        .bind(id)
        .bind(hash)
        .bind(now())
}

/// Who keeps only a workspace is a member of the hub.
fn own_role(role: Role) -> &'static str {
    match role {
        Role::Admin => Role::Admin.as_str(),
        Role::WorkspaceAdmin | Role::Member => Role::Member.as_str(),
    }
}

pub(crate) fn taken(error: StoreError, email: Option<&str>) -> StoreError {
    error.or_taken("people_email", || StoreError::EmailTaken { email: email.unwrap_or_default().to_owned() })
}

/// The column of [`role_of_p`].
pub(crate) fn role(row: &Row) -> Result<Role> {
    let word = row.text("person_role")?;
    Role::parse(&word).ok_or(StoreError::Unreadable { what: "role", problem: word })
}

fn read(row: &Row) -> Result<PersonRow> {
    Ok(PersonRow {
        id: row.id("id")?,
        email: row.maybe_text("email")?,
        name: row.text("name")?,
        role: role(row)?,
        has_password: row.maybe_text("password_hash")?.is_some(),
        oidc_subject: row.maybe_text("oidc_subject")?,
        last_seen_at: row.maybe_int("last_seen_at")?,
        created_at: row.int("created_at")?,
        updated_at: row.int("updated_at")?,
    })
}
