//! The 2026-07-28 revision: the shape everything has inside the hub.
//!
//! A request carries its era, client and wishes in `params._meta`; a result says in `resultType` what it is.
//! The keys of [`HOP_KEYS`] belong to one hop: a door takes them off, a link puts its own on.

use bytes::{BufMut, BytesMut};
use serde_json::json;

use crate::raw::put_string;
use crate::{Draft, Edit, Raw};

/// The revision this module speaks. Dates compare as text: everything from here on is modern.
pub const VERSION: &str = "2026-07-28";

pub const KEY_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const KEY_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub const KEY_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
pub const KEY_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub const KEY_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
pub const KEY_SERVER: &str = "io.modelcontextprotocol/serverInfo";
pub const KEY_PROGRESS: &str = "progressToken";
/// Where a result came from: `{instance, serverInfo?}`.
pub const KEY_ORIGIN: &str = "dev.toolgrove/origin";
/// A modern client may say which conversation a call belongs to.
pub const KEY_CHAT: &str = "dev.toolgrove/chat";
/// How many buds are above this call.
pub const KEY_DEPTH: &str = "dev.toolgrove/depth";

/// `_meta` keys that are rebuilt on every hop.
pub const HOP_KEYS: [&str; 7] =
    [KEY_VERSION, KEY_CAPABILITIES, KEY_CLIENT, KEY_LOG_LEVEL, KEY_PROGRESS, KEY_SUBSCRIPTION, KEY_SERVER];

/// Header mismatch, missing client capability, unsupported version: the three codes that prove a modern peer.
pub const HEADER_MISMATCH: i64 = -32020;
pub const MISSING_CAPABILITY: i64 = -32021;
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Who speaks on a hop, as both eras write it.
#[derive(Debug, Clone)]
pub struct Implementation {
    pub name: String,
    pub version: String,
}

impl Implementation {
    pub fn raw(&self) -> Raw {
        Raw::of(&json!({ "name": self.name, "version": self.version }))
    }
}

/// What a request says about itself, in `params._meta` and beside it.
#[derive(Debug, Clone, Default)]
pub struct RequestMeta {
    pub version: Option<String>,
    pub capabilities: Option<Raw>,
    pub client: Option<Raw>,
    pub log_level: Option<Raw>,
    pub progress_token: Option<Raw>,
    pub chat: Option<String>,
    pub depth: u8,
    /// Whether any key has to be taken off before the request travels on.
    pub has_hop_keys: bool,
    /// Whether any key travels on.
    pub has_other_keys: bool,
    /// `params.inputResponses`: answers to what was asked.
    pub responses: Option<Raw>,
    /// `params.requestState`: which request that was answered with a question it goes on with.
    pub state: Option<Raw>,
}

impl RequestMeta {
    pub fn read(params: Option<&Raw>) -> Self {
        let (mut meta, mut raw) = (Self::default(), None);
        for member in params.iter().flat_map(|it| it.members()) {
            match &*member.name() {
                b"_meta" => raw = Some(member.value()),
                b"inputResponses" => meta.responses = Some(member.value()),
                b"requestState" => meta.state = Some(member.value()),
                _ => {}
            }
        }
        for member in raw.iter().flat_map(Raw::members) {
            let value = member.value();
            let key = member.key();
            if HOP_KEYS.contains(&&*key) {
                meta.has_hop_keys = true;
            } else {
                meta.has_other_keys = true;
            }
            match &*key {
                KEY_VERSION => meta.version = Some(value.text().map_or_else(String::new, Into::into)),
                KEY_CAPABILITIES => meta.capabilities = Some(value),
                KEY_CLIENT => meta.client = Some(value),
                KEY_LOG_LEVEL => meta.log_level = Some(value),
                KEY_PROGRESS => {
                    meta.progress_token = Some(value).filter(|it| it.is_string() || it.is_integer());
                }
                KEY_CHAT => meta.chat = value.text().map(Into::into),
                KEY_DEPTH => meta.depth = value.u64().and_then(|it| it.try_into().ok()).unwrap_or(0),
                _ => {}
            }
        }
        meta
    }
}

