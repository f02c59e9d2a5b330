//! How a request is put into words on a hop: the envelope with our id, and the `_meta` keys the era demands.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use toolgrove_core::call::Outgoing;
use toolgrove_core::event::Events;
use toolgrove_wire::capability::Declared;
use toolgrove_wire::modern::{self, Implementation};
use toolgrove_wire::{Abilities, Edit, Pieces, Raw};

use crate::desk::Watcher;

/// One request as a link is asked to send it. The parameters carry no key of any hop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'static str,
    pub(crate) params: &'a Raw,
    pub(crate) events: &'a Events,
    pub(crate) log_level: Option<&'a str>,
    /// What the client behind this request can be asked; a modern server learns it from each request.
    pub(crate) abilities: Abilities,
    /// What a modern server wants repeated as `Mcp-Param-*` headers.
    pub(crate) headers: &'a [(String, String)],
    /// Who hears about it, if that is known already.
    pub(crate) watcher: Option<&'a Arc<Watcher>>,
    pub(crate) timeout: Duration,
    pub(crate) leaving: Leaving,
    /// The caller's request behind it; none for the hub's own.
    pub(crate) outgoing: Option<&'a Outgoing>,
}

impl<'a> Ask<'a> {
    /// A request of the hub's own, about which nobody hears anything.
    pub(crate) fn own(method: &'static str, params: &'a Raw, timeout: Duration, leaving: Leaving) -> Self {
        static NO_EVENTS: LazyLock<Events> = LazyLock::new(Events::none);
        Self {
            method,
            params,
            events: &NO_EVENTS,
            log_level: None,
            abilities: Abilities::NONE,
            headers: &[],
            watcher: None,
            timeout,
            leaving,
            outgoing: None,
        }
    }

    pub(crate) fn watcher(&self) -> Arc<Watcher> {
        self.watcher.cloned().unwrap_or_else(|| Watcher::new(self.events, self.log_level))
    }
}

/// What the server is told when nobody waits for the answer any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    Cancel,
    /// Requests of a handshake are not cancelled.
    Silent,
}

/// The manner of one era.
#[derive(Debug, Clone)]
pub(crate) enum Speech {
    Legacy,
    /// The members that all requests have alike in `_meta`, written once.
    Modern {
        meta: Bytes,
    },
}

impl Speech {
    pub(crate) fn modern(version: &str, client: &Implementation) -> Self {
        let entries = [(modern::KEY_VERSION, Raw::string(version)), (modern::KEY_CLIENT, client.raw())];
        let object = Raw::empty_object();
        let object =
            entries.into_iter().fold(Edit::of(&object), |edit, (key, value)| edit.set(key, value)).done();
        Self::Modern { meta: object.bytes().slice(1..object.bytes().len() - 1) }
    }

    /// The whole body of a request. Parameters without `_meta`, the usual case, are not touched.
    pub(crate) fn request(&self, id: u64, ask: &Ask<'_>) -> Pieces {
        let params = ask.params.bytes();
        let own_size = if let Self::Modern { meta } = self { meta.len() + 256 } else { 0 };
        let mut out = Pieces::begin(own_size + ask.method.len() + 128, params);
        out.put_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        put_number(&mut out, id);
        out.put_slice(b",\"method\":\"");
        out.put_slice(ask.method.as_bytes());
        out.put_slice(b"\",\"params\":");
        if matches!(self, Self::Modern { .. }) || ask.events.wants_progress() {
            let last = self.put_params(&mut out, id, ask);
            return Pieces::end(out, &last);
        }
        Pieces::end(out, params)
    }

    /// Writes what this hop says in `_meta`; gives what follows it up to the end of the parameters.
    fn put_params(&self, out: &mut BytesMut, id: u64, ask: &Ask<'_>) -> Bytes {
        let (mut is_empty, mut own) = (true, None);
        for member in ask.params.members() {
            is_empty = false;
            if member.key() == "_meta" {
                own = Some(member.value());
            }
        }
        if let Some(own) = own {
            return Edit::of(ask.params).set("_meta", self.merge_meta(&own, id, ask)).done().bytes().clone();
        }
        out.put_slice(b"{\"_meta\":{");
        self.put_meta(out, id, ask);
        out.put_slice(if is_empty { b"}" } else { b"}," });
        if is_empty { Bytes::from_static(b"}") } else { ask.params.bytes().slice(1..) }
    }

