//! The table `results`: answers that were too long for a model, whole, for whoever got them.

use uuid::Uuid;

use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::now;

impl Store {
    /// Keeps a text and returns its id.
    pub async fn add_result(&self, person_id: Uuid, call_id: Uuid, body: &str) -> Result<Uuid> {
        let id = Uuid::now_v7();
        Sql::new(
            "INSERT INTO results (id, call_id, person_id, body, created_at) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(id)
        .bind(call_id)
        .bind(person_id)
        .bind(body)
        .bind(now())
        .run(&self.db)
        .await?;
        Ok(id)
    }

    pub async fn result(&self, person_id: Uuid, id: Uuid) -> Result<Option<String>> {
        let sql = Sql::new("SELECT body FROM results WHERE id = $1 AND person_id = $2");
        sql.bind(id).bind(person_id).first(&self.db, |row| row.text("body")).await
    }
}
