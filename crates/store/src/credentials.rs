//! The table `credentials`: what an instance shows to its server, sealed.

use toolgrove_core::Secret;
use uuid::Uuid;

use crate::db::{Sealing, Sql};
use crate::error::Result;
use crate::{Store, now};

impl Store {
    /// Replaces all credentials of an instance; of two values for one key the last counts.
    pub async fn put_credentials(&self, instance_id: Uuid, credentials: Vec<(String, Secret)>) -> Result<()> {
        let mut tx = self.begin_sealing().await?;
        replace(&mut tx, instance_id, &credentials).await?;
        tx.commit().await
    }

    /// The credentials of an instance in the order they were given.
    pub async fn credentials_of(&self, instance_id: Uuid) -> Result<Vec<(String, Secret)>> {
        Sql::new("SELECT key, value_enc FROM credentials WHERE instance_id = $1 ORDER BY position")
            .bind(instance_id)
            .all(&self.db, |row| {
                let key = row.text("key")?;
                let value = self.secrets.open(&context(instance_id, &key), &row.text("value_enc")?)?;
                Ok((key, value))
            })
            .await
    }

    /// Which keys of an instance have a value, without opening any.
    pub async fn credential_keys(&self, instance_id: Uuid) -> Result<Vec<String>> {
        Sql::new("SELECT key FROM credentials WHERE instance_id = $1 ORDER BY position")
            .bind(instance_id)
            .all(&self.db, |row| row.text("key"))
            .await
    }
}

pub(crate) async fn replace(
    tx: &mut Sealing,
    instance_id: Uuid,
    credentials: &[(String, Secret)],
) -> Result<()> {
    Sql::new("DELETE FROM credentials WHERE instance_id = $1").bind(instance_id).run(&mut **tx).await?;
    let now = now();
    for (position, (key, value)) in (0_i64..).zip(credentials) {
        Sql::new(
            "INSERT INTO credentials (instance_id, key, value_enc, position, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $5)
             ON CONFLICT (instance_id, key) DO UPDATE SET value_enc = excluded.value_enc",
        )
        .bind(instance_id)
        .bind(key)
        .bind(tx.seal(&context(instance_id, key), value))
        .bind(position)
        .bind(now)
        .run(&mut **tx)
        .await?;
    }
    Ok(())
}

fn context(instance_id: Uuid, key: &str) -> String {
    format!("credentials/{instance_id}/{key}")
}