/// Takes the keys of the hop it came over off a request's parameters. An emptied `_meta` goes too.
pub fn without_hop_keys(params: Raw, read: &RequestMeta) -> Draft {
    if !read.has_hop_keys {
        return params.into();
    }
    if !read.has_other_keys {
        return Draft::from(params).remove("_meta");
    }
    let Some(meta) = params.get("_meta") else { return params.into() };
    let kept = HOP_KEYS.iter().fold(Edit::of(&meta), |edit, key| edit.remove(key)).done();
    if kept.members().next().is_none() {
        Draft::from(params).remove("_meta")
    } else {
        Draft::from(params).set("_meta", kept)
    }
}

/// Puts members into `params._meta`, which is made when it is missing.
pub fn with_meta(params: &Raw, entries: &[(&str, Raw)]) -> Raw {
    if entries.is_empty() {
        return params.clone();
    }
    let meta = params.get("_meta").filter(Raw::is_object).unwrap_or_else(Raw::empty_object);
    let meta = entries.iter().fold(Edit::of(&meta), |edit, (key, value)| edit.set(key, value.clone())).done();
    Edit::of(params).set("_meta", meta).done()
}

/// Only the members of a result that the hub acts on. Everything else is forwarded unread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultHead {
    pub kind: ResultKind,
    pub is_error: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ResultKind {
    /// Also when a result says nothing: servers before this revision do not.
    #[default]
    Complete,
    InputRequired,
    Task,
    Other(String),
}

impl ResultHead {
    pub fn read(result: &Raw) -> Self {
        let mut head = Self::default();
        for member in result.members() {
            match &*member.name() {
                b"resultType" => {
                    head.kind = match member.value().text().as_deref() {
                        Some("complete") => ResultKind::Complete,
                        Some("input_required") => ResultKind::InputRequired,
                        Some("task") => ResultKind::Task,
                        other => ResultKind::Other(other.unwrap_or_default().to_owned()),
                    };
                }
                b"isError" => head.is_error = member.value().bool() == Some(true),
                _ => {}
            }
        }
        head
    }
}

/// A tool list for a modern client: what only the tasks of the last legacy revision meant is taken off.
pub fn tools_for_client(tools: &Raw) -> Raw {
    if memchr::memmem::find(tools.bytes(), b"\"execution\"").is_none() {
        return tools.clone();
    }
    let items: Vec<Raw> = tools.items().map(|it| Edit::of(&it).remove("execution").done()).collect();
    Raw::array(&items)
}

/// How long and for whom a result may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheHint {
    pub ttl_ms: u64,
}

/// A result as a modern client must see it: `resultType`, our `serverInfo`, and the cache hints a list needs.
pub fn complete(result: &Raw, server: &Raw, cache: Option<CacheHint>) -> Raw {
    let meta = result.get("_meta").filter(Raw::is_object).unwrap_or_else(Raw::empty_object);
    let meta = Edit::of(&meta).set(KEY_SERVER, server.clone()).done();
    hinted(Draft::from(result.clone()).set("resultType", Raw::complete()).set("_meta", meta), cache).raw()
}

/// The same for a result that came from behind: it also says from which instance, and what its server said of itself.
pub fn complete_from(slug: &str, result: Raw, server: &Raw, cache: Option<CacheHint>) -> Draft {
    let said = result.get("_meta");
    let mut meta = BytesMut::with_capacity(
        said.as_ref().map_or(0, |it| it.bytes().len()) + slug.len() + server.bytes().len() + 128,
    );
    let mut theirs = None;
    meta.put_u8(b'{');
    for member in said.iter().flat_map(Raw::members) {
        if member.is(KEY_SERVER) {
            theirs = Some(member.value());
        } else if !member.is(KEY_ORIGIN) {
            member.put(&mut meta);
            meta.put_u8(b',');
        }
    }
    meta.put_slice(b"\"dev.toolgrove/origin\":{\"instance\":");
    put_string(&mut meta, slug);
    if let Some(theirs) = theirs {
        meta.put_slice(b",\"serverInfo\":");
        meta.put_slice(theirs.bytes());
    }
    meta.put_slice(b"},\"io.modelcontextprotocol/serverInfo\":");
    meta.put_slice(server.bytes());
    meta.put_u8(b'}');
    let meta = Raw::trusted(meta.freeze());
    hinted(Draft::from(result).set("_meta", meta).set("resultType", Raw::complete()), cache)
}

