//! Edits of one object, as splices of the text around it.

use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::Token;
use serde_json::Value;

use super::style::{Style, lead, line_indent, own_line};
use super::{Edit, Tree};

pub(super) type Edits<'a> = Vec<&'a (String, Edit)>;

/// A piece of text that makes way for another.
pub(super) struct Splice {
    range: Range<usize>,
    with: String,
}

/// Everything that `edits` ask for, in any order of place.
pub(super) fn edit(
    tree: &Tree<'_>,
    style: &Style,
    object: &ast::Object<'_>,
    edits: &[&(String, Edit)],
    splices: &mut Vec<Splice>,
) {
    let edit_of = |it: &ast::ObjectProp<'_>| {
        edits.iter().find(|(name, _)| name == it.name.as_str()).map(|(_, edit)| edit)
    };
    let is_removed = |it: &&ast::ObjectProp<'_>| matches!(edit_of(it), Some(Edit::Remove));
    let added: Vec<_> = edits
        .iter()
        .filter(|(name, _)| object.get(name).is_none())
        .filter_map(|(name, edit)| match edit {
            Edit::Set(value) => Some((name, value)),
            Edit::Remove | Edit::Patch(_) => None,
        })
        .collect();
    let layout = Layout::of(tree, style, object);

    let emptied = object.properties.iter().all(|it| is_removed(&it)) && added.is_empty();
    if emptied && !object.properties.is_empty() && !tree.has_comments(object) {
        splices.push(Splice { range: object.start() + 1..object.end() - 1, with: String::new() });
        return;
    }

    let last_kept = object.properties.iter().rposition(|it| !is_removed(&it));
    let trailing = object.properties.last().is_some_and(|it| tree.comma_after(it.end()).is_some());
    for (place, property) in object.properties.iter().enumerate() {
        let comma = tree.comma_after(property.end());
        match edit_of(property) {
            Some(Edit::Remove) => {
                let is_last = place + 1 == object.properties.len();
                remove(tree, property, comma, if is_last { Place::Last } else { Place::Between }, splices);
                continue;
            }
            Some(Edit::Set(value)) => splices.push(Splice {
                range: property.value.range().start..property.value.range().end,
                with: layout.value(value, line_indent(tree.text, property.start())),
            }),
            Some(Edit::Patch(members)) => {
                if let ast::Value::Object(inner) = &property.value {
                    patch(tree, style, inner, members, splices);
                }
            }
            None => {}
        }
        let wants_comma = Some(place) != last_kept || !added.is_empty() || trailing;
        match comma {
            Some(comma) if !wants_comma => {
                splices.push(Splice { range: comma..comma + 1, with: String::new() });
            }
            None if wants_comma => {
                splices.push(Splice { range: property.end()..property.end(), with: ",".into() });
            }
            _ => {}
        }
    }
    if !added.is_empty() {
        let at = match (&layout.indent, object.properties.last()) {
            // On one line a comment may reach to its end: what is added stands before it.
            (Err(_), Some(last)) => tree.comma_after(last.end()).map_or(last.end(), |it| it + 1),
            _ => tree.last_end_before(object.end() - 1),
        };
        splices.push(Splice { range: at..at, with: layout.append(tree, at, object, &added, trailing) });
    }
}

fn patch(
    tree: &Tree<'_>,
    style: &Style,
    entry: &ast::Object<'_>,
    members: &[(String, Option<Value>)],
    splices: &mut Vec<Splice>,
) {
    let edits: Vec<_> = members
        .iter()
        .map(|(key, value)| (key.clone(), value.clone().map_or(Edit::Remove, Edit::Set)))
        .collect();
    edit(tree, style, entry, &edits.iter().collect::<Vec<_>>(), splices);
}

/// Takes a property out with its comma. One that has its lines for itself takes them along; no comment goes.
fn remove(
    tree: &Tree<'_>,
    property: &ast::ObjectProp<'_>,
    comma: Option<usize>,
    place: Place,
    splices: &mut Vec<Splice>,
) {
    let text = tree.text;
    let mut end = property.end();
    match comma {
        Some(comma) if text[end..comma].trim().is_empty() => end = comma + 1,
        Some(comma) => splices.push(Splice { range: comma..comma + 1, with: String::new() }),
        None => {}
    }
    let lead = lead(text, property.start());
    let before = property.start() - lead.len();
    let tail = text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
    let ends_line = text[end + tail..].starts_with(['\n', '\r']);
    let line_start = text[..before].strip_suffix('\n').map(|it| it.strip_suffix('\r').unwrap_or(it).len());
    let range = match (line_start, place) {
        (Some(line), _) if ends_line => line..end,
        // What comes next on its line must not slip behind a comment of the line above.
        (Some(line), Place::Last) if !tree.ends_in_line_comment(line) => line..end,
        (Some(_), _) => property.start()..end + tail,
        (None, Place::Between) if lead.is_empty() => property.start()..end + tail,
        (None, _) => before..end,
    };
    splices.push(Splice { range, with: String::new() });
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Between,
    Last,
}

