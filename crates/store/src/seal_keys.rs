//! The table `seal_keys`: keys for tokens that clients carry between two requests, shared by all replicas.
//!
//! A new one is made when the newest is a day old. Old ones stay: they outlive the longest token.

use std::fmt::Write as _;

use toolgrove_core::Secret;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::{Result, StoreError};
use crate::{Store, now};

const FRESH_MS: i64 = 24 * 60 * 60 * 1000;

impl Store {
    /// All keys with their ids, the current one first.
    pub async fn seal_keys(&self) -> Result<Vec<(String, [u8; 32])>> {
        let mut tx = self.begin_sealing().await?;
        tx.lock_setup().await?;
        let mut rows =
            Sql::new("SELECT * FROM seal_keys ORDER BY created_at DESC, id DESC").all(&mut *tx, read).await?;
        if rows.first().is_none_or(|it| now() - it.created_at > FRESH_MS) {
            let row =
                KeyRow { id: Uuid::now_v7().simple().to_string(), key_enc: String::new(), created_at: now() };
            let key = hex(&rand::random::<[u8; 32]>());
            let key_enc = tx.seal(&context(&row.id), &Secret::new(key));
            Sql::new("INSERT INTO seal_keys (id, key_enc, created_at) VALUES ($1, $2, $3)")
                .bind(&row.id)
                .bind(&key_enc)
                .bind(row.created_at)
                .run(&mut *tx)
                .await?;
            rows.insert(0, KeyRow { key_enc, ..row });
        }
        tx.commit().await?;
        rows.iter().map(|row| Ok((row.id.clone(), self.open_key(row)?))).collect()
    }

    fn open_key(&self, row: &KeyRow) -> Result<[u8; 32]> {
        let key = self.secrets.open(&context(&row.id), &row.key_enc)?;
        unhex(key.reveal())
            .ok_or_else(|| StoreError::Unreadable { what: "seal key", problem: row.id.clone() })
    }
}

struct KeyRow {
    id: String,
    key_enc: String,
    created_at: i64,
}

fn read(row: &Row) -> Result<KeyRow> {
    Ok(KeyRow { id: row.text("id")?, key_enc: row.text("key_enc")?, created_at: row.int("created_at")? })
}

fn context(id: &str) -> String {
    format!("seal_keys/{id}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, it| {
        let _ = write!(text, "{it:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[place * 2..place * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}