/// Says from which instance a result came, and keeps what the server said of itself.
pub fn with_origin(slug: &str, result: &Raw) -> Raw {
    let meta = result.get("_meta").filter(Raw::is_object).unwrap_or_else(Raw::empty_object);
    let meta = Edit::of(&meta).set(KEY_ORIGIN, origin(slug, &meta)).done();
    Edit::of(result).set("_meta", meta).done()
}

fn origin(slug: &str, meta: &Raw) -> Raw {
    let origin = Raw::object("instance", &Raw::string(slug));
    match meta.get(KEY_SERVER) {
        Some(server) => Edit::of(&origin).set("serverInfo", server).done(),
        None => origin,
    }
}

fn hinted(result: Draft, cache: Option<CacheHint>) -> Draft {
    match cache {
        Some(CacheHint { ttl_ms }) => {
            result.set("ttlMs", Raw::number(ttl_ms)).set("cacheScope", Raw::string("private"))
        }
        None => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &'static str) -> Raw {
        Raw::parse(text).expect("valid")
    }

    #[test]
    fn the_keys_of_a_hop_stay_on_that_hop() {
        let params = raw(
            r#"{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":1,"my/key":[1]}}"#,
        );
        assert!(RequestMeta::read(Some(&params)).has_hop_keys);
        let without = |it: &Raw| without_hop_keys(it.clone(), &RequestMeta::read(Some(it))).raw();
        assert_eq!(without(&params), raw(r#"{"name":"x","_meta":{"my/key":[1]}}"#));
        let only_hop = raw(r#"{"name":"x","_meta":{"progressToken":1}}"#);
        assert_eq!(without(&only_hop), raw(r#"{"name":"x"}"#));
    }

    #[test]
    fn a_result_without_a_type_is_complete() {
        assert_eq!(ResultHead::read(&raw("{}")), ResultHead::default());
        let head = ResultHead::read(&raw(r#"{"content":[],"isError":true,"resultType":"input_required"}"#));
        assert_eq!(head, ResultHead { kind: ResultKind::InputRequired, is_error: true });
    }

    #[test]
    fn a_result_from_behind_says_from_where() {
        let server = raw(r#"{"name":"t","version":"1"}"#);
        let check = |before, after: &str| {
            assert_eq!(complete_from("s", raw(before), &server, None).raw().as_str(), after);
        };
        check(
            r#"{"x":1}"#,
            r#"{"x":1,"_meta":{"dev.toolgrove/origin":{"instance":"s"},"io.modelcontextprotocol/serverInfo":{"name":"t","version":"1"}},"resultType":"complete"}"#,
        );
        check(
            r#"{"_meta":{"a" : 1,"io.modelcontextprotocol/serverInfo":{"name":"u"},"dev.toolgrove/origin":0,"b":[]},"resultType":"complete"}"#,
            r#"{"_meta":{"a" : 1,"b":[],"dev.toolgrove/origin":{"instance":"s","serverInfo":{"name":"u"}},"io.modelcontextprotocol/serverInfo":{"name":"t","version":"1"}},"resultType":"complete"}"#,
        );
        check(
            r#"{"_meta":7}"#,
            r#"{"_meta":{"dev.toolgrove/origin":{"instance":"s"},"io.modelcontextprotocol/serverInfo":{"name":"t","version":"1"}},"resultType":"complete"}"#,
        );
    }

    #[test]
    fn a_completed_result_keeps_what_it_held() {
        let server = raw(r#"{"name":"t","version":"1"}"#);
        assert_eq!(
            complete(&raw(r#"{"x":1e400,"_meta":{"a":1}}"#), &server, Some(CacheHint { ttl_ms: 0 })).as_str(),
            r#"{"x":1e400,"_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"t","version":"1"}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#
        );
    }
}
