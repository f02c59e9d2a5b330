//! The table `files`: texts that people added to a workspace, to search in.

use uuid::Uuid;

use crate::cell::Row;
use crate::db::{Db, Sql};
use crate::error::Result;
use crate::{Store, now};

/// A file without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    pub id: Uuid,
    pub workspace_id: Uuid,
    pub person_id: Option<Uuid>,
    pub name: String,
    pub mime_type: String,
    /// How long the text is, in characters.
    pub chars: i64,
    pub created_at: i64,
}

/// A file that matches, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHit {
    pub id: Uuid,
    pub name: String,
    pub passage: String,
}

const COLUMNS: &str = "SELECT id, workspace_id, person_id, name, mime_type, CAST(length(text) AS BIGINT) AS chars, created_at FROM files";

/// In a workspace that a person is in.
const SEEN: &str = "workspace_id IN (SELECT workspace_id FROM members WHERE person_id = $1)";

impl Store {
    pub async fn add_file(
        &self,
        workspace_id: Uuid,
        person_id: Uuid,
        name: &str,
        mime_type: &str,
        text: &str,
    ) -> Result<FileRow> {
        let row = FileRow {
            id: Uuid::now_v7(),
            workspace_id,
            person_id: Some(person_id),
            name: name.to_owned(),
            mime_type: mime_type.to_owned(),
            chars: text.chars().count() as i64,
            created_at: now(),
        };
        Sql::new(
            "INSERT INTO files (id, workspace_id, person_id, name, mime_type, text, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(row.id)
        .bind(workspace_id)
        .bind(person_id)
        .bind(name)
        .bind(mime_type)
        .bind(text)
        .bind(row.created_at)
        .run(&self.db)
        .await?;
        Ok(row)
    }

    /// The files of every workspace a person is in, by name.
    pub async fn files_of(&self, person_id: Uuid) -> Result<Vec<FileRow>> {
        Sql::made(format!("{COLUMNS} WHERE {SEEN} ORDER BY name, id"))
            .bind(person_id)
            .all(&self.db, read)
            .await
    }

    /// The files of one workspace, by name.
    pub async fn files_in(&self, workspace_id: Uuid) -> Result<Vec<FileRow>> {
        Sql::made(format!("{COLUMNS} WHERE workspace_id = $1 ORDER BY name, id"))
            .bind(workspace_id)
            .all(&self.db, read)
            .await
    }

    pub async fn count_files(&self, workspace_id: Uuid) -> Result<i64> {
        let sql = Sql::new("SELECT count(*) AS count FROM files WHERE workspace_id = $1").bind(workspace_id);
        Ok(sql.first(&self.db, |row| row.int("count")).await?.unwrap_or(0))
    }

    /// The whole text of a file; nothing of one that is gone.
    pub async fn file_text(&self, id: Uuid) -> Result<String> {
        let sql = Sql::new("SELECT text FROM files WHERE id = $1").bind(id);
        Ok(sql.first(&self.db, |row| row.text("text")).await?.unwrap_or_default())
    }

    pub async fn file(&self, person_id: Uuid, id: Uuid) -> Result<Option<FileRow>> {
        let sql = Sql::made(format!("{COLUMNS} WHERE {SEEN}")).bind(person_id);
        sql.and("id =", id).first(&self.db, read).await
    }

    pub async fn remove_file(&self, id: Uuid) -> Result<bool> {
        Ok(Sql::new("DELETE FROM files WHERE id = $1").bind(id).run(&self.db).await? > 0)
    }

    /// The files a person sees that hold every one of these words, the best first.
    pub async fn search_files(&self, person_id: Uuid, words: &[String], limit: i64) -> Result<Vec<FileHit>> {
        let read = |row: &Row| {
            Ok(FileHit { id: row.id("id")?, name: row.text("name")?, passage: row.text("passage")? })
        };
        let query = match &self.db {
            // Quoted, a word is a word whatever it looks like.
            Db::Sqlite(_) => {
                words.iter().map(|it| format!("\"{}\"", it.replace('"', "\"\""))).collect::<Vec<_>>()
            }
            Db::Postgres(_) => words.to_vec(),
        };
        Sql::either(
            &self.db,
            "SELECT f.id, f.name, snippet(file_words, 2, '', '', ' … ', 48) AS passage
             FROM file_words JOIN files f ON f.id = file_words.file_id
             WHERE file_words MATCH $2 AND f.workspace_id IN (SELECT workspace_id FROM members WHERE person_id = $1)
             ORDER BY bm25(file_words), f.id LIMIT $3",
            "SELECT f.id, f.name,
                ts_headline('simple', f.text, q, 'StartSel=\"\", StopSel=\"\", MaxWords=48, MinWords=24') AS passage
             FROM files f, plainto_tsquery('simple', $2) q
             WHERE to_tsvector('simple', f.name || ' ' || f.text) @@ q
                AND f.workspace_id IN (SELECT workspace_id FROM members WHERE person_id = $1)
             ORDER BY ts_rank(to_tsvector('simple', f.name || ' ' || f.text), q) DESC, f.id LIMIT $3",
        )
        .bind(person_id)
        .bind(query.join(" "))
        .bind(limit)
        .all(&self.db, read)
        .await
    }
}

fn read(row: &Row) -> Result<FileRow> {
    Ok(FileRow {
        id: row.id("id")?,
        workspace_id: row.id("workspace_id")?,
        person_id: row.maybe_id("person_id")?,
        name: row.text("name")?,
        mime_type: row.text("mime_type")?,
        chars: row.int("chars")?,
        created_at: row.int("created_at")?,
    })
}
