//! Reads a dotenv file: `KEY=value`, comments, `export`, single and double quotes. No expansion.

/// The pairs in their order. A line that is no pair is skipped.
pub(crate) fn parse(text: &str) -> Vec<(String, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    let (key, value) = line.split_once('=')?;
    let key = key.trim();
    let valid = !key.is_empty() && key.bytes().all(|it| it.is_ascii_alphanumeric() || b"_.-".contains(&it));
    valid.then(|| (key.to_owned(), parse_value(value.trim())))
}

fn parse_value(value: &str) -> String {
    match value.chars().next() {
        Some('\'') => value[1..].split('\'').next().unwrap_or_default().to_owned(),
        Some('"') => unescape(&value[1..]),
        // An unquoted value ends where a comment begins.
        _ => value.split_once(" #").map_or(value, |it| it.0).trim_end().to_owned(),
    }
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some(other @ ('"' | '\\' | '$')) => out.push(other),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            _ => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(&str, &str)>) {
        let seen = parse(line).into_iter().next();
        assert_eq!(seen, expected.map(|(key, value)| (key.to_owned(), value.to_owned())), "{line}");
    }

    #[test]
    fn every_usual_spelling_is_understood() {
        check("A=1", Some(("A", "1")));
        check("  export A = b c  # note", Some(("A", "b c")));
        check("A='x # \"y\\n'", Some(("A", "x # \"y\\n")));
        check("A=\"x\\n\\\"y\\\" \\d\" # note", Some(("A", "x\n\"y\" \\d")));
        check("A=", Some(("A", "")));
        check("A=b=c#d", Some(("A", "b=c#d")));
        check("# A=1", None);
        check("nothing", None);
        check("a b=1", None);
    }
}
