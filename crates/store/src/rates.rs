//! The table `rate_buckets`: how full the bucket of each server with a rate limit is, where several hubs share a
//! database. The database's clock counts, so hubs need not agree on the time.

use std::time::Duration;

use uuid::Uuid;

use crate::Store;
use crate::db::Sql;
use crate::error::Result;

impl Store {
    /// Takes one token of a server's bucket, in a database that hubs share. `Some`: there is none, and there will be
    /// one in this long.
    pub async fn take_token(&self, server: Uuid, per_second: f64, burst: f64) -> Result<Option<Duration>> {
        // Whoever comes second waits for the row and sees what the first has left.
        let taken = Sql::new(
            "INSERT INTO rate_buckets AS bucket (server_id, tokens, filled_at)
             VALUES ($1, $2 - 1, extract(epoch FROM clock_timestamp()))
             ON CONFLICT (server_id) DO UPDATE SET
                tokens = least($2, bucket.tokens + $3 * greatest(0, excluded.filled_at - bucket.filled_at)) - 1,
                filled_at = greatest(bucket.filled_at, excluded.filled_at)
             WHERE least($2, bucket.tokens + $3 * greatest(0, excluded.filled_at - bucket.filled_at)) >= 1",
        );
        if taken.bind(server).bind(burst).bind(per_second).run(&self.db).await? > 0 {
            return Ok(None);
        }
        let left = Sql::new(
            "SELECT least($2, tokens + $3 * greatest(0, extract(epoch FROM clock_timestamp()) - filled_at)) AS tokens
             FROM rate_buckets WHERE server_id = $1",
        );
        let left = left.bind(server).bind(burst).bind(per_second);
        let tokens = left.first(&self.db, |row| row.float("tokens")).await?.unwrap_or(1.0);
        Ok(Some(Duration::from_secs_f64((1.0 - tokens).max(0.0) / per_second)))
    }
}
