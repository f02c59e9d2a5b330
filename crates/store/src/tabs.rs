//! The tables of browser tabs: `pairings`, `tabs`, `tab_tools`, `tab_log`.

use toolgrove_core::Secret;
use toolgrove_core::tabs::{CachedRow, TabKey, TabRow};
use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::Result;
use crate::{SecretBox, Store, now};

/// How many lines of a person's tab log are kept.
const LOG_KEPT: i64 = 10_000;

/// A browser that somebody has paired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingRow {
    pub profile_id: String,
    pub person_id: Uuid,
    /// None once the pairing was ended.
    pub token: Option<Secret>,
    /// What the browser calls itself.
    pub label: String,
    pub revoked_at: Option<i64>,
    pub last_seen: i64,
    pub created_at: i64,
}

/// One line of the tab log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TabLogRow {
    pub id: Uuid,
    pub person_id: Uuid,
    pub profile_id: String,
    pub tab_id: i64,
    pub domain: String,
    pub origin: String,
    pub event: String,
    pub tool: Option<String>,
    pub outcome: String,
    pub created_at: i64,
}

impl Store {
    /// Remembers a pairing, in the place of whatever this browser had before.
    pub async fn put_pairing(
        &self,
        profile_id: &str,
        person_id: Uuid,
        token: &Secret,
        label: &str,
    ) -> Result<()> {
        let tx = self.begin_sealing().await?;
        let sealed = tx.seal(&context(profile_id), token);
        let mut tx = tx;
        Sql::new(
            "INSERT INTO pairings (profile_id, person_id, token_enc, label, last_seen, created_at)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (profile_id) DO UPDATE SET person_id = excluded.person_id, token_enc = excluded.token_enc,
                label = excluded.label, revoked_at = NULL, last_seen = excluded.last_seen",
        )
        .bind(profile_id)
        .bind(person_id)
        .bind(sealed)
        .bind(label)
        .bind(now())
        .bind(now())
        .run(&mut *tx)
        .await?;
        tx.commit().await
    }

    pub async fn pairing(&self, profile_id: &str) -> Result<Option<PairingRow>> {
        let sql = Sql::new("SELECT * FROM pairings WHERE profile_id = $1").bind(profile_id);
        sql.first(&self.db, |row| read_pairing(&self.secrets, row)).await
    }

    /// The browsers a person has paired and not forgotten.
    pub async fn pairings_of(&self, person_id: Uuid) -> Result<Vec<PairingRow>> {
        let sql = Sql::new(
            "SELECT * FROM pairings WHERE person_id = $1 AND revoked_at IS NULL ORDER BY created_at, profile_id",
        );
        sql.bind(person_id).all(&self.db, |row| read_pairing(&self.secrets, row)).await
    }

    pub async fn saw_browser(&self, profile_id: &str, label: &str) -> Result<()> {
        let sql = Sql::new("UPDATE pairings SET last_seen = $1, label = $2 WHERE profile_id = $3");
        sql.bind(now()).bind(label).bind(profile_id).run(&self.db).await?;
        Ok(())
    }

    /// Ends a pairing. `false`: this person has no such browser.
    pub async fn end_pairing(&self, person_id: Uuid, profile_id: &str) -> Result<bool> {
        let sql = Sql::new(
            "UPDATE pairings SET token_enc = NULL, revoked_at = $1
             WHERE person_id = $2 AND profile_id = $3 AND revoked_at IS NULL",
        );
        Ok(sql.bind(now()).bind(person_id).bind(profile_id).run(&self.db).await? > 0)
    }

