//! The two sentences that end an import.

use super::Failed;

/// `Added: weather (2 tools), db (1 tool)`; a server without a count still wants a sign-in.
pub fn message_success<'a>(added: impl IntoIterator<Item = (&'a str, Option<usize>)>) -> Option<String> {
    let added: Vec<_> = added
        .into_iter()
        .map(|(name, tools)| match tools {
            Some(1) => format!("{name} (1 tool)"),
            Some(tools) => format!("{name} ({tools} tools)"),
            None => format!("{name} (sign in to use)"),
        })
        .collect();
    (!added.is_empty()).then(|| format!("Added: {}", added.join(", ")))
}

/// `Failed: a: <error>; b: <error>`
pub fn message_error<'a>(failed: impl IntoIterator<Item = &'a Failed>) -> Option<String> {
    let failed: Vec<_> = failed.into_iter().map(|it| format!("{}: {}", it.name, it.error)).collect();
    (!failed.is_empty()).then(|| format!("Failed: {}", failed.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_counted() {
        let added = [("weather", Some(2)), ("db", Some(1)), ("w", None), ("e", Some(0))];
        let expected = "Added: weather (2 tools), db (1 tool), w (sign in to use), e (0 tools)";
        assert_eq!(message_success(added).as_deref(), Some(expected));
        assert_eq!(message_success([]), None);
    }

    #[test]
    fn what_failed_is_explained() {
        let failed = ["a", "b"].map(|name| Failed { name: name.into(), error: r#"missing "url""#.into() });
        assert_eq!(message_error(&failed).as_deref(), Some(r#"Failed: a: missing "url"; b: missing "url""#));
        assert_eq!(message_error(&[]), None);
    }
}