    /// The members this hop adds to `_meta`, without braces.
    fn put_meta(&self, out: &mut BytesMut, id: u64, ask: &Ask<'_>) {
        let mut has_any = false;
        if let Self::Modern { meta } = self {
            has_any = true;
            out.put_slice(meta);
            out.put_slice(b",\"");
            out.put_slice(modern::KEY_CAPABILITIES.as_bytes());
            out.put_slice(b"\":");
            out.put_slice(&declared(ask.abilities));
            if let Some(level) = ask.log_level {
                out.put_slice(b",\"");
                out.put_slice(modern::KEY_LOG_LEVEL.as_bytes());
                out.put_slice(b"\":");
                out.put_slice(Raw::string(level).bytes());
            }
        }
        if ask.events.wants_progress() {
            if has_any {
                out.put_u8(b',');
            }
            out.put_slice(b"\"progressToken\":");
            put_number(out, id);
        }
    }

    /// What the caller says in `_meta`, and what this hop says; where both speak, this hop does.
    fn merge_meta(&self, own: &Raw, id: u64, ask: &Ask<'_>) -> Raw {
        let mut ours = BytesMut::new();
        ours.put_u8(b'{');
        self.put_meta(&mut ours, id, ask);
        ours.put_u8(b'}');
        let Ok(ours) = Raw::parse(ours.freeze()) else { return own.clone() };
        let entries: Vec<_> = ours.members().map(|it| (it.key(), it.value())).collect();
        entries.iter().fold(Edit::of(own), |edit, (key, value)| edit.set(key, value.clone())).done()
    }
}

/// Abilities as a modern server reads them, written once for each set that occurs.
fn declared(abilities: Abilities) -> Bytes {
    static WRITTEN: LazyLock<RwLock<HashMap<Abilities, Bytes>>> = LazyLock::new(RwLock::default);
    let written = WRITTEN.read().unwrap_or_else(PoisonError::into_inner).get(&abilities).cloned();
    written.unwrap_or_else(|| {
        let bytes = abilities.declare(Declared::Modern).bytes().clone();
        WRITTEN.write().unwrap_or_else(PoisonError::into_inner).insert(abilities, bytes.clone());
        bytes
    })
}

pub(crate) fn put_number(out: &mut BytesMut, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.put_slice(&digits[at..]);
}

/// The log levels, from the most verbose on. A message is wanted when its place is not before the wanted one.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

pub(crate) fn level_rank(level: &str) -> Option<u8> {
    LEVELS.iter().position(|it| *it == level).map(|it| it as u8)
}

#[cfg(test)]
mod tests {
    use toolgrove_core::event::Progress;

    use super::*;

    #[track_caller]
    fn check(
        speech: &Speech,
        params: &'static str,
        events: &Events,
        log_level: Option<&str>,
        expected: &str,
    ) {
        let params = Raw::parse(params).expect("valid");
        let own = Ask::own("tools/call", &params, Duration::ZERO, Leaving::Cancel);
        let ask = Ask { events, log_level, abilities: Abilities::FORM, ..own };
        let body = speech.request(120, &ask).into_bytes();
        assert!(Raw::parse(body.clone()).is_ok());
        let expected = format!(r#"{{"jsonrpc":"2.0","id":120,"method":"tools/call","params":{expected}}}"#);
        assert_eq!(String::from_utf8_lossy(&body), expected);
    }

    #[test]
    fn a_legacy_request_is_passed_on_as_it_is() {
        check(&Speech::Legacy, r#"{ "a":1e400 }"#, &Events::none(), Some("info"), r#"{ "a":1e400 }"#);
    }

    #[test]
    fn a_progress_token_is_added_when_somebody_listens() {
        let (events, _rx) = Events::channel(Progress::Wanted);
        check(&Speech::Legacy, r#"{"a":1}"#, &events, None, r#"{"_meta":{"progressToken":120},"a":1}"#);
        check(&Speech::Legacy, "{}", &events, None, r#"{"_meta":{"progressToken":120}}"#);
        check(&Speech::Legacy, "{ }", &events, None, r#"{"_meta":{"progressToken":120}}"#);
        check(
            &Speech::Legacy,
            r#"{"_meta":{"k":1},"a":1}"#,
            &events,
            None,
            r#"{"_meta":{"k":1,"progressToken":120},"a":1}"#,
        );
        check(
            &Speech::Legacy,
            r#"{"a":1,"_meta":{"progressToken":"theirs","k":1}}"#,
            &events,
            None,
            r#"{"a":1,"_meta":{"progressToken":120,"k":1}}"#,
        );
    }

    #[test]
    fn a_modern_request_says_who_speaks() {
        let client = Implementation { name: "t".into(), version: "1".into() };
        check(
            &Speech::modern("2026-07-28", &client),
            r#"{"name":"x"}"#,
            &Events::none(),
            Some("info"),
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"io.modelcontextprotocol/logLevel":"info"},"name":"x"}"#,
        );
    }
}
