//! The shape of the database and how an older one gets there.
//!
//! Migrations only add, are never edited once released, and read the same in both databases. They run one after
//! the other in a single transaction, so a failed upgrade leaves the old database as it was.

use crate::db::{Db, Sql};
use crate::error::{Result, StoreError};
use crate::now;

/// Every step from an empty database to the present one; the position is the version.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_start.sql"),
    include_str!("../migrations/0002_seal_keys.sql"),
    include_str!("../migrations/0003_sign_in.sql"),
    include_str!("../migrations/0004_oauth.sql"),
    include_str!("../migrations/0005_call_details.sql"),
    include_str!("../migrations/0006_clients.sql"),
    include_str!("../migrations/0007_bundles.sql"),
    include_str!("../migrations/0008_tabs.sql"),
    include_str!("../migrations/0009_buds.sql"),
    include_str!("../migrations/0010_shared.sql"),
    include_str!("../migrations/0011_call_pages.sql"),
];

/// Brings the database to the version after `steps`. A newer one is refused.
pub(crate) async fn migrate(db: &Db, steps: &'static [&'static str]) -> Result<()> {
    let known = steps.len() as i64;
    let mut tx = db.begin().await?;
    tx.lock_setup().await?;
    Sql::new(
        "CREATE TABLE IF NOT EXISTS schema_versions (version BIGINT PRIMARY KEY, created_at BIGINT NOT NULL)",
    )
    .run(&mut tx)
    .await?;
    let found = Sql::new("SELECT coalesce(max(version), 0) AS version FROM schema_versions")
        .first(&mut tx, |row| row.int("version"))
        .await?
        .unwrap_or(0);
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    for (version, step) in (1..).zip(steps).skip(found as usize) {
        tx.script(step).await.map_err(|source| StoreError::Migration { version, source })?;
        Sql::new("INSERT INTO schema_versions (version, created_at) VALUES ($1, $2)")
            .bind(version)
            .bind(now())
            .run(&mut tx)
            .await?;
    }
    tx.commit().await
}
