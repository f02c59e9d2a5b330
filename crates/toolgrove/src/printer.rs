//! The only place that prints.
//!
//! Answers go to stdout, everything about them to stderr. With `--json` stdout holds the API's JSON and nothing else,
//! and a failure is a problem in JSON on stderr. Colour is never the only carrier of anything.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::failure::Failure;
use crate::table;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();
const FAINT: Style = Style::new().dimmed();

/// Who reads the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Person,
    Program,
}

#[derive(Debug)]
pub(crate) struct Printer {
    reader: Reader,
}

/// How something is, in a sign that needs no colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Good,
    Busy,
    Attention,
    Bad,
    Off,
}

impl Mark {
    /// The mark of a health's `level`.
    pub(crate) fn of(level: &str) -> Self {
        match level {
            "ok" => Self::Good,
            "info" => Self::Busy,
            "warn" => Self::Attention,
            "off" => Self::Off,
            _ => Self::Bad,
        }
    }

    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Busy => "…",
            Self::Attention => "!",
            Self::Bad => "✗",
            Self::Off => "–",
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Busy => AnsiColor::Cyan.on_default(),
            Self::Attention => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Off => FAINT,
        }
    }
}

impl Printer {
    pub(crate) fn new(json: bool) -> Self {
        Self { reader: if json { Reader::Program } else { Reader::Person } }
    }

    pub(crate) fn reader(&self) -> Reader {
        self.reader
    }

    /// A line of the answer, for a person.
    pub(crate) fn line(&self, text: impl Display) {
        if self.reader == Reader::Person {
            self.text(&format!("{text}\n"));
        }
    }

