//! The tables `people`, `workspaces` and `members`.

use serde_json::Value as Json;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::Result;
use crate::{Store, now};

/// Somebody who uses the hub.
#[derive(Debug, Clone, PartialEq)]
pub struct PersonRow {
    pub id: Uuid,
    pub email: Option<String>,
    pub name: String,
    pub role: String,
    pub created_at: i64,
    pub updated_at: i64,
}

/// The boundary of sharing.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkspaceRow {
    pub id: Uuid,
    pub name: String,
    /// `alpha`, `beta` or `gamma`.
    pub phase: String,
    pub allowlist: Option<Json>,
    pub allowed_transports: Option<Json>,
    pub pins: Option<Json>,
    pub created_at: i64,
    pub updated_at: i64,
}

/// A workspace as one of its members sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Membership {
    pub workspace: WorkspaceRow,
    /// `admin`, `workspace-admin` or `member`.
    pub role: String,
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
        insert_person(ids.person_id, "me", "admin").run(&mut tx).await?;
        insert_workspace(ids.workspace_id, "home", "gamma").run(&mut tx).await?;
        insert_member(ids.workspace_id, ids.person_id, "admin").run(&mut tx).await?;
        tx.commit().await?;
        Ok(ids)
    }

    pub async fn add_person(&self, name: &str, role: &str) -> Result<Uuid> {
        let id = Uuid::now_v7();
        insert_person(id, name, role).run(&self.db).await?;
        Ok(id)
    }

    pub async fn add_workspace(&self, name: &str, phase: &str) -> Result<Uuid> {
        let id = Uuid::now_v7();
        insert_workspace(id, name, phase).run(&self.db).await?;
        Ok(id)
    }

    pub async fn add_member(&self, workspace_id: Uuid, person_id: Uuid, role: &str) -> Result<()> {
        insert_member(workspace_id, person_id, role).run(&self.db).await?;
        Ok(())
    }

    pub async fn person(&self, id: Uuid) -> Result<Option<PersonRow>> {
        Sql::new("SELECT * FROM people WHERE id = $1").bind(id).first(&self.db, read_person).await
    }

    /// The workspaces a person is a member of, the one they joined first in front.
    pub async fn workspaces_of(&self, person_id: Uuid) -> Result<Vec<Membership>> {
        let read = |row: &Row| Ok((row.int("joined_at")?, read_membership(row)?));
        let mut rows = memberships(person_id).all(&self.db, read).await?;
        rows.sort_by_key(|(joined_at, it)| (*joined_at, it.workspace.id));
        Ok(rows.into_iter().map(|it| it.1).collect())
    }

    /// A workspace, if this person is a member of it.
    pub async fn workspace_of(&self, person_id: Uuid, id: Uuid) -> Result<Option<Membership>> {
        memberships(person_id).and("w.id =", id).first(&self.db, read_membership).await
    }

    pub async fn workspace(&self, id: Uuid) -> Result<Option<WorkspaceRow>> {
        Sql::new("SELECT * FROM workspaces WHERE id = $1").bind(id).first(&self.db, read_workspace).await
    }
}

fn memberships(person_id: Uuid) -> Sql {
    Sql::new(
        "SELECT w.*, m.role AS member_role, m.created_at AS joined_at
         FROM members m JOIN workspaces w ON w.id = m.workspace_id WHERE m.person_id = $1",
    )
    .bind(person_id)
}

fn read_membership(row: &Row) -> Result<Membership> {
    Ok(Membership { workspace: read_workspace(row)?, role: row.text("member_role")? })
}

fn insert_person(id: Uuid, name: &str, role: &str) -> Sql {
    Sql::new("INSERT INTO people (id, name, role, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)")
        .bind(id)
        .bind(name)
        .bind(role)
        .bind(now())
}

fn insert_workspace(id: Uuid, name: &str, phase: &str) -> Sql {
    Sql::new("INSERT INTO workspaces (id, name, phase, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)")
        .bind(id)
        .bind(name)
        .bind(phase)
        .bind(now())
}

fn insert_member(workspace_id: Uuid, person_id: Uuid, role: &str) -> Sql {
    Sql::new(
        "INSERT INTO members (workspace_id, person_id, role, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)",
    )
    .bind(workspace_id)
    .bind(person_id)
    .bind(role)
    .bind(now())
}

fn read_person(row: &Row) -> Result<PersonRow> {
    Ok(PersonRow {
        id: row.id("id")?,
        email: row.maybe_text("email")?,
        name: row.text("name")?,
        role: row.text("role")?,
        created_at: row.int("created_at")?,
        updated_at: row.int("updated_at")?,
    })
}

fn read_workspace(row: &Row) -> Result<WorkspaceRow> {
    Ok(WorkspaceRow {
        id: row.id("id")?,
        name: row.text("name")?,
        phase: row.text("phase")?,
        allowlist: row.maybe_json("allowlist")?,
        allowed_transports: row.maybe_json("allowed_transports")?,
        pins: row.maybe_json("pins")?,
        created_at: row.int("created_at")?,
        updated_at: row.int("updated_at")?,
    })
}
