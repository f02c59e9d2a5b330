//! `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${input:id}`: kept in entries, resolved when a link opens.
//!
//! One pass: what a variable brings in is not looked at again. Anything else in `${…}` stays as it is.

/// Puts values in. `lookup` is asked for `VAR` or for `input:id`; the error lists what nobody knew.
pub fn resolve(text: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<String, Vec<String>> {
    let mut resolved = String::with_capacity(text.len());
    let mut missing = Vec::new();
    for part in parts(text) {
        match part {
            Part::Plain(plain) => resolved.push_str(plain),
            Part::Variable { name, default: Some(default) } => {
                // As in a shell, `:-` also replaces an empty value.
                let value = lookup(name).filter(|it| !it.is_empty());
                resolved.push_str(&value.unwrap_or_else(|| default.to_owned()));
            }
            Part::Variable { name, default: None } => match lookup(name) {
                Some(value) => resolved.push_str(&value),
                None if missing.iter().any(|it| it == name) => {}
                None => missing.push(name.to_owned()),
            },
        }
    }
    if missing.is_empty() { Ok(resolved) } else { Err(missing) }
}

/// Every variable of a text, as `lookup` would be asked for it.
pub fn variables(text: &str) -> impl Iterator<Item = &str> {
    parts(text).filter_map(|it| match it {
        Part::Variable { name, .. } => Some(name),
        Part::Plain(_) => None,
    })
}

enum Part<'a> {
    Plain(&'a str),
    Variable { name: &'a str, default: Option<&'a str> },
}

fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(inner) = rest.strip_prefix("${")
            && let Some((variable, after)) = variable(inner)
        {
            rest = after;
            return Some(variable);
        }
        let next = rest.char_indices().skip(1).find(|(at, it)| *it == '$' && rest[*at..].starts_with("${"));
        let (plain, after) = rest.split_at(next.map_or(rest.len(), |(at, _)| at));
        rest = after;
        Some(Part::Plain(plain))
    })
}

/// What follows `${`, up to and with its `}`. Only a name is read far enough to be sure: the search for the end
/// of a default is the one unbounded step, and it stops at the next `${`.
fn variable(inner: &str) -> Option<(Part<'_>, &str)> {
    let kind = ["env:", "input:"].into_iter().find(|it| inner.starts_with(it)).unwrap_or("");
    let length = inner[kind.len()..].bytes().take_while(|it| is_name(*it, kind)).count();
    if length == 0 {
        return None;
    }
    let (name, after) = inner.split_at(kind.len() + length);
    let name = if kind == "input:" { name } else { &name[kind.len()..] };
    if let Some(after) = after.strip_prefix('}') {
        return Some((Part::Variable { name, default: None }, after));
    }
    let after = after.strip_prefix(":-")?;
    let end = after.find(['}', '$'])?;
    let (default, after) = after.split_at(end);
    Some((Part::Variable { name, default: Some(default) }, after.strip_prefix('}')?))
}

fn is_name(byte: u8, kind: &str) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || (kind == "input:" && matches!(byte, b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &[&str]>) {
        let lookup = |name: &str| match name {
            "HOME" => Some("/home/me".to_owned()),
            "EMPTY" => Some(String::new()),
            "TRICK" => Some("${HOME}".to_owned()),
            "input:api-key" => Some("k".to_owned()),
            _ => None,
        };
        let resolved = resolve(text, lookup);
        let expected = expected.map(str::to_owned).map_err(|it| it.iter().map(ToString::to_string).collect());
        assert_eq!(resolved, expected, "for `{text}`");
    }

    #[test]
    fn every_form_is_resolved() {
        check("${HOME}/x", Ok("/home/me/x"));
        check("${env:HOME}${input:api-key}", Ok("/home/mek"));
        check("${NOPE:-a b}|${EMPTY:-d}|${HOME:-d}|${NOPE:-}", Ok("a b|d|/home/me|"));
        check("plain", Ok("plain"));
        check("", Ok(""));
    }

    #[test]
    fn what_is_missing_is_listed_once() {
        check("${A}${env:B}${A}${input:c}${HOME}", Err(&["A", "B", "input:c"]));
    }

    #[test]
    fn what_is_no_variable_stays() {
        for text in
            ["${", "$HOME", "${}", "${env:}", "${a b}", "${a.b}", "${HOME", "${HOME:x}", "$${", "é${é}"]
        {
            check(text, Ok(text));
        }
    }

    #[test]
    fn a_value_is_not_looked_at_again() {
        check("${TRICK}", Ok("${HOME}"));
    }

    #[test]
    fn variables_are_found_without_resolving() {
        assert_eq!(variables("${A:-x} ${env:B} ${input:c}").collect::<Vec<_>>(), ["A", "B", "input:c"]);
    }
}
