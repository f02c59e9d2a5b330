//! `WWW-Authenticate`: what a server wants before it lets a request in.

/// The parameters of a `Bearer` challenge that matter to us.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Where the metadata of the protected resource is.
    pub resource_metadata: Option<String>,
    pub scope: Option<String>,
    pub error: Option<String>,
    pub error_description: Option<String>,
}

impl Challenge {
    /// Reads the `Bearer` challenge out of one header or several joined by commas. Servers are sloppy here, so
    /// whatever is not understood is passed over.
    pub fn parse(header: &str) -> Option<Self> {
        let mut found = None::<Self>;
        let mut rest = header;
        let mut is_bearer = false;
        while let Some((name, after)) = word(rest) {
            let Some(value) = after.strip_prefix('=') else {
                // A word without a value begins the next challenge.
                is_bearer = name.eq_ignore_ascii_case("bearer");
                if is_bearer && found.is_none() {
                    found = Some(Self::default());
                }
                rest = after;
                continue;
            };
            let (value, after) = value_of(value.trim_start());
            rest = after;
            if let (true, Some(challenge)) = (is_bearer, &mut found) {
                challenge.set(name, value);
            }
        }
        found
    }

    fn set(&mut self, name: &str, value: String) {
        let place = match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => &mut self.resource_metadata,
            "scope" => &mut self.scope,
            "error" => &mut self.error,
            "error_description" => &mut self.error_description,
            _ => return,
        };
        if place.is_none() && !value.trim().is_empty() {
            *place = Some(value);
        }
    }

    /// Whether the token is good and only allows too little.
    pub fn wants_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// The next word and what follows it, spaces skipped.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches([' ', '\t', ',']);
    let end = text.find([' ', '\t', ',', '=']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    // A stray sign must not keep us here for ever.
    if name.is_empty() {
        return text.strip_prefix('=').and_then(word);
    }
    Some((name, if rest.trim_start().starts_with('=') { rest.trim_start() } else { rest }))
}

/// A quoted value, or everything up to the next comma or space.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|it| it.1)),
            other => value.push(other),
        }
    }
    (value, "")
}

/// Every scope of either text, in order, once.
pub fn union(one: Option<&str>, other: Option<&str>) -> Option<String> {
    let mut all: Vec<&str> = Vec::new();
    for scope in [one, other].into_iter().flatten().flat_map(str::split_whitespace) {
        if !all.contains(&scope) {
            all.push(scope);
        }
    }
    (!all.is_empty()).then(|| all.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(header: &str, expected: Option<[Option<&str>; 4]>) {
        let found = Challenge::parse(header)
            .map(|it| [it.resource_metadata, it.scope, it.error, it.error_description]);
        assert_eq!(found, expected.map(|it| it.map(|it| it.map(str::to_owned))), "{header}");
    }

    #[test]
    fn a_bearer_challenge_is_found_however_it_is_written() {
        check(
            r#"Bearer resource_metadata="https://s.example/meta/prm.json", scope="a b""#,
            Some([Some("https://s.example/meta/prm.json"), Some("a b"), None, None]),
        );
        check(
            r#"bearer error = "insufficient_scope" ,error_description="say \"please\"", scope=x"#,
            Some([None, Some("x"), Some("insufficient_scope"), Some("say \"please\"")]),
        );
        check("Bearer resource_metadata=https://s/p?q=1", Some([Some("https://s/p?q=1"), None, None, None]));
        check("Bearer", Some([None; 4]));
        check("", None);
        check(r#"Basic realm="Bearer scope=x""#, None);
    }

    #[test]
    fn only_the_bearer_of_several_challenges_counts() {
        check(
            r#"Basic realm="a", scope="no", Bearer scope="yes", DPoP scope="no", error="use_dpop_nonce""#,
            Some([None, Some("yes"), None, None]),
        );
    }

    #[test]
    fn nonsense_ends() {
        for header in
            ["=", "==,=", "Bearer =", r#"Bearer scope=""#, r#"Bearer scope="\"#, ",,, ", "Bearer a==b"]
        {
            let _ = Challenge::parse(header);
        }
    }

    #[test]
    fn a_union_keeps_order_and_repeats_nothing() {
        assert_eq!(union(Some("a b"), Some("b c")).as_deref(), Some("a b c"));
        assert_eq!(union(None, Some(" c ")).as_deref(), Some("c"));
        assert_eq!(union(Some(" "), None), None);
    }
}
