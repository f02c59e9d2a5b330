//! How a request is put into words on a hop: the envelope with our id, and the `_meta` keys the era demands.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::time::Duration;

use toolgrove_core::call::Outgoing;
use toolgrove_core::event::Events;
use toolgrove_wire::capability::Declared;
use toolgrove_wire::modern::{self, Implementation};
use toolgrove_wire::{Abilities, Draft, Edit, Pieces, Raw, Writing};

use crate::desk::Watcher;

/// One request as a link is asked to send it. The parameters carry no key of any hop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'static str,
    pub(crate) params: &'a Draft,
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
    pub(crate) fn own(method: &'static str, params: &'a Draft, timeout: Duration, leaving: Leaving) -> Self {
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
    Modern(Arc<Manner>),
}

/// What modern requests say in `_meta`.
#[derive(Debug)]
pub(crate) struct Manner {
    /// What all have alike.
    meta: Raw,
    /// The same with what a client can be asked, written once for each set that occurs.
    with: RwLock<HashMap<Abilities, Raw>>,
}

impl Speech {
    pub(crate) fn modern(version: &str, client: &Implementation) -> Self {
        let meta = Edit::of(&Raw::empty_object())
            .set(modern::KEY_VERSION, Raw::string(version))
            .set(modern::KEY_CLIENT, client.raw())
            .done();
        Self::Modern(Arc::new(Manner { meta, with: RwLock::default() }))
    }

    /// The whole body of a request. Parameters that need no `_meta` are not touched.
    pub(crate) fn request(&self, id: u64, ask: &Ask<'_>) -> Pieces {
        let wants_meta = matches!(self, Self::Modern(_)) || ask.events.wants_progress();
        let said = wants_meta.then(|| ask.params.clone().set("_meta", self.meta(id, ask)));
        let params = said.as_ref().unwrap_or(ask.params);
        let mut out = Writing::around(params, ask.method.len() + 128);
        out.put(b"{\"jsonrpc\":\"2.0\",\"id\":");
        out.put_number(id);
        out.put(b",\"method\":\"");
        out.put(ask.method.as_bytes());
        out.put(b"\",\"params\":");
        params.put(&mut out);
        out.put(b"}");
        out.done()
    }

    /// What this hop says in `_meta`, beside what the caller says there.
    fn meta(&self, id: u64, ask: &Ask<'_>) -> Raw {
        let (alike, level) = match self {
            Self::Legacy => (Raw::empty_object(), None),
            Self::Modern(manner) => (manner.with(ask.abilities), ask.log_level),
        };
        let mut ours = Edit::of(&alike);
        if let Some(level) = level {
            ours = ours.set_text(modern::KEY_LOG_LEVEL, level);
        }
        if ask.events.wants_progress() {
            ours = ours.set(modern::KEY_PROGRESS, Raw::number(id));
        }
        let ours = ours.done();
        match ask.params.get("_meta").filter(Raw::is_object) {
            Some(theirs) => merged(&theirs, &ours),
            None => ours,
        }
    }
}

impl Manner {
    fn with(&self, abilities: Abilities) -> Raw {
        let written = self.with.read().unwrap_or_else(PoisonError::into_inner).get(&abilities).cloned();
        written.unwrap_or_else(|| {
            let capabilities = abilities.declare(Declared::Modern);
            let meta = Edit::of(&self.meta).set(modern::KEY_CAPABILITIES, capabilities).done();
            self.with.write().unwrap_or_else(PoisonError::into_inner).insert(abilities, meta.clone());
            meta
        })
    }
}

/// Where both speak, this hop does.
fn merged(theirs: &Raw, ours: &Raw) -> Raw {
    let entries: Vec<_> = ours.members().map(|it| (it.key(), it.value())).collect();
    entries.iter().fold(Edit::of(theirs), |edit, (key, value)| edit.set(key, value.clone())).done()
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
        let params = Raw::parse(params).expect("valid").into();
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
        check(&Speech::Legacy, r#"{"a":1}"#, &events, None, r#"{"a":1,"_meta":{"progressToken":120}}"#);
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
            r#"{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"io.modelcontextprotocol/logLevel":"info"}}"#,
        );
    }
}
