//! The JSON-RPC envelope: who asks what, and what came back. Parameters and results stay raw.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;

use crate::pieces::Writing;
use crate::raw::put_string;
use crate::{Draft, Malformed, Pieces, Raw};

pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
pub const INTERNAL_ERROR: i64 = -32603;

/// The id of a request: a string or an integer, kept as it was sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Id(Raw);

impl Id {
    pub fn new(raw: Raw) -> Option<Self> {
        (raw.is_string() || raw.is_integer()).then_some(Self(raw))
    }

    pub fn number(number: u64) -> Self {
        Self(Raw::number(number))
    }

    /// The number of an id that we gave out ourselves.
    pub fn as_number(&self) -> Option<u64> {
        self.0.u64()
    }

    pub fn raw(&self) -> &Raw {
        &self.0
    }

    /// One spelling per id, for tables: `"a"` and `"\u0061"` are the same.
    pub fn key(&self) -> String {
        match self.0.text() {
            Some(text) => format!("\"{text}"),
            None => self.0.as_str().to_owned(),
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One JSON-RPC message.
#[derive(Debug, Clone)]
pub enum Message {
    Request { id: Id, method: String, params: Option<Raw> },
    Notification { method: String, params: Option<Raw> },
    Response { id: Option<Id>, result: Result<Raw, RpcError> },
}

/// A JSON-RPC error, `data` untouched.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Raw>,
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub fn with_data(mut self, data: &impl Serialize) -> Self {
        self.data = Some(Raw::of(data));
        self
    }
}

/// Why bytes are no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAMessage {
    #[error("parse error: {0}")]
    Json(Malformed),
    /// Valid JSON that two readers could understand differently is a bad request, not a parse error.
    #[error("invalid request: {0}")]
    Ambiguous(Malformed),
    #[error("invalid request: a batch is not allowed here")]
    Batch,
    #[error("invalid request: {0}")]
    Shape(&'static str),
}

impl From<Malformed> for NotAMessage {
    fn from(problem: Malformed) -> Self {
        match problem {
            Malformed::DuplicateKey { .. } => Self::Ambiguous(problem),
            _ => Self::Json(problem),
        }
    }
}

impl NotAMessage {
    pub fn rpc(&self) -> RpcError {
        let code = match self {
            Self::Ambiguous(_) | Self::Batch | Self::Shape(_) => INVALID_REQUEST,
            Self::Json(_) => PARSE_ERROR,
        };
        RpcError::new(code, self.to_string())
    }
}

impl Message {
    /// Reads one message from untrusted bytes.
    pub fn parse(bytes: impl Into<Bytes>) -> Result<Self, NotAMessage> {
        Self::read(&Raw::parse(bytes)?)
    }

    /// Reads one message from checked JSON.
    pub fn read(raw: &Raw) -> Result<Self, NotAMessage> {
        if raw.is_array() {
            return Err(NotAMessage::Batch);
        }
        if !raw.is_object() {
            return Err(NotAMessage::Shape("a message is a JSON object"));
        }
        let (mut version, mut id, mut method, mut params, mut result, mut error) =
            (None, None, None, None, None, None);
        for member in raw.members() {
            match &*member.name() {
                b"jsonrpc" => version = Some(member.value()),
                b"id" => id = Some(member.value()),
                b"method" => method = Some(member.value()),
                b"params" => params = Some(member.value()),
                b"result" => result = Some(member.value()),
                b"error" => error = Some(member.value()),
                _ => {}
            }
        }
        if version.and_then(|it| it.text().map(|it| it == "2.0")) != Some(true) {
            return Err(NotAMessage::Shape("`jsonrpc` must be \"2.0\""));
        }
        let id = match id {
            Some(raw) if raw.is_null() && method.is_none() => None,
            Some(raw) => Some(Id::new(raw).ok_or(NotAMessage::Shape("`id` must be a string or an integer"))?),
            None => None,
        };
        if let Some(method) = method {
            let method = method.text().ok_or(NotAMessage::Shape("`method` must be a string"))?.into_owned();
            if params.as_ref().is_some_and(|it| !it.is_object()) {
                return Err(NotAMessage::Shape("`params` must be an object"));
            }
            return Ok(match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notification { method, params },
            });
        }
        let result = match (result, error) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => Err(read_error(&error)),
            (Some(_), Some(_)) => {
                return Err(NotAMessage::Shape("a response has `result` or `error`, not both"));
            }
            (None, None) => return Err(NotAMessage::Shape("give `method`, `result` or `error`")),
        };
        Ok(Self::Response { id, result })
    }
}

/// The id under which something that is no message is refused, if it has a readable one: its sender waits for it.
pub fn id_of(raw: &Raw) -> Option<Id> {
    Id::new(raw.get("id").filter(|_| raw.get("method").is_some())?)
}

fn read_error(raw: &Raw) -> RpcError {
    RpcError {
        code: raw.get("code").and_then(|it| it.as_str().parse().ok()).unwrap_or(INTERNAL_ERROR),
        message: raw.get_text("message").unwrap_or_else(|| "the server gave no message".into()),
        data: raw.get("data").filter(|it| !it.is_null()),
    }
}

/// Writes a request. The method is one of ours or came from a checked message.
pub fn request(id: &Id, method: &str, params: Option<&Raw>) -> Bytes {
    write(Some(id), Some(method), params.map(|it| ("params", it)))
}

pub fn notification(method: &str, params: Option<&Raw>) -> Bytes {
    write(None, Some(method), params.map(|it| ("params", it)))
}

pub fn response(id: &Id, result: &Raw) -> Bytes {
    write(Some(id), None, Some(("result", result)))
}

