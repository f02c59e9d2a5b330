//! `x-mcp-header`: arguments that a tool wants repeated as `Mcp-Param-*` headers, so that what stands between client
//! and server can route by them.

use toolgrove_wire::Raw;

/// The keyword in a property's schema.
pub const ANNOTATION: &str = "x-mcp-header";

/// Integers beyond this are not exact everywhere.
const EXACT: u64 = (1 << 53) - 1;

/// One annotated property: where it is, and the header's name after `Mcp-Param-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    pub path: Vec<String>,
    pub name: String,
}

/// Every annotation of a schema, or why they break the rules.
pub fn annotations(schema: &Raw) -> Result<Vec<Annotation>, String> {
    let mut found = Vec::new();
    let counted = walk(schema, &mut Vec::new(), &mut found)?;
    let written = memchr::memmem::find_iter(schema.bytes(), format!("\"{ANNOTATION}\"").as_bytes()).count();
    if written != counted {
        return Err(format!("`{ANNOTATION}` may stand only on properties reached through `properties`"));
    }
    for (place, one) in found.iter().enumerate() {
        if found[..place].iter().any(|it| it.name.eq_ignore_ascii_case(&one.name)) {
            return Err(format!("the header `{}` is wanted twice", one.name));
        }
    }
    Ok(found)
}

fn walk(schema: &Raw, path: &mut Vec<String>, found: &mut Vec<Annotation>) -> Result<usize, String> {
    let mut counted = 0;
    if let Some(name) = schema.get(ANNOTATION) {
        let name = name.text().unwrap_or_default().into_owned();
        let is_token = |it: u8| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&it);
        if path.is_empty() || name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("`{name}` is not a header name"));
        }
        if !matches!(schema.get_text("type").as_deref(), Some("string" | "integer" | "boolean")) {
            return Err(format!("`{name}` is not on a string, an integer or a boolean"));
        }
        found.push(Annotation { path: path.clone(), name });
        counted += 1;
    }
    if let Some(properties) = schema.get("properties") {
        for property in properties.members() {
            path.push(property.key().into_owned());
            counted += walk(&property.value(), path, found)?;
            path.pop();
        }
    }
    Ok(counted)
}

/// The headers for these arguments. What is absent or null has none.
pub fn values(annotations: &[Annotation], arguments: &Raw) -> Vec<(String, String)> {
    annotations.iter().filter_map(|it| Some((it.name.clone(), text(&at(arguments, &it.path)?)?))).collect()
}

/// Whether a header says what the argument says. Integers compare as numbers.
pub fn matches(annotation: &Annotation, arguments: &Raw, header: Option<&str>) -> bool {
    let value = at(arguments, &annotation.path).filter(|it| !it.is_null());
    match (value, header) {
        (None, None) => true,
        (Some(value), Some(header)) => match (value.as_str().parse::<i128>(), header.parse::<i128>()) {
            (Ok(value), Ok(header)) => value == header,
            _ => text(&value).as_deref() == Some(header),
        },
        _ => false,
    }
}

fn at(arguments: &Raw, path: &[String]) -> Option<Raw> {
    path.iter().try_fold(arguments.clone(), |value, key| value.get(key))
}

fn text(value: &Raw) -> Option<String> {
    if value.is_string() {
        return value.text().map(Into::into);
    }
    if value.is_integer() {
        let size: u128 = value.as_str().trim_start_matches('-').parse().ok()?;
        return (size <= u128::from(EXACT)).then(|| value.as_str().to_owned());
    }
    value.bool().map(|it| it.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &'static str) -> Raw {
        Raw::parse(text).expect("valid")
    }

    #[test]
    fn annotated_arguments_become_headers() {
        let schema = raw(
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"Region"},"o":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"z":{"type":"boolean","x-mcp-header":"Z"}}}"#,
        );
        let found = annotations(&schema).expect("valid");
        let arguments = raw(r#"{"a":"eu","o":{"n":7},"z":null}"#);
        assert_eq!(values(&found, &arguments), [("Region".into(), "eu".into()), ("N".into(), "7".into())]);
        assert!(matches(&found[1], &arguments, Some("07")));
        assert!(matches(&found[2], &arguments, None));
        assert!(!matches(&found[0], &arguments, None));
        assert!(!matches(&found[0], &arguments, Some("EU")));
    }

    #[test]
    fn annotations_that_break_the_rules_are_refused() {
        for schema in [
            r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
            r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#,
            r#"{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#,
            r#"{"x-mcp-header":"A"}"#,
        ] {
            assert!(annotations(&Raw::parse(schema).expect("valid")).is_err(), "{schema}");
        }
    }
}
