//! JSONC text → the servers in it, by name. Keys that stand twice are seen, not merged.

use jsonc_parser::ast::{self, ObjectProp};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value};

use crate::Error;

/// Deeper than any configuration, and well within what a JSON reader takes back later.
const DEPTH_MAX: usize = 64;

const EMPTY: Error = Error::Import("paste a JSON configuration first");
const INVALID: Error =
    Error::Import(r#"this is not valid JSON; expected { "server-name": { "url": "..." } }"#);
const NOT_AN_OBJECT: Error = Error::Import("expected a JSON object whose keys are server names");
const NO_SERVERS: Error = Error::Import("no servers found in this JSON");

type Members = Result<Map<String, Value>, String>;

/// Comments and trailing commas, as editors write them. Nothing looser: a typo must not become a server.
const JSONC: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn servers(text: &str) -> Result<Vec<(String, Members)>, Error> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(EMPTY);
    }
    let parsed = parse_to_ast(text, &CollectOptions::default(), &JSONC).map_err(|_| INVALID)?;
    let root = match parsed.value {
        Some(ast::Value::Object(root)) => root.properties,
        Some(_) => return Err(NOT_AN_OBJECT),
        None => return Err(EMPTY),
    };
    if root.iter().any(|it| depth_exceeds(&it.value, DEPTH_MAX)) {
        return Err(INVALID);
    }
    let found: Vec<_> = match unwrap(root) {
        Found::ByName(properties) => {
            properties.into_iter().map(|it| (it.name.into_string(), members(it.value))).collect()
        }
        Found::Stored(servers) => servers.into_iter().enumerate().map(stored).collect(),
    };
    if found.is_empty() { Err(NO_SERVERS) } else { Ok(found) }
}

enum Found<'a> {
    ByName(Vec<ObjectProp<'a>>),
    /// The stored shape: a list whose items carry their name.
    Stored(Vec<ast::Value<'a>>),
}

/// Takes the first wrapper alone; its siblings (`inputs`, …) never become servers.
fn unwrap(mut root: Vec<ObjectProp<'_>>) -> Found<'_> {
    for wrapper in ["mcpServers", "servers"] {
        let place = root.iter().position(|it| it.name.as_str() == wrapper && is_wrapper(&it.value));
        if let Some(place) = place
            && let ast::Value::Object(inner) = root.swap_remove(place).value
        {
            return Found::ByName(inner.properties);
        }
    }
    let place = root
        .iter()
        .position(|it| it.name.as_str() == "bouno_mcp_servers" && matches!(it.value, ast::Value::Array(_)));
    if let Some(place) = place
        && let ast::Value::Array(inner) = root.swap_remove(place).value
    {
        return Found::Stored(inner.elements);
    }
    Found::ByName(root)
}

/// A server may itself be called `servers`: then its members say how to reach it.
fn is_wrapper(value: &ast::Value<'_>) -> bool {
    let ast::Value::Object(object) = value else {
        return false;
    };
    ["url", "serverUrl", "command"].iter().all(|key| object.get_string(key).is_none())
}

fn stored((index, value): (usize, ast::Value<'_>)) -> (String, Members) {
    let mut members = members(value);
    let name = match &mut members {
        Ok(members) => match members.shift_remove("name") {
            Some(Value::String(name)) => name,
            _ => return (format!("server {}", index + 1), Err(r#"missing "name""#.into())),
        },
        Err(_) => format!("server {}", index + 1),
    };
    // The id is made by whoever stores the server, the tools are asked for again.
    if let Ok(members) = &mut members {
        members.shift_remove("id");
        members.shift_remove("cachedTools");
    }
    (name, members)
}

fn members(value: ast::Value<'_>) -> Members {
    match plain(value)? {
        Value::Object(members) => Ok(members),
        _ => Err("expected an object with `url` or `command`".into()),
    }
}

fn plain(value: ast::Value<'_>) -> Result<Value, String> {
    Ok(match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(it) => Value::Bool(it.value),
        ast::Value::StringLit(it) => Value::String(it.value.into_owned()),
        // A number no double can hold stays as its text.
        ast::Value::NumberLit(it) => match serde_json::from_str::<Number>(it.value) {
            Ok(number) => Value::Number(number),
            Err(_) => Value::String(it.value.to_owned()),
        },
        ast::Value::Array(it) => Value::Array(it.elements.into_iter().map(plain).collect::<Result<_, _>>()?),
        ast::Value::Object(it) => {
            let mut members = Map::new();
            for property in it.properties {
                let name = property.name.into_string();
                if members.contains_key(&name) {
                    return Err(format!("`{name}` is given twice"));
                }
                members.insert(name, plain(property.value)?);
            }
            Value::Object(members)
        }
    })
}

fn depth_exceeds(value: &ast::Value<'_>, room: usize) -> bool {
    match value {
        _ if room == 0 => true,
        ast::Value::Array(it) => it.elements.iter().any(|it| depth_exceeds(it, room - 1)),
        ast::Value::Object(it) => it.properties.iter().any(|it| depth_exceeds(&it.value, room - 1)),
        _ => false,
    }
}
