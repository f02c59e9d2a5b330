//! The table of the runs.

use std::time::Duration;

use super::results::Verdict;

/// One row for each run, in the order they were made.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<[String; 6]>,
}

impl Table {
    /// A run without a verdict did not come to its end.
    pub(crate) fn add(
        &mut self,
        suite: &str,
        leg: &str,
        against: &str,
        verdict: Option<Verdict>,
        took: Duration,
    ) {
        let (scored, checks) = match verdict {
            Some(it) => {
                (format!("{}/{}", it.green, it.green + it.red.len()), format!("{}/{}", it.passed, it.failed))
            }
            None => ("broke off".to_owned(), "-".to_owned()),
        };
        let seconds = format!("{:.1}", took.as_secs_f64());
        self.rows.push([suite.to_owned(), leg.to_owned(), against.to_owned(), scored, checks, seconds]);
    }

    /// Prints the table; nothing when there was no run.
    pub(crate) fn print(&self) {
        if !self.rows.is_empty() {
            println!(
                "\n── conformance ── scored scenarios; all checks, of unscored scenarios too\n{}",
                self.text()
            );
        }
    }

    fn text(&self) -> String {
        let head = ["suite", "leg", "against", "green/scored", "passed/failed", "seconds"].map(str::to_owned);
        let rows = || std::iter::once(&head).chain(&self.rows);
        let mut lines = Vec::new();
        for row in rows() {
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let width = rows().map(|it| it[column].chars().count()).max().unwrap_or(0);
                // Words to the left, numbers to the right.
                if column < 3 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
            });
            lines.push(format!("  {}", cells.collect::<Vec<_>>().join("  ")));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_a_row_even_when_it_broke_off() {
        let mut table = Table::default();
        let verdict = Verdict { green: 29, red: vec!["ping".into()], passed: 84, failed: 1 };
        table.add("2025-11-25", "server", "fixture", Some(verdict), Duration::from_millis(6_420));
        table.add("2025-11-25", "client", "suite", None, Duration::from_secs(10));
        let wanted = "
  suite       leg     against  green/scored  passed/failed  seconds
  2025-11-25  server  fixture         29/30           84/1      6.4
  2025-11-25  client  suite       broke off              -     10.0";
        assert_eq!(table.text(), wanted.trim_start_matches('\n'));
    }
}
