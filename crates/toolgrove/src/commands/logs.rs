//! `toolgrove logs`: what was called, or what a server wrote to stderr.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

use super::server::text;
use crate::api::{Api, segment, with_query};
use crate::args::Logs;
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::{Mark, Printer, Reader};

const LOOK: Duration = Duration::from_millis(500);
/// The last column is there when a call has gone to a browser tab.
const HEAD: [&str; 7] = ["TIME", "TOOL", "DOOR", "TOOK", "ENDED", "WHY", "TAB"];

pub(crate) async fn run(args: Logs, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    Api::with(paths, async |api| {
        if args.follow && !api.is_running() {
            return Err(Failure::new("hub.none", "there is no running hub to follow")
                .hint("start one with `toolgrove serve`"));
        }
        match &args.server {
            Some(slug) => server_log(api, &args, slug, printer).await,
            None => calls(api, &args, printer).await,
        }
    })
    .await
    .or_else(|failure| match failure.exit {
        // Ctrl-C is how following ends.
        Exit::Interrupted if args.follow => Ok(Exit::Done),
        _ => Err(failure),
    })
}

async fn calls(api: &Api, args: &Logs, printer: &Printer) -> Result<Exit, Failure> {
    let calls = fetch(api, args, args.limit).await?;
    if !args.follow {
        printer.json(&calls);
        if calls.is_empty() {
            printer.line("no calls");
        } else {
            print(printer, &calls);
        }
        return Ok(Exit::Done);
    }
    let mut newest = calls.first().map(|it| text(it, "id")).unwrap_or_default();
    follow_print(printer, calls, &HEAD);
    let mut ticks = ticks();
    loop {
        ticks.tick().await;
        let mut calls = fetch(api, args, 1000).await?;
        // Ids are in the order of time.
        calls.retain(|it| text(it, "id") > newest);
        if let Some(first) = calls.first() {
            newest = text(first, "id");
            follow_print(printer, calls, &[]);
        }
    }
}

/// The newest calls, newest first.
async fn fetch(api: &Api, args: &Logs, limit: u32) -> Result<Vec<Value>, Failure> {
    let limit_text = limit.to_string();
    let outcomes: &[Option<&str>] = if args.failed { &[Some("failed"), Some("tool_error")] } else { &[None] };
    let mut calls: Vec<Value> = Vec::new();
    for outcome in outcomes {
        let query =
            [("limit", Some(limit_text.as_str())), ("tool", args.tool.as_deref()), ("outcome", *outcome)];
        calls.extend(api.get(&with_query("/api/calls", &query)).await?.read::<Vec<Value>>()?);
    }
    calls.sort_by_key(|it| std::cmp::Reverse(text(it, "id")));
    calls.truncate(limit as usize);
    Ok(calls)
}

/// Oldest first, so that the newest stands where the eye is.
fn print(printer: &Printer, calls: &[Value]) {
    let mut rows: Vec<_> = calls.iter().rev().map(row).collect();
    let columns = if calls.iter().any(|it| it["tab"].is_object()) { HEAD.len() } else { HEAD.len() - 1 };
    for (_, cells) in &mut rows {
        cells.truncate(columns);
    }
    printer.marked_table(&HEAD[..columns], &rows);
}

fn follow_print(printer: &Printer, calls: Vec<Value>, head: &[&str]) {
    for call in calls.iter().rev() {
        printer.json(call);
    }
    if head.is_empty() {
        for (mark, cells) in calls.iter().rev().map(row) {
            printer.marked(mark, &cells[0], 0, cells[1..].join("  ").trim_end());
        }
    } else {
        print(printer, &calls);
    }
}

fn row(call: &Value) -> (Mark, Vec<String>) {
    let outcome = text(call, "outcome");
    let mark = match outcome.as_str() {
        "done" => Mark::Good,
        "input_required" => Mark::Busy,
        "cancelled" => Mark::Off,
        _ => Mark::Bad,
    };
    let cells = vec![
        time(call["started_at"].as_i64().unwrap_or_default()),
        text(call, "tool"),
        text(call, "door"),
        took(call["ms"].as_f64().unwrap_or_default()),
        outcome.replace('_', " "),
        text(call, "error_code"),
        tab(&call["tab"]),
    ];
    (mark, cells)
}

/// `example.com (12)`: the site, and the browser's own number of the tab.
fn tab(tab: &Value) -> String {
    if tab.is_object() { format!("{} ({})", text(tab, "domain"), tab["id"]) } else { String::new() }
}

/// Today only the time, else also the day.
pub(super) fn time(ms: i64) -> String {
    let local = |it: Timestamp| it.to_zoned(TimeZone::system());
    let at = local(Timestamp::from_millisecond(ms).unwrap_or_default());
    let is_today = at.date() == local(Timestamp::now()).date();
    at.strftime(if is_today { "%H:%M:%S" } else { "%Y-%m-%d %H:%M" }).to_string()
}

fn took(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.1} ms")
    } else if ms < 10_000.0 {
        format!("{ms:.0} ms")
    } else {
        format!("{:.1} s", ms / 1000.0)
    }
}

async fn server_log(api: &Api, args: &Logs, slug: &str, printer: &Printer) -> Result<Exit, Failure> {
    let path = format!("/api/mcp/instances/{}/log", segment(slug));
    let answer = api.get(&path).await?;
    let lines = lines(&answer.value()?);
    let shown = &lines[lines.len().saturating_sub(args.limit as usize)..];
    if !args.follow {
        printer.json(&json!({ "slug": slug, "lines": shown }));
        if shown.is_empty() {
            printer.note(format_args!("`{slug}` wrote nothing to stderr since the hub started"));
        }
    }
    print_lines(printer, shown, args.follow);
    if !args.follow {
        return Ok(Exit::Done);
    }
    let (mut seen, mut ticks) = (lines.clone(), ticks());
    loop {
        ticks.tick().await;
        let now = self::lines(&api.get(&path).await?.value()?);
        print_lines(printer, &now[overlap(&seen, &now)..], true);
        seen = now;
    }
}

fn print_lines(printer: &Printer, lines: &[String], one_each: bool) {
    for line in lines {
        match printer.reader() {
            Reader::Program if one_each => printer.json(line),
            Reader::Program => {}
            Reader::Person => printer.foreign(line),
        }
    }
}

fn lines(answer: &Value) -> Vec<String> {
    answer["lines"].as_array().into_iter().flatten().filter_map(|it| it.as_str().map(Into::into)).collect()
}

/// How many lines at the beginning of `now` were the end of `seen`: old lines fall out at the front.
fn overlap(seen: &[String], now: &[String]) -> usize {
    (0..=seen.len().min(now.len())).rev().find(|it| seen[seen.len() - it..] == now[..*it]).unwrap_or(0)
}

fn ticks() -> tokio::time::Interval {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_lines_are_printed() {
        let lines = |text: &str| text.split_whitespace().map(Into::into).collect::<Vec<String>>();
        for (seen, now, expected) in
            [("a b", "a b", 2), ("a b", "a b c", 2), ("a b c", "b c d", 2), ("a", "b", 0), ("", "a", 0)]
        {
            assert_eq!(overlap(&lines(seen), &lines(now)), expected, "{seen} → {now}");
        }
    }

    #[test]
    fn durations_have_as_many_digits_as_matter() {
        assert_eq!([took(0.04), took(12.6), took(12_345.0)], ["0.0 ms", "13 ms", "12.3 s"]);
    }
}
