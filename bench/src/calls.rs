//! Tool calls in every combination, each column in turn, round after round, so that what disturbs one disturbs all.

use anyhow::{Context, Result};
use serde::Serialize;

use crate::load::{Round, Sessions, Span, Work, median};
use crate::note;
use crate::speech::Era;
use crate::stand::{Column, Server, Stand};

pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) era: Era,
    pub(crate) server: Server,
    pub(crate) sessions: usize,
    pub(crate) work: Work,
}

#[derive(Serialize)]
pub(crate) struct Measured {
    pub(crate) cell: String,
    pub(crate) sessions: usize,
    pub(crate) columns: Vec<(String, Round)>,
}

impl Measured {
    pub(crate) fn of(&self, column: &str) -> Option<&Round> {
        self.columns.iter().find(|it| it.0 == column).map(|it| &it.1)
    }

    /// One figure of the hub, as a multiple of the pass-through's.
    pub(crate) fn ratio(&self, figure: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
        Some(figure(self.of("toolgrove")?)? / figure(self.of("pass-through")?)?)
    }
}

pub(crate) const SMALL: usize = 300;
pub(crate) const MIDDLE: usize = 8 * 1024;
pub(crate) const LARGE: usize = 1 << 20;
pub(crate) const SESSIONS: [usize; 5] = [1, 16, 64, 256, 1024];

pub(crate) fn name(era: Era, server: Server, sessions: usize, work: Work) -> String {
    let work = match work {
        Work::Call { bytes } => size(bytes),
        Work::Unmarked { bytes } => format!("{} of an unmarked tool", size(bytes)),
        Work::Progress { steps } => format!("{steps} progress reports"),
        Work::List => "list".into(),
    };
    let way = match server {
        Server::Legacy | Server::Modern if server.slug() == era.name() => era.name().to_owned(),
        Server::Legacy | Server::Modern => format!("{} to {}", era.name(), server.slug()),
        Server::Stdio => format!("{} to stdio", era.name()),
        Server::Unix => format!("{} to unix socket", era.name()),
    };
    format!("{way}, {work}, {sessions}")
}

fn size(bytes: usize) -> String {
    match bytes {
        SMALL => "0.3 KB".to_owned(),
        LARGE.. => format!("{} MB", bytes >> 20),
        _ => format!("{} KB", bytes >> 10),
    }
}

fn cell(era: Era, server: Server, sessions: usize, work: Work) -> Cell {
    Cell { name: name(era, server, sessions, work), era, server, sessions, work }
}

/// What is measured; a quick run leaves out what the bounds do not need.
pub(crate) fn plan(quick: bool) -> Vec<Cell> {
    let call = |bytes| Work::Call { bytes };
    let mut cells = Vec::new();
    for (era, server) in [(Era::Legacy, Server::Legacy), (Era::Modern, Server::Modern)] {
        for sessions in SESSIONS {
            if !quick || matches!(sessions, 1 | 64 | 1024) {
                cells.push(cell(era, server, sessions, call(SMALL)));
            }
        }
        cells.push(cell(era, server, 64, Work::Unmarked { bytes: SMALL }));
        for sessions in [16, 64] {
            cells.push(cell(era, server, sessions, call(MIDDLE)));
        }
        if !quick {
            cells.push(cell(era, server, 16, call(64 * 1024)));
            cells.push(cell(era, server, 16, Work::Progress { steps: 10 }));
        }
        cells.push(cell(era, server, 4, call(LARGE)));
    }
    cells.push(cell(Era::Legacy, Server::Stdio, 16, call(SMALL)));
    if !quick {
        cells.push(cell(Era::Legacy, Server::Modern, 64, call(SMALL)));
        cells.push(cell(Era::Modern, Server::Legacy, 64, call(SMALL)));
        cells.push(cell(Era::Modern, Server::Stdio, 16, call(SMALL)));
        cells.push(cell(Era::Modern, Server::Unix, 64, call(SMALL)));
    }
    cells
}

pub(crate) async fn measure(
    stand: &Stand,
    cells: &[Cell],
    rounds: usize,
    span: Span,
) -> Result<Vec<Measured>> {
    let mut all = Vec::new();
    for cell in cells {
        let mut lanes: Vec<(Column, Sessions, Option<u32>, Vec<Round>)> = Vec::new();
        for column in stand.columns() {
            let Some((target, pid)) = stand.target(&column, cell.era, cell.server) else { continue };
            let sessions = Sessions::open(&[target], cell.sessions, cell.work).await;
            let sessions = sessions.with_context(|| format!("{}, {}", cell.name, stand.name(&column)))?;
            lanes.push((column, sessions, pid, Vec::new()));
        }
        for _ in 0..rounds {
            for (column, sessions, pid, found) in &mut lanes {
                let round = sessions.round(*pid, span).await;
                found.push(round.with_context(|| format!("{}, {}", cell.name, stand.name(column)))?);
            }
        }
        let columns: Vec<_> =
            lanes.into_iter().map(|(column, _, _, rounds)| (stand.name(&column), median(&rounds))).collect();
        note(format_args!("  {}", cell.name));
        for (name, round) in &columns {
            note(format_args!(
                "    {name:13} {:>9.0}/s  cpu {:>8}  p50 {:>8.0}  p90 {:>8.0}  p99 {:>8.0}  p99.9 {:>8.0} µs",
                round.per_second,
                round.cpu_us.map_or("–".into(), |it| format!("{it:.1} µs")),
                round.p50,
                round.p90,
                round.p99,
                round.p999
            ));
        }
        all.push(Measured { cell: cell.name.clone(), sessions: cell.sessions, columns });
    }
    Ok(all)
}
