//! The table `admin_log`: who changed what. Rows are only ever added.

use serde::Serialize;
use serde_json::Value as Json;
use ts_rs::TS;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::Result;
use crate::{Store, now};

/// One change somebody made.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
pub struct AdminNote {
    pub id: Uuid,
    pub at: i64,
    pub person_id: Uuid,
    /// What the person is called now; absent when they are gone.
    pub person: Option<String>,
    /// A dotted verb, such as `server.add`.
    pub action: String,
    pub subject: String,
    #[ts(type = "Json")]
    pub detail: Option<Json>,
}

impl Store {
    pub async fn note(
        &self,
        person_id: Uuid,
        action: &str,
        subject: &str,
        detail: Option<&Json>,
    ) -> Result<()> {
        Sql::new(
            "INSERT INTO admin_log (id, at, person_id, action, subject, detail, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $2)",
        )
        .bind(Uuid::now_v7())
        .bind(now())
        .bind(person_id)
        .bind(action)
        .bind(subject)
        .bind(&detail.cloned())
        .run(&self.db)
        .await?;
        Ok(())
    }

    /// The latest notes before another one, newest first.
    pub async fn notes(&self, before: Option<Uuid>, limit: u32) -> Result<Vec<AdminNote>> {
        let mut sql = Sql::new(
            "SELECT l.*, p.name AS person FROM admin_log l LEFT JOIN people p ON p.id = l.person_id WHERE true",
        );
        if let Some(before) = before {
            sql = sql.and("l.id <", before);
        }
        sql.then("ORDER BY l.id DESC LIMIT", i64::from(limit)).all(&self.db, read).await
    }
}

fn read(row: &Row) -> Result<AdminNote> {
    Ok(AdminNote {
        id: row.id("id")?,
        at: row.int("at")?,
        person_id: row.id("person_id")?,
        person: row.maybe_text("person")?,
        action: row.text("action")?,
        subject: row.text("subject")?,
        detail: row.maybe_json("detail")?,
    })
}
