//! The figures as one SVG, drawn by hand: bars against the pass-through, and a curve for each way a hub can grow.

use std::fmt::Write as _;

use crate::bounds::Found;
use crate::calls::{LARGE, MIDDLE, SESSIONS, SMALL, name};
use crate::load::{Round, Work};
use crate::machine::About;
use crate::speech::Era;
use crate::stand::Server;

const WIDTH: f64 = 860.0;
const PLOT: (f64, f64) = (360.0, 190.0);
const COLOURS: [&str; 6] = ["#9aa0a6", "#5b8def", "#b07cc6", "#2e8b57", "#d98a3d", "#c5524b"];

pub(crate) fn draw(found: &Found<'_>, about: &About) -> String {
    let mut body = String::new();
    let mut top = 70.0;
    for (title, unit, figure) in [
        (
            "Calls in a second, 64 sessions, 0.3 KB",
            "/s",
            (|it: &Round| Some(it.per_second)) as fn(&Round) -> Option<f64>,
        ),
        ("Processor time for a call, 64 sessions, 0.3 KB", "µs", |it| it.cpu_us),
    ] {
        top = bars(&mut body, found, top, title, unit, figure);
    }
    let _ = writeln!(
        body,
        "<text x=\"20\" y=\"{}\" fill=\"#5f6368\">Both axes are logarithmic, to one scale: a diagonal is linear growth, a flat line is none</text>",
        top + 8.0
    );
    top += 26.0;
    let growth = curves(found);
    for (place, (title, across, points)) in growth.iter().enumerate() {
        let x = 50.0 + (place % 2) as f64 * (PLOT.0 + 60.0);
        let y = top + (place / 2) as f64 * (PLOT.1 + 100.0);
        curve(&mut body, (x, y), title, across, points);
    }
    let height = top + growth.len().div_ceil(2) as f64 * (PLOT.1 + 100.0) + 20.0;
    let about =
        format!("{}, {} cores, hub and pass-through on one of them; {}", about.cpu, about.cores, about.when);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"20\" y=\"30\" font-size=\"18\" fill=\"#202124\">tools/call through Toolgrove: authenticated, checked, recorded</text>\n\
         <text x=\"20\" y=\"50\" fill=\"#5f6368\">{}</text>\n{body}</svg>\n",
        escape(&about)
    )
}

fn bars(
    body: &mut String,
    found: &Found<'_>,
    mut top: f64,
    title: &str,
    unit: &str,
    figure: impl Fn(&Round) -> Option<f64>,
) -> f64 {
    let _ = writeln!(
        body,
        "<text x=\"20\" y=\"{}\" font-weight=\"600\" fill=\"#202124\">{title}</text>",
        top + 16.0
    );
    top += 28.0;
    let rows: Vec<(String, usize, f64)> = Era::BOTH
        .into_iter()
        .filter_map(|era| {
            let server = if era == Era::Legacy { Server::Legacy } else { Server::Modern };
            let name = name(era, server, 64, Work::Call { bytes: SMALL });
            found.calls.iter().find(|it| it.cell == name).map(|it| (era, it))
        })
        .flat_map(|(era, cell)| {
            let columns = cell.columns.iter().enumerate();
            columns
                .filter_map(|(place, (column, round))| {
                    Some((format!("{column}, {}", era.name()), place, figure(round)?))
                })
                .collect::<Vec<_>>()
        })
        .collect();
    let most = rows.iter().map(|it| it.2).fold(0.0, f64::max);
    for (label, colour, value) in rows {
        let length = value / most * (WIDTH - 330.0);
        let _ = writeln!(
            body,
            "<text x=\"190\" y=\"{y}\" text-anchor=\"end\" fill=\"#5f6368\">{label}</text><rect x=\"200\" y=\"{r}\" width=\"{length:.1}\" height=\"14\" fill=\"{fill}\"/><text x=\"{t:.1}\" y=\"{y}\" fill=\"#202124\">{value} {unit}</text>",
            y = top + 12.0,
            r = top + 1.0,
            t = 206.0 + length,
            fill = COLOURS[colour % COLOURS.len()],
            label = escape(&label),
            value = rounded(value),
        );
        top += 20.0;
    }
    top + 22.0
}

