//! How a text is written: its line ends and its indentation, so that what we add looks like the rest.

use jsonc_parser::common::Ranged;
use serde::Serialize;
use serde_json::Value;

use super::Tree;

pub(super) struct Style {
    pub(super) newline: &'static str,
    /// One step of indentation.
    pub(super) unit: String,
}

impl Style {
    pub(super) fn of(tree: &Tree<'_>) -> Self {
        let newline = match tree.text.find('\n') {
            Some(at) if tree.text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let first = tree.root.as_ref().and_then(|it| it.properties.first()).map(Ranged::start);
        let unit = first.and_then(|at| own_line(tree.text, at)).filter(|it| !it.is_empty()).unwrap_or("  ");
        Self { newline, unit: unit.to_owned() }
    }

    /// A value over several lines, whose first line begins after `indent`.
    pub(super) fn pretty(&self, value: &Value, indent: &str) -> String {
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        // Writing JSON of a `Value` into memory cannot fail: its keys are texts.
        let _ = value.serialize(&mut serializer);
        String::from_utf8_lossy(&bytes).replace('\n', &format!("{}{indent}", self.newline))
    }
}

/// The white space before `at`, when nothing else stands before it on its line.
pub(super) fn own_line(text: &str, at: usize) -> Option<&str> {
    let lead = lead(text, at);
    let before = &text[..at - lead.len()];
    (before.is_empty() || before.ends_with('\n')).then_some(lead)
}

/// The spaces and tabs right before `at`.
pub(super) fn lead(text: &str, at: usize) -> &str {
    let before = &text[..at];
    &before[before.trim_end_matches([' ', '\t']).len()..]
}

/// The indentation of the line that `at` is on.
pub(super) fn line_indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |it| it + 1);
    let line = &text[start..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}
