//! How often something may be called: a bucket of tokens per server, and so many buds at once per caller.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use uuid::Uuid;

use crate::Error;
use crate::bud::MOST_RUNNING;

/// `{"tok_per_sec": 5, "burst": 5}`: one call takes one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    pub per_second: f64,
    pub burst: f64,
}

impl Rate {
    /// Reads a server's `rate_limit`. `burst` is `tok_per_sec` when absent, and never less than one call.
    pub fn read(value: &Value) -> Result<Self, Error> {
        let wrong = || {
            Error::Request("`rate_limit` is `{\"tok_per_sec\": N, \"burst\": N}` with numbers above 0".into())
        };
        let members = value.as_object().ok_or_else(wrong)?;
        if members.keys().any(|it| !["tok_per_sec", "burst"].contains(&it.as_str())) {
            return Err(wrong());
        }
        let number = |key: &str| match members.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64() {
                Some(number) if number > 0.0 && number <= 1e9 => Ok(Some(number)),
                _ => Err(wrong()),
            },
        };
        let per_second = number("tok_per_sec")?.ok_or_else(wrong)?;
        Ok(Self { per_second, burst: number("burst")?.unwrap_or(per_second).max(1.0) })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Limits {
    buckets: Mutex<HashMap<Uuid, Bucket>>,
    /// How many bud calls each caller has running.
    running: Arc<Mutex<HashMap<Uuid, usize>>>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Limits {
    /// Takes a token of a server, or says how long there will be none.
    pub(crate) fn take(&self, server: Uuid, rate: Rate) -> Result<(), Duration> {
        let now = Instant::now();
        let mut buckets = lock(&self.buckets);
        let bucket = buckets.entry(server).or_insert(Bucket { tokens: rate.burst, at: now });
        let since = now.duration_since(bucket.at).as_secs_f64();
        bucket.tokens = (bucket.tokens + since * rate.per_second).min(rate.burst);
        bucket.at = now;
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - bucket.tokens) / rate.per_second))
    }

    /// One more bud call of a caller, for as long as what is returned is held.
    pub(crate) fn enter(&self, caller: Uuid) -> Result<Running, Error> {
        let mut running = lock(&self.running);
        let count = running.entry(caller).or_default();
        if *count >= MOST_RUNNING {
            return Err(Error::BudBusy);
        }
        *count += 1;
        Ok(Running { all: self.running.clone(), caller })
    }
}

#[derive(Debug)]
pub(crate) struct Running {
    all: Arc<Mutex<HashMap<Uuid, usize>>>,
    caller: Uuid,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Entry::Occupied(mut count) = lock(&self.all).entry(self.caller) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_bucket_fills_with_time_and_not_beyond_its_burst() {
        let (limits, server) = (Limits::default(), Uuid::nil());
        let rate = Rate::read(&json!({ "tok_per_sec": 2 })).unwrap();
        let taken = |count: usize| (0..count).map(|_| limits.take(server, rate)).collect::<Vec<_>>();
        assert_eq!(taken(3), [Ok(()), Ok(()), Err(Duration::from_millis(500))]);
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(taken(2), [Ok(()), Err(Duration::from_millis(500))]);
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(taken(3).iter().flatten().count(), 2);
        assert!(limits.take(Uuid::max(), rate).is_ok(), "another server has its own");
    }

    #[test]
    fn a_rate_says_what_it_wants() {
        assert_eq!(Rate::read(&json!({ "tok_per_sec": 0.5 })).unwrap(), Rate { per_second: 0.5, burst: 1.0 });
        for wrong in [json!(5), json!({}), json!({ "tok_per_sec": 0 }), json!({ "tok_per_sec": 1, "x": 1 })] {
            assert!(Rate::read(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_caller_has_eight_buds_running_and_no_ninth() {
        let limits = Limits::default();
        let mut held: Vec<_> = (0..8).map(|_| limits.enter(Uuid::nil()).unwrap()).collect();
        assert_eq!(limits.enter(Uuid::nil()).unwrap_err().code(), "bud.busy");
        assert!(limits.enter(Uuid::max()).is_ok());
        held.pop();
        assert!(limits.enter(Uuid::nil()).is_ok());
    }
}
