//! `GET /api/calls/stats`: how many calls there were when, and how each server did. Counted by the database.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::{Extension, Json};
use serde::Serialize;
use toolgrove_core::Error;
use toolgrove_core::call::Caller;
use toolgrove_store::{CallCount, LATENCY_MS};
use ts_rs::TS;
use uuid::Uuid;

use super::Wanted;
use crate::App;
use crate::problem::Answer;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const MOST_SLOTS: u32 = 500;

#[derive(Debug, Serialize, TS)]
pub struct CallStats {
    /// Unix milliseconds.
    pub since: i64,
    pub until: i64,
    /// How long one slot is.
    pub step_ms: i64,
    pub slots: Vec<Slot>,
    /// The upper edges of the latency classes; what took longer is in one more class.
    pub latency_ms: Vec<u32>,
    /// Servers that were called, the busiest first.
    pub servers: Vec<ServerCalls>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, TS)]
#[ts(rename = "CallSlot")]
pub struct Slot {
    pub calls: u64,
    pub failed: u64,
}

/// How one server did.
#[derive(Debug, Serialize, TS)]
pub struct ServerCalls {
    /// Null: calls that found no instance.
    pub instance_id: Option<Uuid>,
    /// Null if the instance is gone.
    pub slug: Option<String>,
    pub calls: u64,
    pub failed: u64,
    /// Half of the calls, and nineteen of twenty, took at most about this long.
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub slots: Vec<Slot>,
    /// How many calls are in each latency class.
    pub latency: Vec<u64>,
}

pub async fn stats(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(wanted): Query<Wanted>,
) -> Answer<Json<CallStats>> {
    let until = wanted.until.unwrap_or_else(|| app.hub.now() + 1);
    let since = wanted.since.unwrap_or(until.saturating_sub(DAY_MS));
    if since >= until {
        return Err(Error::Request("`since` must lie before `until`".into()).into());
    }
    let slots = i64::from(wanted.slots.unwrap_or(48).clamp(1, MOST_SLOTS));
    let step_ms = (until.saturating_sub(since) + slots - 1) / slots;
    let mut filter = wanted.filter(&app, &caller).await?;
    (filter.since, filter.until) = (Some(since), Some(until));
    app.hub.log().flush().await;
    let counts = app.store.count_calls(caller.person, &filter, since, step_ms).await?;
    let catalog = app.hub.catalog(&caller);
    let slugs = catalog.offers().map(|it| (it.instance.id, it.instance.slug.clone())).collect();
    let (total, servers) = sum(&counts, slots as usize, &slugs);
    Ok(Json(CallStats { since, until, step_ms, slots: total, latency_ms: LATENCY_MS.into(), servers }))
}

/// All together, and by server.
fn sum(counts: &[CallCount], slots: usize, slugs: &HashMap<Uuid, String>) -> (Vec<Slot>, Vec<ServerCalls>) {
    let mut total = vec![Slot::default(); slots];
    let mut servers: HashMap<Option<Uuid>, ServerCalls> = HashMap::new();
    for count in counts {
        let server = servers.entry(count.instance_id).or_insert_with(|| ServerCalls {
            instance_id: count.instance_id,
            slug: count.instance_id.and_then(|it| slugs.get(&it).cloned()),
            calls: 0,
            failed: 0,
            p50_ms: 0.0,
            p95_ms: 0.0,
            slots: vec![Slot::default(); slots],
            latency: vec![0; LATENCY_MS.len() + 1],
        });
        let failed = if count.failed { count.calls } else { 0 };
        server.calls += count.calls;
        server.failed += failed;
        server.latency[count.latency.min(LATENCY_MS.len())] += count.calls;
        let place = count.slot.min(slots - 1);
        for slot in [&mut total[place], &mut server.slots[place]] {
            slot.calls += count.calls;
            slot.failed += failed;
        }
    }
    let mut servers: Vec<ServerCalls> = servers.into_values().collect();
    for server in &mut servers {
        server.p50_ms = quantile(&server.latency, 0.5);
        server.p95_ms = quantile(&server.latency, 0.95);
    }
    servers.sort_by_key(|it| (std::cmp::Reverse(it.calls), it.instance_id));
    (total, servers)
}

/// The time within which this share of the calls ended, evenly spread inside its class.
fn quantile(latency: &[u64], share: f64) -> f64 {
    let wanted = latency.iter().sum::<u64>() as f64 * share;
    let (mut below, mut seen) = (0.0, 0.0);
    for (class, calls) in latency.iter().enumerate() {
        // What took longer than the last edge is not known any better.
        let above = LATENCY_MS.get(class).map_or(below, |it| f64::from(*it));
        let calls = *calls as f64;
        if seen + calls >= wanted && calls > 0.0 {
            return below + (above - below) * (wanted - seen) / calls;
        }
        (seen, below) = (seen + calls, above);
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_lies_inside_its_class() {
        let mut latency = vec![0; LATENCY_MS.len() + 1];
        assert!(quantile(&latency, 0.5).abs() < f64::EPSILON * 1e9 || quantile(&latency, 0.5) > 0.0);
        latency[6] = 100;
        assert!((quantile(&latency, 0.5) - 75.0).abs() < 1e-9);
        assert!((quantile(&latency, 1.0) - 100.0).abs() < 1e-9);
        latency[15] = 100;
        assert!((quantile(&latency, 0.95) - 60_000.0).abs() < 1e-9);
    }

    #[test]
    fn calls_are_summed_by_time_and_by_server() {
        let (busy, gone) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let count =
            |instance_id, slot, failed, calls| CallCount { instance_id, slot, latency: 3, failed, calls };
        let counts = [
            count(Some(gone), 0, true, 1),
            count(Some(busy), 0, false, 2),
            count(Some(busy), 9, false, 3),
            count(None, 1, true, 1),
        ];
        let (total, servers) = sum(&counts, 2, &HashMap::from([(busy, "b".to_owned())]));
        assert_eq!(total, [Slot { calls: 3, failed: 1 }, Slot { calls: 4, failed: 1 }]);
        let shown: Vec<_> = servers.iter().map(|it| (it.slug.as_deref(), it.calls, it.failed)).collect();
        assert_eq!(shown, [(Some("b"), 5, 0), (None, 1, 1), (None, 1, 1)]);
        assert_eq!(servers[0].slots, [Slot { calls: 2, failed: 0 }, Slot { calls: 3, failed: 0 }]);
    }
}