pub fn response_in_pieces(id: &Id, result: &Draft) -> Pieces {
    let mut out = Writing::around(result, 64 + id.0.bytes().len());
    out.put(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.put(id.0.bytes());
    out.put(b",\"result\":");
    result.put(&mut out);
    out.put(b"}");
    out.done()
}

/// Writes an error. Without an id the member is `null` for legacy peers and absent for modern ones, as each era demands.
pub fn error(id: Option<&Id>, error: &RpcError, unknown_id: UnknownId) -> Bytes {
    let mut body = serde_json::Map::new();
    body.insert("code".into(), error.code.into());
    body.insert("message".into(), error.message.clone().into());
    let body = Raw::of(&body);
    let body = match &error.data {
        Some(data) => crate::Edit::of(&body).set("data", data.clone()).done(),
        None => body,
    };
    match (id, unknown_id) {
        (None, UnknownId::Null) => {
            let null = Id(Raw::trusted(Bytes::from_static(b"null")));
            write(Some(&null), None, Some(("error", &body)))
        }
        (id, _) => write(id, None, Some(("error", &body))),
    }
}

/// How an error is addressed when the request's id could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownId {
    Null,
    Absent,
}

fn write(id: Option<&Id>, method: Option<&str>, body: Option<(&str, &Raw)>) -> Bytes {
    let size = 64
        + id.map_or(0, |it| it.0.bytes().len())
        + method.map_or(0, str::len)
        + body.map_or(0, |it| it.1.bytes().len());
    let mut out = BytesMut::with_capacity(size);
    out.put_slice(b"{\"jsonrpc\":\"2.0\"");
    if let Some(id) = id {
        out.put_slice(b",\"id\":");
        out.put_slice(id.0.bytes());
    }
    if let Some(method) = method {
        out.put_slice(b",\"method\":");
        put_string(&mut out, method);
    }
    if let Some((key, value)) = body {
        out.put_slice(b",\"");
        out.put_slice(key.as_bytes());
        out.put_slice(b"\":");
        out.put_slice(value.bytes());
    }
    out.put_u8(b'}');
    out.freeze()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(text: &'static str, expected: &Expect) {
        let seen = match Message::parse(text) {
            Ok(message) => format!("{message:?}"),
            Err(problem) => format!("{} {problem}", problem.rpc().code),
        };
        expected.assert_eq(&seen);
    }

    #[test]
    fn a_request_keeps_id_and_parameters_as_they_were_sent() {
        check(
            "{\"params\": { \"n\":12345678901234567890123 }, \"id\":\"a\\u0062\",\"method\":\"tools/call\",\"jsonrpc\":\"2.0\",\"x\":1}",
            &expect![[
                r#"Request { id: "a\u0062", method: "tools/call", params: Some({ "n":12345678901234567890123 }) }"#
            ]],
        );
    }

    #[test]
    fn a_message_without_id_is_a_notification() {
        check(
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
            &expect![[r#"Notification { method: "notifications/initialized", params: None }"#]],
        );
    }

    #[test]
    fn an_error_keeps_its_data() {
        check(
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32000,\"message\":\"boom\",\"data\":{\"trace\": [ ]}}}",
            &expect![[
                r#"Response { id: Some(3), result: Err(RpcError { code: -32000, message: "boom", data: Some({"trace": [ ]}) }) }"#
            ]],
        );
    }

    #[test]
    fn what_is_no_message_is_refused_under_its_id_if_that_can_be_read() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#, Some("1")),
            (r#"{"jsonrpc":"1.0","id":"a","method":"x"}"#, Some("\"a")),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, None),
            (r#"{"jsonrpc":"2.0","id":1}"#, None),
            (r#"{"jsonrpc":"2.0","method":"x","params":7}"#, None),
            ("7", None),
        ] {
            let raw = Raw::parse(text).expect("JSON");
            assert_eq!(id_of(&raw).map(|it| it.key()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_message_gets_its_code() {
        check("[]", &expect!["-32600 invalid request: a batch is not allowed here"]);
        check("7", &expect!["-32600 invalid request: a message is a JSON object"]);
        check("{\"id\":1}", &expect![[r#"-32600 invalid request: `jsonrpc` must be "2.0""#]]);
        check(
            "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}",
            &expect!["-32600 invalid request: `id` must be a string or an integer"],
        );
        check(
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}",
            &expect!["-32600 invalid request: `id` must be a string or an integer"],
        );
        check(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[1]}",
            &expect!["-32600 invalid request: `params` must be an object"],
        );
        check(
            "{\"jsonrpc\":\"2.0\",\"id\":1}",
            &expect!["-32600 invalid request: give `method`, `result` or `error`"],
        );
        check(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}",
            &expect!["-32600 invalid request: a response has `result` or `error`, not both"],
        );
        check(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"x\"}",
            &expect!["-32600 invalid request: the key `id` appears twice in one object"],
        );
        check("{\"jsonrpc\"", &expect!["-32700 parse error: not valid JSON at byte 10"]);
    }

    #[test]
    fn what_is_written_can_be_read() {
        let id = Id::number(7);
        let params = Raw::parse("{\"a\":1e400}").expect("valid");
        assert_eq!(
            request(&id, "tools/call", Some(&params)),
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"a\":1e400}}"
        );
        assert_eq!(
            notification("notifications/x", None),
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"
        );
        assert_eq!(response(&id, &Raw::empty_object()), "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}");
        let problem = RpcError::new(-32602, "no").with_data(&["x"]);
        assert_eq!(
            error(None, &problem, UnknownId::Null),
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32602,\"message\":\"no\",\"data\":[\"x\"]}}"
        );
        assert_eq!(
            error(None, &RpcError::new(-32600, "no"), UnknownId::Absent),
            "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"no\"}}"
        );
    }
}
