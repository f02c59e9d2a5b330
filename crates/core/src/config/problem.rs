//! Where something is wrong in the file, and what was probably meant.

use std::ops::Range;

/// `line 3, column 1: <problem>`
pub(super) fn at(text: &str, span: Option<Range<usize>>, problem: &str) -> String {
    let Some(before) = span.and_then(|it| text.get(..it.start)) else {
        return problem.to_owned();
    };
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |it| it.chars().count()) + 1;
    format!("line {line}, column {column}: {problem}")
}

/// Turns serde's "unknown field `a`, expected one of `b`, `c`" into our words; other texts lose line breaks only.
pub(super) fn reword(message: &str) -> String {
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match words.split_first() {
        Some((key, known)) if message.starts_with("unknown field") => match nearest(key, known) {
            Some(meant) => format!("`{key}` is not a key; did you mean `{meant}`?"),
            None => format!("`{key}` is not a key; expected {}", list(known)),
        },
        Some((value, known)) if message.starts_with("unknown variant") => {
            format!("`{value}` is not possible here; expected {}", list(known))
        }
        _ => message.lines().collect::<Vec<_>>().join(", "),
    }
}

/// The known word closest to a typed one, if it is close at all.
pub fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let typed = &typed.chars().take(40).collect::<String>();
    let (distance, word) = known.iter().map(|it| (distance(typed, it), *it)).min()?;
    (distance <= 1 + word.len() / 4).then_some(word)
}

/// Edits from one word to the other, one row of the table at a time.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, right) in b.chars().enumerate() {
            let edited = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = edited.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

fn list(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|it| format!("`{it}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "none".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_counted_in_edits() {
        for (a, b, edits) in [("", "", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("lisen", "listen", 1)] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
        }
    }
}