type Curve = (&'static str, &'static str, Vec<(f64, f64)>);

/// What the hub spends as one thing grows: sessions, payload, tools, servers.
fn curves(found: &Found<'_>) -> Vec<Curve> {
    let hub = |sessions, bytes| {
        let name = name(Era::Modern, Server::Modern, sessions, Work::Call { bytes });
        found.calls.iter().find(|it| it.cell == name)?.of("toolgrove")?.cpu_us
    };
    let sessions = SESSIONS.iter().filter_map(|it| Some((*it as f64, hub(*it, SMALL)?))).collect();
    let payload = [(16, SMALL), (16, MIDDLE), (16, 64 * 1024), (4, LARGE)];
    let payload = payload.iter().filter_map(|it| Some((it.1 as f64 / 1024.0, hub(it.0, it.1)?))).collect();
    let of = |rounds: &[(usize, Round)]| {
        rounds.iter().filter_map(|it| Some((it.0 as f64, it.1.cpu_us?))).collect()
    };
    vec![
        ("Processor time for a call, by sessions", "sessions", sessions),
        ("Processor time for a call, by payload", "KiB", payload),
        ("Processor time for a list, by tools", "tools", of(&found.lists.lists)),
        ("Processor time for a call that goes alone, by servers", "servers", of(&found.lists.servers)),
    ]
}

/// Both axes are logarithmic: a straight diagonal is linear growth, a flat line none.
fn curve(body: &mut String, (x, y): (f64, f64), title: &str, across: &str, points: &[(f64, f64)]) {
    let _ = writeln!(
        body,
        "<text x=\"{x}\" y=\"{}\" font-weight=\"600\" fill=\"#202124\">{title}</text>",
        y + 16.0
    );
    let (top, bottom) = (y + 42.0, y + 42.0 + PLOT.1);
    let _ =
        writeln!(body, "<path d=\"M{x} {top}V{bottom}H{}\" stroke=\"#9aa0a6\" fill=\"none\"/>", x + PLOT.0);
    if points.len() < 2 {
        return;
    }
    let bounds = |of: fn(&(f64, f64)) -> f64| {
        let (low, high) = points
            .iter()
            .map(of)
            .fold((f64::MAX, 0.0), |(low, high): (f64, f64), it| (low.min(it), high.max(it)));
        (low.ln() - 0.15, high.ln() + 0.15)
    };
    // The same scale both ways, so that slopes mean what they seem to.
    let (xs, ys) = (bounds(|it| it.0), bounds(|it| it.1));
    let span = (xs.1 - xs.0).max((ys.1 - ys.0) * PLOT.0 / PLOT.1);
    let at = |(a, b): (f64, f64)| {
        let right = x + (a.ln() - xs.0) / span * PLOT.0;
        let up = bottom - (b.ln() - ys.0) / span * PLOT.0;
        (right, up.max(top))
    };
    let line: Vec<String> = points.iter().map(|it| at(*it)).map(|(a, b)| format!("{a:.1},{b:.1}")).collect();
    let _ = writeln!(
        body,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#2e8b57\" stroke-width=\"2\"/>",
        line.join(" ")
    );
    for point in points {
        let (a, b) = at(*point);
        let anchor = if a < x + 20.0 { "start" } else { "middle" };
        let _ = writeln!(
            body,
            "<circle cx=\"{a:.1}\" cy=\"{b:.1}\" r=\"3.5\" fill=\"#2e8b57\"/><text x=\"{a:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" font-size=\"11\" fill=\"#202124\">{} µs</text><text x=\"{a:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\" fill=\"#5f6368\">{}</text>",
            b - 8.0,
            rounded(point.1),
            bottom + 15.0,
            rounded(point.0),
        );
    }
    let _ = writeln!(
        body,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" font-size=\"11\" fill=\"#5f6368\">{across}</text>",
        x + PLOT.0,
        bottom + 30.0
    );
}

fn rounded(value: f64) -> String {
    match value {
        it if it >= 100.0 => format!("{it:.0}"),
        it if it >= 10.0 => format!("{it:.1}").trim_end_matches(".0").to_owned(),
        it => format!("{it:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
