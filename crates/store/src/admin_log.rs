//! The table `admin_log`: who changed what. Rows are only ever added.

use serde_json::Value as Json;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::Result;
use crate::{Store, now};

/// One change somebody made.
#[derive(Debug, Clone, PartialEq)]
pub struct AdminNote {
    pub id: Uuid,
    pub at: i64,
    pub person_id: Uuid,
    /// A dotted verb, such as `server.add`.
    pub action: String,
    pub subject: String,
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

    /// The latest notes, newest first.
    pub async fn notes(&self, limit: u32) -> Result<Vec<AdminNote>> {
        let sql = Sql::new("SELECT * FROM admin_log ORDER BY id DESC LIMIT $1");
        sql.bind(i64::from(limit)).all(&self.db, read).await
    }
}

fn read(row: &Row) -> Result<AdminNote> {
    Ok(AdminNote {
        id: row.id("id")?,
        at: row.int("at")?,
        person_id: row.id("person_id")?,
        action: row.text("action")?,
        subject: row.text("subject")?,
        detail: row.maybe_json("detail")?,
    })
}
