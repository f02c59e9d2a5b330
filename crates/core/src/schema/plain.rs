//! Schemas that say which members there are and of what kind: most of them. Arguments that match one are seen to match
//! as they were sent, without being taken apart. Where a schema says more of a member, nothing is sure of those who have
//! it.

use serde_json::{Map, Value};
use toolgrove_wire::Raw;

/// What says nothing about a value.
const REMARKS: [&str; 8] =
    ["title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"];
const DRAFTS: [&str; 4] = ["draft-06", "draft-07", "2019-09", "2020-12"];

#[derive(Debug)]
pub(super) struct Plain {
    /// With a bit of `required` for each.
    members: Vec<(String, Kind)>,
    required: u64,
    is_closed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Any,
    String,
    Number,
    Integer,
    Boolean,
    Null,
    Object,
    Array,
    /// Of which more is said than its kind.
    More,
}

impl Plain {
    /// `None` for a schema that says more of the whole.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let (mut members, mut required, mut is_closed) = (Vec::new(), 0, false);
        for (key, value) in schema.as_object().filter(|it| it.get("type").is_some_and(|it| it == "object"))? {
            match key.as_str() {
                "type" | "required" | "$defs" | "definitions" => {}
                "properties" => {
                    members =
                        value.as_object()?.iter().map(|(key, it)| (key.clone(), Kind::of(it))).collect();
                }
                "additionalProperties" => is_closed = !value.as_bool()?,
                "$schema" if DRAFTS.iter().any(|it| value.as_str().is_some_and(|at| at.contains(it))) => {}
                remark if REMARKS.contains(&remark) => {}
                _ => return None,
            }
        }
        if members.len() > 64 {
            return None;
        }
        for name in schema.get("required").map_or(Some(&Vec::new()), Value::as_array)? {
            let at = members.iter().position(|it| Some(it.0.as_str()) == name.as_str())?;
            required |= 1 << at;
        }
        Some(Self { members, required, is_closed })
    }

    /// Whether arguments match for sure; else they may or may not.
    pub(super) fn surely_takes(&self, args: &Raw) -> bool {
        let mut seen = 0_u64;
        for member in args.members() {
            match self.members.iter().position(|it| member.is(&it.0)) {
                Some(at) if self.members[at].1.has(member.spelling()) => seen |= 1 << at,
                None if !self.is_closed => {}
                _ => return false,
            }
        }
        args.is_object() && seen & self.required == self.required
    }
}

impl Kind {
    fn of(schema: &Value) -> Self {
        let says_more = |members: &Map<String, Value>| {
            members.keys().any(|it| it != "type" && !REMARKS.contains(&it.as_str()))
        };
        let Some(members) = schema.as_object().filter(|it| !says_more(it)) else { return Self::More };
        match members.get("type").map(Value::as_str) {
            None => Self::Any,
            Some(Some("string")) => Self::String,
            Some(Some("number")) => Self::Number,
            Some(Some("integer")) => Self::Integer,
            Some(Some("boolean")) => Self::Boolean,
            Some(Some("null")) => Self::Null,
            Some(Some("object")) => Self::Object,
            Some(Some("array")) => Self::Array,
            Some(_) => Self::More,
        }
    }

    fn has(self, value: &[u8]) -> bool {
        match value.first() {
            _ if self == Self::Any => true,
            _ if self == Self::More => false,
            Some(b'"') => self == Self::String,
            Some(b'{') => self == Self::Object,
            Some(b'[') => self == Self::Array,
            Some(b't' | b'f') => self == Self::Boolean,
            Some(b'n') => self == Self::Null,
            // Some that have a fraction are whole all the same: that is for others to say.
            _ if self == Self::Integer => !value.iter().any(|it| matches!(it, b'.' | b'e' | b'E')),
            _ => self == Self::Number,
        }
    }
}
