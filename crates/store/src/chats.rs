//! The tables `chats`, `messages` and `chat_permissions`: each person's own.

use serde_json::Value as Json;
use toolgrove_core::bud::Overrides;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::{Result, StoreError};
use crate::{Store, now};

/// One conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRow {
    pub id: Uuid,
    pub workspace_id: Uuid,
    pub person_id: Uuid,
    pub bud_id: Option<Uuid>,
    pub title: String,
    /// In the place of the bud's.
    pub model: Option<String>,
    pub overrides: Overrides,
    pub created_at: i64,
    pub updated_at: i64,
}

impl ChatRow {
    pub fn new(workspace_id: Uuid, person_id: Uuid) -> Self {
        let now = now();
        Self {
            id: Uuid::now_v7(),
            workspace_id,
            person_id,
            bud_id: None,
            title: String::new(),
            model: None,
            overrides: Overrides::default(),
            created_at: now,
            updated_at: now,
        }
    }
}

/// One message. Ids rise with time, so they are the order.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRow {
    pub id: Uuid,
    pub chat_id: Uuid,
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    pub content: Json,
    pub call_id: Option<Uuid>,
    pub created_at: i64,
}

impl MessageRow {
    pub fn new(chat_id: Uuid, role: &str, content: Json) -> Self {
        let role = role.to_owned();
        Self { id: Uuid::now_v7(), chat_id, role, content, call_id: None, created_at: now() }
    }
}

impl Store {
    pub async fn add_chat(&self, chat: &ChatRow) -> Result<()> {
        let sql = Sql::new(
            "INSERT INTO chats (id, person_id, workspace_id, bud_id, title, model, mcp_config_overrides, updated_at,
                created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        );
        write(sql, chat, chat.updated_at).bind(chat.created_at).run(&self.db).await?;
        Ok(())
    }

    /// Stores the whole row under its id, if it is this person's. `false`: it is not.
    pub async fn update_chat(&self, chat: &ChatRow) -> Result<bool> {
        let sql = Sql::new(
            "UPDATE chats SET workspace_id = $3, bud_id = $4, title = $5, model = $6, mcp_config_overrides = $7,
                updated_at = $8
             WHERE id = $1 AND person_id = $2",
        );
        Ok(write(sql, chat, now()).run(&self.db).await? > 0)
    }

    /// Removes a person's chat with its messages. `false`: it is not theirs.
    pub async fn remove_chat(&self, person_id: Uuid, id: Uuid) -> Result<bool> {
        let sql = Sql::new("DELETE FROM chats WHERE id = $1 AND person_id = $2");
        Ok(sql.bind(id).bind(person_id).run(&self.db).await? > 0)
    }

    pub async fn chat(&self, person_id: Uuid, id: Uuid) -> Result<Option<ChatRow>> {
        let sql = Sql::new("SELECT * FROM chats WHERE id = $1 AND person_id = $2");
        sql.bind(id).bind(person_id).first(&self.db, read).await
    }

    /// A person's chats, the one last used in front.
    pub async fn chats_of(&self, person_id: Uuid) -> Result<Vec<ChatRow>> {
        Sql::new("SELECT * FROM chats WHERE person_id = $1 ORDER BY updated_at DESC, id DESC")
            .bind(person_id)
            .all(&self.db, read)
            .await
    }

    /// Stores a message, new or changed, and lets its chat count as used.
    pub async fn put_message(&self, message: &MessageRow) -> Result<()> {
        let mut tx = self.db.begin().await?;
        Sql::new(
            "INSERT INTO messages (id, chat_id, role, content, call_id, created_at) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (id) DO UPDATE SET content = excluded.content, call_id = excluded.call_id",
        )
        .bind(message.id)
        .bind(message.chat_id)
        .bind(&message.role)
        .bind(&message.content)
        .bind(message.call_id)
        .bind(message.created_at)
        .run(&mut tx)
        .await?;
        let sql = Sql::new("UPDATE chats SET updated_at = $2 WHERE id = $1");
        sql.bind(message.chat_id).bind(now()).run(&mut tx).await?;
        tx.commit().await
    }

    /// Everything said in a chat, in order.
    pub async fn messages(&self, chat_id: Uuid) -> Result<Vec<MessageRow>> {
        let sql = Sql::new("SELECT * FROM messages WHERE chat_id = $1 ORDER BY id");
        sql.bind(chat_id).all(&self.db, read_message).await
    }

    /// Lets a tool of an instance be called in a chat without asking, for as long as both are there.
    pub async fn allow_in_chat(&self, chat_id: Uuid, instance_id: Uuid, tool: &str) -> Result<()> {
        let sql = Sql::new(
            "INSERT INTO chat_permissions (chat_id, instance_id, tool, created_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT DO NOTHING",
        );
        sql.bind(chat_id).bind(instance_id).bind(tool).bind(now()).run(&self.db).await?;
        Ok(())
    }

    /// The tools that may be called in a chat without asking, with their instances.
    pub async fn allowed_in_chat(&self, chat_id: Uuid) -> Result<Vec<(Uuid, String)>> {
        let sql = Sql::new("SELECT instance_id, tool FROM chat_permissions WHERE chat_id = $1");
        sql.bind(chat_id).all(&self.db, |row| Ok((row.id("instance_id")?, row.text("tool")?))).await
    }

    /// Forgets a message and everything after it. `false`: it is not in this chat.
    pub async fn cut_messages(&self, chat_id: Uuid, from: Uuid) -> Result<bool> {
        let mut tx = self.db.begin().await?;
        let found =
            Sql::new("SELECT id FROM messages WHERE chat_id = $1 AND id = $2").bind(chat_id).bind(from);
        if found.first(&mut tx, |row| row.id("id")).await?.is_none() {
            return Ok(false);
        }
        let sql = Sql::new("DELETE FROM messages WHERE chat_id = $1 AND id >= $2");
        sql.bind(chat_id).bind(from).run(&mut tx).await?;
        tx.commit().await?;
        Ok(true)
    }
}

fn write(sql: Sql, chat: &ChatRow, updated_at: i64) -> Sql {
    sql.bind(chat.id)
        .bind(chat.person_id)
        .bind(chat.workspace_id)
        .bind(chat.bud_id)
        .bind(&chat.title)
        .bind(&chat.model)
        .bind(&serde_json::to_value(&chat.overrides).unwrap_or_default())
        .bind(updated_at)
}

fn read(row: &Row) -> Result<ChatRow> {
    let unreadable = |it: serde_json::Error| StoreError::Unreadable { what: "chat", problem: it.to_string() };
    Ok(ChatRow {
        id: row.id("id")?,
        workspace_id: row.id("workspace_id")?,
        person_id: row.id("person_id")?,
        bud_id: row.maybe_id("bud_id")?,
        title: row.text("title")?,
        model: row.maybe_text("model")?,
        overrides: serde_json::from_value(row.json("mcp_config_overrides")?).map_err(unreadable)?,
        created_at: row.int("created_at")?,
        updated_at: row.int("updated_at")?,
    })
}

fn read_message(row: &Row) -> Result<MessageRow> {
    Ok(MessageRow {
        id: row.id("id")?,
        chat_id: row.id("chat_id")?,
        role: row.text("role")?,
        content: row.json("content")?,
        call_id: row.maybe_id("call_id")?,
        created_at: row.int("created_at")?,
    })
}
