//! The table `bundles`: what each person installed, from where, and into which file.

use serde_json::Value as Json;
use toolgrove_core::Secret;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::Sql;
use crate::error::Result;
use crate::{Entry, Store, auth_configs, credentials, instances, now, servers};

/// One bundle of one person.
#[derive(Debug, Clone, PartialEq)]
pub struct BundleRow {
    pub person_id: Uuid,
    pub id: String,
    pub version: String,
    /// `user`, `workspace` or `repository`.
    pub scope: String,
    /// The file its servers were written to; absent: the hub alone runs them.
    pub target: Option<Json>,
    /// As it was typed.
    pub source: String,
    pub manifest: Json,
    /// The digest of the archive it came in.
    pub sha256: Option<String>,
    /// What its person answered, as a JSON object. Some of it may be secret.
    pub settings: Option<Secret>,
    pub installed_at: i64,
}

/// What a bundle's arrival makes of the registry: all of it is stored, or nothing.
#[derive(Debug, Clone, Default)]
pub struct Arrived {
    pub added: Vec<Entry>,
    pub changed: Vec<Entry>,
    /// Servers that the bundle no longer has.
    pub removed: Vec<Uuid>,
}

impl Store {
    /// Stores a bundle and its servers, in the place of what it was before.
    pub async fn put_bundle(&self, bundle: &BundleRow, arrived: &Arrived) -> Result<()> {
        let mut tx = self.begin_sealing().await?;
        for id in &arrived.removed {
            Sql::new("DELETE FROM mcp_servers WHERE id = $1").bind(*id).run(&mut *tx).await?;
        }
        for entry in &arrived.changed {
            servers::update(&mut tx, &entry.server).await?;
            auth_configs::keep_only(&mut tx, entry.server.id, entry.auth_config.as_ref()).await?;
            instances::update(&mut tx, &entry.instance).await?;
            credentials::replace(&mut tx, entry.instance.id, &entry.credentials).await?;
            // Another version was looked at before it came: its tools are approved as they are found.
            Sql::new("DELETE FROM tool_pins WHERE instance_id = $1")
                .bind(entry.instance.id)
                .run(&mut *tx)
                .await?;
        }
        for entry in &arrived.added {
            servers::insert(&mut tx, &entry.server).await?;
            if let Some(config) = &entry.auth_config {
                auth_configs::put(&mut tx, config).await?;
            }
            instances::insert(&mut tx, &entry.instance).await?;
            credentials::replace(&mut tx, entry.instance.id, &entry.credentials).await?;
        }
        let settings = bundle.settings.as_ref().map(|it| tx.seal(&context(bundle), it));
        Sql::new(
            "INSERT INTO bundles (person_id, id, version, scope, target, source, manifest, sha256, settings_enc,
                installed_at, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
             ON CONFLICT (person_id, id) DO UPDATE SET version = excluded.version, scope = excluded.scope,
                target = excluded.target, source = excluded.source, manifest = excluded.manifest,
                sha256 = excluded.sha256, settings_enc = excluded.settings_enc,
                installed_at = excluded.installed_at, updated_at = excluded.updated_at",
        )
        .bind(bundle.person_id)
        .bind(&bundle.id)
        .bind(&bundle.version)
        .bind(&bundle.scope)
        .bind(&bundle.target)
        .bind(&bundle.source)
        .bind(&bundle.manifest)
        .bind(&bundle.sha256)
        .bind(&settings)
        .bind(bundle.installed_at)
        .bind(now())
        .run(&mut *tx)
        .await?;
        tx.commit().await
    }

    /// Removes a person's bundle with its servers. Returns their ids.
    pub async fn remove_bundle(&self, person_id: Uuid, id: &str) -> Result<Vec<Uuid>> {
        let mut tx = self.db.begin().await?;
        let origin = format!("bundle:{id}");
        let ids = Sql::new("SELECT id FROM mcp_servers WHERE owner_id = $1 AND origin = $2")
            .bind(person_id)
            .bind(&origin)
            .all(&mut tx, |row| row.id("id"))
            .await?;
        Sql::new("DELETE FROM mcp_servers WHERE owner_id = $1 AND origin = $2")
            .bind(person_id)
            .bind(&origin)
            .run(&mut tx)
            .await?;
        Sql::new("DELETE FROM bundles WHERE person_id = $1 AND id = $2")
            .bind(person_id)
            .bind(id)
            .run(&mut tx)
            .await?;
        tx.commit().await?;
        Ok(ids)
    }

    pub async fn bundle(&self, person_id: Uuid, id: &str) -> Result<Option<BundleRow>> {
        let sql = Sql::new("SELECT * FROM bundles WHERE person_id = $1 AND id = $2");
        sql.bind(person_id).bind(id).first(&self.db, |row| self.read_bundle(row)).await
    }

    /// A person's bundles, by id.
    pub async fn bundles_of(&self, person_id: Uuid) -> Result<Vec<BundleRow>> {
        let sql = Sql::new("SELECT * FROM bundles WHERE person_id = $1 ORDER BY id");
        sql.bind(person_id).all(&self.db, |row| self.read_bundle(row)).await
    }

    /// Says which server does the same and stays. The row does not count as edited.
    pub async fn set_duplicate_of(&self, server: Uuid, of: Option<Uuid>) -> Result<()> {
        let sql = Sql::new("UPDATE mcp_servers SET duplicate_of = $2 WHERE id = $1");
        sql.bind(server).bind(of).run(&self.db).await.map(drop)
    }

    fn read_bundle(&self, row: &Row) -> Result<BundleRow> {
        let mut bundle = BundleRow {
            person_id: row.id("person_id")?,
            id: row.text("id")?,
            version: row.text("version")?,
            scope: row.text("scope")?,
            target: row.maybe_json("target")?,
            source: row.text("source")?,
            manifest: row.json("manifest")?,
            sha256: row.maybe_text("sha256")?,
            settings: None,
            installed_at: row.int("installed_at")?,
        };
        if let Some(sealed) = row.maybe_text("settings_enc")? {
            bundle.settings = Some(self.secrets.open(&context(&bundle), &sealed)?);
        }
        Ok(bundle)
    }
}

fn context(bundle: &BundleRow) -> String {
    format!("bundles/{}/{}", bundle.person_id, bundle.id)
}
