//! Steps with headings and elapsed time, and the table at the end.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How a step ended.
enum Ending {
    Done,
    Failed(String),
}

/// Its name, how long it took and how it ended.
type Step = (String, Duration, Ending);

/// A run of several steps; a failed one does not stop the others.
pub(crate) struct Report {
    started: Instant,
    steps: Vec<Step>,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), steps: Vec::new() }
    }

    /// A report of what runs at the same time; `take` brings it home.
    pub(crate) fn beside(&self) -> Self {
        Self { started: self.started, steps: Vec::new() }
    }

    pub(crate) fn take(&mut self, other: Self) {
        self.steps.extend(other.steps);
    }

    /// Runs one step under its heading. Returns whether it went well, for steps that need it.
    pub(crate) async fn step(&mut self, name: &str, work: impl Future<Output = Result<()>>) -> bool {
        self.heading(name);
        let step = timed(name, work).await;
        let went_well = matches!(step.2, Ending::Done);
        self.steps.push(step);
        went_well
    }

    /// Two steps at once, for those that wait more than they work and say little.
    pub(crate) async fn both(
        &mut self,
        (first, one): (&str, impl Future<Output = Result<()>>),
        (second, other): (&str, impl Future<Output = Result<()>>),
    ) {
        self.heading(&format!("{first}, {second}"));
        let (one, other) = tokio::join!(timed(first, one), timed(second, other));
        self.steps.extend([one, other]);
    }

    fn heading(&self, name: &str) {
        println!("\n── {name} ── {}", clock(self.started.elapsed()));
    }

    /// Prints the table; an error when a step failed.
    pub(crate) fn finish(self) -> Result<()> {
        let width = self.steps.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
        println!("\n── summary ── {}", clock(self.started.elapsed()));
        let mut failed = Vec::new();
        for (name, took, ending) in &self.steps {
            let took = clock(*took);
            match ending {
                Ending::Done => println!("  ok      {name:width$}  {took:>11}"),
                Ending::Failed(why) => {
                    println!(
                        "  FAILED  {name:width$}  {took:>11}  {}",
                        why.lines().next().unwrap_or_default()
                    );
                    failed.push(name.as_str());
                }
            }
        }
        for (name, _, ending) in &self.steps {
            if let Ending::Failed(why) = ending
                && let Some((_, last)) = why.split_once('\n')
            {
                println!("\n── last lines of {name} ──\n{last}");
            }
        }
        println!("\nsteps: {} passed, {} failed", self.steps.len() - failed.len(), failed.len());
        match failed.as_slice() {
            [] => Ok(()),
            [one] => bail!("step `{one}` failed"),
            several => bail!("{} steps failed: {}", several.len(), several.join(", ")),
        }
    }
}

async fn timed(name: &str, work: impl Future<Output = Result<()>>) -> Step {
    let began = Instant::now();
    let ending = match work.await {
        Ok(()) => Ending::Done,
        Err(error) => {
            let why = format!("{error:#}");
            println!("  failed: {}", why.lines().next().unwrap_or_default());
            Ending::Failed(why)
        }
    };
    (name.to_owned(), began.elapsed(), ending)
}

/// `3.2 s`, `2 min 05 s`.
fn clock(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        secs => format!("{} min {:02} s", secs / 60, secs % 60),
    }
}
