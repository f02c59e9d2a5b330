//! The tables `workspaces` and `members`.

use serde_json::Value as Json;
use toolgrove_core::call::Role;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::{Result, StoreError};
use crate::{Store, now};

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
    pub role: Role,
}

/// Somebody in a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberRow {
    pub person_id: Uuid,
    pub name: String,
    pub email: Option<String>,
    pub role: Role,
}

impl Store {
    pub async fn add_workspace(&self, name: &str, phase: &str) -> Result<Uuid> {
        let id = Uuid::now_v7();
        insert_workspace(id, name, phase).run(&self.db).await?;
        Ok(id)
    }

    /// The workspace that people join when nobody names another: the oldest, made at the first start of a team.
    pub async fn first_workspace(&self) -> Result<Uuid> {
        let mut tx = self.db.begin().await?;
        tx.lock_setup().await?;
        let oldest = Sql::new("SELECT id FROM workspaces ORDER BY created_at, id LIMIT 1");
        if let Some(id) = oldest.first(&mut tx, |row| row.id("id")).await? {
            return Ok(id);
        }
        let id = Uuid::now_v7();
        insert_workspace(id, "team", "beta").run(&mut tx).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Stores name, phase and settings under the row's id. `false`: there is none.
    pub async fn update_workspace(&self, row: &WorkspaceRow) -> Result<bool> {
        let sql = Sql::new(
            "UPDATE workspaces SET name = $2, phase = $3, allowlist = $4, allowed_transports = $5, pins = $6,
                updated_at = $7 WHERE id = $1",
        );
        let sql = sql.bind(row.id).bind(&row.name).bind(&row.phase).bind(&row.allowlist);
        Ok(sql.bind(&row.allowed_transports).bind(&row.pins).bind(now()).run(&self.db).await? > 0)
    }

    /// Removes a workspace with the servers that are in it. `false`: there was none.
    pub async fn remove_workspace(&self, id: Uuid) -> Result<bool> {
        Ok(Sql::new("DELETE FROM workspaces WHERE id = $1").bind(id).run(&self.db).await? > 0)
    }

    pub async fn workspace(&self, id: Uuid) -> Result<Option<WorkspaceRow>> {
        Sql::new("SELECT * FROM workspaces WHERE id = $1").bind(id).first(&self.db, read_workspace).await
    }

    pub async fn all_workspaces(&self) -> Result<Vec<WorkspaceRow>> {
        Sql::new("SELECT * FROM workspaces ORDER BY name, id").all(&self.db, read_workspace).await
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

    /// Who is in a workspace, by name.
    pub async fn members(&self, workspace_id: Uuid) -> Result<Vec<MemberRow>> {
        Sql::new(
            "SELECT p.id, p.name, p.email, m.role FROM members m JOIN people p ON p.id = m.person_id
             WHERE m.workspace_id = $1 ORDER BY p.name, p.id",
        )
        .bind(workspace_id)
        .all(&self.db, |row| {
            Ok(MemberRow {
                person_id: row.id("id")?,
                name: row.text("name")?,
                email: row.maybe_text("email")?,
                role: read_role(row, "role")?,
            })
        })
        .await
    }

    /// Makes somebody a member, or changes what they are.
    pub async fn put_member(&self, workspace_id: Uuid, person_id: Uuid, role: Role) -> Result<()> {
        insert_member(workspace_id, person_id, role).run(&self.db).await?;
        Ok(())
    }

    /// `false`: they were none.
    pub async fn remove_member(&self, workspace_id: Uuid, person_id: Uuid) -> Result<bool> {
        let sql = Sql::new("DELETE FROM members WHERE workspace_id = $1 AND person_id = $2");
        Ok(sql.bind(workspace_id).bind(person_id).run(&self.db).await? > 0)
    }
}

pub(crate) fn insert_workspace(id: Uuid, name: &str, phase: &str) -> Sql {
    Sql::new("INSERT INTO workspaces (id, name, phase, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)")
        .bind(id)
        .bind(name)
        .bind(phase)
        .bind(now())
}

pub(crate) fn insert_member(workspace_id: Uuid, person_id: Uuid, role: Role) -> Sql {
    Sql::new(
        "INSERT INTO members (workspace_id, person_id, role, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
         ON CONFLICT (workspace_id, person_id) DO UPDATE SET role = excluded.role, updated_at = excluded.updated_at",
    )
    .bind(workspace_id)
    .bind(person_id)
    .bind(role.as_str())
    .bind(now())
}

fn memberships(person_id: Uuid) -> Sql {
    Sql::new(
        "SELECT w.*, m.role AS member_role, m.created_at AS joined_at
         FROM members m JOIN workspaces w ON w.id = m.workspace_id WHERE m.person_id = $1",
    )
    .bind(person_id)
}

fn read_membership(row: &Row) -> Result<Membership> {
    Ok(Membership { workspace: read_workspace(row)?, role: read_role(row, "member_role")? })
}

fn read_role(row: &Row, column: &str) -> Result<Role> {
    let word = row.text(column)?;
    Role::parse(&word).ok_or(StoreError::Unreadable { what: "role", problem: word })
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