/// How the properties of an object stand: each on its line, or all on one.
struct Layout<'a> {
    style: &'a Style,
    /// None: all on one line, with this between two.
    indent: Result<String, &'static str>,
}

impl<'a> Layout<'a> {
    fn of(tree: &Tree<'_>, style: &'a Style, object: &ast::Object<'_>) -> Self {
        let text = tree.text;
        let deeper = || format!("{}{}", line_indent(text, object.start()), style.unit);
        let indent = match (object.properties.first(), object.properties.last()) {
            (Some(first), Some(last)) if text[object.start()..first.start()].contains('\n') => {
                Ok(own_line(text, last.start()).map_or_else(deeper, str::to_owned))
            }
            (Some(_), _) if text[object.start() + 1..].starts_with(' ') => Err(" "),
            (Some(_), _) => Err(""),
            (None, _) => Ok(deeper()),
        };
        Self { style, indent }
    }

    fn value(&self, value: &Value, indent: &str) -> String {
        match self.indent {
            Ok(_) => self.style.pretty(value, indent),
            Err(_) => value.to_string(),
        }
    }

    fn append(
        &self,
        tree: &Tree<'_>,
        at: usize,
        object: &ast::Object<'_>,
        added: &[(&String, &Value)],
        trailing: bool,
    ) -> String {
        let mut text = String::new();
        for (place, (name, value)) in added.iter().enumerate() {
            let name = Value::from(name.as_str()).to_string();
            match &self.indent {
                Ok(indent) => {
                    text.extend([self.style.newline, indent, &name, ": ", &self.value(value, indent)]);
                }
                Err(gap) => text.extend([*gap, &name, ":", *gap, &self.value(value, "")]),
            }
            if trailing || place + 1 < added.len() {
                text.push(',');
            }
        }
        // The brace of an object that was empty gets a line of its own.
        if tree.is_blank(object) && !tree.text[at..object.end()].contains('\n') {
            text.extend([self.style.newline, line_indent(tree.text, object.start())]);
        }
        text
    }
}

impl Tree<'_> {
    /// Where the comma after a property stands, if it has one.
    fn comma_after(&self, end: usize) -> Option<usize> {
        let next = self.tokens.partition_point(|it| it.start() < end);
        self.tokens[next..]
            .iter()
            .find(|it| !matches!(it.token, Token::CommentLine(_) | Token::CommentBlock(_)))
            .filter(|it| it.token == Token::Comma)
            .map(Ranged::start)
    }

    /// The end of the last token, comments too, before `at`.
    fn last_end_before(&self, at: usize) -> usize {
        let next = self.tokens.partition_point(|it| it.start() < at);
        self.tokens[..next].last().map_or(at, Ranged::end)
    }

    /// Whether the line that ends at `at` ends in a comment that lasts until there.
    fn ends_in_line_comment(&self, at: usize) -> bool {
        let next = self.tokens.partition_point(|it| it.start() < at);
        self.tokens[..next]
            .last()
            .is_some_and(|it| matches!(it.token, Token::CommentLine(_)) && it.end() >= at)
    }

    pub(super) fn has_comments(&self, object: &ast::Object<'_>) -> bool {
        let from = self.tokens.partition_point(|it| it.start() < object.start());
        let to = self.tokens.partition_point(|it| it.start() < object.end());
        let inside = |at: usize| object.properties.iter().any(|it| it.start() <= at && at < it.end());
        self.tokens[from..to].iter().any(|it| {
            matches!(it.token, Token::CommentLine(_) | Token::CommentBlock(_)) && !inside(it.start())
        })
    }
}

/// The text with every splice done, behind `prefix`.
pub(super) fn splice(text: &str, mut splices: Vec<Splice>, prefix: &str) -> String {
    splices.sort_by_key(|it| it.range.start);
    let mut spliced = prefix.to_owned();
    let mut done = 0;
    for Splice { range, with } in splices {
        spliced.push_str(&text[done..range.start.max(done)]);
        spliced.push_str(&with);
        done = done.max(range.end);
    }
    spliced.push_str(&text[done..]);
    spliced
}
