//! What a person types to call something themselves: `/call server.method(…)`, `/invoke bud://…`, `@bud …`.

use serde_json::{Map, Value};

use crate::Error;

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// `server` is a slug or a name.
    Call { server: String, method: String, arguments: Map<String, Value> },
    /// A bud by its address, or by `@name`: its first method, with this text.
    Invoke { address: String, text: Option<String> },
}

impl Command {
    /// None: it is a message like any other.
    pub fn read(text: &str) -> Result<Option<Self>, Error> {
        let text = text.trim();
        let rest_of = |word: &str| text.strip_prefix(word).filter(|it| it.starts_with(char::is_whitespace));
        if let Some(rest) = rest_of("/call") {
            return call(rest.trim()).map(Some);
        }
        if let Some(rest) = rest_of("/invoke") {
            let (address, text) = word(rest.trim());
            if !address.starts_with("bud://") {
                return Err(Error::Request("write `/invoke bud://<workspace>/<name> <text>`".into()));
            }
            return Ok(Some(Self::Invoke { address, text }));
        }
        match text.strip_prefix('@').filter(|it| it.starts_with(|it: char| it.is_alphanumeric() || it == '"'))
        {
            Some(rest) => {
                let quoted = rest.strip_prefix('"').and_then(|it| it.split_once('"'));
                let (name, text) = match quoted {
                    Some((name, text)) => (name.to_owned(), Some(text.trim().to_owned())),
                    None => word(rest),
                };
                let text = text.filter(|it| !it.is_empty());
                Ok(Some(Self::Invoke { address: format!("@{name}"), text }))
            }
            None => Ok(None),
        }
    }
}

/// The first word, and what follows it.
fn word(text: &str) -> (String, Option<String>) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word.to_owned(), Some(rest.trim().to_owned()).filter(|it| !it.is_empty())),
        None => (text.to_owned(), None),
    }
}

/// `slug.method(…)` or `"a name".method(…)`: the first dot separates, because a slug has none.
fn call(text: &str) -> Result<Command, Error> {
    let wrong = || Error::Request("write `/call <server>.<method>(name: value, …)`".into());
    let (server, rest) = match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once("\".").ok_or_else(wrong)?,
        None => text.split_once('.').ok_or_else(wrong)?,
    };
    let (method, arguments) = rest.split_once('(').ok_or_else(wrong)?;
    let inner = arguments.trim_end().strip_suffix(')').ok_or_else(wrong)?.trim();
    let (server, method) = (server.trim().to_owned(), method.trim().to_owned());
    if server.is_empty() || method.is_empty() {
        return Err(wrong());
    }
    Ok(Command::Call { server, method, arguments: read_arguments(inner)? })
}

/// One JSON object, or `name: <JSON value>` pairs, or nothing.
fn read_arguments(text: &str) -> Result<Map<String, Value>, Error> {
    if text.is_empty() {
        return Ok(Map::new());
    }
    if text.starts_with('{') {
        return serde_json::from_str(text).map_err(|_| Error::RequestJson(text.to_owned()));
    }
    let mut arguments = Map::new();
    let mut rest = text;
    loop {
        let (name, value) = rest.split_once(':').ok_or_else(|| Error::RequestJson(rest.to_owned()))?;
        let name = name.trim().trim_matches('"').to_owned();
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<Value>();
        let read =
            values.next().and_then(Result::ok).ok_or_else(|| Error::RequestJson(value.trim().to_owned()))?;
        arguments.insert(name, read);
        rest = value[values.byte_offset()..].trim_start();
        match rest.strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None if rest.is_empty() => return Ok(arguments),
            None => return Err(Error::RequestJson(rest.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn called(text: &str, server: &str, method: &str, arguments: Value) {
        let arguments = arguments.as_object().unwrap().clone();
        let expected = Command::Call { server: server.into(), method: method.into(), arguments };
        assert_eq!(Command::read(text).unwrap(), Some(expected), "{text}");
    }

    #[test]
    fn a_call_has_a_server_a_method_and_arguments() {
        called("/call weather.get.now()", "weather", "get.now", json!({}));
        called(
            "/call w.now(city: \"Oslo, NO\", days: 3)",
            "w",
            "now",
            json!({ "city": "Oslo, NO", "days": 3 }),
        );
        called(" /call \"My. Server\".now({\"a\": [1]}) ", "My. Server", "now", json!({ "a": [1] }));
        for wrong in ["/call weather", "/call .x()", "/call a.b(", "/call a.b(x)", "/call a.b(x: oops)"] {
            assert!(Command::read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            Command::read("/call a.b(…)").unwrap_err().to_string(),
            "tool arguments are not valid JSON: …"
        );
    }

    #[test]
    fn a_bud_is_invoked_by_address_or_name() {
        let invoke = |address: &str, text: Option<&str>| {
            Some(Command::Invoke { address: address.into(), text: text.map(Into::into) })
        };
        let read = |text: &str| Command::read(text).unwrap();
        assert_eq!(read("/invoke bud://legal/Compare"), invoke("bud://legal/Compare", None));
        assert_eq!(
            read("/invoke bud://legal/Compare these two"),
            invoke("bud://legal/Compare", Some("these two"))
        );
        assert_eq!(read("@Compare these two"), invoke("@Compare", Some("these two")));
        assert_eq!(read("@\"My bud\" hi"), invoke("@My bud", Some("hi")));
        for plain in ["hello", "/callous", "a @b", "@ x", "mail me @"] {
            assert_eq!(read(plain), None, "{plain}");
        }
    }
}