    /// Writes a person's tabs and cached tools, whole.
    pub async fn put_tabs(&self, person_id: Uuid, tabs: &[TabRow], cached: &[CachedRow]) -> Result<()> {
        let mut tx = self.db.begin().await?;
        Sql::new("DELETE FROM tabs WHERE person_id = $1").bind(person_id).run(&mut tx).await?;
        Sql::new("DELETE FROM tab_tools WHERE person_id = $1").bind(person_id).run(&mut tx).await?;
        for tab in tabs {
            Sql::new(
                "INSERT INTO tabs (id, profile_id, tab_id, person_id, domain, origin, slot, url, title, active,
                    last_updated, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            )
            .bind(tab.key.to_string())
            .bind(tab.key.browser.to_string())
            .bind(tab.key.tab)
            .bind(person_id)
            .bind(&tab.domain)
            .bind(&tab.origin)
            .bind(i64::from(tab.slot))
            .bind(&tab.url)
            .bind(&tab.title)
            .bind(tab.active)
            .bind(tab.last_updated)
            .bind(now())
            .run(&mut tx)
            .await?;
        }
        for tool in cached {
            Sql::new(
                "INSERT INTO tab_tools (person_id, origin, name, domain, public_name, raw, url, created_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            )
            .bind(person_id)
            .bind(&tool.origin)
            .bind(&tool.name)
            .bind(&tool.domain)
            .bind(&tool.public_name)
            .bind(&tool.raw)
            .bind(&tool.url)
            .bind(now())
            .run(&mut tx)
            .await?;
        }
        tx.commit().await
    }

    /// What was written of a person's tabs.
    pub async fn tabs_of(&self, person_id: Uuid) -> Result<(Vec<TabRow>, Vec<CachedRow>)> {
        let tabs = Sql::new("SELECT * FROM tabs WHERE person_id = $1 ORDER BY id");
        let tabs = tabs.bind(person_id).all(&self.db, read_tab).await?;
        let cached =
            Sql::new("SELECT * FROM tab_tools WHERE person_id = $1 ORDER BY created_at, origin, name");
        let cached = cached.bind(person_id).all(&self.db, read_cached).await?;
        Ok((tabs, cached))
    }

    pub async fn add_tab_log(&self, line: &TabLogRow) -> Result<()> {
        Sql::new(
            "INSERT INTO tab_log (id, person_id, profile_id, tab_id, domain, origin, event, tool, outcome, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(line.id)
        .bind(line.person_id)
        .bind(&line.profile_id)
        .bind(line.tab_id)
        .bind(&line.domain)
        .bind(&line.origin)
        .bind(&line.event)
        .bind(&line.tool)
        .bind(&line.outcome)
        .bind(line.created_at)
        .run(&self.db)
        .await?;
        Ok(())
    }

    /// Drops the oldest lines of a person's tab log.
    pub async fn prune_tab_log(&self, person_id: Uuid) -> Result<()> {
        Sql::new(
            "DELETE FROM tab_log WHERE person_id = $1 AND id NOT IN
                (SELECT id FROM tab_log WHERE person_id = $2 ORDER BY id DESC LIMIT $3)",
        )
        .bind(person_id)
        .bind(person_id)
        .bind(LOG_KEPT)
        .run(&self.db)
        .await?;
        Ok(())
    }

    /// The newest lines of a person's tab log.
    pub async fn tab_log(&self, person_id: Uuid, limit: i64) -> Result<Vec<TabLogRow>> {
        let sql = Sql::new("SELECT * FROM tab_log WHERE person_id = $1 ORDER BY id DESC LIMIT $2");
        sql.bind(person_id).bind(limit).all(&self.db, read_line).await
    }
}

fn context(profile_id: &str) -> String {
    format!("pairings/{profile_id}")
}

fn read_pairing(secrets: &SecretBox, row: &Row) -> Result<PairingRow> {
    let profile_id = row.text("profile_id")?;
    let token = row.maybe_text("token_enc")?;
    Ok(PairingRow {
        person_id: row.id("person_id")?,
        token: token.map(|it| secrets.open(&context(&profile_id), &it)).transpose()?,
        label: row.text("label")?,
        revoked_at: row.maybe_int("revoked_at")?,
        last_seen: row.int("last_seen")?,
        created_at: row.int("created_at")?,
        profile_id,
    })
}

fn read_tab(row: &Row) -> Result<TabRow> {
    Ok(TabRow {
        key: TabKey { browser: row.text("profile_id")?.into(), tab: row.int("tab_id")? },
        domain: row.text("domain")?,
        origin: row.text("origin")?,
        slot: u32::try_from(row.int("slot")?).unwrap_or(1),
        url: row.maybe_text("url")?,
        title: row.maybe_text("title")?,
        active: row.flag("active")?,
        last_updated: row.int("last_updated")?,
    })
}

fn read_cached(row: &Row) -> Result<CachedRow> {
    Ok(CachedRow {
        domain: row.text("domain")?,
        origin: row.text("origin")?,
        name: row.text("name")?,
        public_name: row.text("public_name")?,
        raw: row.text("raw")?,
        url: row.maybe_text("url")?,
    })
}

fn read_line(row: &Row) -> Result<TabLogRow> {
    Ok(TabLogRow {
        id: row.id("id")?,
        person_id: row.id("person_id")?,
        profile_id: row.text("profile_id")?,
        tab_id: row.int("tab_id")?,
        domain: row.text("domain")?,
        origin: row.text("origin")?,
        event: row.text("event")?,
        tool: row.maybe_text("tool")?,
        outcome: row.text("outcome")?,
        created_at: row.int("created_at")?,
    })
}
