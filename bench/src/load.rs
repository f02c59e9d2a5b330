//! Sessions that call as fast as they are answered, for a while. One wrong answer ends everything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tokio::task::JoinSet;

use crate::client::{Client, Prepared, Target, text};
use crate::machine;
use crate::speech::UNMARKED;

/// What every session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Calls whose text has so many bytes.
    Call { bytes: usize },
    /// The same, of a tool that does not say that it only reads.
    Unmarked { bytes: usize },
    /// Calls that report progress so often.
    Progress { steps: u32 },
    /// Lists.
    List,
}

/// How many times its usual length a round may last.
const LONGEST: usize = 20;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) warm_up: Duration,
    pub(crate) measured: Duration,
}

/// What one round found.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Round {
    pub(crate) calls: u64,
    pub(crate) per_second: f64,
    /// Processor time of the measured process for each call, in microseconds.
    pub(crate) cpu_us: Option<f64>,
    /// In microseconds.
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
}

/// Sessions that are open, to be used for round after round.
pub(crate) struct Sessions {
    open: Vec<(Client, Prepared, u64)>,
}

impl Sessions {
    pub(crate) async fn open(targets: &[Target], count: usize, work: Work) -> Result<Self> {
        let mut open = Vec::with_capacity(count);
        for place in 0..count {
            let target = &targets[place % targets.len()];
            let client = Client::open(target).await?;
            let prepared = match work {
                Work::Call { bytes } => client.prepare_call(&target.tool, &text(bytes), 0),
                Work::Unmarked { bytes } => {
                    let tool = target.tool.replace("echo", UNMARKED);
                    client.prepare_call(&tool, &text(bytes), 0)
                }
                Work::Progress { steps } => client.prepare_call(&target.tool, "", steps),
                Work::List => client.prepare_list(),
            };
            open.push((client, prepared, 0));
        }
        Ok(Self { open })
    }

    /// One round. `pid` is the process whose time is counted.
    pub(crate) async fn round(&mut self, pid: Option<u32>, span: Span) -> Result<Round> {
        let (stop, counting) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (answered, wanted) = (Arc::new(AtomicUsize::new(0)), self.open.len());
        let mut running = JoinSet::new();
        for (mut client, mut prepared, mut number) in self.open.drain(..) {
            let (stop, counting, answered) = (stop.clone(), counting.clone(), answered.clone());
            running.spawn(async move {
                let mut times: Vec<u32> = Vec::with_capacity(1 << 12);
                while !stop.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    number += 1;
                    client.ask(&mut prepared, number).await?;
                    if counting.load(Ordering::Relaxed) {
                        answered.fetch_add(1, Ordering::Relaxed);
                        times.push(began.elapsed().as_nanos().try_into().unwrap_or(u32::MAX));
                    }
                    // With one session nothing else would let the clock of this round run.
                    tokio::task::consume_budget().await;
                }
                Ok::<_, anyhow::Error>((client, prepared, number, times))
            });
        }
        let failed = |running: &mut JoinSet<_>| match running.try_join_next() {
            Some(Ok(Err(error))) => Err(error),
            Some(_) => bail!("a session has ended"),
            None => Ok(()),
        };
        tokio::time::sleep(span.warm_up).await;
        failed(&mut running)?;
        pid.inspect(|it| machine::fetch_children(*it));
        let cpu = |pid: Option<u32>| pid.map(machine::cpu).transpose();
        let (began, cpu_before) = (Instant::now(), cpu(pid)?);
        counting.store(true, Ordering::Relaxed);
        // On a slow machine a round lasts until there is something to tell.
        for _ in 0..LONGEST {
            tokio::time::sleep(span.measured).await;
            if answered.load(Ordering::Relaxed) >= wanted {
                break;
            }
        }
        counting.store(false, Ordering::Relaxed);
        let (took, cpu_after) = (began.elapsed(), cpu(pid)?);
        stop.store(true, Ordering::Relaxed);
        let mut times = Vec::new();
        while let Some(ended) = running.join_next().await {
            let (client, prepared, number, own) = ended.context("a session broke")??;
            self.open.push((client, prepared, number));
            times.extend(own);
        }
        times.sort_unstable();
        let calls = times.len() as u64;
        if calls == 0 {
            bail!("nothing was answered within {:?}", span.measured);
        }
        let at = |share: f64| f64::from(times[((times.len() - 1) as f64 * share) as usize]) / 1000.0;
        Ok(Round {
            calls,
            per_second: calls as f64 / took.as_secs_f64(),
            cpu_us: cpu_after
                .zip(cpu_before)
                .map(|(b, a)| b.saturating_sub(a).as_secs_f64() * 1e6 / calls as f64),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
        })
    }
}

/// The middle of several rounds, each figure by itself.
pub(crate) fn median(rounds: &[Round]) -> Round {
    let middle = |figure: fn(&Round) -> f64| {
        let mut all: Vec<_> = rounds.iter().map(figure).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    Round {
        calls: rounds.iter().map(|it| it.calls).sum(),
        per_second: middle(|it| it.per_second),
        cpu_us: rounds[0].cpu_us.map(|_| middle(|it| it.cpu_us.unwrap_or_default())),
        p50: middle(|it| it.p50),
        p90: middle(|it| it.p90),
        p99: middle(|it| it.p99),
        p999: middle(|it| it.p999),
    }
}
