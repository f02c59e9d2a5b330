//! Every column that holds secrets, and how all of them get a new key.
//!
//! A rotation is a sequence of complete states: the file has the new key and the old ones; every row is sealed with the
//! new one; the file has the new one alone. Killed anywhere, every row opens with a key of the file.

use toolgrove_core::Secret;

use crate::Store;
use crate::db::{Sealing, Sql, Tx};
use crate::error::Result;

/// One sealed column. A value is bound to the place `table/key…[/part]`.
pub(crate) struct Sealed {
    pub(crate) table: &'static str,
    pub(crate) column: &'static str,
    /// The columns of the row's key, in the order in which the place names them.
    key: &'static [&'static str],
    /// What tells two columns of one row apart.
    part: Option<&'static str>,
}

const fn sealed(table: &'static str, column: &'static str, key: &'static [&'static str]) -> Sealed {
    Sealed { table, column, key, part: None }
}

const fn part(
    table: &'static str,
    column: &'static str,
    key: &'static [&'static str],
    part: &'static str,
) -> Sealed {
    Sealed { table, column, key, part: Some(part) }
}

/// All of them. A test compares this list with the schema.
pub(crate) const SEALED: &[Sealed] = &[
    sealed("credentials", "value_enc", &["instance_id", "key"]),
    sealed("seal_keys", "key_enc", &["id"]),
    sealed("bundles", "settings_enc", &["person_id", "id"]),
    sealed("oauth_clients", "client_secret_enc", &["id"]),
    sealed("oauth_pending", "verifier_enc", &["state"]),
    part("oauth_tokens", "access_enc", &["instance_id"], "access"),
    part("oauth_tokens", "refresh_enc", &["instance_id"], "refresh"),
    // The same token on its way: it comes back to its column as it is.
    part("oauth_tokens", "taken_enc", &["instance_id"], "refresh"),
    sealed("pairings", "token_enc", &["profile_id"]),
];

/// What became of a rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotated {
    /// Secrets that are sealed with the new key now.
    pub resealed: u64,
    /// Secrets that no key of the file opens; they are as they were.
    pub unreadable: u64,
    pub old_keys: OldKeys,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldKeys {
    Gone,
    /// Some row may still need one, or the database was too busy to say that every row is safely on disk. The next
    /// rotation drops them.
    Kept,
}

/// Where a rotation may be interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    NewKeyWritten,
    RowsSealed,
    RowsCommitted,
    OldKeysGone,
}

impl Store {
    /// Makes a new key, seals every secret with it, and forgets the old ones. Others may read and write meanwhile.
    pub async fn rotate_key(&self) -> Result<Rotated> {
        self.rotate_key_watched(|_| Ok(())).await
    }

    pub(crate) async fn rotate_key_watched(&self, at: impl Fn(Moment) -> Result<()>) -> Result<Rotated> {
        let mut tx = Sealing::alone(&self.db, &self.secrets).await?;
        self.secrets.renew()?;
        at(Moment::NewKeyWritten)?;
        let (mut resealed, mut unreadable) = (0, 0);
        for column in SEALED {
            let (done, lost) = self.reseal(&mut tx, column).await?;
            resealed += done;
            unreadable += lost;
        }
        at(Moment::RowsSealed)?;
        tx.commit().await?;
        at(Moment::RowsCommitted)?;
        if self.settle().await? {
            self.retire_keys().await?;
        }
        at(Moment::OldKeysGone)?;
        let old_keys = if self.has_old_keys()? { OldKeys::Kept } else { OldKeys::Gone };
        Ok(Rotated { resealed, unreadable, old_keys })
    }

    /// Drops the keys that no row needs. Another rotation may have been cut short meanwhile, so the rows are asked.
    async fn retire_keys(&self) -> Result<()> {
        let mut tx = Sealing::alone(&self.db, &self.secrets).await?;
        let mut in_use = Vec::new();
        for column in SEALED {
            in_use
                .extend(column.older_than(&mut tx, &self.secrets.prefix()).await?.into_iter().map(|it| it.1));
        }
        self.secrets.retire(&in_use)
    }

    /// Whether a rotation was begun and not finished.
    pub fn has_old_keys(&self) -> Result<bool> {
        Ok(self.secrets.count()? > 1)
    }

    async fn reseal(&self, tx: &mut Sealing, column: &Sealed) -> Result<(u64, u64)> {
        let (mut resealed, mut unreadable) = (0, 0);
        for (key, value) in column.older_than(tx, &self.secrets.prefix()).await? {
            let place = column.place(&key);
            match self.secrets.open(&place, &value) {
                Ok(secret) => {
                    column.put(tx, &key, &place, &secret).await?;
                    resealed += 1;
                }
                Err(error) => {
                    tracing::warn!(%error, "left as it is");
                    unreadable += 1;
                }
            }
        }
        Ok((resealed, unreadable))
    }
}

impl Sealed {
    fn place(&self, key: &[String]) -> String {
        let key = key.iter().map(String::as_str);
        std::iter::once(self.table).chain(key).chain(self.part).collect::<Vec<_>>().join("/")
    }

    /// The rows that another key has sealed.
    async fn older_than(&self, tx: &mut Tx, prefix: &str) -> Result<Vec<(Vec<String>, String)>> {
        let Self { table, column, key, .. } = self;
        let columns = key.join(", ");
        let rows = Sql::made(format!("SELECT {columns}, {column} FROM {table} WHERE {column} IS NOT NULL"))
            .all(tx, |row| {
                let key = key.iter().map(|it| row.text(it)).collect::<Result<Vec<_>>>()?;
                Ok((key, row.text(column)?))
            })
            .await?;
        Ok(rows.into_iter().filter(|it| !it.1.starts_with(prefix)).collect())
    }

    async fn put(&self, tx: &mut Sealing, key: &[String], place: &str, secret: &Secret) -> Result<()> {
        let Self { table, column, key: names, .. } = self;
        let at: Vec<_> = (2..).zip(*names).map(|(n, name)| format!("{name} = ${n}")).collect();
        let sql = Sql::made(format!("UPDATE {table} SET {column} = $1 WHERE {}", at.join(" AND ")));
        let sql = sql.bind(tx.seal(place, secret));
        key.iter().fold(sql, Sql::bind).run(&mut **tx).await?;
        Ok(())
    }
}
