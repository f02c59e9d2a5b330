//! What was probably meant by a name that is not there.

use toolgrove_core::config::nearest;

/// As many as a person reads in one go.
const SHOWN: usize = 3;

/// A hint with the names that come close, if any do.
pub(crate) fn hint(typed: &str, known: &[String]) -> Option<String> {
    let lower = typed.to_lowercase();
    // A tool without its prefix, or a name in other letters.
    let mut close: Vec<&str> = known
        .iter()
        .map(String::as_str)
        .filter(|it| it.to_lowercase() == lower || it.to_lowercase().ends_with(&format!("__{lower}")))
        .take(SHOWN)
        .collect();
    if close.is_empty() {
        let words: Vec<&str> = known.iter().map(String::as_str).collect();
        close.extend(nearest(typed, &words));
    }
    let quoted: Vec<String> = close.iter().map(|it| format!("`{it}`")).collect();
    let (last, rest) = quoted.split_last()?;
    Some(match rest {
        [] => format!("did you mean {last}?"),
        rest => format!("did you mean {} or {last}?", rest.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, known: &[&str], expected: Option<&str>) {
        let known: Vec<String> = known.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(hint(typed, &known).as_deref(), expected, "{typed}");
    }

    #[test]
    fn close_names_are_offered() {
        let tools = ["mcp__a__echo", "mcp__b__echo", "mcp__b__image"];
        check("echo", &tools, Some("did you mean `mcp__a__echo` or `mcp__b__echo`?"));
        check("mcp__b__imag", &tools, Some("did you mean `mcp__b__image`?"));
        check("GitHub", &["github", "gitlab"], Some("did you mean `github`?"));
        check("something-else", &["github"], None);
        check("x", &[], None);
    }
}