    /// Exactly this, to stdout.
    #[expect(clippy::unused_self, reason = "printing is what a printer does")]
    pub(crate) fn text(&self, text: &str) {
        let mut out = anstream::stdout();
        // Whoever read us may have gone; there is nobody left to tell.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Text of a server: on a terminal it must not move the cursor or change a colour.
    pub(crate) fn foreign(&self, text: &str) {
        let is_harmless = |it: char| !it.is_control() || matches!(it, '\n' | '\t');
        if std::io::stdout().is_terminal() && !text.chars().all(is_harmless) {
            let text: String = text.chars().map(|it| if is_harmless(it) { it } else { '\u{fffd}' }).collect();
            return self.line(text);
        }
        if self.reader == Reader::Person {
            let mut out = std::io::stdout().lock();
            let _ =
                out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
        }
    }

    /// The answer, for a program: one document on one line.
    pub(crate) fn json(&self, value: &impl Serialize) {
        self.json_bytes(&serde_json::to_vec(value).unwrap_or_default());
    }

    /// The API's own bytes, for a program.
    pub(crate) fn json_bytes(&self, bytes: &[u8]) {
        if self.reader == Reader::Program {
            let bytes = if bytes.is_empty() { b"{}" } else { bytes };
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(bytes).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
        }
    }

    /// A table, for a person.
    pub(crate) fn table(&self, head: &[&str], rows: &[Vec<String>]) {
        let mut lines = table::lines(head, rows, width()).into_iter();
        if let Some(head) = lines.next() {
            self.line(format_args!("{FAINT}{head}{FAINT:#}"));
        }
        for line in lines {
            self.line(line);
        }
    }

    /// A table whose rows begin with a mark.
    pub(crate) fn marked_table(&self, head: &[&str], rows: &[(Mark, Vec<String>)]) {
        let cells: Vec<Vec<String>> = rows.iter().map(|it| it.1.clone()).collect();
        let mut lines = table::lines(head, &cells, width().map(|it| it.saturating_sub(2))).into_iter();
        if let Some(head) = lines.next() {
            self.line(format_args!("  {FAINT}{head}{FAINT:#}"));
        }
        for ((mark, _), line) in rows.iter().zip(lines) {
            self.line(format_args!("{}{}{:#} {line}", mark.style(), mark.sign(), mark.style()));
        }
    }

    /// `✓ name  text`, with the names of a list aligned.
    pub(crate) fn marked(&self, mark: Mark, name: &str, name_width: usize, text: &str) {
        let (style, text) = (mark.style(), table::plain(text));
        self.line(format_args!("{style}{}{style:#} {name:name_width$}  {text}", mark.sign()));
    }

    /// What is good to know, beside the answer.
    pub(crate) fn note(&self, text: impl Display) {
        if self.reader == Reader::Person {
            err(format_args!("{text}\n"));
        }
    }

    pub(crate) fn warning(&self, text: impl Display) {
        if self.reader == Reader::Person {
            err(format_args!("{WARNING}warning{WARNING:#}: {text}\n"));
        }
    }

    pub(crate) fn hint(&self, text: impl Display) {
        if self.reader == Reader::Person {
            err(format_args!("{HINT}hint{HINT:#}: {text}\n"));
        }
    }

    /// `error: …` for a person, also when it is not the command that failed.
    pub(crate) fn error(&self, text: &str) {
        if self.reader == Reader::Person {
            let text: String =
                text.chars().filter(|it| !it.is_control() || matches!(it, '\n' | '\t')).collect();
            err(format_args!("{ERROR}error{ERROR:#}: {text}\n"));
        }
    }

    pub(crate) fn failure(&self, failure: &Failure) {
        match self.reader {
            Reader::Program => {
                err(format_args!("{}\n", serde_json::to_string(&failure.problem).unwrap_or_default()));
            }
            Reader::Person => {
                self.error(&failure.problem.detail);
                if let Some(hint) = &failure.problem.hint {
                    self.hint(hint);
                }
            }
        }
    }

    /// What the argument parser has to say: help and versions to stdout, mistakes to stderr.
    pub(crate) fn usage(error: &clap::Error) -> ExitCode {
        let _ = error.print();
        ExitCode::from(error.exit_code() as u8)
    }

    /// What somebody is to type next, on stderr.
    pub(crate) fn prompt(what: &str) {
        err(format_args!("{what}"));
    }

    /// Whether somebody could answer a question.
    pub(crate) fn is_answered(&self) -> bool {
        self.reader == Reader::Person && std::io::stdin().is_terminal()
    }

    /// Asks a person on the terminal. No terminal is no.
    pub(crate) fn ask(&self, question: &str) -> Answer {
        if self.reader == Reader::Program || !std::io::stdin().is_terminal() {
            return Answer::Nobody;
        }
        err(format_args!("{question} [y/N] "));
        let mut line = String::new();
        match std::io::stdin().read_line(&mut line) {
            Ok(_) if matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes") => Answer::Yes,
            _ => Answer::No,
        }
    }

    /// A sign of life on stderr while something takes long; invisible unless that is a terminal.
    pub(crate) fn progress(&self, what: String) -> Progress {
        if self.reader == Reader::Program {
            return Progress(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner().with_message(what);
        bar.enable_steady_tick(Duration::from_millis(120));
        Progress(bar)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    Nobody,
}

/// Gone when dropped.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn set(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        if let Some(total) = total.filter(|it| *it > 0.0) {
            if self.0.length().is_none()
                && let Ok(style) = ProgressStyle::with_template("{spinner} {msg} [{bar:30}] {percent}%")
            {
                self.0.set_style(style);
            }
            // In thousandths, because servers may count in fractions.
            self.0.set_length(1000);
            self.0.set_position((done / total * 1000.0).clamp(0.0, 1000.0) as u64);
        }
        if let Some(message) = message {
            self.0.set_message(table::plain(message));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn err(text: std::fmt::Arguments<'_>) {
    let mut err = anstream::stderr();
    let _ = err.write_fmt(text).and_then(|()| err.flush());
}

/// How wide the terminal is; nothing is cut for a pipe.
fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}
